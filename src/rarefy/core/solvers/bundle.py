r"""Minimising a convex function that is not smooth plus a squared norm, with a proof of how close one is.

w : (k,) variables; f = forward(w) scores, linear in w; R(f) convex, with subgradients g in the scores
a_i, c_i : a cut, R(forward(w)) >= a_i^T w + c_i for all w, with equality where it was taken

    min over w  J(w) = R(forward(w)) + alpha/2 ||w||^2

Newton's method is undefined where the function is not differentiable: there a gradient says nothing about where the
function goes. Cuts remember what was
seen elsewhere. The largest of them plus the squared norm is a lower bound of J everywhere, its minimum is a quadratic
program over a simplex with as many variables as cuts, and the difference to the best value seen is the gap. New cuts
are taken near the best point, on the way to that minimum, after a search along the line between the two, which costs no
pass over the data [TeoVishwanathanSmolaLe2010]_ [FrancSonnenburg2009]_.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.simplex_qp import simplex_qp

_TOWARDS = 0.1
"""Cuts are taken this share of the way from the best point to the model's minimum."""
_IDLE = 15
"""Rounds after which a cut that the model does not need is forgotten."""


@dataclass(frozen=True)
class BundleMinimum:
    """The best point, its value, how far that is from the least one at most, and how it ended."""

    w: Array
    value: float
    gap: float
    n_iter: int
    converged: bool


def bundle(
    loss: Callable[[Array], tuple[float, Array]],
    forward: Callable[[Array], Array],
    backward: Callable[[Array], Array],
    alpha: float,
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
    alpha : float, > 0
        Weight of half the squared norm.
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
    (height, slope), gap = loss(here.scores), np.inf
    value = height + 0.5 * alpha * float(start @ start)
    A, c, u, used = np.zeros((0, len(start))), np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.intp)
    for iteration in range(max_iter):
        cut = backward(slope)
        A, c = np.vstack([A, cut]), np.append(c, height - float(cut @ here.w))
        model = simplex_qp(A @ A.T / (2.0 * alpha), c, start=np.append(u, 0.0 if len(u) else 1.0))
        u, gap = model.u, value + model.value  # the model is a lower bound, at its minimum or not
        if callback is not None:
            callback(iteration, value, gap)
        if gap <= tol * (1e-3 + abs(value)):
            return BundleMinimum(best.w, value, max(0.0, gap), iteration + 1, True)
        used = np.where(u > 0.0, iteration, np.append(used, iteration))
        needed = iteration - used <= _IDLE
        A, c, u, used = A[needed], c[needed], u[needed], used[needed]
        target = -(u @ A) / alpha
        goal = _Point(target, forward(target))
        best, value = _along(best, goal, value, loss, alpha)
        here = best.towards(goal, _TOWARDS)
        height, slope = loss(here.scores)
        there = height + 0.5 * alpha * float(here.w @ here.w)
        if there < value:
            best, value = here, there
    return BundleMinimum(best.w, value, float(gap), max_iter, False)


@dataclass(frozen=True)
class _Point:
    """Variables with their scores."""

    w: Array
    scores: Array

    def towards(self, goal: "_Point", share: float) -> "_Point":
        return _Point(self.w + share * (goal.w - self.w), self.scores + share * (goal.scores - self.scores))

    def value(self, loss: Callable[[Array], tuple[float, Array]], alpha: float) -> float:
        return loss(self.scores)[0] + 0.5 * alpha * float(self.w @ self.w)


def _along(
    best: _Point, goal: _Point, value: float, loss: Callable[[Array], tuple[float, Array]], alpha: float
) -> tuple[_Point, float]:
    """The best point between the two, or the one that it starts from."""
    found = minimize_scalar(
        lambda length: best.towards(goal, length).value(loss, alpha),
        bounds=(0.0, 1.0),
        method="bounded",
        options={"maxiter": 12, "xatol": 1e-3},
    )
    return (best.towards(goal, float(found.x)), float(found.fun)) if found.fun < value else (best, value)
