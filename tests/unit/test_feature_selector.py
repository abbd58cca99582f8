"""Feature selection inside a kernel machine: against plain recomputation, its theory, and each other."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rarefy.core.feature_weights.objectives import Machines, ReducedPoint, WholePoint
from rarefy.core.feature_weights.search import Problem, Solution, _weight_half, reduced, smallest_curvature
from rarefy.core.feature_weights.starts import _promising, screened
from rarefy.core.solvers.trust_region import Minimum
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV
from rarefy.kernel._feature_selector_cv import _best

METHODS = ("ao", "ao1", "ao2", "full", "reduced", "gmkl")


def crossed(seed=0, n=80, d=6, informative=(1, 4)):
    """Four clouds at the corners of a square, opposite ones in the same class, in two of the columns."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, informative] = rng.choice([-1.0, 1.0], (n, 2)) * rng.uniform(0.4, 1.6, (n, 2))
    return X, np.where(X[:, informative[0]] * X[:, informative[1]] > 0, 1, 0)


def value_by_loops(X, y, model, weights=None):
    """The objective, from nothing but fitted attributes."""
    z = model.feature_weights_[model.feature_weights_ > 0]
    scores = model.decision_function(X)
    scores = scores[:, None] if scores.ndim == 1 else scores
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    K = np.array(
        [[np.exp(-np.sum((z * (a - b)) ** 2)) for b in model.support_vectors_] for a in model.support_vectors_]
    )
    total, weights = model.mu * model.feature_weights_.sum(), np.ones(len(y)) if weights is None else weights
    for c, label in enumerate(classes):
        total += 0.5 * model.dual_coef_[c] @ K @ model.dual_coef_[c]
        for i in range(len(y)):
            t = scores[i, c] * (1 if y[i] == label else -1)
            loss = 0.0 if t >= 1 else (1 - t) ** 2 / (4 * model.eps) if t >= 1 - 2 * model.eps else 1 - model.eps - t
            total += model.C * weights[i] * loss
    return total


# Theory


def random_saddle(rng, n1, n2):
    """H with a positive definite second block, and x1 where its Schur complement bends downwards."""
    while True:
        M = rng.standard_normal((n1 + n2, n1 + n2))
        H = M + M.T
        H[n1:, n1:] = M[n1:, n1:] @ M[n1:, n1:].T + 0.2 * np.eye(n2)
        schur = H[:n1, :n1] - H[:n1, n1:] @ np.linalg.solve(H[n1:, n1:], H[n1:, :n1])
        values, vectors = np.linalg.eigh(schur)
        if values[0] < -0.1:
            x1 = vectors[:, 0] + 0.1 * rng.standard_normal(n1)
            if x1 @ schur @ x1 < -0.05 * (x1 @ x1):
                return H, 2.0 * x1, schur


def numeric_hessian(f, x, h=1e-3):
    n, unit = len(x), h * np.eye(len(x))
    H = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            a, b = unit[i], unit[j]
            H[i, j] = (f(x + a + b) - f(x + a - b) - f(x - a + b) + f(x - a - b)) / (4 * h * h)
    return H


@pytest.mark.parametrize("seed", range(25))
def test_a_shared_scale_sees_saddles_that_taking_turns_does_not(seed):
    """Theorem 11 (b): fbar(x1bar, x2, kappa) = f(x1bar / kappa, x2) bends downwards in (x2, kappa)."""
    rng = np.random.default_rng(seed)
    n1, n2 = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    H, x1, schur = random_saddle(rng, n1, n2)
    x2, cubic = rng.standard_normal(n2), 0.3 * rng.standard_normal(n1 + n2)
    centre = np.concatenate([x1, x2])

    def f(a, b):  # stationary at the centre, with cubic terms that leave the Hessian there as it is
        step = np.concatenate([a, b]) - centre
        return 0.5 * step @ H @ step + cubic @ step**3

    kappa = rng.uniform(0.5, 2.0) * rng.choice([-1.0, 1.0])
    whole = numeric_hessian(lambda x: f(x[:n1], x[n1:]), centre)
    np.testing.assert_allclose(whole, H, atol=1e-5)
    assert np.linalg.eigvalsh(whole)[0] < 0.0  # a saddle
    assert np.linalg.eigvalsh(whole[n1:, n1:])[0] > 0.0  # which the second group alone does not see
    shared = numeric_hessian(lambda x: f(kappa * x1 / x[-1], x[:-1]), np.append(x2, kappa), h=1e-3 * abs(kappa))
    assert np.linalg.eigvalsh(shared)[0] < 0.0
    # Its own Schur complement is x1' H_schur x1 / kappa^2.
    own = shared[-1, -1] - shared[-1, :-1] @ np.linalg.solve(shared[:-1, :-1], shared[:-1, -1])
    assert own == pytest.approx(x1 @ schur @ x1 / kappa**2, rel=1e-2, abs=1e-2)


@pytest.mark.parametrize("seed", range(25))
def test_weakly_coupled_groups_have_no_saddle(seed):
    """Theorem 12: v_min(H22) > v_max(H12 H12') / v_min(H11) makes the Schur complement positive definite."""
    rng = np.random.default_rng(seed)
    n1, n2 = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    A, D = rng.standard_normal((n1, n1)), rng.standard_normal((n2, n2))
    H11, H12 = A @ A.T + 0.1 * np.eye(n1), rng.standard_normal((n1, n2))
    bound = np.linalg.eigvalsh(H12 @ H12.T)[-1] / np.linalg.eigvalsh(H11)[0]
    H22 = D @ D.T
    H22 += (bound * 1.0001 - np.linalg.eigvalsh(H22)[0]) * np.eye(n2)
    assert np.linalg.eigvalsh(H11 - H12 @ np.linalg.solve(H22, H12.T))[0] > 0.0
    assert np.linalg.eigvalsh(np.block([[H11, H12], [H12.T, H22]]))[0] > 0.0


def with_a_twin(mu=0.5):
    """A problem whose first two columns are the same, and its solution with equal weights for the twins: a saddle.

    The machines see z_0^2 + z_1^2 only. Of all such pairs, equal ones are the most expensive: along (1, -1) the
    objective bends by -mu / z_0, whatever the data.
    """
    rng = np.random.default_rng(0)
    x, other = rng.standard_normal(40), rng.standard_normal(40)
    Y = np.where(x * other > 0, 1.0, -1.0)[:, None]
    X = np.column_stack([x, x, other])
    machines = Machines(Y, np.ones(40), mu, 0.5)
    # One column of twice the square, at twice the price, next to the other at the price it has.
    single = Problem(np.column_stack([np.sqrt(2.0) * x, other]), machines)
    z = np.array([0.7, 0.7])
    for _ in range(12):  # Newton's method
        B, b, _ = single.solve_machines(z)
        here = ReducedPoint(single.kernel(), machines, z, (B, b))
        H = np.column_stack([here.hessian_product(e) for e in np.eye(2)])
        z = z - np.linalg.solve(H, here.gradient + np.array([mu, 0.0]))
    problem, z = Problem(X, machines), np.array([z[0], z[0], z[1]])
    B, b, value = problem.solve_machines(z)
    return problem, Solution(z, B, b, value, (value,), 0, True)


def whole_hessian(problem, solution):
    """In all coefficients, the offset and the weights."""
    x = np.concatenate([solution.B.ravel(), solution.b, solution.z])
    here = WholePoint(problem.kernel(), problem.machines, x)
    np.testing.assert_allclose(here.gradient, 0.0, atol=1e-7)
    return np.column_stack([here.hessian_product(e) for e in np.eye(len(x))])


def test_curvature_is_that_of_a_planted_saddle():
    problem, saddle = with_a_twin()
    assert smallest_curvature(problem, saddle) == pytest.approx(-0.5 / saddle.z[0], rel=1e-6)
    assert np.linalg.eigvalsh(whole_hessian(problem, saddle))[0] < -1e-3


def test_a_nudge_leads_from_the_saddle_to_a_minimiser():
    problem, saddle = with_a_twin()
    found = reduced(problem, saddle.z + np.array([1e-4, 0.0, 0.0]), tol=1e-6)
    assert found.objective < saddle.objective - 1e-2
    assert problem.present(found.z).tolist() == [0, 2]
    assert smallest_curvature(problem, found) > 0.0
    part = Problem(problem.X[:, [0, 2]], problem.machines)
    best = reduced(part, found.z[[0, 2]], tol=1e-9)
    assert np.linalg.eigvalsh(whole_hessian(part, best))[0] > -1e-9


def test_curvature_of_many_weights_agrees_with_the_dense_one(monkeypatch):
    X, y = crossed(d=12)
    problem = Problem(X, Machines(np.where(y == 1, 1.0, -1.0)[:, None], np.ones(80), 0.01, 0.5))
    B, b, value = problem.solve_machines(np.full(12, 0.3))
    here = Solution(np.full(12, 0.3), B, b, value, (value,), 0, True)
    dense = smallest_curvature(problem, here)
    monkeypatch.setattr("rarefy.core.feature_weights.search._DENSE", 5)
    assert smallest_curvature(problem, here) == pytest.approx(dense, rel=1e-2)


@pytest.mark.parametrize("margin", ["fixed", "geometric", "functional"])
def test_the_search_for_weights_begins_at_the_value_of_the_machines(margin, monkeypatch):
    """Also with the functional margin, whose machines are scaled to norm 1 before they are fixed."""
    X, y = crossed(n=40)
    X[:10, 1] += 1.0  # so that offsets are not zero
    Y = np.column_stack([np.where(y == 1, 1.0, -1.0), np.where(X[:, 0] > 0.5, 1.0, -1.0)])
    problem, z = Problem(X, Machines(Y, np.linspace(0.5, 2.0, 40), 0.1, 0.5)), np.array([1.0, 0.5, 0.0, 0.7, 1.0, 0.3])
    B, b, value = problem.solve_machines(z)
    begun = []

    def instead(at, x, **options):
        begun.append((at(x), x))
        return Minimum(x, 0.0, x, 0.0, 0, 0, "optimal")

    monkeypatch.setattr("rarefy.core.feature_weights.search.trust_region", instead)
    after = _weight_half(problem, z, B, b, margin, 20, 1e-3)
    ((point, x),) = begun
    assert point.value == pytest.approx(value, rel=1e-10)
    assert len(x) == 5 + (0 if margin == "fixed" else 2)
    np.testing.assert_array_equal(after, z)
    if margin != "fixed":  # and the machines' own scale is the best there is
        np.testing.assert_allclose(point.gradient[5:], 0.0, atol=1e-7)


def test_faint_weights_do_not_count():
    machines = Machines(np.array([[1.0], [-1.0]]), np.ones(2), 1.0, 0.5)
    X = np.array([[1.0, 1.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -1.0]])
    assert Problem(X, machines).present(np.array([0.0, 2.0, 0.021, 0.019])).tolist() == [1, 2]
    assert Problem(X, machines).present(np.zeros(4)).tolist() == []
    # In other units the numbers are others and the answer is the same; a constant column has nothing to say.
    units = np.array([1.0, 1000.0, 0.01, 10.0])
    assert Problem(X * units, machines).present(np.array([0.0, 2.0, 0.021, 0.019]) / units).tolist() == [1, 2]
    assert Problem(X * [1, 1, 0, 1] + 5.0, machines).present(np.ones(4)).tolist() == [0, 1, 3]


# What is found


@pytest.mark.parametrize("method", METHODS)
def test_every_method_finds_two_columns_that_help_together_only(method):
    X, y = crossed()
    model = KernelFeatureSelector(1.0, 1.0, method=method, tol=1e-2 if method == "gmkl" else 1e-3).fit(X, y)
    assert set(np.argsort(model.ranking_)[:2]) == {1, 4}
    assert model.score(X, y) > 0.95
    if method != "gmkl":
        assert model.get_support(indices=True).tolist() == [1, 4]
        assert model.curvature_ > 0.0
        assert model.objective_ == pytest.approx(value_by_loops(X, y, model), rel=1e-9)
        assert model.history_[-1] == model.objective_
    else:
        assert np.isnan(model.curvature_)


def test_polishing_continues_from_where_the_method_ends():
    X, y = crossed()
    rough, polished = (KernelFeatureSelector(1.0, 1.0, method="ao", tol=0.1, polish=p).fit(X, y) for p in (False, True))
    assert polished.objective_ < rough.objective_
    np.testing.assert_array_equal(polished.history_[: len(rough.history_)], rough.history_)
    assert polished.n_iter_ == rough.n_iter_ == len(rough.history_) - 1


@pytest.mark.parametrize("method", ["ao", "ao1", "full", "reduced"])
def test_methods_with_the_same_objective_agree_and_go_downhill(method):
    X, y = crossed()
    model = KernelFeatureSelector(1.0, 1.0, method=method, polish=False, tol=1e-4, max_iter=300).fit(X, y)
    best = KernelFeatureSelector(1.0, 1.0, method="reduced", tol=1e-6).fit(X, y)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-4)
    assert np.all(np.diff(model.history_) <= 1e-9 * model.history_[0])


@pytest.mark.parametrize("penalty", ["weights", "squares"])
@pytest.mark.parametrize("method", ["ao", "ao1", "ao2", "full", "reduced", "gmkl"])
def test_weights_are_stationary(method, penalty):
    """Inside, the derivative is zero; gone features would not lower the objective (their derivative is the price)."""
    X, y = crossed(1)
    model = KernelFeatureSelector(1.0, 0.5, method=method, penalty=penalty, tol=1e-5, max_iter=300).fit(X, y)
    power = 2 if method == "gmkl" or penalty == "squares" else 1
    eps = 0.05 if method == "gmkl" else 0.5
    problem = Problem(X, Machines(np.where(y == 1, 1.0, -1.0)[:, None], np.ones(80), 0.0, eps))

    def value(z):
        return problem.solve_machines(z)[2] + 0.5 * np.sum(z**power)

    z, h = model.feature_weights_, 1e-4
    assert value(z) == pytest.approx(model.objective_, rel=1e-6)
    for k in np.flatnonzero(model.support_):
        slope = (value(z + h * np.eye(6)[k]) - value(z - h * np.eye(6)[k])) / (2 * h)
        assert abs(slope) < (0.2 if method == "gmkl" else 0.02)


@pytest.mark.parametrize("init", ["ones", "scaled"])
@pytest.mark.parametrize("method", ["ao", "ao1", "ao2", "reduced"])
def test_squares_leave_nobody_out_who_is_worth_the_price(method, init):
    """A weight of zero is stationary; it is a minimum only where the feature's slope is above minus its price."""
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X[::3]), y[::3]
    best = KernelFeatureSelector(4.0, 4.0, method="reduced", penalty="squares", tol=1e-6).fit(X, y)
    model = KernelFeatureSelector(4.0, 4.0, method=method, init=init, penalty="squares").fit(X, y)
    assert model.objective_ == pytest.approx(best.objective_, rel=1e-4)
    assert model.curvature_ > 0.0
    assert model.support_.sum() < 15
    problem, _ = model._problem(X, y, np.ones(len(y)))
    B, b, _ = problem.solve_machines(model.feature_weights_)
    assert problem.slopes(model.feature_weights_, B, b)[~model.support_].min() > -4.0
    # Without its heaviest feature it is at a saddle point, and says so.
    z = np.where(model.ranking_ == 1, 0.0, model.feature_weights_)
    without = KernelFeatureSelector(4.0, 4.0, method="reduced", init=z, penalty="squares").fit(X, y)
    assert np.argmin(model.ranking_) not in without.get_support(indices=True)
    assert without.curvature_ < 0.0


def test_polynomial_kernels():
    X, y = crossed()
    model = KernelFeatureSelector(1.0, 0.5, kernel="poly", degree=2).fit(X, y)
    assert model.get_support(indices=True).tolist() == [1, 4]
    z = model.feature_weights_[model.feature_weights_ > 0]
    K = ((X[:, model.feature_weights_ > 0] * z**2) @ model.support_vectors_.T + 1.0) ** 2
    np.testing.assert_allclose(model.decision_function(X), K @ model.dual_coef_[0] + model.intercept_[0], atol=1e-9)


def test_decision_is_that_of_an_ordinary_kernel_machine_on_scaled_columns():
    X, y = crossed()
    model = KernelFeatureSelector(1.0, 1.0).fit(X, y)
    z = model.feature_weights_
    K = rbf_kernel(X * z, model.support_vectors_ * z[z > 0] @ np.eye(6)[z > 0], gamma=1.0)
    np.testing.assert_allclose(model.decision_function(X), K @ model.dual_coef_[0] + model.intercept_[0], atol=1e-9)


def test_prices_are_followed_from_the_smallest_and_reported_as_given():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 6))
    y = np.sign(X[:, 1] * X[:, 4] + 0.4 * X[:, 2] + 0.2 * rng.standard_normal(60))
    mus = [1.0, 1e-4, 16.0, 64.0]
    selector = KernelFeatureSelector(2.0)
    path = selector.mu_path(X, y, mus)
    assert not hasattr(selector, "feature_weights_")
    np.testing.assert_array_equal(path.mus, mus)
    assert [model.mu for model in path.models] == mus
    order = np.argsort(mus)
    counts, weights = path.n_features[order], path.feature_weights[order]
    assert np.all(np.diff(counts) <= 0)
    assert counts[0] > counts[-1]
    assert np.all(weights[1:][weights[:-1] == 0.0] == 0.0), "who is gone stays gone"
    assert np.all(np.diff(path.objective[order]) > 0)
    # The second smallest price is what a start at the weights of the smallest one gives.
    again = KernelFeatureSelector(2.0, 1.0, init=path.feature_weights[1]).fit(X, y)
    np.testing.assert_allclose(path.feature_weights[0], again.feature_weights_, rtol=1e-12)
    np.testing.assert_array_equal(path.predict(X), [model.predict(X) for model in path.models])
    for model, objective in zip(path.models, path.objective, strict=True):
        assert objective == pytest.approx(value_by_loops(X, y, model), rel=1e-9)


@pytest.mark.parametrize("method", ["ao2", "reduced"])
def test_more_starts_never_end_higher(method):
    for seed in range(2):
        X, y = crossed(seed, n=50, d=8)
        one = KernelFeatureSelector(4.0, 0.05, method=method, tol=1e-2).fit(X, y)
        many = KernelFeatureSelector(4.0, 0.05, method=method, tol=1e-2, n_starts=3, random_state=seed).fit(X, y)
        assert many.objective_ <= one.objective_


def test_screening_finds_columns_among_two_thousand():
    X = np.random.default_rng(0).standard_normal((100, 2000))
    y = X[:, 700] + X[:, 1300] > 0
    model = KernelFeatureSelector(1.0, 8.0, screening=30, init="scaled", tol=1e-2).fit(X, y)
    assert set(np.argsort(model.ranking_)[:2]) == {700, 1300}
    assert model.support_.sum() < 6
    assert model.objective_ == pytest.approx(value_by_loops(X, y, model), rel=1e-9)


def test_screening_starts_with_the_most_promising_and_brings_in_what_it_missed(monkeypatch):
    X = np.random.default_rng(0).standard_normal((100, 400))
    y = X[:, 70] + X[:, 130] > 0
    problem = Problem(X, Machines(np.where(y, 1.0, -1.0)[:, None], np.ones(100), 8.0, 0.5))
    assert set(_promising(problem, np.ones(400), 4)[:2]) == {70, 130}
    fields = []

    def search(part, z):
        fields.append(part.X)
        return reduced(part, z, tol=1e-2)

    screened(problem, np.full(400, 0.05), search, 30)
    assert fields[0].shape == (100, 30)
    assert all(np.any(np.all(X[:, k] == fields[0].T, axis=1)) for k in (70, 130))
    last = np.arange(370, 400)
    monkeypatch.setattr("rarefy.core.feature_weights.starts._promising", lambda problem, z, size: last)
    model = KernelFeatureSelector(1.0, 8.0, screening=30, init="scaled", tol=1e-2).fit(X, y)
    assert set(np.argsort(model.ranking_)[:2]) == {70, 130}


def test_screening_with_squares_ends_when_no_column_outside_is_worth_its_price(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 60))
    y = X[:, :6].sum(axis=1) + 0.5 * rng.standard_normal(80) > 0
    model = KernelFeatureSelector(1.0, 2.0, penalty="squares", screening=20, init="scaled")
    problem, _ = model._problem(X, y, np.ones(80))
    monkeypatch.setattr("rarefy.core.feature_weights.starts._promising", lambda problem, z, size: np.arange(40, 60))
    found = screened(problem, model._start(problem), reduced, 20, rounds=30)
    assert set(range(6)) <= set(problem.present(found.z))
    assert np.median(found.z[problem.present(found.z)]) < 0.7, "else the price of a weight and of its square are alike"
    slopes = problem.slopes(found.z, found.B, found.b)
    assert slopes[found.z == 0.0].min() > -2.0


def test_screening_looks_at_columns_alone_and_beside_the_others():
    X = np.random.default_rng(0).standard_normal((150, 300))
    y = X[:, 100] ** 2 + 0.5 * X[:, 200] > 0.8
    problem = Problem(X, Machines(np.where(y, 1.0, -1.0)[:, None], np.ones(150), 1.0, 0.5))
    field = _promising(problem, np.ones(300), 20)
    assert len(set(field)) == 20
    assert {100, 200} <= set(field)


def test_screening_of_all_columns_is_none():
    X, y = crossed()
    all_, few = (KernelFeatureSelector(1.0, 1.0, screening=s).fit(X, y) for s in (None, 6))
    np.testing.assert_array_equal(all_.feature_weights_, few.feature_weights_)


def test_sample_weights_are_repetitions_and_rows_have_no_order():
    X, y = crossed(n=50)
    rng = np.random.default_rng(0)
    times, shuffled = rng.integers(0, 3, 50), rng.permutation(50)
    weighted = KernelFeatureSelector(1.0, 1.0).fit(X, y, times)
    repeated = KernelFeatureSelector(1.0, 1.0).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighted.feature_weights_, repeated.feature_weights_, rtol=1e-10)
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-10)
    assert weighted.objective_ == pytest.approx(value_by_loops(X, y, weighted, times), rel=1e-9)
    permuted = KernelFeatureSelector(1.0, 1.0).fit(X[shuffled], y[shuffled], times[shuffled])
    np.testing.assert_array_equal(weighted.feature_weights_, permuted.feature_weights_)
    np.testing.assert_array_equal(weighted.decision_function(X), permuted.decision_function(X))


def test_several_classes_share_their_weights():
    X, _ = crossed(n=90)
    y = np.array(["left", "middle", "right"])[np.digitize(X[:, 3] + 0.3 * X[:, 1], [-0.6, 0.6])]
    model = KernelFeatureSelector(2.0, 1.0).fit(X, y)
    assert model.feature_weights_.shape == (6,)
    assert set(np.argsort(model.ranking_)[:2]) == {1, 3}
    assert model.dual_coef_.shape[0] == len(model.intercept_) == 3
    assert model.decision_function(X).shape == (90, 3)
    assert set(model.predict(X)) == {"left", "middle", "right"}
    assert model.score(X, y) > 0.9
    assert model.objective_ == pytest.approx(value_by_loops(X, y, model), rel=1e-9)


def test_labels_may_be_words_and_points_sparse():
    X, y = crossed()
    X = X * (np.abs(X) > 0.3)
    words = np.where(y == 1, "same", "different")
    model = KernelFeatureSelector(1.0, 1.0).fit(X, words)
    np.testing.assert_array_equal(model.predict(X) == "same", model.decision_function(X) > 0)
    sparse = KernelFeatureSelector(1.0, 1.0).fit(sp.csr_array(X), words)
    np.testing.assert_array_equal(sparse.feature_weights_, model.feature_weights_)
    np.testing.assert_array_equal(sparse.decision_function(sp.csc_array(X)), model.decision_function(X))


def test_starts():
    X, y = crossed()
    scaled = KernelFeatureSelector(1.0, 1.0, init="scaled")
    problem, _ = scaled._problem(X, y, np.ones(80))
    z = scaled._start(problem)
    pairs = [np.sum((z * (a - b)) ** 2) for a in X for b in X]
    assert np.mean(pairs) == pytest.approx(1.0, rel=1e-10)
    assert scaled.fit(X, y).get_support(indices=True).tolist() == [1, 4]
    given = KernelFeatureSelector(1.0, 1.0, init=[0, 1, 0, 1, 1, 0]).fit(X, y)
    assert set(given.get_support(indices=True)) <= {1, 3, 4}
    assert np.all(given.feature_weights_[[0, 2, 5]] == 0.0)


def test_a_price_that_nobody_pays():
    X, y = crossed()
    y[:5] = 1
    with pytest.warns(UserWarning, match=r"selected no feature.*mu=1e\+04.* Lower mu"):
        model = KernelFeatureSelector(1.0, 1e4).fit(X, y)
    assert not model.support_.any()
    assert not model.feature_weights_.any()
    assert model.curvature_ == 0.0
    assert len(set(model.predict(X))) == 1
    with pytest.warns(UserWarning, match="No features were selected"):
        assert model.transform(X).shape == (80, 0)
    with pytest.warns(UserWarning, match=r"KernelFeatureSelectorCV selected no feature.*mu=1e\+05.* Lower mu"):
        KernelFeatureSelectorCV([1.0], [1e5], cv=2, penalty="weights").fit(X, y)


def test_ranks_and_names():
    X, y = crossed()
    model = KernelFeatureSelector(1.0, 0.1).fit(X, y)
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
    pipeline = make_pipeline(StandardScaler(), KernelFeatureSelector(1.0, 1.0), neighbours)
    with_selection = cross_val_score(pipeline, X, y, cv=3).mean()
    assert with_selection > 0.9 > 0.1 + cross_val_score(neighbours, X, y, cv=3).mean()


def test_cross_validation_takes_the_best_and_of_equals_the_smallest():
    X, y = crossed(n=60)
    y[:6] = 1 - y[:6]
    model = KernelFeatureSelectorCV([4.0, 1.0], [1.0, 0.01, 64.0, 0.1], cv=3, penalty="weights", init="ones").fit(X, y)
    np.testing.assert_array_equal(model.mus_, [0.01, 0.1, 1.0, 64.0])
    assert model.cv_scores_.shape == model.cv_n_features_.shape == (2, 4, 3)
    mean, size = model.cv_scores_.mean(axis=2), model.cv_n_features_.mean(axis=2)
    i, j = list(model.Cs_).index(model.C_), list(model.mus_).index(model.mu_)
    assert mean[i, j] == pytest.approx(mean.max())
    assert size[i, j] == size[np.isclose(mean, mean.max())].min()
    path = KernelFeatureSelector(model.C_).mu_path(X, y, model.mus_)
    np.testing.assert_array_equal(model.feature_weights_, path.feature_weights[j])
    np.testing.assert_array_equal(model.decision_function(X), path.models[j].decision_function(X))
    np.testing.assert_array_equal(model.mu_path(X, y, model.mus_).feature_weights, path.feature_weights)
    # Scores are those of paths on the other folds.
    train, test = next(iter(StratifiedKFold(3).split(X, y)))
    fold = KernelFeatureSelector(4.0).mu_path(X[train], y[train], model.mus_)
    np.testing.assert_allclose(model.cv_scores_[0, :, 0], (fold.predict(X[test]) == y[test]).mean(axis=1))
    np.testing.assert_array_equal(model.cv_n_features_[0, :, 0], fold.n_features)


def test_ties_go_to_fewer_features():
    X, y = crossed(n=60, d=4, informative=(1, 3))
    model = KernelFeatureSelectorCV([1.0], [0.2, 0.5, 1.0], cv=2, penalty="weights", init="ones").fit(X, y)
    mean = model.cv_scores_.mean(axis=2)[0]
    assert np.all(mean == mean[0]), "the example is meant to have ties only"
    sizes = model.cv_n_features_.mean(axis=2)[0]
    assert sizes[list(model.mus_).index(model.mu_)] == sizes.min()
    assert model.mu_ == model.mus_[sizes == sizes.min()].max()


def test_of_equal_scores_the_fewest_features_then_the_highest_price_then_the_smallest_C():
    scores, counts = np.full((2, 2, 3, 2), 0.5), np.full((2, 2, 3, 2), 7)
    assert _best(scores, counts) == (0, 0, 2)
    counts[1, 1, 0] = 5
    assert _best(scores, counts) == (1, 1, 0)
    counts[0, 1, 1] = 2, 7  # fewer on average, though not everywhere
    assert _best(scores, counts) == (0, 1, 1)
    scores[0, 0, 0, 1] = 0.6
    assert _best(scores, counts) == (0, 0, 0)


def test_folds_whose_points_have_no_weight_have_no_say():
    X, y = crossed(n=60)
    y[:9] = 1 - y[:9]
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    weights = np.ones(60)
    weights[folds[2][1]] = 0.0
    common = {"Cs": [0.25, 1.0, 4.0], "mus": [0.1, 1.0, 4.0], "method": "reduced", "init": "ones", "tol": 1e-2}
    model = KernelFeatureSelectorCV(**common, cv=folds).fit(X, y, weights)
    assert np.isnan(model.cv_scores_[..., 2]).all()
    others = KernelFeatureSelectorCV(**common, cv=folds[:2]).fit(X, y, weights)
    assert (model.C_, model.mu_) == (others.C_, others.mu_)
    np.testing.assert_array_equal(model.cv_scores_[..., :2], others.cv_scores_)
    with pytest.raises(
        DegenerateDataError, match=r"KernelFeatureSelectorCV found no fold with two classes .* cv makes 1 folds"
    ):
        KernelFeatureSelectorCV(**common, cv=folds[2:]).fit(X, y, weights)


def test_gmkl_has_its_own_penalty():
    X, y = crossed(n=40)
    model = KernelFeatureSelectorCV([1.0], [1.0], cv=2, method="gmkl", penalty="weights", init="ones", tol=0.1)
    assert model.fit(X, y).penalty_ == "squares"


def test_both_starts_and_penalties_are_tried_and_the_best_is_kept():
    X, y = crossed(n=60)
    y[:9] = 1 - y[:9]
    common = {"Cs": [1.0, 4.0], "mus": [0.1, 1.0], "cv": 3, "method": "reduced"}
    single = {
        (init, penalty): KernelFeatureSelectorCV(**common, init=init, penalty=penalty).fit(X, y)
        for init in ("ones", "scaled")
        for penalty in ("squares", "weights")
    }
    best = KernelFeatureSelectorCV(**common, init="both", penalty="both").fit(X, y)

    def merit(model):
        i, j = list(model.Cs_).index(model.C_), list(model.mus_).index(model.mu_)
        return round(model.cv_scores_.mean(axis=2)[i, j], 12), -model.cv_n_features_.mean(axis=2)[i, j]

    assert len({merit(model) for model in single.values()}) > 1, "else any choice would do"
    assert merit(best) == max(merit(model) for model in single.values())
    chosen = single[best.init_, best.penalty_]
    np.testing.assert_array_equal(best.feature_weights_, chosen.feature_weights_)
    np.testing.assert_array_equal(
        best.mu_path(X, y, [0.5]).feature_weights, chosen.mu_path(X, y, [0.5]).feature_weights
    )


# Limits and errors


def test_stopping_early_is_said():
    X, y = crossed()
    with pytest.warns(ConvergenceWarning, match=r"method='ao' stopped after 1 rounds .* Raise max_iter or tol"):
        KernelFeatureSelector(1.0, 0.1, method="ao", max_iter=1, polish=False).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, r"C of KernelFeatureSelector must be a finite number > 0; got 0\.0"),
        ({"mu": -1.0}, r"mu of KernelFeatureSelector must be a finite number >= 0; got -1\.0"),
        ({"method": "best"}, r"method of KernelFeatureSelector must be one of 'ao', 'ao1', 'ao2', .*; got 'best'"),
        ({"penalty": "both"}, r"penalty of KernelFeatureSelector must be one of 'weights', 'squares'; got 'both'"),
        ({"kernel": "linear"}, r"kernel of KernelFeatureSelector must be one of 'rbf', 'poly'; got 'linear'"),
        ({"eps": 0.0}, r"eps of KernelFeatureSelector must be a finite number > 0"),
        ({"tol": 0.0}, r"tol of KernelFeatureSelector must be a finite number > 0"),
        ({"coef0": -0.5}, r"coef0 of KernelFeatureSelector must be a finite number >= 0; got -0\.5"),
        ({"n_starts": 0}, r"n_starts of KernelFeatureSelector must be .*an integer >= 1; got 0"),
        ({"n_starts": None}, r"n_starts of KernelFeatureSelector must be an integer >= 1; got None"),
        ({"degree": 1.5}, r"degree of KernelFeatureSelector must be .*an integer >= 1; got 1\.5"),
        ({"degree": None}, r"degree of KernelFeatureSelector must be an integer >= 1; got None"),
        ({"screening": 0}, r"screening of KernelFeatureSelector must be None or an integer >= 1; got 0"),
        ({"max_iter": 0}, r"max_iter of KernelFeatureSelector must be None or an integer >= 1; got 0"),
        ({"init": "zeros"}, r"init of KernelFeatureSelector must be one of 'ones', 'scaled'; got 'zeros'"),
        ({"init": [1.0, 2.0]}, r"init of KernelFeatureSelector must be .* 6 finite weights >= 0.*\(2,\)"),
        ({"init": [-1.0, 1, 1, 1, 1, 1]}, r"init of KernelFeatureSelector must be 'ones', 'scaled' or 6 finite"),
        ({"init": [0.0] * 6}, r"not all zero"),
        ({"init": [np.nan] * 6}, r"6 finite weights"),
    ],
)
def test_bad_parameters_say_what_is_allowed_and_leave_nothing_behind(parameters, message):
    X, y = crossed()
    model = KernelFeatureSelector(**parameters)
    with pytest.raises(ParameterError, match=message):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_") and name != "n_features_in_"]
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("mus", [[], [-1.0], [np.nan], [1.0, np.inf]])
def test_bad_prices_are_refused(mus):
    X, y = crossed()
    with pytest.raises(ParameterError, match=r"mus of KernelFeatureSelector.mu_path must be finite numbers >= 0"):
        KernelFeatureSelector().mu_path(X, y, mus)
    for name in ("Cs", "mus"):
        model = KernelFeatureSelectorCV(**{name: mus})
        with pytest.raises(ParameterError, match=rf"{name} of KernelFeatureSelectorCV must be .*got"):
            model.fit(X, y)
        assert not [a for a in vars(model) if a.endswith("_")]


def test_a_C_of_zero_is_refused_before_any_work():
    X, y = crossed()
    with pytest.raises(ParameterError, match=r"Cs of KernelFeatureSelectorCV must be .*> 0"):
        KernelFeatureSelectorCV([1.0, 0.0], [0.1], cv=2).fit(X, y)


def test_one_class_is_refused():
    X, y = crossed()
    with pytest.raises(
        DegenerateDataError, match=r"KernelFeatureSelector needs at least two classes .* 1 class, 1, with a weight"
    ):
        KernelFeatureSelector().fit(X, np.ones(80, dtype=int))
    with pytest.raises(DegenerateDataError, match="at least two classes"):
        KernelFeatureSelector().fit(X, y, (y == 1).astype(float))
    with pytest.raises(ValueError, match="zero"):  # by scikit-learn, where it looks
        KernelFeatureSelector().fit(X, y, np.zeros(80))


def test_the_path_of_an_unfitted_cross_validation_is_refused():
    X, y = crossed()
    with pytest.raises(NotFittedError):
        KernelFeatureSelectorCV().mu_path(X, y, [1.0])


def test_progress_is_shown(capsys):
    X, y = crossed()
    quiet = KernelFeatureSelector(1.0, 1.0).fit(X, y)
    assert capsys.readouterr() == ("", "")
    for method in ("ao2", "reduced"):
        loud = clone(quiet).set_params(method=method, verbose=1).fit(X, y)
        out, err = capsys.readouterr()
        assert not out
        assert "mu=1, search 1: round 1" in err
        assert err.endswith(" features\n"), "the line is ended, however early the search ends"
    KernelFeatureSelectorCV([1.0, 4.0], [1.0], cv=3, init="ones", verbose=1).fit(X, y)
    assert "6/6" in capsys.readouterr().err
    assert loud.get_support(indices=True).tolist() == [1, 4]


@pytest.mark.parametrize(("seed", "better"), [(0, "ones"), (3, "scaled")])
def test_both_starts_are_tried_and_the_better_one_is_kept(seed, better):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 12))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(60) > 0
    options = {"Cs": [4.0], "mus": [0.05, 0.5], "cv": 3, "penalty": "weights"}
    alone = {init: KernelFeatureSelectorCV(init=init, **options).fit(X, y) for init in ("ones", "scaled")}
    best = {init: model.cv_scores_.mean(axis=2).max() for init, model in alone.items()}
    assert max(best, key=best.get) == better
    assert best["ones"] != best["scaled"]  # otherwise this shows nothing
    both = KernelFeatureSelectorCV(**options).fit(X, y)
    assert both.init_ == better
    np.testing.assert_array_equal(both.feature_weights_, alone[both.init_].feature_weights_)
    np.testing.assert_array_equal(both.cv_scores_, alone[both.init_].cv_scores_)
    np.testing.assert_array_equal(
        both.mu_path(X, y, [0.5]).feature_weights, alone[both.init_].mu_path(X, y, [0.5]).feature_weights
    )
    with pytest.raises(ParameterError, match=r"init of KernelFeatureSelectorCV must be .*'both'.*got 'neither'"):
        KernelFeatureSelectorCV(init="neither").fit(X, y)
