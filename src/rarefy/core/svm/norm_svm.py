r"""Support vector machines with a norm, not its square, as penalty; each is one linear program.

F : (m, k) Rows [D, 1], coordinates of the samples and a column of ones (and of zeros for the maximum norm)
y : (m,) classes -1 and 1; p : (m,) weights of the samples; f = D w + b

    min  alpha ||w|| + sum_i p_i max(0, 1 - y_i f_i)
    max  y^T beta     ||D^T beta||_* <= alpha,  e^T beta = 0,  0 <= y_i beta_i <= p_i

The second line, the dual, is what is solved [YajimaOhiMori2003]: boxed variables, one for each sample, and one
equation for each coordinate. The multipliers of the equations are -w and -b. For the 2-norm the dual is a cone
program; there alpha ||w|| is the least value of alpha (||w||^2 / t + t) / 2 over t > 0, so that there is a quadratic
program for each t, and one number to find.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from rarefy.core.linalg.class_pairs import ClassPairs
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.solvers.box_lp import BoxLP, Status, box_lp

Norm = Literal[1, 2, "inf"]


@dataclass(frozen=True)
class NormSVM:
    """Weights (one row for each score), intercepts, objective, gap to the dual value, and how the solver ended."""

    w: Array
    b: Array
    objective: float
    gap: float
    n_iter: int
    status: Status
    program: BoxLP


def extra_columns(norm: Norm) -> int:
    """How many columns F has beside the coordinates: the first is one, a second is zero."""
    return 2 if norm == "inf" else 1


def norm_svm(
    F: Rows,
    y: Array,
    alpha: float,
    p: Array,
    *,
    norm: Norm = 1,
    start: BoxLP | None = None,
    gram: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
    callback: Callable[[int, float], None] | None = None,
) -> NormSVM:
    """Train the SVM for two classes.

    Parameters
    ----------
    F : Rows of shape (m, S + extra_columns(norm))
        Coordinates, then a column of ones (then one of zeros).
    y : (m,) array of -1 and 1
        The classes.
    alpha : float, >= 0
        Weight of the norm.
    p : (m,) array, >= 0
        Weights of the samples.
    norm : 1, 2 or "inf"
        Which norm.
    start : BoxLP or None
        Solution of a similar program, to start from.
    gram : (k, k) array or None
        `F.gram()` if it is known already, as when many programs share F.
    tol : float
        Accepted gap, relative to 1 + |objective|.
    max_iter : int
        Iterations of `box_lp`, of each quadratic program for the 2-norm.
    callback : callable or None
        Called with (iteration, relative gap) in every iteration.
    """
    options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "callback": callback}
    options["gram"] = F.gram() if gram is None else gram
    if norm == 2 and alpha > 0.0:
        return _two_norm(F, y, alpha, p, start, options)
    S = F.shape[1] - extra_columns(norm)
    few, cost, lower, upper, rhs = (_one_norm if norm != "inf" else _maximum_norm)(S, alpha)
    found = box_lp(
        F,
        np.append(-y, cost),
        np.append(np.minimum(y, 0.0) * p, lower),
        np.append(np.maximum(y, 0.0) * p, upper),
        few=few,
        rhs=rhs,
        start=start,
        **options,
    )
    v = -found.y
    if norm != "inf":
        sparse = np.append(_without_noise(v[:S], found.x[len(y) :], alpha), v[S])
        choices = (_at_the_vertex(F, y, p, sparse, found), sparse, v)
        values = [_value(F, y, alpha, p, choice) for choice in choices]
        # The first that is optimal up to rounding: exact zeros are preferred.
        v = next(
            c for c, value in zip(choices, values, strict=True) if value <= min(values) + 0.1 * tol * (1.0 + value)
        )
    w, b = v[:S], v[S : S + 1]
    objective = _value(F, y, alpha, p, v) if norm != "inf" else alpha * float(np.abs(w).max()) + _hinge(F, y, p, v)
    return NormSVM(w[None], b, objective, objective + found.objective, found.n_iter, found.status, found)


def _value(F: Rows, y: Array, alpha: float, p: Array, v: Array) -> float:
    return alpha * float(np.abs(v[:-1]).sum()) + _hinge(F, y, p, v)


def _at_the_vertex(F: Rows, y: Array, p: Array, v: Array, found: BoxLP) -> Array:
    """Move the nonzero weights by the least step that puts the samples strictly between bounds on the margin.

    An interior point method comes as close to a vertex as its barrier allows; the equations of the vertex give the
    remaining digits.
    """
    beta = np.abs(found.x[: len(y)])
    free = np.flatnonzero((beta > 1e-6 * p) & (beta < (1.0 - 1e-6) * p))
    active = np.append(np.flatnonzero(v[:-1]), len(v) - 1)
    if not 0 < len(free) <= 4 * len(v):
        return v
    system = F.take(free)[:, active]
    step = np.linalg.lstsq(system, y[free] - system @ v[active], rcond=1e-12)[0]
    moved = v.copy()
    moved[active] += step
    return moved


def _hinge(F: Rows, y: Array, p: Array, v: Array) -> float:
    return float(p @ np.maximum(0.0, 1.0 - y * (F @ v)))


def _without_noise(w: Array, z: Array, alpha: float) -> Array:
    """Exact zeros where the multiplier's bound |z| <= alpha is slack: by complementarity w is zero there."""
    if alpha == 0.0:
        return w
    slack = 1.0 - np.abs(z) / alpha
    return np.where(np.abs(w) <= slack * float(np.abs(w).max(initial=0.0)), 0.0, w)


def _one_norm(S: int, alpha: float) -> tuple[Array, ...]:
    """Variables z = D^T beta in [-alpha, alpha]: rows, costs, bounds and right-hand side."""
    few = -np.eye(S, S + 1)
    return few, np.zeros(S), np.full(S, -alpha), np.full(S, alpha), np.zeros(S + 1)


def _maximum_norm(S: int, alpha: float) -> tuple[Array, ...]:
    """Variables z+ - z- = D^T beta, both >= 0, with sum(z+ + z-) + slack = alpha: the last equation."""
    few = np.zeros((2 * S + 1, S + 2))
    few[:S, :S], few[S:-1, :S], few[:, S + 1] = -np.eye(S), np.eye(S), 1.0
    return few, np.zeros(len(few)), np.zeros(len(few)), np.full(len(few), alpha), np.append(np.zeros(S + 1), alpha)


def _two_norm(F: Rows, y: Array, alpha: float, p: Array, start: BoxLP | None, options: dict[str, Any]) -> NormSVM:
    """Find the t with ||w(t)|| = t; at every t the gap to the cone program is known, and ends the search."""
    S, m, tol = F.shape[1] - 1, len(y), options["tol"]
    few, free = -np.eye(S, S + 1), np.full(S, np.inf)
    search, n_iter = _FixedPoint(), 0
    best: NormSVM | None = None
    while best is None or (best.gap > tol * (1.0 + abs(best.objective)) and search.tried < 50):
        t = search.t
        found = box_lp(
            F,
            np.append(-y, np.zeros(S)),
            np.append(np.minimum(y, 0.0) * p, -free),
            np.append(np.maximum(y, 0.0) * p, free),
            few=few,
            curvature=np.append(np.zeros(m), np.full(S, t / alpha)),
            start=start,
            **(options | {"tol": 0.1 * tol}),
        )
        n_iter += found.n_iter
        v, z = -found.y, float(np.linalg.norm(found.x[m:]))
        size = float(np.linalg.norm(v[:S]))
        objective = alpha * size + _hinge(F, y, p, v)
        gap = objective - float(y @ found.x[:m]) * min(1.0, alpha / max(z, 1e-300))
        if best is None or gap < best.gap:
            best = NormSVM(v[None, :S], v[S:], objective, gap, n_iter, found.status, found)
        search.update(size)
    status: Status = "optimal" if best.gap <= tol * (1.0 + abs(best.objective)) else "stalled"
    return replace(best, n_iter=n_iter, status=status)


class _FixedPoint:
    """Search for t = size(t), where size grows with t but slower: secant steps in logarithms inside a bracket."""

    def __init__(self) -> None:
        self.t, self.tried = 1.0, 0
        self._low, self._high = -np.inf, np.inf
        self._last: tuple[float, float] | None = None

    def update(self, size: float) -> None:
        """Record size(t) and choose the next t."""
        here, excess = np.log(self.t), np.log(max(size, 1e-12 * self.t)) - np.log(self.t)
        self._low, self._high = (
            (max(self._low, here), self._high) if excess > 0.0 else (self._low, min(self._high, here))
        )
        step = excess
        if self._last is not None and self._last[1] != excess:
            step = -excess * (here - self._last[0]) / (excess - self._last[1])
        proposed = here + float(np.clip(step, -5.0, 5.0))
        if not self._low < proposed < self._high:
            bounded = np.isfinite(self._low) and np.isfinite(self._high)
            proposed = 0.5 * (self._low + self._high) if bounded else here + float(np.clip(excess, -5.0, 5.0))
        self._last, self.tried, self.t = (here, excess), self.tried + 1, float(np.exp(proposed))


def direct_svm(
    F: Rows,
    labels: Index,
    n_classes: int,
    alpha: float,
    p: Array,
    *,
    start: BoxLP | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
    callback: Callable[[int, float], None] | None = None,
) -> NormSVM:
    """Train one SVM for all classes by a single linear program [WestonWatkins1998].

    min  alpha sum_c ||w_c||_1 + sum_i p_i sum_{c != y_i} max(0, 1 - (f_{y_i}(x_i) - f_c(x_i)))

    Parameters
    ----------
    F : Rows of shape (m, S + 1)
        Coordinates, then a column of ones.
    labels : (m,) array of int
        Numbers of the classes, from 0.
    n_classes : int
        How many classes there are.
    alpha : float, >= 0
        Weight of the norm.
    p : (m,) array, >= 0
        Weights of the samples.
    start : BoxLP or None
        Solution of a similar program, to start from.
    tol : float
        Accepted gap, relative to 1 + |objective|.
    max_iter : int
        Iterations of `box_lp`.
    callback : callable or None
        Called with (iteration, relative gap) in every iteration.
    """
    A, S = ClassPairs.of(F, labels, n_classes), F.shape[1] - 1
    few: Array = -np.kron(np.eye(n_classes), np.eye(S, S + 1)).astype(np.float64)
    n, bound = A.shape[0], np.full(len(few), alpha)
    found = box_lp(
        A,
        np.append(-np.ones(n), np.zeros(len(few))),
        np.append(np.zeros(n), -bound),
        np.append(np.repeat(p, n_classes - 1), bound),
        few=few,
        start=start,
        tol=tol,
        max_iter=max_iter,
        callback=callback,
    )
    W = -found.y.reshape(n_classes, S + 1)
    w, b = W[:, :S], W[:, S] - W[:, S].mean()  # only differences of intercepts matter
    w = _without_noise(w.ravel(), found.x[n:], alpha).reshape(w.shape)
    margins = A @ np.column_stack([w, b]).ravel()
    objective = float(alpha * np.abs(w).sum() + np.repeat(p, n_classes - 1) @ np.maximum(0.0, 1.0 - margins))
    return NormSVM(w, b, objective, objective + found.objective, found.n_iter, found.status, found)
