"""Models in files: skops, with a stamp, and only types that are known here. Nothing is ever unpickled."""

import importlib
import io
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import scipy.sparse as sp
from sklearn.pipeline import Pipeline

from rarefy._files import write_bytes_atomically
from rarefy.exceptions import ModelFileError, TableError
from rarefy.tables import TableEncoder
from rarefy.tables._limits import check_inflated

_FORMAT = "rarefy model 1"
_KINDS = ("select", "rank", "classify")
_PACKAGES = ("certificates", "core", "kernel", "ranking", "selection", "tables")
"""Sub-packages whose classes may be in a file."""
_OTHERS = ("scipy.sparse._csr.csr_array",)
"""Rankers of sparse tables hold some of their rows; skops reads them as arrays of numbers."""


@dataclass(frozen=True)
class SavedModel:
    """What a model file holds."""

    pipeline: Any
    """From a table to scores, labels or kept columns."""
    target: str | None
    """The column that it was trained to tell."""
    kind: str
    """The command that made it: "select", "rank" or "classify"."""
    version: str
    """Of the library that wrote it."""


def save_model(model: SavedModel, path: Path) -> None:
    """Write a model file, completely or not at all."""
    from skops.io import dumps  # an extra, which not everybody who imports the library has

    values = {"format": _FORMAT, "rarefy": model.version, "kind": model.kind, "target": model.target}
    write_bytes_atomically(path, dumps(values | {"pipeline": model.pipeline}))


def load_model(path: Path) -> SavedModel:
    """Read a model file; whatever is not one of ours is refused by name.

    Raises
    ------
    ModelFileError
        If the file cannot be read, holds types that are not the library's or scikit-learn's, or is no model.
    """
    from skops.io import get_untrusted_types, loads

    try:
        data = path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_inflated(str(path), sum(one.file_size for one in archive.infolist()), len(data))
        found = get_untrusted_types(data=data)
        unknown = [name for name in found if name not in _OTHERS and not _is_ours(name)]
        if unknown:
            raise ModelFileError(
                f"{path} holds {', '.join(unknown[:5])}, which no model of rarefy has; it is not read."
            )
        values = loads(data, trusted=found)
        _check_sparse(values)
    except (ModelFileError, TableError):
        raise
    except OSError as error:
        raise ModelFileError(f"{path} cannot be read: {error.strerror or error}.") from error
    except Exception as error:  # whatever a broken or forged file makes the reader do
        raise ModelFileError(f"{path} is not a model file of rarefy, or it is damaged.") from error
    if not isinstance(values, dict) or values.get("format") != _FORMAT or not _is_model(values):
        raise ModelFileError(f"{path} is not a model file that this version reads; write it with --save.")
    return SavedModel(values["pipeline"], values.get("target"), str(values.get("kind")), str(values.get("rarefy")))


@contextmanager
def applying(path: Path) -> Iterator[None]:
    """Turn what a model does that was changed after it was saved into one line."""
    try:
        yield
    except (AssertionError, ArithmeticError, AttributeError, LookupError, TypeError) as error:
        raise ModelFileError(
            f"{path} is damaged, or of another version of rarefy ({type(error).__name__}); write it again with --save."
        ) from error


def _check_sparse(values: dict[str, Any]) -> None:
    """Refuse sparse matrices whose indices lead outside of them, which could crash the program."""
    for _, step in values["pipeline"].steps:
        for value in vars(step).values():
            if sp.issparse(value):
                value.check_format(full_check=True)


def _is_model(values: dict[str, Any]) -> bool:
    """Whether there is a pipeline that begins with a table, and the name of what it is for."""
    pipeline, target = values.get("pipeline"), values.get("target")
    right = isinstance(pipeline, Pipeline) and len(pipeline.steps) > 1 and isinstance(pipeline[0], TableEncoder)
    return right and values.get("kind") in _KINDS and (target is None or isinstance(target, str))


def _is_ours(name: str) -> bool:
    """Whether a type is a class that one of our modules defines."""
    module, _, cls = name.rpartition(".")
    parts = module.split(".")
    if len(parts) < 2 or parts[0] != "rarefy" or parts[1] not in _PACKAGES:
        return False
    try:
        defined = getattr(importlib.import_module(module), cls, None)
    except ImportError:
        return False
    return isinstance(defined, type) and defined.__module__ == module
