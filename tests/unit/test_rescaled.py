"""Starts for another penalty, against the linear program in two variables."""

import numpy as np
import pytest
from scipy.optimize import linprog

from rarefy.core.linalg.rows import DenseRows
from rarefy.core.svm.rescaled import best_intercept, rescaled


def plane(alpha, size, f, y, p):
    """min alpha s size + p^T xi over s in [0, 2], b and xi by HiGHS."""
    m = len(f)
    rows = -np.column_stack([y * f, y, np.eye(m)])
    bounds = [(0.0, 2.0), (None, None)] + [(0.0, None)] * m
    return linprog(np.concatenate([[alpha * size, 0.0], p]), A_ub=rows, b_ub=-np.ones(m), bounds=bounds)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("norm", [1, 2, "inf"])
def test_the_multiple_and_its_intercept_are_the_best(seed, norm):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((60, 3))
    y = np.where(D[:, 0] + rng.standard_normal(60) > 0.3, 1.0, -1.0)
    p = rng.uniform(0.0, 2.0, 60) * (rng.uniform(size=60) > 0.2)
    extra = [np.ones((60, 1))] + ([np.zeros((60, 1))] if norm == "inf" else [])
    F, w, alpha = np.hstack([D, *extra]), 3.0 * rng.standard_normal(3), 10.0 ** rng.uniform(-2, 1)
    size = np.linalg.norm(w, ord=np.inf if norm == "inf" else norm)
    start = rescaled(DenseRows(F), y, alpha, p, norm, -np.append(w, np.full(len(extra), size)))
    s = np.linalg.norm(start[:3]) / np.linalg.norm(w)
    np.testing.assert_allclose(start[:3], -s * w)
    value = alpha * s * size + p @ np.maximum(0.0, 1.0 - y * (D @ -start[:3] - start[3]))
    best = plane(alpha, size, D @ w, y, p).fun
    # The multiple is found to 0.02, with slopes of at most that of all losses.
    assert best - 1e-9 <= value <= best + 0.02 * (alpha * size + p @ np.abs(D @ w))
    if norm == "inf":
        assert start[4] == pytest.approx(-s * size)


@pytest.mark.parametrize("seed", range(8))
def test_the_intercept_has_the_least_loss(seed):
    rng = np.random.default_rng(seed)
    f, p = rng.standard_normal(30), rng.integers(0, 3, 30).astype(float)
    y = np.where(rng.uniform(size=30) < (0.5 if seed % 2 else 0.02), 1.0, -1.0)

    def loss(b):
        return p @ np.maximum(0.0, 1.0 - y * (f + b))

    least = min(loss(b) for b in np.concatenate([1.0 - f, -1.0 - f]))
    assert loss(best_intercept(f, y, p)) == pytest.approx(least)
