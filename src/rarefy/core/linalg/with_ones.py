"""Rows with a column of ones, for models with an intercept.

X : (n, d) Rows, however they are stored; c : a factor; o : the ones, or another constant
A = [c X, o] : (n, d + 1), which is never written out
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rarefy.core.linalg import norms
from rarefy.core.linalg.rows import Array, Index, Rows, TransposedRows


class WithOnes:
    """The matrix A."""

    def __init__(self, X: Rows, factor: float = 1.0, one: float = 1.0) -> None:
        self._X, self._factor, self._one = X, factor, one
        self.shape = (X.shape[0], X.shape[1] + 1)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._X.dtype

    @property
    def T(self) -> TransposedRows:
        return TransposedRows(self)

    def __matmul__(self, v: Array) -> Array:
        return self._X @ (self._factor * v[:-1]) + self._one * v[-1]

    def transposed_product(self, u: Array) -> Array:
        return np.concatenate([self._factor * (self._X.T @ u), self._one * u.sum(axis=0)[None]])

    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        w = np.ones(self.shape[0]) if w is None else w
        sums = self._one * self._factor * (self._X.T @ w)
        G = self._factor**2 * self._X.gram(w, rough=rough)
        return np.block([[G, sums[:, None]], [sums[None], self._one**2 * w.sum()]])

    def sketch(self, G: Array) -> Array:
        return np.column_stack([self._factor * self._X.sketch(G), self._one * G.sum(axis=1)])

    def take(self, index: Index, T: Array | None = None) -> Array:
        rows = self._factor * self._X.take(index)
        dense = np.column_stack([rows, np.full(len(rows), self._one)])
        return dense if T is None else dense @ T

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        for rows, block in self._X.blocks():
            dense = np.column_stack([self._factor * block, np.full(len(block), self._one)])
            yield rows, dense if T is None else dense @ T

    def subset(self, index: Index) -> "WithOnes":
        return WithOnes(self._X.subset(index), self._factor, self._one)

    def scaled(self, factor: float) -> "WithOnes":
        return WithOnes(self._X, factor * self._factor, factor * self._one)

    def row_norms(self) -> Array:
        return np.hypot(self._factor * self._X.row_norms(), self._one)

    def column_norms(self) -> Array:
        return norms.column_norms(self.blocks(), self.shape[1])

    def largest_entry(self) -> float:
        return 0.0 if not self.shape[0] else max(abs(self._one), abs(self._factor) * self._X.largest_entry())
