"""The suite that every form of Rows must pass: add a form to FORMS and it is tested."""

import numpy as np
import pytest
import scipy.sparse as sp

from rarefy.backends.kernel_rows import KernelRows
from rarefy.core.linalg import rows as rows_module
from rarefy.core.linalg.rows import DenseRows, Rows, SparseRows, as_rows, streamed_gram

FORMS = {
    "dense": lambda A: DenseRows(A),
    "dense, column order": lambda A: DenseRows(np.asfortranarray(A)),
    "dense float32": lambda A: DenseRows(A.astype(np.float32)),
    "dense float32, column order": lambda A: DenseRows(np.asfortranarray(A, dtype=np.float32)),
    "dense float32, every second row": lambda A: DenseRows(np.repeat(A.astype(np.float32), 2, axis=0)[::2]),
    "csr array": lambda A: SparseRows(sp.csr_array(A)),
    "csc array": lambda A: SparseRows(sp.csc_array(A)),
    "csr matrix": lambda A: SparseRows(sp.csr_matrix(A)),
    "csr float32": lambda A: SparseRows(sp.csr_array(A.astype(np.float32))),
    "transposed dense": lambda A: DenseRows(A.T).T,
    "kernel values on demand": lambda A: KernelRows(A.shape, lambda rows: A[rows]),
    "transposed on demand": lambda A: KernelRows(A.T.shape, lambda rows: A.T[rows]).T,
    "transposed csr": lambda A: SparseRows(sp.csr_array(A.T)).T,
}


@pytest.fixture
def A():
    rng = np.random.default_rng(0)
    # Values that float32 holds exactly, so that all forms hold the same matrix.
    return np.round(rng.standard_normal((37, 5)) * 8) / 8 * (rng.random((37, 5)) < 0.5)


@pytest.fixture(params=FORMS, autouse=True)
def form(request, A, monkeypatch):
    monkeypatch.setattr(rows_module, "BLOCK_ENTRIES", 40)  # several blocks, the last one ragged
    monkeypatch.setattr(rows_module, "WIDENED_ENTRIES", 40)
    return FORMS[request.param](A)


def test_is_rows(form, A):
    assert isinstance(form, Rows)
    assert form.shape == A.shape
    assert form.dtype.kind == "f"


def test_products(form, A):
    rng = np.random.default_rng(1)
    for v in (rng.standard_normal(5), rng.standard_normal((5, 3))):
        np.testing.assert_allclose(form @ v, A @ v, rtol=1e-13)
    u = rng.standard_normal((37, 2))
    np.testing.assert_allclose(form.T @ u, A.T @ u, rtol=1e-12)
    assert (form @ v).dtype == np.float64


def test_gram_with_and_without_weights(form, A):
    w = np.random.default_rng(2).random(37)
    np.testing.assert_allclose(form.gram(), A.T @ A, rtol=1e-13)
    np.testing.assert_allclose(form.gram(w), A.T @ (w[:, None] * A), rtol=1e-12)
    assert form.gram().dtype == np.float64


def test_sketch(form, A):
    G = np.random.default_rng(3).standard_normal((4, 37))
    np.testing.assert_allclose(form.sketch(G), G @ A, rtol=1e-12, atol=1e-14)


def test_take_subset_and_scaled(form, A):
    index = np.array([30, 2, 2, 36])
    T = np.random.default_rng(4).standard_normal((5, 2))
    np.testing.assert_array_equal(form.take(index), A[index])
    np.testing.assert_allclose(form.take(index, T), A[index] @ T, rtol=1e-13, atol=1e-15)
    np.testing.assert_array_equal(form.subset(index).take(np.arange(4)), A[index])
    np.testing.assert_array_equal(form.scaled(0.5).take(np.arange(37)), A / 2)


def test_blocks_cover_all_rows_in_order(form, A):
    T = np.random.default_rng(5).standard_normal((5, 2))
    for factor, expected in ((None, A), (T, A @ T)):
        slices, blocks = zip(*form.blocks(factor), strict=True)
        assert len(blocks) > 1
        assert [s.start for s in slices] == [0, *[s.stop for s in slices[:-1]]]
        np.testing.assert_allclose(np.vstack(blocks), expected, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(streamed_gram(form, T), (A @ T).T @ (A @ T), rtol=1e-12)


def test_no_rows_at_all(form):
    none = form.subset(np.array([], dtype=np.intp))
    assert none.shape == (0, 5)
    np.testing.assert_array_equal(none.gram(), np.zeros((5, 5)))
    assert (none @ np.ones(5)).shape == (0,)
    np.testing.assert_array_equal(none.T @ np.ones(0), np.zeros(5))
    np.testing.assert_array_equal(none.sketch(np.ones((2, 0))), np.zeros((2, 5)))


def test_as_rows_widens_integers_and_booleans(A):
    counts = np.full((300, 2), 1, dtype=np.int8)
    for X in (counts, counts.astype(bool), sp.csr_array(counts), sp.csr_array(counts.astype(bool))):
        assert as_rows(X).gram()[0, 1] == 300
    same = as_rows(counts)
    assert as_rows(same) is same
