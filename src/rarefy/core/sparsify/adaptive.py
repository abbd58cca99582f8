r"""As many columns as kept singular vectors, with a residual close to the smallest possible.

X    : (n, d) data, one column a feature
V    : (d, k) leading right singular vectors of X; after every step without the direction that was taken
E    : X - X V V^T, what V leaves of X; ||E||_F^2 is the best rank-k error
m    : columns that V still has, k at the start and 1 at the last step
nu_i : norm of row i of V, sum nu_i^2 = m
J    : the columns chosen

*A step* [Osinsky2025; CortinovisKressner2024]. Take column j, with u the direction of row j of V and c = V u, so that
||c|| = 1 and c_j = nu_j; subtract the multiple of E_j that makes column j zero, and take u out of V:

    E <- E - E_j c^T / nu_j,    V <- V - c u^T.

*Bound.* E V = 0 at the start and after every step, so E c = 0 and ||E||_F^2 grows by exactly ||E_j||^2 / nu_j^2. The
smallest of these quotients is at most the quotient of the sums, ||E||_F^2 / m, and so is their mean when j is drawn
with probability nu_j^2 / m. The factors 1 + 1/m multiply up to k + 1, and what is subtracted from X lies in the span
of its columns J:

    ||X - Pi_J X||_F^2 <= (k + 1) ||X - X V V^T||_F^2,

always if j is the column with the smallest quotient (the deterministic form), on average if it is drawn. Quotients
that agree to 1e-9 of their mean are equal; of equal ones the column with the largest nu_j is taken, of equal nu_j
the lowest index. Columns whose nu^2 is below 1e-9 of the mean are left out, which changes the bound by about that
share. Nothing is said about the eigenvalues of V^T R R^T V.

*Rounding.* Where V explains X to the last digits, E is rounding errors, and their quotients mean nothing. Columns of
E no longer than the rounding errors of V let them be count as zero, so the largest nu_j decides there, and the bound
holds up to the square of such errors.

*Cost.* A step is one product of the data with a vector, and two more for the deterministic form, which follows the
norms of the columns of E; neither E nor V is ever stored.
"""

import numpy as np
from scipy.linalg import qr

from rarefy.core.linalg.rows import Array, Index, Rows, well_scaled
from rarefy.core.linalg.spectrum import EPS, RightVectors
from rarefy.core.linalg.threads import threads_over

_NEGLIGIBLE = 1e-9
_ROUNDING = 4.0
"""Residuals of up to so many rounding errors of V, times the longest column, count as zero."""


def adaptive_columns(X: Rows, V: RightVectors, rng: np.random.Generator | None = None) -> Index:
    """Choose as many columns of X as V has; without `rng` by the deterministic form."""
    d, k = V.shape
    left = _LeftDirections(V)
    chosen = np.empty(k, dtype=np.intp)
    with threads_over(d * k):
        if rng is not None:
            for step in range(k):
                nu2 = left.norms2()
                chosen[step] = rng.choice(d, p=nu2 / nu2.sum())
                left.take(chosen[step])
            return chosen
        residual = _Residual(X, V)
        for step in range(k):
            chosen[step] = j = _cheapest(residual.norms2, left.norms2())
            u, c = left.take(j)
            residual.eliminate(j, u, c)
    return chosen


def projection_residual2(X: Rows, indices: Index) -> float:
    """||X - Pi_J X||_F^2, with Pi_J the projection on the span of these columns of X."""
    A, scale = well_scaled(X.T)
    kept = A.take(indices).T
    Q = np.zeros((kept.shape[0], 0))
    if kept.size:
        # Pivoting shows the rank: past it the columns of Q are arbitrary and would explain what the columns do not.
        Q, R, _ = qr(kept, mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        Q = Q[:, : int(np.sum(size > max(kept.shape) * EPS * size[0]))]
    total = 0.0
    for _, block in A.blocks():
        left = block - (block @ Q) @ Q.T
        total += float(np.vdot(left, left))
    return total * scale * scale


class _LeftDirections:
    """V without the directions taken so far: an orthonormal basis of these, and the norms of the rows that are left."""

    def __init__(self, V: RightVectors) -> None:
        self._V = V
        self._U = np.zeros((V.shape[1], 0))
        self._nu2 = V.norms2.copy()

    def norms2(self) -> Array:
        """Squared norms of the rows; those that are rounding noise count as zero."""
        m = self._V.shape[1] - self._U.shape[1]
        return np.where(self._nu2 * len(self._nu2) > _NEGLIGIBLE * m, self._nu2, 0.0)

    def take(self, j: int) -> tuple[Array, Array]:
        """Take the direction of row j out; the direction u and c = V u."""
        u = self._V.take(np.array([j]))[0]
        for _ in range(2):  # twice is enough
            u = u - self._U @ (self._U.T @ u)
        u /= np.linalg.norm(u)
        c = _product(self._V, u)
        self._U = np.column_stack([self._U, u])
        self._nu2 -= c * c
        self._nu2[j] = 0.0
        return u, c


class _Residual:
    """E = X - G V^T, and the squared norms of its columns; V is the one at the start."""

    def __init__(self, X: Rows, V: RightVectors) -> None:
        self._V = V
        self._features, _ = well_scaled(X.T)
        self._G = np.zeros((X.shape[0], V.shape[1]))
        for rows, block in self._features.blocks():
            self._G += block.T @ V.take(np.arange(rows.start, rows.stop))
        self.norms2 = np.empty(V.shape[0])
        for rows, block in self._features.blocks():
            E = block - V.take(np.arange(rows.start, rows.stop)) @ self._G.T
            self.norms2[rows] = np.einsum("ij,ij->i", E, E)
        rounding = _ROUNDING * EPS * _amplification(V) * _longest(self._features)
        self.norms2[self.norms2 <= rounding**2] = 0.0

    def eliminate(self, j: int, u: Array, c: Array) -> None:
        """E - E_j c^T / c_j for c = V u."""
        if not self.norms2[j] > 0.0:
            return
        row = np.array([j])
        e = self._features.take(row)[0] - self._G @ self._V.take(row)[0]
        overlap = self._features @ e - _product(self._V, self._G.T @ e)
        self._G += np.outer(e, u / c[j])
        multiple = c / c[j]
        self.norms2 += multiple * (multiple * float(e @ e) - 2.0 * overlap)
        np.maximum(self.norms2, 0.0, out=self.norms2)
        self.norms2[j] = 0.0


def _longest(A: Rows) -> float:
    """Largest norm of a row."""
    return float(A.row_norms().max(initial=0.0))


def _amplification(V: RightVectors) -> float:
    """By how much V = A T may magnify the rounding of A: the condition number of the data at most, up to sqrt(k)."""
    return 1.0 if V.T is None else max(1.0, float(np.linalg.norm(V.T)) * _longest(V.features))


def _product(V: RightVectors, u: Array) -> Array:
    """V u."""
    return V.features @ (u if V.T is None else V.T @ u)


def _cheapest(residual2: Array, nu2: Array) -> int:
    """The column whose elimination adds least to the residual."""
    quotient = np.full(len(nu2), np.inf)
    np.divide(residual2, nu2, out=quotient, where=nu2 > 0.0)
    equal = quotient <= quotient.min() + _NEGLIGIBLE * residual2.sum() / nu2.sum()
    return int(np.argmax(np.where(equal, np.round(nu2, 12), -1.0)))
