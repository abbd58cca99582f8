"""Arrays of numpy and scipy in files: headers are checked before anything is allocated, and nothing is unpickled."""

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from rarefy.exceptions import TableError
from rarefy.tables._limits import check_inflated, check_shape
from rarefy.tables._messages import listed, one_line, quoted
from rarefy.tables._sample import sample_note, sampled_rows
from rarefy.tables._source import Source
from rarefy.tables._table import LABELS, Table

_SPARSE = {"data", "shape", "format"}


def read_npy(source: Source, sample: int | None, rng: np.random.Generator) -> Table:
    """Read one array."""
    assert source.path is not None
    with open(source.path, "rb") as file:
        _check_header(source.name, file, source.size)
    X = np.load(source.path, mmap_mode="r", allow_pickle=False)
    rows = sampled_rows(len(X), sample, rng) if X.ndim else None
    table = Table.from_arrays(np.array(X) if rows is None else X[rows], source=source.name)
    return replace(table, notes=(*sample_note(len(X), rows), *table.notes))


def read_npz(source: Source, sample: int | None, rng: np.random.Generator) -> Table:
    """Read an archive of arrays: X with or without y and names, or a sparse matrix of scipy."""
    assert source.path is not None
    name, notes = source.name, list[str]()
    y: NDArray[Any] | None = None
    names: list[str] | None = None
    with zipfile.ZipFile(source.path) as archive:
        members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
        check_inflated(name, sum(one.file_size for one in members.values()), source.size)
        if set(members) >= _SPARSE:
            X = _sparse(name, archive, members)
        else:
            key, notes = _data_key(name, members)
            X = _member(name, archive, members[key])
            y = _member(name, archive, members["y"]) if "y" in members else None
            names = _name_list(name, _member(name, archive, members["names"])) if "names" in members else None
    n_rows = X.shape[0] if X.ndim else 0
    rows = sampled_rows(n_rows, sample, rng)
    if rows is not None:
        X, y = X[rows], y[rows] if y is not None and y.shape == (n_rows,) else y
    table = Table.from_arrays(X, names, labels=y, source=name)
    if y is not None:
        notes = [*notes, f"The array y is a target; its name is {quoted(LABELS)}."]
    return replace(table, notes=(*sample_note(n_rows, rows), *notes, *table.notes))


def _data_key(name: str, members: dict[str, zipfile.ZipInfo]) -> tuple[str, list[str]]:
    if "X" in members:
        return "X", []
    others = [key for key in members if key not in ("y", "names")]
    if len(others) == 1:
        return others[0], [f"The only array, '{one_line(others[0], 60)}', is taken for X."]
    raise TableError(
        f"{name} holds the arrays {listed(members)}; X, and perhaps y and names, or a matrix written by "
        "scipy.sparse.save_npz are read."
        if members
        else f"{name} is an archive without arrays; X, and perhaps y and names, are read."
    )


def _member(name: str, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> NDArray[Any]:
    inside = f"{name} ({one_line(member.filename, 60)})"
    with archive.open(member) as file:
        _check_header(inside, file, member.file_size)
    with archive.open(member) as file:
        return np.asarray(npy.read_array(file, allow_pickle=False))


def _check_header(name: str, file: IO[bytes], size: int) -> None:
    """Refuse Python objects, records, and shapes that a file of this size cannot fill."""
    try:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, _, dtype = read(file)
    except (ValueError, TypeError, SyntaxError, OSError, EOFError, UnicodeError, MemoryError, RecursionError) as error:
        raise TableError(f"{name} has no valid header of an array ({one_line(error, 100)}); save it again.") from error
    if dtype.hasobject:
        raise TableError(
            f"{name} holds Python objects, which are never unpickled because that can run any program; save numbers, "
            "or strings of a fixed length (astype(str))."
        )
    if dtype.names is not None or dtype.kind not in "biufUSc":
        raise TableError(f"{name} holds {one_line(dtype, 60)}; numbers are needed. Save the table as CSV or Parquet.")
    entries = 1
    for length in shape:
        entries *= int(length)
    columns = shape[1] if len(shape) > 1 else 1
    if entries < 0 or entries * dtype.itemsize > size - file.tell():
        raise TableError(f"{name} states the shape {shape} and is too short for it: it is truncated. Save it again.")
    check_shape(name, 0, columns, entries, itemsize=dtype.itemsize)


def _name_list(name: str, names: NDArray[Any]) -> list[str]:
    if names.ndim != 1 or names.dtype.kind not in "US":
        raise TableError(f"{name}: names must be a list of strings; they have type {names.dtype}, shape {names.shape}.")
    return [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in names.tolist()]


def _sparse(name: str, archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> Any:
    """The matrix that `scipy.sparse.save_npz` wrote; wrong indices, which could crash the program, are refused."""
    parts = {key: _member(name, archive, member) for key, member in members.items()}
    form = parts["format"].item()
    form = form.decode("ascii", "replace") if isinstance(form, bytes) else str(form)
    keys = {"csr": ("indices", "indptr"), "csc": ("indices", "indptr"), "coo": ("row", "col")}.get(form)
    shape = parts["shape"].ravel().tolist()
    if keys is None or any(key not in parts for key in keys) or len(shape) != 2:
        raise TableError(
            f"{name} holds a sparse matrix of format '{one_line(form, 20)}' and shape {one_line(shape, 60)}; csr, csc "
            "and coo with two dimensions are read. Convert it with .tocsr() and save it again."
        )
    n_rows, n_columns = (int(length) for length in shape)
    data, (one, other) = parts["data"], (parts[key] for key in keys)
    if any(part.ndim != 1 for part in (data, one, other)) or any(part.dtype.kind not in "iu" for part in (one, other)):
        raise TableError(f"{name} holds indices that are not lists of integers: it is damaged. Save the matrix again.")
    if data.dtype.kind not in "biuf":
        raise TableError(
            f"{name} holds {one_line(data.dtype, 60)}; numbers are needed. Convert them and save it again."
        )
    check_shape(name, n_rows, n_columns, len(data))
    if form == "coo":
        return sp.coo_array((data, (one, other)), shape=(n_rows, n_columns))
    matrix = (sp.csr_array if form == "csr" else sp.csc_array)((data, one, other), shape=(n_rows, n_columns))
    matrix.check_format(full_check=True)
    return matrix


def is_npz(path: Path) -> bool:
    """Whether a file is an archive of arrays, and not one of other things."""
    try:
        with zipfile.ZipFile(path) as archive:
            return all(member.endswith(".npy") for member in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return False
