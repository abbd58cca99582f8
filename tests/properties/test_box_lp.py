"""The interior point method against HiGHS and against enumeration, on random programs."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles.linear_programs import (
    Program,
    assert_optimal,
    assert_proved_infeasible,
    best_value,
    best_value_by_enumeration,
    highs,
    svm_dual,
)
from rarefy.core.linalg.rows import DenseRows, SparseRows

STRUCTURES = (
    "gaussian",
    "duplicate rows",
    "duplicate columns",
    "constant column",
    "zero column",
    "unbalanced",
    "separable",
    "scales",
    "ties",
    "weights",
)

seeds = st.integers(0, 2**32 - 1)
# Small penalties leave beta almost no room, large ones make the boxes of z a million times wider than those of beta.
alphas = st.floats(-6.0, 6.0).map(lambda exponent: 10.0**exponent)


def make_svm(structure, M, S, alpha, seed):
    """The dual of a 1-norm SVM with both classes present and of positive weight."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((M, S))
    labels = rng.choice([-1.0, 1.0], M)
    labels[:2] = 1.0, -1.0
    weights = np.ones(M)
    if structure == "duplicate rows":  # half of the time with labels that contradict each other
        copied = rng.integers(0, max(2, M // 3), M)
        copied[:2] = 0, 1
        D, labels = D[copied], labels[copied] if rng.random() < 0.5 else labels
    elif structure == "duplicate columns":
        D = D[:, rng.integers(0, max(1, S // 2), S)]
    elif structure == "constant column":
        D[:, rng.integers(S)] = rng.choice([1.0, -3.0])
    elif structure == "zero column":
        D[:, rng.integers(S)] = 0.0
    elif structure == "unbalanced":
        labels = np.where(np.arange(M) < rng.integers(1, min(3, M - 1) + 1), 1.0, -1.0)
    elif structure == "separable":
        D[:, 0] += 6.0 * labels
    elif structure == "scales":
        D *= 10.0 ** rng.uniform(-4, 3, S)
    elif structure == "ties":
        D = rng.integers(-2, 3, (M, S)).astype(float)
    elif structure == "weights":  # a weight of zero fixes its variable
        weights = np.where(rng.random(M) < 0.3, 0.0, rng.uniform(0.0, 3.0, M))
        weights[:2] = rng.uniform(0.1, 3.0, 2)
    return svm_dual(D, labels, alpha, weights)


svms = st.builds(make_svm, st.sampled_from(STRUCTURES), st.integers(2, 40), st.integers(1, 5), alphas, seeds)


@settings(max_examples=150)
@given(svms)
def test_the_dual_of_a_1_norm_svm_is_solved_as_by_highs_whether_variables_are_fixed_or_not(p):
    best = best_value(p)
    for fix in (True, False):
        assert_optimal(p, p.solve(fix=fix), best)


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("alpha", [1e-2, 1.0, 300.0])
def test_hundreds_of_examples_of_every_structure_are_solved_as_by_highs(structure, alpha):
    # Large enough for most variables to be fixed, which the random programs above are not.
    for seed in range(2):
        p = make_svm(structure, 400, 4, alpha, seed)
        best = best_value(p)
        for fix in (True, False):
            assert_optimal(p, p.solve(fix=fix), best)


@settings(max_examples=30)
@given(st.sampled_from(STRUCTURES), st.sampled_from([12, 150]), st.integers(1, 4), seeds, alphas, alphas)
def test_a_start_from_another_penalty_leads_to_the_same_optimum(structure, M, S, seed, alpha, other):
    p, elsewhere = make_svm(structure, M, S, alpha, seed), make_svm(structure, M, S, other, seed)
    start = elsewhere.solve()
    for fix in (True, False):
        assert_optimal(p, p.solve(fix=fix, start=start.y), best_value(p))


@settings(max_examples=20)
@given(st.sampled_from(STRUCTURES), st.sampled_from([12, 150]), st.integers(1, 4), st.floats(0.01, 100.0), seeds)
def test_every_form_of_storage_gives_the_same_optimum(structure, M, S, alpha, seed):
    p = make_svm(structure, M, S, alpha, seed)
    # In float32 the entries are other numbers: the program is that of the rounded ones, in every form.
    rounded = p.A.astype(np.float32)
    p = Program(rounded.astype(np.float64), p.few, p.c, p.lower, p.upper, p.rhs, p.curvature)
    best = best_value(p)
    for form in (
        lambda A: DenseRows(A.astype(np.float32)),
        lambda A: DenseRows(np.asfortranarray(A)),
        lambda A: SparseRows(sp.csr_array(A)),
        lambda A: SparseRows(sp.csc_array(A.astype(np.float32))),
    ):
        assert_optimal(p, p.solve(form=form), best)


KINDS = ("boxed", "lower", "upper", "free", "fixed")


def make_program(n, q, k, kinds, bounded, off, seed):
    """A program with a point strictly inside its bounds that misses the equations by about `off`."""
    rng = np.random.default_rng(seed)
    N = n + q
    Z = rng.standard_normal((N, k)) if rng.random() < 0.6 else rng.integers(-2, 3, (N, k)).astype(float)
    inside = 3.0 * rng.standard_normal(N)
    lower, upper = (inside + sign * (0.01 + rng.exponential(1.0, N)) for sign in (-1, 1))
    kind = rng.choice(kinds, N)
    lower[np.isin(kind, ["upper", "free"])] = -np.inf
    upper[np.isin(kind, ["lower", "free"])] = np.inf
    lower, upper = (np.where(kind == "fixed", inside, bound) for bound in (lower, upper))
    c = rng.standard_normal(N)
    if bounded:  # costs that some y balances: every reduced cost pulls towards a bound that is there
        pull = np.where(
            np.isinf(lower), np.where(np.isinf(upper), 0.0, -np.abs(c)), np.where(np.isinf(upper), np.abs(c), c)
        )
        c = Z @ rng.standard_normal(k) + pull
    rhs = Z.T @ inside + off * rng.standard_normal(k)
    return Program(Z[:n], Z[n:], c, lower, upper, rhs, np.zeros(N))


sizes = st.integers(1, 20), st.integers(0, 3), st.integers(1, 5)
some_kinds = st.lists(st.sampled_from(KINDS), min_size=1, max_size=4, unique=True)


@settings(max_examples=100)
@given(st.builds(make_program, *sizes, some_kinds, st.just(True), st.just(0.0), seeds))
def test_a_program_with_finite_infinite_and_equal_bounds_is_solved_as_by_highs(p):
    best = best_value(p)
    for fix in (True, False):
        assert_optimal(p, p.solve(fix=fix), best)


@settings(max_examples=100)
@given(st.builds(make_program, *sizes, some_kinds, st.booleans(), st.sampled_from([0.0, 0.3, 30.0]), seeds))
def test_nothing_is_said_of_a_program_that_is_not_true(p):
    found, truth = p.solve(), highs(p)
    if found.status == "optimal":
        assert_optimal(p, found, truth.fun)
    elif found.status == "infeasible":
        assert truth.status == 2
        assert_proved_infeasible(p, found)
    elif found.status == "unbounded":  # also said of programs that would be, were they feasible
        assert truth.status in (2, 3)
    else:  # where there is no solution it may give up; where there is one it may not
        assert truth.status != 0


@settings(max_examples=40)
@given(st.integers(2, 12), st.integers(0, 2), st.integers(1, 3), st.sampled_from([0.1, 1.0, 100.0]), seeds)
def test_an_equation_out_of_reach_of_the_box_is_never_called_solved(n, q, k, excess, seed):
    p = make_program(n, q, k, ["boxed"], True, 0.0, seed)
    farthest = np.where(p.matrix[:, 0] > 0, p.upper, p.lower) @ p.matrix[:, 0]
    rhs = p.rhs.copy()
    rhs[0] = farthest + excess
    p = Program(p.A, p.few, p.c, p.lower, p.upper, rhs, p.curvature)
    for fix in (True, False):
        found = p.solve(fix=fix)
        assert found.status in ("infeasible", "stalled")
        if found.status == "infeasible":
            assert_proved_infeasible(p, found)


def make_curved(n, q, k, kinds, straight, scale, seed):
    """A program with curvature, but for a share of its boxed variables."""
    p = make_program(n, q, k, kinds, False, 0.0, seed)
    rng = np.random.default_rng(seed)
    curved = (rng.random(n + q) >= straight) | np.isinf(p.lower) | np.isinf(p.upper)
    return Program(p.A, p.few, p.c, p.lower, p.upper, p.rhs, np.where(curved, scale * rng.exponential(1.0, n + q), 0.0))


@settings(max_examples=50)
@given(
    st.builds(
        make_curved,
        st.integers(1, 4),
        st.integers(0, 1),
        st.integers(1, 2),
        some_kinds,
        st.sampled_from([0.0, 0.4]),
        st.sampled_from([0.01, 1.0, 100.0]),
        seeds,
    )
)
def test_a_program_with_curvature_is_solved_as_by_enumeration(p):
    best = best_value_by_enumeration(p)
    assert np.isfinite(best)
    for fix in (True, False):
        assert_optimal(p, p.solve(fix=fix), best)
