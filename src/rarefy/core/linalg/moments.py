"""Gram matrix and sums of the columns of an array, by threads that each take some small blocks of rows.

A : (n, k) array, n large, in single or double precision

Blocks are so small that a copy in double precision stays in a core's own cache: it is made once for products and sums.
BLAS threads would share the product of each block and wait for each other at its end, the longer if somebody else, as
who reads the next rows, needs a core. So threads take blocks in turn, with one BLAS thread each. Which blocks are added
up together does not depend on how many threads there are, nor does the result.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.threads import blas_threads, one_thread

Array = NDArray[np.float64]

_MOST_ENTRIES = 1 << 21
"""Of a block, however many columns there are: 16 MB."""
_LANES, _WIDEST = 8, 512
"""Sums that are made side by side, and up to which number of columns: of more, BLAS threads share a product well."""


def gram_and_sums(A: NDArray[Any], entries: int) -> tuple[Array, Array]:
    """A^T A and A^T 1 in double precision, from blocks of so many entries; of more where columns are many."""
    n, k = A.shape
    # Adding up k^2 numbers for fewer than k rows takes long beside their product.
    step = max(1, entries // max(k, 1), min(k, _MOST_ENTRIES // max(k, 1)))
    starts = range(0, n, step)
    n_lanes = min(_LANES, len(starts)) if k <= _WIDEST else 1
    errors = np.geterr()

    def lane(number: int) -> tuple[Array, Array]:
        G, total, buffer = np.zeros((k, k)), np.zeros(k), np.empty((min(n, step), k))
        ones = np.ones(len(buffer))
        with np.errstate(**errors):  # which a thread does not take over from the one that starts it
            for start in starts[number::n_lanes]:
                block = A[start : start + step]
                if A.dtype != np.float64:
                    block, given = buffer[: len(block)], block
                    np.copyto(block, given)
                G += block.T @ block  # a symmetric product: half the work of a general one
                total += ones[: len(block)] @ block
        return G, total

    n_threads = min(n_lanes, blas_threads())
    if n_threads <= 1:
        found = [lane(number) for number in range(n_lanes)]
    else:
        with one_thread(), ThreadPoolExecutor(n_threads, "rarefy-gram") as pool:
            found = list(pool.map(lane, range(n_lanes)))
    G, total = np.zeros((k, k)), np.zeros(k)
    for one_G, one_total in found:
        G += one_G
        total += one_total
    return G, total
