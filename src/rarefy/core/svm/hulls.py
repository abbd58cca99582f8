r"""Smallest enclosing ball and distance of convex hulls, from Gram matrices.

K : (n, n) positive semidefinite matrix, q : (n,) vector, g : (n,) group of each variable
u : (n,) weights, u >= 0, adding up to 1 in every group

Both problems are: minimise f(u) = u^T K u - q^T u. For the ball, K is the Gram matrix of the points,
q its diagonal and all weights are one group: -f is the squared radius and sum u_i x_i the centre. For
two classes, K is the Gram matrix of y_i x_i, q = 0 and the classes are the groups: f is the squared
distance of the hulls, four times the squared margin of the hard-margin SVM with intercept.

The active-set method moves to the minimum over the variables in use, drops those that would become
negative, adds the variable with the steepest descent, and stops when the Frank-Wolfe gap, which
bounds f(u) - min f, is negligible.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, Index, as_rows, well_scaled
from rarefy.core.linalg.threads import threads_for

_TOL = 1e-13
"""Accepted gap, relative to the largest diagonal entry of K."""


@dataclass(frozen=True)
class Ball:
    """Squared radius, how far it may be from the smallest one, and the centre's weights."""

    radius2: float
    gap: float
    weights: Array


def minimum_enclosing_ball(X: object) -> Ball:
    """Smallest ball around the rows of X.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows of shape (n, d)
        The points.

    Returns
    -------
    ball : Ball
        `radius2` is the largest squared distance from the centre `weights @ X`, which the smallest
        squared radius undercuts by at most `gap`.
    """
    K, unit2 = _centred_gram(X)
    q = K.diagonal().copy()
    with threads_for(len(K)):
        u, f, gap = _minimise(K, q, np.zeros(len(K), dtype=np.intp))
    return Ball(max(0.0, gap - f) * unit2, gap * unit2, u)


def hard_margin2(X: object, y: NDArray[np.generic]) -> float:
    """Squared margin of the hard-margin linear SVM with intercept; 0 when the classes overlap.

    Or when they are closer than about a millionth of the data's extent, which squares do not tell from overlapping.

    Parameters
    ----------
    X : array-like, sparse matrix or Rows of shape (n, d)
        The points.
    y : array of shape (n,)
        Labels with two distinct values.
    """
    classes, groups = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ValueError(f"A margin lies between two classes; y has {len(classes)}.")
    if len(groups) != as_rows(X).shape[0]:
        raise ValueError(f"y must have a label for each of the {as_rows(X).shape[0]} rows of X; got {len(groups)}.")
    sign = np.where(groups == 1, 1.0, -1.0)
    K, unit2 = _centred_gram(X)
    with threads_for(len(K)):
        _, f, gap = _minimise(K * np.outer(sign, sign), np.zeros(len(K)), groups)
    return f / 4.0 * unit2 if f > 10.0 * max(gap, _TOL * float(K.diagonal().max())) else 0.0


def _centred_gram(X: object) -> tuple[Array, float]:
    """Gram matrix of the points with their mean as origin, and the unit it is measured in.

    Balls and margins move along with the points. The mean is taken off before anything is squared: a
    common offset would otherwise cost all digits.
    """
    features, scale = well_scaled(as_rows(X).T)
    n = features.shape[1]
    K = np.zeros((n, n))
    for _, block in features.blocks():
        centred = block - block.mean(axis=1, keepdims=True)
        K += centred.T @ centred
    if not np.isfinite(K).all():
        raise ValueError("X contains NaN or infinity: no ball encloses such points, and no margin separates them.")
    return K, scale * scale


def simplex_minimum(K: Array, q: Array, start: Array) -> tuple[Array, float]:
    """Weights >= 0 that add up to 1 with the least u^T K u - q^T u, from given ones on, and that value."""
    if not K.any():
        u = np.where(np.arange(len(q)) == q.argmax(), 1.0, 0.0)
        return u, -float(q.max())
    with threads_for(len(q)):
        u, f, _ = _minimise(K, q, np.zeros(len(q), dtype=np.intp), start)
    return u, f


def _minimise(K: Array, q: Array, groups: Index, start: Array | None = None) -> tuple[Array, float, float]:
    """Weights, value and gap."""
    scale = float(K.diagonal().max())
    if start is None:  # the longest point of each group is a vertex of the problem
        u = np.zeros(len(q))
        active = np.array([np.flatnonzero(groups == g)[K.diagonal()[groups == g].argmax()] for g in np.unique(groups)])
        u[active] = 1.0
    else:
        active = np.flatnonzero(start > 0.0)
        u = start / start.sum()
    if scale <= 0.0:
        return u, 0.0, 0.0
    f = np.inf
    K_unit, q_unit = K / scale, q / scale
    while True:
        Ku = K[:, active] @ u[active]
        gradient = 2.0 * Ku - q
        before, f = f, float(u[active] @ (Ku[active] - q[active]))
        level = np.bincount(groups, weights=u * gradient)
        descent = level[groups] - gradient
        new = int(descent.argmax())
        gap = float(sum(descent[groups == g].max() for g in range(len(level))))
        # Every round lowers f; when rounding stops that, nothing more is to be had.
        if gap <= _TOL * scale or f >= before or u[new] > 0.0:
            return u, f, max(0.0, gap)
        active = _solve_active(K_unit, q_unit, groups, u, np.append(active, new))


def _solve_active(K: Array, q: Array, groups: Index, u: Array, active: Index) -> Index:
    """Minimise over the active variables, updating u; returns those that stay positive."""
    while True:
        step, bounded = _newton_step(K[np.ix_(active, active)], q[active], groups[active], u[active])
        limits = np.full(len(active), np.inf)
        limits[step < 0.0] = -u[active][step < 0.0] / step[step < 0.0]
        blocking = int(limits.argmin())
        length = min(1.0, float(limits[blocking])) if bounded else float(limits[blocking])
        if not np.isfinite(length):
            return active
        u[active] = np.maximum(u[active] + length * step, 0.0)
        if not (bounded and length == 1.0):
            u[active[blocking]] = 0.0
            active = np.delete(active, blocking)
        u[active] /= np.bincount(groups[active], weights=u[active])[groups[active]]
        if bounded and length == 1.0:
            return active[u[active] > 0.0]


def _newton_step(K: Array, q: Array, groups: Index, u: Array) -> tuple[Array, bool]:
    """Step to the minimum with fixed group sums, or a direction of endless descent if there is none."""
    onehot = (groups[:, None] == np.unique(groups)).astype(np.float64)
    downhill = q - 2.0 * K @ u
    k, m = onehot.shape
    system = np.block([[2.0 * K, onehot], [onehot.T, np.zeros((m, m))]])
    try:
        step = np.linalg.solve(system, np.append(downhill, np.zeros(m)))[:k]
    except np.linalg.LinAlgError:
        return _flat_step(K, onehot, downhill)
    return (step, True) if np.abs(step).max() < 1e6 else _flat_step(K, onehot, downhill)


def _flat_step(K: Array, onehot: Array, downhill: Array) -> tuple[Array, bool]:
    """The same where points are affinely dependent, so that f is linear along flat directions."""
    project = np.eye(len(K)) - onehot @ (onehot / onehot.sum(axis=0)).T
    lam, Q = np.linalg.eigh(project @ K @ project)
    along = Q.T @ (project @ downhill)
    flat = lam <= 8 * len(K) * np.finfo(np.float64).eps  # of the largest diagonal entry, which is 1
    endless = np.where(flat, along, 0.0)
    if np.abs(endless).max() > 1e-10:
        return Q @ endless, False
    return Q @ (np.where(flat, 0.0, along) / np.where(flat, 1.0, 2.0 * lam)), True
