"""Solvers of ranking problems, without estimators."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from ranking_problems import rare_data
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.logistic import Logistic
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking import rankers
from rarefy.core.ranking import subsample as subsampling
from rarefy.core.ranking.rankers import rank, rank_sparsely, whitening
from rarefy.core.ranking.subsample import curved_part, inverse_hessian, subsample
from rarefy.core.solvers.bundle import SquaredNorm, bundle
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
    model = RankRC(3e-3, penalty="l1", gamma=0.2, tol=1e-9, basis="rare").fit(X, y)
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

    found = bundle(loss, lambda w: A @ w, lambda g: A.T @ g, SquaredNorm(0.5), np.ones(4), tol=1e-8, max_iter=500)
    assert found.converged

    def value(w):
        return loss(A @ w)[0] + 0.25 * float(w @ w)

    assert found.value == pytest.approx(value(found.w), rel=1e-12)
    tries = [minimize(value, found.w + 0.1 * rng.standard_normal(4), method="Nelder-Mead").fun for _ in range(5)]
    assert min(tries) >= found.value - found.gap - 1e-12
    assert min(tries) <= found.value + 1e-2
    early = bundle(loss, lambda w: A @ w, lambda g: A.T @ g, SquaredNorm(0.5), np.ones(4), tol=1e-8, max_iter=3)
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


def many_samples(seed=0, m=20_000, rare=40, loss=None, push=1.0):
    """Kernel values, whitening and a weighted loss of so many samples that a part of them is ranked first."""
    X, y = rare_data(seed, m, rare)
    weights = np.random.default_rng(seed + 1).random(m) + 0.1
    weights[::7] = 0.0
    K = rbf_kernel(X, X[y == 1], gamma=0.2)
    pair_loss = PairLoss(Pairs.of(y, weights), **({} if loss is None else {"loss": loss}), push=push)
    return DenseRows(K), whitening(K[y == 1]), pair_loss


def in_one_stage(monkeypatch, *problem, **options):
    with monkeypatch.context() as patch:
        patch.setattr(rankers, "subsample", lambda loss, k: None)
        return rank(*problem, **options)


@pytest.mark.parametrize(("loss", "push"), [(None, 1.0), (Logistic(), 1.0), (None, 2.0)])
def test_a_part_of_the_samples_first_gives_the_same_ranker_with_fewer_products(monkeypatch, loss, push):
    problem = *many_samples(loss=loss, push=push), 1e-4
    plain = in_one_stage(monkeypatch, *problem, tol=1e-11)
    found = rank(*problem, tol=1e-11)
    assert plain.converged
    assert found.converged
    assert found.objective == pytest.approx(plain.objective, rel=1e-8)
    np.testing.assert_allclose(found.w, plain.w, atol=1e-4 * np.abs(plain.w).max())
    assert 0 < found.n_products < 0.6 * plain.n_products
    np.testing.assert_array_equal(rank(*problem, tol=1e-11).w, found.w)


def test_a_part_of_the_samples_keeps_a_start_that_is_better(monkeypatch):
    problem = *many_samples(), 1e-4
    best = in_one_stage(monkeypatch, *problem, tol=1e-12)
    again = rank(*problem, start=best.w)
    assert again.n_iter == 0
    np.testing.assert_array_equal(again.w, best.w)
    far = rank(*problem, start=best.w + 10.0, tol=1e-11)
    assert far.objective == pytest.approx(best.objective, rel=1e-8)


def test_a_part_has_all_rare_samples_and_the_weight_of_all_pairs():
    _, T, loss = many_samples()
    index, part = subsample(loss, T.shape[1])
    upper, lower = loss.pairs.groups[0]
    assert np.isin(upper, index).all()
    assert len(np.intersect1d(lower, index)) == 5000
    assert len(index) == 5000 + len(upper)
    assert part.pairs.total == pytest.approx(loss.pairs.total, rel=1e-12)
    mapped_upper, mapped_lower = part.pairs.groups[0]
    np.testing.assert_array_equal(index[mapped_upper], upper)
    assert np.isin(index[mapped_lower], lower).all()
    assert subsample(PairLoss(Pairs.of(np.arange(14_000) < 40)), 40) is None, "one third is not much smaller"
    assert subsample(PairLoss(Pairs.of(np.zeros(100_000, dtype=int))), 40) is None, "no pairs"


def test_a_part_of_the_largest_of_many_levels():
    levels = np.repeat([0, 1, 2], [300, 30_000, 200])
    index, part = subsample(PairLoss(Pairs.of(levels)), 40)
    np.testing.assert_array_equal(np.bincount(levels[index]), [300, 5000, 200])
    assert part.pairs.total == pytest.approx(Pairs.of(levels).total, rel=1e-12)
    assert [(len(a), len(b)) for a, b in part.pairs.groups] == [(5200, 300), (200, 5000)]


def test_the_preconditioner_is_the_inverse_of_the_hessian():
    rng = np.random.default_rng(0)
    V, levels = rng.standard_normal((80, 6)), (np.arange(80) < 9).astype(int)
    state = PairLoss(Pairs.of(levels, rng.random(80))).at(0.3 * V[:, 0])
    v = rng.standard_normal(6)
    inverse = inverse_hessian(V, state, 0.01)
    np.testing.assert_allclose(inverse(V.T @ state.hessian_product(V @ v) + 0.01 * v), v, rtol=1e-9)


def test_only_samples_that_bend_the_loss_are_in_its_hessian():
    _, T, loss = many_samples(m=3000, rare=30)
    f = np.random.default_rng(3).standard_normal(3000) - 3.0 * (np.arange(3000) % 2)
    state = loss.at(f)
    index, part = curved_part(loss, state.curvature(), T.shape[1])
    assert 30 < len(index) < 3000
    V = np.random.default_rng(4).standard_normal((3000, 5))
    np.testing.assert_allclose(part.at(f[index]).gram(V[index]), state.gram(V), rtol=1e-9, atol=1e-12)


def test_a_drawn_part_has_the_hessian_of_all_in_the_mean(monkeypatch):
    from rarefy.core.ranking import subsample as module

    monkeypatch.setattr(module, "_LEAST", 400)
    y = (np.arange(3000) < 30).astype(int)
    loss, rng = PairLoss(Pairs.of(y)), np.random.default_rng(5)
    f = rng.standard_normal(3000)
    V = rng.standard_normal((3000, 3))
    right, found = loss.at(f).gram(V), np.zeros((3, 3))
    for seed in range(200):
        monkeypatch.setattr(
            module.np.random, "default_rng", lambda _, seed=seed: np.random.Generator(np.random.PCG64(seed))
        )
        index, part = curved_part(loss, loss.at(f).curvature(), 3)
        assert 300 < len(index) < 500
        assert np.isin(np.flatnonzero(y), index).all(), "the few rare samples bend the loss most: they are certain"
        found += part.at(f[index]).gram(V[index]) / 200
    # A single draw is off by about sqrt(3 / 400); the mean of 200 by a fourteenth of that.
    np.testing.assert_allclose(found, right, atol=0.02 * np.abs(right).max())


def test_parts_of_parts_are_ranked_first_and_give_the_same_ranker(monkeypatch):
    """With small limits in place of those for millions of samples: three stages, and closer Hessians."""
    problem = *many_samples(), 1e-4
    plain = in_one_stage(monkeypatch, *problem, tol=1e-10)
    sizes = []
    monkeypatch.setattr(subsampling, "_LEAST", 300)
    monkeypatch.setattr(subsampling, "_PER_COLUMN", 2)

    def counted(part, k):
        sizes.append(len(part.pairs.weights))
        return subsample(part, k)

    monkeypatch.setattr(rankers, "subsample", counted)
    found = rank(*problem, tol=1e-10)
    assert len(sizes) == 3
    assert sorted(sizes, reverse=True) == sizes
    assert found.converged
    assert found.objective == pytest.approx(plain.objective, rel=1e-8)


def test_scores_of_a_step_need_no_pass_of_their_own():
    K, T, loss = many_samples(m=2000)
    passes = []

    class Counted(rankers.Features):
        def __matmul__(self, w):
            passes.append(w)
            return super().__matmul__(w)

    V, rng = Counted(K, T), np.random.default_rng(0)
    at = rankers._Objective(V, loss, 1e-3)
    w, directions = rng.standard_normal(V.k), rng.standard_normal((3, V.k))
    here = at(w)
    for direction in directions:
        here.hessian_product(direction)
    assert len(passes) == 4
    there = at(w + np.array([0.5, -2.0, 1e-3]) @ directions)
    assert len(passes) == 4
    plain = rankers._Scores(V, loss, 1e-3, there._w)
    np.testing.assert_allclose(there._f, plain._f, atol=1e-10 * np.abs(plain._f).max())
    np.testing.assert_allclose(there.gradient, plain.gradient, atol=1e-10 * np.abs(plain.gradient).max())
    there.hessian_product(directions[0])
    elsewhere = at(there._w + rng.standard_normal(V.k))  # not along known directions
    assert len(passes) == 7
    np.testing.assert_allclose(elsewhere._f, K @ (T @ elsewhere._w), rtol=1e-9, atol=1e-9)
