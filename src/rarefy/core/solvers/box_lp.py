r"""Linear programs with many boxed variables and few dense rows, by a primal-dual interior point method.

A : (n, k) Rows, one row for each of the many variables, n >> k
B : (q, k) array, rows of a few more variables
x : (n + q,) variables, the few last; y : (k,) multipliers of the equations

    min  c^T x + 1/2 sum_i curvature_i x_i^2     [A; B]^T x = rhs,   lower <= x <= upper

The dual value of *any* y is a lower bound that needs no solver to be believed: with reduced costs
r = c - [A; B] y it is rhs^T y + sum_i min over the box of r_i x_i (+ curvature). The gap to it is what
the method stops on and reports.

One iteration is one weighted Gram matrix of A, one k x k Cholesky factorisation and a few products with A. Most
variables end at a bound, and after a few iterations over all of them the multipliers tell nearly which: from there
`near_lp` works on the few that may end elsewhere, and looks at the others now and then. Where that does not succeed,
the iterations over all variables go on. Either way the gap that is closed is that of the whole program.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.solvers.few_rows import FewRows
from rarefy.core.solvers.interior_point import LARGE, Factor, Newton, Point, Program
from rarefy.core.solvers.near_lp import FAR, NEAR, solve_near

Status = Literal["optimal", "infeasible", "unbounded", "stalled"]

_FIRST = 3
"""Iterations over all variables before most of them are left out; if that fails, twice as many, and so on."""
_PATIENCE = 200
"""Iterations within which the barrier has to fall tenfold; very short steps count five times, and none is the end."""
_TWICE = 2.0
"""Working on few variables may leave so many times the accepted gap, which is its own and that of the others."""
_SEEN = 1e-12
"""Share of the largest eigenvalue of the Gram matrix of A below which A does not see a direction."""
_INSIDE = 0.1
"""Share of its box that a variable keeps from either bound at the start."""


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
    start: Array | None = None,
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
    start : (k,) array or None
        Multipliers of a similar program, to start from.
    gram : (k, k) array or None
        `A.gram()` if it is known already, as when many programs share A.
    fix : bool
        Whether variables that rest at a bound may be left out.
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
        FewRows(np.zeros((0, k)) if few is None else few),
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
        return _Search(program, gram, fix, tol, max_iter, callback).run(start)


class _Search:
    """All variables with their iterate, and the equations by which it is judged."""

    def __init__(
        self,
        program: Program,
        gram: Array,
        fix: bool,
        tol: float,
        max_iter: int,
        callback: Callable[[int, float], None] | None,
    ) -> None:
        self.program, self.fix, self.tol, self.max_iter, self.callback = program, fix, tol, max_iter, callback
        self.gram, total = gram, gram.copy()
        program.few.add_gram(total, np.ones(len(program.few)))
        self.least_squares = Factor(total)
        self.norms = np.sqrt(np.maximum(total.diagonal(), 0.0))
        self.scale = float(np.abs(program.c).max(initial=0.0)) or 1.0

    def run(self, start: Array | None) -> BoxLP:
        found = None if start is None else self._near(start, NEAR, 0)
        return self._over_all() if found is None else found

    def _over_all(self) -> BoxLP:
        """By iterations over all variables, until working on few succeeds."""
        # Variables without room are constants, and the others have an inside.
        whole, x = self.program, self._middle()
        work = np.flatnonzero(whole.width > 0.0)
        p = whole if len(work) == len(x) else whole.restricted(work, x)
        point, n_iter = self._first(p, x[work]), 0
        waited, lowest, hand_over, closest = 0, np.inf, _FIRST, (np.inf, point)
        while waited < _PATIENCE:
            missing = p.rhs - p.sums(point.x)
            reduced = p.reduced_costs(point.x, point.fit)
            gap, barrier = _relative_gap(p, point.x, point.y, reduced), point.barrier(p) + self._distance(missing)
            if self.callback is not None:
                self.callback(n_iter, gap)
            error = _largest(gap, self._infeasibility(p, point, reduced, missing))
            if error < closest[0]:
                closest = error, point
            if error <= self.tol or n_iter >= self.max_iter:
                break
            if barrier < 0.1 * lowest:
                lowest, waited = barrier, 0
            if n_iter >= hand_over:
                hand_over, found = 2 * n_iter, self._near(point.y, FAR, n_iter)
                if found is not None:
                    return found
            point, length = Newton(p, point, reduced, missing).step()
            n_iter += 1
            waited += _tiresome(length)
        if closest[0] > self.tol:
            # Multipliers that grew beyond measure have lost their digits: the closest point may still prove it.
            found = self._without_solution((point, closest[1]), work, x, n_iter)
            if found is not None:
                return found
        # Late steps can lose what had been reached.
        error, point = closest if closest[0] <= self.tol else self._with_plain_multipliers(p, *closest)
        x[work] = point.x
        return _finish(whole, x, point.y, n_iter, "optimal" if error <= self.tol else "stalled")

    def _without_solution(self, points: tuple[Point, ...], work: Index, x: Array, n_iter: int) -> BoxLP | None:
        """What the first of some points says that proves that there is no solution; None if none does."""
        for at in points:
            x[work] = at.x
            verdict = _no_solution(self.program, x, at.y, self.norms)
            if verdict is not None:
                return _finish(self.program, x, verdict[1], n_iter, verdict[0])
        return None

    def _near(self, y: Array, at_least: int, n_iter: int) -> BoxLP | None:
        """A solution that is found from multipliers y by working on few variables."""
        if not self.fix:
            return None
        options: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter, "callback": self.callback}
        found = solve_near(self.program, y, self.norms, at_least=at_least, n_iter=n_iter, **options)
        if found is None:
            return None
        solution = _finish(self.program, found.x, found.y, found.n_iter, "optimal")
        # Multipliers that were enormous for a while have lost the digits by which the search knows its gap.
        return solution if solution.gap <= _TWICE * self.tol * (1.0 + abs(solution.objective)) else None

    def _middle(self) -> Array:
        """The middle of the box, or a point inside where it is infinite."""
        p = self.program
        x = np.where(np.isfinite(p.width), p.lower + 0.5 * p.width, 0.0)
        x = np.where(p.has_lower > p.has_upper, np.maximum(x, p.lower + 1.0), x)
        return np.asarray(np.where(p.has_upper > p.has_lower, np.minimum(x, p.upper - 1.0), x))

    def _first(self, p: Program, x: Array) -> Point:
        """The point nearest to the middle of the box at which the equations hold, moved inside the box.

        The y is the one that fits the costs best. For a classifier both are least squares on the labels: x
        is what the fit leaves of them.
        """
        boxed = np.isfinite(p.width)
        y = self.least_squares.solve(p.sums(p.c + p.curvature * x))
        margin = np.where(boxed, _INSIDE * p.width, 1.0)
        x = x + p.times(self.least_squares.solve(p.rhs - p.sums(x)))
        x = np.clip(x, p.lower + margin, p.upper - margin)
        fit = p.times(y)
        reduced = p.reduced_costs(x, fit)
        # Distance times multiplier is to be about the same for all: narrow boxes get large multipliers.
        typical = float(np.median(p.width[boxed])) if boxed.any() else 1.0
        push = self.scale * np.where(boxed, typical / p.width, 1.0)
        zl, zu = (np.maximum(reduced, 0.0) + push) * p.has_lower, (np.maximum(-reduced, 0.0) + push) * p.has_upper
        return Point(x, y, fit, zl, zu)

    def _distance(self, missing: Array) -> float:
        """How far the equations are from holding, in the units of x."""
        return float((np.abs(missing) / np.where(self.norms > 0.0, self.norms, 1.0)).max(initial=0.0))

    def _infeasibility(self, p: Program, point: Point, reduced: Array, missing: Array) -> float:
        """What the equations lack, by size and by what it is worth, or by what an infinite box is out of balance."""
        missing = np.abs(missing)
        size = np.maximum(self.norms * (1.0 + float(np.linalg.norm(point.x))), 1e-300)
        worth = float(np.abs(point.y) @ missing) / (1.0 + abs(p.value(point.x)))
        return _largest(worth, float((missing / size).max(initial=0.0)), p.unbalanced(reduced) / self.scale)

    def _with_plain_multipliers(self, p: Program, error: float, point: Point) -> tuple[float, Point]:
        """The point with the part of y left out that A does not see, if that is better.

        If columns of A depend on each other, B alone tells how large that part is. With narrow boxes there, it is lost
        in the rounding of the normal equations, and as good as any other.
        """
        if not np.isfinite(self.gram).all():
            return error, point
        size = np.where(self.gram.diagonal() > 0.0, np.sqrt(self.gram.diagonal()), 1.0)
        values, vectors = np.linalg.eigh(self.gram / size[:, None] / size)
        seen = vectors[:, values > _SEEN * values[-1]]
        y = seen @ (seen.T @ (size * point.y)) / size
        plain = replace(point, y=y, fit=p.times(y))
        reduced = p.reduced_costs(plain.x, plain.fit)
        infeasibility = self._infeasibility(p, plain, reduced, p.rhs - p.sums(plain.x))
        other = _largest(_relative_gap(p, plain.x, y, reduced), infeasibility)
        return (other, plain) if other < error else (error, point)


def _largest(*numbers: float) -> float:
    """Of these numbers; not a number if one of them is none."""
    return float(np.max(numbers))


def _tiresome(length: float) -> int:
    """How much a step of this length counts against the patience; one of length zero would be the next one, too."""
    if length > 0.0:
        return 1 if length > 1e-3 else 5
    return _PATIENCE


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
