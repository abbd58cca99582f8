"""Feature selection inside a kernel support vector machine, with its parameters chosen by cross-validation."""

from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from rarefy._cv_table import CVTable, fold_scores
from rarefy._delegation import delegated
from rarefy._estimator import ColumnSelector, Estimator
from rarefy._fit import check_parameters, fit_method
from rarefy._parameters import check_grid, resolved_seed
from rarefy._search import checked_folds
from rarefy._validation import validate_data
from rarefy.core.feature_weights.penalties import PENALTIES
from rarefy.exceptions import ParameterError
from rarefy.kernel._feature_choice import Choice, FoldSearch, ScoreTable, check_shares, final_model
from rarefy.kernel._feature_grid import Fold, Grid, Samples
from rarefy.kernel._feature_samples import (
    check_groups,
    check_pairs,
    check_start,
    to_dense,
    validate_samples,
    warn_if_chance,
    warn_if_degenerate,
    warn_if_worse,
    warn_not_converged,
)
from rarefy.kernel._feature_selector import KernelFeatureSelector
from rarefy.kernel._path import RegularizationPath

FACTORS = np.array([1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0])
"""Penalties to try, relative to the automatic one."""
_INSTEAD = (
    "Pass some of the samples, and give the C and the multiple of the automatic penalty that are chosen with them to "
    "KernelFeatureSelector, which has a landmark form."
)


class KernelFeatureSelectorCV(CVTable, ColumnSelector, ClassifierMixin, Estimator):
    """KernelFeatureSelector with C, mu and the share to prune chosen by cross-validation.

    In every fold all combinations of C and mu are learned, each from the solution of a neighbour. Combinations are left
    out of the third and later folds if their accuracy in the first two is lower than the best by more than two standard
    errors. With the automatic penalties a combination is judged by twice its score and those of its neighbours in C and
    mu, because the best of many scores is often a lucky one; then scores less than one held-out sample below the best
    count as equal. The best combinations are pruned by several shares, and the best of all is learned from all samples:
    along its path, and from the weights that the folds found; the lowest objective is kept. Of equal scores the one
    with the fewest features wins, on average over the folds; then the largest mu and the smallest C.

    Parameters
    ----------
    estimator : KernelFeatureSelector or None, default=None
        The selector with all parameters that are not chosen here: `method`, `kernel`, `groups`,
        `n_starts`, `tol`, `random_state`, ... Its `C`, `mu`, `init`, `penalty` and `prune` are replaced, and
        `validation_fraction` is not used. None means one with default parameters. In the folds `tol` is at least 0.01.
    Cs : array-like of shape (n_Cs,) or None, default=None
        Values of C to try, > 0; None means 1/16, 1/4, 1, 4 and 16.
    mus : array-like of shape (n_mus,) or None, default=None
        Values of mu to try, >= 0. Losses are summed over the samples, so larger data sets need larger values. None
        means 1/64, 1/16, 1/4, 1/2, 1 and 2 times the automatic penalty of :class:`KernelFeatureSelector`, in each fold
        for its own samples.
    inits : tuple or list, default=("auto",)
        Starts to try: "auto", "ones", "scaled", "interactions" or arrays of shape (n_features,), see `init` of
        :class:`KernelFeatureSelector`. With several of them the best score decides.
    penalties : tuple or list, default=("weights",)
        Penalties to try: "squares", "weights" or both. ``method="gmkl"`` always uses "squares".
    prunes : array-like of shape (n_prunes,), default=(0.0, 0.1, 0.2, 0.3)
        Shares of the largest weight below which weights are dropped, to try.
    selection : {"best", "one_se"}, default="best"
        Which combination to take: that with the best score, or that with the fewest features whose score is at most
        one standard error below it. The standard error is that of the mean over the folds.
    cv : int, splitter, iterable or None, default=None
        How to split; None means five stratified folds. Folds with training samples of one class are left out.
    scoring : str, callable or None, default=None
        Score on the held-out samples, as in scikit-learn, for example "balanced_accuracy" or "roc_auc" if one class is
        rare; None means accuracy. It uses the sample weights if there are any.
    n_jobs : int or None, default=None
        Number of folds computed in parallel, as in scikit-learn.

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
    prune_ : float
        The chosen share.
    held_out_score_ : float
        Mean score of the chosen combination on the held-out samples of the folds. It is the best of several, so it is
        somewhat too high.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C that were tried.
    mus_ : ndarray of shape (n_mus,)
        The values of mu that were tried, in ascending order; if they depend on C, those for the chosen one.
    cv_scores_ : ndarray of shape (n_Cs, n_mus, n_folds)
        Scores on the held-out samples with the chosen start and penalty, before pruning; nan for folds that cannot be
        used, and for combinations that were given up.
    cv_n_features_ : ndarray of shape (n_Cs, n_mus, n_folds)
        Number of features that were selected in the folds.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.
    feature_weights_ : ndarray of shape (n_features_in_,)
        The weights of the best estimator, of standardised features.
    raw_feature_weights_ : ndarray of shape (n_features_in_,)
        The weights of the features in their own units.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the features that it selects.
    groups_ : ndarray of shape (n_groups,)
        The labels of the groups of the best estimator.
    group_weights_ : ndarray of shape (n_groups,)
        The weight of each group.
    ranking_ : ndarray of shape (n_features_in_,)
        Rank of each feature by weight times standard deviation; 1 is the largest.
    curvature_ : float
        Smallest eigenvalue of the Hessian in the selected weights, negative at a saddle point: of the objective whose
        value is `objective_`, with the chosen C, mu and penalty, after minimisation over the classifier.
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
    >>> from rarefy.kernel import KernelFeatureSelectorCV
    >>> X = np.random.default_rng(0).standard_normal((150, 6))
    >>> y = X[:, 1] * X[:, 4] > 0
    >>> model = KernelFeatureSelectorCV(Cs=[1.0], cv=3).fit(X, y)
    >>> model.get_support(indices=True)
    array([1, 4])
    >>> bool(model.held_out_score_ > 0.8)
    True
    """

    _guide, _along = "kernel_features", "mu"
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "estimator": [KernelFeatureSelector, None],
        "Cs": ["array-like", None],
        "mus": ["array-like", None],
        "inits": [tuple, list],
        "penalties": [tuple, list],
        "prunes": ["array-like"],
        "selection": [StrOptions({"best", "one_se"})],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_jobs": [Integral, None],
    }

    feature_weights_ = delegated("feature_weights_")
    raw_feature_weights_ = delegated("raw_feature_weights_")
    support_ = delegated("support_")
    groups_ = delegated("groups_")
    group_weights_ = delegated("group_weights_")
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
        inits: Any = ("auto",),
        penalties: Any = ("weights",),
        prunes: Any = (0.0, 0.1, 0.2, 0.3),
        selection: str = "best",
        cv: Any = None,
        scoring: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.Cs = Cs
        self.mus = mus
        self.inits = inits
        self.penalties = penalties
        self.prunes = prunes
        self.selection = selection
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
        MemoryBudgetError
            If kernel values of all pairs of samples do not fit `memory_budget`.
        """
        owner = type(self).__name__
        grid = self._grid(owner)
        stored, y, weights = validate_samples(self, X, y, sample_weight)
        check_pairs(stored, y, owner, _INSTEAD)
        samples = Samples(to_dense(stored), y, weights, sample_weight is not None)
        selectors = self._selectors(samples.X.shape[1], owner)
        scorer = None if self.scoring in (None, "accuracy") else check_scoring(selectors[0], self.scoring)
        splits = check_cv(self.cv, samples.y, classifier=True).split(samples.X, samples.y, groups)
        folds = [Fold(*split) for split in checked_folds(splits, len(samples.y), owner)]
        shares = check_shares("prunes", self.prunes, owner)
        search = FoldSearch(selectors, scorer, samples, folds, grid, self.n_jobs)
        table = search.scores(owner)
        choice = search.choose(table, shares, self.selection)
        model = final_model(selectors[choice.selector], choice, grid, samples)
        validate_data(model, X, skip_check_array=True)  # stores number and names of the features
        self._warn(owner, table, choice, model, samples)
        self._store(model, grid, table, choice)
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

    def _grid(self, owner: str) -> Grid:
        Cs = check_grid("Cs", 4.0 ** np.arange(-2, 3) if self.Cs is None else self.Cs, owner)
        if self.mus is None:
            return Grid(Cs, FACTORS, relative=True)
        return Grid(Cs, np.sort(check_grid("mus", self.mus, owner, zero=True)), relative=False)

    def _selectors(self, n_features: int, owner: str) -> list[KernelFeatureSelector]:
        """One selector for each start and penalty to try; all draw the same random numbers."""
        estimator = KernelFeatureSelector() if self.estimator is None else self.estimator
        check_parameters(estimator)
        _, groups = check_groups(estimator.groups, n_features, owner)
        for init in self.inits or [None]:
            check_start("inits", init, n_features, owner, groups)
        if not self.penalties or not all(isinstance(one, str) and one in PENALTIES for one in self.penalties):
            words = ", ".join(repr(word) for word in PENALTIES)
            raise ParameterError(f"penalties of {owner} must be one or more of {words}; got {self.penalties!r}.")
        shared = {"random_state": resolved_seed(estimator.random_state)} if estimator.n_starts > 1 else {}
        penalties = ("squares",) if estimator.method == "gmkl" else self.penalties
        return [
            clone(estimator).set_params(init=init, penalty=penalty, **shared)
            for init, penalty in product(self.inits, penalties)
        ]

    def _warn(
        self, owner: str, table: ScoreTable, choice: Choice, model: KernelFeatureSelector, samples: Samples
    ) -> None:
        stopped, searches = table.stopped()
        if stopped or not model.converged_:
            what = (
                f"{stopped} of {searches} searches in the folds and {int(not model.converged_)} on all samples stopped"
            )
            warn_not_converged(owner, model.method, what)
        warn_if_degenerate(model, owner)
        if model.support_.any():
            checked = choice.judged(samples)
            warn_if_chance(owner, checked, tried=table.n_cells())
            warn_if_worse(owner, choice.accuracy_of(model, samples), checked)

    def _store(self, best: KernelFeatureSelector, grid: Grid, table: ScoreTable, choice: Choice) -> None:
        self.best_estimator_, self.classes_ = best, best.classes_
        self.C_, self.mu_, self.init_, self.penalty_ = best.C, best.mu, best.init, best.penalty
        self.prune_, self.held_out_score_ = best.prune, choice.score
        self.Cs_, self.mus_ = grid.Cs, choice.mus
        self.cv_scores_, self.cv_n_features_ = table.scores[choice.selector], table.counts[choice.selector]

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
