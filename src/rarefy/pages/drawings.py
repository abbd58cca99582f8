"""Small pictures as SVG whose colours are the page's own, so that they are read on light and on dark ground alike.

Text stays text: it can be found, copied and read aloud. Names in pictures are data and are escaped.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

_WIDTH = 480.0
_BAR_ROW, _BAR = 44.0, 14.0


@dataclass(frozen=True)
class Bar:
    """One bar of a picture."""

    label: str
    value: float
    text: str
    """The value in words, beside the bar."""
    marked: bool = False
    spread: float = 0.0
    """Half the length of a line across the end of the bar."""


@dataclass(frozen=True)
class Line:
    """One curve of a picture."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    style: str
    """A class of the page's style sheet: "accent", "second", "third", "fourth", "fifth" or "quiet"."""
    dots: bool = False
    joined: bool = True
    """Whether a line leads through the points."""


@dataclass(frozen=True)
class Plot:
    """A coordinate system: where values lie on the paper."""

    width: float
    height: float
    x: tuple[float, float]
    y: tuple[float, float]
    log_x: bool = False
    log_y: bool = False
    left: float = 58.0
    right: float = 22.0
    top: float = 12.0
    bottom: float = 46.0

    def at(self, x: float, y: float) -> tuple[float, float]:
        """The place of a point."""
        across, up = _share(x, self.x, self.log_x), _share(y, self.y, self.log_y)
        return (
            round(self.left + across * (self.width - self.left - self.right), 1),
            round(self.height - self.bottom - up * (self.height - self.top - self.bottom), 1),
        )


def _share(value: float, ends: tuple[float, float], log: bool) -> float:
    """How far a value is from one end to the other."""
    low, high = ends
    return float(np.log(value / low) / np.log(high / low)) if log else (value - low) / (high - low)


def picture(name: str, title: str, width: float, height: float, body: Sequence[Markup]) -> Markup:
    """An SVG element with a title that screen readers say; `name` has to be the only one of its kind on the page."""
    return Markup(
        '<svg class="drawing" viewBox="0 0 {:g} {:g}" role="img" aria-labelledby="{}-title"><title id="{}-title">{}'
        "</title>{}</svg>"
    ).format(width, height, name, name, title, Markup("\n").join(body))


def bars(name: str, title: str, rows: Sequence[Bar], most: float) -> Markup:
    """Draw horizontal bars from 0 to `most`, each under its label, so that long labels fit on narrow screens."""
    end, body = _WIDTH - 120.0, []
    for i, row in enumerate(rows):
        top = i * _BAR_ROW
        length = end * float(np.clip(row.value / most, 0.0, 1.0)) if most > 0.0 else 0.0
        style = "accent" if row.marked else "second"
        body.append(
            Markup('<text x="0" y="{:g}" class="{}">{}</text>').format(top + 15, _weight(row.marked), row.label)
        )
        body.append(
            Markup('<rect x="0" y="{:g}" width="{:g}" height="{:g}" class="fill {}"/>').format(
                top + 21, max(round(length, 1), 1.0), _BAR, style
            )
        )
        reach = min(row.spread / most * end, end - length) if most > 0.0 else 0.0
        if reach > 0.0:
            first, last = max(length - reach, 0.0), length + reach
            body.append(_segment(first, top + 21 + _BAR / 2, last, top + 21 + _BAR / 2, "ink"))
        body.append(
            Markup('<text x="{:g}" y="{:g}" class="{}">{}</text>').format(
                round(length + reach, 1) + 8, top + 33, _weight(row.marked), row.text
            )
        )
    return picture(name, title, _WIDTH, len(rows) * _BAR_ROW, body)


def curves(
    name: str,
    title: str,
    plot: Plot,
    lines: Sequence[Line],
    labels: tuple[str, str],
    *,
    x_ticks: Sequence[float],
    y_ticks: Sequence[float],
    marked: tuple[float, float] | None = None,
    marker: str | None = None,
) -> Markup:
    """Draw curves with axes; `marked` gets a ring, and a ring with the id `marker` can be moved by a script."""
    body = [*_axes(plot, labels, x_ticks, y_ticks)]
    for line in lines:
        points = [plot.at(x, y) for x, y in zip(line.x, line.y, strict=True)]
        if line.joined:
            body.append(Markup('<path d="{}" class="line {}"/>').format(_path(points), line.style))
        if line.dots:
            radius = 3.5 if line.joined else 2.2
            dot = Markup('<circle cx="{}" cy="{}" r="{}" class="fill {}"/>')
            body += [dot.format(*point, radius, line.style) for point in points]
    if marked is not None:
        x, y = plot.at(*marked)
        body.append(Markup('<circle cx="{}" cy="{}" r="8" class="ring"/>').format(x, y))
    if marker is not None:
        x, y = plot.at(plot.x[0], plot.y[0])
        far_x, far_y = plot.at(plot.x[1], plot.y[1])
        body.append(
            Markup(
                '<circle id="{}" cx="{}" cy="{}" r="6" class="moving" data-box="{} {} {} {}" visibility="hidden"/>'
            ).format(marker, x, y, x, y, far_x, far_y)
        )
    return picture(name, title, plot.width, plot.height, body)


def _axes(plot: Plot, labels: tuple[str, str], x_ticks: Sequence[float], y_ticks: Sequence[float]) -> list[Markup]:
    """Grid, ticks and names of both axes."""
    (x0, x1), (y0, y1), body = plot.x, plot.y, []
    for tick in y_ticks:
        left, y = plot.at(x0, tick)
        body.append(_segment(left, y, plot.at(x1, tick)[0], y, "grid"))
        body.append(Markup('<text x="{:g}" y="{:g}" class="tick end">{:g}</text>').format(left - 6, y + 4, tick))
    for tick in x_ticks:
        x, bottom = plot.at(tick, y0)
        body.append(_segment(x, bottom, x, bottom + 4, "grid"))
        body.append(Markup('<text x="{:g}" y="{:g}" class="tick middle">{:g}</text>').format(x, bottom + 18, tick))
    left, bottom = plot.at(x0, y0)
    right, top = plot.at(x1, y1)
    body.append(_segment(left, bottom, right, bottom, "axis"))
    middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
    body.append(
        Markup('<text x="{:g}" y="{:g}" class="tick middle">{}</text>').format(middle_x, plot.height - 8, labels[0])
    )
    body.append(
        Markup('<text x="14" y="{:g}" class="tick middle" transform="rotate(-90 14 {:g})">{}</text>').format(
            middle_y, middle_y, labels[1]
        )
    )
    return body


def _path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:g} {y:g}" for x, y in points)


def _segment(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    return Markup('<line x1="{:g}" y1="{:g}" x2="{:g}" y2="{:g}" class="{}"/>').format(
        round(x1, 1), round(y1, 1), round(x2, 1), round(y2, 1), style
    )


def _weight(marked: bool) -> str:
    return "label strong" if marked else "label"


def legend(lines: Sequence[Line], marked: str | None = None) -> Markup:
    """The names of curves with a sample of each, as text under a picture; what the ring means comes last."""
    kinds = [line.style if line.joined else f"dot {line.style}" for line in lines]
    items = [
        Markup('<span class="key {}"></span>{}').format(k, line.name) for k, line in zip(kinds, lines, strict=True)
    ]
    items += [] if marked is None else [Markup('<span class="key ring"></span>{}').format(marked)]
    return Markup('<p class="legend">{}</p>').format(
        Markup(" ").join(Markup("<span>{}</span>").format(i) for i in items)
    )


def shown(name: object, most: int = 200) -> str:
    """A name as a page shows it: not endless."""
    text = str(name)
    return text if len(text) <= most else text[: most - 1] + "…"
