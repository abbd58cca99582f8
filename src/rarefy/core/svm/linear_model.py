r"""Linear models with a free intercept, solved until a pair of points proves how close they are to the optimum.

X    : (n, d) Rows; y : (n,) labels or responses; c : (n,) costs of the rows
F    : (n, p) X itself, or for d > n the Cholesky factor L of X X^T: the same problem in n dimensions, w = X^T L^-T v

    min over w, b of  P(w, b) = 1/2 ||w||^2 + sum_i c_i l(y_i, x_i^T w + b)
    max over beta of  D(beta) = sum_i gain_i(beta_i) - 1/2 ||X^T beta||^2,   sum_i beta_i = 0

Newton's method in the primal [Chapelle2007]. With the smaller of p and the number of curved rows as its size, a step is
one linear system; the step's length minimises along the line, so that on piecewise quadratic losses finitely many
steps are enough. Every point has its partner beta = -c l'. The hinge is approached through rounder hinges
(`rarefy.core.losses.margins`), each started from the last. Above `_DIRECT` dimensions the systems are solved by
conjugate gradients, with products X v only.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl
import scipy.sparse.linalg as spla

from rarefy.core.linalg.cholesky import lifted_cholesky
from rarefy.core.linalg.rows import Array, DenseRows, Rows
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.margins import MarginLoss, best_intercept
from rarefy.core.losses.roots import increasing_root

_DIRECT = 3000
"""Linear systems up to this size are factorised."""
_ROUNDINGS = (0.5, 0.1, 0.02, 4e-3, 8e-4, 1.6e-4, 3.2e-5, 6.4e-6)
_SIMILAR = 2
_FEW, _COPIED = 8, 20_000
"""Of more rows than the second, those that bend are copied if they are at most one in the first."""


@dataclass(frozen=True)
class LinearModel:
    """A primal and a dual point; the optimum lies between `dual` and `primal`, up to rounding."""

    coef: Array
    intercept: float
    primal: float
    beta: Array
    dual: float

    @property
    def gap(self) -> float:
        """How much of the primal value is not accounted for."""
        return (self.primal - self.dual) / self.primal if self.primal > 0.0 else 0.0


@dataclass(frozen=True)
class Problem:
    """The data of one model."""

    F: Rows
    y: Array
    c: Array
    loss: MarginLoss

    def primal(self, v: Array, scores: Array, b: float) -> float:
        """P."""
        return 0.5 * float(v @ v) + float(self.c @ self.loss.values(self.y, scores + b))

    def dual(self, beta: Array) -> float:
        """D."""
        g = self.F.T @ beta
        return float(self.loss.gains(self.y, beta, self.c).sum()) - 0.5 * float(g @ g)


def linear_model(
    X: Rows,
    y: Array,
    costs: Array,
    loss: MarginLoss,
    *,
    start: tuple[Array, float] | None = None,
    tol: float = 1e-5,
    max_iter: int = 60,
) -> LinearModel:
    """Train to a relative gap between primal and dual value.

    Parameters
    ----------
    X : Rows of shape (n, d)
        The samples.
    y : (n,) array
        Labels -1 and 1; any numbers for the squared loss.
    costs : (n,) array
        Costs of the rows, > 0.
    loss : MarginLoss
        The loss.
    start : (beta, b) or None
        Dual variables and intercept of a similar problem, to start from.
    tol : float
        Accepted gap, as a share of the primal value.
    max_iter : int
        Newton steps (for the hinge: for each rounding of its corner).
    """
    F = X if X.shape[1] <= X.shape[0] else _square(X)
    beta, b = (np.zeros(len(y)), best_intercept(loss, y, np.zeros(len(y)), costs)) if start is None else start
    v = F.T @ beta
    problem = Problem(F, y, costs, loss)
    best: LinearModel | None = None
    # Steps that overflow are no descent and are not taken; the best pair counts.
    with threads_for(F.shape[1]), np.errstate(over="ignore", invalid="ignore"):
        for rounding in _roundings(loss, start is not None):
            smooth = replace(problem, loss=replace(loss, rounding=rounding))
            v, b, beta = _newton(smooth, v, b, tol, max_iter)
            found = pair(problem, v, b, beta)
            if best is None or found.gap < best.gap:
                best = found
            if best.gap <= tol:
                break
    assert best is not None
    return best if F is X else _in_columns(problem, X, best)


def _roundings(loss: MarginLoss, similar: bool) -> tuple[float, ...]:
    """How round the hinge's corner is, from one stage to the next; from a similar solution fewer stages do."""
    if loss.name != "hinge":
        return (0.0,)
    if loss.rounding:  # the rounded hinge itself is what is minimised
        return (*(() if similar else (r for r in _ROUNDINGS if r > loss.rounding)), loss.rounding)
    return _ROUNDINGS[_SIMILAR:] if similar else _ROUNDINGS


def _square(X: Rows) -> Rows:
    """Rows with the same products, in n dimensions."""
    return rows_of(X.T.gram())


def rows_of(K: Array) -> Rows:
    """Rows with these products: the Cholesky factor of their Gram matrix."""
    with threads_for(len(K)):
        factor, lower = lifted_cholesky(K, "a Gram matrix")
    return DenseRows(np.tril(factor) if lower else np.ascontiguousarray(np.triu(factor).T))


def pair(p: Problem, v: Array, b: float, beta: Array, enough: float = 0.0) -> LinearModel:
    """The better of two primal points, v itself and the one that belongs to beta, beside the dual point.

    The second is left out if the gap of the first is at most `enough`.
    """
    beta = p.loss.balanced(p.y, beta, p.c)
    g, gain = p.F.T @ beta, float(p.loss.gains(p.y, beta, p.c).sum())
    first = LinearModel(*_lowest(p, (v,), b), beta, gain - 0.5 * float(g @ g))
    if first.gap <= enough:
        return first
    second = _lowest(p, (g,), b)
    return first if first.primal <= second[2] else LinearModel(*second, beta, first.dual)


def _lowest(p: Problem, candidates: tuple[Array, ...], start: float) -> tuple[Array, float, float]:
    """Coefficients with their best intercept and their primal value, of those with the lowest."""
    found = []
    for w in candidates:
        scores = p.F @ w
        b = best_intercept(p.loss, p.y, scores, p.c, start)
        found.append((w, b, p.primal(w, scores, b)))
    return min(found, key=lambda point: point[2])


def _in_columns(p: Problem, X: Rows, found: LinearModel) -> LinearModel:
    """The model in the columns of X, from the one in the coordinates of the Cholesky factor.

    The factor belongs to products that are lifted where they are singular, so values are computed again from X.
    """
    gamma = sl.solve_triangular(p.F.take(np.arange(p.F.shape[0])), found.coef, lower=True, trans=1, check_finite=False)
    own = replace(p, F=X)
    coef, intercept, primal = _lowest(own, (X.T @ gamma, X.T @ found.beta), found.intercept)
    return replace(found, coef=coef, intercept=intercept, primal=primal, dual=own.dual(found.beta))


def _newton(p: Problem, v: Array, b: float, tol: float, max_iter: int) -> tuple[Array, float, Array]:
    """Minimise a smooth problem; the coefficients, the intercept and the dual variables that belong to them."""
    scores = p.F @ v
    for _ in range(max_iter):
        first, second = p.loss.derivatives(p.y, scores + b)
        slope, bend = p.c * first, p.c * second
        gradient, shift = v + p.F.T @ slope, float(slope.sum())
        dv, db = _step(p.F, bend, gradient, shift, 10.0 * (1.0 + float(np.abs(scores + b).max())))
        # Half the squared Newton decrement is what the model promises to gain.
        promised = -0.5 * (float(gradient @ dv) + shift * db)
        if not promised > 1e-5 * tol * max(p.primal(v, scores, b), 1e-300):
            break
        moved = p.F @ dv
        s = step_length(p, v, dv, scores + b, moved + db)
        v, b, scores = v + s * dv, b + s * db, scores + s * moved
    return v, b, -p.c * p.loss.derivatives(p.y, scores + b)[0]


def _step(F: Rows, bend: Array, gradient: Array, shift: float, reach: float) -> tuple[Array, float]:
    """Newton step (dv, db): (I + F' D F) dv + F' D 1 db = -gradient, 1' D F dv + 1' D 1 db = -shift; |db| <= reach.

    Far from all samples the loss hardly bends, and the step of the intercept would be enormous.
    """
    curved = np.flatnonzero(bend > 0.0)
    if not len(curved):  # the intercept is on a slope without curvature: only v can be solved for
        return -gradient, -shift
    # Leaving out rows that do not bend is a copy, which costs more than products with zeros unless it is small.
    n = F.shape[0]
    whole = len(curved) == n or _FEW * len(curved) >= n > _COPIED
    Fc, D = (F, bend) if whole else (F.subset(curved), bend[curved])
    solve = _solver(Fc, D)
    pull = Fc.T @ D
    u, z = solve(gradient), solve(pull)
    # Eliminating dv leaves a number for db; it is positive but for rounding.
    rest = float(D.sum()) - float(pull @ z)
    db = (float(pull @ u) - shift) / max(rest, 1e-12 * float(D.sum()))
    db = min(max(db, -reach), reach)
    return -u - z * db, db


def _solver(F: Rows, D: Array):  # type: ignore[no-untyped-def]  # a function of one vector
    """Solve with I + F' diag(D) F, in the smaller of its two forms."""
    n, p = F.shape
    if min(n, p) > _DIRECT:
        operator = spla.LinearOperator((p, p), matvec=lambda x: x + F.T @ (D * (F @ x)), dtype=np.float64)
        return lambda right: spla.cg(operator, right, rtol=1e-4, maxiter=200)[0]
    if n < p:
        small = F.T.gram()
        small.flat[:: n + 1] += 1.0 / D
        factor = lifted_cholesky(small, "a Newton system")
        return lambda right: right - F.T @ sl.cho_solve(factor, F @ right, check_finite=False)
    H = F.gram(D)
    H.flat[:: p + 1] += 1.0
    factor = lifted_cholesky(H, "a Newton system")
    return lambda right: sl.cho_solve(factor, right, check_finite=False)


def step_length(p: Problem, v: Array, dv: Array, f: Array, df: Array) -> float:
    """The length that minimises along the step, at most 1 unless nothing bends before that."""
    linear, square = float(v @ dv), float(dv @ dv)

    def slope(s: float) -> tuple[float, float]:
        first, second = p.loss.derivatives(p.y, f + s * df)
        return linear + s * square + float((p.c * first) @ df), square + float((p.c * second) @ df**2)

    before, after = slope(0.0)[0], slope(1.0)[0]
    if abs(after) <= 0.1 * abs(before):
        return 1.0  # a full Newton step is as good as the minimum
    low, high = 0.0, 1.0
    while after < 0.0 and high < 1e6:
        low, high = high, 2.0 * high
        after = slope(high)[0]
    return increasing_root(slope, low, high, 0.5 * (low + high), tol=1e-3 * abs(before))
