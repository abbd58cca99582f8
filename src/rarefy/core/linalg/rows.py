"""Rows: the only way a solver touches a matrix with many rows.

A : (n, k) matrix, n large, k small enough that a k x k matrix is cheap
w : (n,) weights of the rows
G : (t, n) sketching matrix

A solver asks for products, weighted Gram matrices, sketches and dense blocks of rows, and never
for the kind of storage. Whatever the storage's precision, results are float64: a float32 matrix
is widened block by block, so that sums over many rows keep their digits and memory stays flat.
"""

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy.core.linalg import moments, norms

Array = NDArray[np.float64]
Index = NDArray[np.intp]

BLOCK_ENTRIES = 1 << 19
"""Entries of one dense block: 4 MB in float64, about the size of a core's share of cache."""

WIDENED_ENTRIES = 1 << 18
"""Entries of a block that a product widens from float32 and reads once: 2 MB, a core's own cache. Smaller ones are
slower by what a call costs, larger ones by BLAS threads that wait for each other."""


@runtime_checkable
class Rows(Protocol):
    """An n x k matrix, wherever and however it is stored."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n, k)."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Precision in which the entries are stored (results are float64 all the same)."""

    @property
    def T(self) -> "Rows":
        """The transposed matrix, sharing the data."""

    def __matmul__(self, v: Array) -> Array:
        """A v for a vector or a matrix v."""

    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        """A^T diag(w) A; if `rough`, products of entries may be rounded to single precision where that is faster."""

    def sketch(self, G: Array) -> Array:
        """G A."""

    def take(self, index: Index, T: Array | None = None) -> Array:
        """The rows with these numbers, of A or of A T, as a dense block."""

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        """All rows in order, of A or of A T, as dense blocks of bounded size."""

    def subset(self, index: Index) -> "Rows":
        """The rows with these numbers, in the same kind of storage."""

    def scaled(self, factor: float) -> "Rows":
        """The matrix times a number, as a copy."""

    def row_norms(self) -> Array:
        """Euclidean lengths of the rows, without squares that could vanish or overflow."""

    def column_norms(self) -> Array:
        """Euclidean lengths of the columns, likewise."""

    def largest_entry(self) -> float:
        """Largest absolute value; 0 if there is none."""


def edges(n: int, width: int, entries: int | None = None) -> Iterator[slice]:
    """Slices of n rows of this width, each of bounded size."""
    step = max(1, (entries or BLOCK_ENTRIES) // max(width, 1))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _widened(A: NDArray[Any]) -> Iterator[tuple[slice, Array]]:
    """Rows in float64, in small blocks that overwrite each other: they stay in a core's own cache."""
    n, width = A.shape
    step = min(n, max(1, WIDENED_ENTRIES // max(width, 1)))
    buffer = np.empty((step, width))
    for start in range(0, n, max(step, 1)):
        rows = slice(start, min(start + step, n))
        block = buffer[: rows.stop - start]
        np.copyto(block, A[rows])
        yield rows, block


class DenseRows:
    """A dense array, float32 or float64."""

    def __init__(self, A: NDArray[Any]) -> None:
        self._A = A
        self.shape = (A.shape[0], A.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._A.dtype

    @property
    def T(self) -> "DenseRows":
        return DenseRows(self._A.T)

    def __matmul__(self, v: Array) -> Array:
        A = self._A
        if A.dtype == np.float64:
            return A @ v
        product = np.zeros((self.shape[0], *v.shape[1:]))
        if self._by_columns:
            for columns, block in _widened(A.T):
                product += block.T @ v[columns]
        else:
            for rows, block in _widened(A):
                product[rows] = block @ v
        return product

    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        if w is None and not rough:
            # One symmetric rank-n product, or many of blocks that are widened.
            return self._A.T @ self._A if self._A.dtype == np.float64 else self.gram_and_sums()[0]
        G = np.zeros((self.shape[1], self.shape[1]))
        if w is None or w.min(initial=0.0) >= 0.0:
            root = np.ones(self.shape[0]) if w is None else np.sqrt(w)
            buffer = np.empty(0, dtype=np.float32 if rough else np.float64)
            for rows in edges(*self.shape):
                block = self._A[rows]
                if len(buffer) < len(block):  # allocated once: fresh pages for every block cost as much as the product
                    buffer = np.empty(block.shape, dtype=buffer.dtype)
                half = np.multiply(block, root[rows, None], out=buffer[: len(block)], casting="same_kind")
                G += half.T @ half  # a symmetric product: half the work of a general one
            return G
        for rows, block in self.blocks():
            G += block.T @ (block * w[rows, None])
        return G

    def gram_and_sums(self) -> tuple[Array, Array]:
        """A^T A and A^T 1."""
        return moments.gram_and_sums(self._A, WIDENED_ENTRIES)

    def sketch(self, G: Array) -> Array:
        if self._A.dtype == np.float64:
            return G @ self._A
        total = np.zeros((len(G), self.shape[1]))
        for rows, block in self.blocks():
            total += G[:, rows] @ block
        return total

    def take(self, index: Index, T: Array | None = None) -> Array:
        block = self._A[index].astype(np.float64, copy=False)
        return block if T is None else block @ T

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        for rows in edges(*self.shape):
            block = self._A[rows].astype(np.float64, copy=False)
            yield rows, block if T is None else block @ T

    def subset(self, index: Index) -> "DenseRows":
        return DenseRows(self._A[index])

    def scaled(self, factor: float) -> "DenseRows":
        return DenseRows(self._A.astype(np.float64) * factor)

    def row_norms(self) -> Array:
        if self._by_columns:
            return norms.column_norms(self.T.blocks(), self.shape[0])
        return norms.row_norms(self.blocks(), self.shape[0])

    def column_norms(self) -> Array:
        if self._by_columns:
            return norms.row_norms(self.T.blocks(), self.shape[1])
        return norms.column_norms(self.blocks(), self.shape[1])

    def largest_entry(self) -> float:
        return largest_of(self.T.blocks() if self._by_columns else self.blocks())

    def squares_around(self, mean: Array, weight: Array) -> tuple[Array, Array]:
        """Weighted sums of squares of each column's distances from a number, and its largest absolute entry."""
        square, largest = np.zeros(self.shape[1]), np.zeros(self.shape[1])
        for rows, block in _widened(self._A):
            np.maximum(largest, block.max(axis=0, initial=0.0), out=largest)
            np.maximum(largest, -block.min(axis=0, initial=0.0), out=largest)
            block -= mean
            np.multiply(block, block, out=block)
            square += weight[rows] @ block
        return square, largest

    @property
    def _by_columns(self) -> bool:
        """Whether the entries of a column lie together, as in a transposed array: it is then read by columns."""
        return bool(self._A.strides[0] < self._A.strides[1])


class SparseRows:
    """A CSR or CSC matrix; never made dense beyond one block of rows.

    Products take either format, so a transpose costs nothing; a CSC matrix is converted when rows are asked for, once.
    """

    def __init__(self, A: Any) -> None:
        self._A = sp.csc_array(A) if A.format == "csc" else sp.csr_array(A)
        self.shape = (A.shape[0], A.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._A.dtype

    @property
    def T(self) -> "SparseRows":
        return SparseRows(self._A.T)

    @cached_property
    def _by_rows(self) -> Any:
        return sp.csr_array(self._A)

    def __matmul__(self, v: Array) -> Array:
        return self._A @ v

    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        A = self._A.astype(np.float64, copy=False)
        weighted = A if w is None else sp.diags_array(w) @ A
        return (A.T @ weighted).toarray()

    def sketch(self, G: Array) -> Array:
        return np.ascontiguousarray((self._A.T @ G.T).T)

    def take(self, index: Index, T: Array | None = None) -> Array:
        return self._dense(self._by_rows[index], T)

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        n, k = self.shape
        for rows in edges(n, k if T is None else T.shape[1]):
            yield rows, self._dense(self._by_rows[rows], T)

    def subset(self, index: Index) -> "SparseRows":
        return SparseRows(self._by_rows[index])

    def with_factors(self, factors: Array) -> "SparseRows":
        """The matrix with each row times a number."""
        return SparseRows(sp.diags_array(factors) @ self._by_rows)

    def scaled(self, factor: float) -> "SparseRows":
        return SparseRows(self._A.astype(np.float64) * factor)

    def row_norms(self) -> Array:
        return self._norms(0)

    def column_norms(self) -> Array:
        return self._norms(1)

    def largest_entry(self) -> float:
        return float(np.abs(self._canonical().data).max(initial=0.0))

    def squares_around(self, mean: Array, weight: Array) -> tuple[Array, Array]:
        """Weighted sums of squares of each column's distances from a number, and its largest absolute entry."""
        A = sp.coo_array(self._canonical())
        row, column = A.row, A.col
        stored = np.bincount(column, weights=weight[row], minlength=self.shape[1])
        distance = np.bincount(column, weights=weight[row] * (A.data - mean[column]) ** 2, minlength=self.shape[1])
        # A difference of sums would leave rounding where all entries are stored, times a square that may be large.
        zeros = np.where(np.bincount(column, minlength=self.shape[1]) < self.shape[0], weight.sum() - stored, 0.0)
        largest = np.zeros(self.shape[1])
        np.maximum.at(largest, column, np.abs(A.data))
        return distance + np.maximum(zeros, 0.0) * mean**2, largest

    @property
    def matrix(self) -> Any:
        """The stored matrix."""
        return self._A

    def _norms(self, axis: int) -> Array:
        A, numbered = self._canonical(), 0 if self._A.format == "csc" else 1  # the axis whose numbers are stored
        group = A.indices if axis == numbered else np.repeat(np.arange(self.shape[axis]), np.diff(A.indptr))
        return norms.grouped_norms(A.data, group, self.shape[axis])

    def _canonical(self) -> Any:
        """The matrix with every entry stored once: squares of an entry's parts do not add up to its square."""
        if self._A.has_canonical_format:
            return self._A
        A = self._A.copy()
        A.sum_duplicates()
        return A

    @staticmethod
    def _dense(A: Any, T: Array | None) -> Array:
        dense = A.toarray().astype(np.float64, copy=False) if T is None else A @ T
        return dense


class OnDemand(Rows, Protocol):
    """Rows that are computed when they are asked for, and so are products with their transpose."""

    def transposed_product(self, u: Array) -> Array:
        """A^T u, in one pass over the rows."""


class TransposedRows:
    """The transpose of rows on demand: products stream; what needs entries makes the matrix dense, once a call."""

    def __init__(self, rows: OnDemand) -> None:
        self._rows = rows
        self.shape = (rows.shape[1], rows.shape[0])

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._rows.dtype

    @property
    def T(self) -> OnDemand:
        return self._rows

    def __matmul__(self, u: Array) -> Array:
        return self._rows.transposed_product(u)

    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        return self._dense().gram(w, rough=rough)

    def sketch(self, G: Array) -> Array:
        return (self._rows @ G.T).T

    def take(self, index: Index, T: Array | None = None) -> Array:
        dense = np.empty((len(np.arange(self.shape[0])[index]), self.shape[1]))
        for rows, block in self._rows.blocks():
            dense[:, rows] = block[:, index].T
        return dense if T is None else dense @ T

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        yield from self._dense().blocks(T)

    def subset(self, index: Index) -> DenseRows:
        return DenseRows(self.take(index))

    def scaled(self, factor: float) -> Rows:
        return self._rows.scaled(factor).T

    def row_norms(self) -> Array:
        return self._rows.column_norms()

    def column_norms(self) -> Array:
        return self._rows.row_norms()

    def largest_entry(self) -> float:
        return self._rows.largest_entry()

    def _dense(self) -> DenseRows:
        return DenseRows(self.take(np.arange(self.shape[0])))


def as_rows(X: Any) -> Rows:
    """Wrap an array, a sparse matrix or anything numpy can read; `Rows` pass through."""
    if isinstance(X, Rows):
        return X
    if sp.issparse(X):
        # Products of integer or boolean matrices would wrap around or saturate.
        return SparseRows(X if X.dtype.kind == "f" else X.astype(np.float64))
    A = np.asarray(X)
    return DenseRows(A if A.dtype in (np.float32, np.float64) else A.astype(np.float64))


def streamed_gram(A: Rows, T: Array) -> Array:
    """(A T)^T (A T) without ever holding A T: one pass over blocks of rows."""
    known = getattr(A, "gram_of", None)  # where rows are elsewhere, A T stays there
    if known is not None:
        found: Array = known(T)
        return found
    G = np.zeros((T.shape[1], T.shape[1]))
    for _, P in A.blocks(T):
        G += P.T @ P
    return G


def largest_of(blocks: Iterable[tuple[slice, Array]]) -> float:
    """Largest absolute value in blocks of rows."""
    return max((float(np.abs(block).max(initial=0.0)) for _, block in blocks), default=0.0)


def largest_entry(A: Rows) -> float:
    """Largest absolute value in A."""
    return A.largest_entry()


def well_scaled(A: Rows) -> tuple[Rows, float]:
    """A, or A divided by a number such that squares neither overflow nor vanish, and that number."""
    scale = 1.0
    largest = A.largest_entry()
    while largest > 0.0 and not 1e-100 < largest < 1e100:
        step = min(max(largest, 1e-300), 1e300)  # the inverse of a subnormal number would overflow
        A, scale = A.scaled(1.0 / step), scale * step
        largest = A.largest_entry()
    return A, scale
