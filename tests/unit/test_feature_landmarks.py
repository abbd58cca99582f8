"""The landmark form of kernel feature selection: against the exact form, differences and plain loops."""

import numpy as np
import pytest

from feature_problems import two_class_problem
from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.core.feature_weights.landmarks import (
    LandmarkProblem,
    LandmarkSettings,
    choose_landmarks,
    landmark_selection,
)
from rarefy.core.feature_weights.samples import decision_scores, sample_rows
from rarefy.exceptions import ParameterError, RarefyWarning
from rarefy.kernel import KernelFeatureSelector


def interaction(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 0] * X[:, 1] > 0


@pytest.fixture
def small():
    X, y = interaction(150, 5)
    return two_class_problem(X, y, 3.0)


def test_with_all_samples_as_landmarks_it_is_the_exact_form(small):
    z = np.array([0.5, 0.7, 0.9, 0.6, 0.4])
    value, _ = LandmarkProblem(small, np.arange(150)).evaluate(z)
    assert value == pytest.approx(small.solve_classifiers(z)[2], rel=1e-5)


def test_the_gradient_is_that_of_differences(small):
    at, z = LandmarkProblem(small, choose_landmarks(small, 40, 0)), np.array([0.5, 0.7, 0.9, 0.6, 0.4])
    gradient, h = at.evaluate(z)[1], 1e-2
    for k, e in enumerate(np.eye(5)):
        difference = (at.evaluate(z + h * e)[0] - at.evaluate(z - h * e)[0]) / (2.0 * h)
        assert gradient[k] == pytest.approx(difference, rel=1e-2, abs=0.05)


def test_slopes_are_those_of_plain_loops(small):
    at, z = LandmarkProblem(small, choose_landmarks(small, 20, 0)), np.array([0.5, 0.7, 0.9, 0.6, 0.4])
    at.evaluate(z)
    X, P, of = small.X, small.X[at.landmarks], small.classifiers
    K, Kp = (FeatureKernel(A, P).matrix(z) for A in (X, P))
    _, G, _ = of.losses(K @ at.B + at.b)
    expected = np.zeros(5)
    for k in range(5):
        expected[k] = -np.sum(K * (G @ at.B.T) * (X[:, k, None] - P[:, k]) ** 2)
        expected[k] -= 0.5 * np.sum(Kp * (at.B @ at.B.T) * (P[:, k, None] - P[:, k]) ** 2)
    np.testing.assert_allclose(at.slopes(z, Kp), expected, rtol=1e-3, atol=1e-3)
    as_is, in_all = at.slopes_of_all(small, Kp)
    np.testing.assert_allclose(as_is, expected, rtol=1e-3, atol=1e-3)
    share = [np.sum(one == of.Y) / np.sum(of.Y[at.landmarks] == one) for one in of.Y[at.landmarks, 0]]
    pairs = K * (G @ (G[at.landmarks, 0] * share)[None, :])
    expected = [0.5 * np.sum(pairs * (X[:, k, None] - P[:, k]) ** 2) for k in range(5)]
    np.testing.assert_allclose(in_all, expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("seed", [2, 3, 4, 5])
def test_partners_in_a_sum_are_brought_in(seed):
    X = np.random.default_rng(seed).standard_normal((2000, 12))
    problem = two_class_problem(X, np.sin(2.0 * X[:, 0]) + X[:, 1] > 0, 60.0)
    found = landmark_selection(problem, 0.7 * np.eye(12)[0], choose_landmarks(problem, 60, 0), LandmarkSettings())
    assert np.flatnonzero(found.support).tolist() == [0, 1]


def test_features_that_lower_the_objective_are_brought_in_and_small_weights_dropped():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((600, 6))
    y = X[:, 0] + X[:, 1] + 0.4 * X[:, 2] > 0
    problem = two_class_problem(X, y, 5.0)
    landmarks, start = choose_landmarks(problem, 60, 0), np.array([0.4, 0.0, 0.0, 0.0, 0.0, 0.0])
    found = landmark_selection(problem, start, landmarks, LandmarkSettings())
    assert found.support[[0, 1]].all()
    assert np.all(np.diff(found.history) < 0.0)
    alone = landmark_selection(problem, start, landmarks, LandmarkSettings(rounds=0))
    assert np.flatnonzero(alone.support).tolist() == [0]
    dropped = landmark_selection(problem, start, landmarks, LandmarkSettings(prune=0.8))
    assert 0 < dropped.support.sum() < found.support.sum()
    nothing = landmark_selection(problem, np.zeros(6), landmarks, LandmarkSettings())
    assert not nothing.support.any()


def test_landmarks_and_samples_have_all_classes():
    X, _ = interaction(2000, 2)
    problem = two_class_problem(X, np.arange(2000) < 30, 4.0)
    landmarks = choose_landmarks(problem, 50, 0)
    assert len(landmarks) == 50
    assert np.sum(landmarks < 30) == 25
    some, others = sample_rows(problem, 400)
    assert len(some.X) + len(others) == 2000
    assert np.sum(some.classifiers.Y > 0) == 30
    assert len(some.X) == 30 + 394
    assert some.classifiers.penalty.mu == pytest.approx(4.0 * some.classifiers.constant / problem.classifiers.constant)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_an_estimator_with_landmarks(n_classes, monkeypatch):
    monkeypatch.setattr("rarefy.kernel._feature_model.SAMPLE", 150)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 8)) * [1e3, 1e-3, 1, 1, 1, 1, 1, 1]
    y = (X[:, 0] * X[:, 1] > 0) + (n_classes == 3) * 2 * (X[:, 2] > 1.0)
    y = np.minimum(y, n_classes - 1)
    model = KernelFeatureSelector(n_landmarks=80).fit(X, y)
    assert set(model.get_support(indices=True)) == set(range(n_classes))
    assert model.score(X, y) > 0.85
    assert model.validation_score_ > 0.6
    assert model.dual_coef_.shape == (1 if n_classes == 2 else 3, 80)
    assert np.isnan(model.curvature_)
    path = KernelFeatureSelector(n_landmarks=80).mu_path(X, y, [model.mu_, 1e6])
    np.testing.assert_array_equal(path.models[0].support_, model.support_)
    assert not path.models[1].support_.any()


def test_when_landmarks_are_used(monkeypatch):
    X, y = interaction(260, 4)
    exact = KernelFeatureSelector(n_landmarks=None).fit(X, y)
    for parameters in ({}, {"n_landmarks": 260}):
        other = KernelFeatureSelector(**parameters).fit(X, y)
        np.testing.assert_array_equal(other.feature_weights_, exact.feature_weights_)
    monkeypatch.setattr("rarefy.kernel._feature_model.LARGEST", 200)
    monkeypatch.setattr("rarefy.kernel._feature_model.LANDMARKS", 50)
    assert KernelFeatureSelector().fit(X, y).dual_coef_.shape == (1, 50)
    assert KernelFeatureSelector(kernel="poly", degree=2).fit(X, y).dual_coef_.shape != (1, 50)
    with pytest.raises(
        ParameterError, match=r"n_landmarks of KernelFeatureSelector must be None or 'auto' with .*poly"
    ):
        KernelFeatureSelector(kernel="poly", n_landmarks=50).fit(X, y)


def test_noise_is_reported_with_landmarks(monkeypatch):
    monkeypatch.setattr("rarefy.kernel._feature_model.SAMPLE", 100)
    rng = np.random.default_rng(0)
    with pytest.warns(RarefyWarning, match="no better than chance"):
        KernelFeatureSelector(mu=1.0, n_landmarks=40, tol=0.01).fit(
            rng.standard_normal((500, 4)), rng.random(500) < 0.5
        )


def test_predictions_in_blocks_are_those_of_one(monkeypatch):
    X, y = interaction(100, 4)
    model = KernelFeatureSelector(validation_fraction=None).fit(X, y)
    before = model.decision_function(X)
    sizes = []

    def counted(X, *args):
        sizes.append(len(X))
        return FeatureKernel(X, *args)

    monkeypatch.setattr("rarefy.core.feature_weights.samples.FeatureKernel", counted)
    monkeypatch.setattr("rarefy.core.feature_weights.samples._ENTRIES", 7 * len(model.support_vectors_))
    np.testing.assert_allclose(model.decision_function(X), before, rtol=1e-9)
    assert max(sizes) == 7
    assert sum(sizes) == 100
    assert decision_scores(X[:0, :2], np.ones(2), X[:3, :2], np.ones((1, 3)), np.zeros(1), model._profile).shape == (
        0,
        1,
    )
