"""What all selectors share: how many features to keep, one way to fit, one place where results are stored."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from rarefy._estimator import ColumnSelector, Estimator
from rarefy._fit import fit_method
from rarefy._input import validated
from rarefy._parameters import COUNT, SHARE
from rarefy._selection_table import SelectionTable
from rarefy._validation import validate_data
from rarefy._warnings import warn_user
from rarefy.certificates import Certificate
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import FewerFeaturesWarning

Mask = NDArray[np.bool_]

ACCEPTED: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32)}
"""What `validate_data` lets through in all selectors."""

N_FEATURES: list[Any] = [COUNT, SHARE, None]
"""Constraint of `n_features_to_select`."""

_MOST_BY_DEFAULT = 100


def resolve_budget(n_features_to_select: Any, d: int) -> int:
    """How many of d features `n_features_to_select` means: a number, a share, or half of them and at most 100.

    A number may be larger than d: a certificate reports what was asked for.
    """
    if n_features_to_select is None:
        return max(1, min(_MOST_BY_DEFAULT, d // 2))
    if isinstance(n_features_to_select, Integral):
        return int(n_features_to_select)
    return max(1, int(n_features_to_select * d))


@dataclass(frozen=True)
class SelectionResult:
    """What a selector found, ready to be stored; None for what it does not have."""

    support: Mask
    """Mask of the kept columns."""
    order: Index | None = None
    """Kept columns in the order of selection."""
    weights: Array | None = None
    """Weights of the kept columns, in the order of the columns."""
    scores: Array | None = None
    """Scores of all columns."""
    certificate: Certificate | None = None
    """What is guaranteed."""
    shortfall: str | None = None
    """Why fewer features are kept than were asked for, and what to do."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further fitted attributes, by name."""

    @classmethod
    def in_order(cls, order: Index, d: int, weights: Array | None = None, **others: Any) -> Self:
        """A result from columns, of d, in the order of selection and weights in the same order."""
        support = np.zeros(d, dtype=bool)
        support[order] = True
        aligned = None if weights is None else weights[np.argsort(order)]
        return cls(support, order, aligned, **others)

    def fitted_attributes(self) -> dict[str, Any]:
        """The names and values that `fit` leaves on the estimator."""
        found = {
            "support_": self.support,
            "selection_order_": self.order,
            "weights_": self.weights,
            "scores_": self.scores,
            "certificate_": self.certificate,
        }
        return {name: value for name, value in found.items() if value is not None} | dict(self.extra)


class BaseSelector(SelectionTable, ColumnSelector, Estimator, ABC):
    """A selector of columns: `fit` validates, `_select` computes, `_store` sets all fitted attributes."""

    _guide = "many_columns"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    support_: Mask
    selection_order_: Index
    n_features_in_: int

    @abstractmethod
    def _select(self, X: Any, y: Any) -> SelectionResult:
        """Choose columns of validated data."""

    def _finish(self, X: Any, y: Any) -> Self:
        """Select from validated data, warn if that is fewer than was asked for, and store the result."""
        found = self._select(X, y)
        self._warn_if_fewer(found)
        return self._store(found)

    def _warn_if_fewer(self, found: SelectionResult) -> None:
        asked = getattr(self, "n_features_to_select", None)
        if asked is None or isinstance(asked, str):  # "at most" by default: nobody asked for a certain number
            return
        d, kept = len(found.support), int(found.support.sum())
        requested = resolve_budget(asked, d)
        if kept < requested:
            reason = found.shortfall or f"X has only {d} columns. Set n_features_to_select to {d} or less."
            warn_user(
                f"{type(self).__name__} keeps {kept} of the {requested} features that were asked for: {reason}",
                FewerFeaturesWarning,
            )

    def _store(self, found: SelectionResult) -> Self:
        for name, value in found.fitted_attributes().items():
            setattr(self, name, value)
        return self

    def _get_support_mask(self) -> Mask:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class UnsupervisedSelector(BaseSelector):
    """A selector that looks at the data only."""

    _works_on_blocks = True

    @fit_method
    def fit(self, X: Any, y: Any = None) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            The data; sparse input is never made dense.
        y : None
            Ignored; for the supervised form see `SupportVectorSelector`.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X = validated(self, X, **ACCEPTED)
        return self._finish(X, None)


class SupervisedSelector(BaseSelector):
    """A selector that looks at class labels as well."""

    @fit_method
    def fit(self, X: Any, y: Any) -> Self:
        """Select features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data; sparse input is never made dense.
        y : array-like of shape (n_samples,)
            Class labels of any type.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = validate_data(self, X, y, **ACCEPTED)
        check_classification_targets(y)
        return self._finish(X, y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def highest_scores(scores: Array, k: int) -> Index:
    """The k columns with the highest scores, from the highest on; equal scores keep the order of the columns."""
    return np.argsort(-scores, kind="stable")[:k]


def sorted_csr(X: Any) -> Any:
    """Sparse input as CSR with sorted indices, of 32 bits where that is possible; the caller's arrays stay as they are.

    Solvers behind scikit-learn take 32-bit indices only, and some sort indices in place.
    """
    if not sp.issparse(X):
        return X
    X = X.tocsr()
    X = X if X.has_sorted_indices else X.sorted_indices()
    limit = np.iinfo(np.int32).max
    if X.indices.dtype == np.int32 or max(X.nnz, *X.shape) > limit:
        return X
    return type(X)((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
