"""How much of a ranking is right."""

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.pairs import Pairs


def ranked_share(levels: Index, scores: Array, weights: Array | None = None) -> float:
    """Share of the pairs of different levels that the scores put in order; ties count half."""
    pairs = Pairs.of(levels, weights)
    p, right = pairs.weights, 0.0
    for upper, lower in pairs.groups:
        order = np.argsort(scores[lower], kind="stable")
        prefix = np.concatenate([[0.0], np.cumsum(p[lower][order])])
        ordered = scores[lower][order]
        below = prefix[np.searchsorted(ordered, scores[upper], side="left")]
        level = prefix[np.searchsorted(ordered, scores[upper], side="right")]
        right += float(p[upper] @ (0.5 * (below + level)))
    return right / pairs.total
