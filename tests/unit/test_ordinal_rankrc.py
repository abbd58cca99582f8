"""OrdinalRankRC against sums over level pairs; its cuts."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import rarefy
from ranking_problems import hinge, ordered_data
from rarefy.exceptions import DegenerateDataError, RarefyWarning
from rarefy.metrics import mauc_score
from rarefy.ranking import OrdinalRankRC


def test_value_is_the_sum_over_level_pairs():
    rng = np.random.default_rng(0)
    y = rng.choice([10, 20, 30, 40], 80, p=[0.6, 0.2, 0.1, 0.1])
    X = rng.standard_normal((80, 3)) + y[:, None] / 15
    model = OrdinalRankRC(1e-2, gamma=0.2, basis="rare").fit(X, y)
    assert set(model.basis_) == set(np.flatnonzero(y != 10))
    f, K = model.decision_function(X), rbf_kernel(X[model.basis_], gamma=0.2)
    pairs = [hinge(f[i] - f[j]) for i in range(80) for j in range(80) if y[i] > y[j]]
    beta = model.dual_coef_[0]
    assert model.objective_ == pytest.approx(np.mean(pairs) + 0.5e-2 * beta @ K @ beta, rel=1e-9)
    assert model.score(X, y) == pytest.approx(mauc_score(y, f))
    predicted = model.predict(X)
    np.testing.assert_array_equal(np.unique(predicted, return_counts=True)[1], np.unique(y, return_counts=True)[1])


def test_a_path_has_fitted_models_with_their_own_cuts():
    X, y = ordered_data(0, 80)
    path = OrdinalRankRC(basis="rare").alpha_path(X, y, [1e-2, 1.0])
    for alpha, model, scores, labels in zip([1e-2, 1.0], path.models, path.scores(X), path.predict(X), strict=True):
        single = OrdinalRankRC(alpha, basis="rare").fit(X, y)
        assert model.objective_ == pytest.approx(single.objective_, rel=1e-5)
        np.testing.assert_allclose(model.cuts_, single.cuts_, atol=0.02)
        np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-12)
        np.testing.assert_array_equal(labels, model.predict(X))
    with pytest.warns(ConvergenceWarning, match="OrdinalRankRC did not reach the minimum for 1 of 1 alphas"):
        OrdinalRankRC(max_iter=1, basis="rare").alpha_path(X, y, [1e-6])


def test_blocks_minimise_the_same_function():
    rng = np.random.default_rng(0)
    y = rng.choice([0, 1, 2], 1000, p=[0.9, 0.06, 0.04])
    X = rng.standard_normal((1000, 3)) + 0.7 * np.c_[y, (y == 2) * -1.5, np.zeros(1000)]
    exact = OrdinalRankRC(1e-2, basis="rare").fit(X, y).objective_
    with rarefy.config_context(block_size=50):
        inexact = (
            OrdinalRankRC(1e-2, solver="stochastic", max_iter=20, random_state=0, basis="rare").fit(X, y).objective_
        )
    assert exact <= inexact < 1.005 * exact


def test_equal_samples_have_equal_levels_alone_and_with_others():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.choice([0, 1, 2], 60, p=[0.6, 0.25, 0.15])
        X = (rng.integers(0, 3, (60, 2)) + y[:, None]).astype(float)
        model = OrdinalRankRC(0.01, basis="rare").fit(X, y)
        all_at_once = model.predict(X)
        np.testing.assert_array_equal(all_at_once, np.concatenate([model.predict(x[None]) for x in X]))
        for x in np.unique(X, axis=0):
            assert len(set(all_at_once[np.all(x == X, axis=1)])) == 1


def test_a_weight_equals_repetitions_for_cuts():
    X, y = ordered_data(0, 40)
    times = np.random.default_rng(1).integers(1, 4, 40)
    weighted = OrdinalRankRC(0.1, basis="all").fit(X, y, times.astype(float))
    repeated = OrdinalRankRC(0.1, basis="all").fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.cuts_, repeated.cuts_, atol=1e-4)


def test_samples_without_weight_do_not_count():
    rng = np.random.default_rng(2)
    X, y = ordered_data(1, 80)
    weights = (rng.random(80) < 0.6).astype(float)
    here = weights > 0
    cuts = [OrdinalRankRC(0.01, basis="rare").fit(*data).cuts_ for data in ((X, y, weights), (X[here], y[here]))]
    np.testing.assert_allclose(*cuts)
    levels = rng.integers(0, 4, 80)
    inner = ((levels == 1) | (levels == 2)).astype(float)
    assert set(OrdinalRankRC(0.01, basis="rare").fit(X, levels, inner).predict(X)) <= {1, 2}


def test_where_nothing_is_ranked_the_most_frequent_level_is_predicted():
    y = np.repeat([0, 1, 2], [10, 30, 20])
    with pytest.warns(RarefyWarning, match="OrdinalRankRC gives all samples the same score"):
        model = OrdinalRankRC(basis="rare").fit(np.ones((60, 2)), y)
    assert set(model.predict(np.ones((5, 2)))) == {1}


def test_one_level_is_refused():
    X, y = ordered_data(0, 60)
    with pytest.raises(DegenerateDataError, match="at least two levels"):
        OrdinalRankRC(basis="rare").fit(np.eye(4), np.ones(4))
    with pytest.raises(DegenerateDataError, match=r"OrdinalRankRC needs at least two levels .* weight\), 1"):
        OrdinalRankRC(basis="rare").fit(X, y, 1.0 * (y == 1))
    with pytest.raises(DegenerateDataError, match=r"mauc_score needs samples of at least two levels.* has 1 "):
        OrdinalRankRC(basis="rare").fit(X, y).score(X[y == 1], y[y == 1])


def test_mauc_refuses_one_level_and_scalars():
    with pytest.raises(DegenerateDataError, match="at least two levels"):
        mauc_score([1, 1], [0.2, 0.3])
    with pytest.raises(DegenerateDataError, match="has 1 "):
        mauc_score([1, 2], [0.2, 0.3], sample_weight=[1, 0])
    with pytest.raises(ValueError, match="'y_score' parameter of mauc_score"):
        mauc_score([1, 2], 0.5)
