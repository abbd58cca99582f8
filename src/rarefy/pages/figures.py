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
    "most frequent": _SECOND,
    "F test": "#e09f3e",
    "forward": "#3a7d44",
    "at random": _QUIET,
}
_PALETTE = (_ACCENT, _SECOND, "#e09f3e", "#6a4c93", _INK, _QUIET, "#8ab17d")


def spectrum(eigenvalues: NDArray[np.float64]) -> str:
    """Draw the eigenvalues of V'RR'V, from small to large."""
    figure, axes = _axes(
        "How much of each direction of the documents is kept",
        "direction, from the weakest to the strongest",
        "share that is kept",
    )
    axes.axhline(1, color=_QUIET, linewidth=1)
    axes.plot(np.arange(1, len(eigenvalues) + 1), eigenvalues, ".", color=_ACCENT, markersize=4)
    low = float(eigenvalues[0])
    if low > 0.0:
        text = f"weakest: {low:.2g}"
        axes.annotate(text, (1, low), xytext=(8, 4), textcoords="offset points", fontsize=9, color=_ACCENT)
        axes.set_yscale("log")
    return svg(figure)


def against_features(
    title: str,
    ylabel: str,
    sizes: Sequence[int],
    curves: Mapping[str, Sequence[float]],
    *,
    level: tuple[str, float] | None = None,
) -> str:
    """Draw shares, in per cent, of every selector against the number of features; `level` is a name and a value."""
    figure, axes = _axes(title, "number of words kept", ylabel)
    if level is not None:
        axes.axhline(100 * level[1], color=_INK, linewidth=1, linestyle=":", label=level[0])
    for name, values in curves.items():
        axes.plot(sizes, 100 * np.asarray(values), marker="o", markersize=4, color=_COLOURS[name], label=name)
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return svg(figure)


def kinds_of_columns(n_chosen: int, n_columns: int, always: int, never: int) -> str:
    """Draw a bar of the chosen columns and one of the others, each with the part about which something is proved."""
    figure = Figure(figsize=(8.6, 2.3), layout="constrained")
    axes = figure.add_subplot()
    bars = (
        (n_chosen, always, _ACCENT, f"the {n_chosen} chosen words: {always} proved to be in every best choice"),
        (n_columns - n_chosen, never, _SECOND, f"the others: {never} proved to be in no best choice"),
    )
    for place, (count, proved, colour, text) in enumerate(bars):
        share = proved / count if count else 0.0
        axes.barh(-place, share, height=0.4, color=colour)
        axes.barh(-place, 1.0 - share, height=0.4, left=share, color=_QUIET, alpha=0.4)
        axes.text(0.0, 0.25 - place, text, color=colour, va="bottom", fontsize=10)
        axes.text(1.0, 0.25 - place, f"{count - proved} open", color=_INK, va="bottom", ha="right", fontsize=10)
    axes.set(xlim=(0, 1), ylim=(-1.3, 0.6))
    axes.set_axis_off()
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
