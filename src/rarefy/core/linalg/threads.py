"""How many threads a matrix of a given size is worth."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_WORTH_IT = 1024
_STREAM = 1 << 22
"""Factorisations of smaller matrices gain nothing from a second BLAS thread, and when another process
holds a core the threads wait for each other at every one of their many small steps. Nor do products of a vector with
a matrix of fewer entries, which is read from a cache."""


@cache
def _controller() -> Any:
    """Found once: looking for BLAS libraries takes milliseconds, numpy's and scipy's are loaded by now."""
    return ThreadpoolController()


def blas_threads() -> int:
    """How many threads a BLAS product may use here."""
    return max((int(pool["num_threads"]) for pool in _controller().info() if pool["user_api"] == "blas"), default=1)


def threads_over(entries: int) -> AbstractContextManager[Any]:
    """One BLAS thread for products of vectors with a matrix of so many entries unless they are many."""
    return threads_for(_WORTH_IT if entries >= _STREAM else 0)


def threads_for(k: int) -> AbstractContextManager[Any]:
    """One BLAS thread for factorisations of k x k matrices unless k is large; nothing if the caller has seen to it."""
    return nullcontext() if k >= _WORTH_IT or _alone.get() else _one_thread()


_alone: ContextVar[bool] = ContextVar("alone", default=False)
"""Whether there is one thread already: asking for it again takes as long as a small factorisation."""


@contextmanager
def _one_thread() -> Iterator[None]:
    token = _alone.set(True)
    try:
        with _controller().limit(limits=1, user_api="blas"):
            yield
    finally:
        _alone.reset(token)
