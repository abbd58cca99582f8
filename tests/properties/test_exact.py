"""Claims against exact arithmetic: a sample of trials/run.py."""

import numpy as np
import pytest
from trials.exact import objective_trial, trial

import rarefy
from oracles.exact import Kernels, dual_value, integers, primal_value, rational, semidefinite


@pytest.mark.parametrize("decade", range(15))
def test_claims_about_kernel_matrices_are_true_and_verified(decade):
    for seed in range(12):
        assert trial(1000 + seed, decade)[1] == []


def test_claims_about_objectives_are_true_and_verified(monkeypatch):
    for seed in range(3):
        assert objective_trial(1000 + seed)[1] == []
    monkeypatch.setattr("rarefy.certificates._optimality._ENTRIES", 0)  # no search, which takes most of the time
    for seed in range(3, 15):
        assert objective_trial(1000 + seed)[1] == []


def test_floats_are_integers_over_a_power_of_two():
    A = np.array([[0.1, -3e-300], [1e17, 0.0]])
    Z, s = integers(A)
    assert [[int(Z[i, j]) / 2**s for j in (0, 1)] for i in (0, 1)] == A.tolist()


def test_definiteness_is_decided_exactly():
    rng = np.random.default_rng(0)
    for n in range(1, 6):
        for rank in range(n + 1):
            B = integers(rng.integers(-9, 10, (n, rank)) if rank else np.zeros((n, 1)))[0]
            A = B * B.transpose() * rational(1.0)
            assert semidefinite(A)
            for i in range(n):
                tiny = type(A)([[rational(2.0**-200 if a == b == i else 0.0) for b in range(n)] for a in range(n)])
                assert semidefinite(A + tiny)
                if rank < n and rank:
                    moved = semidefinite(A - tiny)
                    assert moved == bool(np.linalg.matrix_rank(_without(A, i)) < np.linalg.matrix_rank(_plain(A)))
    assert not semidefinite(type(A)([[rational(0.0), rational(1.0)], [rational(1.0), rational(0.0)]]))


def _plain(A):
    return np.array([[float(A[i, j].p) / float(A[i, j].q) for j in range(A.ncols())] for i in range(A.nrows())])


def _without(A, i):
    return np.delete(np.delete(_plain(A), i, 0), i, 1)


def test_the_oracle_sees_claims_that_are_false_by_little():
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.standard_normal((4, 12))
        found = rarefy.certify(X, range(9), rng.uniform(0.5, 2.0, 9), alpha=1.0)
        kernels, r = Kernels(X, found.indices, found.weights), found.regularised
        assert not kernels.at_least(found.eigenvalues[0] * (1 + 1e-9))
        assert not kernels.at_most(found.eigenvalues[1] * (1 - 1e-9))
        assert not kernels.at_least(r.lo * (1 + 1e-9), 1.0)
        assert not kernels.at_most(r.hi * (1 - 1e-9), 1.0)
        assert not kernels.bias_at_most(r.bias_factor * (1 - 1e-9), 1.0)
        assert not kernels.variance_at_most(r.variance_factor * (1 - 1e-9), 1.0)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared"])
def test_exact_objectives_are_what_floats_give(loss):
    X, y = np.random.default_rng(0).standard_normal((8, 5)), np.repeat([-1.0, 1.0], 4)
    o = rarefy.certify(X, range(5), None, y, loss=loss, C=2.0).objective
    dual, primal = (
        dual_value(X, y, 2.0, loss, o.dual[:, 0]),
        primal_value(X, y, 2.0, loss, o.coef[:, 0], o.intercept[0]),
    )
    assert float(dual.mid()) == pytest.approx(o.lower, rel=1e-8)
    assert float(primal.mid()) == pytest.approx(o.upper, rel=1e-8)
    assert dual <= primal
