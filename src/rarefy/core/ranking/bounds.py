r"""How far scores with few kernel functions can be from those with all.

m : samples, of which r are in the basis; kappa : upper bound of k(x, x); alpha : weight of the penalty

All three are about minimisers of loss + alpha/2 ||f||^2 with a loss of slope at most 1 [Tayal2014, chapter 4].
"""

from collections.abc import Sequence

import numpy as np

from rarefy.core.linalg.rows import Array, Index


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
