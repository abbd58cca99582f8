"""Blocks of text with very many columns: all numbers are parsed as one long column.

A parser that makes a column of each of twenty thousand fields spends most of its time and memory on the columns. Here
delimiters become line breaks, cells of the few columns of words are taken out and replaced by zeros, and what is left
is one column of numbers, which is cut into rows again.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.tables._dialect import QUOTE, Dialect
from rarefy.tables._source import require_polars
from rarefy.tables._strings import MISSING

FEWEST = 500
"""Columns from which on this is faster."""
_WORDS = 20
"""Columns of words, at most: their cells are taken one by one."""


def wide_columns(block: bytes, dialect: Dialect, numbers: set[int]) -> list[Any] | None:
    """Numbers or lists of strings of every column; None if the block has to be read in another way."""
    d, words = dialect.n_columns, sorted(set(range(dialect.n_columns)) - numbers)
    if d < FEWEST or len(words) > _WORDS or QUOTE in block:
        return None
    text = np.frombuffer(block, dtype=np.uint8).copy()
    ends = np.flatnonzero((text == dialect.delimiter[0]) | (text == 10))
    n_rows, rest = divmod(len(ends), d)
    # Each row has to end with a line break and to have no other.
    if rest or not np.all(text[ends[d - 1 :: d]] == 10) or np.count_nonzero(text[ends] == 10) != n_rows:
        return None
    starts = np.append(0, ends[:-1] + 1)
    strings = {j: _cut_out(block, text, starts[j::d], ends[j::d]) for j in words}
    text[ends] = 10
    values = _numbers(text.tobytes(), dialect)
    if values is None or len(values) != n_rows * d:
        return None
    by_column = np.ascontiguousarray(values.reshape(n_rows, d).T)
    return [strings.get(j, by_column[j]) for j in range(d)]


def _cut_out(block: bytes, text: NDArray[np.uint8], starts: NDArray[Any], ends: NDArray[Any]) -> list[str]:
    """The cells between these positions, as strings; zeros are left in their place."""
    cells = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        cells.append(block[start:end].decode("utf-8"))
        text[start:end] = ord("0")
    return cells


def _numbers(lines: bytes, dialect: Dialect) -> NDArray[np.float64] | None:
    """One number a line, NaN where it is missing; None if there is anything else."""
    pl = require_polars()
    try:
        frame = pl.read_csv(
            lines,
            has_header=False,
            separator=dialect.delimiter.decode(),
            schema={"value": pl.Float64},
            null_values=list(MISSING),
            decimal_comma=dialect.decimal_comma,
        )
    except pl.exceptions.PolarsError:
        return None
    return np.asarray(frame["value"].to_numpy(), dtype=np.float64)
