"""The problem that all searches for feature weights solve, and the solution that they return."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.grouping import columns_of, spread, totals
from rarefy.core.feature_weights.kernel import GAUSSIAN, FeatureKernel, Profile
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.threads import threads_for

Callback = Callable[[int, float, Array], None]

NEGLIGIBLE = 0.01
"""Weights below this share of the largest are negligible, as in [Tayal2014]."""
_ZERO = 1e-6
"""Weights below this share of the largest are set to zero during a search."""
_CONSTANT = 1e-12
"""If squared distances are below this, the kernel matrix is numerically constant, and all weights are set to zero."""
_PARTS, _SMALL = 8, 2**17
"""Parts that are kept of problems with so many entries; of larger ones only the last."""
FIRST_RADIUS = 0.3
"""Radius of the first trust region, relative to the weights: far away the quadratic model is not valid."""


@dataclass(frozen=True)
class Solution:
    """Weights z, coefficients B and offsets b of the classifiers; `history` holds the objective after every round."""

    z: Array
    B: Array
    b: Array
    objective: float
    history: tuple[float, ...]
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Problem:
    """Samples, classifiers, kernel, and which columns share a weight; a feature is all columns of one weight."""

    X: Array
    classifiers: Classifiers
    profile: Profile = GAUSSIAN
    groups: Index | None = None

    @property
    def n_weights(self) -> int:
        """The number of weights."""
        return self.kernel().n_weights

    @cached_property
    def scales(self) -> Array:
        """The standard deviation of each feature; its root for the Laplacian, the root mean square for the polynomial.

        A weight times its scale does not depend on the unit of the feature. The square is the share of the feature in
        a typical distance, so that of a group is the sum over its columns.
        """
        if self.profile.shape == "poly":
            return np.sqrt(totals(np.mean(self.X**2, axis=0), self.groups))
        deviations = self.X.std(axis=0)
        if self.profile.shape == "rbf" and self.groups is None:
            return deviations
        return np.sqrt(totals(deviations**2 if self.profile.shape == "rbf" else deviations, self.groups))

    @cached_property
    def units(self) -> Array:
        """What to divide columns by so that each feature's distances are like those of one standardised column."""
        scales = spread(self.scales, self.groups)
        return scales**2 if self.profile.shape == "laplacian" else scales

    def selected(self, z: Array) -> Index:
        """The features whose weights, times their scales, are not negligible."""
        share = z * self.scales
        return np.flatnonzero(share > NEGLIGIBLE * share.max(initial=0.0))

    def among(self, features: Index) -> "Problem":
        """The problem in some of the features only; the last ones are kept, because searches ask for them again.

        Problems that differ in their classifiers only share them.
        """
        if len(features) == self.n_weights and np.array_equal(features, np.arange(self.n_weights)):
            return self
        kept, key = self._parts, features.tobytes()
        part = kept.pop(key) if key in kept else self.reduced_to(features)
        if part.classifiers is not self.classifiers:
            part = part.with_classifiers(self.classifiers)
        kept[key] = part
        while len(kept) > (_PARTS if self.X.size <= _SMALL else 1):
            del kept[next(iter(kept))]
        return part

    def reduced_to(self, features: Index) -> "Problem":
        """The problem in some of the features only, which is not kept."""
        columns, groups = columns_of(self.groups, features)
        return replace(self, X=np.ascontiguousarray(self.X[:, columns]), groups=groups)

    @cached_property
    def _parts(self) -> dict[bytes, "Problem"]:
        return {}

    def with_mu(self, mu: float) -> "Problem":
        """The problem with another factor on the penalty."""
        return self.with_classifiers(self.classifiers.with_mu(mu))

    def with_cost(self, C: float) -> "Problem":
        """The problem with another factor on the losses, from that with the factor 1."""
        return self.with_classifiers(replace(self.classifiers, costs=C * self.classifiers.costs))

    def with_classifiers(self, classifiers: Classifiers) -> "Problem":
        """The problem with other classifiers of the same samples; what is known about the samples is shared."""
        other = replace(self, classifiers=classifiers)
        other.__dict__.update(scales=self.scales, _parts=self._parts, _whole=self._whole)
        return other

    def threads(self) -> AbstractContextManager[Any]:
        """One BLAS thread unless there are very many samples or features: a search computes many small products.

        With 1400 samples two threads took 1.5 times as long by the clock as one, with 2200 samples 1.1 times.
        """
        return threads_for(max(self.X.shape) // 4)

    def kernel(self, centres: Index | None = None) -> FeatureKernel:
        """The kernel of all samples with some of them; None means with all."""
        return self._whole if centres is None else FeatureKernel(self.X, self.X[centres], self.profile, self.groups)

    @cached_property
    def _whole(self) -> FeatureKernel:
        return FeatureKernel(self.X, self.X, self.profile, self.groups, keep=True)

    def solve_classifiers(self, z: Array, start: tuple[Array, Array] | None = None) -> tuple[Array, Array, float]:
        """The optimal coefficients and offsets for these weights, and the objective."""
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
    """The weights of all features from those of some; values that are nearly zero become zero."""
    z = np.zeros(problem.n_weights)
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
    """The solution; all weights are zero if it is no better than a constant classifier and zero is no saddle point.

    With the squared penalty weights become small and never exactly zero, so that relative to the largest of them all
    would count as selected.
    """
    B, b, value = solved
    if z.any() and abs(value - problem.classifiers.constant) <= 1e-2 * tol * abs(value):
        nothing = np.zeros(len(z))
        empty = problem.solve_classifiers(nothing)
        penalty = problem.classifiers.penalty
        too_costly = problem.slopes(nothing, *empty[:2]) >= -penalty.mu
        if penalty.zero_is_bound or np.all(too_costly | (z == 0.0)):
            z, (B, b, value) = nothing, empty
    return Solution(z, B, b, value, (*history, value), n_iter, converged)
