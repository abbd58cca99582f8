"""Certified shares as bars beside the thresholds of the verdict, and what is proved about the columns."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rarefy._pictures import axes_of
from rarefy.certificates._verdict import THRESHOLDS

if TYPE_CHECKING:
    from rarefy.certificates._certificate import Certificate
    from rarefy.certificates._kernel import KernelCertificate
    from rarefy.certificates._subset import SubsetCertificate

_STATUS_COLOURS = {"in every best set": "#3a7d44", "open": "0.86", "in none": "#8a6d9b"}
_NUMBERED = 0.06
"""A part of a bar that is shorter has no room for its number."""


class ShareBars(NamedTuple):
    """What was drawn, and where."""

    ax: Any
    bars: Any
    """One bar a share."""
    status: dict[str, Any]
    """By status, its parts of the bars of chosen and of other columns; empty if nothing is known about columns."""


def column_shares(c: "Certificate") -> dict[str, float]:
    """What is certified about kept columns."""
    growth = max(1.0, c.eigenvalues[1])
    return _certified(
        {
            "objective, these labels": c.objective_ratio,
            "of the best columns there are": c.optimality,
            "objective, all rows": c.all_rows_ratio,
            "SVM objective, any labels": c.soft_margin_ratio,
            "margin² / radius², any labels": None if c.margin_floor is None else c.margin_floor / growth,
            "of the data explained": None if c.sketch is not None else c.explained,
        }
    )


def kernel_matrix_shares(c: "KernelCertificate") -> dict[str, float]:
    """What is certified about a kept kernel matrix."""
    margin, radius = c.margin_floor, c.radius_ratio
    return _certified(
        {
            "objective, these labels": c.objective_ratio,
            "SVM objective, any labels": c.soft_margin_ratio,
            "margin² / radius², any labels": None if margin is None or radius is None else margin / max(1.0, radius),
            "of the trace": c.explained,
        }
    )


def subset_shares(c: "SubsetCertificate") -> dict[str, float]:
    """What is certified about a choice of columns among all choices."""
    return _certified({"of the best columns there are": c.optimality, "objective, these labels": c.objective_ratio})


def status_counts(c: "SubsetCertificate") -> dict[str, dict[str, int]]:
    """How many chosen and how many other columns have which status."""
    chosen, status = np.isin(np.arange(c.n_features), c.indices), c.column_status
    return {
        name: {kind: int(np.sum(status[among] == kind)) for kind in _STATUS_COLOURS}
        for name, among in {"chosen": chosen, "others": ~chosen}.items()
    }


def draw_shares(
    ax: Any, shares: dict[str, float], about: str, counts: dict[str, dict[str, int]] | None = None
) -> ShareBars:
    """One bar a claim, the thresholds behind them; below them the status of columns, if there are `counts`."""
    ax = axes_of(ax, 7.0, 2.4 if counts is None else 2.8)
    for least, word in THRESHOLDS:
        ax.axvline(least, color="0.75", linewidth=0.8, zorder=0)
        ax.text(least, 1.02, word, transform=ax.get_xaxis_transform(), ha="center", fontsize=8, color="0.4")
    bars = ax.barh(list(shares), list(shares.values()), color="#2a7f9e")
    status = _draw_status(ax, counts) if counts is not None and shares else {}
    if not ax.yaxis_inverted():
        ax.invert_yaxis()
    ax.set(xlim=(0.0, 1.0), xlabel=f"certified share, {about}")
    if not shares:
        ax.text(0.5, 0.5, "nothing is certified", transform=ax.transAxes, ha="center")
        ax.set_yticks([])
    return ShareBars(ax, bars, status)


def _draw_status(ax: Any, counts: dict[str, dict[str, int]]) -> dict[str, Any]:
    """Bars of length 1, divided by what is proved."""
    totals = {name: sum(of.values()) for name, of in counts.items() if sum(of.values())}
    names = [f"the {total} {'others' if name == 'others' else 'chosen'}" for name, total in totals.items()]
    drawn, left = {}, np.zeros(len(names))
    for kind, colour in _STATUS_COLOURS.items():
        numbers = [counts[name][kind] for name in totals]
        widths = np.array(numbers) / list(totals.values())
        drawn[kind] = ax.barh(names, widths, left=left, color=colour, height=0.6, label=f"{kind}: {sum(numbers)}")
        texts = [str(n) if width >= _NUMBERED else "" for n, width in zip(numbers, widths, strict=True)]
        ink = "black" if kind == "open" else "white"
        ax.bar_label(drawn[kind], texts, label_type="center", fontsize=8, color=ink)
        left += widths
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.08), ncols=3, frameon=False, fontsize=8, borderaxespad=0.0)
    return drawn


def _certified(shares: dict[str, float | None]) -> dict[str, float]:
    return {name: share for name, share in shares.items() if share is not None}
