r"""The largest singular values of a matrix and their right vectors, from products with it alone.

A     : X^T for a wide matrix, X for a tall one; N x m with m = min(n, d)
C     : A^T A, m x m, never formed: C W = A^T (A W)
Q     : (m, j) orthonormal basis of a block Krylov space, H = Q^T C Q
theta : eigenvalues of H, decreasing; singular values are their roots
U     : (m, k) eigenvectors of C, the right singular vectors of A

Block Lanczos with full reorthogonalisation: C is applied to the last block of Q, what that has outside of Q becomes
the next block. When the basis is full it is replaced by its best Ritz vectors and goes on from there (thick restart)
[WuSimon2000]. Rank k costs products with some hundred vectors and a basis of a few times k.

*What is checked.* (1) ||C u - theta u|| is computed from the data for every vector and is at most 1e-13 theta_1 (1e-9
theta_1 for the one after the cut, of which only the value is used). So every theta is that close to an eigenvalue of C.
(2) Whether an eigenvalue larger than the last one was missed cannot be read off residuals. A second search from a
random block orthogonal to all that was found has to find none. Were there one, of size theta_k / (1 - e), each of the
w columns of that block would overlook it with a probability of at most 1.648 sqrt(m) exp(-sqrt(e) (2 q - 1)) after q
steps [KuczynskiWozniakowski1992], and all of them with its w-th power: 4e-20 for e = 1/2, 2e-4 for e = 1/10 (w = 4,
q = 12, m = 10^4). This search is also what makes the copies of multiple singular values appear.

*Small singular values.* C resolves them down to 3e-5 of the largest only. If fewer than k are larger, the rest of the
data, A (I - U U^T), is measured: is it rounding, they are all there are; otherwise everything is decomposed.

[WuSimon2000] K. Wu and H. Simon, Thick-restart Lanczos method for large symmetric eigenvalue problems, 2000.
[KuczynskiWozniakowski1992] J. Kuczynski and H. Wozniakowski, Estimating the largest eigenvalue by the power and
Lanczos algorithms with a random start, 1992.
"""

from collections.abc import Callable

import numpy as np

from rarefy.core.linalg.rows import Array, Rows, well_scaled
from rarefy.core.linalg.spectrum import RESOLVED, Decomposition, cutoff, decompose
from rarefy.core.linalg.threads import threads_for, threads_over

Operator = Callable[[Array], Array]

_WIDTH = 4
"""Columns of a block: one product with a sparse matrix costs little more for four vectors than for one."""

_ASKED, _ACCEPTED, _VALUE_ONLY = 5e-15, 1e-13, 1e-10
"""Residuals, as shares of theta_1, at which the search stops and up to which its result is accepted; and the former for
the vector after the cut."""

_MAX_RESTARTS = 100
_BLOCKS_A_CHECK = 6
_PROBE_WIDTH, _PROBE_STEPS = 4, 12
_LENGTH_RANGE = (1e-100, 1e100)


def decompose_leading(X: Rows, k: int) -> Decomposition:
    """Find the k largest singular values of X and the one after them.

    The result is complete, as that of `decompose`, where X has no more than k singular values, is so small that all of
    them cost no more, or prefers one Gram matrix to many products (`prefers_gram`); otherwise `complete` is False and
    it holds k + 1.

    Parameters
    ----------
    X : Rows, of shape (n, d)
        The data, samples in rows.
    k : int
        How many singular values are asked for, at least 1.
    """
    if 2 * _capacity(k + 1) > min(X.shape) or getattr(X, "prefers_gram", False):
        return decompose(X)
    return _truncated(X, k) or decompose(X)


def _truncated(X: Rows, k: int) -> Decomposition | None:
    """The leading singular values, k < min(n, d); None if they could not be found to the accuracy that is asked for."""
    lengths, scale = X.column_norms(), 1.0
    if not _LENGTH_RANGE[0] < lengths.max(initial=0.0) < _LENGTH_RANGE[1]:
        X, scale = well_scaled(X)
        lengths = X.column_norms()
    wide = X.shape[1] > X.shape[0]
    A = X.T if wide else X
    m = A.shape[1]
    if not lengths.any():
        return Decomposition(A, np.zeros(0), np.zeros((m, 0)), wide, 0.0, scale)
    At, trace = A.T, float(np.sum(lengths**2))
    rng = np.random.default_rng(0)
    with threads_over(m * _capacity(k + 1)):
        found = _leading_pairs(lambda W: At @ (A @ W) / trace, m, k + 1, rng)
        if found is None:
            return None
        theta, U = found
        resolved = int(np.sum(theta > RESOLVED * theta[0]))
        sigma = np.sqrt(np.maximum(theta, 0.0) * trace)
        if resolved == k + 1:
            return Decomposition(A, sigma, U, wide, trace, scale, lengths)
        sigma = sigma[:resolved]
        # U spans the row space of A to eps theta_1 / theta; this image of it does to eps sigma_1 / sigma.
        U = np.linalg.qr(At @ (A @ (U[:, :resolved] / sigma)))[0]
        if not _nothing_left(A, U, cutoff(*A.shape, sigma[0]), rng):
            return None
        return Decomposition(A, sigma, U, wide, trace, scale)


def _nothing_left(A: Rows, U: Array, floor: float, rng: np.random.Generator) -> bool:
    """Whether A (I - U U^T) is rounding: the lengths of its products with random vectors estimate its norm."""
    Z = _orthonormal(rng.standard_normal((len(U), 8)), U)
    return bool(np.linalg.norm(A @ Z, axis=0).max() * np.sqrt(len(U)) <= floor)


def _capacity(k: int) -> int:
    """Largest size of the basis."""
    return 3 * k + 32 * _WIDTH


def _leading_pairs(operator: Operator, m: int, k: int, rng: np.random.Generator) -> tuple[Array, Array] | None:
    """The k largest eigenvalues of C with vectors; None if they were not found."""
    capacity = min(_capacity(k), m - 2 * _PROBE_WIDTH)
    basis = _Basis(operator, m, capacity, rng)
    asked = np.append(np.full(k - 1, _ASKED), _VALUE_ONLY)
    for _ in range(_MAX_RESTARTS):
        theta, S, residuals = basis.filled(asked)
        U = basis.combined(S[:, :k])
        if np.all(residuals[:k] <= asked * theta[0]):
            missed = _larger_outside(operator, U, theta[k - 1], theta[0], rng)
            if missed is None:
                return _checked(operator, theta[:k], U)
            if basis.width > capacity // 4:
                return None
            basis.widen(missed)
        basis.restart(theta, S, k + (capacity - k) // 2)
    return None


def _checked(operator: Operator, theta: Array, U: Array) -> tuple[Array, Array] | None:
    """The pairs, if the data themselves say that they are."""
    residuals = np.linalg.norm(operator(U) - U * theta, axis=0)
    accepted = np.append(np.full(len(theta) - 1, _ACCEPTED), 10.0 * _VALUE_ONLY) * theta[0]
    orthonormal = np.abs(U.T @ U - np.eye(len(theta))).max() <= _ACCEPTED
    return (theta, U) if orthonormal and np.all(residuals <= accepted) else None


def _larger_outside(
    operator: Operator, U: Array, least: float, largest: float, rng: np.random.Generator
) -> Array | None:
    """Directions orthogonal to U along which C is larger than `least`; None if a search finds none."""
    Q = _orthonormal(rng.standard_normal((len(U), _PROBE_WIDTH)), U)
    images = np.empty((len(U), 0))
    for _ in range(_PROBE_STEPS):
        if Q.shape[1] + _PROBE_WIDTH + U.shape[1] > len(U):
            break
        W = operator(Q[:, -_PROBE_WIDTH:])
        images = np.hstack([images, W])
        Q = np.hstack([Q, _orthonormal(W, np.hstack([U, Q]))])
    inside = Q[:, : images.shape[1]]
    H = inside.T @ images
    with threads_for(len(H)):
        lam, S = np.linalg.eigh((H + H.T) / 2.0)
    above = lam > least + 1e-9 * largest
    return inside @ S[:, above][:, -_PROBE_WIDTH:] if above.any() else None


def _orthonormal(W: Array, Q: Array) -> Array:
    """Orthonormal columns orthogonal to those of Q, in the span of W and Q as far as that goes."""
    for _ in range(3):  # what the first round leaves of W may be rounding, along Q as well
        W = W - Q @ (Q.T @ W)
        W = np.linalg.qr(W)[0]
    return W


class _Basis:
    """Q with H = Q^T C Q, and the block that Q is going to be continued with."""

    def __init__(self, operator: Operator, m: int, capacity: int, rng: np.random.Generator) -> None:
        self._operator = operator
        self._Q = np.empty((m, capacity), order="F")
        self._H = np.zeros((capacity, capacity))
        self._size = 0
        self._next = np.linalg.qr(rng.standard_normal((m, min(_WIDTH, capacity))))[0]
        self._R = np.zeros((0, 0))

    def filled(self, asked: Array) -> tuple[Array, Array, Array]:
        """Expand until the basis is full or residuals are as asked for; Ritz values, coordinates and residuals."""
        blocks = 0
        while True:
            self._expand()
            blocks += 1
            full = self._size + self.width > self._Q.shape[1]
            if full or (self._size >= len(asked) and blocks % _BLOCKS_A_CHECK == 0):
                theta, S, residuals = self._ritz()
                if full or np.all(residuals[: len(asked)] <= asked * theta[0]):
                    return theta, S, residuals

    def combined(self, S: Array) -> Array:
        """Q S, with orthonormal columns."""
        return np.asarray(np.linalg.qr(self._Q[:, : self._size] @ S)[0])

    def restart(self, theta: Array, S: Array, kept: int) -> None:
        """Keep the first Ritz vectors only."""
        kept = min(kept, self._size, self._Q.shape[1] - self.width)
        self._Q[:, :kept] = self._Q[:, : self._size] @ S[:, :kept]
        self._H[:] = 0.0
        self._H[np.arange(kept), np.arange(kept)] = theta[:kept]
        self._size = kept
        self._next = _orthonormal(self._next, self._Q[:, :kept])

    @property
    def width(self) -> int:
        """Columns of the next block."""
        return self._next.shape[1]

    def widen(self, directions: Array) -> None:
        """Continue with these directions, too."""
        self._next = np.hstack([self._next, directions])

    def _expand(self) -> None:
        start, end = self._size, self._size + self.width
        self._Q[:, start:end] = self._next
        Q, W = self._Q[:, :end], self._operator(self._next)
        h = np.zeros((end, end - start))
        for _ in range(2):
            overlap = Q.T @ W
            W = W - Q @ overlap
            h += overlap
        self._H[:end, start:end] = h
        self._H[start:end, :end] = h.T
        self._size = end
        # Where C maps the block into Q only rounding is left of W. What that makes of the next block is as good as any
        # other direction once it is orthogonal to Q.
        W, self._R = np.linalg.qr(W)
        self._next = _orthonormal(W, Q)

    def _ritz(self) -> tuple[Array, Array, Array]:
        """Ritz values, decreasing, their coordinates in Q, and the norms of their residuals."""
        H = self._H[: self._size, : self._size]
        with threads_for(self._size):
            theta, S = np.linalg.eigh((H + H.T) / 2.0)
        theta, S = theta[::-1], S[:, ::-1]
        return theta, S, np.linalg.norm(self._R @ S[-self._R.shape[1] :], axis=0)
