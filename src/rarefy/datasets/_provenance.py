"""Which data files a computation has read, and a fingerprint of their content."""

import hashlib
import os
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_opened: ContextVar[dict[str, str] | None] = ContextVar("rarefy_opened_files", default=None)


@contextmanager
def recorded_files() -> Iterator[dict[str, str]]:
    """Record names and fingerprints of the files that `load` opens inside this block."""
    found: dict[str, str] = {}
    token = _opened.set(found)
    try:
        yield found
    finally:
        _opened.reset(token)


def note_files(files: dict[str, str]) -> None:
    """Add files to the record of the surrounding `recorded_files`, if there is one."""
    found = _opened.get()
    if found is not None:
        found.update(files)


def fingerprint(path: str | os.PathLike[str]) -> str:
    """Return a few characters that change with the content of a file or folder.

    Archives store checksums of their members, so these are not read.
    """
    path, digest = Path(path), hashlib.sha256()
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if zipfile.is_zipfile(file):
            with zipfile.ZipFile(file) as archive:
                digest.update(repr([(one.filename, one.file_size, one.CRC) for one in archive.infolist()]).encode())
        elif file.is_file():
            digest.update(file.read_bytes())
    return digest.hexdigest()[:20]
