"""Rows in a Zarr array, read some chunks at a time."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.backends.block_rows import Remembering
from rarefy.backends.read_ahead import read_ahead
from rarefy.backends.scratch_rows import read_bytes
from rarefy.config import current_config
from rarefy.core.linalg.rows import Index
from rarefy.exceptions import BlockError, MemoryBudgetError

_BUFFERS = 2
_CHUNK_SHARE = 0.25
"""Of the memory budget, what the chunks of some rows may take, which are read as a whole."""


class ZarrRows(Remembering):
    """A Zarr array of two dimensions: float32 as it is, other numbers in double precision."""

    _overwritten = False

    def __init__(self, array: Any, name: str, fingerprint: str | None = None) -> None:
        self._array, self._name, self.fingerprint = array, name, fingerprint
        self.shape = (int(array.shape[0]), int(array.shape[1]))
        self._dtype = np.dtype(np.float32 if array.dtype == np.float32 else np.float64)
        self._finite: set[int] = set()

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        n, d = self.shape
        together, row_bytes = self._array.chunks[0], max(1, self._dtype.itemsize * d)
        if min(n, together) * row_bytes > _CHUNK_SHARE * current_config().memory_budget:
            raise MemoryBudgetError(
                f"{self._name} has chunks of {together} rows, {1e-9 * min(n, together) * row_bytes:.3g} GB with all "
                "columns, which are read together. Raise memory_budget with rarefy.set_config, or write the array "
                "again in chunks of fewer rows."
            )
        parts = self.parts(read_bytes())
        if index is not None:
            bounds = np.searchsorted(index, [part.start for part in parts] + [n])
            parts = [part for part, a, b in zip(parts, bounds[:-1], bounds[1:], strict=True) if a < b]
        yield from read_ahead(parts, self._read, [None] * _BUFFERS)

    def parts(self, size: float) -> list[slice]:
        """All rows, whole chunks of them and of about so many bytes together."""
        n, d = self.shape
        together = self._array.chunks[0]
        step = together * max(1, int(size) // (together * max(1, self._dtype.itemsize * d)))
        return [slice(first, min(first + step, n)) for first in range(0, n, step)]

    def part(self, rows: slice) -> NDArray[Any]:
        """Some rows, looked at for what is not finite."""
        return self._read(rows, None)

    def _read(self, rows: slice, _: None) -> NDArray[Any]:
        try:
            block = np.ascontiguousarray(self._array[rows], dtype=self._dtype)
        except (OSError, ValueError, RuntimeError) as error:  # a chunk that its codecs refuse
            raise BlockError(
                f"Rows {rows.start} to {rows.stop - 1} of {self._name} cannot be read ({str(error)[:100]}). Write the "
                "array again, or copy it again from where it came."
            ) from error
        if rows.start not in self._finite:
            with np.errstate(over="ignore", invalid="ignore"):
                suspicious = not np.isfinite(block.sum())
            if suspicious and not np.all(np.isfinite(block)):
                raise BlockError(
                    f"Rows {rows.start} to {rows.stop - 1} of {self._name} hold NaN or infinity. Fill missing values "
                    "first."
                )
            self._finite.add(rows.start)
        return block
