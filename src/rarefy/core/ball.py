r"""The smallest ball around a set of points, from their Gram matrix.

K : (n, n) Gram matrix of the points
u : (n,) weights of the centre, u >= 0 and sum u = 1

The centre is the convex combination sum u_i x_i that maximises the dual value
u^T diag(K) - u^T K u, a lower bound on the squared radius; the largest squared distance to it is
an upper bound. The active-set method below moves to the best centre of the current supporting
points, drops points whose weight would become negative, adds the farthest point, and stops when the
two bounds meet.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.rows import Array, Index, as_rows


@dataclass(frozen=True)
class Ball:
    """Squared radius with the gap between its bounds, and the centre's weights."""

    radius2: float
    gap: float
    weights: Array


def minimum_enclosing_ball(X: object, *, tol: float = 1e-12, max_iter: int = 100_000) -> Ball:
    """Smallest ball around the rows of X (array, sparse matrix or `Rows`).

    Parameters
    ----------
    X : array-like, sparse matrix or Rows of shape (n, d)
        The points.
    tol : float
        Accepted gap between the bounds on the squared radius, relative to the larger one.
    max_iter : int
        Limit on the number of supporting points added; the gap says what was reached.
    """
    K = as_rows(X).T.gram()
    scale = float(K.diagonal().max(initial=0.0))
    if scale == 0.0:
        return Ball(0.0, 0.0, np.full(len(K), 1.0 / len(K)))
    return _active_set(K / scale, scale, tol, max_iter)


def _active_set(K: Array, scale: float, tol: float, max_iter: int) -> Ball:
    q = K.diagonal()
    support: Index = np.array([int(q.argmax())])
    u = np.ones(1)
    lower = upper = 0.0
    for _ in range(max_iter):
        Ku = K[:, support] @ u
        norm2 = float(u @ Ku[support])
        lower = max(0.0, float(u @ q[support]) - norm2)
        distance2 = q - 2.0 * Ku + norm2
        far = int(distance2.argmax())
        upper = max(lower, float(distance2[far]))
        if upper - lower <= tol * max(upper, tol) or far in support:
            break
        support, u = np.append(support, far), np.append(u, 0.0)
        support, u = _best_on(K, q, support, u)
    weights = np.zeros(len(K))
    weights[support] = u
    return Ball(upper * scale, (upper - lower) * scale, weights)


def _best_on(K: Array, q: Array, support: Index, u: Array) -> tuple[Index, Array]:
    """Maximise the dual over convex combinations of the supporting points."""
    while True:
        step, bounded = _newton_step(K[np.ix_(support, support)], q[support], u)
        shrinking = step < 0.0
        limits = np.full(len(u), np.inf)
        limits[shrinking] = -u[shrinking] / step[shrinking]
        blocking = int(limits.argmin())
        length = float(limits[blocking])
        if bounded and length >= 1.0:
            u = np.maximum(u + step, 0.0)
            return support, u / u.sum()
        if not np.isfinite(length):
            return support, u
        u = np.maximum(u + length * step, 0.0)
        support, u = np.delete(support, blocking), np.delete(u, blocking)
        u = u / u.sum()


def _newton_step(K: Array, q: Array, u: Array) -> tuple[Array, bool]:
    """Step to the best affine combination, or a direction of unbounded ascent if there is none."""
    k = len(u)
    gradient = q - 2.0 * K @ u
    gradient = gradient - gradient.mean()
    centred = K - K.mean(axis=0) - K.mean(axis=1)[:, None] + K.mean()
    lam, Q = np.linalg.eigh(centred)
    along = Q.T @ gradient
    flat = lam <= k * np.finfo(np.float64).eps * max(lam[-1], 0.0) * 8
    # Affinely dependent points: the dual is linear along flat directions.
    rise = np.where(flat, along, 0.0)
    if np.abs(rise).max() > 1e-10 * max(1.0, float(np.abs(gradient).max())):
        return Q @ rise, False
    with np.errstate(divide="ignore", invalid="ignore"):
        return Q @ np.where(flat, 0.0, along / (2.0 * lam)), True
