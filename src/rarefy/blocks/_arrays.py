"""Blocks from arrays, at once or one after the other."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from rarefy._fit import checked_arguments
from rarefy._parameters import COUNT
from rarefy._progress import progress_bar
from rarefy._validation import refuse_masked
from rarefy.blocks._folder import BlockFolder
from rarefy.blocks._write import Chunk, Source, write_blocks
from rarefy.certificates._columns import all_names
from rarefy.exceptions import ParameterError

BLOCK_BYTES = 1 << 25
"""Size of a block where no number of rows is given: read in one go, small beside any budget."""


@checked_arguments({"folder": [str, os.PathLike], "block_rows": [COUNT, None]})
def from_arrays(
    folder: str | os.PathLike[str],
    X: Any,
    y: Any = None,
    *,
    columns: Any = None,
    target_name: str | None = None,
    dtype: Any = None,
    block_rows: int | None = None,
) -> BlockFolder:
    """Write an array, or arrays that come one after the other, as a folder of blocks.

    If it is interrupted, the same call goes on after the last finished block.

    Parameters
    ----------
    folder : path-like
        Where to write: a new or empty folder, or one in which the same call was interrupted.
    X : {array-like, sparse matrix} of shape (n_rows, n_columns) or iterable of such
        The data; of an iterable each item is an array of rows, or a pair of it and the labels of its rows. A memory map
        of numpy is read bit by bit.
    y : array-like of shape (n_rows,) or None, default=None
        Labels or responses that are stored beside the columns, if X is one array.
    columns : array-like of str or None, default=None
        Names of the columns; None takes those of a data frame.
    target_name : str or None, default=None
        Name of y.
    dtype : {"float32", "float64"} or None, default=None
        Precision of what is stored; None keeps float32 and stores everything else as float64.
    block_rows : int or None, default=None
        Rows of a block; None makes blocks of 32 MB. Items of an iterable are joined and cut to that.

    Returns
    -------
    data : BlockFolder
        The folder, opened.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy import blocks
    >>> rng = np.random.default_rng(0)
    >>> with TemporaryDirectory() as folder:
    ...     data = blocks.from_arrays(folder, (rng.random((100, 5)) for _ in range(10)), dtype="float32")
    >>> data.shape, data.dtype
    ((1000, 5), dtype('float32'))
    """
    return write_arrays(folder, X, y, columns, target_name, dtype, block_rows)


def write_arrays(
    folder: str | os.PathLike[str],
    X: Any,
    y: Any,
    columns: Any,
    target_name: str | None,
    dtype: Any,
    block_rows: int | None,
    encoder: dict[str, Any] | None = None,
) -> BlockFolder:
    """The same, and what made numbers of a table's columns."""
    items, names, n_rows = _items(X, y), columns, None
    if _is_one(X):
        names, n_rows = (getattr(X, "columns", None) if columns is None else columns), np.shape(X)[0]
    first = next(items, None)
    if first is None:
        raise ParameterError("There are no arrays to write.")
    block, width = first[0], first[0].shape[1]
    kind = _stored_type(dtype, block.dtype)
    named = None if names is None else tuple(str(name) for name in all_names(names, width))
    about = {
        "source": "arrays", "rows": n_rows, "width": width, "dtype": kind.name, "columns": named,
        "target": target_name, "block_rows": block_rows,
    }  # fmt: skip
    if block_rows is None:
        row_bytes = kind.itemsize * width
        if sp.issparse(block):
            row_bytes = (kind.itemsize + 4) * block.nnz // max(1, block.shape[0])
        block_rows = max(1, BLOCK_BYTES // max(1, row_bytes))

    def chunks(_: Any) -> Iterator[Chunk]:
        yield from _cut(chain([first], items), block_rows, n_rows)

    return write_blocks(folder, Source(about, chunks, kind, named, target_name, encoder, repeats=True))


def _is_one(X: Any) -> bool:
    """Whether this is one matrix, and not several that come one after the other."""
    if not isinstance(X, list) or not X:
        return sp.issparse(X) or hasattr(X, "shape")
    is_pair = isinstance(X[0], tuple) and bool(X[0]) and (sp.issparse(X[0][0]) or np.ndim(X[0][0]) == 2)
    return not is_pair and np.ndim(X[0]) == 1


def _items(X: Any, y: Any) -> Iterator[tuple[Any, Any]]:
    """Pairs of arrays and their labels or None."""
    if _is_one(X):
        yield _pair(X, y)
        return
    if y is not None:
        raise ParameterError("Of an iterable of arrays, labels come with each array: give pairs of X and y.")
    for item in X:
        yield _pair(*item) if isinstance(item, tuple) else _pair(item, None)


def _pair(X: Any, y: Any) -> tuple[Any, Any]:
    refuse_masked(X, "X")
    refuse_masked(y, "y")
    A = sp.csr_array(X) if sp.issparse(X) else X if isinstance(X, np.ndarray) else np.asarray(X)
    if A.ndim != 2 or A.dtype.kind not in "biuf":
        raise ParameterError(f"Blocks are matrices of numbers; got an array of shape {A.shape} and type {A.dtype}.")
    labels = None if y is None else np.asarray(y)
    if labels is not None and (labels.ndim == 0 or len(labels) != A.shape[0]):
        raise ParameterError(f"y must have one entry for each of the {A.shape[0]} rows; got shape {labels.shape}.")
    if labels is not None and labels.dtype.kind not in "biufUS":
        labels = labels.astype(str)  # objects would have to be unpickled
    return A, labels


def _stored_type(dtype: Any, found: np.dtype[Any]) -> np.dtype[Any]:
    if dtype is None:
        return np.dtype(np.float32 if found == np.float32 else np.float64)
    try:
        kind = np.dtype(dtype)
    except TypeError:
        kind = np.dtype(object)
    if kind not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError(f"dtype must be 'float32', 'float64' or None; got {dtype!r}.")
    return kind


def _cut(items: Iterable[tuple[Any, Any]], block_rows: int, n_rows: int | None) -> Iterator[Chunk]:
    """Blocks of so many rows, whatever the sizes of the items are."""
    show, done = progress_bar("writing blocks") if n_rows else None, 0
    kept: list[tuple[Any, Any]] = []
    waiting = 0
    for A, labels in items:
        start = 0
        while start < A.shape[0]:
            stop = min(A.shape[0], start + block_rows - waiting)
            kept.append((A[start:stop], None if labels is None else labels[start:stop]))
            waiting, start = waiting + stop - start, stop
            if waiting == block_rows:
                done += waiting
                yield _joined(kept, done)
                kept, waiting = [], 0
                if show is not None and n_rows:
                    show(done, n_rows)
    if waiting:
        yield _joined(kept, done + waiting)
    if show is not None and n_rows and waiting:
        show(n_rows, n_rows)


def _joined(parts: list[tuple[Any, Any]], done: int) -> Chunk:
    labelled = {labels is not None for _, labels in parts}
    if len({A.shape[1] for A, _ in parts}) > 1 or len({sp.issparse(A) for A, _ in parts}) > 1 or len(labelled) > 1:
        raise ParameterError(
            "All arrays must have as many columns, all be dense or sparse, and all have labels or none."
        )
    if len(parts) == 1:
        return Chunk(*parts[0], done)
    blocks = [A for A, _ in parts]
    X = sp.vstack(blocks, format="csr") if sp.issparse(blocks[0]) else np.concatenate(blocks)
    return Chunk(X, np.concatenate([labels for _, labels in parts]) if labelled == {True} else None, done)
