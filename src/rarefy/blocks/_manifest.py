"""The manifest of a folder of blocks: what is in it, with a checksum of every file; written last."""

import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarefy._files import json_text, write_atomically
from rarefy.backends.block_files import BlockFiles, StoredBlock, StoredFile
from rarefy.exceptions import BlockError
from rarefy.tables import TableEncoder

MANIFEST, JOURNAL = "manifest.json", "unfinished.jsonl"
FORMAT, VERSION = "rarefy blocks", 1
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(\.[A-Za-z0-9]+)*\.npy")
_LARGEST = 1 << 62


@dataclass(frozen=True)
class Manifest:
    """What a folder holds."""

    shape: tuple[int, int]
    dtype: str
    kind: str
    columns: tuple[str, ...] | None
    blocks: tuple[StoredBlock, ...]
    target: StoredFile | None
    target_name: str | None
    fingerprint: str
    encoder: dict[str, Any] | None = None
    """What made numbers of a table's columns, as `TableEncoder.to_dict` has it; None if there was no table."""

    def files(self, folder: Path) -> BlockFiles:
        """The blocks of a folder with this manifest."""
        return BlockFiles(folder, self.shape, np.dtype(self.dtype), self.kind == "csr", self.blocks)

    def write(self, folder: Path) -> None:
        """Write it: from now on the folder is complete."""
        values = {"format": FORMAT, "version": VERSION} | asdict(self)
        write_atomically(folder / MANIFEST, json_text(values) + "\n")

    @classmethod
    def read(cls, folder: Path) -> "Manifest":
        """Read it, and refuse what `write` would not have written."""
        path = folder / MANIFEST
        if not folder.is_dir():
            raise BlockError(f"{folder} is not a folder; blocks.open takes the folder that rarefy convert wrote.")
        if not path.exists():
            half = (folder / JOURNAL).exists()
            what = "was not written to its end" if half else "holds no blocks"
            do = "Repeat the same conversion: it goes on where it stopped." if half else "Check the path."
            raise BlockError(f"{folder} {what}: it has no {MANIFEST}. {do}")
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
            if values["format"] != FORMAT:
                raise ValueError(f"the format is {values['format']!r}")
            if values["version"] != VERSION:
                raise ValueError(f"version {values['version']} is not {VERSION}: another version of rarefy wrote it")
            return cls._of(values)
        except (ValueError, KeyError, TypeError, AttributeError, OSError, RecursionError) as error:
            raise BlockError(
                f"{path} is no manifest of blocks ({type(error).__name__}: {str(error)[:200]}). Write the folder again."
            ) from error

    @classmethod
    def _of(cls, values: dict[str, Any]) -> "Manifest":
        n, d = (_count(v, "shape") for v in values["shape"])
        kind, dtype, columns, name = values["kind"], values["dtype"], values["columns"], values["target_name"]
        if kind not in ("dense", "csr") or dtype not in ("float32", "float64"):
            raise ValueError(f"blocks are {kind!r} of {dtype!r}")
        if columns is not None and (len(columns) != d or not all(isinstance(c, str) for c in columns)):
            raise ValueError(f"columns must be {d} names")
        if not isinstance(values["fingerprint"], str) or not (name is None or isinstance(name, str)):
            raise ValueError("fingerprint and target_name must be texts")
        blocks = tuple(stored_block(block) for block in values["blocks"])
        if any(len(block.files) != (1 if kind == "dense" else 3) for block in blocks):
            raise ValueError("a dense block has one file, a CSR block three")
        if sum(block.n_rows for block in blocks) != n:
            raise ValueError(f"the blocks have {sum(block.n_rows for block in blocks)} rows, not {n}")
        target = None if values["target"] is None else _stored_file(values["target"])
        names = [file.name for block in blocks for file in block.files] + ([] if target is None else [target.name])
        if len(set(names)) < len(names):
            raise ValueError("two blocks have the same file")
        encoder = values.get("encoder")
        if encoder is not None and TableEncoder.from_dict(encoder).feature_names_out_ != columns:
            raise ValueError("the encoder makes other columns")
        return cls((n, d), dtype, kind, columns if columns is None else tuple(columns), blocks, target, name,
                   values["fingerprint"], encoder)  # fmt: skip


def stored_block(values: dict[str, Any]) -> StoredBlock:
    """A block as the manifest and the journal write it."""
    return StoredBlock(_count(values["n_rows"], "n_rows"), tuple(_stored_file(file) for file in values["files"]))


def _stored_file(values: dict[str, Any]) -> StoredFile:
    name = values["name"]
    if not isinstance(name, str) or not _NAME.fullmatch(name):  # neither another folder nor a device
        raise ValueError(f"{name!r} is no name of a block")
    return StoredFile(name, _count(values["n_bytes"], "n_bytes"), _count(values["checksum"], "checksum"))


def _count(value: Any, what: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < _LARGEST:
        raise ValueError(f"{what} must be a whole number >= 0; got {value!r}")
    return value
