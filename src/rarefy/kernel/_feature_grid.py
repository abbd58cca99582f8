"""What KernelFeatureSelectorCV does in its folds: scores of all cells of a grid, and of pruned ones."""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.core.feature_weights.grid import Cell, prune_cell, selection_grid, warm_settings
from rarefy.core.feature_weights.problem import Problem, Solution
from rarefy.core.feature_weights.samples import automatic_mu
from rarefy.core.feature_weights.selection import FeatureSelection, SearchSettings, start_weights
from rarefy.core.linalg.rows import Array
from rarefy.kernel._feature_model import Task
from rarefy.kernel._feature_samples import check_start
from rarefy.kernel._feature_selector import KernelFeatureSelector

ROUGH = 1e-2
"""Tolerance of searches in the folds: enough to compare scores."""
BEHIND = 1.05
"""Starts whose objective is higher than the best by more than this factor wait until it is not."""


@dataclass(frozen=True)
class Samples:
    """Validated samples."""

    X: Array
    y: NDArray[Any]
    weights: Array
    weighted: bool
    """Whether the weights were given, so that they go into the scores."""


@dataclass(frozen=True)
class Grid:
    """Values of C, and penalties: numbers, or factors on the automatic penalty of the samples at hand."""

    Cs: Array
    mus: Array
    relative: bool

    def penalties(self, task: Task) -> Array:
        """A row of penalties for each C."""
        if not self.relative:
            return np.tile(self.mus, (len(self.Cs), 1))
        return np.array([self.mus * automatic_mu(task.problem.with_cost(float(C)).classifiers) for C in self.Cs])

    def part(self, rows: Sequence[int]) -> "Grid":
        """Some of the Cs."""
        return replace(self, Cs=self.Cs[list(rows)])


@dataclass(frozen=True)
class Trial:
    """One model in one fold."""

    score: float
    n_features: int
    predicted: NDArray[Any]
    weights: Array
    mu: float
    converged: bool


@dataclass(frozen=True)
class Fold:
    """Training and test samples."""

    train: NDArray[np.intp]
    test: NDArray[np.intp]

    def usable(self, samples: Samples) -> bool:
        """Whether there is something to learn and something to score."""
        learnt = samples.weights[self.train] > 0.0
        return len(np.unique(samples.y[self.train][learnt])) >= 2 and bool(samples.weights[self.test].any())


class Judge:
    """Turns results in a fold into scores: by a scorer, or None for the accuracy."""

    def __init__(
        self, selector: KernelFeatureSelector, scorer: Callable[..., float] | None, samples: Samples, fold: Fold
    ) -> None:
        at = fold.train
        self.task = selector._task(samples.X[at], samples.y[at], samples.weights[at])
        self._template = copy.copy(selector)
        self._template.n_features_in_ = samples.X.shape[1]
        self._scorer = scorer
        self._X, self._y = samples.X[fold.test], samples.y[fold.test]
        self._weights = samples.weights[fold.test]
        self._extra = {"sample_weight": samples.weights[fold.test]} if samples.weighted else {}

    def __call__(self, mu: float, found: FeatureSelection) -> Trial:
        """The score of one result."""
        model = copy.copy(self._template)
        model._store(self.task, mu, found, None)
        predicted = model._labels(model._of_classes(model._scores_within(self._X)))
        if self._scorer is None:
            score = float(np.average(predicted == self._y, weights=self._weights))
        else:
            score = float(self._scorer(model, self._X, self._y, **self._extra))
        return Trial(
            score,
            int(found.support.sum()),
            predicted,
            found.group_weights,
            mu,
            found.converged,
        )


def rough_settings(selector: KernelFeatureSelector) -> SearchSettings:
    """How to search in the folds: without the curvature, and to the accuracy that the comparison needs."""
    own = warm_settings(selector._settings())
    behind = np.inf if own.method == "gmkl" else BEHIND  # the objective of GMKL is not that of its classifiers
    return replace(own, tol=max(own.tol, ROUGH), checked=False, prune=0.0, grown=1, behind=behind)


def score_grid(
    selector: KernelFeatureSelector,
    scorer: Callable[..., float] | None,
    samples: Samples,
    fold: Fold,
    grid: Grid,
    wanted: NDArray[np.bool_],
) -> dict[tuple[int, int], Trial]:
    """Learn the wanted cells on the training samples of a fold, and score them on the others."""
    judge = Judge(selector.set_params(C=1.0), scorer, samples, fold)
    penalties = grid.penalties(judge.task)
    groups = judge.task.problem.groups
    init = check_start("inits", selector.init, samples.X.shape[1], "KernelFeatureSelectorCV", groups)
    settings = rough_settings(selector)
    starts = start_weights(judge.task.problem, init)
    cells = selection_grid(judge.task.problem, starts, grid.Cs, penalties, settings, wanted)
    return {at: judge(float(penalties[at]), cells[at].described(settings)) for at in cells if wanted[at]}


def score_pruned(
    selector: KernelFeatureSelector,
    scorer: Callable[..., float] | None,
    samples: Samples,
    fold: Fold,
    trials: Sequence[tuple[float, Trial]],
    shares: Sequence[float],
) -> list[list[Trial]]:
    """Prune models of a fold by several shares; each comes with its C."""
    judge = Judge(selector.set_params(C=1.0), scorer, samples, fold)
    settings, scales = rough_settings(selector), judge.task.problem.scales
    found: list[list[Trial]] = []
    for C, trial in trials:
        size = trial.weights * scales
        if not np.any((size > 0.0) & (size < max(shares) * size.max())):
            found.append([trial] * len(shares))
            continue
        found.append([])
        cell = solved_cell(judge.task.problem.with_cost(C), trial.mu, trial.weights)
        judged: dict[bytes, Trial] = {}
        for pruned in prune_cell(cell, shares, settings):
            key = pruned.solution.z.tobytes()
            judged[key] = judged.get(key) or judge(trial.mu, pruned.described(settings))
            found[-1].append(judged[key])
    return found


def solved_cell(problem: Problem, mu: float, weights: Array) -> Cell:
    """The classifiers for given weights."""
    problem = problem.with_mu(mu)
    B, b, value = problem.solve_classifiers(weights)
    return Cell(problem, Solution(weights, B, b, value, (value,), 0, True))
