"""Kernel values of many samples with few: kept in memory, on disk, or computed again whenever they are needed."""

import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy._files import size_in_words
from rarefy._input import RowMap
from rarefy._journal import recorded
from rarefy.backends.dask_rows import DaskRows
from rarefy.backends.samples import Samples, pieces
from rarefy.backends.scratch_rows import ScratchRows
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

    @recorded
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
    """A matrix of kernel values before it is decided where they are kept: rows made of samples."""

    X: Any
    """Samples: an array, or `Samples` in blocks."""
    made: RowMap
    cheap: bool
    """Whether computing a value takes hardly longer than reading it from a disk."""

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of kernel functions."""
        return self.X.shape[0], self.made.width

    def on_demand(self) -> Rows:
        """Computed again at every product."""
        if isinstance(self.X, Samples):
            return self.X.rows().mapped(self.made)
        X, made = self.X, self.made
        write = made.fill
        fill = None if write is None else lambda rows, out: write(X[rows], out)
        return KernelRows(self.shape, lambda rows: made.values(X[rows]), fill=fill)

    def written(self, A: NDArray[Any]) -> NDArray[Any]:
        """All values in an array."""
        for rows, part in pieces(self.X, self.made.width):
            self._write(part, A[rows])
        return A

    def write_single(self, append: Callable[[NDArray[Any]], None]) -> None:
        """Call a function with block after block of values in single precision, each gone after the call."""
        block = np.empty((0, self.made.width), dtype=np.float32)
        for _, part in pieces(self.X, self.made.width):
            block = np.empty((part.shape[0], self.made.width), np.float32) if part.shape[0] > len(block) else block
            self._write(part, block[: part.shape[0]])
            append(block[: part.shape[0]])

    def _write(self, part: Any, out: NDArray[Any]) -> None:
        if self.made.fill is None:
            out[...] = self.made.values(part)
        else:
            self.made.fill(part, out)


def kernel_rows(values: KernelValues, reserved: float = 0.0) -> tuple[Rows, str]:
    """Kernel values as Rows, and a word for where they are and why.

    In float64 if that fits the memory budget less what is reserved, else in float32 if that does; else they are
    computed again at every product or written to a temporary file, whichever costs less or `overflow` of
    `rarefy.set_config` says, both in float32.
    """
    samples = values.X.rows() if isinstance(values.X, Samples) else None
    if isinstance(samples, DaskRows):
        held = samples.mapped(values.made).held()
        n_workers = held.cluster.n_workers
        return held, f"{held.dtype} on {n_workers} worker{'' if n_workers == 1 else 's'}"
    settings, entries = current_config(), values.shape[0] * values.shape[1]
    room = settings.memory_budget - reserved
    if 8 * entries <= room:
        return DenseRows(values.written(np.empty(values.shape))), "float64"
    if 4 * entries <= room:
        A = values.written(np.empty(values.shape, dtype=np.float32))
        return DenseRows(A), f"float32: {_too_large(8 * entries, settings.memory_budget)}"
    why = _too_large(4 * entries, settings.memory_budget)
    if settings.overflow == "disk" or (settings.overflow == "auto" and not values.cheap and _fits_disk(4 * entries)):
        return ScratchRows(values.shape, values.write_single), f"on disk: {why}"
    return values.on_demand(), f"recomputed: {why}"


def _too_large(size: float, budget: float) -> str:
    return f"{size_in_words(size)} do not fit memory_budget={size_in_words(budget)}"


def _fits_disk(size: float) -> bool:
    folder = current_config().scratch_folder or tempfile.gettempdir()
    return shutil.disk_usage(folder).free > 2.0 * size
