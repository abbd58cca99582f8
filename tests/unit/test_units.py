"""Columns in different units: when and how they are standardised before a kernel compares samples."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from rarefy.exceptions import DegenerateKernelWarning, ParameterError
from rarefy.kernel import KernelSubspace, SubspaceLPSVC
from rarefy.kernel._extraction import _default_components, _number_of_landmarks
from rarefy.kernel._units import column_factors, column_variances, effective_share


@pytest.fixture
def X():
    """Three columns in units that differ by up to a million."""
    return np.random.default_rng(0).standard_normal((80, 3)) * [1e-3, 1.0, 1e3] + [5.0, 0.0, -1e4]


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_variances_are_weighted(form):
    X = np.random.default_rng(1).integers(-3, 4, (50, 6)) * np.array([1.0, 2.0, 0.0, 8.0, 0.5, 1.0])
    weights = np.random.default_rng(2).integers(0, 4, 50)
    expected = np.repeat(X, weights, axis=0).var(axis=0)
    np.testing.assert_allclose(column_variances(form(X), weights.astype(float)), expected, rtol=1e-6, atol=1e-12)


def test_variances_survive_a_large_mean():
    X = np.random.default_rng(1).standard_normal((500, 2)) + 1e7
    np.testing.assert_allclose(column_variances(X, np.ones(500)), X.var(axis=0), rtol=1e-8)


def test_the_effective_share_is_that_of_equal_columns():
    assert effective_share(np.ones(7)) == pytest.approx(1.0)
    assert effective_share(np.r_[1e300, np.ones(6)]) == pytest.approx(0.0)
    # k equal columns among k + m negligible ones
    for k, m in [(2, 3), (5, 15)]:
        assert effective_share(np.r_[np.ones(k), np.full(m, 1e-30)]) == pytest.approx((k - 1) / (k + m - 1))
    assert effective_share(np.array([3.0, 0.0])) == 1.0  # a column without variance does not count
    assert effective_share(np.array([4.0, 4.0, 0.0])) == pytest.approx(1.0)


def test_auto_standardises_where_few_columns_decide(X):
    assert column_factors("auto", X, column_variances(X, np.ones(80))) is not None
    pixels = load_digits().data
    assert column_factors("auto", pixels, column_variances(pixels, np.ones(len(pixels)))) is None
    sparse = sp.csr_array(X)
    variances = column_variances(sparse, np.ones(80))
    assert column_factors("auto", sparse, variances) is None
    np.testing.assert_allclose(column_factors(True, sparse, variances), 1 / np.sqrt(variances))


@pytest.mark.parametrize("landmarks", ["random", "kmeans", "leverage", "cholesky"])
def test_standardised_columns_are_those_of_a_scaler(X, landmarks):
    inside = KernelSubspace(10, n_landmarks=30, landmarks=landmarks, random_state=0).fit(X)
    Z = StandardScaler().fit_transform(X)
    before = KernelSubspace(10, n_landmarks=30, landmarks=landmarks, standardize=False, random_state=0).fit(Z)
    np.testing.assert_allclose(inside.scale_, X.std(axis=0))
    assert inside.gamma_ == pytest.approx(before.gamma_)
    assert before.scale_ is None
    np.testing.assert_allclose(np.abs(inside.transform(X)), np.abs(before.transform(Z)), atol=1e-8)
    np.testing.assert_allclose(inside.landmarks_, before.landmarks_ * X.std(axis=0) + X.mean(axis=0), rtol=1e-9)


def test_sparse_columns_are_scaled_on_request(X):
    sparse = sp.csr_array(np.where(X > 0, X, 0.0))
    model = KernelSubspace(5, standardize=True, random_state=0).fit(sparse)
    dense = KernelSubspace(5, standardize=True, random_state=0).fit(sparse.toarray())
    np.testing.assert_allclose(model.transform(sparse), dense.transform(sparse.toarray()), atol=1e-8)


def test_a_function_and_a_precomputed_kernel_get_what_was_given(X):
    seen = []

    def product(u, v):
        seen.append(u)
        return float(u @ v)

    with pytest.warns(DegenerateKernelWarning, match=r"a constant: .* Centre and scale the columns"):
        KernelSubspace(2, kernel=product).fit(X[:5])
    assert any(np.array_equal(u, X[0]) for u in seen)
    with pytest.raises(ParameterError, match="standardize=True of KernelSubspace needs samples, not a precomputed"):
        KernelSubspace(2, kernel="precomputed", standardize=True).fit(np.eye(5))


def test_single_precision_stays(X):
    assert (
        KernelSubspace(5, random_state=0).fit(X.astype(np.float32)).transform(X.astype(np.float32)).dtype == np.float32
    )


def test_units_do_not_change_the_classifier():
    X, y = load_wine(return_X_y=True)
    rng = np.random.default_rng(0)
    train = rng.permutation(len(y))[:120]
    test = np.setdiff1d(np.arange(len(y)), train)
    models = [SubspaceLPSVC(random_state=0).fit(Z[train], y[train]) for Z in (X, 100 * X, X * 2.0 ** np.arange(13))]
    scores = [m.score(Z[test], y[test]) for m, Z in zip(models, (X, 100 * X, X * 2.0 ** np.arange(13)), strict=True)]
    assert scores[0] == scores[1] == scores[2]
    assert scores[0] > 0.93  # SVC on the raw columns: 0.69
    plain = SubspaceLPSVC(standardize=False, random_state=0).fit(X[train], y[train]).score(X[test], y[test])
    assert plain < 0.85


@pytest.mark.parametrize(("factor", "word"), [(1e4, "the identity: .* smaller gamma"), (1e-6, "a constant: .* larger")])
def test_a_kernel_matrix_that_says_nothing_is_reported(factor, word):
    X = np.random.default_rng(0).standard_normal((60, 4))
    with pytest.warns(DegenerateKernelWarning, match=f"landmarks is numerically {word}"):
        SubspaceLPSVC(gamma=1.0, standardize=False).fit(factor * X, X[:, 0] > 0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DegenerateKernelWarning)
        SubspaceLPSVC().fit(factor * X, X[:, 0] > 0)


@pytest.mark.parametrize(("n", "components", "landmarks"), [(60, 60, 60), (1500, 150, 1000)])
def test_sizes_follow_the_number_of_samples(n, components, landmarks):
    X = np.random.default_rng(0).standard_normal((n, 30)).astype(np.float32)
    subspace = KernelSubspace(random_state=0).fit(X)
    assert (subspace.n_components_, len(subspace.landmark_indices_)) == (components, landmarks)


def test_default_sizes_are_bounded():
    assert [_default_components(n) for n in (10, 999, 2500, 10**6)] == [100, 100, 250, 400]
    assert _number_of_landmarks(10**6, 10**6, None, None, "") == 2000
    assert _number_of_landmarks(10**6, 10**6, 1000, None, "") == 5000
