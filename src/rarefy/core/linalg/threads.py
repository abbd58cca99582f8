"""How many threads a matrix of a given size is worth.

The number of BLAS threads belongs to the process, not to the thread that sets it: of threads that work at the same time
the first one in saves the number and sets it to one, and the last one out restores it. Were each to restore what it
found, whoever came second would find one thread and leave it at that for good.
"""

import os
import threading
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

_WORTH_IT = 1024
_STREAM = 1 << 22
"""Factorisations of smaller matrices gain nothing from a second BLAS thread, and when another process
holds a core the threads wait for each other at every one of their many small steps. Nor do products of a vector with
a matrix of fewer entries, which is read from a cache."""


@cache
def _libraries() -> list[Any]:
    """Found once: looking for BLAS libraries takes milliseconds, numpy's and scipy's are loaded by now."""
    return [found for found in ThreadpoolController().lib_controllers if found.user_api == "blas"]


def blas_threads() -> int:
    """How many threads a BLAS product may use here."""
    return max((int(library.num_threads) for library in _libraries()), default=1)


def threads_over(entries: int) -> AbstractContextManager[Any]:
    """One BLAS thread for products of vectors with a matrix of so many entries unless they are many."""
    return threads_for(_WORTH_IT if entries >= _STREAM else 0)


def threads_for(k: int) -> AbstractContextManager[Any]:
    """One BLAS thread for factorisations of k x k matrices unless k is large; nothing if the caller has seen to it."""
    return nullcontext() if k >= _WORTH_IT else one_thread()


class _OneThread:
    """A block of code with one BLAS thread, for any number of threads at a time, each as deeply as it likes.

    Every step may be interrupted: who is inside is a set, and what has to be restored is forgotten last, so that the
    next one in or out mends what was left undone.
    """

    def __init__(self) -> None:
        self._own = threading.local()
        self._lock = threading.Lock()
        self._inside: set[int] = set()
        self._before: list[tuple[Any, int]] | None = None
        # Only the thread that forks goes on in the child: nobody else would ever leave, or let the lock go.
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._alone)

    def __enter__(self) -> None:
        depth = getattr(self._own, "depth", 0)
        self._own.depth = depth + 1
        if depth == 0:  # asking again takes as long as a small factorisation
            try:
                self._arrive()
            except BaseException:
                self.__exit__()
                raise

    def __exit__(self, *_: object) -> None:
        self._own.depth -= 1
        if self._own.depth == 0:
            with self._lock:
                self._inside.discard(threading.get_ident())
                self._restore()

    def _arrive(self) -> None:
        with self._lock:
            self._inside.add(threading.get_ident())
            if self._before is None:
                self._before = [(library, library.num_threads) for library in _libraries()]
            if len(self._inside) == 1:
                for library, number in self._before:
                    if number > 1:
                        _set(library, 1)

    def _restore(self) -> None:
        if not self._inside and self._before is not None:
            for library, number in self._before:
                if library.num_threads == 1 < number:
                    _set(library, number)
            self._before = None

    def _alone(self) -> None:
        self._lock = threading.Lock()
        self._inside = {threading.get_ident()} if getattr(self._own, "depth", 0) else set()
        self._restore()


def _set(library: Any, number: int) -> None:
    """Set the number of threads of a library; newer versions of threadpoolctl let one thread only do so until it ends.

    Whoever is last to leave need not be who came first.
    """
    release = getattr(library, "clear_controlling_thread", None)
    library.set_num_threads(number)
    if release is not None:
        if library.num_threads != number and number > 1:
            release(force=True)
            library.set_num_threads(number)
        if number > 1:
            release(force=True)


_one_thread = _OneThread()


def one_thread() -> AbstractContextManager[Any]:
    """One BLAS thread, as for work that is spread over threads of its own."""
    return _one_thread
