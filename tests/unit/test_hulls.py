"""Balls and margins by working sets, against the Gram matrix of all pairs."""

import numpy as np
import pytest
import scipy.sparse as sp

import rarefy
from rarefy.core.linalg.rows import as_rows
from rarefy.core.svm import hulls


def cloud(kind, n):
    """Samples with two labels: `kind` says where."""
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, 3)), np.arange(n) % 2
    if kind == "ring":  # every sample is almost on the ball
        X = X[:, :2] / np.linalg.norm(X[:, :2], axis=1, keepdims=True) * (1.0 + 1e-6 * X[:, 2:])
    elif kind == "wide":
        X = rng.standard_normal((n, 40))
    elif kind == "wider":  # more columns than samples: nearly all are support vectors
        X = rng.standard_normal((n, n + 20))
    elif kind == "near":  # a linear rule in five columns, with little room between the classes
        X = rng.uniform(-1.0, 1.0, (n, 5))
        y = (X.sum(axis=1) > 0.0).astype(int)
        X = np.hstack([X + 1e-4 * (2 * y[:, None] - 1), rng.uniform(-30.0, 30.0, (n, 1))])
    elif kind == "apart":
        X[:, 0] += 20.0 * y
    elif kind == "equal":
        X = np.ones((n, 3))
    elif kind == "two":  # many copies of two samples
        X = np.where(y[:, None] == 1, 1.0, -2.0) * np.ones((n, 3))
    elif kind == "lonely":  # one class has a single sample
        y = (np.arange(n) == 7).astype(int)
        X[7] = 9.0
    elif kind == "line":
        X = np.sort(X[:, :1], axis=0)
        y = (np.arange(n) > n // 2).astype(int)
    return X, y


KINDS = ["normal", "ring", "wide", "near", "apart", "equal", "two", "lonely", "line"]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, np.float32])
@pytest.mark.parametrize(("kind", "n"), [*((kind, 500) for kind in KINDS), ("wider", 60)])
def test_working_sets_find_what_all_pairs_find(monkeypatch, kind, n, convert):
    X, y = cloud(kind, n)
    rows = as_rows(convert(X))
    ball, margin = hulls.enclosing_ball(rows), hulls.squared_margin(rows, y)
    monkeypatch.setattr(hulls, "_ALL_PAIRS", 1)
    monkeypatch.setattr(hulls, "_JOINING", 2)
    found = hulls.enclosing_ball(rows)
    assert found.radius2 == pytest.approx(ball.radius2, rel=1e-10, abs=1e-300)
    assert 0.0 <= found.gap <= 1e-10 * ball.radius2
    assert hulls.squared_margin(rows, y) == pytest.approx(margin, rel=1e-8, abs=1e-300)
    # What the weights say, from the samples themselves.
    assert found.weights.min() >= 0.0
    assert found.weights.sum() == pytest.approx(1.0)
    distance2 = ((X - found.weights @ X) ** 2).sum(axis=1).max()
    assert found.radius2 == pytest.approx(distance2, rel=1e-6 if convert is np.float32 else 1e-10)


@pytest.mark.parametrize("seed", range(5))
def test_the_gap_of_a_working_set_is_that_over_all_samples(monkeypatch, seed):
    # Stopped after one round, when most samples have not been looked at as members.
    X = np.random.default_rng(seed).standard_normal((300, 10)) * np.linspace(1.0, 3.0, 300)[:, None] ** seed
    exact = hulls.enclosing_ball(as_rows(X)).radius2
    monkeypatch.setattr(hulls, "_ALL_PAIRS", 1)
    monkeypatch.setattr(hulls, "_JOINING", 2)
    monkeypatch.setattr(hulls, "_MAX_ROUNDS", 1)
    early = hulls.enclosing_ball(as_rows(X))
    assert early.gap > 1e-3 * exact
    assert exact * (1.0 - 1e-12) <= early.radius2 <= exact + early.gap * (1.0 + 1e-12)
    assert early.radius2 == pytest.approx(((X - early.weights @ X) ** 2).sum(axis=1).max())


def test_working_sets_do_not_mind_an_offset_or_a_scale(monkeypatch):
    X, y = cloud("apart", 300)
    margin, radius = rarefy.hard_margin2(X, y), rarefy.minimum_enclosing_ball(X).radius2
    monkeypatch.setattr(hulls, "_ALL_PAIRS", 1)
    assert rarefy.hard_margin2(X + 1e8, y) == pytest.approx(margin, rel=1e-5)
    assert rarefy.minimum_enclosing_ball(X + 1e8).radius2 == pytest.approx(radius, rel=1e-5)
    for factor in (1e-150, 1e150):
        assert rarefy.hard_margin2(X * factor, y) / factor**2 == pytest.approx(margin)
        assert rarefy.minimum_enclosing_ball(sp.csr_array(X * factor)).radius2 / factor**2 == pytest.approx(radius)


def test_many_samples_need_no_matrix_of_pairs():
    # 200 000 x 200 000 numbers would be 320 GB.
    n = 200_000
    X = np.random.default_rng(0).standard_normal((n, 3))
    y = (X[:, 0] > 0.0).astype(int)
    X[:, 0] += 2.0 * y
    ball = rarefy.minimum_enclosing_ball(X)
    assert ball.gap <= 1e-10 * ball.radius2
    # The gap in the first coordinate is a lower bound; the true margin is hardly larger with so many samples.
    low = (X[y == 1, 0].min() - X[y == 0, 0].max()) / 2.0
    assert low**2 <= rarefy.hard_margin2(X, y) * (1.0 + 1e-12) <= (1.001 * low) ** 2
    assert rarefy.hard_margin2(X, np.arange(n) % 2) == 0.0
