"""Arrays and data frames of Dask as data: held by the workers of a cluster, or computed block by block here."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy._input import Lazy, RowMap, RowSource
from rarefy.backends.block_rows import IteratorRows
from rarefy.backends.cluster import Cluster, current_cluster
from rarefy.backends.dask_rows import DaskRows
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import BlockError, ParameterError


class DaskData(RowSource):
    """Rows of a Dask array or data frame, or of blocks that the workers of a cluster read themselves.

    Estimators make it of Dask arrays and data frames that they are given. With a `distributed.Client` the workers hold
    the blocks, and tasks are sent to them; without one blocks are computed one after the other by threads of this
    process.

    Attributes
    ----------
    shape : (int, int)
        Numbers of rows and columns.
    dtype : dtype
        float32 if all blocks are, else float64.
    columns : tuple of str or None
        Names of the columns.
    target : ndarray of shape (n_rows,) or None
        Labels or responses that came with the columns.

    See Also
    --------
    BlockFolder.on_workers : Makes it of a folder that all workers see.

    Examples
    --------
    >>> import pytest
    >>> da = pytest.importorskip("dask.array")
    >>> from rarefy.selection import RandomSelector
    >>> X = da.ones((100, 5), chunks=(30, 5))
    >>> int(RandomSelector(2, random_state=0).fit(X).support_.sum())
    2
    """

    def __init__(self, rows: StreamedRows, columns: tuple[str, ...] | None, target: NDArray[Any] | None = None) -> None:
        self._rows, self._columns, self._target = rows, columns, target

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 if all blocks are, else float64."""
        return self._rows.dtype

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        return self._columns

    @property
    def target(self) -> NDArray[Any] | None:
        """Labels or responses that came with the columns; None if there are none."""
        return self._target

    def rows(self) -> StreamedRows:
        """Return the data as solvers take them.

        Returns
        -------
        rows : Rows
            The same object each time.
        """
        return self._rows

    def keep(self, index: Index, factors: Array, names: tuple[str, ...] | None) -> "DaskData":
        """Keep some columns, each times a number.

        Parameters
        ----------
        index : array of int
            Which ones.
        factors : array of float
            What they are multiplied by.
        names : tuple of str or None
            Their names.

        Returns
        -------
        kept : DaskData
            Nothing is computed before it is used.
        """
        return DaskData(self._rows.columns(index, factors), names, self._target)

    def mapped(self, made: RowMap, names: tuple[str, ...] | None) -> "DaskData":
        """Make new rows of these, block by block.

        Parameters
        ----------
        made : RowMap
            How.
        names : tuple of str or None
            Names of the new columns.

        Returns
        -------
        rows : DaskData
            Nothing is computed before it is used.
        """
        return DaskData(self._rows.mapped(made), names, self._target)

    def __repr__(self) -> str:
        where = "on the workers of a cluster" if self._rows.distributed else "of Dask"
        return f"<DaskData of {self.shape[0]} rows and {self.shape[1]} columns ({self.dtype}) {where}>"


def dask_data(X: Any) -> DaskData:
    """A Dask array or data frame as data: one pass looks at sizes, types and whether numbers are finite."""
    names, blocks = _row_blocks(X)
    cluster = current_cluster()
    if cluster is None:
        return DaskData(IteratorRows(lambda: _computed(blocks)), names)
    return DaskData(rows_on(cluster, cluster.client.compute(blocks)), names)


def rows_on(cluster: Cluster, futures: list[Any], fingerprint: str | None = None) -> DaskRows:
    """Rows whose blocks are the results of tasks."""
    kept = cluster.each(_as_block, futures)
    facts = cluster.results(cluster.each(_facts, kept))
    if len({width for _, width, *_ in facts}) != 1:
        raise BlockError("The blocks of X have different numbers of columns, or there are none.")
    if not all(finite for *_, finite in facts):
        raise BlockError("X holds NaN or infinity. Fill missing values first.")
    single, sparse = all(one[2] == "float32" for one in facts), all(one[3] for one in facts)
    sizes = np.array([one[0] for one in facts], dtype=np.intp)
    dtype = np.float32 if single else np.float64
    return DaskRows(cluster, kept, sizes, facts[0][1], dtype, sparse, fingerprint=fingerprint)


def _row_blocks(X: Any) -> tuple[tuple[str, ...] | None, list[Any]]:
    """Names of columns, and delayed blocks of whole rows."""
    names = None
    if hasattr(X, "to_dask_array"):
        kinds = {str(kind) for kind in X.dtypes if not isinstance(kind, np.dtype) or kind.kind not in "fiub"}
        if kinds:
            raise ParameterError(
                f"X has columns of {', '.join(sorted(kinds))}; estimators need numbers. Encode them first, or convert "
                "the table with rarefy convert."
            )
        names, X = tuple(str(name) for name in X.columns), X.to_dask_array()
    if X.ndim != 2:
        raise ParameterError(f"Expected 2D array, got {X.ndim}D array instead: X has shape {X.shape}.")
    if X.numblocks[1] > 1:
        X = X.rechunk({1: -1})
    return names, X.to_delayed()[:, 0].tolist()


def _computed(blocks: list[Any]) -> Iterator[Any]:
    for block in blocks:
        yield _as_block(block.compute(scheduler="threads"))


def _as_block(block: Any) -> Any:
    """A block as solvers take it: float32 or float64, dense or CSR with entries that are stored once."""
    if sp.issparse(block):
        A = sp.csr_array(block if block.dtype in (np.float32, np.float64) else block.astype(np.float64))
        A.sum_duplicates()
        return A
    A = np.asarray(block)
    return np.ascontiguousarray(A if A.dtype in (np.float32, np.float64) else A.astype(np.float64))


def _facts(block: Any) -> tuple[int, int, str, bool, bool]:
    """Rows, columns, type, whether it is sparse, and whether all numbers are finite."""
    entries = block.data if sp.issparse(block) else block
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(entries.sum())) or bool(np.all(np.isfinite(entries)))
    return block.shape[0], block.shape[1], str(block.dtype), bool(sp.issparse(block)), finite


def _on_numbers(block: Any, function: Callable[[Any], Any]) -> Any:
    return function(_as_block(block))


class _DaskInput(Lazy):
    """What estimators do with Dask's collections."""

    def accepts(self, X: Any) -> bool:
        return hasattr(X, "to_delayed") and hasattr(X, "shape")

    def source(self, X: Any) -> DaskData:
        return dask_data(X)

    def values(self, y: Any) -> NDArray[Any]:
        return np.asarray(y.compute())

    def by_block(self, X: Any, function: Callable[[Any], Any], dtype: Any, width: int | None) -> Any:
        X = X.to_dask_array() if hasattr(X, "to_dask_array") else X
        X = X.rechunk({1: -1}) if X.numblocks[1] > 1 else X
        floats = X.dtype in (np.float32, np.float64)
        dtype = dtype if dtype is not None else X.dtype if floats else np.float64
        if width is None:
            return X.map_blocks(_on_numbers, function, dtype=dtype, drop_axis=1, meta=np.zeros(0, dtype=dtype))
        meta, chunks = np.zeros((0, width), dtype=dtype), (X.chunks[0], (width,))
        return X.map_blocks(_on_numbers, function, dtype=dtype, chunks=chunks, meta=meta)


INPUT = _DaskInput()
