"""KernelFeatureSelectorCV with its defaults: which columns it finds, and how much it computes for them."""

import numpy as np
import pytest

from rarefy.core.feature_weights import selection
from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.kernel import KernelFeatureSelectorCV


def parity(seed, n=120, d=10):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 0] * X[:, 1] > 0


def in_odd_units(X):
    return X * 10.0 ** np.random.default_rng(0).uniform(-3, 3, X.shape[1])


@pytest.mark.parametrize("units", [lambda X: X, in_odd_units])
def test_exactly_the_features_of_an_interaction_are_found_in_any_units(units):
    X, y = parity(3)
    model = KernelFeatureSelectorCV().fit(units(X), y)
    assert model.get_support(indices=True).tolist() == [0, 1]
    assert model.score(units(X), y) > 0.9
    assert model.held_out_score_ > 0.85


def test_a_noisy_rule_keeps_few_features():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 15))
    y = X[:, 0] + X[:, 1] + 0.7 * rng.standard_normal(120) > 0
    model = KernelFeatureSelectorCV().fit(X, y)
    assert model.support_[[0, 1]].all()
    assert model.support_.sum() <= 5


def test_small_values_of_C_are_tried():
    """With classes that overlap they predict better."""
    X, y = parity(0, n=60, d=4)
    model = KernelFeatureSelectorCV(mus=[1.0], cv=2).fit(X, y)
    np.testing.assert_array_equal(model.Cs_, [1 / 16, 1 / 4, 1.0, 4.0, 16.0])


def test_folds_compute_few_kernel_matrices_and_no_curvature(monkeypatch):
    """A path from every start for every combination in every fold would need a multiple of these."""
    counts = {"matrices": 0, "curvatures": 0}
    matrix, curvature = FeatureKernel.matrix, selection.smallest_curvature

    def counted_matrix(*given):
        counts["matrices"] += 1
        return matrix(*given)

    def counted_curvature(*given):
        counts["curvatures"] += 1
        return curvature(*given)

    monkeypatch.setattr(FeatureKernel, "matrix", counted_matrix)
    monkeypatch.setattr(selection, "smallest_curvature", counted_curvature)
    X, y = parity(0)
    model = KernelFeatureSelectorCV().fit(X, y)
    assert np.isfinite(model.cv_scores_).sum() > 50
    assert 0 < counts["matrices"] < 600
    assert counts["curvatures"] <= 2
