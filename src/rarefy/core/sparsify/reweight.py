r"""Optimal weights: how evenly given rows can cover all directions when their weights are free.

V      : (r, l) the chosen rows; v is one of them, u = v / ||v||
t      : (r,) squared weights, t >= 0; inside, of the rows u
M      : sum of t v v^T, which is V^T R R^T V of a certificate
kappa  : lambda_max(M) / lambda_min(M), not changed by a common factor of t
P, Q   : (l, l) positive semidefinite matrices

*Program.* The smallest kappa over t >= 0 is one over the value of a semidefinite program, which `rank_one_sdp` solves.

*Bound.* Let v^T P v <= c v^T Q v for every row. Then for every t >= 0

    lambda_min tr P <= tr P M = sum t v^T P v <= c sum t v^T Q v = c tr Q M <= c lambda_max tr Q,

because M - lambda_min I, lambda_max I - M, P and Q are positive semidefinite. So kappa >= tr P / (c tr Q) for these
rows and any weights, whatever P and Q are and wherever they come from. They are written F F^T, hence semidefinite, and
the rounding of ||F^T u|| is added to P's and taken from Q's, so the bound also holds for V as it is stored.

*Many rows.* Some optimum has at most l (l + 1) / 2 nonzero weights (Caratheodory's theorem for M). Beyond
`_WORKING_SET` rows, or 4 l if that is more, the program is solved for some of them; rows with u^T P u > u^T Q u
replace those whose weight vanished, and the bound is taken over all rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import qr

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.threads import threads_for
from rarefy.core.solvers.rank_one_sdp import DualFactors, maximise_lowest

_EPS = float(np.finfo(np.float64).eps)
_ZERO_NORM = 1e-13
"""Rows this much shorter than the longest one are rounding noise and count as zero, as in `bss`."""
_SCALES = 1e-120, 1e120
_GRAM_RESOLVES = 1e-6
"""Ratios below one over this come from M, whose eigenvalues are good to eps lambda_max; others from a singular value
decomposition, which squares nothing."""
_WORKING_SET = 1500
_ROUNDS = 8
_NEGLIGIBLE = 1e-2
"""Weights up to this share of the largest, for rows of norm 1, may be set to zero."""


@dataclass(frozen=True)
class Weighting:
    """Squared weights of rows, how even they make them, and what no weights can improve on."""

    t: Array
    """Squared weights with lambda_min + lambda_max = 2, where ||I - M|| is least: (ratio - 1) / (ratio + 1)."""
    ratio: float
    """lambda_max / lambda_min; inf if the weighted rows do not span."""
    bound: float
    """No t >= 0 has a smaller ratio for these rows."""


def optimal_weights(V: Array, starts: Sequence[Array] = (), *, tol: float = 1e-2, max_iter: int = 50) -> Weighting:
    """Minimise lambda_max / lambda_min of sum t_i v_i v_i^T over t >= 0.

    The result is never worse than equal weights or any of the starts. It stops when the ratio is proved to be
    within `tol` of the smallest one, or when rounding allows no further step: compare `ratio` with `bound`.

    Of the weights t ||v||^2 up to 1 % of the largest as many are set to 0, the smallest first, as raise the ratio by no
    more than tol / 10 of itself and not above the best start's: features that are not needed. With more than
    max(1500, 4 l) rows many weights are 0. Rows that are zero, or 1e-13 times shorter than the longest, get weight 0;
    the bound is about the others.

    Rows span when the smallest singular value of the others, each divided by its norm, exceeds max(r, l) eps times the
    largest. If they do not, no weights help: ratio and bound are inf, and t is the first start, or equal weights.

    Parameters
    ----------
    V : (r, l) array
        The chosen rows.
    starts : sequence of (r,) arrays
        Squared weights to begin with and to compare with.
    tol : float
        Accepted relative gap between the ratio and its lower bound.
    max_iter : int
        Largest number of interior-point iterations.
    """
    r, ell = V.shape
    candidates = [_checked(t, r) for t in starts] + [np.ones(r)]
    if not ell:
        return Weighting(candidates[0], 1.0, 1.0)
    scale = float(np.abs(V).max(initial=0.0)) or 1.0
    if not _SCALES[0] < scale < _SCALES[1]:
        raise ValueError(
            f"The largest entry of the rows must lie between {_SCALES[0]:g} and {_SCALES[1]:g}, so that "
            f"squared weights neither overflow nor vanish; got {scale:g}."
        )
    W = V / scale
    with threads_for(r):
        norms = np.linalg.norm(W, axis=1)
        rows = np.flatnonzero(norms > _ZERO_NORM * norms.max(initial=0.0))
        U = W[rows] / norms[rows, None]
        if not np.isfinite(_ratio(U, np.ones(len(U)))):
            return _normalised(W, candidates[0], scale, np.inf, np.inf)
        inside = [t[rows] * norms[rows] ** 2 for t in candidates] + [np.ones(len(rows))]
        t_rows, ratio, bound = _minimise(U, inside, tol, max_iter)
        t = np.zeros(r)
        t[rows] = t_rows / norms[rows] ** 2
        return _normalised(W, t, scale, ratio, min(bound, ratio))


def _checked(t: Array, r: int) -> Array:
    t = np.asarray(t, dtype=np.float64)
    if t.shape != (r,) or not np.all(np.isfinite(t)) or np.any(t < 0.0):
        raise ValueError(f"A start needs one finite squared weight >= 0 for each of the {r} rows; got shape {t.shape}.")
    return t


def extremes(V: Array, t: Array) -> tuple[float, float]:
    """Smallest and largest eigenvalue of sum t v v^T."""
    kept = t > 0.0
    W = V[kept] * np.sqrt(t[kept])[:, None]
    if not len(W):
        return 0.0, 0.0
    lam = np.linalg.eigvalsh(W.T @ W)
    if lam[0] > _GRAM_RESOLVES * lam[-1]:
        return float(lam[0]), float(lam[-1])
    sigma = np.linalg.svd(W, compute_uv=False)
    full = len(W) >= W.shape[1] and sigma[-1] > max(W.shape) * _EPS * sigma[0]
    return float(sigma[-1] ** 2) if full else 0.0, float(sigma[0] ** 2)


def _ratio(V: Array, t: Array) -> float:
    low, high = extremes(V, t)
    return high / low if low > 0.0 else np.inf


def _normalised(W: Array, t: Array, scale: float, ratio: float, bound: float) -> Weighting:
    """Scale t to lambda_min + lambda_max = 2 for the rows scale W."""
    low, high = extremes(W, t)
    return Weighting(t * (2.0 / (low + high)) / scale / scale if high > 0.0 else t, ratio, bound)


def _minimise(U: Array, starts: Sequence[Array], tol: float, max_iter: int) -> tuple[Array, float, float]:
    """Weights, ratio and bound for rows of norm 1 that span."""
    ratios = [_ratio(U, t) for t in starts]
    best = int(np.argmin(ratios))
    t, ratio, limit, bound = starts[best], ratios[best], ratios[best], 1.0
    t = t / t.max()
    rows = _working_rows(U, t)
    for _ in range(_ROUNDS):
        if ratio <= (1.0 + tol) * bound:
            break
        # A tenth of the gap is left for weights that are set to zero.
        t_rows, dual = maximise_lowest(U[rows], t[rows], 0.8 * tol, max_iter)
        solved = np.zeros(len(t))
        solved[rows] = t_rows
        value = _ratio(U, solved)
        if value < ratio:
            t, ratio = solved, value
        if dual is not None:
            found, violation = _bound(U, dual)
            bound = max(bound, found)
        if len(rows) == len(t) or dual is None:
            break
        rows = _exchanged(rows, solved, violation)
    return (*_with_zeros(U, t, ratio, min(limit, ratio * (1.0 + 0.1 * tol))), bound)


def _with_zeros(U: Array, t: Array, ratio: float, limit: float) -> tuple[Array, float]:
    """Set as many of the negligible weights to zero as leave the ratio at most `limit`; its new value."""
    order = np.argsort(t, kind="stable")
    # The numbers of zeros known to be allowed, and known or taken to be too many.
    done = int(np.sum(t == 0.0))
    failed = 1 + min(int(np.sum(t <= _NEGLIGIBLE * t.max())), len(t) - U.shape[1])

    def without(count: int) -> tuple[Array, float]:
        s = t.copy()
        s[order[:count]] = 0.0
        return s, _ratio(U, s)

    best, step = (t, ratio), 1
    while done + 1 < failed:  # doubling steps, then halving ones: most often no weight is negligible
        count = done + step if done + step < failed else (done + failed) // 2
        tried = without(count)
        if tried[1] <= limit:
            best, done, step = tried, count, 2 * step
        else:
            failed = count
    return best


def _bound(U: Array, dual: DualFactors) -> tuple[float, Array]:
    """Lower bound on the ratio of any weights, and u^T P u / u^T Q u of each row, rounded upwards."""
    ell = U.shape[1]
    traces = [float(np.vdot(F, F)) for F in dual]
    p, q = (np.linalg.norm(U @ F, axis=1) for F in dual)
    # The rounding of F^T u, of u and of the norm is at most (l + 8) eps ||F||.
    slack = [(ell + 8) * _EPS * np.sqrt(trace) for trace in traces]
    q = q - slack[1]
    quotients = np.where(q > 0.0, (p + slack[0]) / np.where(q > 0.0, q, 1.0), np.inf) ** 2
    rounding = 1.0 - 4.0 * (ell * ell + 8) * _EPS
    return max(1.0, traces[0] / traces[1] / float(quotients.max()) * rounding), quotients


def _working_rows(U: Array, t: Array) -> Index:
    """All rows if they are few, otherwise rows that span and those with the largest weights."""
    size = max(_WORKING_SET, 4 * U.shape[1])
    if len(t) <= size:
        return np.arange(len(t))
    first = qr(U.T, mode="r", pivoting=True, check_finite=False)[1][: U.shape[1]]
    rest = np.setdiff1d(np.arange(len(t)), first)
    rest = rest[np.argsort(-t[rest], kind="stable")]
    return np.sort(np.append(first, rest[: size - len(first)]))


def _exchanged(rows: Index, t: Array, violation: Array) -> Index:
    """Drop rows whose weight vanished; take as many of those that violate the dual constraint most."""
    kept = rows[(t[rows] > 1e-6 * t.max()) | (violation[rows] > 0.9)]
    outside = np.setdiff1d(np.flatnonzero(violation > 1.0), kept)
    free = max(len(rows) - len(kept), len(rows) // 4)
    new = outside[np.argsort(-violation[outside], kind="stable")][:free]
    return np.sort(np.append(kept, new))
