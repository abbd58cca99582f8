"""Tables that are read chunk by chunk, for what is larger than memory: CSV, Parquet and Arrow.

Types are learned from a sample of the rows; a chunk that does not follow them is an error that says where.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rarefy.exceptions import TableError
from rarefy.tables._csv import _collect, _dialect, _head, _NotNumbersError, _RaggedError, _records
from rarefy.tables._dialect import Dialect, collapse_spaces, find_delimiter
from rarefy.tables._frames import Columns, polars_column
from rarefy.tables._frames_in_files import _without_index
from rarefy.tables._messages import one_line, reading
from rarefy.tables._notes import unique_names, unnamed
from rarefy.tables._read import read_table
from rarefy.tables._source import Source, require_polars
from rarefy.tables._strings import Strings, infer
from rarefy.tables._table import MAX_CATEGORIES, Table
from rarefy.tables._text import find_encoding, text_blocks

_TEXT_BYTES = 1 << 24
"""Text of one chunk."""
_SLICES = 10
"""Places of a Parquet file from which the sample is taken."""

Chunks = Iterator[tuple[Table, int]]


@dataclass(frozen=True)
class ChunkedFile:
    """A file that gives its rows as tables, from its beginning or from where an earlier reading stopped."""

    path: Path
    form: str

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> "ChunkedFile":
        """What kind of file it is; an error for formats that are read as a whole only."""
        path = Path(path)
        with closing(Source(path)) as source:
            head, packed = source.head, source.packed
        if not packed and head.startswith(b"PAR1"):
            return cls(path, "scan_parquet")
        if not packed and head.startswith(b"ARROW1"):
            return cls(path, "scan_ipc")
        if head.startswith((b"\x93NUMPY", b"PK", b"%%MatrixMarket")) or b"\0" in head[:4096]:
            raise TableError(
                f"{one_line(path)} is not CSV, Parquet or Arrow, which are converted chunk by chunk. Read it with "
                "rarefy.tables.read_table and write it with rarefy.blocks.from_arrays."
            )
        return cls(path, "csv")

    @property
    def about(self) -> list[Any]:
        """What tells it from another file, or another version of it."""
        found = self.path.stat()
        return [str(self.path.resolve()), found.st_size, found.st_mtime_ns]

    def sample(self, size: int | None, seed: int) -> Table:
        """Some rows, or all of them if there are no more or no size is given."""
        if self.form == "csv" or size is None:
            return read_table(self.path, sample=size, random_state=seed)
        pl = require_polars()
        with reading(one_line(self.path), "Parquet or Arrow"):
            scan = _without_index(getattr(pl, self.form)(self.path))[0]
            n = int(scan.select(pl.len()).collect().item())
            if not n:
                raise TableError(f"{one_line(self.path)} has no rows.")
            width = min(n, -(-size // _SLICES))
            starts = sorted({int(i) for i in np.linspace(0, n - width, _SLICES)}) if size < n else [0]
            parts = [scan.slice(start, width if size < n else n).collect() for start in starts]
            return Table.from_frame(pl.concat(parts), source=one_line(self.path))

    def chunks(self, kinds: Mapping[str, str], start: int, chunk_rows: int) -> Chunks:
        """Tables with these kinds of columns, and where the next one starts; about so many rows each."""
        with reading(one_line(self.path), "a table"):
            give = self._csv if self.form == "csv" else self._scan
            yield from give(kinds, start, chunk_rows)

    def _scan(self, kinds: Mapping[str, str], start: int, chunk_rows: int) -> Chunks:
        pl = require_polars()
        scan = _without_index(getattr(pl, self.form)(self.path))[0]
        n = int(scan.select(pl.len()).collect().item())
        while start < n:
            stop = min(n, start + chunk_rows)
            columns = Columns()
            for column in scan.slice(start, stop - start).collect().get_columns():
                if column.dtype == pl.String and kinds.get(column.name) == "category":
                    columns.add(column.name, ("category", Strings.of(column.to_list()).rows(), ""))
                else:
                    columns.add(column.name, polars_column(column, MAX_CATEGORIES))
            yield self._table(columns, kinds, start), stop
            start = stop

    def _csv(self, kinds: Mapping[str, str], start: int, chunk_rows: int) -> Chunks:
        with closing(Source(self.path)) as source:
            encoding = find_encoding(source)
            try:
                yield from self._records(source, encoding, kinds, start, chunk_rows)
            except UnicodeDecodeError:
                if encoding != "utf-8" or start:
                    raise
                yield from self._records(source, "latin-1", kinds, start, chunk_rows)

    def _records(self, source: Source, encoding: str, kinds: Mapping[str, str], start: int, chunk_rows: int) -> Chunks:
        head = _head(source, encoding)
        delimiter = find_delimiter(head, source.ending)
        prepare = collapse_spaces if delimiter == b" " else None
        dialect = _dialect(source, prepare(head) if prepare else head, delimiter)
        given = dialect.names if dialect.names is not None else unnamed(dialect.n_columns)
        names, n_rows = unique_names(given)[0], 0
        numbers = {i for i, name in enumerate(names) if kinds.get(name) == "number"} - dialect.words
        blocks = enumerate(_records(source, text_blocks(source, encoding, prepare), dialect, False), start=1)
        waiting: list[bytes] = []
        for number, block in blocks:
            if number <= start:
                n_rows += block.count(b"\n")
                continue
            waiting.append(block)
            if sum(map(len, waiting)) >= _TEXT_BYTES or sum(b.count(b"\n") for b in waiting) >= chunk_rows:
                table = self._typed(source, waiting, dialect, names, numbers, kinds, n_rows)
                n_rows, waiting = n_rows + table.n_rows, []
                yield table, number
        if waiting:
            yield self._typed(source, waiting, dialect, names, numbers, kinds, n_rows), number

    def _typed(
        self,
        source: Source,
        blocks: list[bytes],
        dialect: Dialect,
        names: tuple[str, ...],
        numbers: set[int],
        kinds: Mapping[str, str],
        start: int,
    ) -> Table:
        numbers = set(numbers)
        while True:
            try:
                found, _ = _collect(iter(blocks), dialect, numbers)
                break
            except _NotNumbersError as error:  # perhaps with decimal commas; what is no number at all is noticed later
                numbers -= error.columns
            except _RaggedError as error:
                for _ in _records(source, iter(blocks), dialect, True):
                    pass
                raise TableError(
                    f"{source.name}: a record after row {start} has too many or too few fields."
                ) from error
        columns = Columns()
        for name, content in zip(names, found, strict=True):
            if not isinstance(content, Strings):
                columns.add(name, ("number", content, ""))
            elif kinds.get(name) == "category":
                columns.add(name, ("category", content.rows(), ""))
            else:
                columns.add(name, infer(content, MAX_CATEGORIES))
        return self._table(columns, kinds, start)

    def _table(self, columns: Columns, kinds: Mapping[str, str], start: int) -> Table:
        unknown = sorted(set(kinds) ^ set(columns.values))
        where = one_line(self.path)
        if unknown:
            raise TableError(f"{where} does not have the same columns as the files before it: {unknown[0]!r} differs.")
        values = {name: columns.values[name] for name in kinds}
        n = len(next(iter(values.values())))
        found = {name: columns.kinds[name] for name in kinds}
        return Table(tuple(kinds), found, values, None, None, (), f"{where}, rows {start + 1} to {start + n}")
