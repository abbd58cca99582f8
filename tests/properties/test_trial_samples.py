"""Samples of `make trials` that no other test has: bad calls, changed files, interrupts, fits at a time, writers."""

import os

import pytest
from trials import places
from trials.bad_calls import all_cases
from trials.fuzz import fuzz_trial
from trials.interrupts import interrupt_trial
from trials.readers import reader_piece
from trials.threads import thread_trial

pytestmark = pytest.mark.skipif(os.name == "nt", reason="timers and signals of Unix")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(4))
def test_bad_calls_end_in_words_or_in_finite_results(first):
    for case in all_cases()[first * 100 :: 400]:
        assert fuzz_trial(case)[1] == []


@pytest.mark.parametrize("seed", range(1000, 1012))
def test_changed_files_are_read_or_refused_in_words(seed):
    assert reader_piece(seed)[1] == []


@pytest.mark.filterwarnings("ignore")
def test_interrupted_fits_are_as_before_or_whole():
    for seed in range(1000, 1020):
        assert interrupt_trial(seed)[1] == []


@pytest.mark.filterwarnings("ignore")
def test_fits_at_the_same_time():
    for seed in (1001, 1002):
        assert thread_trial(seed)[1] == []


def test_several_writers_of_one_file():
    assert places.writers_trial(1000)[1] == []
