"""The guarantees of spectral sparsification, and equality with the plain loop, on random problems."""

import itertools
from functools import partial
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import textbook
from problems import make_matrix, wide_problems
from rarefy.core.certificates.proof import _STEPS as PROOF_STEPS
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose, residual_norms2
from rarefy.core.sparsify import bss as bss_module
from rarefy.core.sparsify.bss import bss, dual_set
from rarefy.core.sparsify.candidates import Candidates
from rarefy.core.sparsify.leverage import distortion_bound, sample
from rarefy.selection import BSSSelector

# Potentials are differences of sums of order one; what is left of 1e-16 after the cancellation, over a run.
WEIGHT_RTOL = 1e-7


def interval(ell, r):
    return (1 - np.sqrt(ell / r)) ** 2, (1 + np.sqrt(ell / r)) ** 2


def inside(eigenvalues, ell, r):
    low, high = interval(ell, r)
    slack = 1e-9 * high  # rounding
    return eigenvalues[0] >= low - slack and eigenvalues[-1] <= high + slack


@settings(max_examples=400)
@given(wide_problems())
def test_bss_keeps_every_eigenvalue_inside_its_interval_and_equals_the_plain_loop(problem):
    X, r = problem
    V = decompose(as_rows(X)).leading().V
    dense = V.take(np.arange(X.shape[1]))
    found = bss(V, r)
    indices, weights = textbook.bss(dense, r)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.weights, weights, rtol=WEIGHT_RTOL)
    assert inside(textbook.sandwich(dense, found.indices, found.weights), dense.shape[1], r)


@pytest.mark.filterwarnings("ignore::rarefy.exceptions.FewerFeaturesWarning")
@settings(max_examples=200)
@given(wide_problems())
def test_the_certificate_of_bss_is_true_and_can_be_verified(problem):
    X, r = problem
    selector = BSSSelector(r).fit(X)
    certificate = selector.certificate_
    V, _ = textbook.right_vectors(X)
    eigenvalues = textbook.sandwich(V, np.flatnonzero(selector.support_), selector.weights_)
    assert inside(eigenvalues, V.shape[1], r)
    # A proof that includes rounding moves either end outward, by one of its steps: all else is exact.
    steps = PROOF_STEPS if certificate.proved else (0.0,)
    for stated, true, outward in zip(certificate.eigenvalues, eigenvalues[[0, -1]], (-1.0, 1.0), strict=True):
        assert min(abs(stated - true * (1.0 + outward * step)) for step in steps) <= 1e-8 + 1e-7 * true
    assert certificate.distortion <= certificate.distortion_bound + 1e-9
    again = certificate.verify(X)
    assert again
    assert abs(again.distortion - np.abs(1.0 - eigenvalues[[0, -1]]).max()) <= 1e-8
    assert len(selector.selection_order_) <= r
    assert len(set(selector.selection_order_)) == len(selector.selection_order_)


def test_the_papers_inverse_weights_break_the_interval():
    X = make_matrix("gaussian", 8, 60, 0)
    V = decompose(as_rows(X)).leading().V
    found = bss(V, 24)
    dense = V.take(np.arange(60))
    scale = (1 - np.sqrt(8 / 24)) / 24
    printed = np.sqrt(scale / (found.weights**2 / scale))  # D = 1/sqrt(t), then the same scaling
    assert inside(textbook.sandwich(dense, found.indices, found.weights), 8, 24)
    assert not inside(textbook.sandwich(dense, found.indices, printed), 8, 24)


@pytest.mark.parametrize("structure", ["gaussian", "near duplicates", "counts", "multiples", "one-hot"])
def test_bss_equals_the_plain_loop_over_many_epochs(structure):
    # l = 40: several decompositions of A, lifted eigenvalues and scans beyond the first block.
    X = make_matrix(structure, 40, 400, 1)
    V = decompose(as_rows(X)).leading().V
    indices, weights = textbook.bss(V.take(np.arange(400)), 90)
    found = bss(V, 90)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.weights, weights, rtol=WEIGHT_RTOL)


@pytest.mark.parametrize("epoch", [1, 7, 45, 90, 200])
@pytest.mark.parametrize("structure", ["near duplicates", "multiples", "heavy tail"])
def test_the_selection_does_not_depend_on_when_decompositions_are_made(structure, epoch, monkeypatch):
    V = decompose(as_rows(make_matrix(structure, 40, 400, 1))).leading().V
    expected = bss(V, 90)
    monkeypatch.setattr(bss_module, "_epoch_length", lambda ell, rows: epoch)
    found = bss(V, 90)
    np.testing.assert_array_equal(found.indices, expected.indices)
    np.testing.assert_allclose(found.weights, expected.weights, rtol=WEIGHT_RTOL)


def test_the_epoch_grows_with_the_rank_more_slowly_than_it_and_shrinks_when_many_rows_are_scored():
    lengths = [bss_module._epoch_length(ell, 48) for ell in (1, 30, 100, 300, 1000, 3000)]
    assert lengths[0] == lengths[1] == 8
    assert all(a < b for a, b in itertools.pairwise(lengths[1:]))
    assert 100 < lengths[-1] < 400
    assert lengths[-1] < 3 * lengths[-2]
    assert bss_module._epoch_length(1000, 2000) < lengths[-2] / 2


def test_rows_a_step_counts_what_was_scored():
    V = decompose(as_rows(make_matrix("gaussian", 10, 300, 0))).leading().V
    counts = []
    original = Candidates.rebase

    def counting(self, Q):
        counts.append((self.rows_a_step, self._scored, self._steps))
        original(self, Q)

    with mock.patch.object(Candidates, "rebase", counting):
        bss(V, 40)
    assert counts[0] == (48, 0, 0)
    assert all(rows == scored / steps >= 1 and steps == 8 for rows, scored, steps in counts[1:])
    assert len(counts) == 5


def test_repeats_are_taken_only_when_no_new_row_qualifies_and_their_weights_add_up():
    # Three directions, five columns, forty steps: columns have to be taken again.
    X = np.array([[1.0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]])
    V = decompose(as_rows(X)).leading().V
    found = bss(V, 40)
    indices, weights = textbook.bss(V.take(np.arange(5)), 40)
    assert len(found.indices) == 5
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.weights, weights, rtol=WEIGHT_RTOL)


@settings(max_examples=60)
@given(wide_problems(), st.data())
def test_dual_set_bounds_the_smallest_eigenvalue_and_the_residual(problem, data):
    X, r = problem
    rank = np.linalg.matrix_rank(X)
    k = data.draw(st.integers(1, rank))
    whole = decompose(as_rows(X))
    spec = whole.leading(min(k, whole.rank))
    residual2 = residual_norms2(spec)
    found = dual_set(spec.V, residual2, r)
    V = spec.V.take(np.arange(X.shape[1]))
    indices, weights = textbook.dual_set(V, residual2, r)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_allclose(found.weights, weights, rtol=WEIGHT_RTOL)
    assert textbook.sandwich(V, found.indices, found.weights)[0] >= interval(spec.rank, r)[0] - 1e-9
    Xk = X @ V @ V.T
    residual = (X - Xk)[:, found.indices] * found.weights
    assert (residual**2).sum() <= ((X - Xk) ** 2).sum() * (1 + 1e-6) + 1e-12 * (X**2).sum()


@pytest.mark.parametrize("sampling", ["replacement", "poisson"])
def test_leverage_sampling_is_unbiased_and_respects_its_bound(sampling):
    X = make_matrix("heavy tail", 4, 30, 3)
    V, _ = textbook.right_vectors(X)
    rng = np.random.default_rng(0)
    r, runs = 25, 3000
    bound = distortion_bound(4, r, sampling == "poisson", 0.1)
    total, exceeded = np.zeros((4, 4)), 0
    for _ in range(runs):
        found = sample((V**2).sum(axis=1), r, sampling, rng)
        assert len(found.indices) <= r
        W = V[found.indices] * found.weights[:, None]
        total += W.T @ W
        exceeded += np.linalg.norm(np.eye(4) - W.T @ W, 2) > bound
    assert exceeded <= 0.1 * runs
    # 3000 runs of a matrix with standard deviation about sqrt(4/25): well within 0.05 of its mean. Keeping at
    # most r features makes the Poisson form slightly too small on average; that bias is allowed for.
    assert np.linalg.norm(total / runs - np.eye(4), 2) < (0.05 if sampling == "replacement" else 0.15)


def test_leverage_scores_sum_to_the_rank_and_top_takes_the_largest():
    X = make_matrix("low rank", 6, 40, 5)
    spec = decompose(as_rows(X)).leading()
    np.testing.assert_allclose(spec.V.norms2.sum(), spec.rank)
    found = sample(spec.V.norms2, 7, "top", np.random.default_rng(0))
    np.testing.assert_array_equal(np.sort(found.indices), np.sort(np.argsort(-spec.V.norms2)[:7]))
    np.testing.assert_array_equal(found.weights, 1.0)


def test_bss_refuses_as_many_dimensions_as_steps():
    V = decompose(as_rows(make_matrix("gaussian", 5, 20, 0))).leading().V
    with pytest.raises(ValueError, match="0 < l < r; got l=5 and r=5"):
        bss(V, 5)


@pytest.mark.parametrize(("ell", "r"), [(3, 10), (20, 400), (7, 7)])
@pytest.mark.parametrize("delta", [0.01, 0.3])
def test_the_bound_of_sampling_is_where_the_probability_of_its_theorem_is_spent(ell, r, delta):
    """Of both tails of draws with replacement, and of two sums, with and without those that were kept, otherwise."""
    for poisson, sums in ((False, 2), (True, 4)):
        eps = distortion_bound(ell, r, poisson, delta)
        assert sums * ell * np.exp(-r * eps**2 / (2.0 * ell * (1.0 + eps / 3.0))) == pytest.approx(delta)


def test_both_sets_tell_their_progress_after_every_step():
    X = np.random.default_rng(0).standard_normal((4, 40))
    spec = decompose(as_rows(X)).leading(3)
    for choose in (partial(bss, spec.V), partial(dual_set, spec.V, residual_norms2(spec))):
        told = []
        choose(9, progress=lambda done, of, told=told: told.append((done, of)))
        assert told == [(i + 1, 9) for i in range(9)]
