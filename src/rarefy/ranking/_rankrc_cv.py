"""Ranking a rare class, the weight of the penalty chosen on held-out samples."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from rarefy._delegation import delegated
from rarefy._fit import check_parameters, fit_method
from rarefy._parallel import run_parallel
from rarefy._parameters import check_grid, resolved_seed
from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._path import RegularizationPath
from rarefy.ranking._problem import TrainingData, expand
from rarefy.ranking._rankrc import RankRC
from rarefy.ranking._solve import solve_path


class RankRCCV(ClassifierMixin, BaseEstimator):
    """RankRC with the weight of the penalty chosen by cross-validated area under the ROC curve.

    Parameters
    ----------
    estimator : RankRC or None, default=None
        The ranker; its `alpha` is not used. None means ``RankRC()``. Its `basis` must not be row numbers, which would
        mean other samples in every fold, and its `solver` must be "trust-region".
    alphas : array-like of shape (n_alphas,) or None, default=None
        Weights of the penalty to try, > 0; None means 2^-20, 2^-18, ..., 2^2.
    cv : int, splitter, iterable or None, default=None
        How to split; None means five stratified folds.
    n_jobs : int or None, default=None
        Folds at a time; None means one, -1 as many as there are processors.

    Attributes
    ----------
    best_estimator_ : RankRC
        The ranker with the chosen weight, fitted on all samples. Its other attributes can be read here as well.
    alpha_ : float
        The chosen weight.
    alphas_ : ndarray of shape (n_alphas,)
        The weights that were tried.
    cv_scores_ : ndarray of shape (n_alphas, n_folds)
        Area under the ROC curve of every weight on every held-out fold; NaN for folds in which there was one class
        only, which do not count.
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
    threshold_ : float
        Score above which a sample is called rare.
    bound_ : float or None
        Bound on the difference to the scores of the ranker with all kernel functions; None where there is none.
    kernel_ : object
        The kernel with the parameters that were used.
    gamma_ : float or None
        Width of the kernel; None if it has none.
    objective_ : float
        Value reached.
    n_iter_ : int
        Iterations.
    storage_ : str
        Where the kernel values were kept.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    RankRC : The ranker.

    References
    ----------
    [TayalColemanLi2015] Tayal, Coleman and Li, RankRC: Large-scale nonlinear rare class ranking, IEEE Transactions on
    Knowledge and Data Engineering 27, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import RankRC, RankRCCV
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [30, 270])
    >>> X = rng.standard_normal((300, 3)) + y[:, None]
    >>> model = RankRCCV(RankRC(threshold="f1"), alphas=[1e-6, 1e-2], cv=3).fit(X, y)
    >>> model.alpha_
    0.01
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [RankRC, None],
        "alphas": ["array-like", None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    basis_ = delegated("basis_")
    basis_points_ = delegated("basis_points_")
    bound_ = delegated("bound_")
    classes_ = delegated("classes_")
    dual_coef_ = delegated("dual_coef_")
    feature_names_in_ = delegated("feature_names_in_")
    gamma_ = delegated("gamma_")
    kernel_ = delegated("kernel_")
    n_features_in_ = delegated("n_features_in_")
    n_iter_ = delegated("n_iter_")
    objective_ = delegated("objective_")
    rare_class_ = delegated("rare_class_")
    storage_ = delegated("storage_")
    threshold_ = delegated("threshold_")

    def __init__(
        self, estimator: RankRC | None = None, *, alphas: Any = None, cv: Any = None, n_jobs: int | None = None
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.cv = cv
        self.n_jobs = n_jobs

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose the weight of the penalty and learn to rank with it.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples, in the loss and in the scores; None means 1.
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
            If the samples with a positive weight are all of one class, or no fold has samples of both classes to
            learn from and to check with.
        """
        alphas = check_grid("alphas", 2.0 ** np.arange(-20, 3, 2) if self.alphas is None else self.alphas, self._owner)
        ranker = self._ranker()
        data = clone(ranker)._training_data(X, y, sample_weight)
        folds = list(check_cv(self.cv, data.levels, classifier=True).split(data.X, data.levels, groups))
        found = run_parallel(
            _score_fold, [(ranker, alphas, data, *fold) for fold in folds], n_jobs=self.n_jobs, label="folds"
        )
        table = np.array([fold.scores for fold in found]).T
        alpha = float(alphas[self._best(table, data)])
        best = clone(ranker).set_params(alpha=alpha).fit(X, y, sample_weight)
        self._warn_if_stopped(sum(fold.n_stopped for fold in found), table.size)
        self.best_estimator_, self.alpha_, self.alphas_, self.cv_scores_ = best, alpha, alphas, table
        return self

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
        return self._best_ranker().score_samples(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute the score of the second class of `classes_`, shifted so that `predict` cuts at zero.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores.
        """
        return self._best_ranker().decision_function(X)

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
        return self._best_ranker().predict(X)

    def alpha_path(self, X: Any, y: Any, alphas: Any, sample_weight: Any = None) -> RegularizationPath:
        """Learn for several weights of the penalty, with the other parameters of the best estimator.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        alphas : array-like of shape (n_alphas,)
            Weights of the penalty, > 0, in any order.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; a pair counts with the product of its two. None means 1.

        Returns
        -------
        path : RegularizationPath
            One fitted copy of the best estimator for each weight of the penalty.

        See Also
        --------
        RankRC.alpha_path : The same before any cross-validation.
        """
        return self._best_ranker().alpha_path(X, y, alphas, sample_weight)

    @property
    def _owner(self) -> str:
        return type(self).__name__

    def _best_ranker(self) -> RankRC:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _ranker(self) -> RankRC:
        """The ranker for all folds, which draw the same random numbers."""
        given = RankRC() if self.estimator is None else self.estimator
        check_parameters(given)
        if not isinstance(given.basis, (str, Integral)):
            raise ParameterError(
                f"basis of the estimator of {self._owner} must be 'rare', 'all', 'random' or a number: row numbers "
                f"would mean other samples in every fold; got {given.basis!r}. Use RankRC for given rows."
            )
        if given.solver != "trust-region":
            raise ParameterError(
                f"solver of the estimator of {self._owner} must be 'trust-region', which starts from the solution for "
                f"the alpha before; got {given.solver!r}. Use RankRC with GridSearchCV for the other one."
            )
        return clone(given).set_params(random_state=resolved_seed(given.random_state))

    def _best(self, table: Array, data: TrainingData) -> int:
        """The weight with the largest mean over the folds that can be used."""
        usable = np.isfinite(table).all(axis=0)
        if not usable.any():
            raise DegenerateDataError(
                f"{self._owner} found no fold with samples of both classes to learn from and to check with; y has "
                f"{len(data.rare)} rare samples and cv makes {table.shape[1]} folds. Use fewer folds."
            )
        return int(np.argmax(table[:, usable].mean(axis=1)))

    def _warn_if_stopped(self, n_stopped: int, n_all: int) -> None:
        if n_stopped:
            warn_user(
                f"{n_stopped} of {n_all} rankers in the folds of {self._owner} did not reach their minimum. Raise "
                "max_iter or tol of its estimator, or the alphas.",
                ConvergenceWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator if isinstance(self.estimator, RankRC) else RankRC()).input_tags
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(frozen=True)
class _Fold:
    """Areas under the curve along a path; how many of its rankers were stopped early."""

    scores: list[float]
    n_stopped: int


def _score_fold(ranker: RankRC, alphas: Array, data: TrainingData, train: Index, test: Index) -> _Fold:
    """Learn from some samples along the path, and score the others."""
    X, levels, weights = data.X, data.levels, data.weights
    if not all(len(np.unique(levels[part][weights[part] > 0.0])) == 2 for part in (train, test)):
        return _Fold([np.nan] * len(alphas), 0)  # nothing to learn, or nothing to check
    known = ranker._is_precomputed
    rare = np.flatnonzero((levels[train] == 1) & (weights[train] > 0.0))
    learnt = X[train][:, train] if known else X[train]
    problem = ranker._problem(TrainingData(learnt, levels[train], weights[train], rare, np.arange(2)), ranker._rng())
    rankers = solve_path(problem, alphas)
    coefficients = np.stack([one.beta for one in rankers]).T
    scores = expand(problem.kernel, X[test][:, train] if known else X[test], problem.basis.places, coefficients).T
    areas = [float(roc_auc_score(levels[test], each, sample_weight=weights[test])) for each in scores]
    return _Fold(areas, sum(not one.converged for one in rankers))
