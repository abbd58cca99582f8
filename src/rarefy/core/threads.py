"""How many threads a matrix of a given size is worth."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_limits

_WORTH_IT = 512
"""Factorisations of smaller matrices gain nothing from a second BLAS thread, and when another process
holds a core the threads wait for each other at every one of their many small steps."""


def threads_for(k: int) -> AbstractContextManager[Any]:
    """One BLAS thread for factorisations of k x k matrices unless k is large."""
    return nullcontext() if k >= _WORTH_IT else threadpool_limits(limits=1, user_api="blas")
