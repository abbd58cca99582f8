"""The leading singular values from products alone, against the decomposition of everything."""

import numpy as np
import pytest
import scipy.sparse as sp

from rarefy.core.linalg import truncated
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose, residual_norms2
from rarefy.core.linalg.truncated import _capacity, _checked, _larger_outside, _truncated, decompose_leading
from rarefy.core.sparsify.bss import bss, dual_set


def with_singular_values(n, d, sigma, seed=0):
    """A matrix whose decomposition is known."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((n, len(sigma))))[0]
    V = np.linalg.qr(rng.standard_normal((d, len(sigma))))[0]
    return (U * sigma) @ V.T, V


def vectors(spec):
    return spec.V.take(np.arange(spec.V.shape[0]))


def sparse_counts(n, d, seed=0):
    """Sparse data with a decaying spectrum: counts of words whose frequencies fall like 1/rank."""
    rng = np.random.default_rng(seed)
    X = sp.csr_array(rng.poisson(3.0 / (1.0 + np.arange(d)) * rng.lognormal(0.0, 1.0, (n, 1)) * 5).astype(float))
    return sp.csr_array(X.log1p())


def noise(n, d):
    return np.random.default_rng(0).standard_normal((n, d))


def assert_same(part, whole, atol=1e-10):
    """The same leading part, from some and from all singular values."""
    # Small ones are square roots of eigenvalues, which are known to a rounding error of the largest.
    rounding = 1e-14 * whole.sigma.max(initial=0.0) ** 2 / whole.sigma.min(initial=np.inf)
    np.testing.assert_allclose(part.sigma, whole.sigma, rtol=1e-12, atol=rounding)
    assert part.next_singular_value == pytest.approx(whole.next_singular_value, rel=1e-9)
    assert part.energy == pytest.approx(whole.energy, rel=1e-12)
    V, W = vectors(part), vectors(whole)
    np.testing.assert_allclose(V.T @ V, np.eye(part.rank), atol=1e-12)
    np.testing.assert_allclose(V @ V.T, W @ W.T, atol=atol)
    np.testing.assert_allclose(part.V.norms2, whole.V.norms2, atol=atol)
    np.testing.assert_allclose(residual_norms2(part), residual_norms2(whole), atol=atol)


@pytest.mark.parametrize("shape", [(150, 400), (400, 150), (200, 200)])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array, sp.csc_array, np.float32])
@pytest.mark.parametrize("k", [1, 7, 30])
def test_is_the_leading_part_of_the_whole(shape, convert, k):
    X = convert(sparse_counts(*shape).toarray())
    found = _truncated(as_rows(X), k)
    assert not found.complete
    assert found.rank == k + 1
    part = found.leading(k)
    assert (part.rank, part.numerical_rank, part.complete) == (k, k + 1, False)
    assert_same(part, decompose(as_rows(X)).leading(k))


@pytest.mark.parametrize("X", [noise(300, 350), noise(350, 300)], ids=["wide", "tall"])
def test_the_edge_of_a_flat_spectrum_is_found_after_restarts(X, monkeypatch):
    restarts = []
    restart = truncated._Basis.restart
    monkeypatch.setattr(truncated._Basis, "restart", lambda self, *given: restarts.append(1) or restart(self, *given))
    assert_same(_truncated(as_rows(X), 12).leading(12), decompose(as_rows(X)).leading(12))
    assert restarts


def test_chooses_the_same_columns():
    X = as_rows(sparse_counts(300, 900))
    part, whole = decompose_leading(X, 6).leading(6), decompose(X).leading(6)
    assert not part.complete
    for one, other in (
        (bss(part.V, 40), bss(whole.V, 40)),
        (dual_set(part.V, residual_norms2(part), 40), dual_set(whole.V, residual_norms2(whole), 40)),
    ):
        np.testing.assert_array_equal(one.indices, other.indices)
        np.testing.assert_allclose(one.weights, other.weights, rtol=1e-9)


@pytest.mark.parametrize("copies", [3, 15, 40])
def test_no_copy_of_a_multiple_singular_value_is_missed(copies):
    sigma = np.append(np.full(copies, 5.0), np.linspace(3.0, 1.0, 120))
    X, V = with_singular_values(300, 340, sigma)
    found = _truncated(as_rows(X), copies + 5).leading(copies + 5)
    np.testing.assert_allclose(found.sigma, sigma[: copies + 5], rtol=1e-12)
    np.testing.assert_allclose(vectors(found) @ vectors(found).T, V[:, : copies + 5] @ V[:, : copies + 5].T, atol=1e-10)


def test_a_cut_through_equal_singular_values_says_what_was_chosen():
    sigma = np.append([9.0, 7.0], np.full(20, 5.0))
    X, V = with_singular_values(200, 260, np.append(sigma, np.linspace(3.0, 1.0, 90)))
    part = _truncated(as_rows(X), 6).leading(6)
    assert part.choice.shape == (200, 4)
    equal = X @ V[:, 2:22] / 5.0  # left singular vectors of the equal values
    np.testing.assert_allclose(np.linalg.norm(equal.T @ part.choice, axis=0), 1.0, atol=1e-10)
    assert _truncated(as_rows(X), 2).leading(2).choice is None


@pytest.mark.parametrize("shape", [(150, 400), (400, 150)])
def test_a_matrix_of_lower_rank_is_known_completely(shape):
    sigma = np.array([5.0, 4.0, 2.0, 0.5, 0.01])
    X, _ = with_singular_values(*shape, sigma)
    for k in (5, 6, 12):
        found = _truncated(as_rows(X), k)
        assert (found.complete, found.rank) == (True, 5)
        assert_same(found.leading(), decompose(as_rows(X)).leading())
    assert not _truncated(as_rows(X), 4).complete


@pytest.mark.parametrize("smallest", [1e-5, 1e-7, 1e-9, 1e-11])
def test_singular_values_that_products_do_not_resolve_are_left_to_the_whole(smallest):
    X, _ = with_singular_values(300, 400, np.array([1.0, 0.5, smallest]))
    assert _truncated(as_rows(X), 3) is None
    found = decompose_leading(as_rows(X), 3)
    assert (found.complete, found.rank) == (True, 3)


@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e-90, 1e120, 1e300])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_huge_and_tiny_scales(factor, convert):
    X = sparse_counts(150, 300).toarray()
    part, scaled = (_truncated(as_rows(convert(Y)), 5).leading(5) for Y in (X, X * factor))
    np.testing.assert_allclose(scaled.sigma / factor, part.sigma, rtol=1e-12)
    np.testing.assert_allclose(scaled.V.norms2, part.V.norms2, atol=1e-12)
    assert scaled.next_singular_value / factor == pytest.approx(part.next_singular_value)
    assert scaled.resolution / factor == pytest.approx(part.resolution)


def test_degenerate_data():
    zero = _truncated(as_rows(np.zeros((200, 300))), 3)
    assert (zero.complete, zero.rank) == (True, 0)
    assert zero.leading().rank == 0
    equal_rows = _truncated(as_rows(np.tile(np.arange(1.0, 301.0), (200, 1))), 3)
    assert (equal_rows.complete, equal_rows.rank) == (True, 1)
    identity = _truncated(as_rows(sp.eye_array(400).tocsr()), 9).leading(9)
    np.testing.assert_allclose(identity.sigma, 1.0, rtol=1e-13)
    assert identity.choice.shape == (400, 9)
    for shape in ((1, 300), (300, 1), (1, 1)):
        assert decompose_leading(as_rows(np.ones(shape)), 5).rank == 1


def test_small_matrices_are_decomposed_completely():
    assert decompose_leading(as_rows(noise(100, 300)), 3).complete
    assert decompose_leading(as_rows(noise(300, 700)), 10**9).complete
    n = 2 * _capacity(4)
    assert not decompose_leading(as_rows(sparse_counts(n, n)), 3).complete


@pytest.mark.parametrize("shape", [(150, 300), (300, 150)])
def test_columns_lost_beside_the_others_are_counted(shape):
    X = sparse_counts(*shape).toarray()
    X[:, 17] *= 1e-14
    X[:, 40] *= 1e-200
    X[:, 41] = 0.0
    part = _truncated(as_rows(X), 4).leading(4)
    assert part.unseen == 2
    if shape[0] > shape[1]:  # a wide matrix of full rank is known to have lost nothing, once all of it is decomposed
        assert decompose(as_rows(X)).leading(4).unseen == 2


@pytest.mark.parametrize("shape", [(150, 400), (400, 150)])
def test_what_is_left_of_a_feature_keeps_its_digits_where_little_is(shape):
    # The second singular value is 4e-5 of the first: a difference of squares would lose nine digits.
    X, V = with_singular_values(*shape, np.array([1.0, 4e-5, 3e-5]))
    part = _truncated(as_rows(X), 1).leading(1)
    residual = X - X @ V[:, :1] @ V[:, :1].T
    expected = (residual**2).sum(axis=0)
    # The vector is known to 1e-13, which is 2.5e-9 of what is left; a difference of squares would be off by 1e-7.
    np.testing.assert_allclose(residual_norms2(part), expected / expected.max(), rtol=0, atol=6e-9)


def test_all_of_an_incomplete_decomposition_cannot_be_had():
    found = _truncated(as_rows(noise(200, 300)), 4)
    for k in (None, 5, 6):
        with pytest.raises(ValueError, match="only known to follow"):
            found.leading(k)


def test_vectors_are_checked_against_the_data():
    X, V = with_singular_values(80, 60, np.linspace(3.0, 1.0, 10))
    C, theta = X.T @ X, np.linspace(3.0, 1.0, 10)[:4] ** 2
    assert _checked(lambda W: C @ W, theta, V[:, :4]) is not None
    turned = V[:, :4].copy()
    turned[:, 1] += 1e-11 * V[:, 7]
    assert _checked(lambda W: C @ W, theta, turned) is None
    assert _checked(lambda W: C @ W, theta * (1.0 + 1e-11), V[:, :4]) is None
    assert _checked(lambda W: C @ W, theta, V[:, [0, 1, 1, 3]]) is None


def test_a_second_search_finds_what_was_left_out():
    X, V = with_singular_values(300, 200, np.linspace(3.0, 1.0, 100))
    C, sigma = X.T @ X, np.linspace(3.0, 1.0, 100)
    rng = np.random.default_rng(0)
    assert _larger_outside(lambda W: C @ W, V[:, :9], sigma[8] ** 2, sigma[0] ** 2, rng) is None
    without = np.delete(np.arange(9), 2)
    missed = _larger_outside(lambda W: C @ W, V[:, without], sigma[8] ** 2, sigma[0] ** 2, rng)
    assert np.linalg.norm(missed.T @ V[:, 2]) > 0.5
