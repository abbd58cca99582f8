r"""Information gain of presence and absence.

P : (d, c) number of rows of each class in which a feature is present (not zero)
n : (c,) number of rows of each class

IG = H(class) - H(class | presence), in bits [YangPedersen1997].
"""

import numpy as np

from rarefy.core.linalg.rows import Array


def information_gain(P: Array, n: Array) -> Array:
    """Gain of each feature from its counts per class."""
    total = n.sum()
    present = P.sum(axis=1)
    remaining = (present * _entropy(P) + (total - present) * _entropy(n - P)) / total
    return np.maximum(_entropy(n[None])[0] - remaining, 0.0)


def _entropy(counts: Array) -> Array:
    """Entropy in bits of each row of counts; 0 for a row without counts."""
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)
    return -np.sum(share * np.log2(np.where(share > 0.0, share, 1.0)), axis=1)
