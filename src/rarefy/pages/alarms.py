"""Held-out scores of a rare class as steps from the highest score down: what looking at more and more rows finds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, Index

_STEPS = 20_000
"""More steps are merged, so that a page stays small."""


@dataclass(frozen=True)
class Steps:
    """One step for each different score, the highest first; counts are of that step alone."""

    scores: Array
    """The lowest score of each step."""
    rare: Index
    others: Index
    merged: bool
    """Whether scores that follow each other share a step."""

    @property
    def n_rare(self) -> int:
        """All rare cases."""
        return int(self.rare.sum())

    @property
    def n_rows(self) -> int:
        """All rows."""
        return int(self.rare.sum() + self.others.sum())

    def above(self, threshold: float) -> tuple[int, int]:
        """How many rare cases and others have a score above a threshold, at a step."""
        called = self.scores > threshold
        return int(self.rare[called].sum()), int(self.others[called].sum())

    def values(self) -> dict[str, Any]:
        """Plain values for a page; scores have five digits there, counts are as they are."""
        return {
            "score": [float(f"{score:.5g}") for score in self.scores.tolist()],
            "rare": self.rare.tolist(),
            "others": self.others.tolist(),
        }


@dataclass(frozen=True)
class Confusion:
    """What calling some rows rare gets right and wrong."""

    found: int
    false_alarms: int
    missed: int
    left_alone: int

    @property
    def alarms(self) -> int:
        """Rows that are looked at."""
        return self.found + self.false_alarms

    @property
    def sentence(self) -> str:
        """It in words."""
        first = f"Finds {self.found} of {self.found + self.missed} rare cases"
        if not self.alarms:
            return f"{first}: no row is looked at."
        if not self.found:
            return f"{first}; none of {self.alarms} alarms is right."
        return f"{first}; one in {self.alarms / self.found:.1f} alarms is right."


def steps_of(is_rare: NDArray[np.bool_], scores: Array, threshold: float, *, most: int = _STEPS) -> Steps:
    """All different scores, or about so many steps: each rare case, if there is room, and the threshold end one."""
    distinct, place = np.unique(-scores, return_inverse=True)
    rare = np.bincount(place[is_rare], minlength=len(distinct))
    others = np.bincount(place[~is_rare], minlength=len(distinct))
    if len(distinct) <= most:
        return Steps(-distinct, rare, others, merged=False)
    ends = np.flatnonzero(rare)
    ends = ends if len(ends) <= most // 2 else ends[np.linspace(0, len(ends) - 1, most // 2).astype(int)]
    before = ends[ends > 0] - 1  # others above a rare case are a step of their own
    evenly = np.linspace(0, len(distinct) - 1, max(most - len(ends) - len(before), most // 4)).astype(int)
    called = np.flatnonzero(-distinct > threshold)[-1:]
    last = np.unique(np.concatenate([ends, before, evenly, called, [len(distinct) - 1]]))
    starts = np.append(0, last[:-1] + 1)
    return Steps(-distinct[last], np.add.reduceat(rare, starts), np.add.reduceat(others, starts), merged=True)


def confusion(steps: Steps, threshold: float) -> Confusion:
    """Of the rule that calls rare what has a score above a threshold."""
    found, false_alarms = steps.above(threshold)
    return Confusion(found, false_alarms, steps.n_rare - found, steps.n_rows - steps.n_rare - false_alarms)


def sentence_on_top(is_rare: NDArray[np.bool_], scores: Array) -> str:
    """What looking at the highest scores finds: at one percent of the rows, or at as many as there are rare cases."""
    n, rare = len(is_rare), int(is_rare.sum())
    look = max(1, n // 100)
    highest = np.argsort(-scores, kind="stable")
    if rare <= look:
        found = int(is_rare[highest[:look]].sum())
        return f"Looking at the {look} rows that score highest (1 %) would find {found} of the {rare}."
    right = int(is_rare[highest[:rare]].sum())
    return f"Of the {rare} rows that score highest {right} are rare cases (in random order: {rare * rare / n:.0f})."


def roc_points(steps: Steps, most: int = 400) -> tuple[Array, Array]:
    """Shares of others and of rare cases called, from none to all of them."""
    found, false = np.append(0, np.cumsum(steps.rare)), np.append(0, np.cumsum(steps.others))
    at = _thinned(found / found[-1] + false / false[-1], most)
    return false[at] / false[-1], found[at] / found[-1]


def precision_points(steps: Steps, most: int = 400) -> tuple[Array, Array]:
    """Shares of rare cases found and of alarms that are right."""
    found, alarms = np.cumsum(steps.rare), np.cumsum(steps.rare + steps.others)
    at = _thinned(found / found[-1], most)
    at = at[found[at] > 0]
    recall, precision = found[at] / found[-1], found[at] / alarms[at]
    return np.append(0.0, recall), np.append(precision[0], precision)


def _thinned(way: Array, most: int) -> Index:
    """Places of points that are about equally far apart along a curve, the first and the last among them."""
    if len(way) <= most:
        return np.arange(len(way))
    wanted = np.linspace(way[0], way[-1], most)
    return np.unique(np.append(np.searchsorted(way, wanted), len(way) - 1))
