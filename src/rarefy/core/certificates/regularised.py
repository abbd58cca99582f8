r"""What a selection changes for models with a penalty: ridge regression, kernel ridge, SVMs.

K, K~   : (n, n) kernel matrices with all and with the kept columns
A, B    : K + alpha I and K~ + alpha I
M_alpha : A^-1/2 B A^-1/2, with eigenvalues in [lo, hi]: lo A <= B <= hi A

*lo and hi.* At each unit vector the ratio (x^T K~ x + alpha) / (x^T K x + alpha) moves towards 1 as alpha grows, hence
lo(alpha) >= min(1, lo(alpha')) and hi(alpha) <= max(1, hi(alpha')) for every alpha' <= alpha. For alpha > 0 both are
finite and lo > 0, whatever was kept.

*Ridge, fixed design.* The bias of the predictions is alpha A^-1 z, and the worst ratio of squared biases over all
signals z is max |B^-1 z|^2 / |A^-1 z|^2 = ||B^-1 A||^2, exactly. The variance is a trace, and its ratio is
tr (K~ B^-1)^2 / tr (K A^-1)^2, exactly. The risk, their sum, grows at most by the larger of the two.
The bias factor need not fall when alpha grows. What does fall is h(alpha) = ||B^-1 (K - K~)||, because B^-1 at a larger
penalty is B^-1 at a smaller one times a contraction, and ||B^-1 A||^2 <= (1 + h)^2. For the variance take the
eigenvalues of both matrices in decreasing order, in any two groups. In the first, (mu~/(mu~ + alpha))^2 is at most
max(1, mu~/mu)^2 (mu/(mu + alpha))^2; one of the second is at most (mu~ (mu_1 + alpha) / (mu_1 (mu~ + alpha)))^2 times
the whole trace of K, which falls with alpha if mu~ <= mu_1. "From this alpha on" is proved with these two falling
bounds; on a grid it is a statement about the values that were looked at.

*alpha = 0* means the limit, on the range of K: lo and hi of the matrices themselves, ||K~^+ K||^2 and the ratio of
ranks where both have the same range, infinity (and lo = 0 where a direction is lost) where they have not.

*Rounding.* With ||K - U mu U^T|| <= e, ||K~ - U G U^T|| <= e~ and B >= b I (b >= alpha always), the singular value
s = ||B^-1 A|| of the exact matrices is at most s (1 + e~/b) + e/b, because B'^-1 A' = B'^-1 B (B^-1 A) + B'^-1 F. The
eigenvalues in the variance move by at most e and e~ (Weyl). Factors are stated upwards, lo downwards, hi upwards; the
effective dimensions tr K (K + alpha)^-1 are stated as computed.
"""

from collections.abc import Sequence

import numpy as np

from rarefy.core.certificates.kernel_values import AlphaFrom, KernelInterval, Regularised
from rarefy.core.certificates.pencil import Pencil, kernel_interval, kernel_pencil, rounding
from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.threads import threads_for

__all__ = [
    "AlphaFrom",
    "Regularised",
    "alpha_from",
    "curve",
    "extremes",
    "objective_bounds",
    "pencil_curve",
    "regularised",
    "subspace_share",
]

# Beyond this multiple of the matrices' size a penalty is as good as infinite: both are the identity to all digits.
_INFINITE = 2.0**500


def regularised(K: Array, K_kept: Array, alpha: float) -> Regularised:
    """The numbers at one penalty, alpha >= 0."""
    return curve(K, K_kept, [alpha])[0]


def curve(K: Array, K_kept: Array, alphas: Sequence[float]) -> list[Regularised]:
    """The numbers at several penalties: one decomposition of each matrix for all of them."""
    pencil = kernel_pencil(K, K_kept)
    return pencil_curve(pencil, alphas, kernel_interval(K, K_kept) if min(alphas) == 0.0 else None)


def pencil_curve(pencil: Pencil, alphas: Sequence[float], interval: KernelInterval | None = None) -> list[Regularised]:
    """The same from matrices in a common basis (`row_pencil` has them without any n x n matrix).

    `interval` is needed for alpha = 0 where the basis spans more than the range of K.
    """
    kept = _Kept(pencil)
    return [_at(pencil, kept, float(alpha), interval) for alpha in alphas]


def alpha_from(pencil: Pencil, factor: float = 1.1, alphas: Sequence[float] | None = None) -> AlphaFrom:
    """From which penalty on the risk grows by at most `factor` > 1: proved, and as seen on a grid.

    Parameters
    ----------
    pencil : Pencil
        Both matrices in a common basis.
    factor : float
        What is allowed.
    alphas : sequence of float or None
        The grid; None takes 33 penalties from 1e-8 to 1e8 times the largest eigenvalue of K.
    """
    kept = _Kept(pencil)
    top = max(float(pencil.mu.max(initial=0.0)), float(kept.g.max(initial=0.0))) * pencil.scale
    if top == 0.0:
        return AlphaFrom(factor, 0.0, 0.0)
    grid = np.sort(np.asarray(top * np.logspace(-8, 8, 33) if alphas is None else alphas, dtype=np.float64))
    good = [_at(pencil, kept, float(alpha), None).risk_factor <= factor for alpha in grid]
    first = len(good) - int(np.argmin(good[::-1])) if not all(good) else 0
    on_grid = float(grid[first]) if first < len(grid) else np.inf
    return AlphaFrom(factor, _proved_from(pencil, kept, factor, top), on_grid)


def extremes(pencil: Pencil, c: float) -> tuple[float, float]:
    """lo and hi of M_alpha at the penalty c * scale, outward, within what is true of any matrices of this size."""
    if c == 0.0 or pencil.rank == 0:
        return pencil.limits if pencil.rank else (1.0, 1.0)
    mu, e, e_kept = pencil.mu, pencil.error, pencil.error_kept
    root = np.sqrt(mu + c)
    M = pencil.G / root[:, None] / root
    M.flat[:: len(M) + 1] += c / (mu + c)
    with threads_for(len(M)):
        q = np.linalg.eigvalsh(M)
    a = c + max(0.0, float(mu.min()) - e)
    p = rounding(1)
    lo = (q[0] - (e_kept + q[0] * e) / a - rounding(len(M)) * q[-1]) * (1.0 - p)
    hi = (q[-1] * (1.0 + rounding(len(M))) + (e_kept + q[-1] * e) / a) * (1.0 + p)
    if pencil.rank < pencil.n:  # directions outside the basis have ratio 1
        lo, hi = min(lo, 1.0), max(hi, 1.0)
    # Any selection is at least nothing, and a penalty only moves ratios towards 1.
    floor = max(c / (c + float(mu.max()) + e) * (1.0 - p), min(1.0, pencil.limits[0]))
    return float(max(lo, floor)), float(min(hi, max(1.0, pencil.limits[1])))


def objective_bounds(
    found: Regularised,
    *,
    form_kept: float,
    norm2_kept: float,
    form: float,
    norm2: float,
    gap_kept: float = 0.0,
    gap: float = 0.0,
) -> tuple[float, float]:
    r"""Bounds on Z~ - Z for two duals max h(a) - a^T K a / 2 that differ in the kernel matrix only (SVM, any loss).

    Labels are inside a, and h is concave and the same for both. With a~ a point of the kept problem whose value is
    within `gap_kept` of its optimum, Z >= h(a~) - a~^T K a~ / 2, so Z~ - Z <= gap_kept + a~^T (K - K~) a~ / 2, and
    K - K~ = A - B <= (1/lo - 1) B. In the same way Z - Z~ <= gap + a^T (K~ - K) a / 2 with a of the problem with all
    columns, and B - A <= (hi - 1) A. This holds with every alpha, which need not be a penalty of the model: take the
    best of a curve.

    Parameters
    ----------
    found : Regularised
        lo and hi at some alpha.
    form_kept, norm2_kept : float
        a~^T K~ a~ and |a~|^2.
    form, norm2 : float
        a^T K a and |a|^2.
    gap_kept, gap : float
        Duality gaps of the two points; 0 for optima.
    """
    above = np.inf if found.lo == 0.0 else 0.5 * (1.0 / found.lo - 1.0) * (form_kept + found.alpha * norm2_kept)
    below = np.inf if np.isinf(found.hi) else 0.5 * (found.hi - 1.0) * (form + found.alpha * norm2)
    return -(gap + below), gap_kept + above


def subspace_share(
    form: float, linear: float, primal: float, *, curvature: float = 0.0, largest_step: float = np.inf
) -> tuple[float, float]:
    r"""The share D(t a) / P of an objective that a model in a subspace has reached for certain, and the best t.

    a is a dual point of the model in the subspace, P its primal value, and D the dual of the unrestricted kernel:
    D(t a) = t linear - t^2 (form + curvature) / 2 <= Z <= P, because the subspace only restricts. The maximum is at
    t = linear / (form + curvature), or at `largest_step` if that is smaller. Where D <= 0 nothing is certified: 0.

    Parameters
    ----------
    form : float
        (a y)^T K (a y) with the full kernel.
    linear : float
        sum a.
    primal : float
        P > 0.
    curvature : float
        0 for the hinge, sum a^2 / (2 C) for the squared hinge.
    largest_step : float
        C / max a for the hinge, so that t a is feasible; infinity for the squared hinge.
    """
    total = form + curvature
    if not (linear > 0.0 and primal > 0.0 and np.isfinite(primal)):
        return 0.0, 0.0
    t = largest_step if total <= 0.0 or linear >= largest_step * total else linear / total
    if not np.isfinite(t):
        return 0.0, 0.0
    return max(0.0, float((t * linear - 0.5 * t * t * total) / primal)), float(t)


class _Kept:
    """K~ = Q diag(g) Q^T, and K in that basis: what the bias needs at every penalty."""

    def __init__(self, pencil: Pencil) -> None:
        with threads_for(pencil.rank):
            g, Q = np.linalg.eigh(pencil.G) if pencil.rank else (pencil.mu, pencil.G)
            self.C: Array = (Q.T * pencil.mu) @ Q
        self.g: Array = np.maximum(g, 0.0)


def _at(pencil: Pencil, kept: _Kept, alpha: float, interval: KernelInterval | None) -> Regularised:
    if pencil.rank == 0:
        return Regularised(alpha, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 1.0)
    c = min(alpha / pencil.scale, _INFINITE)
    if c == 0.0:
        return _without_penalty(pencil, kept, interval)
    lo, hi = extremes(pencil, c)
    bias, bound = _bias(pencil, kept.C, kept.g, c, c + max(0.0, float(kept.g.min()) - pencil.error_kept))
    return Regularised(
        alpha,
        lo,
        hi,
        bias,
        _variance(pencil, kept, c),
        float(np.sum(pencil.mu / (pencil.mu + c))),
        float(np.sum(kept.g / (kept.g + c))),
        max(bias, bound),
    )


def _bias(pencil: Pencil, C: Array, g: Array, c: float, b: float) -> tuple[float, float]:
    """||B^-1 A||^2 and (1 + ||B^-1 (K - K~)||)^2, upwards; b is a lower bound on the exact B.

    C is K in the basis where K~ = diag(g).
    """
    e, e_kept = 2.0 * pencil.error, 2.0 * pencil.error_kept  # the second change of basis is as exact as the first
    shrink = 1.0 / (g + c)
    difference = shrink[:, None] * C
    difference.flat[:: len(C) + 1] -= g * shrink
    h = _largest_singular_value(difference)
    product = shrink[:, None] * C  # not difference + I, which cancels where K~ is much larger than K
    product.flat[:: len(C) + 1] += c * shrink
    s = _largest_singular_value(product)
    s = max(s, 1.0) if pencil.rank < pencil.n else s
    with np.errstate(divide="ignore", over="ignore"):
        h = h * (1.0 + e_kept / b) + (e + e_kept) / b
        s = s * (1.0 + e_kept / b) + e / b
        h1 = (1.0 + h) * (1.0 + rounding(1))  # adding 1 rounds too, which shows where h is small
        return float(min(s, h1) ** 2), float(h1**2)


def _variance(pencil: Pencil, kept: _Kept, c: float) -> float:
    """The ratio of the traces, upwards; 1 where both vanish."""
    above = kept.g + pencil.error_kept
    below = np.maximum(pencil.mu - pencil.error, 0.0)
    numerator = float(np.sum((above / (above + c)) ** 2))
    denominator = float(np.sum((below / (below + c)) ** 2))
    if denominator == 0.0:
        return np.inf if numerator > 0.0 else 1.0
    return numerator / denominator * (1.0 + rounding(pencil.rank))


def _without_penalty(pencil: Pencil, kept: _Kept, interval: KernelInterval | None) -> Regularised:
    """alpha = 0: on the range of K."""
    if interval is None:
        lo, hi = pencil.limits
        lost, added, rank, rank_kept = int(lo == 0.0), 0, pencil.rank, int(np.sum(kept.g > 2.0 * pencil.error_kept))
    else:
        lo, hi, lost, added, rank = interval.lo, interval.hi, interval.lost, interval.added, interval.rank
        rank_kept = rank - lost + added
    bias = bound = np.inf
    if rank and not (lost or added):
        top = slice(pencil.rank - rank, None) if interval is not None else slice(None)
        with threads_for(rank):
            g, Q = np.linalg.eigh(pencil.G[top, top])
        if g[0] > pencil.error_kept:
            C = (Q.T * pencil.mu[top]) @ Q
            bias, bound = _bias(pencil, C, g, 0.0, float(g[0]) - pencil.error_kept)
    elif not rank and not added:
        bias = bound = 1.0
    variance = rank_kept / rank if rank else (np.inf if added else 1.0)
    return Regularised(0.0, lo, hi, bias, variance, float(rank), float(rank_kept), max(bias, bound))


def _proved_from(pencil: Pencil, kept: _Kept, factor: float, top: float) -> float:
    """Bisection on two bounds that never grow with alpha, the bias's (1 + h)^2 and the variance's."""

    def holds(alpha: float) -> bool:
        found = _at(pencil, kept, alpha, None)
        return found.bias_bound <= factor and _falling_variance(pencil, kept, factor, alpha / pencil.scale) <= factor

    low, high = 1e-12 * top, 1e12 * top
    if not holds(high):
        return np.inf
    if holds(low):
        return low
    while high > 1.01 * low:
        middle = float(np.sqrt(low * high))
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _falling_variance(pencil: Pencil, kept: _Kept, factor: float, c: float) -> float:
    """A bound on the variance factor that falls with the penalty; infinite where there is none."""
    mu = np.sort(np.maximum(pencil.mu - pencil.error, 0.0))[::-1]
    g = np.sort(kept.g + pencil.error_kept)[::-1]
    regular = g * g <= (1.0 + 0.5 * (factor - 1.0)) * mu * mu
    others = g[~regular]
    if np.any(others > mu[0]):
        return np.inf
    cap = float(np.max((g[regular] / np.where(mu[regular] > 0.0, mu[regular], 1.0)) ** 2, initial=1.0))
    return cap + float(np.sum((others * (mu[0] + c) / (mu[0] * (others + c))) ** 2))


def _largest_singular_value(S: Array) -> float:
    """From S S^T, whose largest eigenvalue is accurate to all digits."""
    n = len(S)
    with threads_for(n):
        size = float(np.abs(S).max(initial=0.0))
        if not np.isfinite(size) or size == 0.0:
            return size
        S = S / size
        top = np.linalg.eigvalsh(S @ S.T)[-1]  # eigh of a subset can fail to converge
    return size * float(np.sqrt(top)) * (1.0 + rounding(n))
