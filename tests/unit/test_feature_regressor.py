"""KernelFeatureRegressor: against kernel ridge regression, differences and its own promises."""

import warnings

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

from rarefy import blocks
from rarefy.core.feature_weights.kernel import Profile
from rarefy.core.feature_weights.landmarks import LandmarkProblem, choose_landmarks
from rarefy.core.feature_weights.penalties import L1Penalty
from rarefy.core.feature_weights.reduced_point import ReducedPoint
from rarefy.core.feature_weights.regressors import explained, response_problem
from rarefy.exceptions import RarefyWarning
from rarefy.kernel import KernelFeatureRegressor


def product(n=150, d=10, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 3] * X[:, 8]


@pytest.mark.parametrize("factor", [1.0, 1e4])
def test_two_features_that_matter_together_are_found_in_any_units(factor):
    X, y = product()
    units = 10.0 ** np.linspace(-3, 3, 10)
    model = KernelFeatureRegressor().fit(X * units, factor * y + 7.0)
    assert model.get_support(indices=True).tolist() == [3, 8]
    assert model.score(X * units, factor * y + 7.0) > 0.8
    assert model.validation_score_ > 0.5
    assert model.curvature_ > 0.0
    assert model.mu_ == pytest.approx(150 / 15)


def test_the_function_is_that_of_kernel_ridge_regression():
    X = product(80)[0][:, :4]
    y = X[:, 0] * X[:, 1] - X[:, 2]
    model = KernelFeatureRegressor(2.0, 0.5, standardize=False, prune=0.0, validation_fraction=None).fit(X, y)
    K = rbf_kernel(X * model.feature_weights_, gamma=1.0)
    # The intercept is free here and fixed there: its value is taken out of the responses.
    ridge = KernelRidge(alpha=1.0 / (2.0 * 2.0), kernel="precomputed").fit(K, y - model.intercept_[0])
    np.testing.assert_allclose(model.predict(X), ridge.predict(K) + model.intercept_[0], atol=1e-6)
    assert abs(model.dual_coef_.sum()) < 1e-6


def test_the_gradient_is_that_of_differences():
    X, y = product(60, 9)
    costs = np.random.default_rng(1).uniform(0.5, 2.0, 60)
    problem = response_problem(X, y, costs, C=1.5, penalty=L1Penalty(0.7), profile=Profile())
    z, h = np.linspace(0.2, 0.6, 9), 1e-5

    def at(z):
        return ReducedPoint(problem.kernel(), problem.classifiers, z, None)

    here = at(z)
    assert here.value == pytest.approx(problem.solve_classifiers(z)[2])
    for e in np.eye(9):
        ahead, behind = at(z + h * e), at(z - h * e)
        assert here.gradient @ e == pytest.approx((ahead.value - behind.value) / (2 * h), rel=1e-5, abs=1e-5)
        np.testing.assert_allclose(
            here.hessian_product(e), (ahead.gradient - behind.gradient) / (2 * h), rtol=1e-4, atol=1e-4
        )


def test_weights_are_repetitions_and_the_order_does_not_matter():
    X, y = product(60)
    rng = np.random.default_rng(0)
    times, shuffled = rng.integers(0, 3, 60), rng.permutation(60)
    weighted = KernelFeatureRegressor(validation_fraction=None).fit(X, y, times)
    repeated = KernelFeatureRegressor(validation_fraction=None).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.feature_weights_, repeated.feature_weights_, rtol=1e-8)
    permuted = KernelFeatureRegressor(validation_fraction=None).fit(X[shuffled], y[shuffled], times[shuffled])
    np.testing.assert_allclose(weighted.predict(X), permuted.predict(X), rtol=1e-6)


def test_noise_is_reported_and_signal_is_not():
    X, y = product()
    noise = np.random.default_rng(5).standard_normal(150)
    with pytest.warns(RarefyWarning, match="explains none of their variance"):
        KernelFeatureRegressor(mu=1.0).fit(X, noise)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(KernelFeatureRegressor().fit(X[:40], X[:40, 0]).validation_score_)
    with pytest.warns(RarefyWarning, match="selected no feature"):
        constant = KernelFeatureRegressor().fit(X, np.full(150, 3.0))
    np.testing.assert_allclose(constant.predict(X), 3.0)
    with pytest.raises(ValueError, match="zero"):  # by scikit-learn, in versions that check it
        KernelFeatureRegressor().fit(X, y, np.zeros(150))


def test_explained_variance():
    y = np.array([1.0, 2.0, 4.0])
    assert explained(y, y, np.ones(3)) == 1.0
    assert explained(y, np.full(3, y.mean()), np.ones(3)) == pytest.approx(0.0)
    assert explained(np.ones(3), np.ones(3), np.ones(3)) == 0.0


def small_response_problem(n=120):
    X = product(n)[0][:, :5]
    y = X[:, 0] * X[:, 1]
    return response_problem(X, y / y.std(), np.ones(n), C=1.0, penalty=L1Penalty(2.0), profile=Profile("rbf"))


def test_landmarks_that_are_all_samples_give_the_exact_form():
    problem, z = small_response_problem(), np.array([0.5, 0.7, 0.3, 0.2, 0.4])
    at = LandmarkProblem(problem, np.arange(120))
    value, gradient = at.evaluate(z)
    assert value == pytest.approx(problem.solve_classifiers(z)[2], rel=1e-4)
    part = LandmarkProblem(problem, choose_landmarks(problem, 30, 0))
    gradient, h = part.evaluate(z)[1], 1e-2
    for k, e in enumerate(np.eye(5)):
        difference = (part.evaluate(z + h * e)[0] - part.evaluate(z - h * e)[0]) / (2.0 * h)
        assert gradient[k] == pytest.approx(difference, rel=2e-2, abs=0.1)


def test_a_step_ends_at_the_minimum_along_its_line():
    of = small_response_problem().classifiers
    rng = np.random.default_rng(0)
    F, moved = rng.standard_normal(120), rng.standard_normal(120)
    moved *= -np.sign(moved @ (F - of.Y[:, 0]))

    def value(s):
        return of.losses_of(0, F + s * moved)[0] + 0.3 * s + 0.5 * 2.0 * s**2

    best = of.length(0, F, moved, 0.3, 2.0, 4.0)
    assert 0.0 < best < 4.0
    assert value(best) <= min(value(best - 1e-3), value(best + 1e-3))
    assert of.length(0, F, moved, 0.3, 2.0, 0.01) == 0.01
    assert of.length(0, F, -moved, 0.3, 2.0, 4.0) == 0.0


@pytest.mark.parametrize("form", ["array", "parts", "blocks"])
def test_many_samples_have_a_landmark_form(form, monkeypatch):
    for name, size in (
        ("SAMPLE", 150),
        ("LARGEST", 300),
        ("LANDMARKS", 60),
        ("PART", 400 if form == "parts" else 5000),
    ):
        monkeypatch.setattr(f"rarefy.kernel._feature_model.{name}", size)
    X, _ = product(1500, seed=1)
    y = 100.0 * X[:, 1] * X[:, 4] + 7.0
    data = blocks.from_iterator(lambda: (X[i : i + 400] for i in range(0, 1500, 400))) if form == "blocks" else X
    model = KernelFeatureRegressor(init="interactions").fit(data, y)
    assert model.get_support(indices=True).tolist() == [1, 4]
    assert model.score(data, y) > 0.9
    assert model.validation_score_ > 0.5
    assert model.dual_coef_.shape == (1, 60)
    assert model.mu_ == pytest.approx(1500 / 15)
    assert np.isnan(model.curvature_)
    np.testing.assert_allclose(model.predict(data), model.predict(X), rtol=1e-9)
    few = KernelFeatureRegressor(n_landmarks=40, init="interactions", validation_fraction=None).fit(X[:250], y[:250])
    assert few.dual_coef_.shape == (1, 40)
