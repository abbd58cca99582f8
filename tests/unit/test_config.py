"""Settings: of the process, of a block of code, and in workers."""

import threading

import joblib
import pytest
import sklearn

import rarefy
from rarefy._parallel import run_parallel
from rarefy.exceptions import ParameterError


@pytest.fixture(autouse=True)
def restored():
    before = rarefy.get_config()
    yield
    rarefy.set_config(**before)


def budget(*_):
    return rarefy.get_config()["memory_budget"]


def test_set_config_is_seen_by_all_threads_and_a_context_by_its_own():
    rarefy.set_config(memory_budget="1.5GB")
    seen = []
    with rarefy.config_context(memory_budget=7):
        thread = threading.Thread(target=lambda: seen.append(budget()))
        thread.start()
        thread.join()
        assert budget() == 7
    assert seen == [1.5e9]
    assert budget() == 1.5e9


def test_a_context_holds_only_what_it_changes():
    with rarefy.config_context(progress=True):
        rarefy.set_config(memory_budget=5)
        assert rarefy.get_config() == rarefy.get_config() | {"memory_budget": 5.0, "progress": True}
        with rarefy.config_context(overflow="disk"):
            assert rarefy.get_config() == rarefy.get_config() | {"progress": True, "overflow": "disk"}
    assert rarefy.get_config() == rarefy.get_config() | {"memory_budget": 5.0, "progress": False}


def assume_finite(*_):
    return sklearn.get_config()["assume_finite"]


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_workers_have_the_settings_of_scikit_learn_whatever_the_backend(backend):
    with sklearn.config_context(assume_finite=True), joblib.parallel_backend(backend, n_jobs=2):
        assert run_parallel(assume_finite, [(1,), (2,)]) == [True, True]


def test_a_context_is_left_when_its_code_fails():
    with pytest.raises(RuntimeError), rarefy.config_context(memory_budget=7, progress=True):
        raise RuntimeError
    assert budget() == 2e9
    assert rarefy.get_config()["progress"] is False


@pytest.mark.parametrize("threads", [True, False])
def test_workers_have_the_settings_of_the_caller(threads):
    with rarefy.config_context(memory_budget="12 kB"):
        assert run_parallel(budget, [(1,), (2,)], n_jobs=2, threads=threads) == [12e3, 12e3]


def test_parallel_work_shows_one_display(capsys):
    with rarefy.config_context(progress=True):
        assert run_parallel(lambda i: rarefy.get_config()["progress"], [(0,), (1,)], label="work") == [False, False]
    assert "work [########################] 2/2" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"memory": 3}, "no setting memory; settings are memory_budget, overflow"),
        ({"memory_budget": -1}, "memory_budget must be a number of bytes >= 0 or a text like '2GB'; got -1"),
        ({"memory_budget": "much"}, "got 'much'"),
        ({"memory_budget": float("inf")}, "got inf"),
        ({"overflow": "swap"}, "overflow must be 'auto', 'recompute' or 'disk'; got 'swap'"),
        ({"memory_budget": "1e400GB"}, "got inf"),
        ({"scratch_folder": 3}, "a folder that exists; got 3"),
        ({"scratch_folder": "/no/such/folder"}, "a folder that exists; got '/no/such/folder'"),
        ({"block_size": 0}, "block_size must be None or an integer >= 1; got 0"),
        ({"progress": 1}, "progress must be True or False; got 1"),
    ],
)
def test_wrong_settings_are_refused_and_change_nothing(settings, message):
    before = rarefy.get_config()
    for change in (lambda: rarefy.set_config(**settings), lambda: rarefy.config_context(**settings).__enter__()):
        with pytest.raises(ParameterError, match=message.replace("(", r"\(")):
            change()
    assert rarefy.get_config() == before
