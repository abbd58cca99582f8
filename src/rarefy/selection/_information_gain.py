"""Selection by information gain."""

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Array
from rarefy.core.statistics.information import information_gain
from rarefy.exceptions import RarefyWarning
from rarefy.selection._base import (
    N_FEATURES,
    SelectionResult,
    SupervisedSelector,
    highest_scores,
    resolve_budget,
    sorted_csr,
)


class InformationGainSelector(SupervisedSelector):
    """Keep the features whose presence or absence is most informative about the class.

    A feature is present in a sample where its value is not zero; in data without a single zero, where it is above the
    feature's median, with a warning.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number of features to keep; a float in (0, 1) is a share of the features, None means half of them and at
        most 100.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        Information gain in bits.
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
    sklearn.feature_selection.mutual_info_classif : For values rather than presence.

    References
    ----------
    [YangPedersen1997] Y. Yang and J. O. Pedersen, A comparative study on feature selection in text categorization,
    1997.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import InformationGainSelector
    >>> X = np.array([[1, 0, 2], [3, 0, 1], [0, 1, 1], [0, 0, 5]])
    >>> InformationGainSelector(1).fit(X, ["a", "a", "b", "b"]).selection_order_.tolist()
    [0]
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"n_features_to_select": N_FEATURES}

    scores_: Array

    def __init__(self, n_features_to_select: float | None = None) -> None:
        self.n_features_to_select = n_features_to_select

    def _select(self, X: Any, y: Any) -> SelectionResult:
        classes, label = np.unique(y, return_inverse=True)
        members = np.eye(len(classes))[label]
        counts = _presence_counts(sorted_csr(X), members)
        if np.all(counts.sum(axis=1) == len(label)):
            counts = _counts_above_median(X, members)
            warn_user(
                f"X has no zero, so that presence and absence say nothing: {type(self).__name__} takes values above "
                "the median of a column for present. It is made for counts; for measurements see "
                "sklearn.feature_selection.mutual_info_classif.",
                RarefyWarning,
            )
        scores = information_gain(counts, members.sum(axis=0))
        budget = resolve_budget(self.n_features_to_select, X.shape[1])
        return SelectionResult.in_order(highest_scores(scores, budget), X.shape[1], scores=scores)


def _counts_above_median(X: Any, members: Array) -> Array:
    """In how many samples of each class a feature is above its median."""
    dense = np.asarray(X.toarray() if sp.issparse(X) else X)
    return np.asarray((dense > np.median(dense, axis=0)).astype(np.float64).T @ members)


def _presence_counts(X: Any, members: Array) -> Array:
    """In how many samples of each class a feature is not zero."""
    return np.asarray((X != 0).astype(np.float64).T @ members)
