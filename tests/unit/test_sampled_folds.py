"""Folds of very many rows: every row is held out, and what is learned from is bounded."""

import numpy as np
from sklearn.model_selection import StratifiedKFold

from rarefy.tables import Table
from rarefy.workflows import models_of_tables
from rarefy.workflows.labels import SampledFolds, folds_of
from rarefy.workflows.models_of_tables import rank_table, ranking_code
from rarefy.workflows.reading import Reading


def test_every_row_is_held_out_and_classes_are_bounded():
    y = np.repeat([0, 1], [900, 40])
    held = []
    for (train, test), (all_others, same) in zip(
        SampledFolds(4, 100, 0).split(y[:, None], y),
        StratifiedKFold(4, shuffle=True, random_state=0).split(y[:, None], y),
        strict=True,
    ):
        held.append(test)
        np.testing.assert_array_equal(test, same)
        assert np.isin(train, all_others).all()
        np.testing.assert_array_equal(np.bincount(y[train]), [100, 30])
    np.testing.assert_array_equal(np.sort(np.concatenate(held)), np.arange(len(y)))


def test_few_rows_are_all_learned_from():
    y = np.repeat([0, 1], [900, 40])
    assert isinstance(folds_of(y, "y", 0, 720), StratifiedKFold)
    assert isinstance(folds_of(y, "y", 0, 719), SampledFolds)


def test_a_ranking_says_what_its_held_out_scores_come_from(monkeypatch):
    rng = np.random.default_rng(0)
    y = np.repeat([0.0, 1.0], [300, 30])
    X = rng.standard_normal((330, 3)) + y[:, None]
    table = Table.from_arrays(X, list("abc"), labels=y)
    assert rank_table(table).most_learned is None
    monkeypatch.setattr(models_of_tables, "MOST_LEARNED", 100)
    made = rank_table(table)
    assert made.most_learned == 100
    assert np.isfinite(made.held_out).all()
    code = ranking_code(Reading("t.csv"), made)
    assert "cv=SampledFolds(n_splits=5, most=100, random_state=0)" in code
    assert "from rarefy.workflows.labels import SampledFolds" in code
