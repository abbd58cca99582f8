"""Rows in single precision."""

import numpy as np

from rarefy.core.linalg.rows import Array, DenseRows, Rows


class RoughRows(DenseRows):
    """A float32 array with products in single precision, for what is computed again or need not be accurate."""

    @classmethod
    def of(cls, A: Rows) -> "RoughRows":
        """A copy in single precision."""
        return cls(np.vstack([block.astype(np.float32) for _, block in A.blocks()]))

    @property
    def T(self) -> "RoughRows":
        return RoughRows(self._A.T)

    def __matmul__(self, v: Array) -> Array:
        return np.asarray(self._A @ v.astype(np.float32))
