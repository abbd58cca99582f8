r"""One step of a primal-dual interior point method for linear programs with many boxed variables and few equations.

A      : (n, k) Rows, one row for each of the many variables, n >> k; B : (q, k), rows of a few more
x      : (n + q,) variables, strictly inside their box; y : (k,) multipliers of the equations
v, s   : distances of x to its lower and its upper bound; zl, zu : their multipliers
theta  : 1 / (curvature + zl / v + zu / s)

A step solves the Newton equations of  v zl = s zu = target,  [A; B]^T x = rhs,  c + curvature x - [A; B] y = zl - zu.
Eliminating all but dy leaves the k x k normal equations with matrix [A; B]^T diag(theta) [A; B]: one weighted Gram
matrix and one Cholesky factorisation, and two products with A for every right-hand side.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg as sl

from rarefy.core.linalg.cholesky import lifted_cholesky
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.linalg.threads import threads_for
from rarefy.core.solvers.few_rows import FewRows

_ROUGH = 1e-3
LARGE = 1e7
"""Relative gap, and products of entries, above which Gram matrices are formed in single precision."""
_CORRECTORS = (1, 2)
"""Gondzio's centrality correctors with few and with many equations: each costs two products and saves about a tenth
of the Gram matrices, which with few equations are cheap."""
_MANY_EQUATIONS = 256
_REFINED, _ACCURATE = 10, 1e-5
"""Steps of conjugate gradients for one direction at most, and what it may leave of its right-hand side."""


@dataclass(frozen=True)
class Program:
    """A program: the one that was asked for, or its restriction to some of the variables."""

    A: Rows
    few: FewRows
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
        return np.concatenate([self.A @ y, self.few.times(y)])

    def sums(self, x: Array) -> Array:
        """[A; B]^T x."""
        n = self.A.shape[0]
        return self.A.T @ x[:n] + self.few.sums(x[n:])

    def gram(self, w: Array, *, rough: bool) -> Array:
        """[A; B]^T diag(w) [A; B]."""
        n = self.A.shape[0]
        G = self.A.gram(w[:n], rough=rough)
        self.few.add_gram(G, w[n:])
        return G

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

    def restricted(self, index: Index, x: Array) -> "Program":
        """The program in the variables of this index, all others resting where x has them."""
        n = self.A.shape[0]
        many = index[index < n]
        resting = x.copy()
        resting[index] = 0.0
        return Program(
            self.A if len(many) == n else self.A.subset(many),
            self.few.subset(index[index >= n] - n),
            self.c[index],
            self.lower[index],
            self.upper[index],
            self.rhs - self.sums(resting),
            self.curvature[index],
        )


@dataclass(frozen=True)
class Point:
    """An iterate: x strictly inside its box, multipliers y of the equations, with [A; B] y, and of the two bounds."""

    x: Array
    y: Array
    fit: Array
    zl: Array
    zu: Array

    def barrier(self, p: Program) -> float:
        """Mean product of a distance to a bound and its multiplier."""
        v, s = distances(p, self.x)
        return float(v @ self.zl + s @ self.zu) / p.n_bounds


def distances(p: Program, x: Array) -> tuple[Array, Array]:
    """To the lower and the upper bound; 1 where there is none, where multipliers are zero."""
    return np.where(p.has_lower > 0.0, x - p.lower, 1.0), np.where(p.has_upper > 0.0, p.upper - x, 1.0)


class Factor:
    """Solves with a positive semi-definite matrix, equilibrated and, if need be, slightly lifted."""

    def __init__(self, N: Array) -> None:
        diagonal = N.diagonal()
        self.d = np.where(diagonal > 0.0, 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), 1.0)
        self.N = N * self.d[:, None] * self.d
        with threads_for(len(N)):
            self.cholesky = lifted_cholesky(self.N, "the matrix of the normal equations", plain_first=False)

    def size(self, b: Array) -> float:
        """Length of a right-hand side in the units of the equilibrated equations."""
        return float(np.linalg.norm(self.d * b))

    def solve(self, b: Array) -> Array:
        b = self.d * b
        u = sl.cho_solve(self.cholesky, b, check_finite=False)
        u += sl.cho_solve(self.cholesky, b - self.N @ u, check_finite=False)  # makes up for the lift
        return np.asarray(self.d * u)


class Newton:
    """Directions at one point: one factorisation, several right-hand sides."""

    def __init__(self, p: Program, point: Point, reduced: Array, missing: Array) -> None:
        self.p, self.point, self.reduced, self.missing = p, point, reduced, missing
        self.v, self.s = distances(p, point.x)
        self.theta = 1.0 / (p.curvature + point.zl / self.v + point.zu / self.s + 1e-300)
        free = (p.has_lower + p.has_upper + p.curvature) == 0.0
        if free.any():  # nothing holds a free variable: a weak proximal term does
            self.theta[free] = 1e8

    def towards(self, tl: Array, tu: Array) -> Point:
        """The step after which the products of distances and multipliers are, to first order, tl and tu."""
        p, point = self.p, self.point
        tl, tu = tl * p.has_lower, tu * p.has_upper
        pull = self.reduced - tl / self.v + tu / self.s
        dy, fit = self._solved(self.missing + p.sums(self.theta * pull))
        dx = self.theta * (fit - pull)
        dzl = tl / self.v - point.zl - point.zl / self.v * dx
        dzu = tu / self.s - point.zu + point.zu / self.s * dx
        return Point(dx, dy, fit, dzl, dzu)

    def _solved(self, right: Array) -> tuple[Array, Array]:
        """The dy of the normal equations and [A; B] dy, by conjugate gradients with the factor as preconditioner.

        The factor alone leaves much of an ill-conditioned system, the more so if its matrix was formed in single
        precision: then the equations would not come to hold, and steps would become shorter and shorter.
        """
        p, size = self.p, self.factor.size(right)
        dy = self.factor.solve(right)
        fit = p.times(dy)
        left = right - p.sums(self.theta * fit)
        z = q = self.factor.solve(left)
        for _ in range(_REFINED):
            if self.factor.size(left) <= _ACCURATE * size:
                break
            change = p.times(q)
            image = p.sums(self.theta * change)
            slope, curvature = float(left @ z), float(q @ image)
            if not (slope > 0.0 and curvature > 0.0):
                break
            t = slope / curvature
            dy, fit, left = dy + t * q, fit + t * change, left - t * image
            z = self.factor.solve(left)
            q = z + float(left @ z) / slope * q
        return dy, fit

    def lengths(self, step: Point, share: float = 1.0) -> tuple[float, float]:
        """How far x and the multipliers can go: 1, or this share of the way to the nearest bound."""
        p, point = self.p, self.point
        primal = max(1e-3, float((-step.x / self.v * p.has_lower).max()), float((step.x / self.s * p.has_upper).max()))
        zl, zu = np.where(point.zl > 0.0, point.zl, 1.0), np.where(point.zu > 0.0, point.zu, 1.0)
        dual = max(1e-3, float((-step.zl / zl).max()), float((-step.zu / zu).max()))
        return min(1.0, share / primal), min(1.0, share / dual)

    def products(self, step: Point, primal: float, dual: float) -> tuple[Array, Array]:
        """Of distances and multipliers after a step."""
        point = self.point
        lower = (self.v + primal * step.x) * (point.zl + dual * step.zl)
        upper = (self.s - primal * step.x) * (point.zu + dual * step.zu)
        return lower * self.p.has_lower, upper * self.p.has_upper

    def step(self) -> tuple[Point, float]:
        """The next point and how far it is along the way; this one and 0 where numbers go out of range."""
        try:
            moved, length = self._step()
        except (np.linalg.LinAlgError, ValueError, OverflowError):  # a factor or a right-hand side is not finite
            return self.point, 0.0
        return (moved, length) if np.isfinite(moved.y).all() and np.isfinite(moved.x).all() else (self.point, 0.0)

    def _step(self) -> tuple[Point, float]:
        """Mehrotra's predictor and corrector, then Gondzio's correctors."""
        p, barrier = self.p, self.point.barrier(self.p)
        # A direction need not be accurate while the gap is wide; products with A, which measure it, always are.
        early = barrier * p.n_bounds > _ROUGH * (1.0 + abs(p.value(self.point.x)))
        worth = p.A.shape[0] * p.A.shape[1] ** 2 > LARGE
        self.factor = Factor(p.gram(self.theta, rough=early and worth))
        nothing = np.zeros(len(p.c))
        step = self.towards(nothing, nothing)
        lower, upper = self.products(step, *self.lengths(step))
        target = (float(lower.sum() + upper.sum()) / p.n_bounds) ** 3 / max(barrier, 1e-100) ** 2
        tl, tu = target - step.x * step.zl, target + step.x * step.zu
        step, (primal, dual) = self._lengthened(self.towards(tl, tu), target, tl, tu)
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
        moved = Point(q.x + primal * step.x, y, fit, q.zl + dual * step.zl, q.zu + dual * step.zu)
        return moved, min(primal, dual)

    def _lengthened(self, step: Point, target: float, tl: Array, tu: Array) -> tuple[Point, tuple[float, float]]:
        """The step after Gondzio's correctors as long as they lengthen it, and its lengths."""
        primal, dual = self.lengths(step)
        for _ in range(_CORRECTORS[len(self.p.rhs) >= _MANY_EQUATIONS]):
            lower, upper = self.products(step, min(1.0, primal + 0.1), min(1.0, dual + 0.1))
            more_l = np.maximum(np.clip(lower, 0.1 * target, 10.0 * target) - lower, -10.0 * target)
            more_u = np.maximum(np.clip(upper, 0.1 * target, 10.0 * target) - upper, -10.0 * target)
            corrected = self.towards(tl + more_l, tu + more_u)
            longer = self.lengths(corrected)
            if longer[0] + longer[1] < primal + dual + 0.02 or min(longer) < 0.9 * min(primal, dual):
                break
            step, (primal, dual), tl, tu = corrected, longer, tl + more_l, tu + more_u
        return step, (primal, dual)
