"""Alternating directions for many SVMs: where they end, against a linear program, and what they say on the way."""

import numpy as np
import pytest
from scipy.optimize import linprog

from rarefy.core.linalg.rows import as_rows
from rarefy.core.solvers.hinge_admm import hinge_admm, prox_maximum_norm, prox_one_norm


def problem(seed, n=40, S=4, q=3):
    rng = np.random.default_rng(seed)
    F = np.column_stack([rng.standard_normal((n, S)), np.ones(n)])
    Y = np.where(F[:, :S] @ rng.standard_normal((S, q)) + rng.standard_normal((n, q)) > 0.0, 1.0, -1.0)
    return F, Y, rng.uniform(0.5, 1.5, n)


def objective(F, y, p, alpha, norm, w):
    return alpha * np.linalg.norm(w[:-1], norm) + p @ np.maximum(0.0, 1.0 - y * (F @ w))


def optimum(F, y, p, alpha, norm):
    """By a linear program: w = u - v, and slacks; for the maximum norm one more variable that bounds the entries."""
    n, k = F.shape
    few = 1 if norm == np.inf else 0
    c = np.concatenate([np.full(2 * k, alpha if norm == 1 else 0.0), p, np.full(few, alpha)])
    c[[k - 1, 2 * k - 1]] = 0.0  # the intercept is free
    A = np.hstack([-y[:, None] * F, y[:, None] * F, -np.eye(n), np.zeros((n, few))])
    b = -np.ones(n)
    if few:
        entries = np.eye(k)[:-1]
        A = np.vstack([A, np.hstack([entries, entries, np.zeros((k - 1, n)), -np.ones((k - 1, 1))])])
        b = np.append(b, np.zeros(k - 1))
    return linprog(c, A, b).fun


def run(F, Y, p, alpha, prox, settled, max_iter):
    return hinge_admm(as_rows(F), Y, p, alpha, F.T @ F, prox, settled, max_iter=max_iter)


@pytest.mark.parametrize(("norm", "prox"), [(1, prox_one_norm), (np.inf, prox_maximum_norm)])
@pytest.mark.parametrize("alpha", [0.3, 3.0])
def test_the_end_is_the_optimum_of_each_and_its_dual_variables_are_feasible(norm, prox, alpha):
    F, Y, p = problem(0)
    found = run(F, Y, p, alpha, prox, lambda W, f: False, 3000)
    assert (found.n_iter, found.settled) == (3000, False)
    for w, y, beta in zip(found.W.T, Y.T, found.beta.T, strict=True):
        least = optimum(F, y, p, alpha, norm)
        assert least <= objective(F, y, p, alpha, norm, w) <= least * (1 + 1e-3)
        assert np.all((y * beta >= -1e-12) & (y * beta <= p * (1 + 1e-9)))
        assert beta.sum() == pytest.approx(0.0, abs=1e-3 * np.abs(beta).sum())
        # What the dual variables prove: the sum of their sizes, where F^T beta is within the dual ball.
        size = np.linalg.norm(F[:, :-1].T @ beta, 1 if norm == np.inf else np.inf)
        assert size <= alpha * (1 + 1e-2)
        assert np.abs(beta).sum() == pytest.approx(least, rel=1e-2)


@pytest.mark.parametrize("iterations", [10, 30, 40])
def test_scores_that_settle_end_it_with_what_the_limit_would_have_given(iterations):
    F, Y, p = problem(1)
    seen = []

    def settled(W, f):
        np.testing.assert_allclose(f, F @ W, atol=1e-12)
        seen.append(W)
        return len(seen) == iterations // 10

    found = run(F, Y, p, 1.0, prox_one_norm, settled, 200)
    limit = run(F, Y, p, 1.0, prox_one_norm, lambda W, f: False, iterations)
    assert (found.n_iter, found.settled) == (iterations, True)
    assert (limit.n_iter, limit.settled) == (iterations, False)
    np.testing.assert_array_equal(found.W, seen[-1])
    np.testing.assert_allclose(limit.W, found.W, rtol=1e-10)
    np.testing.assert_allclose(limit.beta, found.beta, rtol=1e-10)


def test_hundreds_of_iterations_settle_the_objective():
    """Weights of the samples, classes of one sample and columns of any size."""
    for seed in range(6):
        F, Y, p = problem(seed)
        Y[:, 0], Y[0, 0] = 1.0, -1.0
        F[:, 0] *= 30.0
        found = run(F, Y, p, 1.0, prox_one_norm, lambda W, f: False, 200)
        for w, y in zip(found.W.T, Y.T, strict=True):
            assert objective(F, y, p, 1.0, 1, w) <= 1.05 * optimum(F, y, p, 1.0, 1)
