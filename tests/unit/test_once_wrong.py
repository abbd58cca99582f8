"""Cases that once went wrong, each with what should happen."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.model_selection import ShuffleSplit
from sklearn.svm import SVC

import rarefy
from rarefy.exceptions import ParameterError
from rarefy.selection import BSSSelector, InformationGainSelector, LeverageScoreSelector, ReliefSelector, RRQRSelector
from rarefy.selection import SupportVectorSelector as Supervised

ignore_truncation = pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("noise", [1e-5, 1e-7, 1e-9])
def test_the_residual_is_not_amplified_however_small_it_is(seed, noise):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 60)) + noise * rng.standard_t(1, (12, 60))
    selector = BSSSelector(10, rank=3, method="dual").fit(X)
    _, _, Vt = np.linalg.svd(X)
    outside = X - X @ Vt[:3].T @ Vt[:3]
    kept = outside[:, selector.selected_] * selector.weights_
    true_ratio = (kept**2).sum() / (outside**2).sum()
    assert selector.certificate_.residual_ratio == pytest.approx(true_ratio, rel=1e-3, abs=1e-6)
    assert true_ratio <= 1 + 1e-6
    assert selector.certificate_.verify(X)


@ignore_truncation
@pytest.mark.parametrize("seed", range(30))
def test_one_feature_of_the_dual_method_keeps_the_residual_down(seed):
    Z = np.random.default_rng(seed).standard_t(1, (4, 6))
    assert BSSSelector(1, method="dual").fit(Z).certificate_.residual_ratio <= 1 + 1e-9


@ignore_truncation
def test_certificates_verify_when_the_cut_passes_through_equal_singular_values():
    X = np.hstack([np.eye(6)] * 3)
    certificate = BSSSelector(4).fit(X).certificate_
    assert certificate.ambiguous
    assert "one choice among several" in certificate.statement
    assert certificate.verify(X)
    assert rarefy.certify(X, range(9), rank=3).verify(X)
    onehot = np.eye(12)[:, np.random.default_rng(0).integers(0, 12, 200)]
    assert LeverageScoreSelector(100, rank=10, random_state=0).fit(onehot).certificate_.verify(onehot)


def test_inverse_transform_of_integers():
    X = np.random.default_rng(0).standard_normal((4, 60))
    selector = BSSSelector(20).fit(X)
    ones = np.ones((1, selector.support_.sum()))
    expected = selector.inverse_transform(ones)
    np.testing.assert_allclose(selector.inverse_transform(ones.astype(int)), expected)
    for form in (sp.csr_array, sp.csc_matrix):
        many = form(np.vstack([ones, 0 * ones, 2 * ones]).astype(int))
        np.testing.assert_allclose(
            selector.inverse_transform(many).toarray(), np.vstack([expected, 0 * expected, 2 * expected])
        )
    with pytest.raises(ParameterError, match="needs the 20 selected columns; X has 19"):
        selector.inverse_transform(np.ones((1, 19)))


def test_margins_and_balls_do_not_mind_an_offset_or_a_scale():
    X = np.random.default_rng(0).standard_normal((20, 30))
    y = np.arange(20) % 2
    margin, radius = rarefy.hard_margin2(X, y), rarefy.minimum_enclosing_ball(X).radius2
    assert margin > 0
    # An offset of 1e8 leaves eight digits of the data.
    assert rarefy.hard_margin2(X + 1e8, y) == pytest.approx(margin, rel=1e-5)
    assert rarefy.minimum_enclosing_ball(X + 1e8).radius2 == pytest.approx(radius, rel=1e-5)
    for factor in (1e-150, 1e150):
        assert rarefy.hard_margin2(X * factor, y) / factor**2 == pytest.approx(margin)
        assert rarefy.minimum_enclosing_ball(sp.csr_array(X * factor)).radius2 / factor**2 == pytest.approx(radius)


def test_subnormal_data():
    X = np.random.default_rng(0).standard_normal((4, 40)) * 1e-310
    assert BSSSelector(12).fit(X).certificate_.rank == 4
    assert len(RRQRSelector(4).fit(X).selected_) == 4


@ignore_truncation
def test_a_class_without_support_vectors_is_represented_by_its_nearest_row(monkeypatch):
    from rarefy.selection import _support_vectors

    monkeypatch.setattr(_support_vectors, "_LIBSVM_ROWS", 10)
    y = np.repeat([0, 1], 50)
    X = np.random.default_rng(0).standard_normal((100, 5)) * 0.01
    X[:, 0] += np.where(y == 1, 1, -100)
    fitted = Supervised(BSSSelector(4)).fit(X, y)
    assert set(y[fitted.support_vector_indices_]) == {0, 1}
    assert fitted.score(X, y) > 0.4


def test_pandas_output_does_not_reach_the_classifier_inside():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((30, 80)), columns=[f"c{i}" for i in range(80)])
    y = np.arange(30) % 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted = Supervised(BSSSelector(50)).set_output(transform="pandas").fit(frame, y)
        assert fitted.predict(frame).shape == (30,)
        assert list(fitted.transform(frame).columns) == list(fitted.get_feature_names_out())
        with sklearn.config_context(transform_output="pandas"):
            assert Supervised(BSSSelector(50)).fit(frame, y).score(frame, y) > 0


def wide_indices(X):
    A = sp.csr_array(X)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


@pytest.mark.parametrize("selector", [Supervised(BSSSelector(50)), ReliefSelector(5), InformationGainSelector(5)])
def test_sparse_input_with_64_bit_indices_and_in_any_order_is_left_alone(selector):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 80)) * (rng.random((30, 80)) < 0.5)
    y = np.arange(30) % 2
    A = wide_indices(X)
    flip = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in zip(A.indptr, A.indptr[1:], strict=False)])
    A = sp.csr_array((A.data[flip], A.indices[flip], A.indptr), shape=A.shape)
    before = A.indices.copy()
    fitted = sklearn.base.clone(selector).fit(A, y)
    np.testing.assert_array_equal(A.indices, before)
    np.testing.assert_array_equal(fitted.get_support(), sklearn.base.clone(selector).fit(X, y).get_support())
    fitted.transform(A)


def test_a_share_may_be_any_real_number():
    X = np.random.default_rng(0).standard_normal((6, 60))
    assert BSSSelector(30, rank=np.float32(0.5)).fit(X).certificate_.rank < 6


def test_what_cannot_be_is_refused():
    X, y = np.random.default_rng(0).standard_normal((12, 20)), np.arange(12) % 2
    with pytest.raises(ParameterError, match=r"n_neighbors .* got None"):
        ReliefSelector(n_neighbors=None).fit(X, y)
    with pytest.raises(ParameterError, match="at least two training sets; got one"):
        rarefy.selection_stability(InformationGainSelector(3), X, y, cv=ShuffleSplit(1))
    with pytest.raises(ParameterError, match="support is empty"):
        rarefy.certify(X, np.zeros(20, dtype=bool))
    with pytest.raises(ParameterError, match="must be linear; got one with kernel='rbf'"):
        Supervised(BSSSelector(15), SVC()).fit(X, y)
