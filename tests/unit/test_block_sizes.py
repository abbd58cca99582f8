"""What is computed block by block does not depend on how large the blocks are."""

import numpy as np
import pytest
import scipy.sparse as sp

import rarefy
from rarefy.core.certificates.measure import dominant_mean, measure, with_proof, with_span
from rarefy.core.certificates.pencil import row_pencil, triangular
from rarefy.core.certificates.ridge import prediction_change
from rarefy.core.certificates.verify import verify
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose, residual_norms2
from rarefy.core.sparsify import Selection
from rarefy.core.sparsify.adaptive import adaptive_columns, projection_residual2
from rarefy.core.sparsify.bss import bss
from rarefy.core.sparsify.candidates import Candidates
from rarefy.core.sparsify.pivoted_qr import pivoted_columns


def everything(X, y, Q):
    """Numbers that are computed from the data, by name."""
    rows, selection = as_rows(X), Selection(np.arange(0, X.shape[1], 3), np.ones(len(range(0, X.shape[1], 3))))
    whole = decompose(rows)
    part = whole.leading(3)
    claimed = with_span(measure(part, selection, residual_norms2(part)), rows, selection, whole)
    change = prediction_change(rows, selection, y, as_rows(Q), 0.5)
    pencil = row_pencil(rows, selection)
    pivoted = pivoted_columns(rows, 5, past_rank=True)
    answer = verify(rows, selection.indices, selection.weights, claimed, bound=None, tol=1e-8)
    proved = with_proof(measure(whole.leading(), selection), rows, selection)
    return {
        "sigma": whole.sigma,
        "claims": [*claimed.eigenvalues, claimed.energy_kept, claimed.residual_ratio, claimed.explained],
        "proved": proved.eigenvalues,
        "verified": [bool(answer)],
        "mean": [*dominant_mean(rows).values()],
        "change": [*change.f_kept, *change.lower, *change.upper],
        "pencil": pencil.mu,
        "triangle": (triangular(rows).T @ triangular(rows)).ravel(),
        "pivoted": pivoted.indices,
        "adaptive": adaptive_columns(rows, part.V),
        "left": projection_residual2(rows, selection.indices),
        "bss": bss(part.V, 6).indices,
    }


@pytest.mark.parametrize("shape", [(12, 40), (40, 12)])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
def test_numbers_are_the_same_with_small_blocks(monkeypatch, shape, make):
    rng = np.random.default_rng(0)
    X = rng.standard_normal(shape) * np.exp(rng.normal(0, 1, shape[1])) + 2.0
    X[rng.random(shape) < 0.3] = 0.0
    y, Q = rng.standard_normal(shape[0]), rng.standard_normal((7, shape[1]))
    large = everything(make(X), y, Q)
    assert large["verified"] == [True]
    monkeypatch.setattr("rarefy.core.linalg.rows.BLOCK_ENTRIES", 3 * shape[1])
    small = everything(make(X), y, Q)
    for name, expected in large.items():
        np.testing.assert_allclose(small[name], expected, rtol=1e-7, atol=1e-9, err_msg=name)


def test_the_plain_forms_of_the_numbers_above():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 12)) + 2.0
    found = everything(X, rng.standard_normal(40), rng.standard_normal((7, 12)))
    np.testing.assert_allclose(found["sigma"], np.linalg.svd(X, compute_uv=False))
    kept = X[:, ::3]
    outside = X - kept @ np.linalg.lstsq(kept, X, rcond=None)[0]
    assert found["left"] == pytest.approx(np.sum(outside**2))
    assert found["claims"][4] == pytest.approx(1.0 - np.sum(outside**2) / np.sum(X**2))
    assert found["mean"] == [pytest.approx(40 * np.sum(X.mean(axis=0) ** 2) / np.sum(X**2))]


def parallel_by_hand(dense, order):
    """For each position the next one whose row is a multiple of the same vector, or -1."""
    units = dense[order] / np.linalg.norm(dense[order], axis=1)[:, None]
    same = np.abs(units @ units.T) > 1.0 - 1e-12
    return [next((j for j in range(i + 1, len(order)) if same[i, j]), -1) for i in range(len(order))]


@pytest.mark.parametrize("seed", range(4))
def test_multiples_of_a_row_are_found_whatever_their_lengths_and_signs(seed):
    rng = np.random.default_rng(seed)
    directions = rng.standard_normal((4, 5))
    rows = directions[rng.integers(0, 4, 30)] * rng.choice([-1.0, 1.0], 30)[:, None]
    rows *= 10.0 ** rng.uniform(-3, 3, 30)[:, None]
    V = decompose(as_rows(rows.T)).leading().V
    candidates = Candidates(V, grouped=True)
    dense = V.take(np.arange(30))
    np.testing.assert_array_equal(candidates._next, parallel_by_hand(dense, candidates.order))
    assert candidates._leads.sum() == 4
    assert np.all(Candidates(V, grouped=False)._leads)


@pytest.mark.parametrize("seed", range(4))
def test_pivots_of_columns_of_very_different_lengths_are_those_of_residuals_computed_anew(seed):
    """Lengths are brought up to date by differences, which lose their digits again and again."""
    rng = np.random.default_rng(seed)
    n, d = 14, 30
    X = rng.standard_normal((n, n)) @ (10.0 ** -np.arange(n)[:, None] * rng.standard_normal((n, d)))
    found = pivoted_columns(as_rows(X), 12).indices
    chosen, left = [], X.copy()
    for _ in range(12):
        chosen.append(int(np.argmax(np.linalg.norm(left, axis=0))))
        Q = np.linalg.qr(X[:, chosen])[0]
        left = X - Q @ (Q.T @ X)
        left = left - Q @ (Q.T @ left)
        left[:, chosen] = 0.0
    assert rarefy.selection.RRQRSelector(12).fit(X).selection_order_.tolist() == found.tolist()
    np.testing.assert_array_equal(found, chosen)
