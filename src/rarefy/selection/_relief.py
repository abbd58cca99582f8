"""Selection by nearest hit and nearest miss."""

from numbers import Integral
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import StrOptions

from rarefy._parameters import COUNT, SHARE
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import DegenerateDataError
from rarefy.selection._base import (
    N_FEATURES,
    Mask,
    SelectionResult,
    SupervisedSelector,
    highest_scores,
    resolve_budget,
    sorted_csr,
)
from rarefy.selection._nearest import NearestSamples, distinct, seconds_of_a_search, uses_tree

_CHUNK_ENTRIES = 1 << 21
_SECONDS = 30.0
"""Of searches that `max_samples="auto"` allows, as they are estimated."""
_FEWEST = 100
"""Samples that are looked at however long it takes: a mean over fewer says little."""


class ReliefSelector(SupervisedSelector):
    """Keep the features that differ between near neighbours of different classes.

    For every sample the nearest samples of its own class (hits) and of each other class (misses) are found,
    in Manhattan distance with every feature divided by its range. A feature gains by how much it
    differs from the misses and loses by how much it differs from the hits. The scores are means over the samples, and a
    random part of the samples estimates them, as in the original algorithm: see `max_samples`.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep; a float in (0, 1) is a share of the features, None means half of them and at
        most 100.
    n_neighbors : int, default=1
        Number of hits, and of misses per class; 1 is Relief, more is ReliefF.
    max_samples : "auto", int, float or None, default="auto"
        How many samples, drawn at random, the scores are means over; their hits and misses are searched among all
        samples. None takes all, a float in (0, 1) a share. "auto" takes all unless the search would take more than
        about half a minute; then it takes as many as that time allows, and at least 100. All are taken up to some ten
        thousand samples of a hundred dense columns, or some million samples of three columns.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw; unused where all samples are taken.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Mean difference from misses less mean difference from hits, in units of the feature's range.
    n_samples_compared_ : int
        Number of samples that the means are over.
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
        "max_samples": [StrOptions({"auto"}), COUNT, SHARE, None],
        "random_state": ["random_state"],
    }

    scores_: Array
    n_samples_compared_: int

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        n_neighbors: int = 1,
        max_samples: float | str | None = "auto",
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.n_neighbors = n_neighbors
        self.max_samples = max_samples
        self.random_state = random_state

    def _select(self, X: Any, y: Any) -> SelectionResult:
        classes, label = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DegenerateDataError(f"{type(self).__name__} needs at least two classes; y has one class.")
        unit = _in_units_of_range(sorted_csr(X))
        looked_at = self._drawn(unit)
        scores = _relief_scores(unit, label, self.n_neighbors, looked_at)
        budget = resolve_budget(self.n_features_to_select, X.shape[1])
        compared = {"n_samples_compared_": int(looked_at.sum())}
        return SelectionResult.in_order(highest_scores(scores, budget), X.shape[1], scores=scores, extra=compared)

    def _drawn(self, X: Any) -> Mask:
        """Which samples the means are over."""
        n = X.shape[0]
        if self.max_samples == "auto":
            m = max(_FEWEST, int(_SECONDS / seconds_of_a_search(X, self.n_neighbors)))
        elif self.max_samples is None:
            m = n
        else:
            m = self.max_samples if isinstance(self.max_samples, Integral) else max(1, int(self.max_samples * n))
        looked_at = np.ones(n, dtype=bool)
        if m < n:
            looked_at[:] = False
            looked_at[check_random_state(self.random_state).choice(n, m, replace=False)] = True
        return looked_at


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


def _relief_scores(X: Any, label: Index, k: int, looked_at: Mask, tree: bool | None = None) -> Array:
    """Mean difference from the misses, classes weighted by their share, less that from the hits.

    The mean is over the samples that are looked at.
    """
    share = np.bincount(label) / len(label)
    tree = uses_tree(X) if tree is None else tree
    X, label, copies, asked = distinct(X, label, looked_at) if tree else (X, label, np.ones(len(label)), looked_at)
    scores = np.zeros(X.shape[1])
    for c in range(len(share)):
        found = NearestSamples(X, np.flatnonzero(label == c), copies, tree)
        for own in range(len(share)):
            rows = np.flatnonzero((label == own) & (asked > 0))
            among = found.n_samples - (own == c)
            if among == 0:
                continue
            weight = (-1.0 if own == c else share[c] / (1.0 - share[own])) / min(k, among)
            step = max(1, _CHUNK_ENTRIES // (k + 1))
            for part in (rows[start : start + step] for start in range(0, len(rows), step)):
                near, counts = found.search(part, k, own == c)
                scores += weight * _sum_of_differences(X, part, near, counts * asked[part, None])
    return scores / asked.sum()


def _sum_of_differences(X: Any, rows: Index, near: Index, weights: Array) -> Array:
    """Sum of weights times |x_i - x_j| over rows i and their neighbours j, a chunk of rows at a time."""
    total = np.zeros(X.shape[1])
    entries = X.nnz / X.shape[0] if sp.issparse(X) else X.shape[1]
    step = max(1, int(_CHUNK_ENTRIES / max(entries, 1.0)))
    for neighbour, weight in zip(near.T, weights.T, strict=True):
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            total += weight[part] @ abs(X[rows[part]] - X[neighbour[part]])
    return total
