"""Selection on support vectors: which samples they are, what reaches the classifier, what is certified."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.feature_selection import RFE, SelectKBest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.selection import BSSSelector, InformationGainSelector, LPSVMSelector, SupportVectorSelector
from rarefy.selection import _support_vectors as module

ignore_truncation = pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    y = np.array(["ham", "spam"])[rng.integers(0, 2, 14)]
    X = rng.standard_normal((14, 60)) * (rng.random((14, 60)) < 0.6) + 0.5 * (y == "spam")[:, None]
    return X, y


def noise_with_one_relevant_column(n, d):
    X, y = np.random.default_rng(0).standard_normal((n, d)), np.arange(n) % 2
    X[:, 3] += 3 * y
    return X, y


def test_selects_predicts_and_certifies(data):
    X, y = data
    fitted = SupportVectorSelector(BSSSelector(50)).fit(X, y)
    np.testing.assert_array_equal(fitted.support_vector_indices_, np.sort(fitted.estimator_.support_))
    np.testing.assert_array_equal(X[fitted.support_vector_indices_], fitted.support_vectors_)
    alone = BSSSelector(50).fit(fitted.support_vectors_)
    np.testing.assert_array_equal(fitted.selection_order_, alone.selection_order_)
    np.testing.assert_array_equal(fitted.weights_, alone.weights_)
    assert fitted.certificate_.verify(X)
    assert not fitted.certificate_.verify(X[::-1])
    assert "support vectors (not about the other rows)" in fitted.certificate_.statement
    rows = fitted.support_vector_indices_
    again = SVC(kernel="linear", break_ties=True).fit(alone.transform(X[rows]), y[rows])
    np.testing.assert_allclose(fitted.decision_function(X), again.decision_function(alone.transform(X)))
    np.testing.assert_array_equal(fitted.predict(X), again.predict(alone.transform(X)))
    assert fitted.score(X, y) == again.score(alone.transform(X), y)
    every = SupportVectorSelector(BSSSelector(50), refit="all").fit(X, y)
    expected = SVC(kernel="linear").fit(alone.transform(X), y).decision_function(alone.transform(X))
    np.testing.assert_allclose(every.decision_function(X), expected)


def test_attributes_are_those_that_the_inner_selector_has(data):
    X, y = data
    plain = SupportVectorSelector(InformationGainSelector(5)).fit(X, y)
    np.testing.assert_array_equal(plain.selection_order_, plain.selector_.selection_order_)
    foreign = SupportVectorSelector(SelectKBest(k=5)).fit(X, y)
    np.testing.assert_array_equal(foreign.support_, foreign.selector_.get_support())
    np.testing.assert_array_equal(foreign.transform(X), X[:, foreign.support_])
    for fitted, absent in ((plain, ("weights_", "certificate_")), (foreign, ("selection_order_", "weights_"))):
        assert not any(hasattr(fitted, name) for name in absent)


@ignore_truncation
def test_support_vectors_of_liblinear_are_the_samples_inside_the_margin():
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


def test_many_samples_go_to_liblinear(monkeypatch, data):
    assert isinstance(SupportVectorSelector(BSSSelector(50)).fit(*data).estimator_, SVC)
    monkeypatch.setattr(module, "_LIBSVM_ROWS", 10)
    assert isinstance(SupportVectorSelector(BSSSelector(50)).fit(*data).estimator_, LinearSVC)


@ignore_truncation
def test_a_class_without_support_vectors_is_represented_by_its_nearest_sample(monkeypatch):
    monkeypatch.setattr(module, "_LIBSVM_ROWS", 10)
    y = np.repeat([0, 1], 50)
    X = np.random.default_rng(0).standard_normal((100, 5)) * 0.01
    X[:, 0] += np.where(y == 1, 1, -100)
    fitted = SupportVectorSelector(BSSSelector(4)).fit(X, y)
    margins = fitted.estimator_.decision_function(X) * np.where(y == 1, 1, -1)
    assert margins[y == 0].min() > 1.0 + fitted.estimator_.tol
    nearest = np.flatnonzero(y == 0)[margins[y == 0].argmin()]
    rows = fitted.support_vector_indices_
    np.testing.assert_array_equal(rows[y[rows] == 0], [nearest])


def test_a_mask_of_features_is_not_taken_for_rows():
    X, y = noise_with_one_relevant_column(40, 40)
    for estimator in (LPSVMSelector(), RFE(LinearSVC(), n_features_to_select=5)):
        model = SupportVectorSelector(BSSSelector(30), estimator).fit(X, y)
        assert model.support_vector_indices_.dtype.kind == "i"
        scores = model.estimator_.decision_function(X) * np.where(y == 1, 1, -1)
        inside = np.flatnonzero(scores <= 1.0)
        assert set(inside) <= set(model.support_vector_indices_)


@pytest.mark.parametrize("estimator", [SVC(), make_pipeline(StandardScaler(), SVC())], ids=["alone", "in a pipeline"])
def test_classifiers_that_are_not_linear_are_refused(estimator):
    with pytest.raises(ParameterError, match="must be linear; got one with kernel='rbf'"):
        SupportVectorSelector(BSSSelector(30), estimator).fit(*noise_with_one_relevant_column(40, 40))


def test_sample_weight_reaches_the_classifier_with_and_without_routing(data):
    X, y = data
    weight = np.where(np.arange(14) < 11, 1.0, 0.0)
    plain = SupportVectorSelector(BSSSelector(50)).fit(X, y, sample_weight=weight)
    expected = SVC(kernel="linear").fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(plain.support_vector_indices_, np.sort(expected.support_))
    with sklearn.config_context(enable_metadata_routing=True):
        svm = SVC(kernel="linear").set_fit_request(sample_weight=True)
        routed = SupportVectorSelector(BSSSelector(50), svm).fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(routed.selection_order_, plain.selection_order_)
    with pytest.raises(DegenerateDataError, match="positive sample_weight"):
        SupportVectorSelector(BSSSelector(50)).fit(X, y, sample_weight=(y == "ham").astype(float))


def test_samples_without_weight_are_no_support_vectors():
    rng = np.random.default_rng(0)
    X, y = noise_with_one_relevant_column(40, 60)
    for weights in (rng.permutation(np.repeat([0.0, 1.0], [15, 25])), np.repeat([0.0, 1.0], 20)):
        model = SupportVectorSelector(BSSSelector(30)).fit(X, y, sample_weight=weights)
        assert np.all(weights[model.support_vector_indices_] > 0)
        np.testing.assert_array_equal(
            model.support_vectors_, model.estimator_.support_vectors_[np.argsort(model.estimator_.support_)]
        )
        some = weights > 0
        alone = SupportVectorSelector(BSSSelector(30)).fit(X[some], y[some])
        np.testing.assert_array_equal(model.support_, alone.support_)
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))


def test_a_selector_in_a_selector_certifies_the_rows_of_the_inner_one():
    X, y = noise_with_one_relevant_column(40, 60)
    inner = SupportVectorSelector(BSSSelector(30), SVC(kernel="linear", C=100))
    model = SupportVectorSelector(inner, SVC(kernel="linear", C=0.005)).fit(X, y)
    assert len(model.certificate_.rows) == len(model.selector_.support_vector_indices_) < 40
    assert model.certificate_.verify(X)


def test_pandas_output_does_not_reach_the_classifier_inside():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((30, 80)), columns=[f"c{i}" for i in range(80)])
    y = np.arange(30) % 2
    array = SupportVectorSelector(BSSSelector(50)).fit(frame.to_numpy(), y)
    fitted = SupportVectorSelector(BSSSelector(50)).set_output(transform="pandas").fit(frame, y)
    np.testing.assert_array_equal(fitted.predict(frame), array.predict(frame.to_numpy()))
    assert list(fitted.transform(frame).columns) == list(fitted.get_feature_names_out())
    with sklearn.config_context(transform_output="pandas"):
        assert SupportVectorSelector(BSSSelector(50)).fit(frame, y).score(frame, y) == fitted.score(frame, y)
