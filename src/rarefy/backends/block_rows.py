"""Rows in a folder of blocks, and rows that a caller's own function gives block by block."""

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy._journal import recorded
from rarefy._validation import refuse_masked
from rarefy.backends.block_files import BlockFiles
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.config import current_config
from rarefy.core.linalg.columns import gram_and_sums
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import BlockError

_KEPT_SHARE = 0.125
"""Of the memory budget, what the Gram matrix may take that is kept for further use."""
_SAFE = (1e-200, 1e200)
"""Squared lengths of columns, between which a Gram matrix has them with all digits."""


class Remembering(StreamedRows):
    """Streamed rows that remember what one pass over them told: products of columns, and their sums.

    Whoever asks for the Gram matrix, lengths or means of few columns pays for one pass together.
    """

    fingerprint: str | None = None
    """Hash of the data, if it is known without another pass."""

    @property
    def prefers_gram(self) -> bool:
        """Whether the Gram matrix is worth more than many products: it is one pass, and fits."""
        n, k = self.shape
        return k <= n and 8.0 * k * k <= _KEPT_SHARE * current_config().memory_budget

    @recorded
    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        if w is None and not rough and self.prefers_gram:
            return self._moments[0].copy()
        return super().gram(w, rough=rough)

    @recorded
    def column_means(self) -> Array:
        """Mean of every column."""
        n = self.shape[0]
        if self.prefers_gram:
            return self._moments[1] / max(1, n)
        return self.sketch(np.full((1, n), 1.0 / max(1, n)))[0]

    @recorded
    def column_norms(self) -> Array:
        if self.prefers_gram and self._squares_are_safe():
            return np.sqrt(self._moments[0].diagonal())
        return super().column_norms()

    def _squares_are_safe(self) -> bool:
        squares = self._moments[0].diagonal()
        return bool(np.all((squares > _SAFE[0]) & (squares < _SAFE[1])))

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        k = self.shape[1]
        G, total = np.zeros((k, k)), np.zeros(k)
        with np.errstate(over="ignore", invalid="ignore"):  # squares that overflow are noticed by their size
            for _, part in self._parts():
                products, sums = gram_and_sums(part)
                G += products
                total += sums
        return G, total


class BlockRows(Remembering):
    """Rows in a folder of blocks."""

    def __init__(self, files: BlockFiles, fingerprint: str | None = None) -> None:
        self._files, self.fingerprint = files, fingerprint
        self.shape = files.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._files.dtype

    @property
    def sparse(self) -> bool:
        return self._files.sparse

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        return self._files.passing(index)


class IteratorRows(Remembering):
    """Rows that a function gives: every call returns a new iterator over the same blocks, in the same order.

    A block is an array or a CSR matrix, or a pair of it and the labels of its rows. The iterator runs in the thread
    that asks for the rows; it may use the memory of a block again for the next one.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        if not callable(make):
            raise BlockError(f"Blocks are taken from a function that returns an iterator over them; got {make!r}.")
        self._make = make
        sizes: list[int] = []
        labels: list[Any] = []
        single = sparse = True
        width: int | None = None
        for block, y in self._given():
            width = int(np.shape(block)[-1]) if width is None else width
            single &= block.dtype == np.float32
            sparse &= sp.issparse(block)
            sizes.append(block.shape[0])
            labels.append(None if y is None else np.array(y))
            self._check(block, y, width, len(sizes))
        if width is None:
            raise BlockError("The iterator of blocks gave none; it has to give at least one.")
        if any(y is None for y in labels) and any(y is not None for y in labels):
            raise BlockError("The iterator gave labels with some blocks and not with others.")
        self._sizes, self._dtype, self._sparse = sizes, np.dtype(np.float32 if single else np.float64), bool(sparse)
        self.shape = (sum(sizes), width)
        self.target: NDArray[Any] | None = None if labels[0] is None else np.concatenate(labels)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._dtype

    @property
    def sparse(self) -> bool:
        return self._sparse

    def _blocks_in_storage(self, index: Index | None = None) -> Iterator[tuple[slice, Any]]:
        start, number = 0, 0
        for number, (block, y) in enumerate(self._given(), start=1):
            self._check(block, y, self.shape[1], number)
            if number > len(self._sizes) or block.shape[0] != self._sizes[number - 1]:
                raise BlockError(f"Block {number} of the iterator was another one in the first pass. {_SAME}")
            yield slice(start, start + block.shape[0]), block
            start += block.shape[0]
        if number < len(self._sizes):
            raise BlockError(f"The iterator gave {number} blocks, and {len(self._sizes)} in the first pass. {_SAME}")

    def _given(self) -> Iterator[tuple[Any, Any]]:
        made = self._make()
        if not isinstance(made, Iterable):
            raise BlockError(f"The function of blocks has to return an iterator over them; got {made!r}.")
        for number, given in enumerate(made, start=1):
            block, y = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
            refuse_masked(block, f"Block {number} of the iterator")
            X: Any = sp.csr_array(block) if sp.issparse(block) else np.asarray(block)
            if X.ndim != 2 or X.dtype.kind not in "biuf":
                about = f"has shape {X.shape} and type {X.dtype}"
                raise BlockError(f"Block {number} of the iterator {about}, and is no matrix of numbers.")
            if sp.issparse(X):
                X.sum_duplicates()
            yield X if X.dtype in (np.float32, np.float64) else X.astype(np.float64), y

    @staticmethod
    def _check(block: Any, y: Any, width: int, number: int) -> None:
        if block.ndim != 2 or block.shape[1] != width:
            raise BlockError(f"Block {number} of the iterator has shape {block.shape}, not (rows, {width}).")
        if y is not None and len(y) != block.shape[0]:
            raise BlockError(f"Block {number} of the iterator has {block.shape[0]} rows and {len(y)} labels.")
        entries = block.data if sp.issparse(block) else block
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(entries.sum())
        if suspicious and not np.all(np.isfinite(entries)):
            raise BlockError(f"Block {number} of the iterator holds NaN or infinity. Fill missing values first.")


_SAME = "Every call of the function has to return a new iterator over the same blocks."
