"""The stability index, and the report over resamples."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.svm import LinearSVC

import rarefy
from rarefy.core.statistics.stability import stability
from rarefy.datasets import make_topics
from rarefy.exceptions import FewerFeaturesWarning, ParameterError
from rarefy.selection import (
    BestSubsetSelector,
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    RandomSelector,
)


def plain_index(Z):
    """Definition 4 of Nogueira, Sechidis and Brown, from the 0/1 matrix."""
    d = Z.shape[1]
    variance = Z.var(axis=0, ddof=1)
    k = Z.sum(axis=1).mean()
    return 1 - variance.mean() / (k / d * (1 - k / d))


def plain_variance(Z):
    """Theorem 9, term by term."""
    M, d = Z.shape
    p, sizes = Z.mean(axis=0), Z.sum(axis=1)
    k, phi = sizes.mean(), plain_index(Z)
    terms = [
        (np.mean(Z[i] * p) - sizes[i] * k / d**2 + phi / 2 * (2 * k * sizes[i] / d**2 - sizes[i] / d - k / d + 1))
        / (k / d * (1 - k / d))
        for i in range(M)
    ]
    return 4 / M**2 * np.sum((np.array(terms) - np.mean(terms)) ** 2)


@given(st.integers(0, 2**32 - 1), st.integers(2, 12), st.integers(2, 30))
def test_the_index_equals_its_definition(seed, M, d):
    Z = (np.random.default_rng(seed).random((M, d)) < 0.4).astype(float)
    if Z.sum() in (0, M * d):
        return
    found = stability([np.flatnonzero(row) for row in Z], d)
    assert found.index == pytest.approx(plain_index(Z))
    np.testing.assert_allclose(found.frequency, Z.mean(axis=0))
    half = 1.959963984540054 * np.sqrt(plain_variance(Z))
    low, high = max(-1, plain_index(Z) - half), min(1, plain_index(Z) + half)
    np.testing.assert_allclose(found.interval, (low, high), atol=1e-9)


def test_agreement_chance_and_nothing_to_choose():
    same = stability([np.array([1, 4])] * 5, 10)
    assert same.index == pytest.approx(1.0)
    assert same.interval == pytest.approx((1.0, 1.0))
    rng = np.random.default_rng(0)
    chance = [stability([rng.choice(50, 10, replace=False) for _ in range(10)], 50).index for _ in range(200)]
    assert abs(np.mean(chance)) < 0.01
    assert np.isnan(stability([np.arange(4)] * 3, 4).index)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    # Features chosen independently with known probabilities: the index of the population is known.
    rng = np.random.default_rng(1)
    p = rng.beta(0.3, 0.6, 60)
    truth = 1 - np.mean(p * (1 - p)) / (p.mean() * (1 - p.mean()))
    hits = 0
    for _ in range(300):
        Z = rng.random((60, 60)) < p
        low, high = stability([np.flatnonzero(row) for row in Z], 60).interval
        hits += low <= truth <= high
    assert 0.88 <= hits / 300 <= 0.99


@pytest.fixture(scope="module")
def topics():
    return make_topics(40, 1000, random_state=0)


@pytest.mark.parametrize("selector", [BSSSelector(80), LeverageScoreSelector(80), InformationGainSelector(20)])
def test_the_number_of_workers_does_not_matter(topics, selector):
    one, two = (
        rarefy.selection_stability(selector, topics.data, topics.target, 6, n_jobs=jobs, random_state=3)
        for jobs in (1, 2)
    )
    assert one.to_dict() == two.to_dict()
    other = rarefy.selection_stability(selector, topics.data, topics.target, 6, random_state=4)
    assert not np.array_equal(other.frequency, one.frequency)


def test_random_choices_are_unstable_even_with_one_seed_in_the_selector(topics):
    report = rarefy.selection_stability(RandomSelector(100, random_state=0), topics.data, n_splits=20, random_state=0)
    assert abs(report.stability) < 0.05


def test_report_in_all_forms(topics, capsys):
    frame = pd.DataFrame(topics.data.toarray(), columns=[f"<{w}>" for w in topics.feature_names])
    report = rarefy.selection_stability(InformationGainSelector(5), frame, pd.Series(topics.target), cv=KFold(4))
    np.testing.assert_array_equal(report.n_selected, [5] * 4)
    assert capsys.readouterr().err == ""
    with rarefy.config_context(progress=True):
        again = rarefy.selection_stability(InformationGainSelector(5), frame, pd.Series(topics.target), cv=KFold(4))
    assert "resampling [########################] 4/4" in capsys.readouterr().err
    assert again.to_dict() == report.to_dict()
    name, share = report.top(1)[0]
    assert name.startswith("<")
    assert 0 < share <= 1
    assert "stability" in str(report)
    assert repr(report).startswith("StabilityReport(stability")
    assert "&lt;" in report._repr_html_()
    assert json.loads(json.dumps(report.to_dict()))["stability"] == report.stability
    axes = report.plot(5)
    assert len(axes.patches) == 5
    assert report.plot(3, ax=axes) is axes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_splits": 1}, r"'n_splits' parameter of selection_stability must be an int .* \[2, inf\). Got 1"),
        ({"confidence": 1.0}, "'confidence' .* Got 1.0"),
        ({"train_size": 0.0}, "'train_size' .* Got 0.0"),
        ({"cv": ShuffleSplit(1)}, "at least two training sets; got one"),
        ({"selector": LinearSVC()}, "'selector' .* implementing 'fit' and 'get_support'"),
    ],
)
def test_bad_arguments_are_explained(topics, options, message):
    with pytest.raises(ParameterError, match=message):
        rarefy.selection_stability(**({"selector": RandomSelector(5), "X": topics.data} | options))


def test_fewer_features_than_asked_for_are_counted_and_not_warned_of(topics):
    selector = LeverageScoreSelector(80)
    report = rarefy.selection_stability(selector, topics.data, n_splits=3, random_state=0)
    assert np.all(report.n_selected < 80)
    with pytest.warns(FewerFeaturesWarning):
        selector.fit(topics.data)


def test_reports_can_be_hashed_and_asked_for_a_number_of_features_only():
    X = np.random.default_rng(0).standard_normal((40, 20))
    report = rarefy.selection_stability(BSSSelector(5, rank=3), X, n_splits=3, random_state=0)
    assert len({report, report}) == 1
    assert report != rarefy.selection_stability(BSSSelector(5, rank=3), X, n_splits=3, random_state=0)
    for call in (report.top, report.plot):
        with pytest.raises(ParameterError, match=r"'k' parameter of StabilityReport\.top must be an int .* Got 0"):
            call(0)


def test_whole_numbers_that_are_measured_are_not_stratified():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = np.round(100.0 * X[:, 0])
    assert len(np.unique(y)) > 20
    selector, options = BestSubsetSelector(2, max_nodes=0), {"n_splits": 3, "random_state": 0}
    assert rarefy.selection_stability(selector, X, y, **options).n_selected.tolist() == [2] * 3
    rare = np.repeat([0, 1, 2], [30, 29, 1])  # a class of one sample
    assert len(rarefy.selection_stability(selector, X, rare, **options).n_selected) == 3
