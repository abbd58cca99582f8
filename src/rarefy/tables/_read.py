"""Tables from files: which format it is, by content and ending, and who reads it."""

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from rarefy._fit import checked_arguments
from rarefy._parameters import COUNT, draw_seed
from rarefy.exceptions import TableError
from rarefy.tables._arrays import is_npz, read_npy, read_npz
from rarefy.tables._csv import read_csv
from rarefy.tables._documents import read_documents
from rarefy.tables._frames_in_files import read_arrow, read_parquet
from rarefy.tables._libsvm import looks_like_libsvm, read_libsvm
from rarefy.tables._matrix_market import read_matrix_market
from rarefy.tables._messages import one_line, reading
from rarefy.tables._source import Source
from rarefy.tables._table import Table

Reader = Callable[[Source, int | None, np.random.Generator], Table]


@checked_arguments({"path": [str, os.PathLike], "sample": [COUNT, None], "random_state": ["random_state"]})
def read_table(path: str | os.PathLike[str], *, sample: int | None = None, random_state: Any = 0) -> Table:
    r"""Read a table from a file, a folder of texts, or standard input.

    The content decides what is read, then the ending of the name: CSV and its kin with any of the usual delimiters,
    with or without a line of names, in UTF-8, UTF-16 or Latin-1; Parquet; Arrow and Feather; libsvm; MatrixMarket;
    arrays of numpy (.npy, or .npz with X and perhaps y and names) and sparse matrices of scipy (.npz); a folder of text
    files, whose sub-folders are classes. Texts may be compressed (.gz, CSV also .zst). Nothing is ever unpickled.

    Parameters
    ----------
    path : path-like
        The file or folder; "-" is standard input, which holds CSV.
    sample : int, default=None
        Read a random sample of this many rows, for a first look; None reads all.
    random_state : int, RandomState instance or None, default=0
        Seed of the sample.

    Returns
    -------
    table : Table
        Typed columns, or a matrix, with notes about what was found.

    Raises
    ------
    TableError
        If the file cannot be read as a table; one line says what is wrong and what to do.
    MissingExtraError
        If polars is needed and not installed.

    See Also
    --------
    TableEncoder : Encode a table as numbers.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy.tables import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trees.csv"
    ...     n = path.write_text("height;leaf\n1,5;oak\n2,25;elm\n3;oak\n", encoding="utf-8")
    ...     table = read_table(path)
    >>> table
    <Table of 3 rows and 2 columns (1 number, 1 category)>
    >>> table.columns["height"].tolist()
    [1.5, 2.25, 3.0]
    >>> print(*table.notes, sep="\n")
    The delimiter is a semicolon.
    Numbers are written with a decimal comma.
    """
    rng = np.random.default_rng(draw_seed(random_state))
    where = None if str(path) == "-" else Path(path)
    name = "Standard input" if where is None else one_line(where)
    with reading(name, "a table"):
        if where is not None and where.is_dir():
            return read_documents(where, sample, rng)
    with reading(name, "a file"):
        source = Source(where)
    with closing(source):
        form, reader = _reader(source)
        with reading(name, form):
            return reader(source, sample, rng)


def _reader(source: Source) -> tuple[str, Reader]:
    """The format of a file, and the function that reads it."""
    head, ending = source.head, source.ending
    for start, form, reader in (
        (b"PAR1", "Parquet", read_parquet),
        (b"ARROW1", "Arrow or Feather", read_arrow),
        (b"\x93NUMPY", "an array of numpy", read_npy),
        (b"%%MatrixMarket", "MatrixMarket", read_matrix_market),
    ):
        if head.startswith(start):
            if source.packed and reader is not read_matrix_market:
                raise TableError(f"{source.name} holds {form} inside of a compressed file; decompress it first.")
            return form, reader
    if head.startswith(b"PK") and source.path is not None and (ending == ".npz" or is_npz(source.path)):
        return "an archive of numpy", read_npz
    expected = {
        ".parquet": "Parquet", ".pq": "Parquet", ".arrow": "Arrow", ".feather": "Feather", ".ipc": "Arrow",
        ".npy": "an array of numpy", ".npz": "an archive of numpy", ".mtx": "MatrixMarket",
    }  # fmt: skip
    if ending in expected:
        raise TableError(f"{source.name} ends in {ending} and is not {expected[ending]}; rename it, or write it again.")
    if ending in (".svm", ".libsvm", ".svmlight") or (ending not in (".csv", ".tsv") and looks_like_libsvm(head)):
        return "libsvm", read_libsvm
    return "CSV", read_csv
