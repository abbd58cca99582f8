"""From the parameters of KernelFeatureSelector to searches, and from their results to fitted attributes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarefy._estimator import ColumnSelector
from rarefy._input import validated
from rarefy._parameters import draw_seed
from rarefy._progress import progress_line
from rarefy.backends.samples import Samples
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.config import current_config
from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.kernel import Profile
from rarefy.core.feature_weights.landmarks import LandmarkSettings, choose_landmarks, landmark_selection
from rarefy.core.feature_weights.penalties import PENALTIES, Penalty
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.feature_weights.samples import (
    Units,
    Validation,
    automatic_mu,
    decision_scores,
    hold_out,
    labelled_problem,
    merged,
    one_against_rest,
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
from rarefy.core.feature_weights.whole import Whole, whole_problem
from rarefy.core.linalg.rows import Array, Index, as_rows
from rarefy.core.linalg.threads import one_thread
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._feature_samples import (
    check_groups,
    check_pairs,
    check_start,
    dense_copy,
    encode_classes,
    more_distinct,
    refuse_pairs,
    to_dense,
)

LARGEST = 1500
"""Samples up to which all of them have a kernel function by default: with more that takes several times as long."""
LANDMARKS = 500
"""Kernel functions for more samples than that."""
SAMPLE = 1000
"""Samples from which weights are learned before the landmark form continues with more of them."""
PART = 1 << 16
"""Samples from which features are chosen; with more, all of them are looked at in the chosen features only."""
_PART_SHARE = 0.25
"""Of the memory budget, what these samples may take."""


@dataclass(frozen=True)
class Task:
    """The problem to solve, in units of its features; the classes, and the labels of the groups of features."""

    problem: Problem
    units: Units
    classes: NDArray[Any]
    group_labels: NDArray[Any]
    whole: Whole | None = None
    """All samples, if the problem has only some of them."""

    @property
    def n_samples(self) -> int:
        """Samples with a positive weight; equal ones count once if all are in the problem."""
        return len(self.problem.X) if self.whole is None else self.whole.rows.shape[0]

    @property
    def automatic_mu(self) -> float:
        """The penalty for all samples."""
        return automatic_mu((self.problem if self.whole is None else self.whole).classifiers)


_LARGEST_POWER = 100.0
"""Digits of the largest value of a polynomial kernel: it is squared."""


class FeatureWeightsModel(ColumnSelector):
    """What is done with parameters, samples and results; the estimator itself has the words."""

    def _task_of(self, X: Any, y: NDArray[Any], weights: Array) -> Task:
        """The problem to solve for validated samples, in a form that fits into memory."""
        counted = weights > 0.0
        if not self._goes_in_parts(X, y, int(counted.sum())):
            return self._fitting(self._task(dense_copy(X, type(self).__name__), y, weights))
        classes, labels = encode_classes(y[counted], type(self).__name__)
        Y, costs = one_against_rest(labels, len(classes)), float(self.C) * weights[counted]
        return self._long_task(
            X, counted, Classifiers(Y, costs, self._penalty(), SmoothedHinge(float(self.eps))), classes
        )

    def _goes_in_parts(self, X: Any, y: NDArray[Any], n: int) -> bool:
        """Whether n samples are too many to look at all of them in all features; what fits in no form is refused."""
        m = self._n_landmarks(n)
        if m is None:
            check_pairs(X, y, type(self).__name__, self._instead_of_pairs)
            return False
        return self._is_long(X, n) and (isinstance(X, Samples) or more_distinct(X, y, max(m, LARGEST)))

    def _fitting(self, task: Task) -> Task:
        """A problem whose equal samples are merged, if kernel values of all pairs fit or are not needed."""
        if self._n_landmarks(task.n_samples) is None:
            refuse_pairs(task.n_samples, type(self).__name__, self._instead_of_pairs)
        return task

    _instead_of_pairs = "Set n_landmarks, say to 500 (with kernel='rbf'), or pass some of the samples."

    def _is_long(self, X: Any, n: int) -> bool:
        """Whether samples are more than can be looked at in all features at once."""
        too_large = 8.0 * n * X.shape[1] > _PART_SHARE * current_config().memory_budget
        return n > PART or (too_large and (isinstance(X, Samples) or n > 10 * SAMPLE))

    def _task(self, X: Array, y: NDArray[Any], weights: Array) -> Task:
        """The problem to solve, without samples of weight zero."""
        counted = weights > 0.0
        classes, labels = encode_classes(y[counted], type(self).__name__)
        group_labels, groups = check_groups(self.groups, X.shape[1], type(self).__name__)
        problem = labelled_problem(
            X[counted],
            labels,
            weights[counted],
            C=float(self.C),
            penalty=self._penalty(),
            loss=SmoothedHinge(float(self.eps)),
            profile=self._checked_profile(),
            groups=groups,
        )
        if self.standardize:
            problem, units = standardized(problem)
        else:
            units = Units(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        return Task(problem, units, classes, group_labels)

    def _long_task(self, X: Any, counted: NDArray[np.bool_], of: Classifiers, classes: NDArray[Any]) -> Task:
        """The same for so many samples that only a part of those that count is looked at in all features."""
        rows, d = X.rows() if isinstance(X, Samples) else as_rows(X), X.shape[1]
        group_labels, groups = check_groups(self.groups, d, type(self).__name__)
        at_most = int(_PART_SHARE * current_config().memory_budget / (8.0 * d))
        whole = whole_problem(
            rows if counted.all() else rows.subset(np.flatnonzero(counted)),
            of,
            self._checked_profile(),
            groups,
            standardize=bool(self.standardize),
            size=min(PART, at_most if isinstance(X, Samples) else max(at_most, 10 * SAMPLE)),
        )
        return Task(whole.part(), whole.units, classes, group_labels, whole)

    def _penalty(self) -> Penalty:
        return PENALTIES["squares" if self.method == "gmkl" else self.penalty](0.0)

    def _checked_profile(self) -> Profile:
        if self.kernel == "poly" and self.degree * np.log10(max(float(self.coef0), 1.0)) > _LARGEST_POWER:
            raise ParameterError(
                f"coef0={self.coef0:g} to the power of degree={self.degree:g} is too large to compute with; lower one "
                f"of these parameters of {type(self).__name__}."
            )
        return Profile(self.kernel, int(self.degree), float(self.coef0))

    def _learn(
        self, task: Task, mus: Sequence[float] | Array, *, validate: bool
    ) -> tuple[list[FeatureSelection], Validation | None]:
        """One result for each mu, and how a fit to some of the samples, with the first mu, predicts others."""
        problem, whole = task.problem, task.whole
        m = self._n_landmarks(task.n_samples)
        if m is None:
            found = self._search(problem, mus)
            return found, self._validate(problem.with_mu(float(mus[0]))) if validate else None
        own_mus = np.asarray(mus, dtype=np.float64) * (1.0 if whole is None else whole.ratio(problem))
        rough, checked = self._learn_from_some(problem, own_mus, validate=validate, sort=whole is not None)
        landmarks = choose_landmarks(problem, m, self._settings().seed)
        kept = current_config().memory_budget / 4.0
        settings = LandmarkSettings(tol=float(self.tol), prune=float(self.prune), kept=kept)
        with one_thread():  # blocks of kernel values stay in a cache, and products with them are too small for two
            found = [
                landmark_selection(problem.with_mu(float(mu)), one.group_weights, landmarks, settings)
                for mu, one in zip(own_mus, rough, strict=True)
            ]
            if whole is not None and not whole.all_taken:
                found = [whole.finish(one, float(mu), landmarks, settings) for mu, one in zip(mus, found, strict=True)]
        return found, checked

    def _learn_from_some(
        self, problem: Problem, mus: Array, *, validate: bool, sort: bool
    ) -> tuple[list[FeatureSelection], Validation | None]:
        """Weights that are learned from few of the samples, and how these classifiers predict others."""
        some, others = sample_rows(problem.with_mu(1.0), SAMPLE)
        ratio = some.classifiers.penalty.mu  # of the penalty for some samples to that for all
        some = merged(some) if sort else some
        found = self._search(some, mus * ratio)
        held = np.random.default_rng(0).permutation(others)[: 10 * SAMPLE]
        if not validate:
            return found, None
        if len(held) < SAMPLE // 4:
            return found, self._validate(some.with_mu(float(mus[0]) * ratio))
        return found, self._compare(problem, held, found[0])

    @staticmethod
    def _compare(problem: Problem, held: Index, found: FeatureSelection) -> Validation:
        """How classifiers do on samples that they have not seen."""
        return validate_model(problem, held, scores_of(found, problem.X[held], problem.profile))

    def _n_landmarks(self, n: int) -> int | None:
        """The number of landmarks for so many samples; None for as many as there are samples."""
        possible = self.kernel == "rbf" and getattr(self, "method", None) != "gmkl"
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
        return self._compare(problem, held, found)

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
        found = validated(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32))
        return found.each(self._scores_within) if isinstance(found, StreamedRows) else self._scores_within(found)

    def _scores_within(self, X: Any) -> Array:
        """The scores of validated samples."""
        units, nonzero = Units(self.mean_, self.scale_), np.flatnonzero(self.feature_weights_ > 0.0)
        X = np.ascontiguousarray(to_dense(X[:, nonzero]))
        with np.errstate(over="ignore", invalid="ignore"):
            scores = decision_scores(
                units.apply(X, nonzero),
                self.feature_weights_[nonzero],
                units.apply(self.support_vectors_, nonzero),
                self.dual_coef_,
                self.intercept_,
                self._profile,
            )
        if not np.isfinite(scores).all():
            raise DegenerateDataError(
                f"{type(self).__name__} has no finite scores for samples as large as these: X goes up to "
                f"{np.abs(X).max(initial=0.0):.3g}. Bring them nearer to the samples that it was fitted on."
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
