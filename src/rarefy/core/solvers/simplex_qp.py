r"""Quadratic programs over products of simplices, by an active-set method.

K : (n, n) positive semidefinite matrix, q : (n,) vector, g : (n,) group of each variable
u : (n,) weights, u >= 0, adding up to 1 in every group

    min over u  f(u) = u^T K u - q^T u

The method moves to the minimum over the variables in use, drops those that would become negative, adds the variable
with the steepest descent, and stops when the Frank-Wolfe gap, which bounds f(u) - min f, is negligible.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.threads import threads_for

TOL = 1e-13
"""Accepted gap, relative to the largest diagonal entry of K."""


@dataclass(frozen=True)
class SimplexMinimum:
    """Weights, their value, and how far that may be from the least one."""

    u: Array
    value: float
    gap: float


def simplex_qp(K: Array, q: Array, groups: Index | None = None, start: Array | None = None) -> SimplexMinimum:
    """Solve the program.

    Parameters
    ----------
    K : (n, n) array
        Quadratic term.
    q : (n,) array
        Linear term.
    groups : (n,) array of int or None
        The group of each variable, counted from 0; None means one group.
    start : (n,) array or None
        Weights to start from, of one group.
    """
    groups = np.zeros(len(q), dtype=np.intp) if groups is None else groups
    if not K.any() and start is not None:
        u = np.where(np.arange(len(q)) == q.argmax(), 1.0, 0.0)
        return SimplexMinimum(u, -float(q.max()), 0.0)
    with threads_for(len(q)):
        return SimplexMinimum(*_minimise(K, q, groups, start))


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
        # Every round lowers f; when rounding stops that, nothing more can be gained.
        if gap <= TOL * scale or f >= before or u[new] > 0.0:
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
    """The same where K is singular on the active variables, so that f is linear along flat directions."""
    project = np.eye(len(K)) - onehot @ (onehot / onehot.sum(axis=0)).T
    lam, Q = np.linalg.eigh(project @ K @ project)
    along = Q.T @ (project @ downhill)
    flat = lam <= 8 * len(K) * np.finfo(np.float64).eps  # of the largest diagonal entry, which is 1
    endless = np.where(flat, along, 0.0)
    if np.abs(endless).max() > 1e-10:
        return Q @ endless, False
    return Q @ (np.where(flat, 0.0, along) / np.where(flat, 1.0, 2.0 * lam)), True
