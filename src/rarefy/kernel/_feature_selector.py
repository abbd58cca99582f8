"""Feature selection inside a kernel support vector machine."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from rarefy._estimator import Estimator
from rarefy._fit import check_parameters, fit_method
from rarefy._input import as_source, labelled, lazily, remember_columns
from rarefy._parameters import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, Number, check_grid
from rarefy._selection_table import SelectionTable
from rarefy.core.feature_weights.kernel import Shape
from rarefy.core.feature_weights.penalties import PENALTIES
from rarefy.core.feature_weights.search import METHODS
from rarefy.core.linalg.rows import Array
from rarefy.kernel._feature_model import FeatureWeightsModel
from rarefy.kernel._feature_samples import (
    STARTS,
    validate_samples,
    warn_if_chance,
    warn_if_degenerate,
    warn_not_converged,
)
from rarefy.kernel._feature_selector_certificate import CertifiedFeatureWeights
from rarefy.kernel._path import RegularizationPath


class KernelFeatureSelector(CertifiedFeatureWeights, SelectionTable, FeatureWeightsModel, ClassifierMixin, Estimator):
    """Kernel SVM that learns a weight for every feature and sets most weights to zero.

    Feature k has a weight z_k >= 0 inside the kernel, ``exp(-sum_k z_k^2 (x_k - x'_k)^2)``, and the weights are
    learned together with the SVM: ``1/2 ||f||^2 + C sum of smoothed hinge losses + mu sum_k z_k`` is minimised, or the
    same with ``mu sum_k z_k^2``. The estimator finds features that are informative only in combination, and shows
    which features an SVM with a Gaussian kernel uses. It is a classifier and a selector.

    The problem is not convex, and a weight that is zero stays zero, so the result depends on the start. By default
    three starts are tried, the lowest objective is kept, small weights are dropped, and the same is done without a
    quarter of the samples to see whether what is found holds for samples that were not used.

    Parameters
    ----------
    C : float, default=1.0
        Factor on the losses, > 0.
    mu : float or "auto", default="auto"
        Factor on the penalty of the weights, >= 0. A larger one selects fewer features, though with
        ``penalty="squares"`` not always. "auto" is a fifteenth of the losses of the best constant classifier: ``C
        n_samples / 30`` for two classes of the same size and the default `eps`.
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
    init : {"auto", "ones", "scaled", "interactions"} or array-like of shape (n_features,), default="auto"
        The weights at the start. With "scaled" all are equal, and the mean squared distance between two samples is 1.
        "interactions" starts from the pair or the triple of features whose kernel agrees best with the labels (of more
        than 400 and 100 features, half of the compared ones are the best alone and half are random), and brings in
        others that lower the objective. "auto" tries these three, and the lowest objective wins. A feature with
        weight zero in a given start is not selected.
    n_starts : int, default=1
        Number of searches in a round from the first start. With more than one, searches start from randomly perturbed
        weights, and features that less than a third of them select are left out of the next round.
    standardize : bool, default=True
        Whether features are centred and divided by their standard deviations first, so that their units do not matter.
        `feature_weights_` are then those of the standardised features.
    prune : float, default=0.2
        Share of the largest weight, times standard deviation, below which features are dropped; the others are learned
        again. 0 keeps all that are not negligible.
    n_landmarks : int, None or "auto", default="auto"
        Number of kernel functions. With fewer than samples, weights are first learned from about 1000 samples, with all
        starts, and then from all samples for a classifier in the span of the kernel functions of so many random
        samples. Of more than 65 536 samples, and of blocks that would take more than a quarter of `memory_budget`, a
        part is looked at in all features, and all samples in those that were chosen from it. None means as many as
        samples; "auto" means that for up to 1500 samples, and 500 for more.
    validation_fraction : float or None, default=0.25
        Share of the samples of each class that are left out of an additional fit, to see whether it predicts them
        better than chance; a warning says if it does not. None means no such fit; nor is there one if a class has
        fewer than ten samples in that share. With fewer landmarks than samples this is the fit to 1000 samples, which
        predicts others.
    groups : array-like of shape (n_features,) or None, default=None
        Labels of groups of features. The features of a group share one weight, which the penalty counts once; they are
        selected or left out together. A group of p standardised features adds p squared differences to a distance, so
        with the same effect its weight is smaller by the root of p. None means that every feature has its own weight.
    kernel : {"rbf", "laplacian", "poly"}, default="rbf"
        The Gaussian kernel, the Laplacian ``exp(-sum_k z_k^2 |x_k - x'_k|)``, or ``(sum_k z_k^2 x_k x'_k + coef0) **
        degree``. Sums of absolute differences are no matrix products: each takes time for n_samples x n_samples x
        n_features differences, so a fit with the Laplacian takes three times as long at 1000 samples, and longer with
        more. It has no landmark form.
    degree : int, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1.0
        Constant of the polynomial kernel, >= 0.
    screening : int or None, default=None
        Number of features to search among at first, from "ones", "scaled" or a given start; others are brought in while
        they lower the objective. None means all.
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
        The weights z: of the standardised features, or of the features as they are with ``standardize=False``.
    raw_feature_weights_ : ndarray of shape (n_features_in_,)
        The weights of the features in their own units: `feature_weights_` divided by `scale_`, for the Laplacian by
        its root. Those of a group differ if its features have different units.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected features: those whose weight times standard deviation is more than a hundredth of the
        largest.
    groups_ : ndarray of shape (n_groups,)
        The labels of the groups in ascending order; the numbers of the features without `groups`.
    group_weights_ : ndarray of shape (n_groups,)
        The weight of each group; `feature_weights_` has it for each of its features.
    ranking_ : ndarray of shape (n_features_in_,)
        Rank of each feature by weight times standard deviation; 1 is the largest, and equal ones have equal ranks.
    mu_ : float
        The factor on the penalty that was used.
    validation_score_ : float
        Accuracy of the additional fit on the samples that it did not use; nan without one.
    curvature_ : float
        Smallest eigenvalue of the Hessian, in the selected weights, of what `objective_` is the value of, after
        minimisation over the classifier: negative at a saddle point, nonnegative up to rounding at a minimum. For every
        `method`, also for "ao2" with ``polish=False``, whose turns of the weights minimise something else. With
        ``penalty="squares"`` in all weights, because zero is no bound there. nan for "gmkl", whose hinge is not that
        of the others, and with fewer landmarks than samples.
    objective_ : float
        ``1/2 ||f||^2 + C sum of smoothed hinge losses + mu sum_k z_k``, or with ``z_k^2``, at the solution.
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
        The samples of the kernel functions, in the features with a nonzero weight and in the units of X.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What is subtracted from the features and what they are divided by; zeros and ones with ``standardize=False``.
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
    >>> X = np.random.default_rng(0).standard_normal((200, 30))
    >>> y = np.where(X[:, 2] * X[:, 5] > 0, "same", "different")
    >>> model = KernelFeatureSelector().fit(X, y)
    >>> model.get_support(indices=True)
    array([2, 5])
    >>> bool(model.validation_score_ > 0.85)
    True
    """

    _guide = "kernel_features"
    _works_on_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
        "mu": [NOT_NEGATIVE, StrOptions({"auto"})],
        "method": [StrOptions(set(METHODS))],
        "penalty": [StrOptions(set(PENALTIES))],
        "polish": ["boolean"],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "n_starts": [COUNT],
        "standardize": ["boolean"],
        "prune": [Number(Real, 0, 1, closed="left")],
        "n_landmarks": [COUNT, StrOptions({"auto"}), None],
        "validation_fraction": [SHARE, None],
        "groups": ["array-like", None],
        "kernel": [StrOptions({"rbf", "laplacian", "poly"})],
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
        mu: float | str = "auto",
        *,
        method: str = "ao2",
        penalty: str = "weights",
        polish: bool = True,
        init: Any = "auto",
        n_starts: int = 1,
        standardize: bool = True,
        prune: float = 0.2,
        n_landmarks: int | str | None = "auto",
        validation_fraction: float | None = 0.25,
        groups: Any = None,
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
        self.standardize = standardize
        self.prune = prune
        self.n_landmarks = n_landmarks
        self.validation_fraction = validation_fraction
        self.groups = groups
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
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            The samples; sparse input is made dense, of more than 65 536 samples a part at a time.
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
        MemoryBudgetError
            If kernel values of all pairs of samples are needed and do not fit `memory_budget`.
        """
        owner = type(self).__name__
        task = self._task_of(*validate_samples(self, X, y, sample_weight))
        mu = task.automatic_mu if self.mu == "auto" else float(self.mu)
        (found,), checked = self._learn(task, [mu], validate=self.validation_fraction is not None)
        if not found.converged:
            warn_not_converged(owner, self.method, f"the search stopped after {found.n_iter} rounds")
        self._store(task, mu, found, checked)
        warn_if_degenerate(self, owner)
        if checked is not None and found.support.any():
            warn_if_chance(owner, checked)
        return self

    def mu_path(self, X: Any, y: Any, mus: Any, sample_weight: Any = None) -> RegularizationPath:
        """Learn for several values of `mu`, each from the weights of the next smaller one.

        The path goes from the smallest mu to the largest, and features leave one after the other. With
        ``penalty="weights"`` and one start a feature that has left does not come back; with "squares" it can.
        `n_starts` and `screening` apply to the smallest mu. With several starts there is a path from each, and at every
        mu the lowest objective is taken. Nothing is held out: `validation_score_` is nan.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            The samples; sparse input is made dense, of more than 65 536 samples a part at a time.
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
        >>> path = KernelFeatureSelector(C=4.0, prune=0.0).mu_path(X, y, [0.01, 1.0, 64.0])
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
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes; of more classes, the largest score has the predicted one.
        """
        check_is_fitted(self, "feature_weights_")
        width = None if len(self.classes_) == 2 else len(self.classes_)
        lazy = lazily(self, X, lambda block: self._of_classes(self._scores_within(block)), np.float64, width)
        return self._of_classes(self._scores_of(X)) if lazy is None else lazy

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return labelled(self.decision_function(X), self._labels, self.classes_.dtype)

    def _of_classes(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """One column of scores for two classes as a vector."""
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def _labels(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Labels from the scores of `decision_function`."""
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _fit_path(self, X: Any, y: Any, mus: Array, sample_weight: Any) -> list["KernelFeatureSelector"]:
        """Fitted copies, one for each mu; warnings are left to the caller."""
        models = [clone(self).set_params(mu=float(mu)) for mu in mus]
        check_parameters(models[0])
        task = self._task_of(*validate_samples(models[0], X, y, sample_weight))
        found, _ = self._learn(task, mus, validate=False)
        for model, mu, one in zip(models, mus, found, strict=True):
            remember_columns(model, as_source(X))
            model._store(task, float(mu), one, None)
        return models
