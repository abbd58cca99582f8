"""Bounds on the difference between few and all kernel functions."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.metrics.pairwise import rbf_kernel

from ranking_problems import hinge, rare_data
from rarefy.core.ranking.rankers import whitening
from rarefy.exceptions import ParameterError
from rarefy.ranking import subset_bound


def test_bound_of_a_classifier_under_nystroem():
    """Theorem 9, with its constant corrected, for the mean hinge loss of single samples."""
    rng = np.random.default_rng(1)
    X, y = rare_data(1, m=60, rare=25)
    signs, K = np.where(y == 1, 1.0, -1.0), rbf_kernel(X, gamma=0.3)
    rows, alpha = np.sort(rng.choice(60, 30, replace=False)), 0.5

    def fitted(columns):
        T = whitening(K[np.ix_(columns, columns)])
        F = K[:, columns] @ T
        found = minimize(
            lambda w: hinge(signs * (F @ w), 0.01).mean() + alpha / 2 * w @ w, np.zeros(T.shape[1]), method="BFGS"
        )
        return F @ found.x

    difference = np.abs(fitted(rows) - fitted(np.arange(60))).max()
    bound = subset_bound(y, rows, alpha=alpha, loss="classification")
    assert 0 < difference < bound == subset_bound(y, 30, alpha=alpha, loss="classification")
    assert bound == pytest.approx(np.sqrt(2) / alpha * np.sqrt(0.5))


def test_rare_samples_first_lower_the_bound_most():
    y = np.repeat([1, 0], [10, 990])
    assert subset_bound(y, np.arange(10), alpha=1) < subset_bound(y, np.arange(10, 20), alpha=1)


def test_the_perturbation_bound_does_not_depend_on_the_unit_of_the_kernel():
    X, _ = rare_data(m=90)
    K, basis = rbf_kernel(X, gamma=0.3), np.arange(80)
    bounds = [subset_bound(basis=basis, K=c * K, alpha=0.1 * c, kappa=c, loss="perturbation") for c in (1e-8, 1.0, 1e8)]
    np.testing.assert_allclose(bounds, bounds[1], rtol=1e-6)


def test_bounds_count_every_sample_of_the_basis_once():
    y = np.repeat([1, 0], [5, 15])
    few = subset_bound(y, [0, 1, 2], alpha=1.0, loss="classification")
    assert subset_bound(y, [0, 1, 2, 2, 1], alpha=1.0, loss="classification") == few
    assert subset_bound(y, np.arange(20) < 3, alpha=1.0, loss="classification") == few
    assert subset_bound(y, np.int64(3), alpha=1.0, loss="classification") == few
    assert subset_bound(y, y == 1, alpha=1.0) == subset_bound(y, np.arange(5), alpha=1.0)
    assert subset_bound(y, np.arange(20), alpha=1.0) == 0.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": [0, 1], "basis": [0], "alpha": 0.0}, "'alpha' parameter of subset_bound"),
        ({"y": [0, 1], "basis": [0], "alpha": 1.0, "kappa": -1.0}, "'kappa' parameter of subset_bound"),
        ({"y": [0, 1], "basis": "all", "alpha": 1.0}, "'basis' parameter of subset_bound"),
        ({"y": [0, 1], "basis": 1, "alpha": 1.0}, "needs y and the row numbers"),
        ({"y": [0, 1, 2], "basis": [1], "alpha": 1.0}, "about two classes"),
        ({"basis": [1], "alpha": 1.0, "loss": "classification"}, "needs y"),
        ({"basis": [1], "alpha": 1.0, "loss": "perturbation"}, "needs K"),
        ({"alpha": 1.0, "loss": "other"}, "'loss' parameter of subset_bound must be a str among"),
        ({"y": [0, 1], "basis": -5, "alpha": 1.0, "loss": "classification"}, "must be from 0 to 2; got -5"),
        ({"y": [0, 1], "basis": True, "alpha": 1.0, "loss": "classification"}, "must be from 0 to 2; got True"),
        ({"y": [0, 1], "basis": [25], "alpha": 1.0, "loss": "classification"}, "row numbers from 0 to 1 or a mask"),
        ({"y": [0, 1], "basis": [0.5], "alpha": 1.0}, "row numbers from 0 to 1 or a mask"),
    ],
)
def test_what_is_missing_or_out_of_range_is_refused(arguments, message):
    with pytest.raises(ParameterError, match=message):
        subset_bound(**arguments)
