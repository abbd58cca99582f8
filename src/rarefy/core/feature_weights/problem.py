"""The problem that all searches for feature weights share, and what they return."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.kernel import GAUSSIAN, FeatureKernel, Profile
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.threads import threads_for

Callback = Callable[[int, float, Array], None]

NEGLIGIBLE = 0.01
"""Weights below this share of the largest count as zero, as in the thesis."""
_ZERO = 1e-6
"""Weights below this share of the largest are set to zero on the way."""
_CONSTANT = 1e-12
"""Where squared distances are below this, the kernel matrix is numerically constant, and all weights are zero."""
FIRST_RADIUS = 0.3
"""Of the first trust region, relative to the weights: far away the model knows nothing."""


@dataclass(frozen=True)
class Solution:
    """Weights, the classifiers in them, and how they were reached; `history` has the objective after every round."""

    z: Array
    B: Array
    b: Array
    objective: float
    history: tuple[float, ...]
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Problem:
    """Samples, labels, loss and penalty."""

    X: Array
    classifiers: Classifiers
    profile: Profile = GAUSSIAN

    @cached_property
    def scales(self) -> Array:
        """How widely a feature varies, or how large it is where products are formed: its weight means as much."""
        return self.X.std(axis=0) if self.profile.shape == "rbf" else np.sqrt(np.mean(self.X**2, axis=0))

    def selected(self, z: Array) -> Index:
        """Which weights are not negligible, all features being brought to the same scale."""
        share = z * self.scales
        return np.flatnonzero(share > NEGLIGIBLE * share.max(initial=0.0))

    def among(self, features: Index) -> "Problem":
        """The problem in some of the features."""
        if np.array_equal(features, np.arange(self.X.shape[1])):
            return self
        return replace(self, X=np.ascontiguousarray(self.X[:, features]))

    def threads(self) -> AbstractContextManager[Any]:
        """One BLAS thread unless there are many samples or features: the products of a search are small and many."""
        return threads_for(max(self.X.shape))

    def kernel(self, centres: Index | None = None) -> FeatureKernel:
        return FeatureKernel(self.X, self.X if centres is None else self.X[centres], self.profile)

    def solve_classifiers(self, z: Array, start: tuple[Array, Array] | None = None) -> tuple[Array, Array, float]:
        """Coefficients and offsets for these weights, and the value of the whole objective."""
        nonzero = np.flatnonzero(z > 0.0)
        B, b, value = self.classifiers.solve(self.among(nonzero).kernel().matrix(z[nonzero]), start)
        return B, b, value + self.classifiers.penalty.derivatives(z)[0]

    def slopes(self, z: Array, B: Array, b: Array) -> Array:
        """The derivative of the objective in the squares of all weights, without the penalty."""
        nonzero = np.flatnonzero(z > 0.0)
        part = self.among(nonzero).kernel()
        K, first, _ = self.profile.derivatives(part.distances(z[nonzero]))
        _, G, _ = self.classifiers.losses(K @ B + b)
        return self.kernel().sums(first * ((0.5 * B + G) @ B.T))


def scatter_weights(problem: Problem, values: Array, features: Index) -> Array:
    """Weights of all features, those that are nearly zero being set to zero."""
    z = np.zeros(problem.X.shape[1])
    z[features] = values
    share = z * problem.scales
    seen = float(share @ share) > _CONSTANT
    return np.where(seen & (share > _ZERO * share.max(initial=0.0)), z, 0.0)


def finished(
    problem: Problem,
    z: Array,
    solved: tuple[Array, Array, float],
    history: Sequence[float],
    n_iter: int,
    converged: bool,
    tol: float,
) -> Solution:
    """What was found; weights that gain nothing over none, and are at no saddle point, are set to zero.

    With the squared penalty weights become small and never quite zero, and then the negligible ones seem large.
    """
    B, b, value = solved
    if z.any() and abs(value - problem.classifiers.constant()) <= 1e-2 * tol * abs(value):
        nothing = np.zeros(len(z))
        empty = problem.solve_classifiers(nothing)
        penalty = problem.classifiers.penalty
        too_costly = problem.slopes(nothing, *empty[:2]) >= -penalty.mu
        if penalty.zero_is_bound or np.all(too_costly | (z == 0.0)):
            z, (B, b, value) = nothing, empty
    return Solution(z, B, b, value, (*history, value), n_iter, converged)
