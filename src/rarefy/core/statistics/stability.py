r"""How much a choice of features changes when the data change a little.

M   : number of choices; d : number of features; k_i : size of choice i, kbar its mean
p_f : share of the choices that contain feature f

The index of [NogueiraSechidisBrown2018, Definition 4 and Theorem 9]

    Phi = 1 - (1/d) sum_f s_f^2 / ((kbar/d) (1 - kbar/d)),   s_f^2 = M/(M-1) p_f (1 - p_f)

is 1 when all choices agree, and 0 on average when features are drawn at random, however many are
chosen. It is asymptotically normal; its variance is estimated from the contributions phi_i.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import norm

from rarefy.core.linalg.rows import Array, Index


@dataclass(frozen=True)
class Stability:
    """Selection frequencies, the index and its confidence interval."""

    frequency: Array
    index: float
    interval: tuple[float, float]


def stability(choices: Sequence[Index], d: int, confidence: float = 0.95) -> Stability:
    """Stability of several choices among d features; at least two are needed.

    The index is NaN when every choice is empty or holds all features: nothing was chosen then.
    """
    M = len(choices)
    sizes = np.array([len(choice) for choice in choices], dtype=np.float64)
    p = np.bincount(np.concatenate(choices), minlength=d) / M
    kbar = float(sizes.mean())
    chance = kbar / d * (1.0 - kbar / d)
    if chance == 0.0:
        return Stability(p, np.nan, (np.nan, np.nan))
    phi = 1.0 - float(np.sum(p * (1.0 - p))) * M / (M - 1) / d / chance
    agreement = np.array([p[choice].sum() for choice in choices]) / d
    spread = 2.0 * kbar * sizes / d**2 - sizes / d - kbar / d + 1.0
    phi_i = (agreement - sizes * kbar / d**2 + phi / 2.0 * spread) / chance
    error = np.sqrt(4.0 / M**2 * np.sum((phi_i - phi_i.mean()) ** 2))
    reach = float(norm.ppf(0.5 + confidence / 2.0) * error)
    return Stability(p, phi, (max(-1.0, phi - reach), min(1.0, phi + reach)))
