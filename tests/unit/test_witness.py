"""What dual and primal points prove, against exact arithmetic: for all columns, and for every choice of some."""

import itertools

import numpy as np
import pytest

from oracles.exact import dual_value, primal_value
from rarefy.core.certificates.subset import SubsetBound, SubsetBounds
from rarefy.core.certificates.witness import Witnesses, gains_below, lower_bound, objective_above, upper_bound
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import LOSSES, MarginLoss


def points(loss, seed, n=9, d=5, C=2.0, shift=0.0):
    """Data, labels, allowed dual variables whose sum is rounding, and any coefficients."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-2, 2, d) + shift
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    beta = MarginLoss(loss).balanced(y, rng.uniform(0, C, n) * y, np.full(n, C))
    return X, y, beta, rng.standard_normal(d), float(rng.standard_normal())


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shift", [0.0, 1e4])
def test_bounds_are_on_the_safe_side_of_exact_values_and_close_to_them(loss, shift):
    for seed in range(5):
        X, y, beta, w, b = points(loss, seed, shift=shift)
        rows, Y, C = as_rows(X), y[:, None], 2.0
        lower, exact = lower_bound(rows, Y, C, loss, beta[:, None]), dual_value(X, y, C, loss, beta)
        assert lower <= exact
        size = np.abs(beta).sum() * (1.0 + np.abs(beta).max()) + np.linalg.norm(X.T @ beta) ** 2
        assert lower >= float(exact.mid()) - 1e-10 * (size + np.sum(np.abs(beta) @ np.abs(X)) ** 2)
        upper = upper_bound(rows, np.arange(5), np.ones(5), Y, C, loss, Witnesses(Y, w[:, None], np.array([b])))
        exact = primal_value(X, y, C, loss, w, b)
        assert upper >= exact
        assert upper <= float(exact.mid()) * (1 + 1e-11)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("r", [1, 2, 5])
def test_a_bound_over_choices_is_below_the_exact_value_of_each(loss, r):
    for seed in range(3):
        X, y, beta, *_ = points(loss, seed)
        found = SubsetBounds(as_rows(X), y[:, None], np.full(9, 2.0), loss, np.ones(5), np.arange(5)).of(beta[:, None])
        values = [dual_value(X[:, list(S)], y, 2.0, loss, beta) for S in itertools.combinations(range(5), r)]
        least = min(float(value.mid()) for value in values)
        assert all(found.over(r) <= value for value in values)
        assert found.over(r) >= least - 1e-11 * (abs(least) + found.high.sum())


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_groups_and_scales_against_repeated_scaled_rows(loss):
    """A row of weight 2 is the same row twice, with half of its dual variable each."""
    X, y, beta, w, b = points(loss, 3)
    weight, scale, groups = np.where(np.arange(9) % 3, 1, 2), 2.0 ** np.arange(-2, 3), np.array([0, 1, 0, 2, 1])
    rule, costs = MarginLoss(loss), 2.0 * weight
    beta = rule.balanced(y, beta, costs)
    twice, scaled = np.repeat(np.arange(9), weight), X * scale
    found = SubsetBounds(as_rows(X), y[:, None], costs, loss, scale, groups).of(beta[:, None])
    for pair in itertools.combinations(range(3), 2):
        kept = np.isin(groups, pair)
        assert found.over(2) <= dual_value(scaled[twice][:, kept], y[twice], 2.0, loss, (beta / weight)[twice])
    above = objective_above(as_rows(scaled), y[:, None], costs, loss, w[:, None], np.array([b]))
    exact = primal_value(scaled[twice], y[twice], 2.0, loss, w, b)
    assert exact <= above
    assert above <= float(exact.mid()) * (1 + 1e-11)


def test_entropies_of_tiny_dual_variables_are_rounded_down():
    """1 - p is rounded; beside a gain of p log(1/p) that is not small."""
    X, y = np.zeros((6, 1)), np.repeat([-1.0, 1.0], 3)
    for p in 10.0 ** -np.arange(9.0, 15.0):
        for factor in np.random.default_rng(0).uniform(0.5, 1.0, 20):
            beta, C = y * p * factor, 1.0
            found = lower_bound(as_rows(X), y[:, None], C, "logistic", beta[:, None])
            assert found <= dual_value(X, y, C, "logistic", beta)


def test_gains_that_cancel_are_rounded_down():
    """y beta and beta^2 / (4 c) are large, and their difference is not: what mending the sum costs covers it."""
    rng, y, X = np.random.default_rng(0), np.repeat([-1.0, 1.0], 10), np.zeros((20, 1))
    for C in rng.uniform(0.1, 10.0, 50):
        beta = y * 4.0 * C * (1.0 + 1e-13 * rng.standard_normal())
        for loss in ("squared_hinge", "squared"):
            found = lower_bound(as_rows(X), y[:, None], C, loss, beta[:, None])
            assert found <= dual_value(X, y, C, loss, beta)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_sum_that_is_off_costs_what_mending_it_does(loss):
    """Long rows: one entry that is moved by little moves the quadratic form by much."""
    for seed in range(5):
        X, y, beta, *_ = points(loss, seed, shift=1e6)
        off = beta * (1.0 + 1e-10 * (np.arange(9) == np.argmax(np.abs(beta))))
        off = np.where(np.abs(off) > 2.0, beta * (1.0 - 1e-10), off) if MarginLoss(loss).bounded else off
        exact = dual_value(X, y, 2.0, loss, off)
        assert lower_bound(as_rows(X), y[:, None], 2.0, loss, off[:, None]) <= exact
        found = SubsetBounds(as_rows(X), y[:, None], np.full(9, 2.0), loss, np.ones(5), np.arange(5)).of(off[:, None])
        assert found.over(5) <= exact


def test_points_that_are_not_allowed_bound_no_choice():
    X, y, beta, *_ = points("hinge", 0)
    costs, every = np.full(9, 2.0), (np.ones(5), np.arange(5))
    for wrong in (beta + 1e-3, -beta, 3.0 * y, np.full(9, np.nan), np.where(np.arange(9) == 0, np.inf, beta)):
        assert SubsetBounds(as_rows(X), y[:, None], costs, "hinge", *every).of(wrong[:, None]).base == -np.inf
        assert lower_bound(as_rows(X), y[:, None], 2.0, "hinge", wrong[:, None]) == -np.inf


def test_settled_groups_by_forcing_each_in_and_out():
    rng = np.random.default_rng(0)
    for _ in range(200):
        G, r = 6, int(rng.integers(1, 7))
        found = SubsetBound(float(rng.uniform(5, 20)), rng.choice([rng.uniform(0, 3, G), np.ones(G)]))
        value = found.over(r) + float(rng.uniform(0, 1))
        always, never = found.settled(r, value)
        for g in range(G):
            bounds = {True: [], False: []}
            for S in itertools.combinations(range(G), r):
                bounds[g in S].append(found.base - 0.5 * found.high[list(S)].sum())
            assert always[g] == (min(bounds[False], default=np.inf) > value)
            assert never[g] == (min(bounds[True], default=np.inf) > value)


@pytest.mark.parametrize(
    ("loss", "height"), [("squared", 1e6), ("squared_hinge", 1.0), ("hinge", 1.0), ("logistic", 1.0)]
)
def test_what_a_sum_gains_by_not_being_zero_is_taken_off(loss, height):
    """One dual variable more of either sign proves no more than the balanced ones, also with large responses."""
    rng = np.random.default_rng(0)
    rule, costs = MarginLoss(loss), np.full(8, 2.0)
    y = height * np.where(np.arange(8) % 2, 1.0, -1.0)
    beta = rule.balanced(y, rng.uniform(0.2, 0.8, 8) * y, costs)
    balanced = gains_below(rule, y, costs, beta, 0.0, 1.0)
    assert balanced == pytest.approx(float(rule.gains(y, beta, costs).sum()), rel=1e-9)
    for i in range(8):
        for sign in (-1.0, 1.0):
            off = beta.copy()
            off[i] += sign * 0.5e-9 * np.abs(beta).sum()
            assert gains_below(rule, y, costs, off, 0.0, 1.0) < balanced


@pytest.mark.parametrize("loss", LOSSES)
def test_dual_variables_that_are_balanced_are_allowed_and_add_up_to_zero(loss):
    rng = np.random.default_rng(0)
    rule, y, costs = MarginLoss(loss), np.where(np.arange(9) % 2, 1.0, -1.0), rng.uniform(0.5, 2.0, 9)
    given = 3.0 * costs * rng.uniform(-0.5, 1.0, 9) * y  # some too large, some of the wrong sign
    found = rule.balanced(y, given, costs)
    assert found.sum() == pytest.approx(0.0, abs=1e-12)
    assert rule.allowed(y, found, costs)
    assert np.any(found)
    if rule.bounded:
        assert np.all((found * y >= 0.0) & (found * y <= costs))
