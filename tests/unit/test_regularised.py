"""Certificates that know the penalty, against exact arithmetic and plain formulas."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.linalg as sl
import scipy.sparse as sp
from scipy.optimize import minimize

import rarefy
from rarefy.certificates._ridge import certified_signs, prediction_difference_bound
from rarefy.core.certificates import ridge
from rarefy.core.certificates.pencil import kernel_interval, kernel_pencil, row_pencil
from rarefy.core.certificates.regularised import (
    AlphaFrom,
    Regularised,
    _falling_variance,
    _Kept,
    _variance,
    alpha_from,
    curve,
    extremes,
    objective_bounds,
    pencil_curve,
    regularised,
    subspace_share,
)
from rarefy.core.certificates.ridge import prediction_change
from rarefy.core.linalg.rows import as_rows
from rarefy.core.sparsify import Selection


def exact(A):
    """A matrix of doubles as rational numbers."""
    return [[Fraction(float(x)) for x in row] for row in A]


def combined(a, A, b, B):
    """a A + b B."""
    return [[a * x + b * y for x, y in zip(row, other, strict=True)] for row, other in zip(A, B, strict=True)]


def product(A, B):
    return [[sum(x * y for x, y in zip(row, column, strict=True)) for column in zip(*B, strict=True)] for row in A]


def shifted(A, alpha):
    return [[x + (Fraction(alpha) if i == j else 0) for j, x in enumerate(row)] for i, row in enumerate(A)]


def inverse(A):
    """Gauss and Jordan, in rational numbers; A is positive definite."""
    n = len(A)
    T = [[*row, *(Fraction(i == j) for j in range(n))] for i, row in enumerate(A)]
    for k in range(n):
        T[k] = [x / T[k][k] for x in T[k]]
        for i in range(n):
            if i != k:
                T[i] = [x - T[i][k] * y for x, y in zip(T[i], T[k], strict=True)]
    return [row[n:] for row in T]


def is_semidefinite(A):
    """Whether a symmetric rational matrix has no negative eigenvalue: elimination with the largest pivot first."""
    A, left = [list(row) for row in A], list(range(len(A)))
    while left:
        k = max(left, key=lambda i: A[i][i])
        if A[k][k] <= 0:
            return all(A[i][j] == 0 for i in left for j in left)
        left.remove(k)
        for i in left:
            factor = A[i][k] / A[k][k]
            for j in left:
                A[i][j] -= factor * A[k][j]
    return True


def trace_of_squared_hat(A, alpha):
    """tr (K (K + alpha)^-1)^2."""
    hat = product(A, inverse(shifted(A, alpha)))
    return sum(product(hat, hat)[i][i] for i in range(len(A)))


def integer_problem(rng, kind, weights="any"):
    """X and K, K~ without any rounding: entries and squared weights are integers times powers of two."""
    n = int(rng.integers(1, 5))
    d = n + int(rng.integers(0, 4))
    X = rng.integers(-9, 10, (n, d)).astype(float)
    if kind == "graded":
        X *= 2.0 ** rng.integers(-12, 13, (n, 1))
    elif kind == "close":  # rows that differ in their last bits: condition numbers of K up to about 1e13
        X = rng.integers(-(2**20), 2**20, d) + rng.integers(-1, 2, (n, d)) * 2.0 ** rng.integers(0, 19, (n, 1))
    w = np.ones(d) if weights == "unit" or rng.random() < 0.5 else rng.choice([0.25, 0.5, 2.0, 4.0], d)
    w[rng.random(d) < 0.3] = 0.0
    return X, w, X @ X.T, (X * w**2) @ X.T


def plain(K, K_kept, alpha):
    """lo, hi, bias factor and variance factor by their definitions."""
    A, B = (M + alpha * np.eye(len(K)) for M in (K, K_kept))
    ratios = sl.eigh(B, A, eigvals_only=True)
    traces = [np.trace(np.linalg.matrix_power(np.linalg.solve(M + alpha * np.eye(len(K)), M), 2)) for M in (K, K_kept)]
    return ratios[0], ratios[-1], np.linalg.norm(np.linalg.solve(B, A), 2) ** 2, traces[1] / traces[0]


def gaussian_problem(seed, n=8, d=20, kept=12, weighted=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-1, 1, (n, 1))
    w = np.zeros(d)
    w[rng.choice(d, kept, replace=False)] = rng.uniform(0.5, 2, kept) if weighted else 1.0
    return X, w, X @ X.T, (X * w**2) @ X.T


def chosen(w):
    return Selection(np.flatnonzero(w), w[w > 0])


@pytest.mark.parametrize("kind", ["plain", "graded", "close"])
def test_what_is_stated_holds_in_exact_arithmetic(kind):
    rng = np.random.default_rng(7)
    for _ in range(60):
        X, w, K, K_kept = integer_problem(rng, kind)
        if not X.any():
            continue
        alpha = float(np.trace(K) * 10 ** rng.uniform(-14, 6))
        A, B = exact(K), exact(K_kept)
        A_alpha, B_alpha = shifted(A, alpha), shifted(B, alpha)
        rows = pencil_curve(row_pencil(as_rows(X), chosen(w)), [alpha])[0]
        for found in (regularised(K, K_kept, alpha), rows):
            assert is_semidefinite(combined(1, B_alpha, -Fraction(found.lo), A_alpha))
            assert is_semidefinite(combined(Fraction(found.hi), A_alpha, -1, B_alpha))
            squares = product(B_alpha, B_alpha), product(A_alpha, A_alpha)
            assert is_semidefinite(combined(Fraction(found.bias_factor), squares[0], -1, squares[1]))
            if np.isfinite(found.variance_factor):
                before, after = trace_of_squared_hat(A, alpha), trace_of_squared_hat(B, alpha)
                assert after <= Fraction(found.variance_factor) * before
            assert 0 < found.lo <= found.hi < np.inf


@pytest.mark.parametrize("kind", ["plain", "graded", "close"])
def test_the_kernel_interval_holds_in_exact_arithmetic(kind):
    rng = np.random.default_rng(8)
    full = 0
    for _ in range(80):
        X, w, K, K_kept = integer_problem(rng, kind)
        found = kernel_interval(K, K_kept)
        assert found.rank <= np.linalg.matrix_rank(X)
        if found.rank < len(K):
            continue
        full += 1
        A, B = exact(K), exact(K_kept)
        assert is_semidefinite(combined(1, B, -Fraction(found.lo), A))
        assert is_semidefinite(combined(Fraction(found.hi), A, -1, B))
        limits = row_pencil(as_rows(X), chosen(w)).limits
        assert is_semidefinite(combined(1, B, -Fraction(limits[0]), A))
        assert is_semidefinite(combined(Fraction(limits[1]), A, -1, B))
    assert full > 30


def test_rows_of_different_length_cost_the_interval_no_digits():
    _, _, K, K_kept = gaussian_problem(0)
    s = 2.0 ** np.arange(-24, 24, 6)
    found, scaled = kernel_interval(K, K_kept), kernel_interval(s[:, None] * K * s, s[:, None] * K_kept * s)
    assert (scaled.lo, scaled.hi) == (found.lo, found.hi)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(8, 20), (20, 8), (1, 5), (5, 1)])
def test_the_numbers_are_those_of_the_definitions(shape, weighted):
    X, w, K, K_kept = gaussian_problem(1, *shape, kept=max(1, shape[1] // 2), weighted=weighted)
    for alpha in (1.0, 1e3):
        expected = plain(K, K_kept, alpha)
        for found in (regularised(K, K_kept, alpha), pencil_curve(row_pencil(as_rows(X), chosen(w)), [alpha])[0]):
            stated = found.lo, found.hi, found.bias_factor, found.variance_factor
            np.testing.assert_allclose(stated, expected, rtol=1e-6)
            hats = [np.trace(np.linalg.solve(M + alpha * np.eye(len(K)), M)) for M in (K, K_kept)]
            dimensions = found.effective_dimension, found.effective_dimension_kept
            np.testing.assert_allclose(dimensions, hats, rtol=1e-8)
            assert found.risk_factor == max(found.bias_factor, found.variance_factor)
            assert found.distortion == max(1 - found.lo, found.hi - 1)


def test_sparse_rows_give_the_same_numbers():
    X, w, *_ = gaussian_problem(2)
    dense, sparse = (pencil_curve(row_pencil(as_rows(M), chosen(w)), [0.5])[0] for M in (X, sp.csr_array(X)))
    assert dense.risk_factor == pytest.approx(sparse.risk_factor, rel=1e-12)


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
def test_scales_do_not_matter(factor):
    _, _, K, K_kept = gaussian_problem(3)
    found, scaled = regularised(K, K_kept, 1.0), regularised(K * factor, K_kept * factor, factor)
    for name in ("lo", "hi", "bias_factor", "variance_factor", "effective_dimension"):
        assert getattr(scaled, name) == pytest.approx(getattr(found, name), rel=1e-9)
    assert kernel_interval(K * factor, K_kept * factor).lo == pytest.approx(kernel_interval(K, K_kept).lo, rel=1e-9)


@pytest.mark.parametrize("alpha", [1e-290, 1e290])
def test_extreme_penalties_give_numbers(alpha):
    _, _, K, K_kept = gaussian_problem(4, kept=3)
    found = regularised(K, K_kept, alpha)
    assert 0 <= found.lo <= found.hi
    assert not np.isnan(found.risk_factor)
    if alpha > 1:
        assert found.lo == pytest.approx(1)
        assert found.bias_factor == pytest.approx(1)


def test_degenerate_matrices():
    zero, one = np.zeros((3, 3)), np.ones((3, 3))
    nothing = regularised(zero, zero, 1.0)
    stated = nothing.bias_factor, nothing.variance_factor, nothing.effective_dimension
    assert stated == pytest.approx((1, 1, 0))
    assert regularised(one, zero, 3.0).lo == pytest.approx(0.5)  # 3 / (3 + 3)
    assert regularised(one, zero, 3.0).bias_factor == pytest.approx(4)
    assert regularised(zero, one, 3.0).variance_factor == np.inf
    for K, K_kept in ((zero, zero), (one, one)):
        found = kernel_interval(K, K_kept)
        assert (found.lo, found.hi) == pytest.approx((1, 1))
        assert found.lost == found.added == 0
    assert kernel_interval(one, zero).lost == 1
    assert kernel_interval(one, zero).lo == 0
    assert kernel_interval(zero, one).hi == np.inf
    empty = pencil_curve(row_pencil(as_rows(np.zeros((2, 3))), chosen(np.ones(3))), [0.0, 1.0])
    assert [found.risk_factor for found in empty] == [1, 1]


def test_a_direction_that_only_the_kept_kernel_has_can_cancel_one_of_the_other():
    # On the range of K the ratio is 1, but the form of K~ vanishes at (1, -1), where that of K does not.
    K, K_kept = np.diag([1.0, 0.0]), np.ones((2, 2))
    found = kernel_interval(K, K_kept)
    assert (found.lo, found.hi, found.rank, found.lost, found.added) == (0, np.inf, 1, 1, 1)
    more = kernel_interval(K, K_kept + np.diag([1.0, 0.0]))
    assert more.lo == pytest.approx(1)
    assert more.lost == 0


def test_the_interval_speaks_about_margins_balls_and_soft_margins():
    found = kernel_interval(np.eye(2), np.diag([0.25, 2.0]))
    assert found.margin_floor == pytest.approx(0.25)
    assert found.radius_ratio == pytest.approx(2)
    assert found.soft_margin_ratio == pytest.approx(4)
    assert found.soft_margin_drop == pytest.approx(2)
    assert found.condition == pytest.approx(8)
    lost = kernel_interval(np.eye(2), np.diag([0.0, 2.0]))
    assert lost.soft_margin_ratio == lost.condition == np.inf


def test_errors_of_the_matrices_widen_what_is_stated():
    _, _, K, K_kept = gaussian_problem(5)
    wide = kernel_interval(K, K_kept, error=1e-3, error_kept=1e-3)
    rng = np.random.default_rng(0)
    for _ in range(20):
        noise = [1e-3 * (N + N.T) / np.linalg.norm(N + N.T, 2) for N in rng.standard_normal((2, 8, 8))]
        found = kernel_interval(K + noise[0], K_kept + noise[1])
        assert wide.lo <= found.lo <= found.hi <= wide.hi
        stated = pencil_curve(kernel_pencil(K, K_kept, error=1e-3, error_kept=1e-3), [0.1])[0]
        near = regularised(K + noise[0], K_kept + noise[1], 0.1)
        assert stated.lo <= near.lo
        assert stated.hi >= near.hi
        assert stated.bias_factor >= near.bias_factor
        assert stated.variance_factor >= near.variance_factor


def test_no_signal_exceeds_the_factors_and_the_worst_one_reaches_the_bias_factor():
    rng = np.random.default_rng(0)
    for seed in range(40):
        _, _, K, K_kept = gaussian_problem(seed, kept=int(rng.integers(1, 20)), weighted=bool(seed % 2))
        alpha = 10 ** rng.uniform(-3, 3)
        found = regularised(K, K_kept, alpha)
        A, B = (M + alpha * np.eye(8) for M in (K, K_kept))
        worst = A @ np.linalg.svd(np.linalg.solve(B, A))[2][0]
        Z = np.column_stack([worst, rng.standard_normal((8, 5))])
        for s2 in (0.0, 1.0):
            before, after = (rarefy.ridge_risk(M, Z, alpha=alpha, noise_variance=s2) for M in (K, K_kept))
            assert np.all(after <= found.risk_factor * before * (1 + 1e-9))
            if s2 == 0:
                assert after[0] / before[0] == pytest.approx(found.bias_factor, rel=1e-6)


def test_ratios_move_towards_one_and_the_bound_on_the_bias_falls_with_the_penalty():
    for seed in range(15):
        _, _, K, K_kept = gaussian_problem(seed, n=3, d=6, kept=3, weighted=True)
        found = curve(K, K_kept, np.logspace(-3, 5, 17))
        tolerance = 1 + 1e-9
        for a, b in pairwise(found):
            assert b.lo * tolerance >= min(1, a.lo)
            assert b.hi <= max(1, a.hi) * tolerance
            assert b.bias_bound <= a.bias_bound * tolerance
            assert b.bias_factor <= b.bias_bound
    rising = curve(K, 4 * K, [0.1, 1.0, 10.0])  # the factor itself can rise: nothing is proved by bisection on it
    assert rising[0].bias_factor < rising[1].bias_factor < rising[2].bias_factor


@pytest.mark.parametrize("weighted", [False, True])
def test_the_risk_stays_below_the_factor_from_the_proved_penalty_on(weighted):
    finite = 0
    for seed in range(10):
        _, _, K, K_kept = gaussian_problem(seed, weighted=weighted)
        pencil = kernel_pencil(K, K_kept)
        found = alpha_from(pencil, 1.1)
        if np.isfinite(found.proved):
            finite += 1
            assert found.proved * 4 >= found.on_grid / 10**0.5
            for alpha in found.proved * np.logspace(0, 6, 13):
                _, _, bias, variance = plain(K, K_kept, alpha)
                assert max(bias, variance) <= 1.1 * (1 + 1e-9)
        if np.isfinite(found.on_grid):
            assert max(plain(K, K_kept, found.on_grid)[2:]) <= 1.1 * (1 + 1e-9)
    assert finite == 10 or weighted


def test_the_bound_on_the_variance_falls_with_the_penalty():
    rng = np.random.default_rng(0)
    finite = 0
    for trial in range(40):
        mu, g = 10 ** rng.uniform(-3, 2, (2, 4))
        pencil = kernel_pencil(np.diag(mu), np.diag(g if trial % 2 else np.sort(mu) * rng.uniform(0.5, 1.04)))
        kept = _Kept(pencil)
        alphas = np.logspace(-4, 5, 19)
        bounds = [_falling_variance(pencil, kept, 1.1, alpha / pencil.scale) for alpha in alphas]
        if np.isinf(bounds).all():
            continue
        finite += 1
        assert np.all(np.diff(bounds) <= 1e-12)
        for alpha, bound in zip(alphas, bounds, strict=True):
            assert _variance(pencil, kept, alpha / pencil.scale) <= bound * (1 + 1e-9)
    assert finite > 10


@pytest.mark.parametrize("n", [5, 12])
def test_the_least_eigenvalue_of_the_kept_kernel_with_the_penalty_is_not_overstated(n):
    """Whatever the predictions may be wrong by is divided by it."""
    rng = np.random.default_rng(n)
    X, y, Q = rng.standard_normal((n, 30)), rng.standard_normal(n), rng.standard_normal((3, 30))
    for kept in (3, 20):  # fewer columns than rows: it is the penalty alone
        selection = Selection(np.arange(kept), np.ones(kept))
        pencil = row_pencil(as_rows(X), selection)
        for c in (1e-3, 1.0):
            found = ridge._problem(pencil, as_rows(X), selection, y, as_rows(Q), c).b
            least = np.linalg.eigvalsh(X[:, :kept] @ X[:, :kept].T)[0] / pencil.scale + c
            assert found <= least * (1 + 1e-12)
            assert found == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("factor", [0.01, 0.5, 30.0])
def test_the_grid_of_penalties_is_about_the_larger_of_the_two_kernels(factor):
    _, _, K, _ = gaussian_problem(2)
    found = alpha_from(kernel_pencil(K, factor * K), 2.0)
    top = max(1.0, factor) * np.linalg.eigvalsh(K)[-1]
    grid = top * np.logspace(-8, 8, 33)
    good = [regularised(K, factor * K, alpha).risk_factor <= 2.0 for alpha in grid]
    first = next(i for i in range(34) if all(good[i:]))
    assert found.on_grid == pytest.approx(np.append(grid, np.inf)[first])
    assert (
        alpha_from(kernel_pencil(K, factor * K), 2.0, grid[:20:-1]).on_grid == np.append(grid, np.inf)[max(first, 21)]
    )


def test_the_leading_directions_of_a_pencil_may_be_none():
    _, _, K, K_kept = gaussian_problem(0)
    pencil = kernel_pencil(K, K_kept)
    for k in (0, 1, 3, pencil.rank):
        part = pencil.leading(k)
        assert (part.rank, part.G.shape, part.U.shape[1]) == (k, (k, k), k)
        np.testing.assert_array_equal(part.mu, np.sort(pencil.mu)[pencil.rank - k :])
    assert extremes(pencil.leading(0), 0.0) == extremes(pencil.leading(0), 1.0) == (1.0, 1.0)


def test_no_penalty_is_enough_where_the_variance_grows():
    _, _, K, _ = gaussian_problem(0)
    found = alpha_from(kernel_pencil(K, 2 * K), 1.1)
    assert found.proved == found.on_grid == np.inf
    nothing = alpha_from(kernel_pencil(0 * K, 0 * K))
    assert nothing == AlphaFrom(1.1, 0.0, 0.0)
    for alpha in (0.0, 1.0):
        empty = regularised(0 * K, 0 * K, alpha)
        assert (empty.lo, empty.hi, empty.bias_factor, empty.variance_factor, empty.bias_bound) == pytest.approx(
            (1.0,) * 5
        )
        assert (empty.effective_dimension, empty.effective_dimension_kept, empty.risk_factor) == pytest.approx(
            (0.0, 0.0, 1.0)
        )


def test_without_a_penalty_the_numbers_are_limits():
    X, w, K, K_kept = gaussian_problem(6)
    limit = regularised(K, K_kept, 1e-9)
    for found in (regularised(K, K_kept, 0.0), pencil_curve(row_pencil(as_rows(X), chosen(w)), [0.0])[0]):
        assert found.lo == pytest.approx(limit.lo, rel=1e-6)
        assert found.hi == pytest.approx(limit.hi, rel=1e-6)
        assert found.bias_factor == pytest.approx(limit.bias_factor, rel=1e-6)
        assert found.variance_factor == 1
    tall, w, K, K_kept = gaussian_problem(6, n=20, d=5, kept=5, weighted=True)  # rank 5 of 20, all columns kept
    limit = pencil_curve(row_pencil(as_rows(tall), chosen(w)), [0.0])[0]
    found = regularised(K, K_kept, 0.0)
    assert found.bias_factor == pytest.approx(limit.bias_factor, rel=1e-6)
    assert (found.effective_dimension, found.effective_dimension_kept) == (5, 5)


def test_without_a_penalty_a_lost_direction_has_no_bound():
    X, w, K, K_kept = gaussian_problem(7, kept=3)
    for found in (regularised(K, K_kept, 0.0), pencil_curve(row_pencil(as_rows(X), chosen(w)), [0.0])[0]):
        assert found.lo == 0
        assert found.bias_factor == found.risk_factor == np.inf
        assert found.variance_factor == pytest.approx(3 / 8)


def hinge_dual(K, C):
    """max sum a - a^T K a / 2 over 0 <= a <= C; the point and the value."""
    n = len(K)
    found = minimize(
        lambda a: 0.5 * a @ K @ a - a.sum(),
        np.full(n, C / 2),
        jac=lambda a: K @ a - 1.0,
        bounds=[(0, C)] * n,
        method="L-BFGS-B",
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    return found.x, -found.fun


@pytest.mark.parametrize("weighted", [False, True])
def test_objectives_differ_by_no_more_than_stated(weighted):
    for seed in range(20):
        _, _, K, K_kept = gaussian_problem(seed, n=5, kept=int(2 + seed % 10), weighted=weighted)
        y = np.where(np.arange(5) % 2, 1.0, -1.0)
        K, K_kept = y[:, None] * K * y, y[:, None] * K_kept * y
        (a, Z), (a_kept, Z_kept) = hinge_dual(K, 2.0), hinge_dual(K_kept, 2.0)
        for found in curve(K, K_kept, [0.0, 0.1, 10.0]):
            low, high = objective_bounds(
                found, form_kept=a_kept @ K_kept @ a_kept, norm2_kept=a_kept @ a_kept, form=a @ K @ a, norm2=a @ a
            )
            assert low - 1e-6 <= Z_kept - Z <= high + 1e-6
    assert objective_bounds(Regularised(0.0, 0.0, np.inf, 1, 1, 1, 1), form_kept=1, norm2_kept=1, form=1, norm2=1) == (
        -np.inf,
        np.inf,
    )


def test_gaps_of_the_dual_points_are_added():
    found = Regularised(1.0, 0.5, 2.0, 1, 1, 1, 1)
    given = {"form_kept": 1.0, "norm2_kept": 1.0, "form": 1.0, "norm2": 1.0}
    assert objective_bounds(found, **given) == (-1.0, 1.0)
    assert objective_bounds(found, **given, gap_kept=0.25, gap=0.5) == (-1.5, 1.25)


@pytest.mark.parametrize("squared", [True, False])
def test_the_share_of_a_subspace_is_the_best_over_multiples_of_the_dual_point(squared):
    rng = np.random.default_rng(0)
    for _ in range(20):
        X, C = rng.standard_normal((6, 9)), 10 ** rng.uniform(-2, 1)
        K, K_kept = X @ X.T, X[:, :3] @ X[:, :3].T
        extra = np.eye(6) / (2 * C) if squared else np.zeros((6, 6))
        a, primal = hinge_dual(K_kept + extra, 1e6 if squared else C)
        _, best = hinge_dual(K + extra, 1e6 if squared else C)
        form, total, largest = a @ K @ a, a.sum(), np.inf if squared else C / a.max()
        share, t = subspace_share(form, total, primal, curvature=a @ extra @ a, largest_step=largest)
        steps = np.minimum(np.logspace(-4, 1, 2001), largest)
        scan = (steps * total - 0.5 * steps**2 * (a @ (K + extra) @ a)).max() / primal
        assert scan <= share * (1 + 1e-9)
        assert share == pytest.approx(scan, rel=1e-3)
        assert share <= best / primal * (1 + 1e-6)
        assert 0 < t <= largest


def test_a_share_without_ground_is_zero():
    assert subspace_share(1.0, 0.0, 1.0) == (0, 0)
    assert subspace_share(1.0, 1.0, 0.0) == (0, 0)
    assert subspace_share(0.0, 1.0, 1.0) == (0, 0)  # no curvature and no largest step: the primal cannot be finite
    assert subspace_share(0.0, 1.0, 4.0, largest_step=2.0) == (0.5, 2.0)


def ridge_predictions(X, w, y, queries, alpha):
    """f and f~ by the pseudo-inverse, also without a penalty."""
    Xw, Qw = X * w, queries * w
    hats = [np.linalg.pinv(A.T @ A + alpha * np.eye(A.shape[1]), rcond=1e-12) @ A.T @ y for A in (X, Xw)]
    return queries @ hats[0], Qw @ hats[1]


@pytest.mark.parametrize("shape", [(6, 15), (15, 6), (1, 4), (6, 6)])
def test_predictions_stay_within_what_is_stated(shape):
    rng = np.random.default_rng(shape)
    n, d = shape
    certified = 0
    for trial in range(40):
        X = rng.standard_normal(shape) * 10 ** rng.uniform(-1, 1, (n, 1))
        w = np.where(rng.random(d) < 0.8, 1.0 if trial % 2 else rng.uniform(0.3, 3, d), 0.0)
        w[0] = 1.0
        y, alpha = rng.standard_normal(n), 0.0 if trial % 5 == 0 else 10 ** rng.uniform(-3, 4)
        queries = np.vstack([rng.standard_normal((5, d)), rng.standard_normal((3, n)) @ X, np.zeros((1, d))])
        f, f_kept = ridge_predictions(X, w, y, queries, alpha)
        found = prediction_change(as_rows(X), chosen(w), y, as_rows(queries), alpha)
        tolerance = 1e-9 * (1 + np.abs(f) + np.abs(f_kept))
        assert np.all(found.lower <= f_kept - f + tolerance)
        assert np.all(f_kept - f <= found.upper + tolerance)
        assert np.all(np.sign(f)[found.same_sign] == np.sign(f_kept)[found.same_sign])
        sure = found.same_sign
        assert np.all(np.abs(f_kept - f)[sure] <= found.relative[sure] * np.abs(f)[sure] + tolerance[sure])
        assert np.all(np.isinf(found.relative[~sure]))
        assert not found.same_sign[-1]
        certified += found.same_sign.sum()
        if alpha == 0 and np.isfinite(found.bound).all():
            np.testing.assert_allclose(found.bound[5:8], 0, atol=1e-6 * np.abs(y).max())  # inside the row space
        if alpha > 0:
            np.testing.assert_allclose(found.f_kept, f_kept, atol=1e-8 * (1 + np.abs(f_kept).max()))
            assert np.isfinite(found.bound).all()
    assert certified > 30


def test_no_sign_is_certified_where_both_predictions_are_zero():
    rng = np.random.default_rng(0)
    for _ in range(100):
        X = rng.integers(1, 9, (4, 1)).astype(float)
        y = np.array([X[1, 0], -X[0, 0], X[3, 0], -X[2, 0]])  # orthogonal to the only column
        found = prediction_change(as_rows(X), Selection(np.array([0]), np.array([0.5])), y, as_rows(np.eye(1)), 1.0)
        assert not found.same_sign.any()
        assert found.lower[0] <= 0 <= found.upper[0]


def test_repeated_rows_need_no_penalty():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 9))[[0, 1, 2, 3, 3, 0]]
    w, y, queries = np.r_[0.0, rng.uniform(0.5, 2, 8)], rng.standard_normal(6), rng.standard_normal((5, 9))
    f, f_kept = ridge_predictions(X, w, y, queries, 0.0)
    found = prediction_change(as_rows(X), chosen(w), y, as_rows(queries), 0.0)
    np.testing.assert_allclose(found.f_kept, f_kept, rtol=1e-9)
    np.testing.assert_allclose(found.bound, np.abs(f - f_kept), rtol=1e-6)


def test_signs_are_certified_on_data_with_a_decaying_spectrum():
    rng = np.random.default_rng(0)
    basis = rng.standard_normal((5, 300)) * np.array([16, 8, 4, 2, 1.0])[:, None]
    X = rng.standard_normal((60, 5)) @ basis + 0.3 * rng.standard_normal((60, 300))
    y = np.sign(X @ basis[0])
    given = {"indices": np.arange(150), "weights": np.full(150, np.sqrt(2.0)), "queries": X, "alpha": 100.0}
    certified = certified_signs(X, y=y, **given)
    bound = prediction_difference_bound(X, y=y, **given)
    f, f_kept = ridge_predictions(X, np.where(np.arange(300) < 150, np.sqrt(2.0), 0.0), y, X, 100.0)
    assert certified.mean() > 0.9
    assert np.all(np.sign(f)[certified] == np.sign(f_kept)[certified])
    assert np.all(np.abs(f - f_kept) <= bound)
    assert np.median(bound) < 6 * np.median(np.abs(f - f_kept))


def test_without_a_penalty_nothing_is_known_about_lost_directions():
    X, _, _, _ = gaussian_problem(0)
    given = {"indices": [0, 1], "weights": [1.0, 1.0], "y": X[:, 0], "queries": X, "alpha": 0.0}
    assert np.isinf(prediction_difference_bound(X, **given)).all()
    assert not certified_signs(X, **given).any()


def test_more_signals_than_one_have_one_risk_each():
    _, _, K, _ = gaussian_problem(0)
    Z = np.random.default_rng(0).standard_normal((8, 3))
    risks = rarefy.ridge_risk(K, Z, alpha=0.7)
    assert risks.shape == (3,)
    for z, risk in zip(Z.T, risks, strict=True):
        hat = np.linalg.solve(K + 0.7 * np.eye(8), K)
        expected = (np.sum(hat**2) + np.sum((hat @ z - z) ** 2)) / 8
        assert risk == pytest.approx(expected)
        assert rarefy.ridge_risk(K, z, alpha=0.7) == pytest.approx(risk, rel=1e-12)
        assert rarefy.ridge_risk(K, z[:, None], alpha=0.7) == pytest.approx([risk], rel=1e-12)
    with pytest.raises(ValueError, match=r"one row for each entry of z; got \(8, 8\) and \(1, 8\)"):
        rarefy.ridge_risk(K, Z[:, :1].T, alpha=0.7)
