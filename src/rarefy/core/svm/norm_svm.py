r"""Support vector machines with a norm, not its square, as penalty; each is one linear program.

F : (m, k) Rows [D, 1], coordinates of the samples and a column of ones (and of zeros for the maximum norm)
y : (m,) classes -1 and 1; p : (m,) weights of the samples; f = D w + b

    min  alpha ||w|| + sum_i p_i max(0, 1 - y_i f_i)
    max  y^T beta     ||D^T beta||_* <= alpha,  e^T beta = 0,  0 <= y_i beta_i <= p_i

The second line, the dual, is what is solved [YajimaOhiMori2003]: boxed variables, one for each sample, and one
equation for each coordinate. The multipliers of the equations are -w and -b. For the 2-norm the dual is a cone
program; there alpha ||w|| is the least value of alpha (||w||^2 / t + t) / 2 over t > 0, so that there is a quadratic
program for each t, and one number to find. For any other p-norm it is a sequence of quadratic programs, with
alpha w_k^2 / (2 t_k) for each coordinate and t_k = |w_k|^(2 - p) ||w||^(p - 1) from the program before.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from rarefy.core.linalg.class_pairs import ClassPairs, contrasts
from rarefy.core.linalg.norms import p_norm
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.solvers.box_lp import BoxLP, Status, box_lp
from rarefy.core.svm.dual_bound import DualBound, Norm, extra_columns, order_of

_PROGRAMS = 100
"""Quadratic programs for one SVM at most."""
_SMALLEST = 1e-10
"""Share of the largest weight that the others count as at least."""
_LARGEST_POWER = 300.0
"""Of e, in a ratio of two weights."""
_SHARE, _LARGEST = 0.3, 1e-5
"""Programs are solved to a share of the accepted gap, and at least so far: the rest is for making their variables
feasible, which those of a rough solution are far from."""


@dataclass(frozen=True)
class NormSVM:
    """Weights (one row for each score), intercepts, objective, gap to the dual value, and how the solver ended."""

    w: Array
    b: Array
    objective: float
    gap: float
    n_iter: int
    status: Status
    multipliers: Array | None
    """Of the equations of the linear program, to start another one from."""


def norm_svm(
    F: Rows,
    y: Array,
    alpha: float,
    p: Array,
    *,
    norm: Norm = 1,
    start: Array | None = None,
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
    norm : float >= 1 or "inf"
        Which norm.
    start : (k,) array or None
        `multipliers` of a similar SVM, to start from.
    gram : (k, k) array or None
        `F.gram()` if it is known already, as when many programs share F.
    tol : float
        Accepted gap, relative to 1 + |objective|.
    max_iter : int
        Iterations of `box_lp`, of each quadratic program for the 2-norm.
    callback : callable or None
        Called with (iteration, relative gap) in every iteration.
    """
    options: dict[str, Any] = {"tol": min(_SHARE * tol, _LARGEST), "max_iter": max_iter, "callback": callback}
    options["gram"] = F.gram() if gram is None else gram
    if norm not in (1, "inf") and alpha > 0.0:
        search = _TwoNorm(start, F.shape[1] - 1) if norm == 2 else _AnyNorm(start, F.shape[1] - 1, float(norm))
        return _by_quadratics(F, y, alpha, p, norm, search, start, options | {"tol": tol})
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
    problem = _Problem(F.shape[1], alpha, p, norm, lambda v: y * (F @ v), lambda free: F.take(free) * y[free, None])
    v, objective = problem.best_of(-found.y, found.x[len(y) :], np.abs(found.x[: len(y)]), tol)
    dual = DualBound(F, np.minimum(y, 0.0) * p, np.maximum(y, 0.0) * p, y, alpha, norm, np.ones((1, 1)), F.shape[1])
    return _solved(v[None, :S], v[S : S + 1], objective, dual, found, tol)


def _solved(w: Array, b: Array, objective: float, dual: DualBound, found: BoxLP, tol: float) -> NormSVM:
    """What was found, which is optimal if its value is proved to be."""
    gap = max(objective - dual.bound(found.x[: len(dual.y)], 0.1 * tol * (1.0 + objective)), 0.0)
    status: Status = "optimal" if gap <= tol * (1.0 + objective) else "stalled"
    return NormSVM(w, b, objective, gap, found.n_iter, status, found.y)


@dataclass(frozen=True)
class _Problem:
    """The value of weights and intercepts u (one row for each score, one after the other), and nearby better ones."""

    k: int
    """Numbers in a row: weights, intercept, and a zero for the maximum norm."""
    alpha: float
    p: Array
    norm: Norm
    margins: Callable[[Array], Array]
    rows: Callable[[Index], Array]
    """Derivatives of some margins in u."""

    def value(self, u: Array) -> float:
        w = u.reshape(-1, self.k)[:, : self.k - extra_columns(self.norm)]
        size = float(np.abs(w).sum() if self.norm == 1 else np.abs(w).max(axis=1).sum())
        return self.alpha * size + float(self.p @ np.maximum(0.0, 1.0 - self.margins(u)))

    def best_of(self, u: Array, z: Array, beta: Array, tol: float) -> tuple[Array, float]:
        """The multipliers u themselves, with exact zeros, or moved to the vertex: the first that is optimal.

        z are the variables of the coordinates, beta those of the samples.
        """
        choices = [u]
        if self.norm == 1:
            sparse = self._without_noise(u, z)
            choices = [self._at_the_vertex(sparse, beta), sparse, u]
        values = [self.value(choice) for choice in choices]
        # Exact zeros are preferred, up to rounding.
        best = min(values)
        return next((c, v) for c, v in zip(choices, values, strict=True) if v <= best + 0.5 * tol * (1.0 + best))

    def _without_noise(self, u: Array, z: Array) -> Array:
        """Exact zeros where the multiplier's bound |z| <= alpha is slack: by complementarity w is zero there."""
        if self.alpha == 0.0:
            return u
        table = u.reshape(-1, self.k).copy()
        w = table[:, :-1]
        slack = 1.0 - np.abs(z.reshape(w.shape)) / self.alpha
        w[np.abs(w) <= slack * float(np.abs(w).max(initial=0.0))] = 0.0
        return table.ravel()

    def _at_the_vertex(self, u: Array, beta: Array) -> Array:
        """Move the nonzero weights by the least step that puts the samples strictly between bounds on the margin.

        An interior point method comes as close to a vertex as its barrier allows; the equations of the vertex give the
        remaining digits.
        """
        free = np.flatnonzero((beta > 1e-6 * self.p) & (beta < (1.0 - 1e-6) * self.p))
        table = u.reshape(-1, self.k).copy()
        used = table != 0.0
        used[:, -1] = True
        if not 0 < len(free) <= 4 * len(u):
            return u
        system = self.rows(free)[:, used.ravel()]
        step = np.linalg.lstsq(system, 1.0 - system @ table[used], rcond=1e-12)[0]
        table[used] += step
        return table.ravel()


def _one_norm(S: int, alpha: float) -> tuple[Array, ...]:
    """Variables z = D^T beta in [-alpha, alpha]: rows, costs, bounds and right-hand side."""
    few = -np.eye(S, S + 1)
    return few, np.zeros(S), np.full(S, -alpha), np.full(S, alpha), np.zeros(S + 1)


def _maximum_norm(S: int, alpha: float) -> tuple[Array, ...]:
    """Variables z+ - z- = D^T beta, both >= 0, with sum(z+ + z-) + slack = alpha: the last equation."""
    few = np.zeros((2 * S + 1, S + 2))
    few[:S, :S], few[S:-1, :S], few[:, S + 1] = -np.eye(S), np.eye(S), 1.0
    return few, np.zeros(len(few)), np.zeros(len(few)), np.full(len(few), alpha), np.append(np.zeros(S + 1), alpha)


class _Search(Protocol):
    """Which quadratic program comes next: alpha w_k^2 / (2 t_k) is the penalty of a weight."""

    @property
    def t(self) -> Array: ...

    def update(self, w: Array) -> None:
        """Learn the solution of the program with this t."""


def _by_quadratics(
    F: Rows,
    y: Array,
    alpha: float,
    p: Array,
    norm: Norm,
    search: _Search,
    start: Array | None,
    options: dict[str, Any],
) -> NormSVM:
    """Solve quadratic programs until the gap of one of them to the cone program, which is known, is closed."""
    S, m, tol = F.shape[1] - 1, len(y), options["tol"]
    few, free = -np.eye(S, S + 1), np.full(S, np.inf)
    low, high = np.minimum(y, 0.0) * p, np.maximum(y, 0.0) * p
    dual = DualBound(F, low, high, y, alpha, norm, np.ones((1, 1)), S + 1)
    n_iter = tried = 0
    best: NormSVM | None = None
    while best is None or (best.gap > tol * (1.0 + abs(best.objective)) and tried < _PROGRAMS):
        found = box_lp(
            F,
            np.append(-y, np.zeros(S)),
            np.append(low, -free),
            np.append(high, free),
            few=few,
            curvature=np.append(np.zeros(m), search.t / alpha),
            start=start,
            **(options | {"tol": 0.1 * tol}),
        )
        tried, n_iter = tried + 1, n_iter + found.n_iter
        v = -found.y
        size = float(p_norm(v[:S], order_of(norm)))
        objective = alpha * size + float(p @ np.maximum(0.0, 1.0 - y * (F @ v)))
        gap = max(objective - dual.bound(found.x[:m], 0.1 * tol * (1.0 + objective)), 0.0)
        if best is None or gap < best.gap:
            best = NormSVM(v[None, :S], v[S:], objective, gap, n_iter, found.status, found.y)
        search.update(v[:S])
        start = found.y
    status: Status = "optimal" if best.gap <= tol * (1.0 + abs(best.objective)) else "stalled"
    return replace(best, n_iter=n_iter, status=status)


class _TwoNorm:
    """Search for t = ||w(t)||, which grows with t but slower: secant steps in logarithms inside a bracket."""

    def __init__(self, start: Array | None, S: int) -> None:
        size = 0.0 if start is None else float(np.linalg.norm(start[:S]))
        self._t, self._S = size if 0.0 < size < np.inf else 1.0, S
        self._low, self._high = -np.inf, np.inf
        self._last: tuple[float, float] | None = None

    @property
    def t(self) -> Array:
        return np.full(self._S, self._t)

    def update(self, w: Array) -> None:
        size = float(np.linalg.norm(w))
        here, excess = np.log(self._t), np.log(max(size, 1e-12 * self._t)) - np.log(self._t)
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
        self._last, self._t = (here, excess), float(np.exp(proposed))


class _AnyNorm:
    """Repeat t_k = |w_k|^(2 - p) ||w||^(p - 1): for p < 2 each program bounds the next objective from above.

    For p > 2 a part of the way is gone, in logarithms: with all of it weights would change places for ever.
    """

    def __init__(self, start: Array | None, S: int, p: float) -> None:
        self._p, self.t = p, np.ones(S)
        if start is not None and np.isfinite(start).all() and start[:S].any():
            self.t = self._target(start[:S])

    def update(self, w: Array) -> None:
        if w.any():
            share = min(1.0, 1.0 / (self._p - 1.0))
            self.t = np.asarray(self.t ** (1.0 - share) * self._target(w) ** share)

    def _target(self, w: Array) -> Array:
        size = np.maximum(np.abs(w), _SMALLEST * np.abs(w).max())
        whole = p_norm(w, self._p)
        # In logarithms, since powers of a ratio far from 1 overflow.
        ratio = np.log(whole / size)
        if self._p > 3.0:
            ratio = np.minimum(ratio, _LARGEST_POWER / (self._p - 2.0))
        return np.asarray(whole * np.exp((self._p - 2.0) * ratio))


def direct_svm(
    F: Rows,
    labels: Index,
    n_classes: int,
    alpha: float,
    p: Array,
    *,
    norm: Norm = 1,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
    callback: Callable[[int, float], None] | None = None,
) -> NormSVM:
    """Train one SVM for all classes by a single linear program [WestonWatkins1998].

    min  alpha sum_c ||w_c|| + sum_i p_i sum_{c != y_i} max(0, 1 - (f_{y_i}(x_i) - f_c(x_i)))

    Parameters
    ----------
    F : Rows of shape (m, S + extra_columns(norm))
        Coordinates, then a column of ones (then one of zeros).
    labels : (m,) array of int
        Numbers of the classes, from 0.
    n_classes : int
        How many classes there are.
    alpha : float, >= 0
        Weight of the norm.
    p : (m,) array, >= 0
        Weights of the samples.
    norm : 1 or "inf"
        Which norm.
    start : (k,) array or None
        `multipliers` of a similar SVM, to start from.
    tol : float
        Accepted gap, relative to 1 + |objective|.
    max_iter : int
        Iterations of `box_lp`.
    callback : callable or None
        Called with (iteration, relative gap) in every iteration.
    """
    A, Q, k, S = ClassPairs.of(F, labels, n_classes), contrasts(n_classes), F.shape[1], F.shape[1] - extra_columns(norm)
    few, _, lower, upper, rhs = (_one_norm if norm != "inf" else _maximum_norm)(S, alpha)
    pairs, P = A.shape[0], np.repeat(p, n_classes - 1)
    found = box_lp(
        A,
        np.append(-np.ones(pairs), np.zeros(n_classes * len(few))),
        np.append(np.zeros(pairs), np.tile(lower, n_classes)),
        np.append(P, np.tile(upper, n_classes)),
        few=np.asarray(np.kron(Q, few), dtype=np.float64),
        rhs=(Q.T @ np.tile(rhs, (n_classes, 1))).ravel(),
        start=start,
        tol=min(_SHARE * tol, _LARGEST),
        max_iter=max_iter,
        callback=callback,
    )
    u = (Q @ -found.y.reshape(n_classes, k)).ravel()
    problem = _Problem(k, alpha, P, norm, lambda u: A @ (Q.T @ u.reshape(n_classes, k)).ravel(), A.in_classes)
    u, objective = problem.best_of(u, found.x[pairs:], found.x[:pairs], tol)
    table = u.reshape(n_classes, k)
    dual = DualBound(A, np.zeros(pairs), P, np.ones(pairs), alpha, norm, Q, k)
    b = table[:, S] - table[:, S].mean()  # only differences of intercepts matter
    return _solved(table[:, :S], b, objective, dual, found, tol)
