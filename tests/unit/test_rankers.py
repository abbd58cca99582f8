"""Solvers of ranking problems, without estimators."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from ranking_problems import rare_data
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking.rankers import rank_sparsely, whitening
from rarefy.core.solvers.bundle import bundle
from rarefy.core.solvers.simplex_qp import simplex_qp
from rarefy.ranking import RankRC


def test_one_norm_is_optimal_and_sparse():
    X, y = rare_data()
    K = rbf_kernel(X, X[y == 1], gamma=0.2)
    found = rank_sparsely(DenseRows(K), PairLoss(Pairs.of(y)), 3e-3, tol=1e-9)
    assert found.converged
    state = PairLoss(Pairs.of(y)).at(K @ found.beta)
    g = K.T @ state.gradient
    np.testing.assert_allclose(g[found.beta != 0], -3e-3 * np.sign(found.beta[found.beta != 0]), atol=2e-5)
    assert np.all(np.abs(g[found.beta == 0]) <= 3e-3 + 2e-5)
    assert 0 < np.count_nonzero(found.beta) < 15
    model = RankRC(3e-3, penalty="l1", gamma=0.2, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.dual_coef_[0], found.beta, atol=1e-3)


def test_whitening_makes_the_kernel_matrix_the_identity_and_leaves_out_copies():
    X = np.repeat(np.random.default_rng(0).standard_normal((6, 2)), 2, axis=0)
    K = rbf_kernel(X)
    T = whitening(K)
    assert T.shape == (12, 6)
    np.testing.assert_allclose(T.T @ K @ T, np.eye(6), atol=1e-10)
    np.testing.assert_allclose(K @ T @ T.T @ K, K, atol=1e-10)


def test_cuts_prove_how_close_they_are():
    rng = np.random.default_rng(0)
    A, b = rng.standard_normal((30, 4)), rng.standard_normal(30)

    def loss(f):  # the sum of the five largest absolute values
        top = np.argsort(-np.abs(f - b))[:5]
        g = np.zeros(30)
        g[top] = np.sign(f - b)[top]
        return float(np.abs(f - b)[top].sum()), g

    found = bundle(loss, lambda w: A @ w, lambda g: A.T @ g, 0.5, np.ones(4), tol=1e-8, max_iter=500)
    assert found.converged

    def value(w):
        return loss(A @ w)[0] + 0.25 * float(w @ w)

    assert found.value == pytest.approx(value(found.w), rel=1e-12)
    tries = [minimize(value, found.w + 0.1 * rng.standard_normal(4), method="Nelder-Mead").fun for _ in range(5)]
    assert min(tries) >= found.value - found.gap - 1e-12
    assert min(tries) <= found.value + 1e-2
    early = bundle(loss, lambda w: A @ w, lambda g: A.T @ g, 0.5, np.ones(4), tol=1e-8, max_iter=3)
    assert not early.converged
    assert early.value - early.gap <= found.value <= early.value


def test_weights_on_a_simplex_from_any_start():
    rng = np.random.default_rng(1)
    for size in (1, 3, 8):
        half = rng.standard_normal((size, 3))
        K, q = half @ half.T, rng.standard_normal(size)
        start = rng.dirichlet(np.ones(size)) * (rng.random(size) < 0.7)
        found = simplex_qp(K, q, start=start if start.any() else np.ones(size))
        u = found.u
        assert u.min() >= 0.0
        assert u.sum() == pytest.approx(1.0)
        assert found.value == pytest.approx(u @ K @ u - q @ u)
        gradient = 2.0 * K @ u - q
        assert gradient @ u - gradient.min() <= 1e-8 * max(1.0, np.abs(K).max())
    assert simplex_qp(np.zeros((3, 3)), np.array([1.0, 5.0, 2.0]), start=np.ones(3)).value == -5.0
