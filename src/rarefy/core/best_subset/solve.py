"""Choose r groups of columns, and bound what any choice could reach."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rarefy.core.best_subset.branching import LEAF, branch
from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.relaxation import Relaxed, project, relaxed
from rarefy.core.best_subset.search import Choice, choice, highest, searched
from rarefy.core.best_subset.tall import is_tall, relaxed_tall
from rarefy.core.linalg.rows import Array, Index

_LOOK = 10
"""Steps of the relaxation between two looks at the sets that it suggests."""

_SMALL = 1e6
"""Sets are looked for from several sides up to so many samples times models times groups."""
_ROUNDED = 5e-3
"""The hinge is searched with a corner as round as this, and what is found is evaluated with the hinge itself."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class BestSubset:
    """The best set met, and the dual variables that bound all sets."""

    chosen: Choice
    tree: Index
    """Splits and leaves of the proof in preorder, see `branching`; one leaf if nothing was split."""
    duals: Array
    """(L, n, m) dual variables of the leaves."""
    bound: float
    """No choice of as many groups has a lower objective, up to rounding."""
    relaxed: Relaxed
    n_nodes: int = 0
    interrupted: bool = False

    @property
    def share(self) -> float:
        """How close the set is to the best possible one at least, up to rounding."""
        return self.bound / self.chosen.value if self.chosen.value > 0.0 else 1.0


class _Sets:
    """The best set so far."""

    def __init__(
        self, problem: SubsetProblem, r: int, gap_tol: float, progress: Progress | None, max_iter: int
    ) -> None:
        self._problem, self._r, self._gap_tol = problem, r, gap_tol
        self._progress, self._max_iter = progress, max_iter
        self._looks = 0
        self.best: Choice | None = None

    def consider(self, scores: Array) -> None:
        """Try the groups with the highest scores."""
        groups = highest(scores, self._r)
        if self.best is None or not np.array_equal(np.sort(groups), self.best.groups):
            tried = choice(self._problem, groups, None if self.best is None else self.best.trained)
            if self.best is None or tried.value < self.best.value:
                self.best = tried

    def watch(self, s: Array, pulls: Array, bound: float) -> bool:
        """Whether the gap is closed."""
        self._looks += 1
        if self._progress is not None:
            self._progress(self._looks, self._max_iter)
        if self._looks % _LOOK == 1:
            self.consider(s)
        return self.best is not None and bound >= (1.0 - self._gap_tol) * self.best.value


def best_subset(
    problem: SubsetProblem,
    r: int,
    *,
    gap_tol: float = 1e-4,
    max_iter: int = 100,
    max_nodes: int = 0,
    start: Relaxed | None = None,
    thorough: bool = True,
    progress: Progress | None = None,
) -> BestSubset:
    """Choose r of the groups.

    Parameters
    ----------
    problem : SubsetProblem
        The problem.
    r : int
        How many groups.
    gap_tol : float
        Stop when the share is 1 minus this.
    max_iter : int
        Steps of the relaxation.
    max_nodes : int
        Nodes of branch and bound where a gap is left.
    start : Relaxed or None
        The relaxation of a similar problem, or of another r, to start from.
    thorough : bool
        Whether sets are looked for from several sides where the gap is wide.
    progress : callable or None
        Called with (steps, max_iter), then with (nodes, max_nodes).
    """
    if r >= problem.n_groups:
        return _everything(problem)
    if problem.loss.name == "hinge" and not problem.loss.rounding:
        rounded = replace(problem, loss=replace(problem.loss, rounding=_ROUNDED))
        found = best_subset(
            rounded,
            r,
            gap_tol=gap_tol,
            max_iter=max_iter,
            max_nodes=max_nodes,
            start=start,
            thorough=thorough,
            progress=progress,
        )
        return _of_the_hinge(problem, rounded, found)
    first = _starting_shares(problem, r, start)
    sets = _Sets(problem, r, gap_tol, progress, max_iter)
    sets.consider(first)
    assert sets.best is not None
    before = sets.best.trained.start if start is None else start.trained.start
    limits: dict[str, Any] = {"tol": 0.1 * gap_tol, "max_iter": max_iter, "watch": sets.watch}
    if is_tall(problem):
        top = relaxed_tall(problem, r, s=first, **limits)
    else:
        top = relaxed(problem, r, s=first, start=before, **limits)
    enough = top.bound / (1.0 - gap_tol) if top.bound > 0.0 else 0.0
    thorough = thorough and problem.Y.size * r <= _SMALL
    chosen = searched(problem, r, top.s, top.pulls, sets.best, enough, thorough)
    if max_nodes and chosen.value > enough:
        branched = branch(problem, r, chosen, top, gap_tol=gap_tol, max_nodes=max_nodes, progress=progress)
        return BestSubset(
            branched.chosen,
            branched.tree(),
            branched.duals(),
            branched.bound,
            top,
            branched.n_nodes,
            branched.interrupted,
        )
    return BestSubset(chosen, np.array([LEAF]), top.dual[None], top.bound, top)


def _of_the_hinge(problem: SubsetProblem, rounded: SubsetProblem, found: BestSubset) -> BestSubset:
    """What a search with a rounded hinge proves and reaches with the hinge itself, whose gains are larger."""
    more = [problem.gain(dual) - rounded.gain(dual) for dual in found.duals]
    top = found.relaxed
    return replace(
        found,
        chosen=choice(problem, found.chosen.groups, found.chosen.trained),
        bound=found.bound + min(more),
        relaxed=top.with_bound(top.bound + problem.gain(top.dual) - rounded.gain(top.dual), top.dual),
    )


def _starting_shares(problem: SubsetProblem, r: int, start: Relaxed | None) -> Array:
    """The groups whose columns go with the targets most, or the shares of a relaxation made more or fewer."""
    if start is not None:
        return project(start.s * (r / start.s.sum()), r)
    shares = np.zeros(problem.n_groups)
    weight = problem.costs[:, None] / problem.costs.sum()
    shares[highest(problem.pulls(weight * (problem.Y - np.sum(weight * problem.Y, axis=0))), r)] = 1.0
    return shares


def _everything(problem: SubsetProblem) -> BestSubset:
    """All groups: there is one choice, and its own dual variables bound it."""
    every = np.arange(problem.n_groups)
    only = choice(problem, every)
    trained = only.trained
    shares = np.ones(problem.n_groups)
    found = Relaxed(shares, problem.pulls(trained.beta), trained, trained.dual, trained.beta, trained.value, 1)
    return BestSubset(only, np.array([LEAF]), trained.beta[None], trained.dual, found)
