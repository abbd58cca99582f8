"""Ranking a rare class with few kernel functions."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from rarefy._fit import fit_method
from rarefy._input import labelled
from rarefy._parameters import ANY_REAL
from rarefy._validation import check_labels, check_weights
from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import DegenerateDataError, ParameterError, RarefyWarning
from rarefy.ranking._base import KernelRanker
from rarefy.ranking._cross_fit import cross_fitted_scores
from rarefy.ranking._decisions import ClassDecision, bound_of, cut_below, decide_by_rule, promised_cut
from rarefy.ranking._emphasis import MEASURES, Emphasis
from rarefy.ranking._problem import TrainingData
from rarefy.ranking._settings import RANKER_CONSTRAINTS, ThresholdRule, promise_of, threshold_rule
from rarefy.ranking._solve import Ranking


class RankRC(ClassifierMixin, KernelRanker):
    """Rank a rare class above the rest, with few kernel functions.

    It minimises a smoothed share of wrongly ordered pairs (one sample of each class) plus ``alpha/2 ||f||^2``. Pairs
    are never formed: sorting gives the loss of all of them. The kernel functions are those of the rare class and of as
    many samples of the majority, so that about 2 m m_rare kernel values are needed instead of m^2. The authors take
    those of the rare class only (``basis="rare"``), which a bound on the difference to the ranker with all kernel
    functions favours; where the majority has structure of its own, that ranks worse.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Weight of the penalty (the authors' lambda), > 0. "auto" means 2 over the number of samples, at most 0.001.
    basis : {"auto", "rare", "all", "random"}, int or array of row numbers, default="auto"
        Samples whose kernel functions are used. "auto": the rare class (at most 300 of it, drawn at random) and as
        many landmarks of the majority, at least 100; "rare": the rare class only, as the authors do; "all" (RankSVM);
        "random": as many as the rare class, drawn at random; a number of them, rare samples first and the others by
        `landmarks`; or the given rows.
    landmarks : {"random", "greedy", "kmeans", "cholesky", "leverage"}, default="random"
        How the samples of a `basis` that is "auto" or a number are chosen. "random": with equal chances; "greedy": one
        by one, of any class, those that lower the loss most, some exchanged again; "kmeans": centres of clusters;
        "cholesky": one by one the sample that is represented worst by those before; "leverage": at random, with chances
        that grow with what a sample adds (ridge leverage scores). If the number is
        smaller than the rare class, it is chosen from the rare samples.
    standardize : bool or "auto", default="auto"
        Whether columns are divided by their standard deviations before the kernel compares samples. "auto" does so if
        otherwise few columns, those with the largest units, would decide, as in :class:`~rarefy.kernel.KernelSubspace`.
    kernel : str or callable, default="rbf"
        "rbf", "poly" (or "polynomial"), "linear", "cosine", "laplacian", "sigmoid", "chi2", "additive_chi2",
        "histogram_intersection", "spline", "wave", "precomputed", or a function of two samples.
    gamma : float, {"mean_distance", "scale", "auto"} or None, default="mean_distance"
        Width of the kernel, for those that have one. "mean_distance" is 1 over the mean squared distance of two
        training samples, "scale" and "auto" are as in scikit-learn's SVC, None is the kernel function's own default.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict or None, default=None
        Further parameters of the kernel function; they override the others.
    loss : {"smoothed_hinge", "logistic"} or loss object, default="smoothed_hinge"
        The loss of a pair. "smoothed_hinge" is ``SmoothedHinge(eps=0.5)``, a hinge whose corner is rounded over a
        length of 2 eps; "logistic" is ``Logistic()``.
    emphasis : dict, {"f1", "break_even"} or None, default=None
        What counts more than the rest. ``{"push": p}`` with p > 1: majority samples count the more the higher they
        stand (the p-norm push). ``{"false_positive_range": b}`` with b < 1: only this share of the majority counts,
        from the highest score down (partial area under the ROC curve). ``{"false_positive_weight": w}``: majority
        samples count by w(t), where t is the false-positive rate at which they stand; w takes an array and must not
        increase (weighted area; the range is w = 1 up to b). Several may be given. "f1" and "break_even" replace the
        loss of pairs by one of the whole list: 1 - F1 at the best cut, or 1 - precision where as many are called rare
        as there are, each with a margin; sample weights have to be 0 or 1. All but the push are not differentiable
        everywhere, and are minimised by cutting planes.
    penalty : {"l2", "l1"}, default="l2"
        Squared norm of the function, or sum of the absolute coefficients, which leaves fewer kernel functions.
    solver : {"trust-region", "stochastic"}, default="trust-region"
        The second passes over the majority in blocks, and holds m_rare^2 + block_size * m_rare kernel values; the
        block size is a setting of :func:`rarefy.set_config`. `tol` does not apply to it, and `emphasis`, of which it
        takes the push and the range only, is taken within each block: the smaller the blocks, the more its result
        differs.
    threshold : {"frequency", "f1"}, dict or float, default="frequency"
        Where `predict` cuts the ranking of the training samples: such that the share called rare is that of the
        rare class; at the largest F1; ``{"false_positive_rate": 0.01}``; ``{"recall": 0.9}``, the fewest samples that
        hold so large a share of the rare ones; ``{"share": 0.005}`` of all samples; or ``{"cost": 20}``, when
        missing a rare sample costs as much as 20 false alarms. Training scores are optimistic: on new data fewer rare
        samples are found. ``{"recall": 0.9, "confidence": 0.95}`` (or "false_positive_rate" in place of "recall") is a
        promise about new data, from the scores of five rankers that are each fitted without a fifth of the samples; see
        `threshold_certificate_`. A number is the threshold itself.
    rare_class : label or None, default=None
        The class to rank on top; None means the less frequent one.
    tol : float, default=1e-7
        Accepted remaining decrease of the objective, relative to its value.
    max_iter : int or None, default=None
        Steps of the trust region method (None means 100; ten times as many cutting planes are allowed and fifty times
        as many steps with ``penalty="l1"``), or passes of the stochastic solver (None means 5).
    random_state : int, RandomState instance or None, default=None
        Seed of what is random: the basis and the blocks.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels.
    rare_class_ : label
        The class that is ranked on top.
    basis_ : ndarray of shape (n_basis,) or None
        Row numbers of the training samples with a kernel function; None if centres of clusters are among them.
    basis_points_ : array of shape (n_basis, n_features)
        The samples of the basis; with a precomputed kernel, their row numbers.
    dual_coef_ : ndarray of shape (1, n_basis)
        Coefficients of the kernel functions.
    alpha_ : float
        Weight of the penalty that was used.
    threshold_ : float
        Score above which a sample is called rare.
    threshold_certificate_ : RecallCertificate or None
        What the threshold promises, if `threshold` asks for a promise.
    bound_ : float or None
        No score of a sample x with k(x, x) up to the largest of the training samples differs by more than this from
        that of the ranker with all kernel functions, beside what `tol` leaves to either (:func:`subset_bound`; measured
        at the fit itself :func:`certify_scores` is far tighter); None where the theorem does not apply or
        the minimum was not reached.
    kernel_ : object
        The kernel with the parameters that were used.
    gamma_ : float or None
        Width of the kernel; None if it has none.
    objective_ : float
        Value reached.
    n_iter_ : int
        Iterations, or blocks.
    storage_ : str
        Where the kernel values were kept: "float64", "float32", "on disk", "recomputed" or "blocks".
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    RankRCCV : The same with `alpha` chosen by cross-validation.
    OrdinalRankRC : Ranks more than two ordered levels.
    subset_bound : The bound as a function.

    Notes
    -----
    How much memory kernel values may take, and what is done with those that do not fit, are settings of
    :func:`rarefy.set_config`. Five of the seventeen parameters describe the kernel, with the names that they have in
    all estimators with a kernel here and in scikit-learn; that is why there are more parameters than elsewhere.

    References
    ----------
    [TayalColemanLi2015] Tayal, Coleman and Li, RankRC: Large-scale nonlinear rare class ranking, IEEE Transactions on
    Knowledge and Data Engineering 27, 2015.

    [Rudin2009] Rudin, The P-norm push: a simple convex ranking algorithm that concentrates at the top of the list,
    Journal of Machine Learning Research 10, 2009.

    [NarasimhanAgarwal2013] Narasimhan and Agarwal, A structural SVM based approach for optimizing partial AUC,
    International Conference on Machine Learning, 2013.

    [Joachims2005] Joachims, A support vector method for multivariate performance measures, International Conference on
    Machine Learning, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.metrics import roc_auc_score
    >>> from rarefy.ranking import RankRC
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [20, 980])
    >>> X = rng.standard_normal((1000, 3)) + 2 * y[:, None] * rng.choice([-1, 1], (1000, 1))
    >>> model = RankRC(random_state=0).fit(X, y)
    >>> len(model.basis_), int(model.predict(X).sum())
    (120, 20)
    >>> bool(roc_auc_score(y, model.decision_function(X)) > 0.95)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = RANKER_CONSTRAINTS | {
        "emphasis": [Emphasis(), StrOptions(set(MEASURES)), None],
        "threshold": [ThresholdRule(), ANY_REAL],
        "rare_class": "no_validation",
    }

    def __init__(
        self,
        alpha: Any = "auto",
        *,
        basis: Any = "auto",
        landmarks: str = "random",
        standardize: bool | str = "auto",
        kernel: Any = "rbf",
        gamma: Any = "mean_distance",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        loss: Any = "smoothed_hinge",
        emphasis: Any = None,
        penalty: str = "l2",
        solver: str = "trust-region",
        threshold: Any = "frequency",
        rare_class: Any = None,
        tol: float = 1e-7,
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.basis = basis
        self.landmarks = landmarks
        self.standardize = standardize
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.loss = loss
        self.emphasis = emphasis
        self.penalty = penalty
        self.solver = solver
        self.threshold = threshold
        self.rare_class = rare_class
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; a pair counts with the product of its two. None means 1.

        Returns
        -------
        self : object
            The fitted ranker.

        Raises
        ------
        ParameterError
            If a parameter is out of range, or the kernel is not symmetric or not finite.
        DegenerateDataError
            If the samples with a positive weight are all of one class.
        """
        return self._fit_with(X, y, sample_weight)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """Compute how rare samples look: larger is rarer, whichever way the labels are sorted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores; samples above `threshold_` are called rare.
        """
        return self._scores(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of the second class of `classes_`, shifted so that `predict` cuts at zero.

        When the rare class is the first of the two (by the order of labels), its ranking is the reverse: use
        `score_samples` for a score that is always larger for rarer samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores.
        """
        return self._shifted(self._scores(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels, by the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return labelled(self._scores(X), self._labels, self.classes_.dtype)

    def _shifted(self, scores: Array) -> Array:
        """What `decision_function` returns, from scores that are larger for rarer samples."""
        above = scores - self.threshold_
        return above if self.rare_class_ == self.classes_[1] else -above

    def _labels(self, scores: Array) -> NDArray[Any]:
        return self.classes_[(self._shifted(scores) > 0.0).astype(int)]

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        owner = type(self).__name__
        X, y = self._validate_training(X, y)
        y = check_labels(y, f"y of {owner}")
        check_classification_targets(y)
        weights = check_weights(sample_weight, X, type(self).__name__)
        classes, codes = np.unique(y, return_inverse=True)
        if type_of_target(y) != "binary" and len(classes) > 2:
            raise ParameterError(
                f"Only binary classification is supported. {owner} ranks one class above another, but y has "
                f"{len(classes)} classes; for ordered levels use OrdinalRankRC."
            )
        # How often, not how much: a class whose samples weigh more is not less rare.
        counts = np.bincount(codes[weights > 0.0], minlength=len(classes))
        if len(classes) < 2 or counts.min() == 0:
            raise DegenerateDataError(
                f"{owner} needs samples of two classes to rank; y has 1 class (counting samples with a weight), "
                f"{classes.tolist()[int(np.argmax(counts))]!r}."
            )
        rare = self._rare_code(classes, counts)
        levels = (codes == rare).astype(np.intp)
        rows = np.flatnonzero((levels == 1) & (weights > 0.0))
        return TrainingData(X, levels, weights, rows, classes, classes[rare])

    def _rare_code(self, classes: NDArray[Any], counts: NDArray[Any]) -> int:
        """Which of the two classes is the rare one."""
        if self.rare_class is None:
            return 0 if counts[0] < counts[1] else 1
        match = np.flatnonzero([np.ndim(self.rare_class) == 0 and one == self.rare_class for one in classes])
        if not len(match):
            raise ParameterError(
                f"The 'rare_class' parameter of {type(self).__name__} must be None or one of the classes of y, "
                f"{classes.tolist()}. Got {self.rare_class!r} instead."
            )
        return int(match[0])

    def _warn_of_data(self, data: TrainingData) -> None:
        named = self.rare_class is not None and isinstance(self.basis, str) and self.basis == "rare"
        others, rare = np.bincount(data.levels[data.weights > 0.0], minlength=2)
        if named and rare > 5.0 * others:
            warn_user(
                f"rare_class of {type(self).__name__} is {self.rare_class!r}, the more frequent class: there will be "
                "one kernel function for each of its samples. Name the other class, or give basis a number.",
                RarefyWarning,
            )

    def _for_scorers(self, data: TrainingData) -> Self:
        threshold, promise = self.threshold, promise_of(self.threshold)
        if promise is not None:  # a promise needs rankers of its own
            threshold = {promise.quantity: promise.level}
        return clone(self).set_params(rare_class=data.rare_label, threshold=threshold)

    def _decide(self, ranking: Ranking, held_out: Array | None = None) -> ClassDecision:
        if isinstance(self.threshold, Real):
            return ClassDecision(float(self.threshold), bound_of(ranking))
        promise, data = promise_of(self.threshold), ranking.problem.data
        if promise is None:
            return decide_by_rule(ranking, *threshold_rule(self.threshold), held_out)
        scores = cross_fitted_scores(self, data, ranking.alpha) if held_out is None else held_out
        usable = np.isfinite(scores) & (data.weights > 0.0)
        made = promised_cut(scores[usable], data.levels[usable] == 1, promise, type(self).__name__)
        return ClassDecision(cut_below(made), bound_of(ranking), made)

    def _store(self, ranking: Ranking, decision: ClassDecision) -> Self:
        data = ranking.problem.data
        self.classes_, self.rare_class_ = data.labels, data.rare_label
        self.threshold_, self.bound_ = decision.threshold, decision.bound
        self.threshold_certificate_ = decision.certificate
        return super()._store(ranking, decision)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
