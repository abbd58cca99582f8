"""Choosing the parameters of the classifier in a subspace, its probabilities, and rough solutions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import log_loss
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict

from rarefy.core.linalg.rows import DenseRows
from rarefy.core.solvers.hinge_admm import prox_maximum_norm, prox_one_norm, prox_two_norm
from rarefy.core.svm.dual_bound import DualBound
from rarefy.core.svm.norm_svm import norm_svm
from rarefy.core.svm.rough_svm import rough_norm_svms
from rarefy.exceptions import ParameterError
from rarefy.kernel import SubspaceLPSVC, SubspaceLPSVCCV


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return X[order], np.array(["red", "rose", "white"])[y[order]]


def test_the_search_is_that_of_scikit_learn(wine):
    X, y = wine
    one, folds = SubspaceLPSVC(random_state=0, tol=1e-3), StratifiedKFold(3)
    alphas, gammas = [0.1, 1.0, 10.0], [0.01, 0.1]
    ours = SubspaceLPSVCCV(one, alphas=alphas, gammas=gammas, cv=folds).fit(X, y)
    grid = {"alpha": alphas, "gamma": gammas}
    theirs = GridSearchCV(one, grid, cv=folds).fit(X, y)
    cells = zip(theirs.cv_results_["params"], theirs.cv_results_["mean_test_score"], strict=True)
    by_cell = {(params["alpha"], params["gamma"]): score for params, score in cells}
    frame = pd.DataFrame(ours.cv_results_)
    assert len(frame) == 6
    for _, row in frame.iterrows():
        # A start from another alpha ends within the accepted gap, where a label or two may differ.
        assert row["mean_test_score"] == pytest.approx(by_cell[row["param_alpha"], row["param_gamma"]], abs=0.015)
    assert ours.best_score_ == frame["mean_test_score"].max()
    assert ours.best_params_ == {"gamma": ours.best_estimator_.gamma, "alpha": ours.alpha_}


def test_the_strongest_of_equal_penalties_is_chosen():
    X = np.random.default_rng(0).standard_normal((60, 3)) + 4.0 * np.repeat([[0.0], [1.0]], 30, axis=0)
    model = SubspaceLPSVCCV(SubspaceLPSVC(random_state=0), alphas=[1e-3, 1e-2, 0.1], gammas=[0.05], cv=3)
    assert model.fit(X, np.repeat([0, 1], 30)).alpha_ == 0.1


def test_held_out_scores_are_those_of_other_folds(wine):
    X, y = wine
    folds, one = StratifiedKFold(4), SubspaceLPSVC(random_state=0, standardize=True)
    model = SubspaceLPSVCCV(one, alphas=[0.3], gammas=[0.05], cv=folds).fit(X, y)
    plain = clone(one).set_params(alpha=0.3, gamma=0.05, tol=1e-3)
    expected = cross_val_predict(plain, X, y, cv=folds, method="decision_function")
    np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-6)


@pytest.mark.parametrize("two", [False, True])
def test_probabilities_agree_with_predictions_and_are_better_than_the_plain_ones(wine, two):
    X, y = wine
    y = np.where(y == "red", "red", "other") if two else y
    model = SubspaceLPSVCCV(SubspaceLPSVC(random_state=0), alphas=[0.3], gammas=[0.05]).fit(X[::2], y[::2])
    chances = model.predict_proba(X[1::2])
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], model.predict(X[1::2]))
    held_out = model.held_out_scores_
    table = np.column_stack([-held_out, held_out]) if two else held_out
    losses = [
        log_loss(y[::2], np.exp(table / t) / np.exp(table / t).sum(axis=1, keepdims=True), labels=model.classes_)
        for t in (0.5 * model.temperature_, model.temperature_, 2.0 * model.temperature_)
    ]
    assert losses[1] < min(losses[0], losses[2])


def test_the_default_grid_is_around_the_width_of_the_data(wine):
    X, y = wine
    model = SubspaceLPSVCCV(SubspaceLPSVC(random_state=0), alphas=[0.3], cv=3).fit(X, y)
    np.testing.assert_allclose(sorted(model.cv_results_["param_gamma"]), np.array([0.25, 1.0, 4.0]) / (2 * X.shape[1]))
    linear = SubspaceLPSVCCV(SubspaceLPSVC(kernel="histogram_intersection"), alphas=[0.3], cv=3).fit(abs(X), y)
    assert len(linear.cv_results_["params"]) == 1


def test_the_order_of_the_rows_does_not_matter():
    """Sonar echoes come sorted by angle: folds of neighbours chose a penalty that cost eleven points."""
    rng = np.random.default_rng(0)
    angle = np.sort(rng.uniform(-3, 3, 160))
    X, y = np.column_stack([angle, rng.standard_normal(160)]), np.sin(2 * angle) > 0
    one, options = SubspaceLPSVC(random_state=0), {"alphas": [0.1, 1.0, 10.0], "gammas": [1.0]}
    shuffled, neighbours = (SubspaceLPSVCCV(one, cv=cv, **options).fit(X, y).best_score_ for cv in (None, 5))
    assert shuffled > neighbours + 0.05


def test_dimensions_weights_and_kernel_matrices(wine):
    X, y = wine
    model = SubspaceLPSVCCV(SubspaceLPSVC(random_state=0), alphas=[0.3], gammas=[0.03], dimensions=[2, 20], cv=3)
    assert model.fit(X, y).best_params_["n_components"] == 20
    K = rbf_kernel((X - X.mean(axis=0)) / X.std(axis=0), gamma=0.03)
    known = SubspaceLPSVCCV(SubspaceLPSVC(kernel="precomputed", random_state=0), alphas=[0.1, 1.0], cv=3).fit(K, y)
    assert known.best_score_ > 0.95
    weights = np.where(y == "red", 0.0, 1.0)
    assert (model.fit(X, y, weights).predict(X) != "red").all()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alphas": [-1.0]}, "alphas of SubspaceLPSVCCV"),
        ({"gammas": []}, "gammas of SubspaceLPSVCCV must have at least one value"),
        ({"gammas": [-1.0]}, "'gamma' parameter of SubspaceLPSVC"),
        ({"dimensions": [0]}, "'n_components' parameter of SubspaceLPSVC"),
        ({"estimator": SubspaceLPSVC(landmarks=[1, 2])}, "row numbers would mean other samples in every fold"),
        ({"estimator": SubspaceLPSVC(tol=-1)}, "'tol' parameter of SubspaceLPSVC"),
        ({"estimator": SubspaceLPSVC(multi_class="direct", tol="predictions")}, "needs multi_class='ovr'"),
    ],
)
def test_bad_parameters_are_refused(wine, parameters, message):
    with pytest.raises(ParameterError, match=message):
        SubspaceLPSVCCV(cv=3, **parameters).fit(*wine)


PROXES = {1: prox_one_norm, 2: prox_two_norm, "inf": prox_maximum_norm}


@pytest.mark.parametrize("norm", PROXES)
def test_proximal_maps_minimise(norm):
    rng = np.random.default_rng(3)
    size = {1: lambda u: np.abs(u).sum(), 2: np.linalg.norm, "inf": lambda u: np.abs(u).max()}[norm]
    U, t = rng.standard_normal((7, 40)), rng.uniform(0.0, 6.0, 40)
    found = PROXES[norm](U, t)
    for u, best, step in zip(U.T, found.T, t, strict=True):
        value = step * size(best) + 0.5 * np.sum((best - u) ** 2)
        for other in best + 0.1 * rng.standard_normal((50, 7)) * rng.uniform(0, 1, (50, 1)):
            assert value <= step * size(other) + 0.5 * np.sum((other - u) ** 2) + 1e-12


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_gaps_of_rough_solutions_hold(norm):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        D = rng.standard_normal((150, 6))
        Y = np.sign(D @ rng.standard_normal((6, 3)) + rng.standard_normal((150, 3)))
        F, p = np.column_stack([D, np.ones(150), *([np.zeros(150)] if norm == "inf" else [])]), rng.uniform(0.5, 2, 150)
        found = rough_norm_svms(DenseRows(F), Y, 2.0, p, norm=norm, gram=F.T @ F)
        for one, y in zip(found, Y.T, strict=True):
            exact = norm_svm(DenseRows(F), y, 2.0, p, norm=norm)
            assert one.objective - one.gap <= exact.objective * (1 + 1e-7) <= one.objective * (1 + 2e-7)
            assert one.objective < 1.2 * exact.objective


def test_settled_predictions_are_nearly_those_of_the_optimum():
    X, y = load_digits(return_X_y=True)
    rough = SubspaceLPSVC(tol="predictions", random_state=0).fit(X[:1000], y[:1000])
    exact = SubspaceLPSVC(random_state=0).fit(X[:1000], y[:1000])
    assert rough.score(X[1000:], y[1000:]) > exact.score(X[1000:], y[1000:]) - 0.02
    assert np.all(rough.duality_gap_ > 0.0)


def test_gaps_are_never_negative_and_never_too_small():
    """Against HiGHS, over penalties and weights; the gap is from the optimum, not from the solver's own dual value."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        n, S, alpha = int(rng.integers(10, 40)), int(rng.integers(1, 6)), 10.0 ** rng.uniform(-6, 2)
        D, p = rng.standard_normal((n, S)), rng.uniform(0.0, 2.0, n)
        y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        found = norm_svm(DenseRows(np.column_stack([D, np.ones(n)])), y, alpha, p, tol=10.0 ** rng.uniform(-9, -2))
        table = -y[:, None] * np.column_stack([D, -D, np.ones(n)])
        best = linprog(
            np.r_[np.full(2 * S, alpha), 0.0, p],
            np.hstack([table, -np.eye(n)]),
            -np.ones(n),
            bounds=[(0, None)] * (2 * S) + [(None, None)] + [(0, None)] * n,
        ).fun
        assert found.gap >= 0.0
        assert found.objective - found.gap <= best + 1e-6 * (1 + best)


@pytest.mark.parametrize("tiny", [0.0, 5e-324, 1e-200])
def test_variables_without_room_leave_a_bound_that_holds(tiny):
    """Distances to a bound that hardly are numbers once left a matrix without a factorisation."""
    D = np.random.default_rng(0).standard_normal((12, 3))
    y = np.repeat([1.0, -1.0], 6)
    F, p = DenseRows(np.column_stack([D, np.ones(12)])), np.ones(12)
    dual = DualBound(F, np.minimum(y, 0.0), np.maximum(y, 0.0), y, 1e-3, 1, np.ones((1, 1)), 4)
    bound = dual.bound(y * np.where(np.arange(12) % 2, 1.0, tiny), 1e-9)
    assert 0.0 <= bound <= norm_svm(F, y, 1e-3, p).objective


def test_predictions_settle_with_coordinates_that_single_precision_cannot_hold():
    rng = np.random.default_rng(0)
    X = 1e4 * rng.standard_normal((120, 3))
    y = X[:, 0] > 0
    options = {"kernel": "poly", "degree": 15, "gamma": 1.0, "standardize": False, "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SubspaceLPSVC(tol="predictions", n_components=20, **options).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.duality_gap_).all()
