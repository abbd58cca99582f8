"""Rows that the workers of a cluster hold in blocks: products and sums are computed where the blocks are."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy._input import RowMap
from rarefy._journal import recorded
from rarefy.backends.block_rows import Remembering
from rarefy.backends.cluster import Cluster
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.core.linalg.columns import gram_and_sums, squares_around
from rarefy.core.linalg.rows import Array, Index, Rows, as_rows, edges

_FLOAT64_SHARE = 0.3
"""Of the memory of all workers, what rows in double precision may take that are kept there; else they are in single."""


_LARGEST_HELD, _SMALLEST_HELD = 1 << 28, 1 << 24
"""Bytes of a block that is kept: a task for each block and product costs some milliseconds of a processor."""
_BLOCKS_EACH = 4
"""Blocks for each thread of the workers, if they are neither too small nor too large then."""


class DaskRows(Remembering):
    """Blocks on workers, each with the changes that a task makes to it before it is used.

    What comes to the client are results: sums, Gram matrices, one number for each row, rows that are asked for.
    `blocks` brings all rows block after block and is for what nothing else can do.
    """

    _overwritten = False

    def __init__(
        self, cluster: Cluster, blocks: list[Any], sizes: Index, width: int, dtype: Any, sparse: bool = False,
        maps: tuple[Callable[[Any], Any], ...] = (), fingerprint: str | None = None,
    ) -> None:  # fmt: skip
        self.cluster, self._blocks, self._sizes, self._maps = cluster, blocks, sizes, maps
        self._edges = np.append(0, np.cumsum(sizes))
        self.shape, self._dtype, self._sparse = (int(self._edges[-1]), width), np.dtype(dtype), sparse
        self.fingerprint = fingerprint

    distributed = True
    """That blocks are not where the client is."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def sparse(self) -> bool:
        return self._sparse

    def _rows(self) -> list[slice]:
        return [slice(int(a), int(b)) for a, b in zip(self._edges[:-1], self._edges[1:], strict=True)]

    def _each(self, function: Callable[..., Any], *arguments: list[Any]) -> list[Any]:
        """`function(block, ...)` on the workers."""
        n = len(self._blocks)
        return self.cluster.each(_on_block, self._blocks, [self._maps] * n, [function] * n, *arguments)

    def _concatenated(self, parts: list[Any], shape: tuple[int, ...]) -> Array:
        found = np.empty((self.shape[0], *shape))
        for rows, part in zip(self._rows(), self.cluster.results(parts), strict=True):
            found[rows] = part
        return found

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        for number, rows in enumerate(self._rows()):
            if index is None or np.any(np.searchsorted(index, rows.start) < np.searchsorted(index, rows.stop)):
                whole = self.cluster.each(_on_block, [self._blocks[number]], [self._maps], [_itself])
                yield rows, self.cluster.results(whole)[0]

    @recorded
    def __matmul__(self, v: Array) -> Array:
        return self._concatenated(self._each(_product, [v] * len(self._blocks)), v.shape[1:])

    @recorded
    def transposed_product(self, u: Array) -> Array:
        zero = np.zeros((self.shape[1], *u.shape[1:]))
        return self._total(self._each(_transposed_product, [u[rows] for rows in self._rows()]), zero)

    @recorded
    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        if w is None and not rough and self.prefers_gram:
            return self._moments[0].copy()
        weights = [None if w is None else w[rows] for rows in self._rows()]
        zero = np.zeros((self.shape[1], self.shape[1]))
        return self._total(self._each(_gram, weights, [rough] * len(weights)), zero)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        k = self.shape[1]
        if not self._blocks:
            return np.zeros((k, k)), np.zeros(k)
        found: tuple[Array, Array] = self.cluster.total(self._each(_moments), _both)
        return found

    @recorded
    def sketch(self, G: Array) -> Array:
        parts = self._each(_sketch, [G[:, rows] for rows in self._rows()])
        return self._total(parts, np.zeros((len(G), self.shape[1])))

    @recorded
    def gram_of(self, T: Array) -> Array:
        """(A T)^T (A T)."""
        return self._total(self._each(_gram_of, [T] * len(self._blocks)), np.zeros((T.shape[1], T.shape[1])))

    @recorded
    def squares_around(self, mean: Array, weight: Array) -> tuple[Array, Array]:
        """Weighted sums of squares of each column's distances from a number, and its largest absolute entry."""
        parts = self._each(_squares_around, [mean] * len(self._blocks), [weight[rows] for rows in self._rows()])
        found: tuple[Array, Array] = self.cluster.total(parts, _sum_and_largest)
        return found

    @recorded
    def row_norms(self) -> Array:
        return self._concatenated(self._each(_row_norms), ())

    @recorded
    def column_norms(self) -> Array:
        if self.prefers_gram and self._squares_are_safe():
            return np.sqrt(self._moments[0].diagonal())
        return self._total(self._each(_column_norms), np.zeros(self.shape[1]), np.hypot)

    @recorded
    def largest_entry(self) -> float:
        return float(self._total(self._each(_largest), 0.0, max))

    @recorded
    def each(self, function: Callable[[Any], Array]) -> Array:
        parts = self.cluster.results(self._each(function))
        return np.concatenate(parts) if parts else np.asarray(function(np.zeros((0, self.shape[1]), self._dtype)))

    @recorded
    def take(self, index: Index, T: Array | None = None) -> Array:
        index = np.arange(self.shape[0])[index]
        self.allow_dense(len(index) * (self.shape[1] if T is None else T.shape[1]))
        if not len(index):
            return np.zeros((0, self.shape[1] if T is None else T.shape[1]))
        if T is not None:
            return np.asarray(self._some(index, _take, T, np.float64))
        # In the precision of the storage, which may be half the bytes.
        found = self._some(index, _stored, None, np.float64)
        return np.asarray(found.toarray() if sp.issparse(found) else found, dtype=np.float64)

    @recorded
    def stored(self, index: Index) -> Any:
        index = np.arange(self.shape[0])[index]
        return self._some(index, _stored, None) if len(index) else np.zeros((0, self.shape[1]), self._dtype)

    def _some(self, index: Index, function: Callable[..., Any], T: Array | None, dtype: Any = None) -> Any:
        """Some rows, in this order and type; None means theirs."""
        order = np.argsort(index, kind="stable")
        bounds, wanted = np.searchsorted(index[order], self._edges), index[order]
        used = [i for i in range(len(self._blocks)) if bounds[i] < bounds[i + 1]]
        local = [wanted[bounds[i] : bounds[i + 1]] - self._edges[i] for i in used]
        n = len(used)
        tasks = self.cluster.each(
            _on_block, [self._blocks[i] for i in used], [self._maps] * n, [function] * n, local, [T] * n
        )
        parts = self.cluster.results(tasks)
        if any(sp.issparse(part) for part in parts):
            back = np.empty_like(order)
            back[order] = np.arange(len(order))
            return sp.csr_array(sp.vstack(parts, format="csr"))[back]
        found = np.empty((len(order), parts[0].shape[1]), dtype or np.result_type(*parts))
        increasing = bool(np.all(np.diff(index) >= 0))
        for i, part in zip(used, parts, strict=True):
            here = slice(bounds[i], bounds[i + 1])
            found[here if increasing else order[here]] = part
        return found

    def restricted(self, index: Index) -> StreamedRows:
        index = np.asarray(index)
        if np.any(np.diff(index) < 0):  # rows in another order come from all blocks
            return super().restricted(index)
        bounds = np.searchsorted(index, self._edges)
        local = [index[bounds[i] : bounds[i + 1]] - self._edges[i] for i in range(len(self._blocks))]
        kept = self._each(_stored, local, [None] * len(local))
        return DaskRows(self.cluster, kept, np.diff(bounds), self.shape[1], self._dtype, self._sparse)

    def columns(self, index: Index, factors: Array) -> "DaskRows":  # type: ignore[override]
        return self._changed(_Columns(index, factors), len(factors), _dtype_times(self._dtype, factors), self._sparse)

    def scaled(self, factor: float) -> Rows:
        factors = np.full(self.shape[1], float(factor))
        return self._changed(_Columns(None, factors), len(factors), np.float64, self._sparse)

    def mapped(self, made: RowMap) -> "DaskRows":
        return self._changed(_Made(made), made.width, made.dtype, False)

    def held(self) -> "DaskRows":
        """The same with all changes done, and kept on the workers: in memory, and on their disks what does not fit."""
        width = self.shape[1]
        double = 8.0 * self.shape[0] * width <= _FLOAT64_SHARE * self.cluster.memory
        dtype = self._dtype if double else np.dtype(np.float32)
        # Few columns can become many: blocks are cut, so that what is made of one of them is not too large.
        share = dtype.itemsize * self.shape[0] * width // max(1, _BLOCKS_EACH * self.cluster.n_threads)
        held = min(_LARGEST_HELD, max(_SMALLEST_HELD, share))
        parts = [
            (block, part)
            for block, size in zip(self._blocks, self._sizes.tolist(), strict=True)
            for part in (list(edges(size, width, held // dtype.itemsize)) or [slice(0, 0)])
        ]
        n = len(parts)
        kept = self.cluster.each(
            _made_dense, [block for block, _ in parts], [self._maps] * n, [part for _, part in parts], [width] * n,
            [dtype] * n,
        )  # fmt: skip
        sizes = np.array([part.stop - part.start for _, part in parts], dtype=np.intp)
        return DaskRows(self.cluster, kept, sizes, width, dtype)

    def _changed(self, change: Callable[[Any], Any], width: int, dtype: Any, sparse: bool) -> "DaskRows":
        maps = (*self._maps, change)
        return DaskRows(self.cluster, self._blocks, self._sizes, width, dtype, sparse, maps)

    def _total(self, parts: list[Any], zero: Any, combine: Callable[[Any, Any], Any] | None = None) -> Any:
        if not parts:
            return zero
        return self.cluster.total(parts) if combine is None else self.cluster.total(parts, combine)


class _Columns:
    """Some columns of a block, each times a number."""

    def __init__(self, index: Index | None, factors: Array) -> None:
        self._index, self._factors = index, factors

    def __call__(self, block: Any) -> Any:
        block = block if self._index is None else block[:, self._index]
        if np.all(self._factors == 1.0):
            return block
        if sp.issparse(block):
            return sp.csr_array(block.astype(np.float64) @ sp.diags_array(self._factors))
        return block * self._factors


class _Made:
    """New rows of a block."""

    def __init__(self, made: RowMap) -> None:
        self._made = made

    def __call__(self, block: Any) -> NDArray[Any]:
        return np.asarray(self._made.values(block), dtype=self._made.dtype)

    def write(self, block: Any, out: NDArray[Any]) -> None:
        """Into an array, in its precision."""
        if self._made.fill is None:
            out[...] = self._made.values(block)
        else:
            self._made.fill(block, out)


def _dtype_times(dtype: np.dtype[Any], factors: Array) -> np.dtype[Any]:
    return dtype if np.all(factors == 1.0) else np.dtype(np.float64)


def _on_block(block: Any, maps: tuple[Callable[[Any], Any], ...], function: Callable[..., Any], *arguments: Any) -> Any:
    for change in maps:
        block = change(block)
    return function(block, *arguments)


def _itself(block: Any) -> Any:
    return block


def _product(block: Any, v: Array) -> Array:
    return as_rows(block) @ v


def _transposed_product(block: Any, u: Array) -> Array:
    return as_rows(block).T @ u


def _gram(block: Any, w: Array | None, rough: bool) -> Array:
    return as_rows(block).gram(w, rough=rough)


def _moments(block: Any) -> tuple[Array, Array]:
    with np.errstate(over="ignore", invalid="ignore"):  # squares that overflow are noticed by their size
        return gram_and_sums(as_rows(block))


def _both(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    with np.errstate(over="ignore", invalid="ignore"):
        return a[0] + b[0], a[1] + b[1]


def _sketch(block: Any, G: Array) -> Array:
    return as_rows(block).sketch(G)


def _gram_of(block: Any, T: Array) -> Array:
    total = np.zeros((T.shape[1], T.shape[1]))
    for _, P in as_rows(block).blocks(T):
        total += P.T @ P
    return total


def _squares_around(block: Any, mean: Array, weight: Array) -> tuple[Array, Array]:
    return squares_around(as_rows(block), mean, weight)


def _sum_and_largest(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return a[0] + b[0], np.maximum(a[1], b[1])


def _row_norms(block: Any) -> Array:
    return as_rows(block).row_norms()


def _column_norms(block: Any) -> Array:
    return as_rows(block).column_norms()


def _largest(block: Any) -> float:
    return as_rows(block).largest_entry()


def _take(block: Any, index: Index, T: Array | None) -> Array:
    return as_rows(block).take(index, T)


def _stored(block: Any, index: Index, T: None) -> Any:
    return block[index]


def _made_dense(
    block: Any, maps: tuple[Callable[[Any], Any], ...], rows: slice, width: int, dtype: np.dtype[Any]
) -> NDArray[Any]:
    """Some rows with all changes done, in small pieces."""
    found = np.empty((rows.stop - rows.start, width), dtype=dtype)
    for some in edges(len(found), width):
        part, out = block[rows.start + some.start : rows.start + some.stop], found[some]
        for change in maps[:-1]:
            part = change(part)
        if maps and isinstance(maps[-1], _Made):
            maps[-1].write(part, out)
        else:
            part = maps[-1](part) if maps else part
            out[...] = part.toarray() if sp.issparse(part) else part
    return found
