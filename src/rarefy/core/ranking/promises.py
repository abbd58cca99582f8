r"""What order statistics of held-out scores promise about scores to come.

m : held-out cases, independent and of one distribution with future cases, given the scores' model
p : share of future cases that may fall on the wrong side of the cut; 1 - delta : confidence

A score that at least a share p of all cases do not exceed is, with probability P(Binomial(m, p) >= j), not below the
j-th smallest of m cases. So the largest j for which this is at least 1 - delta gives the highest cut at which no more
than p of future cases are below it, with that confidence. Equal scores only make it safer.
"""

from functools import lru_cache

import numpy as np
from scipy.special import betainc
from scipy.stats import binom

from rarefy.core.linalg.rows import Array

_ROUNDING = 1e-12
"""Relative; probabilities that decide are taken to be smaller by this."""


@lru_cache(maxsize=256)
def largest_order(m: int, p: float, confidence: float) -> int:
    """The largest j with P(Binomial(m, p) >= j) >= confidence; 0 if there is none."""
    # sf(j - 1) falls in j: bisection between 0, where it is 1, and m + 1, where it is 0.
    low, high = 0, m + 1
    while high - low > 1:
        middle = (low + high) // 2
        enough = binom.sf(middle - 1, m, p) * (1.0 - _ROUNDING) >= confidence
        low, high = (middle, high) if enough else (low, middle)
    return low


def order_confidence(m: int, p: float, j: int) -> float:
    """P(Binomial(m, p) >= j), by the incomplete beta function: another route than that of `largest_order`."""
    return 1.0 if j <= 0 else 0.0 if j > m else float(betainc(j, m - j + 1, p))


def cases_needed(p: float, confidence: float) -> int:
    """The fewest cases with which anything is promised: 1 - (1 - p)^m >= confidence."""
    m = max(1, int(np.ceil(np.log1p(-confidence) / np.log1p(-p))))
    # The quotient of two rounded logarithms can be off by one.
    while m > 1 and largest_order(m - 1, p, confidence) > 0:
        m -= 1
    while largest_order(m, p, confidence) == 0:
        m += 1
    return m


def recall_cut(rare: Array, recall: float, confidence: float) -> tuple[float, int]:
    """The highest cut at which ``score >= cut`` finds this share of rare cases, and its place among them.

    The cut is -inf and the place 0 where there are too few cases.
    """
    j = largest_order(len(rare), 1.0 - recall, confidence)
    return (-np.inf, 0) if j == 0 else (float(np.sort(rare)[j - 1]), j)


def false_alarm_cut(others: Array, rate: float, confidence: float) -> tuple[float, int]:
    """The lowest cut at which ``score >= cut`` calls no more than this share of other cases, and its place from above.

    The cut is inf and the place 0 where there are too few cases.
    """
    j = largest_order(len(others), rate, confidence)
    # The j-th largest case itself is not called: the cut is the next number above it.
    return (np.inf, 0) if j == 0 else (float(np.nextafter(np.sort(others)[-j], np.inf)), j)
