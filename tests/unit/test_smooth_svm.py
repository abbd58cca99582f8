"""The SVM with a smoothed hinge: against libsvm, its optimality conditions, and corner cases."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.svm.smooth_svm import Along, smooth_svm


def problem(seed, n=40, gamma=0.3):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = np.where(X[:, 0] * X[:, 1] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return rbf_kernel(X, gamma=gamma), y, rng.uniform(0.2, 5.0, n)


def plain_value(K, y, costs, eps, beta, b):
    """The objective, by loops."""
    total = 0.5 * beta @ K @ beta
    for i in range(len(y)):
        t = y[i] * (K[i] @ beta + b)
        total += costs[i] * (0.0 if t >= 1 else (1 - t) ** 2 / (4 * eps) if t >= 1 - 2 * eps else 1 - eps - t)
    return total


@pytest.mark.parametrize("eps", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_equals_libsvm_with_a_lifted_diagonal(seed, equal, eps):
    """The smoothed hinge is max over a in [0, 1] of a (1 - t) - eps a^2: its dual has 2 eps / C_i on the diagonal."""
    K, y, costs = problem(seed)
    costs = np.full(len(y), 2.0) if equal else costs
    found = smooth_svm(K, y, costs, loss=SmoothedHinge(eps))
    svc = SVC(C=1.0, kernel="precomputed", tol=1e-10).fit(K + np.diag(2 * eps / costs), y, sample_weight=costs)
    expected = np.zeros(len(y))
    expected[svc.support_] = svc.dual_coef_[0]
    # libsvm keeps kernel values in single precision.
    np.testing.assert_allclose(found.beta, expected, atol=1e-5)
    assert found.b == pytest.approx(svc.intercept_[0], abs=1e-5)
    assert found.objective == pytest.approx(plain_value(K, y, costs, eps, found.beta, found.b), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_coefficients_satisfy_the_optimality_conditions(seed):
    K, y, costs = problem(seed)
    found = smooth_svm(K, y, costs)
    slopes = SmoothedHinge(0.5).derivatives(y * (K @ found.beta + found.b))[1]
    np.testing.assert_allclose(found.beta, -costs * y * slopes, atol=1e-9)
    assert found.beta.sum() == pytest.approx(0.0, abs=1e-9)
    assert found.excess <= 1e-10
    assert np.any(found.beta == 0.0), "coefficients of samples beyond the margin are exactly zero"


def test_no_other_classifier_has_a_lower_objective():
    K, y, costs = problem(1, n=15)
    found = smooth_svm(K, y, costs)
    best = minimize(lambda x: plain_value(K, y, costs, 0.5, x[:-1], x[-1]), np.r_[found.beta, found.b], method="BFGS")
    assert found.objective <= best.fun * (1 + 1e-9)
    rng = np.random.default_rng(0)
    for _ in range(50):
        other = found.beta + 0.01 * rng.standard_normal(15)
        assert plain_value(K, y, costs, 0.5, other, found.b + 0.01 * rng.standard_normal()) >= found.objective


@pytest.mark.parametrize("seed", range(5))
def test_the_start_does_not_change_the_solution(seed):
    K, y, costs = problem(seed)
    cold = smooth_svm(K, y, costs)
    near = smooth_svm(K**1.2, y, 1.5 * costs)
    far = np.random.default_rng(seed).standard_normal(len(y)), 3.0
    for start in ((near.beta, near.b), far, (cold.beta, cold.b)):
        warm = smooth_svm(K, y, costs, start=start)
        np.testing.assert_allclose(warm.beta, cold.beta, atol=1e-8)
        assert warm.b == pytest.approx(cold.b, abs=1e-8)
    assert warm.n_iter == 0


def test_without_samples_on_the_curved_piece_the_offset_is_the_middle_of_its_interval():
    """Two clusters with tiny costs: all losses are linear and the offset has an interval to choose from."""
    K, y = np.eye(6), np.repeat([1.0, -1.0], 3)
    found = smooth_svm(K, y, np.full(6, 1e-3), loss=SmoothedHinge(0.1))
    np.testing.assert_allclose(found.beta, 1e-3 * y, atol=1e-12)
    assert found.b == pytest.approx(0.0, abs=1e-6)  # the middle of the interval
    assert found.excess <= 1e-10


def test_one_sample_against_many():
    y = np.r_[1.0, -np.ones(9)]
    K = rbf_kernel(np.random.default_rng(0).standard_normal((10, 2)), gamma=0.1)
    for cost in (1e-3, 1.0, 1e3):
        found = smooth_svm(K, y, np.full(10, cost))
        assert found.excess <= 1e-9
        assert found.beta.sum() == pytest.approx(0.0, abs=1e-8 * cost)


def test_without_samples_on_the_curved_piece_the_offset_is_optimised_first():
    """From such a start a full step in coefficients and offset increases the objective."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        n = 6
        K = rbf_kernel(rng.standard_normal((n, 2)), gamma=0.5)
        y, costs = np.r_[1.0, -1.0, np.where(rng.random(n - 2) < 0.5, 1.0, -1.0)], rng.uniform(0.3, 3.0, n)
        beta, b = 0.5 * rng.standard_normal(n), float(4.0 * rng.standard_normal())
        found, cold = (smooth_svm(K, y, costs, loss=SmoothedHinge(0.1), start=start) for start in ((beta, b), None))
        assert found.excess <= 1e-9
        assert found.objective == pytest.approx(cold.objective, rel=1e-9)


def test_iterations_can_be_limited():
    K, y, costs = problem(0)
    found = smooth_svm(K, y, 1e3 * costs, max_iter=1)
    assert found.n_iter == 1
    assert found.excess > 1e-6


@pytest.mark.parametrize("eps", [0.5, 0.2])
def test_derivatives_of_the_loss_agree_with_differences(eps):
    t = np.concatenate([np.linspace(-2.0, 2.0, 41) + 0.013, [1.0 - 1e-9, 1.0 + 1e-9]])
    loss = SmoothedHinge(eps)
    value, first, second = loss.derivatives(t)
    h = 1e-6
    ahead, behind = loss.derivatives(t + h), loss.derivatives(t - h)
    np.testing.assert_allclose((ahead[0] - behind[0]) / (2 * h), first, atol=1e-5)
    away = np.minimum(np.abs(t - 1.0), np.abs(t - 1.0 + 2.0 * eps)) > 1e-3
    np.testing.assert_allclose(((ahead[1] - behind[1]) / (2 * h))[away], second[away], atol=1e-6)
    exact = np.maximum(0.0, 1.0 - t)
    assert np.all((exact - eps <= value + 1e-12) & (value <= exact + 1e-12))


@pytest.mark.parametrize("seed", range(30))
def test_the_line_search_agrees_with_bisection(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    rate = rng.standard_normal(n) * (rng.random(n) < 0.8)  # some samples do not move
    short, costs = np.round(2.0 * rng.standard_normal(n), int(rng.integers(0, 3))), rng.random(n) + 0.1  # ties
    along = Along(short, rate, costs, float(rng.choice([0.5, 0.05])), float(rng.normal()), float(rng.random()) * 0.1)
    begin, end = sorted(3.0 * rng.standard_normal(2))
    level = float(rng.normal() * 0.5)
    low, high = begin, end
    for _ in range(80):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if along.slope(middle) <= level else (low, middle)
    assert along.last_below(level, begin, end) == pytest.approx(low, abs=1e-9)
    # The slope is the derivative of the losses, written out.
    s, h = 0.3, 1e-6

    def value(s):
        t = 1.0 - (along.short - s * along.rate)
        return (
            along.costs @ SmoothedHinge(along.smoothing).derivatives(t)[0]
            + along.linear * s
            + 0.5 * along.square * s**2
        )

    assert along.slope(s) == pytest.approx((value(s + h) - value(s - h)) / (2 * h), abs=1e-5)
