r"""Rank-revealing column choice: QR with column pivoting, one product with the data a step.

A    : (d, n) features in rows, so that a column of X is a row of A
Q    : (n, k) orthonormal basis of the columns chosen so far
rho2 : (d,) squared norms of what Q leaves of each column

Each step takes the column with the largest residual and subtracts (a . q)^2 from all rho2, which
is what Householder QR with pivoting does [BusingerGolub1965], without its d x n work array: sparse data
stay sparse. Differences lose digits as residuals shrink, so they are computed afresh from the data
whenever they have fallen by `_REFRESH`.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import Array, Index, Rows, well_scaled
from rarefy.core.linalg.spectrum import EPS

_REFRESH = 1e-6


@dataclass(frozen=True)
class PivotedColumns:
    """Columns in the order of choice, and how many of them the rank accounts for."""

    indices: Index
    rank: int
    """Past this many columns the order follows rounding errors and means nothing."""


def pivoted_columns(X: Rows, r: int, *, past_rank: bool = False) -> PivotedColumns:
    """Choose r columns of X by pivoted QR; stop at the rank unless told to go on.

    With `past_rank` the remaining columns follow in the order of their (rounding-size) residuals.
    """
    A, _ = well_scaled(X.T)
    d, n = A.shape
    Q = np.zeros((n, min(n, d, r)))
    rho2 = A.row_norms() ** 2
    reference = float(rho2.max(initial=0.0))
    floor2 = (max(n, d) * EPS) ** 2 * reference
    chosen: list[int] = []
    while len(chosen) < Q.shape[1]:
        if rho2.max() <= _REFRESH * reference:
            rho2 = _residuals2(A, Q[:, : len(chosen)])
            rho2[chosen] = -np.inf
            reference = float(rho2.max())
        i = int(rho2.argmax())
        if not rho2[i] > floor2:
            break
        q = _orthonormal(A.take(np.array([i]))[0], Q[:, : len(chosen)])
        Q[:, len(chosen)] = q
        chosen.append(i)
        rho2 -= (A @ q) ** 2
        rho2[i] = -np.inf
    rank = len(chosen)
    if past_rank and rank < min(r, d):
        rho2 = _residuals2(A, Q[:, :rank])
        rho2[chosen] = -np.inf
        chosen += np.argsort(-rho2, kind="stable")[: min(r, d) - rank].tolist()
    return PivotedColumns(np.array(chosen, dtype=np.intp), rank)


def _residuals2(A: Rows, Q: Array) -> Array:
    residual2 = np.empty(A.shape[0])
    for rows, block in A.blocks():
        residual2[rows] = np.sum((block - (block @ Q) @ Q.T) ** 2, axis=1)
    return residual2


def _orthonormal(a: Array, Q: Array) -> Array:
    for _ in range(2):  # twice is enough
        a = a - Q @ (Q.T @ a)
    return a / np.linalg.norm(a)
