r"""Where to cut a ranking into classes or levels, from the scores of training samples.

A rule gives a worth to every number of samples above the cut, from none to all; the best one wins, and equal scores are
never separated. To add a rule, add it to `RULES`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, Index

_ROUNDING = 1e-12
"""Beside the largest score: scores of equal samples can differ by so much."""


@dataclass(frozen=True)
class Counts:
    """Weights above each of the possible cuts: of rare samples and of others; and of all."""

    true: Array
    false: Array
    n_rare: float
    n_all: float


@dataclass(frozen=True)
class Rule:
    """What every cut is worth; which value the rule takes; whether calling no sample rare is an answer."""

    worth: Callable[[Counts, float], Array]
    takes: Literal["nothing", "a share in (0, 1)", "a number > 0"]
    nobody: bool

    def accepts(self, value: float) -> bool:
        """Whether a value is one that the rule takes."""
        return 0.0 < value < (1.0 if self.takes == "a share in (0, 1)" else np.inf)


def _recall(c: Counts, value: float) -> Array:
    enough = c.true >= value * c.n_rare * (1.0 - 1e-12)
    return np.where(enough, -c.true - c.false, -np.inf)


def _false_positive_rate(c: Counts, value: float) -> Array:
    return np.where(c.false <= value * (c.n_all - c.n_rare), c.true, -1.0 - c.false)


RULES = {
    "frequency": Rule(lambda c, _: -np.abs(c.true + c.false - c.n_rare), "nothing", nobody=False),
    "f1": Rule(lambda c, _: 2.0 * c.true / (c.true + c.false + c.n_rare), "nothing", nobody=False),
    "cost": Rule(lambda c, value: value * c.true - c.false, "a number > 0", nobody=True),
    "recall": Rule(_recall, "a share in (0, 1)", nobody=True),
    "share": Rule(lambda c, value: -np.abs(c.true + c.false - value * c.n_all), "a share in (0, 1)", nobody=True),
    "false_positive_rate": Rule(_false_positive_rate, "a share in (0, 1)", nobody=True),
}


def threshold(scores: Array, rare: NDArray[np.bool_], weights: Array, rule: str, value: float = 0.0) -> float:
    """The score at which to cut, halfway between two training scores.

    Parameters
    ----------
    scores, weights : (m,) arrays
        Of the training samples.
    rare : (m,) array of bool
        Which of them are rare.
    rule : str
        One of `RULES`.
    value : float
        What the rule takes.
    """
    order = np.argsort(-scores, kind="stable")
    ordered, hit = scores[order], (weights * rare)[order]
    true, false = (np.append(0.0, np.cumsum(part)) for part in (hit, weights[order] - hit))
    counts = Counts(true, false, float(hit.sum()), float(weights.sum()))
    apart = _ROUNDING * float(np.abs(ordered).max())
    # Where nothing was ranked, calling no sample rare is an answer to every rule.
    nobody = RULES[rule].nobody or ordered[0] - ordered[-1] <= apart
    allowed = np.concatenate([[nobody], ordered[:-1] - ordered[1:] > apart, [True]])
    best = int(np.argmax(np.where(allowed, RULES[rule].worth(counts, value), -np.inf)))
    if best == 0:
        return float(ordered[0] + 1e-9 * (1.0 + abs(ordered[0])))
    if best == len(ordered):
        return float(ordered[-1] - 1.0)
    return float(0.5 * (ordered[best - 1] + ordered[best]))


def level_cuts(scores: Array, levels: Index, weights: Array, n_levels: int) -> Array:
    """Scores at which to cut, so that each level gets as much weight below its end as in training, or nearly.

    Cuts lie halfway between scores that differ by more than rounding: equal samples are never separated.
    """
    order = np.argsort(scores, kind="stable")
    ordered, below = scores[order], np.cumsum(weights[order])
    apart = np.flatnonzero(np.diff(ordered) > 1e-9 * np.abs(ordered).max())
    places = np.concatenate([[-np.inf], 0.5 * (ordered[apart] + ordered[apart + 1]), [np.inf]])
    reached = np.concatenate([[0.0], below[apart], [below[-1]]])
    ends = np.cumsum(np.bincount(levels, weights=weights, minlength=n_levels))[:-1]
    return np.asarray(places[np.abs(reached - ends[:, None]).argmin(axis=1)])
