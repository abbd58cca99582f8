r"""Best subsets of several sizes, and what nobody can beat at each of them.

One dual point bounds the choices of every size: B_r = h - 1/2 (sum of the r largest q), for all r by one sort. So every
relaxation on the way bounds all sizes, and the best bound of each counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.relaxation import Relaxed
from rarefy.core.best_subset.search import Choice, choice, exchanged, highest
from rarefy.core.best_subset.solve import Progress, best_subset
from rarefy.core.linalg.rows import Array


@dataclass(frozen=True, eq=False)
class PathPoint:
    """The best choice met of one size, and a dual point that bounds all of that size."""

    r: int
    chosen: Choice
    bound: float
    dual: Array


def subset_path(
    problem: SubsetProblem,
    sizes: Sequence[int],
    *,
    gap_tol: float = 1e-3,
    max_iter: int = 100,
    thorough: bool = True,
    progress: Progress | None = None,
) -> list[PathPoint]:
    """Choose groups for each size, each started from the size before.

    Parameters
    ----------
    problem : SubsetProblem
        The problem.
    sizes : sequence of int
        Numbers of groups, increasing.
    gap_tol, max_iter, thorough : float, int, bool
        As in `best_subset`.
    progress : callable or None
        Called with (sizes done, sizes).
    """
    start: Relaxed | None = None
    choices: list[Choice] = []
    duals: list[Array] = []
    for k, r in enumerate(sizes):
        found = best_subset(problem, r, gap_tol=gap_tol, max_iter=max_iter, start=start, thorough=thorough)
        start = found.relaxed
        choices.append(_no_worse(problem, found.chosen, choices))
        duals.append(found.duals[0])
        if progress is not None:
            progress(k + 1, len(sizes))
    bounds = np.array([_bounds(problem, dual, sizes) for dual in duals])
    best = np.argmax(bounds, axis=0)
    return [PathPoint(r, choices[k], float(bounds[best[k], k]), duals[best[k]]) for k, r in enumerate(sizes)]


def _no_worse(problem: SubsetProblem, found: Choice, smaller: list[Choice]) -> Choice:
    """The choice, or the smaller one before it with more groups if that is better."""
    if not smaller or found.value <= smaller[-1].value:
        return found
    pulls = problem.pulls(smaller[-1].trained.beta)
    pulls[smaller[-1].groups] = np.inf
    larger = choice(problem, highest(pulls, len(found.groups)), smaller[-1].trained)
    return min(found, exchanged(problem, larger, 0.0), key=lambda one: one.value)


def _bounds(problem: SubsetProblem, dual: Array, sizes: Sequence[int]) -> Array:
    """What a dual point proves about the choices of each size, up to rounding."""
    largest = np.concatenate([[0.0], np.cumsum(np.sort(problem.pulls(dual))[::-1])])
    return problem.gain(dual) - 0.5 * largest[np.asarray(sizes)]
