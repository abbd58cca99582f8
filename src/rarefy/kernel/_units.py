"""Columns in different units: by which factor each is multiplied before a kernel compares samples."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.sparsefuncs import mean_variance_axis

from rarefy.backends.samples import Samples, is_sparse
from rarefy.core.linalg.columns import column_deviations
from rarefy.core.linalg.rows import Array, edges

FEW = 0.4
"""With standardize="auto", columns are standardised if distances depend on a smaller share of them than this."""


def column_variances(X: Any, weights: Array) -> Array:
    """Variances of the columns, in one pass (two over blocks); each row counts as often as its weight says."""
    if isinstance(X, Samples):
        return column_deviations(X.rows(), weights / weights.sum())[0] ** 2
    if sp.issparse(X):
        return np.asarray(mean_variance_axis(X, axis=0, weights=weights.astype(X.dtype))[1], dtype=np.float64)
    # Squares of large values would lose the digits of small differences, so a mean is taken off first: that of some
    # rows will do.
    share = weights / weights.sum()
    some = np.linspace(0, X.shape[0] - 1, min(X.shape[0], 100)).astype(np.intp)
    near = X[some].mean(axis=0, dtype=np.float64)
    mean, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    for rows in edges(*X.shape):
        centred = X[rows] - near
        weighted = share[rows, None] * centred
        mean += weighted.sum(axis=0)
        squares += np.einsum("ij,ij->j", weighted, centred)
    return np.maximum(squares - mean**2, 0.0)


def effective_share(variances: Array) -> float:
    """Which share of the columns distances depend on: 1 if all variances are equal, 0 if one column decides alone.

    The squared sum of the variances over the sum of their squares is the number of columns that count; columns without
    variance are left out.
    """
    v = variances[variances > 0.0]
    if len(v) < 2:
        return 1.0
    v = v / v.max()
    return float((v.sum() ** 2 / (v @ v) - 1.0) / (len(v) - 1.0))


def column_factors(standardize: Any, X: Any, variances: Array) -> Array | None:
    """One over each column's standard deviation, where columns are standardised; None if they stay as they are.

    With "auto" that is where distances would depend on few columns, those with the largest units. Sparse data stay as
    they are: their columns are mostly counts of one kind, and rare ones would count most.
    """
    if standardize == "auto":
        standardize = not is_sparse(X) and effective_share(variances) < FEW
    if not standardize:
        return None
    deviation = np.sqrt(variances)
    return np.divide(1.0, deviation, out=np.ones_like(deviation), where=deviation > 1e-150)


def scaled(X: Any, factors: Array | None) -> Any:
    """Columns of X times their factors, in the precision of X."""
    if factors is None:
        return X
    factors = factors.astype(X.dtype, copy=False)
    return X @ sp.diags_array(factors).tocsr() if sp.issparse(X) else X * factors
