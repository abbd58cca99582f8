"""Certificates and what surrounds them: cases that once went wrong, each with what should happen."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.feature_selection import RFE
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import rarefy
from rarefy.exceptions import ParameterError, TruncatedRankWarning
from rarefy.selection import (
    BSSSelector,
    LeverageScoreSelector,
    LPSVMSelector,
    SupportVectorSelector,
)


def noise(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.mark.parametrize("shape", [(60, 200), (200, 60)])
def test_columns_lost_in_the_rounding_of_another_are_spoken_of(shape):
    X = noise(*shape)
    y = np.arange(shape[0]) % 2
    X[:, 5] += 6 * y
    X[:, 0] = 1e15
    with pytest.warns(TruncatedRankWarning, match=f"{shape[1] - 1} of {shape[1]} columns are so short"):
        found = BSSSelector(50).fit(X).certificate_
    assert found.unseen == shape[1] - 1
    assert found.kind == "none"
    assert found.margin_floor is found.margin_ratio is found.radius_ratio is found.risk_ratio is None
    assert "lost in its rounding" in found.statement
    assert found.verify(X)
    assert not replace(found, unseen=0).verify(X)
    audited = rarefy.certify(X, [0])
    assert audited.margin_floor is None
    again = rarefy.Certificate.from_dict(json.loads(json.dumps(audited.to_dict())))
    assert (again.unseen, again.resolution) == (audited.unseen, audited.resolution)
    old = audited.to_dict()
    del old["unseen"], old["resolution"], old["names"]
    assert rarefy.Certificate.from_dict(old).unseen == 0


def test_what_counts_as_zero_is_said_where_a_dimension_is_missing():
    X = noise(20, 50)
    assert "count as zero" not in rarefy.certify(X, np.arange(40)).statement
    X[7] = X[3]
    found = rarefy.certify(X, np.arange(40))
    assert found.rank == 19
    assert found.resolution == pytest.approx(50 * np.finfo(float).eps * np.linalg.norm(X, 2), rel=1e-6)
    assert f"up to {found.resolution:.2g}, rounding" in found.statement
    assert found.unseen == 0
    assert found.margin_floor is not None
    assert found.verify(X)
    assert not replace(found, resolution=1e-3).verify(X)


def test_whether_a_direction_was_lost_does_not_depend_on_a_common_factor():
    X = noise(30, 400)
    for seed in range(20):
        few = np.random.default_rng(seed).choice(400, 29, replace=False)
        for weight in (1e-6, 1.0, 300.0, 1e6):
            found = rarefy.certify(X, few, np.full(29, weight))
            assert found.kind == "none"
            assert found.margin_floor is found.radius_margin_ratio is None
    enough = [rarefy.certify(X, np.arange(300), np.full(300, weight)) for weight in (1e-8, 1.0, 1e8)]
    assert {one.kind for one in enough} == {"deterministic"}
    ratios = [one.radius_margin_ratio for one in enough]
    np.testing.assert_allclose(ratios, ratios[1], rtol=1e-9)


@pytest.mark.parametrize("kappa", [1e8, 1e13, 1e14])
def test_forged_eigenvalues_do_not_pass_on_ill_conditioned_data(kappa):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        U = np.linalg.qr(rng.standard_normal((8, 8)))[0]
        V = np.linalg.qr(rng.standard_normal((12, 8)))[0]
        X = U * np.logspace(0, -np.log10(kappa), 8) @ V.T
        found = rarefy.certify(X, np.arange(9))
        outcome = found.verify(X)
        assert outcome
        assert outcome.difference <= outcome.tolerance <= 2e-4 * max(1.0, found.eigenvalues[1])
        low, high = found.eigenvalues
        assert not replace(found, eigenvalues=(low + 1e-3, high)).verify(X)
        assert not replace(found, weights=1.001 * found.weights).verify(X)


def test_dual_certificates_pass_where_the_cut_goes_through_equal_singular_values():
    X = np.hstack([np.eye(10)] * 5)
    found = BSSSelector(8, method="dual", rank=3).fit(X).certificate_
    assert found.ambiguous
    assert found.verify(X)
    assert not replace(found, residual_ratio=found.residual_ratio + 0.01).verify(X)
    rng = np.random.default_rng(0)
    for _ in range(10):
        onehot = np.eye(6)[rng.integers(0, 6, 30)]
        assert BSSSelector(4, method="dual", rank=2).fit(onehot).certificate_.verify(onehot)


def test_rows_without_weight_are_no_support_vectors():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 60)), np.arange(40) % 2
    X[:, 3] += 3 * y
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


def test_a_mask_of_features_is_not_taken_for_rows():
    X, y = noise(40, 40), np.arange(40) % 2
    X[:, 3] += 3 * y
    for estimator in (LPSVMSelector(), RFE(LinearSVC(), n_features_to_select=5)):
        model = SupportVectorSelector(BSSSelector(30), estimator).fit(X, y)
        assert model.support_vector_indices_.dtype.kind == "i"
        scores = model.estimator_.decision_function(X) * np.where(y == 1, 1, -1)
        inside = np.flatnonzero(scores <= 1.0)
        assert set(inside) <= set(model.support_vector_indices_)
    with pytest.raises(ParameterError, match="must be linear; got one with kernel='rbf'"):
        SupportVectorSelector(BSSSelector(30), make_pipeline(StandardScaler(), SVC())).fit(X, y)


def test_a_selector_in_a_selector_certifies_the_rows_of_the_inner_one():
    X, y = noise(40, 60), np.arange(40) % 2
    X[:, 3] += 3 * y
    inner = SupportVectorSelector(BSSSelector(30), SVC(kernel="linear", C=100))
    model = SupportVectorSelector(inner, SVC(kernel="linear", C=0.005)).fit(X, y)
    assert len(model.certificate_.rows) == len(model.selector_.support_vector_indices_) < 40
    assert model.certificate_.verify(X)


def test_what_is_not_a_number_has_no_margin_and_no_ball():
    X, y = noise(10, 3), np.arange(10) % 2
    X[2, 1] = np.nan
    for call in (lambda: rarefy.hard_margin2(X, y), lambda: rarefy.minimum_enclosing_ball(X)):
        with pytest.raises(ValueError, match="NaN or infinity"):
            call()
    with pytest.raises(ValueError, match="label for each of the 10 rows of X; got 9"):
        rarefy.hard_margin2(noise(10, 3), y[:9])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.ones(3)}, r"y must have one response for each of the 10 rows of X; got shape \(3,\)"),
        ({"queries": np.ones((2, 60))}, "queries must have the 30 columns of X; got 60"),
        ({"weights": [1.0]}, r"weights must have one entry for each of 25 indices; got shape \(1,\)"),
        ({"indices": np.ones(30, dtype=bool)}, "indices must be a list of column numbers; got bool"),
        ({"indices": np.arange(25) + 10}, r"indices must lie in \[0, 30\); got 10 to 34"),
        ({"X": np.zeros((10, 30))}, "no entry that is not zero"),
        ({"alpha": np.inf}, "must be positive and finite; got inf"),
    ],
)
def test_bounds_of_predictions_refuse_what_does_not_fit_together(changes, message):
    X = noise(10, 30)
    given = {"X": X, "indices": np.arange(25), "weights": np.ones(25), "y": X[:, 0], "queries": X[:2], "alpha": 1.0}
    assert rarefy.prediction_difference_bound(**given).shape == (2,)
    with pytest.raises(ValueError, match=message):
        rarefy.prediction_difference_bound(**(given | changes))
    with pytest.raises(ValueError, match="noise_variance must be finite and not negative; got -5"):
        rarefy.ridge_risk(np.eye(3), np.ones(3), alpha=1.0, noise_variance=-5)


def test_certificates_of_sketches_speak_of_the_sketch():
    X = noise(200, 40) * np.exp(1.5 * noise(1, 40, 1))
    dual = BSSSelector(10, method="dual", sketch_size=6, rank=3, random_state=0).fit(X).certificate_
    assert "What of the sketch lies outside" in dual.statement
    assert "of the data themselves nothing is" in dual.statement
    sampled = LeverageScoreSelector(30, sketch_size=6, rank=3, random_state=0).fit(X).certificate_
    assert "Known beforehand (of the sketch)" in sampled.statement


def test_columns_named_by_other_numbers_are_not_guessed():
    frame = pd.DataFrame(noise(30, 100))
    assert rarefy.certify(frame, [3, 4]).indices.tolist() == [3, 4]
    with pytest.raises(ParameterError, match="named by numbers that are not their positions"):
        rarefy.certify(frame.iloc[:, ::-1], [3, 4])
    assert rarefy.certify(frame.iloc[:, ::-1], np.arange(100) < 2).indices.tolist() == [0, 1]


def test_names_that_do_not_fit_the_weights_are_refused():
    frame = pd.DataFrame(noise(30, 100), columns=[f"c{i}" for i in range(100)])
    found = rarefy.certify(frame, ["c1", "c2"])
    with pytest.raises(ValueError, match="1 names and 2 weights: it was changed"):
        replace(found, names=("c1",)).verify(frame)


def test_numbers_of_numpy_survive_json():
    X = noise(40, 80)
    for selector in (
        BSSSelector(np.int64(50), sketch_size=np.int64(10), random_state=0),
        LeverageScoreSelector(50, failure_probability=np.float32(0.1), random_state=0),
    ):
        found = selector.fit(X).certificate_
        again = rarefy.Certificate.from_dict(json.loads(json.dumps(found.to_dict())))
        assert again.statement == found.statement


@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_common_factor_on_all_columns_is_one_on_C(factor):
    X, y = make_classification(100, 20, random_state=0)
    one, other = LPSVMSelector(C=factor).fit(X, y), LPSVMSelector(C=1.0).fit(factor * X, y)
    np.testing.assert_allclose(other.coef_ * factor, one.coef_, atol=1e-6 * np.abs(one.coef_).max(initial=1.0))
    assert other.duality_gap_ == pytest.approx(one.duality_gap_ / factor, abs=1e-6)


def test_reports_can_be_compared_and_asked_for_a_number_of_features_only():
    X = noise(40, 20)
    report = rarefy.selection_stability(BSSSelector(5, rank=3), X, n_splits=3, random_state=0)
    assert report == report
    assert len({report}) == 1
    for call in (report.top, report.plot):
        with pytest.raises(ParameterError, match=r"k of StabilityReport\.top must be an integer >= 1; got 0"):
            call(0)
