"""Feature selection inside a kernel support vector machine, with its parameters chosen by cross-validation."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from rarefy._cv_table import CVTable, fold_scores
from rarefy._delegation import delegated
from rarefy._estimator import Estimator
from rarefy._fit import check_parameters, fit_method
from rarefy._parallel import run_parallel
from rarefy._parameters import check_grid, resolved_seed
from rarefy.core.feature_weights.penalties import PENALTIES
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._feature_samples import check_start, validate_samples, warn_if_degenerate, warn_not_converged
from rarefy.kernel._feature_selector import KernelFeatureSelector
from rarefy.kernel._path import RegularizationPath


class KernelFeatureSelectorCV(CVTable, SelectorMixin, ClassifierMixin, Estimator):
    """KernelFeatureSelector with C, mu, the start and the penalty chosen by cross-validation.

    For every C and every fold one path of mus is computed, each mu from the weights of the next smaller one. The best
    combination is refitted on all samples, along the same path up to the mu that was chosen. Of equal scores, the one
    with the fewest features wins, on average over the folds; then the largest mu and the smallest C.

    Parameters
    ----------
    estimator : KernelFeatureSelector or None, default=None
        The selector with all parameters that are not chosen here: `method`, `kernel`, `n_starts`, `tol`,
        `random_state`, ... Its `C`, `mu`, `init` and `penalty` are replaced. None means one with default parameters.
    Cs : array-like of shape (n_Cs,) or None, default=None
        Values of C to try, > 0; None means 1, 4 and 16.
    mus : array-like of shape (n_mus,) or None, default=None
        Values of mu to try, >= 0; None means 2^-8, 2^-6, ..., 2^6. Losses are summed over the samples, so larger data
        sets need larger values.
    inits : tuple or list, default=("ones", "scaled")
        Starts to try: "ones", "scaled" or arrays of shape (n_features,), see `init` of :class:`KernelFeatureSelector`.
        "ones" is better if most features are noise, "scaled" if most are informative.
    penalties : tuple or list, default=("squares",)
        Penalties to try: "squares", "weights" or both. ``method="gmkl"`` always uses "squares".
    cv : int, splitter, iterable or None, default=None
        How to split; None means five stratified folds. Folds with training samples of one class are left out.
    scoring : str, callable or None, default=None
        Score on the held-out samples, as in scikit-learn, for example "balanced_accuracy" or "roc_auc" if one class is
        rare; None means accuracy. It uses the sample weights if there are any.
    n_jobs : int or None, default=None
        Number of paths computed in parallel, as in scikit-learn.

    Attributes
    ----------
    best_estimator_ : KernelFeatureSelector
        The selector with the chosen parameters, fitted on all samples.
    C_ : float
        The chosen C.
    mu_ : float
        The chosen mu.
    init_ : str or array-like
        The chosen start.
    penalty_ : str
        The chosen penalty.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C that were tried.
    mus_ : ndarray of shape (n_mus,)
        The values of mu that were tried, in ascending order.
    cv_scores_ : ndarray of shape (n_Cs, n_mus, n_folds)
        Scores on the held-out samples with the chosen start and penalty; nan for folds that are left out.
    cv_n_features_ : ndarray of shape (n_Cs, n_mus, n_folds)
        Number of features that were selected in the folds.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.
    feature_weights_ : ndarray of shape (n_features_in_,)
        The weights of the best estimator.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the features that it selects.
    ranking_ : ndarray of shape (n_features_in_,)
        Rank of each feature by weight times standard deviation; 1 is the largest.
    curvature_ : float
        Smallest eigenvalue of the Hessian in the weights, negative at a saddle point.
    objective_ : float
        The value of the objective.
    history_ : ndarray of shape (n_values,)
        The objective after every round of the last search.
    n_iter_ : int
        Number of rounds or steps of the last search.
    converged_ : bool
        Whether the last search converged within `max_iter`.
    dual_coef_ : ndarray of shape (n_classifiers, n_support_vectors)
        Coefficients of the kernel functions.
    intercept_ : ndarray of shape (n_classifiers,)
        Intercepts.
    support_vectors_ : ndarray of shape (n_support_vectors, n_nonzero)
        The samples of the kernel functions, in the features with a nonzero weight.

    See Also
    --------
    KernelFeatureSelector : The estimator with given parameters.

    References
    ----------
    [Tayal2014] A. Tayal, Effective and efficient optimization methods for kernel based
    classification problems, PhD thesis, University of Waterloo, 2014, chapter 7.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV
    >>> X = np.random.default_rng(0).standard_normal((100, 6))
    >>> y = X[:, 1] * X[:, 4] > 0
    >>> model = KernelFeatureSelectorCV(KernelFeatureSelector(tol=0.01), Cs=[1.0], mus=[0.1, 1.0], cv=3).fit(X, y)
    >>> model.get_support(indices=True)
    array([1, 4])
    >>> model.best_estimator_.mu == model.mu_
    True
    """

    _guide, _along = "kernel_features", "mu"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [KernelFeatureSelector, None],
        "Cs": ["array-like", None],
        "mus": ["array-like", None],
        "inits": [tuple, list],
        "penalties": [tuple, list],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_jobs": [Integral, None],
    }

    feature_weights_ = delegated("feature_weights_")
    support_ = delegated("support_")
    ranking_ = delegated("ranking_")
    curvature_ = delegated("curvature_")
    objective_ = delegated("objective_")
    history_ = delegated("history_")
    n_iter_ = delegated("n_iter_")
    converged_ = delegated("converged_")
    dual_coef_ = delegated("dual_coef_")
    intercept_ = delegated("intercept_")
    support_vectors_ = delegated("support_vectors_")

    def __init__(
        self,
        estimator: KernelFeatureSelector | None = None,
        *,
        Cs: Any = None,
        mus: Any = None,
        inits: Any = ("ones", "scaled"),
        penalties: Any = ("squares",),
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.Cs = Cs
        self.mus = mus
        self.inits = inits
        self.penalties = penalties
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the parameters, and learn with them from all samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; sparse input is converted to a dense array.
        y : array-like of shape (n_samples,)
            The class labels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors on the losses of the samples, and weights in the scores; None means 1.
        groups : array-like of shape (n_samples,) or None, default=None
            Group of each sample, for a `cv` that does not split groups.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ParameterError
            If a parameter, also of `estimator`, is out of range.
        DegenerateDataError
            If no fold can be used, fewer than two classes have samples with positive weight, or squared distances
            overflow.
        """
        owner = type(self).__name__
        Cs = check_grid("Cs", 4.0 ** np.arange(3) if self.Cs is None else self.Cs, owner)
        mus = np.sort(check_grid("mus", 4.0 ** np.arange(-4, 4) if self.mus is None else self.mus, owner, zero=True))
        samples = _Samples(*validate_samples(self, X, y, sample_weight), sample_weight is not None)
        selectors = self._selectors(samples.X.shape[1], owner)
        scorer = check_scoring(selectors[0], self.scoring)
        folds = list(check_cv(self.cv, samples.y, classifier=True).split(samples.X, samples.y, groups))
        candidates = [clone(selector).set_params(C=float(C)) for selector in selectors for C in Cs]
        tasks = [(candidate, scorer, samples, mus, *fold) for candidate in candidates for fold in folds]
        paths = run_parallel(_score_path, tasks, n_jobs=self.n_jobs, label="paths")
        choice = _choose(paths, (len(selectors), len(Cs), len(folds), len(mus)), owner)
        # Along the path up to the chosen mu, as in the folds.
        chosen = candidates[choice.selector * len(Cs) + choice.C]
        models = chosen._fit_path(X, y, mus[: choice.mu + 1], sample_weight)
        self._warn(owner, sum(path.n_stopped for path in paths), len(tasks) * len(mus), models)
        self._store(models[-1], Cs, mus, choice)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores of samples by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Positive for the second of two classes; of more classes, the largest score has the predicted one.
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels by the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(X)

    def mu_path(self, X: Any, y: Any, mus: Any, sample_weight: Any = None) -> RegularizationPath:
        """Learn for several values of `mu` with the other parameters as chosen.

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
            One fitted copy of the best estimator for each mu.

        See Also
        --------
        KernelFeatureSelector.mu_path : The same with given parameters.
        """
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.mu_path(X, y, mus, sample_weight)

    def _selectors(self, n_features: int, owner: str) -> list[KernelFeatureSelector]:
        """One selector for each start and penalty to try; all draw the same random numbers."""
        estimator = KernelFeatureSelector() if self.estimator is None else self.estimator
        check_parameters(estimator)
        for init in self.inits or [None]:
            check_start("inits", init, n_features, owner)
        if not self.penalties or not all(isinstance(one, str) and one in PENALTIES for one in self.penalties):
            words = ", ".join(repr(word) for word in PENALTIES)
            raise ParameterError(f"penalties of {owner} must be one or more of {words}; got {self.penalties!r}.")
        shared = {"random_state": resolved_seed(estimator.random_state)} if estimator.n_starts > 1 else {}
        penalties = ("squares",) if estimator.method == "gmkl" else self.penalties
        return [
            clone(estimator).set_params(init=init, penalty=penalty, **shared)
            for init, penalty in product(self.inits, penalties)
        ]

    def _warn(self, owner: str, n_stopped: int, n_searches: int, models: list[KernelFeatureSelector]) -> None:
        last, best = sum(not model.converged_ for model in models), models[-1]
        if n_stopped or last:
            what = f"{n_stopped} of {n_searches} searches in the folds and {last} on all samples stopped"
            warn_not_converged(owner, best.method, what)
        warn_if_degenerate(best, owner)

    def _store(self, best: KernelFeatureSelector, Cs: Array, mus: Array, choice: "_Choice") -> None:
        self.best_estimator_, self.classes_ = best, best.classes_
        self.C_, self.mu_, self.init_, self.penalty_ = best.C, best.mu, best.init, best.penalty
        self.Cs_, self.mus_, self.cv_scores_, self.cv_n_features_ = Cs, mus, choice.scores, choice.n_features

    def _cv_columns(self) -> dict[str, Any]:
        scores = self.cv_scores_.reshape(-1, self.cv_scores_.shape[-1])
        costs, penalties = np.meshgrid(self.Cs_, self.mus_, indexing="ij")
        return {"param_C": costs.ravel(), "param_mu": penalties.ravel(), **fold_scores(scores)}

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.get_support()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class _Samples:
    X: Array
    y: NDArray[Any]
    weights: Array
    weighted: bool
    """Whether the weights were given, so that they go into the scores."""


@dataclass(frozen=True)
class _PathScores:
    """Scores and numbers of features along one path; how many of its searches stopped early."""

    scores: list[float]
    n_features: list[int]
    n_stopped: int


@dataclass(frozen=True)
class _Choice:
    """Which selector, C and mu; scores and numbers of features of that selector."""

    selector: int
    C: int
    mu: int
    scores: NDArray[np.float64]
    n_features: NDArray[np.intp]


def _score_path(
    selector: KernelFeatureSelector,
    scorer: Callable[..., float],
    samples: _Samples,
    mus: Array,
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> _PathScores:
    """Learn along the path on the training samples of a fold, and score on the others."""
    X, y, weights = samples.X, samples.y, samples.weights
    if len(np.unique(y[train][weights[train] > 0.0])) < 2 or not weights[test].any():
        return _PathScores([np.nan] * len(mus), [0] * len(mus), 0)  # nothing to learn or to score
    models = selector._fit_path(X[train], y[train], mus, weights[train])
    extra = {"sample_weight": weights[test]} if samples.weighted else {}
    return _PathScores(
        [scorer(model, X[test], y[test], **extra) for model in models],
        [int(model.support_.sum()) for model in models],
        sum(not model.converged_ for model in models),
    )


def _choose(paths: list[_PathScores], shape: tuple[int, int, int, int], owner: str) -> _Choice:
    """The best combination; `shape` has the numbers of selectors, Cs, folds and mus, in the order of the paths."""
    scores = np.array([path.scores for path in paths], dtype=np.float64).reshape(shape).swapaxes(2, 3)
    counts = np.array([path.n_features for path in paths]).reshape(shape).swapaxes(2, 3)
    counted = np.isfinite(scores).all(axis=(0, 1, 2))
    if not counted.any():
        raise DegenerateDataError(
            f"{owner} needs a fold with two classes among its training samples and test samples of positive weight; cv "
            f"makes {shape[2]} folds and none of them has. Use another cv."
        )
    k, i, j = _best(scores[..., counted], counts[..., counted])
    return _Choice(k, i, j, scores[k], counts[k])


def _best(scores: NDArray[np.float64], counts: NDArray[np.intp]) -> tuple[int, int, int]:
    """Index of selector, C and mu: the highest score, then the fewest features, the largest mu, the smallest C.

    Both arrays have an axis for each of these and one for the folds.
    """
    mean, sizes = scores.mean(axis=3).round(12), counts.mean(axis=3)
    k, i, j = max(np.ndindex(*mean.shape), key=lambda at: (mean[at], -sizes[at], at[2], -at[1], -at[0]))
    return k, i, j
