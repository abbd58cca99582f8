"""Singular vectors through Gram matrices, against numpy's SVD."""

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import textbook
from rarefy.backends.kernel_rows import KernelRows
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.sketch import Sketch
from rarefy.core.linalg.spectrum import decompose, residual_norms2, resolve_rank


def with_singular_values(n, d, sigma, seed=0):
    """A matrix whose decomposition is known."""
    rng = np.random.default_rng(seed)
    k = len(sigma)
    U, V = np.linalg.qr(rng.standard_normal((n, k)))[0], np.linalg.qr(rng.standard_normal((d, k)))[0]
    return (U * sigma) @ V.T, V


def projector(V):
    return V @ V.T


@pytest.mark.parametrize("shape", [(6, 40), (40, 6), (9, 9)])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array, sp.csr_matrix])
def test_spans_the_row_space_with_the_right_singular_values(shape, convert):
    sigma = np.array([5.0, 3, 1, 0.2])
    X, V = with_singular_values(*shape, sigma)
    spec = decompose(as_rows(convert(X))).leading()
    found = spec.V.take(np.arange(shape[1]))
    assert spec.rank == spec.numerical_rank == 4
    np.testing.assert_allclose(spec.sigma, sigma, rtol=1e-12)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-13)
    np.testing.assert_allclose(projector(found), projector(V), atol=1e-12)
    np.testing.assert_allclose(spec.V.norms2, (found**2).sum(axis=1), rtol=1e-12)
    assert spec.energy == pytest.approx(1.0)


@pytest.mark.parametrize("shape", [(6, 40), (40, 6)])
@pytest.mark.parametrize("smallest", [1e-3, 1e-5, 1e-7, 1e-9, 1e-11, 1e-12])
def test_resolves_small_singular_values_as_a_full_svd_would(shape, smallest):
    X, _ = with_singular_values(*shape, np.array([1.0, 0.5, smallest]))
    spec = decompose(as_rows(X)).leading()
    V, sigma = textbook.right_vectors(X)
    found = spec.V.take(np.arange(shape[1]))
    assert spec.rank == 3
    # The direction of the smallest value is known to eps / smallest, in either route.
    accuracy = 1e-14 / smallest
    np.testing.assert_allclose(spec.sigma, sigma, rtol=max(1e-6, 10 * accuracy))
    np.testing.assert_allclose(found.T @ found, np.eye(3), atol=max(1e-12, 10 * accuracy))
    np.testing.assert_allclose(projector(found), projector(V), atol=max(1e-12, 10 * accuracy))


def test_rounding_does_not_count_as_rank():
    X, _ = with_singular_values(30, 200, np.ones(7))
    assert decompose(as_rows(X)).leading().numerical_rank == 7
    repeated = np.vstack([X, X, X[:5] + X[5:10]])
    assert decompose(as_rows(repeated)).leading().numerical_rank == 7


def test_float32_data_are_exact_numbers_too():
    # Small directions of float32 data are real: a certificate must not lose them.
    X = np.random.default_rng(0).standard_normal((10, 5000))
    X[3:] *= 1e-5
    assert decompose(as_rows(X.astype(np.float32))).leading().numerical_rank == 10


@pytest.mark.parametrize("factor", [1e-160, 1e-150, 1e150, 1e152])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_huge_and_tiny_scales(factor, convert):
    X, _ = with_singular_values(5, 30, np.array([3.0, 2, 1]))
    spec, scaled = decompose(as_rows(X)).leading(), decompose(as_rows(convert(X * factor))).leading()
    assert scaled.rank == 3
    np.testing.assert_allclose(scaled.sigma / factor, spec.sigma, rtol=1e-12)
    np.testing.assert_allclose(scaled.V.norms2, spec.V.norms2, atol=1e-12)


def test_keeps_what_is_asked_for_and_says_what_is_left_out():
    X, V = with_singular_values(8, 50, np.array([3.0, 2, 1]))
    spec = (whole := decompose(as_rows(X))).leading(whole.rank - 1)
    assert (spec.rank, spec.numerical_rank) == (2, 3)
    assert spec.energy == pytest.approx(13 / 14)
    Vk = V[:, :2]
    residual = X - X @ Vk @ Vk.T
    expected = (residual**2).sum(axis=0)
    np.testing.assert_allclose(residual_norms2(spec), expected / expected.max(), atol=1e-13)


def test_zero_data_has_rank_zero():
    assert decompose(as_rows(np.zeros((3, 5)))).leading().rank == 0
    assert decompose(as_rows(sp.csr_array((3, 5)))).leading().rank == 0


def test_a_sketch_preserves_squared_norms_on_average():
    X, _ = with_singular_values(50, 20, np.array([3.0, 2, 1]))
    rng = np.random.default_rng(0)
    mean = np.mean([Sketch(5, int(rng.integers(2**63))).apply(as_rows(X)).gram() for _ in range(2000)], axis=0)
    # Each entry has standard deviation at most 9 sqrt(2/5), divided by sqrt(2000).
    np.testing.assert_allclose(mean, X.T @ X, atol=5 * 9 * np.sqrt(2 / 5 / 2000))
    assert decompose(Sketch(2, 0).apply(as_rows(X))).rank == 2


def test_a_rank_is_a_number_a_share_of_the_squares_or_all():
    sigma = np.array([3.0, 2.0, 1.0])  # squares 9, 4, 1 of 14
    assert [resolve_rank(sigma, rank) for rank in (None, 2, 7, 9 / 14, 0.65, 13 / 14, 0.99)] == [3, 2, 3, 1, 2, 2, 3]


def test_a_leading_part_is_that_of_the_whole():
    X, V = with_singular_values(6, 30, np.array([5.0, 3, 1, 0.2]))
    whole = decompose(as_rows(X))
    part = whole.leading(2)
    np.testing.assert_allclose(projector(part.V.take(np.arange(30))), projector(V[:, :2]), atol=1e-12)
    assert (part.rank, part.numerical_rank) == (2, 4)
    assert part.next_singular_value == pytest.approx(1.0)
    assert part.energy == pytest.approx(34 / 35.04)


def test_a_sketch_drawn_bit_by_bit_is_the_same(monkeypatch):
    X = np.random.default_rng(0).standard_normal((50, 4))
    whole = Sketch(7, 3).apply(as_rows(X)).take(np.arange(7))
    monkeypatch.setattr("rarefy.core.linalg.sketch._DRAWN", 120)  # two rows of G at a time
    np.testing.assert_allclose(Sketch(7, 3).apply(as_rows(X)).take(np.arange(7)), whole, rtol=1e-13)
    G = np.random.default_rng(3).standard_normal((7, 50)) / np.sqrt(7)
    np.testing.assert_allclose(whole, G @ X, rtol=1e-12)


def test_data_with_all_singular_values_resolved_take_one_pass():
    passes, X = [], np.random.default_rng(0).standard_normal((60, 5))
    rows = KernelRows(X.shape, lambda part: passes.append(len(X[part])) or X[part])
    found = decompose(rows)
    assert sum(passes) == 60
    np.testing.assert_allclose(found.sigma, np.linalg.svd(X, compute_uv=False), rtol=1e-10)
    few = found.compressed(rows)
    assert few.shape == (5, 5)
    np.testing.assert_allclose(few.gram(), X.T @ X, rtol=1e-10)
