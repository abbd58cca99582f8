"""Sorted pairwise losses against the plain sum over all pairs and its derivatives."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.losses.logistic import Logistic
from rarefy.core.losses.pairs import PairLoss, Pairs, Profile
from rarefy.core.ranking.mauc import ranked_share


def loss_of_pairs(eps):
    return Logistic() if eps is None else SmoothedHinge(eps)


def loss(z, eps):
    """The loss at z with two derivatives; logistic if eps is None."""
    if eps is None:
        return np.logaddexp(0, -z), -1 / (1 + np.exp(z)), np.exp(z) / (1 + np.exp(z)) ** 2
    quad, line = (z < 1) & (z >= 1 - 2 * eps), z < 1 - 2 * eps
    value = np.where(line, 1 - eps - z, np.where(quad, (1 - z) ** 2 / (4 * eps), 0.0))
    return value, np.where(line, -1.0, np.where(quad, -(1 - z) / (2 * eps), 0.0)), np.where(quad, 1 / (2 * eps), 0.0)


def all_pairs(levels, p, f, eps):
    """Value, gradient and Hessian by looping over pairs."""
    value, gradient, hessian, total = 0.0, np.zeros(len(f)), np.zeros((len(f), len(f))), 0.0
    for i in range(len(f)):
        for j in range(len(f)):
            if levels[i] > levels[j]:
                weight = p[i] * p[j]
                v, first, second = loss(f[i] - f[j], eps)
                total += weight
                value += weight * v
                gradient[i] += weight * first
                gradient[j] -= weight * first
                hessian[i, i] += weight * second
                hessian[j, j] += weight * second
                hessian[i, j] -= weight * second
                hessian[j, i] -= weight * second
    return value / total, gradient / total, hessian / total


@st.composite
def problems(draw):
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    m, n_levels = draw(st.integers(4, 25)), draw(st.integers(2, 4))
    levels = rng.integers(0, n_levels, m)
    levels[:n_levels] = np.arange(n_levels)
    f = rng.standard_normal(m) * draw(st.sampled_from([0.1, 1.0, 5.0])) + draw(st.sampled_from([0.0, 100.0]))
    if draw(st.booleans()):
        f = np.round(f * 2) / 2  # many ties, and margins exactly where the pieces meet
    p = rng.integers(0, 4, m).astype(float) if draw(st.booleans()) else rng.random(m) + 0.1
    p[:n_levels] = 1.0
    return levels, p, f, rng.standard_normal(m)


@settings(max_examples=200, deadline=None)
@given(problems(), st.sampled_from([0.5, 0.25, 0.05, None]))
def test_value_gradient_and_hessian_equal_the_sums_over_all_pairs(problem, eps):
    levels, p, f, v = problem
    state = PairLoss(Pairs.of(levels, p), loss_of_pairs(eps)).at(f)
    value, gradient, hessian = all_pairs(levels, p, f, eps)
    V = np.stack([v, np.sin(9 * v)], axis=1)
    np.testing.assert_allclose(state.gram(V), V.T @ hessian @ V, atol=1e-8 * (1 + np.abs(hessian).max()))
    np.testing.assert_allclose(state.curvature(), np.diag(hessian), atol=1e-10 * (1 + np.abs(hessian).max()))
    assert state.value == pytest.approx(value, rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(state.gradient, gradient, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(state.hessian_product(v), hessian @ v, rtol=1e-10, atol=1e-10 * np.abs(hessian).max())


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.01, 1.0, 4.0, 1e3, 1e9]), st.booleans())
def test_the_logistic_loss_of_many_samples_is_interpolated_to_the_same_digits(seed, spread, ties):
    """Enough lower samples that nodes stand for them, at least where they are close together."""
    rng = np.random.default_rng(seed)
    up, low = 7, 700
    a, b = (
        rng.standard_normal(up) * np.where(np.arange(up) < 4, spread, 1.0),
        np.append(rng.standard_normal(low - 2), [-spread, spread]),
    )
    if ties:
        a, b = np.round(a), np.round(2 * b) / 2
    p, v = rng.random(up + low), rng.standard_normal(up + low)
    state = PairLoss(Pairs.of((np.arange(up + low) < up).astype(int), p), loss=Logistic()).at(np.append(a, b))
    z = np.clip(a[:, None] - b, -300.0, 300.0)  # beyond, numbers overflow in the plain formula only
    value, first, second = loss(z, None)
    weights = np.outer(p[:up], p[up:])
    total, value = weights.sum(), np.where(a[:, None] - b < -300.0, b - a[:, None], value)
    assert state.value == pytest.approx(np.sum(weights * value) / total, rel=1e-10)
    gradient = np.append((weights * first).sum(axis=1), -(weights * first).sum(axis=0)) / total
    np.testing.assert_allclose(state.gradient, gradient, rtol=1e-10, atol=1e-13)
    change = weights * second * (v[:up, None] - v[up:])
    product = np.append(change.sum(axis=1), -change.sum(axis=0)) / total
    np.testing.assert_allclose(state.hessian_product(v), product, rtol=1e-9, atol=1e-10 * np.abs(product).max())


def test_scores_that_are_far_from_each_other_need_no_more_memory():
    levels = (np.arange(2000) < 50).astype(int)
    f = np.linspace(-1e12, 1e12, 2000)
    tracemalloc.start()
    state = PairLoss(Pairs.of(levels, np.ones(2000)), loss=Logistic()).at(f)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.isfinite(state.value)
    assert peak < 20 * 8 * 50 * 2000


def pushed(levels, p, f, eps, power, share):
    """The value with a push, from the shares of all lower samples one by one (two levels)."""
    up, low = levels == 1, levels == 0
    shares = np.array([p[up] @ loss(f[up] - g, eps)[0] / p[up].sum() for g in f[low]])
    q = p[low].copy()
    left = share * q.sum()
    for j in np.argsort(-f[low], kind="stable"):
        q[j] = min(q[j], max(left, 0.0))
        left -= p[low][j]
    return (q @ shares**power / q.sum()) ** (1 / power)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.5, None]),
    st.sampled_from([1.0, 2.0, 4.0]),
    st.sampled_from([1.0, 0.3]),
)
def test_push_and_range_are_their_definitions_and_derivatives_agree(seed, eps, power, share):
    rng = np.random.default_rng(seed)
    levels, f, p, v = np.r_[1, 1, 0, 0, rng.integers(0, 2, 12)], *rng.standard_normal((3, 16))
    p = np.abs(p) + 0.1
    make = PairLoss(Pairs.of(levels, p), loss=loss_of_pairs(eps), push=power, profile=Profile.of(np.ones(1), share))
    state = make.at(f)
    assert state.value == pytest.approx(pushed(levels, p, f, eps, power, share), rel=1e-9)
    h = 1e-6
    ahead, behind = make.at(f + h * v), make.at(f - h * v)
    assert (ahead.value - behind.value) / (2 * h) == pytest.approx(state.gradient @ v, rel=1e-5, abs=1e-8)
    if eps is None:  # the hinge's second derivative jumps
        difference = (ahead.gradient - behind.gradient) / (2 * h)
        np.testing.assert_allclose(state.hessian_product(v), difference, rtol=1e-5, atol=1e-7)


def test_with_a_push_the_hinge_has_the_right_hessian_where_it_is_differentiable():
    rng = np.random.default_rng(3)
    levels = np.repeat([1, 0], [6, 20])
    f, v = 0.1 * rng.standard_normal(26) + 0.25 * levels, rng.standard_normal(26)  # all margins in the quadratic piece
    make = PairLoss(Pairs.of(levels), loss=SmoothedHinge(0.9), push=3.0)
    h = 1e-6
    difference = (make.at(f + h * v).gradient - make.at(f - h * v).gradient) / (2 * h)
    np.testing.assert_allclose(make.at(f).hessian_product(v), difference, rtol=1e-5, atol=1e-9)


@settings(max_examples=100, deadline=None)
@given(problems())
def test_ranked_share_counts_pairs_and_ties_half(problem):
    levels, p, f, _ = problem
    right = total = 0.0
    for i in range(len(f)):
        for j in range(len(f)):
            if levels[i] > levels[j]:
                total += p[i] * p[j]
                right += p[i] * p[j] * (1.0 if f[i] > f[j] else 0.5 if f[i] == f[j] else 0.0)
    assert ranked_share(levels, f, p) == pytest.approx(right / total, rel=1e-12)


def test_ranked_share_of_two_levels_is_the_area_under_the_curve():
    rng = np.random.default_rng(0)
    y, f, p = rng.integers(0, 2, 200), np.round(rng.standard_normal(200), 1), rng.random(200)
    assert ranked_share(y, f, p) == pytest.approx(roc_auc_score(y, f, sample_weight=p), rel=1e-12)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-200, 200), min_size=1, max_size=20), st.sampled_from([0.5, 0.25, 0.05]))
def test_the_hinge_of_single_scores_is_its_formula(steps, eps):
    t = np.array(steps) / 64.0  # exact numbers, also where the pieces meet
    for found, expected in zip(SmoothedHinge(eps).derivatives(t), loss(t, eps), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)
