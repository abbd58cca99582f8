r"""Singular values and right singular vectors of a wide or a tall matrix, through its Gram matrix.

X     : (n, d) data, one sample a row
V     : (d, l) right singular vectors, one row a feature
sigma : (l,) singular values, decreasing
tau_i : squared norm of row i of V, the leverage score of feature i

For d > n the n x n matrix X X^T is decomposed and V = X^T T with the small matrix T = U / sigma:
V itself is d x l, as large as the data would be if it were dense, so it is never stored; its rows
are made where they are needed. For n >= d, V comes directly from the d x d matrix X^T X.

*Rank.* A singular value counts when it exceeds `max(n, d) * eps * sigma_max` (numpy's
`matrix_rank` rule) with the eps of float64, also for float32 data: they are exact numbers too, and a
direction that they have must not vanish from a certificate. The Gram matrix alone resolves only
down to sqrt(eps): directions below that are decomposed once more from X^T U_small, which is
accurate relative to its own size.

*Leading part.* Where only the k largest singular values were looked for (`truncated.decompose_leading`), the rank is
not known: the number of those found is a lower bound of it. What V leaves of a feature x is then a difference,
||x||^2 - ||diag(sigma) v||^2, taken over from the data themselves where it has lost its digits.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral

import numpy as np

from rarefy.core.linalg.rows import Array, DenseRows, Index, Rows, edges, streamed_gram, well_scaled
from rarefy.core.linalg.threads import threads_for

EPS = float(np.finfo(np.float64).eps)

# A Gram matrix of data outside these bounds would overflow or lose its small entries.
_GRAM_TRACE_RANGE = (1e-200, 1e200)

RESOLVED = 1e-9
"""Share of the largest eigenvalue below which an eigenvalue of a Gram matrix has lost too many
digits (half of them are lost there) and is computed again from the data."""

EQUAL = 1e-6
"""Singular values that differ by less than this share of the largest count as equal."""

# Rounding in a difference of squared lengths that is accepted, beside the largest difference.
_DIFFERENCE = 1e-10

# T^T X X^T T may differ from I by this much before V is orthonormalised again.
_ORTHONORMAL = 1e-12


@dataclass(frozen=True)
class RightVectors:
    """V as a product: row i is `features[i] @ T` (`T is None`: `features` holds V itself)."""

    features: Rows
    T: Array | None
    norms2: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(d, l)."""
        return self.features.shape[0], (self.features if self.T is None else self.T).shape[1]

    def take(self, index: Index) -> Array:
        """Rows of V."""
        return self.features.take(index, self.T)

    def rotated(self, Q: Array) -> "RightVectors":
        """V Q for an orthogonal l x l matrix Q."""
        return replace(self, T=Q if self.T is None else self.T @ Q)


@dataclass(frozen=True)
class Spectrum:
    """The leading part of a singular value decomposition, and what it leaves out."""

    V: RightVectors
    sigma: Array
    numerical_rank: int
    """Dimensions of the row space; at least so many if not `complete`."""
    energy: float
    """Share of the squared Frobenius norm that the kept singular values carry."""
    next_singular_value: float
    """The largest singular value left out; 0 if none is."""
    outside: Callable[[], Array]
    """Computes the squared norms of what V leaves of each feature."""
    resolution: float = 0.0
    """Singular values up to this counted as zero; 0 if none could have been missed."""
    unseen: int = 0
    """Features that are not zero and still no longer than that: they are lost beside the others."""
    choice: Array | None = None
    """Where the cut divides equal singular values, the vectors that were chosen among theirs, one a column: of X X^T
    for a wide matrix, of X^T X for a tall one."""
    complete: bool = True
    """Whether all singular values are known; if not, `numerical_rank` counts those that are."""

    @property
    def rank(self) -> int:
        """Number of singular values kept (l)."""
        return len(self.sigma)


@dataclass(frozen=True)
class Decomposition:
    """All numerically non-zero singular values of X or the largest, and what right singular vectors are made from.

    `A` is X^T for a wide matrix and X for a tall one, divided by `scale`; `U` are right singular vectors of A, and
    `sigma` its singular values, those of X divided by `scale`. `trace` is the sum of all their squares.
    """

    A: Rows
    sigma: Array
    U: Array
    wide: bool
    trace: float
    scale: float
    lengths: Array | None = None
    """Lengths of the features, divided by `scale`, where only the largest singular values are known."""

    @property
    def complete(self) -> bool:
        """Whether all singular values are here."""
        return self.lengths is None

    @property
    def rank(self) -> int:
        """The numerical rank of X; if not complete, a number that it is at least."""
        return len(self.sigma)

    def compressed(self, X: Rows) -> Rows:
        """Rows with the same Gram matrix as X, of which this is the decomposition: no more than X has columns."""
        if self.wide or not self.complete:
            return X
        return DenseRows(self.sigma[:, None] * self.scale * self.U.T)

    def leading(self, k: int | None = None) -> Spectrum:
        """The part of the k largest singular values; None means all of them."""
        kept = self.rank if k is None else k
        if not self.complete and kept >= self.rank:
            raise ValueError(f"Of {self.rank} leading singular values the last is only known to follow; got k={k}.")
        A, sigma, U, scale = self.A, self.sigma, self.U, self.scale
        n, d = A.shape[::-1] if self.wide else A.shape
        if not self.rank:
            return _empty(d)
        energy = min(1.0, float(np.sum(sigma[:kept] ** 2) / self.trace))
        V = _wide_vectors(A, sigma[:kept], U[:, :kept]) if self.wide else _tall_vectors(U[:, :kept])
        following = float(sigma[kept]) * scale if kept < self.rank else 0.0
        floor = cutoff(n, d, sigma[0]) if self.rank < min(n, d) else 0.0
        lengths = self.lengths
        if lengths is None and floor:
            lengths = A.row_norms() if self.wide else A.column_norms()
        return Spectrum(
            V,
            sigma[:kept] * scale,
            self.rank,
            energy,
            following,
            outside=self._outside(kept),
            resolution=floor * scale,
            unseen=0 if lengths is None else int(np.sum((lengths > 0.0) & (lengths <= floor))),
            choice=_chosen_among_equal(sigma, U, kept),
            complete=self.complete,
        )

    def _outside(self, kept: int) -> Callable[[], Array]:
        """What computes the squared norms of what V leaves of each feature."""
        A, sigma, U = self.A, self.sigma, self.U
        if self.lengths is not None:
            return partial(_remaining_norms2, A, self.lengths, sigma[:kept], U[:, :kept], self.wide)
        if self.wide:
            return partial(_row_norms2, A, U[:, kept:])
        return partial(_row_norms2, DenseRows(U[:, kept:] * sigma[kept:]), None)


def decompose(X: Rows) -> Decomposition:
    """Find all numerically non-zero singular values of X; which of them to keep is decided afterwards.

    Parameters
    ----------
    X : Rows, of shape (n, d)
        The data, samples in rows.
    """
    n, d = X.shape
    wide = d > n
    A = X.T if wide else X
    G = A.gram()
    scale = 1.0
    if not _GRAM_TRACE_RANGE[0] < np.trace(G) < _GRAM_TRACE_RANGE[1]:
        A, scale = well_scaled(A)
        G = A.gram()
        if np.trace(G) == 0.0:
            return Decomposition(A, np.zeros(0), np.zeros((len(G), 0)), wide, 0.0, scale)
    sigma, U = _singular_pairs(A, G, cutoff(n, d, 1.0))
    return Decomposition(A, sigma, U, wide, float(np.trace(G)), scale)


def _chosen_among_equal(sigma: Array, U: Array, kept: int) -> Array | None:
    """Vectors before the cut whose singular values equal, step by step, the one after it; None if there are none."""
    if not 0 < kept < len(sigma) or sigma[kept - 1] - sigma[kept] > EQUAL * sigma[0]:
        return None
    first = kept - 1
    while first > 0 and sigma[first - 1] - sigma[first] <= EQUAL * sigma[0]:
        first -= 1
    return U[:, first:kept].copy()


def cutoff(n: int, d: int, largest: float) -> float:
    """Singular values up to this count as zero."""
    return max(n, d) * EPS * float(largest)


def resolve_rank(sigma: Array, rank: float | None) -> int:
    """How many of the singular values `rank` means: a number, a share of their squared sum, or all."""
    if rank is None:
        return len(sigma)
    if not isinstance(rank, Integral):
        share = np.cumsum(sigma**2) / np.sum(sigma**2)
        return min(int(np.searchsorted(share, float(rank) - EPS)) + 1, len(sigma))
    return min(int(rank), len(sigma))


def residual_norms2(spec: Spectrum) -> Array:
    """Squared norm of what V leaves unexplained of each feature, relative to the largest of them."""
    residual2 = spec.outside()
    largest = residual2.max(initial=0.0)
    return residual2 / largest if largest > 0.0 else residual2


def _row_norms2(features: Rows, T: Array | None) -> Array:
    """Squared norms of the rows of `features` T."""
    norms2 = np.zeros(features.shape[0])
    for rows, block in features.blocks(T):
        norms2[rows] = np.einsum("ij,ij->i", block, block)
    return norms2


def _remaining_norms2(A: Rows, lengths: Array, sigma: Array, U: Array, wide: bool) -> Array:
    """Squared norms of the features less those of their parts along V, of lengths sigma v."""
    explained2 = _row_norms2(A, U) if wide else _row_norms2(DenseRows(U * sigma), None)
    remaining2 = np.maximum(lengths**2 - explained2, 0.0)
    lost = np.flatnonzero(EPS * lengths**2 > _DIFFERENCE * remaining2.max(initial=0.0))
    for some in edges(len(lost), A.shape[1] if wide else A.shape[0]):
        index = lost[some]
        if wide:
            part = A.take(index)
            rest = part - (part @ U) @ U.T
        else:
            unit = np.zeros((A.shape[1], len(index)))
            unit[index, np.arange(len(index))] = 1.0
            rest = (A @ (unit - U @ U[index].T)).T
        remaining2[index] = np.einsum("ij,ij->i", rest, rest)
    return remaining2


def _singular_pairs(A: Rows, G: Array, tolerance: float) -> tuple[Array, Array]:
    """Non-zero singular values of A with right vectors, from G = A^T A and passes over A.

    Small eigenvalues of G have few digits or none. Their eigenvectors still span nearly the right
    space; once what A maps onto the vectors already found is taken out of them, A restricted to that
    space is decomposed in turn: its entries are small and its own Gram matrix resolves what the
    first one could not.
    """
    k = len(G)
    sigma, U = np.zeros(0), np.zeros((k, 0))
    rest = np.eye(k)
    floor = 0.0
    while rest.shape[1]:
        with threads_for(len(G)):
            lam, Q = np.linalg.eigh(G)
        lam, Q = np.maximum(lam[::-1], 0.0), rest @ Q[:, ::-1]
        floor = floor or tolerance * float(np.sqrt(lam[0]))
        resolved = (lam > RESOLVED * lam[0]) & (np.sqrt(lam) > floor)
        if not resolved.any():
            break
        sigma, U = np.append(sigma, np.sqrt(lam[resolved])), np.hstack([U, Q[:, resolved]])
        rest = _cleaned(A, U, sigma, Q[:, ~resolved])
        G = streamed_gram(A, rest) if rest.shape[1] else G
    # The vectors found later were cleaned of those found earlier; now the earlier ones give way.
    with threads_for(k):
        orthonormal = np.linalg.qr(np.hstack([rest, U[:, ::-1]]))[0]
    return sigma, orthonormal[:, rest.shape[1] :][:, ::-1]


def _cleaned(A: Rows, U: Array, sigma: Array, rest: Array) -> Array:
    """Remove from `rest` what A maps onto the singular vectors A U / sigma."""
    found = U.shape[1]
    if not rest.shape[1]:
        return rest
    overlap = streamed_gram(A, np.hstack([U / sigma, rest]))[:found, found:]
    rest = rest - (U / sigma) @ overlap
    return np.linalg.qr(rest)[0]


def _wide_vectors(A: Rows, sigma: Array, U: Array) -> RightVectors:
    """V = A T with T = U / sigma, made orthonormal where rounding in the Gram matrix shows."""
    T = U / sigma
    norms2 = np.empty(A.shape[0])
    if EPS * (sigma[0] / sigma[-1]) ** 2 > _ORTHONORMAL:
        for _ in range(3):
            C = streamed_gram(A, T)
            error = np.abs(C - np.eye(len(C))).max()
            T = np.linalg.solve(np.linalg.cholesky(C), T.T).T
            if error < 1e-3:  # Cholesky QR squares the error: what is left is rounding
                break
    for rows, P in A.blocks(T):
        norms2[rows] = np.einsum("ij,ij->i", P, P)
    return RightVectors(A, T, norms2)


def _tall_vectors(V: Array) -> RightVectors:
    V = np.ascontiguousarray(V)
    return RightVectors(DenseRows(V), None, np.einsum("ij,ij->i", V, V))


def _empty(d: int) -> Spectrum:
    nothing = DenseRows(np.zeros((d, 0)))
    return Spectrum(RightVectors(nothing, None, np.zeros(d)), np.zeros(0), 0, 1.0, 0.0, partial(np.zeros, d))
