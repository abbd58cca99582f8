"""Samples in blocks, in the place of an array of them: some as an array, or all of them block by block."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy._input import RowMap, RowSource
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.core.linalg.rows import Array, Index, edges
from rarefy.exceptions import MemoryBudgetError


class Samples(RowSource):
    """What estimators that compare samples take in the place of an array.

    Indexing by row numbers gives an array (or CSR matrix) in the precision of the storage, or samples in blocks again
    where that would take much of the memory budget. Each gathering is a pass over the blocks that are concerned.
    """

    def __init__(self, rows: StreamedRows, columns: tuple[str, ...] | None = None) -> None:
        self._rows, self._columns = rows, columns

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and features."""
        return self._rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._rows.dtype

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the features."""
        return self._columns

    @property
    def sparse(self) -> bool:
        """Whether blocks are CSR matrices."""
        return self._rows.sparse

    def rows(self) -> StreamedRows:
        """The data as solvers take them."""
        return self._rows

    def keep(self, index: Index, factors: Array, names: tuple[str, ...] | None) -> "Samples":
        """Some features, each times a number."""
        return Samples(self._rows.columns(index, factors), names)

    def mapped(self, made: RowMap, names: tuple[str, ...] | None) -> "Samples":
        """Rows that are made of these, block by block."""
        return Samples(self._rows.mapped(made), names)

    def __getitem__(self, index: Any) -> Any:
        """Some samples: an array if they are few, else samples in blocks."""
        wanted = np.arange(self.shape[0])[index]
        if self._rows.fits(len(wanted) * self.shape[1]):
            return self._rows.stored(wanted)
        return Samples(self._rows.restricted(wanted), self._columns)

    def each(self, function: Callable[[Any], Array]) -> Array:
        """What a function makes of samples, one row for each, computed where they are."""
        return self._rows.each(function)

    def few(self, index: Any) -> Any:
        """Some samples as an array, or an error that names the memory budget."""
        found = self[index]
        if isinstance(found, Samples):
            raise MemoryBudgetError(
                f"This step needs {found.shape[0]} of the samples as an array, "
                f"{8e-9 * found.shape[0] * found.shape[1]:.3g} GB. Raise memory_budget with rarefy.set_config, or ask "
                "for fewer landmarks or kernel functions."
            )
        return found

    def at_most(self, width: int) -> int | None:
        """Samples of which as many numbers each fit into memory; None if those of all do."""
        n = self.shape[0]
        while not self._rows.fits(n * width) and n > 1:
            n //= 2
        return None if n == self.shape[0] else n

    def pieces(self, width: int, entries: int | None = None) -> Iterator[tuple[slice, Any]]:
        """All samples in order, so many at a time that as many rows of this width are a block of bounded size."""
        for rows, block in self._rows._blocks_in_storage():
            for some in edges(block.shape[0], width, entries):
                yield slice(rows.start + some.start, rows.start + some.stop), block[some]


def pieces(X: Any, width: int, entries: int | None = None) -> Iterator[tuple[slice, Any]]:
    """Samples of an array, or in blocks, in the same way: each piece is gone when the next one is asked for.

    As many rows of this width have at most so many entries; None means `BLOCK_ENTRIES`.
    """
    if isinstance(X, Samples):
        yield from X.pieces(width, entries)
        return
    yield from ((rows, X[rows]) for rows in edges(X.shape[0], width, entries))


def is_sparse(X: Any) -> bool:
    """Whether samples are stored as a sparse matrix, or in blocks that are."""
    return X.sparse if isinstance(X, Samples) else bool(sp.issparse(X))


def as_array(X: Any) -> NDArray[Any] | Any:
    """Samples as an array or sparse matrix; those in blocks only if they are few."""
    return X.few(slice(None)) if isinstance(X, Samples) else X
