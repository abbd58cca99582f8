"""Rankers and machines in subspaces: cases that once went wrong, each with what should happen."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import chi2_kernel, rbf_kernel

from rarefy.core.solvers.bundle import bundle
from rarefy.core.svm.hulls import simplex_minimum
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel import KernelSubspace, SubspaceLPSVC
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV, subset_bound


def some_rare(seed=0, n=90, rare=15, d=3, shift=1.2):
    y = (np.arange(n) < rare).astype(int)
    return np.random.default_rng(seed).standard_normal((n, d)) + shift * y[:, None], y


def partial_loss(model, X, y, beta, share, alpha):
    """The objective by loops: for every rare point, the losses with the highest share of the others."""
    K = rbf_kernel(X, model.basis_points_, gamma=model.gamma_)
    scores = K @ beta
    others = np.sort(scores[y == 0])[::-1]
    weights = np.clip(share * len(others) - np.arange(len(others)), 0.0, 1.0) / share
    total = 0.0
    for a in scores[y == 1]:
        for b, weight in zip(others, weights, strict=True):
            short, eps = 1.0 - (a - b), model.eps
            total += weight * (0.0 if short <= 0 else short**2 / 4 / eps if short <= 2 * eps else short - eps)
    norm = beta @ K[model.basis_] @ beta
    return total / len(others) / np.sum(y == 1) + 0.5 * alpha * norm


@pytest.mark.parametrize("share", [0.05, 0.2, 0.7])
def test_the_highest_share_is_minimised_and_not_only_followed(share):
    X, y = some_rare(5, n=120, rare=6, shift=2.0)
    alpha = 1e-3
    model = RankRC(alpha, false_positive_range=share).fit(X, y)
    beta = model.dual_coef_[0]
    assert model.objective_ == pytest.approx(partial_loss(model, X, y, beta, share, alpha), rel=1e-9)
    assert model.objective_ < 0.5, "less than that of scores that are all zero"
    found = [
        minimize(
            lambda beta: partial_loss(model, X, y, beta, share, alpha),
            start,
            method="Nelder-Mead",
            options={"maxiter": 800, "fatol": 1e-10, "xatol": 1e-8, "adaptive": True},
        ).fun
        for start in (beta, np.zeros(6))
    ]
    assert model.objective_ <= min(found) + 1e-6
    path = RankRC(1.0, false_positive_range=share).alpha_path(X, y, [alpha, 1.0])
    assert path.objective[0] == pytest.approx(model.objective_, rel=1e-5)


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
        start = start if start.any() else np.ones(size)
        u, f = simplex_minimum(K, q, start)
        assert u.min() >= 0.0
        assert u.sum() == pytest.approx(1.0)
        assert f == pytest.approx(u @ K @ u - q @ u)
        gradient = 2.0 * K @ u - q
        assert gradient @ u - gradient.min() <= 1e-8 * max(1.0, np.abs(K).max())
    assert simplex_minimum(np.zeros((3, 3)), np.array([1.0, 5.0, 2.0]), np.ones(3))[1] == -5.0


def test_equal_points_have_equal_levels_alone_and_together():
    for seed in range(12):
        rng = np.random.default_rng(seed)
        y = rng.choice([0, 1, 2], 60, p=[0.6, 0.25, 0.15])
        X = (rng.integers(0, 3, (60, 2)) + y[:, None]).astype(float)
        model = OrdinalRankRC(0.01).fit(X, y)
        together = model.predict(X)
        np.testing.assert_array_equal(together, np.concatenate([model.predict(x[None]) for x in X]))
        for x in np.unique(X, axis=0):
            assert len(set(together[np.all(x == X, axis=1)])) == 1


def test_a_weight_is_as_good_as_a_repetition_for_cuts():
    rng = np.random.default_rng(0)
    y = rng.choice([0, 1, 2], 40, p=[0.6, 0.25, 0.15])
    X, times = rng.standard_normal((40, 2)) + y[:, None], rng.integers(1, 4, 40)
    weighted = OrdinalRankRC(0.1, basis="all").fit(X, y, times.astype(float))
    repeated = OrdinalRankRC(0.1, basis="all").fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.cuts_, repeated.cuts_, atol=1e-4)


def test_where_nothing_is_ranked_the_most_frequent_level_is_predicted():
    y = np.repeat([0, 1, 2], [10, 30, 20])
    assert set(OrdinalRankRC().fit(np.ones((60, 2)), y).predict(np.ones((5, 2)))) == {1}


def test_chi2_has_the_width_of_scikit_learn():
    X, y = some_rare()
    X = np.abs(X)
    space = KernelSubspace(5, kernel="chi2").fit(X)
    Z = KernelSubspace(90, kernel="chi2").fit(X).transform(X)
    np.testing.assert_allclose(Z @ Z.T, chi2_kernel(X), atol=1e-6)
    assert space.transform(X).shape == (90, 5)
    assert RankRC(kernel="chi2", gamma=None).fit(X, y).bound_ is not None


def test_bounds_are_for_kernels_that_the_theorem_is_about():
    X, y = some_rare()
    common = {"gamma": 1.0, "coef0": -0.9}
    for kernel in ("sigmoid", "poly"):
        assert RankRC(10, kernel=kernel, **common).fit(X, y).bound_ is None
    assert RankRC(10, kernel="poly", gamma=1.0, coef0=1.0).fit(X, y).bound_ is not None
    assert RankRC(10, kernel="poly", gamma=1.0, kernel_params={"coef0": -0.9}).fit(X, y).bound_ is None
    assert RankRC(10, kernel="wave").fit(np.hstack([X, X]), y).bound_ is None
    K = rbf_kernel(X)
    assert RankRC(10, kernel="precomputed").fit(K, y).bound_ is not None
    assert RankRC(10, kernel="precomputed").fit(K - 0.9, y).bound_ is None
    with pytest.raises(ParameterError, match="kernel of RankRC is not symmetric"):
        RankRC(kernel="precomputed").fit(np.random.default_rng(0).standard_normal((90, 90)), y)


def test_the_perturbation_bound_does_not_depend_on_the_unit_of_the_kernel():
    X, _ = some_rare()
    K, basis = rbf_kernel(X, gamma=0.3), np.arange(80)
    bounds = [subset_bound(basis=basis, K=c * K, alpha=0.1 * c, kappa=c, loss="perturbation") for c in (1e-8, 1.0, 1e8)]
    np.testing.assert_allclose(bounds, bounds[1], rtol=1e-6)


def test_bounds_count_every_point_of_the_basis_once():
    y = np.repeat([1, 0], [5, 15])
    few = subset_bound(y, [0, 1, 2], alpha=1.0, loss="classification")
    assert subset_bound(y, [0, 1, 2, 2, 1], alpha=1.0, loss="classification") == few
    assert subset_bound(y, np.arange(20) < 3, alpha=1.0, loss="classification") == few
    assert subset_bound(y, y == 1, alpha=1.0) == subset_bound(y, np.arange(5), alpha=1.0)
    for basis, message in ((-5, "a number from 0 to 20; got -5"), ([25], "row numbers from 0 to 19 or a mask")):
        with pytest.raises(ParameterError, match=message):
            subset_bound(y, basis, alpha=1.0, loss="classification")


def test_how_many_folds_at_a_time_does_not_matter():
    X, y = some_rare(1)
    one, two = (
        RankRCCV([1e-3, 0.1], cv=3, basis="random", random_state=np.random.RandomState(0), n_jobs=n_jobs).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.cv_scores_, two.cv_scores_)
    np.testing.assert_array_equal(one.basis_, two.basis_)


def test_scores_that_are_all_equal_are_spoken_of_and_call_nobody_rare():
    X, y = some_rare()
    with pytest.warns(UserWarning, match="RankRC gives all points the same score"):
        model = RankRC().fit(np.ones((90, 2)), y)
    assert model.predict(np.ones((90, 2))).sum() == 0
    usual = roc_auc_score(y, RankRC(10.0).fit(X, y).score_samples(X))
    for ranker, points in ((RankRC(1e8), X), (RankRC(kernel="linear"), 1e-6 * X)):
        assert roc_auc_score(y, ranker.fit(points, y).score_samples(points)) > usual - 0.05
        assert ranker.predict(points).sum() == 15


def test_a_price_without_end_is_refused():
    X, y = some_rare()
    with pytest.raises(ParameterError, match="threshold of RankRC"):
        RankRC(threshold={"cost": np.inf}).fit(X, y)


def test_the_width_is_the_one_that_was_used():
    X, y = some_rare()
    model = RankRC(0.01, kernel_params={"gamma": 0.3}).fit(X, y)
    assert model.gamma_ == 0.3
    K = rbf_kernel(X, model.basis_points_, gamma=model.gamma_)
    np.testing.assert_allclose(model.score_samples(X), K @ model.dual_coef_[0])


def test_weights_of_classes_and_points_that_leave_nothing_are_refused():
    X, y = some_rare()
    for weights in ({0: -1}, {0: 1.0, 1: np.nan}):
        with pytest.raises(ParameterError, match="class_weight of SubspaceLPSVC must have finite factors >= 0"):
            SubspaceLPSVC(n_components=5, class_weight=weights).fit(X, y)
    with pytest.raises(DegenerateDataError, match=r"SubspaceLPSVC needs at least two classes .* weight\), 1"):
        SubspaceLPSVC(n_components=5).fit(X, y, 1.0 * (y == 1))
    with pytest.raises(DegenerateDataError, match=r"OrdinalRankRC needs at least two levels .* weight\), 1"):
        OrdinalRankRC().fit(X, y, 1.0 * (y == 1))
