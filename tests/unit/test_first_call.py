"""KernelFeatureSelector with its defaults: interactions in any units, its penalty, pruning, and a warning on noise."""

import warnings
from itertools import combinations

import numpy as np
import pytest

from feature_problems import plain_selector, two_class_problem
from rarefy.core.feature_weights.interactions import (
    _GLANCE,
    _NARROW,
    _all_triples,
    _balanced_rows,
    _best_triple,
    best_interactions,
)
from rarefy.core.feature_weights.problem import Solution
from rarefy.core.feature_weights.samples import hold_out, judge_labels
from rarefy.core.feature_weights.starts import pruned_search
from rarefy.exceptions import RarefyWarning
from rarefy.kernel import KernelFeatureSelector


def parity(n, d, order, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, np.prod(X[:, :order], axis=1) > 0


def checkerboard(n, d, seed):
    X = np.random.default_rng(seed).random((n, d))
    return X, np.floor(4.0 * X[:, :2]).sum(axis=1) % 2 > 0


def in_odd_units(X, seed=0):
    rng = np.random.default_rng(seed)
    return X * 10.0 ** rng.uniform(-3, 3, X.shape[1]) + rng.uniform(-9, 9, X.shape[1])


# What the first call finds


@pytest.mark.parametrize("units", [lambda X: X, in_odd_units])
@pytest.mark.parametrize(
    ("data", "order"),
    [(parity(150, 20, 2, 0), 2), (parity(250, 10, 3, 1), 3), (checkerboard(250, 15, 0), 2)],
)
def test_interactions_are_found_in_any_units(data, order, units):
    X, y = data
    model = KernelFeatureSelector(validation_fraction=None).fit(units(X), y)
    assert model.get_support(indices=True).tolist() == list(range(order))
    assert model.score(units(X), y) > 0.9


def test_a_checkerboard_needs_the_start_at_interactions():
    X, y = checkerboard(250, 30, 1)
    for init in ("ones", "scaled"):
        alone = KernelFeatureSelector(init=init, validation_fraction=None).fit(X, y)
        assert alone.get_support(indices=True).tolist() != [0, 1]
    best = KernelFeatureSelector(init="interactions", validation_fraction=None).fit(X, y)
    assert best.get_support(indices=True).tolist() == [0, 1]
    assert best.objective_ < alone.objective_


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_weights_and_samples_are_reported_in_both_units(kernel):
    X, y = parity(100, 5, 2, 0)
    model = KernelFeatureSelector(kernel=kernel, degree=2, validation_fraction=None).fit(X, y)
    X_units = X * [1e3, 1e-3, 7.0, 1.0, 2.0] + 5.0
    other = KernelFeatureSelector(kernel=kernel, degree=2, validation_fraction=None).fit(X_units, y)
    np.testing.assert_allclose(other.feature_weights_, model.feature_weights_, rtol=1e-4)
    np.testing.assert_allclose(other.raw_feature_weights_ * other.scale_, other.feature_weights_)
    np.testing.assert_allclose(other.scale_, X_units.std(axis=0))
    np.testing.assert_allclose(other.mean_, X_units.mean(axis=0))
    np.testing.assert_allclose(other.decision_function(X_units), model.decision_function(X), atol=1e-3)
    rows = {tuple(row) for row in np.round(X_units[:, other.feature_weights_ > 0], 6)}
    assert {tuple(row) for row in np.round(other.support_vectors_, 6)} <= rows


def test_the_automatic_penalty_grows_with_the_losses():
    X, y = parity(100, 4, 2, 0)
    y = X[:, 0] > np.median(X[:, 0])
    model = plain_selector(2.0, "auto").fit(X, y)
    assert model.mu_ == pytest.approx(2.0 * 100 / 30)
    assert plain_selector(2.0, "auto").fit(X, y, np.full(100, 3.0)).mu_ == pytest.approx(3.0 * model.mu_)
    assert plain_selector(2.0, 0.7).fit(X, y).mu_ == 0.7
    rare = X[:, 0] > np.quantile(X[:, 0], 0.9)  # a constant classifier errs on few samples
    assert plain_selector(2.0, "auto").fit(X, rare).mu_ < 0.5 * model.mu_


# Starts


@pytest.mark.parametrize("weighted", [False, True])
def test_alignments_are_those_of_plain_loops(weighted):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 6))
    problem = two_class_problem(X, rng.random(40) < 0.4, 1.0)
    if weighted:
        problem.classifiers.costs[:] = rng.integers(1, 3, 40)
    allowed = np.arange(6) != 2
    found = best_interactions(problem, allowed)
    rows = _balanced_rows(problem.classifiers.Y, np.random.default_rng(0))
    Y = problem.classifiers.Y[rows, 0] * problem.classifiers.costs[rows]
    Y = Y - Y.mean()
    Z = X[rows] / X.std(axis=0)

    def alignment(features):
        top = bottom = 0.0
        for i, j in combinations(range(len(rows)), 2):
            k = np.exp(-_NARROW * np.sum((Z[i, features] - Z[j, features]) ** 2))
            top, bottom = top + Y[i] * Y[j] * k, bottom + k * k
        return top / np.sqrt(bottom)

    usable = np.flatnonzero(allowed)
    for size, at in ((2, found.pair), (3, found.triple)):
        assert tuple(at) == max(combinations(usable, size), key=lambda s: alignment(list(s)))


def test_of_many_features_some_are_compared(monkeypatch):
    X, y = parity(100, 40, 2, 0)
    X[:, 7] += 2.0 * y  # the best alone
    monkeypatch.setattr("rarefy.core.feature_weights.interactions._IN_PAIRS", 6)
    monkeypatch.setattr("rarefy.core.feature_weights.interactions._IN_TRIPLES", 4)
    found = best_interactions(two_class_problem(X, y, 1.0), np.ones(40, dtype=bool))
    assert 7 in found.pair
    assert 7 in found.triple


def test_a_triple_that_some_pairs_of_samples_point_at_is_the_best_by_all_pairs():
    X, y = parity(250, 14, 3, 3)
    i, j = np.triu_indices(250, 1)
    assert len(i) > 2 * _GLANCE, "so that some pairs are compared first"
    K = np.exp(-_NARROW * (X[i] - X[j]) ** 2).T.astype(np.float32)
    agree = np.where(y[i] == y[j], 1.0, -1.0).astype(np.float32)
    triples, share = _all_triples(K, agree)
    np.testing.assert_array_equal(_best_triple(K, agree), triples[np.argmax(share)])
    assert _best_triple(K, agree).tolist() == [0, 1, 2]


def test_too_few_features_for_a_pair_or_a_triple():
    X, y = parity(60, 3, 1, 0)
    problem = two_class_problem(X, y, 1.0)
    for count in range(1, 4):
        found = best_interactions(problem, np.arange(3) < count)
        assert (found.pair is None) == (count < 2)
        assert (found.triple is None) == (count < 3)
    one = KernelFeatureSelector(validation_fraction=None).fit(X[:, :1], y)
    assert one.support_.all()


def test_rows_for_alignments_have_all_classes():
    Y = np.where(np.arange(5000) < 40, 1.0, -1.0)[:, None]
    rows = _balanced_rows(Y, np.random.default_rng(0))
    assert len(rows) == 300
    assert np.sum(rows < 40) == 40


# Pruning


def test_pruning_leaves_no_weight_below_its_share():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 12))
    y = X[:, 0] * X[:, 1] + 0.3 * X[:, 2] + 0.3 * rng.standard_normal(120) > 0
    whole, pruned = (plain_selector(1.0, 0.2, prune=share).fit(X, y) for share in (0.0, 0.4))
    share = pruned.feature_weights_ * X.std(axis=0)
    assert share[pruned.support_].min() >= 0.4 * share.max()
    assert pruned.support_.sum() < whole.support_.sum()
    assert not np.any(pruned.support_ & ~whole.support_)
    np.testing.assert_array_equal(pruned.history_[: len(whole.history_)], whole.history_)
    again = plain_selector(1.0, 0.2, init=np.where(pruned.support_, pruned.feature_weights_, 0.0)).fit(X, y)
    assert again.objective_ == pytest.approx(pruned.objective_, rel=1e-3), "it is learned again after pruning"


def test_pruning_ends_if_the_search_gives_all_features_weight_again():
    X, y = parity(60, 4, 2, 0)
    problem = two_class_problem(X, y, 1.0)
    calls = []

    def search(part, z):  # all weights but the first are small, as after a step of GMKL
        calls.append(len(z))
        weights = np.append(1.0, np.full(part.X.shape[1] - 1, 0.1))
        return Solution(weights, *problem.solve_classifiers(np.zeros(4)), (), 1, True)

    found = pruned_search(problem, search(problem, np.ones(4)), search, 0.2)
    assert calls == [4, 1]
    np.testing.assert_array_equal(found.z > 0.0, [True, False, False, False])


# Held-out samples


def test_noise_is_reported_and_signal_is_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((160, 6))
    with pytest.warns(RarefyWarning, match=r"found nothing that holds for other samples.* no better than chance"):
        model = KernelFeatureSelector().fit(X, rng.random(160) < 0.5)
    assert 0.2 < model.validation_score_ < 0.7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert KernelFeatureSelector().fit(X, X[:, 0] * X[:, 1] > 0).validation_score_ > 0.8
        assert np.isnan(KernelFeatureSelector(validation_fraction=None).fit(X, X[:, 0] > 0).validation_score_)
        few = np.arange(160) < 20  # no ten of them can be held out
        assert np.isnan(KernelFeatureSelector().fit(X + 3.0 * few[:, None], few).validation_score_)


def test_held_out_samples_are_a_share_of_each_class_and_the_penalty_is_in_proportion():
    X, _ = parity(200, 3, 1, 0)
    problem = two_class_problem(X, np.arange(200) < 50, 8.0)
    rest, held = hold_out(problem, 0.25)
    assert np.sum(held < 50) == 12
    assert len(held) == 49
    assert len(rest.X) == 151
    assert rest.classifiers.penalty.mu == pytest.approx(8.0 * 0.755, rel=0.02)
    np.testing.assert_array_equal(np.sort(np.concatenate([rest.X, X[held]]), axis=0), np.sort(X, axis=0))
    assert hold_out(problem, 0.19) is None


def test_distance_from_chance():
    rng = np.random.default_rng(0)
    labels = (np.arange(2000) < 200).astype(int)
    found = [judge_labels(labels, (rng.random(2000) < 0.3).astype(int), np.ones(2000)).deviations for _ in range(400)]
    assert abs(np.mean(found)) < 0.2
    assert np.std(found) == pytest.approx(1.0, abs=0.15)
    assert judge_labels(labels, labels, np.ones(2000)).deviations > 20.0
    assert judge_labels(labels, np.zeros(2000, dtype=int), np.ones(2000)).deviations == 0.0
    assert judge_labels(labels, np.zeros(2000, dtype=int), np.ones(2000)).accuracy == 0.9


def test_an_overfitted_kernel_is_reported():
    X = np.random.default_rng(0).standard_normal((60, 5))
    y = np.arange(60) % 2 == 0
    with pytest.warns(RarefyWarning, match=r"overfits: all training samples .* close to the identity"):
        model = plain_selector(100.0, 1e-3, init=np.full(5, 5.0), max_iter=1).fit(X, y)
    assert model.score(X, y) == 1.0
