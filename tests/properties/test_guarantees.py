"""What certificates claim about models, against independent solvers on random problems."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rarefy
from oracles import textbook
from rarefy.certificates import hard_margin2, prediction_difference_bound, ridge_risk
from rarefy.selection import BSSSelector, LeverageScoreSelector

pytestmark = pytest.mark.filterwarnings("ignore::rarefy.exceptions.FewerFeaturesWarning")  # repeated draws

# The general solver stops at about this relative accuracy.
SOLVER = 1e-4


def separable(seed, n, d):
    """Samples with labels; d >= n Gaussian columns make any labelling separable."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) < n // 2, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.3 * y[:, None], y


def selected(X, r, seed, kind):
    if kind == "bss":
        return BSSSelector(r).fit(X)
    if kind == "leverage":
        return LeverageScoreSelector(r, random_state=seed).fit(X)
    return LeverageScoreSelector(r, sampling="poisson", random_state=seed).fit(X)


problems = st.tuples(
    st.integers(0, 2**32 - 1),
    st.integers(2, 6),
    st.sampled_from([2.5, 6, 12, 40]),
    st.sampled_from(["bss", "leverage", "poisson"]),
)


@settings(max_examples=80)
@given(problems)
def test_margin_and_radius_hold_where_claimed(problem):
    seed, n, factor, kind = problem
    r = int(np.ceil(factor * n))
    X, y = separable(seed, n, 2 * r)
    selector = selected(X, r, seed, kind)
    certificate = selector.certificate_
    XR = selector.transform(X)

    _, before = textbook.svm_dual(X @ X.T, y)
    ball, ball_after = textbook.ball_radius2(X), textbook.ball_radius2(XR)
    assert ball_after <= certificate.radius_ratio * ball * (1 + SOLVER)
    assert ball_after <= certificate.eigenvalues[1] * ball * (1 + SOLVER)
    if certificate.margin_floor is None:
        return
    _, after = textbook.svm_dual(XR @ XR.T, y)
    # The optimum is half the squared norm of w, and the squared margin its inverse.
    margin2, margin2_after = 1 / (2 * before), 1 / (2 * after)
    np.testing.assert_allclose(hard_margin2(XR, y), margin2_after, rtol=SOLVER)
    assert margin2_after >= certificate.margin_floor * margin2 * (1 - SOLVER)
    growth = ball_after / margin2_after / (ball / margin2)
    assert growth <= certificate.radius_margin_ratio * (1 + 3 * SOLVER)
    assert (certificate.margin_ratio is None) == (certificate.distortion >= 0.5)
    if certificate.margin_ratio is not None:
        assert margin2_after >= certificate.margin_ratio * margin2 * (1 - SOLVER)
        assert certificate.margin_ratio <= certificate.margin_floor + 1e-12


def test_the_margin_bound_is_not_vacuous_for_enough_features():
    X, _ = separable(0, 4, 600)
    certificate = BSSSelector(300).fit(X).certificate_
    assert certificate.margin_ratio > 0.5
    assert certificate.margin_floor > certificate.margin_ratio


@settings(max_examples=60)
@given(problems, st.floats(-3, 2))
def test_the_soft_margin_statement_holds_for_any_C(problem, log_C):
    seed, n, factor, kind = problem
    r, C = int(np.ceil(factor * n)), 10**log_C
    X, y = separable(seed, n, 2 * r)
    selector = selected(X, r, seed, kind)
    eps = selector.certificate_.distortion
    if eps >= 1:
        return
    XR = selector.transform(X)
    _, Z = textbook.svm_dual(X @ X.T, y, C)
    alpha, Z_after = textbook.svm_dual(XR @ XR.T, y, C)
    w2 = np.sum((XR.T @ (alpha * y)) ** 2)
    assert Z_after - Z <= eps / (2 * (1 - eps)) * w2 + SOLVER * max(Z, 1e-3)


@settings(max_examples=60)
@given(problems, st.floats(-4, 2))
def test_ridge_risk_ratios_hold(problem, log_alpha):
    seed, n, factor, kind = problem
    r, alpha = int(np.ceil(factor * n)), 10**log_alpha
    X, _ = separable(seed, n, 2 * r)
    selector = selected(X, r, seed, kind)
    certificate = selector.certificate_
    if certificate.risk_ratio is None:
        assert certificate.distortion >= 1
        return
    XR = selector.transform(X)
    K, K_after = X @ X.T, XR @ XR.T
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(n)
    for signal in (z, np.linalg.eigh(K)[1][:, -1], np.linalg.eigh(K_after)[1][:, 0]):
        for s2 in (0.0, 1.0):
            before = ridge_risk(K, signal, alpha=alpha, noise_variance=s2)
            after = ridge_risk(K_after, signal, alpha=alpha, noise_variance=s2)
            assert after <= certificate.fixed_signal_risk_ratio(alpha) * before * (1 + 1e-9)
    # Average over an orthonormal basis of signals, and the worst unit signal.
    basis = np.eye(n)
    mean = np.mean([ridge_risk(K, e, alpha=alpha) for e in basis])
    mean_after = np.mean([ridge_risk(K_after, e, alpha=alpha) for e in basis])
    assert mean_after <= certificate.risk_ratio * mean * (1 + 1e-9)
    worst = ridge_risk(K, np.linalg.eigh(K)[1][:, 0], alpha=alpha)
    worst_after = ridge_risk(K_after, np.linalg.eigh(K_after)[1][:, 0], alpha=alpha)
    assert worst_after <= certificate.risk_ratio * worst * (1 + 1e-9)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-8, -0.05), st.floats(-6, 3))
def test_no_signal_passes_the_fixed_signal_ratio_however_small_the_distortion(seed, log_eps, log_alpha):
    rng = np.random.default_rng(seed)
    n, eps, alpha = int(rng.integers(1, 7)), 10**log_eps, 10**log_alpha
    sigma = np.sort(10 ** rng.uniform(-2, 2, n))[::-1]
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    E = eps * (Q * rng.choice([-1.0, 1.0], n)) @ Q.T
    measured = replace(
        BSSSelector(2 * n + 1).fit(rng.standard_normal((n, 4 * n + 2))).certificate_,
        eigenvalues=(1 - eps, 1 + eps),
        singular_values=(sigma[0], sigma[-1]),
    )
    M, M_after = (np.diag(sigma) @ G @ np.diag(sigma) + alpha * np.eye(n) for G in (np.eye(n), np.eye(n) + E))
    ratio = np.linalg.norm(np.linalg.solve(M_after, M), 2) ** 2  # the worst over all signals
    assert ratio <= measured.fixed_signal_risk_ratio(alpha) * (1 + 1e-6)
    assert measured.fixed_signal_risk_ratio(alpha) <= (1 + 2 * eps * sigma[0] / sigma[-1] / (1 - eps)) ** 2


def test_the_published_risk_bound_is_false_for_a_fixed_signal():
    # K = diag(1e6, 1) and a symmetric E of norm 1/2 that mixes the two directions.
    sigma = np.array([1e3, 1.0])
    E = 0.5 * np.array([[0.0, 1.0], [1.0, 0.0]])
    K = np.diag(sigma**2)
    K_after = np.diag(sigma) @ (np.eye(2) - E) @ np.diag(sigma)
    signal = np.array([1.0, 0.0])
    before = ridge_risk(K, signal, alpha=0.02, noise_variance=0.0)
    after = ridge_risk(K_after, signal, alpha=0.02, noise_variance=0.0)
    assert after > 1000 * (1 - 0.5) ** -2 * before
    kappa = 1e3
    assert after <= (1 - 0.5) ** -2 * ((kappa + 1 / kappa) / 2) ** 2 * before


def test_ridge_risk_is_the_expected_squared_error():
    rng = np.random.default_rng(0)
    n, alpha, s2 = 6, 1.8, 0.5
    X, z = rng.standard_normal((n, 20)), rng.standard_normal(n)
    K = X @ X.T
    hat = K @ np.linalg.inv(K + alpha * np.eye(n))
    noise = rng.standard_normal((200_000, n)) * np.sqrt(s2)
    simulated = np.mean(((z + noise) @ hat.T - z) ** 2)
    # Monte Carlo with 1.2 million terms: three digits.
    np.testing.assert_allclose(ridge_risk(K, z, alpha=alpha, noise_variance=s2), simulated, rtol=0.01)


@settings(max_examples=60)
@given(problems, st.floats(-4, 3))
def test_the_prediction_difference_bound_holds(problem, log_alpha):
    seed, n, factor, kind = problem
    r, alpha = int(np.ceil(factor * n)), 10**log_alpha
    X, y = separable(seed, n, 2 * r)
    selector = selected(X, r, seed, kind)
    rng = np.random.default_rng(seed)
    queries = np.vstack([X[:2], rng.standard_normal((4, 2 * r)), rng.standard_normal((2, n)) @ X])
    kept = np.flatnonzero(selector.support_)
    bound = prediction_difference_bound(X, kept, selector.weights_, y, queries, alpha=alpha)
    assert np.all(np.isfinite(bound))
    XR, QR = selector.transform(X), selector.transform(queries)
    f = queries @ X.T @ np.linalg.solve(X @ X.T + alpha * np.eye(n), y)
    f_after = QR @ XR.T @ np.linalg.solve(XR @ XR.T + alpha * np.eye(n), y)
    assert np.all(np.abs(f_after - f) <= bound * (1 + 1e-9) + 1e-10)


@settings(max_examples=60)
@given(
    st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 6), st.sampled_from(["plain", "line", "equal", "far"])
)
def test_the_enclosing_ball_agrees_with_a_general_solver(seed, n, d, shape):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if shape == "line":
        X = np.outer(rng.standard_normal(n), X[0])
    elif shape == "equal":
        X[n // 2 :] = X[0]
    elif shape == "far":
        X += 100.0
    ball = rarefy.minimum_enclosing_ball(X)
    centre = ball.weights @ X
    distance2 = ((X - centre) ** 2).sum(axis=1).max()
    scale = (X**2).sum(axis=1).max()
    assert np.all(ball.weights >= 0)
    np.testing.assert_allclose(ball.weights.sum(), 1.0)
    np.testing.assert_allclose(ball.radius2, distance2, atol=1e-9 * scale)
    assert ball.gap <= 1e-9 * scale
    if shape == "plain":
        np.testing.assert_allclose(ball.radius2, textbook.ball_radius2(X), rtol=1e-5, atol=1e-9)


def test_the_enclosing_ball_of_known_points():
    square = np.array([[0.0, 0], [2, 0], [0, 2], [2, 2], [1, 1]])
    assert rarefy.minimum_enclosing_ball(square).radius2 == pytest.approx(2.0)
    assert rarefy.minimum_enclosing_ball(np.zeros((3, 2))).radius2 == 0.0


def test_hard_margin_of_known_points_and_of_overlapping_classes():
    X = np.array([[0.0, 0], [0, 1], [3, 0], [3, 1]])
    assert hard_margin2(X, [0, 0, 1, 1]) == pytest.approx(1.5**2)
    assert hard_margin2(X, [0, 1, 1, 0]) == 0.0
    with pytest.raises(ValueError, match="between two classes; y of hard_margin2 has 3"):
        hard_margin2(X, [0, 1, 2, 0])
