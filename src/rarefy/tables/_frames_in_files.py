"""Parquet and Arrow files. Damaged ones can end the whole program in polars, so another process reads them first."""

import re
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np

from rarefy.exceptions import TableError
from rarefy.tables._limits import LARGEST, check_shape
from rarefy.tables._messages import columns_are, one_line
from rarefy.tables._sample import sample_note, sampled_rows
from rarefy.tables._source import Source, require_polars
from rarefy.tables._table import Table

_REFUSED = 7
_TRIAL = f"""
import sys
import polars as pl
try:
    scan = getattr(pl, sys.argv[1])(sys.argv[2])
    n_rows, n_columns = scan.select(pl.len()).collect().item(), len(scan.collect_schema().names())
    if 8 * n_rows * n_columns > {LARGEST}:
        raise ValueError(f"it states {{n_rows}} rows and {{n_columns}} columns, more than {LARGEST} bytes")
    for column in scan.collect().get_columns():
        if column.dtype == pl.String:
            column.to_list()
except BaseException as error:
    lines = str(error).strip().splitlines() or [""]
    sys.stdout.buffer.write(f"{{type(error).__name__}}: {{lines[0][:300]}}".encode("utf-8", "replace"))
    sys.stdout.flush()
    sys.exit({_REFUSED})
"""
"""Lengths in a damaged file make Rust ask for 2^61 bytes and abort when there are none (seen with polars 2.1)."""


def read_parquet(source: Source, sample: int | None, rng: np.random.Generator) -> Table:
    """Read a Parquet file."""
    return _read(source, "scan_parquet", "Parquet", sample, rng)


def read_arrow(source: Source, sample: int | None, rng: np.random.Generator) -> Table:
    """Read a file in Arrow's own format, which Feather is too."""
    return _read(source, "scan_ipc", "Arrow or Feather", sample, rng)


def _read(source: Source, scanner: str, form: str, sample: int | None, rng: np.random.Generator) -> Table:
    pl = require_polars()
    _try_in_another_process(source, scanner, form)
    scan = getattr(pl, scanner)(source.path)
    n_rows, n_columns = int(scan.select(pl.len()).collect().item()), len(scan.collect_schema().names())
    if not n_rows or not n_columns:
        raise TableError(f"{source.name} has {n_rows} rows and {n_columns} columns; a table needs one of each.")
    check_shape(source.name, n_rows, n_columns, n_rows * n_columns)
    rows, scan, index = sampled_rows(n_rows, sample, rng), *_without_index(scan)
    frame: Any = (scan if rows is None else scan.select(pl.all().gather(rows.tolist()))).collect()
    table = Table.from_frame(frame, source=source.name)
    return replace(table, notes=(*sample_note(n_rows, rows), *index, *table.notes))


def _without_index(scan: Any) -> tuple[Any, list[str]]:
    """Leave out what pandas stores its names of rows as, unless there is nothing else."""
    names = scan.collect_schema().names()
    index = [name for name in names if re.fullmatch(r"__index_level_[0-9]+__", name)]
    if not index or len(index) == len(names):
        return scan, []
    return scan.drop(index), [columns_are(index, "the index of a pandas frame, and left out")]


def _try_in_another_process(source: Source, scanner: str, form: str) -> None:
    """Raise an error if the file cannot be read, or ends the process that tries to."""
    if not sys.executable:
        return
    # Without -P a file polars.py in the current folder would be run.
    command = [sys.executable, "-P", "-c", _TRIAL, scanner, str(source.path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True)
    reason = done.stdout.decode("utf-8", "replace")
    if done.returncode < 0:
        reason = f"the reader ended with signal {-done.returncode}"
    elif done.returncode != _REFUSED:
        return  # it was read; or no process could be started, and the attempt says nothing
    raise TableError(
        f"{source.name} cannot be read as {form} ({one_line(reason)}). It is damaged, or larger than the memory; write "
        "it again, or save the data as CSV."
    )
