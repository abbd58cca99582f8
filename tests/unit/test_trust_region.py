"""The trust region: bounds, negative curvature, and its limits."""

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from rarefy.core.solvers.trust_region import trust_region


def function(value, gradient, hessian, seen=None):
    """A function for `trust_region` from plain ones; `seen` collects where it was evaluated."""

    class Here:
        def __init__(self, x):
            self.x, self.value, self.gradient = x, value(x), gradient(x)
            if seen is not None:
                seen.append(x)

        def hessian_product(self, v):
            return hessian(self.x) @ v

    return Here


def quadratic(A, c, seen=None):
    return function(lambda x: 0.5 * x @ A @ x - c @ x, lambda x: A @ x - c, lambda x: A, seen)


@pytest.mark.parametrize("seed", range(8))
def test_non_negative_least_squares(seed):
    rng = np.random.default_rng(seed)
    M, r = rng.standard_normal((20, 8)), rng.standard_normal(20)
    seen = []
    at = quadratic(M.T @ M, M.T @ r, seen)
    found = trust_region(at, np.ones(8), lower=np.zeros(8), radius=1.0, tol=1e-13, max_iter=300)
    assert np.min(seen) > 0.0, "no iterate is on the bound or beyond it"
    expected = nnls(M, r)[0]
    assert found.status == "optimal"
    np.testing.assert_allclose(found.x, expected, atol=1e-4)
    assert found.value <= at(expected).value + 1e-9


@pytest.mark.parametrize("seed", range(6))
def test_convex_quadratics_with_bounds_on_some_variables(seed):
    rng = np.random.default_rng(100 + seed)
    n = 10
    M = rng.standard_normal((n, n))
    A, c = M @ M.T + 0.1 * np.eye(n), 3.0 * rng.standard_normal(n)
    lower = np.where(rng.random(n) < 0.6, rng.standard_normal(n), -np.inf)
    start = np.where(np.isfinite(lower), lower + 1.0, 0.0)
    found = trust_region(quadratic(A, c), start, lower=lower, radius=1.0, tol=1e-14, max_iter=500)
    bounds = [(low if np.isfinite(low) else None, None) for low in lower]
    at = quadratic(A, c)
    expected = minimize(
        lambda x: at(x).value,
        start,
        jac=lambda x: at(x).gradient,
        bounds=bounds,
        options={"ftol": 1e-15, "gtol": 1e-10},
    )
    np.testing.assert_allclose(found.x, expected.x, atol=1e-4)
    assert found.value <= expected.fun + 1e-8 * (1 + abs(expected.fun))


@pytest.mark.parametrize("seed", range(8))
def test_iterates_stay_strictly_within_bounds_without_convexity(seed):
    rng = np.random.default_rng(seed)
    n = 6
    M = rng.standard_normal((n, n))
    A, c, seen = M + M.T, rng.standard_normal(n), []

    def value(x):
        return 0.5 * x @ A @ x - c @ x + 0.25 * np.sum(x**4)

    at = function(value, lambda x: A @ x - c + x**3, lambda x: A + 3 * np.diag(x**2), seen)
    found = trust_region(at, np.full(n, 0.5), lower=np.zeros(n), radius=0.3, tol=1e-12, max_iter=300)
    assert np.min(seen) > 0.0
    assert found.status == "optimal"
    g, at_bound = A @ found.x - c + found.x**3, found.x < 1e-4
    assert np.all(np.abs(g[~at_bound]) < 1e-3)
    assert np.all(g[at_bound] > -1e-3)
    inside = ~at_bound
    H = (A + 3 * np.diag(found.x**2))[np.ix_(inside, inside)]
    assert not inside.any() or np.linalg.eigvalsh(H)[0] > -1e-3
    values = [value(x) for x in seen]
    assert found.value == min(values), "the best iterate is the one returned"


def saddle(x):
    """(s)^2 - 3 s t + t^2 with s = x1 + x2 - 2, t = x3 - 1, and quartics that bound it below."""
    s, t = x[0] + x[1] - 2.0, x[2] - 1.0
    return s**2 - 3 * s * t + t**2 + 0.1 * (s**4 + t**4) + 0.5 * (x[0] - x[1]) ** 2


def saddle_gradient(x):
    s, t = x[0] + x[1] - 2.0, x[2] - 1.0
    in_s, in_t = 2 * s - 3 * t + 0.4 * s**3, 2 * t - 3 * s + 0.4 * t**3
    return np.array([in_s + (x[0] - x[1]), in_s - (x[0] - x[1]), in_t])


def saddle_hessian(x):
    s, t = x[0] + x[1] - 2.0, x[2] - 1.0
    ss, tt = 2 + 1.2 * s**2, 2 + 1.2 * t**2
    return np.array([[ss + 1, ss - 1, -3.0], [ss - 1, ss + 1, -3.0], [-3.0, -3.0, tt]])


@pytest.mark.parametrize("lower", [None, np.full(3, -10.0), np.array([0.0, -np.inf, 0.0])])
def test_saddle_points_are_left(lower):
    """The thesis's example where alternating stops: (1, 1, 1) is stationary, and a minimum in either group alone."""
    centre = np.ones(3)
    np.testing.assert_allclose(saddle_gradient(centre), 0.0)
    assert np.linalg.eigvalsh(saddle_hessian(centre))[0] < 0.0 < np.linalg.eigvalsh(saddle_hessian(centre)[:2, :2])[0]
    at = function(saddle, saddle_gradient, saddle_hessian)
    start = centre + 1e-6 * np.array([1.0, 2.0, 1.0])
    found = trust_region(at, start, lower=lower, radius=0.5, tol=1e-13, max_iter=300)
    assert found.status == "optimal"
    assert found.value < -0.1 < saddle(centre)
    assert np.abs(saddle_gradient(found.x)[found.x > 1e-3]).max() < 1e-4


def test_along_negative_curvature_a_step_goes_to_the_border():
    seen = []
    at = function(lambda x: -0.5 * x @ x, lambda x: -x, lambda x: -np.eye(2), seen)
    trust_region(at, np.array([1e-3, 0.0]), radius=0.7, max_iter=1)
    assert np.linalg.norm(seen[1] - seen[0]) == pytest.approx(0.7)


def test_the_iteration_limit_is_reported():
    rng = np.random.default_rng(0)
    M = rng.standard_normal((8, 8))
    at = quadratic(M @ M.T + 0.01 * np.eye(8), rng.standard_normal(8))
    calls = []
    found = trust_region(
        at,
        np.ones(8),
        lower=np.zeros(8),
        radius=1e-3,
        max_iter=3,
        callback=lambda iteration, value, predicted: calls.append((iteration, value, predicted)),
    )
    assert found.status == "iteration limit"
    assert found.n_iter == 3
    assert [c[0] for c in calls] == [0, 1, 2]
    assert calls[0][1] > calls[1][1] > calls[2][1]


def test_wrong_derivatives_end_in_a_stall():
    at = function(lambda x: float(np.abs(x).sum()), lambda x: -1e10 * np.ones(2), lambda x: np.eye(2))
    assert trust_region(at, np.zeros(2), radius=1.0).status == "stalled"


def test_the_minimum_of_a_function_that_is_not_convex_is_found():
    """Rosenbrock's function, with and without a preconditioner."""
    at = function(
        lambda x: (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2,
        lambda x: np.array([-2 * (1 - x[0]) - 400 * x[0] * (x[1] - x[0] ** 2), 200 * (x[1] - x[0] ** 2)]),
        lambda x: np.array([[2 - 400 * (x[1] - 3 * x[0] ** 2), -400 * x[0]], [-400 * x[0], 200]]),
    )
    for start in ([-1.2, 1.0], [0.0, 5.0], [3.0, -3.0]):
        for precondition in (None, lambda here: None, lambda here: lambda v: v / np.array([800.0, 200.0])):
            found = trust_region(at, np.array(start), precondition=precondition, tol=1e-14, max_iter=500)
            np.testing.assert_allclose(found.x, [1.0, 1.0], atol=1e-4)
            assert found.status == "optimal"


def test_a_convex_quadratic_without_bounds_is_solved():
    rng = np.random.default_rng(0)
    B = rng.standard_normal((6, 6))
    A, b = B @ B.T + np.eye(6), rng.standard_normal(6)
    found = trust_region(quadratic(A, b), np.zeros(6), tol=1e-14, max_iter=50)
    np.testing.assert_allclose(found.x, np.linalg.solve(A, b), atol=1e-6)


@pytest.mark.parametrize("good", [True, False])
def test_a_preconditioner_is_made_anew_only_where_it_has_become_poor(good):
    """A function that is nearly quadratic: the inverse Hessian at the start serves to the end, another one does not."""
    rng, n = np.random.default_rng(0), 30
    scale = 10.0 ** np.linspace(0, 4, n)
    c, made, products = rng.standard_normal(n), [], []

    def hessian(x):
        products.append(x)
        return np.diag(scale + 0.03 * x**2)

    def precondition(here):
        made.append(here.x)
        inverse = 1.0 / (scale if good else scale[::-1])
        return lambda v: inverse * v

    at = function(
        lambda x: 0.5 * x @ (scale * x) - c @ x + 0.0025 * np.sum(x**4),
        lambda x: scale * x - c + 0.01 * x**3,
        hessian,
    )
    found = trust_region(at, 10.0 * np.ones(n), precondition=precondition, tol=1e-14, max_iter=100)
    assert found.status == "optimal"
    assert found.n_products == len(products)
    assert found.n_iter > 2
    if good:
        assert len(made) == 1
        assert found.n_products <= 6 * found.n_iter
    else:
        assert 3 <= len(made) <= found.n_iter + 1


def test_what_is_left_to_gain_is_half_the_squared_gradient_in_the_norm_of_the_inverse():
    """Near a minimum no product is needed to say it, where the preconditioner is nearly the inverse Hessian."""
    rng = np.random.default_rng(0)
    B = rng.standard_normal((6, 6))
    A, c = B @ B.T + np.eye(6), rng.standard_normal(6)
    inverse, minimum = np.linalg.inv(A), np.linalg.solve(A, c)
    x = minimum + 1e-5 * rng.standard_normal(6)
    gradient = A @ x - c
    found = trust_region(quadratic(A, c), x, precondition=lambda here: lambda v: inverse @ v, tol=1e-4)
    assert (found.status, found.n_iter, found.n_products) == ("optimal", 0, 0)
    assert found.decrement == pytest.approx(0.5 * gradient @ inverse @ gradient, rel=1e-6)
    assert found.decrement == pytest.approx(found.value - quadratic(A, c)(minimum).value, rel=1e-2)


def test_a_known_least_curvature_saves_products_and_keeps_the_promised_accuracy():
    rng = np.random.default_rng(1)
    saved = 0
    for _ in range(30):
        Q = np.linalg.qr(rng.standard_normal((12, 12)))[0]
        A, b, tol = Q @ np.diag(np.logspace(-2, 2, 12)) @ Q.T, rng.standard_normal(12), 1e-6
        least = 0.5 * float(b @ np.linalg.solve(A, b))  # the minimum is -least
        plain = trust_region(quadratic(A, b), np.zeros(12), tol=tol)
        known = trust_region(quadratic(A, b), np.zeros(12), convexity=1e-2, tol=tol)
        assert known.status == "optimal"
        # A step that minimises the model does so up to a hundredth of its decrease.
        assert known.value + least <= 1.01 * tol * (1e-3 + abs(known.value))
        saved += plain.n_products - known.n_products
    assert saved > 0


def test_variables_land_on_their_bounds_unless_the_function_is_higher_there():
    A, c = np.diag([0.0, 2.0]), np.array([-1.0, 2.0])  # the first variable is pushed to its bound
    at = quadratic(A, c)
    start, options = np.array([1.0, 3.0]), {"lower": np.zeros(2), "tol": 1e-6}
    landed = trust_region(at, start, land=True, **options)
    plain = trust_region(at, start, **options)
    assert landed.x[0] == 0.0 < plain.x[0]
    assert landed.n_iter <= plain.n_iter
    np.testing.assert_allclose(landed.x, [0.0, 1.0], atol=1e-3)
    jump = function(lambda x: at(x).value + (x[0] == 0.0), lambda x: A @ x - c, lambda x: A)
    assert trust_region(jump, start, land=True, **options).x[0] > 0.0
