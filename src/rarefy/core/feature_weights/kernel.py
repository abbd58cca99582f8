r"""Kernels with a weight on every feature.

X : (n, d) samples; centres : (s, d), those with nonzero coefficients; z : (d,) weights >= 0; feature k counts z_k^2
K : (n, s) kernel matrix phi(A), A = sum_k z_k^2 a_k, where a_k is the matrix of squared differences, or of
    products, of feature k; phi(A) = exp(-A), or (A + c)^degree

Only two kinds of sums over the matrices a_k are needed: sum_k w_k a_k, and the sums of the entries of M * a_k for one
M and all k. Each is one product of n x s and s x d matrices: nothing has n s d entries.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rarefy.core.linalg.rows import Array

Shape = Literal["rbf", "poly"]

_FAR = 600.0
"""Larger squared distances are replaced by this one: exp(-600) is negligible, and not yet a slow denormal number."""


@dataclass(frozen=True)
class Profile:
    """The function phi with its two derivatives: the Gaussian's exp(-A), or (A + offset)^degree."""

    shape: Shape = "rbf"
    degree: int = 3
    offset: float = 1.0

    def derivatives(self, A: Array) -> tuple[Array, Array, Array]:
        """The values of phi, phi' and phi''; A is overwritten."""
        if self.shape == "rbf":
            K = self(A)
            return K, -K, K
        p, base = self.degree, A + self.offset
        second = p * (p - 1) * base ** max(p - 2, 0)
        return base**p, p * base ** max(p - 1, 0), second

    def __call__(self, A: Array) -> Array:
        """The values of phi; A is overwritten, because allocating memory takes longer than the arithmetic."""
        if self.shape == "rbf":
            return np.exp(np.negative(A, out=A), out=A)
        A += self.offset
        return np.power(A, self.degree, out=A)


GAUSSIAN = Profile()


@dataclass(frozen=True)
class FeatureKernel:
    """Samples and centres, feature by feature."""

    X: Array
    centres: Array
    profile: Profile = GAUSSIAN

    @cached_property
    def _samples(self) -> tuple[Array, Array]:
        """Samples and centres, for the Gaussian centred: distances stay the same and lose fewer digits to rounding."""
        if self.profile.shape != "rbf":
            return self.X, self.centres
        middle = self.centres.mean(axis=0) if len(self.centres) else 0.0
        return self.X - middle, self.centres - middle

    @cached_property
    def _squares(self) -> tuple[Array, Array]:
        X, centres = self._samples
        return X**2, centres**2

    @cached_property
    def scratch(self) -> Array:
        """A matrix of the size of K for intermediate results."""
        return np.empty((len(self.X), len(self.centres)))

    def combined(self, w: Array) -> Array:
        """sum_k w_k a_k.

        The squared differences are one matrix product, of rows (-2 x w, |x|_w^2, 1) and (x', 1, |x'|_w^2).
        """
        X, centres = self._samples
        if self.profile.shape != "rbf":
            return np.asarray((X * w) @ centres.T)
        left, right = self._squares
        left_part = np.column_stack([-2.0 * X * w, left @ w, np.ones(len(X))])
        right_part = np.column_stack([centres, np.ones(len(centres)), right @ w])
        return np.asarray(left_part @ right_part.T)

    def sums(self, M: Array) -> Array:
        """The sums of M * a_k over all pairs, for every k."""
        X, centres = self._samples
        cross = np.einsum("ik,ik->k", X, M @ centres)
        if self.profile.shape != "rbf":
            return cross
        left, right = self._squares
        return np.asarray((M @ np.ones(M.shape[1])) @ left + (np.ones(len(M)) @ M) @ right - 2.0 * cross)

    def distances(self, z: Array) -> Array:
        """The matrix A; squared distances that rounding made negative are set to zero."""
        A = self.combined(z**2)
        return np.clip(A, 0.0, _FAR, out=A) if self.profile.shape == "rbf" else A

    def matrix(self, z: Array) -> Array:
        """The kernel matrix of samples and centres."""
        return self.profile(self.distances(z))
