"""The kernel classifier in a subspace, with parameters chosen on held-out samples."""

from dataclasses import dataclass
from itertools import product
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import ClassifierMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from rarefy._cv_table import CVTable
from rarefy._delegation import delegated
from rarefy._estimator import Estimator
from rarefy._fit import check_parameters, fit_method
from rarefy._parallel import run_parallel
from rarefy._parameters import check_grid, resolved_seed
from rarefy._search import best_of_equals, checked_folds, fold_means, listed, search_results
from rarefy._validation import check_weights
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._subspace_lp import SubspaceLPSVC

_ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_FACTORS = (0.25, 1.0, 4.0)
"""Of the width that the estimator has, in the default grid."""
_ROUGH = 1e-3
"""Accuracy in the folds: what is left of the objective changes next to no prediction."""


class SubspaceLPSVCCV(ClassifierMixin, CVTable, Estimator):
    """Choose the parameters of :class:`SubspaceLPSVC` by cross-validation, and predict probabilities.

    In every fold the coordinates for one width of the kernel are computed once and serve all weights of the norm. Of
    equally good candidates the one with the largest weight is taken. Probabilities come from the scores of the held-out
    samples: one temperature is fitted to them, so that the most probable class is the one that is predicted.

    Parameters
    ----------
    estimator : SubspaceLPSVC or None, default=None
        Has all parameters that are not in the grid; None means one with its defaults.
    alphas : array-like of shape (n_alphas,) or None, default=None
        Weights of the norm; None means 0.01, 0.03, 0.1, 0.3, 1 and 3.
    gammas : list or None, default=None
        Widths of the kernel, numbers or words as in the estimator; None means a quarter, one and four times the width
        of the estimator, which is computed from all samples, or its default if the kernel has none.
    dimensions : list of int or None, default=None
        Values of `n_components` to try; None means that of the estimator.
    scoring : str, callable or None, default=None
        What is largest for the best candidate, as in scikit-learn; None means the accuracy.
    cv : int, cross-validation generator, iterable or None, default=None
        Folds, as in scikit-learn; None means five random ones with equal shares of all classes, the same in every fit
        (fewer if a class has fewer samples): rows often come in an order, and folds of neighbours would ask for more
        than prediction of rows like these.
    n_jobs : int or None, default=None
        Folds that are worked on at a time.

    Attributes
    ----------
    best_estimator_ : SubspaceLPSVC
        The classifier with the best parameters, fitted to all samples.
    best_params_ : dict
        Its values of the grid.
    best_score_ : float
        Its mean score on held-out samples. As the best of many it is somewhat higher than on new ones.
    alpha_ : float
        Weight of the norm of the best estimator.
    cv_results_ : dict of ndarrays
        Scores of all candidates, as scikit-learn's searches have them; ready for a data frame.
    held_out_scores_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        Decision scores of samples by classifiers that were not fitted to them; NaN for samples in no test fold.
    temperature_ : float
        What scores are divided by before they become probabilities.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    coef_ : ndarray of shape (1, n_components) or (n_classes, n_components)
        Weights of the coordinates, of the best estimator.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts of the best estimator.
    subspace_ : KernelSubspace
        The fitted transformer that computes the coordinates.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    SubspaceLPSVC : The classifier for given parameters.
    sklearn.model_selection.GridSearchCV : For a search over other parameters.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from rarefy.kernel import SubspaceLPSVC, SubspaceLPSVCCV
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SubspaceLPSVCCV(SubspaceLPSVC(random_state=0), alphas=[0.1, 1.0]).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.95)
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    """

    _guide, _along = "kernel_lp", "alpha"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [SubspaceLPSVC, None],
        "alphas": ["array-like", None],
        "gammas": [list, tuple, np.ndarray, None],
        "dimensions": [list, tuple, np.ndarray, None],
        "scoring": [str, callable, None],
        "cv": ["cv_object"],
        "n_jobs": [Integral, None],
    }

    classes_ = delegated("classes_")
    coef_ = delegated("coef_")
    duality_gap_ = delegated("duality_gap_")
    feature_names_in_ = delegated("feature_names_in_")
    intercept_ = delegated("intercept_")
    n_features_in_ = delegated("n_features_in_")
    n_iter_ = delegated("n_iter_")
    objective_ = delegated("objective_")
    subspace_ = delegated("subspace_")

    def __init__(
        self,
        estimator: SubspaceLPSVC | None = None,
        *,
        alphas: Any = None,
        gammas: Any = None,
        dimensions: Any = None,
        scoring: Any = None,
        cv: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.alphas = alphas
        self.gammas = gammas
        self.dimensions = dimensions
        self.scoring = scoring
        self.cv = cv
        self.n_jobs = n_jobs

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose parameters on held-out samples and train a classifier with them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            The classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors on the losses of the samples, as in :meth:`SubspaceLPSVC.fit`; held-out samples of weight zero do
            not count.
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
            If there are fewer than two classes, or in every fold.
        """
        owner = type(self).__name__
        alphas = check_grid("alphas", _ALPHAS if self.alphas is None else self.alphas, owner, zero=True)
        given = clone(SubspaceLPSVC() if self.estimator is None else self.estimator)
        check_parameters(given)
        data, labels = given._validate_training(X, y)
        check_classification_targets(labels)
        weights = check_weights(sample_weight, data, type(self).__name__)
        candidates = self._candidates(given, data, weights)
        cv = _default_folds(labels) if self.cv is None else self.cv
        splits = check_cv(cv, labels, classifier=True).split(data, labels, groups)
        folds = checked_folds(splits, len(labels), type(self).__name__)
        task = _Task(data, labels, weights, alphas, self.scoring, given._is_precomputed)
        found = run_parallel(task, product(candidates, folds), n_jobs=self.n_jobs, label="folds")
        per_candidate = [found[i : i + len(folds)] for i in range(0, len(found), len(folds))]
        table = np.concatenate([np.array([fold.scores for fold in part]).T for part in per_candidate])
        means = fold_means(table)
        if np.isnan(means).all():
            raise DegenerateDataError(f"{owner} found no fold with two classes to learn from; use fewer folds.")
        best = best_of_equals(means, np.tile(alphas, len(candidates)))
        which, at = divmod(best, len(alphas))
        chosen = clone(candidates[which]).set_params(alpha=float(alphas[at]), tol=given.tol)
        chosen = chosen.fit(X, y, sample_weight)
        held_out = _assembled(folds, [fold.held_out[at] for fold in per_candidate[which]], len(labels))
        params = [self._params(one) | {"alpha": float(alpha)} for one, alpha in product(candidates, alphas)]
        self.best_estimator_, self.best_params_, self.best_score_ = chosen, params[best], float(means[best])
        self.alpha_, self.cv_results_, self.held_out_scores_ = (
            float(alphas[at]),
            search_results(params, table),
            held_out,
        )
        self.temperature_ = _temperature(held_out, np.searchsorted(chosen.classes_, labels), weights)
        return self

    def decision_function(self, X: Any) -> Array:
        """Compute scores: one column for each class, or a single score for two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The larger the score, the more likely the class; for two classes it is that of the second.
        """
        return self._best().decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return self._best().predict(X)

    def predict_proba(self, X: Any) -> Array:
        """Predict probabilities of the classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            They add up to one; the largest is that of the class that `predict` gives.
        """
        return np.asarray(softmax(_by_class(self.decision_function(X)) / self.temperature_, axis=1))

    def _cv_columns(self) -> dict[str, Any]:
        return {name: values for name, values in self.cv_results_.items() if name != "params"}

    def _best(self) -> SubspaceLPSVC:
        check_is_fitted(self, "best_estimator_")
        best: SubspaceLPSVC = self.best_estimator_
        return best

    def _candidates(self, given: SubspaceLPSVC, X: Any, weights: Array) -> list[SubspaceLPSVC]:
        """One for each width and dimension; all folds draw the same random numbers, and are solved roughly."""
        if not isinstance(given.landmarks, str):
            raise ParameterError(
                f"landmarks of the estimator of {type(self).__name__} must be a rule: row numbers would mean other "
                f"samples in every fold; got {given.landmarks!r}. Use SubspaceLPSVC for given rows."
            )
        seed, width = resolved_seed(given.random_state), given._bind_kernel(X, weights).parameters.get("gamma")
        gammas = self.gammas
        if gammas is None and width is not None:
            gammas = [factor * width for factor in _FACTORS]
        tol = given.tol if isinstance(given.tol, str) else max(given.tol, _ROUGH)
        candidates = []
        for gamma in listed("gammas", gammas, given.gamma, type(self).__name__):
            for S in listed("dimensions", self.dimensions, given.n_components, type(self).__name__):
                one = clone(given).set_params(gamma=gamma, n_components=S, random_state=seed, tol=tol)
                check_parameters(one)
                candidates.append(one)
        return candidates

    def _params(self, one: SubspaceLPSVC) -> dict[str, Any]:
        """What this candidate has of the grid, but for alpha."""
        names = ["gamma"] + (["n_components"] if self.dimensions is not None else [])
        return {name: getattr(one, name) for name in names}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = self.estimator if isinstance(self.estimator, SubspaceLPSVC) else SubspaceLPSVC()
        tags.input_tags = get_tags(known).input_tags
        return tags


def _default_folds(labels: NDArray[Any]) -> StratifiedKFold:
    fewest = int(np.unique(labels, return_counts=True)[1].min())
    return StratifiedKFold(min(5, max(2, fewest)), shuffle=True, random_state=0)


@dataclass(frozen=True)
class _Fold:
    """Along the path of alphas: scores, and decision scores of the held-out samples, one column for each class."""

    scores: list[float]
    held_out: Array


@dataclass(frozen=True)
class _Task:
    """What all folds share; called with a candidate and a fold."""

    X: Any
    y: NDArray[Any]
    weights: Array
    alphas: Array
    scoring: Any
    precomputed: bool

    def __call__(self, candidate: SubspaceLPSVC, fold: tuple[Index, Index]) -> _Fold:
        train, test = fold
        classes, known = np.unique(self.y), np.unique(self.y[train][self.weights[train] > 0.0])
        held_out = np.full((len(self.alphas), len(test), len(classes)), -np.inf)
        counted = self.weights[test] > 0.0
        if len(known) < 2 or not counted.any():
            return _Fold([np.nan] * len(self.alphas), held_out)
        learnt = self.X[train][:, train] if self.precomputed else self.X[train]
        new = self.X[test][:, train] if self.precomputed else self.X[test]
        candidate = clone(candidate)
        if candidate.n_components is not None:
            candidate.set_params(n_components=min(candidate.n_components, int(np.count_nonzero(self.weights[train]))))
        path = candidate.alpha_path(learnt, self.y[train], self.alphas, self.weights[train])
        present = np.searchsorted(classes, path.models[0].classes_)
        held_out[:, :, present] = [_by_class(scores) for scores in path.scores(new)]
        scorer = check_scoring(path.models[0], self.scoring)
        judged = [float(scorer(model, new[counted], self.y[test][counted])) for model in path.models]
        return _Fold(judged, held_out)


def _by_class(scores: Array) -> Array:
    """One column for each class; a single score is half the difference of two."""
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def _assembled(folds: list[tuple[Index, Index]], parts: list[Array], n: int) -> Array:
    """Held-out scores in the order of the samples; for two classes that of the second."""
    K = parts[0].shape[1]
    table = np.full((n, K), np.nan)
    for (_, test), part in zip(folds, parts, strict=True):
        table[test] = part
    return table[:, 1] if K == 2 else table


def _temperature(scores: Array, labels: Index, weights: Array) -> float:
    """Of the softmax of held-out scores, by the likelihood of their classes."""
    table = _by_class(scores)
    # A class that a fold has not seen has no score there.
    used = np.isfinite(table).all(axis=1) & (weights > 0.0)
    table, labels, weights = table[used], labels[used], weights[used]
    if not len(table):
        return 1.0

    def loss(log_temperature: float) -> float:
        chances = log_softmax(table / np.exp(log_temperature), axis=1)
        return -float(weights @ chances[np.arange(len(labels)), labels]) / float(weights.sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-6.0, 6.0), method="bounded").x))
