"""Gaussian sketches: few random combinations of many rows."""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import DenseRows, Rows

_DRAWN = 1 << 24
"""Entries of G that are drawn at a time: 128 MB, however many rows X has."""


@dataclass(frozen=True)
class Sketch:
    """A `size` x n Gaussian matrix G with E[G^T G] = I, drawn again whenever it is needed."""

    size: int
    seed: int

    def apply(self, X: Rows) -> Rows:
        """G X, with some rows of G at a time."""
        rng, n, parts = np.random.default_rng(self.seed), X.shape[0], []
        step = max(1, _DRAWN // n)
        for first in range(0, self.size, step):
            G = rng.standard_normal((min(step, self.size - first), n)) / np.sqrt(self.size)
            parts.append(X.sketch(G))
        return DenseRows(np.concatenate(parts))
