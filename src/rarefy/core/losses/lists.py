r"""Losses of a whole ranking, cut where it would be cut: F1, and precision where it equals recall.

f    : (m,) scores, of n rare samples and of others
a, b : of the samples that are called rare, how many are rare and how many are not; c : an offset of all scores

    L(f) = min over c  max over (a, b)  Delta(a, b) - 1/n sum of f + c over the n - a lowest rare samples
                                                    + 1/n sum of f + c over the b highest others

This is the structural hinge of [Joachims2005], with scores divided by n. Among all ways to call samples rare, those
with the same a and b differ by their sums of scores only: the worst of them takes the highest others and leaves out the
lowest rare samples. L is at least the error Delta of the cut at -c, and zero where the rare samples stand above the
others by enough. It is convex in (f, c), hence also its minimum over c.

"f1"         : Delta = 1 - F1 = 1 - 2a / (a + b + n)
"break_even" : as many samples are called rare as there are: b = n - a, Delta = 1 - a/n = 1 - precision, and c cancels

For a given number a + b of calls the maximum is concave in a, and bisection finds it for all numbers at once: h(a + b).
Break-even is h(n). As a function of c, F1 is the largest of lines h(k) + c (k - n) / n; at its minimum a falling and a
rising one meet, with n calls in the mean, so that it equals break-even unless such a mixture is worse than h(n). The
combination of their gradients in which c cancels is a subgradient.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.losses.pairs import LossOfPairs, PairLoss, Pairs

Measure = Literal["f1", "break_even"]

_ROUNDING = 1e-13
"""Differences of values that rounding explains, relative to 1 plus the largest score."""


@dataclass(frozen=True)
class ListState:
    """Value and a subgradient at some scores."""

    value: float
    gradient: Array


@dataclass(frozen=True)
class ListLoss:
    """A loss of the whole ranking of two levels.

    Parameters
    ----------
    pairs : Pairs
        The two levels, as one group; samples count with weight 1.
    measure : {"f1", "break_even"}
        What is to be large.
    loss : LossOfPairs
        Of pairs, for a smooth loss that is similar.
    """

    pairs: Pairs
    measure: Measure
    loss: LossOfPairs = SmoothedHinge()

    @property
    def is_smooth(self) -> bool:
        """Whether there is a gradient everywhere."""
        return False

    @property
    def smooth(self) -> PairLoss:
        """The loss over all pairs."""
        return PairLoss(self.pairs, self.loss)

    def at(self, f: Array) -> ListState:
        """Value and a subgradient at these scores."""
        ((upper, lower),) = self.pairs.groups
        n = len(upper)
        calls = _Calls(f[upper], f[lower], np.arange(n + len(lower) + 1) if self.measure == "f1" else np.array([n]))
        value, mixture = calls.mixed()
        gradient = np.zeros_like(f)
        for place, share in mixture.items():
            a, b = int(calls.a[place]), int(calls.b[place])
            gradient[upper[calls.upwards[: n - a]]] -= share / n
            gradient[lower[calls.downwards[:b]]] += share / n
        return ListState(value, gradient)


class _Calls:
    """The worst calls of given numbers of samples: a of them are rare, b are not; their values with offset 0.

    `upwards` and `downwards` order rare samples from the lowest and others from the highest on.
    """

    def __init__(self, rare: Array, others: Array, number: Index) -> None:
        n = len(rare)
        self.upwards, self.downwards = np.argsort(rare, kind="stable"), np.argsort(-others, kind="stable")
        shift = float(np.concatenate([rare, others]).mean())  # an offset changes nothing, but costs digits
        low, high = rare[self.upwards] - shift, others[self.downwards] - shift
        self.a = _worst(low, high, number)
        self.b = number - self.a
        missed, alarms = (np.append(0.0, np.cumsum(scores)) for scores in (low, high))
        self.heights = 1.0 - 2.0 * self.a / (number + n) + (alarms[self.b] - missed[n - self.a]) / n
        self.slopes = (number - n) / n
        self._rounding = _ROUNDING * (1.0 + max(float(np.abs(low).max()), float(np.abs(high).max())))

    def mixed(self) -> tuple[float, dict[int, float]]:
        """The value with the offset for which it is least, and the shares of the calls that meet there.

        Where a falling and a rising line meet, either no other line is higher, or it takes the place of one of them.
        """
        falling, rising = 0, len(self.heights) - 1
        if falling == rising:
            return float(self.heights[0]), {0: 1.0}
        while True:
            down, up = float(self.slopes[falling]), float(self.slopes[rising])
            offset = float(self.heights[falling] - self.heights[rising]) / (up - down)
            meeting = float(self.heights[falling]) + offset * down
            values = self.heights + offset * self.slopes
            worst = int(values.argmax())
            if not values[worst] > meeting + self._rounding:
                return meeting, {falling: up / (up - down), rising: -down / (up - down)}
            if self.slopes[worst] == 0.0:
                return float(values[worst]), {worst: 1.0}
            falling, rising = (worst, rising) if self.slopes[worst] < 0.0 else (falling, worst)


def _worst(low: Array, high: Array, number: Index) -> Index:
    """How many rare samples the worst call of each number has; scores of rare samples ascend, of others descend."""
    n = len(low)
    a, most = np.maximum(0, number - len(high)), np.minimum(n, number)  # it is sought between these
    while np.any(a < most):
        middle = (a + most) // 2
        one_more, one_less = low[np.maximum(n - middle - 1, 0)], high[np.maximum(number - middle - 1, 0)]
        gains = (one_more - one_less) / n > 2.0 / (number + n)
        more = gains & (middle < most)
        a, most = np.where(more, middle + 1, a), np.where(more, most, middle)
    return a
