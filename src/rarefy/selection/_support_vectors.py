"""The supervised form of any selector: select on the support vectors only."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.utils import Bunch, get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from rarefy._fit import fit_method
from rarefy._validation import check_weights, validate_data
from rarefy._warnings import warn_user
from rarefy.certificates import Certificate
from rarefy.certificates._columns import kept_names
from rarefy.core.linalg.rows import Index
from rarefy.exceptions import DegenerateDataError, ParameterError, TruncatedRankWarning
from rarefy.selection._all_rows import certified_for_all, check_scope, select_for_all
from rarefy.selection._base import ACCEPTED, BaseSelector, SelectionResult, sorted_csr
from rarefy.selection._bss import BSSSelector
from rarefy.selection._support_rows import counted_rows, restricted, support_vectors

_LIBSVM_ROWS = 5000
"""Above this many samples libsvm's quadratic time is too long, and liblinear takes over."""

_NO_METADATA = Bunch(estimator=Bunch(fit={}), selector=Bunch(fit={}))


def _refitted_has(name: str) -> Callable[[Any], bool]:
    def check(self: Any) -> bool:
        refitted = getattr(self, "refitted_", None)
        getattr(_svm(self.estimator, 0) if refitted is None else refitted, name)
        return True

    return check


class SupportVectorSelector(MetaEstimatorMixin, BaseSelector):
    """Select features on the support vectors of a linear SVM, then train again in that space.

    The support vectors alone determine the SVM. They are fewer than the samples, so they span fewer
    dimensions, and the same number of features preserves their geometry better. The certificate is about the
    support vectors; other samples may move across the margin, unless `scope="all"` sees to it that they do not.

    Parameters
    ----------
    selector : estimator or None, default=None
        Any selector, e.g. `BSSSelector(300)`; it is cloned and fitted on the support vectors. None takes
        `BSSSelector()`.
    estimator : estimator or None, default=None
        A linear classifier with `support_` (libsvm) or `decision_function` (samples with margin <= 1 are
        its support vectors). None takes `SVC(kernel="linear")` up to 5000 samples and `LinearSVC()`
        above.
    refit : {"support_vectors", "all"}, default="support_vectors"
        Which samples the classifier is trained on again in the selected space, for `predict`. The
        papers use the support vectors.
    scope : {"support", "all"}, default="support"
        What the certificate is about: the support vectors, or all samples. For all, samples that become support
        vectors in the selected columns are added and columns selected again until there are none; the certificate
        then says what is kept of the objective for all samples (`all_rows_ratio`, `objective_ratio`). It needs two
        classes, `estimator` None or a linear `SVC`, and no sample weights.

    Attributes
    ----------
    selector_ : estimator
        The selector fitted on the support vectors (with `scope="all"` also on those that were added).
    estimator_ : estimator
        The classifier fitted on all features.
    refitted_ : estimator
        The classifier fitted on the selected features; `predict` uses it.
    support_vectors_ : {ndarray, sparse matrix} of shape (n_support_vectors, n_features)
        The support vectors, and with `scope="all"` the samples that were added.
    support_vector_indices_ : ndarray of shape (n_support_vectors,)
        Their row numbers.
    support_ : ndarray of shape (n_features,), bool
        Mask of the kept features.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of the kept features in the order of selection, if `selector_` has them.
    weights_ : ndarray of shape (n_selected,)
        Weights of the kept features, aligned with `get_feature_names_out()`, if `selector_` has them.
    certificate_ : Certificate
        What is guaranteed about the support vectors, if `selector_` has a certificate; it can be verified with the
        whole X.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    BSSSelector : Deterministic, with a guarantee.
    LeverageScoreSelector : Faster, with a guarantee that holds with probability.

    References
    ----------
    [PaulMagdonIsmailDrineas2015] S. Paul, M. Magdon-Ismail and P. Drineas, Feature selection for linear SVM with
    provable guarantees, 2015.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from rarefy.selection import BSSSelector, SupportVectorSelector
    >>> X, y = make_classification(40, 500, n_informative=5, random_state=0)
    >>> selector = SupportVectorSelector(BSSSelector(120)).fit(X, y)
    >>> selector.transform(X).shape
    (40, 120)
    """

    _guide = "supervised"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "selector": [HasMethods(["fit", "transform", "get_support"]), None],
        "estimator": [HasMethods(["fit"]), None],
        "refit": [StrOptions({"support_vectors", "all"})],
        "scope": [StrOptions({"support", "all"})],
    }

    def __init__(
        self, selector: Any = None, estimator: Any = None, *, refit: str = "support_vectors", scope: str = "support"
    ) -> None:
        self.selector = selector
        self.estimator = estimator
        self.refit = refit
        self.scope = scope

    @fit_method
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the classifier, select on its support vectors, fit it again.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        **fit_params : dict
            Passed to the classifier's `fit` (e.g. `sample_weight`), and routed to the selector's if
            metadata routing is enabled.

        Returns
        -------
        self : object
            The fitted selector.
        """
        _check_linear(self.estimator)
        X, y = validate_data(self, X, y, **ACCEPTED)
        if fit_params.get("sample_weight") is not None:
            fit_params |= {"sample_weight": check_weights(fit_params["sample_weight"], X, type(self).__name__)}
        routed = self._route(fit_params)
        check_classification_targets(y)
        _check_two_classes(y, fit_params.get("sample_weight"))
        if self.scope == "all":
            check_scope(self.estimator, y, fit_params)
        return self._store(self._select(sorted_csr(X), y, routed))

    def _select(self, X: Any, y: Any, routed: Any = _NO_METADATA) -> SelectionResult:
        # Samples of weight zero are left out first: libsvm drops them and then counts without them.
        counted = counted_rows(routed.estimator.fit, X.shape[0])
        weighted = X if len(counted) == X.shape[0] else X[counted]
        model = clone(_svm(self.estimator, X.shape[0]))
        model.fit(weighted, y[counted], **restricted(routed.estimator.fit, counted))
        rows = counted[support_vectors(model, weighted, y[counted])]
        certificate: Certificate | None
        if self.scope == "all":
            C = float(getattr(model, "C", 1.0))
            found = select_for_all(lambda some: self._fitted_selector(X, y, some, routed), X, y, C, rows)
            selector, rows = found.selector, found.rows
            self._warn_unless(found.converged)
            certificate = self._certificate_of_all(getattr(selector, "certificate_", None), rows)
            certificate = None if certificate is None else certified_for_all(certificate, found, X, y, C)
        else:
            selector = self._fitted_selector(X, y, rows, routed)
            certificate = self._certificate_of_all(getattr(selector, "certificate_", None), rows)
        again = rows if self.refit == "support_vectors" else counted
        refitted = clone(_svm(self.estimator, X.shape[0]))
        refitted.fit(selector.transform(X[again]), y[again], **restricted(routed.estimator.fit, again))
        return SelectionResult(
            support=selector.get_support(),
            order=getattr(selector, "selection_order_", None),
            weights=getattr(selector, "weights_", None),
            certificate=certificate,
            extra={
                "estimator_": model,
                "selector_": selector,
                "refitted_": refitted,
                "support_vectors_": X[rows],
                "support_vector_indices_": rows,
                "classes_": model.classes_,
            },
        )

    def _fitted_selector(self, X: Any, y: Any, rows: Index, routed: Any) -> Any:
        """The selector fitted on some rows; inside, arrays without names, whatever output was asked for."""
        selector = clone(_selector(self.selector))
        if hasattr(selector, "set_output"):
            selector.set_output(transform="default")
        return selector.fit(X[rows], y[rows], **restricted(routed.selector.fit, rows))

    def _warn_unless(self, converged: bool) -> None:
        if not converged:
            warn_user(
                f"{type(self).__name__}: samples kept becoming support vectors; the certificate is about "
                "those in support_vector_indices_ only. Select more features.",
                TruncatedRankWarning,
            )

    def _certificate_of_all(self, found: Certificate | None, rows: Index) -> Certificate | None:
        """The selector's certificate as one about some rows of X, with the names of the columns of X."""
        if found is None:
            return None
        names = kept_names(getattr(self, "feature_names_in_", None), found.indices)
        return replace(found, rows=rows if found.rows is None else rows[found.rows], names=names)

    def transform(self, X: Any) -> Any:
        """Keep (and rescale, as the selector does) the selected columns.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.

        Returns
        -------
        XR : {array, sparse matrix} of shape (n_samples, n_selected)
            What the fitted selector's `transform` returns.
        """
        return self._reduced(X)

    def inverse_transform(self, X: Any) -> Any:
        """Put the kept columns back in place, as the selector does.

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
        return self.selector_.inverse_transform(X)

    @available_if(_refitted_has("predict"))
    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with the classifier trained on the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        XR = self._for_model(X)
        return self.refitted_.predict(XR)

    @available_if(_refitted_has("decision_function"))
    def decision_function(self, X: Any) -> NDArray[Any]:
        """Compute confidence scores of the classifier trained on the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Confidence scores.
        """
        XR = self._for_model(X)
        return self.refitted_.decision_function(XR)

    @available_if(_refitted_has("score"))
    def score(self, X: Any, y: Any) -> float:
        """Compute the mean accuracy of the classifier trained on the selected features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Data with the columns seen in `fit`.
        y : array-like of shape (n_samples,)
            True labels.

        Returns
        -------
        score : float
            Share of correct predictions.
        """
        XR = self._for_model(X)
        return self.refitted_.score(XR, y)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return which metadata goes to the classifier and which to the selector.

        Returns
        -------
        routing : MetadataRouter
            The routing information.
        """
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return (
            MetadataRouter(owner=type(self).__name__)
            .add(estimator=_svm(self.estimator, 0), method_mapping=mapping)
            .add(selector=_selector(self.selector), method_mapping=mapping)
        )

    def _reduced(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, **ACCEPTED)
        return self.selector_.transform(sorted_csr(X))

    def _for_model(self, X: Any) -> Any:
        """The selected columns, sparse only if the classifier saw sparse ones: libsvm takes no other then."""
        XR = self._reduced(X)
        return XR.toarray() if sp.issparse(XR) and not sp.issparse(self.support_vectors_) else XR

    def _route(self, fit_params: dict[str, Any]) -> Any:
        if get_config()["enable_metadata_routing"]:
            return process_routing(self, "fit", **fit_params)
        return Bunch(estimator=Bunch(fit=fit_params), selector=_NO_METADATA.selector)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Whatever `estimator` is, tags can be asked for; `fit` refuses what is no classifier.
        inner = get_tags(_svm(self.estimator if hasattr(self.estimator, "__sklearn_tags__") else None, 0))
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        if tags.classifier_tags is not None:
            # With few features kept, accuracy on easy data may be anything.
            tags.classifier_tags = replace(tags.classifier_tags, poor_score=True)
        tags.target_tags.required = True
        return tags


def _check_two_classes(y: Any, sample_weight: Any) -> None:
    if len(np.unique(y)) < 2:
        raise DegenerateDataError("SupportVectorSelector needs at least two classes; y has one class.")
    if sample_weight is not None and len(np.unique(y[np.asarray(sample_weight) > 0])) < 2:
        raise DegenerateDataError(
            "SupportVectorSelector needs at least two classes; the samples with positive sample_weight have fewer."
        )


def _selector(selector: Any) -> Any:
    return BSSSelector() if selector is None else selector


def _check_linear(estimator: Any) -> None:
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    kernel = getattr(last, "kernel", "linear")
    if kernel != "linear":
        raise ParameterError(
            f"estimator of SupportVectorSelector must be linear; got one with kernel={kernel!r}. Selected columns of "
            "its support vectors would say nothing about it."
        )


def _svm(estimator: Any, n_samples: int) -> Any:
    if estimator is not None:
        return estimator
    return SVC(kernel="linear", break_ties=True) if n_samples <= _LIBSVM_ROWS else LinearSVC()
