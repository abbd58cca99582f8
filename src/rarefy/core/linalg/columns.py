"""Columns of rows: some of them times numbers, their sums, products, means and deviations."""

import numpy as np

from rarefy.core.linalg import rows
from rarefy.core.linalg.rows import Array, DenseRows, Index, Rows, SparseRows


def column_deviations(A: Rows, weight: Array) -> tuple[Array, Array]:
    """Standard deviation of each column, with rows that are weighted by numbers with sum 1, and its largest entry."""
    square, largest = squares_around(A, A.T @ weight, weight)
    return np.sqrt(square), largest


def squares_around(A: Rows, mean: Array, weight: Array) -> tuple[Array, Array]:
    """Weighted sums of squares of each column's distances from a number, and its largest absolute entry."""
    around = getattr(A, "squares_around", None)
    if around is not None:
        found: tuple[Array, Array] = around(mean, weight)
        return found
    square, largest = np.zeros(A.shape[1]), np.zeros(A.shape[1])
    for some, block in A.blocks():
        part, largest_here = DenseRows(block).squares_around(mean, weight[some])
        square += part
        np.maximum(largest, largest_here, out=largest)
    return square, largest


def gathered(A: Rows, index: Index, factors: Array) -> Rows:
    """Some rows of A, each times a number, as the columns of a matrix: stored as A is if it is large and sparse.

    Where A is the transpose of rows that are streamed, so are its columns unless they are few.
    """
    streamed = getattr(A.T, "gathered", None)
    if streamed is not None:
        chosen: Rows = streamed(index, factors)
        return chosen
    part = A.subset(index) if len(index) * A.shape[1] > rows.BLOCK_ENTRIES else None
    if isinstance(part, SparseRows):
        return part.with_factors(factors).T
    dense = A.take(index)  # a copy: rows are picked by their numbers
    dense *= factors[:, None]
    return DenseRows(dense.T)


def dense_columns(X: Rows, index: Index, factors: Array) -> Rows:
    """Some columns of X, each times a number, as a dense matrix; streamed where they are and are not few."""
    streamed = getattr(X, "gathered", None)
    if streamed is not None:
        chosen: Rows = streamed(index, factors)
        return chosen
    return DenseRows((X.T.take(index) * factors[:, None]).T)


def gram_and_sums(A: Rows) -> tuple[Array, Array]:
    """A^T A and A^T 1: of dense rows from one look at them."""
    both = getattr(A, "gram_and_sums", None)
    if both is not None:
        found: tuple[Array, Array] = both()
        return found
    return A.gram(), A.T @ np.ones(A.shape[0])


def column_means(A: Rows) -> Array:
    """Mean of every column."""
    known = getattr(A, "column_means", None)
    if known is not None:
        means: Array = known()
        return means
    n = A.shape[0]
    return A.sketch(np.full((1, n), 1.0 / n))[0]
