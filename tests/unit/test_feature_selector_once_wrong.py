"""What was wrong once: kernel feature selection."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from rarefy.core.feature_weights.objectives import ReducedPoint
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV


def products(seed=1, n=100, d=8):
    """Two classes by the sign of the product of the first two columns."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "good", "bad")


@pytest.mark.parametrize("method", ["ao2", "reduced", "full", "gmkl"])
def test_squares_too_dear_for_all_columns_leave_none_instead_of_all(method):
    X, y = products()
    with pytest.warns(UserWarning, match="selected no feature"):
        model = KernelFeatureSelector(mu=1000.0, penalty="squares", method=method).fit(X, y)
    assert not model.support_.any()
    assert not model.feature_weights_.any()
    assert len(set(model.decision_function(X))) == 1
    path = KernelFeatureSelector(penalty="squares", method=method).mu_path(X, y, [1.0, 150.0, 1e4])
    assert path.n_features[0] >= 2
    assert path.n_features[1:].tolist() == [0, 0]


@pytest.mark.parametrize("seed", range(3))
def test_where_squares_are_paid_for_nothing_is_a_saddle_as_long_as_a_column_is_worth_its_price(seed):
    X = np.random.default_rng(seed).standard_normal((60, 3))
    y = X[:, 0] + 0.5 * X[:, 1] > 0
    model = KernelFeatureSelector(penalty="squares", init="scaled", tol=1e-2)
    problem, _ = model._problem(X, y, np.ones(60))
    B, b, nothing = problem.solve_machines(np.zeros(3))
    assert nothing == pytest.approx(problem.machines.constant())
    dearest = -problem.slopes(np.zeros(3), B, b).min()
    for share in (0.3, 0.6, 0.9):
        ends = [model.set_params(mu=share * dearest, method=how).fit(X, y) for how in ("ao2", "reduced")]
        ends = [(one.objective_, one.support_.tolist()) for one in ends]
        assert max(ends)[0] < nothing - 0.03 * (1.0 - share)
        assert max(ends)[0] == pytest.approx(min(ends)[0], rel=1e-3)
    with pytest.warns(UserWarning, match="selected no feature"):
        above = model.set_params(mu=1.2 * dearest).fit(X, y)
    assert not above.support_.any()


def test_cross_validation_counts_a_constant_machine_as_no_feature():
    X = np.random.default_rng(0).standard_normal((50, 6))
    y = (np.arange(50) % 5 == 0).astype(int)
    with pytest.warns(UserWarning, match="KernelFeatureSelectorCV selected no feature"):
        model = KernelFeatureSelectorCV([1.0], [1.0, 16.0, 64.0], init="ones", tol=1e-2).fit(X, y)
    assert model.cv_n_features_[0, 2].tolist() == [0] * 5
    assert model.mu_ == 64.0
    assert not model.support_.any()


@pytest.mark.parametrize("penalty", ["weights", "squares"])
def test_units_of_columns_do_not_decide_who_is_selected_or_what_the_curvature_is(penalty):
    X = np.random.default_rng(0).standard_normal((100, 4))
    y = X[:, 0] * X[:, 1] > 0
    X[:, 1] *= 1000.0
    model = KernelFeatureSelector(mu=0.1, init=1.0 / X.std(axis=0), penalty=penalty).fit(X, y)
    assert model.support_[:2].all()
    assert set(np.argsort(model.ranking_)[:2]) == {0, 1}
    # The curvature is that of the reduced objective at the weights that were returned.
    problem, _ = model._problem(X, y, np.ones(100))
    z = model.feature_weights_
    moving = np.flatnonzero(model.support_ if penalty == "weights" else z > 0.0)

    def gradient(z):
        return ReducedPoint(problem.kernel(), problem.machines, z, None).gradient[moving]

    columns = []
    for k in moving:
        step = np.zeros(4)
        step[k] = 1e-5 * z[k]
        columns.append((gradient(z + step) - gradient(z - step)) / (2.0 * step[k]))
    H = np.column_stack(columns)
    assert model.curvature_ == pytest.approx(np.linalg.eigvalsh(0.5 * (H + H.T))[0], rel=1e-2)
    assert model.curvature_ > 0.0


def test_screening_leaves_out_what_starts_at_zero():
    X = np.random.default_rng(0).standard_normal((80, 20))
    y = X[:, 0] > 0
    init = np.append(0.0, np.ones(19))
    model = KernelFeatureSelector(mu=0.5, init=init, tol=1e-2, screening=5).fit(X, y)
    assert model.feature_weights_[0] == 0.0
    assert model.support_.any()


@pytest.mark.parametrize(("method", "penalty"), [("ao2", "weights"), ("reduced", "squares"), ("gmkl", "squares")])
def test_constant_columns_get_no_weight(method, penalty):
    X, y = products(n=60)
    X[:, 3] = 7.0
    model = KernelFeatureSelector(mu=1e-8, method=method, penalty=penalty, tol=1e-2).fit(X, y)
    assert model.feature_weights_[3] == 0.0
    assert model.feature_weights_[0] > 0.0
    with pytest.warns(UserWarning, match="selected no feature"):
        assert not KernelFeatureSelector().fit(np.ones((60, 3)), y).support_.any()


def test_data_that_the_start_cannot_see_are_spoken_of():
    X, y = products()
    with pytest.warns(UserWarning, match=r"tell no two points apart.*init='scaled'"):
        KernelFeatureSelector(mu=0.0).fit(1e-7 * X, y)
    with pytest.warns(UserWarning, match=r"no two points are near each other.*init='scaled'"):
        KernelFeatureSelector(mu=0.5).fit(1e7 * X, y)
    with pytest.raises(DegenerateDataError, match=r"X goes up to .*e\+200\. Standardise"):
        KernelFeatureSelector().fit(1e200 * X, y)


@pytest.mark.parametrize("method", ["full", "reduced"])
def test_limits_below_a_stretch_are_kept(method):
    X, y = products(n=40)
    with pytest.warns(ConvergenceWarning, match="after 3 rounds"):
        model = KernelFeatureSelector(mu=0.5, method=method, max_iter=3, polish=False).fit(X, y)
    assert model.n_iter_ == 3


def test_searches_that_stop_early_in_folds_are_counted_in_one_warning():
    X, y = products(n=40)
    with pytest.warns(ConvergenceWarning) as caught:
        KernelFeatureSelectorCV([1.0], [0.1, 1.0], cv=3, init="ones", method="ao", max_iter=1, polish=False).fit(X, y)
    (one,) = caught
    assert "KernelFeatureSelectorCV with method='ao': 6 of 6 searches in the folds and " in str(one.message)


def test_folds_with_one_class_to_learn_from_have_no_say():
    X, y = products(n=40)
    y = np.where(np.arange(40) < 20, "a", "b")
    X[:, 0] += 2.0 * (y == "b")
    halves = [(np.arange(20), np.arange(20, 40)), *StratifiedKFold(2).split(X, y)]
    model = KernelFeatureSelectorCV([1.0], [1.0], cv=halves, init="ones").fit(X, y)
    assert np.isnan(model.cv_scores_[0, 0]).tolist() == [True, False, False]
    with pytest.raises(DegenerateDataError, match="KernelFeatureSelectorCV found no fold with two classes"):
        KernelFeatureSelectorCV([1.0], [1.0], cv=halves[:1]).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tol": 0.0}, "tol of KernelFeatureSelectorCV must be"),
        ({"n_starts": 0}, "n_starts of KernelFeatureSelectorCV must be an integer >= 1; got 0"),
        ({"init": [1.0, 2.0]}, r"init of KernelFeatureSelectorCV must be 'both', 'ones', 'scaled' or 8 finite.*\(2,\)"),
        ({"init": ["a"] * 8}, r"init of KernelFeatureSelectorCV must be .* got \['a'"),
        ({"init": [-1.0] + [1.0] * 7}, r"init of KernelFeatureSelectorCV must be .* got \[-1"),
        ({"penalty": None}, "penalty of KernelFeatureSelectorCV must be one of 'both', 'squares', 'weights'; got None"),
        ({"penalty": "none", "method": "gmkl"}, "penalty of KernelFeatureSelectorCV must be one of 'both'"),
        ({"mus": "few"}, "mus of KernelFeatureSelectorCV must be finite numbers >= 0, at least one; got 'few'"),
        ({"Cs": ["a"]}, r"Cs of KernelFeatureSelectorCV must be finite numbers > 0, at least one; got \['a'\]"),
        ({"polish": "no"}, "polish of KernelFeatureSelectorCV must be one of True, False; got 'no'"),
    ],
)
def test_errors_name_the_class_that_was_called(parameters, message):
    X, y = products(n=40)
    with pytest.raises(ParameterError, match=message):
        KernelFeatureSelectorCV(**parameters).fit(X, y)


def test_how_many_work_at_a_time_does_not_matter_and_other_random_numbers_are_left_alone():
    X, y = products(n=40)
    options = {"Cs": [1.0], "mus": [0.1, 1.0], "cv": 2, "init": "ones", "tol": 1e-2, "n_starts": 3}
    one, two = (
        KernelFeatureSelectorCV(**options, n_jobs=n_jobs, random_state=np.random.RandomState(0)).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.feature_weights_, two.feature_weights_)
    np.testing.assert_array_equal(one.cv_scores_, two.cv_scores_)
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (this is about the global one)
    KernelFeatureSelector().fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_what_decides_can_be_chosen():
    X, y = products(n=60)
    y[:9] = "bad"
    folds = list(StratifiedKFold(3).split(X, y))
    model = KernelFeatureSelectorCV([1.0], [0.1, 4.0], cv=folds, init="ones", scoring="roc_auc").fit(X, y)
    for k, (train, test) in enumerate(folds):
        path = KernelFeatureSelector(1.0, penalty="squares").mu_path(X[train], y[train], [0.1, 4.0])
        expected = [roc_auc_score(y[test] == "good", one.decision_function(X[test])) for one in path.models]
        np.testing.assert_allclose(model.cv_scores_[0, :, k], expected)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    weighted = KernelFeatureSelectorCV([1.0], [0.1], cv=folds, init="ones", scoring="roc_auc").fit(X, y, weights)
    train, test = folds[0]
    path = KernelFeatureSelector(1.0, penalty="squares").mu_path(X[train], y[train], [0.1], weights[train])
    scores = path.models[0].decision_function(X[test])
    expected = roc_auc_score(y[test] == "good", scores, sample_weight=weights[test])
    assert weighted.cv_scores_[0, 0, 0] == pytest.approx(expected)
    with pytest.raises(ValueError, match="scoring"):
        KernelFeatureSelectorCV(scoring="nonsense").fit(X, y)
