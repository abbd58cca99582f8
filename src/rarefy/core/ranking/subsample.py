r"""A smaller problem that resembles a large one: part of the samples of the largest level, and all others.

V : (n, k) rows of K T of the samples of the smaller problem

Few samples of the largest level determine k coefficients nearly as well as all of them. The minimiser of the smaller
problem is a start for the whole one, and its Hessian there, V^T D V + alpha I with the second derivative D of the
loss in the scores, a preconditioner. Neither changes which point is the minimiser of the whole problem.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rarefy.core.linalg.rows import BLOCK_ENTRIES, Array, Index
from rarefy.core.losses.pairs import PairLoss, Pairs, State

_LEAST, _PER_COLUMN = 5000, 10
"""Samples of the largest level that are kept: at least so many, and so many for each coefficient."""

_SHARE = 3
"""The smaller problem has at most one in so many samples; with more, it is not worth its own cost."""

_WORK, _ENTRIES = 200, 1 << 26
"""The Hessian takes n k^2 operations, and the passes that it saves a few hundred times m k: n k is at most `_WORK` m.
V itself has at most `_ENTRIES` entries."""


def subsample(loss: PairLoss, k: int) -> tuple[Index, PairLoss] | None:
    """Samples of a smaller problem with k coefficients, and their loss; None where it would not be much smaller."""
    pairs = loss.pairs
    if not pairs.groups:
        return None
    levels = [lower for _, lower in pairs.groups] + [pairs.groups[-1][0]]
    largest = int(np.argmax([len(level) for level in levels]))
    wanted, used = max(_LEAST, _PER_COLUMN * k), sum(len(level) for level in levels)
    n = used - len(levels[largest]) + wanted
    if _SHARE * n > used or n * k > min(_WORK * used, _ENTRIES):
        return None
    # A fixed seed: equal inputs give equal rankers, and any choice leads to the same minimiser.
    kept = np.random.default_rng(0).choice(levels[largest], wanted, replace=False)
    weights, level = pairs.weights.copy(), np.full(len(pairs.weights), -1)
    # Those that are kept stand for all: the weight of all pairs stays what it is.
    weights[kept] *= weights[levels[largest]].sum() / weights[kept].sum()
    levels[largest] = kept
    for number, samples in enumerate(levels):
        level[samples] = number
    index = np.flatnonzero(level >= 0)
    return index, replace(loss, pairs=Pairs.of(level[index], weights[index]))


def inverse_hessian(V: Array, state: State, alpha: float) -> Callable[[Array], Array] | None:
    """The inverse of V^T D V + alpha I times a vector; None if rounding leaves it without a factorisation."""
    H = alpha * np.eye(V.shape[1])
    step = max(1, BLOCK_ENTRIES // max(1, len(V)))
    for first in range(0, V.shape[1], step):
        columns = slice(first, first + step)
        products = np.array([state.hessian_product(v) for v in np.ascontiguousarray(V[:, columns].T)])
        H[columns] += products @ V
    try:
        factor = cho_factor(0.5 * (H + H.T), check_finite=False)
    except LinAlgError:
        return None
    return lambda v: np.asarray(cho_solve(factor, v, check_finite=False))
