r"""Linear programs with many boxed variables and few dense rows, by a primal-dual interior point method.

A : (n, k) Rows, one row for each of the many variables, n >> k
B : (q, k) array, rows of a few more variables
x : (n + q,) variables, the few last; y : (k,) multipliers of the equations

    min  c^T x + 1/2 sum_i curvature_i x_i^2     [A; B]^T x = rhs,   lower <= x <= upper

The dual value of *any* y is a lower bound that needs no solver to be believed: with reduced costs
r = c - [A; B] y it is rhs^T y + sum_i min over the box of r_i x_i (+ curvature). The gap to it is what
the method stops on and reports.

One iteration is one weighted Gram matrix of A, one k x k Cholesky factorisation and a few products with
A. Most variables end at a bound, and long before the end it is plain at which: such variables are
*fixed*, set to their bound and left out of the Gram matrix and the products. Every time the barrier
has fallen tenfold, and before anything is called optimal, the reduced costs of all variables are
computed again and whatever was fixed wrongly comes back. So the optimum is that of the whole program.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.solvers.interior_point import LARGE, Factor, Newton, Point, Program, central_distance

Status = Literal["optimal", "infeasible", "unbounded", "stalled"]

_FIXED = 100.0
"""A variable is fixed when its squared reduced cost, times the width of its box, is this many times the
barrier: on the central path it is then within a percent or so of its bound."""
_CLOSE = 3e-2
"""Nothing is fixed before the equations are this much closer to holding than at the start."""
_AT_LEAST = 10
"""Working variables for each equation: with few, the equations leave no room."""
_WORTH_A_COPY = 0.4
"""Share of the variables above which all are worked on: copies of so many rows cost more memory than they save time."""
_EARLY = 5
"""As long as the gap is above a hundredth of the value, at least one in so many of the variables is worked on:
with fewer, the others are soon wrong about their bound."""
_MISPLACED = 2.0
"""Fixed variables at the wrong bound are worth this many gaps: then all that were fixed last come back."""
_PATIENCE = 20
"""Iterations within which the barrier has to fall tenfold; very short steps count five times."""
_INSIDE = 0.1
"""Share of its box that a variable keeps from either bound at the start."""
_WARM = 1e-2
"""Barrier at which to start near another solution, relative to the scale of the costs."""


@dataclass(frozen=True)
class BoxLP:
    """What was found: x, multipliers y, value of x, proved lower bound, and how it ended.

    `residual` is the largest violation of an equation. Only with
    status "optimal" is x a solution; "infeasible" means that y proves that there is none.
    """

    x: Array
    y: Array
    objective: float
    bound: float
    residual: float
    n_iter: int
    status: Status

    @property
    def gap(self) -> float:
        """Value of x less the proved lower bound."""
        return self.objective - self.bound


def box_lp(
    A: Rows,
    c: Array,
    lower: Array,
    upper: Array,
    *,
    few: Array | None = None,
    rhs: Array | None = None,
    curvature: Array | None = None,
    start: BoxLP | None = None,
    gram: Array | None = None,
    fix: bool = True,
    tol: float = 1e-8,
    max_iter: int = 200,
    callback: Callable[[int, float], None] | None = None,
) -> BoxLP:
    """Solve the program.

    Parameters
    ----------
    A : Rows of shape (n, k)
        One row for each of the many variables.
    c, lower, upper : (n + q,) arrays
        Costs and bounds, which may be infinite.
    few : (q, k) array or None
        Rows of the few other variables.
    rhs : (k,) array or None
        Right-hand side; None means zero.
    curvature : (n + q,) array or None
        Coefficients of the squares, >= 0.
    start : BoxLP or None
        Solution of a similar program, to start from.
    gram : (k, k) array or None
        `A.gram()` if it is known already, as when many programs share A.
    fix : bool
        Whether fixed variables are left out.
    tol : float
        Accepted gap, relative to 1 + |value|; and accepted residual.
    max_iter : int
        Iterations after which the method gives up, with status "stalled".
    callback : callable or None
        Called with (iteration, relative gap) in every iteration.
    """
    k = A.shape[1]
    program = Program(
        A,
        np.zeros((0, k)) if few is None else few,
        c,
        lower,
        upper,
        np.zeros(k) if rhs is None else rhs,
        np.zeros(len(c)) if curvature is None else curvature,
    )
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        if np.any(lower > upper):
            return BoxLP(np.full(len(c), np.nan), np.zeros(k), np.inf, np.inf, np.inf, 0, "infeasible")
        if gram is None:  # for the start only
            gram = A.gram(rough=A.shape[0] * k**2 > LARGE)
        driver = _Driver(program, gram, fix, tol)
        state = driver.begin() if start is None else driver.begin_near(start.y, _WARM)
        return driver.run(state, max_iter, callback)


@dataclass(frozen=True)
class _State:
    """Where the method stands: working variables, their program and iterate, and x with all others at rest."""

    work: Index
    part: Program
    point: Point
    resting: Array
    revised_at: float

    def x(self) -> Array:
        x = self.resting.copy()
        x[self.work] = self.point.x
        return x


class _Driver:
    """Chooses which variables to work on, steps, and decides when it is over.

    Should the fixed variables leave the others no room, or turn out to be fixed wrongly, it goes
    back to the state before they were fixed, and is more cautious from there.
    """

    def __init__(self, whole: Program, gram: Array, fix: bool, tol: float) -> None:
        self.whole, self.tol = whole, tol
        self.caution, self.at_least = _FIXED, _AT_LEAST * len(whole.rhs)
        total = gram + whole.few.T @ whole.few
        self.least_squares = Factor(total)
        self.norms = np.sqrt(np.maximum(total.diagonal(), 0.0))
        self.movable = whole.width > 0.0
        self.boxed = self.movable & np.isfinite(whole.width)
        self.may_fix = self.boxed & (whole.curvature == 0.0) & (np.arange(len(whole.c)) < whole.A.shape[0]) & fix
        self.typical = float(np.median(whole.width[self.boxed])) if self.boxed.any() else 1.0
        self.scale = float(np.abs(whole.c).max(initial=0.0)) or 1.0
        self.earlier: list[_State] = []
        self.value = 1.0

    def begin(self) -> _State:
        """The point nearest to the middle of the box at which the equations hold, moved inside the box.

        The y is the one that fits the costs best. For a classifier both are least squares on the labels: x
        is what the fit leaves of them.
        """
        whole = self.whole
        x = np.where(self.boxed, whole.lower + 0.5 * whole.width, 0.0)
        x = np.where(whole.has_lower > whole.has_upper, np.maximum(x, whole.lower + 1.0), x)
        x = np.where(whole.has_upper > whole.has_lower, np.minimum(x, whole.upper - 1.0), x)
        x = np.where(self.movable, x, whole.lower)
        missing = whole.rhs - whole.sums(x)
        self.distance_at_first = self._distance(missing) + 1e-8 * (1.0 + float(np.linalg.norm(x)))
        y = self.least_squares.solve(whole.sums(whole.c + whole.curvature * x))
        margin = np.where(self.boxed, _INSIDE * whole.width, 1.0)
        moved = np.clip(x + whole.times(self.least_squares.solve(missing)), whole.lower + margin, whole.upper - margin)
        x = np.where(self.movable, moved, x)
        work = np.flatnonzero(self.movable)
        p = whole.restricted(work, x)
        fit = p.times(y)
        reduced = p.reduced_costs(x[work], fit)
        # Distance times multiplier is to be about the same for all: narrow boxes get large multipliers.
        push = self.scale * np.where(np.isfinite(p.width), self.typical / p.width, 1.0)
        zl, zu = (np.maximum(reduced, 0.0) + push) * p.has_lower, (np.maximum(-reduced, 0.0) + push) * p.has_upper
        point = Point(x[work], y, fit, zl, zu)
        return _State(work, p, point, x, point.barrier(p))

    def begin_near(self, y: Array, barrier: float) -> _State:
        """A point of the central path, as far as the multipliers y know it."""
        cold = self.begin()
        self.earlier.append(cold)
        nobody, nothing = cold.work[:0], np.zeros(0)
        empty = _State(nobody, cold.part, Point(nothing, y, nothing, nothing, nothing), cold.resting, np.inf)
        return self._revised(empty, barrier * self.scale * self.typical)

    def run(self, state: _State, max_iter: int, callback: Callable[[int, float], None] | None) -> BoxLP:
        n_iter, waited, best = 0, 0, np.inf
        while n_iter < max_iter:
            barrier, missing = state.point.barrier(state.part), state.part.rhs - state.part.sums(state.point.x)
            distance = self._distance(missing)
            if barrier + distance < 0.1 * best:
                best, waited = barrier + distance, 0
            if barrier < 0.1 * state.revised_at and distance <= _CLOSE * self.distance_at_first:
                state, waited, best = self._revised(state, barrier), 0, np.inf
                missing = state.part.rhs - state.part.sums(state.point.x)
            reduced = state.part.reduced_costs(state.point.x, state.point.fit)
            gap = _relative_gap(state.part, state.point.x, state.point.y, reduced)
            if callback is not None:
                callback(n_iter, gap)
            solved = gap <= self.tol and self._feasible(state, reduced, missing)
            if solved and self._fixed_rightly(state):
                return _finish(self.whole, state.x(), state.point.y, n_iter, "optimal")
            if not solved:
                n_iter += 1
                self.value = 1.0 + abs(state.part.value(state.point.x))
                point, length = Newton(state.part, state.point, reduced, missing).step()
                state = replace(state, point=point)
                waited += 1 if length > 1e-3 else 5
                if waited < (_PATIENCE if self.earlier else 10 * _PATIENCE):
                    continue
            if not self.earlier:
                break
            state, waited, best = self._back(), 0, np.inf
        return self._given_up(state, n_iter)

    def _given_up(self, state: _State, n_iter: int) -> BoxLP:
        """There is no solution, and the y that proves it; or it was not found."""
        verdict = _no_solution(self.whole, state.x(), state.point.y, self.norms)
        status, y = verdict if verdict is not None else ("stalled", state.point.y)
        return _finish(self.whole, state.x(), y, n_iter, status)

    def _distance(self, missing: Array) -> float:
        """How far the equations are from holding, in the units of x."""
        return float((np.abs(missing) / np.where(self.norms > 0.0, self.norms, 1.0)).max(initial=0.0))

    def _back(self) -> _State:
        """The state before the last fixing, to go on from with more caution."""
        self.caution *= 10.0
        self.at_least *= 3
        return self.earlier.pop()

    def _fixed(self, reduced: Array, barrier: float) -> NDArray[np.bool_]:
        """Which variables are at a bound for good, as far as their reduced costs tell."""
        clearness = reduced**2 * self.whole.width
        early = barrier * self.whole.n_bounds > 1e-2 * self.value
        at_least = max(self.at_least, self.whole.A.shape[0] // _EARLY if early else 0)
        fixed = self.may_fix & (clearness >= self.caution * barrier * self.scale)
        lacking = at_least - int(len(fixed) - fixed.sum())
        if lacking >= int(fixed.sum()):
            fixed[:] = False
        elif lacking > 0:
            candidates = np.flatnonzero(fixed)
            fixed[candidates[np.argpartition(clearness[candidates], lacking)[:lacking]]] = False
        return fixed

    def _revised(self, state: _State, barrier: float) -> _State:
        """Settle what is clear by now, and bring back, on the central path, what does not belong at its bound."""
        whole, old, x = self.whole, state.point, state.x()
        fit = whole.times(old.y)
        reduced = whole.reduced_costs(x, fit)
        at_rest = self.boxed.copy()
        at_rest[state.work] = False
        far = np.where(reduced < 0.0, whole.upper - x, whole.lower - x)[at_rest]
        if -float(reduced[at_rest] @ far) > _MISPLACED * barrier * whole.n_bounds and self.earlier and len(state.work):
            return self._back()  # what was fixed wrongly is worth more than all that is left to gain
        loose = self.movable & ~self._fixed(reduced, barrier)
        if loose.sum() > _WORTH_A_COPY * self.movable.sum():
            loose = self.movable.copy()  # the rows as they are, without a copy
        elif loose.sum() > 0.7 * len(state.work):
            loose[state.work] = True  # too little to be gained for a copy of rows
        if not loose[state.work].all():
            self.earlier.append(replace(state, revised_at=barrier))
        zl, zu, new = barrier * whole.has_lower, barrier * whole.has_upper, loose & self.boxed
        zl[state.work], zu[state.work], new[state.work] = old.zl, old.zu, False
        v = central_distance(reduced[new], whole.width[new], barrier)
        zl[new], zu[new] = barrier / v, barrier / (whole.width[new] - v)
        inside = x.copy()
        inside[new] = whole.lower[new] + v
        resting = np.where(self.boxed & ~loose, np.where(reduced > 0.0, whole.lower, whole.upper), inside)
        work = np.flatnonzero(loose)
        point = Point(inside[work], old.y, fit[work], zl[work], zu[work])
        return _State(work, whole.restricted(work, resting), point, resting, barrier)

    def _feasible(self, state: _State, reduced: Array, missing: Array) -> bool:
        """Whether the equations hold, by size and by what they are worth, and infinite boxes are balanced."""
        p, point = state.part, state.point
        missing = np.abs(missing)
        size = self.norms * (1.0 + float(np.linalg.norm(point.x)))
        worth = float(np.abs(point.y) @ missing) / (1.0 + abs(p.value(point.x)))
        balanced = p.unbalanced(reduced) <= self.tol * self.scale
        return balanced and worth <= self.tol and bool(np.all(missing <= self.tol * size))

    def _fixed_rightly(self, state: _State) -> bool:
        """Whether the gap is closed for all variables, the fixed ones included, with [A; B] y computed afresh."""
        x, y = state.x(), state.point.y
        return _relative_gap(self.whole, x, y, self.whole.reduced_costs(x, self.whole.times(y))) <= 2.0 * self.tol


def _relative_gap(p: Program, x: Array, y: Array, reduced: Array) -> float:
    value = p.value(x)
    return (value - p.bound(x, y, reduced)) / (1.0 + abs(value))


def _no_solution(whole: Program, x: Array, y: Array, norms: Array) -> tuple[Status, Array] | None:
    """A proof (the y) that there is no feasible x, or that there is a direction in which the value falls for ever."""
    for direction in (y, whole.rhs - whole.sums(x)):  # the multipliers, or what the equations lack
        slopes = -whole.times(direction)
        slopes[np.abs(slopes) <= 1e-9 * float(np.abs(slopes).max(initial=0.0))] = 0.0
        reach = np.where(slopes > 0.0, whole.lower, np.where(slopes < 0.0, whole.upper, 0.0))
        # Every feasible x has 0 = direction^T (rhs - sums(x)), which is at least:
        least = float(whole.rhs @ direction + slopes @ reach)
        if least > 1e-8 * float(np.abs(direction) @ norms) * (1.0 + float(np.linalg.norm(x))):
            return "infeasible", direction
    largest = float(np.abs(x).max(initial=0.0))
    if largest > 1e8:
        ray = np.where(np.abs(x) > 1e-3 * largest, x / largest, 0.0)
        free = not np.any((ray > 0.0) & (whole.has_upper > 0.0)) and not np.any((ray < 0.0) & (whole.has_lower > 0.0))
        closed = bool(np.all(np.abs(whole.sums(ray)) <= 1e-2 * norms))
        falls = float(whole.c @ ray) < -1e-6 * float(np.abs(whole.c).max()) and not whole.curvature @ ray**2 > 0.0
        if free and closed and falls:
            return "unbounded", y
    return None


def _finish(whole: Program, x: Array, y: Array, n_iter: int, status: Status) -> BoxLP:
    reduced = whole.reduced_costs(x, whole.times(y))
    missing = np.abs(whole.rhs - whole.sums(x))
    value, bound = whole.value(x), whole.bound(x, y, reduced)
    if status == "unbounded":
        value = bound = -np.inf
    return BoxLP(np.clip(x, whole.lower, whole.upper), y, value, bound, float(missing.max(initial=0.0)), n_iter, status)
