"""Weights by one trust region: jointly with the coefficients, or with the classifiers solved again at every step.

The objective is stationary in a weight that is zero, so such a weight stays zero, and the result of a search depends
on its start. With the squared penalty the objective is the same for z and -z and needs no bound at zero. The bound is
kept nevertheless: without it weights jump to zero early and the minima predict worse (errors of 25 and 28 % instead of
16 and 13 % on two samples of `make_ndcc`).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.core.feature_weights.objectives import split, whole_problem
from rarefy.core.feature_weights.problem import (
    FIRST_RADIUS,
    NEGLIGIBLE,
    Callback,
    Problem,
    Solution,
    finished,
    scatter_weights,
)
from rarefy.core.feature_weights.reduced_point import ReducedPoint
from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.trust_region import Minimum, StepRule, trust_region

_CHANCES = 5
"""How often features with weight zero may get a weight again if that lowers the objective."""

_ENDS = 6
"""Ends of searches that are kept, at which those for the next penalty start."""


def joint_search(
    problem: Problem,
    z: Array,
    *,
    tol: float = 1e-3,
    max_iter: int = 300,
    rule: StepRule | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Optimise coefficients, offsets and weights in one trust region; the classifiers start at the optimum for z.

    Parameters
    ----------
    problem, z, rule, callback
        As in `alternate`.
    tol : float
        It stops when 25 steps lower the objective by less than a hundredth of this, relatively.
    max_iter : int
        Largest number of steps; after every 25 of them, features with weight zero are left out.
    """
    n, q = problem.classifiers.Y.shape
    B, b, value = problem.solve_classifiers(z)
    last = [(B, b)]

    def stretch(kernel: FeatureKernel, z: Array, radius: float, left: int) -> tuple[Minimum, Array]:
        x = np.concatenate([last[0][0].ravel(), last[0][1], z])
        lower = np.where(np.arange(len(x)) < n * q + q, -np.inf, 0.0)
        at = whole_problem(kernel, problem.classifiers)
        best = trust_region(
            at, x, lower=lower, rule=rule, radius=radius, tol=1e-2 * tol**2, max_iter=min(25, left), max_products=100
        )
        B, b, found = split(best.x, n, q)
        last[:] = [(B, b)]
        return best, found

    z, history, n_iter, done = _in_stretches(problem, z, stretch, [value], tol, max_iter, callback)
    return finished(problem, z, problem.solve_classifiers(z, last[0]), history, n_iter, done, tol)


def _in_stretches(
    problem: Problem,
    z: Array,
    stretch: Callable[[FeatureKernel, Array, float, int], tuple[Minimum, Array]],
    history: list[float],
    tol: float,
    max_iter: int,
    callback: Callback | None,
) -> tuple[Array, list[float], int, bool]:
    """Search a few steps at a time, and leave out features with weight zero in between.

    It ends when a stretch converges or lowers the objective by less than a hundredth of tol, relatively.
    """
    n_iter, done = 0, False
    while n_iter < max_iter and not done and z.any():
        nonzero = np.flatnonzero(z > 0.0)
        radius = FIRST_RADIUS * float(np.sqrt(z.sum()))
        best, found = stretch(problem.among(nonzero).kernel(), z[nonzero], radius, max_iter - n_iter)
        flat = bool(history) and history[-1] - best.value <= 1e-2 * tol * abs(best.value)
        z, done = scatter_weights(problem, found, nonzero), flat or best.status != "iteration limit"
        n_iter += max(best.n_iter, 1)
        history = [*history, best.value]
        if callback is not None:
            callback(n_iter, best.value, z)
    return z, history, n_iter, done or not z.any()


class _ExactSteps:
    """Some steps with exact classifiers; remembers the last ones, from which the next are started."""

    def __init__(self, problem: Problem, start: tuple[Array, Array] | None, tol: float, rule: StepRule | None) -> None:
        self._problem, self._last, self._tol, self._rule = problem, start, tol, rule
        self._tried: list[ReducedPoint] = []

    def __call__(self, kernel: FeatureKernel, z: Array, radius: float, left: int) -> tuple[Minimum, Array]:
        classifiers, self._tried = self._problem.classifiers, []

        def at(x: Array) -> ReducedPoint:
            known = (point.at(classifiers, x) for point in kernel.ends)
            point = next(filter(None, known), None) or ReducedPoint(kernel, classifiers, x, self._ahead(x))
            self._last = point.B, point.b
            self._tried = [*self._tried[-1:], point]
            return point

        best = trust_region(
            at,
            z,
            lower=np.zeros(len(z)),
            land=True,
            rule=self._rule,
            radius=radius,
            tol=1e-3 * self._tol,
            max_iter=min(10, left),
            max_products=30,
        )
        if kernel.each is not None:
            ends = [point for point in self._tried if np.array_equal(point.z, best.x)]
            kernel.ends[:] = [*kernel.ends, *ends][-_ENDS:]
        return best, best.x

    def _ahead(self, z: Array) -> tuple[Array, Array] | None:
        """Classifiers to start from: as a point nearby foretells them, or the last ones."""
        return next(filter(None, (point.ahead(z) for point in reversed(self._tried))), self._last)

    def classifiers(self, z: Array) -> tuple[Array, Array, float]:
        """The classifiers for weights of all features, and the objective; known if these are those of a step."""
        for point in self._tried:
            if np.array_equal(point.z[point.z > 0.0], z[z > 0.0]):
                return point.B, point.b, point.value
        return self._problem.solve_classifiers(z, self._last)


def reduced(
    problem: Problem,
    z: Array,
    *,
    start: tuple[Array, Array] | None = None,
    field: NDArray[np.bool_] | None = None,
    tol: float = 1e-3,
    max_iter: int = 300,
    rule: StepRule | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Optimise the weights in one trust region, the classifiers being solved exactly at every step.

    With the squared penalty zero is no bound but a stationary point, and a saddle point if a positive weight of the
    feature lowers the objective. Such features get a negligible weight and the search continues.

    Parameters
    ----------
    problem, z, rule, callback
        As in `alternate`.
    start : (B, b) or None
        Classifiers of a similar problem, to start the first ones from.
    field : (d,) array of bool or None
        Features that may get a weight again; None means those with a nonzero weight in z.
    tol : float
        It stops when ten steps lower the objective by less than a hundredth of this, relatively, or when the model of a
        step predicts a decrease of less than a thousandth.
    max_iter : int
        Largest number of steps; after every ten of them, features with weight zero are left out.
    """
    wanted = z > 0.0 if field is None else field
    steps = _ExactSteps(problem, start, tol, rule)
    history: list[float] = []
    n_iter, chances = 0, 0 if problem.classifiers.penalty.zero_is_bound else _CHANCES
    while True:
        z, history, used, done = _in_stretches(problem, z, steps, history, tol, max_iter - n_iter, callback)
        n_iter, chances = n_iter + used, chances - 1
        B, b, value = steps.classifiers(z)
        if chances < 0 or not done:
            break
        missed = wanted & (z == 0.0) & (problem.slopes(z, B, b) < -problem.classifiers.penalty.mu)
        if not missed.any():
            break
        # Relative to the largest weight, or to weights that give two samples distance 1 if all are zero.
        largest = float((z * problem.scales).max()) or 1.0 / np.sqrt(2.0 * np.count_nonzero(missed))
        z = z.copy()
        z[missed] = NEGLIGIBLE * largest / problem.scales[missed]
    return finished(problem, z, (B, b, value), history, n_iter, done, tol)
