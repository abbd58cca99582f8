"""As many columns as singular vectors: the bound on the residual, the plain loop, degenerate input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import textbook
from problems import STRUCTURES, make_matrix
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose
from rarefy.core.sparsify.adaptive import _cheapest, _LeftDirections, _Residual, adaptive_columns, projection_residual2


def chosen_columns(X, k, rng=None):
    rows = as_rows(X)
    return adaptive_columns(rows, decompose(rows).leading(k).V, rng)


def best_error(X, k):
    return float(np.sum(np.linalg.svd(X, compute_uv=False)[k:] ** 2))


def plain_residual2(X, J):
    """By the singular value decomposition of the columns; directions below 1e-15 of the first are not theirs."""
    U, sigma, _ = np.linalg.svd(X[:, J], full_matrices=False)
    U = U[:, sigma > 1e-15 * sigma.max(initial=0.0)]
    return float(np.sum((X - U @ (U.T @ X)) ** 2))


def graded(n, d, seed, decay):
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((size, min(n, d))))[0] for size in (n, d))
    return (U * decay ** np.arange(min(n, d))) @ V.T


@st.composite
def problems(draw):
    """(X, k), 1 <= k <= rank, of all structures and of graded singular values, wide and tall."""
    n, d = draw(st.integers(1, 10)), draw(st.integers(1, 40))
    seed = draw(st.integers(0, 2**32 - 1))
    kind = draw(st.sampled_from((*STRUCTURES, 0.9, 0.3, 1e-2)))
    X = make_matrix(kind, n, d, seed) if isinstance(kind, str) else graded(n, d, seed, kind)
    X[0, 0] += 1.0
    return X, draw(st.integers(1, max(1, decompose(as_rows(X)).rank)))


@settings(max_examples=150)
@given(problems())
def test_the_residual_is_at_most_k_plus_one_times_the_best(problem):
    X, k = problem
    J = chosen_columns(X, k)
    assert len(set(J)) == len(J) == k
    slack = 1e-18 * np.sum(X**2)  # residuals below 1e-11 of the columns count as zero, and grow with every step
    assert plain_residual2(X, J) <= (k + 1) * best_error(X, k) * (1 + 1e-7) + slack


@pytest.mark.parametrize("structure", STRUCTURES)
@pytest.mark.parametrize("k", [1, 4, 9])
def test_the_columns_are_those_of_the_plain_loop(structure, k):
    X = make_matrix(structure, 12, 60, 2)
    V = decompose(as_rows(X)).leading(min(k, np.linalg.matrix_rank(X))).V
    expected = textbook.adaptive_columns(X, V.take(np.arange(60)))
    np.testing.assert_array_equal(adaptive_columns(as_rows(X), V), expected)
    np.testing.assert_array_equal(adaptive_columns(as_rows(sp.csr_array(X)), V), expected)


@pytest.mark.parametrize("k", [1, 2, 7])
def test_the_bound_cannot_be_improved(k):
    # k + 1 columns whose only small singular value has equal entries in its vector: each is k + 1 times the best error
    # away from the span of the others.
    mean = np.full((k + 1, k + 1), 1 / (k + 1))
    X = np.eye(k + 1) - (1 - 1e-3) * mean
    quotient = plain_residual2(X, chosen_columns(X, k)) / best_error(X, k)
    assert 0.99 * (k + 1) < quotient <= (k + 1) * (1 + 1e-9)


def test_drawn_columns_keep_the_bound_on_average_and_depend_on_the_generator_alone():
    X = make_matrix("heavy tail", 8, 40, 1) + make_matrix("gaussian", 8, 40, 2)
    rows, k = as_rows(X), 3
    V = decompose(rows).leading(k).V
    found = [adaptive_columns(rows, V, np.random.default_rng(seed)) for seed in range(300)]
    assert all(len(set(J)) == k for J in found)
    assert len({tuple(J) for J in found}) > 10
    mean = np.mean([plain_residual2(X, J) for J in found])
    assert mean <= (k + 1) * best_error(X, k)
    np.testing.assert_array_equal(found[7], adaptive_columns(rows, V, np.random.default_rng(7)))


def test_the_first_column_is_drawn_in_proportion_to_its_leverage():
    X = make_matrix("gaussian", 5, 6, 0)
    rows = as_rows(X)
    V = decompose(rows).leading(2).V
    first = [adaptive_columns(rows, V, np.random.default_rng(seed))[0] for seed in range(1000)]
    # Standard deviation of a share: sqrt(0.25 / 1000) = 0.016 at most.
    np.testing.assert_allclose(np.bincount(first, minlength=6) / 1000, V.norms2 / 2, atol=0.06)


def test_norms_after_eliminations_are_those_of_the_matrices_themselves():
    X = make_matrix("gaussian", 9, 30, 5)
    rows = as_rows(X)
    V = decompose(rows).leading(5).V
    left, residual = _LeftDirections(V), _Residual(rows, V)
    W = V.take(np.arange(30))
    E = X - X @ W @ W.T
    for j in (4, 17, 2):
        u = W[j] / np.linalg.norm(W[j])
        c = W @ u
        E, W = E - np.outer(E[:, j], c / c[j]), W - np.outer(c, u)
        residual.eliminate(j, *left.take(j))
    np.testing.assert_allclose(residual.norms2, (E**2).sum(axis=0), atol=1e-12 * np.sum(E**2))
    np.testing.assert_allclose(left.norms2(), (W**2).sum(axis=1), atol=1e-13)


def test_at_the_rank_the_columns_span_all_and_are_chosen_by_length():
    X = make_matrix("low rank", 10, 40, 3)
    rank = np.linalg.matrix_rank(X)
    J = chosen_columns(X, rank)
    assert plain_residual2(X, J) <= 1e-20 * np.sum(X**2)
    assert projection_residual2(as_rows(X), J) <= 1e-20 * np.sum(X**2)


def test_ties_go_to_the_longest_row_and_then_to_the_lowest_index():
    assert _cheapest(np.zeros(4), np.array([0.1, 0.4, 0.4 + 1e-15, 0.1])) == 1
    assert _cheapest(np.array([0.0, 0.0, 1.0]), np.array([0.0, 0.5, 0.5])) == 1
    assert _cheapest(np.array([1.0, 3.0]), np.array([0.1, 0.9])) == 1


@pytest.mark.parametrize("scale", [1e-160, 1e-6, 1e6, 1e140])
def test_the_scale_of_the_data_does_not_matter(scale):
    X = make_matrix("gaussian", 7, 25, 4)
    np.testing.assert_array_equal(chosen_columns(X * scale, 3), chosen_columns(X, 3))
    J = np.array([2, 5])
    part = projection_residual2(as_rows(X * scale), J) / scale / scale
    np.testing.assert_allclose(part, plain_residual2(X, J), rtol=1e-10 if scale > 1e-100 else 0.1)


@settings(max_examples=100)
@given(problems(), st.data())
def test_the_residual_of_any_columns_is_that_of_the_pseudo_inverse(problem, data):
    X, _ = problem
    J = np.array(data.draw(st.lists(st.integers(0, X.shape[1] - 1), max_size=8, unique=True)), dtype=np.intp)
    expected = plain_residual2(X, J) if len(J) else np.sum(X**2)
    for stored in (X, sp.csr_array(X), sp.csc_array(X)):
        found = projection_residual2(as_rows(stored), J)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12 * np.sum(X**2))


def test_equal_and_zero_columns_explain_no_more_than_one_of_them():
    X = np.array([[1.0, 1.0, 0.0, 2.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 3.0]])
    assert projection_residual2(as_rows(X), np.array([0, 1, 2])) == pytest.approx(10.0)
    assert projection_residual2(as_rows(X), np.array([2])) == pytest.approx(16.0)
    assert projection_residual2(as_rows(X), np.array([0, 3])) == pytest.approx(0.0, abs=1e-28)


@pytest.mark.parametrize("shape", [(8, 30), (30, 8)])
def test_nothing_is_left_of_data_that_the_singular_vectors_explain(shape):
    """Rounding counts as zero, and what is small but no rounding does not."""
    X = graded(*shape, 0, 0.7)[:, :8] @ np.random.default_rng(1).standard_normal((8, shape[1]))
    low = X[:, :3] @ np.random.default_rng(2).standard_normal((3, shape[1]))
    V = decompose(as_rows(low)).leading(3).V
    assert np.all(_Residual(as_rows(low), V).norms2 == 0.0)
    found = _Residual(as_rows(X), decompose(as_rows(X)).leading(3).V).norms2
    assert np.all(found > 0.0)
    U, sigma, Vt = np.linalg.svd(X, full_matrices=False)
    scale = np.sqrt(found.sum() / np.sum(sigma[3:] ** 2))  # data are kept in a unit of their own
    np.testing.assert_allclose(found, scale**2 * np.sum(((U[:, 3:] * sigma[3:]) @ Vt[3:]) ** 2, axis=0), rtol=1e-6)
