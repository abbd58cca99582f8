"""KernelSubspace: coordinates, kernels, ways to sample, and what is said about bad input."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from rarefy.exceptions import DegenerateDataError, ParameterError, TruncatedRankWarning
from rarefy.kernel import KernelSubspace, SubspaceLPSVC, histogram_intersection_kernel, spline_kernel, wave_kernel


@pytest.fixture
def X():
    return np.random.default_rng(0).random((60, 4))


def test_all_points_and_all_dimensions_give_the_kernel_back(X):
    D = KernelSubspace(40, n_samples=60, gamma=8.0).fit_transform(X[:40].repeat(1, axis=0).tolist() + X[40:].tolist())
    K = rbf_kernel(X, gamma=8.0)
    full = KernelSubspace(60, n_samples=60, gamma=8.0).fit_transform(X)
    np.testing.assert_allclose(full @ full.T, K, atol=1e-8)
    # Rank 40 is the best approximation of that rank.
    lam = np.linalg.eigvalsh(K)[::-1]
    np.testing.assert_allclose(np.linalg.norm(D @ D.T - K), np.linalg.norm(lam[40:]), rtol=1e-6)


def test_coordinates_are_the_formula_of_the_paper(X):
    sample = np.array([3, 17, 4, 40, 41, 59, 8, 22])
    subspace = KernelSubspace(3, kernel="poly", degree=2, gamma=0.5, coef0=0.3, sampling=sample).fit(X)
    K = polynomial_kernel(X[sample], degree=2, gamma=0.5, coef0=0.3)
    lam, U = np.linalg.eigh(K)
    lam, d = lam[::-1][:3], (U * np.sqrt(np.maximum(lam, 0)))[:, ::-1][:, :3]
    expected = polynomial_kernel(X, X[sample], degree=2, gamma=0.5, coef0=0.3) @ d / lam
    got = subspace.transform(X)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-10)  # up to the sign of each vector
    np.testing.assert_allclose(np.abs(got[sample]), np.abs(d), atol=1e-10)  # the sampled points get the rows of D
    np.testing.assert_allclose(subspace.eigenvalues_, lam)
    np.testing.assert_array_equal(subspace.sample_indices_, sample)


@pytest.mark.filterwarnings("ignore:the kernel matrix:rarefy.exceptions.TruncatedRankWarning")  # sigmoid, wave
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "sigmoid", "laplacian", "linear", "cosine", "wave"])
def test_sparse_points_give_the_same_coordinates(X, kernel):
    X = X * (X > 0.5)
    model = KernelSubspace(2, n_samples=20, kernel=kernel, gamma=0.1, random_state=0)
    dense = model.fit(X).transform(X)
    for form in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        np.testing.assert_allclose(model.fit(form(X)).transform(form(X)), dense, atol=1e-9)


def test_precomputed_and_callable_are_the_same_as_the_name(X):
    gamma = 2.0
    by_name = KernelSubspace(5, n_samples=30, gamma=gamma, random_state=3).fit(X)
    K = rbf_kernel(X, gamma=gamma)
    known = KernelSubspace(5, n_samples=30, kernel="precomputed", random_state=3).fit(K)
    np.testing.assert_allclose(known.transform(K), by_name.transform(X), atol=1e-10)

    def own(u, v, width):
        return np.exp(-width * np.sum((u - v) ** 2))

    called = KernelSubspace(5, n_samples=30, kernel=own, kernel_params={"width": gamma}, random_state=3).fit(X)
    np.testing.assert_allclose(called.transform(X), by_name.transform(X), atol=1e-10)


@pytest.mark.parametrize("sampling", ["uniform", "kmeans", "leverage"])
def test_every_way_to_sample_is_reproducible(X, sampling):
    model = KernelSubspace(4, n_samples=10, gamma=1.0, sampling=sampling, random_state=5)
    np.testing.assert_array_equal(model.fit(X).transform(X), model.fit(X).transform(X))
    assert model.map_.shape == (10, 4)
    assert (model.sample_indices_ is None) == (sampling == "kmeans")


def test_leverage_finds_the_odd_points_that_a_uniform_sample_misses():
    rng = np.random.default_rng(0)
    X = np.vstack([1e-3 * rng.standard_normal((500, 3)), 5.0 * rng.standard_normal((5, 3))])

    def hits(way):
        model = KernelSubspace(n_samples=12, gamma=1.0, sampling=way)
        return np.mean([np.sum(model.set_params(random_state=s).fit(X).sample_indices_ >= 500) for s in range(10)])

    assert hits("leverage") > 3.0 > 1.0 > hits("uniform")


def test_weights_count_like_repeated_points(X):
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = KernelSubspace(4, gamma=1.0).fit(X, sample_weight=weights)
    repeated = KernelSubspace(4, gamma=1.0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-9)


def test_float32_is_kept(X):
    assert KernelSubspace(4).fit_transform(X.astype(np.float32)).dtype == np.float32


def test_eigenvalues_at_the_noise_floor_are_dropped_with_a_warning(X):
    with pytest.warns(TruncatedRankWarning, match="keeps 4 of 10 components"):
        model = KernelSubspace(10, kernel="linear").fit(X)
    assert model.n_components_ == 4
    np.testing.assert_allclose(model.transform(X) @ model.transform(X).T, X @ X.T)


def test_an_indefinite_kernel_is_repaired_and_said_so(X):
    with pytest.warns(TruncatedRankWarning, match="not positive semi-definite"):
        model = KernelSubspace(3, kernel="sigmoid", gamma=3.0, coef0=-2.0).fit(X)
    assert np.all(model.eigenvalues_ > 0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_samples": 61}, r"n_samples of KernelSubspace is 61, but X has only 60 rows"),
        ({"n_components": 11, "n_samples": 10}, r"n_components of KernelSubspace is 11, but 10 sampled points"),
        ({"n_components": 0}, r"n_components of KernelSubspace must be None or an integer >= 1; got 0"),
        ({"kernel": "gauss"}, r"kernel of KernelSubspace must be a callable or one of rbf"),
        ({"sampling": "random"}, r"sampling of KernelSubspace must be one of 'uniform'"),
        ({"sampling": [0, 1, 60]}, r"distinct row numbers from 0 to 59"),
        ({"sampling": [0, 1, 1]}, r"distinct row numbers"),
        ({"kernel": "precomputed"}, r"needs the square matrix"),
    ],
)
def test_bad_parameters_say_what_is_allowed(X, parameters, message):
    with pytest.raises(ParameterError, match=message):
        KernelSubspace(**parameters).fit(X)


def test_a_kernel_without_positive_eigenvalues_is_refused(X):
    with pytest.raises(DegenerateDataError, match="no positive eigenvalue"):
        KernelSubspace(kernel="precomputed").fit(-np.eye(5))


def test_a_kernel_matrix_that_is_not_symmetric_is_refused():
    with pytest.raises(ParameterError, match="not symmetric"):
        KernelSubspace(kernel="precomputed").fit(np.triu(np.ones((5, 5))))


def test_kmeans_needs_points():
    with pytest.raises(ParameterError, match="needs points, not a precomputed kernel"):
        KernelSubspace(kernel="precomputed", sampling="kmeans").fit(np.eye(5))


def test_histogram_intersection_is_the_sum_of_minima(X):
    expected = [[sum(min(a, b) for a, b in zip(u, v, strict=True)) for v in X[:7]] for u in X]
    np.testing.assert_allclose(histogram_intersection_kernel(X, X[:7]), expected)
    squared = [[sum(min(a**2, b**2) for a, b in zip(u, v, strict=True)) for v in X[:7]] for u in -X]
    np.testing.assert_allclose(histogram_intersection_kernel(-X, X[:7], power=2), squared)


def test_spline_is_the_integral_over_knots(X):
    # 1 + uv + the integral of (u - t)_+ (v - t)_+ over t >= 0 is the factor of one coordinate.
    t = np.linspace(0.0, 1.0, 20001)
    u, v = 0.8, 0.3
    integral = np.trapezoid(np.maximum(u - t, 0) * np.maximum(v - t, 0), t)
    np.testing.assert_allclose(spline_kernel([[u]], [[v]]), 1 + u * v + integral, rtol=1e-7)
    np.testing.assert_allclose(
        spline_kernel(X[:5]), np.prod([spline_kernel(X[:5, [j]]) for j in range(4)], axis=0), rtol=1e-12
    )
    with pytest.raises(ParameterError, match="coordinates >= 0 only"):
        spline_kernel([[-1.0]])


def test_wave_at_zero_and_elsewhere():
    K = wave_kernel([[0.0], [3.0]], theta=2.0)
    np.testing.assert_allclose(K, [[1.0, 2 / 3 * np.sin(1.5)], [2 / 3 * np.sin(1.5), 1.0]])


@pytest.mark.parametrize("kernel", [histogram_intersection_kernel, spline_kernel, lambda X: wave_kernel(X[:, :3])])
def test_additional_kernels_are_positive_semi_definite(X, kernel):
    assert np.linalg.eigvalsh(kernel(X))[0] > -1e-10


def test_blocks_do_not_change_the_result(X, monkeypatch):
    from rarefy.kernel import _kernels, _subspace

    before = KernelSubspace(4, kernel="spline", random_state=0).fit(X).transform(X)
    monkeypatch.setattr(_kernels, "_BLOCK_ENTRIES", 100)
    monkeypatch.setattr(_subspace, "_BLOCK_ENTRIES", 100)
    np.testing.assert_allclose(KernelSubspace(4, kernel="spline", random_state=0).fit(X).transform(X), before)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_width_may_be_the_mean_distance(weighted):
    X = np.random.default_rng(0).standard_normal((30, 4)) * [1.0, 2.0, 3.0, 0.1]
    weights = np.random.default_rng(1).integers(0, 3, 30).astype(float) if weighted else np.ones(30)
    space = KernelSubspace(5, gamma="mean_distance", random_state=0).fit(X, sample_weight=weights)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    assert 1 / space.gamma_ == pytest.approx(weights @ squared @ weights / weights.sum() ** 2)
    for Z in (X + 1e8, sp.csr_array(X)):  # far from the origin, and sparse
        assert KernelSubspace(gamma="mean_distance")._resolved_gamma(Z, weights) == pytest.approx(
            space.gamma_, rel=1e-6
        )
    same = KernelSubspace(5, gamma=space.gamma_, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(space.transform(X), same.transform(X))
    with pytest.raises(ParameterError, match=r"gamma of KernelSubspace must be .* None; got 'scale'"):
        KernelSubspace(gamma="scale").fit(X)
    with pytest.raises(ParameterError, match=r"gamma of SubspaceLPSVC must be .* None; got 'scale'"):
        SubspaceLPSVC(gamma="scale").fit(X, X[:, 0] > 0)
