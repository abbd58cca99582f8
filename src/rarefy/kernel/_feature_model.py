"""From the parameters of KernelFeatureSelector to searches, and from their results to fitted attributes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarefy._estimator import ColumnSelector
from rarefy._parameters import draw_seed
from rarefy._progress import progress_line
from rarefy._validation import validate_data
from rarefy.core.feature_weights.kernel import Profile
from rarefy.core.feature_weights.landmarks import LandmarkSettings, choose_landmarks, landmark_selection
from rarefy.core.feature_weights.penalties import PENALTIES
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.feature_weights.samples import (
    Units,
    Validation,
    decision_scores,
    hold_out,
    labelled_problem,
    sample_rows,
    standardized,
    validate_model,
)
from rarefy.core.feature_weights.selection import (
    FeatureSelection,
    Progress,
    SearchSettings,
    selection_path,
    start_weights,
)
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._feature_samples import check_groups, check_start, encode_classes, to_dense

LARGEST = 3000
"""Samples up to which all of them have a kernel function by default."""
LANDMARKS = 500
"""Kernel functions for more samples than that."""
SAMPLE = 1000
"""Samples from which weights are learned before the landmark form continues with all of them."""


@dataclass(frozen=True)
class Task:
    """The problem to solve, in units of its features; the classes, and the labels of the groups of features."""

    problem: Problem
    units: Units
    classes: NDArray[Any]
    group_labels: NDArray[Any]


_LARGEST_POWER = 100.0
"""Digits of the largest value of a polynomial kernel: it is squared."""


class FeatureWeightsModel(ColumnSelector):
    """What is done with parameters, samples and results; the estimator itself has the words."""

    def _task(self, X: Array, y: NDArray[Any], weights: Array) -> Task:
        """The problem to solve, without samples of weight zero."""
        counted = weights > 0.0
        classes, labels = encode_classes(y[counted], type(self).__name__)
        if self.kernel == "poly" and self.degree * np.log10(max(float(self.coef0), 1.0)) > _LARGEST_POWER:
            raise ParameterError(
                f"coef0={self.coef0:g} to the power of degree={self.degree:g} is too large to compute with; lower one "
                f"of these parameters of {type(self).__name__}."
            )
        group_labels, groups = check_groups(self.groups, X.shape[1], type(self).__name__)
        problem = labelled_problem(
            X[counted],
            labels,
            weights[counted],
            C=float(self.C),
            penalty=PENALTIES["squares" if self.method == "gmkl" else self.penalty](0.0),
            loss=SmoothedHinge(float(self.eps)),
            profile=Profile(self.kernel, int(self.degree), float(self.coef0)),
            groups=groups,
        )
        if self.standardize:
            problem, units = standardized(problem)
        else:
            units = Units(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        return Task(problem, units, classes, group_labels)

    def _learn(
        self, problem: Problem, mus: Sequence[float] | Array, *, validate: bool
    ) -> tuple[list[FeatureSelection], Validation | None]:
        """One result for each mu, and how a fit to some of the samples, with the first mu, predicts others."""
        m = self._n_landmarks(problem)
        if m is None:
            found = self._search(problem, mus)
            return found, self._validate(problem.with_mu(float(mus[0]))) if validate else None
        some, others = sample_rows(problem.with_mu(1.0), SAMPLE)
        ratio = some.classifiers.penalty.mu  # of the penalty for some samples to that for all
        rough = self._search(some, np.asarray(mus) * ratio)
        held = np.random.default_rng(0).permutation(others)[: 10 * SAMPLE]
        if not validate:
            checked = None
        elif len(held) < SAMPLE // 4:
            checked = self._validate(some.with_mu(float(mus[0]) * ratio))
        else:
            checked = validate_model(problem, held, scores_of(rough[0], problem.X[held], problem.profile))
        seed = draw_seed(self.random_state) if self.n_starts > 1 else 0
        landmarks = choose_landmarks(problem, m, seed)
        settings = LandmarkSettings(tol=float(self.tol), prune=float(self.prune))
        with problem.threads():
            found = [
                landmark_selection(problem.with_mu(float(mu)), one.group_weights, landmarks, settings)
                for mu, one in zip(mus, rough, strict=True)
            ]
        return found, checked

    def _n_landmarks(self, problem: Problem) -> int | None:
        """The number of landmarks; None for as many as there are samples."""
        n, possible = len(problem.X), self.kernel == "rbf" and self.method != "gmkl"
        if self.n_landmarks == "auto":
            return LANDMARKS if n > LARGEST and possible else None
        if self.n_landmarks is None or self.n_landmarks >= n:
            return None
        if not possible:
            raise ParameterError(
                f"n_landmarks of {type(self).__name__} must be None or 'auto' with kernel='laplacian' or 'poly', or "
                f"method='gmkl'; got {self.n_landmarks!r}."
            )
        return int(self.n_landmarks)

    def _search(self, problem: Problem, mus: Sequence[float] | Array) -> list[FeatureSelection]:
        """One result for each mu."""
        init = check_start("init", self.init, problem.X.shape[1], type(self).__name__, problem.groups)
        with progress_line() as show:
            report = None if show is None else partial(_show_progress, show)
            return selection_path(problem, start_weights(problem, init), mus, self._settings(), report)

    def _settings(self) -> SearchSettings:
        return SearchSettings(
            method=self.method,
            polish=self.polish,
            tol=float(self.tol),
            max_iter=self.max_iter,
            n_starts=int(self.n_starts),
            screening=self.screening,
            prune=float(self.prune),
            seed=draw_seed(self.random_state) if self.n_starts > 1 else 0,
        )

    def _validate(self, problem: Problem) -> Validation | None:
        """How a fit to some of the samples predicts the others; None if that is not wanted, or there are too few."""
        parts = None if self.validation_fraction is None else hold_out(problem, float(self.validation_fraction))
        if parts is None:
            return None
        rest, held = parts
        (found,) = self._search(rest, [rest.classifiers.penalty.mu])
        return validate_model(problem, held, scores_of(found, problem.X[held], problem.profile))

    def _store(self, task: Task, mu: float, found: FeatureSelection, checked: Validation | None) -> None:
        units, nonzero = task.units, np.flatnonzero(found.feature_weights > 0.0)
        self.classes_, self.mu_ = task.classes, mu
        self.feature_weights_, self.support_, self.ranking_ = found.feature_weights, found.support, found.ranking
        self.groups_, self.group_weights_ = task.group_labels, found.group_weights
        self.raw_feature_weights_ = found.feature_weights / units.of_weights(task.problem.profile)
        self.validation_score_ = np.nan if checked is None else checked.accuracy
        self.curvature_, self.objective_, self.history_ = found.curvature, found.objective, found.history
        self.n_iter_, self.converged_ = found.n_iter, found.converged
        self.dual_coef_, self.intercept_ = found.dual_coef, found.intercept
        self.support_vectors_ = units.undo(found.support_vectors, nonzero)
        self.mean_, self.scale_, self._profile = units.mean, units.scale, task.problem.profile
        self._memorized = found.memorized

    def _scores_of(self, X: Any) -> Array:
        """The scores of samples, a column for each classifier."""
        check_is_fitted(self, "feature_weights_")
        return self._scores_within(
            to_dense(validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32)))
        )

    def _scores_within(self, X: Array) -> Array:
        """The scores of validated samples."""
        units, nonzero = Units(self.mean_, self.scale_), np.flatnonzero(self.feature_weights_ > 0.0)
        with np.errstate(over="ignore", invalid="ignore"):
            scores = decision_scores(
                units.apply(X[:, nonzero], nonzero),
                self.feature_weights_[nonzero],
                units.apply(self.support_vectors_, nonzero),
                self.dual_coef_,
                self.intercept_,
                self._profile,
            )
        if not np.isfinite(scores).all():
            raise DegenerateDataError(
                f"{type(self).__name__} has no finite scores for samples as large as these: X goes up to "
                f"{np.abs(X).max():.3g}. Bring them nearer to the samples that it was fitted on."
            )
        return scores

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "feature_weights_")
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def scores_of(found: FeatureSelection, X: Array, profile: Profile) -> Array:
    """The scores of samples in the units of the problem."""
    z = found.feature_weights
    nonzero = np.flatnonzero(z > 0.0)
    return decision_scores(X[:, nonzero], z[nonzero], found.support_vectors, found.dual_coef, found.intercept, profile)


def _show_progress(show: Callable[[str], None], now: Progress) -> None:
    show(
        f"mu={now.mu:.3g}, search {now.search}: round {now.round}, objective {now.objective:.6g}, "
        f"{now.n_features} features"
    )
