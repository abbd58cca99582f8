"""Feature selection inside a kernel support vector machine."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from rarefy._estimator import Estimator
from rarefy._fit import check_parameters, fit_method
from rarefy._parameters import COUNT, NOT_NEGATIVE, POSITIVE, check_grid, draw_seed
from rarefy._progress import progress_line
from rarefy._selection_table import SelectionTable
from rarefy.core.feature_weights.kernel import Profile, Shape
from rarefy.core.feature_weights.penalties import PENALTIES
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.feature_weights.search import METHODS
from rarefy.core.feature_weights.selection import (
    FeatureSelection,
    Progress,
    SearchSettings,
    decision_scores,
    labelled_problem,
    selection_path,
    start_weights,
)
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.kernel._feature_samples import (
    check_start,
    encode_classes,
    to_dense,
    validate_samples,
    warn_if_degenerate,
    warn_not_converged,
)
from rarefy.kernel._feature_selector_certificate import CertifiedFeatureWeights
from rarefy.kernel._path import RegularizationPath


class KernelFeatureSelector(CertifiedFeatureWeights, SelectionTable, SelectorMixin, ClassifierMixin, Estimator):
    """Kernel SVM that learns a weight for every feature and sets most weights to zero.

    Feature k has a weight z_k >= 0 inside the kernel, ``exp(-sum_k z_k^2 (x_k - x'_k)^2)``, and the weights are
    learned together with the SVM: ``1/2 ||f||^2 + C sum of smoothed hinge losses + mu sum_k z_k`` is minimised, or the
    same with ``mu sum_k z_k^2``. The estimator finds features that are informative only in combination, and shows
    which features an SVM with a Gaussian kernel uses. It is a classifier and a selector. Standardise the features
    first.

    The problem is not convex, and a weight that is zero stays zero, so the result depends on the start. The consensus
    over several starts, `n_starts`, often finds a better solution than a single one.

    Parameters
    ----------
    C : float, default=1.0
        Factor on the losses, > 0.
    mu : float, default=0.01
        Factor on the penalty of the weights, >= 0. A larger one selects fewer features, though with
        ``penalty="squares"`` not always.
    method : {"ao2", "ao1", "ao", "full", "reduced", "gmkl"}, default="ao2"
        How to search. "ao" optimises classifier and weights in turn; "ao1" also optimises the margin in the turn of
        the weights; "ao2" does so for a classifier that is scaled to norm 1; "full" optimises classifier and weights
        jointly; "reduced" optimises the weights and trains the classifier exactly at every step; "gmkl" is the
        gradient method of Varma and Babu, which always uses ``penalty="squares"`` and ``eps=0.05``.
    penalty : {"weights", "squares"}, default="weights"
        Whether the penalty is the sum of the weights or of their squares. With squares, small weights cost little, so
        more features are selected.
    polish : bool, default=True
        Whether "ao", "ao1", "ao2" and "full" are followed by up to 300 steps of "reduced", which converges fast near a
        minimum, where the others are slow.
    init : {"ones", "scaled"} or array-like of shape (n_features,), default="ones"
        The weights at the start. With "scaled" all are equal, and the mean squared distance between two samples is 1. A
        feature with weight zero at the start is not selected.
    n_starts : int, default=1
        Number of searches in a round. With more than one, searches start from randomly perturbed weights, and features
        that less than a third of them select are left out of the next round.
    kernel : {"rbf", "poly"}, default="rbf"
        The Gaussian kernel, or ``(sum_k z_k^2 x_k x'_k + coef0) ** degree``.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel, >= 0.
    screening : int or None, default=None
        Number of features to search among at first; others are brought in while they lower the objective. None means
        all.
    eps : float, default=0.5
        Half the length of the curved piece of the smoothed hinge, > 0.
    tol : float, default=1e-3
        Relative change of the weights at which to stop, > 0.
    max_iter : int or None, default=None
        Largest number of rounds of "ao", "ao1" and "ao2" (None means 30), or of steps of "full" and "reduced" (300) and
        "gmkl" (100).
    random_state : int, RandomState instance or None, default=None
        Seed of the perturbed starts; only used if ``n_starts > 1``.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features_in_,)
        The weights z.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected features: those whose weight times standard deviation is more than a hundredth of the
        largest.
    ranking_ : ndarray of shape (n_features_in_,)
        Rank of each feature by weight times standard deviation; 1 is the largest, and equal ones have equal ranks.
    curvature_ : float
        Smallest eigenvalue of the Hessian in the selected weights, after minimisation over the classifier: negative at
        a saddle point, nonnegative up to rounding at a minimum. With ``penalty="squares"`` in all weights, because
        zero is no bound there. nan for "gmkl", which has another objective.
    objective_ : float
        The value of the objective.
    history_ : ndarray of shape (n_values,)
        The objective after every round.
    n_iter_ : int
        Number of rounds or steps, without those of the polish.
    converged_ : bool
        Whether the search converged within `max_iter`.
    dual_coef_ : ndarray of shape (n_classifiers, n_support_vectors)
        Coefficients of the kernel functions; one classifier for two classes, else one for each class.
    intercept_ : ndarray of shape (n_classifiers,)
        Intercepts.
    support_vectors_ : ndarray of shape (n_support_vectors, n_nonzero)
        The samples of the kernel functions, in the features with a nonzero weight.
    classes_ : ndarray of shape (n_classes,)
        The class labels. More than two have one classifier each, against the others, with the same feature weights.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    KernelFeatureSelectorCV : Choose C, mu, start and penalty by cross-validation.
    rarefy.selection_stability : How often each feature is selected on resampled data.

    References
    ----------
    [Tayal2014] A. Tayal, Effective and efficient optimization methods for kernel based
    classification problems, PhD thesis, University of Waterloo, 2014, chapter 7.

    [VarmaBabu2009] M. Varma and B. R. Babu, More generality in efficient multiple kernel learning, International
    Conference on Machine Learning, 2009.

    Examples
    --------
    No single feature separates the two classes, two of them together do:

    >>> import numpy as np
    >>> from rarefy.kernel import KernelFeatureSelector
    >>> X = np.random.default_rng(0).standard_normal((120, 8))
    >>> y = np.where(X[:, 2] * X[:, 5] > 0, "same", "different")
    >>> model = KernelFeatureSelector(C=1.0, mu=1.0).fit(X, y)
    >>> model.get_support(indices=True)
    array([2, 5])
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _guide = "kernel_features"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
        "mu": [NOT_NEGATIVE],
        "method": [StrOptions(set(METHODS))],
        "penalty": [StrOptions(set(PENALTIES))],
        "polish": ["boolean"],
        "init": [StrOptions({"ones", "scaled"}), "array-like"],
        "n_starts": [COUNT],
        "kernel": [StrOptions({"rbf", "poly"})],
        "degree": [COUNT],
        "coef0": [NOT_NEGATIVE],
        "screening": [COUNT, None],
        "eps": [POSITIVE],
        "tol": [POSITIVE],
        "max_iter": [COUNT, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        C: float = 1.0,
        mu: float = 0.01,
        *,
        method: str = "ao2",
        penalty: str = "weights",
        polish: bool = True,
        init: Any = "ones",
        n_starts: int = 1,
        kernel: Shape = "rbf",
        degree: int = 3,
        coef0: float = 1.0,
        screening: int | None = None,
        eps: float = 0.5,
        tol: float = 1e-3,
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.C = C
        self.mu = mu
        self.method = method
        self.penalty = penalty
        self.polish = polish
        self.init = init
        self.n_starts = n_starts
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.screening = screening
        self.eps = eps
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the feature weights and the classifier.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse input is converted to a dense array.
        y : array-like of shape (n_samples,)
            The class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors on the losses of the samples; None means 1.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        DegenerateDataError
            If fewer than two classes have samples with positive weight, or squared distances overflow.
        """
        owner = type(self).__name__
        problem, classes = self._problem(*validate_samples(self, X, y, sample_weight))
        (found,) = self._search(problem, [self.mu])
        if not found.converged:
            warn_not_converged(owner, self.method, f"the search stopped after {found.n_iter} rounds")
        self._store(classes, problem.profile, found)
        warn_if_degenerate(self, owner)
        return self

    def mu_path(self, X: Any, y: Any, mus: Any, sample_weight: Any = None) -> RegularizationPath:
        """Learn for several values of `mu`, each from the weights of the next smaller one.

        The path goes from the smallest mu to the largest, and features leave one after the other. With
        ``penalty="weights"`` a feature that has left does not come back; with "squares" it can. `n_starts` and
        `screening` apply to the smallest mu.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse input is converted to a dense array.
        y : array-like of shape (n_samples,)
            The class labels.
        mus : array-like of shape (n_mus,)
            Values of mu, >= 0, in any order.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors on the losses of the samples; None means 1.

        Returns
        -------
        path : RegularizationPath
            One fitted copy of the estimator for each mu; the estimator itself is not changed.

        Examples
        --------
        >>> import numpy as np
        >>> from rarefy.kernel import KernelFeatureSelector
        >>> X = np.random.default_rng(0).standard_normal((120, 8))
        >>> y = X[:, 2] * X[:, 5] > 0
        >>> path = KernelFeatureSelector(C=4.0).mu_path(X, y, [0.01, 1.0, 64.0])
        >>> path.models[-1].get_support(indices=True)
        array([2, 5])
        >>> n_features = path.attribute("support_").sum(axis=1)
        >>> bool(n_features[0] > n_features[-1])
        True
        """
        owner = type(self).__name__
        mus = check_grid("mus", mus, f"{owner}.mu_path", zero=True)
        models = self._fit_path(X, y, mus, sample_weight)
        stopped = sum(not model.converged_ for model in models)
        if stopped:
            warn_not_converged(owner, self.method, f"{stopped} of {len(mus)} searches stopped")
        return RegularizationPath("mu", mus, tuple(models))

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores of samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes; of more classes, the largest score has the predicted one.
        """
        check_is_fitted(self, "feature_weights_")
        X = to_dense(validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32)))
        scores = decision_scores(
            X, self.feature_weights_, self.support_vectors_, self.dual_coef_, self.intercept_, self._profile
        )
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return self._labels(self.decision_function(X))

    def _labels(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Labels from the scores of `decision_function`."""
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _fit_path(self, X: Any, y: Any, mus: Array, sample_weight: Any) -> list["KernelFeatureSelector"]:
        """Fitted copies, one for each mu; warnings are left to the caller."""
        models = [clone(self).set_params(mu=float(mu)) for mu in mus]
        check_parameters(models[0])
        problem, classes = self._problem(*validate_samples(models[0], X, y, sample_weight))
        for model, found in zip(models, self._search(problem, mus), strict=True):
            validate_data(model, X, skip_check_array=True)  # stores number and names of the features
            model._store(classes, problem.profile, found)
        return models

    def _problem(self, X: Array, y: NDArray[Any], weights: Array) -> tuple[Problem, NDArray[Any]]:
        """The problem to solve, without samples of weight zero, and the classes."""
        counted = weights > 0.0
        classes, labels = encode_classes(y[counted], type(self).__name__)
        penalty = PENALTIES["squares" if self.method == "gmkl" else self.penalty](float(self.mu))
        problem = labelled_problem(
            X[counted],
            labels,
            weights[counted],
            C=float(self.C),
            penalty=penalty,
            loss=SmoothedHinge(float(self.eps)),
            profile=Profile(self.kernel, int(self.degree), float(self.coef0)),
        )
        return problem, classes

    def _search(self, problem: Problem, mus: Sequence[float] | Array) -> list[FeatureSelection]:
        """One result for each mu."""
        init = check_start("init", self.init, problem.X.shape[1], type(self).__name__)
        settings = SearchSettings(
            method=self.method,
            polish=self.polish,
            tol=float(self.tol),
            max_iter=self.max_iter,
            n_starts=int(self.n_starts),
            screening=self.screening,
            seed=draw_seed(self.random_state) if self.n_starts > 1 else 0,
        )
        with progress_line() as show:
            report = None if show is None else partial(_show_progress, show)
            return selection_path(problem, start_weights(problem, init), mus, settings, report)

    def _store(self, classes: NDArray[Any], profile: Profile, found: FeatureSelection) -> None:
        self.classes_ = classes
        self.feature_weights_, self.support_, self.ranking_ = found.feature_weights, found.support, found.ranking
        self.curvature_, self.objective_, self.history_ = found.curvature, found.objective, found.history
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.dual_coef_, self.intercept_ = found.dual_coef, found.intercept
        self.support_vectors_, self._profile = found.support_vectors, profile

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "feature_weights_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _show_progress(show: Callable[[str], None], now: Progress) -> None:
    show(
        f"mu={now.mu:.3g}, search {now.search}: round {now.round}, objective {now.objective:.6g}, "
        f"{now.n_features} features"
    )
