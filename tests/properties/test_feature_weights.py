"""Feature weights in kernels: sums against plain loops, derivatives against a plain program and finite differences."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oracles.jets import Jet, exp
from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.kernel import FeatureKernel, Profile
from rarefy.core.feature_weights.objectives import split, weight_step, whole_problem
from rarefy.core.feature_weights.penalties import L1Penalty, SquaredPenalty
from rarefy.core.feature_weights.reduced_point import ReducedPoint
from rarefy.core.losses.hinge import SmoothedHinge


def entry(a, b, w, profile):
    """A kernel value, one feature after the other; w are the squares of the weights."""
    total = sum(w[k] * term(a[k], b[k], profile) for k in range(len(w)))
    return (total + profile.offset) ** profile.degree if profile.shape == "poly" else exp(-1.0 * total)


def term(a, b, profile):
    """What one column adds to a distance or a product."""
    return {"rbf": (a - b) ** 2, "laplacian": abs(a - b), "poly": a * b}[profile.shape]


def hinge(t, eps):
    """The smoothed hinge, by its three pieces."""
    here = t.value if isinstance(t, Jet) else t
    if here >= 1.0:
        return 0.0 * t
    return (1.0 - t) ** 2 * (0.25 / eps) if here >= 1.0 - 2.0 * eps else 1.0 - eps - t


def objective(case, B, b, z, nu, margin):
    """What is minimised, by loops, for numbers or jets; also all margins."""
    n, q, index = len(case.X), len(b), case.index
    squares = [one**2 for one in z]
    w = [squares[g] for g in case.columns]
    K = [[entry(case.X[i], case.X[j], w, case.profile) for j in index] for i in range(n)]
    penalty = case.classifiers.penalty
    total, margins = penalty.mu * sum(z if isinstance(penalty, L1Penalty) else squares), []
    for c in range(q):
        norm = 1.0
        if margin != "functional":
            norm = sum(B[i][c] * B[j][c] * K[index[i]][j] for i in range(len(index)) for j in range(len(index)))
        total = total + 0.5 * nu[c] ** 2 * norm
        for i in range(n):
            score = sum(K[i][j] * B[j][c] for j in range(len(index))) + b[c]
            t = case.classifiers.Y[i, c] * (nu[c] * score)
            margins.append(t.value if isinstance(t, Jet) else t)
            total = total + case.classifiers.costs[i] * hinge(t, case.classifiers.loss.eps)
    return total, np.array(margins)


class Case:
    """A small random problem: samples, labels, unequal costs, centres, coefficients and three weights.

    Each column has its own weight, or up to five columns share them.
    """

    def __init__(self, seed, shape, q, eps, grouped):
        rng = np.random.default_rng(seed)
        n, d = 6, 3
        columns = np.concatenate([np.arange(d), rng.integers(0, d, rng.integers(0, 3))])
        self.columns = rng.permutation(columns) if grouped else np.arange(d)
        self.groups = self.columns if grouped else None
        self.X, self.rng = rng.standard_normal((n, len(self.columns))), rng
        self.profile = Profile(shape, int(rng.integers(1, 4)), float(rng.uniform(0.2, 1.5)))
        Y = np.where(rng.random((n, q)) < 0.5, 1.0, -1.0)
        Y[0], Y[1] = 1.0, -1.0
        mu, kind = float(rng.uniform(0.0, 0.5)), (L1Penalty, SquaredPenalty)[int(rng.integers(0, 2))]
        self.classifiers = Classifiers(Y, rng.uniform(0.3, 3.0, n), kind(mu), SmoothedHinge(eps))
        self.index = np.sort(rng.choice(n, 4, replace=False))
        self.B, self.b = 0.5 * rng.standard_normal((len(self.index), q)), 0.3 * rng.standard_normal(q)
        self.z, self.nu = rng.uniform(0.1, 1.2, d), rng.uniform(0.5, 2.0, q)
        if rng.random() < 0.3:
            self.z[0] = 0.0

    def kernel(self):
        return FeatureKernel(self.X, self.X[self.index], self.profile, self.groups)


cases = st.builds(
    Case,
    st.integers(0, 2**32 - 1),
    st.sampled_from(["rbf", "laplacian", "poly"]),
    st.integers(1, 3),
    st.sampled_from([0.5, 0.2]),
    st.booleans(),
)


def with_all_centres(case):
    n, q = case.classifiers.Y.shape
    case.index, case.B = np.arange(n), 0.3 * case.rng.standard_normal((n, q))
    return case


whole_cases = cases.map(with_all_centres)


def differentiable(margins, eps, room=1e-3):
    """Leave out cases near 1 and 1 - 2 eps, where the second derivative of the loss is undefined."""
    assume(min(np.abs(margins - 1.0).min(), np.abs(margins - 1.0 + 2.0 * eps).min()) > room)


def check(at, x, exact, v):
    """Value, gradient and a product with the Hessian against the jet, and against differences."""
    point = at(x)
    scale, steep = np.abs(exact.gradient).max(), np.abs(exact.hessian).max()
    assert point.value == pytest.approx(exact.value, rel=1e-12)
    np.testing.assert_allclose(point.gradient, exact.gradient, rtol=1e-9, atol=1e-11 * scale)
    product = point.hessian_product(v)
    np.testing.assert_allclose(product, exact.hessian @ v, rtol=1e-9, atol=1e-11 * steep)
    h = 1e-5 / np.abs(v).max()
    ahead, behind = at(x + h * v), at(x - h * v)
    # Errors of central differences: h^2 times third derivatives, and rounding over h.
    assert (ahead.value - behind.value) / (2 * h) == pytest.approx(point.gradient @ v, rel=1e-6, abs=1e-7 * scale)
    np.testing.assert_allclose(product, (ahead.gradient - behind.gradient) / (2 * h), rtol=1e-6, atol=1e-6 * steep)


@settings(max_examples=90)
@given(cases)
def test_sums_equal_loops_over_pairs_and_features(case):
    kernel, w = case.kernel(), case.rng.standard_normal(3)
    M = case.rng.standard_normal((len(case.X), len(case.index)))
    combined, sums = np.zeros_like(M), np.zeros(3)
    for i, a in enumerate(case.X):
        for j, b in enumerate(case.X[case.index]):
            for k, g in enumerate(case.columns):
                a_k = term(a[k], b[k], case.profile)
                combined[i, j] += w[g] * a_k
                sums[g] += M[i, j] * a_k
            expected = entry(a, b, case.z[case.columns] ** 2, case.profile)
            assert kernel.matrix(case.z)[i, j] == pytest.approx(expected, rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(kernel.combined(w), combined, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(kernel.sums(M), sums, rtol=1e-9, atol=1e-11)


def test_distances_are_accurate_far_from_the_origin():
    X = np.random.default_rng(0).standard_normal((20, 3))
    near, far = (FeatureKernel(samples, samples[:7]).matrix(np.ones(3)) for samples in (X, X + 1e6))
    np.testing.assert_allclose(far, near, rtol=1e-8, atol=1e-9)


@settings(max_examples=90)
@given(cases, st.sampled_from(["fixed", "geometric", "functional"]))
def test_weight_step_has_the_derivatives_of_the_plain_program(case, margin):
    nu = np.ones_like(case.nu) if margin == "fixed" else case.nu
    x = case.z if margin == "fixed" else np.concatenate([case.z, nu])
    jets = Jet.variables(x)
    exact, margins = objective(case, case.B, case.b, jets[:3], jets[3:] or nu, margin)
    differentiable(margins, case.classifiers.loss.eps)
    at = weight_step(case.kernel(), case.classifiers, case.index, case.B, case.b, margin=margin)
    check(at, x, exact, case.rng.standard_normal(len(x)))


@settings(max_examples=90)
@given(whole_cases)
def test_whole_problem_has_the_derivatives_of_the_plain_program(case):
    n, q = case.classifiers.Y.shape
    x = np.concatenate([case.B.ravel(), case.b, case.z])
    exact, margins = _whole(case, x, n, q)
    differentiable(margins, case.classifiers.loss.eps)
    check(whole_problem(case.kernel(), case.classifiers), x, exact, case.rng.standard_normal(len(x)))


def _whole(case, x, n, q):
    jets = Jet.variables(x)
    B = [jets[i * q : (i + 1) * q] for i in range(n)]
    return objective(case, B, jets[n * q : n * q + q], jets[n * q + q :], np.ones(q), "fixed")


@settings(max_examples=40)
@given(whole_cases)
def test_reduced_hessian_is_the_schur_complement_of_the_whole_one(case):
    n, q = case.classifiers.Y.shape
    assume(case.profile.shape != "poly" or case.profile.degree == 3)  # else K is singular
    kernel = case.kernel()
    assume(np.linalg.cond(kernel.matrix(case.z)) < 1e4)
    here = ReducedPoint(kernel, case.classifiers, case.z, None)
    x = np.concatenate([here.B.ravel(), here.b, case.z])
    exact, margins = _whole(case, x, n, q)
    differentiable(margins, case.classifiers.loss.eps, 1e-2)
    curved = ((margins < 1.0) & (margins > 1.0 - 2.0 * case.classifiers.loss.eps)).reshape(q, n)
    assume(curved.any(axis=1).all())  # else the offset of a classifier is not determined
    m = n * q + q
    np.testing.assert_allclose(exact.gradient[:m], 0.0, atol=1e-8)  # the classifiers are optimal
    H, v = exact.hessian, case.rng.standard_normal(3)
    schur = H[m:, m:] - H[m:, :m] @ np.linalg.solve(H[:m, :m], H[:m, m:])
    assert here.value == pytest.approx(exact.value, rel=1e-12)
    np.testing.assert_allclose(here.gradient, exact.gradient[m:], rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(here.hessian_product(v), schur @ v, rtol=1e-7, atol=1e-7 * np.abs(H[m:, m:]).max())
    h = 1e-6
    ahead, behind = (ReducedPoint(kernel, case.classifiers, case.z + s * h * v, None) for s in (1, -1))
    difference = (ahead.gradient - behind.gradient) / (2 * h)
    np.testing.assert_allclose(here.hessian_product(v), difference, rtol=1e-4, atol=1e-5 * np.abs(H).max())
    assert (ahead.value - behind.value) / (2 * h) == pytest.approx(here.gradient @ v, rel=1e-5, abs=1e-6)


@settings(max_examples=20)
@given(whole_cases)
def test_a_warm_start_does_not_change_the_reduced_point(case):
    kernel = case.kernel()
    cold = ReducedPoint(kernel, case.classifiers, case.z, None)
    near = ReducedPoint(kernel, case.classifiers, case.z + 0.1, None)
    warm = ReducedPoint(kernel, case.classifiers, case.z, (near.B, near.b))
    assert warm.value == pytest.approx(cold.value, rel=1e-9)
    np.testing.assert_allclose(warm.gradient, cold.gradient, rtol=1e-5, atol=1e-6 * np.abs(cold.gradient).max())


def test_split_inverts_concatenation():
    B, b, z = np.arange(6.0).reshape(3, 2), np.array([6.0, 7.0]), np.array([8.0, 9.0, 10.0, 11.0])
    for part, expected in zip(split(np.concatenate([B.ravel(), b, z]), 3, 2), (B, b, z), strict=True):
        np.testing.assert_array_equal(part, expected)
