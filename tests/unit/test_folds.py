"""Splitters that callers write may give anything; norms of any order of numbers of any size."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import rarefy
from rarefy._search import checked_folds
from rarefy.core.linalg.norms import p_norm
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV, SubspaceLPSVC, SubspaceLPSVCCV
from rarefy.ranking import RankRCCV, subset_bound
from rarefy.selection import BestSubsetSelector, RandomSelector

pytestmark = pytest.mark.filterwarnings("ignore::rarefy.exceptions.RarefyWarning")


def data():
    rng = np.random.default_rng(0)
    y = (np.arange(24) % 3 == 0).astype(int)
    return rng.standard_normal((24, 5)) + y[:, None], y


@pytest.mark.parametrize("estimator", [KernelFeatureSelectorCV(), SubspaceLPSVCCV(), RankRCCV(), BestSubsetSelector()])
@pytest.mark.parametrize("folds", [np.array([[0.5, 0.5]]), [([0, 1], [99])], [([0, 1], [[2]])]])
def test_folds_that_are_no_row_numbers(estimator, folds):
    if isinstance(estimator, BestSubsetSelector):
        estimator.set_params(n_features_to_select="auto")
    with pytest.raises(ParameterError, match=r"cv of .* must give pairs of row numbers from 0 to 23"):
        estimator.set_params(cv=folds).fit(*data())


def test_masks_are_row_numbers():
    mask = np.arange(24) < 12
    ((train, test),) = checked_folds([(mask, ~mask)], 24, "Thing")
    np.testing.assert_array_equal(train, np.arange(12))
    np.testing.assert_array_equal(test, np.arange(12, 24))
    report = rarefy.selection_stability(RandomSelector(2, random_state=0), data()[0], cv=[(mask, ~mask), (~mask, mask)])
    assert len(report.n_selected) == 2


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0, 700.0, 1e300, np.inf])
def test_norms_of_every_order(p):
    A = np.random.default_rng(0).standard_normal((4, 6))
    plain = (np.abs(A) ** p).sum(axis=1) ** (1.0 / p) if p < 100.0 else np.abs(A).max(axis=1)
    np.testing.assert_allclose(p_norm(A, p, axis=1), plain, rtol=1e-12 if p < 100.0 else 1e-2)
    size = 1.0 if p == 2.0 else 1e200  # squares are left to numpy
    np.testing.assert_allclose(p_norm(size * A, p, axis=1), size * p_norm(A, p, axis=1), rtol=1e-12)
    assert p_norm(A, p, axis=1, keepdims=True).shape == (4, 1)
    assert p_norm(np.zeros(3), p) == 0.0
    assert p_norm(A[0], p) == pytest.approx(p_norm(A, p, axis=1)[0])


@pytest.mark.parametrize("norm", [700.0, 1e300])
def test_large_norms_overflow_nowhere(norm):
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="the largest duality gap is"):
        large = SubspaceLPSVC(n_components=4, norm=norm, random_state=0).fit(X, y)
    assert np.isfinite(large.coef_).all()
    assert np.all(large.duality_gap_ >= 0.0)


def test_samples_without_finite_scores_are_refused():
    model = KernelFeatureSelector(kernel="poly", degree=3, max_iter=2, tol=0.1).fit(*data())
    with pytest.raises(DegenerateDataError, match="has no finite scores for samples as large as these"):
        model.decision_function(1e150 * data()[0])


def test_bounds_check_kernel_values_and_labels():
    with pytest.raises(ParameterError, match="K of subset_bound must be a square matrix"):
        subset_bound(basis=[0], alpha=1.0, loss="perturbation", K=np.ones((3, 2)))
    with pytest.raises(ParameterError, match=r"y of certify must be labels that can be sorted|labels that are missing"):
        rarefy.certify(data()[0], [0, 1], y=np.array([None, *data()[1][1:]], dtype=object), C=1.0)
