"""Kernel values of many points with few: kept in memory, on disk, or computed again whenever they are needed."""

import shutil
import tempfile
import weakref
from pathlib import Path

import numpy as np

from rarefy.core.linalg.rows import DenseRows, edges


class KernelRows:
    """Rows that are computed block by block on demand; `block(slice)` gives dense rows."""

    def __init__(self, shape, block, factor=1.0):
        self.shape, self.dtype = shape, np.dtype(np.float64)
        self._block, self._factor = block, factor

    @property
    def T(self):
        """The transposed matrix, computed on demand as well."""
        return _Transposed(self)

    def __matmul__(self, v):
        product = np.empty((self.shape[0], *v.shape[1:]))
        for rows, block in self.blocks():
            product[rows] = block @ v
        return product

    def gram(self, w=None, *, rough=False):
        """Weighted Gram matrix, in one pass."""
        G = np.zeros((self.shape[1], self.shape[1]))
        for rows, block in self.blocks():
            G += block.T @ (block if w is None else block * w[rows, None])
        return G

    def sketch(self, G):
        """G A, in one pass."""
        total = np.zeros((len(G), self.shape[1]))
        for rows, block in self.blocks():
            total += G[:, rows] @ block
        return total

    def take(self, index, T=None):
        """Some rows, as a dense block."""
        dense = self._factor * np.asarray(self._block(index), dtype=np.float64)
        return dense if T is None else dense @ T

    def blocks(self, T=None):
        """All rows in order."""
        for rows in edges(*self.shape):
            yield rows, self.take(rows, T)

    def subset(self, index):
        """Some rows, still computed on demand."""
        index = np.arange(self.shape[0])[index]
        return KernelRows((len(index), self.shape[1]), lambda rows: self._block(index[rows]), self._factor)

    def scaled(self, factor):
        """The matrix times a number."""
        return KernelRows(self.shape, self._block, self._factor * factor)


class _Transposed(DenseRows):
    """The transpose of rows on demand: products stream, everything else is made dense (the matrix is small then)."""

    def __init__(self, rows):
        self._rows, self.shape = rows, rows.shape[::-1]

    @property
    def dtype(self):
        return self._rows.dtype

    @property
    def T(self):
        return self._rows

    @property
    def _A(self):
        return self._rows.take(slice(None)).T

    def __matmul__(self, u):
        total = np.zeros((self.shape[0], *u.shape[1:]))
        for rows, block in self._rows.blocks():
            total += block.T @ u[rows]
        return total


def kernel_rows(shape, block, *, budget, overflow):
    """Kernel values as Rows, and a word for where they are.

    In float64 if that fits the budget (bytes), else in float32 if that does; else computed again at every
    product ("recompute") or written to a temporary file ("disk", float32).
    """
    entries, lazy = shape[0] * shape[1], KernelRows(shape, block)
    if 8 * entries <= budget or 4 * entries <= budget:
        dtype = np.float64 if 8 * entries <= budget else np.float32
        A = np.empty(shape, dtype=dtype)
        _fill(A, lazy)
        return DenseRows(A), np.dtype(dtype).name
    if overflow == "recompute":
        return lazy, "recomputed"
    folder = tempfile.mkdtemp(prefix="rarefy-")
    A = np.memmap(Path(folder) / "kernel", dtype=np.float32, mode="w+", shape=shape)
    weakref.finalize(A, shutil.rmtree, folder, ignore_errors=True)  # the file lives as long as the array
    _fill(A, lazy)
    return DenseRows(A), "on disk"


def _fill(A, rows):
    for part, block in rows.blocks():
        A[part] = block
