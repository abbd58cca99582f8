"""Rows that pass by in blocks: everything that a solver asks for, from passes over what is in storage."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy._input import RowMap
from rarefy._journal import recorded
from rarefy.config import current_config
from rarefy.core.linalg import norms
from rarefy.core.linalg import rows as settings
from rarefy.core.linalg.rows import (
    Array,
    DenseRows,
    Index,
    Rows,
    TransposedRows,
    as_rows,
    edges,
    largest_of,
)
from rarefy.exceptions import MemoryBudgetError

_DENSE_SHARE = 0.5
"""Of the memory budget, what one dense result may take."""

_KEPT_SHARE = 0.25
"""Of the memory budget, what rows or columns may take that are kept for many products."""


class StreamedRows(ABC):
    """Rows of which blocks come one after the other, always in the same order: sums do not depend on threads.

    A subclass says what is in storage; blocks may be dense or CSR, in single or double precision.
    """

    shape: tuple[int, int]
    distributed: ClassVar[bool] = False
    """Whether blocks are on the workers of a cluster."""
    _overwritten: ClassVar[bool] = True
    """Whether a block is gone when the next one is asked for."""
    _budgeted: ClassVar[bool] = True
    """Whether a dense result that exceeds the memory budget is refused."""
    _turned: "StreamedRows | None" = None

    @abstractmethod
    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        """All rows in order, as they are stored; blocks with none of the rows `index` (increasing) may be left out."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Precision in which the entries are stored."""

    @property
    def T(self) -> TransposedRows:
        return StreamedColumns(self)

    @property
    def sparse(self) -> bool:
        """Whether blocks are CSR matrices."""
        return False

    @property
    def turned(self) -> "StreamedRows | None":
        """The transpose in a temporary file, where there are more columns than rows and too many to be kept dense.

        A file of dense columns: of sparse rows, and of those on a cluster, there is none.
        """
        n, d = self.shape
        dense = 8.0 * n * d <= _DENSE_SHARE * current_config().memory_budget
        if d <= n or dense or self.sparse or self.distributed or not self._budgeted:
            return None
        if self._turned is None:
            from rarefy.backends.turned_rows import TurnedRows  # which is made of streamed rows itself

            self._turned = TurnedRows(self)
        return self._turned

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_turned"}

    def _parts(self) -> Iterator[tuple[slice, Rows]]:
        for rows, block in self._blocks_in_storage():
            yield rows, as_rows(block)

    def _passing(self) -> Iterator[tuple[slice, Rows]]:
        """Blocks for products with vectors, which may be less accurate."""
        return self._parts()

    @recorded
    def __matmul__(self, v: Array) -> Array:
        product = np.empty((self.shape[0], *v.shape[1:]))
        for rows, part in self._passing():
            product[rows] = part @ v
        return product

    @recorded
    def transposed_product(self, u: Array) -> Array:
        total = np.zeros((self.shape[1], *u.shape[1:]))
        for rows, part in self._passing():
            total += part.T @ u[rows]
        return total

    @recorded
    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        G = np.zeros((self.shape[1], self.shape[1]))
        for rows, part in self._parts():
            G += part.gram(None if w is None else w[rows], rough=rough)
        return G

    @recorded
    def sketch(self, G: Array) -> Array:
        total = np.zeros((len(G), self.shape[1]))
        for rows, part in self._parts():
            total += part.sketch(G[:, rows])
        return total

    @recorded
    def take(self, index: Index, T: Array | None = None) -> Array:
        index = np.arange(self.shape[0])[index]
        width = self.shape[1] if T is None else T.shape[1]
        self.allow_dense(len(index) * width)
        dense, order = np.empty((len(index), width)), np.argsort(index, kind="stable")
        wanted = index[order]
        for rows, block in self._blocks_in_storage(wanted):
            here = _inside(wanted, rows)
            if here.start < here.stop:
                dense[order[here]] = as_rows(block).take(wanted[here] - rows.start, T)
        return dense

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        for rows, part in self._parts():
            own = T is not None or not self._overwritten or part.dtype != np.float64
            for some, block in part.blocks(T):
                yield slice(rows.start + some.start, rows.start + some.stop), block if own else block.copy()

    def subset(self, index: Index) -> Rows:
        index = np.arange(self.shape[0])[index]
        if not self.fits(len(index) * self.shape[1]):
            return self.restricted(index)
        return as_rows(self.stored(index))

    @recorded
    def stored(self, index: Index) -> Any:
        """The rows with these numbers as they are stored, as one array or CSR matrix: one pass."""
        order = np.argsort(index, kind="stable")
        wanted, parts = index[order], []
        for rows, block in self._blocks_in_storage(wanted):
            here = _inside(wanted, rows)
            if here.start < here.stop:
                parts.append(block[wanted[here] - rows.start])
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        if any(sp.issparse(part) for part in parts):
            return sp.csr_array(sp.vstack([sp.csr_array(part) for part in parts], format="csr"))[back]
        found = np.concatenate([np.zeros((0, self.shape[1]), dtype=self.dtype), *parts])
        return found.astype(self.dtype, copy=False)[back]

    @recorded
    def each(self, function: Callable[[Any], Array]) -> Array:
        """What a function makes of blocks, one row for each of theirs, with all rows in order."""
        found = [function(block) for _, block in self._blocks_in_storage()]
        return np.concatenate(found) if found else function(np.zeros((0, self.shape[1]), dtype=self.dtype))

    def restricted(self, index: Index) -> "StreamedRows":
        """The rows with these numbers, still in storage."""
        return RowsOf(self, index)

    def scaled(self, factor: float) -> Rows:
        return ColumnsOf(self, None, np.full(self.shape[1], float(factor)))

    def columns(self, index: Index, factors: Array) -> "ColumnsOf":
        """Some columns, each times a number."""
        return ColumnsOf(self, index, factors)

    def mapped(self, made: RowMap) -> "StreamedRows":
        """Rows that are made of these, block by block."""
        return MappedRows(self, made)

    def gathered(self, index: Index, factors: Array) -> Rows:
        """The same, kept in memory if they are few enough to take little of the memory budget."""
        columns = self.columns(index, factors)
        return DenseRows(columns.take(np.arange(self.shape[0]))) if self.fits(self.shape[0] * len(index)) else columns

    @recorded
    def row_norms(self) -> Array:
        return norms.row_norms(self.blocks(), self.shape[0])

    @recorded
    def column_norms(self) -> Array:
        return norms.column_norms(self.blocks(), self.shape[1])

    @recorded
    def largest_entry(self) -> float:
        return largest_of(self.blocks())

    def fits(self, entries: int) -> bool:
        """Whether a part of so many entries may be kept in memory."""
        return not self._budgeted or 8.0 * entries <= _KEPT_SHARE * current_config().memory_budget

    def allow_dense(self, entries: int) -> None:
        """Refuse to make so many entries dense if that exceeds the memory budget."""
        budget = current_config().memory_budget
        if self._budgeted and 8.0 * entries > _DENSE_SHARE * budget:
            raise MemoryBudgetError(
                f"This step needs {8e-9 * entries:.3g} GB of the data as a dense array, more than half of "
                f"memory_budget={1e-9 * budget:.3g} GB. Raise it with rarefy.set_config(memory_budget=...), or keep "
                "fewer rows or columns."
            )


class RowsOf(StreamedRows):
    """Some rows of streamed rows, in any order."""

    _overwritten = False

    def __init__(self, rows: StreamedRows, index: Index) -> None:
        self._rows, self._index = rows, index
        self.shape = (len(index), rows.shape[1])
        self._increasing = bool(np.all(np.diff(index) >= 0))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._rows.dtype

    @property
    def sparse(self) -> bool:
        return self._rows.sparse

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        if not self._increasing:  # each block is gathered from all over the storage
            yield from ((some, self._rows.stored(self._index[some])) for some in edges(*self.shape))
            return
        for rows, block in self._rows._blocks_in_storage(self._index):
            here = _inside(self._index, rows)
            if here.start < here.stop:
                yield here, block[self._index[here] - rows.start]

    @recorded
    def take(self, index: Index, T: Array | None = None) -> Array:
        return self._rows.take(self._index[index], T)

    def subset(self, index: Index) -> Rows:
        return self._rows.subset(self._index[index])

    @recorded
    def stored(self, index: Index) -> Any:
        return self._rows.stored(self._index[index])

    def restricted(self, index: Index) -> StreamedRows:
        return self._rows.restricted(self._index[index])


class ColumnsOf(StreamedRows):
    """Some columns of streamed rows (None: all), each times a number."""

    _overwritten = False

    def __init__(self, rows: StreamedRows, index: Index | None, factors: Array) -> None:
        self._rows, self._index, self._factors = rows, index, factors
        self._plain = bool(np.all(factors == 1.0))
        self.shape = (rows.shape[0], len(factors))

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._rows.dtype if self._plain else np.dtype(np.float64)

    @property
    def sparse(self) -> bool:
        return self._rows.sparse

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        for rows, stored in self._rows._blocks_in_storage(index):
            block = stored.copy() if self._index is None else stored[:, self._index]
            if self._plain:
                yield rows, block
            elif sp.issparse(block):
                yield rows, sp.csr_array(block.astype(np.float64) @ sp.diags_array(self._factors))
            else:
                yield rows, block * self._factors


class MappedRows(StreamedRows):
    """New rows from streamed ones.

    Products may take rows in single precision if `fill` of the map writes them so; sums are in double precision.
    """

    _overwritten = _budgeted = False

    def __init__(self, rows: StreamedRows, made: RowMap, factor: float = 1.0) -> None:
        self._rows, self._made, self._factor = rows, made, factor
        self.shape = (rows.shape[0], made.width)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._made.dtype if self._factor == 1.0 else np.dtype(np.float64)

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        for rows, block in self._pieces(index):
            yield rows, self._of(block)

    def _passing(self) -> Iterator[tuple[slice, Rows]]:
        """Blocks that overwrite each other."""
        fill, width = self._made.fill, self.shape[1]
        if fill is None:
            yield from self._parts()
            return
        step = max(1, min(self.shape[0], settings.BLOCK_ENTRIES // max(width, 1)))
        single, double = np.empty((step, width), dtype=np.float32), np.empty((step, width))
        for rows, block in self._pieces():
            part = double[: rows.stop - rows.start]
            fill(block, single[: len(part)])
            np.copyto(part, single[: len(part)])
            if self._factor != 1.0:
                part *= self._factor
            yield rows, DenseRows(part)

    @recorded
    def take(self, index: Index, T: Array | None = None) -> Array:
        dense = self.stored(np.arange(self.shape[0])[index]).astype(np.float64, copy=False)
        return dense if T is None else dense @ T

    @recorded
    def stored(self, index: Index) -> Any:
        return self._of(self._rows.stored(index))

    def restricted(self, index: Index) -> StreamedRows:
        return MappedRows(self._rows.restricted(index), self._made, self._factor)

    def subset(self, index: Index) -> Rows:
        return MappedRows(self._rows.restricted(np.arange(self.shape[0])[index]), self._made, self._factor)

    def scaled(self, factor: float) -> Rows:
        return MappedRows(self._rows, self._made, self._factor * factor)

    def _pieces(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        """Rows of which new ones are made together."""
        for rows, block in self._rows._blocks_in_storage(index):
            for some in edges(block.shape[0], self.shape[1]):
                yield slice(rows.start + some.start, rows.start + some.stop), block[some]

    def _of(self, block: Any) -> NDArray[Any]:
        made = np.asarray(self._made.values(block), dtype=self._made.dtype)
        return made if self._factor == 1.0 else self._factor * made.astype(np.float64)


class StreamedColumns(TransposedRows):
    """The transpose of streamed rows, of which no more is made dense than the memory budget allows."""

    _rows: StreamedRows

    def fits(self, entries: int) -> bool:
        """Whether a part of so many entries may be kept in memory."""
        return self._rows.fits(entries)

    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        turned = self._rows.turned
        return super().gram(w, rough=rough) if turned is None else turned.gram(w, rough=rough)

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        turned = self._rows.turned
        yield from super().blocks(T) if turned is None else turned.blocks(T)

    def take(self, index: Index, T: Array | None = None) -> Array:
        turned = self._rows.turned
        return self._gathered(index, T) if turned is None else turned.take(index, T)

    @recorded
    def _gathered(self, index: Index, T: Array | None = None) -> Array:
        self._rows.allow_dense(len(np.arange(self.shape[0])[index]) * self.shape[1])
        return super().take(index, T)

    def subset(self, index: Index) -> Rows:  # type: ignore[override]
        index = np.arange(self.shape[0])[index]
        if self._rows.fits(len(index) * self.shape[1]):
            return super().subset(index)
        return self._rows.columns(index, np.ones(len(index))).T


def _inside(index: Index, rows: slice) -> slice:
    """Where increasing row numbers fall into a block."""
    start, stop = np.searchsorted(index, (rows.start, rows.stop))
    return slice(int(start), int(stop))
