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
*settled*, set to their bound and left out of the Gram matrix and the products. Every time the barrier
has fallen tenfold, and before anything is called optimal, the reduced costs of all variables are
computed again and whatever was settled wrongly comes back. So the optimum is that of the whole program.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray

from rarefy.core.rows import Array, Index, Rows
from rarefy.core.threads import threads_for

Status = Literal["optimal", "infeasible", "unbounded", "stalled"]

_SETTLED = 100.0
"""A variable is settled when its squared reduced cost, times the width of its box, is this many times the
barrier: on the central path it is then within a percent or so of its bound."""
_CLOSE = 3e-2
"""Nothing is settled before the equations are this much closer to holding than at the start."""
_AT_LEAST = 10
"""Working variables for each equation: with few, the equations leave no room."""
_WORTH_A_COPY = 0.4
"""Share of the variables above which all are worked on: copies of so many rows cost more memory than they save time."""
_EARLY = 5
"""As long as the gap is above a hundredth of the value, at least one in so many of the variables is worked on:
with fewer, the others are soon wrong about their bound."""
_MISPLACED = 2.0
"""Settled variables at the wrong bound are worth this many gaps: then all that were settled last come back."""
_ROUGH = 1e-3
_LARGE = 1e7
"""Relative gap, and products of entries, above which Gram matrices are formed in single precision."""
_PATIENCE = 20
"""Iterations within which the barrier has to fall tenfold; very short steps count five times."""
_INSIDE = 0.1
"""Share of its box that a variable keeps from either bound at the start."""
_WARM = 1e-2
"""Barrier at which to start near another solution, relative to the scale of the costs."""
_CORRECTORS = (1, 2)
"""Gondzio's centrality correctors with few and with many equations: each costs two products and saves about a tenth
of the Gram matrices, which with few equations are cheap."""
_MANY_EQUATIONS = 256


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
    settle: bool = True,
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
    settle : bool
        Whether settled variables are left out.
    tol : float
        Accepted gap, relative to 1 + |value|; and accepted residual.
    max_iter : int
        Iterations after which the method gives up, with status "stalled".
    callback : callable or None
        Called with (iteration, relative gap) in every iteration.
    """
    k = A.shape[1]
    program = _Program(
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
            gram = A.gram(rough=A.shape[0] * k**2 > _LARGE)
        driver = _Driver(program, gram, settle, tol)
        state = driver.begin() if start is None else driver.begin_near(start.y, _WARM)
        return driver.run(state, max_iter, callback)


@dataclass(frozen=True)
class _Program:
    """A program: the one that was asked for, or its restriction to some of the variables."""

    A: Rows
    few: Array
    c: Array
    lower: Array
    upper: Array
    rhs: Array
    curvature: Array

    @cached_property
    def has_lower(self) -> Array:
        return np.isfinite(self.lower).astype(np.float64)

    @cached_property
    def has_upper(self) -> Array:
        return np.isfinite(self.upper).astype(np.float64)

    @cached_property
    def n_bounds(self) -> int:
        return max(1, int(self.has_lower.sum() + self.has_upper.sum()))

    @cached_property
    def width(self) -> Array:
        return self.upper - self.lower

    def times(self, y: Array) -> Array:
        """[A; B] y."""
        return np.concatenate([self.A @ y, self.few @ y])

    def sums(self, x: Array) -> Array:
        """[A; B]^T x."""
        n = self.A.shape[0]
        return self.A.T @ x[:n] + x[n:] @ self.few

    def gram(self, w: Array, *, rough: bool) -> Array:
        """[A; B]^T diag(w) [A; B]."""
        n = self.A.shape[0]
        half = np.sqrt(w[n:, None]) * self.few
        return self.A.gram(w[:n], rough=rough) + half.T @ half

    def reduced_costs(self, x: Array, fit: Array) -> Array:
        """Derivative of the Lagrangian in x, where `fit` is [A; B] y."""
        return self.c + self.curvature * x - fit

    def value(self, x: Array) -> float:
        return float(self.c @ x + 0.5 * self.curvature @ x**2)

    def bound(self, x: Array, y: Array, reduced: Array) -> float:
        """Least value of the Lagrangian over the box; `reduced` are the reduced costs at x.

        Where the box is infinite, the value at x stands in for minus infinity; there the reduced cost
        has to vanish, which `unbalanced` checks.
        """
        at_zero = reduced - self.curvature * x
        best = np.where(at_zero > 0.0, self.lower, self.upper)
        curved = self.curvature > 0.0
        if curved.any():
            best[curved] = np.clip(-at_zero[curved] / self.curvature[curved], self.lower[curved], self.upper[curved])
        best = np.where(np.isfinite(best), best, x)
        return float(self.rhs @ y + at_zero @ best + 0.5 * self.curvature @ best**2)

    def unbalanced(self, reduced: Array) -> float:
        """Largest reduced cost that pulls a variable towards a bound it does not have."""
        outward = np.maximum(reduced * (1.0 - self.has_lower), -reduced * (1.0 - self.has_upper))
        return float(outward.max(initial=0.0))

    def restricted(self, index: Index, x: Array) -> "_Program":
        """The program in the variables of this index, all others resting where x has them."""
        n = self.A.shape[0]
        many = index[index < n]
        resting = x.copy()
        resting[index] = 0.0
        return _Program(
            self.A if len(many) == n else self.A.subset(many),
            self.few[index[index >= n] - n],
            self.c[index],
            self.lower[index],
            self.upper[index],
            self.rhs - self.sums(resting),
            self.curvature[index],
        )


@dataclass(frozen=True)
class _Point:
    """An iterate: x strictly inside its box, multipliers y of the equations, with [A; B] y, and of the two bounds."""

    x: Array
    y: Array
    fit: Array
    zl: Array
    zu: Array

    def barrier(self, p: _Program) -> float:
        """Mean product of a distance to a bound and its multiplier."""
        v, s = _distances(p, self.x)
        return float(v @ self.zl + s @ self.zu) / p.n_bounds


def _distances(p: _Program, x: Array) -> tuple[Array, Array]:
    """To the lower and the upper bound; 1 where there is none, where multipliers are zero."""
    return np.where(p.has_lower > 0.0, x - p.lower, 1.0), np.where(p.has_upper > 0.0, p.upper - x, 1.0)


class _Factor:
    """Solves with a positive semi-definite matrix, equilibrated and, if need be, slightly lifted."""

    def __init__(self, N: Array) -> None:
        diagonal = N.diagonal()
        self.d = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
        self.N = N * self.d[:, None] * self.d
        with threads_for(len(N)):
            for lift in 10.0 ** np.arange(-14.0, 1.0, 2.0):
                lifted = self.N.copy()
                lifted.flat[:: len(N) + 1] += lift
                try:
                    self.cholesky = sl.cho_factor(lifted, overwrite_a=True, check_finite=False)
                except (np.linalg.LinAlgError, ValueError):  # not positive, or not finite
                    continue
                return
        raise np.linalg.LinAlgError("the normal equations could not be factorised")

    def solve(self, b: Array) -> Array:
        b = self.d * b
        u = sl.cho_solve(self.cholesky, b, check_finite=False)
        u += sl.cho_solve(self.cholesky, b - self.N @ u, check_finite=False)  # makes up for the lift
        return np.asarray(self.d * u)


class _Newton:
    """Directions at one point: one factorisation, several right-hand sides."""

    def __init__(self, p: _Program, point: _Point, reduced: Array, missing: Array) -> None:
        self.p, self.point, self.reduced, self.missing = p, point, reduced, missing
        self.v, self.s = _distances(p, point.x)
        self.theta = 1.0 / (p.curvature + point.zl / self.v + point.zu / self.s + 1e-300)
        free = (p.has_lower + p.has_upper + p.curvature) == 0.0
        if free.any():  # nothing holds a free variable: a weak proximal term does
            self.theta[free] = 1e8

    def towards(self, tl: Array, tu: Array) -> _Point:
        """The step after which the products of distances and multipliers are, to first order, tl and tu."""
        p, point = self.p, self.point
        tl, tu = tl * p.has_lower, tu * p.has_upper
        pull = self.reduced - tl / self.v + tu / self.s
        dy = self.factor.solve(self.missing + p.sums(self.theta * pull))
        fit = p.times(dy)
        dx = self.theta * (fit - pull)
        dzl = tl / self.v - point.zl - point.zl / self.v * dx
        dzu = tu / self.s - point.zu + point.zu / self.s * dx
        return _Point(dx, dy, fit, dzl, dzu)

    def lengths(self, step: _Point, share: float = 1.0) -> tuple[float, float]:
        """How far x and the multipliers can go: 1, or this share of the way to the nearest bound."""
        p, point = self.p, self.point
        primal = max(1e-3, float((-step.x / self.v * p.has_lower).max()), float((step.x / self.s * p.has_upper).max()))
        zl, zu = np.where(point.zl > 0.0, point.zl, 1.0), np.where(point.zu > 0.0, point.zu, 1.0)
        dual = max(1e-3, float((-step.zl / zl).max()), float((-step.zu / zu).max()))
        return min(1.0, share / primal), min(1.0, share / dual)

    def products(self, step: _Point, primal: float, dual: float) -> tuple[Array, Array]:
        """Of distances and multipliers after a step."""
        point = self.point
        lower = (self.v + primal * step.x) * (point.zl + dual * step.zl)
        upper = (self.s - primal * step.x) * (point.zu + dual * step.zu)
        return lower * self.p.has_lower, upper * self.p.has_upper

    def step(self) -> tuple[_Point, float]:
        """The next point and how far it is along the way; this one and 0 where numbers go out of range."""
        try:
            moved, length = self._step()
        except (np.linalg.LinAlgError, ValueError, OverflowError):  # a factor or a right-hand side is not finite
            return self.point, 0.0
        return (moved, length) if np.isfinite(moved.y).all() and np.isfinite(moved.x).all() else (self.point, 0.0)

    def _step(self) -> tuple[_Point, float]:
        """Mehrotra's predictor and corrector, then Gondzio's correctors while they lengthen the step."""
        p, barrier = self.p, self.point.barrier(self.p)
        # A direction need not be accurate while the gap is wide; products with A, which measure it, always are.
        early = barrier * p.n_bounds > _ROUGH * (1.0 + abs(p.value(self.point.x)))
        worth = p.A.shape[0] * p.A.shape[1] ** 2 > _LARGE
        self.factor = _Factor(p.gram(self.theta, rough=early and worth))
        nothing = np.zeros(len(p.c))
        step = self.towards(nothing, nothing)
        lower, upper = self.products(step, *self.lengths(step))
        target = (float(lower.sum() + upper.sum()) / p.n_bounds) ** 3 / max(barrier, 1e-100) ** 2
        tl, tu = target - step.x * step.zl, target + step.x * step.zu
        step = self.towards(tl, tu)
        primal, dual = self.lengths(step)
        for _ in range(_CORRECTORS[len(p.rhs) >= _MANY_EQUATIONS]):
            lower, upper = self.products(step, min(1.0, primal + 0.1), min(1.0, dual + 0.1))
            more_l = np.maximum(np.clip(lower, 0.1 * target, 10.0 * target) - lower, -10.0 * target)
            more_u = np.maximum(np.clip(upper, 0.1 * target, 10.0 * target) - upper, -10.0 * target)
            corrected = self.towards(tl + more_l, tu + more_u)
            longer = self.lengths(corrected)
            if longer[0] + longer[1] < primal + dual + 0.02 or min(longer) < 0.9 * min(primal, dual):
                break
            step, (primal, dual), tl, tu = corrected, longer, tl + more_l, tu + more_u
        if min(primal, dual) < 0.1:  # badly centred: first to the middle again
            half = np.full(len(p.c), 0.5 * barrier)
            centring = self.towards(half, half)
            if min(self.lengths(centring)) > 2.0 * min(primal, dual):
                step = centring
        relative_gap = barrier * p.n_bounds / (1.0 + abs(p.value(self.point.x)))
        # Ever closer to the bounds as the gap closes, but never onto one.
        primal, dual = self.lengths(step, min(max(0.99, 1.0 - relative_gap), 1.0 - 1e-6))
        if p.curvature.any():
            primal = dual = min(primal, dual)  # with a quadratic term the two residuals are coupled
        q = self.point
        y, fit = q.y + dual * step.y, q.fit + dual * step.fit
        moved = _Point(q.x + primal * step.x, y, fit, q.zl + dual * step.zl, q.zu + dual * step.zu)
        return moved, min(primal, dual)


def _central_distance(reduced: Array, width: Array, barrier: float) -> Array:
    """The v in (0, width) with barrier/v - barrier/(width - v) = reduced: where the central path has x - lower."""
    r = np.abs(reduced)
    q = 2.0 * barrier + r * width
    v = 2.0 * barrier * width / (q + np.sqrt(np.maximum(q * q - 4.0 * r * barrier * width, 0.0)))
    return np.where(reduced >= 0.0, v, width - v)


@dataclass(frozen=True)
class _State:
    """Where the method stands: working variables, their program and iterate, and x with all others at rest."""

    work: Index
    part: _Program
    point: _Point
    resting: Array
    revised_at: float

    def x(self) -> Array:
        x = self.resting.copy()
        x[self.work] = self.point.x
        return x


class _Driver:
    """Chooses which variables to work on, steps, and decides when it is over.

    Should the settled variables leave the others no room, or turn out to be settled wrongly, it goes
    back to the state before they were settled, and is more cautious from there.
    """

    def __init__(self, whole: _Program, gram: Array, settle: bool, tol: float) -> None:
        self.whole, self.tol = whole, tol
        self.caution, self.at_least = _SETTLED, _AT_LEAST * len(whole.rhs)
        total = gram + whole.few.T @ whole.few
        self.least_squares = _Factor(total)
        self.norms = np.sqrt(np.maximum(total.diagonal(), 0.0))
        self.movable = whole.width > 0.0
        self.boxed = self.movable & np.isfinite(whole.width)
        self.may_settle = self.boxed & (whole.curvature == 0.0) & (np.arange(len(whole.c)) < whole.A.shape[0]) & settle
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
        point = _Point(x[work], y, fit, zl, zu)
        return _State(work, p, point, x, point.barrier(p))

    def begin_near(self, y: Array, barrier: float) -> _State:
        """A point of the central path, as far as the multipliers y know it."""
        cold = self.begin()
        self.earlier.append(cold)
        nobody, nothing = cold.work[:0], np.zeros(0)
        empty = _State(nobody, cold.part, _Point(nothing, y, nothing, nothing, nothing), cold.resting, np.inf)
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
            if solved and self._settled_rightly(state):
                return _finish(self.whole, state.x(), state.point.y, n_iter, "optimal")
            if not solved:
                n_iter += 1
                self.value = 1.0 + abs(state.part.value(state.point.x))
                point, length = _Newton(state.part, state.point, reduced, missing).step()
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
        """The state before the last settling, to go on from with more caution."""
        self.caution *= 10.0
        self.at_least *= 3
        return self.earlier.pop()

    def _settled(self, reduced: Array, barrier: float) -> NDArray[np.bool_]:
        """Which variables are at a bound for good, as far as their reduced costs tell."""
        clearness = reduced**2 * self.whole.width
        early = barrier * self.whole.n_bounds > 1e-2 * self.value
        at_least = max(self.at_least, self.whole.A.shape[0] // _EARLY if early else 0)
        settled = self.may_settle & (clearness >= self.caution * barrier * self.scale)
        lacking = at_least - int(len(settled) - settled.sum())
        if lacking >= int(settled.sum()):
            settled[:] = False
        elif lacking > 0:
            candidates = np.flatnonzero(settled)
            settled[candidates[np.argpartition(clearness[candidates], lacking)[:lacking]]] = False
        return settled

    def _revised(self, state: _State, barrier: float) -> _State:
        """Settle what is clear by now, and bring back, on the central path, what does not belong at its bound."""
        whole, old, x = self.whole, state.point, state.x()
        fit = whole.times(old.y)
        reduced = whole.reduced_costs(x, fit)
        at_rest = self.boxed.copy()
        at_rest[state.work] = False
        far = np.where(reduced < 0.0, whole.upper - x, whole.lower - x)[at_rest]
        if -float(reduced[at_rest] @ far) > _MISPLACED * barrier * whole.n_bounds and self.earlier and len(state.work):
            return self._back()  # who was settled wrongly is worth more than all that is left to gain
        loose = self.movable & ~self._settled(reduced, barrier)
        if loose.sum() > _WORTH_A_COPY * self.movable.sum():
            loose = self.movable.copy()  # the rows as they are, without a copy
        elif loose.sum() > 0.7 * len(state.work):
            loose[state.work] = True  # too little to be gained for a copy of rows
        if not loose[state.work].all():
            self.earlier.append(replace(state, revised_at=barrier))
        zl, zu, new = barrier * whole.has_lower, barrier * whole.has_upper, loose & self.boxed
        zl[state.work], zu[state.work], new[state.work] = old.zl, old.zu, False
        v = _central_distance(reduced[new], whole.width[new], barrier)
        zl[new], zu[new] = barrier / v, barrier / (whole.width[new] - v)
        inside = x.copy()
        inside[new] = whole.lower[new] + v
        resting = np.where(self.boxed & ~loose, np.where(reduced > 0.0, whole.lower, whole.upper), inside)
        work = np.flatnonzero(loose)
        point = _Point(inside[work], old.y, fit[work], zl[work], zu[work])
        return _State(work, whole.restricted(work, resting), point, resting, barrier)

    def _feasible(self, state: _State, reduced: Array, missing: Array) -> bool:
        """Whether the equations hold, by size and by what they are worth, and infinite boxes are balanced."""
        p, point = state.part, state.point
        missing = np.abs(missing)
        size = self.norms * (1.0 + float(np.linalg.norm(point.x)))
        worth = float(np.abs(point.y) @ missing) / (1.0 + abs(p.value(point.x)))
        balanced = p.unbalanced(reduced) <= self.tol * self.scale
        return balanced and worth <= self.tol and bool(np.all(missing <= self.tol * size))

    def _settled_rightly(self, state: _State) -> bool:
        """Whether the gap is closed for all variables, the settled ones included, with [A; B] y computed afresh."""
        x, y = state.x(), state.point.y
        return _relative_gap(self.whole, x, y, self.whole.reduced_costs(x, self.whole.times(y))) <= 2.0 * self.tol


def _relative_gap(p: _Program, x: Array, y: Array, reduced: Array) -> float:
    value = p.value(x)
    return (value - p.bound(x, y, reduced)) / (1.0 + abs(value))


def _no_solution(whole: _Program, x: Array, y: Array, norms: Array) -> tuple[Status, Array] | None:
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


def _finish(whole: _Program, x: Array, y: Array, n_iter: int, status: Status) -> BoxLP:
    reduced = whole.reduced_costs(x, whole.times(y))
    missing = np.abs(whole.rhs - whole.sums(x))
    value, bound = whole.value(x), whole.bound(x, y, reduced)
    if status == "unbounded":
        value = bound = -np.inf
    return BoxLP(np.clip(x, whole.lower, whole.upper), y, value, bound, float(missing.max(initial=0.0)), n_iter, status)
