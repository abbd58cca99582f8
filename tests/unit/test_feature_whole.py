"""Feature selection from more samples than are looked at in all features, and refusals of those that do not fit."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import rarefy
from feature_problems import two_class_problem
from rarefy.core.feature_weights.kernel import GAUSSIAN, FeatureKernel
from rarefy.core.feature_weights.landmarks import (
    KernelValues,
    LandmarkProblem,
    LandmarkSettings,
    choose_landmarks,
    landmark_selection,
)
from rarefy.core.feature_weights.samples import merged, sample_rows, standardized
from rarefy.core.feature_weights.whole import whole_problem
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.threads import blas_threads
from rarefy.exceptions import MemoryBudgetError
from rarefy.kernel import KernelFeatureRegressor, KernelFeatureSelector, KernelFeatureSelectorCV
from rarefy.kernel._feature_grid import score_grid
from rarefy.kernel._feature_samples import more_distinct
from rarefy.kernel._feature_selector_cv import FACTORS


def crossed(n, d=4, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, X[:, 0] * X[:, 1] > 0


@pytest.fixture
def small(monkeypatch):
    """Small numbers of samples are many."""
    for name, size in (("SAMPLE", 100), ("PART", 300), ("LARGEST", 150), ("LANDMARKS", 40)):
        monkeypatch.setattr(f"rarefy.kernel._feature_model.{name}", size)


def test_values_that_are_computed_again_are_those_that_are_kept(monkeypatch):
    monkeypatch.setattr("rarefy.core.feature_weights.landmarks._IN_CACHE", 7 * 20)
    rng = np.random.default_rng(0)
    X, weights, g = rng.standard_normal((100, 3)), np.array([0.5, 0.0, 2.0]), rng.standard_normal(100)
    kept, again = KernelValues(X, X[:20], np.inf), KernelValues(X, X[:20], 1999)
    assert (kept._K.shape, again._K.shape) == ((100, 20), (7, 20))
    for one in (kept, again):
        one.set_weights(weights)
    B = rng.standard_normal((20, 2))
    np.testing.assert_array_equal(again.product(B), kept.product(B))
    np.testing.assert_array_equal(again.transposed_product(g), kept.transposed_product(g))
    np.testing.assert_array_equal(again.some(np.array([3, 50])), kept.some(np.array([3, 50])))
    K = np.exp(-np.sum((weights * (X[:, None] - X[:20])) ** 2, axis=2))
    np.testing.assert_allclose(kept.product(B), K @ B, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(kept.transposed_product(g), g @ K, rtol=1e-4, atol=1e-4)


def test_the_problem_is_the_same_with_values_computed_again():
    X, y = crossed(200)
    problem, z = two_class_problem(X, y, 3.0), np.array([0.8, 0.7, 0.1, 0.2])
    landmarks = choose_landmarks(problem, 30, 0)
    kept, again = (LandmarkProblem(problem, landmarks, size).evaluate(z) for size in (np.inf, 0))
    assert again[0] == kept[0]
    np.testing.assert_array_equal(again[1], kept[1])


def test_classifiers_of_some_samples_are_a_good_start():
    X, y = crossed(400)
    problem, z = two_class_problem(X, y, 3.0), np.array([0.8, 0.7, 0.1, 0.2])
    cold = LandmarkProblem(problem, choose_landmarks(problem, 30, 0))
    value, _ = cold.evaluate(z)
    warm = LandmarkProblem(problem, cold.landmarks, begin=(cold.B, cold.b))
    scores = []
    warm._scores = lambda B, b: scores.append(1) or LandmarkProblem._scores(warm, B, b)
    assert warm.evaluate(z)[0] == pytest.approx(value, rel=1e-6)
    assert len(scores) <= 3
    assert warm.B is not cold.B


@pytest.mark.parametrize("groups", [None, np.array([2, 0, 1, 1, 2, 3])])
def test_going_on_with_all_samples_is_the_landmark_form_of_all_samples(groups):
    """From the weights of some, with the features that they have, and in the units of all."""
    X, _ = crossed(900, 6)
    X[:, 3] *= 100.0
    y = X[:, 0] * X[:, 3] > 0
    plain = replace(two_class_problem(X, y, 0.0), groups=groups)
    whole = whole_problem(as_rows(X), plain.classifiers, GAUSSIAN, groups, standardize=True, size=300)
    problem, units = standardized(plain)
    np.testing.assert_allclose(whole.units.scale, units.scale, rtol=1e-12)
    np.testing.assert_allclose(whole.units.mean, units.mean, rtol=1e-9, atol=1e-12)
    part = whole.part()
    assert len(part.X) == len(whole.taken) == 300
    assert whole.ratio(part) == pytest.approx(part.classifiers.constant / plain.classifiers.constant)
    weights = np.zeros(part.n_weights)
    weights[[0, 3] if groups is None else [1, 2]] = 0.7
    landmarks, settings = choose_landmarks(part, 40, 0), LandmarkSettings(rounds=0)
    found = landmark_selection(part.with_mu(10.0), weights, landmarks, settings)
    last = whole.finish(found, 30.0, landmarks, settings)
    expected = landmark_selection(problem.with_mu(30.0), found.group_weights, whole.taken[landmarks], settings)
    np.testing.assert_allclose(last.feature_weights, expected.feature_weights, rtol=1e-2, atol=1e-3)
    np.testing.assert_array_equal(last.support, expected.support)
    np.testing.assert_array_equal(last.ranking, expected.ranking)
    assert last.objective == pytest.approx(expected.objective, rel=1e-4)
    assert last.group_weights.shape == weights.shape
    np.testing.assert_allclose(last.support_vectors, expected.support_vectors, rtol=1e-9, atol=1e-9)
    assert last.n_iter >= found.n_iter
    assert last.history[-1] == last.objective


def test_equal_samples_are_merged():
    X, y = crossed(50)
    problem = two_class_problem(np.vstack([X, X[:10]]), np.append(y, y[:10]), 1.0)
    found = merged(problem)
    assert len(found.X) == 50
    assert found.classifiers.costs.sum() == 60
    assert np.sum(found.classifiers.costs == 2.0) == 10
    assert found.classifiers.constant == pytest.approx(problem.classifiers.constant)
    back = {tuple(x): label for x, label in zip(X, np.where(y, 1.0, -1.0), strict=True)}
    assert all(back[tuple(x)] == label for x, label in zip(found.X, found.classifiers.Y[:, 0], strict=True))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, np.float32])
def test_many_samples_are_looked_at_in_parts(form, small):
    X, y = crossed(1200, 6)
    X[:, 1] *= 1e3
    weights = np.where(np.arange(1200) % 10 == 0, 0.0, 1.0)
    model = KernelFeatureSelector(init="interactions").fit(form(X), y, weights)
    assert model.get_support(indices=True).tolist() == [0, 1]
    assert model.score(X, y) > 0.95
    assert model.validation_score_ > 0.7
    assert model.mu_ == pytest.approx(1080 / 30, rel=0.01)
    assert model.scale_[1] == pytest.approx(X[weights > 0, 1].std(), rel=1e-5)
    assert model.dual_coef_.shape == (1, 40)
    # The objective is that of all samples.
    K = model.objective_ - model.mu_ * model.feature_weights_.sum()
    margins = np.where(y, 1.0, -1.0) * model.decision_function(X)
    short = 1.0 - margins[weights > 0]
    losses = np.where(short > 1.0, short - 0.5, np.where(short < 0.0, 0.0, short**2 / 2.0))
    assert 0.0 < K - losses.sum() < K
    path = KernelFeatureSelector(init="interactions").mu_path(form(X), y, [model.mu_, 1e9], weights)
    np.testing.assert_array_equal(path.models[0].feature_weights_, model.feature_weights_)
    assert not path.models[1].support_.any()


@pytest.mark.parametrize("mus", [None, [100.0, 400.0]])
def test_parameters_for_many_samples_are_chosen_among_some(mus, small, monkeypatch):
    for name in ("SAMPLE", "LARGEST"):
        monkeypatch.setattr(f"rarefy.kernel._feature_many.{name}", 100)
    monkeypatch.setattr("rarefy.kernel._feature_samples._LOOKED_AT", 300)
    X, y = crossed(3000, 5)
    weights = np.where(np.arange(3000) % 10 == 0, 0.0, 1.0)
    sizes = []

    def counted(*args):
        sizes.append(len(args[2].y))
        return score_grid(*args)

    monkeypatch.setattr("rarefy.kernel._feature_choice.score_grid", counted)
    model = KernelFeatureSelectorCV(Cs=[1.0], mus=mus, inits=["interactions"], cv=2).fit(X, y, weights)
    assert set(sizes) == {200}
    assert model.get_support(indices=True).tolist() == [0, 1]
    assert model.score(X, y) > 0.95
    best = model.best_estimator_
    assert best.dual_coef_.shape == (1, 40)
    assert (best.init, best.mu, best.mu_) == ("interactions", model.mu_, model.mu_)
    # Losses of all samples with a weight, so a penalty for them.
    if mus is None:
        np.testing.assert_allclose(model.mus_, FACTORS * 2700 / 30, rtol=0.05)
    else:
        np.testing.assert_allclose(model.mus_, mus)
    assert model.mu_ in model.mus_
    again = KernelFeatureSelectorCV(KernelFeatureSelector(n_landmarks=None), Cs=[1.0], mus=[100.0], inits=["scaled"])
    sizes.clear()
    again.set_params(cv=2).fit(X[:400], y[:400])
    assert set(sizes) == {400}
    given = [(np.arange(0, 400, 2), np.arange(1, 400, 2))]  # numbers among all samples
    sizes.clear()
    again.set_params(estimator=None, cv=given).fit(X[:400], y[:400])
    assert set(sizes) == {400}


def test_samples_of_few_kinds_are_merged_however_many_they_are(small):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (5000, 3)).astype(float)
    model = KernelFeatureSelector(init="scaled", validation_fraction=None).fit(X, X[:, 0] == X[:, 1])
    assert model.get_support(indices=True).tolist() == [0, 1]
    assert not np.isnan(model.curvature_)  # the exact form: there are 27 different samples


def test_how_many_samples_differ():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20000, 2)), np.zeros(20000)
    assert more_distinct(X, y, 15000)
    assert not more_distinct(X, y, 20000)
    few = X[rng.integers(0, 3000, 20000)]
    assert not more_distinct(few, y, 3000)
    assert more_distinct(few, y, 300)
    assert not more_distinct(sp.csr_array(few), y, 3000)


@pytest.mark.parametrize(
    ("estimator", "advice"),
    [
        (KernelFeatureSelector(n_landmarks=None), "Set n_landmarks"),
        (KernelFeatureSelector(kernel="laplacian"), "Set n_landmarks"),
        (KernelFeatureSelector(method="gmkl"), "Set n_landmarks"),
        (KernelFeatureSelectorCV(KernelFeatureSelector(kernel="laplacian")), "an estimator with a landmark form"),
        (KernelFeatureSelectorCV(KernelFeatureSelector(n_landmarks=None)), "an estimator with a landmark form"),
        (KernelFeatureRegressor(n_landmarks=None), "pass some of the samples"),
        (KernelFeatureRegressor(kernel="laplacian"), "Set n_landmarks"),
    ],
)
def test_pairs_that_do_not_fit_are_refused_at_once(estimator, advice):
    X = np.random.default_rng(0).standard_normal((50_000, 2))
    with pytest.raises(
        MemoryBudgetError, match=f"needs kernel values of all pairs of 50000 samples, 20 GB, .*{advice}"
    ):
        estimator.fit(X, (X[:, 0] > 0).astype(int))
    assert not hasattr(estimator, "n_iter_")


def test_pairs_of_merged_samples_are_counted():
    X = np.random.default_rng(0).integers(0, 40, (3000, 2)).astype(float)
    with (
        rarefy.config_context(memory_budget="1MB"),
        pytest.raises(MemoryBudgetError, match=r"all pairs of 1\d{3} samples"),
    ):
        KernelFeatureSelector().fit(X, X[:, 0] > X[:, 1])


@pytest.mark.parametrize("estimator", [KernelFeatureSelector(), KernelFeatureSelectorCV(), KernelFeatureRegressor()])
def test_sparse_samples_that_do_not_fit_when_dense_are_refused_at_once(estimator):
    X = sp.csr_array((np.ones(50), (np.arange(50), np.arange(50))), shape=(50, 10_000_000))
    with pytest.raises(MemoryBudgetError, match=r"needs 16 GB for 50 x 10000000 entries, .* a selector of rarefy"):
        estimator.fit(X, np.arange(50) % 2)


def test_differences_of_many_columns_are_those_of_few():
    """Products with more columns than centres are computed in another way."""
    X = np.random.default_rng(0).standard_normal((12, 40))
    w = np.random.default_rng(1).random(40)
    kernel = FeatureKernel(X, X[:7])
    expected = np.einsum("k,ijk->ij", w, (X[:, None] - X[:7]) ** 2)
    np.testing.assert_allclose(kernel.combined(w), expected, rtol=1e-12, atol=1e-12)
    parts = [FeatureKernel(X[:, k], X[:7, k]).combined(w[k]) for k in (slice(0, 5), slice(5, 40))]
    np.testing.assert_allclose(parts[0] + parts[1], expected, rtol=1e-12, atol=1e-12)


def test_shares_of_classes_are_kept():
    X, _ = crossed(2000, 2)
    some, others = sample_rows(two_class_problem(X, np.arange(2000) < 300, 4.0), 400)
    assert (len(some.X), len(others)) == (400, 1600)
    assert np.sum(some.classifiers.Y > 0) == 60


def test_searches_use_one_blas_thread(monkeypatch, small):
    """Their products are small: two threads take longer, by the clock as well."""
    X, y = crossed(4095, 4)
    with two_class_problem(X, y, 1.0).threads():
        assert blas_threads() == 1
    seen = []

    def watched(*arguments):
        seen.append(blas_threads())
        return landmark_selection(*arguments)

    for place in ("rarefy.kernel._feature_model", "rarefy.core.feature_weights.whole"):
        monkeypatch.setattr(f"{place}.landmark_selection", watched)
    X, y = crossed(4500, 4)
    KernelFeatureSelector(init="interactions", validation_fraction=None).fit(X, y)
    assert seen == [1, 1]  # a part of the samples, then all
