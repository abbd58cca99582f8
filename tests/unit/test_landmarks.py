"""Rules that choose landmarks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from rarefy.core.linalg.landmarks import pivoted_cholesky, ridge_leverage
from rarefy.exceptions import ParameterError
from rarefy.kernel._kernels import BoundKernel
from rarefy.kernel._landmarks import RULES, Pool, check_rule, choose_landmarks, given_landmarks

RBF = BoundKernel("rbf", {"gamma": 0.5})


def pool(X, kernel=RBF, **options):
    """Coordinates by the plain formula: kernel values times the inverse root of the pilot's kernel matrix."""

    def coordinates(some, pilot):
        lam, U = np.linalg.eigh(kernel.between(X, pilot, pilot))
        return kernel.between(X, some, pilot) @ U / np.sqrt(np.maximum(lam, 1e-12))

    return Pool(X, kernel, **({"samples": np.arange(X.shape[0]), "coordinates": coordinates} | options))


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((80, 3))


@pytest.mark.parametrize("rule", RULES)
def test_landmarks_have_a_weight_and_are_distinct(X, rule):
    weights = (np.arange(80) % 3 > 0).astype(float)
    found = choose_landmarks(rule, pool(X, weights=weights), 15, np.random.default_rng(1))
    if rule == "kmeans":
        assert found.indices is None
        assert found.places.shape == (15, 3)
        return
    assert len(set(found.indices.tolist())) == 15
    assert weights[found.indices].all()
    np.testing.assert_array_equal(found.places, X[found.indices])


@pytest.mark.parametrize("rule", RULES)
def test_given_landmarks_are_kept_and_others_are_of_the_pool(X, rule):
    first, samples = np.array([70, 3]), np.arange(10, 60)
    found = choose_landmarks(rule, pool(X, first=first, samples=samples), 8, np.random.default_rng(2))
    assert found.places.shape == (10, 3)
    assert all((found.places == X[i]).all(axis=1).any() for i in first)
    if rule != "kmeans":
        assert set(first) <= set(found.indices)
        assert set(found.indices) - set(first) <= set(samples)


def test_a_precomputed_kernel_gives_the_same_landmarks(X):
    K = rbf_kernel(X, gamma=0.5)
    for rule in set(RULES) - {"kmeans"}:
        by_samples, looked_up = (
            choose_landmarks(rule, p, 12, np.random.default_rng(3)).indices
            for p in (pool(X), pool(K, BoundKernel("precomputed")))
        )
        np.testing.assert_array_equal(by_samples, looked_up)


def test_sparse_samples_give_the_same_landmarks(X):
    X = X * (X > 0)
    for rule in set(RULES) - {"kmeans"}:
        dense, sparse = (choose_landmarks(rule, pool(Z), 12, np.random.default_rng(3)) for Z in (X, sp.csr_array(X)))
        np.testing.assert_array_equal(dense.indices, sparse.indices)


def test_cholesky_takes_the_sample_farthest_from_the_span_of_those_before(X):
    K = rbf_kernel(X, gamma=0.5)
    chosen = choose_landmarks("cholesky", pool(X), 10, np.random.default_rng(0)).indices.tolist()
    for k in range(1, 10):
        before = chosen[:k]
        residual = np.diagonal(K) - np.sum(
            K[:, before] * np.linalg.solve(K[np.ix_(before, before)], K[before]).T, axis=1
        )
        assert residual[chosen[k]] == pytest.approx(residual.max())


def test_cholesky_ends_when_all_samples_are_in_the_span():
    X = np.repeat(np.random.default_rng(0).standard_normal((4, 6)), 5, axis=0)
    K = X @ X.T
    assert len(pivoted_cholesky(np.diagonal(K), lambda i: K[i], 10, np.zeros(0, dtype=np.intp))) == 4


@pytest.mark.parametrize("bad", [[0, 1, 60], [0, 1, 1], [-1, 2], [], [[0, 1]], [0.5, 1.0], [True, False], ["a"]])
def test_row_numbers_must_be_distinct_and_of_the_data(bad):
    with pytest.raises(ParameterError, match=r"landmarks of RankRC, .* distinct row numbers from 0 to 59"):
        given_landmarks(bad, 60, "landmarks", "RankRC")


def test_centres_of_clusters_need_samples():
    with pytest.raises(ParameterError, match=r"landmarks='kmeans' of RankRC needs samples, not a precomputed kernel"):
        check_rule("kmeans", "precomputed", "RankRC")
    check_rule("kmeans", "rbf", "RankRC")
    check_rule(np.arange(3), "precomputed", "RankRC")


def test_cholesky_takes_given_samples_first_and_copies_of_them_never():
    K = rbf_kernel(np.random.default_rng(0).standard_normal((40, 3)), gamma=0.5)
    chosen = pivoted_cholesky(K.diagonal(), lambda i: K[:, i], 12, np.array([7, 3]))
    assert list(chosen[:2]) == [7, 3]
    for k in range(2, 12):  # by the definition: residuals after projection on the samples so far
        before = chosen[:k]
        residual = K.diagonal() - np.sum(K[:, before] * np.linalg.solve(K[np.ix_(before, before)], K[before]).T, axis=1)
        assert residual[chosen[k]] == pytest.approx(residual.max(), abs=1e-9)
    twice = np.tile(np.random.default_rng(1).standard_normal((5, 3)), (2, 1))
    K = rbf_kernel(twice, gamma=0.5)
    assert sorted(pivoted_cholesky(K.diagonal(), lambda i: K[:, i], 10, np.array([0, 5, 1])) % 5) == [0, 1, 2, 3, 4]


def test_ridge_leverage_is_exact_where_the_pilot_is_all_samples():
    rng = np.random.default_rng(0)
    A, weights = rng.standard_normal((30, 4)), rng.random(30)
    diagonal = np.sum(A * A, axis=1) + 0.5  # something is outside
    ridge = weights @ np.full(30, 0.5) / 3
    Z = np.hstack([A, np.sqrt(0.5) * np.eye(30)])
    M = Z.T @ (weights[:, None] * Z) * np.block([[np.ones((4, 4)), np.zeros((4, 30))], [np.zeros((30, 34))]])
    plain = np.array([z @ np.linalg.solve(M + ridge * np.eye(34), z) for z in Z])
    scores = ridge_leverage(A, diagonal, weights, 3)
    np.testing.assert_allclose(scores - 1e-3 * plain.mean(), plain, rtol=1e-10)
