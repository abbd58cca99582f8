r"""A smaller problem that resembles a large one: part of the samples of the largest level, and all others.

V : (n, k) rows of K T of some samples; D : second derivative of the loss in the scores

Few samples of the largest level determine k coefficients nearly as well as all of them: the minimiser of the smaller
problem is a start for the whole one. Nor do all samples bend the loss: pairs that are in order by a margin do not, and
the Hessian V^T D V + alpha I of those that do is a preconditioner. Neither changes the minimiser of the whole problem.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.pairs import PairLoss, Pairs, State

_LEAST, _PER_COLUMN = 5000, 10
"""Samples of the largest level that are kept: at least so many, and so many for each coefficient."""

_SHARE = 3
"""The smaller problem has at most one in so many samples; with more, it is not worth its own cost."""

_WORK, _ENTRIES = 400, 1 << 25
"""A Hessian takes n k^2 operations, and the ten products or more that it saves in an iteration 40 m k, each ten times
as slow because they wait for memory: n k is at most `_WORK` m. V itself has at most `_ENTRIES` entries."""


_TENTH, _MOST = 10, 1 << 26
"""Of more samples a part of one in so many is solved first, with at most so many kernel values."""

_CLOSER, _FORTIETH = 4, 40
"""A Hessian is made of up to so many times as many samples where that is at most one in so many of all."""


def subsample(loss: PairLoss, k: int) -> tuple[Index, PairLoss] | None:
    """Samples of a smaller problem with k coefficients, and their loss; None where it would not be much smaller.

    Of very many samples a tenth is taken, up to a limit, and the smaller problem then has a smaller one in turn.
    """
    pairs = loss.pairs
    if not pairs.groups:
        return None
    levels = [lower for _, lower in pairs.groups] + [pairs.groups[-1][0]]
    largest = int(np.argmax([len(level) for level in levels]))
    used = sum(len(level) for level in levels)
    others = used - len(levels[largest])
    # The largest part that is allowed but at least as many as are enough: the closer it is, the fewer passes are left.
    wanted = max(_enough(k), min(used // _TENTH, _MOST // max(k, 1)) - others)
    if wanted > _enough(k) and _SHARE * (others + _enough(k)) > others + wanted:
        wanted = _enough(k)  # one step from here to all of them
    n = others + wanted
    if _SHARE * n > used or n * k > _MOST:
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


def curved_part(loss: PairLoss, curvature: Array, k: int) -> tuple[Index, PairLoss]:
    """Samples of which the second derivative consists, given its diagonal, and their loss.

    Where they are too many, each is drawn with a chance in proportion to its share of the diagonal, and weighs
    accordingly more: the second derivative of the part is then that of the whole in the mean.
    """
    index, wanted = np.flatnonzero(curvature > 0.0), _for_hessian(len(curvature), k)
    chance = np.ones(len(index))
    if len(index) > wanted:
        chance = _chances(curvature[index], wanted)
        drawn = np.random.default_rng(0).random(len(index)) < chance
        index, chance = index[drawn], chance[drawn]
    pairs, level = loss.pairs, np.zeros(len(curvature), dtype=np.intp)
    for number, (upper, _) in enumerate(pairs.groups):
        level[upper] = number + 1
    part = Pairs.of(level[index], pairs.weights[index] / chance)
    return index, replace(loss, pairs=replace(part, total=pairs.total))


def _chances(c: Array, n: int) -> Array:
    """Chances with sum n in proportion to c, but at most 1: what is above it goes to the others."""
    ordered = np.sort(c)[::-1]
    rest = ordered.sum() - np.cumsum(ordered) + ordered  # of those from each place on
    certain = int(np.argmax((n - np.arange(len(c))) * ordered <= rest))  # the first whose chance is not above 1
    return np.minimum(1.0, (n - certain) * c / rest[certain])


def is_worth_factoring(m: int, k: int) -> bool:
    """Whether a Hessian of k coefficients from enough of m samples costs less than the passes that it saves."""
    n = min(m, _for_hessian(m, k))
    return 0 < n * k <= min(_WORK * m, _ENTRIES)


def inverse_hessian(V: Array, state: State, alpha: float) -> Callable[[Array], Array] | None:
    """The inverse of V^T D V + alpha I times a vector; None if rounding leaves it without a factorisation."""
    H = state.gram(V)
    H[np.diag_indices_from(H)] += alpha
    with threads_for(len(H)):
        try:
            factor = cho_factor(H, check_finite=False)
        except LinAlgError:
            return None
    return lambda v: np.asarray(cho_solve(factor, v, check_finite=False))


def _for_hessian(m: int, k: int) -> int:
    """Samples of a Hessian: the passes over many more that a closer one saves cost more than it does."""
    return max(_enough(k), min(_CLOSER * _enough(k), m // _FORTIETH, _ENTRIES // max(k, 1)))


def _enough(k: int) -> int:
    return max(_LEAST, _PER_COLUMN * k)
