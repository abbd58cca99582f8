"""The number of BLAS threads is what it was when nobody needs one thread any more."""

import multiprocessing
import os
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import ThreadpoolController

from rarefy.core.linalg.moments import gram_and_sums
from rarefy.core.linalg.threads import threads_for
from rarefy.kernel import SubspaceLPSVC
from rarefy.ranking import RankRC
from rarefy.selection import BSSSelector


def number():
    """BLAS threads of this process."""
    return max(found.num_threads for found in ThreadpoolController().lib_controllers if found.user_api == "blas")


@pytest.fixture(autouse=True)
def two_threads():
    with ThreadpoolController().limit(limits=2, user_api="blas"):
        if number() < 2:
            pytest.skip("this BLAS has one thread")
        for found in ThreadpoolController().lib_controllers:  # newer versions let this thread only set the number
            if hasattr(found, "clear_controlling_thread"):
                found.clear_controlling_thread(force=True)
        yield


def test_one_thread_inside_however_deep():
    with threads_for(3):
        assert number() == 1
        with threads_for(3):
            assert number() == 1
        assert number() == 1
        with threads_for(1 << 20):
            assert number() == 1
    assert number() == 2
    with threads_for(1 << 20):
        assert number() == 2


@pytest.mark.parametrize("first_out", ["first_in", "last_in"])
def test_the_last_thread_out_restores_the_number(first_out):
    inside, may_leave = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    def work(i):
        with threads_for(3):
            inside[i].set()
            may_leave[i].wait(10)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread, here in zip(threads, inside, strict=True):
        thread.start()
        here.wait(10)
    order = (0, 1) if first_out == "first_in" else (1, 0)
    may_leave[order[0]].set()
    threads[order[0]].join()
    assert number() == 1  # the other one is still at work
    may_leave[order[1]].set()
    threads[order[1]].join()
    assert number() == 2


@pytest.mark.filterwarnings("ignore::rarefy.exceptions.RarefyWarning")
def test_concurrent_fits_equal_serial_ones_and_leave_the_number():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 4 == 0
    X = rng.standard_normal((60, 30)) + y[:, None]
    models = [BSSSelector(12), RankRC(), SubspaceLPSVC(n_components=8, random_state=0)] * 4
    serial = [_learned(clone(model).fit(X, y)) for model in models]
    with ThreadPoolExecutor(4) as pool:
        concurrent = [_learned(model) for model in pool.map(lambda model: clone(model).fit(X, y), models)]
    for one, other in zip(serial, concurrent, strict=True):
        np.testing.assert_array_equal(one, other)
    assert number() == 2


def _learned(model):
    return next(
        np.asarray(getattr(model, name)) for name in ("weights_", "dual_coef_", "coef_") if hasattr(model, name)
    )


def test_an_error_and_an_interruption_at_any_call_leave_the_number():
    with pytest.raises(ValueError, match="inside"), threads_for(3):
        raise ValueError("inside")
    assert number() == 2
    for k in range(1, 40):
        count = 0

        def interrupt(frame, event, arg, k=k):
            nonlocal count
            # Where signals are handled: at the start of a function and after a call, but for taking and leaving a lock.
            lock = event.startswith("c_") and type(arg.__self__).__name__ == "lock"
            place = event == "c_return" or (event == "call" and frame.f_code.co_name != "__exit__")
            count += frame.f_code.co_filename.endswith("threads.py") and place and not lock
            if count == k:
                count += 1
                raise KeyboardInterrupt

        sys.setprofile(interrupt)
        try:
            with threads_for(3):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            sys.setprofile(None)
        with threads_for(3):
            assert number() == 1
        assert number() == 2, k


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_child_that_is_forked_while_another_thread_is_inside_is_free():
    inside, may_leave = threading.Event(), threading.Event()

    def work():
        with threads_for(3):
            inside.set()
            may_leave.wait(30)

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait(10)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=_in_child, args=(queue,))
    child.start()
    child.join(20)
    ended = not child.is_alive()
    child.kill()
    may_leave.set()
    thread.join()
    assert ended
    assert queue.get() == (2, 1, 2)


def _in_child(queue):
    before = number()
    with threads_for(3):
        during = number()
    queue.put((before, during, number()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_of_columns_are_the_same_bit_by_bit_with_any_number_of_threads(dtype):
    A = np.random.default_rng(0).standard_normal((5000, 13)).astype(dtype)
    G, total = gram_and_sums(A, 1 << 10)
    with threads_for(3):
        assert all(map(np.array_equal, gram_and_sums(A, 1 << 10), (G, total)))
    wide = A.astype(np.float64)
    np.testing.assert_allclose(G, wide.T @ wide, rtol=1e-13, atol=1e-10)
    np.testing.assert_allclose(total, wide.sum(axis=0), atol=1e-10)
    assert number() == 2


def test_threads_handle_numpys_errors_as_their_caller_does():
    A = np.full((64, 2), 1e308)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError):
        gram_and_sums(A, 16)
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.all(np.isinf(gram_and_sums(A, 16)[0]))
