"""Blocks of rows in files of numpy's format, read into buffers that are used again, and checked on the way.

A dense block is one file; a CSR block is three: values, column numbers, and where rows begin. The first pass over a
file compares its checksum (CRC-32 of the whole file) with the one that was stored when it was written; later passes
look whether it was changed since.
"""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from rarefy.backends.read_ahead import read_ahead
from rarefy.config import current_config
from rarefy.core.linalg.rows import Index
from rarefy.exceptions import BlockError

_LARGEST_READ, _SMALLEST_READ = 1 << 25, 1 << 18
_BUDGET_SHARE = 1 / 16
"""Of the memory budget, what one buffer takes; there are two, and products need some of the same size."""
_BUFFERS = 2
_CACHED_SHARE = 0.5
"""Of the computer's memory: larger data would not stay in the system's cache until the next pass, and leave it."""
_AGAIN = "Write the folder again, or copy it again from where it came."


@dataclass(frozen=True)
class StoredFile:
    """One file of a block, as the manifest states it."""

    name: str
    n_bytes: int
    checksum: int


@dataclass(frozen=True)
class StoredBlock:
    """Some rows: one file if they are dense; values, column numbers and starts of rows if they are CSR."""

    n_rows: int
    files: tuple[StoredFile, ...]


@dataclass(frozen=True)
class BlockFiles:
    """All blocks of one folder, and which of their files have been checked."""

    folder: Path
    shape: tuple[int, int]
    dtype: np.dtype[Any]
    sparse: bool
    blocks: tuple[StoredBlock, ...]
    checked: dict[str, tuple[int, int]] = field(default_factory=dict, compare=False)
    """When files were changed last, by name, of those whose checksums were right."""

    @property
    def n_bytes(self) -> int:
        """Of all files."""
        return sum(file.n_bytes for block in self.blocks for file in block.files)

    def check_sizes(self) -> None:
        """Look whether all files are there with the right sizes."""
        for block in self.blocks:
            for file in block.files:
                self.opened(file).close()

    def passing(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        """Blocks in order, each gone when the next one is asked for; without those that hold no row of `index`."""
        load = _Pass(self, drop=self.n_bytes > _CACHED_SHARE * _physical_memory()).load
        for read, block in read_ahead(list(self._reads(index)), load, [{} for _ in range(_BUFFERS)]):
            yield read.rows, block

    def opened(self, file: StoredFile) -> IO[bytes]:
        """A file, if it still is the one that the manifest is about."""
        path = self.folder / file.name
        try:
            opened = open(path, "rb", buffering=0)  # noqa: SIM115 -- the caller closes it
        except FileNotFoundError as error:
            raise BlockError(f"Block {path} is gone. {_AGAIN}") from error
        except OSError as error:
            raise BlockError(f"Block {path} cannot be read ({error.strerror}). Check disk and permissions.") from error
        found, checked = os.fstat(opened.fileno()), self.checked.get(file.name)
        try:
            if checked is not None and checked != (found.st_mtime_ns, found.st_size):
                raise BlockError(
                    f"Block {path} was changed while it was in use. Open the folder again, and start again."
                )
            if found.st_size != file.n_bytes:
                raise BlockError(
                    f"Block {path} has {found.st_size} bytes, not {file.n_bytes}: it was cut or replaced. {_AGAIN}"
                )
        except BlockError:
            opened.close()
            raise
        return opened

    def accept(self, file: StoredFile, opened: IO[bytes], checksum: int) -> None:
        """Compare the checksum of a file that was read to its end, and remember when it was changed last."""
        if checksum != file.checksum:
            raise BlockError(
                f"Block {self.folder / file.name} is damaged: its checksum is {checksum:08x}, not "
                f"{file.checksum:08x}. {_AGAIN}"
            )
        found = os.fstat(opened.fileno())
        self.checked[file.name] = found.st_mtime_ns, found.st_size

    def _reads(self, index: Index | None) -> Iterator["_Read"]:
        """What is read at a time: a CSR block, or so many rows of a dense one as a buffer holds."""
        budget = current_config().memory_budget * _BUDGET_SHARE
        at_most = int(max(_SMALLEST_READ, min(_LARGEST_READ, budget))) // max(1, self.dtype.itemsize * self.shape[1])
        start = 0
        for block in self.blocks:
            step = max(1, block.n_rows if self.sparse else at_most)
            # To compare its checksum a file is read to its end.
            whole = index is None or any(file.name not in self.checked for file in block.files)
            if index is None or _touches(index, start, start + block.n_rows):
                for first in range(0, block.n_rows, step):
                    last = min(first + step, block.n_rows)
                    if whole or _touches(index, start + first, start + last):
                        yield _Read(block, slice(start + first, start + last), first)
            start += block.n_rows


@dataclass(frozen=True)
class _Read:
    """Rows of one block that are read together."""

    block: StoredBlock
    rows: slice
    """In the whole matrix."""
    first: int
    """In the block."""


class _Pass:
    """One pass over the files: buffers are filled, checksums of new files computed on the way."""

    def __init__(self, files: BlockFiles, drop: bool) -> None:
        self._files, self._drop, self._sum = files, drop, 0

    def load(self, read: _Read, memory: dict[int, NDArray[np.uint8]]) -> Any:
        """A block in memory that may be written to later."""
        files, block = self._files, read.block
        n, width = read.rows.stop - read.rows.start, files.shape[1]
        if not files.sparse:
            shape = (block.n_rows, width)
            return self._part(block.files[0], files.dtype, shape, read.first * width, n * width, memory, 0).reshape(
                n, width
            )
        new = any(file.name not in files.checked for file in block.files)
        starts = self._part(block.files[2], None, (n + 1,), 0, n + 1, memory, 2)
        n_entries = int(starts[-1])
        columns = self._part(block.files[1], None, (n_entries,), 0, n_entries, memory, 1)
        values = self._part(block.files[0], files.dtype, (n_entries,), 0, n_entries, memory, 0)
        if new and not _is_csr(columns, starts, width):
            raise BlockError(f"Block {files.folder / block.files[1].name} numbers columns that are not there. {_AGAIN}")
        found = sp.csr_array((values, columns, starts), shape=(n, width), copy=False)
        found.has_canonical_format = True  # whoever writes blocks sorts column numbers and adds up what is in parts
        return found

    def _part(
        self,
        file: StoredFile,
        dtype: np.dtype[Any] | None,
        shape: tuple[int, ...],
        first: int,
        n_entries: int,
        memory: dict[int, NDArray[np.uint8]],
        number: int,
    ) -> NDArray[Any]:
        """Entries of one file; `dtype` None takes any integers."""
        with self._files.opened(file) as opened, _readable(path := self._files.folder / file.name):
            new = file.name not in self._files.checked
            header, found = _header(path, opened, dtype, shape, file.n_bytes)
            size = found.itemsize * n_entries
            if number not in memory or len(memory[number]) < size:
                memory[number] = np.empty(size, dtype=np.uint8)
            target = memory[number][:size]
            start = len(header) + found.itemsize * first
            _fill(opened, start, target, path)
            if new:
                self._sum = zlib.crc32(target.data, zlib.crc32(header) if first == 0 else self._sum)
                if start + size == file.n_bytes:
                    self._files.accept(file, opened, self._sum)
            if self._drop and hasattr(os, "posix_fadvise"):
                os.posix_fadvise(opened.fileno(), start, size, os.POSIX_FADV_DONTNEED)
        return target.view(found)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BlockError(f"Block {path} cannot be read ({error.strerror}). Check the disk.") from error


def _header(
    path: Path, opened: IO[bytes], dtype: np.dtype[Any] | None, shape: tuple[int, ...], n_bytes: int
) -> tuple[bytes, np.dtype[Any]]:
    """The bytes before the entries, and the type of these; an error if the array is not what the manifest states."""
    try:
        version = npy.read_magic(opened)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        found, by_columns, kind = read(opened)
    except ValueError as error:
        raise BlockError(f"Block {path} is not an array of numpy ({error}). {_AGAIN}") from error
    start = opened.tell()
    right = kind == dtype if dtype is not None else kind in (np.dtype(np.int32), np.dtype(np.int64))
    right &= found == shape and not (by_columns and len(shape) > 1 and min(shape) > 1)
    if not right or start + kind.itemsize * int(np.prod(shape)) != n_bytes:
        raise BlockError(
            f"Block {path} holds an array of shape {found} and type {kind}; the manifest states another. {_AGAIN}"
        )
    opened.seek(0)
    return opened.read(start), kind


def _fill(opened: IO[bytes], start: int, target: NDArray[np.uint8], path: Path) -> None:
    opened.seek(start)
    left = target.data
    while len(left):
        n = opened.readinto(left)  # type: ignore[attr-defined]  # a file without buffering has it
        if not n:
            raise BlockError(f"Block {path} was cut while it was read. {_AGAIN}")
        left = left[n:]


def _is_csr(columns: NDArray[Any], starts: NDArray[Any], width: int) -> bool:
    """Whether arrays from a file may be given to compiled code."""
    inside = not len(columns) or bool(columns.min() >= 0 and columns.max() < width)
    return inside and starts[0] == 0 and bool(np.all(np.diff(starts) >= 0))


def _touches(index: Index | None, start: int, stop: int) -> bool:
    if index is None:
        return True
    first, last = np.searchsorted(index, (start, stop))
    return bool(first < last)


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PAGE_SIZE")) * float(os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):  # not everywhere
        return float("inf")
