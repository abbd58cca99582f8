"""Fits that are interrupted at a random instruction: the estimator is as before, or fitted whole.

An interrupt comes where Python handles signals: at the start of a function or after a call into compiled code. Half of
them are raised there, at a k that is drawn; half are signals of a timer. Counted as wrong are estimators that are
neither as before nor as after a fit that nobody interrupted, settings of the library or BLAS threads that are others
than before, and a fit afterwards that fails or finds something else.
"""

import random
import signal
import sys
import time
import warnings
from collections import Counter

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_info
from trials.bad_calls import ESTIMATORS
from trials.bad_values import data

import rarefy

_METHODS = ("transform", "predict", "decision_function", "score_samples")


def learned(model):
    """What a fitted estimator answers."""
    X, _ = data()
    return [np.asarray(getattr(model, name)(X)) for name in _METHODS if hasattr(model, name)]


def settings():
    """What a fit must leave as it was, beside the estimator."""
    threads = [(one["filepath"], one["num_threads"]) for one in threadpool_info()]
    return rarefy.get_config(), sorted(threads), np.geterr()


def interrupt_trial(seed):
    """(counts, what is wrong) of one interrupt."""
    draw = random.Random(seed)
    before = settings()
    X, y = data()
    model = clone(draw.choice(ESTIMATORS))
    if draw.random() < 0.5:
        _quiet(lambda: model.fit(X, 1 - y))  # an earlier fit, of other labels
    whole = clone(model)
    n_events, seconds = _measured(lambda: whole.fit(X, y))
    state, expected = dict(vars(model)), learned(whole)
    how = "event" if draw.random() < 0.5 else "signal"
    k, wait = draw.randint(1, n_events), draw.uniform(1e-5, seconds)
    try:
        done = interrupted(lambda: _quiet(lambda: model.fit(X, y)), k if how == "event" else None, wait)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.setprofile(None)
    moment = f"at event {k} of {n_events}" if how == "event" else f"after {wait:.5f} of {seconds:.5f} s"
    what = f"{type(model).__name__} {moment} (seed {seed})"
    faults = []
    same = vars(model).keys() == state.keys() and all(vars(model)[name] is state[name] for name in state)
    if not same and not _equal(model, expected):
        faults.append(f"{what}: neither as before nor fitted")
    if settings() != before:
        faults.append(f"{what}: settings are {settings()}, not {before}")
    _quiet(lambda: model.fit(X, y))
    if not _equal(model, expected):
        faults.append(f"{what}: the next fit finds something else")
    return Counter(interrupts=1, before=same, fitted=not same, in_time=not done, violated=len(faults)), faults


def _equal(model, expected):
    try:
        found = learned(model)
    except Exception:  # whatever it is: an estimator that is fitted answers
        return False
    return all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))


def _quiet(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return call()


def _measured(call):
    """(number of events, seconds) of a call."""
    start = time.perf_counter()
    _quiet(call)
    seconds, count = time.perf_counter() - start, 0

    def watch(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_return")

    sys.setprofile(watch)
    try:
        _quiet(call)
    finally:
        sys.setprofile(None)
    return count, seconds


def interrupted(call, k, wait):
    """Whether a call came to its end before it was interrupted, at the k-th event or by a signal."""
    count = 0

    def watch(frame, event, argument):
        nonlocal count
        # A lock that was taken and not yet entered is nobody's: there no signal is handled either.
        lock = event == "c_return" and type(getattr(argument, "__self__", None)).__name__ in ("lock", "RLock")
        count += event in ("call", "c_return") and not lock
        if count == k:
            count += 1
            raise KeyboardInterrupt

    def ring(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, ring)
    try:
        if k is None:
            signal.setitimer(signal.ITIMER_REAL, wait)
        else:
            sys.setprofile(watch)
        call()
        return True
    except KeyboardInterrupt:
        return False
    except Exception:  # numpy makes an error of its own of an interrupt between two of its steps
        return False
    finally:
        sys.setprofile(None)
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
