r"""Measuring what a certificate states once more, by another route than the one it was made by.

A     : X^T for wide data, X for tall data; A = Q T by Householder QR, block by block
T     : triangle, T = P diag(sigma) W^T by singular value decomposition
B     : rows of V that are kept, times their weights; the eigenvalues of B^T B are looked at by Lanczos' method

Nothing here is shared with `measure` but the names of the numbers and how far rounding may blur them: no Gram matrix of
the data is formed, ranks, lengths and eigenvalues are computed by code of their own. Only a proof that is claimed is
done again (`rarefy.core.certificates.proof`).

*What is accepted.* Every number is compared with itself. The interval of eigenvalues has to contain the one that is
found here with half the blur of rounding, and may not be much wider. Nothing else may differ by more than rounding
explains, and where rounding could explain a difference that matters (a share of `RESOLVED`) nothing may be claimed.

*Equal singular values.* Where the cut after the leading dimensions passes through (nearly) equal singular values, which
dimensions are the leading ones is a matter of choice, and the certificate says which were chosen (`choice`). That
choice is checked to be one, orthonormal vectors in the span of the equal ones, and then measured like any other.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse.linalg as spla

from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.certificates.measurement import EPS, RESOLVED, Interval, Measurement
from rarefy.core.certificates.proof import LARGEST, GramPair
from rarefy.core.linalg.rows import Array, DenseRows, Index, Rows
from rarefy.core.linalg.threads import threads_for

_EQUAL = 1e-6
"""Singular values that differ by less than this share of the largest count as equal."""
_WIDER_BY_PROOF = 1.1e-4
"""What a proof may widen an interval by, as a share; otherwise it is not what was found."""
_EDGE = 0.02
"""At the edge of what can be resolved, one route may see a number where the other does not: so far apart are they."""
_SHARE = 1e-6
"""How far two routes may be apart in what is left outside, beside itself."""
_SIGMA = 2e-7
"""How far two routes may be apart in a singular value, beside itself, on top of rounding beside the largest."""


@dataclass(frozen=True)
class Verification:
    """The outcome of checking a certificate against the data; true when it agrees."""

    agrees: bool
    distortion: float
    eigenvalues: tuple[float, float]
    rank: int
    numerical_rank: int
    difference: float
    """How far the stated interval of eigenvalues falls short of containing the one found."""
    tolerance: float
    """What is accepted of that."""
    reason: str = ""
    """What does not agree, or why nothing was measured."""
    same_data: bool | None = None
    """Whether the data have the fingerprint that the certificate was made with; None if it has none."""

    @classmethod
    def refused(cls, reason: str) -> "Verification":
        """What does not agree before anything is measured."""
        return cls(False, np.nan, (np.nan, np.nan), 0, 0, np.inf, 0.0, reason)

    def __bool__(self) -> bool:
        return self.agrees


@dataclass(frozen=True)
class _Found:
    """What was measured."""

    interval: Interval
    residual: float
    rank: int
    numerical_rank: int
    sigma: Array
    energy_kept: float
    resolution: float
    unseen: int

    @property
    def eigenvalues(self) -> tuple[float, float]:
        return self.interval.low, self.interval.high

    @property
    def distortion(self) -> float:
        return max(1.0 - self.interval.low, self.interval.high - 1.0)

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
        Accepted difference, relative to what is compared; rounding is allowed for on top.
    """
    if not any(block.any() for _, block in X.blocks()):
        return Verification.refused("every entry of the data is zero")
    with threads_for(min(X.shape)):
        wide = X.shape[1] > X.shape[0]
        T = _triangle(X.T if wide else X)
        found = _remeasure(X, T, indices, weights, claimed)
        faults = [*_counts(found, claimed), *_eigenvalues(found.interval, claimed, tol)]
        # The triangle of X = Q T has the same lengths and angles of columns.
        faults += [*_amounts(found, claimed, tol), *_explained(X if wide else DenseRows(T), indices, found, claimed)]
    low, high = found.interval.outward(-1.0, np.inf)
    if bound is not None and not max(1.0 - low, high - 1.0) <= bound + tol:
        faults.append(f"the distortion is {found.distortion:.6g}, above the bound {bound:.6g} of its method")
    if not faults and claimed.proved and not _proved(X, indices, weights, claimed):
        faults.append("the eigenvalues are said to be proved with rounding included, and are not")
    (low, high), (lowest, highest) = claimed.eigenvalues, found.interval.outward(0.0)
    return Verification(
        agrees=not faults,
        distortion=found.distortion,
        eigenvalues=found.eigenvalues,
        rank=found.rank,
        numerical_rank=found.numerical_rank,
        difference=float(np.max([0.0, low - lowest, highest - high])),
        tolerance=tol * max(1.0, found.interval.high),
        reason="; ".join(faults),
    )


def _counts(found: _Found, claimed: Measurement) -> Iterator[str]:
    for name in ("rank", "unseen"):
        ours, theirs = getattr(found, name), getattr(claimed, name)
        if ours != theirs:
            yield f"{name} is {ours}, not {theirs}"
    ours, theirs = found.numerical_rank, claimed.numerical_rank
    if not (ours == theirs if claimed.complete else ours >= theirs == claimed.rank + 1):
        yield f"numerical_rank is {ours}, not {theirs}"


def _eigenvalues(found: Interval, claimed: Measurement, tol: float) -> Iterator[str]:
    """The claimed interval contains the one found with half its blur, and is not wider than with twice of it."""
    low, high = claimed.eigenvalues
    inner, outer = found.outward(0.5, (1.0 + _EDGE) * RESOLVED), found.outward(2.0, (1.0 - _EDGE) * RESOLVED)
    slack, wider = 1.0 + tol, _WIDER_BY_PROOF if claimed.proved else tol
    if not (np.isfinite(found.low) and np.isfinite(found.high)):
        yield "which of equal singular values are meant is not said, or is no choice among them"
        return
    if not low <= inner[0] * slack:
        yield f"the smallest eigenvalue is {found.low:.6g} at most, not {low:.6g}"
    elif not low >= outer[0] * (1.0 - wider):
        yield f"the smallest eigenvalue is {found.low:.6g}, not {low:.6g}"
    if not high * slack >= inner[1]:
        yield f"the largest eigenvalue is {found.high:.6g} at least, not {high:.6g}"
    elif not high <= outer[1] * (1.0 + wider):
        yield f"the largest eigenvalue is {found.high:.6g}, not {high:.6g}"


def _amounts(found: _Found, claimed: Measurement, tol: float) -> Iterator[str]:
    """Singular values and shares, each beside itself."""
    top, bottom = float(found.sigma[0]), float(found.sigma[found.rank - 1])
    names = ("the largest singular value", "the smallest singular value", "the next singular value")
    ours = (top, bottom, found.next_singular_value)
    theirs = (*claimed.singular_values, claimed.next_singular_value)
    for name, a, b in zip(names, ours, theirs, strict=True):
        if not abs(a - b) <= _SIGMA * a + 20.0 * EPS * top:
            yield f"{name} is {a:.6g}, not {b:.6g}"
    if not abs(found.resolution - claimed.resolution) <= 1e-4 * found.resolution:
        yield f"the resolution is {found.resolution:.6g}, not {claimed.resolution:.6g}"
    inside, outside = found.energy_kept, 1.0 - found.energy_kept
    if not abs(inside - claimed.energy_kept) <= 1e-12 + 1e-5 * min(inside, outside):
        yield f"the share inside is {inside:.6g}, not {claimed.energy_kept:.6g}"
    residual = claimed.residual_ratio
    # What is left outside is known as well as the singular vectors on either side of the cut are told apart.
    apart = max(bottom - found.next_singular_value, _EQUAL * top)
    allowed = _SHARE + 100.0 * EPS * top * (1.0 / apart + (1.0 / ours[2] if ours[2] > 0.0 else 0.0))
    if residual is not None and not abs(residual - found.residual) <= min(allowed, RESOLVED) * max(found.residual, EPS):
        yield f"the residual is {found.residual:.6g} of what it was, not {residual:.6g}"


def _explained(X: Rows, indices: Index, found: _Found, claimed: Measurement) -> Iterator[str]:
    """Shares of the squared norm that the kept columns span, and that as many dimensions could."""
    if claimed.explained is not None:
        share = _span_share(X, indices)
        if not abs(share - claimed.explained) <= 1e-12 + 1e-5 * min(share, 1.0 - share):
            yield f"the kept columns explain {share:.6g} of the squared norm, not {claimed.explained:.6g}"
    if claimed.explainable is not None:
        squares = (found.sigma / found.sigma[0]) ** 2
        best = float(squares[: len(indices)].sum() / squares.sum())
        if not abs(best - claimed.explainable) <= 1e-12 + 1e-5 * min(best, 1.0 - best):
            yield f"as many dimensions can explain {best:.6g} of the squared norm, not {claimed.explainable:.6g}"


def _span_share(X: Rows, indices: Index) -> float:
    """Share of the squared norm of X in the span of some columns, through their singular vectors."""
    kept = X.T.take(indices).T
    U, s, _ = np.linalg.svd(kept, full_matrices=False)
    U = U[:, s > max(kept.shape) * EPS * float(s.max(initial=0.0))]
    whole = inside = 0.0
    for _, block in X.T.blocks():
        whole += float(np.sum(block**2))
        inside += float(np.sum((block @ U) ** 2))
    return inside / whole


def _proved(X: Rows, indices: Index, weights: Array, claimed: Measurement) -> bool:
    low, high = claimed.eigenvalues
    whole = claimed.rank == claimed.numerical_rank == X.shape[0]
    return whole and low > 0.0 and X.shape[0] <= LARGEST and GramPair.of(X, indices, weights).proves(low, high)


def verify_regularised(X: Rows, indices: Index, weights: Array, claimed: Regularised, tol: float) -> list[str]:
    """What of a claim about one ridge penalty does not hold, through singular values of the data with the penalty.

    With X = U s W^T and X R = Q t Z^T, (K + alpha)^-1/2 (K~ + alpha) (K + alpha)^-1/2 has the squared singular values
    of (s^2 + alpha)^-1/2 [U^T X R, sqrt(alpha) I], and (K~ + alpha)^-1 (K + alpha) is Q (t^2 + alpha)^-1 Q^T U
    (s^2 + alpha) U^T. Claims on the safe side of what is found are true too.
    """
    alpha = claimed.alpha
    if not 0.0 < alpha < np.inf:
        return ["a ridge penalty must be positive"]
    T, XR = _with_null_row(X, indices, weights)
    U, s, _ = np.linalg.svd(T, full_matrices=T.shape[1] < len(T))
    Q, t, _ = np.linalg.svd(XR, full_matrices=XR.shape[1] < len(XR))
    K, kept = (np.append(v**2, np.zeros(len(T) - len(v))) for v in (s, t))
    root = np.hstack([U.T @ XR, np.sqrt(alpha) * np.eye(len(T))]) / np.sqrt(K + alpha)[:, None]
    ratios, turn = np.linalg.svd(root, compute_uv=False) ** 2, Q.T @ U
    product = turn * (K + alpha) / (kept + alpha)[:, None]
    before, after = K / (K + alpha), kept / (kept + alpha)
    room = max(tol, 1e-6) + 100.0 * EPS * (1.0 + float(max(K[0], kept[0])) / alpha)
    found = {
        "lo": (claimed.lo, float(ratios.min())),
        "hi": (float(ratios.max()), claimed.hi),
        "bias_factor": (float(np.linalg.norm(product, 2)) ** 2, claimed.bias_factor),
        "variance_factor": (float(np.sum(after**2) / np.sum(before**2)), claimed.variance_factor),
        "bias_bound": ((1.0 + float(np.linalg.norm(product - turn, 2))) ** 2, claimed.bias_bound),
    }
    wrong = [name for name, (a, b) in found.items() if not a <= b * (1.0 + min(room, RESOLVED))]
    for name, share in (("effective_dimension", before), ("effective_dimension_kept", after)):
        total = float(share.sum())
        if not abs(total - getattr(claimed, name)) <= RESOLVED * total + room * len(T):
            wrong.append(name)
    return [f"{name} at the penalty {alpha:.6g} does not follow from the data" for name in wrong]


def _with_null_row(X: Rows, indices: Index, weights: Array) -> tuple[Array, Array]:
    """A square matrix with the left singular vectors of X, or of tall data T of X = Q T and a row of zeros; and X R."""
    if X.shape[0] <= X.shape[1]:
        return _triangle(X.T).T, X.T.take(indices).T * weights
    T = np.vstack([_triangle(X), np.zeros((1, X.shape[1]))])
    return T, T[:, indices] * weights


def _triangle(A: Rows) -> Array:
    """T of A = Q T by Householder QR, block by block."""
    triangle = np.zeros((0, A.shape[1]))
    for _, block in A.blocks():
        triangle = np.asarray(np.linalg.qr(np.vstack([triangle, block]), mode="r"))
    return triangle


def _remeasure(X: Rows, T: Array, indices: Index, weights: Array, claimed: Measurement) -> _Found:
    """What can be measured, without Gram matrices: SVD of the triangle, Lanczos."""
    n, d = X.shape
    wide = d > n
    _, sigma, Wt = np.linalg.svd(T, full_matrices=False)
    floor = max(n, d) * EPS * float(sigma[0])  # numpy's rule for the rank of a matrix
    numerical_rank = _rank(sigma, floor, claimed)
    ell = max(1, min(claimed.rank, numerical_rank))
    leading = sigma[:numerical_rank]
    V = _orthonormal_rows(X.T, indices, Wt[:numerical_rank].T / leading) if wide else Wt[:numerical_rank].T[indices]
    kept = V * weights[:, None]
    turn = _chosen_first(Wt[:numerical_rank], sigma[:numerical_rank], ell, claimed.choice)
    eigenvalues, outside2 = (np.nan, np.nan), np.nan  # what was chosen is not known, or is no choice
    if turn is not None:
        eigenvalues = _lanczos_extremes(kept @ turn[:, :ell])
        outside2 = float(np.sum((kept * (leading / sigma[0]) @ turn[:, ell:]) ** 2))
    relative2 = (sigma / sigma[0]) ** 2
    residual = 0.0
    if claimed.residual_ratio is not None and relative2[ell:].any():
        residual = outside2 / float(relative2[ell:].sum())
    hidden = floor if numerical_rank < min(n, d) or not claimed.complete else 0.0
    weights2 = weights**2
    return _Found(
        interval=Interval(
            *eigenvalues,
            condition=float(sigma[0] / sigma[ell - 1]),
            size=ell,
            weights2=(float(weights2.min(initial=np.inf)), float(weights2.max(initial=0.0))),
            complete=_complete(X, indices),
        ),
        residual=residual,
        rank=ell,
        numerical_rank=numerical_rank,
        sigma=sigma,
        energy_kept=float(relative2[:ell].sum() / relative2.sum()),
        resolution=hidden,
        unseen=_count_shorter(X, hidden) if hidden else 0,
    )


def _orthonormal_rows(A: Rows, indices: Index, T: Array) -> Array:
    """Some rows of V = A T, made orthonormal: short singular vectors are off by rounding beside the longest.

    One Gram-Schmidt step, as a Cholesky factorisation of V^T V, corrects each of them by those before it.
    """
    products = np.zeros((T.shape[1], T.shape[1]))
    for _, block in A.blocks(T):
        products += block.T @ block
    rows = A.take(indices, T)
    try:
        return np.asarray(np.linalg.solve(np.linalg.cholesky(products), rows.T).T)
    except np.linalg.LinAlgError:  # next to the resolution some are all rounding, and nothing is claimed
        return rows


def _rank(sigma: Array, floor: float, claimed: Measurement) -> int:
    """How many singular values are above the floor; next to it, where routes differ, as many as are claimed."""
    at_least, at_most = int(np.sum(sigma > 2.0 * floor)), int(np.sum(sigma > 0.5 * floor))
    if at_least <= claimed.numerical_rank <= at_most:
        return claimed.numerical_rank
    return int(np.sum(sigma > floor))


def _complete(X: Rows, indices: Index) -> bool:
    """Whether all columns that are left out are zero."""
    left_out = np.ones(X.shape[1], dtype=bool)
    left_out[indices] = False
    if X.shape[0] > X.shape[1]:
        return not any(block[:, left_out].any() for _, block in X.blocks())
    return not any(block[left_out[rows]].any() for rows, block in X.T.blocks())


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
    if X.shape[0] > X.shape[1]:
        lengths = np.zeros(X.shape[1])
        for _, block in X.blocks():
            lengths = np.hypot(lengths, np.hypot.reduce(block, axis=0, initial=0.0))
        return int(np.sum((lengths > 0.0) & (lengths <= floor)))
    for _, block in X.T.blocks():
        lengths = np.hypot.reduce(block, axis=1, initial=0.0)
        count += int(np.sum((lengths > 0.0) & (lengths <= floor)))
    return count
