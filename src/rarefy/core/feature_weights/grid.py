"""All combinations of C and mu on the same samples, each search from the solution of a neighbour."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rarefy.core.feature_weights.problem import Problem, Solution
from rarefy.core.feature_weights.selection import (
    FeatureSelection,
    Line,
    Search,
    SearchSettings,
    Starts,
    best_of_starts,
    described,
)
from rarefy.core.feature_weights.starts import pruned_search
from rarefy.core.linalg.rows import Array


@dataclass(frozen=True)
class Cell:
    """The solution for one C and mu."""

    problem: Problem
    solution: Solution

    def described(self, settings: SearchSettings) -> FeatureSelection:
        """The result with all that is known about it."""
        return described(self.problem, self.solution, settings.method, settings.checked)


def neighbours(Cs: Sequence[float] | Array) -> list[tuple[int, int | None]]:
    """The order in which to go through the Cs, and from which of them: from the middle one up, and then down."""
    order = [int(i) for i in np.argsort(Cs, kind="stable")]
    middle = len(order) // 2
    up = [(order[i], order[i - 1]) for i in range(middle + 1, len(order))]
    down = [(order[i], order[i + 1]) for i in range(middle - 1, -1, -1)]
    return [(order[middle], None), *up, *down]


def selection_grid(
    problem: Problem,
    starts: Starts,
    Cs: Sequence[float] | Array,
    mus: Array,
    settings: SearchSettings,
    wanted: NDArray[np.bool_] | None = None,
) -> dict[tuple[int, int], Cell]:
    """Solve for every C and every mu; nothing is pruned yet.

    The C in the middle is solved from all starts, along the path of its mus. Every other one begins where its neighbour
    began.

    Parameters
    ----------
    problem : Problem
        What to solve, with C = 1.
    starts : Starts
        Where to start from.
    Cs : (p,) array
        Factors on the losses.
    mus : (p, q) array
        For each of them the factors on the penalty, in ascending order.
    settings : SearchSettings
        How to search.
    wanted : (p, q) array of bool or None
        Which combinations to solve; None means all. The first C is solved for the smallest mu in any case.
    """
    wanted = np.ones(mus.shape, dtype=bool) if wanted is None else wanted
    rows = np.flatnonzero(wanted.any(axis=1))
    found: dict[tuple[int, int], Cell] = {}
    begun: dict[int, list[Line]] = {}
    warm = warm_settings(settings)
    with problem.threads():
        for row, other in neighbours(np.asarray(Cs)[rows]):
            i, neighbour = int(rows[row]), None if other is None else int(rows[other])
            here = problem.with_cost(float(Cs[i]))
            lines = starts.lines() if neighbour is None else list(begun[neighbour])
            own = settings if neighbour is None else warm
            columns = np.flatnonzero(wanted[i] | ((neighbour is None) & (np.arange(mus.shape[1]) == 0)))
            for j in columns.tolist():
                ((_, at, best),) = best_of_starts(here, starts, mus[i, j : j + 1], own, lines=lines)
                found[i, j] = Cell(at, best)
                begun.setdefault(i, list(lines))
                own = warm
    return found


def prune_cell(cell: Cell, shares: Sequence[float], settings: SearchSettings) -> list[Cell]:
    """The same without small weights, once for each share; what two shares drop alike is searched once."""
    search = Search(warm_settings(settings), None)
    known: list[tuple[Array, Array, Solution]] = []

    def once(problem: Problem, z: Array) -> Solution:
        for X, start, found in known:
            if X is problem.X and np.array_equal(start, z):
                return found
        known.append((problem.X, z, search(problem, z)))
        return known[-1][2]

    return [replace(cell, solution=pruned_search(cell.problem, cell.solution, once, share)) for share in shares]


def lowest_cell(problem: Problem, starts: Sequence[Array], settings: SearchSettings) -> Cell | None:
    """The best of searches from given weights; None if all of them are zero."""
    search = Search(warm_settings(settings), None)
    tried: list[Array] = []
    found: list[Solution] = []
    for z in starts:
        if z.any() and not any(np.array_equal(z, other) for other in tried):
            tried.append(z)
            found.append(search(problem, z))
    found = [one for one in found if one.z.any()]
    return Cell(problem, min(found, key=lambda one: one.objective)) if found else None


def warm_settings(settings: SearchSettings) -> SearchSettings:
    """For searches that begin near a minimum: by "reduced", which counts steps and not rounds."""
    if settings.method in ("reduced", "gmkl"):
        return settings
    return replace(settings, method="reduced", max_iter=None)
