"""How far a ranker is from the one with all kernel functions: what is known before the fit, after it, and what is true.

    RAREFY_DATA=... python benchmarks/ranking_bounds.py

Three sets of data with a rare class, in standardised columns, and weights of the penalty from 0.0001 to 10. Prints the
figures and draws docs/_static/ranking_bounds.png; nothing else is stored.
"""

import os
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.lines import Line2D
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from rarefy.datasets import load
from rarefy.ranking import RankRC, certify_scores

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PICTURE = Path(__file__).parents[1] / "docs" / "_static" / "ranking_bounds.png"
NAMES, ALPHAS = ("ecoli", "oil", "yeast_me2"), np.logspace(-4, 1, 11)
BASES = {"rare": ("#b5485d", "the rare class"), "auto": ("#2f6f9f", "the rare class and 100 others")}


def measure(X, y):
    """For each basis: before, after and true for every alpha; shares of pairs that are certain, and ordered alike."""
    # A hundredth of the default tolerance: what the solver leaves should not be seen beside what the basis does.
    best = [RankRC(alpha, basis="all", tol=1e-9).fit(X, y).score_samples(X) for alpha in ALPHAS]
    results = {}
    for basis in BASES:
        rows = []
        for alpha, right in zip(ALPHAS, best, strict=True):
            model = RankRC(alpha, basis=basis, tol=1e-9, random_state=0).fit(X, y)
            made, scores = certify_scores(model, X, y), model.score_samples(X)
            true = np.abs(scores - right).max()
            rows.append((model.bound_, made.bound, true, made.certain_pairs, alike(scores, right, y), np.ptp(right)))
        results[basis] = np.array(rows)
    return results


def alike(f, g, y):
    """Share of the pairs that two rankers put in the same order."""
    return np.mean([np.sign(f[i] - f[y == 0]) == np.sign(g[i] - g[y == 0]) for i in np.flatnonzero(y == 1)])


def draw(axes, name, shape, results):
    """Two panels of one set of data."""
    top, bottom = axes
    first = results["rare"]
    top.loglog(ALPHAS, first[:, 0], color="0.35", label="bound known before the fit")
    top.loglog(ALPHAS, first[:, 5], color="0.35", linestyle=":", label="range of the scores")
    for basis, (color, _) in BASES.items():
        rows = results[basis]
        top.loglog(ALPHAS, rows[:, 1], color=color, marker="o", markersize=3.5)
        top.loglog(ALPHAS, rows[:, 2], color=color, linestyle="--")
        bottom.semilogx(ALPHAS, 100 * rows[:, 3], color=color, marker="o", markersize=3.5)
        bottom.semilogx(ALPHAS, 100 * rows[:, 4], color=color, linestyle="--")
    top.set_title(f"{name}, {shape[0]} samples, {shape[1]} rare", fontsize=10)
    bottom.set(xlabel="alpha, the weight of the penalty", ylim=(-3, 103))
    for ax in axes:
        ax.grid(color="0.9", linewidth=0.7)
        ax.set_axisbelow(True)


def main():
    warnings.simplefilter("ignore", ConvergenceWarning)
    figure, axes = plt.subplots(2, len(NAMES), figsize=(9, 5.8), sharex=True, sharey="row")
    for column, name in zip(axes.T, NAMES, strict=True):
        data = load(name, os.environ["RAREFY_DATA"])
        X, y = StandardScaler().fit_transform(data.data), np.asarray(data.target)
        results = measure(X, y)
        draw(column, name, (len(y), int(y.sum())), results)
        for basis, rows in results.items():
            print(name, basis, "| alpha, before, after, true, certain, alike, range")
            print(np.column_stack([ALPHAS, rows]).round(6))
    axes[0, 0].set_ylabel("difference of scores")
    axes[1, 0].set_ylabel("% of the pairs in equal order")
    handles = axes[0, 0].get_legend_handles_labels()[0]
    for color, words in BASES.values():
        handles.append(Line2D([], [], color=color, label=f"kernel functions of {words}"))
    handles.append(Line2D([], [], color="0.6", marker="o", markersize=3.5, label="certified after the fit"))
    handles.append(Line2D([], [], color="0.6", linestyle="--", label="true"))
    figure.legend(handles=handles, loc="lower center", ncol=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(PICTURE, dpi=95, pil_kwargs={"optimize": True})


if __name__ == "__main__":
    main()
