"""RankRC and OrdinalRankRC against brute force, their theory, and each other."""

import gc
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from rarefy.backends.kernel_rows import kernel_rows
from rarefy.core.linalg.landmarks import pivoted_cholesky, ridge_leverage
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking.rankers import rank, rank_sparsely, whitening
from rarefy.core.solvers.trust_region import trust_region
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.metrics import mauc_score
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV, subset_bound


def rare_data(seed=0, m=150, rare=15, d=3):
    rng = np.random.default_rng(seed)
    y = np.repeat([1, 0], [rare, m - rare])
    return rng.standard_normal((m, d)) + 1.2 * y[:, None], y


def hinge(z, eps=0.5):
    return np.where(z >= 1, 0.0, np.where(z >= 1 - 2 * eps, (1 - z) ** 2 / (4 * eps), 1 - eps - z))


def value_by_pairs(f, y, penalty):
    return hinge(f[y == 1][:, None] - f[y == 0][None]).mean() + penalty


@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
def test_fitted_value_is_the_brute_force_optimum(alpha):
    X, y = rare_data()
    model = RankRC(alpha, tol=1e-10).fit(X, y)
    gamma = 1.0 / np.mean([np.sum((a - b) ** 2) for a in X for b in X])  # the mean over all pairs, one by one
    assert model.gamma_ == pytest.approx(gamma, rel=1e-10)
    K, K_RR = rbf_kernel(X, X[y == 1], gamma=gamma), rbf_kernel(X[y == 1], gamma=gamma)

    def objective(beta):
        return value_by_pairs(K @ beta, y, alpha / 2 * beta @ K_RR @ beta)

    best = minimize(objective, model.dual_coef_[0], method="BFGS", options={"gtol": 1e-9}).fun
    assert model.objective_ == pytest.approx(objective(model.dual_coef_[0]), rel=1e-9)
    assert model.objective_ <= best * (1 + 1e-7)
    from_zero = minimize(objective, np.zeros(15), method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).fun
    assert model.objective_ <= from_zero * (1 + 1e-6)


def test_subset_nystroem_and_projected_map_give_the_same_scores():
    """Proposition 8: restricting kernel functions is the same as approximating the kernel matrix."""
    X, y = rare_data(3, m=60, rare=8)
    alpha, rows = 1e-2, np.array([0, 1, 2, 3, 20, 40])
    K = rbf_kernel(X, gamma=0.2)
    loss = PairLoss(Pairs.of(y))
    restricted = K[:, rows] @ rank(DenseRows(K[:, rows]), whitening(K[np.ix_(rows, rows)]), loss, alpha, tol=1e-13).beta
    approximation = K[:, rows] @ np.linalg.pinv(K[np.ix_(rows, rows)]) @ K[rows]
    nystroem = approximation @ rank(DenseRows(approximation), whitening(approximation), loss, alpha, tol=1e-13).beta
    lam, Q = np.linalg.eigh(K[np.ix_(rows, rows)])
    projected = K[:, rows] @ Q / np.sqrt(lam)  # coordinates of the projected feature map
    linear = rank(DenseRows(projected), np.eye(len(rows)), loss, alpha, tol=1e-13)
    np.testing.assert_allclose(nystroem, restricted, atol=1e-5)
    np.testing.assert_allclose(projected @ linear.beta, restricted, atol=1e-5)
    model = RankRC(alpha, basis=rows, gamma=0.2, tol=1e-13).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X) + model.threshold_, restricted, atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_never_violated(seed):
    rng = np.random.default_rng(seed)
    X, y = rare_data(seed, m=60, rare=6)
    alpha = 10.0 ** rng.uniform(-1, 1)
    rows = np.sort(rng.choice(60, rng.integers(2, 50), replace=False))
    everywhere = rng.standard_normal((200, 3)) * 2
    few, all_ = (RankRC(alpha, basis=b, gamma=0.3, tol=1e-12).fit(X, y) for b in (rows, "all"))
    difference = np.abs(
        (few.decision_function(everywhere) + few.threshold_) - (all_.decision_function(everywhere) + all_.threshold_)
    ).max()
    assert difference <= few.bound_
    assert few.bound_ == subset_bound(y, rows, alpha=alpha)
    K = rbf_kernel(X, gamma=0.3)
    assert difference <= subset_bound(basis=rows, alpha=alpha, loss="perturbation", K=K)
    assert all_.bound_ == 0.0


def test_bound_of_a_classifier_under_nystroem():
    """Theorem 9, with its constant corrected, for the mean hinge loss of single points."""
    rng = np.random.default_rng(1)
    X, y = rare_data(1, m=60, rare=25)
    signs, K = np.where(y == 1, 1.0, -1.0), rbf_kernel(X, gamma=0.3)
    rows, alpha = np.sort(rng.choice(60, 30, replace=False)), 0.5

    def fitted(columns):
        T = whitening(K[np.ix_(columns, columns)])
        F = K[:, columns] @ T
        found = minimize(
            lambda w: hinge(signs * (F @ w), 0.01).mean() + alpha / 2 * w @ w, np.zeros(T.shape[1]), method="BFGS"
        )
        return F @ found.x

    difference = np.abs(fitted(rows) - fitted(np.arange(60))).max()
    bound = subset_bound(y, rows, alpha=alpha, loss="classification")
    assert 0 < difference < bound == subset_bound(y, 30, alpha=alpha, loss="classification")
    assert bound == pytest.approx(np.sqrt(2) / alpha * np.sqrt(0.5))


def test_rare_points_first_lower_the_bound_most():
    y = np.repeat([1, 0], [10, 990])
    assert subset_bound(y, np.arange(10), alpha=1) < subset_bound(y, np.arange(10, 20), alpha=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0, 1], "basis": [0], "alpha": 0.0}, "alpha of subset_bound"),
        ({"y": [0, 1], "basis": 1, "alpha": 1.0}, "needs y and the indices"),
        ({"y": [0, 1, 2], "basis": [1], "alpha": 1.0}, "about two classes"),
        ({"basis": [1], "alpha": 1.0, "loss": "classification"}, "needs y"),
        ({"basis": [1], "alpha": 1.0, "loss": "perturbation"}, "needs K"),
        ({"alpha": 1.0, "loss": "other"}, "must be one of 'ranking'"),
    ],
)
def test_subset_bound_says_what_it_needs(arguments, message):
    with pytest.raises(ParameterError, match=message):
        subset_bound(**arguments)


def test_bases():
    X, y = rare_data()
    assert set(RankRC().fit(X, y).basis_) == set(np.flatnonzero(y))
    assert len(RankRC(basis="all").fit(X, y).basis_) == 150
    assert len(RankRC(basis="random", random_state=0).fit(X, y).basis_) == 15
    for landmarks in ("cholesky", "leverage", "random"):
        more = RankRC(basis=40, landmarks=landmarks, random_state=0).fit(X, y)
        assert set(np.flatnonzero(y)) < set(more.basis_)
        assert len(set(more.basis_)) == 40
        fewer = RankRC(basis=5, landmarks=landmarks, random_state=0).fit(X, y)
        assert set(fewer.basis_) < set(np.flatnonzero(y))
    centres = RankRC(basis=40, landmarks="kmeans", random_state=0).fit(X, y)
    assert centres.basis_ is None
    assert centres.bound_ is None
    assert centres.basis_points_.shape == (40, 3)
    np.testing.assert_array_equal(RankRC(basis=[3, 1]).fit(X, y).basis_, [3, 1])


def test_leverage_finds_the_points_that_nothing_else_represents():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.standard_normal((12, 2)), 0.05 * rng.standard_normal((300, 2)) + 3.0, rng.uniform(9, 99, (8, 2))]
    )
    y = (np.arange(320) < 12).astype(int)
    far = [set(RankRC(basis=22, landmarks="leverage", random_state=s).fit(X, y).basis_) for s in range(10)]
    assert np.mean([len(basis & set(range(312, 320))) for basis in far]) > 5  # evenly it would be one in 38: 0.3


def test_ridge_leverage_is_exact_where_the_sample_is_everything():
    rng = np.random.default_rng(0)
    A, weights = rng.standard_normal((30, 4)), rng.random(30)
    diagonal = np.sum(A * A, axis=1) + 0.5  # something is outside
    ridge = weights @ np.full(30, 0.5) / 3
    Z = np.hstack([A, np.sqrt(0.5) * np.eye(30)])
    M = Z.T @ (weights[:, None] * Z) * np.block([[np.ones((4, 4)), np.zeros((4, 30))], [np.zeros((30, 34))]])
    plain = np.array([z @ np.linalg.solve(M + ridge * np.eye(34), z) for z in Z])
    scores = ridge_leverage(A, diagonal, weights, 3)
    np.testing.assert_allclose(scores - 1e-3 * plain.mean(), plain, rtol=1e-10)


def test_pivoted_cholesky_takes_the_worst_represented_point():
    X, _ = rare_data(m=40)
    K = rbf_kernel(X, gamma=0.5)
    chosen = pivoted_cholesky(K.diagonal(), lambda i: K[:, i], 12, np.array([7, 3]))
    assert list(chosen[:2]) == [7, 3]
    for k in range(2, 12):  # by the definition: residuals after projection on the points so far
        before = chosen[:k]
        residual = K.diagonal() - np.sum(K[:, before] * np.linalg.solve(K[np.ix_(before, before)], K[before]).T, axis=1)
        assert residual[chosen[k]] == pytest.approx(residual.max(), abs=1e-9)
    twice = np.vstack([X[:5], X[:5]])
    K = rbf_kernel(twice, gamma=0.5)
    assert sorted(pivoted_cholesky(K.diagonal(), lambda i: K[:, i], 10, np.array([0, 5, 1])) % 5) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("budget", "overflow", "storage"),
    [
        (1e9, "disk", "float64"),
        (150 * 15 * 5, "disk", "float32"),
        (0, "disk", "on disk"),
        (0, "recompute", "recomputed"),
    ],
)
def test_it_is_the_same_wherever_kernel_values_are_kept(budget, overflow, storage):
    X, y = rare_data()
    expected = RankRC().fit(X, y)
    model = RankRC(memory_budget=budget, overflow=overflow).fit(X, y)
    assert model.storage_ == storage
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-2)


def test_kernel_rows_on_disk_are_deleted_with_the_rows():
    rows, _ = kernel_rows((20, 3), lambda index: np.ones((20, 3))[index], budget=0, overflow="disk")
    file = Path(rows._A.filename)
    assert file.is_file()
    del rows
    gc.collect()
    assert not file.parent.exists()


def test_stochastic_passes_reach_the_value_with_blocks_only():
    X, y = rare_data(m=1500, rare=20)
    exact = RankRC(1e-2).fit(X, y)
    model = RankRC(1e-2, solver="stochastic", block_size=100, n_passes=3, random_state=0).fit(X, y)
    assert exact.objective_ <= model.objective_ <= 1.01 * exact.objective_
    assert model.storage_ == "blocks"


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
    assert model.bound_ is None


def test_path_and_cross_validation():
    X, y = rare_data()
    alphas = [1e-3, 1.0, 1e-2]
    path = RankRC().alpha_path(X, y, alphas)
    for i, alpha in enumerate(alphas):
        single = RankRC(alpha).fit(X, y)
        assert path.objective[i] == pytest.approx(single.objective_, rel=1e-5)
        np.testing.assert_allclose(path.scores(X)[i], single.decision_function(X) + single.threshold_, atol=0.05)
    model = RankRCCV(alphas, cv=3).fit(X, y)
    assert model.alpha_ in alphas
    assert model.cv_scores_.shape == (3, 3)
    assert model.alpha_ == alphas[int(np.argmax(model.cv_scores_.mean(axis=1)))]
    K = X @ X.T
    known = RankRCCV(alphas, cv=3, kernel="precomputed").fit(K, y)
    plain = RankRCCV(alphas, cv=3, kernel="linear").fit(X, y)
    np.testing.assert_allclose(known.cv_scores_, plain.cv_scores_, atol=1e-9)


@pytest.mark.parametrize(
    ("rule", "check"),
    [
        ("frequency", lambda y, p: p.sum() == y.sum()),
        ("f1", lambda y, p: f1_score(y, p) > 0.3),
        ({"false_positive_rate": 0.1}, lambda y, p: 0.05 < p[y == 0].mean() <= 0.1),
        ({"cost": 1000.0}, lambda y, p: p[y == 1].all()),
    ],
)
def test_thresholds(rule, check):
    X, y = rare_data(m=400, rare=30)
    predicted = RankRC(1e-2, threshold=rule).fit(X, y).predict(X)
    assert check(y, predicted)


def test_f1_rule_is_the_best_of_all_cuts():
    X, y = rare_data(m=200, rare=20)
    model = RankRC(1e-2, threshold="f1").fit(X, y)
    scores = model.decision_function(X)
    best = max(f1_score(y, scores >= cut) for cut in scores)
    assert f1_score(y, model.predict(X)) == pytest.approx(best)


def test_the_rare_class_may_be_the_first_and_may_be_named():
    X, y = rare_data()
    names = np.where(y == 1, "fault", "fine")  # "fault" comes first
    model = RankRC().fit(X, names)
    assert model.rare_class_ == "fault"
    assert roc_auc_score(names == "fine", model.decision_function(X)) > 0.8
    with pytest.warns(UserWarning, match="the more frequent class"):
        assert set(RankRC(rare_class="fine").fit(X, names).basis_) == set(np.flatnonzero(y == 0))
    with pytest.raises(ParameterError, match="rare_class of RankRC is 'none'"):
        RankRC(rare_class="none").fit(X, names)


def test_pushing_and_partial_ranges_favour_the_top():
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [60, 1500])
    X = rng.standard_normal((1560, 2)) + np.where(y[:, None] == 1, [1.0, 0.3], 0.0)
    X[60:120] += [2.5, -2.0]  # majority points that look rarer than the rare ones
    plain = RankRC(1e-5).fit(X, y)
    K = rbf_kernel(X[:60], gamma=plain.gamma_)
    for options in ({"push": 4.0}, {"false_positive_range": 0.05}, {"push": 2.0, "false_positive_range": 0.2}):
        loss, model = PairLoss(Pairs.of(y), **options), RankRC(1e-5, **options).fit(X, y)

        def value(fitted, loss=loss):
            beta = fitted.dual_coef_[0]
            return loss.at(fitted.decision_function(X)).value + 0.5e-5 * beta @ K @ beta

        assert value(model) == pytest.approx(model.objective_, rel=1e-6)
        assert value(model) < 0.99 * value(plain)


def test_logistic_loss_ranks_as_well():
    X, y = rare_data()
    assert roc_auc_score(y, RankRC(loss="logistic").fit(X, y).decision_function(X)) > 0.85


def test_sparse_points():
    X, y = rare_data(d=6)
    X = X * (np.abs(X) > 1)
    dense, sparse = RankRC().fit(X, y), RankRC().fit(sp.csr_array(X), y)
    assert sparse.gamma_ == pytest.approx(dense.gamma_)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-6)


def test_probabilities_by_calibration():
    X, y = rare_data(m=300, rare=60)
    probabilities = CalibratedClassifierCV(RankRC(1e-2), cv=3).fit(X, y).predict_proba(X)
    assert np.all((probabilities >= 0) & (probabilities <= 1))
    assert probabilities[y == 1, 1].mean() > probabilities[y == 0, 1].mean() + 0.2


def test_stopping_early_is_said():
    X, y = rare_data()
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        RankRC(1e-6, max_iter=1).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, r"alpha of RankRC must be a finite number > 0"),
        ({"basis": "some"}, r"basis of RankRC must be one of 'rare', 'all', 'random'"),
        ({"basis": [0, 500]}, r"row numbers from 0 to 149"),
        ({"basis": 0}, r"row numbers from 0 to 149"),
        ({"loss": "hinge2"}, r"loss of RankRC"),
        ({"push": 0.5}, r"push of RankRC must be a finite number >= 1"),
        ({"false_positive_range": 1.5}, r"must be a share in \(0, 1\]"),
        ({"threshold": "best"}, r"threshold of RankRC must be 'frequency', 'f1'"),
        ({"threshold": {"cost": -1}}, r"threshold of RankRC"),
        ({"gamma": "scale"}, r"gamma of RankRC must be a number > 0, 'mean_distance' or None"),
        ({"penalty": "l1", "solver": "stochastic"}, r"is for penalty='l2'"),
        ({"kernel": "precomputed"}, r"needs the square matrix"),
    ],
)
def test_bad_parameters_say_what_is_allowed(parameters, message):
    X, y = rare_data()
    with pytest.raises(ParameterError, match=message):
        RankRC(**parameters).fit(X, y)


def test_one_class_and_three_classes():
    with pytest.raises(DegenerateDataError, match="two classes"):
        RankRC().fit(np.eye(4), np.ones(4))
    with pytest.raises(ValueError, match="use OrdinalRankRC"):
        RankRC().fit(np.eye(4), [0, 1, 2, 1])
    with pytest.raises(DegenerateDataError, match="at least two levels"):
        OrdinalRankRC().fit(np.eye(4), np.ones(4))


def test_ordinal_value_is_the_sum_over_level_pairs():
    rng = np.random.default_rng(0)
    y = rng.choice([10, 20, 30, 40], 80, p=[0.6, 0.2, 0.1, 0.1])
    X = rng.standard_normal((80, 3)) + y[:, None] / 15
    model = OrdinalRankRC(1e-2, gamma=0.2).fit(X, y)
    assert set(model.basis_) == set(np.flatnonzero(y != 10))
    f, K = model.decision_function(X), rbf_kernel(X[model.basis_], gamma=0.2)
    pairs = [hinge(f[i] - f[j]) for i in range(80) for j in range(80) if y[i] > y[j]]
    beta = model.dual_coef_[0]
    assert model.objective_ == pytest.approx(np.mean(pairs) + 0.5e-2 * beta @ K @ beta, rel=1e-9)
    assert model.score(X, y) == pytest.approx(mauc_score(y, f))
    predicted = model.predict(X)
    np.testing.assert_array_equal(np.unique(predicted, return_counts=True)[1], np.unique(y, return_counts=True)[1])
    path = OrdinalRankRC(gamma=0.2).alpha_path(X, y, [1e-2])
    assert path.objective[0] == pytest.approx(model.objective_, rel=1e-6)


def test_two_levels_are_two_classes():
    X, y = rare_data()
    ordinal, binary = OrdinalRankRC().fit(X, y), RankRC().fit(X, y)
    np.testing.assert_allclose(ordinal.dual_coef_, binary.dual_coef_, atol=1e-8)


def test_mauc_refuses_one_level():
    with pytest.raises(DegenerateDataError, match="at least two levels"):
        mauc_score([1, 1], [0.2, 0.3])


def test_trust_region_finds_the_minimum_of_a_function_that_is_not_convex():
    class Rosenbrock:
        def __init__(self, x):
            self.x, (a, b) = x, x
            self.value = (1 - a) ** 2 + 100 * (b - a**2) ** 2
            self.gradient = np.array([-2 * (1 - a) - 400 * a * (b - a**2), 200 * (b - a**2)])

        def hessian_product(self, v):
            a, b = self.x
            return np.array([[2 - 400 * (b - 3 * a**2), -400 * a], [-400 * a, 200]]) @ v

    for start in ([-1.2, 1.0], [0.0, 5.0], [3.0, -3.0]):
        for precondition in (None, lambda v: v / np.array([800.0, 200.0])):
            found = trust_region(Rosenbrock, np.array(start), precondition=precondition, tol=1e-14, max_iter=500)
            np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-4)
            assert found.status == "optimal"


def test_trust_region_solves_a_quadratic_in_one_step():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((6, 6))
    A, b = B @ B.T + np.eye(6), rng.standard_normal(6)

    class Quadratic:
        def __init__(self, x):
            self.value, self.gradient = 0.5 * x @ A @ x - b @ x, A @ x - b

        def hessian_product(self, v):
            return A @ v

    found = trust_region(Quadratic, np.zeros(6), tol=1e-14, max_iter=50)
    np.testing.assert_allclose(found.x, np.linalg.solve(A, b), atol=1e-6)


def test_a_path_of_the_cross_validated_ranker_is_that_of_the_ranker():
    X, y = rare_data()
    expected = RankRC(basis=7).alpha_path(X, y, [1e-1, 1e-3])
    path = RankRCCV([1e-1], cv=2, basis=7).alpha_path(X, y, [1e-1, 1e-3])
    np.testing.assert_array_equal(path.scores(X), expected.scores(X))


@pytest.mark.parametrize("gamma", [0.0, -1.0, np.nan, "wide"])
def test_gamma_is_checked(gamma):
    with pytest.raises(ParameterError, match="gamma of RankRC"):
        RankRC(gamma=gamma).fit(*rare_data())


def test_scores_of_rarity_do_not_depend_on_the_names_of_the_classes():
    X, y = rare_data()
    plain = RankRC().fit(X, y)
    named = RankRC().fit(X, np.where(y == 1, "fraud", "ok"))
    np.testing.assert_allclose(named.score_samples(X), plain.score_samples(X))
    np.testing.assert_allclose(named.decision_function(X), -plain.decision_function(X))
    assert (named.predict(X) == "fraud").sum() == np.sum(named.score_samples(X) > named.threshold_)


def test_recall_and_share_are_met_with_the_fewest_alarms():
    X, y = rare_data()
    scores = RankRC(0.1).fit(X, y).score_samples(X)
    for recall in (0.3, 0.6, 0.99):
        called = RankRC(0.1, threshold={"recall": recall}).fit(X, y).predict(X) == 1
        assert y[called].sum() >= recall * y.sum()
        fewest = min(np.sum(scores >= cut) for cut in scores if y[scores >= cut].sum() >= recall * y.sum())
        assert called.sum() == fewest
    for share in (0.02, 0.2, 0.9):
        called = RankRC(0.1, threshold={"share": share}).fit(X, y).predict(X)
        assert called.mean() == pytest.approx(share, abs=1 / len(y))
    with pytest.raises(ParameterError, match=r"threshold of RankRC must be .*'recall'.*got \{'recall': 1.5\}"):
        RankRC(threshold={"recall": 1.5}).fit(X, y)
