"""RankRC against brute force and its theory; its bases, storage, solvers and warnings."""

import copy
import pickle
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rarefy
from ranking_problems import hinge, rare_data, value_by_pairs
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.pairs import PairLoss, Pairs, Profile
from rarefy.core.ranking.rankers import rank, whitening
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.ranking import (
    Logistic,
    OrdinalRankRC,
    RankRC,
    ScoreCertificate,
    SmoothedHinge,
    certify_scores,
    subset_bound,
)


@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
def test_fitted_value_is_the_brute_force_optimum(alpha):
    X, y = rare_data()
    model = RankRC(alpha, tol=1e-10, basis="rare").fit(X, y)
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
    np.testing.assert_allclose(model.score_samples(X), restricted, atol=1e-6)


@pytest.mark.parametrize("seed", range(12))
def test_bounds_are_never_violated(seed):
    rng = np.random.default_rng(seed)
    X, y = rare_data(seed, m=60, rare=6)
    alpha = 10.0 ** rng.uniform(-1, 1)
    rows = np.sort(rng.choice(60, rng.integers(2, 50), replace=False))
    everywhere = rng.standard_normal((200, 3)) * 2
    few, all_ = (RankRC(alpha, basis=b, gamma=0.3, tol=1e-12).fit(X, y) for b in (rows, "all"))
    difference = np.abs(few.score_samples(everywhere) - all_.score_samples(everywhere)).max()
    assert difference <= few.bound_
    assert few.bound_ == subset_bound(y, rows, alpha=alpha)
    K = rbf_kernel(X, gamma=0.3)
    assert difference <= subset_bound(basis=rows, alpha=alpha, loss="perturbation", K=K)
    assert all_.bound_ == 0.0


def test_bounds_are_for_kernels_that_the_theorem_is_about():
    X, y = rare_data(m=90)
    common = {"gamma": 1.0, "coef0": -0.9}
    for kernel in ("sigmoid", "poly"):
        assert RankRC(10, kernel=kernel, **common).fit(X, y).bound_ is None
    assert RankRC(10, kernel="poly", gamma=1.0, coef0=1.0, basis="rare").fit(X, y).bound_ is not None
    assert RankRC(10, kernel="poly", gamma=1.0, kernel_params={"coef0": -0.9}, basis="rare").fit(X, y).bound_ is None
    assert RankRC(kernel="chi2", gamma=None, basis="rare").fit(np.abs(X), y).bound_ is not None
    assert RankRC(10, kernel="wave", basis="rare").fit(np.hstack([X, X]), y).bound_ is None
    K = rbf_kernel(X)
    assert RankRC(10, kernel="precomputed", basis="rare").fit(K, y).bound_ is not None
    assert RankRC(10, kernel="precomputed", basis="rare").fit(K - 0.9, y).bound_ is None
    with pytest.raises(ParameterError, match="kernel of RankRC is not symmetric"):
        RankRC(kernel="precomputed", basis="rare").fit(np.random.default_rng(0).standard_normal((90, 90)), y)


class OwnLoss:
    def pair_sums(self, a, b):
        return SmoothedHinge(0.5).pair_sums(a, b)


def test_there_is_a_bound_only_for_the_plain_objective_at_its_minimum():
    X, y = rare_data(m=200, rare=30)
    assert RankRC(basis="all").fit(X, y).bound_ == 0.0
    with rarefy.config_context(block_size=5):
        assert RankRC(basis="all", solver="stochastic", max_iter=1).fit(X, y).bound_ is None
    with pytest.warns(ConvergenceWarning):
        assert RankRC(1e-6, max_iter=1, basis="rare").fit(X, y).bound_ is None
    for options in ({"penalty": "l1"}, {"emphasis": {"push": 2.0}}, {"loss": OwnLoss()}):
        assert RankRC(1e-2, **options).fit(X, y).bound_ is None
    assert RankRC(1e-2, basis="rare").fit(X, y, np.arange(200) + 1.0).bound_ is None
    assert RankRC(1e-2, emphasis={"push": 1.0}, loss=Logistic(), basis="rare").fit(X, y).bound_ == subset_bound(
        y, y == 1, alpha=1e-2
    )


def test_bases():
    X, y = rare_data()
    assert set(RankRC(basis="rare").fit(X, y).basis_) == set(np.flatnonzero(y))
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


def test_leverage_finds_the_samples_that_nothing_else_represents():
    rng = np.random.default_rng(0)
    X = np.vstack(
        [rng.standard_normal((12, 2)), 0.05 * rng.standard_normal((300, 2)) + 3.0, rng.uniform(9, 99, (8, 2))]
    )
    y = (np.arange(320) < 12).astype(int)
    far = [set(RankRC(basis=22, landmarks="leverage", random_state=s).fit(X, y).basis_) for s in range(10)]
    assert np.mean([len(basis & set(range(312, 320))) for basis in far]) > 5  # evenly it would be one in 38: 0.3


def test_empty_documents_get_no_kernel_function():
    X = np.abs(np.random.default_rng(0).standard_normal((300, 6)))
    X[100:160] = 0.0
    y = (np.arange(300) < 10).astype(int)
    assert X[RankRC(kernel="cosine", basis=15, landmarks="cholesky").fit(X, y).basis_].any(axis=1).all()


@pytest.mark.parametrize(
    ("budget", "overflow", "storage"),
    [
        (1e9, "disk", "float64"),
        (150 * 15 * 5 + 24 * 15 * 15, "disk", "float32"),
        (0, "disk", "on disk"),
        (0, "recompute", "recomputed"),
    ],
)
def test_it_is_the_same_wherever_kernel_values_are_kept(budget, overflow, storage):
    X, y = rare_data()
    expected = RankRC(basis="rare").fit(X, y)
    with rarefy.config_context(memory_budget=budget, overflow=overflow):
        model, path = RankRC(basis="rare").fit(X, y), RankRC(basis="rare").alpha_path(X, y, [1e-3])
    assert model.storage_ == path.models[0].storage_
    assert model.storage_.partition(":")[0] == storage
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-2)


@pytest.mark.parametrize("alpha", [2.0**-20, 2.0**-14, 1e-3])
@pytest.mark.parametrize("overflow", ["recompute", "disk"])
def test_single_precision_does_not_fit_its_own_rounding(alpha, overflow):
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.1).astype(int)
    X = rng.standard_normal((600, 2)) + y[:, None]
    rare = int(y.sum())
    budget = 5 * 600 * rare + 24 * rare**2 if overflow == "recompute" else 0
    with warnings.catch_warnings(), rarefy.config_context(memory_budget=budget, overflow=overflow):
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RankRC(alpha, basis="rare").fit(X, y)
    assert model.storage_.partition(":")[0] in ("float32", "on disk")
    coefficients, scores = model.dual_coef_[0], model.score_samples(X)
    K = np.exp(-model.gamma_ * ((model.basis_points_[:, None] - model.basis_points_) ** 2).sum(axis=2))
    value = value_by_pairs(scores, y, 0.5 * alpha * coefficients @ K @ coefficients)
    assert model.objective_ == pytest.approx(value, rel=2e-3)
    assert model.predict(X).sum() == y.sum()


def test_stochastic_passes_reach_the_value_with_blocks_only():
    X, y = rare_data(m=1500, rare=20)
    exact = RankRC(1e-2, basis="rare").fit(X, y)
    with rarefy.config_context(block_size=100):
        model = RankRC(1e-2, solver="stochastic", max_iter=3, random_state=0, basis="rare").fit(X, y)
    assert exact.objective_ <= model.objective_ <= 1.01 * exact.objective_
    assert model.storage_ == "blocks"
    assert model.n_iter_ == 3 * 15
    assert RankRC(1e-2, solver="stochastic", basis="rare").fit(X, y).n_iter_ == 5 * 2, (
        "five passes over blocks of a thousand"
    )


def test_blocks_minimise_the_same_function_with_weights():
    X, y = rare_data(2, m=120, rare=20)
    weights = np.where(y == 1, 1.0, np.where(np.random.default_rng(0).random(120) < 0.5, 1.0, 100.0))
    exact = RankRC(1e-2, basis="rare").fit(X, y, weights).objective_
    with rarefy.config_context(block_size=4):
        inexact = (
            RankRC(1e-2, solver="stochastic", max_iter=20, random_state=0, basis="rare").fit(X, y, weights).objective_
        )
    assert exact <= inexact < 1.01 * exact


def test_a_path_has_fitted_models_with_their_own_thresholds():
    X, y = rare_data()
    alphas = [1e-3, 1.0, 1e-2]
    names = np.where(y == 1, "fault", "fine")
    path = RankRC(threshold="f1", basis="rare").alpha_path(X, names, alphas)
    assert path.parameter == "alpha"
    np.testing.assert_array_equal(path.values, alphas)
    for alpha, model, scores, labels in zip(alphas, path.models, path.scores(X), path.predict(X), strict=True):
        single = RankRC(alpha, threshold="f1", basis="rare").fit(X, names)
        assert model.get_params() == single.get_params()
        assert model.objective_ == pytest.approx(single.objective_, rel=1e-5)
        assert model.threshold_ == pytest.approx(single.threshold_, abs=0.05)
        assert model.bound_ == single.bound_
        np.testing.assert_allclose(scores, single.score_samples(X), atol=0.05)
        np.testing.assert_allclose(model.score_samples(X), scores, atol=1e-12)
        np.testing.assert_array_equal(labels, model.predict(X))
        assert set(vars(model)) == set(vars(single))
    assert path.attribute("dual_coef_").shape == (3, 1, 15)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(path)).scores(X), path.scores(X))


def test_a_path_leaves_the_ranker_as_it_was():
    X, y = rare_data()
    model = RankRC(basis="rare").fit(X, y)
    before = copy.copy(vars(model))
    model.alpha_path(X[:, :2], y, [1.0, 0.1])
    assert all(vars(model)[name] is value for name, value in before.items())
    new = RankRC(basis="rare")
    new.alpha_path(X, y, [1.0])
    with pytest.raises(NotFittedError):
        new.predict(X)


def test_a_path_that_stops_early_warns_once_with_its_alphas():
    X, y = rare_data()
    with pytest.warns(ConvergenceWarning, match=r"RankRC did not reach .* 2 of 3 alphas .*\(1e-06, 1e-05\)") as caught:
        RankRC(max_iter=3, basis="rare").alpha_path(X, y, [1e-6, 10.0, 1e-5])
    assert len(caught) == 1
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("alphas", "message"),
    [
        ([], "at least one"),
        ([1.0, 0.0], "finite numbers > 0"),
        ([np.nan], "finite numbers > 0"),
        ("many", "got 'many'"),
    ],
)
def test_alphas_of_a_path_are_checked(alphas, message):
    with pytest.raises(ParameterError, match=f"alphas of RankRC must be .*{message}"):
        RankRC(basis="rare").alpha_path(*rare_data(), alphas)


def test_a_path_needs_the_solver_that_starts_warm_and_good_parameters():
    with pytest.raises(ParameterError, match="alpha_path of RankRC needs solver='trust-region'"):
        RankRC(solver="stochastic", basis="rare").alpha_path(*rare_data(), [1.0])
    with pytest.raises(ParameterError, match="'tol' parameter of RankRC"):
        RankRC(tol=-1, basis="rare").alpha_path(*rare_data(), [1.0])


def test_predictions_do_not_follow_parameters_that_are_set_later():
    X, y = rare_data()
    for kernel, Z in (("rbf", X), ("poly", X), ("precomputed", X @ X.T)):
        model = RankRC(0.01, kernel=kernel, basis=20, landmarks="cholesky").fit(Z, y)
        before = model.predict(Z), model.decision_function(Z)
        model.set_params(
            kernel="chi2",
            gamma=77.0,
            degree=9,
            coef0=-3.0,
            kernel_params={"gamma": 1},
            threshold={"cost": 1e6},
            basis=3,
        )
        model.set_params(rare_class=0, emphasis={"push": 9}, loss="logistic")
        np.testing.assert_array_equal(model.predict(Z), before[0])
        np.testing.assert_array_equal(model.decision_function(Z), before[1])


def test_the_basis_is_a_copy_of_the_rows_that_were_given():
    X, y = rare_data()
    rows = np.array([3, 1, 40])
    model = RankRC(kernel="precomputed", basis=rows).fit(X @ X.T, y)
    before = model.score_samples(X @ X.T)
    rows[:] = 0
    np.testing.assert_array_equal(model.score_samples(X @ X.T), before)


def partial_loss(K, K_basis, y, beta, share, alpha, eps=0.5):
    """The objective by loops: for every rare sample, the losses with the highest share of the others."""
    scores = K @ beta
    others = np.sort(scores[y == 0])[::-1]
    weights = np.clip(share * len(others) - np.arange(len(others)), 0.0, 1.0) / share
    total = sum(float(weights @ hinge(a - others, eps)) for a in scores[y == 1])
    return total / len(others) / np.sum(y == 1) + 0.5 * alpha * beta @ K_basis @ beta


@pytest.mark.parametrize("share", [0.05, 0.2, 0.7])
def test_the_highest_share_is_minimised_and_not_only_followed(share):
    X, y = rare_data(5, m=120, rare=6, shift=2.0)
    alpha, emphasis = 1e-3, {"false_positive_range": share}
    model = RankRC(alpha, emphasis=emphasis, basis="rare").fit(X, y)
    K, beta = rbf_kernel(X, model.basis_points_, gamma=model.gamma_), model.dual_coef_[0]

    def value(beta):
        return partial_loss(K, K[model.basis_], y, beta, share, alpha)

    assert model.objective_ == pytest.approx(value(beta), rel=1e-9)
    assert model.objective_ < 0.5, "less than that of scores that are all zero"
    found = [
        minimize(
            value,
            start,
            method="Nelder-Mead",
            options={"maxiter": 800, "fatol": 1e-10, "xatol": 1e-8, "adaptive": True},
        ).fun
        for start in (beta, np.zeros(6))
    ]
    assert model.objective_ <= min(found) + 1e-6
    path = RankRC(1.0, emphasis=emphasis, basis="rare").alpha_path(X, y, [alpha, 1.0])
    assert path.models[0].objective_ == pytest.approx(model.objective_, rel=1e-5)


def test_pushing_and_partial_ranges_favour_the_top():
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [30, 350])
    X = rng.standard_normal((380, 2)) + np.where(y[:, None] == 1, [1.0, 0.3], 0.0)
    X[30:60] += [2.5, -2.0]  # majority samples that look rarer than the rare ones
    plain = RankRC(1e-5, basis="rare").fit(X, y)
    K = rbf_kernel(X[:30], gamma=plain.gamma_)
    for emphasis in ({"push": 4.0}, {"false_positive_range": 0.05}, {"push": 2.0, "false_positive_range": 0.2}):
        profile = Profile.of(np.ones(1), emphasis.get("false_positive_range", 1.0))
        loss = PairLoss(Pairs.of(y), push=emphasis.get("push", 1.0), profile=profile)
        model = RankRC(1e-5, emphasis=emphasis, basis="rare").fit(X, y)

        def value(fitted, loss=loss):
            beta = fitted.dual_coef_[0]
            return loss.at(fitted.decision_function(X)).value + 0.5e-5 * beta @ K @ beta

        assert value(model) == pytest.approx(model.objective_, rel=1e-6)
        assert value(model) < 0.99 * value(plain)


def test_losses_by_name_and_as_objects():
    X, y = rare_data()
    for name, loss in (("smoothed_hinge", SmoothedHinge()), ("logistic", Logistic())):
        named, given = RankRC(loss=name, basis="rare").fit(X, y), clone(RankRC(loss=loss, basis="rare")).fit(X, y)
        np.testing.assert_array_equal(named.dual_coef_, given.dual_coef_)
        assert roc_auc_score(y, named.decision_function(X)) > 0.85
    sharp = RankRC(loss=SmoothedHinge(eps=0.1), tol=1e-9, basis="rare").fit(X, y)
    f, beta = sharp.score_samples(X), sharp.dual_coef_[0]
    K = rbf_kernel(sharp.basis_points_, gamma=sharp.gamma_)
    value = hinge(f[y == 1][:, None] - f[y == 0], 0.1).mean() + 0.5e-3 * beta @ K @ beta
    assert sharp.objective_ == pytest.approx(value, rel=1e-9)


def test_fewer_functions_with_the_one_norm():
    X, y = rare_data()
    model = RankRC(3e-3, penalty="l1", gamma=0.2, tol=1e-9, basis="rare").fit(X, y)
    assert 0 < np.count_nonzero(model.dual_coef_) < 15


def test_the_rare_class_may_be_the_first_and_may_be_named():
    X, y = rare_data()
    names = np.where(y == 1, "fault", "fine")  # "fault" comes first
    model = RankRC(basis="rare").fit(X, names)
    assert model.rare_class_ == "fault"
    assert roc_auc_score(names == "fine", model.decision_function(X)) > 0.8
    for learn in (lambda m: m.fit(X, names), lambda m: m.alpha_path(X, names, [1.0]).models[0]):
        with pytest.warns(UserWarning, match="the more frequent class") as caught:
            assert set(learn(RankRC(rare_class="fine", basis="rare")).basis_) == set(np.flatnonzero(y == 0))
        assert len(caught) == 1
    with pytest.raises(ParameterError, match=r"'rare_class' .* of RankRC .* \['fault', 'fine'\]. Got 'none'"):
        RankRC(rare_class="none", basis="rare").fit(X, names)


def test_scores_of_rarity_do_not_depend_on_the_names_of_the_classes():
    X, y = rare_data()
    plain = RankRC(basis="rare").fit(X, y)
    named = RankRC(basis="rare").fit(X, np.where(y == 1, "fraud", "ok"))
    np.testing.assert_allclose(named.score_samples(X), plain.score_samples(X))
    np.testing.assert_allclose(named.decision_function(X), -plain.decision_function(X))
    assert (named.predict(X) == "fraud").sum() == np.sum(named.score_samples(X) > named.threshold_)
    X, y = rare_data(3, m=200, rare=30)
    assert roc_auc_score(1 - y, RankRC(rare_class=0, basis="rare").fit(X, 1 - y).decision_function(X)) > 0.8


def test_sparse_samples():
    X, y = rare_data(d=6)
    X = X * (np.abs(X) > 1)
    dense, sparse = RankRC(basis="rare").fit(X, y), RankRC(basis="rare").fit(sp.csr_array(X), y)
    assert sparse.gamma_ == pytest.approx(dense.gamma_)
    np.testing.assert_allclose(sparse.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-6)


def test_probabilities_by_calibration():
    X, y = rare_data(m=300, rare=60)
    probabilities = CalibratedClassifierCV(RankRC(1e-2, basis="rare"), cv=3).fit(X, y).predict_proba(X)
    assert np.all((probabilities >= 0) & (probabilities <= 1))
    assert probabilities[y == 1, 1].mean() > probabilities[y == 0, 1].mean() + 0.2


def test_the_width_is_the_one_that_was_used():
    X, y = rare_data()
    model = RankRC(0.01, kernel_params={"gamma": 0.3}, basis="rare").fit(X, y)
    assert model.gamma_ == 0.3
    K = rbf_kernel(X, model.basis_points_, gamma=model.gamma_)
    np.testing.assert_allclose(model.score_samples(X), K @ model.dual_coef_[0])
    assert RankRC(gamma="auto", basis="rare").fit(X, y).gamma_ == pytest.approx(1 / 3)
    assert RankRC(gamma="scale", basis="rare").fit(X, y).gamma_ == pytest.approx(1 / (3 * X.var()))
    assert RankRC(kernel="precomputed", basis="rare").fit(X @ X.T, y).gamma_ is None


def test_samples_without_weight_do_not_count():
    rng = np.random.default_rng(1)
    y = (rng.random(80) < 0.2).astype(int)
    X, weights = rng.standard_normal((80, 2)) + y[:, None], (rng.random(80) < 0.6).astype(float)
    here = weights > 0
    assert RankRC(0.01, basis="rare").fit(X, y, weights).threshold_ == pytest.approx(
        RankRC(0.01, basis="rare").fit(X[here], y[here]).threshold_
    )


def test_equal_scores_are_warned_of_and_no_sample_is_called_rare():
    X, y = rare_data(m=90)
    with pytest.warns(UserWarning, match="RankRC gives all samples the same score"):
        model = RankRC(basis="rare").fit(np.ones((90, 2)), y)
    assert model.predict(np.ones((90, 2))).sum() == 0
    with pytest.warns(UserWarning, match="the same score"):
        flat = RankRC(kernel="linear", basis="rare").fit(
            X * (y == 0)[:, None], y
        )  # rare rows are zero: no function is left
    np.testing.assert_array_equal(flat.dual_coef_, 0.0)


def test_large_alphas_and_small_kernel_values_still_rank():
    X, y = rare_data(m=90)
    usual = roc_auc_score(y, RankRC(10.0, basis="rare").fit(X, y).score_samples(X))
    for ranker, samples in ((RankRC(1e8, basis="rare"), X), (RankRC(kernel="linear", basis="rare"), 1e-6 * X)):
        assert roc_auc_score(y, ranker.fit(samples, y).score_samples(samples)) > usual - 0.05
        assert ranker.predict(samples).sum() == 15


def test_stopping_early_is_reported_at_the_line_of_the_user():
    X, y = rare_data()
    for model in (
        RankRC(1e-6, max_iter=1, basis="rare"),
        make_pipeline(StandardScaler(), RankRC(1e-6, max_iter=1, basis="rare")),
    ):
        with pytest.warns(ConvergenceWarning, match="RankRC was stopped after 1 iterations") as caught:
            model.fit(X, y)
        assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, r"'alpha' parameter of RankRC must be a float in the range \[1e-100"),
        ({"alpha": np.inf}, r"'alpha' parameter of RankRC"),
        ({"basis": "some"}, r"'basis' parameter of RankRC must be a str among .*Got 'some'"),
        ({"basis": [0, 500]}, r"basis of RankRC.* row numbers from 0 to 149"),
        ({"basis": [0, 0]}, r"basis of RankRC.* distinct row numbers from 0 to 149"),
        ({"basis": [0.5]}, r"basis of RankRC.* row numbers from 0 to 149"),
        ({"basis": np.ones(150, dtype=bool)}, r"basis of RankRC.* row numbers from 0 to 149"),
        ({"basis": 0}, r"'basis' parameter of RankRC"),
        ({"basis": True}, r"'basis' parameter of RankRC"),
        ({"landmarks": "luck"}, r"'landmarks' parameter of RankRC"),
        ({"loss": "hinge2"}, r"'loss' parameter of RankRC .*a loss object, for example SmoothedHinge"),
        ({"loss": SmoothedHinge}, r"'loss' parameter of RankRC .*Got <class"),
        ({"loss": SmoothedHinge(eps=0.0)}, r"'loss' parameter of RankRC .*with eps > 0"),
        ({"emphasis": {"push": 0.5}}, r"'emphasis' parameter of RankRC .*'push' \(a number >= 1\)"),
        ({"emphasis": {"false_positive_range": 1.5}}, r"'false_positive_range' \(a number in \(0, 1\]\)"),
        ({"emphasis": {"false_positive_range": True}}, r"'emphasis' parameter of RankRC"),
        ({"emphasis": {"pull": 2.0}}, r"'emphasis' parameter of RankRC .*Got \{'pull': 2.0\}"),
        ({"emphasis": 2.0}, r"'emphasis' parameter of RankRC"),
        ({"gamma": "wide"}, r"'gamma' parameter of RankRC"),
        ({"gamma": 0.0}, r"'gamma' parameter of RankRC"),
        ({"gamma": -1.0}, r"'gamma' parameter of RankRC"),
        ({"gamma": np.nan}, r"'gamma' parameter of RankRC"),
        ({"max_iter": 0}, r"'max_iter' parameter of RankRC"),
        ({"penalty": "l1", "solver": "stochastic"}, r"is for penalty='l2'"),
        ({"kernel": "precomputed"}, r"needs the square matrix"),
        ({"kernel": lambda u, v: np.nan}, r"kernel of RankRC gives values that are not finite"),
    ],
)
def test_bad_parameters_are_refused_with_what_is_allowed(parameters, message):
    X, y = rare_data()
    with pytest.raises(ParameterError, match=message):
        RankRC(**parameters).fit(X, y)


def test_landmarks_that_are_unavailable_are_refused():
    X, y = rare_data()
    with pytest.raises(ParameterError, match=r"landmarks='kmeans' of RankRC needs samples"):
        RankRC(kernel="precomputed", landmarks="kmeans", basis=40).fit(X @ X.T, y)
    with pytest.raises(ParameterError, match=r"landmarks='cholesky' of RankRC finds no sample x with k\(x, x\) > 0"):
        RankRC(kernel="additive_chi2", basis=40, landmarks="cholesky").fit(np.abs(X), y)


def test_one_class_and_three_classes_are_refused():
    with pytest.raises(DegenerateDataError, match="RankRC needs samples of two classes"):
        RankRC(basis="rare").fit(np.eye(4), np.ones(4))
    with pytest.raises(DegenerateDataError, match=r"RankRC needs samples of two classes.* weight\), 1"):
        RankRC(basis="rare").fit(np.eye(4), [0, 1, 0, 1], [0, 1, 0, 1])
    with pytest.raises(ValueError, match="use OrdinalRankRC"):
        RankRC(basis="rare").fit(np.eye(4), [0, 1, 2, 1])


def test_two_levels_are_two_classes():
    X, y = rare_data()
    ordinal, binary = OrdinalRankRC(basis="rare").fit(X, y), RankRC(basis="rare").fit(X, y)
    np.testing.assert_allclose(ordinal.dual_coef_, binary.dual_coef_, atol=1e-8)


def test_the_rare_class_has_fewer_samples_whatever_they_weigh():
    X, y = rare_data(m=200, rare=20)
    balanced = np.where(y == 1, 200 / 20, 200 / 180)
    for weights in (balanced, np.where(y == 1, 50.0, 1.0)):
        model = RankRC(0.01, random_state=0).fit(X, y, sample_weight=weights)
        assert model.rare_class_ == 1
        assert roc_auc_score(y, model.score_samples(X)) > 0.9
    none = np.where(
        (y == 0) & (np.arange(200) < 195), 0.0, 1.0
    )  # five others are left: samples without weight are none
    assert RankRC(0.01, random_state=0).fit(X, y, sample_weight=none).rare_class_ == 0


def test_by_default_the_majority_has_kernel_functions_too():
    X, y = rare_data(m=600, rare=30)
    basis = RankRC(0.01, random_state=0).fit(X, y).basis_
    assert set(np.flatnonzero(y)) < set(basis)
    assert len(basis) == 30 + 100
    X, y = rare_data(m=600, rare=150)
    assert len(RankRC(0.01, random_state=0).fit(X, y).basis_) == 300
    X, y = rare_data(m=60, rare=15)
    assert len(RankRC(0.01, random_state=0).fit(X, y).basis_) == 60


def test_by_default_many_rare_samples_are_thinned(monkeypatch):
    monkeypatch.setattr("rarefy.ranking._problem._MOST_RARE", 40)
    X, y = rare_data(m=400, rare=120)
    basis = RankRC(0.01, random_state=0).fit(X, y).basis_
    assert np.bincount(y[basis]).tolist() == [100, 40]
    assert len(set(basis)) == 140


def test_structure_of_the_majority_is_seen_by_default():
    rng = np.random.default_rng(0)
    # The rare samples are spread widely; the others sit in clusters that no rare sample is near.
    centres = 6.0 * rng.standard_normal((8, 5))
    X = np.vstack(
        [8.0 * rng.standard_normal((15, 5)), centres[rng.integers(8, size=600)] + rng.standard_normal((600, 5))]
    )
    y = np.repeat([1, 0], [15, 600])
    X_new = np.vstack(
        [8.0 * rng.standard_normal((300, 5)), centres[rng.integers(8, size=600)] + rng.standard_normal((600, 5))]
    )
    y_new = np.repeat([1, 0], [300, 600])
    area = {
        basis: roc_auc_score(y_new, RankRC(1e-5, basis=basis, random_state=0).fit(X, y).score_samples(X_new))
        for basis in ("auto", "rare")
    }
    assert area["auto"] > area["rare"] + 0.02


@pytest.mark.parametrize("ranker", [RankRC, OrdinalRankRC])
def test_columns_in_different_units_are_standardised(ranker):
    """Oil spills, with columns from 1e-3 to 1e6, were ranked with an AUC of 0.69 instead of 0.94."""
    rng = np.random.default_rng(0)
    y = (np.arange(200) < 30).astype(int)
    X = rng.standard_normal((200, 6)) + 1.5 * y[:, None] * (np.arange(6) < 2)
    units = 10.0 ** np.array([-3, -2, 0, 1, 5, 6])
    plain, inside = ranker(random_state=0).fit(X, y), ranker(random_state=0).fit(X * units, y)
    assert plain.kernel_.factors is None
    assert inside.kernel_.factors is not None
    kept, lost = (ranker(standardize=s, random_state=0).fit(X * units, y) for s in (True, False))
    np.testing.assert_allclose(inside.decision_function(X * units), kept.decision_function(X * units))
    areas = [roc_auc_score(y, m.decision_function(X * units)) for m in (inside, lost)]
    assert areas[0] > areas[1] + 0.1
    made = certify_scores(inside, X * units, y)
    assert made.verify(X * units, y)
    assert ScoreCertificate.from_dict(made.to_dict()).verify(X * units, y)
    forged = made.to_dict() | {"factors": [2.0 * f for f in made.to_dict()["factors"]]}
    assert not ScoreCertificate.from_dict(forged).verify(X * units, y)
