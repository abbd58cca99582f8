"""Pictures of matplotlib as SVG for embedding into a page: text stays text, and colours are the page's own.

Matplotlib draws with the colours of the light page; where they stand in the SVG, the page's variables take their place,
so that the same picture is read on light and on dark ground.
"""

import io
import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter
from numpy.typing import NDArray

_INK, _ACCENT, _QUIET, _SECOND = "#22333b", "#c8553d", "#a8b5b2", "#2a7f8e"
_THIRD, _FOURTH, _FIFTH = "#e09f3e", "#6a4c93", "#8ab17d"
_PALETTE = (_ACCENT, _SECOND, _THIRD, _FOURTH, _INK, _QUIET, _FIFTH)
_NAMES = {
    _INK: "ink",
    "#000000": "ink",
    _ACCENT: "accent",
    _SECOND: "second",
    _THIRD: "third",
    _FOURTH: "fourth",
    _FIFTH: "fifth",
    _QUIET: "quiet",
}
"""Variables of the page's style sheet that stand for a colour."""


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


def svg(figure: Figure, title: str = "") -> str:
    """Return a figure as SVG text for embedding into a page; screen readers say the title."""
    text = io.StringIO()
    with mpl.rc_context({"svg.fonttype": "none"}):
        figure.savefig(text, format="svg", metadata={"Date": None}, transparent=True)
    written = text.getvalue()
    written = re.sub(r'<g id="[^"]*">', "<g>", written[written.index("<svg") :])  # a page has several pictures
    for colour, name in _NAMES.items():
        written = written.replace(colour, f"var(--{name}, {colour})")
    # The page's font: what matplotlib measured with is not everywhere.
    written = re.sub(r"font: ([0-9.]+px) [^;\"]*", r"font-size: \1", written)
    return written.replace("<svg", f'<svg role="img" aria-label="{escape(title or _title(figure))}"', 1)


def _title(figure: Figure) -> str:
    """What stands above a picture."""
    above = [figure.get_suptitle(), *(axes.get_title(loc) for axes in figure.axes for loc in ("left", "center"))]
    return next((text for text in above if text), "picture")
