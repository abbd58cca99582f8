"""Columns in, (indices, weights) out."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, Index


@dataclass(frozen=True)
class Selection:
    """Features in the order in which they were first chosen, and the diagonal of D beside them."""

    indices: Index
    weights: Array

    @classmethod
    def from_draws(cls, draws: NDArray[np.intp], weights2: Array) -> "Selection":
        """Collect r draws: the squared weights of a repeated feature add up."""
        features, first, inverse = np.unique(draws, return_index=True, return_inverse=True)
        total = np.bincount(inverse, weights=weights2, minlength=len(features))
        order = np.argsort(first)
        return cls(features[order], np.sqrt(total[order]))

    def with_unit_weights(self) -> "Selection":
        """The same features as they are."""
        return Selection(self.indices, np.ones(len(self.indices)))
