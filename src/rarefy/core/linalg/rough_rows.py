"""Rows in single precision."""

import numpy as np

from rarefy.core.linalg.rows import Array, DenseRows, Rows

_SAFE = (1e-12, 1e12)
"""Sizes of entries whose products and sums are far from what single precision cannot hold."""


class RoughRows(DenseRows):
    """A float32 array with products in single precision, for what is computed again or need not be accurate."""

    @staticmethod
    def of(A: Rows) -> Rows:
        """A copy in single precision; A itself where that could overflow or vanish, or where A is streamed."""
        if hasattr(A, "gathered"):
            return A
        if not _SAFE[0] < A.largest_entry() < _SAFE[1]:
            return A
        return RoughRows(np.vstack([block.astype(np.float32) for _, block in A.blocks()]))

    @property
    def T(self) -> "RoughRows":
        return RoughRows(self._A.T)

    def __matmul__(self, v: Array) -> Array:
        return np.asarray(self._A @ v.astype(np.float32))
