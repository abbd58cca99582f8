"""What every public estimator promises, beyond scikit-learn's own checks."""

import importlib
import inspect
import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import estimator_checks_generator

import rarefy
from rarefy._fit import fitted_names
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.selection import (
    BestSubsetSelector,
    BSSSelector,
    InformationGainSelector,
    LeverageScoreSelector,
    LPSVMSelector,
    RandomSelector,
    ReliefSelector,
    RRQRSelector,
    SupportVectorSelector,
)

pytestmark = pytest.mark.filterwarnings(
    "ignore::rarefy.exceptions.TruncatedRankWarning",  # more dimensions than features are no subject here
    "ignore::rarefy.exceptions.FewerFeaturesWarning",  # nor repeated draws
)

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
    BestSubsetSelector(3, C=0.1, max_iter=3, max_nodes=0),
    BestSubsetSelector(2, loss="logistic", C=1.0, standardize=False, max_iter=3, max_nodes=0),
]
FIRST = list({type(e): e for e in reversed(INSTANCES + PLAIN)}.values())
SPECTRAL = [e for e in INSTANCES if not isinstance(e, SupportVectorSelector)]


def name(estimator):
    return repr(estimator).replace("\n", "")


instances = pytest.mark.parametrize("estimator", INSTANCES, ids=name)
everyone = pytest.mark.parametrize("estimator", INSTANCES + PLAIN, ids=name)
plain = pytest.mark.parametrize("estimator", PLAIN, ids=name)
spectral = pytest.mark.parametrize("estimator", SPECTRAL, ids=name)


def draw():
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam"])[rng.integers(0, 2, 14)]
    X = rng.standard_normal((14, 60)) * (rng.random((14, 60)) < 0.6) + 0.5 * (y == "spam")[:, None]
    return X, y


@pytest.fixture
def data():
    return draw()


@cache
def fitted_once(estimator):
    """One fit of a listed instance, with which others are compared."""
    return clone(estimator).set_params(**_seeded(estimator)).fit(*draw())


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


@everyone
def test_fit_changes_no_parameter_and_repeats_itself(estimator, data):
    first, other = fitted_once(estimator).selection_order_, clone(estimator).set_params(**_seeded(estimator))
    before = {k: repr(v) for k, v in other.get_params().items()}
    np.testing.assert_array_equal(first, other.fit(*data).selection_order_)
    assert {k: repr(v) for k, v in other.get_params().items()} == before
    np.testing.assert_array_equal(first, other.fit(*data).selection_order_)


@instances
@pytest.mark.parametrize(
    "convert",
    [sp.csr_array, sp.csc_array, sp.csr_matrix, sp.csc_matrix, pd.DataFrame, pl.DataFrame, np.asfortranarray],
    ids=lambda c: f"{c.__module__}.{c.__name__}",
)
def test_all_containers_give_the_same_selection(estimator, data, convert):
    X, y = data
    expected = fitted_once(estimator)
    converted = _converted(X, convert)
    found = clone(expected).fit(converted, y)
    np.testing.assert_array_equal(found.selection_order_, expected.selection_order_)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)
    out = found.transform(converted)
    assert sp.issparse(out) == sp.issparse(converted)
    np.testing.assert_allclose(out.toarray() if sp.issparse(out) else out, expected.transform(X), rtol=1e-7)
    assert found.certificate_.verify(converted)


@plain
@pytest.mark.parametrize("convert", [sp.csr_array, sp.csc_matrix, pd.DataFrame, pl.DataFrame, np.asfortranarray])
def test_plain_selectors_take_all_containers_and_keep_columns_as_they_are(estimator, data, convert):
    X, y = data
    expected = fitted_once(estimator)
    converted = _converted(X, convert)
    found = clone(expected).fit(converted, y)
    np.testing.assert_array_equal(found.selection_order_, expected.selection_order_)
    assert len(set(found.selection_order_)) == len(found.selection_order_) == found.support_.sum()
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
    expected = X[:, fitted.support_] * (fitted.weights_ if inner.rescale else 1.0)
    np.testing.assert_allclose(fitted.transform(X), expected, rtol=1e-12)
    back = fitted.inverse_transform(fitted.transform(X))
    np.testing.assert_allclose(back, X * fitted.support_, rtol=1e-12)


@instances
def test_weights_are_aligned_with_the_names_that_come_out(estimator, data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"word {i}" for i in range(60)])
    fitted = clone(estimator).set_params(**_seeded(estimator)).fit(frame, y)
    order = fitted.selection_order_
    np.testing.assert_array_equal(np.sort(order), np.flatnonzero(fitted.support_))
    np.testing.assert_array_equal(order, fitted.certificate_.indices)
    assert fitted.certificate_.names == tuple(frame.columns[order])
    weights = pd.Series(fitted.weights_, index=fitted.get_feature_names_out())
    assert weights.index.tolist() == frame.columns[fitted.support_].tolist()
    np.testing.assert_array_equal(weights[list(fitted.certificate_.names)], fitted.certificate_.weights)


@pytest.mark.parametrize(
    "estimator",
    [BSSSelector(30), BSSSelector(20, rank=3, method="dual"), SupportVectorSelector(BSSSelector(50))],
    ids=name,
)
def test_the_weight_of_a_name_does_not_depend_on_where_its_column_is(estimator, data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"word {i}" for i in range(60)])
    moved = frame.iloc[:, np.random.default_rng(1).permutation(60)]
    first, second = (
        pd.Series(fitted.weights_, index=fitted.get_feature_names_out())
        for fitted in (clone(estimator).fit(form, y) for form in (frame, moved))
    )
    assert second.index.tolist() != first.index.tolist()
    assert first.nunique() > 1
    pd.testing.assert_series_equal(second.sort_index(), first.sort_index(), rtol=1e-8)


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
    expected = clone(estimator).fit(counts, y).selection_order_
    for dtype in (np.int64, np.uint8, np.float32):
        np.testing.assert_array_equal(clone(estimator).fit(counts.astype(dtype), y).selection_order_, expected)
    as_booleans, as_numbers = (clone(estimator).fit(form, y) for form in (counts > 0, (counts > 0).astype(float)))
    np.testing.assert_array_equal(as_booleans.selection_order_, as_numbers.selection_order_)


@instances
def test_bad_input_is_refused_and_leaves_no_trace(estimator, data):
    X, y = data
    for bad in (np.where(X > 1, np.nan, X), np.where(X > 1, np.inf, X), X[0], X[:0]):
        fresh = clone(estimator)
        with pytest.raises(ValueError, match=r"NaN|infinity|array|sample"):
            fresh.fit(bad, y)
        assert not fitted_names(fresh)
    with pytest.raises(DegenerateDataError, match="every entry is zero"):
        clone(estimator).fit(np.zeros_like(X), y)


@everyone
def test_pickles(estimator, data):
    fitted = clone(estimator).fit(*data)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(data[0]), fitted.transform(data[0]))


@pytest.mark.parametrize(
    "estimator", [e for e in FIRST if "n_features_to_select" in e.get_params(deep=False)], ids=name
)
@pytest.mark.parametrize("bad", [0, -1, 1.0, 1.5, 0.0, "all", True])
def test_impossible_numbers_of_features_are_explained(estimator, data, bad):
    allowed = r"an int in the range \[1, inf\), a float in the range \(0.0, 1.0\)"
    allowed += "(, None or a str among {'auto'}| or None)"
    message = f"'n_features_to_select' parameter of {type(estimator).__name__} must be {allowed}. Got {bad!r} instead"
    with pytest.raises(ParameterError, match=message):
        clone(estimator).set_params(n_features_to_select=bad).fit(*data)


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BSSSelector(10, rank=10), "rank of BSSSelector must be smaller than .* 10; got 10"),
        (BSSSelector(10, rank=0), r"'rank' .* BSSSelector must be an int .* \[1, inf\), a float .* Got 0"),
        (BSSSelector(10, rank=1.0), "'rank' parameter of BSSSelector must be .* Got 1.0"),
        (BSSSelector(10, sketch_size=2.5), "'sketch_size' parameter of BSSSelector must be .* Got 2.5"),
        (BSSSelector(10, method="triple"), "'method' .* must be a str among {'.*single.*'}"),
        (LeverageScoreSelector(10, sampling="x"), "'sampling' parameter of LeverageScoreSelector must be a str among"),
        (LeverageScoreSelector(10, failure_probability=1), "'failure_probability' .* Got 1 instead"),
        (SupportVectorSelector(BSSSelector(), refit="none"), "'refit' parameter of SupportVectorSelector"),
        (SupportVectorSelector(LinearSVC()), "'selector' parameter of SupportVectorSelector must .* 'get_support'"),
        (RRQRSelector(past_rank="go"), "'past_rank' parameter of RRQRSelector must be a str among .* Got 'go'"),
        (ReliefSelector(n_neighbors=0), "'n_neighbors' parameter of ReliefSelector must be an int"),
        (ReliefSelector(n_neighbors=None), "'n_neighbors' parameter of ReliefSelector must be an int .* Got None"),
        (LPSVMSelector(C=0), r"'C' parameter of LPSVMSelector must be a float in the range \[1e-100, 1e\+100\]. Got 0"),
        (LPSVMSelector(C=np.inf), "'C' parameter of LPSVMSelector .* Got inf"),
    ],
)
def test_bad_parameters_are_explained(estimator, message, data):
    with pytest.raises(ParameterError, match=message):
        estimator.fit(*data)


def test_a_grid_search_over_a_pipeline_refits_on_what_was_selected(data):
    X, y = data
    pipe = make_pipeline(BSSSelector(), LinearSVC())
    search = GridSearchCV(pipe, {"bssselector__n_features_to_select": [15, 30]}, cv=2).fit(X, y)
    selector, svm = search.best_estimator_
    alone = BSSSelector(search.best_params_["bssselector__n_features_to_select"]).fit(X)
    np.testing.assert_array_equal(selector.selection_order_, alone.selection_order_)
    np.testing.assert_array_equal(search.decision_function(X), svm.decision_function(alone.transform(X)))


def test_progress_goes_to_standard_error_only_when_asked_for(data, capsys):
    BSSSelector(30).fit(data[0])
    assert capsys.readouterr() == ("", "")
    with rarefy.config_context(progress=True):
        BSSSelector(30).fit(data[0])
    out, err = capsys.readouterr()
    assert out == ""
    assert "selecting [########################] 30/30" in err
