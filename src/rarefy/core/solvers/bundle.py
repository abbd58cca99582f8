r"""Minimising a convex function that is not smooth plus a penalty, with a proof of how close one is.

w : (k,) variables; f = forward(w) scores, linear in w; R(f) convex, with subgradients g in the scores
a_i, c_i : a cut, R(forward(w)) >= a_i^T w + c_i for all w, with equality where it was taken

    min over w  J(w) = R(forward(w)) + Omega(w),     Omega(w) = alpha/2 ||w||^2  or  alpha ||w||_1

Newton's method is undefined where the function is not differentiable: there a gradient says nothing about where the
function goes. Cuts remember what was seen elsewhere. The largest of them plus the penalty, the *model*, is a lower
bound of J everywhere. Its minimum is a quadratic program over a simplex with as many variables as cuts, or with
absolute values a linear program. The difference of the best value seen to the largest such minimum is the gap. New cuts
are taken near the best point, on the way to the model's minimum, after a search along the line between the two, which
costs no pass over the data [TeoVishwanathanSmolaLe2010]_ [FrancSonnenburg2009]_.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.optimize import linprog, minimize_scalar

from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.simplex_qp import simplex_qp

_TOWARDS = 0.1
"""Cuts are taken this share of the way from the best point to the model's minimum."""
_IDLE = 15
"""Rounds after which a cut that the model does not need is forgotten."""
_LP_TOL = 1e-10
"""Accepted violations in linear programs: the least that the solver takes, and far below a gap that matters."""


@dataclass(frozen=True)
class BundleMinimum:
    """The best point, its value, how far that is from the least one at most, and how it ended."""

    w: Array
    value: float
    gap: float
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class ModelMinimum:
    """Where the model is least, how much each cut counts there, and a proved lower bound of the model."""

    w: Array
    u: Array
    bound: float


class Penalty(Protocol):
    """A penalty Omega, and the minimum of a model with it."""

    def __call__(self, w: Array) -> float:
        """Omega(w)."""

    def minimum(self, A: Array, c: Array, u: Array) -> ModelMinimum | None:
        """Minimise max_i (a_i^T w + c_i) + Omega(w), from multipliers u; None if rounding prevents that."""


@dataclass(frozen=True)
class SquaredNorm:
    """alpha/2 ||w||^2."""

    alpha: float

    def __call__(self, w: Array) -> float:
        return 0.5 * self.alpha * float(w @ w)

    def minimum(self, A: Array, c: Array, u: Array) -> ModelMinimum:
        """By its dual, a quadratic program over a simplex; any point of that proves a lower bound."""
        found = simplex_qp(A @ A.T / (2.0 * self.alpha), c, start=u)
        return ModelMinimum(-(found.u @ A) / self.alpha, found.u, -found.value)


@dataclass(frozen=True)
class AbsoluteSum:
    """alpha ||w||_1, for a function R that is nowhere negative."""

    alpha: float

    def __call__(self, w: Array) -> float:
        return self.alpha * float(np.abs(w).sum())

    def minimum(self, A: Array, c: Array, u: Array) -> ModelMinimum | None:
        """By a linear program in the positive and negative parts of alpha w, and a proof that does not trust it.

        Multipliers u >= 0 of sum at most 1 with |A^T u| <= alpha prove the lower bound c^T u: the cuts that they
        combine, and zero, are below R, and the penalty is above any linear function with such coefficients. Those of
        the solver are made so by a factor.
        """
        n, k = A.shape
        scaled = A / self.alpha
        found = linprog(
            np.ones(2 * k + 1),
            A_ub=np.hstack([scaled, -scaled, -np.ones((n, 1))]),
            b_ub=-c,
            bounds=(0.0, None),
            method="highs-ds",
            options={"primal_feasibility_tolerance": _LP_TOL, "dual_feasibility_tolerance": _LP_TOL},
        )
        if found.x is None or not np.isfinite(found.x).all():
            return None
        u = np.maximum(-found.ineqlin.marginals, 0.0)
        u /= max(1.0, float(u.sum()), float(np.abs(u @ scaled).max()))
        return ModelMinimum((found.x[:k] - found.x[k : 2 * k]) / self.alpha, u, max(0.0, float(u @ c)))


def bundle(
    loss: Callable[[Array], tuple[float, Array]],
    forward: Callable[[Array], Array],
    backward: Callable[[Array], Array],
    penalty: Penalty,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float, float], None] | None = None,
) -> BundleMinimum:
    """Solve the problem.

    Parameters
    ----------
    loss : callable
        Value of R and one of its subgradients, at scores.
    forward, backward : callable
        From variables to scores, and from a gradient in scores to one in variables.
    penalty : Penalty
        Omega.
    start : (k,) array
        Where to begin.
    tol : float
        Accepted gap, relative to 1e-3 plus the value.
    max_iter : int
        Cuts.
    callback : callable or None
        Called with (round, value, gap) in every round.
    """
    here = best = _Point(start, forward(start))
    (height, slope), bound = loss(here.scores), -np.inf
    value = height + penalty(start)
    A, c, u, used = np.zeros((0, len(start))), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.intp)
    for iteration in range(max_iter):
        cut = backward(slope)
        A, c = np.vstack([A, cut]), np.append(c, height - float(cut @ here.w))
        model = penalty.minimum(A, c, np.append(u, 0.0 if len(u) else 1.0))
        if model is None:
            return BundleMinimum(best.w, value, value - bound, iteration + 1, False)
        u, bound = model.u, max(bound, model.bound)  # cuts were forgotten: an earlier bound may be better
        if callback is not None:
            callback(iteration, value, value - bound)
        if value - bound <= tol * (1e-3 + abs(value)):
            return BundleMinimum(best.w, value, max(0.0, value - bound), iteration + 1, True)
        used = np.where(u > 0.0, iteration, np.append(used, iteration))
        needed = iteration - used <= _IDLE
        A, c, u, used = A[needed], c[needed], u[needed], used[needed]
        goal = _Point(model.w, forward(model.w))
        best, value = _along(best, goal, value, loss, penalty)
        here = best.towards(goal, _TOWARDS)
        height, slope = loss(here.scores)
        there = height + penalty(here.w)
        if there < value:
            best, value = here, there
    return BundleMinimum(best.w, value, float(value - bound), max_iter, False)


@dataclass(frozen=True)
class _Point:
    """Variables with their scores."""

    w: Array
    scores: Array

    def towards(self, goal: "_Point", share: float) -> "_Point":
        return _Point(self.w + share * (goal.w - self.w), self.scores + share * (goal.scores - self.scores))

    def value(self, loss: Callable[[Array], tuple[float, Array]], penalty: Penalty) -> float:
        return loss(self.scores)[0] + penalty(self.w)


def _along(
    best: _Point, goal: _Point, value: float, loss: Callable[[Array], tuple[float, Array]], penalty: Penalty
) -> tuple[_Point, float]:
    """The best point between the two, or the one that it starts from."""
    found = minimize_scalar(
        lambda length: best.towards(goal, length).value(loss, penalty),
        bounds=(0.0, 1.0),
        method="bounded",
        options={"maxiter": 12, "xatol": 1e-3},
    )
    return (best.towards(goal, float(found.x)), float(found.fun)) if found.fun < value else (best, value)
