"""SubspaceLPSVC and the SVMs with a norm as penalty behind it, against HiGHS and libsvm."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize
from sklearn.base import clone
from sklearn.datasets import load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

import rarefy
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.svm.norm_svm import direct_svm, norm_svm
from rarefy.core.svm.rough_svm import rough_multipliers
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel import KernelSubspace, SubspaceLPSVC, _subspace_programs
from rarefy.kernel._extraction import Subspace
from rarefy.kernel._subspace_programs import SubspacePrograms


def primal_by_highs(D, y, alpha, p, norm):
    """min alpha ||w|| + p^T xi over w = u - v, b and xi, with one more variable for the maximum norm."""
    m, S = D.shape
    margins = np.hstack([y[:, None] * D, -y[:, None] * D, y[:, None], np.eye(m)])
    if norm == 1:
        cost = np.r_[np.full(2 * S, alpha), 0.0, p]
        found = linprog(cost, -margins, -np.ones(m), bounds=[(0, None)] * (2 * S) + [(None, None)] + [(0, None)] * m)
    else:
        largest = np.hstack([np.eye(S), np.eye(S), np.zeros((S, 1 + m)), -np.ones((S, 1))])
        table = np.vstack([np.hstack([-margins, np.zeros((m, 1))]), largest])
        cost = np.r_[np.zeros(2 * S + 1), p, alpha]
        bounds = [(0, None)] * (2 * S) + [(None, None)] + [(0, None)] * (m + 1)
        found = linprog(cost, table, np.r_[-np.ones(m), np.zeros(S)], bounds=bounds)
    return found.fun


def two_classes(seed, m=70, S=5):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((m, S))
    y = np.where(D[:, 0] + 0.7 * rng.standard_normal(m) > 0.3, 1.0, -1.0)
    return D, y, rng.random(m) + 0.5


def rows(D, norm=1):
    return DenseRows(np.hstack([D, np.ones((len(D), 1)), *([np.zeros((len(D), 1))] if norm == "inf" else [])]))


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("alpha", [1e-3, 0.3, 3.0, 30.0])
def test_objective_equals_that_of_the_primal_program(norm, alpha):
    for seed in range(5):
        D, y, p = two_classes(seed)
        found = norm_svm(rows(D, norm), y, alpha, p, norm=norm)
        expected = primal_by_highs(D, y, alpha, p, norm)
        assert found.status == "optimal"
        assert found.objective == pytest.approx(expected, rel=1e-7)
        assert 0 <= found.gap + 1e-9 * expected < 1e-6 * expected


def test_without_penalty_it_is_robust_linear_programming():
    D, y, p = two_classes(3)
    found = norm_svm(rows(D), y, 0.0, p)
    assert found.objective == pytest.approx(primal_by_highs(D, y, 0.0, p, 1), rel=1e-7)


@pytest.mark.parametrize("C", [0.01, 0.3, 10.0])
def test_two_norm_is_the_ordinary_svm_for_the_matching_parameter(C):
    D, y, _ = two_classes(1)
    libsvm = SVC(C=C, kernel="linear", tol=1e-8).fit(D, y)
    alpha = np.linalg.norm(libsvm.coef_) / C
    found = norm_svm(rows(D), y, alpha, np.ones(len(y)), norm=2)
    assert found.gap <= 1e-7 * found.objective
    theirs = alpha * np.linalg.norm(libsvm.coef_) + np.maximum(0, 1 - y * libsvm.decision_function(D)).sum()
    assert found.objective == pytest.approx(theirs, rel=1e-6)
    if C > 0.1:  # with a small C all samples of a class are at their bound, and every length of w is optimal
        np.testing.assert_allclose(found.w, libsvm.coef_, atol=2e-5 * np.abs(libsvm.coef_).max())
        np.testing.assert_allclose(found.b, libsvm.intercept_, atol=1e-4)


def test_two_norm_with_a_huge_alpha_gives_zero():
    D, y, p = two_classes(1)
    found = norm_svm(rows(D), y, 1e4, p, norm=2)
    assert np.abs(found.w).max() < 1e-6
    lighter = min(p[y > 0].sum(), p[y < 0].sum())
    assert found.objective == pytest.approx(2 * lighter, rel=1e-6)  # all on the heavier side


def direct_by_highs(D, labels, K, alpha, p, norm=1):
    """The program with positive and negative parts of the weights, intercepts, losses and, for "inf", maxima."""
    m, S = D.shape
    pairs = [(i, c) for i in range(m) for c in range(K) if c != labels[i]]
    W, n = K * S, len(pairs)
    table = np.zeros((n, 2 * W + K + n))
    for j, (i, c) in enumerate(pairs):
        for sign, one in ((1.0, labels[i]), (-1.0, c)):
            table[j, one * S : (one + 1) * S] = sign * D[i]
            table[j, W + one * S : W + (one + 1) * S] = -sign * D[i]
            table[j, 2 * W + one] = sign
        table[j, 2 * W + K + j] = 1.0
    cost = np.r_[np.full(2 * W, alpha), np.zeros(K), [p[i] for i, _ in pairs]]
    bounds = [(0, None)] * (2 * W) + [(None, None)] * K + [(0, None)] * n
    rows, right = -table, -np.ones(n)
    if norm == "inf":
        cost[: 2 * W] = 0.0
        cost, bounds = np.r_[cost, np.full(K, alpha)], bounds + [(0, None)] * K
        below = np.hstack([np.eye(W), np.eye(W), np.zeros((W, K + n)), -np.kron(np.eye(K), np.ones((S, 1)))])
        rows, right = np.vstack([np.hstack([rows, np.zeros((n, K))]), below]), np.r_[right, np.zeros(W)]
    return linprog(cost, rows, right, bounds=bounds).fun


def three_classes(seed, m=40, S=5):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, m)
    return 0.3 * rng.standard_normal((m, S)) + 0.4 * np.eye(3, S)[labels], labels, rng.uniform(0.5, 2.0, m)


@pytest.mark.parametrize("norm", [1, "inf"])
@pytest.mark.parametrize("exponent", range(-12, 4))
def test_direct_program_equals_highs_at_every_penalty(exponent, norm):
    """Tiny penalties once gave classifiers without their weights, called optimal."""
    D, labels, p = three_classes(exponent + 20)
    alpha = 10.0**exponent
    found = direct_svm(rows(D, norm), labels, 3, alpha, p, norm=norm)
    theirs = direct_by_highs(D, labels, 3, alpha, p, norm)
    # HiGHS accepts violations of 1e-7 in every constraint.
    assert found.objective == pytest.approx(theirs, rel=1e-6)
    assert found.objective - found.gap <= theirs * (1 + 1e-6)  # what is proved to be the least is not more
    assert 0.0 <= found.gap <= 1e-5 * (1 + found.objective)
    assert (found.status == "optimal") == (found.gap <= 1e-8 * (1 + found.objective))
    assert found.w.shape == (3, 5)


@pytest.mark.parametrize(("seed", "alpha"), [(4, 0.1), (5, 1e-3), (11, 1e-6), (11, 1e-3)])
def test_gaps_of_the_maximum_norm_are_never_negative(seed, alpha):
    """These once were, by up to 1.5e-7."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((60, 4)) * 10.0 ** rng.uniform(-2, 2), rng.integers(0, 2 + seed % 2, 60)
    model = SubspaceLPSVC(norm="inf", alpha=alpha, random_state=0, n_components=12).fit(X, y)
    assert np.min(model.duality_gap_) >= 0.0


def test_one_against_rest_shares_the_subspace_and_threads_change_nothing():
    X, y = load_digits(n_class=4, return_X_y=True)
    X, y = X[:300], y[:300]
    model = SubspaceLPSVC(0.1, n_components=20, gamma=1e-3, random_state=0)
    one, two = model.fit(X, y).coef_.copy(), model.set_params(n_jobs=2).fit(X, y).coef_
    np.testing.assert_allclose(one, two, atol=1e-9)
    D = KernelSubspace(20, gamma=1e-3, random_state=0).fit_transform(X)
    for c in range(4):
        alone = norm_svm(rows(D), np.where(y == c, 1.0, -1.0), 0.1, np.ones(len(y)))
        np.testing.assert_allclose(alone.w[0], two[c], atol=1e-8)
    assert np.all(model.duality_gap_ <= 1e-7 * (1 + model.objective_))


def test_small_programs_start_no_threads(monkeypatch):
    """Starting and joining threads takes longer than they do, for each of the hundreds of fits of a grid."""
    asked = []

    def solved_in_turn(function, tasks, *, n_jobs, **options):
        asked.append(n_jobs)
        return [function(*task) for task in tasks]

    monkeypatch.setattr(_subspace_programs, "blas_threads", lambda: 4)
    monkeypatch.setattr(_subspace_programs, "run_parallel", solved_in_turn)
    X, y = make_classification(60, 4, n_informative=3, n_redundant=0, n_classes=3, random_state=0)
    model = SubspaceLPSVC(n_components=3, random_state=0).fit(X, y)
    monkeypatch.setattr(_subspace_programs, "_WORTH_THREADS", 0.0)
    again = clone(model).fit(X, y)
    assert asked == [1, 3]  # of three classes
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_classes_that_start_together_end_at_the_same_optimum(norm, monkeypatch):
    X, y = load_digits(n_class=4, return_X_y=True)
    X = np.vstack([X + np.random.default_rng(seed).standard_normal(X.shape) for seed in range(3)])
    y = np.tile(y, 3)
    model = SubspaceLPSVC(0.3, n_components=12, gamma=1e-3, norm=norm, random_state=0)
    together = clone(model).fit(X, y)
    monkeypatch.setattr(SubspacePrograms, "_starts", lambda self, positives, alpha: [None] * len(positives))
    alone = clone(model).fit(X, y)
    np.testing.assert_allclose(together.objective_, alone.objective_, rtol=1e-7)
    assert np.all(together.duality_gap_ <= 1e-8 * (1 + together.objective_))
    assert np.any(together.n_iter_ != alone.n_iter_)  # they did start elsewhere


@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_multipliers_to_start_from_have_one_for_each_equation(norm):
    D, y, p = two_classes(0, m=200)
    F, signs = rows(D, norm), np.stack([y, -y], axis=1)
    start = np.array(rough_multipliers(F, signs, 0.3, p, norm=norm, gram=F.gram()))
    assert start.shape == (2, F.shape[1])
    if norm == "inf":  # that of the last equation is the norm
        np.testing.assert_allclose(start[:, -1], -np.abs(start[:, :-2]).max(axis=1))


def test_one_norm_is_sparse():
    X, y = make_classification(300, 10, n_informative=2, random_state=0)
    model = SubspaceLPSVC(5.0, n_components=40, gamma=0.05, random_state=0).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 20


@pytest.mark.parametrize("options", [{}, {"norm": "inf"}, {"norm": 2}, {"multi_class": "direct"}])
def test_alpha_path_gives_what_single_fits_give(options):
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = X[:200], y[:200]
    model = SubspaceLPSVC(n_components=15, gamma=1e-3, random_state=0, **options)
    alphas = [0.03, 3.0, 0.3]
    path = model.alpha_path(X, y, alphas)
    assert not hasattr(model, "coef_")
    assert path.parameter == "alpha"
    np.testing.assert_array_equal(path.values, alphas)
    for i, alpha in enumerate(alphas):
        single = SubspaceLPSVC(alpha, n_components=15, gamma=1e-3, random_state=0, **options).fit(X, y)
        np.testing.assert_allclose(path.attribute("objective_")[i], single.objective_, rtol=1e-6)
        assert np.mean(path.predict(X)[i] == single.predict(X)) > 0.99
    assert path.attribute("coef_").shape == (3, 3, 15)


def test_the_order_of_alphas_does_not_matter():
    X, y = make_classification(100, 4, random_state=0)
    model = SubspaceLPSVC(n_components=10, gamma=0.3, random_state=0)
    path, other = model.alpha_path(X, y, [1.0, 0.1, 10.0]), model.alpha_path(X, y, [10.0, 1.0, 0.1])
    for name in ("coef_", "n_iter_"):
        np.testing.assert_array_equal(path.attribute(name), other.attribute(name)[[1, 2, 0]])


@pytest.mark.parametrize("n_class", [2, 3])
def test_models_of_a_path_are_fitted_estimators_in_one_subspace(n_class, monkeypatch):
    X, y = load_digits(n_class=n_class, return_X_y=True)
    frame, y = pd.DataFrame(X[:100], columns=[f"pixel{i}" for i in range(64)]), np.array(["a", "b", "c"])[y[:100]]
    path = SubspaceLPSVC(n_components=10, gamma=1e-3, random_state=0).alpha_path(frame, y, [1.0, 0.1])
    for alpha, model in zip([1.0, 0.1], path.models, strict=True):
        assert model.alpha == alpha
        assert model.subspace_ is path.models[0].subspace_
        assert list(model.feature_names_in_) == list(frame.columns)
    counted = []
    coordinates = Subspace.coordinates
    monkeypatch.setattr(Subspace, "coordinates", lambda self, X: counted.append(1) or coordinates(self, X))
    scores, labels = path.scores(frame), path.predict(frame)  # warnings are errors here: the names are known
    assert len(counted) == 2
    for i, model in enumerate(path.models):
        np.testing.assert_array_equal(scores[i], model.decision_function(frame))
        np.testing.assert_array_equal(labels[i], model.predict(frame))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(path)).predict(frame), labels)


def test_class_weight_and_sample_weight_multiply():
    X, y = make_classification(120, 5, weights=[0.8], random_state=1)
    model = {"n_components": 10, "gamma": 0.1, "random_state": 0, "alpha": 0.5}
    sample = np.random.default_rng(0).integers(1, 3, 120)
    both = SubspaceLPSVC(**model, class_weight={0: 1.0, 1: 3.0}).fit(X, y, sample_weight=sample)
    D = both.subspace_.transform(X)
    p = sample * np.where(y == 1, 3.0, 1.0)
    alone = norm_svm(rows(D), np.where(y == 1, 1.0, -1.0), 0.5, p)
    np.testing.assert_allclose(both.objective_[0], alone.objective, rtol=1e-7)
    heavier = SubspaceLPSVC(**model, class_weight="balanced").fit(X, y).predict(X)
    assert np.sum(heavier == 1) > np.sum(SubspaceLPSVC(**model).fit(X, y).predict(X) == 1)


def test_string_labels_and_precomputed_kernel():
    X, y = make_classification(80, 4, n_redundant=0, random_state=0)
    names = np.array(["no", "yes"])[y]
    K = X @ X.T
    model = SubspaceLPSVC(kernel="precomputed", n_components=4).fit(K, names)
    plain = SubspaceLPSVC(kernel="linear", n_components=4).fit(X, names)
    np.testing.assert_array_equal(model.predict(K), plain.predict(X))
    assert set(model.predict(K)) <= {"no", "yes"}


def test_the_subspace_is_a_fitted_transformer_that_knows_the_features():
    X, y = make_classification(80, 4, random_state=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    options = {"n_components": 10, "n_landmarks": 30, "landmarks": "leverage", "gamma": 0.3, "random_state": 1}
    model = SubspaceLPSVC(**options).fit(frame, y)
    alone = KernelSubspace(**options).fit(frame)
    assert model.subspace_.get_params() == alone.get_params()
    np.testing.assert_array_equal(model.subspace_.transform(frame), alone.transform(frame))
    assert list(model.subspace_.get_feature_names_out()) == list(alone.get_feature_names_out())
    assert set(vars(model.subspace_)) == set(vars(alone))


def test_parameters_that_are_set_after_fit_change_no_prediction():
    X, y = make_classification(80, 4, random_state=0)
    X = sp.csr_array(X)
    model = SubspaceLPSVC(n_components=10, gamma=0.3, random_state=1).fit(X, y)
    before = model.decision_function(X)
    for kernel in ("precomputed", "chi2"):
        model.set_params(alpha=7.0, kernel=kernel, gamma=5.0, norm="inf", n_components=2)
        np.testing.assert_array_equal(model.decision_function(X), before)


def test_an_unsolved_program_is_reported_where_fit_was_called():
    X, y = make_classification(200, 5, random_state=0)
    model = SubspaceLPSVC(n_components=10, max_iter=2)
    with pytest.warns(
        ConvergenceWarning, match="1 of 1 linear programs of SubspaceLPSVC were not solved to tol"
    ) as caught:
        model.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="2 of 2 linear programs") as on_path:
        model.alpha_path(X, y, [0.1, 1.0])
    assert {w.filename for w in [*caught, *on_path]} == {__file__}


def test_progress_is_shown_if_the_settings_ask_for_it(capsys):
    X, y = load_digits(n_class=3, return_X_y=True)
    model = SubspaceLPSVC(n_components=5, gamma=1e-3, random_state=0)
    model.fit(X[:100], y[:100])
    assert capsys.readouterr().err == ""
    with rarefy.config_context(progress=True):
        model.fit(X[:100], y[:100])
    assert "linear programs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": -1.0}, r"'alpha' parameter of SubspaceLPSVC must be a float in the range \[0.*Got -1.0"),
        ({"alpha": "much"}, r"'alpha' parameter of SubspaceLPSVC must be a float"),
        ({"alpha": np.inf}, r"'alpha' parameter of SubspaceLPSVC"),
        (
            {"norm": 0.5},
            r"'norm' parameter of SubspaceLPSVC must be a float in .*\[1.*inf\) or .*'inf'.* Got 0.5",
        ),
        ({"norm": np.inf}, r"'norm' parameter of SubspaceLPSVC"),
        ({"norm": 1.5, "multi_class": "direct"}, r"is a linear program for norm=1 and norm='inf'; got norm=1.5"),
        (
            {"norm": 1.5, "tol": "predictions"},
            r"tol='predictions' of SubspaceLPSVC needs norm=1, 2 or 'inf'; got",
        ),
        ({"norm": True}, r"'norm' parameter of SubspaceLPSVC"),
        ({"multi_class": "ovo"}, r"'multi_class' parameter of SubspaceLPSVC must be a str among"),
        ({"multi_class": "direct", "norm": 2}, r"is a linear program for norm=1 and norm='inf'; got norm=2"),
        ({"tol": 0.0}, r"'tol' parameter of SubspaceLPSVC must be a float in the range \[1e-100"),
        ({"max_iter": 0}, r"'max_iter' parameter of SubspaceLPSVC must be an int"),
        ({"class_weight": {0: -1}}, r"class_weight of SubspaceLPSVC must have finite factors >= 0"),
        ({"class_weight": {0: 1.0, 1: np.nan}}, r"class_weight of SubspaceLPSVC must have finite factors >= 0"),
    ],
)
def test_bad_parameters_are_refused_by_fit_and_path(parameters, message):
    X, y = make_classification(80, 4, random_state=0)
    model = SubspaceLPSVC(**({"n_components": 5} | parameters))
    with pytest.raises(ParameterError, match=message):
        model.fit(X, y)
    with pytest.raises(ParameterError, match=message):
        model.alpha_path(X, y, [1.0])


def test_one_class_is_refused_and_nothing_is_fitted():
    model = SubspaceLPSVC()
    with pytest.raises(DegenerateDataError, match=r"at least two classes; y has 1 class, 0\.0"):
        model.fit(np.eye(5), np.zeros(5))
    y = np.array([0, 1, 1, 0, 1])
    with pytest.raises(DegenerateDataError, match=r"SubspaceLPSVC needs at least two classes; .* weight\), 1"):
        model.fit(np.eye(5), y, 1.0 * (y == 1))
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("alphas", [[-1.0], [], [np.nan], ["many"]])
def test_alphas_are_checked(alphas):
    with pytest.raises(ParameterError, match=r"alphas of SubspaceLPSVC.alpha_path must be finite numbers >= 0"):
        SubspaceLPSVC().alpha_path(np.eye(4), [0, 1, 0, 1], alphas)


def primal_by_convex_search(D, y, alpha, p, norm):
    """min alpha ||w|| + p^T xi, smooth away from w = 0, by sequential quadratic programming."""
    m, S = D.shape

    def value(u):
        size = np.linalg.norm(u[:S], ord=norm)
        slope = np.sign(u[:S]) * np.abs(u[:S]) ** (norm - 1.0) / max(size, 1e-300) ** (norm - 1.0)
        return alpha * size + p @ u[S + 1 :], np.concatenate([alpha * slope, [0.0], p])

    rows = np.hstack([y[:, None] * D, y[:, None], np.eye(m)])
    start = np.concatenate([np.full(S, 0.1), [0.0], np.full(m, 5.0)])
    constraint = {"type": "ineq", "fun": lambda u: rows @ u - 1.0, "jac": lambda u: rows}
    bounds = [(None, None)] * (S + 1) + [(0.0, None)] * m
    options = {"maxiter": 1000, "ftol": 1e-12}
    return minimize(
        value, start, jac=True, constraints=[constraint], bounds=bounds, method="SLSQP", options=options
    ).fun


@pytest.mark.parametrize(
    ("norm", "alpha"), [(1.2, 0.1), (1.2, 3.0), (1.5, 3.0), (2, 3.0), (3, 0.1), (3, 3.0), (6.0, 0.1)]
)
def test_any_norm_has_the_value_of_the_primal_program(norm, alpha):
    D, y, p = two_classes(1, m=40, S=4)
    found = norm_svm(rows(D), y, alpha, p, norm=norm, tol=1e-6)
    assert found.status == "optimal"
    size = np.linalg.norm(found.w, ord=norm, axis=1)[0]
    value = alpha * size + p @ np.maximum(0.0, 1.0 - y * (D @ found.w[0] + found.b))
    assert found.objective == pytest.approx(value)
    best = primal_by_convex_search(D, y, alpha, p, norm)
    assert found.objective - found.gap <= best * (1 + 1e-9)
    assert found.objective <= best * (1 + 1e-6)


def test_norms_between_have_values_in_their_order():
    D, y, p = two_classes(2)
    values = [norm_svm(rows(D, norm), y, 2.0, p, norm=norm, tol=1e-6).objective for norm in (1, 1.3, 2, 4, "inf")]
    assert values == sorted(values, reverse=True)  # ||w||_p falls with p
