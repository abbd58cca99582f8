"""Files that are written atomically: completely or not at all."""

import errno
import io
import json
import os
import re
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def json_text(values: Any, level: int = 0) -> str:
    """Values as JSON, a line for every entry of a dictionary; lists stand on one line.

    With line breaks inside of lists the standard library writes a million numbers at a tenth of the speed.
    """
    if not isinstance(values, dict) or not values:
        return json.dumps(values, allow_nan=False)
    indent = " " * (level + 1)
    lines = (f"{indent}{json.dumps(str(name))}: {json_text(value, level + 1)}" for name, value in values.items())
    return "{\n" + ",\n".join(lines) + "\n" + " " * level + "}"


def size_in_words(size: float) -> str:
    """Bytes with three digits and a unit."""
    for unit in ("B", "kB", "MB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} GB"


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file; an interrupted write or a full disk leaves the old file, or none if there was none."""
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, as above."""
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to bit by bit; it gets its name when all of it is on the disk, so that no power cut empties it.

    The part file is locked while it is written. One that nobody holds was left by a process that was killed, and goes.
    """
    path = Path(path).resolve()
    if path.exists() and not path.is_file():  # renaming would put a file in the place of a device
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    _remove_abandoned(path)
    file, part = _new_part(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if fcntl is not None:  # as long as it is locked
                os.replace(part, path)
        if fcntl is None:  # elsewhere no file that is open can be renamed
            os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _new_part(path: Path) -> tuple[BinaryIO, Path]:
    """A file of a name of its own, locked: any number of threads and processes may write one path."""
    while True:
        part = path.with_name(f"{_beginning(path)}{secrets.token_hex(8)}.part")
        file = open(part, "xb", buffering=0)  # noqa: SIM115 -- whoever asked for it closes it
        try:
            if _locked(file) and (fcntl is None or os.fstat(file.fileno()).st_nlink):
                return io.BufferedWriter(file), part
        except BaseException:
            file.close()
            part.unlink(missing_ok=True)
            raise
        file.close()  # another process took it for abandoned before it was locked, and removed it


def _beginning(path: Path) -> str:
    return f".{path.name[:50]}."


def _locked(file: Any) -> bool:
    """Whether this process holds the lock of an open file now; the system frees it when the process ends."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _remove_abandoned(path: Path) -> None:
    """Remove part files of this path that nobody writes any more."""
    pattern = re.compile(re.escape(_beginning(path)) + r"[0-9a-f]{16}\.part")
    try:
        found = [Path(one) for one in os.scandir(path.parent) if pattern.fullmatch(one.name)]
    except OSError:
        return
    for part in found:
        try:
            if fcntl is None:
                part.unlink()  # refused while it is open
                continue
            with open(part, "rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                part.unlink()
        except OSError:  # somebody writes it, or has just removed it
            continue


def _sync_folder(folder: Path) -> None:
    """Put names on the disk, where the system knows how."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Raise an OSError if files cannot be created in a folder: better before long work than after it."""
    with tempfile.TemporaryFile(dir=folder):
        pass
