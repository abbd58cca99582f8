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
_GAP = 1 << 16
"""Bytes that are read with what is wanted, rather than to look for the place behind them."""


class FileRows(StreamedRows):
    """Dense rows in a file without a name: nothing is left when the process ends, however it ends.

    A memory map would do with less code, but its pages count as memory of the process.
    """

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        self.shape, self._dtype = shape, np.dtype(dtype)
        self._lock, self._file = threading.Lock(), _new_file()
        weakref.finalize(self, self._file.close)
        try:
            self._write()
            self._file.flush()
        except OSError as error:
            self._file.close()
            size = size_in_words(self._dtype.itemsize * shape[0] * shape[1])
            raise BlockError(
                f"{size} of temporary values cannot be written to {scratch_folder()} ({error.strerror}). Set "
                "scratch_folder with rarefy.set_config to a folder with room, raise memory_budget, or set "
                "overflow='recompute'."
            ) from error

    def _write(self) -> None:
        """Write all rows."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        width, n_bytes = self.shape[1], self._dtype.itemsize * max(1, self.shape[1])
        step = max(1, read_bytes() // n_bytes)
        parts = list(_parts(self.shape[0], step) if index is None else _runs(index, step, _GAP // n_bytes))
        size = max((part.stop - part.start for part in parts), default=0) * width
        yield from read_ahead(parts, self._read, [np.empty(size, dtype=self._dtype) for _ in range(_BUFFERS)])

    def _read(self, rows: slice, buffer: NDArray[Any]) -> NDArray[Any]:
        width = self.shape[1]
        target = buffer[: (rows.stop - rows.start) * width]
        self._read_into(target, width * rows.start)
        return target.reshape(-1, width)

    def _read_into(self, target: NDArray[Any], first: int) -> None:
        """Entries from the one with this number on."""
        with self._lock:
            self._file.seek(self._dtype.itemsize * first)
            left = _bytes_of(target)
            while len(left):
                n = self._file.readinto(left)  # type: ignore[attr-defined]  # a file without buffering has it
                if not n:
                    raise BlockError("A temporary file was cut while it was in use. Start again.")
                left = left[n:]

    def _put(self, values: NDArray[Any], first: int | None = None) -> None:
        """Write entries, from the one with this number on or where the last ones ended."""
        if first is not None:
            self._file.seek(self._dtype.itemsize * first)
        left = _bytes_of(np.ascontiguousarray(values, dtype=self._dtype))
        while len(left):
            left = left[self._file.write(left) :]


class ScratchRows(FileRows):
    """Rows in single precision that are written block after block."""

    _budgeted = False

    def __init__(self, shape: tuple[int, int], blocks: Callable[[Callable[[NDArray[Any]], None]], None]) -> None:
        """Write rows; `blocks` gets a function and calls it with block after block."""
        self._given = blocks
        super().__init__(shape, np.float32)

    def _write(self) -> None:
        self._given(self._put)
        del self._given


def read_bytes() -> int:
    """Of what is read or turned at a time."""
    budget = current_config().memory_budget * _BUDGET_SHARE
    return int(max(_SMALLEST_READ, min(_LARGEST_READ, budget)))


def scratch_folder() -> str:
    """Where temporary files are written."""
    return str(current_config().scratch_folder or tempfile.gettempdir())


def _parts(n: int, step: int) -> Iterator[slice]:
    return (slice(first, min(first + step, n)) for first in range(0, n, step))


def _runs(index: Index, step: int, gap: int) -> Iterator[slice]:
    """Slices that hold all of these rows (increasing), none longer than a step and none with a long gap."""
    if not len(index):
        return
    breaks = np.flatnonzero(np.diff(index) > gap + 1)
    for start, stop in zip(index[np.append(0, breaks + 1)], index[np.append(breaks, -1)] + 1, strict=True):
        for first in range(int(start), int(stop), step):
            yield slice(first, min(first + step, int(stop)))


def _bytes_of(A: NDArray[Any]) -> memoryview:
    return A.reshape(-1).view(np.uint8).data


def _new_file() -> IO[bytes]:
    return tempfile.TemporaryFile(prefix="rarefy-", dir=current_config().scratch_folder, buffering=0)
