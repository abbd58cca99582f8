"""Feature selection inside a kernel SVM: against plain recomputation, other solvers, and its own promises."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rarefy
from feature_problems import crossed, plain_selector, products, two_class_problem, value_by_loops
from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.penalties import L1Penalty
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.feature_weights.reduced_point import ReducedPoint
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel import KernelFeatureSelector, RegularizationPath

METHODS = ("ao", "ao1", "ao2", "full", "reduced", "gmkl")


def problem_of(model, X, y):
    return model._task(X, y, np.ones(len(y))).problem.with_mu(model.mu)


# What is found


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_two_features_that_are_informative_only_together(method):
    X, y = crossed()
    model = plain_selector(1.0, 1.0, method=method, tol=1e-2 if method == "gmkl" else 1e-3).fit(X, y)
    assert set(np.argsort(model.ranking_)[:2]) == {1, 4}
    assert model.score(X, y) > 0.95
    assert model.converged_
    if method != "gmkl":
        assert model.get_support(indices=True).tolist() == [1, 4]
        assert model.curvature_ > 0.0
        assert model.objective_ == pytest.approx(value_by_loops(X, y, model), rel=1e-9)
        assert model.history_[-1] == model.objective_
    else:
        assert np.isnan(model.curvature_)


def test_polishing_continues_from_where_the_method_ends():
    X, y = crossed()
    rough, polished = (plain_selector(1.0, 1.0, method="ao", tol=0.1, polish=p).fit(X, y) for p in (False, True))
    assert polished.objective_ < rough.objective_
    np.testing.assert_array_equal(polished.history_[: len(rough.history_)], rough.history_)
    assert polished.n_iter_ == rough.n_iter_ == len(rough.history_) - 1


@pytest.mark.parametrize("method", ["ao", "ao1", "full", "reduced"])
def test_methods_with_the_same_objective_agree_and_descend(method):
    X, y = crossed()
    model = plain_selector(1.0, 1.0, method=method, polish=False, tol=1e-4, max_iter=300).fit(X, y)
    best = plain_selector(1.0, 1.0, method="reduced", tol=1e-6).fit(X, y)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-4)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])


@pytest.mark.parametrize("penalty", ["weights", "squares"])
@pytest.mark.parametrize("method", METHODS)
def test_weights_are_stationary(method, penalty):
    X, y = crossed(1)
    model = plain_selector(1.0, 0.5, method=method, penalty=penalty, tol=1e-5, max_iter=300).fit(X, y)
    power = 2 if method == "gmkl" or penalty == "squares" else 1
    loss = SmoothedHinge(0.05 if method == "gmkl" else 0.5)
    problem = Problem(X, Classifiers(np.where(y == 1, 1.0, -1.0)[:, None], np.ones(80), L1Penalty(0.0), loss))

    def value(z):
        return problem.solve_classifiers(z)[2] + 0.5 * np.sum(z**power)

    z, h = model.feature_weights_, 1e-4
    assert value(z) == pytest.approx(model.objective_, rel=1e-6)
    for k in np.flatnonzero(model.support_):
        slope = (value(z + h * np.eye(6)[k]) - value(z - h * np.eye(6)[k])) / (2 * h)
        assert abs(slope) < (0.2 if method == "gmkl" else 0.02)


@pytest.fixture(scope="module")
def cancer():
    """Every fourth sample, and the lowest objective with squares."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[::4]), y[::4]
    return X, y, plain_selector(4.0, 4.0, method="reduced", penalty="squares", tol=1e-6).fit(X, y).objective_


@pytest.mark.parametrize("init", ["ones", "scaled"])
@pytest.mark.parametrize("method", ["ao", "ao1", "ao2", "reduced"])
def test_with_squares_no_feature_is_left_out_that_lowers_the_objective(method, init, cancer):
    """A weight of zero is stationary; it is a minimum only where the slope in its square is above -mu."""
    X, y, best = cancer
    model = plain_selector(4.0, 4.0, method=method, init=init, penalty="squares").fit(X, y)
    assert model.objective_ == pytest.approx(best, rel=1e-4)
    assert model.curvature_ > 0.0
    assert model.support_.sum() < 15
    problem = problem_of(model, X, y)
    B, b, _ = problem.solve_classifiers(model.feature_weights_)
    assert problem.slopes(model.feature_weights_, B, b)[~model.support_].min() > -4.0
    # Without its most important feature the search ends at a saddle point, and the curvature shows it.
    z = np.where(model.ranking_ == 1, 0.0, model.feature_weights_)
    without = plain_selector(4.0, 4.0, method="reduced", init=z, penalty="squares").fit(X, y)
    assert np.argmin(model.ranking_) not in without.get_support(indices=True)
    assert without.curvature_ < 0.0


def test_polynomial_kernels():
    X, y = crossed()
    model = plain_selector(1.0, 0.5, kernel="poly", degree=2).fit(X, y)
    assert model.get_support(indices=True).tolist() == [1, 4]
    z = model.feature_weights_[model.feature_weights_ > 0]
    K = ((X[:, model.feature_weights_ > 0] * z**2) @ model.support_vectors_.T + 1.0) ** 2
    np.testing.assert_allclose(model.decision_function(X), K @ model.dual_coef_[0] + model.intercept_[0], atol=1e-9)


def test_large_kernel_values_give_finite_weights():
    X, y = (part[::8] for part in load_wine(return_X_y=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = plain_selector(kernel="poly", degree=3, max_iter=3).fit(X, y)
    assert np.isfinite(model.feature_weights_).all()


def test_scores_are_those_of_an_ordinary_svm_on_scaled_features():
    X, y = crossed()
    model = plain_selector(1.0, 1.0).fit(X, y)
    z = model.feature_weights_
    K = rbf_kernel(X * z, model.support_vectors_ * z[z > 0] @ np.eye(6)[z > 0], gamma=1.0)
    np.testing.assert_allclose(model.decision_function(X), K @ model.dual_coef_[0] + model.intercept_[0], atol=1e-9)


def test_predictions_do_not_depend_on_parameters_set_after_fit():
    X, y = crossed()
    for options in ({"kernel": "rbf"}, {"kernel": "poly", "degree": 2}):
        model = plain_selector(1.0, 0.5, **options).fit(X, y)
        before = model.decision_function(X)
        other = "poly" if options["kernel"] == "rbf" else "rbf"
        model.set_params(kernel=other, degree=4, coef0=0.0, C=9.0, mu=7.0, eps=0.1, method="gmkl")
        np.testing.assert_array_equal(model.decision_function(X), before)


# Paths


def test_paths_go_from_the_smallest_mu_and_are_reported_in_the_given_order():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 6))
    y = np.sign(X[:, 1] * X[:, 4] + 0.4 * X[:, 2] + 0.2 * rng.standard_normal(60))
    mus = [1.0, 1e-4, 16.0, 64.0]
    selector = plain_selector(2.0)
    before = dict(vars(selector))
    path = selector.mu_path(X, y, mus)
    assert vars(selector) == before
    assert isinstance(path, RegularizationPath)
    assert path.parameter == "mu"
    np.testing.assert_array_equal(path.values, mus)
    assert [model.mu for model in path.models] == mus
    order = np.argsort(mus)
    counts, weights = path.attribute("support_").sum(axis=1)[order], path.attribute("feature_weights_")[order]
    assert np.all(np.diff(counts) <= 0)
    assert counts[0] > counts[-1]
    assert np.all(weights[1:][weights[:-1] == 0.0] == 0.0), "a weight that is zero stays zero"
    assert np.all(np.diff(path.attribute("objective_")[order]) > 0)
    # The second smallest mu gives what a start at the weights of the smallest one gives.
    again = plain_selector(2.0, 1.0, init=path.models[1].feature_weights_).fit(X, y)
    np.testing.assert_allclose(path.models[0].feature_weights_, again.feature_weights_, rtol=1e-12)
    np.testing.assert_array_equal(path.predict(X), [model.predict(X) for model in path.models])
    np.testing.assert_array_equal(path.scores(X), [model.decision_function(X) for model in path.models])
    for model in path.models:
        assert model.objective_ == pytest.approx(value_by_loops(X, y, model), rel=1e-9)


def test_a_path_of_one_mu_is_a_fit():
    X, y = crossed(n=50)
    options = {"n_starts": 2, "random_state": 3, "screening": 4, "tol": 1e-2}
    fitted = plain_selector(1.0, 0.1, **options).fit(X, y)
    (model,) = plain_selector(1.0, **options).mu_path(X, y, [0.1]).models
    np.testing.assert_array_equal(model.feature_weights_, fitted.feature_weights_)
    np.testing.assert_array_equal(model.decision_function(X), fitted.decision_function(X))


def test_models_of_a_path_know_names_and_predict_labels_of_several_classes():
    X, _ = crossed(n=60)
    y = np.array(["left", "middle", "right"])[np.digitize(X[:, 3], [-0.6, 0.6])]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    path = plain_selector(2.0, tol=1e-2).mu_path(frame, y, [0.1, 4.0])
    for model in path.models:
        assert list(model.feature_names_in_) == list("abcdef")
        assert model.n_features_in_ == 6
    assert path.scores(frame).shape == (2, 60, 3)
    np.testing.assert_array_equal(path.predict(frame), [model.predict(frame) for model in path.models])
    with pytest.raises(ValueError, match="feature names"):
        path.predict(frame.rename(columns={"a": "z"}))


def test_searches_of_a_path_that_stop_early_are_counted():
    X, y = crossed()
    with pytest.warns(
        ConvergenceWarning, match=r"method='ao': 2 of 2 searches stopped before .* Raise max_iter or tol"
    ):
        path = plain_selector(method="ao", max_iter=1, polish=False).mu_path(X, y, [0.1, 0.2])
    assert not path.attribute("converged_").any()


# Starts


@pytest.mark.parametrize("method", ["ao2", "reduced"])
def test_more_starts_never_end_with_a_higher_objective(method):
    for seed in range(2):
        X, y = crossed(seed, n=50, d=8)
        one = plain_selector(4.0, 0.05, method=method, tol=1e-2).fit(X, y)
        many = plain_selector(4.0, 0.05, method=method, tol=1e-2, n_starts=3, random_state=seed).fit(X, y)
        assert many.objective_ <= one.objective_


def test_features_that_start_at_zero_are_not_selected():
    X, y = crossed()
    assert plain_selector(1.0, 1.0, init="scaled").fit(X, y).get_support(indices=True).tolist() == [1, 4]
    given = plain_selector(1.0, 1.0, init=[0, 1, 0, 1, 1, 0]).fit(X, y)
    assert set(given.get_support(indices=True)) <= {1, 3, 4}
    assert np.all(given.feature_weights_[[0, 2, 5]] == 0.0)


def test_a_fit_leaves_the_global_random_state_unchanged():
    X, y = products(n=40)
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (this is about the global one)
    plain_selector().fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


# Screening


def test_screening_finds_two_of_two_thousand_features():
    X = np.random.default_rng(0).standard_normal((100, 2000))
    y = X[:, 700] + X[:, 1300] > 0
    model = plain_selector(1.0, 8.0, screening=30, init="scaled", tol=1e-2).fit(X, y)
    assert set(np.argsort(model.ranking_)[:2]) == {700, 1300}
    assert model.support_.sum() < 6
    assert model.objective_ == pytest.approx(value_by_loops(X, y, model), rel=1e-9)


def test_screening_brings_in_features_that_it_missed_at_first(monkeypatch):
    X = np.random.default_rng(0).standard_normal((100, 400))
    y = X[:, 70] + X[:, 130] > 0
    last = np.arange(370, 400)
    monkeypatch.setattr("rarefy.core.feature_weights.starts._promising", lambda problem, z, size: last)
    model = plain_selector(1.0, 8.0, screening=30, init="scaled", tol=1e-2).fit(X, y)
    assert set(np.argsort(model.ranking_)[:2]) == {70, 130}


def test_screening_of_all_features_changes_nothing():
    X, y = crossed()
    all_, few = (plain_selector(1.0, 1.0, screening=s).fit(X, y) for s in (None, 6))
    np.testing.assert_array_equal(all_.feature_weights_, few.feature_weights_)


def test_screening_leaves_out_features_that_start_at_zero():
    X = np.random.default_rng(0).standard_normal((80, 20))
    y = X[:, 0] > 0
    init = np.append(0.0, np.ones(19))
    model = plain_selector(mu=0.5, init=init, tol=1e-2, screening=5).fit(X, y)
    assert model.feature_weights_[0] == 0.0
    assert model.support_.any()


@pytest.mark.parametrize("seed", range(6))
def test_screening_gives_weights_to_the_features_they_belong_to(seed):
    X = np.random.default_rng(seed).standard_normal((80, 5))
    y = X[:, 0] * X[:, 1] + X[:, 4] > 0
    model = plain_selector(4, 0.05, screening=4).fit(X, y)
    again = plain_selector(4, 0.05, init=model.feature_weights_).fit(X, y)
    assert again.objective_ <= model.objective_ * (1 + 1e-6)  # the objective is that of these weights
    assert again.objective_ == pytest.approx(model.objective_, rel=0.05)


# Samples and labels


def test_sample_weights_are_repetitions_and_the_order_of_samples_does_not_matter():
    X, y = crossed(n=50)
    rng = np.random.default_rng(0)
    times, shuffled = rng.integers(0, 3, 50), rng.permutation(50)
    weighted = plain_selector(1.0, 1.0).fit(X, y, times)
    repeated = plain_selector(1.0, 1.0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.feature_weights_, repeated.feature_weights_, rtol=1e-10)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-10)
    assert weighted.objective_ == pytest.approx(value_by_loops(X, y, weighted, times), rel=1e-9)
    permuted = plain_selector(1.0, 1.0).fit(X[shuffled], y[shuffled], times[shuffled])
    np.testing.assert_array_equal(weighted.feature_weights_, permuted.feature_weights_)
    np.testing.assert_array_equal(weighted.decision_function(X), permuted.decision_function(X))


def test_several_classes_share_their_weights():
    X, _ = crossed(n=90)
    y = np.array(["left", "middle", "right"])[np.digitize(X[:, 3] + 0.3 * X[:, 1], [-0.6, 0.6])]
    model = plain_selector(2.0, 1.0).fit(X, y)
    assert model.feature_weights_.shape == (6,)
    assert set(np.argsort(model.ranking_)[:2]) == {1, 3}
    assert model.dual_coef_.shape[0] == len(model.intercept_) == 3
    assert model.decision_function(X).shape == (90, 3)
    assert set(model.predict(X)) == {"left", "middle", "right"}
    assert model.score(X, y) > 0.9
    assert model.objective_ == pytest.approx(value_by_loops(X, y, model), rel=1e-9)


def test_labels_may_be_words_and_samples_sparse():
    X, y = crossed()
    X = X * (np.abs(X) > 0.3)
    words = np.where(y == 1, "same", "different")
    model = plain_selector(1.0, 1.0).fit(X, words)
    np.testing.assert_array_equal(model.predict(X) == "same", model.decision_function(X) > 0)
    sparse = plain_selector(1.0, 1.0).fit(sp.csr_array(X), words)
    np.testing.assert_array_equal(sparse.feature_weights_, model.feature_weights_)
    np.testing.assert_array_equal(sparse.decision_function(sp.csc_array(X)), model.decision_function(X))


@pytest.mark.parametrize("penalty", ["weights", "squares"])
def test_units_of_features_change_neither_the_selection_nor_the_meaning_of_the_curvature(penalty):
    X = np.random.default_rng(0).standard_normal((100, 4))
    y = X[:, 0] * X[:, 1] > 0
    X[:, 1] *= 1000.0
    model = plain_selector(mu=0.1, init=1.0 / X.std(axis=0), penalty=penalty).fit(X, y)
    assert model.support_[:2].all()
    assert set(np.argsort(model.ranking_)[:2]) == {0, 1}
    # The curvature is that of the reduced objective at the weights that were returned.
    problem = problem_of(model, X, y)
    z = model.feature_weights_
    moving = np.flatnonzero(model.support_ if penalty == "weights" else z > 0.0)

    def gradient(z):
        return ReducedPoint(problem.kernel(), problem.classifiers, z, None).gradient[moving]

    columns = []
    for k in moving:
        step = np.zeros(4)
        step[k] = 1e-5 * z[k]
        columns.append((gradient(z + step) - gradient(z - step)) / (2.0 * step[k]))
    H = np.column_stack(columns)
    assert model.curvature_ == pytest.approx(np.linalg.eigvalsh(0.5 * (H + H.T))[0], rel=1e-2)
    assert model.curvature_ > 0.0


@pytest.mark.parametrize(("method", "penalty"), [("ao2", "weights"), ("reduced", "squares"), ("gmkl", "squares")])
def test_constant_features_get_weight_zero(method, penalty):
    X, y = products(n=60)
    X[:, 3] = 7.0
    model = plain_selector(mu=1e-8, method=method, penalty=penalty, tol=1e-2).fit(X, y)
    assert model.feature_weights_[3] == 0.0
    assert model.feature_weights_[0] > 0.0
    with pytest.warns(UserWarning, match="selected no feature"):
        assert not plain_selector().fit(np.ones((60, 3)), y).support_.any()


# As a selector


def test_ranks_and_names():
    X, y = crossed()
    model = plain_selector(1.0, 0.1).fit(X, y)
    share = model.feature_weights_ * X.std(axis=0)
    for k in range(6):
        assert model.ranking_[k] == 1 + sum(share > share[k])
    np.testing.assert_array_equal(model.support_, share > 0.01 * share.max())
    np.testing.assert_array_equal(model.transform(X), X[:, model.support_])
    names = [f"gene{i}" for i in range(6)]
    assert list(model.get_feature_names_out(names)) == [f"gene{i}" for i in np.flatnonzero(model.support_)]


def test_in_front_of_another_model():
    X, y = crossed(n=100, d=10)
    neighbours = KNeighborsClassifier(5)
    pipeline = make_pipeline(StandardScaler(), plain_selector(1.0, 1.0), neighbours)
    with_selection = cross_val_score(pipeline, X, y, cv=3).mean()
    assert with_selection > 0.9 > 0.1 + cross_val_score(neighbours, X, y, cv=3).mean()


# Results without features, or with an identity for a kernel matrix


def test_large_mu_selects_nothing():
    X, y = crossed()
    y[:5] = 1
    with pytest.warns(UserWarning, match=r"KernelFeatureSelector selected no feature.*mu=1e\+04.* Lower mu"):
        model = plain_selector(1.0, 1e4).fit(X, y)
    assert not model.support_.any()
    assert not model.feature_weights_.any()
    assert model.curvature_ == 0.0
    assert len(set(model.predict(X))) == 1
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(X).shape == (80, 0)


@pytest.mark.parametrize("method", ["ao2", "reduced", "full", "gmkl"])
def test_large_mu_with_squares_selects_nothing_instead_of_everything(method):
    X, y = products()
    with pytest.warns(UserWarning, match="selected no feature"):
        model = plain_selector(mu=1000.0, penalty="squares", method=method).fit(X, y)
    assert not model.support_.any()
    assert not model.feature_weights_.any()
    assert len(set(model.decision_function(X))) == 1
    path = plain_selector(penalty="squares", method=method).mu_path(X, y, [1.0, 150.0, 1e4])
    counts = path.attribute("support_").sum(axis=1)
    assert counts[0] >= 2
    assert counts[1:].tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_with_squares_zero_is_a_saddle_while_a_feature_lowers_the_objective(seed):
    X = np.random.default_rng(seed).standard_normal((60, 3))
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    model = plain_selector(penalty="squares", init="scaled", tol=1e-2)
    problem = two_class_problem(X, y, 0.0)
    B, b, nothing = problem.solve_classifiers(np.zeros(3))
    assert nothing == pytest.approx(problem.classifiers.constant)
    largest = -problem.slopes(np.zeros(3), B, b).min()
    for share in (0.3, 0.6, 0.9):
        ends = [model.set_params(mu=share * largest, method=how).fit(X, y).objective_ for how in ("ao2", "reduced")]
        assert max(ends) < nothing - 0.03 * (1.0 - share)
        assert max(ends) == pytest.approx(min(ends), rel=1e-3)
    with pytest.warns(UserWarning, match="selected no feature"):
        above = model.set_params(mu=1.2 * largest).fit(X, y)
    assert not above.support_.any()


def test_features_in_unsuitable_units_are_reported():
    X, y = products()
    with pytest.warns(UserWarning, match=r"kernel matrix is numerically constant at the start.*init='scaled'"):
        plain_selector(mu=0.0).fit(1e-7 * X, y)
    with pytest.warns(UserWarning, match=r"overfits: .* kernel matrix is close to the identity.*init='scaled'"):
        plain_selector(mu=0.5).fit(1e7 * X, y)
    with pytest.raises(ParameterError, match=r"X of KernelFeatureSelector has values up to .*e\+200.* standardise"):
        plain_selector().fit(1e200 * X, y)


# Limits, errors and progress


def test_a_search_that_stops_early_is_reported():
    X, y = crossed()
    with pytest.warns(ConvergenceWarning, match=r"method='ao': the search stopped after 1 rounds .* Raise max_iter"):
        model = plain_selector(1.0, 0.1, method="ao", max_iter=1, polish=False).fit(X, y)
    assert not model.converged_


@pytest.mark.parametrize("method", ["full", "reduced"])
def test_limits_below_a_stretch_are_kept(method):
    X, y = products(n=40)
    with pytest.warns(ConvergenceWarning, match="after 3 rounds"):
        model = plain_selector(mu=0.5, method=method, max_iter=3, polish=False).fit(X, y)
    assert model.n_iter_ == 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"C": 0.0},
            r"'C' parameter of KernelFeatureSelector must be a float in the range \[1e-100, 1e\+100\]. Got 0\.0",
        ),
        ({"C": True}, r"'C' parameter of KernelFeatureSelector must be .* Got True"),
        (
            {"mu": -1.0},
            r"'mu' parameter of KernelFeatureSelector must be a float in .*\[0.0, 1e\+100\] or .*'auto'.* Got -1\.0",
        ),
        ({"mu": np.inf}, r"'mu' parameter of KernelFeatureSelector must be .* Got inf"),
        ({"method": "best"}, r"'method' parameter of KernelFeatureSelector must be a str among .*'ao2'.* Got 'best'"),
        ({"penalty": "both"}, r"'penalty' parameter of KernelFeatureSelector must be a str among .* Got 'both'"),
        ({"kernel": "linear"}, r"'kernel' parameter of KernelFeatureSelector must be a str among .* Got 'linear'"),
        ({"eps": 0.0}, r"'eps' parameter of KernelFeatureSelector must be a float in the range \[1e-100, 1e\+100\]"),
        ({"tol": 0.0}, r"'tol' parameter of KernelFeatureSelector must be a float in the range \[1e-100, 1e\+100\]"),
        ({"coef0": -0.5}, r"'coef0' parameter of KernelFeatureSelector must be .*\[0.0, 1e\+100\]. Got -0\.5"),
        ({"n_starts": 0}, r"'n_starts' parameter of KernelFeatureSelector must be an int in .*\[1, inf\). Got 0"),
        ({"n_starts": None}, r"'n_starts' parameter of KernelFeatureSelector must be an int .* Got None"),
        ({"degree": 1.5}, r"'degree' parameter of KernelFeatureSelector must be an int .* Got 1\.5"),
        ({"degree": None}, r"'degree' parameter of KernelFeatureSelector must be an int .* Got None"),
        ({"screening": 0}, r"'screening' parameter of KernelFeatureSelector must be an int .* or None. Got 0"),
        ({"max_iter": 0}, r"'max_iter' parameter of KernelFeatureSelector must be an int .* or None. Got 0"),
        ({"polish": "no"}, r"'polish' parameter of KernelFeatureSelector must be .*'bool'.* Got 'no'"),
        ({"init": "zeros"}, r"'init' parameter of KernelFeatureSelector must be a str among .*'ones'.* Got 'zeros'"),
        ({"init": [1.0, 2.0]}, r"init of KernelFeatureSelector must be .* 6 finite weights >= 0.*\(2,\)"),
        ({"init": [-1.0, 1, 1, 1, 1, 1]}, r"init of KernelFeatureSelector must be 'auto', 'ones', .* or 6 finite"),
        ({"prune": 1.0}, r"'prune' parameter of KernelFeatureSelector must be .*\[0.0, 1.0\). Got 1\.0"),
        ({"standardize": "yes"}, r"'standardize' parameter of KernelFeatureSelector must be .*'bool'.* Got 'yes'"),
        ({"validation_fraction": 1.5}, r"'validation_fraction' parameter of KernelFeatureSelector .* Got 1\.5"),
        ({"init": [0.0] * 6}, r"not all zero"),
        ({"init": [np.nan] * 6}, r"6 finite weights"),
    ],
)
def test_bad_parameters_say_what_is_allowed_and_leave_nothing_behind(parameters, message):
    X, y = crossed()
    model = KernelFeatureSelector(**parameters)
    with pytest.raises(ParameterError, match=message):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]
    with pytest.raises(NotFittedError):
        model.predict(X)
    if "mu" not in parameters:
        with pytest.raises(ParameterError, match=message):
            model.mu_path(X, y, [1.0])


@pytest.mark.parametrize("mus", [[], [-1.0], [np.nan], [1.0, np.inf], "few"])
def test_bad_mus_of_a_path_are_refused(mus):
    X, y = crossed()
    with pytest.raises(ParameterError, match=r"mus of KernelFeatureSelector.mu_path must be finite numbers >= 0"):
        KernelFeatureSelector().mu_path(X, y, mus)


def test_one_class_is_refused():
    X, y = crossed()
    with pytest.raises(
        DegenerateDataError, match=r"KernelFeatureSelector needs at least two classes .* y has 1 class, 1\."
    ):
        KernelFeatureSelector().fit(X, np.ones(80, dtype=int))
    with pytest.raises(DegenerateDataError, match="at least two classes"):
        KernelFeatureSelector().fit(X, y, (y == 1).astype(float))
    with pytest.raises(ValueError, match="zero"):  # by scikit-learn, in versions that check it
        KernelFeatureSelector().fit(X, y, np.zeros(80))


def test_progress_is_shown(capsys):
    X, y = crossed()
    quiet = plain_selector(1.0, 1.0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    for method in ("ao2", "reduced"):
        with rarefy.config_context(progress=True):
            loud = clone(quiet).set_params(method=method).fit(X, y)
        out, err = capsys.readouterr()
        assert not out
        assert "mu=1, search 1: round " in err
        assert err.endswith(" features\n"), "the line is ended, however early the search ends"
        assert loud.get_support(indices=True).tolist() == [1, 4]
    with rarefy.config_context(progress=True):
        plain_selector(n_starts=2, tol=0.1, random_state=0).mu_path(X, y, [0.5, 1.0])
    err = capsys.readouterr().err
    assert "mu=0.5, search 1: " in err
    assert "mu=1, search 1: " in err
