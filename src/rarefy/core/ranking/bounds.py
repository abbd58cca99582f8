r"""How far scores with few kernel functions can be from those with all.

m : samples, of which r are in the basis; kappa : upper bound of k(x, x); alpha : weight of the penalty

The first three are about minimisers of loss + alpha/2 ||f||^2 with a loss of slope at most 1, and know nothing of the
data but shares or distances [Tayal2014, chapter 4]. The last one is measured at the ranker itself.
"""

from collections.abc import Callable, Sequence

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.pairs import Pairs


def left_out_shares(levels: Index, basis: Index) -> list[float]:
    """Share of each level's samples that are not in the basis."""
    outside = np.ones(len(levels), dtype=bool)
    outside[basis] = False
    return [float(np.mean(outside[levels == level])) for level in np.unique(levels)]


def ranking_bound(left_out: Sequence[float], alpha: float, kappa: float) -> float:
    """Pairs of two classes, from the share of each class that is not in the basis (4.21)."""
    return float(2.0 * kappa / alpha * np.sqrt(sum(left_out)))


def classification_bound(left_out: float, alpha: float, kappa: float) -> float:
    """The mean hinge loss, from the share of the samples that are not in the basis (Theorem 9).

    The thesis prints sqrt(2 kappa), which does not follow from its own proof.
    """
    return float(np.sqrt(2.0) * kappa / alpha * np.sqrt(max(0.0, left_out)))


def perturbation_bound(K: Array, basis: Index, alpha: float, kappa: float) -> float:
    """Pairs, from the distance of a kernel matrix to its Nystroem approximation (Theorem 10).

    The thesis prints the square root of the distance; its proof gives the fourth root, and so do the units.
    """
    approximation = K[:, basis] @ np.linalg.pinv(K[np.ix_(basis, basis)], hermitian=True) @ K[basis]
    distance = float(np.linalg.norm(approximation - K, 2))
    return float(2.0 * np.sqrt(2.0) * kappa**0.75 / alpha * distance**0.25 * (1.0 + (distance / (4.0 * kappa)) ** 0.25))


def expansion_norm(kernel: Callable[[Index, Index], Array], e: Array, kappa: float) -> float:
    """An upper bound of ||sum_i e_i k(x_i, .)||, rounding included; kernel values are looked at in blocks.

    kernel(I, J) gives values of the functions I with the functions J, none of which is larger than kappa.
    """
    used = np.flatnonzero(e)
    total, step = 0.0, max(1, (1 << 22) // max(1, len(used)))
    for first in range(0, len(used), step):
        part = used[first : first + step]
        total += float(e[part] @ (kernel(part, used) @ e[used]))
    rounding = (len(used) + 100) * np.finfo(np.float64).eps * kappa * float(np.abs(e).sum()) ** 2
    return float(np.sqrt(max(total, 0.0) + rounding))


def posterior_bound(gradient_norm: float, alpha: float, kappa: float) -> float:
    """Any convex loss: the objective is alpha-strongly convex, so no score is further from the minimiser's than this.

    The gradient is that of the objective with all kernel functions, at the ranker with few.
    """
    return float(np.sqrt(kappa)) * gradient_norm / alpha


def certain_share(levels: Index, f: Array, weights: Array, apart: float) -> float:
    """Share of the pairs of different levels, by weight, whose scores are more than this apart."""
    pairs, certain = Pairs.of(levels, weights), 0.0
    for upper, lower in pairs.groups:
        order = np.argsort(f[lower], kind="stable")
        prefix, ordered = np.concatenate([[0.0], np.cumsum(weights[lower][order])]), f[lower][order]
        below = prefix[np.searchsorted(ordered, f[upper] - apart, side="left")]
        above = prefix[-1] - prefix[np.searchsorted(ordered, f[upper] + apart, side="right")]
        certain += float(weights[upper] @ (below + above))
    return min(1.0, certain / pairs.total)  # a share of all is one, however sums are rounded
