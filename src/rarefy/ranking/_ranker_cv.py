"""Choosing the parameters of a ranker on held-out samples: what classes and levels share."""

from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from rarefy._cv_table import CVTable
from rarefy._delegation import delegated
from rarefy._estimator import Estimator
from rarefy._fit import check_parameters, fit_method
from rarefy._parallel import run_parallel
from rarefy._parameters import check_grid, resolved_seed
from rarefy._search import best_of_equals, checked_folds, fold_means, listed, search_results
from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._path import RegularizationPath
from rarefy.ranking._base import KernelRanker
from rarefy.ranking._problem import TrainingData, expand
from rarefy.ranking._scoring import Measure
from rarefy.ranking._solve import solve_path


class RankerCV(CVTable, Estimator):
    """From a grid and folds to the best ranker; the subclass says which rankers and measures."""

    _guide, _along = "rare_class", "alpha"
    _works_on_blocks = True

    basis_ = delegated("basis_")
    basis_points_ = delegated("basis_points_")
    dual_coef_ = delegated("dual_coef_")
    feature_names_in_ = delegated("feature_names_in_")
    gamma_ = delegated("gamma_")
    kernel_ = delegated("kernel_")
    n_features_in_ = delegated("n_features_in_")
    n_iter_ = delegated("n_iter_")
    objective_ = delegated("objective_")
    storage_ = delegated("storage_")

    def _cv_columns(self) -> dict[str, Any]:
        return {name: values for name, values in self.cv_results_.items() if name != "params"}

    _ranker_class: ClassVar[type[KernelRanker]]
    estimator: Any
    alphas: Any
    gammas: Any
    bases: Any
    scoring: Any
    cv: Any
    n_jobs: Any

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose parameters on held-out samples and learn to rank with them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Their classes or levels, as in the ranker's `fit`.
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
            If the samples with a positive weight are all of one class or level, or no fold has samples of two to learn
            from and to check with.
        """
        alphas = check_grid("alphas", 2.0 ** np.arange(-20, 3, 2) if self.alphas is None else self.alphas, self._owner)
        rankers = self._rankers()
        data = clone(rankers[0])._training_data(X, y, sample_weight)
        splits = check_cv(self.cv, data.levels, classifier=True).split(data.X, data.levels, groups)
        folds = checked_folds(splits, len(data.levels), self._owner)
        judge = _Judge(self._measure(), self.scoring, sample_weight is not None)
        tasks = [(ranker, alphas, data, judge, *fold) for ranker in rankers for fold in folds]
        found: list[_Fold] = run_parallel(_score_fold, tasks, n_jobs=self.n_jobs, label="folds")
        per_ranker = [found[i : i + len(folds)] for i in range(0, len(found), len(folds))]
        table = np.concatenate([np.array([fold.scores for fold in part]).T for part in per_ranker])
        best = self._best(table, np.tile(alphas, len(rankers)), data)
        which, at = divmod(best, len(alphas))
        held_out = np.full(len(data.levels), np.nan)
        for (_, test), fold in zip(folds, per_ranker[which], strict=True):
            held_out[test] = fold.held_out[at]
        chosen = clone(rankers[which]).set_params(alpha=float(alphas[at]))
        chosen = chosen._fit_with(X, y, sample_weight, held_out)
        self._warn_if_stopped(sum(fold.n_stopped for fold in found), table.size)
        params = [self._params(ranker) | {"alpha": float(alpha)} for ranker, alpha in product(rankers, alphas)]
        self.best_estimator_, self.best_params_, self.best_score_ = chosen, params[best], fold_means(table)[best]
        self.alpha_, self.alphas_, self.cv_scores_ = float(alphas[at]), alphas, table
        self.cv_results_, self.held_out_scores_ = search_results(params, table), held_out
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute scores by the best estimator, larger for what ranks higher.

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
        """Predict labels by the best estimator.

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
            Their classes or levels.
        alphas : array-like of shape (n_alphas,)
            Weights of the penalty, > 0, in any order.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; a pair counts with the product of its two. None means 1.

        Returns
        -------
        path : RegularizationPath
            One fitted copy of the best estimator for each weight of the penalty.
        """
        return self._best_ranker().alpha_path(X, y, alphas, sample_weight)

    @property
    def _owner(self) -> str:
        return type(self).__name__

    def _best_ranker(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def _measure(self) -> Measure | None:
        """What held-out scores are judged by; None if a scorer judges rankers."""
        raise NotImplementedError

    def _params(self, ranker: KernelRanker) -> dict[str, Any]:
        """What this ranker has of the grid, but for alpha."""
        names = [name for name, grid in (("basis", self.bases), ("gamma", self.gammas)) if grid is not None]
        return {name: getattr(ranker, name) for name in names}

    def _rankers(self) -> list[KernelRanker]:
        """One ranker for each basis and width; all folds draw the same random numbers."""
        given = self._ranker_class() if self.estimator is None else self.estimator
        check_parameters(given)
        seed = resolved_seed(given.random_state)
        rankers = []
        for basis in listed("bases", self.bases, given.basis, self._owner):
            for gamma in listed("gammas", self.gammas, given.gamma, self._owner):
                ranker = clone(given).set_params(basis=basis, gamma=gamma, random_state=seed)
                check_parameters(ranker)
                self._check_ranker(ranker)
                rankers.append(ranker)
        return rankers

    def _check_ranker(self, ranker: KernelRanker) -> None:
        name = self._ranker_class.__name__
        if not isinstance(ranker.basis, (str, Integral)):
            raise ParameterError(
                f"basis of the estimator of {self._owner} must be 'auto', 'rare', 'all', 'random' or a number: row "
                f"numbers would mean other samples in every fold; got {ranker.basis!r}. Use {name} for given rows."
            )
        if ranker.solver != "trust-region":
            raise ParameterError(
                f"solver of the estimator of {self._owner} must be 'trust-region', which starts from the solution for "
                f"the alpha before; got {ranker.solver!r}. Use {name} with GridSearchCV for the other one."
            )

    def _best(self, table: Array, alphas: Array, data: TrainingData) -> int:
        """The candidate with the largest mean over the folds that can be used; of equal ones the strongest penalty."""
        means = fold_means(table)
        if np.isnan(means).all():
            raise DegenerateDataError(
                f"{self._owner} found no fold with samples of both classes to learn from and to check with; y has "
                f"{len(data.rare)} rare samples and cv makes {table.shape[1]} folds. Use fewer folds."
            )
        return best_of_equals(means, alphas)

    def _warn_if_stopped(self, n_stopped: int, n_all: int) -> None:
        if n_stopped:
            warn_user(
                f"{n_stopped} of {n_all} rankers in the folds of {self._owner} did not reach their minimum. Raise "
                "max_iter or tol of its estimator, or the alphas.",
                ConvergenceWarning,
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = self.estimator if isinstance(self.estimator, self._ranker_class) else self._ranker_class()
        tags.input_tags, tags.target_tags.required = get_tags(known).input_tags, True
        return tags


@dataclass(frozen=True)
class _Judge:
    """How held-out samples are scored: by a measure of scores, or by a scorer of rankers."""

    measure: Measure | None
    scoring: Any
    weighted: bool

    def __call__(self, path: RegularizationPath, X: Any, y: Any, weights: Array) -> list[float]:
        """Of every ranker of a path, by the scorer."""
        scorer = get_scorer(self.scoring) if isinstance(self.scoring, str) else self.scoring
        more = {"sample_weight": weights} if self.weighted else {}
        try:
            return [float(scorer(model, X, y, **more)) for model in path.models]
        except TypeError as error:
            if more and "argument 'sample_weight'" in str(error):
                raise ParameterError(
                    f"scoring={self.scoring!r} knows no sample_weight. Choose another scoring, or fit without weights."
                ) from error
            raise


@dataclass(frozen=True)
class _Fold:
    """Along a path of penalties: scores, held-out scores of the samples, and how many rankers were stopped early."""

    scores: list[float]
    held_out: Array
    n_stopped: int


def _score_fold(
    ranker: KernelRanker, alphas: Array, data: TrainingData, judge: _Judge, train: Index, test: Index
) -> _Fold:
    """Learn from some samples along the path, and score the others."""
    levels, weights, known = data.levels, data.weights, ranker._is_precomputed
    if not all(len(np.unique(levels[part][weights[part] > 0.0])) > 1 for part in (train, test)):
        nothing = np.full((len(alphas), len(test)), np.nan)  # nothing to learn, or nothing to check
        return _Fold([np.nan] * len(alphas), nothing, 0)
    learnt = data.part(train, known)
    new = data.X[test][:, train] if known else data.X[test]
    if judge.measure is None:
        path = ranker._for_scorers(data).alpha_path(learnt.X, data.y[train], alphas, weights[train])
        return _Fold(judge(path, new, data.y[test], weights[test]), path.scores(new), 0)
    problem = ranker._problem(learnt, ranker._rng())
    rankers = solve_path(problem, alphas)
    scores = expand(problem.kernel, new, problem.basis.places, np.stack([one.beta for one in rankers]).T).T
    judged = [judge.measure(levels[test], each, weights[test]) for each in scores]
    return _Fold(judged, scores, sum(not one.converged for one in rankers))
