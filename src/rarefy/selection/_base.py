"""What the selectors share: parameters checked, columns rescaled, one `fit` for the spectral ones."""

import warnings
from abc import ABC, abstractmethod
from dataclasses import replace
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted, validate_data

from rarefy._parameters import draw_seed, optional_count, rank_or_share
from rarefy.certificates._certificate import Sketch, certificate
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import spectrum
from rarefy.core.sparsify import Selection
from rarefy.exceptions import DegenerateDataError, ParameterError, TruncatedRankWarning


def feature_budget(value, d, owner):
    """Resolve `n_features_to_select` as scikit-learn's RFE does; more than d means all."""
    if value is None:
        return max(1, d // 2)
    if isinstance(value, Integral) and not isinstance(value, bool) and value >= 1:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, (bool, Integral)) and 0 < value < 1:
        return max(1, int(value * d))
    raise ParameterError(
        f"n_features_to_select of {owner} must be None (half of the features), an integer >= 1 "
        f"or a fraction in (0, 1); got {value!r}."
    )


def tidy_sparse(X):
    """CSR with sorted 32-bit indices where that is possible, never the caller's own arrays rearranged.

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


def _columns_in_use(X):
    """Indices of the columns that are not zero throughout."""
    if sp.issparse(X):
        X = X.tocsr()
        return np.flatnonzero(np.bincount(X.indices[X.data != 0], minlength=X.shape[1]))
    return np.flatnonzero(X.any(axis=0))


class PlainSelector(SelectorMixin, BaseEstimator):
    """A selector that keeps columns as they are; `fit` ends with `return self._store(indices)`."""

    def _store(self, selected):
        self.selected_ = selected
        self.support_ = np.zeros(self.n_features_in_, dtype=bool)
        self.support_[selected] = True
        return self

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class WeightedSelector(SelectorMixin, BaseEstimator, ABC):
    """A selector whose `transform` also rescales: it returns X R, unless `rescale=False`.

    A subclass sets `support_` (mask), `selected_` (indices in order of selection) and `weights_`
    (aligned with `selected_`).
    """

    def transform(self, X):
        """Keep the selected columns, in their original order, each times its weight.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.

        Returns
        -------
        XR : {array, sparse matrix} of shape (n_samples, n_selected)
            The columns the certificate speaks of; with `rescale=False` the columns as they were.
        """
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        kept = X[:, np.flatnonzero(self.support_)]
        return _times_columns(kept, self._column_weights()) if self.rescale else kept

    def inverse_transform(self, X):
        """Put the kept columns back in place, with zeros elsewhere and the rescaling undone.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_selected)
            What `transform` returned.

        Returns
        -------
        X_original : {array, sparse matrix} of shape (n_samples, n_features)
            The data with zeros where columns were dropped.
        """
        check_is_fitted(self)
        X = check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        columns = np.flatnonzero(self.support_)
        if X.shape[1] != len(columns):
            raise ParameterError(
                f"inverse_transform of {type(self).__name__} needs the {len(columns)} selected columns; "
                f"X has {X.shape[1]}."
            )
        factors = (1.0 / self._column_weights() if self.rescale else np.ones(len(columns))).astype(X.dtype)
        if sp.issparse(X):
            spread = sp.csr_array(
                (factors, (np.arange(len(columns)), columns)), shape=(len(columns), self.n_features_in_)
            )
            return (X @ spread).asformat(X.format)
        original = np.zeros((X.shape[0], self.n_features_in_), dtype=X.dtype)
        original[:, columns] = X * factors
        return original

    def _column_weights(self):
        return self.weights_[np.argsort(self.selected_)]

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _times_columns(X, weights):
    weights = weights.astype(X.dtype, copy=False)
    return X.multiply(weights).asformat(X.format) if sp.issparse(X) else X * weights


class SpectralSelector(WeightedSelector):
    """A selector that works on right singular vectors and certifies what it did.

    A subclass says how to choose features from a spectrum (`_select`) and what is known beforehand
    (`_prior`).
    """

    def fit(self, X, y=None):
        """Select features and certify the selection.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data; sparse input is never made dense.
        y : None
            Ignored; for the supervised form see `SupportVectorSelector`.

        Returns
        -------
        self : object
            The fitted selector.
        """
        self._check_parameters()
        X = validate_data(self, X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
        budget = feature_budget(self.n_features_to_select, X.shape[1], type(self).__name__)
        rows = as_rows(X)
        rng, sketch = np.random.default_rng(draw_seed(self.random_state)), None
        if self.sketch_size is not None and self.sketch_size < X.shape[0]:
            sketch = Sketch(self.sketch_size, int(rng.integers(2**63)))
            rows = sketch.apply(rows)
        used = _columns_in_use(X)
        spec = spectrum(rows, keep=lambda sigma: len(sigma) if len(used) <= budget else self._dimensions(sigma, budget))
        if spec.rank == 0:
            raise DegenerateDataError(
                f"{type(self).__name__} got data in which every entry is zero; there is nothing "
                "to select. Check how X was read or preprocessed."
            )
        if len(used) <= budget:
            selection, known = Selection(used, np.ones(len(used))), {"method": "all"}
        else:
            selection, known = self._select(spec, budget, rng)
        self._keep(spec)
        found = certificate(spec, selection, n_requested=budget, sketch=sketch, **known)
        self.certificate_ = replace(found, names=kept_names(getattr(self, "feature_names_in_", None), found.indices))
        if found.unseen:
            warnings.warn(
                f"{type(self).__name__}: {found.unseen} of {X.shape[1]} columns are so short beside the longest that "
                "they are lost in its rounding, and nothing is certified. Bring the columns to comparable sizes.",
                TruncatedRankWarning,
                stacklevel=2,
            )
        self.selected_, self.weights_ = selection.indices, selection.weights
        self.support_ = np.zeros(X.shape[1], dtype=bool)
        self.support_[self.selected_] = True
        return self

    def _check_parameters(self):
        owner = type(self).__name__
        rank_or_share("rank", self.rank, owner)
        optional_count("sketch_size", self.sketch_size, owner)

    @abstractmethod
    def _dimensions(self, sigma, budget):
        """How many singular vectors to preserve, given all non-zero singular values."""

    @abstractmethod
    def _select(self, spec, budget, rng):
        """Return a Selection, and what is known of it beforehand as keywords for `certificate`."""

    def _keep(self, spec):
        """Set fitted attributes of the subclass that come from the spectrum."""


def kept_names(columns, indices):
    """Names of the kept columns for a certificate, where all columns are named by words."""
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return tuple(str(columns[i]) for i in indices)
