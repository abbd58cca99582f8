"""Claims of a paper's tables as data, and their comparison with what was measured.

A folder below this one is a paper. Its `claims.toml` lists tables; a table names the function of the folder's
`tables.py` that measures one cell, the grid of cells (for quick and for full runs) and the claims. A claim picks cells,
a metric and either a number (`expected`, with a tolerance and its reason) or a comparison (`than`: other cells).
A block of `numbers` is many claims of the first kind: the values of `names`, beside `where`, and the number expected,
with `errors = true` followed by its standard error.
"""

import itertools
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module, resources
from typing import Any

import numpy as np

FOLDERS = ("svm_selection", "ridge_selection", "lp_svm", "rank_rc", "feature_selection")
REPRODUCED, BETTER, NOT_REACHED = "reproduced", "better", "not reached"
NO_DATA, NOT_RUN = "data unavailable", "not run"

Cell = dict[str, Any]
"""Parameters of one cell of a table."""
Metrics = dict[str, Any]
"""What was measured in a cell."""
Results = list[tuple[Cell, Metrics]]


@dataclass(frozen=True)
class Claim:
    """One statement of a table: the mean of `metric` over the cells that match `where`."""

    what: str
    where: dict[str, Any]
    metric: str
    reason: str
    expected: float | None = None
    tolerance: float = 0.0
    than: dict[str, Any] | None = None
    higher_is_better: bool = False
    comparable: bool = False
    """With `than`: the two should be equal up to the tolerance, rather than the first be no worse."""
    error: float | None = None
    """The paper's standard error: two standard errors of the difference, ours included, are accepted at least."""
    data: str | None = None
    """Why the data of the claim are unavailable; None if they are not."""


@dataclass(frozen=True)
class Verdict:
    """A claim beside what was measured."""

    claim: Claim
    outcome: str
    ours: float | None
    standard_error: float | None
    theirs: float | None
    note: str


@dataclass(frozen=True)
class Table:
    """A table or figure of a paper, ready to be run."""

    id: str
    title: str
    source: str
    run: Callable[..., dict[str, Any]]
    quick: dict[str, list[Any]]
    full: dict[str, list[Any]]
    claims: tuple[Claim, ...]
    note: str = ""
    show: dict[str, Any] = field(default_factory=dict)
    """How to lay out the results: rows, columns, metrics; `curves` names the parameter to draw them against."""
    batched: str | None = None
    """The parameter whose values one call of `run` measures at once: given their list, it returns a list of metrics."""

    def cells(self, mode: str) -> list[Cell]:
        """All combinations of the grid's values, in a fixed order."""
        return [cell for _, cells in self.calls(mode) for cell in cells]

    def calls(self, mode: str) -> list[tuple[dict[str, Any], list[Cell]]]:
        """Arguments of each call of `run`, and the cells that it measures."""
        grid = dict(self.quick if mode == "quick" else self.full)
        if self.batched is not None:
            grid[self.batched] = [grid[self.batched]]
        calls = [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]
        if self.batched is None:
            return [(call, [call]) for call in calls]
        return [(call, [{**call, self.batched: value} for value in call[self.batched]]) for call in calls]


def load_tables() -> dict[str, Table]:
    """Load all tables of all papers, by id."""
    tables = {}
    for folder in FOLDERS:
        text = resources.files(f"rarefy.papers.{folder}").joinpath("claims.toml").read_text(encoding="utf-8")
        functions = import_module(f"rarefy.papers.{folder}.tables")
        for entry in tomllib.loads(text)["table"]:
            claims = [Claim(**claim) for claim in entry.pop("claim", [])]
            claims += [claim for block in entry.pop("numbers", []) for claim in _numbers(**block)]
            run = getattr(functions, entry.pop("run"))
            common = entry.pop("grid", {})
            quick, full = ({**common, **entry.pop(mode, {})} for mode in ("quick", "full"))
            table = Table(run=run, quick=quick, full=full, claims=tuple(claims), **entry)
            tables[table.id] = table
    return tables


def _numbers(
    what: str,
    where: Cell,
    names: list[str],
    rows: list[list[Any]],
    *,
    tolerance: float = 0.0,
    share: float = 0.0,
    errors: bool = False,
    **common: Any,
) -> Iterator[Claim]:
    """One claim a row; the tolerance is a number or a share of the expected value, whichever is larger."""
    for row in rows:
        *values, expected = row[:-1] if errors else row
        if errors:
            common["error"] = row[-1]
        cell = where | dict(zip(names, values, strict=True))
        accepted = max(tolerance, share * expected)
        yield Claim(what.format(**cell), cell, expected=expected, tolerance=accepted, **common)


def judge(claim: Claim, results: Results) -> Verdict:
    """Compare a claim with results, a list of (cell, metrics)."""
    if claim.data is not None:
        return Verdict(claim, NO_DATA, None, None, claim.expected, claim.data)
    chosen = select(claim.where, claim.metric, results)
    if not chosen:
        return Verdict(claim, NOT_RUN, None, None, claim.expected, "the grid of this run has no such cell")
    ours, error = _mean_and_error([value for _, value in chosen])
    sign = -1.0 if claim.higher_is_better else 1.0
    if claim.than is None:
        if claim.expected is None:
            raise ValueError(f"The claim {claim.what!r} has neither a number nor cells to compare with.")
        worse = sign * (ours - claim.expected)
        accepted = max(claim.tolerance, 0.0 if claim.error is None else 2.0 * float(np.hypot(claim.error, error)))
        outcome = REPRODUCED if abs(worse) <= accepted else BETTER if worse < 0 else NOT_REACHED
        return Verdict(claim, outcome, ours, error, claim.expected, claim.reason)
    return _compare(claim, claim.than, chosen, select(claim.than, claim.metric, results), sign)


Chosen = list[tuple[Cell, float]]
"""Cells and the value of one metric in each."""


def _compare(claim: Claim, than: Cell, chosen: Chosen, others: Chosen, sign: float) -> Verdict:
    """Compare cells that differ in nothing but what the claim names, pair by pair."""
    named = {n for n in {*claim.where, *than} if claim.where.get(n) != than.get(n)}

    def rest(cell: Cell) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((name, str(value)) for name, value in cell.items() if name not in named))

    partner = {rest(cell): value for cell, value in others}
    pairs = [(value, partner[rest(cell)]) for cell, value in chosen if rest(cell) in partner]
    if not pairs:
        return Verdict(claim, NOT_RUN, None, None, None, "the grid of this run has no cells to compare")
    ours, error = _mean_and_error([a for a, _ in pairs])
    theirs, _ = _mean_and_error([b for _, b in pairs])
    difference, spread = _mean_and_error([a - b for a, b in pairs])
    outcome = REPRODUCED if sign * difference <= claim.tolerance else NOT_REACHED
    if claim.comparable and sign * difference < -claim.tolerance:
        outcome = BETTER
    if len(pairs) == 1:
        note = f"difference {difference:+.3g}, one cell only, so inconclusive; {claim.reason}"
    else:
        note = f"paired difference {difference:+.3g} ± {spread:.2g} over {len(pairs)} cells; {claim.reason}"
        if abs(difference) < 2.0 * spread:
            note += "; within two standard errors, so inconclusive"
    return Verdict(claim, outcome, ours, error, theirs, note)


def select(where: Cell, metric: str, results: Results) -> Chosen:
    """Return the cells that match and report the metric, with its value."""
    return [
        (cell, metrics[metric])
        for cell, metrics in results
        if metric in metrics and all(_matches(cell.get(name), value) for name, value in where.items())
    ]


def _mean_and_error(values: list[float]) -> tuple[float, float]:
    error = float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0
    return float(np.mean(values)), error


def _matches(value: Any, wanted: Any) -> bool:
    return value in wanted if isinstance(wanted, list) else bool(value == wanted)
