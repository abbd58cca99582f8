r"""Measuring what a certificate states once more, by another route than the one it was made by.

A     : X^T for wide data, X for tall data; A = Q T by Householder QR, block by block
T     : triangle, T = P diag(sigma) W^T by singular value decomposition
B     : rows of V that are kept, times their weights; the eigenvalues of B^T B are looked at by Lanczos' method

Nothing here is shared with `measure` but the names of the numbers: no Gram matrix of the data is formed, ranks, lengths
and eigenvalues are computed by code of their own.

*Equal singular values.* Where the cut after the leading dimensions passes through (nearly) equal singular values, which
dimensions are the leading ones is a matter of choice, and the certificate speaks of one choice. Every choice contains
the dimensions above the equal ones and is contained in those with all of them, so by Cauchy's interlacing theorem its
eigenvalues lie between bounds that do not depend on the choice: those are what is checked.
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

Range = tuple[float, float]


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

    def __bool__(self) -> bool:
        return self.agrees


@dataclass(frozen=True)
class _Found:
    """What was measured; the choice among equal singular values leaves ranges for some of it."""

    low: Range
    high: Range
    residual: Range
    rank: int
    numerical_rank: int
    sigma: Array
    energy_kept: float
    resolution: float
    unseen: int

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
    with threads_for(min(X.shape)):
        found = _remeasure(X, indices, weights, claimed)
    low, high = (_nearest(a, within) for a, within in zip(claimed.eigenvalues, (found.low, found.high), strict=True))
    distortion = max(1.0 - low, high - 1.0)
    allowed = _tolerance(found, distortion, high, claimed.residual_ratio is not None, tol)
    difference = _difference(found, claimed, low, high)
    same_counts = (found.rank, found.numerical_rank, found.unseen) == (
        claimed.rank,
        claimed.numerical_rank,
        claimed.unseen,
    )
    bounded = bound is None or distortion <= bound + allowed
    agrees = bool(same_counts and bounded and difference <= allowed)
    return Verification(agrees, distortion, (low, high), found.rank, found.numerical_rank, difference, allowed)


def _nearest(value: float, within: Range) -> float:
    """The value itself if it is in the range; a range of one number is that number."""
    return float(np.clip(value, *within)) if np.isfinite(value) else within[0]


def _tolerance(found: _Found, distortion: float, high: float, residual: bool, tol: float) -> float:
    """Singular vectors of ill-conditioned data are only known to eps * kappa, in any route.

    Those on either side of the cut only as well as their singular values differ.
    """
    top, bottom, following = float(found.sigma[0]), float(found.sigma[found.rank - 1]), found.next_singular_value
    rounding = _EPS * top / bottom
    if following > 0.0:
        rounding += _EPS * top / max(bottom - following, _EQUAL * top)
    if residual and following > 0.0:
        rounding += _EPS * top / following
    return tol * max(1.0, distortion) + min(100.0 * rounding, _COARSE) * max(1.0, high)


def _difference(found: _Found, claimed: Measurement, low: float, high: float) -> float:
    """Largest difference between what is found and what is claimed; NaN if any of it is."""
    top = float(found.sigma[0])
    residual = claimed.residual_ratio or 0.0
    bottom = float(found.sigma[found.rank - 1])
    pairs = [
        (low, claimed.eigenvalues[0]),
        (high, claimed.eigenvalues[1]),
        (found.energy_kept, claimed.energy_kept),
        (_nearest(residual, found.residual), residual),
        (1.0, claimed.singular_values[0] / top),
        (bottom / top, claimed.singular_values[1] / top),
        (found.next_singular_value / top, claimed.next_singular_value / top),
        (found.resolution / top, claimed.resolution / top),
    ]
    return float(np.max([abs(a - b) for a, b in pairs]))


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
    first, last = _equal_to(sigma, ell, numerical_rank)
    low, high = _eigenvalue_ranges(rows[:, :numerical_rank] / sigma[:numerical_rank], first, ell, last)
    relative2 = (sigma / sigma[0]) ** 2
    residual = (0.0, 0.0)
    if claimed.residual_ratio is not None and relative2[ell:].any():
        outside2 = np.sum((rows / sigma[0]) ** 2, axis=0)
        inner, outer = (float(outside2[k:].sum() / relative2[ell:].sum()) for k in (last, first))
        residual = inner, outer
    hidden = floor if numerical_rank < min(n, d) else 0.0
    return _Found(
        low=low,
        high=high,
        residual=residual,
        rank=ell,
        numerical_rank=numerical_rank,
        sigma=sigma,
        energy_kept=float(relative2[:ell].sum() / relative2.sum()),
        resolution=hidden,
        unseen=_count_shorter(X, hidden) if hidden else 0,
    )


def _equal_to(sigma: Array, ell: int, rank: int) -> tuple[int, int]:
    """First and last (exclusive) of the singular values that equal the one before the cut, if the cut divides them."""
    gaps = -np.diff(sigma[:rank]) > _EQUAL * sigma[0]
    if ell >= rank or gaps[ell - 1]:
        return ell, ell
    above, below = np.flatnonzero(gaps[: ell - 1]), np.flatnonzero(gaps[ell:])
    return (int(above[-1]) + 1 if len(above) else 0), (ell + int(below[0]) + 1 if len(below) else rank)


def _eigenvalue_ranges(V: Array, first: int, ell: int, last: int) -> tuple[Range, Range]:
    """Where the smallest and the largest eigenvalue lie, of every choice of ell dimensions."""
    if last == ell:
        lowest, highest = _lanczos_extremes(V[:, :ell])
        return (lowest, lowest), (highest, highest)
    outer = np.zeros(last)
    singular = np.linalg.svd(V[:, :last], compute_uv=False)
    outer[: len(singular)] = singular**2  # decreasing; zeros where there are fewer rows than dimensions
    inner_low, inner_high = _lanczos_extremes(V[:, :first]) if first else (np.inf, 0.0)
    low = float(outer[-1]), min(inner_low, float(outer[ell - 1]))
    high = max(inner_high, float(outer[last - ell])), float(outer[0])
    return low, high


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
