"""How many features selectors keep, what they warn of, and what they do with awkward data."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rarefy._fit import fitted_names
from rarefy.exceptions import FewerFeaturesWarning, ParameterError, RarefyWarning, TruncatedRankWarning
from rarefy.selection import (
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    LPSVMSelector,
    RandomSelector,
    ReliefSelector,
    RRQRSelector,
    SupportVectorSelector,
    _nearest,
    _relief,
)

ignore_truncation = pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")

BUDGETED = [
    BSSSelector(),
    BSSSelector(method="dual"),
    LeverageScoreSelector(sampling="top"),
    RRQRSelector(past_rank="continue"),
    RandomSelector(),
    InformationGainSelector(),
    ReliefSelector(),
]
budgeted = pytest.mark.parametrize("selector", BUDGETED, ids=repr)


def noise(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def warned(selector, X, y=None):
    """The fitted selector, and all that it warned of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(selector).fit(X, y)
    return fitted, caught


@ignore_truncation
@budgeted
@pytest.mark.parametrize(("d", "kept"), [(1, 1), (2, 1), (3, 1), (30, 15), (199, 99), (200, 100), (1000, 100)])
def test_by_default_half_of_the_features_are_kept_and_at_most_100(selector, d, kept):
    assert clone(selector).fit(noise(6, d), np.arange(6) % 2).support_.sum() == kept


@ignore_truncation
@budgeted
def test_a_share_is_one_of_the_features_and_at_least_one_is_kept(selector):
    for share, kept in ((0.5, 20), (0.26, 10), (0.001, 1), (np.float32(0.5), 20)):
        fitted = clone(selector).set_params(n_features_to_select=share).fit(noise(6, 40), np.arange(6) % 2)
        assert fitted.support_.sum() == kept


@budgeted
def test_more_features_than_columns_are_reported_once(selector):
    fitted, caught = warned(clone(selector).set_params(n_features_to_select=25), noise(30, 20), np.arange(30) % 2)
    assert fitted.support_.all()
    (one,) = (warning for warning in caught if not str(warning.message).startswith("X has no zero"))
    assert one.category is FewerFeaturesWarning
    assert str(one.message) == (
        f"{type(selector).__name__} keeps 20 of the 25 features that were asked for: X has only 20 columns. "
        "Set n_features_to_select to 20 or less."
    )
    assert one.filename == __file__


FEWER = [
    (BSSSelector(12), "only 10 of the 20 columns have a nonzero entry, .* Set n_features_to_select to 10 or less"),
    (BSSSelector(30), "only 10 of the 20 columns have a nonzero entry"),
    (LeverageScoreSelector(12, sampling="top"), "only 10 of the 20 columns have a nonzero entry"),
    (LeverageScoreSelector(9, random_state=0), "drawn several times, .* or set sampling='top'"),
    (LeverageScoreSelector(9, sampling="poisson", random_state=0), "number of features drawn is random"),
    (RRQRSelector(9), "have rank 4, .* Set n_features_to_select to 4 or less, or past_rank='continue'"),
    (RRQRSelector(30), "have rank 4"),
]


@pytest.mark.parametrize(("selector", "reason"), FEWER, ids=[repr(selector) for selector, _ in FEWER])
def test_fewer_features_than_asked_for_are_reported_once_with_the_reason(selector, reason):
    X = noise(4, 20)
    X[:, ::2] = 0.0
    fitted, (one,) = warned(selector, X)
    owner, asked, kept = type(selector).__name__, selector.n_features_to_select, fitted.support_.sum()
    assert one.category is FewerFeaturesWarning
    expected = f"{owner} keeps {kept} of the {asked} features that were asked for: .*{reason}"
    assert re.match(expected, str(one.message))


@pytest.mark.parametrize("method", ["single", "dual"])
def test_columns_taken_repeatedly_are_reported(method):
    # One column is the only one along the first direction, and has to be taken again and again.
    X = np.zeros((2, 30))
    X[0, 0] = 1.0
    X[1, 1:] = 1.0
    fitted, (one,) = warned(BSSSelector(20, method=method, weighting="bss"), X)
    assert fitted.support_.sum() < 20
    assert one.category is FewerFeaturesWarning
    assert "taken several times" in str(one.message)
    assert fitted.certificate_.verify(X)


@pytest.mark.parametrize("selector", [LeverageScoreSelector(random_state=0), RRQRSelector(), BSSSelector()], ids=repr)
def test_the_default_number_is_a_limit_and_fewer_are_no_reason_to_warn(selector):
    X = noise(4, 20)
    X[:, 5:] = 0.0
    fitted, caught = warned(selector, X)
    assert fitted.support_.sum() < 10
    assert not caught


def test_as_many_features_as_asked_for_are_no_reason_to_warn():
    for selector in (BSSSelector(12), RRQRSelector(4), LeverageScoreSelector(12, sampling="top"), RandomSelector(12)):
        assert not warned(selector, noise(4, 20))[1]


def test_warnings_are_of_one_family_and_name_the_line_of_the_caller():
    X, y = noise(12, 30), np.arange(12) % 2
    for fit in (
        lambda: make_pipeline(StandardScaler(), BSSSelector(8)).fit(X, y),
        lambda: BSSSelector(8).fit_transform(X),
        lambda: SupportVectorSelector(BSSSelector(5)).fit(X, y),
        lambda: RRQRSelector(20, past_rank="continue").fit(X),
    ):
        with pytest.warns(RarefyWarning) as caught:
            fit()
        (one,) = caught
        assert one.category is TruncatedRankWarning
        assert one.filename == __file__


def test_nothing_of_an_earlier_fit_is_left():
    X, y = noise(12, 30), np.arange(12) % 2
    wrapped = SupportVectorSelector(BSSSelector(20)).fit(X, y)
    assert hasattr(wrapped, "certificate_")
    wrapped.set_params(selector=InformationGainSelector(5)).fit(X, y)
    assert not {"certificate_", "weights_"} & set(fitted_names(wrapped))


def test_three_classes_leave_the_1_norm_svm_as_it_was():
    X, y = noise(12, 30), np.arange(12) % 3
    new, fitted = LPSVMSelector(), LPSVMSelector().fit(X, y == 1)
    before = dict(vars(fitted))
    for selector in (new, fitted):
        with pytest.raises(ParameterError, match="LPSVMSelector got 3 classes"):
            selector.fit(X[:, :20], y)
    assert not fitted_names(new)
    assert vars(fitted) == before


def test_inverse_transform_of_integers():
    selector = BSSSelector(20).fit(noise(4, 60))
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


@pytest.mark.parametrize("factor", [1e-310, 1e-150, 1e150])
def test_pivots_of_tiny_and_of_huge_data(factor):
    X = noise(4, 40)
    # Numbers of 1e-310 have five digits left.
    assert len(RRQRSelector(4).fit(X * factor).selection_order_) == 4
    np.testing.assert_array_equal(
        RRQRSelector(4).fit(X * factor).selection_order_, RRQRSelector(4).fit(X).selection_order_
    )


def test_subnormal_data_have_the_rank_of_the_same_data_in_other_units():
    assert BSSSelector(12).fit(noise(4, 40) * 1e-310).certificate_.rank == 4


def with_wide_indices(X):
    A = sp.csr_array(X)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


@pytest.mark.parametrize(
    "selector", [SupportVectorSelector(BSSSelector(50)), ReliefSelector(5), InformationGainSelector(5)], ids=repr
)
def test_sparse_input_with_64_bit_indices_and_in_any_order_is_left_alone(selector):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 80)) * (rng.random((30, 80)) < 0.5)
    y = np.arange(30) % 2
    A = with_wide_indices(X)
    flip = np.concatenate([np.arange(b - 1, a - 1, -1) for a, b in zip(A.indptr, A.indptr[1:], strict=False)])
    A = sp.csr_array((A.data[flip], A.indices[flip], A.indptr), shape=A.shape)
    before = A.indices.copy()
    fitted, dense = clone(selector).fit(A, y), clone(selector).fit(X, y)
    np.testing.assert_array_equal(A.indices, before)
    np.testing.assert_array_equal(fitted.get_support(), dense.get_support())
    np.testing.assert_allclose(fitted.transform(A).toarray(), dense.transform(X), rtol=1e-8)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("size", [1e-5, 1e-7, 1e-9])
def test_the_dual_method_does_not_amplify_the_residual_however_small_it_is(seed, size):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 60)) + size * rng.standard_t(1, (12, 60))
    selector = BSSSelector(10, rank=3, method="dual").fit(X)
    _, _, Vt = np.linalg.svd(X)
    outside = X - X @ Vt[:3].T @ Vt[:3]
    kept = outside[:, selector.support_] * selector.weights_
    true_ratio = (kept**2).sum() / (outside**2).sum()
    assert selector.certificate_.residual_ratio == pytest.approx(true_ratio, rel=1e-3, abs=1e-6)
    assert true_ratio <= 1 + 1e-6
    assert selector.certificate_.verify(X)


@ignore_truncation
@pytest.mark.parametrize("seed", range(30))
def test_one_feature_of_the_dual_method_does_not_amplify_the_residual(seed):
    Z = np.random.default_rng(seed).standard_t(1, (4, 6))
    assert BSSSelector(1, method="dual").fit(Z).certificate_.residual_ratio <= 1 + 1e-9


def test_measurements_have_no_presence_and_are_cut_at_their_medians():
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.standard_normal((80, 6)) + 10.0
    X[:, 4] += 2.0 * y
    for data in (X, sp.csr_array(X)):
        with pytest.warns(RarefyWarning, match="X has no zero.*made for counts.*mutual_info_classif"):
            selector = InformationGainSelector(1).fit(data, y)
        assert selector.get_support(indices=True).tolist() == [4]
    X[0, 0] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert InformationGainSelector(1).fit(X, y).scores_[1:].max() == 0.0


def labelled(n, d, seed=0):
    y = np.arange(n) % 2
    return noise(n, d, seed) + 3.0 * np.outer(y, np.arange(d) > 0), y


@pytest.mark.parametrize("d", [3, 12])  # by a tree where it pays, by comparison with all
def test_relief_of_a_sample_is_the_mean_over_as_many_samples_and_estimates_that_over_all(monkeypatch, d):
    monkeypatch.setattr(_nearest, "_TREE_ROWS", 0)
    X, y = labelled(80, d)
    every = ReliefSelector(2, max_samples=None).fit(X, y)
    assert every.n_samples_compared_ == 80
    drawn = [ReliefSelector(2, max_samples=20, random_state=seed).fit(X, y) for seed in range(30)]
    assert {selector.n_samples_compared_ for selector in drawn} == {20}
    scores = np.array([selector.scores_ for selector in drawn])
    error = scores.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    assert (error > 0.0).all()
    assert (np.abs(scores.mean(axis=0) - every.scores_) < 5.0 * error).all()
    again = ReliefSelector(2, max_samples=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(again.scores_, scores[0])
    assert ReliefSelector(2, max_samples=0.25).fit(X, y).n_samples_compared_ == 20
    np.testing.assert_array_equal(ReliefSelector(2, max_samples=500).fit(X, y).scores_, every.scores_)


def test_relief_takes_all_samples_unless_that_would_take_too_long(monkeypatch):
    X, y = labelled(60_000, 3)
    assert ReliefSelector(2).fit(X, y).n_samples_compared_ == 60_000
    monkeypatch.setattr(_relief, "_SECONDS", 0.0)
    found = ReliefSelector(2, random_state=0).fit(X[:20_000], y[:20_000])
    assert found.n_samples_compared_ == 100
    assert found.get_support(indices=True).tolist() == [1, 2]
    assert ReliefSelector(2, max_samples=None).fit(X[:2000], y[:2000]).n_samples_compared_ == 2000


def test_a_search_among_sparse_samples_takes_the_longer_the_more_entries_there_are():
    dense, sparse = np.broadcast_to(0.0, (10**6, 300)), sp.csr_array((10**6, 300))
    assert _nearest.seconds_of_a_search(sparse, 1) < _nearest.seconds_of_a_search(dense, 1)
    tall = np.broadcast_to(0.0, (10**6, 3))
    assert (
        10**6 * _nearest.seconds_of_a_search(tall, 1)
        < _relief._SECONDS
        < 10**6 * _nearest.seconds_of_a_search(dense, 1)
    )


def test_the_1_norm_svm_of_many_samples_has_no_matrix_of_all_pairs():
    """Of 200 000 samples that would be one of 320 GB."""
    X, y = labelled(200_000, 3)
    assert set(LPSVMSelector(C=1.0).fit(X, y).get_support(indices=True)) >= {1, 2}
