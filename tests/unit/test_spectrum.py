"""Singular vectors through Gram matrices, against numpy's SVD."""

import numpy as np
import pytest
import scipy.sparse as sp

from oracles import textbook
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import residual_norms2, sketched, spectrum


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
    spec = spectrum(as_rows(convert(X)))
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
    spec = spectrum(as_rows(X))
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
    assert spectrum(as_rows(X)).numerical_rank == 7
    repeated = np.vstack([X, X, X[:5] + X[5:10]])
    assert spectrum(as_rows(repeated)).numerical_rank == 7


def test_float32_data_are_exact_numbers_too():
    # Small directions of float32 data are real: a certificate must not lose them.
    X = np.random.default_rng(0).standard_normal((10, 5000))
    X[3:] *= 1e-5
    assert spectrum(as_rows(X.astype(np.float32))).numerical_rank == 10


@pytest.mark.parametrize("factor", [1e-160, 1e-150, 1e150, 1e152])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_huge_and_tiny_scales(factor, convert):
    X, _ = with_singular_values(5, 30, np.array([3.0, 2, 1]))
    spec, scaled = spectrum(as_rows(X)), spectrum(as_rows(convert(X * factor)))
    assert scaled.rank == 3
    np.testing.assert_allclose(scaled.sigma / factor, spec.sigma, rtol=1e-12)
    np.testing.assert_allclose(scaled.V.norms2, spec.V.norms2, atol=1e-12)


def test_keeps_what_is_asked_for_and_says_what_is_left_out():
    X, V = with_singular_values(8, 50, np.array([3.0, 2, 1]))
    spec = spectrum(as_rows(X), keep=lambda sigma: len(sigma) - 1)
    assert (spec.rank, spec.numerical_rank) == (2, 3)
    assert spec.energy == pytest.approx(13 / 14)
    Vk = V[:, :2]
    residual = X - X @ Vk @ Vk.T
    expected = (residual**2).sum(axis=0)
    np.testing.assert_allclose(residual_norms2(spec), expected / expected.max(), atol=1e-13)


def test_zero_data_has_rank_zero():
    assert spectrum(as_rows(np.zeros((3, 5)))).rank == 0
    assert spectrum(as_rows(sp.csr_array((3, 5)))).rank == 0


def test_a_sketch_preserves_squared_norms_on_average():
    X, _ = with_singular_values(50, 20, np.array([3.0, 2, 1]))
    rng = np.random.default_rng(0)
    mean = np.mean([sketched(as_rows(X), 5, rng).gram() for _ in range(2000)], axis=0)
    # Each entry has standard deviation at most 9 sqrt(2/5), divided by sqrt(2000).
    np.testing.assert_allclose(mean, X.T @ X, atol=5 * 9 * np.sqrt(2 / 5 / 2000))
    assert spectrum(sketched(as_rows(X), 2, rng)).rank == 2
