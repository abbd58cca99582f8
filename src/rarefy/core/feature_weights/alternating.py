"""Alternating optimisation: classifiers for fixed weights, then weights for fixed coefficients, and so on [Tayal2014].

In the second half the margin is a variable as well ("geometric", "functional") or is not ("fixed").
"""

from typing import Literal

import numpy as np

from rarefy.core.feature_weights.objectives import weight_step
from rarefy.core.feature_weights.problem import FIRST_RADIUS, Callback, Problem, Solution, finished, scatter_weights
from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.trust_region import StepRule, trust_region

Margin = Literal["fixed", "geometric", "functional"]


def alternate(
    problem: Problem,
    z: Array,
    margin: Margin,
    *,
    tol: float = 1e-3,
    max_iter: int = 30,
    inner: int = 20,
    rule: StepRule | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Optimise classifiers and weights in turn.

    Parameters
    ----------
    problem : Problem
        What to solve.
    z : (d,) array
        Weights to start from.
    margin : {"fixed", "geometric", "functional"}
        The margin in the second half: fixed (Simple AO), or a variable as in Margin AO-I or as in Margin AO-II.
    tol : float
        It stops when no weight changes by more than this in one round, relative to the largest weight; or when the
        objective decreases by less than a hundredth of it and the selected features stay the same. With the functional
        margin the two halves have different objectives and need not converge: the same selected features are enough.
    max_iter, inner : int
        Largest number of rounds, and of trust region steps in each.
    rule : callable or None
        Of the trust region steps, see `trust_region`.
    callback : callable or None
        Called with (round, objective, z) in every round.
    """
    history: list[float] = []
    last, converged, n_iter = None, False, 0
    while not converged and n_iter < max_iter:
        B, b, value = problem.solve_classifiers(z, last)
        last = (B, b)
        history.append(value)
        if callback is not None:
            callback(n_iter, value, z)
        before, z = z, _weight_half(problem, z, B, b, margin, inner, tol, rule)
        flat = n_iter > 0 and (margin == "functional" or history[-2] - value <= 1e-2 * tol * abs(value))
        still = float(np.abs(z - before).max()) <= tol * float(z.max())
        converged = still or (flat and np.array_equal(problem.selected(z), problem.selected(before))) or not z.any()
        n_iter += 1
    return finished(problem, z, problem.solve_classifiers(z, last), history, n_iter, converged, tol)


def _weight_half(
    problem: Problem,
    z: Array,
    B: Array,
    b: Array,
    margin: Margin,
    inner: int,
    tol: float,
    rule: StepRule | None = None,
) -> Array:
    """The weights for fixed coefficients, by a trust region that starts at z."""
    nonzero, index = np.flatnonzero(z > 0.0), np.flatnonzero(np.any(B != 0.0, axis=1))
    if not len(nonzero) or not len(index):
        return z
    kernel, B = problem.among(nonzero).kernel(index), B[index]
    nu = np.ones(B.shape[1])
    if margin == "functional":  # classifiers scaled to norm 1, and the nu at which they have the same scores
        norms = np.einsum("sc,sc->c", B, kernel.matrix(z[nonzero])[index] @ B)
        rounding = np.finfo(float).eps * np.abs(B).sum(axis=0) ** 2 + np.finfo(float).tiny
        nu = np.sqrt(np.maximum(norms, rounding))
    at = weight_step(kernel, problem.classifiers, index, B / nu, b / nu, margin=margin)
    x = z[nonzero] if margin == "fixed" else np.concatenate([z[nonzero], nu])
    radius = FIRST_RADIUS * float(np.sqrt(z.sum()))
    best = trust_region(
        at,
        x,
        lower=np.zeros(len(x)),
        land=True,
        rule=rule,
        radius=radius,
        tol=1e-3 * tol,
        max_iter=inner,
        max_products=30,
    )
    return scatter_weights(problem, best.x[: len(nonzero)], nonzero)
