"""Kernel values of many samples with few: kept in memory, on disk, or computed again whenever they are needed."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy._files import size_in_words
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.config import current_config
from rarefy.core.linalg.rows import BLOCK_ENTRIES, Array, DenseRows, Index, Rows, edges

Block = Callable[[Any], Any]
"""Gives the rows of a slice or of an array of numbers, dense."""
Fill = Callable[[Any, NDArray[Any]], Any]
"""Writes such rows into an array, in its precision."""


class KernelRows(StreamedRows):
    """Rows that are computed block by block on demand; `block(rows)` gives dense rows.

    Products may take rows in single precision, which `fill(rows, out)` writes into an array: exponentials and products
    are twice as fast, and an array that is used again costs no fresh pages. Sums are in double precision.
    """

    _overwritten = _budgeted = False

    def __init__(self, shape: tuple[int, int], block: Block, factor: float = 1.0, fill: Fill | None = None) -> None:
        self.shape = shape
        self._block, self._factor, self._fill = block, factor, fill

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Array]]:
        yield from ((rows, self.take(rows)) for rows in edges(*self.shape))

    def _passing(self) -> Iterator[tuple[slice, Rows]]:
        """Blocks that overwrite each other."""
        n, k = self.shape
        if self._fill is None:
            yield from self._parts()
            return
        step = max(1, min(n, BLOCK_ENTRIES // max(k, 1)))
        single, double = np.empty((step, k), dtype=np.float32), np.empty((step, k))
        for first in range(0, n, step):
            rows = slice(first, min(first + step, n))
            block = double[: rows.stop - first]
            self._fill(rows, single[: len(block)])
            np.copyto(block, single[: len(block)])
            if self._factor != 1.0:
                block *= self._factor
            yield rows, DenseRows(block)

    def take(self, index: Index | slice, T: Array | None = None) -> Array:
        dense = self._factor * np.asarray(self._block(index), dtype=np.float64)
        return dense if T is None else dense @ T

    def subset(self, index: Index) -> "KernelRows":
        index = np.arange(self.shape[0])[index]
        fill = self._fill
        part = None if fill is None else lambda rows, out: fill(index[rows], out)
        return KernelRows((len(index), self.shape[1]), lambda rows: self._block(index[rows]), self._factor, part)

    def scaled(self, factor: float) -> "KernelRows":
        return KernelRows(self.shape, self._block, self._factor * factor, self._fill)


@dataclass(frozen=True)
class KernelValues:
    """A matrix of kernel values before it is decided where they are kept."""

    shape: tuple[int, int]
    block: Block
    fill: Fill
    cheap: bool
    """Whether computing a value takes hardly longer than reading it from a disk."""


def kernel_rows(values: KernelValues, reserved: float = 0.0) -> tuple[Rows, str]:
    """Kernel values as Rows, and a word for where they are and why.

    In float64 if that fits the memory budget less what is reserved, else in float32 if that does; else they are
    computed again at every product or written to a temporary file, whichever costs less or `overflow` of
    `rarefy.set_config` says, both in float32.
    """
    settings, entries = current_config(), values.shape[0] * values.shape[1]
    room = settings.memory_budget - reserved
    if 8 * entries <= room:
        return DenseRows(_filled(np.empty(values.shape), values)), "float64"
    if 4 * entries <= room:
        A = _filled(np.empty(values.shape, dtype=np.float32), values)
        return DenseRows(A), f"float32: {_too_large(8 * entries, settings.memory_budget)}"
    why = _too_large(4 * entries, settings.memory_budget)
    if settings.overflow == "disk" or (settings.overflow == "auto" and not values.cheap and _fits_disk(4 * entries)):
        return DenseRows(_filled(_on_disk(values.shape, settings.scratch_folder), values)), f"on disk: {why}"
    return KernelRows(values.shape, values.block, fill=values.fill), f"recomputed: {why}"


def _too_large(size: float, budget: float) -> str:
    return f"{size_in_words(size)} do not fit memory_budget={size_in_words(budget)}"


def _fits_disk(size: float) -> bool:
    folder = current_config().scratch_folder or tempfile.gettempdir()
    return shutil.disk_usage(folder).free > 2.0 * size


def _on_disk(shape: tuple[int, int], scratch_folder: str | None) -> NDArray[Any]:
    """An array in a temporary file; nothing is left of it when the process ends, however it ends."""
    with tempfile.TemporaryFile(prefix="rarefy-", dir=scratch_folder) as file:
        return np.memmap(file, dtype=np.float32, mode="w+", shape=shape)


def _filled(A: NDArray[Any], values: KernelValues) -> NDArray[Any]:
    for rows in edges(*values.shape):
        values.fill(rows, A[rows])
    return A
