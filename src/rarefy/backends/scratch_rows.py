"""Rows in a temporary file, read block by block: of what does not fit into memory, and is dear to compute again."""

import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from rarefy._files import size_in_words
from rarefy.backends.read_ahead import read_ahead
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.config import current_config
from rarefy.core.linalg.rows import Index
from rarefy.exceptions import BlockError

_LARGEST_READ, _SMALLEST_READ, _BUDGET_SHARE = 1 << 25, 1 << 18, 1 / 16
_BUFFERS = 2


class ScratchRows(StreamedRows):
    """Dense rows in single precision in a file without a name: nothing is left when the process ends, however it ends.

    A memory map would do with less code, but its pages count as memory of the process.
    """

    _budgeted = False

    def __init__(self, shape: tuple[int, int], blocks: Callable[[Callable[[NDArray[Any]], None]], None]) -> None:
        """Write rows; `blocks` gets a function and calls it with block after block."""
        self.shape = shape
        self._lock, self._file = threading.Lock(), _new_file()
        weakref.finalize(self, self._file.close)
        try:
            blocks(self._append)
            self._file.flush()
        except OSError as error:
            self._file.close()
            size = size_in_words(4 * shape[0] * shape[1])
            raise BlockError(
                f"{size} of temporary values cannot be written to {current_config().scratch_folder or _default()} "
                f"({error.strerror}). Set scratch_folder with rarefy.set_config to a folder with room, raise "
                "memory_budget, or set overflow='recompute'."
            ) from error

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(np.float32)

    def _append(self, block: NDArray[Any]) -> None:
        left = _bytes_of(np.ascontiguousarray(block, dtype=np.float32))
        while len(left):
            left = left[self._file.write(left) :]

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        n, width = self.shape
        budget = current_config().memory_budget * _BUDGET_SHARE
        step = max(1, int(max(_SMALLEST_READ, min(_LARGEST_READ, budget))) // max(1, 4 * width))
        parts = [slice(first, min(first + step, n)) for first in range(0, n, step)]
        if index is not None:
            bounds = np.searchsorted(index, [part.start for part in parts] + [n])
            parts = [part for part, a, b in zip(parts, bounds[:-1], bounds[1:], strict=True) if a < b]
        size = min(step, n) * width
        yield from read_ahead(parts, self._read, [np.empty(size, dtype=np.float32) for _ in range(_BUFFERS)])

    def _read(self, rows: slice, buffer: NDArray[Any]) -> NDArray[Any]:
        width = self.shape[1]
        target = buffer[: (rows.stop - rows.start) * width]
        with self._lock:
            self._file.seek(4 * width * rows.start)
            left = _bytes_of(target)
            while len(left):
                n = self._file.readinto(left)  # type: ignore[attr-defined]  # a file without buffering has it
                if not n:
                    raise BlockError("A temporary file was cut while it was in use. Start again.")
                left = left[n:]
        return target.reshape(-1, width)


def _bytes_of(A: NDArray[Any]) -> memoryview:
    return A.reshape(-1).view(np.uint8).data


def _new_file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="rarefy-", dir=current_config().scratch_folder, buffering=0)


def _default() -> str:
    return tempfile.gettempdir()
