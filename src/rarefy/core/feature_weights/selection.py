"""From a problem to classifiers with feature weights: the starts, the searches and the frozen result."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rarefy.core.feature_weights.curvature import smallest_curvature
from rarefy.core.feature_weights.grouping import shared, spread, totals
from rarefy.core.feature_weights.problem import Problem, Solution
from rarefy.core.feature_weights.samples import class_numbers
from rarefy.core.feature_weights.search import Step, run_search
from rarefy.core.feature_weights.starts import (
    consensus_search,
    interaction_search,
    nearly_identity,
    pruned_search,
    scaled_start,
    screened_search,
)
from rarefy.core.linalg.rows import Array, Index

_STALE = 4.0
"""Weights that were found for a penalty smaller by more than this factor do not tell how good a start is."""


@dataclass(frozen=True)
class SearchSettings:
    """How to search; the fields are parameters of `run_search` and of the searches in `starts`."""

    method: str = "ao2"
    polish: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    step: Step = "krylov"
    n_starts: int = 1
    screening: int | None = None
    prune: float = 0.0
    """Share of the largest weight below which weights are dropped."""
    grown: int = 10
    """Rounds in which features are brought in after a start at an interaction."""
    behind: float = np.inf
    """On a path, starts whose objective is more than this factor above the best are not searched."""
    checked: bool = True
    """Whether to compute the curvature of solutions, and to see whether all samples are memorised."""
    seed: int = 0
    """Of the perturbed starts."""


@dataclass(frozen=True)
class Progress:
    """Where a search is."""

    mu: float
    search: int
    round: int
    objective: float
    n_features: int


Report = Callable[[Progress], None]


@dataclass(frozen=True)
class FeatureSelection:
    """Weights of all features, and the classifiers, which need only the features with a nonzero weight."""

    feature_weights: Array
    group_weights: Array
    """The weights that were learned; the same unless columns share them."""
    support: NDArray[np.bool_]
    ranking: Index
    curvature: float
    """The smallest eigenvalue of the Hessian of the problem's objective, see `smallest_curvature`; nan for GMKL, whose
    objective is another, and where it was not asked for."""
    objective: float
    """The problem's objective, whatever a method minimises in its rounds; for GMKL its own."""
    history: Array
    n_iter: int
    converged: bool
    dual_coef: Array
    intercept: Array
    support_vectors: Array
    memorized: bool
    """Whether all samples are classified correctly with a kernel matrix close to the identity; False if not checked."""


@dataclass(frozen=True)
class Starts:
    """Where searches start: weights of all features, and whether also at the best interaction of two or three."""

    weights: tuple[Array, ...]
    interactions: bool = False

    def lines(self) -> list["Line"]:
        """All starts, none of which has been followed yet."""
        return [Line(k) for k in range(len(self.weights))]


@dataclass(frozen=True)
class Line:
    """The number of a start, the last solution of the search from it that has features, and the problem it solves.

    `searched` is the penalty relative to the costs at which it was found.
    """

    start: int
    problem: Problem | None = None
    solution: Solution | None = None
    searched: float = 0.0

    def at(self, problem: Problem) -> "Line":
        """The same weights with the classifiers of another problem; its samples and features are the same."""
        if self.problem is None or self.solution is None:
            return self
        old, z = self.solution, self.solution.z
        if problem.classifiers.costs is self.problem.classifiers.costs:
            # Only the penalty is another, and the classifiers do not depend on it.
            change = problem.classifiers.penalty.derivatives(z)[0] - self.problem.classifiers.penalty.derivatives(z)[0]
            return replace(self, problem=problem, solution=replace(old, objective=old.objective + change))
        B, b, value = problem.solve_classifiers(z, (old.B, old.b))
        return replace(self, problem=problem, solution=replace(old, B=B, b=b, objective=value))

    def waits(self, limit: float) -> bool:
        """Whether its objective is above a limit, with weights that were found for about the same penalty."""
        if self.problem is None or self.solution is None:
            return False
        return self.solution.objective > limit and _relative(self.problem) <= _STALE * self.searched


def _relative(problem: Problem) -> float:
    return problem.classifiers.penalty.mu / float(problem.classifiers.costs.sum())


def start_weights(problem: Problem, init: str | Array) -> Starts:
    """The starts by their name, or given weights of the columns; features that are constant get zero.

    Under the polynomial kernel, constant features are not zero.

    "auto" means all three: "ones", "scaled" and "interactions".
    """
    ranges = totals(np.ptp(problem.X, axis=0), problem.groups)
    varying = ranges > 0.0 if problem.profile.exponential else np.ones(len(ranges), bool)
    if not isinstance(init, str):
        return Starts((np.where(varying, shared(init, problem.groups), 0.0),))
    ones, scaled = varying.astype(np.float64), np.where(varying, scaled_start(problem), 0.0)
    return {
        "ones": Starts((ones,)),
        "scaled": Starts((scaled,)),
        "interactions": Starts((scaled,), interactions=True),
        "auto": Starts((ones, scaled, scaled), interactions=True),
    }[init]


def selection_path(
    problem: Problem,
    starts: Starts,
    mus: Sequence[float] | Array,
    settings: SearchSettings,
    report: Report | None = None,
) -> list[FeatureSelection]:
    """Solve for several factors mu of the penalty, from the smallest to the largest.

    The smallest one is solved from every start, with screening, and from the first one also with perturbed starts; each
    of the others is a single search from the weights of the one before, or starts like the first while all weights are
    zero. At every mu the lowest objective of all starts is taken, and its small weights are pruned.

    Parameters
    ----------
    problem : Problem
        What to solve; its own mu is replaced.
    starts : Starts
        Where to start from.
    mus : sequence of float
        Factors of the penalty, in any order.
    settings : SearchSettings
        How to search.
    report : callable or None
        Called with a `Progress` in every round of every search.

    Returns
    -------
    found : list of FeatureSelection
        In the order of `mus`.
    """
    found: dict[int, FeatureSelection] = {}
    with problem.threads():
        for i, here, best in best_of_starts(problem, starts, mus, settings, report):
            if settings.prune > 0.0:
                best = pruned_search(here, best, Search(settings, report), settings.prune)
            found[i] = described(here, best, settings.method, settings.checked)
    return [found[i] for i in range(len(mus))]


def best_of_starts(
    problem: Problem,
    starts: Starts,
    mus: Sequence[float] | Array,
    settings: SearchSettings,
    report: Report | None = None,
    lines: list["Line"] | None = None,
) -> Iterator[tuple[int, Problem, Solution]]:
    """For every mu, from the smallest: its place, its problem and the best solution from all starts, not yet pruned.

    An empty solution is the best only if there is no other: its objective can be lower than that of a minimum whose
    features predict well. Two starts that lead to the same weights are followed as one. With a finite `behind`, a line
    whose last weights have an objective so much above the best is not searched until that changes, or these weights are
    for a penalty of less than a quarter; it is cheap to see, because with the same weights only the penalty is another.
    `lines` says where they are; it is changed as they go on.
    """
    lines = starts.lines() if lines is None else lines
    for i in np.argsort(mus, kind="stable"):
        here, search = problem.with_mu(float(mus[i])), Search(settings, report)
        reached: list[tuple[Line, Solution]] = []
        waiting: list[Line] = []
        for line in lines:
            lowest = min((one.objective for _, one in reached if one.z.any()), default=np.inf)
            if np.isfinite(settings.behind) and lowest < np.inf:
                line = line.at(here)
                if line.waits(settings.behind * lowest):
                    waiting.append(line)
                    continue
            solution = search.along(here, starts, line)
            if not any(_same(solution.z, other.z) for _, other in reached):
                found = Line(line.start, here, solution, _relative(here))
                reached.append((found if solution.z.any() else line, solution))
        reached.sort(key=lambda one: (not one[1].z.any(), one[1].objective))
        yield int(i), here, reached[0][1]
        lines[:] = [line for line, _ in reached] + waiting


def _same(z: Array, other: Array) -> bool:
    """Whether weights agree to a hundredth of the largest; all zero agree with nothing, they start again."""
    return bool(z.any()) and float(np.abs(z - other).max()) <= 1e-2 * float(z.max())


class Search:
    """The search with its settings; counts the searches for the report."""

    def __init__(self, settings: SearchSettings, report: Report | None) -> None:
        self._settings, self._report, self._count = settings, report, 0

    def __call__(self, problem: Problem, z: Array, start: tuple[Array, Array] | None = None) -> Solution:
        """One search from z; `start` are classifiers of a similar problem."""
        self._count += 1
        mu, count, report, own = problem.classifiers.penalty.mu, self._count, self._report, self._settings

        callback = None
        if report is not None:

            def callback(n: int, value: float, z: Array) -> None:
                report(Progress(mu, count, n + 1, value, int(np.count_nonzero(z))))

        return run_search(
            problem,
            z,
            own.method,
            polish=own.polish,
            tol=own.tol,
            max_iter=own.max_iter,
            step=own.step,
            start=start,
            callback=callback,
        )

    def along(self, problem: Problem, starts: Starts, line: Line) -> Solution:
        """From where a line is."""
        if line.solution is None:
            return self.from_start(problem, starts, line.start)
        return self(problem, line.solution.z, (line.solution.B, line.solution.b))

    def from_start(self, problem: Problem, starts: Starts, k: int) -> Solution:
        """From one of the starts; if there are more features than `screening`, with screening."""
        z, own = starts.weights[k], self._settings
        if starts.interactions and k == len(starts.weights) - 1:
            return interaction_search(problem, z, self, rounds=own.grown)
        rng = np.random.default_rng(own.seed)
        n_starts = own.n_starts if k == 0 else 1

        def with_starts(problem: Problem, z: Array) -> Solution:
            return consensus_search(problem, z, self, n_starts, rng)

        if own.screening is not None and own.screening < np.count_nonzero(z):
            return screened_search(problem, z, with_starts, own.screening)
        return with_starts(problem, z)


def described(problem: Problem, solution: Solution, method: str, checked: bool) -> FeatureSelection:
    """The result; GMKL has another objective than the problem, so the curvature there is undefined."""
    z, centres = solution.z, np.flatnonzero(np.any(solution.B != 0.0, axis=1))
    support = np.zeros(len(z), dtype=bool)
    support[problem.selected(z)] = True
    weights = spread(z, problem.groups)
    return FeatureSelection(
        feature_weights=weights,
        group_weights=z,
        support=spread(support, problem.groups),
        ranking=_ranks(spread(z * problem.scales, problem.groups)),
        curvature=np.nan if method == "gmkl" or not checked else smallest_curvature(problem, solution),
        objective=solution.objective,
        history=np.array(solution.history),
        n_iter=solution.n_iter,
        converged=solution.converged,
        dual_coef=solution.B[centres].T.copy(),
        intercept=solution.b.copy(),
        support_vectors=problem.X[np.ix_(centres, np.flatnonzero(weights > 0.0))],
        memorized=checked and _memorized(problem, solution),
    )


def _ranks(sizes: Array) -> Index:
    """1 for the largest; equal ones share the smallest of their ranks."""
    return np.sort(-sizes).searchsorted(-sizes) + 1


def _memorized(problem: Problem, solution: Solution) -> bool:
    nonzero = np.flatnonzero(solution.z > 0.0)
    part, z = problem.among(nonzero), solution.z[nonzero]
    labels = np.all(np.abs(problem.classifiers.Y) == 1.0)
    if not problem.profile.exponential or not labels or not len(nonzero):
        return False
    if not nearly_identity(part.X, spread(z, part.groups), problem.profile):
        return False
    centres = np.flatnonzero(np.any(solution.B != 0.0, axis=1))
    F = part.kernel(centres).matrix(z) @ solution.B[centres] + solution.b
    return bool(np.all(class_numbers(F) == class_numbers(problem.classifiers.Y)))
