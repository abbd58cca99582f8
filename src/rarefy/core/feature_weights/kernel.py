r"""Kernels with a weight on every feature.

X : (n, d) samples; centres : (s, d), those with nonzero coefficients; z : (d,) weights >= 0; feature k counts z_k^2
K : (n, s) kernel matrix phi(A), A = sum_k z_k^2 a_k, where a_k is the matrix of squared differences, of absolute
    differences (Laplacian) or of products (polynomial) of feature k; phi(A) = exp(-A), or (A + c)^degree
groups : columns that share a weight, see `grouping`; a_k is then the sum over the columns of group k

Only two kinds of sums over the matrices a_k are needed: sum_k w_k a_k, and the sums of the entries of M * a_k for one
M and all k. Each is one product of n x s and s x d matrices: nothing has n s d entries, unless these are so few that
the a_k are kept, which saves much time in small problems. Absolute differences are no products; they are computed one
column after the other, which takes 5 to 20 times longer for 300 to 2000 samples.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.spatial.distance import cdist

from rarefy.core.feature_weights.grouping import spread, totals
from rarefy.core.linalg.rows import Array, Index

Shape = Literal["rbf", "laplacian", "poly"]

_FAR = 600.0
"""Larger distances A are replaced by this one: exp(-600) is negligible, and not yet a slow denormal number."""
_IN_CACHE = 2**14
"""Absolute differences that are computed at a time: twice as fast as all pairs of a thousand samples."""
_FEW = 2**17
"""Entries of all a_k together up to which they are kept."""


@dataclass(frozen=True)
class Profile:
    """The function phi with its two derivatives: exp(-A) of the Gaussian and the Laplacian, or (A + offset)^degree."""

    shape: Shape = "rbf"
    degree: int = 3
    offset: float = 1.0

    @property
    def exponential(self) -> bool:
        """Whether A is a distance and phi(A) = exp(-A)."""
        return self.shape != "poly"

    def derivatives(self, A: Array) -> tuple[Array, Array, Array]:
        """The values of phi, phi' and phi''; A is overwritten."""
        if self.exponential:
            K = self(A)
            return K, -K, K
        p, base = self.degree, A + self.offset
        second = p * (p - 1) * base ** max(p - 2, 0)
        return base**p, p * base ** max(p - 1, 0), second

    def __call__(self, A: Array) -> Array:
        """The values of phi; A is overwritten, because allocating memory takes longer than the arithmetic."""
        if self.exponential:
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
    groups: Index | None = None
    keep: bool = False
    """Whether to keep the matrices a_k if they are small; worth it for a kernel that is used many times."""

    @property
    def n_weights(self) -> int:
        """The number of weights: of groups, or of features."""
        return self.X.shape[1] if self.groups is None else int(self.groups.max(initial=-1)) + 1

    @cached_property
    def samples(self) -> tuple[Array, Array]:
        """Samples and centres, for the Gaussian centred: distances stay the same and lose fewer digits to rounding."""
        if self.profile.shape != "rbf":
            return self.X, self.centres
        middle = self.centres.mean(axis=0) if len(self.centres) else 0.0
        return self.X - middle, self.centres - middle

    @cached_property
    def _squares(self) -> tuple[Array, Array]:
        X, centres = self.samples
        return X**2, centres**2

    @cached_property
    def each(self) -> Array | None:
        """A row with all entries of each a_k, for the Gaussian and the Laplacian; None if they are too many to keep."""
        n, s = len(self.X), len(self.centres)
        if not self.keep or not self.profile.exponential or self.n_weights * n * s > _FEW or not n * s:
            return None
        found = np.zeros((self.n_weights, n, s))
        of_column = np.arange(self.X.shape[1]) if self.groups is None else self.groups
        for k, x, centre in zip(of_column, self.X.T, self.centres.T, strict=True):
            differences = np.subtract.outer(x, centre)
            found[k] += np.abs(differences) if self.profile.shape == "laplacian" else differences**2
        return found.reshape(self.n_weights, n * s)

    @cached_property
    def ends(self) -> list[Any]:
        """Where searches with this kernel ended; kept by them if the a_k are."""
        return []

    @cached_property
    def scratch(self) -> Array:
        """A matrix of the size of K for intermediate results."""
        return np.empty((len(self.X), len(self.centres)))

    def combined(self, w: Array) -> Array:
        """sum_k w_k a_k.

        The squared differences are one matrix product, of rows (-2 x w, |x|_w^2, 1) and (x', 1, |x'|_w^2). With more
        columns than pairs of a sample, copies of the rows would take longer than adding the lengths to the products.
        """
        if self.each is not None:
            return np.asarray(w @ self.each).reshape(len(self.X), len(self.centres))
        X, centres = self.samples
        w = spread(w, self.groups)
        if self.profile.shape == "poly":
            return np.asarray((X * w) @ centres.T)
        if self.profile.shape == "laplacian":
            return _absolute(X, centres, w) - _absolute(X, centres, -w)
        left, right = self._squares
        if X.shape[1] > len(centres):
            A = (X * (-2.0 * w)) @ centres.T
            A += (left @ w)[:, None]
            A += right @ w
            return A
        left_part = np.column_stack([-2.0 * X * w, left @ w, np.ones(len(X))])
        right_part = np.column_stack([centres, np.ones(len(centres)), right @ w])
        return np.asarray(left_part @ right_part.T)

    def sums(self, M: Array) -> Array:
        """The sums of M * a_k over all pairs, for every k."""
        if self.each is not None:
            return np.asarray(self.each @ M.ravel())
        return totals(self._sums_of_columns(M), self.groups)

    def _sums_of_columns(self, M: Array) -> Array:
        X, centres = self.samples
        if self.profile.shape == "laplacian":
            return _absolute_sums(X, centres, M)
        cross = np.einsum("ik,ik->k", X, M @ centres)
        if self.profile.shape == "poly":
            return cross
        left, right = self._squares
        return np.asarray((M @ np.ones(M.shape[1])) @ left + (np.ones(len(M)) @ M) @ right - 2.0 * cross)

    def distances(self, z: Array) -> Array:
        """The matrix A; squared distances that rounding made negative are set to zero."""
        A = self.combined(z**2)
        return np.minimum(np.maximum(A, 0.0, out=A), _FAR, out=A) if self.profile.exponential else A

    def matrix(self, z: Array) -> Array:
        """The kernel matrix of samples and centres."""
        return self.profile(self.distances(z))


def _absolute(X: Array, centres: Array, w: Array) -> Array:
    """sum_k w_k |x_k - x'_k| over the columns with w_k > 0."""
    positive = np.flatnonzero(w > 0.0)
    if not len(positive):
        return np.zeros((len(X), len(centres)))
    w = w[positive]
    return np.asarray(cdist(X[:, positive] * w, centres[:, positive] * w, "cityblock"))


def _absolute_sums(X: Array, centres: Array, M: Array) -> Array:
    """The sums of M_ij |x_ik - x'_jk| over all pairs, for every column k."""
    sums, rows = np.zeros(X.shape[1]), max(1, _IN_CACHE // max(1, M.shape[1]))
    columns, of_centres = np.ascontiguousarray(X.T), np.ascontiguousarray(centres.T)
    scratch = np.empty((min(rows, len(X)), M.shape[1]))
    for start in range(0, len(X), rows):
        part = M[start : start + rows]
        differences = scratch[: len(part)]
        for k, (x, centre) in enumerate(zip(columns, of_centres, strict=True)):
            np.subtract.outer(x[start : start + rows], centre, out=differences)
            np.abs(differences, out=differences)
            sums[k] += np.vdot(part, differences)
    return sums
