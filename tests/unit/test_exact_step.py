"""The exact step of a trust region against a plain twin and scipy's minimiser."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from rarefy.core.solvers.exact_step import exact_step
from rarefy.core.solvers.trust_region import trust_region


def model(H, g):
    """A model as `exact_step` takes it."""
    return SimpleNamespace(value=0.0, gradient=g, hessian_product=lambda v: H @ v)


def random_model(seed, n=5, shift=0.0):
    rng = np.random.default_rng(seed)
    M = rng.standard_normal((n, n))
    return 0.5 * (M + M.T) + shift * np.eye(n), rng.standard_normal(n)


def brute_force(H, g, radius):
    """The least value within the ball that scipy finds from many starts, the ball as a constraint."""
    rng, best = np.random.default_rng(0), np.inf
    for _ in range(20):
        start = rng.standard_normal(len(g))
        found = minimize(
            lambda s: g @ s + 0.5 * s @ H @ s,
            0.9 * radius * start / np.linalg.norm(start),
            jac=lambda s: g + H @ s,
            constraints={"type": "ineq", "fun": lambda s: radius**2 - s @ s, "jac": lambda s: -2.0 * s},
            method="SLSQP",
            options={"ftol": 1e-14, "maxiter": 500},
        )
        s = found.x * min(1.0, radius / np.linalg.norm(found.x))
        best = min(best, g @ s + 0.5 * s @ H @ s)
    return best


def assert_minimum(H, g, radius, found):
    """The conditions of the thesis's reference that hold at the minimum within the ball and nowhere else."""
    s, decrease, size, inside, n_products = found
    assert n_products == len(g)
    # A difference of numbers of this size, and so with their rounding.
    rounding = 1e-13 * (1.0 + np.linalg.norm(g) * size + np.abs(H).max() * size**2)
    assert decrease == pytest.approx(-(g @ s) - 0.5 * s @ H @ s, abs=rounding)
    assert size == pytest.approx(np.linalg.norm(s))
    assert size <= radius * (1 + 1e-10)
    sigma = -(s @ (H @ s + g)) / (s @ s) if s.any() else 0.0
    np.testing.assert_allclose(H @ s + sigma * s, -g, atol=1e-7 * (1 + np.abs(H).max()))
    assert sigma >= -1e-8
    assert np.linalg.eigvalsh(H + sigma * np.eye(len(g)))[0] >= -1e-7
    assert inside == (np.linalg.eigvalsh(H)[0] >= 0 and abs(sigma) < 1e-8)
    assert inside or size == pytest.approx(radius)


@pytest.mark.parametrize("shift", [-4.0, 0.0, 4.0])
@pytest.mark.parametrize("radius", [1e-3, 0.3, 5.0])
@pytest.mark.parametrize("seed", range(4))
def test_random_models_have_the_minimum_that_brute_force_finds(seed, radius, shift):
    H, g = random_model(seed, shift=shift)
    found = exact_step(model(H, g), radius)
    assert_minimum(H, g, radius, found)
    least = brute_force(H, g, radius)
    assert -found[1] == pytest.approx(least, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_the_hard_case_goes_to_the_border_along_an_eigenvector(seed, times):
    """The gradient has no part in the eigenspace, of one or two dimensions, of the lowest eigenvalue."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((6, 6)))[0]
    values = np.sort(rng.standard_normal(6))
    values[:times] = -2.0
    part = rng.standard_normal(6)
    part[:times] = 0.0
    H, g = Q @ np.diag(values) @ Q.T, Q @ part
    inner = np.linalg.norm(part[times:] / (values[times:] + 2.0))
    for radius in (0.5 * inner, 1.5 * inner, 10.0 * inner):
        found = exact_step(model(H, g), radius)
        assert_minimum(H, g, radius, found)
        assert -found[1] == pytest.approx(brute_force(H, g, radius), rel=1e-6)


@pytest.mark.parametrize("part", [1e-3, 1e-8, 1e-14, 1e-30])
def test_nearly_hard_cases_are_solved(part):
    H, g = np.diag([-1.0, 2.0, 3.0]), np.array([part, 1.0, 1.0])
    found = exact_step(model(H, g), 2.0)
    assert_minimum(H, g, 2.0, found)


def test_at_a_stationary_point_the_step_follows_negative_curvature():
    step, decrease, size, inside, _ = exact_step(model(np.diag([1.0, -2.0]), np.zeros(2)), 0.5)
    np.testing.assert_allclose(np.abs(step), [0.0, 0.5], atol=1e-12)
    assert (decrease, size, inside) == (pytest.approx(0.25), pytest.approx(0.5), False)
    step, decrease, *_, inside, _ = exact_step(model(np.diag([1.0, 2.0]), np.zeros(2)), 0.5)
    assert not step.any()
    assert (decrease, inside) == (0.0, True)


def test_singular_models_end_inside_only_if_they_have_a_minimum_there():
    H = np.diag([0.0, 1.0])
    assert exact_step(model(H, np.array([0.0, 0.1])), 1.0)[3]
    for g, radius in (([0.1, 0.1], 1.0), ([0.0, 3.0], 1.0)):
        found = exact_step(model(H, np.array(g)), radius)
        assert_minimum(H, np.array(g), radius, found)
        assert not found[3]
    step = exact_step(model(np.zeros((2, 2)), np.array([3.0, 4.0])), 2.0)[0]
    np.testing.assert_allclose(step, [-1.2, -1.6])


def test_without_a_region_a_convex_model_is_solved_and_others_get_a_finite_step():
    H, g = random_model(0, shift=5.0)
    step, *_, inside, _ = exact_step(model(H, g), np.inf)
    np.testing.assert_allclose(step, -np.linalg.solve(H, g))
    assert inside
    for H in (np.diag([-1.0, 1.0]), np.diag([0.0, 1.0])):
        step, decrease, size, inside, _ = exact_step(model(H, np.array([1.0, 0.0])), np.inf)
        assert size == pytest.approx(1.0)
        assert decrease > 0
        assert not inside
    assert exact_step(model(np.diag([-1.0, 1.0]), np.array([0.0, 5.0])), np.inf)[2] == pytest.approx(2.5)


def quadratic(A, c):
    return lambda x: SimpleNamespace(value=0.5 * x @ A @ x - c @ x, gradient=A @ x - c, hessian_product=lambda v: A @ v)


@pytest.mark.parametrize("seed", range(6))
def test_convex_problems_have_the_same_minimum_as_with_conjugate_gradients(seed):
    rng = np.random.default_rng(seed)
    M, r = rng.standard_normal((20, 8)), rng.standard_normal(20)
    at = quadratic(M.T @ M, M.T @ r)
    options = {"lower": np.zeros(8), "radius": 1.0, "tol": 1e-13, "max_iter": 300}
    exact = trust_region(at, np.ones(8), rule=exact_step, **options)
    krylov = trust_region(at, np.ones(8), **options)
    assert exact.status == "optimal"
    np.testing.assert_allclose(exact.x, krylov.x, atol=1e-4)
    np.testing.assert_allclose(exact.x, nnls(M, r)[0], atol=1e-4)
    free = trust_region(at, np.ones(8), rule=exact_step)
    np.testing.assert_allclose(free.x, np.linalg.lstsq(M, r, rcond=None)[0], atol=1e-8)


def test_a_stationary_saddle_point_is_left_by_the_exact_step_alone():
    """s^2 - 3 s t + t^2 + (s^4 + t^4) / 10 at 0: conjugate gradients have no gradient to start from."""

    def at(x):
        s, t = x
        H = np.array([[2.0 + 1.2 * s**2, -3.0], [-3.0, 2.0 + 1.2 * t**2]])
        gradient = np.array([2 * s - 3 * t + 0.4 * s**3, 2 * t - 3 * s + 0.4 * t**3])
        value = s**2 - 3 * s * t + t**2 + 0.1 * (s**4 + t**4)
        return SimpleNamespace(value=value, gradient=gradient, hessian_product=lambda v: H @ v)

    assert trust_region(at, np.zeros(2), radius=0.5).value == 0.0
    for lower in (None, np.full(2, -10.0)):
        found = trust_region(at, np.zeros(2), lower=lower, rule=exact_step, radius=0.5, tol=1e-13)
        assert found.status == "optimal"
        np.testing.assert_allclose(np.abs(found.x), np.sqrt(2.5), atol=1e-5)


@pytest.mark.parametrize("shift", [-4.0, 0.0, 4.0])
@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1e6, 1e12])
def test_the_unit_of_the_function_does_not_matter(shift, unit):
    """The hard case too, in which the gradient has no part along the lowest eigenvector."""
    H, g = random_model(3, shift=shift)
    for gradient in (g, g - np.linalg.eigh(H)[1][:, 0] * (np.linalg.eigh(H)[1][:, 0] @ g)):
        _, decrease, size, inside, _ = exact_step(model(H, gradient), 2.0)
        scaled = exact_step(model(unit * H, unit * gradient), 2.0)
        assert scaled[1] == pytest.approx(unit * decrease, rel=1e-9)
        assert (scaled[2], scaled[3]) == (pytest.approx(size), inside)
