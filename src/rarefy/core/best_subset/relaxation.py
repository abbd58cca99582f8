r"""A bound that no r columns can beat: the relaxation of the choice to shares, by projected gradients.

For every beta and every choice S of r groups (see `problem`)

    Z(S) >= h(beta) - 1/2 sum over S of q_G(beta) >= h(beta) - 1/2 (sum of the r largest q_G) = B_r(beta).

The largest B_r is the smallest Z(s) over 0 <= s <= 1, sum s = r [BertsimasPauphiletVanParys2020]. That is minimised by
spectral projected gradients [BirginMartinezRaydan2000]: a step is one training in the columns with s > 0, started from
the last one, and one product of the data with its dual variables, which are also a bound. Groups may be fixed to be
taken or to be left out.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rarefy.core.best_subset.problem import Start, Trained
from rarefy.core.linalg.rows import Array, Index

_MEMORY = 5
"""Values of the last steps that a new one is compared with."""
_STEPS = 1e-12, 1e12


class Shares(Protocol):
    """What is minimised over shares: `SubsetProblem`, or a model of it."""

    @property
    def n_groups(self) -> int:
        """Number of groups."""

    def train(self, chosen: Index, share: Array | None = None, start: Start | None = None) -> Trained:
        """The models in some groups, of which only a share may be taken."""

    def pulls(self, beta: Array) -> Array:
        """How much each group would lower the objective, to first order (twice)."""

    def gain(self, beta: Array) -> float:
        """What the bound has beside the pulls."""


@dataclass(frozen=True, eq=False)
class Relaxed:
    """Shares, the models there, and the best bound met."""

    s: Array
    pulls: Array
    trained: Trained
    bound: float
    """No choice of r groups has a lower objective, up to rounding."""
    dual: Array
    """The beta that proves it."""
    value: float
    """Z(s): no bound of this kind is above it."""
    n_iter: int

    def with_bound(self, bound: float, dual: Array) -> "Relaxed":
        """The same shares with another bound."""
        return replace(self, bound=bound, dual=dual)


def relaxed(
    problem: Shares,
    r: int,
    *,
    s: Array,
    start: Start | None = None,
    fixed: Index | None = None,
    barred: Index | None = None,
    tol: float = 1e-4,
    max_iter: int = 100,
    watch: Callable[[Array, Array, float], bool] | None = None,
) -> Relaxed:
    """Minimise Z(s) from s on.

    Parameters
    ----------
    problem : SubsetProblem or a model of it
        The problem.
    r : int
        Groups to choose.
    s : (G,) array
        Shares to start with, feasible.
    start : (beta, b) or None
        Models to start with.
    fixed, barred : index arrays or None
        Groups with share 1 and with share 0.
    tol : float
        Accepted gap between the value and the bound, as a share of the value.
    max_iter : int
        Steps.
    watch : callable or None
        Called with (s, pulls, bound) after every step; the search ends when it returns True.
    """
    free = _free(problem.n_groups, fixed, barred)
    here = _Point.at(problem, s, start)
    best, dual, recent, length = -np.inf, here.trained.beta, [here.trained.value], 0.0
    iteration = 0
    for iteration in range(max_iter + 1):
        found = here.bound(r, fixed, free)
        if found > best:
            best, dual = found, here.trained.beta
        value = here.trained.value
        done = value - best <= tol * abs(value) or iteration == max_iter
        if done or (watch is not None and watch(here.s, here.pulls, best)):
            break
        length = length or 2.0 / max(float(here.pulls.max()), 1e-300)
        target = here.s.copy()
        target[free] = project(here.s[free] + 0.5 * length * here.pulls[free], r - (0 if fixed is None else len(fixed)))
        there = _searched(problem, here, target - here.s, max(recent[-_MEMORY:]))
        ds, dg = there.s - here.s, -0.5 * (there.pulls - here.pulls)
        curvature = float(ds @ dg)
        length = float(np.clip(ds @ ds / curvature, *_STEPS)) if curvature > 0.0 else 10.0 * length
        if not ds.any():
            break
        here = there
        recent.append(here.trained.value)
    return Relaxed(here.s, here.pulls, here.trained, best, dual, here.trained.value, iteration)


@dataclass(frozen=True, eq=False)
class _Point:
    """Z at one place."""

    problem: Shares
    s: Array
    trained: Trained
    pulls: Array

    @classmethod
    def at(cls, problem: Shares, s: Array, start: Start | None) -> "_Point":
        taken = np.flatnonzero(s > 0.0)
        trained = problem.train(taken, s[taken], start)
        return cls(problem, s, trained, problem.pulls(trained.beta))

    def bound(self, r: int, fixed: Index | None, free: Index) -> float:
        """B_r at the dual variables, over the choices that are left."""
        inside = 0.0 if fixed is None else float(self.pulls[fixed].sum())
        count = r - (0 if fixed is None else len(fixed))
        largest = largest_sum(self.pulls[free], count)
        return self.problem.gain(self.trained.beta) - 0.5 * (inside + largest)


def _searched(problem: Shares, here: _Point, direction: Array, reference: float) -> _Point:
    """A point along the direction that is lower than the last ones were, by halving with interpolation."""
    slope = -0.5 * float(here.pulls @ direction)
    step = 1.0
    while True:
        there = _Point.at(problem, np.clip(here.s + step * direction, 0.0, 1.0), here.trained.start)
        rise = there.trained.value - here.trained.value
        if there.trained.value <= reference + 1e-4 * step * slope or step < 1e-3:
            return there
        step *= float(np.clip(-0.5 * step * slope / max(rise - step * slope, 1e-300), 0.1, 0.5))


def _free(n_groups: int, fixed: Index | None, barred: Index | None) -> Index:
    free = np.ones(n_groups, dtype=bool)
    for settled in (fixed, barred):
        if settled is not None:
            free[settled] = False
    return np.flatnonzero(free)


def largest_sum(values: Array, count: int) -> float:
    """Sum of the largest so many values."""
    if count <= 0:
        return 0.0
    if count >= len(values):
        return float(values.sum())
    return float(np.partition(values, len(values) - count)[len(values) - count :].sum())


def project(v: Array, total: float) -> Array:
    """The nearest point with entries between 0 and 1 that add up to `total`: v minus a number, clipped."""
    if total >= len(v):
        return np.ones(len(v))
    # The sum is piecewise linear in the number; its bends are at v and v - 1.
    bends = np.sort(np.concatenate([v, v - 1.0]))
    low, high = 0, len(bends) - 1
    while high - low > 1:
        middle = (low + high) // 2
        if np.clip(v - bends[middle], 0.0, 1.0).sum() >= total:
            low = middle
        else:
            high = middle
    above, below = (float(np.clip(v - bends[k], 0.0, 1.0).sum()) for k in (low, high))
    share = (above - total) / (above - below) if above > below else 0.0
    return np.clip(v - (bends[low] + share * (bends[high] - bends[low])), 0.0, 1.0)
