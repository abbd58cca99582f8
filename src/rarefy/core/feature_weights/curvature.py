"""Minimum or saddle point: the curvature of the objective at a solution."""

import numpy as np
import scipy.sparse.linalg as ssl

from rarefy.core.feature_weights.problem import Problem, Solution
from rarefy.core.feature_weights.reduced_point import ReducedPoint
from rarefy.core.linalg.rows import Array, Index

_DENSE = 200
"""The Hessian of up to so many weights is formed; of more, only products with it are used."""


def smallest_curvature(problem: Problem, solution: Solution) -> float:
    """The smallest eigenvalue of the Hessian in the weights of the minimum over all classifiers.

    The objective is the problem's: penalty, loss and kernel as given, whatever a search minimised on its way.
    That Hessian is the Schur complement of the Hessian in all variables, and the block of the classifiers has no
    negative eigenvalue. So either both have a negative eigenvalue or neither has: it is negative at a saddle point.
    With the l1 penalty negligible weights are held by their bound and left out. With the squared one all weights take
    part; those that are zero have only their own second derivatives in the Hessian.
    """
    z, bound = solution.z, problem.classifiers.penalty.zero_is_bound
    if not z.any():
        return 0.0
    of_moving = _curvature_among(problem, solution, problem.selected(z) if bound else np.flatnonzero(z > 0.0))
    absent = (z == 0.0) & (problem.scales > 0.0)
    if bound or not absent.any():
        return of_moving
    slopes = problem.slopes(z, solution.B, solution.b)
    return min(of_moving, 2.0 * float(slopes[absent].min() + problem.classifiers.penalty.mu))


def _curvature_among(problem: Problem, solution: Solution, moving: Index) -> float:
    """The smallest eigenvalue in some of the weights, the others being fixed."""
    nonzero = np.flatnonzero(solution.z > 0.0)
    here = ReducedPoint(
        problem.among(nonzero).kernel(), problem.classifiers, solution.z[nonzero], (solution.B, solution.b)
    )
    at, n = np.searchsorted(nonzero, moving), len(moving)

    def product(v: Array) -> Array:
        direction = np.zeros(len(nonzero))
        direction[at] = v
        return here.hessian_product(direction)[at]

    if n <= _DENSE:
        H = np.column_stack([product(e) for e in np.eye(n)])
        return float(np.linalg.eigvalsh(0.5 * (H + H.T))[0])
    operator = ssl.LinearOperator((n, n), matvec=product, dtype=np.float64)
    seed = np.random.default_rng(0).standard_normal(n)
    return float(ssl.eigsh(operator, k=1, which="SA", v0=seed, tol=1e-3, return_eigenvectors=False)[0])
