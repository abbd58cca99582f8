"""The comparison methods against their plain twins on random problems."""

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_classification

from oracles import textbook
from problems import STRUCTURES, make_matrix
from rarefy.core.linalg.rows import as_rows
from rarefy.core.sparsify.pivoted_qr import pivoted_columns
from rarefy.core.svm.l1_svm import l1_svm
from rarefy.exceptions import FewerFeaturesWarning, TruncatedRankWarning
from rarefy.selection import (
    InformationGainSelector,
    LPSVMSelector,
    RandomSelector,
    ReliefSelector,
    RRQRSelector,
    _nearest,
)

seeds = st.integers(0, 2**32 - 1)


@settings(max_examples=80)
@given(seeds, st.integers(1, 12), st.integers(1, 40), st.sampled_from(["gaussian", "heavy tail", "low rank"]))
def test_pivots_are_those_of_lapack_up_to_the_rank(seed, n, d, structure):
    X = make_matrix(structure, n, d, seed)
    rank = np.linalg.matrix_rank(X)
    expected = scipy.linalg.qr(X, mode="r", pivoting=True)[1][:rank]
    for rows in (as_rows(X), as_rows(sp.csr_array(X))):
        found = pivoted_columns(rows, d)
        assert found.rank == len(found.indices) == rank
        np.testing.assert_array_equal(found.indices, expected)


def test_pivots_with_residuals_of_very_different_sizes():
    # Residuals fall by twelve orders of magnitude: downdated norms alone would lose them.
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.standard_normal((8, 8)))[0], np.linalg.qr(rng.standard_normal((30, 8)))[0]
    X = (U * 10.0 ** -np.arange(0, 12, 1.5)) @ V.T
    found = pivoted_columns(as_rows(X), 30)
    np.testing.assert_array_equal(found.indices, scipy.linalg.qr(X, mode="r", pivoting=True)[1][:8])
    for factor in (1e-150, 1e150):
        np.testing.assert_array_equal(pivoted_columns(as_rows(X * factor), 30).indices, found.indices)


def test_rrqr_stops_at_the_rank_or_goes_on_with_a_warning():
    X = make_matrix("gaussian", 5, 30, 0)
    with pytest.warns(FewerFeaturesWarning, match="have rank 5"):
        assert RRQRSelector(12).fit(X).selection_order_.shape == (5,)
    with pytest.warns(TruncatedRankWarning, match="rank 5; the order of the other 7 features follows rounding"):
        further = RRQRSelector(12, past_rank="continue").fit(X)
    assert further.support_.sum() == 12
    assert further.rank_ == 5
    np.testing.assert_array_equal(further.selection_order_[:5], RRQRSelector(5).fit(X).selection_order_)


@settings(max_examples=60)
@given(seeds, st.integers(2, 15), st.integers(1, 12), st.integers(1, 3))
def test_information_gain_equals_a_plain_count(seed, n, d, classes):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, (n, d)).astype(float)
    X[0, 0] = 0.0  # counts: data without a single zero are taken for measurements
    y = np.array(["a", "b", "c"])[rng.integers(0, classes, n)]
    expected = textbook.information_gain(X, y)
    for container in (X, sp.csr_array(X), sp.csc_array(X)):
        fitted = InformationGainSelector(1).fit(container, y)
        np.testing.assert_allclose(fitted.scores_, expected, atol=1e-12)
    assert fitted.scores_[fitted.selection_order_[0]] == fitted.scores_.max()


@settings(max_examples=60)
@given(seeds, st.integers(4, 20), st.integers(1, 10), st.integers(2, 3), st.integers(1, 4))
def test_relief_equals_the_plain_loops(seed, n, d, classes, k):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    X = rng.standard_normal((n, d)) + 0.5 * y[:, None]
    expected = textbook.relief(X, y, k)
    for container in (X, sp.csr_array(X)):
        np.testing.assert_allclose(ReliefSelector(n_neighbors=k).fit(container, y).scores_, expected, atol=1e-10)


@settings(max_examples=60)
@given(seeds, st.integers(4, 25), st.integers(1, 6), st.integers(2, 3), st.integers(1, 5), st.booleans())
def test_relief_with_few_columns_equals_the_plain_loops_and_counts_equal_samples(seed, n, d, classes, k, repeated):
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(classes), rng.integers(0, classes, n - classes))
    X = rng.standard_normal((n, d))
    X = X[rng.integers(0, max(2, n // 3), n)] if repeated else X
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_nearest, "_TREE_ROWS", 0)
        found = ReliefSelector(n_neighbors=k).fit(X, y)
    np.testing.assert_allclose(found.scores_, textbook.relief(X, y, k), atol=1e-10)
    assert found.n_samples_compared_ == n


@settings(max_examples=100)
@given(
    seeds,
    st.integers(2, 25),
    st.integers(1, 40),
    st.floats(-2, 3),
    st.sampled_from(STRUCTURES),
)
def test_the_1_norm_svm_reaches_the_optimum_of_its_linear_program(seed, n, d, log_C, structure):
    rng = np.random.default_rng(seed)
    X = make_matrix(structure, n, d, seed)
    if structure == "heavy tail":
        X = X / np.maximum(1e-3, np.abs(X).max(axis=0))
    y = np.where(np.append([0, 1], rng.integers(0, 2, n - 2)) == 1, 1.0, -1.0)
    C = 10**log_C
    expected = textbook.l1_svm(X, y, C)
    for rows in (as_rows(X), as_rows(sp.csr_array(X))):
        found = l1_svm(rows, y, C)
        assert found.converged
        np.testing.assert_allclose(found.objective, expected, rtol=1e-6, atol=1e-6)
        own = np.abs(found.w).sum() + C * np.maximum(0, 1 - y * (X @ found.w - found.b)).sum()
        np.testing.assert_allclose(own, found.objective, rtol=1e-9)


def test_lpsvm_keeps_few_features_and_predicts():
    rng = np.random.default_rng(0)
    y = np.repeat(["no", "yes"], 40)
    X = rng.standard_normal((80, 1000))
    X[:, [3, 500]] += 3 * (y == "yes")[:, None]
    fitted = LPSVMSelector(C=0.5).fit(X, y)
    assert {3, 500} <= set(fitted.selection_order_[:3])
    assert fitted.support_.sum() < 40
    assert fitted.score(X, y) > 0.9
    np.testing.assert_array_equal(np.flatnonzero(fitted.coef_[0]), np.flatnonzero(fitted.support_))


def test_random_is_uniform():
    X = np.ones((2, 6))
    counts = np.zeros(6)
    for seed in range(3000):
        counts += RandomSelector(2, random_state=seed).fit(X).support_
    # Each count is binomial(3000, 1/3): standard deviation 26.
    assert np.all(np.abs(counts - 1000) < 130)


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_common_factor_on_all_columns_is_one_on_C(factor):
    X, y = make_classification(100, 20, random_state=0)
    one, other = LPSVMSelector(C=factor).fit(X, y), LPSVMSelector(C=1.0).fit(factor * X, y)
    np.testing.assert_allclose(other.coef_ * factor, one.coef_, atol=1e-6 * np.abs(one.coef_).max(initial=1.0))
    assert other.duality_gap_ == pytest.approx(one.duality_gap_ / factor, abs=1e-6)
