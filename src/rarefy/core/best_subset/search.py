r"""Sets of columns from shares, made better by exchanges, and what is settled about single columns.

*Sets.* The largest shares, and the largest pulls, of the relaxation. At the dual variables of a set's own models,
exchanging group o for group i leaves the objective at least at Z + (q_o - q_i) / 2, by weak duality. So groups with
small pulls are exchanged for groups with large ones, pairs with q_i <= q_o cannot help, and the best of some pairs is
taken, as long as one is better.

*Settled groups.* Let U be the objective of a set, B the bound of some beta and q_(r), q_(r+1) the pulls at the cut.
Every best set contains a group of the r largest with B + (q_G - q_(r+1)) / 2 > U, and no best set contains one with
B + (q_(r) - q_G) / 2 > U: the bound over the choices without it, or with it, is above what was reached.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.core.best_subset.problem import SubsetProblem, Trained
from rarefy.core.linalg.rows import Array, Index

_WIDTH = 6
"""Groups on either side of an exchange that are tried with each other."""
_LEAST_GAIN = 1e-7


@dataclass(frozen=True, eq=False)
class Choice:
    """A set of groups and the models in it."""

    groups: Index
    trained: Trained

    @property
    def value(self) -> float:
        """The objective."""
        return self.trained.value


def choice(problem: SubsetProblem, groups: Index, start: Trained | None = None) -> Choice:
    """Train in a set of groups."""
    groups = np.sort(groups)
    return Choice(groups, problem.train(groups, start=None if start is None else start.start))


def exchanged(problem: SubsetProblem, found: Choice, enough: float, max_rounds: int) -> Choice:
    """The set after exchanges that lower its objective; it is left when the objective is down to `enough`."""
    for _ in range(max_rounds):
        if found.value <= enough:
            break
        better = _best_exchange(problem, found)
        if better is None:
            break
        found = better
    return found


def _best_exchange(problem: SubsetProblem, found: Choice) -> Choice | None:
    pulls = problem.pulls(found.trained.beta)
    inside = np.zeros(problem.n_groups, dtype=bool)
    inside[found.groups] = True
    out = found.groups[np.argsort(pulls[found.groups], kind="stable")[:_WIDTH]]
    others = np.flatnonzero(~inside)
    new = others[np.argsort(-pulls[others], kind="stable")[:_WIDTH]]
    best: Choice | None = None
    limit = found.value * (1.0 - _LEAST_GAIN)
    pairs = sorted(((pulls[i] - pulls[o], int(o), int(i)) for o in out for i in new), reverse=True)
    for promise, o, i in pairs:
        if promise <= 0.0:
            break
        tried = choice(problem, np.append(found.groups[found.groups != o], i), found.trained)
        if tried.value < limit:
            best, limit = tried, tried.value
    return best


def settled(pulls: Array, bound: float, value: float, r: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Masks of the groups that are in every best set, and in none.

    Parameters
    ----------
    pulls : (G,) array
        q of some dual variables.
    bound : float
        Their bound, rounded down.
    value : float
        The objective of a set of r groups, rounded up.
    r : int
        Groups of a set.
    """
    if r >= len(pulls):
        return np.ones(len(pulls), dtype=bool), np.zeros(len(pulls), dtype=bool)
    ordered = np.sort(pulls)[::-1]
    last, following = ordered[r - 1], ordered[r]
    always = (pulls >= last) & (bound + 0.5 * (pulls - following) > value)
    never = (pulls <= following) & (bound + 0.5 * (last - pulls) > value)
    return always, never
