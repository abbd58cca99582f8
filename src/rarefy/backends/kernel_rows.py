"""Kernel values of many samples with few: kept in memory, on disk, or computed again whenever they are needed."""

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.config import current_config
from rarefy.core.linalg import norms
from rarefy.core.linalg.rows import Array, DenseRows, Index, Rows, TransposedRows, edges, largest_of

Block = Callable[[Any], Any]
"""Gives the rows of a slice or of an array of numbers, dense."""


class KernelRows:
    """Rows that are computed block by block on demand; `block(rows)` gives dense rows."""

    def __init__(self, shape: tuple[int, int], block: Block, factor: float = 1.0) -> None:
        self.shape = shape
        self._block, self._factor = block, factor

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @property
    def T(self) -> TransposedRows:
        return TransposedRows(self)

    def __matmul__(self, v: Array) -> Array:
        product = np.empty((self.shape[0], *v.shape[1:]))
        for rows, block in self.blocks():
            product[rows] = block @ v
        return product

    def transposed_product(self, u: Array) -> Array:
        total = np.zeros((self.shape[1], *u.shape[1:]))
        for rows, block in self.blocks():
            total += block.T @ u[rows]
        return total

    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        G = np.zeros((self.shape[1], self.shape[1]))
        for rows, block in self.blocks():
            G += block.T @ (block if w is None else block * w[rows, None])
        return G

    def sketch(self, G: Array) -> Array:
        total = np.zeros((len(G), self.shape[1]))
        for rows, block in self.blocks():
            total += G[:, rows] @ block
        return total

    def take(self, index: Index | slice, T: Array | None = None) -> Array:
        dense = self._factor * np.asarray(self._block(index), dtype=np.float64)
        return dense if T is None else dense @ T

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        for rows in edges(*self.shape):
            yield rows, self.take(rows, T)

    def subset(self, index: Index) -> "KernelRows":
        index = np.arange(self.shape[0])[index]
        return KernelRows((len(index), self.shape[1]), lambda rows: self._block(index[rows]), self._factor)

    def scaled(self, factor: float) -> "KernelRows":
        return KernelRows(self.shape, self._block, self._factor * factor)

    def row_norms(self) -> Array:
        return norms.row_norms(self.blocks(), self.shape[0])

    def column_norms(self) -> Array:
        return norms.column_norms(self.blocks(), self.shape[1])

    def largest_entry(self) -> float:
        return largest_of(self.blocks())


def kernel_rows(shape: tuple[int, int], block: Block) -> tuple[Rows, str]:
    """Kernel values as Rows, and a word for where they are.

    In float64 if that fits the memory budget, else in float32 if that does; else computed again at every product
    ("recompute") or written to a temporary file ("disk", float32). See `rarefy.set_config`.
    """
    settings = current_config()
    entries, lazy = shape[0] * shape[1], KernelRows(shape, block)
    if 4 * entries <= settings.memory_budget:
        A: NDArray[Any] = np.empty(shape, dtype=np.float64 if 8 * entries <= settings.memory_budget else np.float32)
        return DenseRows(_filled(A, lazy)), A.dtype.name
    if settings.overflow == "recompute":
        return lazy, "recomputed"
    folder = tempfile.mkdtemp(prefix="rarefy-", dir=settings.scratch_folder)
    try:
        A = np.memmap(Path(folder) / "kernel", dtype=np.float32, mode="w+", shape=shape)
        weakref.finalize(A, shutil.rmtree, folder, ignore_errors=True)  # the file lives as long as the array
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return DenseRows(_filled(A, lazy)), "on disk"


def _filled(A: NDArray[Any], rows: Rows) -> NDArray[Any]:
    for part, block in rows.blocks():
        A[part] = block
    return A
