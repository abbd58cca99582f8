"""KernelFeatureSelectorCV: its choices recomputed from paths, folds that cannot be used, delegation, errors."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold

import rarefy
from feature_problems import crossed, plain_selector, products
from rarefy.core.feature_weights.selection import Starts
from rarefy.exceptions import DegenerateDataError, ParameterError, RarefyWarning
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV
from rarefy.kernel._feature_choice import FoldSearch, _Candidate, with_neighbours
from rarefy.kernel._feature_grid import Fold, Grid

ONES = {"inits": ("ones",), "penalties": ("squares",), "prunes": (0.0,)}
PLAIN = {"inits": ("ones",), "penalties": ("weights",), "prunes": (0.0,)}


# Many of the examples are too small for a sure answer.
pytestmark = pytest.mark.filterwarnings("ignore:KernelFeatureSelectorCV found nothing that holds for other samples")


def rough(**parameters):
    return plain_selector(tol=1e-2, **parameters)


# Choices


def test_cross_validation_takes_the_best_and_of_equals_the_smallest():
    X, y = crossed(n=60)
    y[:6] = 1 - y[:6]
    estimator = rough(method="reduced")
    model = KernelFeatureSelectorCV(estimator, Cs=[4.0], mus=[1.0, 0.01, 64.0, 0.1], cv=3, **PLAIN).fit(X, y)
    np.testing.assert_array_equal(model.mus_, [0.01, 0.1, 1.0, 64.0])
    assert model.cv_scores_.shape == model.cv_n_features_.shape == (1, 4, 3)
    mean, size = model.cv_scores_.mean(axis=2)[0], model.cv_n_features_.mean(axis=2)[0]
    j = list(model.mus_).index(model.mu_)
    assert mean[j] == pytest.approx(mean.max())
    assert model.held_out_score_ == pytest.approx(mean.max())
    assert size[j] == size[np.isclose(mean, mean.max())].min()
    # Scores are those of paths on the other folds.
    for f, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        fold = rough(C=4.0, method="reduced").mu_path(X[train], y[train], model.mus_)
        np.testing.assert_allclose(model.cv_scores_[0, :, f], (fold.predict(X[test]) == y[test]).mean(axis=1))
        np.testing.assert_array_equal(model.cv_n_features_[0, :, f], fold.attribute("support_").sum(axis=1))
    whole = rough(C=4.0, method="reduced").mu_path(X, y, model.mus_)
    assert model.objective_ <= whole.models[j].objective_ * (1.0 + 1e-4)


def test_every_C_is_a_neighbour_of_one_that_is_known():
    from rarefy.core.feature_weights.grid import neighbours

    assert neighbours([1.0]) == [(0, None)]
    assert neighbours([4.0, 1.0]) == [(0, None), (1, 0)]
    order = neighbours([16.0, 1.0, 0.25, 4.0])
    assert sorted(i for i, _ in order) == [0, 1, 2, 3]
    for at, (i, known) in enumerate(order):
        assert (known is None) == (at == 0)
        assert known is None or known in [j for j, _ in order[:at]]
        assert i != known


def test_a_start_at_a_neighbour_ends_about_where_a_start_of_its_own_ends():
    X, y = crossed(n=60)
    y[:6] = 1 - y[:6]
    common = {"estimator": rough(method="reduced"), "mus": [0.1, 1.0, 4.0], "cv": 3, **PLAIN}
    both = KernelFeatureSelectorCV(Cs=[1.0, 4.0], **common).fit(X, y)
    for i, C in enumerate((1.0, 4.0)):
        one = KernelFeatureSelectorCV(Cs=[C], **common).fit(X, y)
        np.testing.assert_allclose(both.cv_scores_[i], one.cv_scores_[0], atol=0.101)


def test_hopeless_values_of_C_are_tried_in_two_folds_only():
    X, y = crossed(n=100)
    common = {"estimator": rough(), "Cs": [1e-4, 1.0], "mus": [0.1, 1.0], **PLAIN}
    model = KernelFeatureSelectorCV(**common).fit(X, y)
    assert np.isfinite(model.cv_scores_[0, :, :2]).all()
    assert np.isnan(model.cv_scores_[0, :, 2:]).all()
    assert np.isfinite(model.cv_scores_[1]).all()
    assert model.C_ == 1.0
    scored = KernelFeatureSelectorCV(**common, scoring="balanced_accuracy").fit(X, y)
    assert np.isfinite(scored.cv_scores_).all(), "the standard error of other scores is not known"


def test_single_hopeless_combinations_are_tried_in_two_folds_only():
    X, y = crossed(n=100)
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0], mus=[0.1, 1.0, 1e3], **PLAIN).fit(X, y)
    assert np.isfinite(model.cv_scores_[0, :2]).all()
    assert np.isfinite(model.cv_scores_[0, 2, :2]).all()
    assert np.isnan(model.cv_scores_[0, 2, 2:]).all()


def test_penalties_are_relative_to_the_samples_by_default():
    X, y = crossed(n=60)
    model = KernelFeatureSelectorCV(rough(), Cs=[2.0], cv=2, **PLAIN).fit(X, y)
    auto = plain_selector(2.0, "auto").fit(X, y).mu_
    np.testing.assert_allclose(model.mus_ / auto, [1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0])
    assert model.mu_ in model.mus_


def test_shares_are_chosen_in_the_folds():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((120, 12))
    y = X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(120) > 0
    common = {"estimator": rough(), "Cs": [1.0], "mus": [0.2], "cv": 3, "inits": ("ones",)}
    single = {share: KernelFeatureSelectorCV(prunes=(share,), **common).fit(X, y) for share in (0.0, 0.5)}
    assert single[0.5].support_.sum() < single[0.0].support_.sum()
    weights = single[0.5].feature_weights_
    assert weights[weights > 0.0].min() >= 0.4 * weights.max()
    both = KernelFeatureSelectorCV(prunes=(0.5, 0.0), **common).fit(X, y)
    best = max(single, key=lambda share: (single[share].held_out_score_, share))
    assert both.prune_ == best
    assert both.held_out_score_ == pytest.approx(single[best].held_out_score_)
    np.testing.assert_array_equal(both.support_, single[best].support_)


def test_one_standard_error_takes_fewer_features():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((100, 10))
    y = X[:, 0] + 0.3 * X[:, 1] + 0.5 * rng.standard_normal(100) > 0
    common = {"estimator": rough(), "Cs": [1.0], "mus": [0.1, 1.0, 4.0, 8.0], **PLAIN}
    best, few = (KernelFeatureSelectorCV(selection=rule, **common).fit(X, y) for rule in ("best", "one_se"))
    scores, sizes = few.cv_scores_[0], few.cv_n_features_[0].mean(axis=1)
    complete = np.isfinite(scores).all(axis=1)  # a combination that is given up after two folds is not chosen
    assert complete.sum() >= 3
    scores, sizes, mus = scores[complete], sizes[complete], few.mus_[complete]
    top = scores.mean(axis=1).argmax()
    within = scores.mean(axis=1) >= scores[top].mean() - scores[top].std(ddof=1) / np.sqrt(5)
    assert sizes[list(mus).index(few.mu_)] == sizes[within].min()
    assert few.mu_ > best.mu_


def test_the_last_fit_also_starts_from_the_weights_of_the_folds(monkeypatch):
    X, y = crossed(n=80)
    common = {"estimator": plain_selector(), "Cs": [1.0], "mus": [0.5], "cv": 2, **PLAIN}
    bad = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])  # without the informative features
    monkeypatch.setattr("rarefy.kernel._feature_choice.start_weights", lambda problem, init: Starts((bad,)))
    model = KernelFeatureSelectorCV(**common).fit(X, y)
    assert model.support_[[1, 4]].all()
    assert model.score(X, y) > 0.95


def test_a_last_fit_that_is_worse_than_the_folds_is_reported(monkeypatch):
    X, y = crossed(n=80)
    common = {"estimator": plain_selector(), "Cs": [1.0], "mus": [0.5], "cv": 2, **PLAIN}
    bad = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    monkeypatch.setattr("rarefy.kernel._feature_choice.start_weights", lambda problem, init: Starts((bad,)))
    monkeypatch.setattr("rarefy.kernel._feature_choice.lowest_cell", lambda problem, tried, settings: None)
    with pytest.warns(RarefyWarning, match=r"the fit to all samples is worse than those in the folds"):
        KernelFeatureSelectorCV(**common).fit(X, y)


def test_noise_is_reported():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 6))
    with pytest.warns(RarefyWarning, match="KernelFeatureSelectorCV found nothing that holds for other samples"):
        KernelFeatureSelectorCV(rough(), Cs=[1.0], cv=3, inits=("ones",)).fit(X, rng.random(100) < 0.5)


def test_ties_go_to_fewer_features():
    X, y = crossed(n=60, d=4, informative=(1, 3))
    model = KernelFeatureSelectorCV(plain_selector(), Cs=[1.0], mus=[0.2, 0.5, 1.0], cv=2, **PLAIN).fit(X, y)
    mean = model.cv_scores_.mean(axis=2)[0]
    assert np.all(mean == mean[0]), "the example is meant to have ties only"
    sizes = model.cv_n_features_.mean(axis=2)[0]
    assert sizes[list(model.mus_).index(model.mu_)] == sizes.min()
    assert model.mu_ == model.mus_[sizes == sizes.min()].max()


def test_of_equal_scores_the_fewest_features_then_the_largest_mu_then_the_smallest_C():
    def candidate(at, score=0.5, n_features=7.0, prune=0.0):
        return _Candidate(at, prune, score, score, 0.0, n_features, [])

    def best(*candidates):
        return max(candidates, key=FoldSearch._merit)

    first = candidate((0, 0, 2))
    assert best(candidate((0, 1, 2)), candidate((0, 0, 1)), first, candidate((1, 0, 2))) is first
    fewer = candidate((1, 1, 0), n_features=5.0, prune=0.3)
    assert best(first, fewer) is fewer
    assert best(candidate((1, 1, 0), n_features=5.0, prune=0.2), fewer).prune == 0.2
    better = candidate((0, 0, 0), score=0.6)
    assert best(first, fewer, better) is better


def test_a_lucky_combination_loses_against_one_whose_neighbours_are_good_as_well():
    scores = {(0, 0, 0): 0.90, (0, 0, 1): 0.60, (0, 1, 0): 0.60, (0, 2, 0): 0.88, (0, 2, 1): 0.88, (0, 1, 1): 0.5}
    cells = [_Candidate(at, 0.0, score, score, 0.0, 3.0, []) for at, score in scores.items()]
    judged = {one.at: one.judged for one in with_neighbours(cells, np.array([0, 2, 1]))}
    assert judged[0, 0, 0] == pytest.approx((2 * 0.90 + 0.60 + 0.88) / 4)  # the C in the middle is the last one
    assert judged[0, 2, 1] == pytest.approx((2 * 0.88 + 0.88 + 0.60 + 0.50) / 5)
    assert judged[0, 1, 0] == pytest.approx((2 * 0.60 + 0.88 + 0.50) / 4)
    X, y = crossed(n=60)
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0], cv=3, prunes=(0.0,)).fit(X, y)
    mean = model.cv_scores_[0].mean(axis=1)
    padded = np.concatenate([[np.nan], mean, [np.nan]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        own = np.nanmean([padded[1:-1], padded[1:-1], padded[:-2], padded[2:]], axis=0)
    chosen = list(model.mus_).index(model.mu_)
    assert own[chosen] == pytest.approx(np.max(own[np.isfinite(mean)]))
    assert model.held_out_score_ == pytest.approx(mean[chosen])


def test_scores_that_differ_by_less_than_one_held_out_sample_are_equal():
    folds = [Fold(np.arange(40), np.arange(10)) for _ in range(5)]
    cells = [_Candidate((0, 0, j), 0.0, score, score, 0.0, size, []) for j, (score, size) in enumerate(SIZES)]
    for relative, scorer, expected in ((True, None, 3.0), (False, None, 6.0), (True, max, 6.0)):
        search = FoldSearch([], scorer, None, folds, Grid(np.ones(1), np.ones(4), relative), None)
        assert max(cells, key=search._order(cells)).n_features == expected


SIZES = [(0.900, 6.0), (0.885, 3.0), (0.879, 2.0), (0.500, 1.0)]
"""Scores on 50 samples, and numbers of features: the second is less than one sample below the best, the third not."""


def test_starts_and_penalties_are_tried_and_the_best_is_kept():
    X, y = crossed(n=60)
    y[:9] = 1 - y[:9]
    common = {"estimator": rough(method="reduced"), "Cs": [1.0, 4.0], "mus": [0.1, 1.0], "cv": 3}
    common |= {"prunes": (0.0,), "scoring": "roc_auc"}
    single = {
        (init, penalty): KernelFeatureSelectorCV(**common, inits=(init,), penalties=(penalty,)).fit(X, y)
        for init in ("ones", "scaled")
        for penalty in ("squares", "weights")
    }
    best = KernelFeatureSelectorCV(**common, inits=("ones", "scaled"), penalties=("squares", "weights")).fit(X, y)

    def merit(model):
        i, j = list(model.Cs_).index(model.C_), list(model.mus_).index(model.mu_)
        return round(model.cv_scores_.mean(axis=2)[i, j], 12), -model.cv_n_features_.mean(axis=2)[i, j]

    assert len({merit(model) for model in single.values()}) > 1, "else any choice would do"
    assert merit(best) == max(merit(model) for model in single.values())
    chosen = single[best.init_, best.penalty_]
    np.testing.assert_array_equal(best.feature_weights_, chosen.feature_weights_)
    (own,), (other,) = (model.mu_path(X, y, [0.5]).models for model in (best, chosen))
    np.testing.assert_array_equal(own.feature_weights_, other.feature_weights_)


def test_several_starts_are_tried_and_the_best_one_is_kept():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 12))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(60) > 0
    options = {"Cs": [4.0], "mus": [0.05, 0.5], "cv": 3, "prunes": (0.0,), "scoring": "roc_auc"}
    alone = {init: KernelFeatureSelectorCV(rough(), inits=(init,), **options).fit(X, y) for init in ("ones", "scaled")}
    best = {init: model.cv_scores_.mean(axis=2).max() for init, model in alone.items()}
    assert best["ones"] != best["scaled"]  # otherwise this shows nothing
    both = KernelFeatureSelectorCV(rough(), inits=("ones", "scaled"), **options).fit(X, y)
    assert both.init_ == max(best, key=best.get)
    np.testing.assert_array_equal(both.feature_weights_, alone[both.init_].feature_weights_)
    np.testing.assert_array_equal(both.cv_scores_, alone[both.init_].cv_scores_)


def test_a_given_start_is_used():
    X, y = crossed(n=40)
    start = np.array([0.0, 1.0, 0.5, 0.0, 1.0, 0.0])
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0], mus=[0.5], cv=2, inits=[start]).fit(X, y)
    np.testing.assert_array_equal(model.init_, start)
    assert not model.feature_weights_[[0, 3, 5]].any()


def test_gmkl_has_its_own_penalty():
    X, y = crossed(n=40)
    estimator = plain_selector(method="gmkl", tol=0.1)
    model = KernelFeatureSelectorCV(estimator, Cs=[1.0], mus=[1.0], cv=2, **PLAIN).fit(X, y)
    assert model.penalty_ == "squares"


def test_the_scoring_can_be_chosen():
    X, y = products(n=60)
    y[:9] = "bad"
    folds = list(StratifiedKFold(3).split(X, y))
    model = KernelFeatureSelectorCV(
        plain_selector(), Cs=[1.0], mus=[0.1, 4.0], cv=folds, scoring="roc_auc", **ONES
    ).fit(X, y)
    for k, (train, test) in enumerate(folds):
        path = rough(C=1.0, penalty="squares", method="reduced").mu_path(X[train], y[train], [0.1, 4.0])
        expected = [roc_auc_score(y[test] == "good", one.decision_function(X[test])) for one in path.models]
        np.testing.assert_allclose(model.cv_scores_[0, :, k], expected)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    weighted = KernelFeatureSelectorCV(
        rough(method="reduced"), Cs=[1.0], mus=[0.1], cv=folds, scoring="roc_auc", **ONES
    ).fit(X, y, weights)
    train, test = folds[0]
    path = rough(C=1.0, penalty="squares", method="reduced").mu_path(X[train], y[train], [0.1], weights[train])
    scores = path.models[0].decision_function(X[test])
    expected = roc_auc_score(y[test] == "good", scores, sample_weight=weights[test])
    assert weighted.cv_scores_[0, 0, 0] == pytest.approx(expected)


def test_large_mu_selects_nothing():
    X, y = crossed()
    y[:5] = 1
    with pytest.warns(UserWarning, match=r"KernelFeatureSelectorCV selected no feature.*mu=1e\+05.* Lower mu"):
        KernelFeatureSelectorCV(plain_selector(), Cs=[1.0], mus=[1e5], cv=2, penalties=("weights",)).fit(X, y)


def test_a_constant_classifier_counts_as_no_feature():
    X = np.random.default_rng(0).standard_normal((50, 6))
    y = (np.arange(50) % 5 == 0).astype(int)
    with pytest.warns(UserWarning, match="KernelFeatureSelectorCV selected no feature"):
        model = KernelFeatureSelectorCV(rough(), Cs=[1.0], mus=[1.0, 16.0, 64.0], **ONES).fit(X, y)
    assert model.cv_n_features_[0, 2].tolist() == [0] * 5
    assert model.mu_ == 64.0
    assert not model.support_.any()


# Folds


def test_folds_whose_test_samples_have_no_weight_are_left_out():
    X, y = crossed(n=60)
    y[:9] = 1 - y[:9]
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    weights = np.ones(60)
    weights[folds[2][1]] = 0.0
    common = {"estimator": rough(method="reduced"), "Cs": [0.25, 1.0, 4.0], "mus": [0.1, 1.0, 4.0], "inits": ("ones",)}
    model = KernelFeatureSelectorCV(**common, cv=folds).fit(X, y, weights)
    assert np.isnan(model.cv_scores_[..., 2]).all()
    others = KernelFeatureSelectorCV(**common, cv=folds[:2]).fit(X, y, weights)
    assert (model.C_, model.mu_) == (others.C_, others.mu_)
    np.testing.assert_array_equal(model.cv_scores_[..., :2], others.cv_scores_)
    with pytest.raises(
        DegenerateDataError, match=r"KernelFeatureSelectorCV needs a fold with two classes .* cv makes 1 folds"
    ):
        KernelFeatureSelectorCV(**common, cv=folds[2:]).fit(X, y, weights)


def test_folds_with_training_samples_of_one_class_are_left_out():
    X, y = products(n=40)
    y = np.where(np.arange(40) < 20, "a", "b")
    X[:, 0] += 2.0 * (y == "b")
    halves = [(np.arange(20), np.arange(20, 40)), *StratifiedKFold(2).split(X, y)]
    model = KernelFeatureSelectorCV(plain_selector(), Cs=[1.0], mus=[1.0], cv=halves, **ONES).fit(X, y)
    assert np.isnan(model.cv_scores_[0, 0]).tolist() == [True, False, False]
    with pytest.raises(DegenerateDataError, match="KernelFeatureSelectorCV needs a fold with two classes"):
        KernelFeatureSelectorCV(plain_selector(), Cs=[1.0], mus=[1.0], cv=halves[:1]).fit(X, y)
    weights = (np.arange(40) < 20).astype(float)
    with pytest.raises(DegenerateDataError, match="needs a fold"):
        KernelFeatureSelectorCV(plain_selector(), Cs=[1.0], mus=[0.1], cv=[(np.arange(20), np.arange(20, 40))]).fit(
            X, X[:, 0] > 0, weights
        )


def test_groups_stay_together():
    X, y = crossed(n=60)
    groups = np.arange(60) % 7
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0], mus=[0.1, 1.0], cv=GroupKFold(3), **ONES)
    model.fit(X, y, groups=groups)
    given = clone(model).set_params(cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(model.cv_scores_, given.cv_scores_)
    with pytest.raises(ValueError, match="groups"):
        clone(model).fit(X, y)


def test_the_number_of_jobs_does_not_change_the_result():
    X, y = products(n=40)

    def fitted(n_jobs):
        estimator = rough(n_starts=3, random_state=np.random.RandomState(0))
        return KernelFeatureSelectorCV(estimator, Cs=[1.0], mus=[0.1, 1.0], cv=2, n_jobs=n_jobs, **ONES).fit(X, y)

    one, two = fitted(1), fitted(2)
    np.testing.assert_array_equal(one.feature_weights_, two.feature_weights_)
    np.testing.assert_array_equal(one.cv_scores_, two.cv_scores_)


# The estimator that is held


def test_parameters_of_the_estimator_are_used_and_left_unchanged():
    X, y = crossed(n=50)
    estimator = plain_selector(9.0, 7.0, kernel="poly", degree=2, init="scaled", n_starts=2, random_state=4, tol=0.1)
    before = estimator.get_params()
    model = KernelFeatureSelectorCV(estimator, Cs=[1.0], mus=[0.1], cv=2, **PLAIN).fit(X, y)
    assert estimator.get_params() == before
    assert not hasattr(estimator, "feature_weights_")
    found = model.best_estimator_.get_params()
    assert found == before | {"C": 1.0, "mu": 0.1, "init": "ones", "penalty": "weights"}
    alone = clone(estimator).set_params(C=1.0, mu=0.1, init="ones", penalty="weights").fit(X, y)
    assert model.objective_ <= alone.objective_ * (1.0 + 1e-2)


def test_a_subclass_of_the_selector_is_honoured():
    class Named(KernelFeatureSelector):
        def __init__(self, C=1.0, mu=0.01, *, init="ones", penalty="weights", prune=0.0, tol=0.1, label="x"):
            super().__init__(C, mu, init=init, penalty=penalty, prune=prune, tol=tol)
            self.label = label

    X, y = crossed(n=40)
    model = KernelFeatureSelectorCV(Named(label="mine"), Cs=[1.0], mus=[0.1, 1.0], cv=2).fit(X, y)
    assert type(model.best_estimator_) is Named
    assert model.best_estimator_.label == "mine"
    assert {type(one) for one in model.mu_path(X, y, [0.1, 1.0]).models} == {Named}


def test_parameters_of_the_estimator_can_be_searched():
    X, y = crossed(n=40)
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0], mus=[1.0], cv=2, **ONES)
    search = GridSearchCV(model, {"estimator__kernel": ["rbf", "poly"]}, cv=2).fit(X, y)
    assert search.best_estimator_.best_estimator_.kernel == search.best_params_["estimator__kernel"]


def test_attributes_of_the_best_estimator_are_read_only_and_absent_before_fit():
    X, y = crossed(n=40)
    names = [name for name, value in vars(KernelFeatureSelectorCV).items() if isinstance(value, property)]
    assert {"feature_weights_", "support_", "ranking_", "curvature_", "objective_", "dual_coef_"} <= set(names)
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0], mus=[1.0], cv=2, **ONES)
    for name in names:
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"KernelFeatureSelectorCV has no attribute '{name}' before fit"):
            getattr(model, name)
    model.fit(X, y)
    for name in names:
        assert getattr(model, name) is getattr(model.best_estimator_, name)
        with pytest.raises(AttributeError):
            setattr(model, name, None)
    assert hasattr(pickle.loads(pickle.dumps(model)), "support_")


def test_predictions_and_selection_are_those_of_the_best_estimator():
    X, y = products(n=60)
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0], mus=[1.0], cv=2, **ONES).fit(X, y)
    best = model.best_estimator_
    np.testing.assert_array_equal(model.classes_, ["bad", "good"])
    np.testing.assert_array_equal(model.predict(X), best.predict(X))
    np.testing.assert_array_equal(model.get_support(), best.support_)
    np.testing.assert_array_equal(model.transform(X), X[:, best.support_])
    assert model.score(X, y) == best.score(X, y)
    assert (model.C_, model.mu_, model.init_, model.penalty_) == (best.C, best.mu, best.init, best.penalty)


@pytest.mark.parametrize("method", ["predict", "decision_function", "transform", "get_support"])
def test_an_unfitted_model_is_refused(method):
    X, y = crossed()
    with pytest.raises(NotFittedError):
        getattr(KernelFeatureSelectorCV(), method)(*([] if method == "get_support" else [X]))
    with pytest.raises(NotFittedError):
        KernelFeatureSelectorCV().mu_path(X, y, [1.0])


def test_names_of_features_belong_to_the_last_fit():
    X, y = crossed(n=40)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0], mus=[0.1], cv=3, **ONES)
    assert list(model.fit(frame, y).feature_names_in_) == list("abcdef")
    assert list(model.best_estimator_.feature_names_in_) == list("abcdef")
    model.predict(frame)
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    model.predict(X)


# Errors, warnings and progress


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimator": StratifiedKFold()}, "'estimator' parameter of KernelFeatureSelectorCV must be"),
        ({"estimator": plain_selector(tol=0.0)}, "'tol' parameter of KernelFeatureSelector must be"),
        ({"estimator": plain_selector(n_starts=0)}, "'n_starts' parameter of KernelFeatureSelector must be"),
        ({"inits": "ones"}, "'inits' parameter of KernelFeatureSelectorCV must be .* Got 'ones'"),
        ({"inits": ()}, "inits of KernelFeatureSelectorCV must be 'auto', .* or 8 finite"),
        ({"inits": ("ones", "neither")}, "inits of KernelFeatureSelectorCV must be .* got 'neither'"),
        ({"inits": [[1.0, 2.0]]}, r"inits of KernelFeatureSelectorCV must be 'auto', .* or 8 finite.*\(2,\)"),
        ({"inits": [["a"] * 8]}, r"inits of KernelFeatureSelectorCV must be .* got \['a'"),
        ({"inits": [[-1.0] + [1.0] * 7]}, r"inits of KernelFeatureSelectorCV must be .* got \[-1"),
        ({"penalties": None}, "'penalties' parameter of KernelFeatureSelectorCV must be .* Got None"),
        (
            {"penalties": ()},
            r"penalties of KernelFeatureSelectorCV must be one or more of 'weights', 'squares'; got \(\)",
        ),
        (
            {"penalties": ("none",), "estimator": plain_selector(method="gmkl")},
            r"penalties of KernelFeatureSelectorCV must be one or more of .* got \('none',\)",
        ),
        ({"mus": "few"}, "'mus' parameter of KernelFeatureSelectorCV must be .* Got 'few'"),
        ({"mus": []}, r"mus of KernelFeatureSelectorCV must be finite numbers >= 0, at least one; got \[\]"),
        ({"mus": [-1.0]}, r"mus of KernelFeatureSelectorCV must be finite numbers >= 0"),
        ({"mus": [1.0, np.inf]}, r"mus of KernelFeatureSelectorCV must be finite numbers >= 0"),
        ({"Cs": ["a"]}, r"Cs of KernelFeatureSelectorCV must be finite numbers > 0, at least one; got \['a'\]"),
        ({"Cs": [np.nan]}, r"Cs of KernelFeatureSelectorCV must be finite numbers > 0"),
        ({"Cs": [1.0, 0.0]}, r"Cs of KernelFeatureSelectorCV must be finite numbers > 0"),
        ({"scoring": "nonsense"}, "'scoring' parameter of KernelFeatureSelectorCV must be"),
    ],
)
def test_bad_parameters_are_refused_before_any_path_is_computed(parameters, message, monkeypatch):
    X, y = products(n=40)
    monkeypatch.setattr(KernelFeatureSelector, "_fit_path", None)
    model = KernelFeatureSelectorCV(**parameters)
    with pytest.raises(ParameterError, match=message):
        model.fit(X, y)
    assert not [name for name in vars(model) if name.endswith("_")]


def test_searches_that_stop_early_are_counted_in_one_warning():
    X, y = products(n=40)
    estimator = plain_selector(method="reduced", max_iter=1)
    with pytest.warns(ConvergenceWarning) as caught:
        KernelFeatureSelectorCV(estimator, Cs=[1.0], mus=[0.1, 1.0], cv=3, **ONES).fit(X, y)
    (one,) = caught
    assert "KernelFeatureSelectorCV with method='reduced': 6 of 6 searches in the folds and " in str(one.message)


def test_progress_is_shown(capsys):
    X, y = crossed()
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0, 4.0], mus=[1.0], cv=3, **ONES).fit(X, y)
    assert capsys.readouterr() == ("", "")
    with rarefy.config_context(progress=True):
        model.fit(X, y)
    out, err = capsys.readouterr()
    assert not out
    assert "folds [" in err
    assert "2/2" in err
