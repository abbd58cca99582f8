"""Matrices in MatrixMarket format.

Read with polars and not with `scipy.io.mmread`, which damaged files can crash together with Python (scipy 1.17).
"""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy.exceptions import TableError
from rarefy.tables._limits import check_shape
from rarefy.tables._messages import one_line
from rarefy.tables._sample import sample_note, sampled_rows
from rarefy.tables._source import Source, require_polars
from rarefy.tables._table import Table

_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = {"general": 0, "symmetric": 1, "skew-symmetric": -1}
"""The factor of the mirrored entries."""


@dataclass(frozen=True)
class _Header:
    sparse: bool
    pattern: bool
    mirror: int
    shape: tuple[int, int]
    entries: int
    """Lines that follow."""
    end: int


def read_matrix_market(source: Source, sample: int | None, rng: np.random.Generator) -> Table:
    """Read a matrix in MatrixMarket format."""
    content = source.content()
    header = _read_header(source.name, content)
    body = re.sub(rb"(?m)^ *(?:%.*)?\n", b"", re.sub(rb"[ \t\r]+", b" ", content[header.end :] + b"\n"))
    body = re.sub(rb"(?m)^ | $", b"", body)
    n_lines = body.count(b"\n")
    if n_lines != header.entries:
        raise TableError(
            f"{source.name} states {header.entries} entries and has {n_lines}: it is truncated or damaged."
        )
    X = _sparse(source.name, header, body) if header.sparse else _dense(source.name, header, body)
    rows = sampled_rows(X.shape[0], sample, rng)
    table = Table.from_arrays(X if rows is None else X[rows], source=source.name)
    return replace(table, notes=(*sample_note(X.shape[0], rows), *table.notes))


def _read_header(name: str, content: bytes) -> _Header:
    """Refuse sizes that the file is too short for, before anything of that size is allocated."""
    start = content.partition(b"\n")[0].decode("latin-1").lower().split()
    if len(start) != 5 or start[1] != "matrix" or start[2] not in ("coordinate", "array"):
        raise TableError(
            f"{name} begins with {one_line(' '.join(start), 60)!r}; '%%MatrixMarket matrix coordinate real general' "
            "and the like are read."
        )
    if start[3] not in _FIELDS or start[4] not in _SYMMETRIES:
        raise TableError(
            f"{name} is of type {one_line(' '.join(start[3:]), 60)!r}; {', '.join(_FIELDS)} and "
            f"{', '.join(_SYMMETRIES)} are read."
        )
    sparse, mirror = start[2] == "coordinate", _SYMMETRIES[start[4]]
    sizes = re.search(rb"^(?!%)[^\n]*\S[^\n]*", content, re.MULTILINE)
    numbers = sizes.group().split() if sizes else []
    if sizes is None or len(numbers) != 2 + sparse or not all(n.isdigit() and len(n) < 19 for n in numbers):
        raise TableError(f"{name} has no line with its numbers of rows, columns and entries; write it again.")
    n_rows, n_columns = int(numbers[0]), int(numbers[1])
    entries = int(numbers[2]) if sparse else n_rows * n_columns
    if mirror and n_rows != n_columns:
        raise TableError(f"{name} is called {start[4]} and has {n_rows} rows and {n_columns} columns; write it again.")
    if mirror and not sparse:
        entries = n_rows * (n_rows + mirror) // 2
    if entries > len(content):
        raise TableError(f"{name} states {entries} entries and has {len(content)} bytes: it is truncated or damaged.")
    check_shape(name, n_rows, n_columns, entries if sparse else n_rows * n_columns)
    return _Header(sparse, start[3] == "pattern", mirror, (n_rows, n_columns), entries, sizes.end())


def _columns(name: str, body: bytes, schema: dict[str, Any]) -> list[NDArray[Any]]:
    frame = require_polars().read_csv(body, has_header=False, separator=" ", quote_char=None, schema=schema)
    if any(frame.null_count().row(0)):
        raise TableError(f"{name} has lines with fewer than {len(schema)} numbers: it is damaged. Write it again.")
    return [column.to_numpy() for column in frame.get_columns()]


def _sparse(name: str, header: _Header, body: bytes) -> Any:
    pl = require_polars()
    if not header.entries:
        return sp.csr_array(header.shape)
    schema = {"row": pl.Int64, "column": pl.Int64} | ({} if header.pattern else {"value": pl.Float64})
    rows, columns, *rest = _columns(name, body, schema)
    for indices, length in ((rows, header.shape[0]), (columns, header.shape[1])):
        if indices.min() < 1 or indices.max() > length:
            bad = indices[(indices < 1) | (indices > length)][0]
            raise TableError(f"{name} has the index {bad}, outside of 1 to {length}: it is damaged. Write it again.")
    values = rest[0] if rest else np.ones(len(rows))
    rows, columns = rows - 1, columns - 1
    if header.mirror:
        off = rows != columns
        mirrored = columns[off], rows[off], header.mirror * values[off]
        rows, columns, values = (np.concatenate(pair) for pair in zip((rows, columns, values), mirrored, strict=True))
    return sp.csr_array(sp.coo_array((values, (rows, columns)), shape=header.shape))


def _dense(name: str, header: _Header, body: bytes) -> NDArray[np.float64]:
    if not header.entries:
        return np.zeros(header.shape)
    (values,) = _columns(name, body, {"value": require_polars().Float64})
    if not header.mirror:
        return values.reshape(header.shape, order="F")
    below = np.zeros(header.shape)
    # Column by column below the diagonal is row by row above it.
    below.T[np.triu_indices(header.shape[0], 0 if header.mirror > 0 else 1)] = values
    return below + header.mirror * np.tril(below, -1).T
