"""Claims of a paper's tables as data, and their comparison with what was measured.

A folder below this one is a paper. Its `claims.toml` lists tables; a table names the function of the folder's
`tables.py` that measures one cell, the grid of cells (for quick and for full runs) and the claims. A claim picks cells,
a metric and either a number (`expected`, with a tolerance and its reason) or a comparison (`than`: other cells).
A block of `numbers` is many claims of the first kind: the values of `names`, beside `where`, and the number expected,
with `errors = true` followed by its standard error.

When a verdict counts. A number is compared within a tolerance that is stated with its reason and is meant to cover
other draws than the paper's, so one cell suffices. A comparison has no such allowance: it is judged by the mean
difference over pairs of cells that differ in nothing but what is compared, and is *not settled* if they come from one
draw of the data, or if the verdict is another one somewhere in the 95 % interval of that mean (Student's t, which is
wide for few draws: 12.7 standard errors for two, 4.3 for three). Cells of one draw are not independent: a table names
the parameters that tell draws apart (`draws`), and differences within a draw are averaged first.

Whose numbers. `paper` of a verdict is a number that the paper prints, `other` is our own mean of the cells that a
comparison names. A claim with `own` is ours, not the paper's: an extension, or the paper's claim about a variant.
"""

import itertools
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib import import_module, resources
from typing import Any

import numpy as np
from scipy.stats import t as student

FOLDERS = ("svm_selection", "ridge_selection", "lp_svm", "rank_rc", "feature_selection")
REPRODUCED, BETTER, NOT_REACHED = "reproduced", "better", "not reached"
NOT_SETTLED = "not settled"
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
    bound: bool = False
    """The number is a bound: whatever is on its good side reproduces it."""
    own: bool = False
    """Whether the claim is ours rather than the paper's."""
    data: str | None = None
    """Why the data of the claim are unavailable; None if they are not."""

    @property
    def paper(self) -> float | None:
        """The number that the paper prints; None for orderings and for claims of ours."""
        return None if self.own else self.expected

    @property
    def title(self) -> str:
        """What is claimed, marked if it is ours."""
        return f"ours: {self.what}" if self.own else self.what


@dataclass(frozen=True)
class Verdict:
    """A claim beside what was measured."""

    claim: Claim
    outcome: str
    ours: float | None
    standard_error: float | None
    other: float | None
    """Our mean of the cells that `ours` is compared with."""
    note: str

    @property
    def paper(self) -> float | None:
        """The number that the paper prints, if there is one."""
        return self.claim.paper


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
    """How to lay out the results: rows, columns, metrics; `curves` names the parameter to draw them against,
    `lines` what tells the curves apart (rows and columns if absent), `own` the rows that the paper does not have."""
    batched: str | None = None
    """The parameter whose values one call of `run` measures at once: given their list, it returns a list of metrics."""
    draws: tuple[str, ...] = ()
    """Parameters that tell draws of the data apart; without any, every cell counts as a draw."""

    def judge(self, results: Results) -> list[Verdict]:
        """Compare all claims with results."""
        return [judge(claim, results, self.draws) for claim in self.claims]

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
            draws = tuple(entry.pop("draws", ()))
            table = Table(run=run, draws=draws, quick=quick, full=full, claims=tuple(claims), **entry)
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


def judge(claim: Claim, results: Results, draws: Sequence[str] = ()) -> Verdict:
    """Compare a claim with results, a list of (cell, metrics); `draws` names what tells draws of the data apart."""
    if claim.data is not None:
        return Verdict(claim, NO_DATA, None, None, None, claim.data)
    chosen = select(claim.where, claim.metric, results)
    if not chosen:
        return Verdict(claim, NOT_RUN, None, None, None, "the grid of this run has no such cell")
    if claim.than is not None:
        return _compare(claim, claim.than, chosen, select(claim.than, claim.metric, results), draws)
    if claim.expected is None:
        raise ValueError(f"The claim {claim.what!r} has neither a number nor cells to compare with.")
    ours, error = _mean_and_error(_by_draw(chosen, draws))
    worse = _sign(claim) * (ours - claim.expected)
    accepted = max(claim.tolerance, 0.0 if claim.error is None else 2.0 * float(np.hypot(claim.error, error)))
    outcome = REPRODUCED if abs(worse) <= accepted else BETTER if worse < 0 else NOT_REACHED
    if claim.bound and outcome == BETTER:
        outcome = REPRODUCED
    wanted = f"wanted: {claim.expected:g}; " if claim.own else ""
    return Verdict(claim, outcome, ours, error, None, wanted + claim.reason)


Chosen = list[tuple[Cell, float]]
"""Cells and the value of one metric in each."""


def _compare(claim: Claim, than: Cell, chosen: Chosen, others: Chosen, draws: Sequence[str]) -> Verdict:
    """Compare cells that differ in nothing but what the claim names, pair by pair."""
    named = {n for n in {*claim.where, *than} if claim.where.get(n) != than.get(n)}

    def rest(cell: Cell) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((name, str(value)) for name, value in cell.items() if name not in named))

    partner = {rest(cell): value for cell, value in others}
    pairs = [(cell, value, partner[rest(cell)]) for cell, value in chosen if rest(cell) in partner]
    if not pairs:
        return Verdict(claim, NOT_RUN, None, None, None, "the grid of this run has no cells to compare")
    ours, error = _mean_and_error(_by_draw([(cell, a) for cell, a, _ in pairs], draws))
    other, _ = _mean_and_error(_by_draw([(cell, b) for cell, _, b in pairs], draws))
    differences = _by_draw([(cell, a - b) for cell, a, b in pairs], draws)
    outcome, note = _settle(claim, differences)
    return Verdict(claim, outcome, ours, error, other, f"{note}; {claim.reason}" if claim.reason else note)


def _settle(claim: Claim, differences: list[float]) -> tuple[str, str]:
    """The outcome that mean and interval of the differences allow, and both in words."""
    m, (difference, spread) = len(differences), _mean_and_error(differences)
    outcome = _ordering(claim, difference)
    if m == 1:
        return NOT_SETTLED, f"difference {difference:+.3g} in one draw of the data, by which it would be {outcome}"
    half = float(student.ppf(0.975, m - 1)) * spread
    note = f"paired difference {difference:+.3g} ± {spread:.2g} over {m} draws"
    if len({_ordering(claim, difference + shift) for shift in (-half, half)}) == 1:
        return outcome, note
    return NOT_SETTLED, f"{note}, by which it would be {outcome}, but the 95 % interval of ± {half:.2g} allows another"


def _ordering(claim: Claim, difference: float) -> str:
    """What a difference says about a comparison."""
    worse = _sign(claim) * difference
    if worse > claim.tolerance:
        return NOT_REACHED
    return BETTER if claim.comparable and worse < -claim.tolerance else REPRODUCED


def _sign(claim: Claim) -> float:
    return -1.0 if claim.higher_is_better else 1.0


def _by_draw(chosen: Chosen, draws: Sequence[str]) -> list[float]:
    """One value a draw of the data: the mean of its cells."""
    if not draws:
        return [value for _, value in chosen]
    groups: dict[tuple[str, ...], list[float]] = {}
    for cell, value in chosen:
        groups.setdefault(tuple(str(cell.get(name)) for name in draws), []).append(value)
    return [float(np.mean(values)) for values in groups.values()]


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
