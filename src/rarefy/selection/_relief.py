"""Selection by nearest hit and nearest miss."""

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from rarefy._parameters import COUNT
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import DegenerateDataError
from rarefy.selection._base import (
    N_FEATURES,
    SelectionResult,
    SupervisedSelector,
    highest_scores,
    resolve_budget,
    sorted_csr,
)

_CHUNK_ENTRIES = 1 << 21


class ReliefSelector(SupervisedSelector):
    """Keep the features that differ between near neighbours of different classes.

    For every sample the nearest samples of its own class (hits) and of each other class (misses) are found,
    in Manhattan distance with every feature divided by its range. A feature gains by how much it
    differs from the misses and loses by how much it differs from the hits.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep; a float in (0, 1) is a share of the features, None means half of them and at
        most 100.
    n_neighbors : int, default=1
        Number of hits, and of misses per class; 1 is Relief, more is ReliefF.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Mean difference from misses less mean difference from hits, in units of the feature's range.
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of the kept features from the highest score to the lowest; equal scores keep the order of the columns.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    InformationGainSelector : Looks at one feature at a time.

    References
    ----------
    [KiraRendell1992] K. Kira and L. A. Rendell, A practical approach to feature selection, 1992.

    [Kononenko1994] I. Kononenko, Estimating attributes: analysis and extensions of RELIEF, 1994.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import ReliefSelector
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 60)
    >>> X = rng.standard_normal((60, 8))
    >>> X[:, 5] += 3 * y
    >>> ReliefSelector(1).fit(X, y).selection_order_.tolist()
    [5]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": N_FEATURES,
        "n_neighbors": [COUNT],
    }

    scores_: Array

    def __init__(self, n_features_to_select: float | None = None, *, n_neighbors: int = 1) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors

    def _select(self, X: Any, y: Any) -> SelectionResult:
        classes, label = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DegenerateDataError(f"{type(self).__name__} needs at least two classes; y has one class.")
        scores = _relief_scores(_in_units_of_range(sorted_csr(X)), label, self.n_neighbors)
        budget = resolve_budget(self.n_features_to_select, X.shape[1])
        return SelectionResult.in_order(highest_scores(scores, budget), X.shape[1], scores=scores)


def _in_units_of_range(X: Any) -> Any:
    """X with every column divided by its range; a constant column stays as it is."""
    spread = (X.max(axis=0) - X.min(axis=0)).toarray().ravel() if sp.issparse(X) else np.ptp(X, axis=0)
    factor = 1.0 / np.where(spread > 0, spread, 1.0)
    if not sp.issparse(X):
        return X * factor
    unit = sp.csr_array(X, copy=True)
    unit.sum_duplicates()
    unit.data *= factor[unit.indices]
    # scikit-learn's sparse distances take 32-bit indices only.
    return sp.csr_array((unit.data, unit.indices.astype(np.int32), unit.indptr.astype(np.int32)), shape=unit.shape)


def _relief_scores(X: Any, label: Index, k: int) -> Array:
    """Mean difference from the misses, classes weighted by their share, less that from the hits."""
    n = len(label)
    share = np.bincount(label) / n
    scores = np.zeros(X.shape[1])
    for c in range(len(share)):
        others = np.flatnonzero(label == c)
        found = NearestNeighbors(n_neighbors=min(k + 1, len(others)), metric="manhattan", algorithm="brute").fit(
            X[others]
        )
        for own in range(len(share)):
            rows = np.flatnonzero(label == own)
            if own == c and len(rows) < 2:
                continue
            near = found.kneighbors(
                None if own == c else X[rows], min(k, len(others) - (own == c)), return_distance=False
            )
            weight = -1.0 if own == c else share[c] / (1.0 - share[own])
            scores += weight / (n * near.shape[1]) * _sum_of_differences(X, rows, others[near])
    return scores


def _sum_of_differences(X: Any, rows: Index, near: Index) -> Array:
    """Sum of |x_i - x_j| over rows i and their neighbours j, a chunk of rows at a time."""
    total = np.zeros(X.shape[1])
    step = max(1, _CHUNK_ENTRIES // X.shape[1])
    for neighbour in near.T:
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            total += np.asarray(abs(X[rows[part]] - X[neighbour[part]]).sum(axis=0)).ravel()
    return total
