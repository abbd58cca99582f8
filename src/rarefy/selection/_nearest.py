"""Nearest samples in Manhattan distance: by comparison with all, or by a tree where columns are few."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial import cKDTree
from sklearn.neighbors import NearestNeighbors

from rarefy.core.linalg.rows import Array, Index

_TREE_COLUMNS, _TREE_ROWS = 10, 10_000
"""A tree pays for at most so many columns (at 15 it is slower than a comparison), and more than so many rows."""


def uses_tree(X: Any) -> bool:
    """Whether nearest samples are found by a tree."""
    return not sp.issparse(X) and X.shape[1] <= _TREE_COLUMNS and X.shape[0] > _TREE_ROWS


def seconds_of_a_search(X: Any, k: int) -> float:
    """About how long one sample takes on one core.

    Measured: 0.4 ns for each entry of all samples (0.5 to 1.4 in fewer than ten columns), 7 ns if X is sparse; a tree
    of 200 000 samples takes 2, 20 and 400 microseconds with 3, 6 and 10 columns.
    """
    n, d = X.shape
    if sp.issparse(X):
        return 7e-9 * (X.nnz + n)
    every = 0.5e-9 * n * max(d, 8)
    return min(2e-6 * (k + 1) * 10.0 ** ((d - 3) / 3.0), every) if uses_tree(X) else every


def distinct(X: Any, label: Index, looked_at: Any) -> tuple[Any, Index, Array, Array]:
    """Distinct samples of each class: rows, labels, how many each stands for, and how many of these are looked at.

    Equal samples, of which columns with few values are full, would all have to be visited by a search in a tree.
    """
    order = np.lexsort((*X.T, label))
    X, label = X[order], label[order]
    first = np.flatnonzero(np.append(True, (label[1:] != label[:-1]) | (X[1:] != X[:-1]).any(axis=1)))
    copies = np.diff(np.append(first, len(label))).astype(float)
    return X[first], label[first], copies, np.add.reduceat(looked_at[order].astype(float), first)


class NearestSamples:
    """Samples of one class, among which nearest ones are searched; a row may stand for several equal samples."""

    def __init__(self, X: Any, rows: Index, copies: Array, tree: bool) -> None:
        self._X, self._rows, self._copies = X, rows, copies
        self.n_samples = int(copies[rows].sum())
        """Of the class."""
        self._found = cKDTree(X[rows]) if tree else NearestNeighbors(metric="manhattan", algorithm="brute").fit(X[rows])

    def search(self, queries: Index, k: int, own: bool) -> tuple[Index, Array]:
        """The rows nearest to some rows, and how many of the k nearest samples each of them stands for.

        With `own` the queries are rows of this class, and no sample is near to itself.
        """
        number = min(k + own, len(self._rows))
        if isinstance(self._found, cKDTree):
            near = self._found.query(self._X[queries], np.arange(1, number + 1), p=1.0)[1]
        else:
            near = self._found.kneighbors(self._X[queries], number, return_distance=False)
        near = self._rows[near]
        others = self._copies[near] - own * (near == queries[:, None])
        before = np.cumsum(others, axis=1) - others
        return near, np.clip(min(k, self.n_samples - own) - before, 0.0, others)
