"""KernelFeatureSelectorCV: its choices recomputed from paths, folds that cannot be used, delegation, errors."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedKFold

import rarefy
from feature_problems import crossed, plain_selector, products
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV
from rarefy.kernel._feature_selector_cv import _best

ONES = {"inits": ("ones",)}
PLAIN = {"inits": ("ones",), "penalties": ("weights",)}


def rough(**parameters):
    return plain_selector(tol=1e-2, **parameters)


# Choices


def test_cross_validation_takes_the_best_and_of_equals_the_smallest():
    X, y = crossed(n=60)
    y[:6] = 1 - y[:6]
    model = KernelFeatureSelectorCV(plain_selector(), Cs=[4.0, 1.0], mus=[1.0, 0.01, 64.0, 0.1], cv=3, **PLAIN).fit(
        X, y
    )
    np.testing.assert_array_equal(model.mus_, [0.01, 0.1, 1.0, 64.0])
    assert model.cv_scores_.shape == model.cv_n_features_.shape == (2, 4, 3)
    mean, size = model.cv_scores_.mean(axis=2), model.cv_n_features_.mean(axis=2)
    i, j = list(model.Cs_).index(model.C_), list(model.mus_).index(model.mu_)
    assert mean[i, j] == pytest.approx(mean.max())
    assert size[i, j] == size[np.isclose(mean, mean.max())].min()
    path = plain_selector(model.C_).mu_path(X, y, model.mus_)
    np.testing.assert_array_equal(model.feature_weights_, path.models[j].feature_weights_)
    np.testing.assert_array_equal(model.decision_function(X), path.models[j].decision_function(X))
    for own, other in zip(model.mu_path(X, y, model.mus_).models, path.models, strict=True):
        np.testing.assert_array_equal(own.feature_weights_, other.feature_weights_)
    # Scores are those of paths on the other folds.
    train, test = next(iter(StratifiedKFold(3).split(X, y)))
    fold = plain_selector(4.0).mu_path(X[train], y[train], model.mus_)
    np.testing.assert_allclose(model.cv_scores_[0, :, 0], (fold.predict(X[test]) == y[test]).mean(axis=1))
    np.testing.assert_array_equal(model.cv_n_features_[0, :, 0], fold.attribute("support_").sum(axis=1))


def test_ties_go_to_fewer_features():
    X, y = crossed(n=60, d=4, informative=(1, 3))
    model = KernelFeatureSelectorCV(plain_selector(), Cs=[1.0], mus=[0.2, 0.5, 1.0], cv=2, **PLAIN).fit(X, y)
    mean = model.cv_scores_.mean(axis=2)[0]
    assert np.all(mean == mean[0]), "the example is meant to have ties only"
    sizes = model.cv_n_features_.mean(axis=2)[0]
    assert sizes[list(model.mus_).index(model.mu_)] == sizes.min()
    assert model.mu_ == model.mus_[sizes == sizes.min()].max()


def test_of_equal_scores_the_fewest_features_then_the_largest_mu_then_the_smallest_C():
    scores, counts = np.full((2, 2, 3, 2), 0.5), np.full((2, 2, 3, 2), 7)
    assert _best(scores, counts) == (0, 0, 2)
    counts[1, 1, 0] = 5
    assert _best(scores, counts) == (1, 1, 0)
    counts[0, 1, 1] = 2, 7  # fewer on average, though not everywhere
    assert _best(scores, counts) == (0, 1, 1)
    scores[0, 0, 0, 1] = 0.6
    assert _best(scores, counts) == (0, 0, 0)


def test_starts_and_penalties_are_tried_and_the_best_is_kept():
    X, y = crossed(n=60)
    y[:9] = 1 - y[:9]
    common = {"estimator": rough(method="reduced"), "Cs": [1.0, 4.0], "mus": [0.1, 1.0], "cv": 3}
    single = {
        (init, penalty): KernelFeatureSelectorCV(**common, inits=(init,), penalties=(penalty,)).fit(X, y)
        for init in ("ones", "scaled")
        for penalty in ("squares", "weights")
    }
    best = KernelFeatureSelectorCV(**common, penalties=("squares", "weights")).fit(X, y)

    def merit(model):
        i, j = list(model.Cs_).index(model.C_), list(model.mus_).index(model.mu_)
        return round(model.cv_scores_.mean(axis=2)[i, j], 12), -model.cv_n_features_.mean(axis=2)[i, j]

    assert len({merit(model) for model in single.values()}) > 1, "else any choice would do"
    assert merit(best) == max(merit(model) for model in single.values())
    chosen = single[best.init_, best.penalty_]
    np.testing.assert_array_equal(best.feature_weights_, chosen.feature_weights_)
    (own,), (other,) = (model.mu_path(X, y, [0.5]).models for model in (best, chosen))
    np.testing.assert_array_equal(own.feature_weights_, other.feature_weights_)


@pytest.mark.parametrize(("seed", "better"), [(0, "ones"), (3, "scaled")])
def test_both_starts_are_tried_and_the_better_one_is_kept(seed, better):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((60, 12))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(60) > 0
    options = {"Cs": [4.0], "mus": [0.05, 0.5], "cv": 3, "penalties": ("weights",)}
    alone = {init: KernelFeatureSelectorCV(rough(), inits=(init,), **options).fit(X, y) for init in ("ones", "scaled")}
    best = {init: model.cv_scores_.mean(axis=2).max() for init, model in alone.items()}
    assert max(best, key=best.get) == better
    assert best["ones"] != best["scaled"]  # otherwise this shows nothing
    both = KernelFeatureSelectorCV(rough(), **options).fit(X, y)
    assert both.init_ == better
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
        path = plain_selector(1.0, penalty="squares").mu_path(X[train], y[train], [0.1, 4.0])
        expected = [roc_auc_score(y[test] == "good", one.decision_function(X[test])) for one in path.models]
        np.testing.assert_allclose(model.cv_scores_[0, :, k], expected)
    weights = np.random.default_rng(0).uniform(0.5, 2.0, 60)
    weighted = KernelFeatureSelectorCV(plain_selector(), Cs=[1.0], mus=[0.1], cv=folds, scoring="roc_auc", **ONES).fit(
        X, y, weights
    )
    train, test = folds[0]
    path = plain_selector(1.0, penalty="squares").mu_path(X[train], y[train], [0.1], weights[train])
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
    np.testing.assert_array_equal(model.decision_function(X), alone.decision_function(X))


def test_a_subclass_of_the_selector_is_honoured():
    class Named(KernelFeatureSelector):
        def __init__(self, C=1.0, mu=0.01, *, init="ones", penalty="weights", tol=0.1, label="x"):
            super().__init__(C, mu, init=init, penalty=penalty, tol=tol)
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
    estimator = plain_selector(method="ao", max_iter=1, polish=False)
    with pytest.warns(ConvergenceWarning) as caught:
        KernelFeatureSelectorCV(estimator, Cs=[1.0], mus=[0.1, 1.0], cv=3, **ONES).fit(X, y)
    (one,) = caught
    assert "KernelFeatureSelectorCV with method='ao': 6 of 6 searches in the folds and " in str(one.message)


def test_progress_is_shown(capsys):
    X, y = crossed()
    model = KernelFeatureSelectorCV(rough(), Cs=[1.0, 4.0], mus=[1.0], cv=3, **ONES).fit(X, y)
    assert capsys.readouterr() == ("", "")
    with rarefy.config_context(progress=True):
        model.fit(X, y)
    out, err = capsys.readouterr()
    assert not out
    assert "paths [" in err
    assert "6/6" in err
