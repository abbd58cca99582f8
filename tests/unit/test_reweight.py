"""Optimal weights: against exact and brute-force minima, and the bound against every weight that was tried."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose
from rarefy.core.solvers import rank_one_sdp
from rarefy.core.solvers.rank_one_sdp import DualFactors, maximise_lowest
from rarefy.core.sparsify import Selection, most_even, reweight
from rarefy.core.sparsify.bss import bss
from rarefy.core.sparsify.reweight import optimal_weights
from rarefy.core.sparsify.unweighted import unweighted


def plain_ratio(V, t):
    lam = np.linalg.eigvalsh(sum(s * np.outer(v, v) for s, v in zip(t, V, strict=True)))
    return lam[-1] / lam[0] if lam[0] > 0 else np.inf


def searched_minimum(V, rng):
    """The least ratio that Nelder and Mead's search finds over log t, from several starts."""

    def objective(x):
        return np.log(min(plain_ratio(V, np.exp(np.clip(x, -30, 30))), 1e30))

    options = {"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000, "maxfev": 4000, "adaptive": True}
    found = [minimize(objective, rng.normal(0, 1, len(V)), method="Nelder-Mead", options=options) for _ in range(3)]
    return np.exp(min(f.fun for f in found))


def exact_minimum_in_the_plane(V):
    """l = 2: M of unit rows at angles phi, with t adding up to 2, has eigenvalues 1 +- ||sum t/2 (cos, sin)(2 phi)||.

    So the least ratio is (1 + delta) / (1 - delta), delta the distance of the origin from the hull of those points.
    """
    angle = 2.0 * np.arctan2(V[:, 1], V[:, 0])
    around = np.sort(angle % (2 * np.pi))
    if np.diff(around, append=around[0] + 2 * np.pi).max() < np.pi:
        return 1.0  # the origin is inside the hull
    points = np.column_stack([np.cos(angle), np.sin(angle)])
    delta = 1.0
    for p, q in combinations(points, 2):
        share = np.clip(p @ (p - q) / max((p - q) @ (p - q), 1e-300), 0, 1)
        delta = min(delta, np.linalg.norm(p + share * (q - p)))
    return (1 + delta) / (1 - delta)


def gaussian(seed, r, ell):
    return np.random.default_rng(seed).standard_normal((r, ell))


@given(st.integers(0, 2**32 - 1), st.integers(2, 7))
@settings(max_examples=40)
def test_in_the_plane_the_minimum_is_a_distance_from_a_hull(seed, r):
    V = gaussian(seed, r, 2)
    exact = exact_minimum_in_the_plane(V)
    if exact > 1e6:
        return
    found = optimal_weights(V, tol=1e-6)
    assert exact * (1 - 1e-9) <= found.ratio <= exact * (1 + 1.1e-6)
    assert found.bound <= exact * (1 + 1e-9)
    assert found.ratio <= found.bound * (1 + 1e-6)


@pytest.mark.parametrize(("r", "ell", "seed"), [(3, 3, 0), (4, 3, 1), (5, 3, 2), (5, 3, 3), (4, 2, 4), (1, 1, 5)])
def test_no_search_finds_a_smaller_ratio(r, ell, seed):
    V = gaussian(seed, r, ell)
    least = searched_minimum(V, np.random.default_rng(seed))
    found = optimal_weights(V, tol=1e-5)
    assert found.bound <= least * (1 + 1e-9)
    assert found.ratio <= least * (1 + 1e-4)
    assert found.ratio == pytest.approx(plain_ratio(V, found.t), rel=1e-9)


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 20), st.sampled_from([0, 1, 3, 50]))
@settings(max_examples=60)
def test_the_result_is_no_worse_than_any_start_and_no_weights_beat_the_bound(seed, ell, extra, max_iter):
    rng = np.random.default_rng(seed)
    V = rng.standard_normal((ell + extra, ell)) * np.exp(rng.normal(0, 1, (ell + extra, 1)))
    starts = [np.exp(rng.normal(0, 2, len(V))), np.where(rng.random(len(V)) < 0.7, 1.0, 0.0)]
    found = optimal_weights(V, starts, max_iter=max_iter)
    measured = plain_ratio(V, found.t)
    if measured < 1e6:
        assert found.ratio == pytest.approx(measured, rel=1e-8)
    tried = [*starts, np.ones(len(V)), *np.exp(rng.normal(0, 3, (20, len(V))))]
    assert found.ratio <= min(plain_ratio(V, t) for t in tried[:3]) * (1 + 1e-8)
    assert 1.0 <= found.bound <= min(found.ratio, *(plain_ratio(V, t) * (1 + 1e-8) for t in tried))
    assert np.all(found.t >= 0.0)
    if max_iter == 50 and measured < 1e6:
        assert found.ratio <= found.bound * 1.01


def test_the_best_weights_known_stay_if_the_iteration_ends_early():
    V = gaussian(12, 12, 5)
    best = optimal_weights(V, tol=1e-6)
    for max_iter in (0, 1, 2):
        again = optimal_weights(V, [np.ones(12), best.t], max_iter=max_iter)
        assert again.ratio <= best.ratio * (1 + 1e-12)
    tight = np.linalg.qr(V)[0]  # equal weights are the best there are
    for starts in ([], [np.arange(1.0, 13)]):
        found = optimal_weights(tight, starts, max_iter=0)
        assert found.ratio == pytest.approx(1.0)
        np.testing.assert_allclose(found.t, 1.0)


def test_weights_that_are_not_small_are_kept_even_if_they_are_not_needed():
    assert np.all(optimal_weights(np.arange(1.0, 6.0)[:, None]).t > 0.0)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 15))
@settings(max_examples=60)
def test_any_pair_of_semidefinite_matrices_gives_a_bound(seed, ell, r):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((r, ell))
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    F, G = (rng.standard_normal((ell, rng.integers(1, ell + 1))) for _ in range(2))
    bound, quotients = reweight._bound(U, DualFactors(F, G))
    P, Q = F @ F.T, G @ G.T
    plain = np.array([u @ P @ u / (u @ Q @ u) for u in U])
    np.testing.assert_allclose(quotients, plain, rtol=1e-5)
    assert np.all(quotients >= plain * (1 - 1e-13))
    assert bound == pytest.approx(max(1.0, np.trace(P) / np.trace(Q) / plain.max()), rel=1e-5)
    for t in np.exp(rng.normal(0, 3, (20, r))):
        assert bound <= plain_ratio(U, t) * (1 + 1e-8)


def test_a_direction_that_only_P_sees_gives_no_bound():
    U = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert reweight._bound(U, DualFactors(np.eye(2), np.array([[1.0], [0.0]])))[0] == 1.0


@pytest.mark.parametrize("lengths", [np.ones(12), np.logspace(-5, 5, 12)])
def test_orthogonal_rows_become_orthonormal(lengths):
    Q = np.linalg.qr(gaussian(0, 12, 12))[0]
    found = optimal_weights(Q * lengths[:, None])
    assert found.ratio == pytest.approx(1.0, abs=1e-12)
    assert found.bound == 1.0
    np.testing.assert_allclose(found.t, lengths**-2.0, rtol=1e-10)


def test_the_ratio_depends_on_the_directions_of_the_rows_only():
    V, rng = gaussian(1, 14, 5), np.random.default_rng(2)
    ratio = optimal_weights(V, tol=1e-7).ratio
    lengths = np.logspace(-4, 4, 14)[:, None] * rng.choice([-1.0, 1.0], (14, 1))
    rotation = np.linalg.qr(gaussian(3, 5, 5))[0]
    for W in (V * lengths, V @ rotation, V[rng.permutation(14)], np.vstack([V, V, V[:2]]), 1e100 * V, 1e-100 * V):
        other = optimal_weights(W, tol=1e-7)
        assert other.ratio == pytest.approx(ratio, rel=3e-7)
        scale = np.abs(W).max()
        lam = np.linalg.eigvalsh((W / scale).T @ (W / scale * (other.t * scale * scale)[:, None]))
        assert lam[0] + lam[-1] == pytest.approx(2.0)


def test_rows_that_are_not_needed_get_weight_zero():
    V = np.array([[1.0, 0.0, 0.0], [0.9, 0.1, 0.0], [0.0, 1.0, 0.3], [0.0, 0.2, 1.0], [0.8, 0.3, 0.1]])
    found = optimal_weights(V, tol=1e-4)
    kept = found.t > 0.0
    assert kept.sum() < 5
    assert optimal_weights(V[kept], tol=1e-6).ratio == pytest.approx(found.ratio, rel=2e-4)


def test_zeros_cost_at_most_a_tenth_of_the_tolerance_and_only_small_weights_become_zero():
    V = gaussian(4, 60, 12) * np.logspace(0, -1, 12)
    U = V / np.linalg.norm(V, axis=1, keepdims=True)
    t = maximise_lowest(U, np.ones(60), 1e-3, 50)[0]
    ratio = plain_ratio(U, t)
    s, after = reweight._with_zeros(U, t, ratio, 1.001 * ratio)
    gone = s == 0.0
    assert 0 < gone.sum() < 48
    assert after == pytest.approx(plain_ratio(U, s), rel=1e-9)
    assert after <= 1.001 * ratio
    assert t[gone].max() <= min(0.01 * t.max(), t[~gone].min())
    np.testing.assert_array_equal(s[~gone], t[~gone])
    one_more = np.where(t <= t[~gone].min(), 0.0, t)
    assert plain_ratio(U, one_more) > 1.001 * ratio or t[~gone].min() > 0.01 * t.max()


@pytest.mark.parametrize(
    "V",
    [
        np.zeros((0, 3)),
        np.zeros((4, 2)),
        np.ones((5, 2)),
        np.ones((1, 2)),
        gaussian(0, 3, 5),
        np.hstack([gaussian(1, 8, 2), np.zeros((8, 1))]),
        np.vstack([gaussian(2, 1, 2), 1e-15 * gaussian(3, 3, 2)]),
        gaussian(4, 20, 3) @ gaussian(5, 3, 4),
    ],
    ids=["no rows", "zero rows", "equal rows", "one row", "few rows", "zero column", "noise rows", "rank 3 of 4"],
)
def test_rows_that_do_not_span_keep_the_start(V):
    r = len(V)
    for starts, t in (((), np.ones(r)), ([np.arange(1.0, r + 1), np.ones(r)], np.arange(1.0, r + 1))):
        found = optimal_weights(V, starts)
        assert found.ratio == np.inf
        assert found.bound == np.inf
        np.testing.assert_allclose(found.t * t.max(initial=0), t * found.t.max(initial=0))
        if V.any():
            assert np.linalg.norm(np.sqrt(found.t)[:, None] * V, 2) ** 2 == pytest.approx(2.0)


def test_one_dimension_and_none():
    found = optimal_weights(np.array([[3.0]]))
    assert (found.ratio, found.bound) == (1.0, 1.0)
    assert found.t == pytest.approx([1 / 9])
    none = optimal_weights(np.zeros((3, 0)))
    assert (none.ratio, none.bound) == (1.0, 1.0)


def test_zero_rows_and_rounding_noise_get_weight_zero():
    V = np.vstack([gaussian(6, 8, 3), np.zeros((2, 3)), 1e-14 * gaussian(7, 2, 3)])
    found = optimal_weights(V, [np.ones(12)])
    np.testing.assert_array_equal(found.t[8:], 0.0)
    assert found.ratio == pytest.approx(optimal_weights(V[:8]).ratio, rel=1e-2)


@pytest.mark.parametrize("small", [1e-3, 1e-5, 1e-8, 1e-11])
def test_a_wide_spectrum_is_measured_rightly_and_never_bounded_falsely(small):
    # Rows (1, small +-1): two of them are the best, with eigenvalues 2 and 2 small^2.
    V = np.array([[1.0, small], [1.0, -small], [1.0, 0.3 * small]])
    found = optimal_weights(V)
    assert found.ratio == pytest.approx(small**-2.0, rel=1e-2)
    assert found.bound <= small**-2.0 * (1 + 1e-6)
    sigma = np.linalg.svd(np.sqrt(found.t)[:, None] * V, compute_uv=False)
    assert found.ratio == pytest.approx((sigma[0] / sigma[1]) ** 2, rel=1e-4)  # sigma is good to eps sigma_max
    if small >= 1e-5:
        assert found.ratio <= 1.01 * found.bound


def test_a_working_set_finds_the_same_ratio(monkeypatch):
    for seed, r, ell in ((0, 60, 3), (1, 150, 4), (2, 100, 10)):
        V = gaussian(seed, r, ell) * np.logspace(0, -1.5, ell)
        everything = optimal_weights(V)
        with monkeypatch.context() as patch:
            patch.setattr(reweight, "_WORKING_SET", 4)
            some = optimal_weights(V)
        for a, b in ((everything, some), (some, everything)):
            assert a.ratio <= 1.0101 * b.ratio
            assert a.ratio <= 1.01 * a.bound
            assert a.bound <= b.ratio


def test_what_is_good_enough_at_the_start_is_not_searched_for(monkeypatch):
    def never(*args):
        raise AssertionError("there was nothing to search for")

    V = gaussian(0, 12, 4)
    ratio = plain_ratio(V / np.linalg.norm(V, axis=1)[:, None], np.ones(12))
    monkeypatch.setattr(reweight, "maximise_lowest", never)
    assert optimal_weights(V, tol=1.01 * ratio).ratio <= 1.01 * ratio
    with pytest.raises(AssertionError, match="nothing to search"):
        optimal_weights(V, tol=0.9 * (ratio - 1.0))


@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
@settings(max_examples=30)
def test_bounds_are_rounded_down_and_quotients_up(seed, ell):
    """Against the same in more digits: below it, by no more than the digits that may be lost."""
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((2 * ell, ell))
    U /= np.linalg.norm(U, axis=1)[:, None]
    dual = DualFactors(*(rng.standard_normal((ell, ell)) + 3.0 * np.eye(ell) for _ in range(2)))
    P, Q = ((F.astype(np.longdouble) @ F.T.astype(np.longdouble)) for F in dual)
    long = U.astype(np.longdouble)
    exact = np.einsum("ij,jk,ik->i", long, P, long) / np.einsum("ij,jk,ik->i", long, Q, long)
    found, quotients = reweight._bound(U, dual)
    assert np.all(quotients >= exact)
    np.testing.assert_allclose(quotients, exact.astype(float), rtol=1e-8)
    bound = np.trace(P) / np.trace(Q) / exact.max()
    assert found == 1.0 or found <= bound * (1 - 1e-16 * ell**2)
    assert found >= min(float(bound), max(1.0, float(bound) * (1 - 1e-8)))


def test_a_working_set_spans_has_the_largest_weights_and_its_size():
    rng = np.random.default_rng(0)
    U = np.tile([1.0, 0.0, 0.0], (2000, 1))  # only two rows see the other directions, with the least weights
    U[17], U[1900] = [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]
    t = rng.permutation(2000.0 + np.arange(2000))
    t[[17, 1900]] = 0.0
    rows = reweight._working_rows(U, t)
    assert len(rows) == 1500
    assert np.all(np.diff(rows) > 0)
    assert {17, 1900} <= set(rows)
    assert set(np.argsort(-t)[:1497]) <= set(rows)
    wide = rng.standard_normal((1700, 400))
    assert len(reweight._working_rows(wide, np.ones(1700))) == 1600  # four times the dimension
    np.testing.assert_array_equal(reweight._working_rows(U[:1500], t[:1500]), np.arange(1500))


@pytest.mark.parametrize("dropped", [2, 7])
def test_rows_that_are_exchanged(dropped):
    """Who lost its weight and does not bind goes; who violates most comes, as many as went or a quarter."""
    rng = np.random.default_rng(1)
    rows, t, violation = np.arange(0, 40, 2), np.zeros(60), rng.uniform(0.0, 0.8, 60)
    t[rows] = 100.0
    t[rows[:dropped]], t[rows[dropped]], t[rows[-1]] = 1e-5, 1e-5, 1e-3  # the last one counts
    violation[rows[dropped]] = 0.95  # without weight, but it binds
    outside = np.setdiff1d(np.arange(60), rows)
    violation[outside[:12]] = rng.permutation(np.arange(12)) + 1.5
    found = reweight._exchanged(rows, t, violation)
    expected = [*rows[dropped:], *sorted(outside, key=lambda i: -violation[i])[: max(dropped, 5)]]
    np.testing.assert_array_equal(found, sorted(expected))
    violation[outside] = 0.99
    np.testing.assert_array_equal(reweight._exchanged(rows, t, violation), rows[dropped:])


def test_a_direction_that_is_rounding_of_many_rows_is_none():
    """Singular values count from max(r, l) eps on, r being the larger."""
    left = np.linalg.qr(gaussian(0, 1000, 2))[0]
    low, high = reweight.extremes(left * [1.0, 20.0 * np.finfo(float).eps], np.ones(1000))
    assert (low, high) == (0.0, pytest.approx(1.0))
    low, high = reweight.extremes(left * [1.0, 1e-9], np.ones(1000))
    assert (low, high) == (pytest.approx(1e-18, rel=1e-5), pytest.approx(1.0))
    assert reweight.extremes(np.ones((1, 2)), np.ones(1)) == (0.0, pytest.approx(2.0))
    assert reweight.extremes(np.ones((3, 2)), np.zeros(3)) == (0.0, 0.0)


def test_bss_weights_as_a_start_keep_their_promise():
    V = decompose(as_rows(gaussian(8, 20, 200))).leading().V
    chosen = bss(V, 40)
    found = optimal_weights(V.take(chosen.indices), [chosen.weights**2])
    q = np.sqrt(20 / 40)
    M = V.take(chosen.indices).T @ (V.take(chosen.indices) * found.t[:, None])
    assert np.linalg.norm(np.eye(20) - M, 2) == pytest.approx((found.ratio - 1) / (found.ratio + 1))
    assert np.linalg.norm(np.eye(20) - M, 2) <= 2 * q / (1 + q * q)
    assert found.ratio <= 0.7 * plain_ratio(V.take(chosen.indices), chosen.weights**2)


@pytest.mark.parametrize(
    "start", [np.ones(3), np.array([1.0, -1.0, 0, 0]), np.array([1.0, np.nan, 0, 0]), np.ones((4, 1))]
)
def test_a_start_that_is_none_is_refused(start):
    with pytest.raises(ValueError, match="one finite squared weight >= 0 for each of the 4 rows"):
        optimal_weights(gaussian(0, 4, 2), [start])


@pytest.mark.parametrize("factor", [1e-130, 1e130, np.nan])
def test_rows_beyond_the_range_of_squares_are_refused(factor):
    with pytest.raises(ValueError, match="largest entry of the rows must lie between"):
        optimal_weights(factor * np.ones((4, 2)))


def plain_newton(x, mu):
    """The HKM direction from the full linear system: unknowns t, a, P, Q, z with every equation written out."""
    U, (r, ell) = x.U, x.U.shape
    m, eye = ell * ell, np.eye(ell)
    outer = np.array([np.outer(u, u).ravel() for u in U])
    size = r + 1 + 2 * m + r
    at = {"t": 0, "a": r, "P": r + 1, "Q": r + 1 + m, "z": r + 1 + 2 * m}
    A, b = np.zeros((size, size)), np.zeros(size)

    def symmetric(K):
        swap = np.arange(m).reshape(ell, ell).T.ravel()
        return 0.5 * (K + K[swap])

    # dX + sym(X dS S^-1) = mu S^-1 - X; row-major vec(X dS Y) = (X kron Y^T) vec(dS)
    for name, block, sign in (("P", x.lower, 1.0), ("Q", x.upper, -1.0)):
        rows = slice(at[name], at[name] + m)
        K = symmetric(np.kron(block.X, np.linalg.inv(block.S).T))
        A[rows, rows] = np.eye(m)
        A[rows, :r] = sign * K @ outer.T
        if name == "P":
            A[rows, r] = -K @ eye.ravel()
        b[rows] = (mu * np.linalg.inv(block.S) - block.X).ravel()
    z = slice(at["z"], size)
    A[z, z], A[z, :r], b[z] = np.diag(x.t), np.diag(x.z), mu - x.t * x.z
    A[:r, at["P"] : at["Q"]], A[:r, at["Q"] : at["z"]], A[:r, z] = outer, -outer, np.eye(r)
    A[r, at["P"] : at["Q"]] = eye.ravel()
    return np.linalg.solve(A, b), at


@pytest.mark.parametrize(("r", "ell"), [(4, 4), (7, 3), (5, 1)])
def test_the_direction_solves_the_full_newton_system(r, ell):
    U = gaussian(9, r, ell)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    x = rank_one_sdp._first_iterate(U, np.ones(r))
    x.factor()
    for mu in (0.0, 0.1):
        d = x.direction(mu)
        solution, at = plain_newton(x, mu)
        np.testing.assert_allclose(d.t, solution[:r], rtol=1e-7, atol=1e-9)
        assert d.a == pytest.approx(solution[r], rel=1e-7)
        np.testing.assert_allclose(d.X[0].ravel(), solution[at["P"] : at["Q"]], rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(d.X[1].ravel(), solution[at["Q"] : at["z"]], rtol=1e-7, atol=1e-8)
        np.testing.assert_allclose(d.z, solution[at["z"] :], rtol=1e-7, atol=1e-8)
    corrected = x.direction(0.1, x.direction(0.0))
    changes = np.einsum("ij,jk,ik->i", U, corrected.X[1] - corrected.X[0], U)
    np.testing.assert_allclose(corrected.z, changes, rtol=1e-7, atol=1e-9)
    assert np.trace(corrected.X[0]) == pytest.approx(0.0, abs=1e-9)


def test_the_gap_is_the_sum_of_the_complementary_products_and_steps_stay_inside():
    U = gaussian(10, 12, 4)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    x = rank_one_sdp._first_iterate(U, np.arange(12.0))
    for _ in range(4):
        products = np.vdot(x.lower.S, x.lower.X) + np.vdot(x.upper.S, x.upper.X) + x.t @ x.z
        assert x.gap() == pytest.approx(products)
        x.factor()
        d = x.direction(0.1 * x.gap() / 20)
        primal, dual = x.room(d)
        moved = x.moved(d, primal, dual)
        assert moved.gap() == pytest.approx(x.gap(d, primal, dual))
        assert moved.gap() < x.gap()
        x = moved
    assert min(x.t.min(), x.z.min()) > 0.0
    assert min(np.linalg.eigvalsh(A)[0] for b in x.blocks for A in (b.S, b.X)) > 0.0


def test_steps_are_shortened_to_the_boundary():
    eye, D = np.eye(3), np.diag([-4.0, 1.0, 2.0])
    assert rank_one_sdp._longest(eye, D, 0.2) == 0.2
    assert rank_one_sdp._longest(eye, D, 1.0) == pytest.approx(0.95 * 0.25)
    assert rank_one_sdp._longest(eye, 1e6 * D, 1.0) == pytest.approx(0.95 * 0.25e-6)
    assert rank_one_sdp._longest(0.5 * eye, D, 1.0) == pytest.approx(0.95)  # the matrix is 4 I
    assert rank_one_sdp._longest(eye, np.abs(D), 1.0) == 1.0


@pytest.mark.parametrize("seed", range(5))
def test_weights_do_not_jump_with_the_data(seed):
    V = np.linalg.qr(gaussian(seed, 60, 12))[0]
    there = optimal_weights(V).t
    rotated = V @ np.linalg.qr(gaussian(seed + 1, 12, 12))[0]
    np.testing.assert_allclose(optimal_weights(rotated).t, there, rtol=1e-7)
    np.testing.assert_allclose(optimal_weights(V * (1 + 1e-13 * gaussian(seed + 2, 60, 12))).t, there, rtol=1e-7)


@pytest.mark.parametrize(("tol", "most"), [(1e-2, 12), (1e-6, 20)])
def test_few_iterations_are_needed(monkeypatch, tol, most):
    steps = []
    original = rank_one_sdp._Iterate.factor
    U = np.linalg.qr(gaussian(11, 80, 40))[0]
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    monkeypatch.setattr(rank_one_sdp._Iterate, "factor", lambda self: (steps.append(1), original(self))[1])
    t, dual = maximise_lowest(U, np.ones(80), tol, 100)
    assert len(steps) <= most
    assert plain_ratio(U, t) <= (1 + tol) * reweight._bound(U, dual)[0]


@pytest.mark.parametrize("seed", range(5))
def test_more_iterations_than_rounding_allows_do_no_harm(seed):
    U = gaussian(seed, 15, 5) * np.logspace(0, -seed, 5)
    U /= np.linalg.norm(U, axis=1, keepdims=True)
    t, dual = maximise_lowest(U, np.ones(15), 0.0, 100)
    assert plain_ratio(U, t) <= (1 + 1e-7) * reweight._bound(U, dual)[0]


def test_a_point_outside_is_no_iterate():
    U, t = np.eye(2), np.array([0.5, 0.4])
    inside = rank_one_sdp._Iterate(U, t, 0.1, np.eye(2) / 2, np.eye(2))
    assert inside.relative_gap == pytest.approx(19.0)
    three = np.vstack([U, [[0.6, 0.8]]])
    for wrong in (
        (U, t, 0.5, np.eye(2) / 2, np.eye(2)),  # a above an eigenvalue of M
        (U, 3 * t, 0.1, np.eye(2) / 2, np.eye(2)),  # M above I
        (three, np.append(t, -0.01), 0.1, np.eye(2) / 2, np.eye(2)),  # a weight below 0
        (U, t, 0.1, np.eye(2) / 2, np.eye(2) / 3),  # u^T P u above u^T Q u
        (U, t, np.nan, np.eye(2) / 2, np.eye(2)),
        (U, t, 0.1, np.nan * np.eye(2), np.eye(2)),
    ):
        with pytest.raises(np.linalg.LinAlgError):
            rank_one_sdp._Iterate(*wrong)


@pytest.mark.parametrize("smallest", [1.0, 1e-2, 1e-4, 1e-6, 1e-9])
def test_ratios_are_measured_without_squaring_where_that_would_lose_digits(smallest):
    left, right = (np.linalg.qr(gaussian(seed, n, 6))[0] for seed, n in ((13, 20), (14, 6)))
    V = left @ (np.linspace(1.0, smallest, 6)[:, None] * right)
    assert reweight._ratio(V, np.ones(20)) == pytest.approx(smallest**-2.0, rel=1e-15 / smallest * 100 + 1e-13)


def right_vectors(seed, n, d, spread=1.0):
    rng = np.random.default_rng(seed)
    V = decompose(as_rows(rng.standard_normal((n, d)) * np.exp(rng.normal(0, spread, d)))).leading().V
    return V, V.take(np.arange(d))


def plain_most_even(V, dense, r, most=1e-3):
    """The bound, and the columns, weights and distortion of `most_even`, written out."""
    q = np.sqrt(V.shape[1] / r)
    bound, choices = 2 * q / (1 + q * q), []
    for choose in (unweighted, bss):
        chosen = choose(V, r)
        rows = dense[chosen.indices]
        t = optimal_weights(rows, [chosen.weights**2]).t
        lam = np.linalg.eigvalsh(rows.T @ (t[:, None] * rows))
        token = min(most, (1 + bound - lam[-1]) / 2)
        t = np.where(t > 0, t, token / max(1.0, sum(v @ v for v, s in zip(rows, t, strict=True) if s == 0)))
        lam = np.linalg.eigvalsh(rows.T @ (t[:, None] * rows))
        choices.append((max(1 - lam[0], lam[-1] - 1), chosen.indices, np.sqrt(t)))
    return bound, choices[0] if choices[0][0] <= bound else min(choices, key=lambda c: c[0])


@given(st.integers(0, 2**32 - 1), st.integers(1, 10), st.integers(1, 20))
@settings(max_examples=40)
def test_as_many_columns_as_asked_for_stay_within_the_published_bound(seed, ell, extra):
    V, dense = right_vectors(seed, ell, 60)
    found = most_even.most_even(V, ell + extra)
    bound, (distortion, indices, weights) = plain_most_even(V, dense, ell + extra)
    assert distortion <= bound
    assert len(found.indices) == ell + extra
    assert np.all(found.weights > 0.0)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.weights, weights, rtol=1e-9)


def distortion_of(dense, found):
    rows = dense[found.indices] * found.weights[:, None]
    return np.linalg.norm(np.eye(dense.shape[1]) - rows.T @ rows, 2)


def test_tokens_take_no_more_than_the_bound_leaves(monkeypatch):
    """However large a token may be, the bound holds with it in place."""
    limited = 0
    q = np.sqrt(10 / 24)
    for seed in (0, 4, 5, 9):
        V, dense = right_vectors(seed, 10, 100)
        small = most_even.most_even(V, 24)
        with monkeypatch.context() as patch:
            patch.setattr(most_even, "_TOKEN", 1e3)
            large = most_even.most_even(V, 24)
        for found in (small, large):
            assert distortion_of(dense, found) < 2 * q / (1 + q * q)
            assert len(found.indices) == 24
        np.testing.assert_array_equal(small.indices, large.indices)
        np.testing.assert_allclose(large.weights, plain_most_even(V, dense, 24, most=1e3)[1][2], rtol=1e-9)
        limited += np.any(small.weights != large.weights)
    assert limited  # some columns had a token


def test_columns_that_miss_the_bound_are_replaced_by_those_of_two_barriers(monkeypatch):
    V, dense = right_vectors(1, 4, 60, spread=0.0)
    poor = np.argsort(np.abs(dense[:, 0]))[:12]  # nearly nothing along the first direction
    monkeypatch.setattr(most_even, "unweighted", lambda V, r, progress: Selection(poor, np.ones(r)))
    found = most_even.most_even(V, 12)
    assert set(found.indices) == set(bss(V, 12).indices)
    q = np.sqrt(4 / 12)
    assert distortion_of(dense, found) <= 2 * q / (1 + q * q)


def test_one_column_for_one_dimension_is_scaled_to_keep_all_of_it():
    V, dense = right_vectors(0, 1, 5)
    assert distortion_of(dense, most_even.most_even(V, 1)) == pytest.approx(0.0, abs=1e-14)
