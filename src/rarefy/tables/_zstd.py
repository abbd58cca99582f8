"""How much a zstd file can hold, from the headers of its frames and blocks, without decompressing it (RFC 8878)."""

from typing import IO

from rarefy.exceptions import TableError

_FRAME = 0xFD2FB528
_SKIPPABLE = range(0x184D2A50, 0x184D2A60)
_BLOCK = 128 * 1024
"""Bytes that one block holds at most."""


def largest_content(file: IO[bytes], name: str) -> int:
    """An upper bound on the bytes after decompression: what raw blocks state, and the most that others can hold."""
    total = 0
    while magic := file.read(4):
        number = int.from_bytes(magic, "little")
        if number in _SKIPPABLE:
            _take(file, int.from_bytes(_exactly(file, 4, name), "little"), name)
        elif number == _FRAME:
            total += _frame(file, name)
        else:
            raise TableError(f"{name} has something other than zstd frames in it: it is damaged. Compress it again.")
    return total


def _frame(file: IO[bytes], name: str) -> int:
    descriptor = _exactly(file, 1, name)[0]
    single, size_flag = descriptor >> 5 & 1, descriptor >> 6
    n_bytes = (0 if single else 1) + (0, 1, 2, 4)[descriptor & 3] + ((1 if single else 0), 2, 4, 8)[size_flag]
    _exactly(file, n_bytes, name)
    total, last = 0, False
    while not last:
        header = int.from_bytes(_exactly(file, 3, name), "little")
        last, form, size = bool(header & 1), header >> 1 & 3, header >> 3
        total += _BLOCK if form == 2 else size
        _take(file, 1 if form == 1 else size, name)
    if descriptor >> 2 & 1:
        _exactly(file, 4, name)
    return total


def _exactly(file: IO[bytes], size: int, name: str) -> bytes:
    found = file.read(size)
    if len(found) < size:
        raise TableError(f"{name} ends in the middle of a zstd frame: it is truncated. Compress it again.")
    return found


def _take(file: IO[bytes], size: int, name: str) -> None:
    if size:
        file.seek(size - 1, 1)
        _exactly(file, 1, name)
