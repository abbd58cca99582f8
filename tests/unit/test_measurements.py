"""Margins, balls, ridge risk and bounds of predictions: what the public functions accept and return."""

import numpy as np
import pytest
import scipy.sparse as sp

import rarefy
from rarefy.core.certificates.measure import dominant_mean
from rarefy.core.linalg.rows import as_rows
from rarefy.exceptions import ParameterError


def noise(n, d):
    return np.random.default_rng(0).standard_normal((n, d))


def test_what_is_not_a_number_has_no_margin_and_no_ball():
    X, y = noise(10, 3), np.arange(10) % 2
    X[2, 1] = np.nan
    for call in (lambda: rarefy.hard_margin2(X, y), lambda: rarefy.minimum_enclosing_ball(X)):
        with pytest.raises(ValueError, match="contains NaN"):
            call()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.arange(9) % 2, r"inconsistent numbers of samples: \[10, 9\]"),
        (np.arange(10) % 3, "between two classes; y of hard_margin2 has 3"),
        (np.zeros(10), "between two classes; y of hard_margin2 has 1"),
    ],
)
def test_a_margin_needs_one_of_two_labels_for_each_sample(y, message):
    with pytest.raises(ValueError, match=message):
        rarefy.hard_margin2(noise(10, 3), y)


def test_margins_and_balls_do_not_mind_an_offset_or_a_scale():
    X = noise(20, 30)
    y = np.arange(20) % 2
    margin, radius = rarefy.hard_margin2(X, y), rarefy.minimum_enclosing_ball(X).radius2
    assert margin > 0
    # An offset of 1e8 leaves eight digits of the data.
    assert rarefy.hard_margin2(X + 1e8, y) == pytest.approx(margin, rel=1e-5)
    assert rarefy.minimum_enclosing_ball(X + 1e8).radius2 == pytest.approx(radius, rel=1e-5)
    for factor in (1e-150, 1e150):
        assert rarefy.hard_margin2(X * factor, y) / factor**2 == pytest.approx(margin)
        assert rarefy.minimum_enclosing_ball(sp.csr_array(X * factor)).radius2 / factor**2 == pytest.approx(radius)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"y": np.ones(3)}, r"inconsistent numbers of samples: \[10, 3\]"),
        ({"queries": np.ones((2, 60))}, "queries must have the 30 columns of X; got 60"),
        ({"weights": [1.0]}, r"weights must have one entry for each of 25 indices; got \(1,\)"),
        (
            {"indices": np.ones(30, dtype=bool)},
            "indices .* must be column numbers; .* bool",
        ),
        ({"indices": np.arange(25) + 10}, r"must lie in \[0, 30\); got 10 to 34"),
        ({"X": np.zeros((10, 30))}, "no entry that is not zero"),
        ({"alpha": np.inf}, r"'alpha' .* must be a float in the range \[0.0, 1e\+100\]. Got inf"),
    ],
)
def test_bounds_of_predictions_refuse_what_does_not_fit_together(changes, message):
    X = noise(10, 30)
    given = {"X": X, "indices": np.arange(25), "weights": np.ones(25), "y": X[:, 0], "queries": X[:2], "alpha": 1.0}
    assert rarefy.prediction_difference_bound(**given).shape == (2,)
    with pytest.raises(ValueError, match=message):
        rarefy.prediction_difference_bound(**(given | changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"noise_variance": -5}, r"'noise_variance' parameter of ridge_risk must be .* \[0.0, 1e\+100\]. Got -5"),
        ({"alpha": 0.0}, r"'alpha' parameter of ridge_risk must be .* \[1e-100, 1e\+100\]. Got 0.0"),
        ({"K": np.ones((3, 2))}, r"one row for each entry of z; got \(3, 2\) and \(3,\)"),
    ],
)
def test_the_ridge_risk_refuses_what_does_not_fit_together(changes, message):
    given = {"K": np.eye(3), "z": np.ones(3), "alpha": 1.0}
    with pytest.raises(ParameterError, match=message):
        rarefy.ridge_risk(**(given | changes))


@pytest.mark.parametrize("size", [1.0, 1e-200, 1e200])
def test_the_share_of_the_mean_is_the_same_for_every_storage_and_size(size):
    X = np.random.default_rng(0).random((20, 30)) * (np.random.default_rng(1).random((20, 30)) < 0.8)
    share = 20 * np.sum(X.mean(axis=0) ** 2) / np.sum(X**2)
    assert share > 0.5
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        for form in (X * size, sp.csr_array(X * size), sp.csc_array(X * size)):
            assert dominant_mean(as_rows(form)) == {"mean_share": pytest.approx(share)}
    assert dominant_mean(as_rows(X - X.mean(axis=0))) == {}
    assert dominant_mean(as_rows(np.zeros((3, 2)))) == dominant_mean(as_rows(np.ones((1, 2)))) == {}
