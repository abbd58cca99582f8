"""Kernels: their values, what is recorded of each, and the width that a word means."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel
from sklearn.svm import SVC

from rarefy.exceptions import ParameterError
from rarefy.kernel import _functions, histogram_intersection_kernel, spline_kernel, wave_kernel
from rarefy.kernel._gaussian import gaussian_kernel
from rarefy.kernel._kernels import KERNELS, BoundKernel, bind_kernel, resolve_gamma
from rarefy.kernel._units import column_variances


@pytest.fixture
def X():
    return np.random.default_rng(0).random((60, 4))


def bound(kernel, X, **parameters):
    defaults = {"standardize": False, "gamma": None, "degree": 3, "coef0": 1, "kernel_params": None}
    return bind_kernel(kernel, X, np.ones(X.shape[0]), **(defaults | parameters))


def test_histogram_intersection_is_the_sum_of_minima(X):
    expected = [[sum(min(a, b) for a, b in zip(u, v, strict=True)) for v in X[:7]] for u in X]
    np.testing.assert_allclose(histogram_intersection_kernel(X, X[:7]), expected)
    squared = [[sum(min(a**2, b**2) for a, b in zip(u, v, strict=True)) for v in X[:7]] for u in -X]
    np.testing.assert_allclose(histogram_intersection_kernel(-X, X[:7], power=2), squared)


def test_spline_is_the_integral_over_knots(X):
    # 1 + uv + the integral of (u - t)_+ (v - t)_+ over t >= 0 is the factor of one coordinate.
    t = np.linspace(0.0, 1.0, 20001)
    u, v = 0.8, 0.3
    integral = np.sum(np.maximum(u - t, 0) * np.maximum(v - t, 0)) * (t[1] - t[0]) - 0.5 * u * v * (t[1] - t[0])
    np.testing.assert_allclose(spline_kernel([[u]], [[v]]), 1 + u * v + integral, rtol=1e-7)
    np.testing.assert_allclose(
        spline_kernel(X[:5]), np.prod([spline_kernel(X[:5, [j]]) for j in range(4)], axis=0), rtol=1e-12
    )
    with pytest.raises(ParameterError, match="coordinates >= 0 only"):
        spline_kernel([[-1.0]])


def test_wave_at_zero_and_elsewhere():
    K = wave_kernel([[0.0], [3.0]], theta=2.0)
    np.testing.assert_allclose(K, [[1.0, 2 / 3 * np.sin(1.5)], [2 / 3 * np.sin(1.5), 1.0]])


def distances_one_by_one(X, Y):
    return np.array([[float(np.sum((u - v) ** 2)) for v in Y.astype(float)] for u in X.astype(float)])


@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("given", [np.float64, np.float32])
@pytest.mark.parametrize("wanted", [None, np.float64, np.float32])
def test_gaussian_kernel_equals_distances_taken_one_by_one(shift, given, wanted):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((40, 6)) + shift).astype(given)
    Y = X[5:20]
    out = None if wanted is None else np.full((40, 15), np.nan, dtype=wanted)
    K = gaussian_kernel(X, Y, 0.2, out=out)
    assert K.dtype == (given if wanted is None else wanted)
    assert out is None or K is out
    # Centred, so that digits are lost to the spread of the samples only, not to their distance from zero.
    np.testing.assert_allclose(K, np.exp(-0.2 * distances_one_by_one(X, Y)), rtol=1e-13 if K.dtype == float else 1e-5)
    assert K.max() <= 1.0


def test_gaussian_kernel_of_far_samples_is_not_computed_in_single_precision():
    X = np.array([[0.0], [1000.0], [1000.01]], dtype=np.float32)
    K = gaussian_kernel(X, X, 1.0)
    assert K.dtype == np.float32
    np.testing.assert_allclose(K, np.exp(-distances_one_by_one(X, X)), atol=1e-7)


def test_gaussian_kernel_of_sparse_samples_is_that_of_dense_ones(X):
    S = sp.csr_array(X)
    np.testing.assert_allclose(gaussian_kernel(S, S[:5], 0.7), gaussian_kernel(X, X[:5], 0.7), rtol=1e-12)
    out = np.zeros((60, 5))
    assert gaussian_kernel(S, S[:5], 0.7, out=out) is out
    np.testing.assert_allclose(out, gaussian_kernel(X, X[:5], 0.7), rtol=1e-12)
    np.testing.assert_allclose(gaussian_kernel(X), rbf_kernel(X), rtol=1e-12)


@pytest.mark.parametrize("kernel", [histogram_intersection_kernel, spline_kernel])
def test_blocks_do_not_change_kernel_values(X, monkeypatch, kernel):
    before = kernel(X, X[:7])
    monkeypatch.setattr(_functions, "_BLOCK_ENTRIES", 100)
    np.testing.assert_array_equal(kernel(X, X[:7]), before)


@pytest.mark.parametrize("name", KERNELS)
def test_what_is_recorded_of_a_kernel_is_true(name):
    X = np.random.default_rng(1).random((40, 3))  # three columns and positive, so that every kernel is defined
    X[0] = 0.0
    kernel, known = bound(name, X), KERNELS[name]
    K = kernel(X)
    if known.unit_diagonal:
        np.testing.assert_allclose(np.diagonal(K), 1.0)
    np.testing.assert_allclose(kernel.diagonal(X), np.diagonal(K), atol=1e-12)
    if known.positive(3, {"degree": 3, "coef0": 1}):
        assert np.linalg.eigvalsh(K)[0] > -1e-8 * np.abs(K).max()
    if known.takes_sparse:
        np.testing.assert_allclose(kernel(sp.csr_array(X), sp.csr_array(X[:5])), K[:, :5], atol=1e-7)
    if known.nonnegative_input:
        with pytest.raises(ValueError, match=r">= 0|[Nn]egative|non-negative"):
            kernel(X - 0.5)


def test_kernels_that_are_not_positive_are_known():
    X = np.random.default_rng(0).standard_normal((30, 5))
    for kernel in (bound("sigmoid", X), bound("wave", X), bound("poly", X, degree=2.5), bound("poly", X, coef0=-1)):
        assert not kernel.is_positive(X, np.arange(30))
    for kernel in (bound("rbf", X), bound("poly", X), bound(lambda u, v: float(u @ v), X), bound("wave", X[:, :3])):
        assert kernel.is_positive(X[:, :3], np.arange(30))
    looked_up = BoundKernel("precomputed")
    assert looked_up.is_positive(X @ X.T, np.arange(30))
    assert not looked_up.is_positive(-(X @ X.T), np.arange(30))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_values_that_are_looked_up_are_those_of_the_matrix(X, form):
    K = rbf_kernel(X)
    K[K < 0.9] = 0.0
    kernel, places, M = BoundKernel("precomputed"), np.array([3, 1, 40]), np.arange(6.0).reshape(3, 2)
    np.testing.assert_array_equal(kernel(form(K), places), K[:, places])
    np.testing.assert_allclose(kernel.product(form(K), places, M), K[:, places] @ M)
    np.testing.assert_array_equal(kernel.between(form(K), [0, 5], places), K[np.ix_([0, 5], places)])
    np.testing.assert_array_equal(kernel.diagonal(form(K), np.array([5, 0])), K[[5, 0], [5, 0]])


def test_parameters_of_the_kernel_take_precedence_over_others(X):
    kernel = bound("poly", X, gamma=0.1, degree=2, kernel_params={"gamma": 0.3})
    np.testing.assert_allclose(kernel(X), (0.3 * X @ X.T + 1) ** 2)
    assert kernel.parameters["gamma"] == 0.3


def test_parameters_of_the_kernel_are_copied(X):
    given = {"theta": 1.0}
    kernel = bound("wave", X, kernel_params=given)
    given["theta"] = 5.0
    np.testing.assert_array_equal(kernel(X), wave_kernel(X, theta=1.0))


def test_no_width_is_the_default_of_scikit_learn(X):
    np.testing.assert_allclose(bound("rbf", X)(X), rbf_kernel(X), rtol=1e-14)  # rounding differs, the width does not
    np.testing.assert_array_equal(bound("chi2", X)(X), chi2_kernel(X))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("word", ["scale", "auto"])
def test_scale_and_auto_are_those_of_scikit_learn(X, word, form):
    theirs = SVC(gamma=word).fit(X, X[:, 0] > 0.5)._gamma
    assert resolve_gamma(word, form(X), np.zeros(0)) == pytest.approx(theirs)


@pytest.mark.parametrize("weighted", [False, True])
def test_mean_distance_is_over_all_pairs(weighted):
    X = np.random.default_rng(0).standard_normal((30, 4)) * [1.0, 2.0, 3.0, 0.1]
    weights = np.random.default_rng(1).integers(0, 3, 30).astype(float) if weighted else np.ones(30)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    expected = weights.sum() ** 2 / (weights @ squared @ weights)
    assert resolve_gamma("mean_distance", X, column_variances(X, weights)) == pytest.approx(expected)
    for Z in (X + 1e8, sp.csr_array(X)):  # far from the origin, and sparse
        found = resolve_gamma("mean_distance", Z, column_variances(Z, weights))
        assert found == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("word", ["scale", "mean_distance"])
def test_equal_samples_have_width_one(word):
    X = np.full((5, 3), 7.0)
    assert resolve_gamma(word, X, column_variances(X, np.ones(5))) == 1.0


@pytest.mark.parametrize("scale", [1.0, 3.0, 30.0, 1e4])
def test_single_precision_is_close_for_samples_near_and_far(scale):
    """Rows far from the centre, landmarks far from it, and pairs of both that are close to each other."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((60, 10)), rng.standard_normal((40, 10))
    X[::5] *= scale
    Y[::4] *= scale
    Y[-8:] = X[:8] + 0.05
    exact = np.exp(-0.05 * ((X[:, None] - Y) ** 2).sum(axis=2))
    found = gaussian_kernel(X, Y, 0.05, out=np.empty((60, 40), dtype=np.float32))
    np.testing.assert_allclose(found, exact, atol=5e-6)
