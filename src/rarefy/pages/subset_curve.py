"""What the best columns reach and what no columns can beat, against their number, drawn for a page."""

import time
import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from markupsafe import Markup

import rarefy
from rarefy.certificates import SubsetCertificate
from rarefy.core.linalg.rows import Index
from rarefy.exceptions import RarefyError, RarefyWarning
from rarefy.pages.drawings import Line, Plot, curves, legend
from rarefy.pages.held_out import folds_of
from rarefy.selection import best_subset_curve
from rarefy.selection._subset_problem import SubsetSetup
from rarefy.selection._subset_sizes import cross_validated_sizes

_POINTS = 8
_ENTRIES = {"hinge": 1e6}
_MOST_ENTRIES = 1e7
"""Values times models beyond which the curve would take minutes; the hinge takes longer than the other losses."""

_SECONDS = 3.0
"""If the curve takes longer, numbers of columns are not compared by cross-validation."""


@dataclass(frozen=True)
class CurvePicture:
    """The picture, what its lines are, and a table of its points."""

    picture: Markup
    legend: Markup
    points: list[tuple[int, str, str]]
    """Number of columns, objective reached, objective that no choice is below: in per cent of that of no column."""
    objective: str
    """What is minimised, in words."""
    own: str | None
    """What the kept columns reach, where the line is that of others."""
    unit: str
    """What is counted: columns or groups of columns."""
    recommended: int | None
    """The fewest columns that predict about as well as more do; None where that was not looked for."""


def draw_curve(
    X: Any, y: Any, certificate: Any, kept: Index, *, classified: bool, automatic: bool = False
) -> CurvePicture | str:
    """The picture, or why it was left out; `automatic` says that the number kept was found by cross-validation."""
    ours = certificate if isinstance(certificate, SubsetCertificate) else None
    loss = ours.loss if ours is not None else "squared_hinge" if classified else "squared"
    if ours is not None and ours.weighted:
        return "The curve was left out: the selection had weights of samples, which this page does not know."
    models = ours.coef.shape[1] if ours is not None else max(1, len(np.unique(y)) if classified else 1)
    entries = (X.nnz if sp.issparse(X) else X.shape[0] * X.shape[1]) * float(models)
    if entries > _ENTRIES.get(loss, _MOST_ENTRIES):
        return "The curve was left out, because it would take minutes for so large a table: see best_subset_curve."
    groups = None if ours is None else ours.groups
    chosen = len(kept) if ours is None else ours.n_chosen
    total = X.shape[1] if groups is None else int(groups.max()) + 1
    settings: dict[str, Any] = {
        "loss": loss,
        "C": None if ours is None else ours.C,
        "task": "classification" if classified else "regression",
        "groups": groups,
        "standardize": ours is not None and ours.standardized,
    }
    sizes, begin = _sizes(chosen, total), time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RarefyWarning)
            found = best_subset_curve(X, y, n_features=np.array(sizes), gap_tol=1e-2, max_iter=30, **settings)
            reached = ours.objective if ours is not None else _objective(X, y, kept, found.certificates[0])
            enough = chosen if automatic else None
            if not automatic and time.perf_counter() - begin < _SECONDS:
                enough = _enough(X, y, settings, sizes, classified)
    except (RarefyError, ValueError) as error:
        return f"The curve was left out: {error}"
    best = [ours if ours is not None and c.n_chosen == ours.n_chosen else c for c in found.certificates]
    return _drawn(best, found.empty, chosen, reached, enough, same=ours is not None)


def _enough(X: Any, y: Any, settings: dict[str, Any], sizes: list[int], classified: bool) -> int | None:
    """The smallest size whose held-out score is within one standard error of the best, as `"auto"` chooses it."""
    folds = folds_of(y, classified, seed=0)
    if isinstance(folds, str) or y.ndim > 1:
        return None
    whole = SubsetSetup.of("report", X, y, **settings)
    make = partial(_setup, settings | {"C": whole.C})
    return cross_validated_sizes(make, X, y, None, whole, folds, sizes)[0]


def _setup(settings: dict[str, Any], X: Any, y: Any, sample_weight: Any) -> SubsetSetup:
    return SubsetSetup.of("report", X, y, sample_weight=sample_weight, **settings)


def _sizes(chosen: int, total: int) -> list[int]:
    """From one column to twice as many as were kept, and at least eight if there are."""
    most = min(total, max(2 * chosen, 8))
    below = np.geomspace(1, chosen, _POINTS - 2 if chosen < most else _POINTS)
    above = np.geomspace(chosen, most, 3)[1:]
    return sorted({int(size) for size in np.round([*below, *above])})


def _objective(X: Any, y: Any, kept: Index, like: SubsetCertificate) -> float | None:
    """What these columns reach, whoever chose them."""
    made = rarefy.certify(X, np.sort(kept), y=y, loss=like.loss, C=like.C)
    return None if made.objective is None else made.objective.upper


def _drawn(
    best: list[SubsetCertificate], empty: float, chosen: int, reached: float | None, enough: int | None, *, same: bool
) -> CurvePicture:
    sizes = [c.n_chosen for c in best]
    high = [100.0 * c.objective / empty for c in best]
    bounds = np.array([max(c.lower_bound, 0.0) for c in best])
    bounds = np.maximum.accumulate(bounds[::-1])[::-1]  # what more columns cannot beat, fewer cannot either
    low = (100.0 * bounds / empty).tolist()
    plot = Plot(480, 300, (sizes[0], max(sizes[-1], sizes[0] + 1)), (0.0, 100.0), log_x=sizes[-1] >= 20)
    lines = [
        Line("reached" if same else "reached by the best columns for the target", sizes, high, "accent", dots=True),
        Line("no choice of columns can be below", sizes, low, "second"),
    ]
    if enough is not None:
        lines.append(Line(f"recommended: {enough}", [enough, enough], [0.0, 100.0], "third"))
    unit = "columns" if best[0].groups is None else "groups of columns"
    mark = None if reached is None else (float(chosen), min(100.0, 100.0 * reached / empty))
    title = (
        f"Objective against the number of {unit}: with {chosen} the best choice found reaches "
        f"{high[sizes.index(chosen)]:.1f} % of the objective without columns, and no choice is below "
        f"{low[sizes.index(chosen)]:.1f} %." + ("" if enough is None else f" Recommended: {enough}.")
    )
    drawn = curves(
        "curve",
        title,
        plot,
        lines,
        (f"number of {unit}", "objective, %"),
        x_ticks=_spaced(sizes, chosen, plot),
        y_ticks=[0, 20, 40, 60, 80, 100],
        marked=mark,
    )
    rows = [(n, f"{a:.1f} %", f"{b:.1f} %") for n, a, b in zip(sizes, high, low, strict=True)]
    first = best[0]
    objective = f"½‖w‖² + {first.C:.4g} × the sum of {first.loss.replace('_', ' ')} losses"
    own = None if same or mark is None else f"{mark[1]:.1f} %"
    return CurvePicture(drawn, legend(lines, f"the {chosen} that were kept"), rows, objective, own, unit, enough)


def _spaced(sizes: list[int], chosen: int, plot: Plot) -> list[int]:
    """Those whose numbers do not touch each other on the axis; the chosen one is always there."""
    taken = [chosen]
    for size in sizes:
        if all(abs(plot.at(size, 0.0)[0] - plot.at(one, 0.0)[0]) >= 38.0 for one in taken):
            taken.append(size)
    return sorted(taken)
