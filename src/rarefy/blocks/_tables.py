"""Blocks from people's own tables: types are learned from a sample, then rows are encoded and written in chunks."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy._fit import checked_arguments
from rarefy._parameters import COUNT, draw_seed
from rarefy._progress import progress_line
from rarefy.blocks._arrays import BLOCK_BYTES, _stored_type
from rarefy.blocks._folder import BlockFolder
from rarefy.blocks._write import Chunk, Source, write_blocks
from rarefy.exceptions import ParameterError, TableError
from rarefy.tables import Table, TableEncoder
from rarefy.tables._chunks import ChunkedFile
from rarefy.tables._encoded import as_strings
from rarefy.tables._frames import Columns, object_column
from rarefy.tables._messages import quoted
from rarefy.tables._notes import names_the_rows
from rarefy.tables._table import MAX_CATEGORIES

SAMPLE = 200_000
"""Rows that types are learned from, if nothing else is said."""

Files = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

_CONSTRAINTS: dict[str, Any] = {
    "folder": [str, os.PathLike],
    "target": [str, None],
    "sample_rows": [COUNT, None],
    "max_categories": [COUNT],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class Plan:
    """How files become numbers."""

    files: tuple[ChunkedFile, ...]
    kinds: dict[str, str]
    encoder: TableEncoder
    target: str | None
    words: bool
    """Whether the target holds strings."""
    drop: tuple[str, ...]
    notes: tuple[str, ...]


@checked_arguments(_CONSTRAINTS)
def from_csv(
    files: Files,
    folder: str | os.PathLike[str],
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    impute: str | None = None,
    dtype: Any = None,
    sample_rows: int | None = SAMPLE,
    max_categories: int = MAX_CATEGORIES,
    random_state: Any = 0,
) -> BlockFolder:
    r"""Write CSV files, of any size, as a folder of blocks.

    Types are learned from a sample of the rows: numbers pass, booleans become 0 and 1, categories become indicators,
    dates and free text are refused by name, as by `TableEncoder`. Then all rows are read once, chunk by chunk. A row
    that does not follow what was learned is an error, never a guess. If the conversion is interrupted, the same call
    goes on after the last finished block.

    Parameters
    ----------
    files : path-like or sequence of such
        CSV and its kin with any of the usual delimiters, also compressed; all with the same columns.
    folder : path-like
        Where to write: a new or empty folder, or one in which the same call was interrupted.
    target : str or None, default=None
        Name of the column that is stored as the target, as it is.
    drop : sequence of str, default=()
        Columns to leave out.
    impute : {"median"} or None, default=None
        What replaces missing values: medians and most frequent values of the sample. None refuses missing values.
    dtype : {"float32", "float64"} or None, default=None
        Precision of what is stored; None means float64.
    sample_rows : int or None, default=200000
        Rows that types, categories and medians are learned from; None takes all of them, which have to fit into memory.
    max_categories : int, default=50
        Strings with more distinct values are free text.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample.

    Returns
    -------
    data : BlockFolder
        The folder, opened.

    See Also
    --------
    from_parquet : The same for Parquet and Arrow.
    rarefy.tables.read_table : Read a table that fits into memory.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy import blocks
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trees.csv"
    ...     n = path.write_text("height,leaf,old\n1.5,oak,yes\n2.5,elm,no\n2,oak,no\n2,elm,no\n", encoding="utf-8")
    ...     data = blocks.from_csv(path, Path(folder) / "blocks", target="old")
    ...     data.columns, data.target.tolist()
    (('height', 'leaf=oak'), ['yes', 'no', 'no', 'no'])
    """
    plan = make_plan(files, target, drop, impute, sample_rows, max_categories, random_state)
    return write_plan(plan, folder, dtype)


@checked_arguments(_CONSTRAINTS)
def from_parquet(
    files: Files,
    folder: str | os.PathLike[str],
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    impute: str | None = None,
    dtype: Any = None,
    sample_rows: int | None = SAMPLE,
    max_categories: int = MAX_CATEGORIES,
    random_state: Any = 0,
) -> BlockFolder:
    """Write Parquet or Arrow files, of any size, as a folder of blocks.

    As :func:`from_csv`; the sample is taken from ten places of a file.

    Parameters
    ----------
    files : path-like or sequence of such
        Parquet, Arrow or Feather files, all with the same columns.
    folder : path-like
        Where to write: a new or empty folder, or one in which the same call was interrupted.
    target : str or None, default=None
        Name of the column that is stored as the target, as it is.
    drop : sequence of str, default=()
        Columns to leave out.
    impute : {"median"} or None, default=None
        What replaces missing values: medians and most frequent values of the sample. None refuses missing values.
    dtype : {"float32", "float64"} or None, default=None
        Precision of what is stored; None means float64.
    sample_rows : int or None, default=200000
        Rows that types, categories and medians are learned from; None takes all of them, which have to fit into memory.
    max_categories : int, default=50
        Strings with more distinct values are free text.
    random_state : int, RandomState instance or None, default=0
        Not used: nothing is drawn.

    Returns
    -------
    data : BlockFolder
        The folder, opened.

    See Also
    --------
    from_csv : The same for text files.

    Examples
    --------
    >>> import polars as pl
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy import blocks
    >>> with TemporaryDirectory() as folder:
    ...     pl.DataFrame({"a": [1.0, 2.0], "b": [3, 5]}).write_parquet(Path(folder) / "two.parquet")
    ...     data = blocks.from_parquet(Path(folder) / "two.parquet", Path(folder) / "blocks", dtype="float32")
    ...     data.column("b")
    array([3., 5.], dtype=float32)
    """
    plan = make_plan(files, target, drop, impute, sample_rows, max_categories, random_state)
    return write_plan(plan, folder, dtype)


def make_plan(
    files: Files, target: str | None, drop: Sequence[str], impute: str | None, sample_rows: int | None,
    max_categories: int, random_state: Any,
) -> Plan:  # fmt: skip
    """Look at a sample of the rows."""
    listed = [files] if isinstance(files, str | os.PathLike) else list(files)
    if not listed:
        raise ParameterError("There are no files to convert.")
    found, seed = tuple(ChunkedFile.of(file) for file in listed), draw_seed(random_state)
    size = None if sample_rows is None else -(-sample_rows // len(found))
    samples = [file.sample(size, seed) for file in found]
    table = samples[0] if len(samples) == 1 else _merged(samples, max_categories)
    kinds, dropped, notes = dict(table.kinds), list(drop), list(table.notes)
    first = table.names[0]
    if first != target and first not in dropped and names_the_rows(table, first):
        dropped.append(first)
        notes.append(f"Column {quoted(first)} has another text in every row: it names the rows, and is left out.")
    rest = table.drop(dropped) if dropped else table
    words = False
    if target is not None:
        rest, y = rest.split(target)
        words = y.dtype.kind == "U"
        kinds[target] = "category" if words else "number"
    encoder = TableEncoder(impute=impute, max_categories=max_categories).fit(rest)
    kinds |= {column["name"]: "category" for column in encoder.columns_ if column["kind"] == "category"}
    return Plan(found, kinds, encoder, target, words, tuple(dropped), tuple(notes))


def _merged(tables: list[Table], max_categories: int) -> Table:
    """Samples of several files as one table."""
    names = tables[0].names
    for table in tables[1:]:
        if set(table.names) != set(names):
            differs = sorted(set(table.names) ^ set(names))[0]
            raise TableError(
                f"{table.source} does not have the columns of {tables[0].source}: {quoted(differs)} differs."
            )
    columns = Columns()
    for name in names:
        parts = [table.column(name) for table in tables]
        if len({(part.dtype == object, table.kinds[name]) for part, table in zip(parts, tables, strict=True)}) == 1:
            kind = tables[0].kinds[name]
            columns.add(name, (kind, np.concatenate(parts), ""))
        else:
            rows = [None if value is None or value != value else f"{value:g}" if part.dtype != object else value
                    for part in parts for value in part.tolist()]  # fmt: skip
            columns.add(name, object_column(rows, max_categories))
    return Table.of_columns(columns, notes=tables[0].notes, source=tables[0].source)


def write_plan(plan: Plan, folder: str | os.PathLike[str], dtype: Any) -> BlockFolder:
    names = tuple(str(name) for name in plan.encoder.get_feature_names_out())
    kind = _stored_type(dtype, np.dtype(np.float64))
    chunk_rows = max(1, BLOCK_BYTES // (kind.itemsize * max(1, len(names))))
    about = {
        "source": "tables", "files": [file.about for file in plan.files], "encoder": plan.encoder.to_dict(),
        "target": plan.target, "drop": list(plan.drop), "dtype": kind.name, "rows": chunk_rows,
    }  # fmt: skip

    def chunks(after: Any) -> Iterator[Chunk]:
        first, start = (0, 0) if after is None else after
        n_rows = 0
        with progress_line() as show:
            for i in range(first, len(plan.files)):
                for table, stop in plan.files[i].chunks(plan.kinds, start if i == first else 0, chunk_rows):
                    n_rows += table.n_rows
                    yield _encoded(plan, table, [i, stop])
                    if show is not None:
                        show(f"converting: {n_rows} rows, file {i + 1} of {len(plan.files)}")

    return write_blocks(folder, Source(about, chunks, kind, names, plan.target, plan.encoder.to_dict()))


def _encoded(plan: Plan, table: Table, after: Any) -> Chunk:
    """Numbers and target of one chunk; an error for what the sample did not show."""
    y = None if plan.target is None else _target(table, plan.target, plan.words)
    left_out = [name for name in (*plan.drop, plan.target) if name is not None]
    table = replace(table.drop(left_out) if left_out else table, notes=())
    for column in plan.encoder.columns_:
        if column["kind"] != "category":
            continue
        values = as_strings(table.column(column["name"])).values
        new = sorted(set(values) - set(column["categories"]))
        if new:
            raise TableError(
                f"{table.source}: column {quoted(column['name'])} has the value {quoted(new[0])}, which the sample "
                "that categories were learned from lacks. Learn them from more rows (sample_rows)."
            )
    return Chunk(plan.encoder.transform(table), y, after)


def _target(table: Table, name: str, words: bool) -> NDArray[Any]:
    y = table.column(name)
    if words != (y.dtype == object):
        if words:  # a chunk of a column of strings that looks like numbers
            y = np.array([None if np.isnan(v) else f"{v:g}" for v in y.tolist()], dtype=object)
        else:
            raise TableError(f"{table.source}: target {quoted(name)} was numbers before and is strings here.")
    missing = np.array([value is None for value in y]) if words else np.isnan(y)
    if missing.any():
        raise TableError(
            f"{table.source}: target {quoted(name)} has {int(missing.sum())} missing values, the first in row "
            f"{int(np.argmax(missing)) + 1} of these. Fill them in, or remove these rows."
        )
    return y.astype(str) if words else y
