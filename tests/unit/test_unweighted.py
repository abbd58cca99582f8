"""Selection of exactly k rows without weights: the plain loop, its invariants, degenerate input."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import textbook
from problems import STRUCTURES, make_matrix, wide_problems
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose
from rarefy.core.sparsify import unweighted as module
from rarefy.core.sparsify.bss import bss
from rarefy.core.sparsify.candidates import norm_order
from rarefy.core.sparsify.unweighted import _gap, _Scan, unweighted


def right_vectors(X, rank=None):
    V = decompose(as_rows(X)).leading(rank).V
    return V, V.take(np.arange(X.shape[1]))


def ratio(V, found):
    eigenvalues = textbook.sandwich(V, found.indices, found.weights)
    return eigenvalues[-1] / eigenvalues[0]


@settings(max_examples=80)
@given(wide_problems(), st.data())
def test_the_rows_are_those_of_the_plain_loop_distinct_and_of_weight_one(problem, data):
    X, r = problem
    V, dense = right_vectors(X)
    k = data.draw(st.integers(V.shape[1], r))
    found = unweighted(V, k)
    np.testing.assert_array_equal(found.indices, textbook.unweighted(dense, k))
    assert len(set(found.indices)) == len(found.indices) == min(k, np.any(X != 0, axis=0).sum())
    np.testing.assert_array_equal(found.weights, 1.0)
    eigenvalues = textbook.sandwich(dense, found.indices, found.weights)
    assert eigenvalues[0] > 0
    assert eigenvalues[-1] <= 1 + 1e-12


@pytest.mark.parametrize("structure", STRUCTURES)
def test_the_rows_are_those_of_the_plain_loop_over_many_raises(structure):
    X = make_matrix(structure, 30, 250, 1)
    V, dense = right_vectors(X)
    for k in (V.shape[1], 70):
        np.testing.assert_array_equal(unweighted(V, k).indices, textbook.unweighted(dense, k))


def test_sparse_float32_and_tall_data_and_a_smaller_rank_give_the_rows_of_the_plain_loop():
    counts = make_matrix("counts", 12, 90, 3)
    V, dense = right_vectors(counts)
    np.testing.assert_array_equal(right_vectors(sp.csr_array(counts))[0].shape, V.shape)
    expected = textbook.unweighted(dense, 20)
    for X in (sp.csr_array(counts), sp.csc_array(counts), counts.astype(np.float32)):
        np.testing.assert_array_equal(unweighted(decompose(as_rows(X)).leading().V, 20).indices, expected)
    for X, rank in ((make_matrix("gaussian", 200, 30, 0), None), (counts, 5)):
        V, dense = right_vectors(X, rank)
        k = V.shape[1] if rank is None else 9
        np.testing.assert_array_equal(unweighted(V, k).indices, textbook.unweighted(dense, k))


@pytest.mark.parametrize("scale", [1e-150, 1e-5, 1e5, 1e150])
def test_the_scale_of_the_data_does_not_matter(scale):
    X = make_matrix("gaussian", 6, 40, 2)
    np.testing.assert_array_equal(
        unweighted(right_vectors(X * scale)[0], 12).indices, unweighted(right_vectors(X)[0], 12).indices
    )


def test_one_row_takes_the_largest_entries_and_one_column_is_taken():
    X = np.array([[1.0, -5.0, 3.0, 0.0, 4.0]])
    np.testing.assert_array_equal(unweighted(right_vectors(X)[0], 3).indices, [1, 4, 2])
    np.testing.assert_array_equal(unweighted(right_vectors(X)[0], 9).indices, [1, 4, 2, 0])
    np.testing.assert_array_equal(unweighted(right_vectors(np.array([[2.0], [1.0]]))[0], 1).indices, [0])


def test_as_many_rows_as_dimensions_span_the_space_also_when_all_rows_are_needed():
    X = make_matrix("gaussian", 15, 15, 0)
    np.testing.assert_array_equal(np.sort(unweighted(right_vectors(X)[0], 15).indices), np.arange(15))
    blocks = np.kron(np.eye(10), np.ones((1, 6)))  # six equal columns for each of ten directions
    found = unweighted(right_vectors(blocks)[0], 10).indices
    np.testing.assert_array_equal(np.sort(found // 6), np.arange(10))
    np.testing.assert_array_equal(found % 6, 0)


def test_equal_rows_are_taken_in_turn_from_every_direction():
    blocks = np.kron(np.eye(5), np.ones((1, 8)))
    found = unweighted(right_vectors(blocks)[0], 20).indices
    np.testing.assert_array_equal(np.bincount(found // 8), 4)


@pytest.mark.parametrize("structure", ["gaussian", "heavy tail", "counts"])
@pytest.mark.parametrize("share", [1.5, 2.0])
def test_the_ratio_of_the_eigenvalues_is_smaller_than_that_of_bss(structure, share):
    V, dense = right_vectors(make_matrix(structure, 30, 600, 0))
    k = int(share * V.shape[1])
    assert ratio(dense, unweighted(V, k)) < ratio(dense, bss(V, k))


def tied(n, copies):
    """Columns that are equal, and some that are equal but for their last digits."""
    X = np.kron(np.random.default_rng(5).standard_normal((n, 12)), np.ones((1, copies)))
    X[:, ::3] *= 1 + 1e-14
    return X


@pytest.mark.parametrize("few", [1, 5, 40])
@pytest.mark.parametrize("structure", [*STRUCTURES, "ties"])
def test_steps_that_are_taken_ahead_with_few_rows_are_those_of_the_plain_loop(structure, few, monkeypatch):
    X = tied(9, 20) if structure == "ties" else make_matrix(structure, 9, 150, 6)
    V, dense = right_vectors(X)
    monkeypatch.setattr(module, "_FEW_ENTRIES", few * V.shape[1])
    for k in (V.shape[1], 25, 60):
        np.testing.assert_array_equal(unweighted(V, k).indices, textbook.unweighted(dense, k))


def test_many_steps_take_few_passes(monkeypatch):
    V, dense = right_vectors(make_matrix("gaussian", 20, 3000, 7))
    monkeypatch.setattr(module, "_FEW_ENTRIES", 500 * V.shape[1])
    passes, blocks = [], type(V.features).blocks
    monkeypatch.setattr(type(V.features), "blocks", lambda self, T=None: passes.append(1) or blocks(self, T))
    np.testing.assert_array_equal(unweighted(V, 100).indices, textbook.unweighted(dense, 100))
    assert len(passes) < 60


@pytest.mark.parametrize("few", [3, 80])
def test_forms_and_potential_between_two_raises_are_those_of_the_dense_inverse(few, monkeypatch):
    monkeypatch.setattr(module, "_FEW_ENTRIES", few * 9)
    V, dense = right_vectors(make_matrix("heavy tail", 9, 80, 4))
    scan = _Scan(V, norm_order(V.norms2), 500.0)
    A, L = np.zeros((9, 9)), -9 / 500.0
    for i in scan.steps(4):
        A += np.outer(dense[i], dense[i])
    P = np.linalg.inv(A - L * np.eye(9))
    first, second = np.einsum("ij,jk,ik->i", dense, P, dense), ((dense @ P) ** 2).sum(axis=1)
    np.testing.assert_allclose(scan._forms.gains()[scan._free], (second / (1 + first))[scan._free], rtol=1e-9)
    np.testing.assert_allclose(scan._barrier.potential, np.trace(P), rtol=1e-11)
    scan._rise()
    np.testing.assert_allclose(scan._barrier.potential, 500.0, rtol=1e-12)


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=8), st.floats(1e-2, 1e9))
def test_the_gap_meets_the_level(values, level):
    lam = np.sort(values)
    g = _gap(lam, level)
    np.testing.assert_allclose(np.sum(1 / (lam - lam[0] + g)), level, rtol=1e-12)


def test_progress_counts_the_rows():
    seen = []
    unweighted(right_vectors(make_matrix("gaussian", 4, 30, 0))[0], 7, lambda done, total: seen.append((done, total)))
    assert seen == [(i + 1, 7) for i in range(7)]


def test_fewer_rows_than_dimensions_are_refused():
    V, _ = right_vectors(make_matrix("gaussian", 5, 20, 0))
    with pytest.raises(ValueError, match="0 < l <= k; got l=5 and k=4"):
        unweighted(V, 4)
