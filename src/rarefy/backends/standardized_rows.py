"""Streamed rows less the means of their columns, over numbers: what standardising makes of blocks."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from rarefy.backends.block_rows import Remembering
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.core.linalg.rows import Array, Index, Rows, edges


class StandardizedRows(Remembering):
    """(A - mean) / scale, column by column, in double precision and in small pieces."""

    _overwritten = False

    def __init__(self, rows: StreamedRows, mean: Array, scale: Array, hashing: Callable[[], Any] | None = None) -> None:
        self._rows, self._mean, self._scale, self._hashing = rows, mean, scale, hashing
        self.shape = rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float64)

    @cached_property
    def fingerprint(self) -> str | None:  # type: ignore[override]
        """Hash of the data, that of the same matrix in memory: one pass."""
        if self._hashing is None:
            return None
        running = self._hashing()
        for _, block in self._blocks_in_storage():
            running.add(block)
        found: str = running.of(self.shape)
        return found

    def restricted(self, index: Index) -> StreamedRows:
        return StandardizedRows(self._rows.restricted(index), self._mean, self._scale)

    def subset(self, index: Index) -> Rows:
        index = np.arange(self.shape[0])[index]
        return super().subset(index) if self.fits(len(index) * self.shape[1]) else self.restricted(index)

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        for rows, block in self._rows._blocks_in_storage(index):
            for some in edges(block.shape[0], self.shape[1]):
                part = block[some]
                part = (part.toarray() if hasattr(part, "toarray") else part) - self._mean
                part /= self._scale
                yield slice(rows.start + some.start, rows.start + some.stop), part
