"""What ranking a class and ranking levels share."""

from copy import copy
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from rarefy._fit import check_parameters
from rarefy._input import lazily
from rarefy._parameters import check_grid, draw_seed
from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Array
from rarefy.core.ranking.rankers import Ranker
from rarefy.exceptions import ParameterError, RarefyWarning
from rarefy.kernel._base import KernelEstimator
from rarefy.kernel._landmarks import check_rule
from rarefy.kernel._path import RegularizationPath
from rarefy.ranking._emphasis import MEASURES, false_positive_profile
from rarefy.ranking._problem import Problem, TrainingData, build_problem, expand
from rarefy.ranking._settings import LOSSES, RANKER_CONSTRAINTS, Settings, resolve_alpha
from rarefy.ranking._solve import Ranking, solve, solve_path


class KernelRanker(KernelEstimator):
    """From parameters and data to a ranking; the subclass says what is ranked and where it is cut."""

    _guide = "rare_class"
    _works_on_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = RANKER_CONSTRAINTS

    alpha: Any
    basis: Any
    landmarks: Any
    loss: Any
    emphasis: Any
    penalty: Any
    solver: Any
    tol: Any
    max_iter: Any
    random_state: Any

    def alpha_path(self, X: Any, y: Any, alphas: Any, sample_weight: Any = None) -> RegularizationPath:
        """Learn for several weights of the penalty, from large to small, each starting from the solution before.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Their classes or levels, as in `fit`.
        alphas : array-like of shape (n_alphas,)
            Weights of the penalty, > 0, in any order.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; a pair counts with the product of its two. None means 1.

        Returns
        -------
        path : RegularizationPath
            One fitted copy of the ranker for each weight of the penalty. All share the basis. The scores of the path
            are larger for samples that rank higher, as those of `score_samples` or of `decision_function` with levels.
            The ranker itself is left as it was.

        Raises
        ------
        ParameterError
            If a parameter is out of range, or with ``solver="stochastic"``.
        DegenerateDataError
            If the samples with a positive weight are all of one class or level.
        """
        check_parameters(self)
        values = check_grid("alphas", alphas, type(self).__name__)
        trained = clone(self)
        data = trained._training_data(X, y, sample_weight)
        trained._warn_of_data(data)
        problem = self._problem(data, self._rng())
        rankers = solve_path(problem, values)
        self._warn_if_stopped(values, rankers)
        scores = problem.scores(np.stack([ranker.beta for ranker in rankers], axis=1))
        rankings = [
            Ranking(problem, float(alpha), ranker, score)
            for alpha, ranker, score in zip(values, rankers, scores.T, strict=True)
        ]
        models = tuple(copy(trained).set_params(alpha=one.alpha)._store(one, self._decide(one)) for one in rankings)
        return RegularizationPath("alpha", values, models, partial(_shared_scores, models))

    def _fit_with(self, X: Any, y: Any, sample_weight: Any, held_out: Array | None = None) -> Self:
        """Fit, and cut the ranking by held-out scores of the samples where there are some (others are NaN)."""
        data = self._training_data(X, y, sample_weight)
        self._warn_of_data(data)
        ranking = self._rank(data)
        scores = ranking.scores[data.weights > 0.0]
        if np.ptp(scores) <= 1e-12 * np.abs(scores).max():  # equal, but for rounding
            warn_user(
                f"{type(self).__name__} gives all samples the same score: the kernel does not separate them, or alpha "
                "is so large that nothing is left to rank with.",
                RarefyWarning,
            )
        return self._store(ranking, self._decide(ranking, held_out))

    def _for_scorers(self, data: TrainingData) -> Self:
        """A copy for part of the data that ranks the same way and predicts quickly."""
        return clone(self)

    def _rank(self, data: TrainingData) -> Ranking:
        """The ranking for the estimator's own weight of the penalty."""
        rng = self._rng()
        ranking = solve(self._problem(data, rng), resolve_alpha(self.alpha, data.weights), rng)
        ranker = ranking.ranker
        if not ranker.converged and self.solver != "stochastic":
            warn_user(
                f"{type(self).__name__} was stopped after {ranker.n_iter} iterations; {ranker.objective:.6g} may still "
                f"fall by about {ranker.decrement:.2g}. Raise max_iter or tol, or alpha.",
                ConvergenceWarning,
            )
        return ranking

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(draw_seed(self.random_state))

    def _problem(self, data: TrainingData, rng: np.random.Generator) -> Problem:
        """Basis, kernel values and loss for checked data."""
        return build_problem(data, self._settings(), self._bind_kernel(data.X, data.weights), rng)

    def _settings(self) -> Settings:
        """The parameters, after checks that concern more than one of them."""
        owner = type(self).__name__
        check_rule(self.landmarks, self.kernel, owner)
        if self.penalty == "l1" and self.solver == "stochastic":
            raise ParameterError(
                f"solver='stochastic' of {owner} is for penalty='l2'; use solver='trust-region' with penalty='l1'."
            )
        measure = next((name for name in MEASURES if name == self.emphasis), None)
        emphasis = {} if measure is not None else self.emphasis or {}
        if self.solver == "stochastic" and (measure is not None or "false_positive_weight" in emphasis):
            raise ParameterError(
                f"solver='stochastic' of {owner} sees a block at a time and takes an emphasis of 'push' and "
                f"'false_positive_range' only; got {self.emphasis!r}. Use solver='trust-region'."
            )
        return Settings(
            owner,
            self.alpha,
            self.basis,
            self.landmarks,
            LOSSES[self.loss] if isinstance(self.loss, str) else self.loss,
            float(emphasis.get("push", 1.0)),
            false_positive_profile(emphasis, owner),
            measure,
            self.penalty,
            self.solver,
            self.tol,
            self.max_iter,
        )

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        """Check what `fit` gets."""
        raise NotImplementedError

    def _warn_of_data(self, data: TrainingData) -> None:
        """Warn of data for which the parameters are a poor choice."""

    def _warn_if_stopped(self, alphas: Array, rankers: list[Ranker]) -> None:
        early = [alpha for alpha, ranker in zip(alphas, rankers, strict=True) if not ranker.converged]
        if early:
            warn_user(
                f"{type(self).__name__} did not reach the minimum for {len(early)} of {len(alphas)} alphas of the path "
                f"({', '.join(f'{alpha:.3g}' for alpha in early)}). Raise max_iter or tol, or the alphas.",
                ConvergenceWarning,
            )

    def _decide(self, ranking: Ranking, held_out: Array | None = None) -> Any:
        """Where the ranking is cut, by held-out scores if there are some."""
        raise NotImplementedError

    def _store(self, ranking: Ranking, decision: Any) -> Self:
        """Set the fitted attributes that all rankers have."""
        problem, ranker = ranking.problem, ranking.ranker
        self.kernel_ = problem.kernel
        self.gamma_ = problem.kernel.parameters.get("gamma")
        self.basis_, self.basis_points_ = problem.basis.indices, problem.basis.places
        self.dual_coef_ = ranker.beta[None]
        self.alpha_ = ranking.alpha
        self.objective_, self.n_iter_, self.storage_ = ranker.objective, ranker.n_iter, problem.storage
        return self

    def _scores(self, X: Any) -> Array:
        """Scores before any threshold, larger for what ranks higher."""
        check_is_fitted(self)
        lazy = lazily(self, X, self._scores_of_block, np.float64)
        if lazy is not None:
            return lazy
        return expand(self.kernel_, self._validate_new(X, self.kernel_.kernel), self.basis_points_, self.dual_coef_[0])

    def _scores_of_block(self, block: Any) -> Array:
        return expand(self.kernel_, block, self.basis_points_, self.dual_coef_[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _shared_scores(models: tuple[KernelRanker, ...], X: Any) -> Array:
    """Scores by rankers with the same basis, from one pass over kernel values."""
    first = models[0]
    X = first._validate_new(X, first.kernel_.kernel)
    return expand(first.kernel_, X, first.basis_points_, np.concatenate([model.dual_coef_ for model in models]).T).T
