"""Weights of words: how those of one folder of texts become those of another."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray


def weighted(matrix: Any, factors: NDArray[np.float64]) -> Any:
    """Multiply columns, then divide every row by its length, as tf-idf weights are; empty rows stay empty.

    Lengths cancel what rows were divided by before, so that from weights with other idf, or of more words, the same
    values arise as from counts.
    """
    scaled = sp.csr_array(matrix @ sp.diags_array(factors))
    lengths = np.sqrt(np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1.0 / np.where(lengths > 0.0, lengths, 1.0)) @ scaled)
