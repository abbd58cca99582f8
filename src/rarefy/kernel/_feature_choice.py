"""Which cell of a grid KernelFeatureSelectorCV takes, and the model that is learned with it from all samples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy._parallel import run_parallel
from rarefy.core.feature_weights.grid import Cell, lowest_cell, prune_cell
from rarefy.core.feature_weights.samples import Validation, judge_labels
from rarefy.core.feature_weights.selection import best_of_starts, start_weights
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._feature_grid import (
    Fold,
    Grid,
    Judge,
    Samples,
    Trial,
    rough_settings,
    score_grid,
    score_pruned,
    solved_cell,
)
from rarefy.kernel._feature_samples import check_start
from rarefy.kernel._feature_selector import KernelFeatureSelector

_FIRST = 2
"""Folds in which all values of C are tried."""
_ERRORS = 2.0
"""A combination that is worse by so many standard errors in these folds is not tried in the others."""
_PRUNED = 4
"""Cells that are pruned by all shares."""

At = tuple[int, int, int]
"""Number of the selector, of C and of mu."""


def check_shares(name: str, values: Any, owner: str) -> list[float]:
    """Check shares to prune: numbers from 0 on below 1, at least one."""
    try:
        shares = np.unique(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        shares = np.array([])
    if not len(shares) or not np.all((shares >= 0.0) & (shares < 1.0)):
        raise ParameterError(f"{name} of {owner} must be numbers >= 0 and < 1, at least one; got {values!r}.")
    return [float(share) for share in shares]


@dataclass(frozen=True)
class ScoreTable:
    """Scores and numbers of features with axes for selectors, Cs, mus and folds; nan and 0 where nothing was tried."""

    scores: Array
    counts: NDArray[np.intp]
    trials: dict[tuple[int, int, int, int], Trial]
    usable: list[int]
    """Folds that can be used."""

    def complete(self) -> list[At]:
        """Cells that were tried in all folds."""
        done = np.asarray(np.isfinite(self.scores[..., self.usable]).all(axis=3))
        return [at for at in np.ndindex(*done.shape) if done[at]]

    def stopped(self) -> tuple[int, int]:
        """Searches that stopped early, and all."""
        return sum(not trial.converged for trial in self.trials.values()), len(self.trials)

    def n_cells(self) -> int:
        """Cells that were tried in some fold."""
        return len({at[:3] for at in self.trials})


@dataclass(frozen=True)
class Choice:
    """The chosen cell and share, what it promises, and its models in the folds."""

    selector: int
    C: float
    mus: Array
    mu: float
    prune: float
    score: float
    trials: list[Trial]
    folds: list[Fold]

    def judged(self, samples: Samples) -> Validation:
        """The predictions on the held-out samples, of all folds together."""
        y = np.concatenate([samples.y[fold.test] for fold in self.folds])
        predicted = np.concatenate([trial.predicted for trial in self.trials])
        weights = np.concatenate([samples.weights[fold.test] for fold in self.folds])
        codes = np.unique(np.concatenate([y, predicted]), return_inverse=True)[1]
        counted = weights > 0.0
        return judge_labels(codes[: len(y)][counted], codes[len(y) :][counted], weights[counted])

    def accuracy_of(self, model: KernelFeatureSelector, samples: Samples) -> float:
        """The accuracy on held-out samples of classifiers with the weights of a model, trained in the folds."""
        right, total = 0.0, 0.0
        for fold in self.folds:
            judge = Judge(model, None, samples, fold)
            # In the units of the fold the weights of a group differ.
            problem = replace(judge.task.problem, groups=None)
            z = model.raw_feature_weights_ * judge.task.units.of_weights(problem.profile)
            cell = solved_cell(problem, self.mu, z)
            weight = float(samples.weights[fold.test].sum())
            right += weight * judge(self.mu, cell.described(rough_settings(model))).score
            total += weight
        return right / total


@dataclass(frozen=True)
class _Candidate:
    at: At
    prune: float
    score: float
    judged: float
    """The score with a part of those of the neighbours."""
    spread: float
    n_features: float
    trials: list[Trial]


class FoldSearch:
    """Tries a grid in all folds."""

    def __init__(
        self,
        selectors: list[KernelFeatureSelector],
        scorer: Callable[..., float] | None,
        samples: Samples,
        folds: list[Fold],
        grid: Grid,
        n_jobs: int | None,
    ) -> None:
        self.selectors, self.scorer, self.samples, self.folds = selectors, scorer, samples, folds
        self.grid, self.n_jobs = grid, n_jobs

    def scores(self, owner: str) -> ScoreTable:
        """Scores of all cells that are not hopeless."""
        usable = [f for f, fold in enumerate(self.folds) if fold.usable(self.samples)]
        if not usable:
            raise DegenerateDataError(
                f"{owner} needs a fold with two classes among its training samples and test samples of positive "
                f"weight; cv makes {len(self.folds)} folds and none of them has. Use another cv."
            )
        shape = (len(self.selectors), len(self.grid.Cs), len(self.grid.mus), len(self.folds))
        table = ScoreTable(np.full(shape, np.nan), np.zeros(shape, dtype=np.intp), {}, usable)
        every = np.ones(shape[:3], dtype=bool)
        # The standard error is known for the accuracy only.
        first = usable[:_FIRST] if self.scorer is None else usable
        self._try(table, every, first)
        if len(first) < len(usable):
            rows = sum(len(self.folds[f].test) for f in first)
            self._try(table, self._promising(table, first, rows), usable[len(first) :])
        return table

    def _try(self, table: ScoreTable, wanted: NDArray[np.bool_], folds: Sequence[int]) -> None:
        """Some of the cells in some of the folds."""
        tasks = [(int(k), f) for k in np.flatnonzero(wanted.any(axis=(1, 2))) for f in folds]
        found = run_parallel(
            score_grid,
            [(self._copy(k, 1.0), self.scorer, self.samples, self.folds[f], self.grid, wanted[k]) for k, f in tasks],
            n_jobs=self.n_jobs,
            label="folds",
        )
        for (k, f), cells in zip(tasks, found, strict=True):
            for (i, j), trial in cells.items():
                at = (k, i, j, f)
                table.trials[at], table.scores[at], table.counts[at] = trial, trial.score, trial.n_features

    @staticmethod
    def _promising(table: ScoreTable, first: Sequence[int], rows: int) -> NDArray[np.bool_]:
        """The cells that are not hopeless after the first folds, which have so many test samples."""
        mean = table.scores[..., first].mean(axis=3)
        best = float(mean.max())
        error = np.sqrt(max(best * (1.0 - best), 1.0 / rows) / rows)
        return np.asarray(mean >= best - _ERRORS * error)

    def choose(self, table: ScoreTable, shares: list[float], selection: str) -> Choice:
        """The best cell and share, or the one with the fewest features that is not much worse."""
        complete = table.complete()
        cells = [_summed(at, 0.0, [table.trials[(*at, f)] for f in table.usable]) for at in complete]
        if self.grid.relative:
            cells = with_neighbours(cells, np.argsort(np.argsort(self.grid.Cs, kind="stable")))
        cells.sort(key=self._order(cells), reverse=True)
        if selection == "one_se":
            within = [one for one in cells if one.judged >= cells[0].judged - cells[0].spread]
            cells = [cells[0], *sorted(within, key=lambda one: one.n_features)][: _PRUNED + 1]
        pruned = self._pruned(table, cells[:_PRUNED], shares)
        best = max(pruned, key=self._order(pruned))
        if selection == "one_se":
            near = [one for one in pruned if one.judged >= best.judged - best.spread]
            best = min(near, key=lambda one: (one.n_features, -one.judged, -one.at[2]))
        k, i, j = best.at
        whole = self._copy(k, float(self.grid.Cs[i]))
        mus = self.grid.part([i]).penalties(_task_of(whole.set_params(C=1.0), self.samples))[0]
        folds = [self.folds[f] for f in table.usable]
        return Choice(k, float(self.grid.Cs[i]), mus, float(mus[j]), best.prune, best.score, best.trials, folds)

    def _order(self, cells: list[_Candidate]) -> Callable[[_Candidate], tuple[Any, ...]]:
        """By merit; but with neighbours in the scores, those less than one held-out sample below the best are equal."""
        if not self.grid.relative or self.scorer is not None:
            return self._merit
        top, one_sample = max(one.judged for one in cells), 1.0 / sum(len(fold.test) for fold in self.folds)

        def order(one: _Candidate) -> tuple[Any, ...]:
            equal = one.judged > top - one_sample + 1e-12
            return (equal, -one.n_features if equal else 0.0, *self._merit(one))

        return order

    @staticmethod
    def _merit(one: _Candidate) -> tuple[float, ...]:
        """The highest score, then the fewest features, the smallest share, the largest mu, the smallest C."""
        k, i, j = one.at
        return (round(one.judged, 12), -one.n_features, -one.prune, j, -i, -k)

    def _pruned(self, table: ScoreTable, cells: list[_Candidate], shares: list[float]) -> list[_Candidate]:
        """The same cells with all shares; what is not pruned is known already."""
        positive = [share for share in shares if share > 0.0]
        pruned = list(cells) if 0.0 in shares else []
        for k in dict.fromkeys(one.at[0] for one in cells) if positive else ():
            own = [one for one in cells if one.at[0] == k]
            tasks = [
                (
                    self._copy(k, 1.0),
                    self.scorer,
                    self.samples,
                    self.folds[f],
                    [(float(self.grid.Cs[one.at[1]]), one.trials[place]) for one in own],
                    positive,
                )
                for place, f in enumerate(table.usable)
            ]
            found = run_parallel(score_pruned, tasks, n_jobs=self.n_jobs, label="pruned")
            pruned += [
                _summed(one.at, share, [fold[c][s] for fold in found], one.judged - one.score)
                for c, one in enumerate(own)
                for s, share in enumerate(positive)
            ]
        return pruned

    def _copy(self, k: int, C: float) -> KernelFeatureSelector:
        own = self.selectors[k]
        return type(own)(**own.get_params(deep=False)).set_params(C=C, mu="auto")


def _summed(at: At, prune: float, trials: list[Trial], shift: float = 0.0) -> _Candidate:
    scores = np.array([trial.score for trial in trials])
    spread = float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0
    size = float(np.mean([trial.n_features for trial in trials]))
    score = float(scores.mean())
    return _Candidate(at, prune, score, score + shift, spread, size, trials)


def with_neighbours(cells: list[_Candidate], place: NDArray[np.intp]) -> list[_Candidate]:
    """Each cell judged by its score, twice, and those of its neighbours in C and mu; `place` of each C in order.

    The best of many scores is too high by chance; a cell whose neighbours are good as well is good more often.
    """

    def spot(one: _Candidate) -> At:
        k, i, j = one.at
        return k, int(place[i]), j

    scores = {spot(one): one.score for one in cells}

    def judged(one: _Candidate) -> float:
        k, i, j = spot(one)
        beside = [scores[at] for at in ((k, i - 1, j), (k, i + 1, j), (k, i, j - 1), (k, i, j + 1)) if at in scores]
        return float(np.mean([one.score, one.score, *beside]))

    return [replace(one, judged=judged(one)) for one in cells]


def _task_of(selector: KernelFeatureSelector, samples: Samples) -> Any:
    return selector._task(samples.X, samples.y, samples.weights)


def final_model(selector: KernelFeatureSelector, choice: Choice, grid: Grid, samples: Samples) -> KernelFeatureSelector:
    """The chosen selector on all samples: along its path, and from the weights of the folds; the lowest objective."""
    parameters = selector.get_params(deep=False) | {"C": choice.C, "mu": choice.mu, "prune": choice.prune}
    model = type(selector)(**parameters)
    task = _task_of(model, samples)
    init = check_start("inits", model.init, samples.X.shape[1], "KernelFeatureSelectorCV", task.problem.groups)
    settings, starts = model._settings(), start_weights(task.problem, init)
    upto = choice.mus[choice.mus <= choice.mu]
    with task.problem.threads():
        *_, (_, problem, solution) = best_of_starts(task.problem, starts, upto, rough_settings(model))
        tried = [solution.z, *(trial.weights for trial in choice.trials)]
        own = lowest_cell(problem, tried, settings) or Cell(problem, solution)
        if choice.prune > 0.0:
            (own,) = prune_cell(own, [choice.prune], settings)
        model._store(task, choice.mu, own.described(settings), None)
    return model
