r"""Rows for programs with several classes: one for each sample and each class that is not its own.

F     : (m, k) Rows; K classes
Q     : (K, K) orthogonal, its first column is constant: `contrasts`; q_a its rows, but 0 for the first entry
A     : (n, K k) Rows; for a sample i of class a and another class b the row is (q_a - q_b) \otimes F_i

A score that is added to those of all classes changes no difference of two, so that a program in the scores themselves
has k directions in which A is zero but for rounding. With the contrasts they are k columns that are zero exactly.
A is never formed: its products are products with F, and its Gram matrix is K (K - 1) / 2 Gram matrices of F.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from rarefy.core.linalg import norms
from rarefy.core.linalg.rows import Array, Index, Rows, TransposedRows, edges, largest_of


def contrasts(K: int) -> Array:
    """An orthogonal matrix with a constant first column; the others compare a class with those before it."""
    Q = np.tri(K, k=-1).T - np.diag(np.arange(K))
    Q[:, 0] = 1.0
    return np.asarray(Q / np.linalg.norm(Q, axis=0))


class ClassPairs:
    """The matrix A; `sample`, `own` and `other` are, for each of its rows, the sample and the two classes."""

    def __init__(self, F: Rows, n_classes: int, sample: Index, own: Index, other: Index) -> None:
        self._F, self._K = F, n_classes
        self._sample, self._own, self._other = sample, own, other
        self._Q = contrasts(n_classes)
        self._Q[:, 0] = 0.0
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
        scores = self._F @ (self._Q @ v.reshape(self._K, -1)).T
        return scores[self._sample, self._own] - scores[self._sample, self._other]

    def transposed_product(self, u: Array) -> Array:
        if u.ndim == 2:
            return np.stack([self.transposed_product(column) for column in u.T], axis=1)
        spread = np.zeros((self._F.shape[0], self._K))
        np.add.at(spread, (self._sample, self._own), u)
        np.subtract.at(spread, (self._sample, self._other), u)
        return np.asarray(self._F.T @ (spread @ self._Q)).T.ravel()

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
        return np.einsum("ab,aicj,cd->bidj", self._Q, G, self._Q, optimize=True).reshape(self._K * k, self._K * k)

    def sketch(self, G: Array) -> Array:
        return self.transposed_product(G.T).T

    def in_classes(self, index: Index) -> Array:
        """Some rows with one block for each class in place of the contrasts: F_i for its own and -F_i for the other."""
        rows = self.take(index).reshape(len(index), self._K, -1)
        return np.einsum("cb,nbk->nck", self._Q, rows).reshape(len(index), -1)

    def take(self, index: Index, T: Array | None = None) -> Array:
        index = np.arange(self.shape[0])[index]
        samples = self._F.take(self._sample[index])
        places = self._Q[self._own[index]] - self._Q[self._other[index]]  # of these rows only
        dense = (places[:, :, None] * samples[:, None, :]).reshape(len(index), -1)
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
        return norms.column_norms(self.blocks(), self.shape[1])

    def largest_entry(self) -> float:
        return largest_of(self.blocks())
