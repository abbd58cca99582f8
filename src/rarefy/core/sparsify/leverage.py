r"""Leverage-score sampling: features drawn in proportion to the squared norms of the rows of V.

V   : (d, l) matrix with V^T V = I
p_i : ||V_i||^2 / l, which sums to one (the papers divide by n, which does not)
E   : I - V^T R R^T V

*replacement*: r independent draws from p, each with squared weight 1 / (r p_i); repeats add up.
*poisson*: feature i is kept with probability q_i = min(1, r p_i), squared weight 1 / q_i. The number
kept is random with mean at most r; a draw of more than r is thrown away and repeated, which happens
with probability at most 1/2 (the median of such a sum is at most its mean, rounded up).
*top*: the r largest scores, weight 1: nothing random and nothing guaranteed beforehand.

*Bound.* Matrix Bernstein [Tropp2012, Theorem 1.4]: each term of the sum E has norm at most l/r and
the variance is at most l/r, for both random forms, so

    P(||E|| >= eps) <= 2 l exp(-r eps^2 / (2 l (1 + eps / 3))),

doubled for the Poisson form because of the conditioning on at most r features.
"""

from typing import Literal

import numpy as np

from rarefy.core.linalg.rows import Array
from rarefy.core.sparsify import Selection
from rarefy.core.sparsify.bss import norm_order

Sampling = Literal["replacement", "poisson", "top"]


def sample(norms2: Array, r: int, sampling: Sampling, rng: np.random.Generator) -> Selection:
    """Choose at most r features from their leverage scores."""
    p = norms2 / norms2.sum()
    if sampling == "top":
        index = norm_order(norms2)[:r]
        return Selection(index, np.ones(len(index)))
    if sampling == "replacement":
        draws = rng.choice(len(p), size=r, p=p)
        return Selection.from_draws(draws, 1.0 / (r * p[draws]))
    keep = np.minimum(1.0, r * p)
    while True:
        index = np.flatnonzero(rng.random(len(p)) < keep)
        if 0 < len(index) <= r:
            return Selection(index, 1.0 / np.sqrt(keep[index]))


def distortion_bound(ell: int, r: int, poisson: bool, failure_probability: float) -> float:
    """The eps that ||E|| exceeds with at most the given probability."""
    sides = 4.0 if poisson else 2.0
    # r eps^2 = 2 l log(sides l / delta) (1 + eps / 3), solved for eps > 0.
    a = 2.0 * ell / r * np.log(sides * ell / failure_probability)
    return float(a / 6.0 + np.sqrt(a * a / 36.0 + a))
