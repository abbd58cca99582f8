"""Pictures as SVG text, for embedding into a page."""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

_INK, _ACCENT, _QUIET, _SECOND = "#22333b", "#c8553d", "#a8b5b2", "#2a7f8e"
_COLOURS = {
    "BSS": _ACCENT,
    "BSS on support vectors": "#e09f3e",
    "leverage scores": _SECOND,
    "most frequent": "#6a4c93",
    "at random": _QUIET,
}
_PALETTE = (_ACCENT, _SECOND, "#e09f3e", "#6a4c93", _INK, _QUIET, "#8ab17d")


def weights(words: Sequence[tuple[str, float, bool]], title: str) -> str:
    """Draw the weight of each kept word in order of selection; relevant words are marked."""
    figure, axes = _axes(title, "order of selection", "weight")
    values = np.array([weight for _, weight, _ in words])
    relevant = np.array([mark for _, _, mark in words])
    order = np.arange(1, len(values) + 1)
    axes.vlines(order[~relevant], 0, values[~relevant], color=_QUIET, linewidth=1, label="other word")
    axes.vlines(order[relevant], 0, values[relevant], color=_ACCENT, linewidth=1.4, label="topic word")
    last = -len(values)
    for i in map(int, np.flatnonzero(relevant)):
        if i - last >= len(values) / 24:  # names must not overlap
            axes.annotate(words[i][0], (order[i], values[i]), rotation=60, fontsize=8, color=_INK, va="bottom")
            last = i
    axes.set_ylim(0, 1.35 * values.max())
    axes.legend(frameon=False, loc="upper left", ncols=2)
    return svg(figure)


def spectrum_between_bounds(eigenvalues: NDArray[np.float64], interval: tuple[float, float]) -> str:
    """Draw the eigenvalues of V'RR'V between their two bounds."""
    figure, axes = _axes(
        "Eigenvalues of V′RR′V: 1 everywhere would be no change at all",
        "eigenvalue, from small to large",
        "value (logarithmic)",
    )
    axes.axhspan(*interval, color=_SECOND, alpha=0.10, label="proved in advance")
    for value in interval:
        axes.axhline(value, color=_SECOND, linewidth=1, linestyle="--")
        axes.annotate(f"{value:.3g}", (1, value), xytext=(0, 3), textcoords="offset points", fontsize=9, color=_SECOND)
    axes.axhline(1, color=_QUIET, linewidth=1)
    axes.plot(np.arange(1, len(eigenvalues) + 1), eigenvalues, ".", color=_ACCENT, markersize=4, label="measured")
    axes.set_yscale("log")
    axes.legend(frameon=False, loc="lower right")
    return svg(figure)


def error_against_features(sizes: Sequence[int], curves: Mapping[str, Sequence[float]], error_all: float) -> str:
    """Draw the cross-validated error of every selector against the number of features."""
    figure, axes = _axes(
        "Error of a linear SVM on the kept words", "number of words kept", "error in cross-validation (%)"
    )
    axes.axhline(100 * error_all, color=_INK, linewidth=1, linestyle=":", label="all words")
    for name, errors in curves.items():
        axes.plot(sizes, 100 * np.asarray(errors), marker="o", markersize=4, color=_COLOURS[name], label=name)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return svg(figure)


def grouped_means(title: str, columns: Sequence[str], rows: Mapping[Any, Sequence[tuple[float, float]]]) -> str:
    """Draw means with standard errors over the columns of a table, one colour a row; `rows` has (mean, error) pairs."""
    figure, axes = _axes(title, "", "")
    x = np.arange(len(columns))
    for i, (name, values) in enumerate(rows.items()):
        means, errors = (np.array(part, dtype=float) for part in zip(*values, strict=True))
        shift = (i - (len(rows) - 1) / 2) * 0.8 / len(rows)
        colour = _PALETTE[i % len(_PALETTE)]
        axes.errorbar(x + shift, means, yerr=errors, fmt="o", color=colour, capsize=3, label=str(name))
    axes.set_xticks(x, columns, fontsize=8)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return svg(figure)


def mean_curves(
    title: str,
    xlabel: str,
    lines: Mapping[str, Sequence[tuple[Any, float, float]]],
    published: Mapping[str, Sequence[tuple[Any, float]]],
) -> str:
    """Draw means with standard errors as curves; published values are dashed, in the same colour.

    Both map the name of a curve to its values, (x, mean, error) and (x, mean).
    """
    figure, axes = _axes(title, xlabel, "")
    for i, (name, values) in enumerate(lines.items()):
        x, means, errors = zip(*values, strict=True)
        colour = _PALETTE[i % len(_PALETTE)]
        marker = "os^Dv"[i // len(_PALETTE) % 5]  # when the colours are used up
        axes.errorbar(x, means, yerr=errors, marker=marker, markersize=4, color=colour, capsize=3, label=name)
        if published.get(name):
            axes.plot(*zip(*published[name], strict=True), linestyle="--", marker="x", color=colour, alpha=0.6)
    if any(published.values()):
        axes.plot([], [], linestyle="--", marker="x", color=_QUIET, label="paper")
    axes.set_xticks(sorted({x for values in lines.values() for x, *_ in values}))
    drawn = [value[1] for values in (*lines.values(), *published.values()) for value in values]
    if min(drawn) > 0.0 and max(drawn) > 10.0 * min(drawn):
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axes.yaxis.set_major_formatter("{x:g}")
        axes.yaxis.set_minor_formatter(NullFormatter())
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return svg(figure)


def marked_images(title: str, images: Mapping[str, NDArray[Any]], weights: NDArray[np.float64]) -> str:
    """Draw images side by side, with a square on every pixel of nonzero weight, its size by the weight.

    `images` maps a caption to a square array; `weights` has a value for each pixel, row by row.
    """
    figure = Figure(figsize=(3.1 * len(images), 3.5), layout="constrained")
    figure.suptitle(title, fontsize=10, color=_INK, x=0.01, ha="left")
    marked = np.flatnonzero(weights)
    for panel, (caption, image) in zip(np.atleast_1d(figure.subplots(1, len(images))), images.items(), strict=True):
        side = len(image)
        panel.imshow(image, cmap="Greys")
        size = (190.0 / side) ** 2 * weights[marked] / max(float(np.max(weights)), 1e-300)
        panel.scatter(
            marked % side, marked // side, s=size, marker="s", facecolors="none", edgecolors=_ACCENT, linewidths=1.6
        )
        panel.set_title(caption, fontsize=9, color=_INK)
        panel.set_axis_off()
    return svg(figure)


def _axes(title: str, xlabel: str, ylabel: str) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(8.6, 3.9), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title, loc="left", fontsize=11, color=_INK)
    axes.set_xlabel(xlabel, color=_INK)
    axes.set_ylabel(ylabel, color=_INK)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def svg(figure: Figure) -> str:
    """Return a figure as SVG text for embedding into a page."""
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    written = text.getvalue()
    return written[written.index("<svg") :]
