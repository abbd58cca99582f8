"""Curves over numbers of columns, and how many columns are chosen without a number."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from trials.subsets import subset_trial

import rarefy
from rarefy.exceptions import ParameterError
from rarefy.selection import BestSubsetSelector


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = rng.standard_normal((60, 40))
    X[:, :4] += 1.2 * (y[:, None] - 0.5)
    return X, y


@pytest.fixture(scope="module")
def curve(wide):
    return rarefy.best_subset_curve(*wide, n_features=[8, 1, 3, 40], C=0.1)


def test_objectives_fall_bounds_hold_and_every_point_is_verified(wide, curve):
    X, y = wide
    assert curve.n_features.tolist() == [1, 3, 8, 40]
    assert np.all(np.diff(curve.objective) <= 0)
    assert np.all(np.diff(curve.lower_bound) <= 1e-6)  # a dual point bounds every number
    assert np.all(curve.lower_bound <= curve.objective)
    assert np.all((curve.optimality > 0.5) & (curve.optimality <= 1.0))
    assert all(c.verify(X, y) for c in curve.certificates)
    assert curve.optimality[-1] > 0.9999  # of all columns there is one choice
    assert curve.objective[0] < curve.empty
    one = BestSubsetSelector(8, C=0.1, max_nodes=0).fit(X, y).certificate_
    assert curve.lower_bound[2] <= one.objective
    assert one.lower_bound <= curve.objective[2] * (1 + 1e-9)


def test_tables_words_and_pictures(wide, curve):
    frame = curve.to_frame()
    assert list(frame.n_features) == [1, 3, 8, 40]
    assert list(frame.columns)[:4] == ["n_features", "objective", "lower_bound", "optimality"]
    assert len(str(curve).splitlines()) == 5
    assert repr(curve).startswith("BestSubsetCurve(n_features=[1, 3, 8, 40]")
    labels = [text.get_text() for text in curve.plot().get_legend().get_texts()]
    assert labels[:2] == ["reached by the chosen columns", "no choice can beat this (proved)"]
    enough = curve.fewest(0.5)
    assert enough in curve.n_features
    assert curve.certificates[list(curve.n_features).index(enough)].objective_ratio >= 0.5
    assert curve.fewest(1.1) is None


def test_names_sparse_data_and_what_is_not_a_number_of_columns(wide):
    X, y = wide
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(40)])
    named = rarefy.best_subset_curve(frame, y, n_features=[2], C=0.1).certificates[0]
    assert all(name.startswith("gene") for name in named.names)
    sparse = rarefy.best_subset_curve(sp.csr_array(X), y, n_features=[2], C=0.1).certificates[0]
    assert sparse.objective == pytest.approx(named.objective, rel=1e-6)
    for wrong in ([0], [41], [1.5], [], [[1]], ["a"]):
        with pytest.raises(ParameterError, match="integers from 1 to 40"):
            rarefy.best_subset_curve(X, y, n_features=wrong)
    default = rarefy.best_subset_curve(X[:, :5], y, C=0.1, max_iter=5)
    assert default.n_features[0] == 1
    assert default.n_features[-1] == 5


def test_the_fewest_columns_that_keep_a_certified_share(wide):
    X, y = wide
    model = BestSubsetSelector("auto", target={"objective": 0.6}, C=0.1, max_nodes=0).fit(X, y)
    r = int(model.support_.sum())
    assert model.certificate_.objective_ratio >= 0.6 * (1 - 1e-3)
    fewer = BestSubsetSelector(r - 1, C=0.1, max_nodes=0).fit(X, y)
    assert fewer.certificate_.objective_ratio < 0.6
    for wrong in ({"margin": 0.5}, {"objective": 1.5}, {"objective": "much"}, {}):
        with pytest.raises(ParameterError, match="share in"):
            BestSubsetSelector("auto", target=wrong).fit(X, y)


def test_cross_validation_takes_few_columns_that_predict(wide):
    X, y = wide
    model = BestSubsetSelector("auto", C=None, cv=3, max_nodes=0).fit(X, y)
    scores = model.cv_results_["mean_test_score"]
    sizes = model.cv_results_["n_features"]
    r = int(model.support_.sum())
    assert r in sizes
    best = int(np.argmax(scores))
    assert scores[list(sizes).index(r)] >= scores[best] - model.cv_results_["std_test_score"][best]
    assert r <= sizes[best]
    assert set(np.flatnonzero(model.support_)) & {0, 1, 2, 3}
    numbers = BestSubsetSelector("auto", C=None, cv=3, max_nodes=0).fit(X, X[:, 0] - X[:, 1])
    assert set(np.flatnonzero(numbers.support_)) == {0, 1}


def test_the_rule_for_C_does_not_depend_on_units(wide):
    X, y = wide
    assert pytest.approx(1.0) == BestSubsetSelector(3, C=None, max_nodes=0).fit(X, y).C_ * 40
    raw = BestSubsetSelector(3, C=None, standardize=False, max_nodes=0, max_iter=2)
    spread = np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    assert raw.fit(X, y).C_ * spread == pytest.approx(1.0)
    assert raw.fit(1e3 * X + 5.0, y).C_ * spread == pytest.approx(1e-6)
    assert raw.fit(sp.csr_array(X), y).C_ * spread == pytest.approx(1.0)


def test_whole_numbers_with_many_values_are_numbers(wide):
    X, _ = wide
    measured = np.round(20 * X[:, 0])
    assert not hasattr(BestSubsetSelector(2, max_nodes=0, max_iter=2).fit(X, measured), "classes_")
    assert len(BestSubsetSelector(2, max_nodes=0, max_iter=2).fit(X[:20, :6], np.round(X[:20, 0])).classes_) > 2


def test_bounds_hold_against_all_choices_of_random_problems():
    for seed in range(12):
        assert subset_trial(seed)[1] == []


def test_intercepts_far_from_all_samples_do_not_overflow():
    assert subset_trial(1_000_028)[1] == []  # numpy's warnings are errors here
