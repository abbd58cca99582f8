"""Selectors that work on right singular vectors, rescale what they keep and certify it."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from rarefy._input import RowSource, kept_columns, lazily_kept
from rarefy._parameters import draw_seed
from rarefy._validation import check_array, validate_data
from rarefy._warnings import warn_user
from rarefy.certificates import Certificate
from rarefy.certificates._certificate import Method, make_certificate
from rarefy.certificates._fingerprint import fingerprint
from rarefy.core.certificates.measure import dominant_mean, measure, with_proof, with_span
from rarefy.core.linalg.rows import Array, Index, Rows, as_rows
from rarefy.core.linalg.sketch import Sketch
from rarefy.core.linalg.spectrum import Decomposition, Spectrum, decompose
from rarefy.core.linalg.truncated import decompose_leading
from rarefy.core.sparsify import Selection
from rarefy.exceptions import DegenerateDataError, ParameterError, TruncatedRankWarning
from rarefy.selection._base import ACCEPTED, SelectionResult, UnsupervisedSelector, resolve_budget


@dataclass(frozen=True)
class Choice:
    """Columns with weights, how they were chosen, and what a certificate of them has to know."""

    selection: Selection
    method: Method
    shortfall: str
    """Why it may be fewer columns than were asked for, and what to do."""
    weighting: Literal["own", "optimal", "unit"] = "own"
    """Where the weights come from."""
    failure_probability: float | None = None
    residual2: Array | None = None
    """Squared norms of what the preserved dimensions leave of each column, if the residual is to be measured."""


class SpectralSelector(UnsupervisedSelector):
    """A selector of right singular vectors' rows; `transform` multiplies columns by their weights.

    A subclass decides how many singular vectors to preserve (`_n_dimensions`) and how to choose columns from them
    (`_choose`). With `rescale=False` all weights are 1.
    """

    n_features_to_select: float | str | None
    sketch_size: int | None
    rescale: bool
    random_state: Any

    weights_: Array
    certificate_: Certificate

    def transform(self, X: Any) -> Any:
        """Keep the selected columns, in their original order, each multiplied by its weight.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.

        Returns
        -------
        XR : {array, sparse matrix, BlockColumns} of shape (n_samples, n_selected)
            The columns that the certificate is about.
        """
        check_is_fitted(self)
        lazy = lazily_kept(self, X)
        if lazy is not None:
            return lazy
        if isinstance(X, RowSource):
            return kept_columns(self, X)
        X = validate_data(self, X, reset=False, **ACCEPTED)
        kept = X[:, np.flatnonzero(self.support_)]
        return kept if np.all(self.weights_ == 1.0) else _times_columns(kept, self.weights_)

    def inverse_transform(self, X: Any) -> Any:
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
        X = check_array(X, **ACCEPTED)
        columns = np.flatnonzero(self.support_)
        if X.shape[1] != len(columns):
            raise ParameterError(
                f"inverse_transform of {type(self).__name__} needs the {len(columns)} selected columns; "
                f"X has {X.shape[1]}."
            )
        factors = (1.0 / self.weights_).astype(X.dtype)
        return _scatter_columns(X, factors, columns, self.n_features_in_)

    def _select(self, X: Any, y: Any) -> SelectionResult:
        return self._select_number(X, resolve_budget(self.n_features_to_select, X.shape[1]))

    def _select_number(self, X: Any, budget: int) -> SelectionResult:
        used = _columns_in_use(X)
        everything = len(used) <= budget
        if not everything:
            self._check_budget(budget)
        rng = np.random.default_rng(draw_seed(self.random_state))
        rows, sketch = self._sketched(as_rows(X), rng)
        enough = None if everything else self._n_needed(budget)
        whole = decompose(rows) if enough is None else decompose_leading(rows, enough)
        if not whole.rank:
            raise DegenerateDataError(
                f"{type(self).__name__} got data in which every entry is zero; there is nothing "
                "to select. Check how X was read or preprocessed."
            )
        spec = whole.leading(None if everything else self._n_dimensions(whole, budget))
        # A choice of columns depends on the products of columns only, and so on few rows that have the same.
        few = whole.compressed(rows) if isinstance(X, Rows) else rows
        chosen = _all_columns(used, X.shape[1]) if everything else self._choose(few, spec, budget, rng)
        if not self.rescale:
            chosen = replace(chosen, selection=chosen.selection.with_unit_weights(), weighting="unit")
        found = with_proof(measure(spec, chosen.selection, chosen.residual2), rows, chosen.selection)
        certificate = make_certificate(
            with_span(found, rows, chosen.selection, whole),
            chosen.selection,
            method=chosen.method,
            n_requested=budget,
            n_features=X.shape[1],
            failure_probability=chosen.failure_probability,
            sketch=sketch,
            columns=getattr(self, "feature_names_in_", None),
            weighting=chosen.weighting,
            fingerprint=fingerprint(X),
            measured=dominant_mean(as_rows(X)),
        )
        self._warn_if_unseen(certificate)
        return SelectionResult.in_order(
            chosen.selection.indices,
            X.shape[1],
            chosen.selection.weights,
            scores=self._scores(spec),
            certificate=certificate,
            shortfall=chosen.shortfall,
        )

    def _sketched(self, rows: Rows, rng: np.random.Generator) -> tuple[Rows, Sketch | None]:
        """The rows to work on, and the sketch that they come from, if any."""
        if self.sketch_size is None or self.sketch_size >= rows.shape[0]:
            return rows, None
        sketch = Sketch(self.sketch_size, int(rng.integers(2**63)))
        return sketch.apply(rows), sketch

    def _warn_if_unseen(self, certificate: Certificate) -> None:
        if certificate.unseen:
            warn_user(
                f"{type(self).__name__}: {certificate.unseen} of {certificate.n_features} columns are so short beside "
                "the longest that they are lost in its rounding, and nothing is certified. Bring the columns to "
                "comparable sizes.",
                TruncatedRankWarning,
            )

    def _check_budget(self, budget: int) -> None:
        """Refuse parameters that do not go with this number of features."""

    def _n_needed(self, budget: int) -> int | None:
        """How many singular values have to be known; None for all of them."""
        return None

    @abstractmethod
    def _n_dimensions(self, whole: Decomposition, budget: int) -> int:
        """How many singular vectors to preserve, given the nonzero singular values."""

    @abstractmethod
    def _choose(self, X: Rows, spec: Spectrum, budget: int, rng: np.random.Generator) -> Choice:
        """Choose at most `budget` columns of X."""

    def _scores(self, spec: Spectrum) -> Array | None:
        """Scores of all columns, where the selector has some."""
        return None


def _columns_in_use(X: Any) -> Index:
    """Indices of the columns that have a nonzero entry."""
    if isinstance(X, Rows):
        return np.flatnonzero(X.column_norms())
    if sp.issparse(X):
        X = X.tocsr()
        return np.flatnonzero(np.bincount(X.indices[X.data != 0], minlength=X.shape[1]))
    return np.flatnonzero(X.any(axis=0))


def _all_columns(used: Index, d: int) -> Choice:
    shortfall = (
        f"only {len(used)} of the {d} columns have a nonzero entry, and all of these are kept. Set "
        f"n_features_to_select to {len(used)} or less, or check how X was read."
        if len(used) < d
        else ""
    )
    return Choice(Selection(used, np.ones(len(used))), "all", shortfall, weighting="unit")


def _times_columns(X: Any, weights: Array) -> Any:
    weights = weights.astype(X.dtype, copy=False)
    return X.multiply(weights).asformat(X.format) if sp.issparse(X) else X * weights


def _scatter_columns(X: Any, factors: Any, columns: Index, d: int) -> Any:
    """X times the factors of its columns, as the given ones of d columns."""
    if sp.issparse(X):
        spread = sp.csr_array((factors, (np.arange(len(columns)), columns)), shape=(len(columns), d))
        return (X @ spread).asformat(X.format)
    original = np.zeros((X.shape[0], d), dtype=X.dtype)
    original[:, columns] = X * factors
    return original
