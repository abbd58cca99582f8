"""Measuring what a certificate states once more, by another route than the one it was made by.

Householder QR and a singular value decomposition of the triangle where the first route has Gram matrices, then Lanczos'
method on the operator. Nothing here knows how a selection was made.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse.linalg as spla

from rarefy.core.linalg.rows import Array, Rows
from rarefy.core.linalg.spectrum import EPS, count_unseen, cutoff, spectrum
from rarefy.core.linalg.threads import threads_for

if TYPE_CHECKING:
    from typing import Any as Certificate

_COARSE = 1e-4
"""Rounding beyond this is no excuse: what differs by more was not verified."""


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


def check(X: Rows, claimed: "Certificate", tol: float) -> Verification:
    """Whether these rows give what the certificate states; see `Certificate.verify`."""
    with threads_for(min(X.shape)):
        found = _remeasured(X, claimed)
    # Singular vectors of ill-conditioned data are only known to eps * kappa, in any route, and those on
    # either side of the cut only as well as their singular values differ.
    top, bottom = found.singular_values
    rounding = EPS * top / bottom
    if found.following > 0.0:
        rounding += EPS * top / max(bottom - found.following, 1e-6 * top)
    if found.residual_ratio is not None:
        rounding += EPS * top / found.following
    allowed = tol * max(1.0, found.distortion) + min(100.0 * rounding, _COARSE) * max(1.0, found.eigenvalues[1])
    pairs = [
        *zip(found.eigenvalues, claimed.eigenvalues, strict=True),
        (found.energy_kept, claimed.energy_kept),
        (found.residual_ratio or 0.0, claimed.residual_ratio or 0.0),
        *((a / top, b / top) for a, b in zip(found.singular_values, claimed.singular_values, strict=True)),
        (found.following / top, claimed.following / top),
        (found.resolution / top, claimed.resolution / top),
    ]
    difference = float(np.max([abs(a - b) for a, b in pairs]))  # NaN if any is
    counts = ("rank", "numerical_rank", "unseen")
    same_ranks = all(getattr(found, name) == getattr(claimed, name) for name in counts)
    bound = claimed.distortion_bound if claimed.failure_probability is None else None
    bounded = bound is None or found.distortion <= bound + allowed
    agrees = bool(same_ranks and bounded and difference <= allowed)
    return Verification(
        agrees, found.distortion, found.eigenvalues, found.rank, found.numerical_rank, difference, allowed
    )


def _remeasured(X: Rows, claimed: "Certificate") -> "Certificate":
    """What can be measured, without Gram matrices: tall-skinny QR, SVD of R, Lanczos."""
    n, d = X.shape
    wide = d > n
    A = X.T if wide else X
    triangle = np.zeros((0, A.shape[1]))
    for _, block in A.blocks():
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    _, sigma, Wt = np.linalg.svd(triangle, full_matrices=False)
    floor = cutoff(n, d, sigma[0])
    numerical_rank = int(np.sum(sigma > floor))
    ell = max(1, min(claimed.rank, numerical_rank))
    # Rows of V diag(sigma) for the chosen features: inside the leading dimensions, and outside.
    V_sigma = A.take(claimed.indices, Wt.T) if wide else Wt.T[claimed.indices] * sigma
    V_kept = V_sigma[:, :ell] / sigma[:ell]
    V_outside = V_sigma[:, ell:] / sigma[0]
    following = float(sigma[ell]) if ell < numerical_rank else 0.0
    relative2 = (sigma / sigma[0]) ** 2
    outside2 = float(relative2[ell:].sum())
    if sigma[ell - 1] - following <= 1e-6 * sigma[0]:
        # Equal singular values on both sides of the cut: which dimensions are the leading ones is a matter of
        # choice, and the certificate speaks of the choice that `spectrum` makes.
        chosen = spectrum(X, keep=lambda values: min(ell, len(values)))
        V_kept, (features, T) = chosen.V.take(claimed.indices), chosen.outside
        V_outside = features.take(claimed.indices, T)
        outside2 = sum(float(np.vdot(block, block)) for _, block in features.blocks(T))
    B = V_kept * claimed.weights[:, None]
    residual_ratio = None
    if claimed.residual_ratio is not None:
        residual_ratio = float(np.sum((V_outside * claimed.weights[:, None]) ** 2) / outside2)
    hidden = floor if numerical_rank < min(n, d) else 0.0
    return replace(
        claimed,
        eigenvalues=_lanczos_extremes(B),
        rank=ell,
        numerical_rank=numerical_rank,
        singular_values=(float(sigma[0]), float(sigma[ell - 1])),
        following=following,
        energy_kept=float(relative2[:ell].sum() / relative2.sum()),
        residual_ratio=residual_ratio,
        resolution=hidden,
        unseen=count_unseen(X, hidden) if hidden else 0,
    )


def _lanczos_extremes(B: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of B^T B."""
    ell = B.shape[1]
    if ell >= 8 and B.shape[0] >= ell:
        operator = spla.LinearOperator((ell, ell), matvec=lambda z: B.T @ (B @ z), dtype=np.float64)
        start = np.random.default_rng(0).standard_normal(ell)
        try:
            lam = spla.eigsh(operator, k=2, which="BE", v0=start, ncv=ell, return_eigenvectors=False)
            return extremes(np.sort(lam))
        except spla.ArpackError:
            pass  # the singular values below are another independent route
    sigma2 = np.linalg.svd(B, compute_uv=False) ** 2
    return (float(sigma2[-1]) if B.shape[0] >= ell else 0.0), float(sigma2.max(initial=0.0))


def extremes(eigenvalues: Array) -> tuple[float, float]:
    """Smallest and largest of sorted eigenvalues, the smallest not negative by rounding."""
    return max(0.0, float(eigenvalues[0])), float(eigenvalues[-1])
