r"""Kernel matrices as they come in, and measuring what a kernel certificate states once more, in plain numpy.

K, K~  : (n, n) kernel matrices with all and with the kept columns
lo, hi : the largest and the smallest number with lo K <= K~ <= hi K

Nothing here is shared with `rarefy.core.certificates.pencil` and `regularised`, where stated numbers come from: K is
decomposed, K~ is factorised as L L^T and compared with K on its range by the singular values of Lambda^-1/2 U^T L,
whose squares are the ratios. Where K~ reaches beyond that range, what L has there is projected out first.

*What is accepted.* Numbers are stated on the safe side by what rounding may do. Accepted is what lies between the
number found here and `RESOLVED` beyond it on the safe side; a number that rounding blurs by more may not be stated.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rarefy._validation import check_array
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.certificates.measurement import EPS, RESOLVED
from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.threads import threads_for
from rarefy.exceptions import ParameterError

_ASYMMETRIC = _INDEFINITE = 1e-6
"""Shares of the largest entry and eigenvalue: rounding to single precision stays below them."""
_TOL = 1e-8


def blur(n: int) -> float:
    """What rounding does to n x n matrices, as a share of their norm."""
    return (4 * n + 8) * EPS


def checked_kernels(K: Any, K_kept: Any, owner: str) -> tuple[Array, Array]:
    """Two kernel matrices of the same samples, symmetric and positive semi-definite up to rounding."""
    A, B = (_checked(M, name, owner) for M, name in ((K, "K"), (K_kept, "K_kept")))
    if A.shape != B.shape:
        raise ParameterError(
            f"{owner} compares two kernel matrices of the same samples; K has shape {A.shape}, K_kept {B.shape}."
        )
    return A, B


def _checked(K: Any, name: str, owner: str) -> Array:
    A = np.asarray(check_array(K, name, dtype=np.float64, input_name=name), dtype=np.float64)
    if A.shape[0] != A.shape[1]:
        raise ParameterError(f"{name} of {owner} must be a square matrix of kernel values; got shape {A.shape}.")
    size = float(np.abs(A).max())
    apart = float(np.abs(A / size - A.T / size).max()) if size else 0.0
    if apart > _ASYMMETRIC:
        raise ParameterError(
            f"{name} of {owner} is not symmetric: entries differ by {apart:.3g} of the largest from those across the "
            "diagonal."
        )
    with threads_for(len(A)):
        return _semidefinite(0.5 * A + 0.5 * A.T, size, name, owner)


def _semidefinite(A: Array, size: float, name: str, owner: str) -> Array:
    """The matrix itself, or without negative eigenvalues that rounding to single precision explains."""
    if not size:
        return A
    d = _balancing(A / size)  # so that short samples count as much as long ones
    balanced = d[:, None] * (A / size) * d
    shifted = balanced.copy()
    shifted.flat[:: len(A) + 1] += blur(len(A)) * max(float(np.trace(balanced)), 0.0)
    try:
        np.linalg.cholesky(shifted)
        return A
    except np.linalg.LinAlgError:
        eigenvalues, U = np.linalg.eigh(balanced)
    if not eigenvalues[0] >= -_INDEFINITE * eigenvalues[-1]:
        raise ParameterError(
            f"{name} of {owner} is no kernel matrix, which is positive semi-definite: with its diagonal brought to 1 "
            f"it has the eigenvalue {eigenvalues[0]:.3g} beside the largest, {eigenvalues[-1]:.3g}."
        )
    positive = (U * np.sqrt(np.maximum(eigenvalues, 0.0))) / d[:, None] * np.sqrt(size)
    return np.asarray(positive @ positive.T)


def _balancing(K: Array) -> Array:
    """Powers of two that bring the diagonal near 1; 1 where it is not positive."""
    diagonal = K.diagonal()
    return np.exp2(-np.round(0.5 * np.log2(np.where(diagonal > 0.0, diagonal, 1.0))))


def is_nested(K: Array, K_kept: Array) -> bool:
    """Whether K~ <= K, up to rounding to single precision."""
    size = float(np.abs(K).sum(axis=1).max())
    if not size:
        return not K_kept.any()
    difference = (K - K_kept) / size
    difference.flat[:: len(K) + 1] += 0.1 * _INDEFINITE
    with threads_for(len(K)):
        try:
            np.linalg.cholesky(difference)
        except np.linalg.LinAlgError:
            return False
    return True


def resolution_of(K: Array, rank: int) -> float:
    """A margin no wider than this is not seen: the root of what K may be on directions that count as zero.

    Balanced K has a norm of at most its trace, and the difference of two points of convex hulls a squared length of at
    most 2.
    """
    n = len(K)
    return 0.0 if rank == n else float(np.sqrt(8.0 * n * blur(n) * float(K.diagonal().max())))


class Found:
    """lo and hi as they are measured here, with what rounding may do to them."""

    def __init__(self, K: Array, K_kept: Array, claimed_rank: int) -> None:
        d, n = _balancing(K), len(K)
        with threads_for(n):
            mu, U = np.linalg.eigh(d[:, None] * K * d)
            L = _root(d[:, None] * K_kept * d)
            size = float(np.linalg.norm(L, 2) ** 2) if L.size else 0.0
            e, e_kept = blur(n) * float(np.abs(mu).max()), blur(n) * size
            at_least, at_most = int(np.sum(mu > 4.0 * e)), int(np.sum(mu > e))
            # Just at the edge routes may differ in what counts; else the claim has to be right.
            near = at_least <= claimed_rank <= at_most and claimed_rank > 0
            self.rank = claimed_rank if near else max(1, int(np.sum(mu > 2.0 * e)))
            inside, outside = U[:, n - self.rank :], U[:, : n - self.rank]
            A, growth, self.added = _beyond(inside.T @ L, outside.T @ L, 2.0 * e_kept)
            s = np.linalg.svd(A / np.sqrt(mu[n - self.rank :])[:, None], compute_uv=False)
        a = max(float(mu[n - self.rank]) - e, EPS * e)
        self.low = float(s[self.rank - 1] ** 2) if len(s) >= self.rank else 0.0
        self.high = np.inf if self.added else float(s[0] ** 2) if len(s) else 0.0
        self.low_blur = (e_kept * growth + self.low * e) / a
        self.high_blur = (e_kept * growth + self.high * e) / a if np.isfinite(self.high) else np.inf

    def faults(self, low: float, high: float, rank: int) -> Iterator[str]:
        """What of a stated interval is not so. Where nothing is claimed, 0 or infinity, something must not be sure."""
        if rank != self.rank:
            yield f"rank is {self.rank}, not {rank}"
        sure = 0.1 * RESOLVED
        if low == 0.0:
            if self.low_blur < sure * self.low:
                yield f"the smallest eigenvalue is {self.low:.6g}, not 0"
        elif self.low_blur > RESOLVED * self.low or not (1.0 - RESOLVED) * self.low <= low <= (1.0 + _TOL) * self.low:
            yield f"the smallest eigenvalue is {self.low:.6g}, not {low:.6g}"
        if np.isinf(high):
            if self.high_blur < sure * self.high < np.inf:
                yield f"the largest eigenvalue is {self.high:.6g}, not {high:.6g}"
        elif not (
            self.high_blur <= RESOLVED * self.high and (1.0 - _TOL) * self.high <= high <= (1.0 + RESOLVED) * self.high
        ):
            yield f"the largest eigenvalue is {self.high:.6g}, not {high:.6g}"


def _root(K: Array) -> Array:
    """L with L L^T = K."""
    eigenvalues, U = np.linalg.eigh(K)
    counts = eigenvalues > 0.0
    return np.asarray(U[:, counts] * np.sqrt(eigenvalues[counts]))


def _beyond(A: Array, B: Array, floor: float) -> tuple[Array, float, int]:
    """A without what B explains of it; how much errors grow; how many directions B has above the floor.

    The form of K~ at x + z, x inside and z outside the range of K, is |A^T x + B^T z|^2; its minimum over z leaves
    A (I - B^+ B), and z = -(A B^+)^T x has at most the square of the norm of A B^+.
    """
    if not B.size:
        return A, 1.0, 0
    _, s, Q = np.linalg.svd(B, full_matrices=False)
    counts = s**2 > floor
    if not counts.any():
        return A, 1.0, 0
    part = A @ Q[counts].T
    growth = 1.0 + float(np.linalg.norm(part / s[counts], 2) ** 2)
    return A - part @ Q[counts], growth, int(counts.sum())


def penalty_faults(K: Array, K_kept: Array, claimed: Regularised) -> Iterator[str]:
    """What of a claim about one ridge penalty does not hold."""
    if not 0.0 < claimed.alpha < np.inf:
        yield "a ridge penalty must be positive"
        return
    noise = len(K) ** 2 * EPS * max(float(np.abs(A).max()) for A in (K, K_kept)) / claimed.alpha
    for name, (value, side) in _penalised(K, K_kept, claimed.alpha).items():
        stated = getattr(claimed, name)
        # Effective dimensions are stated as they were computed, the other numbers on the safe side.
        near = _TOL if side else min(RESOLVED, _TOL + noise / value) if value else 0.0
        below = (1.0 - (RESOLVED if side < 0 else near)) * value
        above = (1.0 + (RESOLVED if side > 0 else near)) * value
        floor = floor_of(K, claimed.alpha) if name == "lo" else np.inf
        if abs(stated - floor) <= 1e-6 * floor < np.inf:
            continue  # true of any two matrices
        if not below <= stated <= above and not (name == "hi" and np.isinf(stated)):
            yield f"{name} of the penalised matrices is {value:.6g}, not {stated:.6g}"


def floor_of(K: Array, alpha: float) -> float:
    """lo of the penalised matrices if nothing were kept, rounded down."""
    with threads_for(len(K)):
        top = float(np.linalg.eigvalsh(K)[-1])
    return alpha / (alpha + top * (1.0 + blur(len(K)))) * (1.0 - 8.0 * EPS)


def _penalised(K: Array, K_kept: Array, alpha: float) -> dict[str, tuple[float, int]]:
    """The numbers, and on which side they may be stated: 1 above, -1 below, 0 neither."""
    size = max(alpha, float(np.abs(K).max()), float(np.abs(K_kept).max()))
    c, eye = alpha / size, np.eye(len(K))
    with threads_for(len(K)):
        A, B = K / size + c * eye, K_kept / size + c * eye
        before, U = np.linalg.eigh(K / size)
        after = np.maximum(np.linalg.eigvalsh(K_kept / size), 0.0)
        before = np.maximum(before, 0.0)
        half = U / np.sqrt(before + c)
        ratios = np.linalg.svd(half.T @ B @ half, compute_uv=False)
        bias = float(np.linalg.norm(np.linalg.solve(B, A), 2)) ** 2
        h = float(np.linalg.norm(np.linalg.solve(B, (K - K_kept) / size), 2))
    spread = float(np.sum((after / (after + c)) ** 2)), float(np.sum((before / (before + c)) ** 2))
    return {
        "lo": (float(ratios[-1]), -1),
        "hi": (float(ratios[0]), 1),
        "bias_factor": (bias, 1),
        "variance_factor": (spread[0] / spread[1] if spread[1] else 1.0 if not spread[0] else np.inf, 1),
        "effective_dimension": (float(np.sum(before / (before + c))), 0),
        "effective_dimension_kept": (float(np.sum(after / (after + c))), 0),
        "bias_bound": (max(bias, (1.0 + h) ** 2), 1),
    }
