"""Gaussian sketches: few random combinations of many rows."""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import DenseRows, Rows


@dataclass(frozen=True)
class Sketch:
    """A `size` x n Gaussian matrix G with E[G^T G] = I, drawn again whenever it is needed."""

    size: int
    seed: int

    def apply(self, X: Rows) -> Rows:
        """G X."""
        G = np.random.default_rng(self.seed).standard_normal((self.size, X.shape[0])) / np.sqrt(self.size)
        return DenseRows(X.sketch(G))
