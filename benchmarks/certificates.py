"""What certificates say at the numbers of columns that people keep: the published method beside today's default.

    RAREFY_DATA=... python benchmarks/certificates.py [--out docs/_static]

Six sets of data (movie reviews, two pairs of newsgroups, RCV1, two of gene expression), each at r = rank / 2, rank and
2 rank: the ratio of the largest to the smallest eigenvalue and the share that is certified for any labels, with the
published method (`weighting="bss"`) and with the default; the certified share of a linear SVM's objective (hinge, C=1)
for columns chosen with labels, by chi-square or the F-test, by frequency or largest entry, and at random, and
without any column; the same ratio as SVC computes it; and the times. Writes certificates.json and certificates.png.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_selection import chi2, f_classif
from sklearn.preprocessing import StandardScaler, normalize
from sklearn.svm import SVC

import rarefy
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.selection import BSSSelector

warnings.simplefilter("ignore")


def text(X, y, n, seed=0):
    """A random sample of n documents in equal numbers of both classes: log counts, rows of length 1."""
    rng = np.random.default_rng(seed)
    rows = np.concatenate([rng.choice(np.flatnonzero(y == c), n // 2, replace=False) for c in np.unique(y)])
    X = X[rows].astype(float)
    X = sp.csr_array(X[:, np.asarray(X.sum(axis=0)).ravel() > 0])
    return normalize(X.log1p()), np.where(y[rows] == np.unique(y)[-1], 1, -1)


def datasets(folder):
    """Name and (X, y) of the six sets."""
    sparse = {name: sp.load_npz(folder / f"text/{name}_X.npz") for name in TEXTS}
    labels = {name: np.load(folder / f"text/{name}_y.npz", allow_pickle=False)["y"] for name in TEXTS}
    yield "movie reviews", text(sparse["movie_review_polarity"], labels["movie_review_polarity"], 200)
    for a, b in ((3, 4), (0, 15)):
        both = np.isin(labels["20news_nohdr"], (a, b))
        yield f"newsgroups {a}, {b}", text(sparse["20news_nohdr"][both], labels["20news_nohdr"][both], 200)
    yield "RCV1", text(sparse["rcv1_subsets_ccat"], labels["rcv1_subsets_ccat"], 500)
    for name in ("colon_alon", "leukemia_golub"):
        z = np.load(folder / f"wide/{name}.npz", allow_pickle=False)
        X = z["X"].astype(float)
        X = np.log2(np.maximum(X, 1.0)) if X.max() > 1000 else X
        yield name.split("_")[0], (StandardScaler().fit_transform(X), np.where(z["y"] == 1, 1, -1))


TEXTS = ("movie_review_polarity", "20news_nohdr", "rcv1_subsets_ccat")


def forward(X, y, r, C=1.0, batches=20):
    """Columns with labels in a few lines: the largest gradients of the objective, in batches."""
    kept, beta = np.zeros(0, dtype=int), C * y.astype(float)
    for size in np.linspace(0, r, min(batches, r) + 1)[1:].astype(int):
        gradient = np.asarray(X.T @ beta).ravel() ** 2
        gradient[kept] = -1.0
        kept = np.append(kept, np.argsort(-gradient)[: size - len(kept)])
        beta = linear_model(as_rows(X[:, kept]), y.astype(float), np.full(len(y), C), MarginLoss("hinge")).beta
    return kept


def choices(X, y, r):
    """Columns by how they were chosen."""
    rng = np.random.default_rng(0)
    if sp.issparse(X):
        filtered, simple = chi2(X, y)[0], np.asarray((X != 0).sum(axis=0)).ravel()
    else:
        filtered, simple = f_classif(X, y)[0], np.abs(X).max(axis=0)
    return {
        "with labels": forward(X, y, r),
        "filter": np.argsort(-np.nan_to_num(filtered))[:r],
        "simple": np.argsort(-simple, kind="stable")[:r],
        "random": rng.choice(X.shape[1], r, replace=False),
    }


def svc_objective(X, y):
    model = SVC(kernel="linear", C=1.0, tol=1e-6).fit(X, y)
    w = model.coef_.toarray().ravel() if sp.issparse(model.coef_) else model.coef_.ravel()
    return 0.5 * w @ w + np.maximum(0.0, 1.0 - y * model.decision_function(X)).sum()


def spectral(X, r, weighting):
    start = time.process_time()
    found = BSSSelector(r, weighting=weighting).fit(X).certificate_
    seconds = time.process_time() - start
    low, high = found.eigenvalues
    return {
        "ratio": high / low if low > 0.0 else None,
        "share": found.share,
        "verdict": found.verdict,
        "margin_floor": found.margin_floor,
        "risk_ratio": found.risk_ratio,
        "rank": found.rank,
        "proved": found.proved,
        "seconds": seconds,
        "sentence": found.sentence,
    }


def measure(X, y):
    """All numbers of one set of data."""
    rank, whole = int(np.linalg.matrix_rank(X.toarray() if sp.issparse(X) else X)), svc_objective(X, y)
    rows = []
    for factor in (0.5, 1, 2):
        r = min(int(factor * rank), X.shape[1])
        row = {"r": r, "r / rank": factor, **{w: spectral(X, r, w) for w in ("bss", "optimal")}, "objective": {}}
        for name, columns in choices(X, y, r).items():
            found = rarefy.certify(X, columns, y=y, C=1.0)
            verified, true = bool(found.verify(X, y)), whole / svc_objective(X[:, columns], y)
            row["objective"][name] = {"certified": found.objective_ratio, "SVC": true, "verified": verified}
        rows.append(row)
    without = whole / (2.0 * min(np.sum(y == c) for c in (-1, 1)))  # a constant, C = 1
    return {"shape": X.shape, "rank": rank, "without columns": float(without), "rows": rows}


def print_rows(name, found):
    for row in found["rows"]:
        old, new = row["bss"], row["optimal"]
        ratios = " -> ".join("none" if one["ratio"] is None else f"{one['ratio']:.3g}" for one in (old, new))
        shares = ", ".join(f"{key} {one['certified']:.3f}" for key, one in row["objective"].items())
        print(f"{name:16} r={row['r']:5} ({row['r / rank']} rank)  eigenvalues {ratios}  "
              f"share {old['share'] or 0:.3f} -> {new['share'] or 0:.3f}  objective: {shares}  "
              f"time x{new['seconds'] / old['seconds']:.1f}", flush=True)  # fmt: skip


STYLES = {
    "with labels": ("#2a7f9e", "o", "by gradients of the objective"),
    "filter": ("#e08a1e", "s", "by chi-square or F-test"),
    "simple": ("#6a9a3a", "^", "most frequent or largest"),
    "random": ("#b5485d", "v", "at random"),
}


def picture(results, path):
    """Certified shares against r / rank, one panel a set of data."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 6.6), sharex=True, sharey=True)
    for ax, (name, found) in zip(axes.flat, results.items(), strict=True):
        draw(ax, name, found)
    for ax in axes[-1]:
        ax.set_xlabel("columns kept / rank")
    for ax in axes[:, 0]:
        ax.set_ylabel("certified share")
    for level, word in ((0.1, "weak"), (0.5, "useful"), (0.9, "strong")):
        for ax in axes[:, -1]:
            ax.text(1.02, level, word, transform=ax.get_yaxis_transform(), va="center", fontsize=9, color="0.4")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.13, 1, 1))
    figure.savefig(path, dpi=120)


def draw(ax, name, found):
    """One panel."""
    x = [row["r / rank"] for row in found["rows"]]
    for key, (color, marker, label) in STYLES.items():
        shares = [row["objective"][key]["certified"] for row in found["rows"]]
        ax.plot(x, shares, color=color, marker=marker, label=f"SVM objective, columns {label}")
    ax.axhline(found["without columns"], color="#b5485d", linestyle=":", label="SVM objective, without any column")
    two = found["rows"][-1]
    ax.plot([2], [two["optimal"]["share"]], "k*", markersize=12, label="any labels, default weights")
    ax.plot([2], [two["bss"]["share"]], "kx", markersize=7, label="any labels, published method")
    for level in (0.1, 0.5, 0.9):
        ax.axhline(level, color="0.85", linewidth=0.8, zorder=0)
    n, d = found["shape"]
    ax.set_title(f"{name}, {n} × {d}", fontsize=10)
    ax.set(ylim=(0, 1), xscale="log", xlim=(0.44, 2.27))
    ax.set_xticks([0.5, 1, 2], ["½", "1", "2"])
    ax.minorticks_off()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args()
    results = {}
    for name, (X, y) in datasets(Path(os.environ["RAREFY_DATA"])):
        results[name] = measure(X, y)
        print_rows(name, results[name])
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "certificates.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    picture(results, args.out / "certificates.png")


if __name__ == "__main__":
    main()
