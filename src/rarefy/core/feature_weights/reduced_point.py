r"""The minimum of the objective over all classifiers, as a function of the weights, with derivatives.

z : (d,) weights; K : (s, s) kernel matrix of the centres, the samples with nonzero coefficients; A : its distances
B : (s, q) their coefficients in q classifiers

At the optimum of a classifier B = -G, so the derivative in K is -1/2 B B^T and involves centres only. When the weights
change along v, the coefficients of the samples on the curved piece of the loss change by P, the solution of one linear
system with their own kernel matrix. The Hessian is the Schur complement of that of the whole problem, and has as many
negative eigenvalues.

With dA the change of A along v, the change of the slopes sums the entries of (phi'' dA (-1/2 B B^T) - phi' P B^T) a_k
over all pairs. For one classifier and the Gaussian kernel, where phi'' = -phi' = K, no such matrix is formed: with R =
K dA (entry by entry) and V any columns,

    (phi'' dA (-1/2 B B^T) - phi' P B^T) V = -1/2 B (R (B V)) + P (K (B V)),

and K (B V) is known from the gradient. This takes a third to a half of the time. Where the matrices a_k are kept, the
Hessian is formed at once, from centres and other samples alike: the latter have coefficients 0. With U_k = (K a_k) B

    the change of slope k along w_l is  -1/2 sum of the entries of K a_k a_l (B B^T) + U_k^T P_l.
"""

from collections.abc import Callable
from copy import copy
from functools import cached_property
from typing import Protocol

import numpy as np

from rarefy.core.feature_weights.classifiers import Classifiers, System
from rarefy.core.feature_weights.grouping import totals
from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.core.linalg.rows import Array

Answer = Callable[[Array], Array]
"""The change P of the coefficients for a change of the scores."""


class Centres(Protocol):
    """The sums over pairs of centres that derivatives need."""

    @property
    def slopes(self) -> Array:
        """The derivative in the squares of the weights, without the penalty."""

    def change(self, w: Array, answer: Answer) -> Array:
        """The change of the slopes when the squares of the weights change along w."""


class ReducedPoint:
    """The function at one z."""

    def __init__(
        self, kernel: FeatureKernel, classifiers: Classifiers, z: Array, start: tuple[Array, Array] | None
    ) -> None:
        A = kernel.distances(z)
        K = kernel.profile(A if kernel.profile.exponential else A.copy())
        self.classifiers, self.z = classifiers, z
        systems: list[System] = []
        self.B, self.b, self._optimum = classifiers.solve(K, start, systems)
        self._formed = kernel.each is not None and self.B.shape[1] == 1
        self.index = np.arange(len(K)) if self._formed else np.flatnonzero(np.any(self.B != 0.0, axis=1))
        self._kernel, self._whole, self._systems = kernel, (K, A), systems
        self._responses: tuple[Array, Array] | None = None
        self._add_penalty()

    def _add_penalty(self) -> None:
        cost, self._slope_of_penalty, self._bend_of_penalty = self.classifiers.penalty.derivatives(self.z)
        self.value = self._optimum + cost

    def at(self, classifiers: Classifiers, z: Array) -> "ReducedPoint | None":
        """The same point if z is its own and the classifiers differ in the penalty at most."""
        if classifiers.costs is not self.classifiers.costs or not np.array_equal(z, self.z):
            return None
        other = copy(self)
        other.__dict__.pop("gradient", None)
        other.classifiers = classifiers
        other._add_penalty()
        return other

    @cached_property
    def _K(self) -> Array:
        return self._between(self._whole[0])

    @cached_property
    def _centres(self) -> Centres:
        if self._formed:
            assert self._kernel.each is not None
            return FewFeatures(self._kernel.each, self._K, self.B[:, 0])
        samples = self._kernel.X[self.index]
        part = FeatureKernel(samples, samples, self._kernel.profile, self._kernel.groups)
        own = self.B[self.index]
        if part.profile.shape == "rbf" and own.shape[1] == 1:
            return GaussianCentres(part, self._K, own[:, 0])
        return AnyCentres(part, self._K if part.profile.exponential else self._between(self._whole[1]), own)

    def _between(self, matrix: Array) -> Array:
        """The part of a matrix that belongs to the centres."""
        return matrix if len(self.index) == len(matrix) else matrix[np.ix_(self.index, self.index)]

    @cached_property
    def gradient(self) -> Array:
        return 2.0 * self.z * self._centres.slopes + self._slope_of_penalty

    def _answer(self, pushed: Array) -> Array:
        """The change of the coefficients; for one classifier also for several changes of its scores, as columns."""
        P = np.zeros_like(pushed)
        for c, (samples, system) in enumerate(self._systems):
            if system is None:
                continue
            if self._formed:
                P[samples], shifts = system.solve(-pushed[samples])
                self._responses = P, shifts
            else:
                curved = np.searchsorted(self.index, samples)
                P[curved, c : c + 1], _ = system.solve(-pushed[curved, c : c + 1])
        return P

    def ahead(self, z: Array) -> tuple[Array, Array] | None:
        """What the classifiers will be at other weights, to first order; None if that has not been computed."""
        if self._responses is None:
            return None
        w = z**2 - self.z**2
        return self.B + (self._responses[0] @ w)[:, None], self.b + self._responses[1] @ w

    @cached_property
    def _hessian(self) -> Array:
        """The Hessian, but for its diagonal."""
        assert isinstance(self._centres, FewFeatures)
        return 4.0 * np.outer(self.z, self.z) * self._centres.changes(self._answer)

    def hessian_product(self, v: Array) -> Array:
        if self._formed:
            return (2.0 * self._centres.slopes + self._bend_of_penalty) * v + self._hessian @ v
        change = self._centres.change(2.0 * self.z * v, self._answer)
        return (2.0 * self._centres.slopes + self._bend_of_penalty) * v + 2.0 * self.z * change


class AnyCentres:
    """For any kernel and any number of classifiers; `distances` is K itself if phi' and phi'' are known from it."""

    def __init__(self, part: FeatureKernel, distances: Array, own: Array) -> None:
        self._part, self._own = part, own
        if part.profile.exponential:
            self._first, self._second = -distances, distances
        else:
            _, self._first, self._second = part.profile.derivatives(distances.copy())
        self._outer = -0.5 * own @ own.T

    @cached_property
    def slopes(self) -> Array:
        return self._part.sums(self._first * self._outer)

    def change(self, w: Array, answer: Answer) -> Array:
        part, dA = self._part, self._part.combined(w)
        P = answer(np.multiply(self._first, dA, out=part.scratch) @ self._own)
        dA *= self._second
        dA *= self._outer
        half = np.matmul(P, self._own.T, out=part.scratch)
        half *= self._first
        dA -= half  # stands for half of (half + its transpose): the sums below are equal for both
        return part.sums(dA)


class GaussianCentres:
    """For one classifier with the Gaussian kernel; V are the samples and a column of ones."""

    def __init__(self, part: FeatureKernel, K: Array, beta: Array) -> None:
        self._part, self._K, self._beta = part, K, beta
        self._X, _ = part.samples
        self._weighted = np.column_stack([self._X, np.ones(len(beta))]) * beta[:, None]
        self._known = K @ self._weighted

    @cached_property
    def slopes(self) -> Array:
        of_pairs = self._beta[:, None] * self._known
        return self._sums(0.5 * of_pairs, 0.5 * of_pairs[:, -1])

    def change(self, w: Array, answer: Answer) -> Array:
        R = self._part.combined(w)
        R *= self._K
        moved = R @ self._weighted
        P = answer(-moved[:, -1:])
        of_pairs = P * self._known - 0.5 * self._beta[:, None] * moved
        return self._sums(of_pairs, self._beta * (self._K @ P[:, 0] - 0.5 * moved[:, -1]))

    def _sums(self, of_pairs: Array, transposed: Array) -> Array:
        """The sums of M * a_k for every k, from M V and the column sums of M."""
        of_columns = (of_pairs[:, -1] + transposed) @ self._X**2
        return totals(of_columns - 2.0 * np.einsum("ik,ik->k", self._X, of_pairs[:, :-1]), self._part.groups)


class FewFeatures:
    """For one classifier and a Gaussian or Laplacian kernel whose matrices a_k are kept, as rows of `each`."""

    def __init__(self, each: Array, K: Array, beta: Array) -> None:
        self._each, self._K, self._beta = each, K, beta
        self._pairs = (K * np.multiply.outer(beta, beta)).ravel()

    @cached_property
    def slopes(self) -> Array:
        return 0.5 * (self._each @ self._pairs)

    def changes(self, answer: Answer) -> Array:
        """The changes of the slopes when the square of each weight changes, as columns."""
        n = len(self._beta)
        U = ((self._each.reshape(-1, n, n) * self._K) @ self._beta).T
        curved = np.zeros((len(self._each), len(self._each)))
        for k, a in enumerate(self._each):  # one row of K a_k at a time stays in a cache
            curved[k, : k + 1] = curved[: k + 1, k] = self._each[: k + 1] @ (a * self._pairs)
        return U.T @ answer(-U) - 0.5 * curved

    def change(self, w: Array, answer: Answer) -> Array:
        """The change of the slopes when the squares of the weights change along w."""
        return self.changes(answer) @ w
