"""Data at the edges: degenerate shapes, duplicate and zero columns, extreme scales."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from oracles import textbook
from rarefy.selection import BSSSelector, LeverageScoreSelector

SELECTORS = [
    BSSSelector(random_state=0),
    BSSSelector(method="dual", random_state=0),
    LeverageScoreSelector(random_state=0),
    LeverageScoreSelector(sampling="poisson", random_state=0),
    LeverageScoreSelector(sampling="top"),
]
pytestmark = [
    pytest.mark.parametrize("selector", SELECTORS, ids=lambda s: repr(s)),
    pytest.mark.filterwarnings(
        "ignore::rarefy.exceptions.TruncatedRankWarning", "ignore::rarefy.exceptions.FewerFeaturesWarning"
    ),
]


def fit(selector, X, r):
    fitted = clone(selector).set_params(n_features_to_select=r).fit(X)
    assert 1 <= len(fitted.selection_order_) <= r
    assert np.all(np.isfinite(fitted.weights_))
    assert np.all(fitted.weights_ > 0)
    assert fitted.certificate_.verify(X)
    return fitted


def rng():
    return np.random.default_rng(0)


def test_zero_columns_are_never_chosen(selector):
    X = rng().standard_normal((5, 60))
    X[:, ::2] = 0
    fitted = fit(selector, X, 20)
    assert np.all(fitted.selection_order_ % 2 == 1)
    everything = fit(selector, X, 40)
    np.testing.assert_array_equal(np.sort(everything.selection_order_), np.arange(1, 60, 2))
    assert everything.certificate_.distortion < 1e-12
    assert "40 were asked for" in everything.certificate_.statement


def test_duplicate_and_constant_columns(selector):
    X = np.repeat(rng().standard_normal((4, 10)), 5, axis=1)
    X[:, :5] = 1.0
    assert fit(selector, X, 15).certificate_.numerical_rank == 4
    assert fit(selector, np.ones((3, 12)), 6).certificate_.numerical_rank == 1


def test_rank_deficient_rows(selector):
    X = rng().standard_normal((3, 50))
    fitted = fit(selector, np.vstack([X, X, X[:1] + X[1:2]]), 20)
    assert fitted.certificate_.numerical_rank == 3


def test_more_rows_than_columns(selector):
    X = rng().standard_normal((80, 12))
    assert fit(selector, X, 6).certificate_.numerical_rank == 12
    assert fit(selector, X, 12).certificate_.distortion < 1e-12


def test_low_rank_with_more_rows_than_columns(selector):
    X = rng().standard_normal((80, 3)) @ rng().standard_normal((3, 30))
    fitted = fit(selector, X, 12)
    assert fitted.certificate_.rank == 3
    V, _ = textbook.right_vectors(X)
    np.testing.assert_allclose(
        fitted.certificate_.eigenvalues,
        textbook.sandwich(V, np.flatnonzero(fitted.support_), fitted.weights_)[[0, -1]],
        atol=1e-10,
    )


def test_one_row_one_column_one_feature(selector):
    for shape, r in (((1, 30), 5), ((1, 30), 1), ((6, 30), 1), ((6, 1), 1)):
        assert fit(selector, rng().standard_normal(shape), r).transform(np.ones((2, shape[1]))).shape[1] <= r
    assert fit(selector, np.array([[2.0]]), 1).certificate_.distortion == 0.0


def test_as_many_features_as_there_are_or_more_keep_everything(selector):
    X = rng().standard_normal((4, 20))
    for r in (20, 35):
        fitted = fit(selector, X, r)
        assert fitted.support_.all()
        np.testing.assert_array_equal(fitted.weights_, 1.0)
        assert fitted.certificate_.distortion < 1e-12


@pytest.mark.parametrize("factor", [1e-150, 1e-100, 1e100, 1e150])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_scale_does_not_matter(selector, factor, convert):
    X = rng().standard_normal((5, 60))
    expected = fit(selector, X, 15)
    found = fit(selector, convert(X * factor), 15)
    np.testing.assert_array_equal(found.selection_order_, expected.selection_order_)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)


def test_columns_of_very_different_scales(selector):
    X = rng().standard_normal((5, 60)) * 10.0 ** rng().integers(-150, 100, 60)
    # Only the columns within sixteen digits of the largest can count.
    assert fit(selector, X, 15).certificate_.numerical_rank == np.linalg.matrix_rank(X) < 5


def test_float32_selects_as_float64(selector):
    X = rng().standard_normal((6, 80)).astype(np.float32)
    single = fit(selector, X, 20).selection_order_
    np.testing.assert_array_equal(fit(selector, X.astype(np.float64), 20).selection_order_, single)
