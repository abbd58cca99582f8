"""Exact arithmetic: floating-point data are rational numbers, and matrices of them are definite or not.

Z : integers with X = Z 2^-s; every float64 is such a number. Definiteness of integer matrices is decided by
fraction-free elimination with pivots on the diagonal: a symmetric matrix is positive semi-definite exactly when no
pivot is negative and what is left once all diagonal entries are zero vanishes.
"""

from fractions import Fraction

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat, fmpz, fmpz_mat


def rational(x):
    """A float as a fraction of integers."""
    return fmpq(*float(x).as_integer_ratio())


def integers(A):
    """(Z, s): A = Z 2^-s for an integer matrix Z."""
    A = np.atleast_2d(np.asarray(A, dtype=np.float64))
    mantissa, exponent = np.frexp(A)
    used = exponent[A != 0.0]
    s = 53 - int(used.min(initial=53))
    rows = [
        [fmpz(int(m * 2.0**53)) * fmpz(2) ** (int(e) - 53 + s) if m else fmpz(0) for m, e in zip(*pair, strict=True)]
        for pair in zip(mantissa, exponent, strict=True)
    ]
    return fmpz_mat(rows), s


def semidefinite(A):
    """Whether a symmetric fmpq_mat is positive semi-definite."""
    numerators, _ = A.numer_denom()
    n = numerators.nrows()
    M = [[numerators[i, j] for j in range(n)] for i in range(n)]
    previous, left = fmpz(1), list(range(n))
    while left:
        if any(M[i][i] < 0 for i in left):
            return False
        pivot = next((i for i in left if M[i][i] > 0), None)
        if pivot is None:
            return not any(M[i][j] != 0 for i in left for j in left)
        left.remove(pivot)
        p = M[pivot][pivot]
        for i in left:
            for j in left:
                M[i][j] = (p * M[i][j] - M[i][pivot] * M[pivot][j]) / previous
        # Bareiss: the division by the pivot before is exact.
        M = [[fmpz(int(x)) if not isinstance(x, fmpz) else x for x in row] for row in M]
        previous = p
    return True


class Kernels:
    """K = X X^T and K~ = X R R^T X^T as exact matrices."""

    def __init__(self, X, indices, weights):
        Z, s = integers(X)
        B, t = integers(np.asarray(weights)[None, :])
        kept = fmpz_mat([[Z[i, int(j)] * B[0, a] for a, j in enumerate(indices)] for i in range(Z.nrows())])
        self.n = Z.nrows()
        self.K = fmpq_mat(Z * Z.transpose()) * fmpq(1, fmpz(2) ** s) * fmpq(1, fmpz(2) ** s)
        self.kept = fmpq_mat(kept * kept.transpose()) * fmpq(1, fmpz(2) ** (s + t)) * fmpq(1, fmpz(2) ** (s + t))

    def at_least(self, low, alpha=0.0):
        """Whether low (K + alpha I) <= K~ + alpha I."""
        A, B = self._with(alpha)
        return semidefinite(B - A * rational(low))

    def at_most(self, high, alpha=0.0):
        """Whether K~ + alpha I <= high (K + alpha I)."""
        A, B = self._with(alpha)
        return semidefinite(A * rational(high) - B)

    def bias_at_most(self, factor, alpha):
        """Whether ||(K~ + alpha)^-1 (K + alpha)||^2 <= factor: A^2 <= factor B^2."""
        A, B = self._with(alpha)
        return semidefinite(B * B * rational(factor) - A * A)

    def variance_at_most(self, factor, alpha):
        """Whether tr (K~ (K~ + alpha)^-1)^2 <= factor tr (K (K + alpha)^-1)^2."""
        A, B = self._with(alpha)
        before, after = (_trace_of_square(M * N.inv()) for M, N in ((self.K, A), (self.kept, B)))
        return after <= before * rational(factor)

    def _with(self, alpha):
        eye = fmpq_mat([[fmpq(int(i == j)) for j in range(self.n)] for i in range(self.n)]) * rational(alpha)
        return self.K + eye, self.kept + eye


def _trace_of_square(M):
    return sum((M[i, j] * M[j, i] for i in range(M.nrows()) for j in range(M.nrows())), fmpq(0))


def dual_value(X, y, C, loss, beta):
    """A ball around the dual objective at beta, made feasible by taking what its sum is off from one entry."""
    beta, y = [Fraction(float(b)) for b in beta], [Fraction(float(v)) for v in y]
    off, C = sum(beta), Fraction(float(C))
    if off:
        largest = max((i for i, b in enumerate(beta) if (b > 0) == (off > 0)), key=lambda i: abs(beta[i]))
        beta[largest] -= off
    sizes = [v * b for v, b in zip(y, beta, strict=True)]
    if loss != "squared" and any(not s >= 0 or (loss in ("hinge", "logistic") and s > C) for s in sizes):
        return None
    columns = [[Fraction(float(x)) for x in column] for column in np.asarray(X, dtype=np.float64).T]
    square = sum((sum(x * b for x, b in zip(column, beta, strict=True) if b)) ** 2 for column in columns)
    if loss == "logistic":
        return sum((_ball(C) * _entropy(_ball(s / C)) for s in sizes), arb(0)) - _ball(square / 2)
    gains = sizes if loss == "hinge" else [s - b * b / (4 * C) for s, b in zip(sizes, beta, strict=True)]
    return _ball(sum(gains) - square / 2)


def primal_value(X, y, C, loss, w, b):
    """A ball around the objective of a linear model."""
    w, total = [Fraction(float(v)) for v in w], arb(0)
    for row, label in zip(np.asarray(X, dtype=np.float64), y, strict=True):
        f = sum((Fraction(float(x)) * v for x, v in zip(row, w, strict=True)), Fraction(float(b)))
        label = Fraction(float(label))
        if loss == "logistic":
            total += (1 + (-_ball(label * f)).exp()).log()
        else:
            short = label - f if loss == "squared" else max(Fraction(0), 1 - label * f)
            total += _ball(short if loss == "hinge" else short**2)
    return _ball(sum(v * v for v in w) / 2) + _ball(Fraction(float(C))) * total


def _ball(x):
    ctx.prec = 250
    return arb(fmpq(x.numerator, x.denominator))


def _entropy(p):
    return -sum((q * q.log() for q in (p, 1 - p) if q > 0), arb(0))
