"""Processes that work for another one end when it does."""

import multiprocessing
import os
import threading
import time
from functools import cache

_EVERY = 1.0
"""Seconds between two looks."""


@cache
def end_with_parent() -> None:
    """In a worker process of joblib: end it within seconds of its parent, however that ended.

    A parent that is killed cannot tell its workers, which would go on until their work is done, perhaps for hours.
    Processes that callers started themselves are left alone.
    """
    process, parent = multiprocessing.current_process(), multiprocessing.parent_process()
    if type(process).__name__ != "LokyProcess" or parent is None or parent.pid is None or not hasattr(os, "getppid"):
        return
    threading.Thread(target=_watch, args=(parent.pid,), name="end with parent", daemon=True).start()


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(_EVERY)
    os._exit(1)
