"""Verification by a route of its own: what it accepts and refuses, also where singular values are equal."""

from dataclasses import fields, replace

import numpy as np
import pytest

from rarefy.core.certificates.measure import measure, with_span
from rarefy.core.certificates.measurement import Measurement
from rarefy.core.certificates.verify import _lanczos_extremes, verify
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose, residual_norms2
from rarefy.core.sparsify import Selection

RNG = np.random.default_rng(0)


def with_singular_values(n, d, sigma, rng):
    U, V = (np.linalg.qr(rng.standard_normal((m, len(sigma))))[0] for m in (n, d))
    return (U * sigma) @ V.T, U, V


def measured(X, selection, rank=None, *, residual=False):
    spec = decompose(as_rows(X)).leading(rank)
    return measure(spec, selection, residual_norms2(spec) if residual else None)


def verified(X, selection, claimed, bound=None):
    return verify(as_rows(X), selection.indices, selection.weights, claimed, bound=bound, tol=1e-8)


@pytest.mark.parametrize("shape", [(8, 60), (60, 8), (9, 9)])
@pytest.mark.parametrize("rank", [None, 3])
def test_honest_measurements_are_verified_and_changed_ones_are_not(shape, rank):
    X = RNG.standard_normal(shape)
    selection = Selection(np.arange(0, shape[1], 2), RNG.uniform(0.5, 1.5, len(range(0, shape[1], 2))))
    claimed = measured(X, selection, rank, residual=rank is not None)
    assert verified(X, selection, claimed)
    for field in fields(Measurement):
        value = getattr(claimed, field.name)
        if isinstance(value, tuple):
            for i in (0, 1):
                moved = tuple(v + 1e-6 * claimed.singular_values[0] * (i == j) for j, v in enumerate(value))
                assert not verified(X, selection, replace(claimed, **{field.name: moved})), field.name
        elif value is not None and not isinstance(value, bool):
            step = 1 if isinstance(value, int) else 1e-6 * claimed.singular_values[0]
            assert not verified(X, selection, replace(claimed, **{field.name: value + step})), field.name
    assert not verified(X, Selection(selection.indices, selection.weights * (1 + 1e-6)), claimed)
    if shape == (8, 60):  # in as many dimensions as columns, all columns of V are orthonormal and alike
        assert not verified(X, Selection(selection.indices + 1, selection.weights), claimed)


@pytest.mark.parametrize("shape", [(8, 60), (60, 8)])
@pytest.mark.parametrize("share", [1e-2, 1e-4, 1e-6])
def test_a_share_near_one_is_known_as_well_as_what_is_missing_of_it(shape, share):
    rng = np.random.default_rng(0)
    sigma = np.array([1.0, 0.9, *np.sqrt(share * np.linspace(1.0, 0.5, 6))])
    X = with_singular_values(*shape, sigma, rng)[0]
    selection = Selection(np.array([0, 1, 4]), np.ones(3))
    spec = decompose(as_rows(X))
    claimed = with_span(measure(spec.leading(2), selection), as_rows(X), selection, spec)
    assert verified(X, selection, claimed)
    for name in ("energy_kept", "explained", "explainable"):
        value = getattr(claimed, name)
        assert 0.0 < value < 1.0
        for change in (1e-4, -1e-4):
            moved = replace(claimed, **{name: value + change * min(value, 1.0 - value)})
            assert not verified(X, selection, moved), name
            assert verified(X, selection, replace(claimed, **{name: value + 1e-3 * change * min(value, 1.0 - value)}))


def test_extreme_eigenvalues_are_found_again_and_are_those_of_the_singular_values():
    rng = np.random.default_rng(0)
    for n, ell in ((40, 12), (12, 12), (60, 30), (7, 5), (5, 9), (30, 8)):
        B = rng.standard_normal((n, ell)) * np.exp(rng.normal(0, 1, ell))
        found = _lanczos_extremes(B)
        sigma = np.linalg.svd(B, compute_uv=False)
        assert found[1] == pytest.approx(sigma[0] ** 2, rel=1e-12)
        assert found[0] == pytest.approx(sigma[-1] ** 2 if n >= ell else 0.0, abs=1e-12 * sigma[0] ** 2)
        assert all(_lanczos_extremes(B) == found for _ in range(3))


def test_not_a_number_is_refused():
    X = RNG.standard_normal((5, 30))
    selection = Selection(np.arange(20), np.ones(20))
    claimed = measured(X, selection)
    assert not verified(X, selection, replace(claimed, eigenvalues=(float("nan"), claimed.eigenvalues[1])))
    assert not verified(X, selection, replace(claimed, energy_kept=float("nan")))


def test_a_bound_that_the_distortion_exceeds_is_refused():
    X = RNG.standard_normal((5, 30))
    selection = Selection(np.arange(20), np.ones(20))
    claimed = measured(X, selection)
    assert verified(X, selection, claimed, bound=claimed.distortion)
    assert not verified(X, selection, claimed, bound=claimed.distortion - 1e-6)


def a_choice(seed):
    """Data with four equal singular values, a cut through them, and what follows from one choice among them."""
    rng = np.random.default_rng(seed)
    sigma = np.array([3.0, 2.0, 2.0, 2.0, 2.0, 1.0])
    shape = [(7, 40), (40, 7)][seed % 2]
    X, U, V = with_singular_values(*shape, sigma, rng)
    k, turn = int(rng.integers(2, 5)), np.linalg.qr(rng.standard_normal((4, 4)))[0]
    U[:, 1:5], V[:, 1:5] = U[:, 1:5] @ turn, V[:, 1:5] @ turn
    index = rng.permutation(shape[1])[: min(shape[1], 30)]
    selection = Selection(index, rng.uniform(0.5, 1.5, len(index)))
    kept = V[index, :k] * selection.weights[:, None]
    outside = (V[index, k:] * sigma[k:]) * selection.weights[:, None]
    eigenvalues = np.linalg.eigvalsh(kept.T @ kept)
    claimed = replace(
        measured(X, selection, k, residual=True),
        eigenvalues=(max(0.0, float(eigenvalues[0])), float(eigenvalues[-1])),
        residual_ratio=float(np.sum(outside**2) / np.sum(sigma[k:] ** 2)),
        choice=(U if shape[0] < shape[1] else V)[:, 1:k].copy(),
    )
    return X, selection, claimed


@pytest.mark.parametrize("seed", range(20))
def test_every_choice_among_equal_singular_values_is_verified_and_nothing_else(seed):
    X, selection, claimed = a_choice(seed)
    assert verified(X, selection, claimed)
    low, high = claimed.eigenvalues
    rng = np.random.default_rng(seed)
    other = np.linalg.qr(rng.standard_normal(claimed.choice.shape))[0]
    for change in (
        {"choice": None},
        {"choice": other},
        {"choice": 2.0 * claimed.choice},
        {"choice": np.full_like(claimed.choice, np.nan)},
        {"choice": claimed.choice[:, :-1]},
        {"choice": a_choice(seed + 100)[2].choice},
        {"eigenvalues": (low + 1e-5, high)},
        {"eigenvalues": (low, high + 1e-5)},
        {"eigenvalues": (1.0, 1.0)},
        {"residual_ratio": claimed.residual_ratio + 1e-5},
    ):
        assert not verified(X, selection, replace(claimed, **change)), change


def test_our_own_choice_among_equal_singular_values_is_verified():
    X = np.repeat(np.eye(6), 5, axis=1)  # all singular values are equal
    for k in range(1, 6):
        selection = Selection(np.arange(0, 30, 2), np.linspace(0.5, 1.5, 15))
        claimed = measured(X, selection, k, residual=True)
        assert claimed.choice.shape == (6, k)
        assert verified(X, selection, claimed)
        assert not verified(X, selection, replace(claimed, eigenvalues=(claimed.eigenvalues[0], 99.0)))
    assert measured(X, selection).choice is None


def test_zeros_agree_with_no_certificate():
    X = RNG.standard_normal((5, 30))
    selection = Selection(np.arange(20), np.ones(20))
    assert not verified(np.zeros((5, 30)), selection, measured(X, selection))


def test_short_columns_are_counted_without_squares():
    X = np.zeros((3, 6))
    X[0, :3], X[1, 3], X[1, 4] = 1.0, 1e-200, 1e-17
    selection = Selection(np.arange(6), np.ones(6))
    claimed = measured(X, selection)
    assert claimed.unseen == 2
    assert verified(X, selection, claimed)
    assert not verified(X, selection, replace(claimed, unseen=1))
