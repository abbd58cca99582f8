r"""The 1-norm linear SVM: with more samples than features by `norm_svm`, else by Newton's method on its dual.

B : (m, d) rows y_i x_i, e a vector of ones
w, b, xi : primal variables; u : (m,) dual variables; C multiplies the loss

    primal   min ||w||_1 + C e^T xi      B w - y b + xi >= e,  xi >= 0
    dual     max e^T u                   ||B^T u||_inf <= 1,  y^T u = 0,  0 <= u <= C

[FungMangasarian2004]. All dual constraints become squared penalties,

    f(u) = -eps e^T u + 1/2 ||(B^T u - 1)_+||^2 + 1/2 ||(-B^T u - 1)_+||^2
                      + 1/2 (y^T u)^2 + 1/2 ||(u - C)_+||^2 + 1/2 ||(-u)_+||^2,

a convex, piecewise quadratic function of m variables. For every small enough eps its minimiser gives
an *exact* solution of the primal program: w = ((B^T u - 1)_+ - (-B^T u - 1)_+) / eps and so on. A Newton
step needs only the columns of B with |B^T u| > 1, which are few: they are the features with a
non-zero weight. eps is lowered until primal and dual value agree. A step solves m equations, so this is for few
samples; for few features the same program has d + 1 equations and a boxed variable for each sample.
"""

from dataclasses import dataclass, replace

import numpy as np

from rarefy.core.linalg.rows import Array, Rows, largest_entry
from rarefy.core.linalg.threads import threads_for
from rarefy.core.linalg.with_ones import WithOnes
from rarefy.core.svm.norm_svm import norm_svm

_MAX_NEWTON = 500
_SIZES = (1e-2, 1e2)
"""Largest entries between these are left as they are, which saves a copy."""
_FEW = 300
"""Samples for which Newton's method is tried as well, where columns that nearly depend on each other keep the other
method from the last digits."""
_TINY = 1e-300
"""Data without larger entries are as good as zero: the inverse of their size is no number."""


@dataclass(frozen=True)
class L1SVM:
    """Weights, intercept (decision x w - b), objective, duality gap and whether it was closed."""

    w: Array
    b: float
    objective: float
    gap: float
    n_iter: int
    converged: bool


def l1_svm(X: Rows, y: Array, C: float, *, tol: float = 1e-8) -> L1SVM:
    """Solve the 1-norm SVM; y holds -1 and 1.

    A common factor on all features is one on C, so that data far from the size of 1, at which the steps below would be
    lost, are brought there first.

    Parameters
    ----------
    X : Rows of shape (m, d)
        The samples.
    y : (m,) array of -1 and 1
        The classes.
    C : float, > 0
        Weight of the loss.
    tol : float
        Accepted duality gap, relative to the objective.
    """
    size = max(largest_entry(X), _TINY)
    if X.shape[0] <= X.shape[1]:
        return _wide(X, y, C, tol, size)
    found = _tall(X, y, C, tol, size)
    if found.converged or X.shape[0] > _FEW:
        return found
    return min(found, _wide(X, y, C, tol, size), key=lambda one: one.gap)


def _wide(X: Rows, y: Array, C: float, tol: float, size: float) -> L1SVM:
    if not _SIZES[0] < size < _SIZES[1]:
        found = _solved(X.scaled(1.0 / size), y, C * size, tol)
        return replace(found, w=found.w / size, objective=found.objective / size, gap=found.gap / size)
    return _solved(X, y, C, tol)


def _tall(X: Rows, y: Array, C: float, tol: float, size: float) -> L1SVM:
    found = norm_svm(WithOnes(X, 1.0 / size), y, 1.0, np.full(len(y), C * size), tol=tol)
    w, objective, gap = found.w[0] / size, found.objective / size, found.gap / size
    return L1SVM(w, -float(found.b[0]), objective, gap, found.n_iter, gap <= tol * max(1.0, abs(objective)))


def _solved(X: Rows, y: Array, C: float, tol: float) -> L1SVM:
    features = X.T
    u = np.zeros(X.shape[0])
    iterations = 0
    best = _primal(X, features, y, C, 1.0, u, iterations, tol)
    with threads_for(len(u)):
        for eps in 10.0 ** -np.arange(12.0):
            if best.converged:
                break
            u, steps = _newton(features, y, C, eps, u)
            iterations += steps
            best = min(best, _primal(X, features, y, C, eps, u, iterations, tol), key=lambda found: found.gap)
    return best


def _projection(features: Rows, y: Array, u: Array) -> Array:
    """B^T u."""
    return features @ (y * u)


def _plus(v: Array) -> Array:
    return np.maximum(v, 0.0)


def _value(z: Array, y: Array, C: float, eps: float, u: Array) -> float:
    outside = np.sum(_plus(np.abs(z) - 1.0) ** 2) + float(y @ u) ** 2
    return float(-eps * u.sum() + 0.5 * (outside + np.sum(_plus(u - C) ** 2) + np.sum(_plus(-u) ** 2)))


def _newton(features: Rows, y: Array, C: float, eps: float, u: Array) -> tuple[Array, int]:
    """Minimise f by generalised Newton steps with a backtracking line search."""
    z = _projection(features, y, u)
    value = _value(z, y, C, eps, u)
    for step in range(_MAX_NEWTON):
        active = np.flatnonzero(np.abs(z) > 1.0)
        columns = features.subset(active)
        excess = z[active] - np.sign(z[active])
        gradient = -eps + y * (columns.T @ excess) + y * float(y @ u) + _plus(u - C) - _plus(-u)
        if np.abs(gradient).max() <= 1e-12 * max(1.0, eps):
            return u, step
        direction = -_solve(columns, y, np.where((u > C) | (u < 0.0), 1.0, 0.0), gradient)
        u, z, value, moved = _line_search(features, y, C, eps, u, z, value, gradient, direction)
        if not moved:
            return u, step
    return u, _MAX_NEWTON


def _solve(columns: Rows, y: Array, at_bound: Array, gradient: Array) -> Array:
    """(H + delta I)^-1 gradient with the generalised Hessian H."""
    H = np.outer(y, y) * (columns.gram() + 1.0)
    delta = 1e-10 * max(1.0, float(H.diagonal().max()))
    H.flat[:: len(H) + 1] += at_bound + delta
    return np.asarray(np.linalg.solve(H, gradient), dtype=np.float64)


def _line_search(
    features: Rows, y: Array, C: float, eps: float, u: Array, z: Array, value: float, gradient: Array, direction: Array
) -> tuple[Array, Array, float, bool]:
    slope = float(gradient @ direction)
    dz = _projection(features, y, direction)
    length = 1.0
    while length > 1e-24:  # far from the optimum the Hessian is nearly singular and steps are far too long
        candidate, z_new = u + length * direction, z + length * dz
        value_new = _value(z_new, y, C, eps, candidate)
        if value_new <= value + 1e-4 * length * slope:
            return candidate, z_new, value_new, value_new < value
        length /= 2.0
    return u, z, value, False


def _primal(X: Rows, features: Rows, y: Array, C: float, eps: float, u: Array, iterations: int, tol: float) -> L1SVM:
    """The primal point that u stands for, and its gap to a feasible dual point."""
    z = _projection(features, y, u)
    w = np.sign(z) * _plus(np.abs(z) - 1.0) / eps
    b = _best_intercept(X @ w, y)
    candidates = [(w, b), _polished(X, features, y, C, u, w, b)]
    objective, w, b = min(((_objective(X, y, C, *point), *point) for point in candidates), key=lambda found: found[0])
    gap = max(0.0, objective - _dual_bound(features, y, C, u, z))
    return L1SVM(w, b, objective, gap, iterations, gap <= tol * max(1.0, abs(objective)))


def _objective(X: Rows, y: Array, C: float, w: Array, b: float) -> float:
    return float(np.abs(w).sum() + C * _plus(1.0 - y * (X @ w - b)).sum())


def _polished(X: Rows, features: Rows, y: Array, C: float, u: Array, w: Array, b: float) -> tuple[Array, float]:
    """Move (w, b) by the smallest step that puts the rows with 0 < u < C exactly on the margin."""
    free, active = np.flatnonzero((u > 0.0) & (u < C)), np.flatnonzero(w)
    if not len(free):
        return w, b
    columns = features.subset(active).T.take(free)
    system = np.hstack([columns, -np.ones((len(free), 1))])
    step = np.linalg.lstsq(system, y[free] - (columns @ w[active] - b), rcond=1e-13)[0]
    w = w.copy()
    w[active] += step[:-1]
    return w, float(b + step[-1])


def _best_intercept(scores: Array, y: Array) -> float:
    """The b that minimises the hinge loss of scores - b: one of its breakpoints."""
    breakpoints = np.sort(scores - y)
    # The loss is convex in b: its slope at b is #(y=1, score - 1 < b) - #(y=-1, score + 1 > b).
    rising = np.searchsorted(np.sort((scores - 1.0)[y > 0]), breakpoints, side="right")
    falling = np.sum(y < 0) - np.searchsorted(np.sort((scores + 1.0)[y < 0]), breakpoints, side="right")
    flat = np.flatnonzero(rising - falling >= 0)
    first = int(flat[0]) if len(flat) else len(breakpoints) - 1
    if rising[first] == falling[first] and first + 1 < len(breakpoints):
        return float((breakpoints[first] + breakpoints[first + 1]) / 2.0)  # any b in between is optimal
    return float(breakpoints[first])


def _dual_bound(features: Rows, y: Array, C: float, u: Array, z: Array) -> float:
    """Value of a dual feasible point near u.

    u violates its constraints by multiples of eps. Complementary slackness says how it should meet
    them: B^T u = +-1 for features with a weight, y^T u = 0, and u at its bounds where it went past
    them. The other entries are moved by the smallest step that does so; what is left is scaled away.
    """
    free = np.flatnonzero((u > 0.0) & (u < C))
    active = np.flatnonzero(np.abs(z) > 1.0)
    u = np.clip(u, 0.0, C)
    B = features.subset(active).T.take(free).T * y[free]
    system = np.vstack([B, y[free]])
    missing = np.append(np.sign(z[active]) - features.subset(active) @ (y * u), -float(y @ u))
    polished = u.copy()
    polished[free] += np.linalg.lstsq(system, missing, rcond=1e-13)[0]
    return max(_scaled_value(features, y, C, polished), _scaled_value(features, y, C, u))


def _scaled_value(features: Rows, y: Array, C: float, u: Array) -> float:
    """Dual value after clipping, balancing the classes and scaling to feasibility."""
    u = np.clip(u, 0.0, C)
    positive, negative = u[y > 0].sum(), u[y < 0].sum()
    lighter = min(positive, negative)
    if lighter == 0.0:
        return 0.0
    u = np.where(y > 0, u * (lighter / positive), u * (lighter / negative))
    return float(u.sum() / max(1.0, float(np.abs(_projection(features, y, u)).max(initial=0.0))))
