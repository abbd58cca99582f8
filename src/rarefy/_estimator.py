"""What all estimators share: callbacks, links to the documentation, and certificates below their HTML."""

from typing import Any, ClassVar

from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from rarefy._callbacks import CallbackSupportMixin
from rarefy._input import RowSource, kept_columns, lazily_kept
from rarefy._validation import refuse_masked


class ColumnSelector(SelectorMixin):
    """scikit-learn's mixin, but masked values are refused: their masks would be dropped without a word."""

    def transform(self, X: Any) -> Any:
        """Keep the selected columns.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.

        Returns
        -------
        X_kept : {array, sparse matrix, BlockColumns} of shape (n_samples, n_selected)
            The selected columns, in their original order.
        """
        lazy = lazily_kept(self, X)
        if lazy is not None:
            return lazy
        if isinstance(X, RowSource):
            check_is_fitted(self)
            return kept_columns(self, X)
        refuse_masked(X, f"X of {type(self).__name__}")
        return super().transform(X)


class Estimator(CallbackSupportMixin, BaseEstimator):
    """An estimator of this library."""

    _doc_link_module = "rarefy"
    _doc_link_template = "https://github.com/rarefy/rarefy/blob/main/docs/guide/{page}.rst"
    _works_on_blocks: ClassVar[bool] = False
    """Whether `fit` takes data in blocks."""
    _guide: ClassVar[str]
    """The page of the guide that the link in a notebook leads to."""

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"page": self._guide}

    def _repr_html_inner(self) -> str:
        """In notebooks the certificate stands below the parameters."""
        stored = getattr(self, "certificate_", None) or getattr(self, "threshold_certificate_", None)
        return str(super()._repr_html_inner()) + ("" if stored is None else str(stored._repr_html_()))

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = dict(super()._repr_mimebundle_(**kwargs))
        return bundle | ({"text/html": self._repr_html_inner()} if "text/html" in bundle else {})
