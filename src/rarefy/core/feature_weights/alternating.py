"""Classifiers for fixed weights, then weights for fixed coefficients, and so on [Tayal2014].

The second half knows the margin as a variable of its own ("geometric", "functional") or does not ("fixed").
"""

from typing import Literal

import numpy as np

from rarefy.core.feature_weights.objectives import weight_step
from rarefy.core.feature_weights.problem import FIRST_RADIUS, Callback, Problem, Solution, finished, scatter_weights
from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.trust_region import trust_region

Margin = Literal["fixed", "geometric", "functional"]


def alternate(
    problem: Problem,
    z: Array,
    margin: Margin,
    *,
    tol: float = 1e-3,
    max_iter: int = 30,
    inner: int = 20,
    callback: Callback | None = None,
) -> Solution:
    """Classifiers and weights in turn.

    Parameters
    ----------
    problem : Problem
        What to solve.
    z : (d,) array
        Weights to start from.
    margin : {"fixed", "geometric", "functional"}
        What the second half knows of the margin: nothing (Simple AO), Margin AO-I, Margin AO-II.
    tol : float
        Accepted change of a weight in one round, relative to the largest; or a hundredth of it of the objective, while
        the set of weights that are not negligible stays the same. The functional margin is another objective than the
        classifiers', so its rounds need not settle: they end when that set does.
    max_iter, inner : int
        Rounds, and steps of the trust region in each.
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
        before, z = z, _weight_half(problem, z, B, b, margin, inner, tol)
        flat = n_iter > 0 and (margin == "functional" or history[-2] - value <= 1e-2 * tol * abs(value))
        still = float(np.abs(z - before).max()) <= tol * float(z.max())
        converged = still or (flat and np.array_equal(problem.selected(z), problem.selected(before))) or not z.any()
        n_iter += 1
    return finished(problem, z, problem.solve_classifiers(z, last), history, n_iter, converged, tol)


def _weight_half(problem: Problem, z: Array, B: Array, b: Array, margin: Margin, inner: int, tol: float) -> Array:
    """The weights, by a trust region from z on, for fixed coefficients."""
    nonzero, index = np.flatnonzero(z > 0.0), np.flatnonzero(np.any(B != 0.0, axis=1))
    if not len(nonzero) or not len(index):
        return z
    kernel, B = problem.among(nonzero).kernel(index), B[index]
    nu = np.ones(B.shape[1])
    if margin == "functional":  # functions of norm 1, and the margin that gives them their scores back
        norms = np.einsum("sc,sc->c", B, kernel.matrix(z[nonzero])[index] @ B)
        rounding = np.finfo(float).eps * np.abs(B).sum(axis=0) ** 2 + np.finfo(float).tiny
        nu = np.sqrt(np.maximum(norms, rounding))
    at = weight_step(kernel, problem.classifiers, index, B / nu, b / nu, margin=margin)
    x = z[nonzero] if margin == "fixed" else np.concatenate([z[nonzero], nu])
    radius = FIRST_RADIUS * float(np.sqrt(z.sum()))
    best = trust_region(at, x, lower=np.zeros(len(x)), radius=radius, tol=1e-3 * tol, max_iter=inner, max_products=30)
    return scatter_weights(problem, best.x[: len(nonzero)], nonzero)
