"""Columns that share one weight inside a kernel: against equal problems without groups, plain loops and differences."""

import warnings
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from feature_problems import crossed, plain_selector, products, two_class_problem
from rarefy.core.feature_weights.interactions import _NARROW, _balanced_rows, best_interactions
from rarefy.core.feature_weights.joint import reduced
from rarefy.core.feature_weights.kernel import FeatureKernel, Profile
from rarefy.core.feature_weights.landmarks import LandmarkProblem, LandmarkSettings, landmark_selection
from rarefy.core.feature_weights.search import METHODS
from rarefy.core.feature_weights.starts import _alone, _promising, screened_search
from rarefy.exceptions import ParameterError, RarefyWarning
from rarefy.kernel import KernelFeatureRegressor, KernelFeatureSelector, KernelFeatureSelectorCV

TWICE = np.array([4, 2, 0, 1, 3, 5, 2, 0, 4, 5, 1, 3])
"""Which of six columns each of twelve is a copy of."""
FACTORS = {"rbf": np.sqrt(2.0), "laplacian": 2.0, "poly": np.sqrt(2.0)}
"""A column times this stands for two copies of it."""


def rings(n=240, seed=0):
    """Four places in a plane, in pairs of columns; the class is whether the second place is near the origin."""
    X = np.random.default_rng(seed).standard_normal((n, 8))
    return X, np.hypot(X[:, 2], X[:, 3]) < 1.2


PLACES = np.repeat(["a", "b", "c", "d"], 2)


# Equal problems


@pytest.mark.parametrize("kernel", FACTORS)
@pytest.mark.parametrize("method", METHODS)
def test_groups_of_one_change_nothing(method, kernel):
    X, y = crossed()
    options = {"method": method, "tol": 0.01, "kernel": kernel, "degree": 2, "prune": 0.2, "standardize": True}
    plain = plain_selector(1.0, 1.0, **options).fit(X, y)
    grouped = plain_selector(1.0, 1.0, groups=list("abcdef"), **options).fit(X, y)
    np.testing.assert_array_equal(grouped.groups_, list("abcdef"))
    np.testing.assert_array_equal(plain.groups_, np.arange(6))
    for name in ("feature_weights_", "group_weights_", "ranking_", "support_", "dual_coef_", "history_", "curvature_"):
        np.testing.assert_array_equal(getattr(grouped, name), getattr(plain, name), err_msg=name)
    np.testing.assert_array_equal(plain.group_weights_, plain.feature_weights_)


@pytest.mark.parametrize("kernel", FACTORS)
@pytest.mark.parametrize("method", METHODS)
def test_two_copies_with_one_weight_are_one_column_times_a_factor(method, kernel):
    X, y = crossed()
    options = {"method": method, "tol": 1e-4, "kernel": kernel, "degree": 2, "max_iter": 5}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = plain_selector(1.0, 1.0, **options).fit(X * FACTORS[kernel], y)
        double = plain_selector(1.0, 1.0, groups=TWICE, **options).fit(X[:, TWICE], y)
    np.testing.assert_allclose(double.group_weights_, single.feature_weights_, rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(double.feature_weights_, double.group_weights_[TWICE])
    np.testing.assert_array_equal(double.support_, single.support_[TWICE])
    assert double.objective_ == pytest.approx(single.objective_, rel=1e-6)
    assert double.curvature_ == pytest.approx(single.curvature_, rel=1e-2, nan_ok=True)
    np.testing.assert_allclose(
        double.decision_function(X[:, TWICE]), single.decision_function(X * FACTORS[kernel]), atol=1e-4
    )


def test_all_starts_screening_and_pruning_see_two_copies_as_one_column():
    X, y = products(n=120)
    columns = np.concatenate([np.arange(8), np.arange(8)])
    for options in ({}, {"init": "ones", "screening": 4}, {"init": "ones", "n_starts": 2, "random_state": 0}):
        single = KernelFeatureSelector(**options).fit(X, y)
        double = KernelFeatureSelector(groups=columns, **options).fit(X[:, columns], y)
        assert double.get_support(indices=True).tolist() == [0, 1, 8, 9]
        if options.get("init") != "ones":  # "ones" is another start: twice the distances
            np.testing.assert_allclose(double.group_weights_ * np.sqrt(2), single.feature_weights_, rtol=0.3)
            assert double.validation_score_ > 0.8


@pytest.mark.parametrize("kernel", FACTORS)
def test_the_objective_is_that_of_plain_loops(kernel):
    X, y = rings(40)
    model = plain_selector(2.0, 0.3, groups=PLACES, kernel=kernel, degree=2).fit(X, y)
    z = dict(zip(model.groups_, model.group_weights_, strict=True))
    K = np.zeros((40, 40))
    for i in range(40):
        for j in range(40):
            if kernel == "poly":
                K[i, j] = (sum(z[g] ** 2 * X[i, k] * X[j, k] for k, g in enumerate(PLACES)) + 1.0) ** 2
                continue
            away = np.abs(X[i] - X[j]) ** (2 if kernel == "rbf" else 1)
            K[i, j] = np.exp(-sum(z[g] ** 2 * away[k] for k, g in enumerate(PLACES)))
    scores = model.decision_function(X)
    used = X[:, model.feature_weights_ > 0]
    at = [int(np.flatnonzero(np.all(np.isclose(used, s), axis=1))[0]) for s in model.support_vectors_]
    beta = np.zeros(40)
    beta[at] = model.dual_coef_[0]
    np.testing.assert_allclose(scores, K @ beta + model.intercept_[0], atol=1e-8)
    t = np.where(y, 1.0, -1.0) * scores
    loss = np.where(t >= 1, 0.0, np.where(t >= 0, (1 - t) ** 2 / 2, 0.5 - t))  # eps = 0.5
    value = 0.5 * beta @ K @ beta + 2.0 * loss.sum() + 0.3 * sum(z.values())  # each group's weight once
    assert model.objective_ == pytest.approx(value, rel=1e-8)


# What is found


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_columns_of_a_group_are_selected_together(kernel):
    X, y = rings()
    model = KernelFeatureSelector(groups=PLACES, kernel=kernel).fit(X, y)
    assert model.groups_.tolist() == ["a", "b", "c", "d"]
    assert model.get_support(indices=True).tolist() == [2, 3]
    assert np.flatnonzero(model.group_weights_).tolist() == [1]
    assert model.feature_weights_[2] == model.feature_weights_[3] == model.group_weights_[1]
    assert model.ranking_.tolist() == [3, 3, 1, 1, 3, 3, 3, 3]
    assert model.score(*rings(seed=1)) > 0.9
    assert model.validation_score_ > 0.85
    assert model.support_vectors_.shape[1] == 2


def test_the_order_of_columns_does_not_matter():
    X, y = rings()
    order = np.random.default_rng(0).permutation(8)
    model, other = (
        KernelFeatureSelector(groups=PLACES[at], validation_fraction=None).fit(X[:, at], y)
        for at in (np.arange(8), order)
    )
    np.testing.assert_allclose(other.group_weights_, model.group_weights_, rtol=1e-4)
    np.testing.assert_allclose(other.predict(X[:, order]), model.predict(X))


def test_cross_validation_with_groups():
    X, y = rings(150)
    found = KernelFeatureSelectorCV(KernelFeatureSelector(groups=PLACES), Cs=[1.0, 4.0], cv=3).fit(X, y)
    assert found.get_support(indices=True).tolist() == [2, 3]
    assert found.groups_.tolist() == ["a", "b", "c", "d"]
    np.testing.assert_array_equal(found.feature_weights_, np.repeat(found.group_weights_, 2))
    assert found.held_out_score_ > 0.85


def test_regression_with_groups_and_with_the_laplacian():
    X, _ = rings(150)
    y = np.hypot(X[:, 2], X[:, 3])
    for kernel in ("rbf", "laplacian"):
        model = KernelFeatureRegressor(groups=PLACES, kernel=kernel).fit(X, y)
        assert model.get_support(indices=True).tolist() == [2, 3]
        assert model.feature_weights_[2] == model.feature_weights_[3] == model.group_weights_[1]
        assert model.validation_score_ > 0.5


def test_a_group_with_a_constant_column_and_a_constant_group():
    X, y = rings(150)
    X[:, 3], X[:, 4:6] = X[:, 2], 7.0
    model = KernelFeatureSelector(groups=PLACES, validation_fraction=None)
    X[:, 2] = 1.0
    y = np.abs(X[:, 3]) < 0.7
    model.fit(X, y)
    assert model.get_support(indices=True).tolist() == [2, 3]
    assert model.group_weights_[2] == 0.0


# Parts of the search


def grouped_problem(shape="rbf", seed=0, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 7)) * rng.uniform(0.5, 2.0, 7)
    problem = two_class_problem(X, X[:, 0] * X[:, 3] > 0, 1.0)
    return replace(problem, groups=np.array([2, 0, 1, 0, 4, 3, 2]), profile=Profile(shape))


@pytest.mark.parametrize("shape", ["rbf", "laplacian"])
def test_the_problem_among_some_groups_is_the_problem_with_the_others_at_zero(shape):
    problem, z = grouped_problem(shape), np.array([0.5, 0.0, 0.4, 0.0, 0.3])
    part = problem.among(np.array([4, 0, 2]))
    assert part.X.shape == (60, 5)
    assert part.solve_classifiers(z[[4, 0, 2]])[2] == pytest.approx(problem.solve_classifiers(z)[2], rel=1e-10)
    np.testing.assert_allclose(part.scales, problem.scales[[4, 0, 2]])
    B, b, _ = problem.solve_classifiers(z)
    np.testing.assert_allclose(part.slopes(z[[4, 0, 2]], B, b), problem.slopes(z, B, b)[[4, 0, 2]], rtol=1e-8)
    alone = replace(problem, groups=None)
    per_column = alone.slopes(z[problem.groups], B, b)
    totals = [per_column[problem.groups == g].sum() for g in range(5)]
    np.testing.assert_allclose(problem.slopes(z, B, b), totals, rtol=1e-8)


@pytest.mark.parametrize("shape", ["rbf", "laplacian"])
def test_alignments_of_groups_are_those_of_plain_loops(shape):
    problem, power = grouped_problem(shape, seed=3), {"rbf": 2, "laplacian": 1}[shape]
    found = best_interactions(problem, np.ones(5, dtype=bool))
    rows = _balanced_rows(problem.classifiers.Y, np.random.default_rng(0))
    Y = problem.classifiers.Y[rows, 0] - problem.classifiers.Y[rows, 0].mean()

    def away(group):
        """Distances of a group whose mean is that of a standardised column."""
        columns = np.flatnonzero(problem.groups == group)
        total = sum(np.abs(problem.X[rows, k][:, None] - problem.X[rows, k]) ** power for k in columns)
        return total / sum(problem.X[:, k].std() ** power for k in columns)

    def alignment(groups):
        K = np.exp(-_NARROW * sum(away(g) for g in groups))[np.triu_indices(len(rows), 1)]
        return K @ np.outer(Y, Y)[np.triu_indices(len(rows), 1)] / np.linalg.norm(K)

    for size, at in ((2, found.pair), (3, found.triple)):
        assert tuple(at) == max(combinations(range(5), size), key=alignment)
    part = replace(problem, X=problem.X[rows])
    wanted = np.outer(Y, Y)
    np.testing.assert_allclose(_alone(part, wanted), [np.vdot(wanted, np.exp(-away(g))) for g in range(5)], rtol=1e-9)


def test_screening_brings_in_whole_groups():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 120))
    groups = rng.permutation(np.repeat(np.arange(40), 3))
    y = X[:, groups == 7].sum(axis=1) + X[:, groups == 23].sum(axis=1) > 0
    problem = replace(two_class_problem(X, y, 8.0), groups=groups)
    assert {7, 23} <= set(_promising(problem, np.full(40, 0.05), 8))
    found = screened_search(problem, np.full(40, 0.05), reduced, 8)
    assert found.z.shape == (40,)
    assert {7, 23} <= set(problem.selected(found.z))


# The landmark form


def test_the_landmark_form_with_all_samples_is_the_exact_form():
    problem, z = grouped_problem(n=100), np.array([0.5, 0.7, 0.3, 0.6, 0.4])
    at = LandmarkProblem(problem, np.arange(100))
    value, gradient = at.evaluate(z)
    assert value == pytest.approx(problem.solve_classifiers(z)[2], rel=1e-5)
    h = 1e-2
    for k, e in enumerate(np.eye(5)):
        difference = (at.evaluate(z + h * e)[0] - at.evaluate(z - h * e)[0]) / (2.0 * h)
        assert gradient[k] == pytest.approx(difference, rel=1e-2, abs=0.05)


def test_the_landmark_form_brings_in_and_drops_two_copies_like_one_column():
    X = np.random.default_rng(1).standard_normal((600, 6))
    y = X[:, 0] + X[:, 1] + 0.4 * X[:, 2] > 0
    landmarks, start = np.arange(0, 600, 10), np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])
    single = two_class_problem(X * FACTORS["rbf"], y, 5.0)
    double = replace(two_class_problem(X[:, TWICE], y, 5.0), groups=TWICE)
    for settings in (LandmarkSettings(), LandmarkSettings(prune=0.8)):
        one, two = (landmark_selection(problem, start, landmarks, settings) for problem in (single, double))
        assert one.support[[0, 1]].all()
        np.testing.assert_array_equal(two.support, one.support[TWICE])
        np.testing.assert_allclose(two.group_weights, one.feature_weights, rtol=0.02)
        np.testing.assert_array_equal(two.feature_weights, two.group_weights[TWICE])
        np.testing.assert_array_equal(two.support_vectors, X[::10, TWICE][:, two.support])
        assert two.objective == pytest.approx(one.objective, rel=1e-3)


def test_slopes_of_the_landmark_form_are_sums_over_columns():
    problem, z = grouped_problem(n=100), np.array([0.5, 0.7, 0.3, 0.6, 0.4])
    at, alone = (LandmarkProblem(one, np.arange(0, 100, 5)) for one in (problem, replace(problem, groups=None)))
    at.evaluate(z)
    alone.evaluate(z[problem.groups])
    alone.B, alone.b = at.B, at.b
    Kp = FeatureKernel(at.P, at.P).matrix(z[problem.groups])
    per_column = alone.slopes(z[problem.groups], Kp)
    totals = [per_column[problem.groups == g].sum() for g in range(5)]
    np.testing.assert_allclose(at.slopes(z, Kp), totals, rtol=1e-3, atol=1e-3)
    as_is, in_all = at.slopes_of_all(problem, Kp)
    np.testing.assert_allclose(as_is, totals, rtol=1e-3, atol=1e-3)
    in_columns = alone.slopes_of_all(alone.problem, Kp)[1]
    np.testing.assert_allclose(in_all, [in_columns[problem.groups == g].sum() for g in range(5)], rtol=1e-3, atol=1e-3)


def test_a_fit_in_the_landmark_form(monkeypatch):
    monkeypatch.setattr("rarefy.kernel._feature_model.SAMPLE", 200)
    X, y = rings(600)
    model = KernelFeatureSelector(groups=PLACES, n_landmarks=60).fit(X, y)
    assert model.dual_coef_.shape == (1, 60)
    assert model.get_support(indices=True).tolist() == [2, 3]
    z = np.repeat(model.group_weights_, 2)[2:4] / model.scale_[2:4]
    K = FeatureKernel(X[:, 2:4], model.support_vectors_).matrix(z)
    np.testing.assert_allclose(model.decision_function(X), K @ model.dual_coef_[0] + model.intercept_, atol=1e-4)
    assert model.score(X, y) > 0.93


# Parameters


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([1, 2], r"groups of {} must be None or 8 labels .* got an array of shape \(2,\)"),
        (np.ones((8, 1)), r"groups of {} must be .* got an array of shape \(8, 1\)"),
        ([1.0, np.nan] * 4, r"groups of {} must be .* none of them missing.* got nan among the labels"),
        ([[1], [1, 2]] * 4, r"groups of {} must be .* got \[\[1\], \[1, 2\]"),
        (np.array([1, "a"] * 4, dtype=object), r"groups of {} must be .* labels of one type"),
    ],
)
@pytest.mark.parametrize("kind", [KernelFeatureSelector, KernelFeatureRegressor, KernelFeatureSelectorCV])
def test_bad_groups_are_refused(kind, groups, message):
    X, y = products(n=40)
    y = y == "good" if kind is not KernelFeatureRegressor else X[:, 0]
    model = kind(KernelFeatureSelector(groups=groups)) if kind is KernelFeatureSelectorCV else kind(groups=groups)
    with pytest.raises(ParameterError, match=message.format(kind.__name__)):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_a_start_has_one_weight_for_each_group():
    X, y = rings(100)
    start = np.array([0.5, 0.5, 0.4, 0.4, 0.0, 0.0, 0.3, 0.3])
    model = plain_selector(1.0, 0.1, groups=PLACES, init=start).fit(X, y)
    assert not model.support_[4:6].any()
    for init in (np.linspace(0.1, 0.8, 8), [1.0, 0.0] * 4):
        with pytest.raises(ParameterError, match="init of KernelFeatureSelector must be the same for all features of"):
            plain_selector(1.0, 0.1, groups=PLACES, init=init).fit(X, y)
        with pytest.raises(ParameterError, match="inits of KernelFeatureSelectorCV must be the same for all features"):
            KernelFeatureSelectorCV(KernelFeatureSelector(groups=PLACES), inits=[init]).fit(X, y)


def test_one_group_of_all_features_is_a_kernel_with_one_width():
    X, y = rings(100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RarefyWarning)
        model = KernelFeatureSelector(mu=0.1, groups=np.zeros(8)).fit(X, y)
    assert model.support_.all()
    assert len(model.group_weights_) == 1
    assert np.ptp(model.feature_weights_) == 0.0
