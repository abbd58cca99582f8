"""A journal of passes over data in blocks: a fit that was ended on the way goes on from the passes that were finished.

A fit asks for the same products in the same order whenever it is run with the same data, parameters and seed. With the
setting `checkpoint_folder` the result of every pass is a file; when the fit is run again, results that are there are
read instead of computed, so that it is where it was after little more than the time of reading them.
"""

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar
from zipfile import BadZipFile

import numpy as np
import scipy.sparse as sp

from rarefy._files import json_text, write_atomically
from rarefy._input import RowSource
from rarefy.config import current_config
from rarefy.exceptions import BlockError, ParameterError

F = TypeVar("F", bound=Callable[..., Any])
_HEADER = "fit.json"


class Journal:
    """The passes of one fit, in order."""

    def __init__(self, folder: Path, header: dict[str, Any]) -> None:
        self._folder, self._number = folder, 0
        folder.mkdir(parents=True, exist_ok=True)
        text, path = json_text(header) + "\n", folder / _HEADER
        if path.exists():
            if path.read_text(encoding="utf-8") != text:
                raise ParameterError(
                    f"checkpoint_folder={folder} has passes of another fit: data, labels or parameters differ. Use "
                    "another folder, or delete it."
                )
        elif any(not one.name.endswith(".part") for one in folder.iterdir()):  # a killed writer may have left that
            raise ParameterError(f"checkpoint_folder={folder} has other files in it. Use an empty folder.")
        else:
            write_atomically(path, text)

    def result(self, name: str, arguments: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """What a pass gives, from its file if there is one."""
        path, key = self._folder / f"{self._number:06d}.npz", f"{name} {_digest(arguments)}"
        self._number += 1
        found = _read(path, key)
        if found is not None:
            return found[0]
        value = compute()
        self._write(path, key, value)
        return value

    def clear(self) -> None:
        """Remove all files: the fit is done."""
        left = (*self._folder.glob("[0-9]*.part"), *self._folder.glob(f".{_HEADER}.*.part"))
        for path in [*self._folder.glob("[0-9]*.npz"), *left, self._folder / _HEADER]:
            path.unlink(missing_ok=True)
        with suppress(OSError):  # something else is in it
            self._folder.rmdir()

    def _write(self, path: Path, key: str, value: Any) -> None:
        partial = path.with_suffix(".part")
        try:
            with open(partial, "wb") as file:
                np.savez(file, key=np.array(key), **_packed(value))
                file.flush()
                os.fsync(file.fileno())
            os.replace(partial, path)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise BlockError(
                f"A finished pass cannot be written to checkpoint_folder={self._folder} ({error.strerror}). Make room "
                "and fit again: it goes on from the passes before."
            ) from error


_journal: ContextVar[Journal | None] = ContextVar("journal", default=None)


def recorded(method: F) -> F:
    """Let a method of rows that passes over data look into the journal first; what it calls itself does not."""

    @wraps(method)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        journal = _journal.get()
        if journal is None:
            return method(self, *args, **kwargs)
        token = _journal.set(None)
        try:
            what = (self.shape, *args, *sorted(kwargs.items()))
            return journal.result(method.__name__, what, lambda: method(self, *args, **kwargs))
        finally:
            _journal.reset(token)

    return call  # type: ignore[return-value]


@contextmanager
def journal_of(estimator: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Keep a journal of a fit on data in blocks, if `checkpoint_folder` is set and no fit around this one does."""
    folder, X = current_config().checkpoint_folder, args[0] if args else kwargs.get("X")
    if folder is None or not isinstance(X, RowSource) or _journal.get() is not None:
        yield
        return
    data = getattr(X.rows(), "fingerprint", None)
    if data is None:
        raise ParameterError(
            "checkpoint_folder needs a whole folder of blocks, whose fingerprint tells whether the data are the same "
            f"when the fit goes on; got a {type(X).__name__} without one. Write it with rarefy.blocks, or set "
            "checkpoint_folder=None."
        )
    others = [*args[1:], *(value for name, value in sorted(kwargs.items()) if name != "X")]
    header = {
        "estimator": type(estimator).__name__,
        "parameters": {name: repr(value) for name, value in sorted(estimator.get_params().items())},
        "shape": list(X.shape),
        "data": data,
        "labels and weights": _digest(tuple(others)),
    }
    journal = Journal(Path(folder), header)
    token = _journal.set(journal)
    try:
        yield
    finally:
        _journal.reset(token)
    journal.clear()


def _digest(values: tuple[Any, ...]) -> str:
    """Of numbers, arrays and names; functions count by their names only, as they are made anew for each fit."""
    running = hashlib.blake2b(digest_size=16)
    for value in values:
        if callable(value):
            running.update(getattr(value, "__qualname__", type(value).__name__).encode())
        elif value is None or isinstance(value, (str, int, float, slice)):
            running.update(repr(value).encode())
        elif isinstance(value, tuple):
            running.update(_digest(value).encode())
        else:
            A = np.asarray(value)
            A = A.astype(str) if A.dtype == object else A
            running.update(f"{A.shape} {A.dtype}".encode())
            running.update(np.ascontiguousarray(A).reshape(-1).view(np.uint8).data)
    return running.hexdigest()


def _packed(value: Any) -> dict[str, Any]:
    if sp.issparse(value):
        A = sp.csr_array(value)
        return {"csr": np.array(A.shape), "data": A.data, "indices": A.indices, "indptr": A.indptr}
    if isinstance(value, tuple):
        return {f"part{i}": part for i, part in enumerate(value)}
    return {"number" if isinstance(value, float) else "array": np.asarray(value)}


def _read(path: Path, key: str) -> tuple[Any] | None:
    """The result in a file, if it is of this pass."""
    try:
        # A damaged file would be left open by `np.load` itself.
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            if str(file["key"]) != key:
                return None
            if "csr" in file:
                return (sp.csr_array((file["data"], file["indices"], file["indptr"]), shape=tuple(file["csr"])),)
            if "part0" in file:
                return (tuple(file[name] for name in sorted(file.files) if name.startswith("part")),)
            return (float(file["number"]),) if "number" in file else (file["array"],)
    except (OSError, ValueError, KeyError, BadZipFile, EOFError):
        return None
