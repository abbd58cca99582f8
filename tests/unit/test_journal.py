"""Fits on data in blocks that are ended on the way go on from the passes that were finished."""

import numpy as np
import pytest
from sklearn.base import clone

import rarefy
from rarefy import blocks
from rarefy.exceptions import BlockError, ParameterError
from rarefy.kernel import SubspaceLPSVC
from rarefy.ranking import RankRC
from rarefy.selection import BSSSelector

SEED = {"random_state": 0}
ESTIMATORS = [
    RankRC(**SEED),
    RankRC(kernel="laplacian", **SEED),
    SubspaceLPSVC(n_components=25, n_landmarks=30, **SEED),
]


def draw():
    rng = np.random.default_rng(0)
    y = (rng.random(500) < 0.1).astype(int)
    return rng.standard_normal((500, 6)) + 1.5 * y[:, None], y


X, Y = draw()


class Ended(BaseException):
    """As a process is that is killed."""


def end_after(monkeypatch, rows, passes, n):
    """End whatever asks for more than n passes over the data."""
    stored = rows._blocks_in_storage

    def counted(index=None):
        passes.append(1)
        if len(passes) > n:
            raise Ended
        return stored(index)

    monkeypatch.setattr(rows, "_blocks_in_storage", counted)


def scores(model):
    return model.decision_function(X)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_a_fit_goes_on_where_it_was_ended(estimator, tmp_path, monkeypatch):
    blocks.from_arrays(tmp_path / "data", X, block_rows=90)
    settings = {"memory_budget": "40kB", "overflow": "recompute", "checkpoint_folder": tmp_path / "passes"}
    with rarefy.config_context(**settings | {"checkpoint_folder": None}):
        data, whole = blocks.open(tmp_path / "data"), []
        end_after(monkeypatch, data.rows(), whole, np.inf)
        expected = clone(estimator).fit(data, Y)
    assert len(whole) > 6
    with rarefy.config_context(**settings):
        data, passes = blocks.open(tmp_path / "data"), []
        end_after(monkeypatch, data.rows(), passes, len(whole) - 3)
        with pytest.raises(Ended):
            clone(estimator).fit(data, Y)
        assert list((tmp_path / "passes").glob("*.npz"))
        data, rest = blocks.open(tmp_path / "data"), []
        end_after(monkeypatch, data.rows(), rest, np.inf)
        found = clone(estimator).fit(data, Y)
    assert len(rest) < 0.7 * len(whole)
    np.testing.assert_array_equal(scores(found), scores(expected))  # bit by bit
    assert not (tmp_path / "passes").exists()  # nothing is left of a fit that is done


def half_done(tmp_path, monkeypatch, estimator=None):
    data = blocks.from_arrays(tmp_path / "data", X, block_rows=90)
    end_after(monkeypatch, data.rows(), [], 4)
    with pytest.raises(Ended):
        (estimator or RankRC(**SEED)).fit(data, Y)
    return blocks.open(tmp_path / "data")


def test_passes_of_another_fit_are_not_taken(tmp_path, monkeypatch):
    with rarefy.config_context(checkpoint_folder=tmp_path / "passes", memory_budget="40kB", overflow="recompute"):
        data = half_done(tmp_path, monkeypatch)
        other = blocks.from_arrays(tmp_path / "other", X + 1.0)
        for changed in (
            lambda: RankRC(alpha=0.5, **SEED).fit(data, Y),
            lambda: RankRC(**SEED).fit(data, 1 - Y),
            lambda: RankRC(**SEED).fit(data, Y, np.full(500, 2.0)),
            lambda: RankRC(**SEED).fit(other, Y),
            lambda: BSSSelector(3).fit(data),
        ):
            with pytest.raises(ParameterError, match="has passes of another fit"):
                changed()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with (
        rarefy.config_context(checkpoint_folder=tmp_path / "mine"),
        pytest.raises(ParameterError, match="has other files in it"),
    ):
        RankRC(**SEED).fit(data, Y)


def test_a_damaged_pass_is_computed_again(tmp_path, monkeypatch):
    expected = RankRC(**SEED).fit(X, Y)
    with rarefy.config_context(checkpoint_folder=tmp_path / "passes", memory_budget="40kB", overflow="recompute"):
        data = half_done(tmp_path, monkeypatch)
        for path in (tmp_path / "passes").glob("*.npz"):
            path.write_bytes(path.read_bytes()[:-40])
        found = RankRC(**SEED).fit(data, Y)
    np.testing.assert_allclose(scores(found), scores(expected), atol=1e-4)


def test_a_full_disk_says_so_and_loses_nothing(tmp_path, monkeypatch):
    data = blocks.from_arrays(tmp_path / "data", X, block_rows=90)

    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    with rarefy.config_context(checkpoint_folder=tmp_path / "passes"):
        with monkeypatch.context() as patch:
            patch.setattr("numpy.savez", full)
            with pytest.raises(BlockError, match=r"cannot be written to checkpoint_folder=.*No space left"):
                RankRC(**SEED).fit(data, Y)
        assert not list((tmp_path / "passes").glob("*.part"))
        RankRC(**SEED).fit(data, Y)


def test_arrays_need_no_journal(tmp_path):
    with rarefy.config_context(checkpoint_folder=tmp_path / "passes"):
        RankRC(**SEED).fit(X, Y)
    assert not (tmp_path / "passes").exists()


def test_data_that_cannot_be_recognised_are_refused(tmp_path):
    """Passes of other numbers of the same shape would be taken without a word."""
    with rarefy.config_context(checkpoint_folder=tmp_path / "passes"):
        data = blocks.from_arrays(tmp_path / "data", X, block_rows=90)
        for unknown in (
            blocks.from_iterator(lambda: iter([X[:200], X[200:]])),
            data.keep(np.arange(5), np.ones(5), None),
        ):
            with pytest.raises(ParameterError, match=r"checkpoint_folder needs a whole folder of blocks.*fingerprint"):
                RankRC(**SEED).fit(unknown, Y)
    assert not (tmp_path / "passes").exists()


def test_what_a_killed_writer_left_does_not_stop_the_next_fit(tmp_path):
    """The header of a fit that was ended while it was written."""
    (tmp_path / "passes").mkdir()
    (tmp_path / "passes" / ".fit.json.0123456789abcdef.part").write_text("{")
    with rarefy.config_context(checkpoint_folder=tmp_path / "passes"):
        RankRC(**SEED).fit(blocks.from_arrays(tmp_path / "data", X, block_rows=90), Y)
    assert not (tmp_path / "passes").exists()
