r"""Rows for programs with several classes: one for each sample and each class that is not its own.

F     : (m, k) Rows; K classes
A     : (n, K k) Rows; for a sample i of class a and another class b the row is (0, F_i, 0, -F_i, 0), with F_i in
        place a and -F_i in place b

A is never formed: its products are products with F, and its Gram matrix is K (K - 1) / 2 Gram matrices of F.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rarefy.core.linalg.rows import Array, Index, Rows, TransposedRows, edges


class ClassPairs:
    """The matrix A; `sample`, `own` and `other` are, for each of its rows, the sample and the two classes."""

    def __init__(self, F: Rows, n_classes: int, sample: Index, own: Index, other: Index) -> None:
        self._F, self._K = F, n_classes
        self._sample, self._own, self._other = sample, own, other
        self.shape = (len(sample), n_classes * F.shape[1])

    @classmethod
    def of(cls, F: Rows, labels: Index, n_classes: int) -> "ClassPairs":
        """All pairs of a sample and a class that is not its own."""
        sample = np.repeat(np.arange(len(labels)), n_classes - 1)
        shift = np.tile(np.arange(1, n_classes), len(labels))
        return cls(F, n_classes, sample, labels[sample], (labels[sample] + shift) % n_classes)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._F.dtype

    @property
    def T(self) -> TransposedRows:
        return TransposedRows(self)

    def __matmul__(self, v: Array) -> Array:
        if v.ndim == 2:
            return np.stack([self @ column for column in v.T], axis=1)
        scores = self._F @ v.reshape(self._K, -1).T
        return scores[self._sample, self._own] - scores[self._sample, self._other]

    def transposed_product(self, u: Array) -> Array:
        if u.ndim == 2:
            return np.stack([self.transposed_product(column) for column in u.T], axis=1)
        spread = np.zeros((self._F.shape[0], self._K))
        np.add.at(spread, (self._sample, self._own), u)
        np.subtract.at(spread, (self._sample, self._other), u)
        return np.asarray(self._F.T @ spread).T.ravel()

    def gram(self, w: Array | None = None, *, rough: bool = False) -> Array:
        k, w = self._F.shape[1], np.ones(len(self._sample)) if w is None else w
        G = np.zeros((self._K, k, self._K, k))
        low, high = np.minimum(self._own, self._other), np.maximum(self._own, self._other)
        for a in range(self._K):
            for b in range(a + 1, self._K):
                rows = np.flatnonzero((low == a) & (high == b))
                part = self._F.subset(self._sample[rows]).gram(w[rows], rough=rough)
                G[a, :, a] += part
                G[b, :, b] += part
                G[a, :, b] -= part
                G[b, :, a] -= part
        return G.reshape(self._K * k, self._K * k)

    def sketch(self, G: Array) -> Array:
        return self.transposed_product(G.T).T

    def take(self, index: Index, T: Array | None = None) -> Array:
        index = np.arange(self.shape[0])[index]
        samples, k = self._F.take(self._sample[index]), self._F.shape[1]
        blocks = np.zeros((len(index), self._K, k))
        blocks[np.arange(len(index)), self._own[index]] = samples
        blocks[np.arange(len(index)), self._other[index]] = -samples
        dense = blocks.reshape(len(index), -1)
        return dense if T is None else dense @ T

    def blocks(self, T: Array | None = None) -> Iterator[tuple[slice, Array]]:
        for rows in edges(*self.shape):
            yield rows, self.take(np.arange(rows.start, rows.stop), T)

    def subset(self, index: Index) -> "ClassPairs":
        return ClassPairs(self._F, self._K, self._sample[index], self._own[index], self._other[index])

    def scaled(self, factor: float) -> "ClassPairs":
        return ClassPairs(self._F.scaled(factor), self._K, self._sample, self._own, self._other)

    def row_norms(self) -> Array:
        return np.sqrt(2.0) * self._F.row_norms()[self._sample]

    def column_norms(self) -> Array:
        classes = [np.flatnonzero((self._own == a) | (self._other == a)) for a in range(self._K)]
        return np.concatenate([self._F.subset(self._sample[rows]).column_norms() for rows in classes])

    def largest_entry(self) -> float:
        return self._F.subset(np.unique(self._sample)).largest_entry()
