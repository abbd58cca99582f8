"""Feature weights inside a Laplacian kernel: against scikit-learn's kernel and plain means over pairs."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.svm import SVC

from feature_problems import crossed, plain_selector, two_class_problem
from rarefy.core.feature_weights.kernel import FeatureKernel, Profile
from rarefy.core.feature_weights.search import METHODS
from rarefy.core.feature_weights.starts import nearly_identity, scaled_start
from rarefy.exceptions import ParameterError
from rarefy.kernel import KernelFeatureSelector

LAPLACIAN = Profile("laplacian")


def test_the_kernel_is_that_of_scikit_learn():
    X, Y = np.random.default_rng(0).standard_normal((2, 30, 4))
    z = np.array([0.3, 0.0, 1.0, 2.0])
    K = FeatureKernel(X, Y, LAPLACIAN).matrix(z)
    np.testing.assert_allclose(K, laplacian_kernel(X * z**2, Y * z**2, gamma=1.0), rtol=1e-12)


@pytest.mark.parametrize("method", [method for method in METHODS if method != "gmkl"])
def test_every_method_finds_two_features_and_trains_an_ordinary_svm(method):
    X, y = crossed()
    model = plain_selector(2.0, 1.0, method=method, kernel="laplacian").fit(X, y)
    assert model.get_support(indices=True).tolist() == [1, 4]
    assert model.curvature_ > 0.0
    K = laplacian_kernel(X * model.feature_weights_**2, gamma=1.0)
    svc = SVC(C=2.0, kernel="precomputed", tol=1e-8).fit(K + 2 * 0.5 / 2.0 * np.eye(80), y)
    scores = K[:, svc.support_] @ svc.dual_coef_[0] + svc.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-4)


def test_scaled_start_gives_mean_distance_one():
    X, y = crossed()
    problem = replace(two_class_problem(X, y == 1, 1.0), profile=LAPLACIAN)
    z = scaled_start(problem)
    assert np.mean([np.sum(z**2 * np.abs(a - b)) for a in X for b in X]) == pytest.approx(1.0, rel=1e-10)
    problem.classifiers.costs[:] = np.random.default_rng(0).uniform(0.5, 2.0, 80)
    z, w = scaled_start(problem), problem.classifiers.costs
    mean = np.average([[np.sum(z**2 * np.abs(a - b)) for a in X] for b in X], weights=np.outer(w, w))
    assert mean == pytest.approx(1.0, rel=1e-10)


def test_the_kernel_matrix_of_distant_samples_is_nearly_the_identity():
    samples = np.arange(5.0)[:, None]  # the nearest other sample has distance 1
    narrow = float(np.sqrt(np.log(10.0)))  # where its kernel value is a tenth
    assert nearly_identity(samples, np.array([1.01 * narrow]), LAPLACIAN)
    assert not nearly_identity(samples, np.array([0.99 * narrow]), LAPLACIAN)
    assert nearly_identity(2.0 * samples, np.array([0.72 * narrow]), LAPLACIAN), "distances count once, not squared"


def test_a_weight_times_its_scale_does_not_depend_on_the_unit():
    X, y = crossed(n=120)
    units = np.array([1e3, 1e-3, 7.0, 1.0, 2.0, 0.1])
    problem = replace(two_class_problem(X, y == 1, 1.0), profile=LAPLACIAN)
    other = replace(problem, X=X * units)
    z = np.linspace(0.2, 1.0, 6)
    z_other = z / np.sqrt(units)
    np.testing.assert_allclose(other.kernel().matrix(z_other), problem.kernel().matrix(z), rtol=1e-9)
    np.testing.assert_allclose(z_other * other.scales, z * problem.scales)
    np.testing.assert_allclose(other.X / other.units, problem.X / problem.units)


def test_the_first_call_finds_interactions_in_any_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 15))
    y = X[:, 3] * X[:, 8] > 0
    X = X * 10.0 ** rng.uniform(-3, 3, 15) + rng.uniform(-9, 9, 15)
    model = KernelFeatureSelector(kernel="laplacian").fit(X, y)
    assert model.get_support(indices=True).tolist() == [3, 8]
    assert model.validation_score_ > 0.8
    np.testing.assert_allclose(model.raw_feature_weights_, model.feature_weights_ / np.sqrt(X.std(axis=0)))
    K = laplacian_kernel(X * model.raw_feature_weights_**2, gamma=1.0)
    rows = [int(np.flatnonzero(np.all(np.isclose(X[:, [3, 8]], s), axis=1))[0]) for s in model.support_vectors_]
    np.testing.assert_allclose(model.decision_function(X), K[:, rows] @ model.dual_coef_[0] + model.intercept_)


def test_screening_finds_an_effect_that_is_not_monotonic():
    X = np.random.default_rng(0).standard_normal((150, 60))
    y = np.abs(X[:, 40]) > 0.7
    model = KernelFeatureSelector(kernel="laplacian", init="scaled", screening=10, validation_fraction=None).fit(X, y)
    assert model.get_support(indices=True).tolist() == [40]


def test_what_the_weights_keep_is_certified():
    X, y = crossed()
    model = KernelFeatureSelector(mu=1.0, kernel="laplacian", validation_fraction=None).fit(X, y)
    certificate = model.certify(X, y)
    Z = (X - model.mean_) / model.scale_
    full, kept = (laplacian_kernel(Z * w, gamma=1.0) for w in (np.ones(6), model.feature_weights_**2))
    assert certificate.verify(full, kept, y)


def test_there_is_no_landmark_form():
    X, y = crossed()
    with pytest.raises(ParameterError, match=r"n_landmarks of .* with kernel='laplacian' or 'poly'.*; got 20"):
        KernelFeatureSelector(kernel="laplacian", n_landmarks=20).fit(X, y)
