r"""Measuring what a certificate states once more, by another route than the one it was made by.

A     : X^T for wide data, X for tall data; A = Q T by Householder QR, block by block
T     : triangle, T = P diag(sigma) W^T by singular value decomposition
B     : rows of V that are kept, times their weights; the eigenvalues of B^T B are looked at by Lanczos' method

Nothing here is shared with `measure` but the names of the numbers: no Gram matrix of the data is formed, ranks, lengths
and eigenvalues are computed by code of their own.

*Equal singular values.* Where the cut after the leading dimensions passes through (nearly) equal singular values, which
dimensions are the leading ones is a matter of choice, and the certificate says which were chosen (`choice`). That
choice is checked to be one, orthonormal vectors in the span of the equal ones, and then measured like any other.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg as spla

from rarefy.core.certificates.measurement import Measurement
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.linalg.threads import threads_for

_EPS = float(np.finfo(np.float64).eps)
_COARSE = 1e-4
"""Rounding beyond this is no excuse: what differs by more was not verified."""
_EQUAL = 1e-6
"""Singular values that differ by less than this share of the largest count as equal."""


@dataclass(frozen=True)
class Verification:
    """The outcome of checking a certificate against the data; true when it agrees."""

    agrees: bool
    distortion: float
    eigenvalues: tuple[float, float]
    rank: int
    numerical_rank: int
    difference: float
    tolerance: float
    reason: str = ""
    """Why nothing was measured, if nothing was."""

    @classmethod
    def refused(cls, reason: str) -> "Verification":
        """What does not agree before anything is measured."""
        return cls(False, np.nan, (np.nan, np.nan), 0, 0, np.inf, 0.0, reason)

    def __bool__(self) -> bool:
        return self.agrees


@dataclass(frozen=True)
class _Found:
    """What was measured."""

    eigenvalues: tuple[float, float]
    residual: float
    rank: int
    numerical_rank: int
    sigma: Array
    energy_kept: float
    resolution: float
    unseen: int

    @property
    def distortion(self) -> float:
        return max(1.0 - self.eigenvalues[0], self.eigenvalues[1] - 1.0)

    @property
    def next_singular_value(self) -> float:
        return float(self.sigma[self.rank]) if self.rank < self.numerical_rank else 0.0


def verify(
    X: Rows, indices: Index, weights: Array, claimed: Measurement, *, bound: float | None, tol: float
) -> Verification:
    """Whether these rows give what is claimed of a selection.

    Parameters
    ----------
    X : Rows of shape (n, d)
        The data.
    indices, weights : arrays of shape (k,)
        The selection.
    claimed : Measurement
        What is claimed.
    bound : float or None
        What the distortion is claimed not to exceed, whatever was measured.
    tol : float
        Accepted difference, relative to the larger of 1 and the distortion; rounding is allowed for on top.
    """
    if not any(block.any() for _, block in X.blocks()):
        return Verification.refused("every entry of the data is zero")
    with threads_for(min(X.shape)):
        found = _remeasure(X, indices, weights, claimed)
    allowed = _tolerance(found, claimed.residual_ratio is not None, tol)
    difference = _difference(found, claimed)
    same_counts = (found.rank, found.numerical_rank, found.unseen) == (
        claimed.rank,
        claimed.numerical_rank,
        claimed.unseen,
    )
    bounded = bound is None or found.distortion <= bound + allowed
    agrees = bool(same_counts and bounded and difference <= allowed)
    ranks = found.rank, found.numerical_rank
    return Verification(agrees, found.distortion, found.eigenvalues, *ranks, difference, allowed)


def _tolerance(found: _Found, residual: bool, tol: float) -> float:
    """Singular vectors of ill-conditioned data are only known to eps * kappa, in any route.

    Those on either side of the cut only as well as their singular values differ.
    """
    top, bottom, following = float(found.sigma[0]), float(found.sigma[found.rank - 1]), found.next_singular_value
    rounding = _EPS * top / bottom
    if following > 0.0:
        rounding += _EPS * top / max(bottom - following, _EQUAL * top)
    if residual and following > 0.0:
        rounding += _EPS * top / following
    return tol * max(1.0, found.distortion) + min(100.0 * rounding, _COARSE) * max(1.0, found.eigenvalues[1])


def _difference(found: _Found, claimed: Measurement) -> float:
    """Largest difference between what is found and what is claimed; NaN if any of it is."""
    top, bottom = float(found.sigma[0]), float(found.sigma[found.rank - 1])
    pairs = [
        *zip(found.eigenvalues, claimed.eigenvalues, strict=True),
        (found.energy_kept, claimed.energy_kept),
        (found.residual, claimed.residual_ratio or 0.0),
        (1.0, claimed.singular_values[0] / top),
        (bottom / top, claimed.singular_values[1] / top),
        (found.next_singular_value / top, claimed.next_singular_value / top),
        (_relative(found.resolution, claimed.resolution), 0.0),
    ]
    return float(np.max([abs(a - b) for a, b in pairs]))


def _relative(a: float, b: float) -> float:
    """How far two numbers that may be tiny are apart, beside the larger of them."""
    return 0.0 if a == b else abs(a - b) / max(abs(a), abs(b))


def _remeasure(X: Rows, indices: Index, weights: Array, claimed: Measurement) -> _Found:
    """What can be measured, without Gram matrices: tall-skinny QR, SVD of the triangle, Lanczos."""
    n, d = X.shape
    wide = d > n
    A = X.T if wide else X
    triangle = np.zeros((0, A.shape[1]))
    for _, block in A.blocks():
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    _, sigma, Wt = np.linalg.svd(triangle, full_matrices=False)
    floor = max(n, d) * _EPS * float(sigma[0])  # numpy's rule for the rank of a matrix
    numerical_rank = int(np.sum(sigma > floor))
    ell = max(1, min(claimed.rank, numerical_rank))
    # Rows of V diag(sigma) for the chosen features, times their weights.
    rows = (A.take(indices, Wt.T) if wide else Wt.T[indices] * sigma) * weights[:, None]
    turn = _chosen_first(Wt[:numerical_rank], sigma[:numerical_rank], ell, claimed.choice)
    eigenvalues, outside2 = (np.nan, np.nan), np.nan  # what was chosen is not known, or is no choice
    if turn is not None:
        eigenvalues = _lanczos_extremes((rows[:, :numerical_rank] / sigma[:numerical_rank]) @ turn[:, :ell])
        outside2 = float(np.sum((rows[:, :numerical_rank] / sigma[0] @ turn[:, ell:]) ** 2))
    relative2 = (sigma / sigma[0]) ** 2
    residual = 0.0
    if claimed.residual_ratio is not None and relative2[ell:].any():
        residual = outside2 / float(relative2[ell:].sum())
    hidden = floor if numerical_rank < min(n, d) else 0.0
    return _Found(
        eigenvalues=eigenvalues,
        residual=residual,
        rank=ell,
        numerical_rank=numerical_rank,
        sigma=sigma,
        energy_kept=float(relative2[:ell].sum() / relative2.sum()),
        resolution=hidden,
        unseen=_count_shorter(X, hidden) if hidden else 0,
    )


def _chosen_first(Wt: Array, sigma: Array, ell: int, choice: Array | None) -> Array | None:
    """An orthogonal matrix that turns the singular vectors so that the chosen ones are the first ell.

    Only vectors of equal singular values are turned. None if a choice is needed and not given, or is no choice.
    """
    first, last = _equal_to(sigma, ell)
    turned = np.eye(len(sigma))
    if first == last:
        return turned
    if choice is None or choice.shape != (Wt.shape[1], ell - first):
        return None
    inside = Wt[first:last] @ choice
    if not np.abs(inside.T @ inside - np.eye(ell - first)).max() <= _EQUAL:  # NaN is no choice either
        return None
    whole, _ = np.linalg.qr(np.hstack([inside, np.eye(last - first)]))
    turned[first:last, first:last] = whole
    return turned


def _equal_to(sigma: Array, ell: int) -> tuple[int, int]:
    """First and last (exclusive) of the singular values that equal the one before the cut, if the cut divides them."""
    apart = -np.diff(sigma) > _EQUAL * sigma[0]
    if ell >= len(sigma) or apart[ell - 1]:
        return ell, ell
    above, below = np.flatnonzero(apart[: ell - 1]), np.flatnonzero(apart[ell:])
    return (int(above[-1]) + 1 if len(above) else 0), (ell + int(below[0]) + 1 if len(below) else len(sigma))


def _lanczos_extremes(B: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of B^T B."""
    ell = B.shape[1]
    if ell >= 8 and B.shape[0] >= ell:
        operator = spla.LinearOperator((ell, ell), matvec=lambda z: B.T @ (B @ z), dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(ell)
        try:
            lam = np.sort(spla.eigsh(operator, k=2, which="BE", v0=start, ncv=ell, return_eigenvectors=False))
            return max(0.0, float(lam[0])), float(lam[-1])
        except spla.ArpackError:
            pass  # the singular values below are another independent route
    sigma2 = np.linalg.svd(B, compute_uv=False) ** 2
    return (float(sigma2[-1]) if B.shape[0] >= ell else 0.0), float(sigma2.max(initial=0.0))


def _count_shorter(X: Rows, floor: float) -> int:
    """How many columns are not zero and no longer than `floor`; lengths without squares, which could vanish."""
    count = 0
    for _, block in X.T.blocks():
        lengths = np.hypot.reduce(block, axis=1, initial=0.0)
        count += int(np.sum((lengths > 0.0) & (lengths <= floor)))
    return count
