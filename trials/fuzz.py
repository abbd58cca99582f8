"""The table of bad calls: every public estimator and function x bad X, y, weights, parameters and containers.

A call may succeed, with results that are finite, or refuse: with an error of ours, of scikit-learn's validation, or a
TypeError or ValueError that is raised where arguments are checked. What scikit-learn itself does with the same input is
allowed too. Everything else is a fault: errors from the depth (LinAlgError, IndexError, AttributeError, KeyError,
ZeroDivisionError, OverflowError, "zero-size array", whatever the core or numpy says about shapes), results that are not
finite, warnings of numpy about overflow or division, calls that do not end, and bad input that is accepted.
"""

import multiprocessing
import re
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from trials.bad_calls import Case, all_cases

import rarefy

SECONDS = 5.0
"""After so long a call on 24 rows counts as one that does not end."""

MEMORY = 8 << 30
"""Bytes of address space: who needs more for so few rows is at fault."""

_DEEP = (
    np.linalg.LinAlgError,
    LookupError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    NameError,
    RecursionError,
    SystemError,
)
_BORDER = re.compile(r"sklearn/(utils|base|model_selection|metrics)/|sklearn/base\.py|rarefy/(?!core/)")
_RAW = re.compile(
    r"zero-size array|broadcast|not aligned|mismatch in its core|infs or NaNs|must be the same shape|setting an array"
    r"|unpack|negative dimensions|empty sequence|not subscriptable|unhashable|unsupported operand|ufunc|is too big"
    r"|positional argument|truth value|concatenat|Only 0-dimensional|only length-1|NoneType"
)


class DoesNotEndError(BaseException):
    """A call took too long; not an Exception, so that nobody catches it."""


def judge(case: Case) -> tuple[str, str | None]:
    """How a call ended, and what is wrong with it (None if nothing is)."""
    signal.signal(signal.SIGPROF, _too_long)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of processor time: others use this computer as well
    try:
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            found = case.call()
    except DoesNotEndError:
        return "endless", f"{case}: does not end"
    except MemoryError as error:
        return "refused", None if str(error) and "allocate" not in str(error) else f"{case}: a bare MemoryError {error}"
    except Exception as error:
        return "refused", _about(case, error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
    if case.refused:
        return "accepted", f"{case}: accepted"
    # The one about a sum comes from scikit-learn's own look for numbers that are not finite.
    raw = [one for one in seen if issubclass(one.category, RuntimeWarning) and "/sklearn/" not in one.filename]
    raw = [one for one in raw if "in reduce" not in str(one.message)]
    if raw:
        return "accepted", f"{case}: {raw[0].message} ({Path(raw[0].filename).name}:{raw[0].lineno})"
    honest = case.subject == "prediction_difference_bound"  # a bound may be infinite
    return "accepted", None if honest or _finite(found) else f"{case}: results are not finite"


def _too_long(*_: Any) -> None:
    raise DoesNotEndError


def _about(case: Case, error: Exception) -> str | None:
    """What is wrong with an error, if anything is."""
    where = traceback.extract_tb(error.__traceback__)[-1]
    deep = (
        isinstance(error, _DEEP)
        or _RAW.search(str(error))
        or not isinstance(error, TypeError | ValueError | rarefy.exceptions.RarefyError)
    )
    ours = isinstance(error, rarefy.exceptions.RarefyError)
    # What scikit-learn says about large values, and about names of columns.
    if "need to be preprocessed" in str(error) or "Feature names are only supported" in str(error):
        return None
    if ours or (not deep and _BORDER.search(where.filename.replace("\\", "/"))):
        return None
    if case.theirs is not None and _same_in_scikit_learn(case.theirs, error):
        return None
    frames = traceback.extract_tb(error.__traceback__)
    last = next((f for f in reversed(frames) if "rarefy/" in f.filename and "trials" not in f.filename), where)
    place = f"{Path(last.filename).name}:{last.lineno} ({Path(where.filename).name})"
    return f"{case}: {type(error).__name__} {str(error)[:120]!r} from {place}"


def _same_in_scikit_learn(theirs: Callable[[], Any], error: Exception) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs()
    except Exception as other:
        return type(other) is type(error) and str(other)[:40] == str(error)[:40]
    return False


def _finite(found: Any) -> bool:
    """Whether all numbers of a result are finite, of a fitted estimator those of its main attributes."""
    if hasattr(found, "get_params"):
        names = ("weights_", "coef_", "dual_coef_", "intercept_", "feature_weights_", "eigenvalues_")
        return all(_finite(getattr(found, name)) for name in names if hasattr(found, name))
    if isinstance(found, list | tuple):
        return all(map(_finite, found))
    if sp.issparse(found):
        found = found.data
    if isinstance(found, np.ndarray | float) and np.asarray(found).dtype.kind in "fc":
        return bool(np.isfinite(found).all())
    return True


def fuzz_trial(case: Case) -> tuple[Counter[str], list[str]]:
    """One call, counted."""
    how, fault = judge(case)
    return Counter({"calls": 1, how: 1, "violated": int(fault is not None)}), [] if fault is None else [fault]


def fuzz_outcomes(cases: Callable[[], Iterable[Case]]) -> Iterator[tuple[Counter[str], list[str]]]:
    """Calls that a function makes, each counted.

    They are made in a process of their own, with little memory: what does not end in compiled code is killed, and the
    next process goes on behind it.
    """
    # Processes begin anew: after a fork the threads of polars would not be there, and whoever needs them would wait.
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    start: int | None = 0
    while start is not None:
        worker = context.Process(target=_work, args=(there, cases, start), daemon=True)
        worker.start()
        start, reached = None, None
        while True:
            if not here.poll(20.0 * SECONDS if reached is not None else 60.0 * SECONDS):
                worker.kill()
                if reached is None:
                    raise RuntimeError("the process of the calls does not begin")
                yield Counter({"calls": 1, "endless": 1, "violated": 1}), [f"{reached[1]}: does not end"]
                start = reached[0] + 1
                break
            kind, *said = here.recv()
            if kind == "done":
                break
            if kind == "begin":
                reached = said
            else:
                yield tuple(said)
        worker.join()


def table(start: int, step: int) -> Iterable[Case]:
    """Every `step`-th call of the table."""
    return all_cases()[start::step]


def fuzz_piece(cases: Callable[[], Iterable[Case]]) -> tuple[Counter[str], list[str]]:
    """Some calls together."""
    total: Counter[str] = Counter()
    wrong: list[str] = []
    for counts, faults in fuzz_outcomes(cases):
        total.update(counts)
        wrong += faults
    return total, wrong


def _work(pipe: Any, cases: Callable[[], Iterable[Case]], start: int) -> None:
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for i, case in islice(enumerate(cases()), start, None):
        pipe.send(("begin", i, str(case)))
        pipe.send(("end", *fuzz_trial(case)))
    pipe.send(("done",))
