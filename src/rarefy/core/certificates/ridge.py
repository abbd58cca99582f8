r"""Ridge regression and regularised least squares under a change of the kernel matrix.

K, K~  : (n, n) Gram matrices X X^T and X R R^T X^T
alpha  : penalty on the squared norm of the coefficients, as in scikit-learn (n lambda in the paper)
A, B   : K + alpha I, K~ + alpha I; lo A <= B <= hi A
z      : (n,) noiseless responses, y = z + noise of variance s2
q      : query; k = X q and k~ = X R R^T q
f, f~  : predictions with all and with the kept columns, f(q) = k^T A^-1 y and f~(q) = k~^T B^-1 y

f~ is the kept model's own value. f is enclosed without fitting the model with all columns. A^-1 = B^-1/2 N B^-1/2 with
eigenvalues of N in [lo, hi], so that for any two vectors

    s^T A^-1 r = (lo + hi)/2 s^T B^-1 r  +-  (hi - lo)/2 |B^-1/2 s| |B^-1/2 r|.            (1)

For any g and c, with their residuals r = y - A g and s = k - A c in the problem with all columns,

    f(q) = k^T A^-1 y = c^T y + s^T g + s^T A^-1 r,

and (1) encloses the last term, which is of second order in the residuals. We take for g the dual coefficients B^-1 y of
the kept model, times the number that makes r shortest in the norm of B^-1: one product with K. For c we take, in the
same way, w B^-1 k, and in a second enclosure the coefficients a of the query in the rows, k = K a, whose residual is
-alpha a: the one is good for large penalties, the other for small ones. The intersection of both is the answer.

For alpha = 0 the second is exact: with q = X^T a + p, f~(q) - f(q) = (X R R^T p)^T K~^+ y, which is zero for a query in
the row space, if no direction is lost [PaulDrineas2016, Theorem 1]. The published bounds carry eps times the condition
number of X, and assume X R R^T p to be small, which a selection that looks at V only cannot ensure; here it is part of
k~. A relative bound as in their Theorem 2 is the bound over the least |f(q)| that the enclosure leaves.

*Rounding.* k, k~ and y in the basis of the pencil have errors of p(n) eps times their factors' norms; they pass
through the identity above as errors of s, of r and of c^T y, and widen the interval.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rarefy.core.certificates.pencil import Pencil, rounding, row_pencil
from rarefy.core.certificates.regularised import extremes
from rarefy.core.linalg.rows import Array, Rows, as_rows
from rarefy.core.linalg.spectrum import Spectrum, decompose
from rarefy.core.sparsify import Selection


def fixed_design_risk(K: Array, Z: Array, alpha: float, noise_variance: float) -> Array:
    """Variance plus squared bias of the predictions at the design points [PaulDrineas2016, Section 4.2].

    Parameters
    ----------
    K : (n, n) array
        Gram matrix.
    Z : (n, m) array
        One signal a column; the result has one risk for each.
    alpha, noise_variance : float
        The penalty and s2.
    """
    n = len(K)
    mu, U = np.linalg.eigh(K)
    mu = np.maximum(mu, 0.0)
    variance = noise_variance / n * float(np.sum((mu / (mu + alpha)) ** 2))
    bias = (alpha / (mu + alpha))[:, None] * (U.T @ Z)
    return np.asarray(variance + np.sum(bias**2, axis=0) / n)


@dataclass(frozen=True, eq=False)
class PredictionChange:
    """What is certified about f~(q) - f(q), one entry for each query."""

    f_kept: Array
    lower: Array
    upper: Array
    """lower <= f~(q) - f(q) <= upper."""
    same_sign: NDArray[np.bool_]
    """Where f(q) certainly has the sign of f~(q)."""

    @property
    def bound(self) -> Array:
        """|f~(q) - f(q)| is at most this."""
        return np.maximum(np.abs(self.lower), np.abs(self.upper))

    @property
    def relative(self) -> Array:
        """|f~(q) - f(q)| / |f(q)| is at most this; infinite where f(q) might be zero."""
        smallest = np.where(self.same_sign, np.minimum(abs(self.f_kept - self.lower), abs(self.f_kept - self.upper)), 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(smallest > 0.0, self.bound / smallest, np.inf)


@dataclass(frozen=True, eq=False)
class _Problem:
    """Everything in the eigenbasis of K~, divided by the pencil's scale."""

    A: Array
    beta: Array
    """Eigenvalues of B."""
    b: float
    """A lower bound on the exact ones."""
    a: Array
    """Coefficients of the queries in the rows; any error of theirs is part of their residual."""
    k: Array
    k_kept: Array
    y: Array
    error_A: float
    """Bounds on the errors of A and B in norm, of k and k~ for each query, and of y."""
    error_B: float
    error_k: Array
    error_k_kept: Array
    error_y: float


def prediction_change(
    X: Rows, selection: Selection, y: Array, Q: Rows, alpha: float, spec: Spectrum | None = None
) -> PredictionChange:
    """Enclose f~(q) - f(q) for each query; everything is infinite for alpha = 0 if a direction of X is lost.

    Parameters
    ----------
    X : Rows
        Training samples.
    selection : Selection
        Which columns are kept, with which weights.
    y : (n,) array
        Responses.
    Q : Rows
        Queries, one a row.
    alpha : float
        The penalty, >= 0.
    spec : Spectrum or None
        The whole spectrum of X, if it is known.
    """
    spec = decompose(X).leading() if spec is None else spec
    error_y = _unit_error(X) * float(np.linalg.norm(y))  # before the reduction, whose errors are relative to it
    if X.shape[0] > X.shape[1]:  # with X = Q T the model on (T, Q^T y) predicts the same
        X, y = _reduced(X, y)
    pencil = row_pencil(X, selection, spec)
    pencil = pencil.leading(spec.rank) if alpha == 0.0 else pencil
    ends = extremes(pencil, alpha / pencil.scale)
    problem = replace(_problem(pencil, X, selection, y, Q, alpha / pencil.scale), error_y=error_y)
    if ends[0] == 0.0 or problem.b <= 0.0:
        unknown = np.full(Q.shape[0], np.inf)
        return PredictionChange(unknown * np.nan, -unknown, unknown, np.zeros(Q.shape[0], dtype=bool))
    f_kept, error = _kept_predictions(problem)
    intervals = [_enclosed(problem, c, ends) for c in (_scaled_solution(problem, problem.k), problem.a)]
    low, high = np.maximum(*(i[0] for i in intervals)), np.minimum(*(i[1] for i in intervals))
    # Where two enclosures of one number miss each other by rounding their hull is the honest answer.
    low, high = np.minimum(low, high), np.maximum(low, high)
    unknown = np.isnan(np.array([low, high, f_kept, error])).any(axis=0)
    low, high = np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)
    f_kept, error = np.where(unknown, 0.0, f_kept), np.where(unknown, np.inf, error)
    same = ((f_kept > error) & (low > 0.0)) | ((f_kept < -error) & (high < 0.0))
    return PredictionChange(f_kept, f_kept - error - high, f_kept + error - low, same)


def _enclosed(problem: _Problem, c: Array, ends: tuple[float, float]) -> tuple[Array, Array]:
    """An interval that contains f(q), for any coefficients c."""
    A, beta, y = problem.A, problem.beta, problem.y
    lo, hi = ends
    b = problem.b
    g = _scaled_solution(problem, y[None])
    s, r = problem.k - c @ A, y - (g @ A)[0]
    n_c, n_g = np.linalg.norm(c, axis=1), float(np.linalg.norm(g))
    n_s, n_r = np.linalg.norm(s / np.sqrt(beta), axis=1), float(np.linalg.norm(r / np.sqrt(beta)))
    centre = c @ y + s @ g[0] + 0.5 * (lo + hi) * (s @ (r / beta))
    radius = 0.5 * (hi - lo) * n_s * n_r
    error_s = problem.error_k + problem.error_A * n_c
    error_r = problem.error_y + problem.error_A * n_g
    product = error_s / np.sqrt(b) * n_r + n_s * error_r / np.sqrt(b) + error_s * error_r / b
    slack = n_c * problem.error_y + error_s * n_g + hi * (product + 2.0 * problem.error_B / b * n_s * n_r)
    return centre - radius - slack, centre + radius + slack


def _kept_predictions(problem: _Problem) -> tuple[Array, Array]:
    """f~(q) and a bound on its rounding error."""
    g = problem.y / problem.beta
    n_g = float(np.linalg.norm(g))
    n_c = np.linalg.norm(problem.k_kept / problem.beta, axis=1)
    error = problem.error_k_kept * n_g + n_c * (problem.error_y + problem.error_B * n_g)
    return problem.k_kept @ g, error


def _scaled_solution(problem: _Problem, x: Array) -> Array:
    """w B^-1 x for each row x, with the w that makes x - w A B^-1 x shortest in the norm of B^-1."""
    solution = x / problem.beta
    image = solution @ problem.A
    inner, length2 = (np.einsum("ij,ij->i", image / problem.beta, v) for v in (x, image))
    return solution * (inner / np.where(length2 > 0.0, length2, 1.0))[:, None]


def _problem(pencil: Pencil, X: Rows, selection: Selection, y: Array, Q: Rows, c: float) -> _Problem:
    """Products with the data, in the eigenbasis of K~."""
    g, E = np.linalg.eigh(pencil.G)
    mu = pencil.mu
    k = _products(X, Q) @ pencil.U / pencil.scale
    determined = mu > 4.0 * pencil.error
    a = k * np.where(determined, 1.0 / np.where(determined, mu, 1.0), 0.0)
    weighted = (Q.T.take(selection.indices) * (selection.weights**2)[:, None]).T
    basis = pencil.U @ E
    p = _unit_error(X)
    error_k = p * _lengths(Q) / np.sqrt(pencil.scale) * np.sqrt(float(mu[-1]))
    return _Problem(
        A=(E.T * (mu + c)) @ E,
        beta=np.maximum(g, 0.0) + c,
        b=c + max(0.0, float(g[0]) - pencil.error_kept),
        a=a @ E,
        k=k @ E,
        k_kept=weighted @ (X.T.take(selection.indices) @ basis) / pencil.scale,
        y=basis.T @ y,
        error_A=2.0 * pencil.error + p * c,
        error_B=2.0 * pencil.error_kept + p * c,
        error_k=error_k,
        error_k_kept=error_k * float((selection.weights**2).max(initial=0.0)),
        error_y=p * float(np.linalg.norm(y)),
    )


def _unit_error(X: Rows) -> float:
    """The relative error of products with the data and its bases."""
    return rounding(min(X.shape) + int(np.sqrt(max(X.shape))))


def _reduced(X: Rows, y: Array) -> tuple[Rows, Array]:
    """T and Q^T y of X = Q T, for more rows than columns."""
    d = X.shape[1]
    T = np.zeros((0, d + 1))
    for rows, block in X.blocks():
        T = np.asarray(np.linalg.qr(np.vstack([T, np.column_stack([block, y[rows]])]), mode="r"))
    return as_rows(np.ascontiguousarray(T[:d, :d])), T[:d, d]


def _products(X: Rows, Q: Rows) -> Array:
    """Q X^T, one block of features at a time."""
    QT, total = Q.T, np.zeros((Q.shape[0], X.shape[0]))
    for rows, block in X.T.blocks():
        total += QT.take(np.arange(rows.start, rows.stop)).T @ block
    return total


def _lengths(Q: Rows) -> Array:
    total = np.zeros(Q.shape[0])
    for rows, block in Q.blocks():
        total[rows] = np.linalg.norm(block, axis=1)
    return total
