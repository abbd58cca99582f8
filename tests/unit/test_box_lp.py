"""The interior point method on programs whose answer is plain, and on those that once went wrong."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from oracles.linear_programs import assert_optimal, assert_proved_infeasible, best_value, highs, program, svm_dual
from rarefy.core.linalg.rows import DenseRows, SparseRows
from rarefy.core.solvers import box_lp, near_lp
from rarefy.core.solvers.few_rows import FewRows
from rarefy.core.solvers.interior_point import Factor, Newton, Point, Program
from rarefy.core.svm.norm_svm import norm_svm
from rarefy.core.svm.rough_svm import rough_multipliers

inf = np.inf


class CountingRows(DenseRows):
    """Rows that write down how many of them each Gram matrix is made of; those without weights as None."""

    def __init__(self, A, counts):
        super().__init__(A)
        self.counts = counts

    def gram(self, w=None, *, rough=False):
        self.counts.append(None if w is None else len(w))
        return super().gram(w)

    def subset(self, index):
        return CountingRows(self._A[index], self.counts)


def counted(p, **options):
    """What is found, and the number of rows of every Gram matrix."""
    counts = []
    return p.solve(form=lambda A: CountingRows(A, counts), **options), counts


def overlapping(M=3000, S=10, alpha=30.0, seed=0):
    """Two classes, a tenth of which or so lie between the margins: most variables end at a bound."""
    rng = np.random.default_rng(seed)
    labels = rng.choice([-1.0, 1.0], M)
    return svm_dual(rng.standard_normal((M, S)) + 0.7 * labels[:, None], labels, alpha)


def test_a_program_solved_by_hand():
    # The cheaper of two goods, up to its limit of 2, and the dearer for what is missing of 3.
    found = program([[1], [1]], [1, 4], [0, 0], [2, 9], rhs=[3]).solve()
    assert found.status == "optimal"
    np.testing.assert_allclose(found.x, [2, 1], atol=1e-6)
    np.testing.assert_allclose(found.y, [4], atol=1e-6)  # what one more would cost
    assert found.objective == pytest.approx(6)
    assert found.bound == pytest.approx(6)


def test_a_program_with_curvature_solved_by_hand():
    # Least squares of two numbers that add up to 3, the first at most 1: 1 and 2; without the limit 1.5 and 1.5.
    found = program([[1], [1]], [0, 0], [0, 0], [1, 9], rhs=[3], curvature=[1, 1]).solve()
    np.testing.assert_allclose(found.x, [1, 2], atol=1e-5)
    assert found.objective == pytest.approx(2.5)
    assert found.bound == pytest.approx(2.5)
    free = program([[1], [1]], [0, 0], [-inf, -inf], [inf, inf], rhs=[3], curvature=[1, 1]).solve()
    np.testing.assert_allclose(free.x, [1.5, 1.5])
    assert free.y == pytest.approx([1.5])


@pytest.mark.parametrize("seed", range(5))
def test_the_bound_is_the_least_value_of_the_lagrangian_over_the_box(seed):
    """With curvature for two of three variables, whatever the multipliers; by looking at many points."""
    rng = np.random.default_rng(seed)
    lower, width = rng.uniform(-3.0, 1.0, 3), rng.uniform(0.5, 4.0, 3)
    A, c, curvature = rng.standard_normal((3, 2)), rng.standard_normal(3), np.array([0.0, 0.5, 2.0])
    p = Program(DenseRows(A), FewRows(np.zeros((0, 2))), c, lower, lower + width, rng.standard_normal(2), curvature)
    y, x = 2.0 * rng.standard_normal(2), lower + 0.4 * width
    points = lower + np.linspace(0.0, 1.0, 2001)[:, None] * width
    least = (c * points + 0.5 * curvature * points**2 - points * (A @ y)).min(axis=0).sum() + p.rhs @ y
    assert p.bound(x, y, p.reduced_costs(x, p.times(y))) == pytest.approx(least, abs=1e-5 * np.abs(points).max() ** 2)
    assert p.value(x) == pytest.approx(c @ x + 0.5 * curvature @ (x * x))


def test_fixed_variables_stay_where_they_are_to_the_last_digit():
    third = 1 / 3
    p = program([[1], [1], [1]], [5, 1, 2], [third, 0, 0], [third, 1, 1], rhs=[1])
    found = p.solve()
    assert_optimal(p, found, best_value(p))
    assert found.x[0] == third


@pytest.mark.parametrize("alpha", [1.0, 30.0, 1000.0])
def test_variables_that_rest_at_a_bound_are_left_out_and_the_optimum_is_the_same(alpha):
    p = overlapping(alpha=alpha)
    fixed, counts = counted(p, fix=True)
    whole, all_counts = counted(p, fix=False)
    best = best_value(p)
    assert_optimal(p, fixed, best)
    assert_optimal(p, whole, best)
    assert fixed.objective == pytest.approx(whole.objective, rel=1e-7)
    weighted, all_weighted = counts[1:], all_counts[1:]
    assert counts[0] is all_counts[0] is None
    assert set(all_weighted) == {3000}
    assert weighted[0] == 3000
    assert min(weighted) < 1000
    assert sum(weighted) / len(weighted) < 2500


def test_variables_are_left_out_also_when_the_middle_of_the_box_solves_the_equations():
    rng = np.random.default_rng(0)
    p = program(rng.standard_normal((2000, 5)), rng.uniform(-1, 1, 2000), -np.ones(2000), np.ones(2000))
    found, counts = counted(p)
    assert_optimal(p, found, best_value(p))
    assert min(counts[1:]) < 1000


@pytest.mark.parametrize("S", [4, 8])
def test_of_very_many_variables_few_are_worked_on_from_a_rough_start(S):
    """With ten for each equation those that rest hold so much that the search begins anew over all."""
    M, alpha, rng, counts = 20_000, 10.0, np.random.default_rng(0), []
    y = np.where(rng.random(M) < 0.2, 1.0, -1.0)
    D = rng.standard_normal((M, S))
    D[:, :2] += 0.7 * y[:, None] * np.abs(rng.standard_normal((M, 2)))
    F, p = CountingRows(np.column_stack([D, np.ones(M)]), counts), np.ones(M)
    gram = F.gram()
    (start,) = rough_multipliers(F, y[:, None], alpha, p, norm=1, gram=gram)
    counts.clear()
    found = norm_svm(F, y, alpha, p, start=start, gram=gram, tol=1e-6)
    assert found.status == "optimal"
    assert counts
    assert max(counts) < M / 5


def test_penalties_that_hold_every_z_at_a_bound_and_that_hold_none_are_solved():
    for alpha, at_bound in ((1e-3, True), (1e6, False)):
        p = overlapping(M=1000, S=4, alpha=alpha)
        found = p.solve()
        assert_optimal(p, found, best_value(p))
        assert np.all((np.abs(found.x[1000:]) > 0.99 * alpha) == at_bound)


def work_on_few(monkeypatch, count):
    """On so few variables for each equation, and none besides, that many rest at the wrong bound."""
    monkeypatch.setattr(box_lp, "FAR", count)
    monkeypatch.setattr(near_lp, "_SHARE", 0.0)
    monkeypatch.setattr(near_lp, "_NEEDED", 0.0)
    monkeypatch.setattr(near_lp, "_CHECKED", 1e-3)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("count", [1, 2, 4])
def test_the_optimum_is_that_of_all_variables_even_if_too_many_are_left_out(monkeypatch, count, seed):
    work_on_few(monkeypatch, count)
    p = overlapping(M=600, S=4, alpha=20.0, seed=seed)
    assert_optimal(p, p.solve(), best_value(p))


@pytest.mark.parametrize("tol", [0.03, 0.01])
def test_the_gap_is_closed_for_the_variables_that_are_left_out_too(monkeypatch, tol):
    # With a coarse tolerance the working variables are done before the others are looked at again.
    work_on_few(monkeypatch, 2)
    for seed in range(6):
        found = overlapping(M=600, S=4, alpha=20.0, seed=seed).solve(tol=tol)
        assert found.status == "optimal"
        assert found.gap <= 2 * tol * (1 + abs(found.objective))


def test_where_working_on_few_does_not_succeed_all_are_worked_on(monkeypatch):
    monkeypatch.setattr(box_lp, "solve_near", lambda *args, **options: None)
    p = overlapping()
    found, counts = counted(p)
    assert_optimal(p, found, best_value(p))
    assert set(counts[1:]) == {3000}


@pytest.mark.parametrize("size", [1.0, 1e17])
def test_a_solution_on_few_variables_whose_gap_is_wide_is_not_called_one(monkeypatch, size):
    def far_off(whole, y, *args, **options):
        return near_lp.Found(whole.lower + 0.5 * whole.width, size * np.ones(len(y)), 4)

    monkeypatch.setattr(box_lp, "solve_near", far_off)
    p = overlapping(M=600, S=4)
    assert_optimal(p, p.solve(), best_value(p))
    assert_optimal(p, p.solve(start=np.zeros(5)), best_value(p))


def test_what_late_steps_lose_is_not_lost(monkeypatch):
    p = overlapping(M=300, S=4)
    reached = p.solve(fix=False, max_iter=6)
    step, steps = box_lp.Newton.step, []

    def spoiled(newton):
        point, length = step(newton)
        steps.append(length)
        return (point, length) if len(steps) <= 6 else (replace(point, x=newton.p.lower + 0.5 * newton.p.width), length)

    monkeypatch.setattr(box_lp.Newton, "step", spoiled)
    found = p.solve(fix=False, max_iter=9)
    assert len(steps) == 9
    assert found.status == reached.status == "stalled"
    assert found.gap <= 1.01 * reached.gap
    assert found.residual <= 1.01 * reached.residual


def test_a_step_that_leads_nowhere_is_not_taken_again(monkeypatch):
    steps = []

    def nowhere(newton):
        steps.append(newton)
        return newton.point, 0.0

    monkeypatch.setattr(box_lp.Newton, "step", nowhere)
    assert overlapping(M=300, S=4).solve().status == "stalled"
    assert len(steps) == 1


@pytest.mark.parametrize("alpha", [1e-7, 1e-8, 1e-10])
def test_columns_that_depend_on_each_other_and_narrow_boxes_are_solved(alpha):
    # The columns of a partition add up to that of the ones; how far y goes along their difference only the boxes tell.
    rng = np.random.default_rng(0)
    part = rng.integers(0, 5, 200)
    labels = np.where(rng.random(200) < 0.15 + 0.15 * part, 1.0, -1.0)
    p = svm_dual(np.eye(5)[part], labels, alpha)
    found = p.solve()
    assert found.status == "optimal"
    assert found.gap <= 2e-8 * (1.0 + abs(found.objective))
    assert found.objective == pytest.approx(best_value(p), rel=1e-6)
    assert found.n_iter < 20


@pytest.mark.parametrize("size", [0.0, 1.0, 1e3])
def test_a_start_from_multipliers_that_mean_nothing_leads_to_the_same_optimum(size):
    p = overlapping(M=600, S=4)
    y = size * np.random.default_rng(1).standard_normal(5)
    best = best_value(p)
    assert_optimal(p, p.solve(start=y), best)
    assert_optimal(p, p.solve(start=y, fix=False), best)


def test_a_start_near_the_optimum_saves_products():
    p, near = overlapping(alpha=30.0), overlapping(alpha=33.0)
    (cold, cold_counts), (start, _) = counted(p), counted(near)
    warm, warm_counts = counted(p, start=start.y)
    assert_optimal(p, warm, best_value(p))
    assert warm.objective == pytest.approx(cold.objective, rel=1e-7)
    assert sum(warm_counts[1:]) < sum(cold_counts[1:])


def test_a_gram_matrix_that_is_known_is_not_computed_again_and_changes_nothing():
    p = overlapping(M=500, S=3)
    plain, counts = counted(p)
    given, given_counts = counted(p, gram=p.A.T @ p.A)
    assert given.x == pytest.approx(plain.x)
    assert given_counts == counts[1:]


@pytest.mark.parametrize(
    "form",
    [
        lambda A: DenseRows(A.astype(np.float32)),
        lambda A: SparseRows(sp.csr_array(A)),
        lambda A: SparseRows(sp.csc_array(A.astype(np.float32))),
    ],
)
def test_every_form_of_storage_gives_the_same_optimum_when_variables_are_left_out(form):
    p = overlapping(M=1500, S=5)
    rounded = p.A.astype(np.float32).astype(np.float64)
    p = program(np.where(np.abs(rounded) < 0.5, 0.0, rounded), p.c, p.lower, p.upper, few=p.few)
    assert_optimal(p, p.solve(form=form), best_value(p))


def test_every_iteration_is_reported_and_the_last_gap_is_the_one_it_stopped_on():
    calls = []
    p = overlapping(M=200, S=3)
    found = p.solve(callback=lambda *call: calls.append(call), fix=False)
    assert [i for i, _ in calls] == list(range(found.n_iter + 1))
    assert calls[-1][1] == pytest.approx(found.gap / (1 + abs(found.objective)), abs=1e-12)
    assert calls[-1][1] <= 1e-8 < calls[-2][1]


@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_a_coarser_tolerance_is_kept_and_costs_less(tol):
    p = overlapping(M=400, S=4)
    coarse, fine = p.solve(tol=tol), p.solve()
    assert coarse.status == "optimal"
    assert coarse.gap <= 2 * tol * (1 + abs(coarse.objective))
    assert coarse.bound <= fine.objective + 1e-7 * abs(fine.objective)
    assert coarse.n_iter <= fine.n_iter


@pytest.mark.parametrize("max_iter", [0, 1, 2])
def test_it_gives_up_after_the_iterations_it_was_given_with_a_point_inside_the_box(max_iter):
    p = overlapping(M=200, S=3)
    found = p.solve(max_iter=max_iter)
    assert found.status == "stalled"
    assert found.n_iter == max_iter
    assert np.all(p.lower <= found.x)
    assert np.all(found.x <= p.upper)
    assert found.bound <= best_value(p)


BOX = [0, 0], [1, 1]

INFEASIBLE = {
    "a sum above what the box can reach": program([[1], [1]], [1, 1], *BOX, rhs=[3]),
    "a sum below what the box can reach": program([[1], [1]], [1, 1], *BOX, rhs=[-1]),
    "an equation twice, with two right-hand sides": program([[1, 1], [1, 1]], [1, 1], *BOX, rhs=[1, 1.5]),
    "an equation without variables": program([[1, 0], [1, 0]], [1, 1], *BOX, rhs=[1, 1]),
    "all variables fixed, at the wrong place": program([[1], [1]], [1, 1], [1, 0], [1, 0], rhs=[2]),
    "one variable, far beyond its bound": program([[-1]], [1], [-2], [1], rhs=[12]),
    "negative numbers with a positive sum": program([[1], [1]], [1, 2], [-inf, -inf], [0, 0], rhs=[1]),
}


@pytest.mark.parametrize("case", INFEASIBLE)
def test_a_program_without_a_solution_is_proved_to_have_none(case):
    p = INFEASIBLE[case]
    assert highs(p).status == 2
    assert_proved_infeasible(p, p.solve())


@pytest.mark.parametrize(
    "p",
    [
        program([[1], [2]], [0, -1], [-2, -1], [0, 0], rhs=[1000]),
        program([[1, 1], [1, 1]], [1, 1], [0, 0], [inf, inf], rhs=[1, 1.5]),
        program([[1, 1], [1, 1]], [1, 1], [-inf, -inf], [inf, inf], rhs=[1, 1.5]),
    ],
)
def test_a_program_without_a_solution_is_never_called_solved(p):
    assert highs(p).status == 2
    assert p.solve().status in ("infeasible", "stalled")


@pytest.mark.parametrize("upper", [[-1, 1], [-inf, 1]])
def test_a_lower_bound_above_the_upper_one_is_infeasible(upper):
    assert program([[1], [1]], [1, 1], [0, 0], upper, rhs=[1]).solve().status == "infeasible"


UNBOUNDED = {
    "two that may grow together": program([[1], [-1]], [-1, 0], [0, 0], [inf, inf], rhs=[1]),
    "two without bounds": program([[1], [-1]], [-1, 0], [-inf, -inf], [inf, inf], rhs=[1]),
    "one that no equation holds": program([[0], [1]], [-1, 1], [0, 0], [inf, 1], rhs=[0.5]),
}


@pytest.mark.parametrize("case", UNBOUNDED)
def test_a_value_that_falls_for_ever_is_called_unbounded(case):
    p = UNBOUNDED[case]
    assert highs(p).status == 3
    found = p.solve()
    assert found.status == "unbounded"
    assert not np.isnan(found.objective)


@pytest.mark.parametrize(
    ("p", "solution"),
    [
        (program([[1]], [0], [-inf], [inf], rhs=[1]), [1]),
        (program([[1], [1]], [0, 1], [-inf, 0], [inf, 0], rhs=[1]), [1, 0]),
        (program([[1], [1]], [1, 1], [1, 0], [1, 0], rhs=[1]), [1, 0]),
        (program([[1], [1]], [1, 1], [0, 0], [1, 1], rhs=[2]), [1, 1]),
        (program([[0]], [-1], [0], [1]), [1]),
        (program([[0]], [-2], [-inf], [-0.1]), [-0.1]),
        (program([[1], [1]], [1, 2], [0, 0], [inf, inf], rhs=[1]), [1, 0]),
    ],
)
def test_programs_with_a_single_feasible_point_or_without_bounds_are_solved(p, solution):
    found = p.solve()
    assert_optimal(p, found, best_value(p))
    np.testing.assert_allclose(found.x, solution, atol=1e-6)


# Found by random search: a step that ends exactly at a bound leaves no room for the next; of few rows all were
# fixed, and nothing was left to work on; a class without weight leaves a single feasible point.
SMALL = {
    "one of three at its bound after a full step": svm_dual([[2], [-1], [2]], [-1, 1, -1], 0.01),
    "features without a difference": svm_dual([[0], [0]], [1, -1], 1e-4, [10, 100]),
    "unequal weights": svm_dual([[1], [-1]], [1, -1], 0.01, [100, 10]),
    "separable, everything fixed": svm_dual([[1], [0], [-2]], [1, 1, -1], 1e-4),
    "two rows, everything fixed": svm_dual([[1], [2]], [-1, 1], 0.1, [0.01, 1]),
    "one class without weight": svm_dual([[-2], [-1]], [1, -1], 1.0, [10, 0]),
    "one class only": svm_dual([[1], [2]], [1, 1], 1.0),
    "a hopeless majority": svm_dual(np.arange(15.0)[:, None] % 4, [1] + [-1] * 14, 300.0),
}


@pytest.mark.parametrize("fix", [True, False])
@pytest.mark.parametrize("case", SMALL)
def test_small_duals_that_once_stalled_or_broke_are_solved(case, fix):
    p = SMALL[case]
    assert_optimal(p, p.solve(fix=fix), best_value(p))


def test_weights_over_six_decades_are_solved_though_the_first_steps_are_short():
    # It takes fifteen steps before the equations hold; patience has to last as long as they come closer.
    rng = np.random.default_rng(1385)
    D, labels = rng.standard_normal((58, 5)), rng.choice([-1.0, 1.0], 58)
    labels[:2] = 1.0, -1.0
    weights = np.where(rng.random(58) < 0.6, 0.0, 10.0 ** rng.uniform(-3, 3, 58))
    p = svm_dual(D, labels, 28.6089328390429, weights)
    assert_optimal(p, p.solve(), best_value(p))


@pytest.mark.parametrize("seed", range(4))
def test_directions_solve_the_equations_though_the_gram_matrix_is_rounded(seed):
    """Six rows count 1e10 times as much as the others: with a factor in single precision alone, the rest is lost."""
    rng = np.random.default_rng(seed)
    n, k = 400, 12
    A, few = DenseRows(rng.standard_normal((n, k))), np.zeros((0, k))
    heavy = np.arange(n) < k // 2
    x, y, z = rng.uniform(0.1, 0.9, n), rng.standard_normal(k), np.where(heavy, 1e-10, 1.0)
    c = A @ y + np.where(heavy, 0.0, rng.standard_normal(n))
    p = Program(A, FewRows(few), c, np.zeros(n), np.ones(n), rng.standard_normal(k), np.zeros(n))
    newton = Newton(p, Point(x, y, p.times(y), z, z), p.reduced_costs(x, p.times(y)), p.rhs - p.sums(x))
    newton.factor = Factor(p.gram(newton.theta, rough=True))
    step = newton.towards(np.zeros(n), np.zeros(n))
    left = np.linalg.norm(p.sums(step.x) - newton.missing)
    assert left <= 1e-3 * np.linalg.norm(newton.missing)
