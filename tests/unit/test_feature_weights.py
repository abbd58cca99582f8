"""Searches for feature weights: against theory, plain recomputation, and each other."""

import numpy as np
import pytest

import rarefy.core.feature_weights.selection as selection
from feature_problems import crossed, two_class_problem
from rarefy.core.feature_weights.alternating import _weight_half
from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.curvature import smallest_curvature
from rarefy.core.feature_weights.joint import reduced
from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.core.feature_weights.objectives import WholePoint
from rarefy.core.feature_weights.penalties import L1Penalty, SquaredPenalty
from rarefy.core.feature_weights.problem import Problem, Solution
from rarefy.core.feature_weights.reduced_point import AnyCentres, GaussianCentres, ReducedPoint
from rarefy.core.feature_weights.samples import _distinct
from rarefy.core.feature_weights.search import run_search
from rarefy.core.feature_weights.selection import Line, SearchSettings, Starts, best_of_starts
from rarefy.core.feature_weights.starts import _promising, nearly_identity, scaled_start, screened_search
from rarefy.core.solvers.trust_region import Minimum

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
def test_a_shared_scale_detects_saddles_that_the_second_group_alone_does_not(seed):
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
    assert np.linalg.eigvalsh(whole[n1:, n1:])[0] > 0.0  # and a minimum in the second group alone
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


# Curvature


def with_a_twin(mu=0.5):
    """A problem whose first two features are equal, and its solution with equal weights for these: a saddle.

    The classifier depends on z_0^2 + z_1^2 only. Of all pairs with the same sum, equal weights have the largest
    penalty: along (1, -1) the objective bends by -mu / z_0, whatever the data.
    """
    rng = np.random.default_rng(0)
    x, other = rng.standard_normal(40), rng.standard_normal(40)
    Y = np.where(x * other > 0, 1.0, -1.0)[:, None]
    X = np.column_stack([x, x, other])
    classifiers = Classifiers(Y, np.ones(40), L1Penalty(mu))
    # One feature of twice the square, with twice the penalty, and the other feature as it is.
    single = Problem(np.column_stack([np.sqrt(2.0) * x, other]), classifiers)
    z = np.array([0.7, 0.7])
    for _ in range(12):  # Newton's method
        B, b, _ = single.solve_classifiers(z)
        here = ReducedPoint(single.kernel(), classifiers, z, (B, b))
        H = np.column_stack([here.hessian_product(e) for e in np.eye(2)])
        z = z - np.linalg.solve(H, here.gradient + np.array([mu, 0.0]))
    problem, z = Problem(X, classifiers), np.array([z[0], z[0], z[1]])
    B, b, value = problem.solve_classifiers(z)
    return problem, Solution(z, B, b, value, (value,), 0, True)


def whole_hessian(problem, solution):
    """In all coefficients, the offset and the weights."""
    x = np.concatenate([solution.B.ravel(), solution.b, solution.z])
    here = WholePoint(problem.kernel(), problem.classifiers, x)
    np.testing.assert_allclose(here.gradient, 0.0, atol=1e-7)
    return np.column_stack([here.hessian_product(e) for e in np.eye(len(x))])


def test_curvature_at_a_planted_saddle_is_the_known_value():
    problem, saddle = with_a_twin()
    assert smallest_curvature(problem, saddle) == pytest.approx(-0.5 / saddle.z[0], rel=1e-6)
    assert np.linalg.eigvalsh(whole_hessian(problem, saddle))[0] < -1e-3


def test_a_small_perturbation_leads_from_the_saddle_to_a_minimum():
    problem, saddle = with_a_twin()
    found = reduced(problem, saddle.z + np.array([1e-4, 0.0, 0.0]), tol=1e-6)
    assert found.objective < saddle.objective - 1e-2
    assert problem.selected(found.z).tolist() == [0, 2]
    assert smallest_curvature(problem, found) > 0.0
    part = Problem(problem.X[:, [0, 2]], problem.classifiers)
    best = reduced(part, found.z[[0, 2]], tol=1e-9)
    assert np.linalg.eigvalsh(whole_hessian(part, best))[0] > -1e-9


def test_curvature_of_many_weights_by_products_agrees_with_the_dense_one(monkeypatch):
    X, y = crossed(d=12)
    problem = two_class_problem(X, y == 1, 0.01)
    B, b, value = problem.solve_classifiers(np.full(12, 0.3))
    here = Solution(np.full(12, 0.3), B, b, value, (value,), 0, True)
    dense = smallest_curvature(problem, here)
    calls = []
    monkeypatch.setattr("rarefy.core.feature_weights.curvature._DENSE", 5)
    monkeypatch.setattr("rarefy.core.feature_weights.curvature.np.linalg.eigvalsh", calls.append)
    assert smallest_curvature(problem, here) == pytest.approx(dense, rel=1e-2)
    assert not calls


# Searches


@pytest.mark.parametrize("margin", ["fixed", "geometric", "functional"])
def test_the_weight_step_starts_at_the_objective_of_the_classifiers(margin, monkeypatch):
    """Also with the functional margin, where the classifiers are scaled to norm 1 first."""
    X, y = crossed(n=40)
    X[:10, 1] += 1.0  # so that offsets are not zero
    Y = np.column_stack([np.where(y == 1, 1.0, -1.0), np.where(X[:, 0] > 0.5, 1.0, -1.0)])
    problem = Problem(X, Classifiers(Y, np.linspace(0.5, 2.0, 40), L1Penalty(0.1)))
    z = np.array([1.0, 0.5, 0.0, 0.7, 1.0, 0.3])
    B, b, value = problem.solve_classifiers(z)
    begun = []

    def instead(at, x, **options):
        begun.append((at(x), x))
        return Minimum(x, 0.0, x, 0.0, 0, 0, "optimal")

    monkeypatch.setattr("rarefy.core.feature_weights.alternating.trust_region", instead)
    after = _weight_half(problem, z, B, b, margin, 20, 1e-3)
    ((point, x),) = begun
    assert point.value == pytest.approx(value, rel=1e-10)
    assert len(x) == 5 + (0 if margin == "fixed" else 2)
    np.testing.assert_array_equal(after, z)
    if margin != "fixed":  # and the scale of the classifiers is optimal
        np.testing.assert_allclose(point.gradient[5:], 0.0, atol=1e-7)


@pytest.mark.parametrize("method", ["full", "ao", "ao1", "ao2", "reduced"])
def test_searches_with_exact_steps_end_where_those_with_conjugate_gradients_do(method):
    X, y = crossed(n=60)
    Y = np.where(y == 1, 1.0, -1.0)[:, None]
    problem = Problem(X, Classifiers(Y, np.ones(60), L1Penalty(0.5)))
    krylov, exact = (
        run_search(problem, np.ones(6), method, polish=False, tol=1e-4, step=step) for step in ("krylov", "exact")
    )
    assert krylov.converged
    assert exact.converged
    np.testing.assert_allclose(exact.z, krylov.z, atol=0.01)
    assert exact.objective == pytest.approx(krylov.objective, rel=1e-3)
    assert not np.array_equal(exact.z, krylov.z)


def test_negligible_weights_are_not_selected():
    X = np.array([[1.0, 1.0, 1.0, 1.0], [-1.0, -1.0, -1.0, -1.0]])
    positive = np.array([True, False])
    assert two_class_problem(X, positive, 1.0).selected(np.array([0.0, 2.0, 0.021, 0.019])).tolist() == [1, 2]
    assert two_class_problem(X, positive, 1.0).selected(np.zeros(4)).tolist() == []
    # In other units the weights are others and the selected features the same; a constant feature is not selected.
    units = np.array([1.0, 1000.0, 0.01, 10.0])
    in_units = two_class_problem(X * units, positive, 1.0)
    assert in_units.selected(np.array([0.0, 2.0, 0.021, 0.019]) / units).tolist() == [1, 2]
    assert two_class_problem(X * [1, 1, 0, 1] + 5.0, positive, 1.0).selected(np.ones(4)).tolist() == [0, 1, 3]


def test_another_mu_changes_the_penalty_only():
    X, y = crossed(n=30)
    for penalty in (L1Penalty, SquaredPenalty):
        problem = two_class_problem(X, y == 1, 0.5, penalty)
        other = problem.with_mu(2.0)
        assert other.classifiers.penalty == penalty(2.0)
        assert other.X is problem.X
        z = np.linspace(0.1, 1.0, 6)
        values = [one.solve_classifiers(z)[2] for one in (problem, other)]
        assert values[1] - values[0] == pytest.approx(1.5 * np.sum(z if penalty is L1Penalty else z**2))


# Starts


def test_scaled_start_gives_mean_squared_distance_one():
    X, y = crossed()
    z = scaled_start(two_class_problem(X, y == 1, 1.0))
    assert np.mean([np.sum((z * (a - b)) ** 2) for a in X for b in X]) == pytest.approx(1.0, rel=1e-10)


def test_the_kernel_matrix_of_distant_samples_is_nearly_the_identity():
    samples = np.arange(5.0)[:, None]  # the nearest other sample has distance 1
    narrow = float(np.sqrt(np.log(10.0)))  # where its kernel value is a tenth
    assert nearly_identity(samples, np.array([1.01 * narrow]))
    assert not nearly_identity(samples, np.array([0.99 * narrow]))
    assert not nearly_identity(samples[:1], np.array([100.0])), "one sample has no distance to another"


def test_screening_starts_with_the_most_promising_features():
    X = np.random.default_rng(0).standard_normal((100, 400))
    y = X[:, 70] + X[:, 130] > 0
    problem = two_class_problem(X, y, 8.0)
    assert set(_promising(problem, np.ones(400), 4)[:2]) == {70, 130}
    fields = []

    def search(part, z):
        fields.append(part.X)
        return reduced(part, z, tol=1e-2)

    screened_search(problem, np.full(400, 0.05), search, 30)
    assert fields[0].shape == (100, 30)
    assert all(np.any(np.all(X[:, k] == fields[0].T, axis=1)) for k in (70, 130))


def test_screening_with_squares_ends_when_no_feature_lowers_the_objective(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 60))
    y = X[:, :6].sum(axis=1) + 0.5 * rng.standard_normal(80) > 0
    problem = two_class_problem(X, y, 2.0, SquaredPenalty)
    monkeypatch.setattr("rarefy.core.feature_weights.starts._promising", lambda problem, z, size: np.arange(40, 60))
    found = screened_search(problem, scaled_start(problem), reduced, 20, rounds=30)
    assert set(range(6)) <= set(problem.selected(found.z))
    assert np.median(found.z[problem.selected(found.z)]) < 0.7, "else a weight and its square are nearly equal"
    slopes = problem.slopes(found.z, found.B, found.b)
    assert slopes[found.z == 0.0].min() > -2.0


def test_screening_compares_features_alone_and_beside_the_others():
    X = np.random.default_rng(0).standard_normal((150, 300))
    y = X[:, 100] ** 2 + 0.5 * X[:, 200] > 0.8
    field = _promising(two_class_problem(X, y, 1.0), np.ones(300), 20)
    assert len(set(field)) == 20
    assert {100, 200} <= set(field)


@pytest.mark.parametrize("groups", [None, np.array([0, 1, 0, 2, 2])])
def test_sums_over_centres_without_a_matrix_are_those_with_one(groups):
    rng = np.random.default_rng(0)
    X, beta = 3.0 + rng.standard_normal((30, 5)), rng.standard_normal(30)
    part = FeatureKernel(X, X, groups=groups)
    K, M = part.matrix(np.full(part.n_weights, 0.4)), rng.standard_normal((30, 30))
    fast, plain = GaussianCentres(part, K, beta), AnyCentres(part, K, beta[:, None])
    np.testing.assert_allclose(fast.slopes, plain.slopes, rtol=1e-9)
    w = rng.standard_normal(part.n_weights)
    changes = [one.change(w, lambda pushed: M @ pushed) for one in (fast, plain)]
    np.testing.assert_allclose(*changes, rtol=1e-9)


def test_a_search_that_starts_at_its_end_returns_it_with_its_classifiers():
    problem = two_class_problem(*crossed(), mu=1.0)
    end = reduced(problem, np.full(6, 0.5))
    again = reduced(problem, end.z, start=(end.B, end.b))
    B, b, value = problem.solve_classifiers(again.z)
    assert again.n_iter <= 2
    np.testing.assert_allclose(again.objective, value, rtol=1e-9)
    np.testing.assert_allclose(again.B, B, atol=1e-6 * np.abs(B).max())
    np.testing.assert_allclose(again.b, b, atol=1e-6)


def test_problems_with_other_classifiers_share_what_is_known_about_the_samples():
    problem, few = two_class_problem(*crossed(), mu=1.0), np.array([1, 4])
    other = problem.with_mu(3.0).with_cost(2.0)
    assert other.among(few).X is problem.among(few).X
    assert other.kernel() is problem.kernel()
    assert (problem.among(few).classifiers, other.among(few).classifiers) == (problem.classifiers, other.classifiers)
    z = np.array([0.0, 0.7, 0.0, 0.0, 0.9, 0.0])
    fresh = Problem(problem.X, other.classifiers)
    assert other.solve_classifiers(z)[2] == pytest.approx(fresh.solve_classifiers(z)[2], rel=1e-12)


def test_few_parts_of_a_problem_are_kept_and_each_is_the_one_asked_for():
    problem = two_class_problem(*crossed(), mu=1.0)
    parts = {k: problem.among(np.array([k, 5])) for k in range(5)}
    assert all(problem.among(np.array([k, 5])) is parts[k] for k in range(5))
    for features in ([0], [1], [2], [3], [4], [5], [1, 2], [2, 3], [3, 4]):
        np.testing.assert_array_equal(problem.among(np.array(features)).X, problem.X[:, features])
    assert problem.among(np.array([0, 5])) is not parts[0]


@pytest.mark.parametrize("penalty", [L1Penalty, SquaredPenalty])
def test_the_next_penalty_starts_from_what_is_known_and_finds_what_a_new_problem_does(penalty, monkeypatch):
    problem = two_class_problem(*crossed(), mu=0.5, penalty=penalty)
    end = reduced(problem, reduced(problem, np.full(6, 0.5), tol=1e-6).z, tol=1e-6)  # among the features that are left
    new = []
    monkeypatch.setattr(ReducedPoint, "__init__", noting(new, ReducedPoint.__init__))
    known = reduced(problem.with_mu(0.6), end.z, start=(end.B, end.b), tol=1e-6)
    fewer = len(new)
    fresh = reduced(Problem(problem.X, problem.with_mu(0.6).classifiers), end.z, start=(end.B, end.b), tol=1e-6)
    assert len(new) - fewer == fewer + 1
    np.testing.assert_allclose(known.z, fresh.z, atol=1e-8)
    assert known.objective == pytest.approx(fresh.objective, rel=1e-12)
    dearer = reduced(problem.with_cost(4.0), end.z, start=(end.B, end.b), tol=1e-6)
    assert dearer.objective == pytest.approx(problem.with_cost(4.0).solve_classifiers(dearer.z)[2], rel=1e-9)


def noting(made, method):
    def noted(self, *args):
        made.append(args)
        method(self, *args)

    return noted


def test_classifiers_at_weights_ahead_are_foretold_to_first_order():
    problem, rng = two_class_problem(*crossed(), mu=1.0), np.random.default_rng(4)
    z, way = rng.uniform(0.3, 0.9, 6), rng.standard_normal(6)
    here = ReducedPoint(problem.kernel(), problem.classifiers, z, None)
    assert here.ahead(z) is None
    here.hessian_product(way)
    missed = []
    for step in (1e-4, 1e-5):
        B, b, _ = problem.solve_classifiers(z + step * way)
        foretold = here.ahead(z + step * way)
        missed.append([np.abs(foretold[0] - B).max() / step, np.abs(foretold[1] - b).max() / step])
        assert np.abs(here.B - B).max() > 0.05 * step
    assert np.all(np.array(missed[1]) < np.maximum(0.2 * np.array(missed[0]), 1e-3))


def test_another_factor_on_the_penalty_leaves_the_constant_classifier_as_it_is():
    classifiers = two_class_problem(*crossed(), mu=1.0).classifiers
    other = classifiers.with_mu(3.0)
    assert other.penalty.mu == 3.0
    assert other.constant == Classifiers(classifiers.Y, classifiers.costs, other.penalty).constant


@pytest.mark.parametrize("seed", range(30))
def test_samples_are_sorted_and_merged_as_by_plain_comparison(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 25)), int(rng.integers(1, 5))
    rows = rng.standard_normal((n, d)) if seed % 2 else rng.integers(0, 3, (n, d)).astype(float)
    rows[:, 0] = rng.integers(0, 2, n)
    found, where = _distinct(rows)
    assert [tuple(row) for row in found] == sorted({tuple(row) for row in rows})
    np.testing.assert_array_equal(found[where], rows)


def test_starts_that_are_far_behind_wait_until_they_are_not(monkeypatch):
    X = np.random.default_rng(3).standard_normal((80, 12))
    problem, searches = two_class_problem(X, X[:, 1] * X[:, 4] > 0, mu=1.0).with_cost(4.0), []
    monkeypatch.setattr(selection, "run_search", lambda *a, **k: searches.append(1) or run_search(*a, **k))
    starts = Starts((np.ones(12), np.where(np.isin(np.arange(12), [1, 4]), 1.0, 0.0)))
    ends, counts = [], []
    for behind in (np.inf, 1.05):
        searches.clear()
        settings = SearchSettings(method="reduced", tol=1e-2, behind=behind)
        mus = np.array([0.2, 0.4, 0.8, 1.6, 4.0, 8.0, 16.0, 24.0])
        ends.append([best for *_, best in best_of_starts(problem, starts, mus, settings)])
        counts.append(len(searches))
    for every, few in zip(*ends, strict=True):
        assert few.objective <= 1.01 * every.objective
    assert counts[1] < counts[0]
    assert np.flatnonzero(ends[1][0].z).tolist() != [1, 4]
    assert np.flatnonzero(ends[1][-1].z).tolist() == [1, 4], "the start that waited wins in the end"


def test_the_objective_of_a_waiting_start_is_that_of_its_weights():
    problem = two_class_problem(*crossed(), mu=1.0)
    line = Line(0, problem, reduced(problem, np.full(6, 0.5)))
    for other in (problem.with_mu(4.0), problem.with_cost(4.0), problem.with_cost(0.5).with_mu(0.1)):
        moved = line.at(other).solution
        assert moved.objective == pytest.approx(other.solve_classifiers(moved.z)[2], rel=1e-6)
