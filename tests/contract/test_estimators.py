"""What every public estimator promises, beyond scikit-learn's own checks."""

import importlib
import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator

import rarefy.selection
from rarefy.exceptions import DegenerateDataError, ParameterError, RarefyWarning
from rarefy.selection import (
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    LPSVMSelector,
    RandomSelector,
    ReliefSelector,
    RRQRSelector,
    SupportVectorSelector,
)

pytestmark = pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")

# One default and several non-default instances of each; a class without an instance fails the first test.
INSTANCES = [
    BSSSelector(),
    BSSSelector(20, rank=3, method="dual", rescale=False),
    BSSSelector(0.3, sketch_size=6, random_state=1),
    LeverageScoreSelector(),
    LeverageScoreSelector(20, sampling="poisson", rank=0.5, random_state=0),
    LeverageScoreSelector(20, sampling="top", rescale=False, sketch_size=5, random_state=0),
    SupportVectorSelector(BSSSelector()),
    SupportVectorSelector(LeverageScoreSelector(20, random_state=0), LinearSVC(C=10), refit="all"),
]
PLAIN = [
    RRQRSelector(),
    RRQRSelector(20, past_rank="continue"),
    RandomSelector(),
    RandomSelector(0.2, random_state=1),
    InformationGainSelector(),
    InformationGainSelector(7),
    ReliefSelector(),
    ReliefSelector(7, n_neighbors=3),
    LPSVMSelector(),
    LPSVMSelector(C=0.3),
]
FIRST = list({type(e): e for e in reversed(INSTANCES + PLAIN)}.values())
SPECTRAL = [e for e in INSTANCES if not isinstance(e, SupportVectorSelector)]


def name(estimator):
    return repr(estimator).replace("\n", "")


instances = pytest.mark.parametrize("estimator", INSTANCES, ids=name)
everyone = pytest.mark.parametrize("estimator", INSTANCES + PLAIN, ids=name)
plain = pytest.mark.parametrize("estimator", PLAIN, ids=name)
spectral = pytest.mark.parametrize("estimator", SPECTRAL, ids=name)


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam"])[rng.integers(0, 2, 14)]
    X = rng.standard_normal((14, 60)) * (rng.random((14, 60)) < 0.6) + 0.5 * (y == "spam")[:, None]
    return X, y


def test_every_public_estimator_is_listed_here():
    public = {
        cls
        for module in ("rarefy.selection",)
        for _, cls in inspect.getmembers(importlib.import_module(module), inspect.isclass)
        if issubclass(cls, BaseEstimator)
    }
    assert public == {type(e) for e in INSTANCES + PLAIN}


@pytest.mark.parametrize(
    ("estimator", "check"),
    [c for e in FIRST for c in estimator_checks_generator(e)],
    ids=lambda v: v.func.__name__ if hasattr(v, "func") else type(v).__name__,
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # array API input, when not enabled
def test_check_estimator_as_a_user_would_call_it():
    for estimator in FIRST:
        check_estimator(clone(estimator))


@everyone
def test_fit_changes_no_parameter_and_repeats_itself(estimator, data):
    estimator = clone(estimator)
    before = {k: repr(v) for k, v in estimator.get_params().items()}
    first = estimator.fit(*data).get_support(indices=True)
    second = clone(estimator).fit(*data)
    assert {k: repr(v) for k, v in estimator.get_params().items()} == before
    if estimator.get_params().get("random_state", 0) is not None or isinstance(estimator, BSSSelector):
        np.testing.assert_array_equal(first, second.get_support(indices=True))


@instances
@pytest.mark.parametrize(
    "convert",
    [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix, pd.DataFrame, pl.DataFrame, np.asfortranarray],
    ids=lambda c: f"{c.__module__}.{c.__name__}",
)
def test_all_containers_give_the_same_selection(estimator, data, convert):
    X, y = data
    estimator = clone(estimator).set_params(**_seeded(estimator))
    expected = clone(estimator).fit(X, y)
    converted = _converted(X, convert)
    found = clone(estimator).fit(converted, y)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)
    out = found.transform(converted)
    assert sp.issparse(out) == sp.issparse(converted)
    np.testing.assert_allclose(out.toarray() if sp.issparse(out) else out, expected.transform(X), rtol=1e-7)
    assert found.certificate_.verify(converted)


@plain
@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_matrix, pd.DataFrame, pl.DataFrame, np.asfortranarray])
def test_plain_selectors_take_all_containers_and_keep_columns_as_they_are(estimator, data, convert):
    X, y = data
    estimator = clone(estimator).set_params(**_seeded(estimator))
    expected = clone(estimator).fit(X, y)
    converted = _converted(X, convert)
    found = clone(estimator).fit(converted, y)
    np.testing.assert_array_equal(found.selected_, expected.selected_)
    assert len(set(found.selected_)) == len(found.selected_) == found.support_.sum()
    out = found.transform(converted)
    np.testing.assert_array_equal(out.toarray() if sp.issparse(out) else out, X[:, found.support_])


def _converted(X, convert):
    names = [f"w{i}" for i in range(X.shape[1])]
    if convert is pd.DataFrame:
        return pd.DataFrame(X, columns=names)
    return pl.DataFrame(X, schema=names) if convert is pl.DataFrame else convert(X)


def _seeded(estimator):
    return {k: 0 for k in estimator.get_params() if k.endswith("random_state")}


@instances
def test_transform_is_XR_in_column_order_and_can_be_undone(estimator, data):
    X, y = data
    fitted = clone(estimator).fit(X, y)
    inner = getattr(fitted, "selector_", fitted)
    weights = np.ones(60)
    if inner.rescale:
        weights[fitted.selected_] = fitted.weights_
    np.testing.assert_allclose(fitted.transform(X), (X * weights)[:, fitted.support_], rtol=1e-12)
    back = fitted.inverse_transform(fitted.transform(X))
    np.testing.assert_allclose(back, X * fitted.support_, rtol=1e-12)
    assert len(fitted.selected_) == len(fitted.weights_) == fitted.support_.sum()
    assert set(fitted.selected_) == set(np.flatnonzero(fitted.support_))


@everyone
def test_float32_is_kept_and_names_come_out(estimator, data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"word {i}" for i in range(60)])
    fitted = clone(estimator).set_output(transform="pandas").fit(frame, y)
    out = fitted.transform(frame)
    assert list(out.columns) == list(fitted.get_feature_names_out())
    assert list(out.columns) == [f"word {i}" for i in np.flatnonzero(fitted.support_)]
    assert clone(estimator).fit_transform(X.astype(np.float32), y).dtype == np.float32


@spectral
def test_integers_and_booleans_are_selected_from_as_numbers(estimator, data):
    X, y = data
    counts = np.round(np.abs(X) * 3)
    estimator = clone(estimator).set_params(**_seeded(estimator))
    expected = clone(estimator).fit(counts, y).selected_
    for dtype in (np.int64, np.uint8, np.float32):
        np.testing.assert_array_equal(clone(estimator).fit(counts.astype(dtype), y).selected_, expected)
    np.testing.assert_array_equal(
        clone(estimator).fit(counts > 0, y).selected_, clone(estimator).fit((counts > 0).astype(float), y).selected_
    )


@instances
def test_bad_input_is_refused_and_leaves_no_trace(estimator, data):
    X, y = data
    for bad in (np.where(X > 1, np.nan, X), np.where(X > 1, np.inf, X), X[0], X[:0]):
        fresh = clone(estimator)
        with pytest.raises(ValueError, match=r"NaN|infinity|array|sample"):
            fresh.fit(bad, y)
        assert not [a for a in vars(fresh) if a.endswith("_") and not a.startswith("_") and a != "n_features_in_"]
    with pytest.raises(DegenerateDataError, match="every entry is zero"):
        clone(estimator).fit(np.zeros_like(X), y)


@everyone
def test_pickles(estimator, data):
    fitted = clone(estimator).fit(*data)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(data[0]), fitted.transform(data[0]))


@pytest.mark.parametrize(
    "estimator", [e for e in FIRST if "n_features_to_select" in e.get_params(deep=False)], ids=name
)
@pytest.mark.parametrize("bad", [0, -1, 1.5, 0.0, "all", True])
def test_impossible_budgets_are_explained(estimator, data, bad):
    owner = type(estimator).__name__
    with pytest.raises(ParameterError, match=f"n_features_to_select of {owner} must be .* got {bad!r}"):
        clone(estimator).set_params(n_features_to_select=bad).fit(*data)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BSSSelector(10, rank=10), "rank of BSSSelector must be smaller than .* 10; got 10"),
        (BSSSelector(10, rank=0), "rank of BSSSelector must be None, an integer >= 1 or a share .* got 0"),
        (BSSSelector(10, rank=1.0), "rank of BSSSelector must be None, an integer >= 1 or a share .* got 1.0"),
        (BSSSelector(10, sketch_size=2.5), "sketch_size of BSSSelector .* got 2.5"),
        (BSSSelector(10, method="triple"), "method of BSSSelector must be one of 'single', 'dual'; got 'triple'"),
        (LeverageScoreSelector(10, sampling="x"), "sampling of LeverageScoreSelector must be one of"),
        (LeverageScoreSelector(10, failure_probability=1), r"must be a number in \(0, 1\); got 1"),
        (SupportVectorSelector(BSSSelector(), refit="none"), "refit of SupportVectorSelector"),
        (RRQRSelector(past_rank="go"), "past_rank of RRQRSelector must be one of 'stop', 'continue'; got 'go'"),
        (ReliefSelector(n_neighbors=0), "n_neighbors of ReliefSelector must be"),
        (LPSVMSelector(C=0), "C of LPSVMSelector must be a positive number; got 0"),
    ],
)
def test_bad_parameters_are_explained(estimator, message, data):
    with pytest.raises(ParameterError, match=message):
        estimator.fit(*data)


def test_works_in_a_pipeline_and_a_grid_search(data):
    X, y = data
    pipe = make_pipeline(BSSSelector(), LinearSVC())
    search = GridSearchCV(pipe, {"bssselector__n_features_to_select": [15, 30]}, cv=2).fit(X, y)
    assert search.best_score_ > 0


def test_progress_goes_to_standard_error_only_when_asked(data, capsys):
    BSSSelector(30).fit(data[0])
    assert capsys.readouterr() == ("", "")
    BSSSelector(30, verbose=1).fit(data[0])
    out, err = capsys.readouterr()
    assert out == ""
    assert "selecting [########################] 30/30" in err


def test_warnings_belong_to_one_family():
    for warning in (rarefy.exceptions.TruncatedRankWarning,):
        assert issubclass(warning, RarefyWarning)


def test_support_vectors_select_predict_and_certify(data):
    X, y = data
    fitted = SupportVectorSelector(BSSSelector(50)).fit(X, y)
    np.testing.assert_array_equal(fitted.support_vector_indices_, np.sort(fitted.estimator_.support_))
    np.testing.assert_array_equal(X[fitted.support_vector_indices_], fitted.support_vectors_)
    alone = BSSSelector(50).fit(fitted.support_vectors_)
    np.testing.assert_array_equal(fitted.selected_, alone.selected_)
    assert fitted.certificate_.verify(X)
    assert not fitted.certificate_.verify(X[::-1])
    assert "support vectors (not about the other rows)" in fitted.certificate_.statement
    assert fitted.score(X, y) > 0.5
    assert set(fitted.predict(X)) <= {"ham", "spam"}
    rows = fitted.support_vector_indices_
    again = SVC(kernel="linear", break_ties=True).fit(alone.transform(X[rows]), y[rows])
    np.testing.assert_allclose(fitted.decision_function(X), again.decision_function(alone.transform(X)))
    every = SupportVectorSelector(BSSSelector(50), refit="all").fit(X, y)
    expected = SVC(kernel="linear").fit(alone.transform(X), y).decision_function(alone.transform(X))
    np.testing.assert_allclose(every.decision_function(X), expected)


def test_support_vectors_of_liblinear_are_the_rows_inside_the_margin():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30)) + np.repeat([0, 1, 2], 20)[:, None]
    y = np.repeat(["a", "b", "c"], 20)
    for labels in (y, np.where(y == "c", "a", y)):
        hinge = LinearSVC(C=1, loss="hinge", tol=1e-8, max_iter=1_000_000)
        fitted = SupportVectorSelector(BSSSelector(29), hinge).fit(X, labels)
        scores = fitted.estimator_.decision_function(X).reshape(60, -1)
        scores = np.hstack([-scores, scores]) if scores.shape[1] == 1 else scores
        margins = np.where(labels[:, None] == fitted.classes_, scores, -scores)
        np.testing.assert_array_equal(fitted.support_vector_indices_, np.flatnonzero(margins.min(axis=1) <= 1 + 1e-8))


def test_many_rows_go_to_liblinear(monkeypatch, data):
    from rarefy.selection import _support_vectors

    monkeypatch.setattr(_support_vectors, "_LIBSVM_ROWS", 10)
    assert isinstance(SupportVectorSelector(BSSSelector(50)).fit(*data).estimator_, LinearSVC)


def test_sample_weight_reaches_the_classifier_with_and_without_routing(data):
    X, y = data
    weight = np.where(np.arange(14) < 11, 1.0, 0.0)
    plain = SupportVectorSelector(BSSSelector(50)).fit(X, y, sample_weight=weight)
    expected = SVC(kernel="linear").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(plain.support_vector_indices_, np.sort(expected.support_))
    with sklearn.config_context(enable_metadata_routing=True):
        svm = SVC(kernel="linear").set_fit_request(sample_weight=True)
        routed = SupportVectorSelector(BSSSelector(50), svm).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(routed.selected_, plain.selected_)
    with pytest.raises(DegenerateDataError, match="positive sample_weight"):
        SupportVectorSelector(BSSSelector(50)).fit(X, y, sample_weight=(y == "ham").astype(float))
