"""Text files with one record a line: read block by block, numbers as numbers, everything else as strings."""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.exceptions import TableError
from rarefy.tables._dialect import (
    NAMES_OF_DELIMITERS,
    QUOTE,
    Dialect,
    Records,
    collapse_spaces,
    find_delimiter,
    first_line_has_names,
    uses_decimal_commas,
    without_spaces_before_quotes,
)
from rarefy.tables._frames import Columns
from rarefy.tables._limits import MOST_COLUMNS
from rarefy.tables._messages import SHOWN, counted, listed
from rarefy.tables._notes import unique_names, unnamed
from rarefy.tables._sample import RecordSample
from rarefy.tables._source import Source, require_polars
from rarefy.tables._strings import MISSING, Strings, infer, is_missing_marker
from rarefy.tables._table import MAX_CATEGORIES, Table
from rarefy.tables._text import ENCODINGS, find_encoding, text_blocks
from rarefy.tables._wide import wide_columns

_HEAD_RECORDS, _FEWEST_RECORDS = 200, 12
_HEAD_BYTES = 1 << 20
_HEAD_CELLS = 200_000


class _NotNumbersError(Exception):
    """Columns that looked like numbers so far hold something else."""

    def __init__(self, columns: set[int]) -> None:
        super().__init__(columns)
        self.columns = columns


class _RaggedError(Exception):
    """Some record has too many or too few fields."""


def read_csv(source: Source, sample: int | None, rng: np.random.Generator) -> Table:
    """Read a text file with one record a line."""
    require_polars()
    encoding = find_encoding(source)
    seed = int(rng.integers(2**32))
    try:
        return _read(source, encoding, sample, seed)
    except UnicodeDecodeError as error:
        if encoding != "utf-8":
            raise TableError(
                f"{source.name} is not valid {encoding.upper()}, as it seems to be; save it as UTF-8."
            ) from error
        return _read(source, "latin-1", sample, seed)


def _read(source: Source, encoding: str, sample: int | None, seed: int) -> Table:
    head = _head(source, encoding)
    delimiter = find_delimiter(head, source.ending)
    prepare = collapse_spaces if delimiter == b" " else None
    dialect = _dialect(source, prepare(head) if prepare else head, delimiter)
    numbers, n_tries = set(range(dialect.n_columns)) - dialect.words, 0
    exact = sample is not None  # a sample may hold one of two lines whose errors cancel
    while True:
        # A sample is drawn from the same seed each time, so that another look at the file sees the same rows.
        pick = None if sample is None else RecordSample(sample, np.random.default_rng(seed))
        blocks = _records(source, text_blocks(source, encoding, prepare), dialect, exact)
        try:
            columns, n_rows = _collect(blocks if pick is None else pick.of(blocks), dialect, numbers)
            break
        except _RaggedError:
            if exact:
                raise
            exact = True  # another look at every line finds its number
        except _NotNumbersError as error:
            # Columns are read again from the beginning: what was a number so far keeps its spelling (007) as a string.
            numbers, n_tries = numbers - error.columns, n_tries + 1
            if n_tries > 5:
                numbers = set()
    if not n_rows:
        what = "only a line of names" if dialect.names else "no rows"
        raise TableError(f"{source.name} has {what}; a table needs at least one row of data.")
    notes = _notes(encoding, dialect)
    if pick is not None and pick.n_seen > n_rows:
        notes.append(f"A random sample of {n_rows} of {pick.n_seen} rows was read.")
    return _typed(source, dialect, columns, notes)


def _head(source: Source, encoding: str) -> bytes:
    """The first records; enough to see how the file is written."""
    head = b""
    for block in text_blocks(source, encoding):
        head += block
        if head.count(b"\n") > 20:
            break
    if not head.strip():
        raise TableError(f"{source.name} has blank lines only; a table needs rows and columns.")
    lines = Records.of(head, b",")
    few = max(_FEWEST_RECORDS, int(np.searchsorted(lines.ends, _HEAD_BYTES)))  # of very long ones
    return head[: int(lines.ends[min(len(lines.ends), _HEAD_RECORDS, few) - 1])]


def _dialect(source: Source, head: bytes, delimiter: bytes) -> Dialect:
    records = Records.of(head, delimiter)
    kept = np.flatnonzero(~records.blank)
    n_first = int(records.n_fields[kept[0]])
    values, votes = np.unique(records.n_fields[kept[1:]], return_counts=True)
    frequent = values[votes == votes.max(initial=0)].tolist()
    n_columns = n_first if not frequent or n_first in frequent else int(frequent[0])
    if n_columns > MOST_COLUMNS:
        raise TableError(f"{source.name} has {n_columns} columns; at most {MOST_COLUMNS} are read.")
    limit = max(5, _HEAD_CELLS // n_columns)
    first = _cells(head[records.starts[kept[0]] : records.ends[kept[0]]], delimiter, n_first)[0]
    right = [i for i in kept[1:] if records.n_fields[i] == n_columns][:limit]
    rows = _cells(b"".join(head[records.starts[i] : records.ends[i]] for i in right), delimiter, n_columns)
    decimal = delimiter != b"," and uses_decimal_commas(rows)
    if n_first == n_columns - 1 and not all(cell.strip() == "" for cell in first):
        # Programs that write row names give no name to them; others end every line but the first with a delimiter.
        ends_empty = all(row[-1].strip() == "" for row in rows)
        names = (*first, "") if ends_empty else ("", *first)
        return Dialect(delimiter, n_columns, names, decimal, _words(rows))
    if n_first != n_columns:
        _ragged(source, 1, n_first, n_columns)
    named = first_line_has_names(first, rows)
    return Dialect(delimiter, n_columns, tuple(first) if named else None, decimal, _words(rows))


def _words(rows: list[list[str]]) -> frozenset[int]:
    """Columns that surely hold more than numbers: they need not be tried as numbers first."""
    return frozenset(i for i, cells in enumerate(zip(*rows, strict=True)) if any(_is_word(cell) for cell in cells))


def _is_word(cell: str) -> bool:
    for number in (cell, cell.replace(",", ".")):  # nearly all cells are numbers as they are
        try:
            float(number)
        except ValueError:
            continue
        return False
    return not is_missing_marker(cell)


def _cells(block: bytes, delimiter: bytes, n_columns: int) -> list[list[str]]:
    """All cells of a few records, as strings."""
    if not block:
        return []
    if QUOTE not in block:
        return [line.split(delimiter.decode()) for line in block.decode("utf-8").removesuffix("\n").split("\n")]
    frame = _parse(block, delimiter, n_columns, set(), null_values=None)
    return [["" if cell is None else cell for cell in row] for row in frame.rows()]


def _parse(block: bytes, delimiter: bytes, n_columns: int, numbers: set[int], **options: Any) -> Any:
    pl = require_polars()
    schema = {f"c{i}": pl.Float64 if i in numbers else pl.String for i in range(n_columns)}
    if QUOTE in block:
        block = without_spaces_before_quotes(block, delimiter)
    return pl.read_csv(block, has_header=False, separator=delimiter.decode(), schema=schema, **options)


def _records(source: Source, blocks: Iterator[bytes], dialect: Dialect, exact: bool) -> Iterator[bytes]:
    """Blocks of data: without the line of names and blank lines; an error for a record with too many or few fields."""
    n_lines, skip = 0, dialect.names is not None
    for block in blocks:
        text, n_breaks = block, block.count(b"\n")
        if skip or exact or not _regular(block, n_breaks, dialect):
            records = Records.of(block, dialect.delimiter)
            wanted = ~records.blank
            if skip and wanted.any():
                wanted[np.argmax(wanted)] = skip = False
            wrong = wanted & (records.n_fields != dialect.n_columns)
            if wrong.any():
                i = int(np.argmax(wrong))
                line = n_lines + block.count(b"\n", 0, int(records.starts[i])) + 1
                _ragged(source, line, int(records.n_fields[i]), dialect.n_columns)
            text = _chosen(block, records, wanted)
        n_lines += n_breaks
        if text:
            yield text


def _regular(block: bytes, n_lines: int, dialect: Dialect) -> bool:
    """Whether the number of delimiters is right, at a glance; polars notices if single lines have more of them."""
    if QUOTE in block or (dialect.n_columns == 1 and (b"\n\n" in block or block.startswith(b"\n"))):
        return False
    return block.count(dialect.delimiter) == (dialect.n_columns - 1) * n_lines


def _chosen(block: bytes, records: Records, wanted: NDArray[np.bool_]) -> bytes:
    """The wanted records; runs of neighbours are copied at one go."""
    edges = np.flatnonzero(np.diff(wanted.astype(np.int8), prepend=0, append=0))
    return b"".join(
        block[records.starts[a] : records.ends[b - 1]] for a, b in zip(edges[::2], edges[1::2], strict=True)
    )


def _ragged(source: Source, line: int, found: int, expected: int) -> None:
    raise TableError(
        f"{source.name}: line {line} has {counted(found, 'field')}, the others {expected}. Correct it; a field that "
        'contains the delimiter or a line break has to stand in quotes ("), and a quote in it is written twice.'
    )


def _collect(blocks: Iterator[bytes], dialect: Dialect, numbers: set[int]) -> tuple[list[Any], int]:
    """The columns: an array of numbers, or `Strings`; and the number of rows."""
    parts: list[list[NDArray[Any]]] = [[] for _ in range(dialect.n_columns)]
    words: list[dict[Any, int]] = [{} for _ in range(dialect.n_columns)]
    n_rows = 0
    for block in blocks:
        columns = wide_columns(block, dialect, numbers)
        if columns is None:
            frame = _parsed(block, dialect, numbers)
            columns = [
                column.to_numpy() if i in numbers else column.to_list() for i, column in enumerate(frame.get_columns())
            ]
        n_rows += len(columns[0])
        for i, column in enumerate(columns):
            parts[i].append(column if i in numbers else _codes(column, words[i]))
    found: list[Any] = []
    for i in range(dialect.n_columns):
        whole = parts[i][0] if len(parts[i]) == 1 else np.concatenate(parts[i] or [np.empty(0)])
        parts[i].clear()
        found.append(whole if i in numbers else Strings.of_codes(list(words[i]), whole))
    return found, n_rows


def _codes(rows: list[str | None], words: dict[Any, int]) -> NDArray[np.int32]:
    return np.fromiter((words.setdefault(row, len(words)) for row in rows), dtype=np.int32, count=len(rows))


def _parsed(block: bytes, dialect: Dialect, numbers: set[int]) -> Any:
    pl = require_polars()
    parse = partial(_parse, block, dialect.delimiter, dialect.n_columns)
    try:
        return parse(numbers, null_values=list(MISSING), decimal_comma=dialect.decimal_comma)
    except pl.exceptions.PolarsError as error:
        if np.any(Records.of(block, dialect.delimiter).n_fields != dialect.n_columns):
            raise _RaggedError from error
        strings = parse(set(), null_values=list(MISSING))
        comma = pl.all().str.replace(",", ".") if dialect.decimal_comma else pl.all()
        before, after = (
            strings.null_count().row(0),
            strings.select(comma.cast(pl.Float64, strict=False)).null_count().row(0),
        )
        bad = {i for i in numbers if after[i] > before[i]}
        if not bad:
            raise
        raise _NotNumbersError(bad) from None


def _notes(encoding: str, dialect: Dialect) -> list[str]:
    notes = []
    if encoding != "utf-8":
        notes.append(f"The file is encoded in {ENCODINGS.get(encoding, encoding.upper())}.")
    if dialect.delimiter != b",":
        notes.append(f"The delimiter is a {NAMES_OF_DELIMITERS[dialect.delimiter]}.")
    if dialect.names is None:
        notes.append(
            "The first line holds data: columns are called "
            f"{listed(unnamed(min(dialect.n_columns, SHOWN)), dialect.n_columns)}."
        )
    if dialect.decimal_comma:
        notes.append("Numbers are written with a decimal comma.")
    return notes


def _typed(source: Source, dialect: Dialect, found: list[Any], notes: list[str]) -> Table:
    names, renamed = unique_names(dialect.names if dialect.names is not None else unnamed(dialect.n_columns))
    columns = Columns()
    for i, name in enumerate(names):
        content, found[i] = found[i], None
        columns.add(name, infer(content, MAX_CATEGORIES) if isinstance(content, Strings) else ("number", content, ""))
    return Table.of_columns(columns, notes=chain(notes, renamed), source=source.name)
