"""Fits at a time: in threads, and in processes of every kind; results are those of one fit after another.

Counted as wrong are results that differ by a bit, and a number of BLAS threads that is another one afterwards.
"""

import multiprocessing
import random
import sys
import time
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from importlib.util import find_spec

import joblib
import numpy as np
from sklearn.base import clone
from threadpoolctl import ThreadpoolController
from trials.bad_calls import ESTIMATORS
from trials.bad_values import data
from trials.interrupts import learned

_POOLS = ("fork", "spawn", "forkserver", "loky", "dask")
_IN_PROCESSES = 12
"""One trial of so many is of processes, which take seconds to start."""


def blas_threads():
    """The numbers of threads of the BLAS libraries."""
    libraries = ThreadpoolController().lib_controllers
    return [one.num_threads for one in libraries if one.user_api == "blas"]


def thread_trial(seed):
    """(counts, what is wrong) of some fits at a time."""
    draw = random.Random(seed)
    models = draw.choices(ESTIMATORS, k=draw.randint(4, 12))
    with ThreadpoolController().limit(limits=2, user_api="blas"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for one in ThreadpoolController().lib_controllers:  # newer versions let this thread only set the number
            if hasattr(one, "clear_controlling_thread"):
                one.clear_controlling_thread(force=True)
        before = blas_threads()
        serial = [answers(model, 0.0) for model in models]
        if seed % _IN_PROCESSES == 0:
            kind = _POOLS[seed // _IN_PROCESSES % len(_POOLS)]
            if kind == "dask" and find_spec("distributed") is None:
                return Counter({"without dask": 1}), []
            found = in_processes(kind, models)
        else:
            kind = "threads"
            waits = [draw.uniform(0.0, 0.01) for _ in models]
            switch = sys.getswitchinterval()
            sys.setswitchinterval(draw.choice([1e-6, 1e-4, switch]))
            try:
                with ThreadPoolExecutor(draw.randint(2, 6)) as pool:
                    found = list(pool.map(answers, models, waits))
            finally:
                sys.setswitchinterval(switch)
        after = blas_threads()
    what = f"{kind} (seed {seed})"
    faults = [
        f"{what}: {type(model).__name__} finds something else"
        for model, one, other in zip(models, serial, found, strict=True)
        if not all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
    ]
    if after != before:
        faults.append(f"{what}: BLAS has {after} threads, not {before}")
    return Counter({"fits": len(models), kind: len(models), "violated": len(faults)}), faults


def answers(model, wait):
    """What a copy of an estimator learns."""
    time.sleep(wait)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return learned(clone(model).fit(*data()))


def in_processes(kind, models):
    """The same in two processes of a kind."""
    if kind == "loky":
        return joblib.Parallel(2)(joblib.delayed(answers)(model, 0.0) for model in models)
    if kind == "dask":
        from distributed import Client

        with Client(n_workers=2, threads_per_worker=2, dashboard_address=None) as client:
            return client.gather(client.map(answers, models, [0.0] * len(models), pure=False))
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(kind)) as pool:
        return list(pool.map(answers, models, [0.0] * len(models)))
