"""Where a table comes from: a regular file, perhaps compressed, or standard input; opened once to see what it is."""

import gzip
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from rarefy.exceptions import MissingExtraError, TableError
from rarefy.tables._limits import LARGEST, allowed_size, check_inflated
from rarefy.tables._messages import one_line
from rarefy.tables._zstd import largest_content

_HEAD = 1 << 16
_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"


def require_polars() -> Any:
    """Polars, or an error that says how to install it."""
    try:
        import polars
    except ImportError as error:
        raise MissingExtraError('Reading tables needs polars: pip install "rarefy[cli]"') from error
    return polars


class Source:
    """A regular file or standard input, decompressed on the way.

    Parameters
    ----------
    path : Path or None
        The file; None is standard input, which is copied to a temporary file, because reading takes two looks.
    """

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.name = "Standard input" if path is None else one_line(path)
        self.packed = ""
        self._copy: IO[bytes] | None = None
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _open(self) -> None:
        if self.path is None:
            self.size = self._spool(iter(lambda: sys.stdin.buffer.read(1 << 20), b""), LARGEST)
        else:
            self.size = _regular_size(self.path, self.name)
        if self.size == 0:
            raise TableError(f"{self.name} is empty; a table needs rows and columns.")
        self._unpack(next(self.chunks(_HEAD)))
        self.head = next(self.chunks(_HEAD), b"")
        if not self.head:
            raise TableError(f"{self.name} holds nothing after decompression; a table needs rows and columns.")

    @property
    def ending(self) -> str:
        """The last part of the name, without that of a compression, in lower case."""
        if self.path is None:
            return ""
        endings = [ending.lower() for ending in self.path.suffixes]
        return next((ending for ending in reversed(endings) if ending not in (".gz", ".zst")), "")

    def chunks(self, size: int) -> Iterator[bytes]:
        """The content from its beginning, decompressed."""
        if self._copy is not None:
            self._copy.seek(0)
            yield from iter(lambda: self._copy.read(size), b"")  # type: ignore[union-attr]
            return
        assert self.path is not None
        with open(self.path, "rb") as file:
            if self.packed != "gzip":
                yield from iter(lambda: file.read(size), b"")
                return
            total = 0
            with gzip.GzipFile(fileobj=file) as inflated:
                for chunk in iter(lambda: inflated.read(size), b""):
                    total += len(chunk)
                    check_inflated(self.name, total, self.size)
                    yield chunk

    def content(self) -> bytes:
        """All of it."""
        return b"".join(self.chunks(1 << 24))

    def _unpack(self, head: bytes) -> None:
        """Prepare to decompress, and refuse what states that it is too large."""
        if self.path is not None and head.startswith(_GZIP):
            self.packed = "gzip"
            with open(self.path, "rb") as file:
                file.seek(-min(4, self.size), os.SEEK_END)
                stated = int.from_bytes(file.read(4), "little")
            if stated > allowed_size(self.size):
                raise TableError(
                    f"{self.name} has {self.size} bytes and states {stated} after decompression: it is truncated or "
                    "damaged, or made to fill the memory. Compress it again."
                )
        elif head.startswith(_ZSTD):
            with open(self.path, "rb") if self.path is not None else self._copied() as file:
                check_inflated(self.name, largest_content(file, self.name), self.size)
            self._spool(self._zstd_lines(), allowed_size(self.size))
            self.packed = "zstd"
        elif head.startswith(_GZIP):
            packed = self._copied()
            self._spool(_inflated(packed), allowed_size(self.size))

    def _copied(self) -> IO[bytes]:
        assert self._copy is not None
        self._copy.seek(0)
        return self._copy

    def _zstd_lines(self) -> Iterator[bytes]:
        """Lines of a zstd file: polars decompresses and Python, before 3.14, does not."""
        pl = require_polars()
        source = self.path if self.path is not None else self._copied().read()
        try:
            # No text has this separator, so a line is one cell.
            frame = pl.read_csv(source, has_header=False, separator="\x1f", quote_char=None, schema={"line": pl.String})
        except Exception as error:
            raise TableError(
                f"{self.name} cannot be decompressed, or holds no text in UTF-8 ({one_line(error, 100)}). Decompress "
                "it first (zstd -d), then pass the result."
            ) from error
        for part in frame.iter_slices(100_000):
            yield ("\n".join(part["line"].fill_null("").to_list()) + "\n").encode()

    def _spool(self, chunks: Iterator[bytes], limit: int) -> int:
        """Copy to a temporary file, which is from then on what `chunks` reads; its size."""
        total, copy = 0, tempfile.TemporaryFile()  # noqa: SIM115 -- `close` closes it
        try:
            for chunk in chunks:
                total += len(chunk)
                if total > limit:
                    raise TableError(f"{self.name} holds more than {limit} bytes; that is more than is read.")
                copy.write(chunk)
        except BaseException:
            copy.close()
            raise
        self.close()
        self._copy = copy
        return total

    def close(self) -> None:
        """Remove the temporary file."""
        if self._copy is not None:
            self._copy.close()


def _inflated(packed: IO[bytes]) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=packed) as inflated:
        yield from iter(lambda: inflated.read(1 << 20), b"")


def _regular_size(path: Path, name: str) -> int:
    """The size of a file; an error for everything that is not a readable regular file."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISREG(mode):
            with open(path, "rb") as file:
                return os.fstat(file.fileno()).st_size
    except FileNotFoundError as error:
        raise TableError(f"{name} does not exist; check the path.") from error
    except PermissionError as error:
        raise TableError(f"{name} may not be read; change its permissions, or copy it.") from error
    except (OSError, ValueError) as error:
        raise TableError(f"{name} cannot be opened ({one_line(error, 100)}); check the path.") from error
    raise TableError(f"{name} is {_type(mode)}; files, folders of texts and - for standard input are read.")


def _type(mode: int) -> str:
    if stat.S_ISFIFO(mode):
        return "a named pipe"
    if stat.S_ISSOCK(mode):
        return "a socket"
    return "a device" if stat.S_ISCHR(mode) or stat.S_ISBLK(mode) else "not a regular file"
