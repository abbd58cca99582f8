"""Writing a folder of blocks: block after block, a journal of what is finished, and at the end the manifest.

Every file is written under another name first. The journal has one line for what is converted (another source or
other settings do not go on from it) and one for each finished block, with where the source goes on after it. A second
run with the same source starts there; a source that cannot be entered in the middle is read again and compared with the
blocks.
"""

import errno
import io
import json
import os
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from rarefy.backends.block_files import BlockFiles, StoredBlock, StoredFile
from rarefy.blocks._folder import BlockFolder
from rarefy.blocks._manifest import JOURNAL, MANIFEST, Manifest, stored_block
from rarefy.certificates._fingerprint import Fingerprint
from rarefy.exceptions import BlockError, ParameterError

_FILES = {"dense": ("",), "csr": (".values", ".columns", ".starts")}
_LABELS = ".labels"


@dataclass(frozen=True)
class Chunk:
    """Rows of a source that become one block."""

    X: Any
    y: NDArray[Any] | None
    after: Any
    """Where the source goes on after these rows: a value that JSON can hold."""


@dataclass(frozen=True)
class Source:
    """What is converted, from its beginning or from where an earlier run stopped."""

    about: dict[str, Any]
    """What it is and how it is converted: a second run goes on only if this is the same."""
    chunks: Callable[[Any], Iterator[Chunk]]
    """Takes where to start; None is the beginning."""
    dtype: np.dtype[Any]
    columns: tuple[str, ...] | None
    target_name: str | None = None
    encoder: dict[str, Any] | None = None
    """What makes numbers of a table's columns."""
    repeats: bool = False
    """Whether it always starts at the beginning: then what is finished is compared with what comes again."""


def write_blocks(folder: str | os.PathLike[str], source: Source) -> BlockFolder:
    """Write what a source gives, or the rest of it, and open the folder."""
    writer = _Writer(Path(folder), source)
    with writer.steps(), ThreadPoolExecutor(1) as other:
        pending: Future[None] | None = None
        for chunk in source.chunks(writer.after):
            # One block is written and hashed while the next one is read and encoded.
            if pending is not None:
                pending.result()
            pending = other.submit(writer.add, chunk)
        if pending is not None:
            pending.result()
        writer.finish()
    return BlockFolder(folder)


class _Writer:
    def __init__(self, folder: Path, source: Source) -> None:
        self._folder, self._source = folder, source
        self._blocks: list[StoredBlock] = []
        self._finished: list[dict[str, Any]] = []
        self._labels: list[StoredFile] = []
        self._kind: str | None = None
        self._width: int | None = None
        self._hash = Fingerprint()
        self.after: Any = None
        with self.steps():
            self._prepare()

    @contextmanager
    def steps(self) -> Iterator[None]:
        """A full disk and the like, in words."""
        try:
            yield
        except OSError as error:
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            do = "Make room" if full else "Check the folder and its permissions"
            raise BlockError(
                f"{self._folder} cannot be written ({error.strerror or error}). {do}, then repeat the same conversion: "
                "it goes on after the last finished block."
            ) from error

    def _prepare(self) -> None:
        """A new folder with its journal, or what an earlier run has left in it."""
        self._folder.mkdir(parents=True, exist_ok=True)
        journal, about = self._folder / JOURNAL, json.dumps(self._source.about, sort_keys=True)
        if (self._folder / MANIFEST).exists():
            raise BlockError(f"{self._folder} holds blocks already. Choose another folder, or delete this one first.")
        if journal.exists():
            self._go_on(journal.read_bytes().split(b"\n"), about)
            return
        if any(self._folder.iterdir()):
            raise BlockError(f"{self._folder} is not empty; blocks need a folder of their own.")
        self._note(about)

    def _go_on(self, lines: list[bytes], about: str) -> None:
        if lines[0].decode("utf-8", "replace") != about:
            raise BlockError(
                f"{self._folder} holds an unfinished conversion of something else, or with other settings. Delete the "
                "folder, or choose another one."
            )
        self._finished = [json.loads(line) for line in lines[1:-1]]  # what follows the last line break is half a line
        if self._source.repeats or not self._finished:
            return
        for values in self._finished:
            self._accept(values)
        self.after = self._finished[-1]["after"]
        for _, block in self._files().passing():  # also compares checksums
            self._hash.add(block)

    def _accept(self, values: dict[str, Any]) -> None:
        """One more block is there."""
        self._kind, self._width = values["kind"], values["width"]
        self._blocks.append(stored_block(values["block"]))
        self._labels += stored_block({"n_rows": 0, "files": values["labels"]}).files

    def _files(self) -> BlockFiles:
        n, d = sum(block.n_rows for block in self._blocks), self._width or 0
        return BlockFiles(self._folder, (n, d), self._source.dtype, self._kind == "csr", tuple(self._blocks))

    def add(self, chunk: Chunk) -> None:
        """Write one block."""
        X, number = self._checked(chunk.X), len(self._blocks)
        assert self._kind is not None
        arrays = (X.data, X.indices, X.indptr) if sp.issparse(X) else (X,)
        known = self._finished[number] if number < len(self._finished) else None
        name, keep = f"{number:06d}", known is None
        files = [self._file(f"{name}{part}.npy", A, keep) for part, A in zip(_FILES[self._kind], arrays, strict=True)]
        labels = [] if chunk.y is None else [self._file(f"{name}{_LABELS}.npy", np.asarray(chunk.y), keep)]
        values = {
            "block": asdict(StoredBlock(X.shape[0], tuple(files))),
            "labels": [asdict(file) for file in labels],
            "kind": self._kind,
            "width": self._width,
            "after": chunk.after,
        }
        line = json.dumps(values)
        if known is None:
            self._note(line)
        elif json.dumps(known) != line:
            raise BlockError(
                f"{self._folder} holds an unfinished conversion of other numbers: block {number} is another one. "
                "Delete the folder, or choose another one."
            )
        self._hash.add(X)
        self._accept(values)

    def _checked(self, X: Any) -> Any:
        """A block as it is stored: in order, in its precision, and finite."""
        kind = "csr" if sp.issparse(X) else "dense"
        self._kind, self._width = self._kind or kind, X.shape[1] if self._width is None else self._width
        if kind != self._kind or X.shape[1] != self._width:
            raise ParameterError(
                f"Block {len(self._blocks)} is {kind} with {X.shape[1]} columns; those before are {self._kind} with "
                f"{self._width}. All blocks must be of one kind."
            )
        with np.errstate(over="ignore"):
            if kind == "dense":
                X = entries = np.ascontiguousarray(X, dtype=self._source.dtype)
            else:
                X = sp.csr_array(X, dtype=self._source.dtype, copy=True)
                X.sum_duplicates()
                small = max(X.nnz, X.shape[1]) < 2**31
                kinds = np.int32 if small else np.int64
                entries = X.data
                X = sp.csr_array((X.data, X.indices.astype(kinds), X.indptr.astype(kinds)), shape=X.shape)
            suspicious = not np.isfinite(entries.sum())
        if suspicious and not np.all(np.isfinite(entries)):
            self._refuse_holes(X)
        return X

    def _refuse_holes(self, X: Any) -> None:
        wrong = np.argwhere(~np.isfinite(X.toarray() if sp.issparse(X) else X))[0]
        names, j = self._source.columns, int(wrong[1])
        row = sum(block.n_rows for block in self._blocks) + int(wrong[0])
        raise ParameterError(
            f"Row {row} has no finite number in column {j if names is None else repr(names[j])}, in "
            f"{self._source.dtype}. Fill or leave out missing values before blocks are written."
        )

    def _file(self, name: str, A: NDArray[Any], keep: bool = True) -> StoredFile:
        """An array in a file, or only what the manifest would say of it."""
        head = io.BytesIO()
        npy.write_array_header_1_0(head, npy.header_data_from_array_1_0(A))
        data = np.ascontiguousarray(A).reshape(-1).view(np.uint8).data
        header = head.getvalue()
        if keep:
            part = self._folder / f".{name}.part"
            with open(part, "wb") as file:
                file.write(header)
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self._folder / name)
        return StoredFile(name, len(header) + len(data), zlib.crc32(data, zlib.crc32(header)))

    def _note(self, line: str) -> None:
        """One more line of the journal; what a killed run left of a line is cut off first."""
        path = self._folder / JOURNAL
        old = path.read_bytes() if path.exists() else b""
        with open(path, "wb" if not old else "r+b") as file:
            file.seek(old.rfind(b"\n") + 1)
            file.truncate()
            file.write(line.encode("utf-8") + b"\n")

    def finish(self) -> None:
        """Write labels as one file, then the manifest; then the journal is not needed any more."""
        if not self._blocks:
            raise ParameterError("There are no rows; a folder of blocks needs at least one.")
        if self._labels and len(self._labels) != len(self._blocks):
            raise ParameterError("Some blocks have labels and others have none.")
        files, target = self._files(), None
        if self._labels:
            parts = [np.load(self._folder / file.name, allow_pickle=False) for file in self._labels]
            target = self._file("target.npy", np.concatenate(parts))
        kind = "csr" if files.sparse else "dense"
        Manifest(
            files.shape,
            self._source.dtype.name,
            kind,
            self._source.columns,
            files.blocks,
            target,
            self._source.target_name,
            self._hash.of(files.shape),
            self._source.encoder,
        ).write(self._folder)
        (self._folder / JOURNAL).unlink()
        for file in self._labels:
            (self._folder / file.name).unlink()
