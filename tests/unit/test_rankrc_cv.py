"""RankRCCV: which folds count, what it chooses, and what it passes on."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import average_precision_score, f1_score, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from ranking_problems import ordered_data, rare_data
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.ranking import OrdinalRankRC, OrdinalRankRCCV, RankRC, RankRCCV

ALPHAS = [1e-3, 1.0, 1e-2]


def test_scores_are_those_of_single_fits_on_the_folds():
    X, y = rare_data()
    model = RankRCCV(RankRC(basis="rare"), alphas=ALPHAS, cv=3).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for i, alpha in enumerate(ALPHAS):
            scores = RankRC(alpha, basis="rare").fit(X[train], y[train]).score_samples(X[test])
            assert model.cv_scores_[i, fold] == pytest.approx(roc_auc_score(y[test], scores), abs=0.02)
    means = model.cv_scores_.mean(axis=1)
    assert model.alpha_ == max(np.array(ALPHAS)[means > means.max() - 1e-12])
    assert model.best_score_ == pytest.approx(means.max(), abs=1e-12)


def test_of_equal_candidates_the_strongest_penalty_wins():
    X = np.append(np.zeros(40), np.ones(8))[:, None]
    y = X[:, 0].astype(int)
    model = RankRCCV(RankRC(random_state=0), alphas=[1e-3, 1e-1, 1e-2], cv=3).fit(X, y)
    assert np.all(model.cv_scores_ == 1.0)
    assert model.alpha_ == 1e-1


def test_the_best_estimator_is_fitted_on_all_samples_and_its_attributes_can_be_read():
    X, y = rare_data()
    model = RankRCCV(RankRC(basis=20, threshold="f1", landmarks="cholesky"), alphas=ALPHAS, cv=3).fit(X, y)
    single = RankRC(model.alpha_, basis=20, threshold="f1", landmarks="cholesky").fit(X, y)
    assert isinstance(model.best_estimator_, RankRC)
    for name in ("dual_coef_", "basis_", "basis_points_", "classes_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(single, name))
    for name in (
        "bound_",
        "rare_class_",
        "gamma_",
        "objective_",
        "n_iter_",
        "storage_",
        "n_features_in_",
    ):
        assert getattr(model, name) == getattr(single, name)
    np.testing.assert_array_equal(model.score_samples(X), single.score_samples(X))
    single.threshold_ = model.threshold_
    for name in ("predict", "decision_function"):
        np.testing.assert_array_equal(getattr(model, name)(X), getattr(single, name)(X))
    assert model.score(X, y) == single.score(X, y)
    with pytest.raises(AttributeError):
        model.threshold_ = 0.0


def test_before_fit_there_is_nothing_to_read():
    model = RankRCCV()
    assert not hasattr(model, "dual_coef_")
    assert not hasattr(model, "n_features_in_")
    for name in ("predict", "decision_function", "score_samples"):
        with pytest.raises(NotFittedError, match="RankRCCV"):
            getattr(model, name)([[0.0]])


def test_the_estimator_is_left_as_it_was():
    X, y = rare_data()
    estimator = RankRC(alpha=77.0, rare_class=1, basis="rare")
    RankRCCV(estimator, alphas=ALPHAS, cv=3).fit(X, y)
    assert estimator.get_params() == RankRC(alpha=77.0, rare_class=1, basis="rare").get_params()
    assert not hasattr(estimator, "classes_")


def test_subclasses_of_the_ranker_are_kept():
    class Own(RankRC):
        pass

    X, y = rare_data()
    assert type(RankRCCV(Own(), alphas=[1.0], cv=3).fit(X, y).best_estimator_) is Own


def test_a_precomputed_kernel_is_cut_into_folds():
    X, y = rare_data()
    known = RankRCCV(RankRC(kernel="precomputed", basis="rare"), alphas=ALPHAS, cv=3).fit(X @ X.T, y)
    plain = RankRCCV(RankRC(kernel="linear", basis="rare"), alphas=ALPHAS, cv=3).fit(X, y)
    np.testing.assert_allclose(known.cv_scores_, plain.cv_scores_, atol=1e-9)


def test_a_path_is_that_of_the_best_estimator():
    X, y = rare_data()
    expected = RankRC(basis=7, landmarks="cholesky").alpha_path(X, y, [1e-1, 1e-3])
    path = RankRCCV(RankRC(basis=7, landmarks="cholesky"), alphas=[1e-1], cv=2).fit(X, y).alpha_path(X, y, [1e-1, 1e-3])
    np.testing.assert_array_equal(path.scores(X), expected.scores(X))


def test_folds_rank_the_class_that_is_asked_for():
    X, y = rare_data(m=200, rare=30)
    plain = RankRCCV(RankRC(basis="rare"), alphas=[1e-3, 1e-1], cv=3).fit(X, y)
    assert plain.cv_scores_.min() > 0.8
    for labels, rare in ((np.where(y == 1, "fraud", "ok"), "fraud"), (1 - y, 0)):
        model = RankRCCV(RankRC(rare_class=rare, basis="rare"), alphas=[1e-3, 1e-1], cv=3).fit(X, labels)
        np.testing.assert_allclose(model.cv_scores_, plain.cv_scores_)
    X, y = rare_data(1, m=100, rare=49)
    order = np.random.default_rng(0).permutation(100)  # folds differ in which class is rarer
    assert RankRCCV(RankRC(basis="rare"), alphas=[1e-2], cv=KFold(5)).fit(X[order], y[order]).cv_scores_.min() > 0.5


def test_folds_without_a_rare_sample_do_not_decide():
    X, y = rare_data(m=100, rare=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the least populated class has fewer members than folds
        model = RankRCCV(RankRC(basis="rare"), alphas=[1e-6, 1.0]).fit(X, y)
    usable = np.isfinite(model.cv_scores_).all(axis=0)
    assert 0 < usable.sum() < 5
    assert model.alpha_ == model.alphas_[np.argmax(model.cv_scores_[:, usable].mean(axis=1))]
    with pytest.raises(
        DegenerateDataError, match=r"RankRCCV found no fold with samples of both classes.* 3 rare .* 2 f"
    ):
        RankRCCV(cv=KFold(2)).fit(X, y)


def test_weights_count_in_learning_and_in_the_scores():
    X, y = rare_data(m=90)
    weights = np.random.default_rng(0).integers(0, 3, 90).astype(float)
    rows = np.repeat(np.arange(90), weights.astype(int))
    folds = [(np.arange(0, 90, 2), np.arange(1, 90, 2)), (np.arange(1, 90, 2), np.arange(0, 90, 2))]
    repeated = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in folds]
    weighted = RankRCCV(RankRC(basis="rare"), alphas=ALPHAS, cv=folds).fit(X, y, weights)
    again = RankRCCV(RankRC(basis="rare"), alphas=ALPHAS, cv=repeated).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.cv_scores_, again.cv_scores_, atol=1e-3)


def test_how_many_folds_at_a_time_does_not_matter():
    X, y = rare_data(1, m=90)
    one, two = (
        RankRCCV(
            RankRC(basis="random", random_state=np.random.RandomState(0)), alphas=[1e-3, 0.1], cv=3, n_jobs=n_jobs
        ).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.cv_scores_, two.cv_scores_)
    np.testing.assert_array_equal(one.basis_, two.basis_)


def test_groups_are_not_split():
    X, y = rare_data(m=60, rare=30)
    groups = np.arange(60) % 7
    model = RankRCCV(RankRC(basis="rare"), alphas=[0.1, 1.0], cv=GroupKFold(3)).fit(X, y, groups=groups)
    given = clone(model).set_params(cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(model.cv_scores_, given.cv_scores_)
    with pytest.raises(ValueError, match="groups"):
        clone(model).fit(X, y)


def test_names_of_columns_belong_to_the_last_fit():
    X, y = rare_data(m=90, rare=30)
    model = RankRCCV(RankRC(basis="rare"), alphas=[0.1], cv=3)
    assert list(model.fit(pd.DataFrame(X, columns=["a", "b", "c"]), y).feature_names_in_) == ["a", "b", "c"]
    model.fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    model.predict(X)


def test_stopping_early_in_the_folds_is_reported_once():
    X, y = rare_data()
    with pytest.warns(ConvergenceWarning) as caught:
        RankRCCV(RankRC(max_iter=1, basis="rare"), alphas=[1e-6, 1e-5], cv=3).fit(X, y)
    best, folds = (str(warning.message) for warning in caught)
    assert best.startswith("RankRC was stopped after 1 iterations")
    assert folds.startswith("6 of 6 rankers in the folds of RankRCCV did not reach")
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RankRCCV(OrdinalRankRC(basis="rare")), "'estimator' parameter of RankRCCV"),
        (RankRCCV(RankRC(basis=np.arange(10))), r"basis of the estimator of RankRCCV .* other samples in every fold"),
        (
            RankRCCV(RankRC(solver="stochastic", basis="rare")),
            r"solver of the estimator of RankRCCV must be 'trust-region'",
        ),
        (RankRCCV(RankRC(tol=0.0, basis="rare")), "'tol' parameter of RankRC "),
        (RankRCCV(RankRC(basis="rare"), alphas=[-1.0]), "alphas of RankRCCV must be finite numbers > 0"),
        (RankRCCV(RankRC(basis="rare"), alphas=[]), "alphas of RankRCCV must be"),
        (RankRCCV(RankRC(basis="rare"), alphas=0.1), "'alphas' parameter of RankRCCV"),
        (RankRCCV(cv="five"), "'cv' parameter of RankRCCV"),
        (RankRCCV(gammas=[]), "gammas of RankRCCV must have at least one value"),
        (RankRCCV(gammas=[-1.0]), "'gamma' parameter of RankRC "),
        (RankRCCV(bases=["rarest"]), "'basis' parameter of RankRC "),
        (RankRCCV(scoring={"recall_at": 2.0}), "'scoring' parameter of RankRCCV"),
        (OrdinalRankRCCV(RankRC()), "'estimator' parameter of OrdinalRankRCCV"),
    ],
)
def test_bad_parameters_name_whose_they_are(model, message):
    with pytest.raises(ParameterError, match=message):
        model.fit(*rare_data())


def held_out_by_hand(model, X, y, cv):
    scores = np.full(len(y), np.nan)
    for train, test in StratifiedKFold(cv).split(X, y):
        scores[test] = clone(model.best_estimator_).fit(X[train], y[train]).score_samples(X[test])
    return scores


def test_held_out_scores_are_kept_and_cut():
    X, y = rare_data(m=300, rare=60)
    model = RankRCCV(RankRC(basis="rare", threshold={"recall": 0.9}), alphas=[0.1], cv=3).fit(X, y)
    expected = held_out_by_hand(model, X, y, 3)
    np.testing.assert_allclose(model.held_out_scores_, expected, atol=1e-3)
    called = model.held_out_scores_ > model.threshold_
    assert 0.9 <= called[y == 1].mean() < 0.9 + 1.5 / 60
    promise = RankRCCV(RankRC(basis="rare", threshold={"recall": 0.8, "confidence": 0.9}), alphas=[0.1], cv=3).fit(X, y)
    made = promise.threshold_certificate_
    assert made.verify(promise.held_out_scores_[y == 1])
    assert made.cross_fitted
    assert promise.threshold_ < made.threshold


def test_samples_that_are_never_held_out_have_no_score():
    X, y = rare_data(m=90, rare=30)
    folds = [(np.arange(0, 90, 2), np.arange(1, 90, 4))]
    model = RankRCCV(RankRC(basis="rare"), alphas=[0.1], cv=folds).fit(X, y)
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(model.held_out_scores_)), np.arange(1, 90, 4))
    assert 0 < model.predict(X).sum() < 90


def test_widths_and_bases_are_tried_too():
    X, y = rare_data(m=200, rare=20)
    X[:, 0] *= 30.0  # drowns the others in the usual width
    model = RankRCCV(
        RankRC(random_state=0), alphas=[1e-2, 1.0], gammas=["mean_distance", 0.3], bases=["rare", 30], cv=3
    ).fit(X, y)
    assert model.cv_scores_.shape == (8, 3)
    assert len(model.cv_results_["params"]) == 8
    assert model.cv_results_["params"][5] == {"basis": 30, "gamma": "mean_distance", "alpha": 1.0}
    best = int(np.argmax(model.cv_results_["mean_test_score"]))
    assert model.best_params_ == model.cv_results_["params"][best]
    assert model.best_estimator_.get_params()["basis"] == model.best_params_["basis"]
    assert pd.DataFrame(model.cv_results_)["rank_test_score"].min() == 1
    single = RankRCCV(RankRC(basis=30, gamma=0.3, random_state=0), alphas=[1e-2, 1.0], cv=3).fit(X, y)
    np.testing.assert_array_equal(single.cv_scores_, model.cv_scores_[6:])


@pytest.mark.parametrize(
    "scoring",
    ["average_precision", "roc_auc", "f1", "neg_log_loss_of_nothing", {"partial_auc": 0.2}, {"recall_at": 0.1}],
)
def test_what_is_chosen_by(scoring):
    X, y = rare_data(m=200, rare=30)
    model = RankRCCV(RankRC(basis="rare"), alphas=[1e-3, 1.0], cv=3, scoring=scoring)
    if scoring == "neg_log_loss_of_nothing":
        with pytest.raises(ParameterError, match="'scoring' parameter of RankRCCV must be"):
            model.fit(X, y)
        return
    model.fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for i, alpha in enumerate([1e-3, 1.0]):
            ranker = RankRC(alpha, basis="rare").fit(X[train], y[train])
            scores = ranker.score_samples(X[test])
            expected = {
                "average_precision": average_precision_score(y[test], scores),
                "roc_auc": roc_auc_score(y[test], scores),
                "f1": f1_score(y[test], ranker.predict(X[test])),
            }
            if isinstance(scoring, str):
                assert model.cv_scores_[i, fold] == pytest.approx(expected[scoring], abs=0.03)
            elif "partial_auc" in scoring:
                highest = np.sort(scores[y[test] == 0])[::-1]
                kept = highest[: round(0.2 * len(highest))]
                share = np.mean(scores[y[test] == 1][:, None] > kept)
                assert model.cv_scores_[i, fold] == pytest.approx(share, abs=0.06)
            else:
                top = np.argsort(-scores)[: round(0.1 * len(test))]
                assert model.cv_scores_[i, fold] == pytest.approx(y[test][top].sum() / y[test].sum(), abs=0.06)


def test_any_scorer_may_judge():
    X, y = rare_data(m=120, rare=30)
    seen = []

    def count(model, X, y, sample_weight=None):
        seen.append((len(y), set(y), sample_weight is not None))
        return float(model.alpha == 0.1)

    labels = np.where(y == 1, "fraud", "ok")
    model = RankRCCV(RankRC(basis="rare"), alphas=[1e-3, 0.1, 1.0], cv=3, scoring=count).fit(X, labels)
    assert model.alpha_ == 0.1
    assert seen[0] == (40, {"fraud", "ok"}, False)
    RankRCCV(RankRC(basis="rare"), alphas=[0.1], cv=3, scoring=count).fit(X, labels, np.ones(120))
    assert seen[-1][2]


def test_a_scorer_without_weights_is_refused_where_there_are_some():
    X, y = rare_data(m=60, rare=20)
    model = OrdinalRankRCCV(alphas=[0.1], cv=2, scoring="neg_max_error").fit(X, y)
    assert np.isfinite(model.cv_scores_).all()
    with pytest.raises(ParameterError, match=r"scoring='neg_max_error' knows no sample_weight. Choose another"):
        model.fit(X, y, sample_weight=np.ones(60))

    def broken(model, X, y, sample_weight=None):
        raise TypeError("another one")

    with pytest.raises(TypeError, match="another one"):
        RankRCCV(alphas=[0.1], cv=2, scoring=broken).fit(X, y, sample_weight=np.ones(60))


def test_a_partial_range_is_judged_by_the_partial_area():
    X, y = rare_data(m=200, rare=40)
    ranker = RankRC(basis="rare", emphasis={"false_positive_range": 0.2}, tol=1e-3)
    model = RankRCCV(ranker, alphas=[0.1, 1.0], cv=2).fit(X, y)
    same = RankRCCV(ranker, alphas=[0.1, 1.0], cv=2, scoring={"partial_auc": 0.2}).fit(X, y)
    np.testing.assert_array_equal(model.cv_scores_, same.cv_scores_)
    assert not np.allclose(
        model.cv_scores_, RankRCCV(ranker, alphas=[0.1, 1.0], cv=2, scoring="roc_auc").fit(X, y).cv_scores_
    )


def test_levels_have_stratified_folds_and_their_own_measure():
    X, y = ordered_data(0, 200)
    order = np.argsort(y, kind="stable")  # sorted levels: plain folds would have one level each
    model = OrdinalRankRCCV(OrdinalRankRC(random_state=0), alphas=[1e-3, 0.1, 10.0], cv=3).fit(X[order], y[order])
    assert np.isfinite(model.cv_scores_).all()
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y[order])):
        ranker = OrdinalRankRC(0.1, random_state=model.best_estimator_.random_state)
        ranker.fit(X[order][train], y[order][train])
        assert model.cv_scores_[1, fold] == pytest.approx(ranker.score(X[order][test], y[order][test]), abs=0.01)
    assert model.score(X, y) == model.best_estimator_.score(X, y) > 0.7
    assert set(model.predict(X)) == {0, 1, 2}
    shares = np.bincount(np.searchsorted(model.cuts_, model.held_out_scores_)) / 200
    np.testing.assert_allclose(shares, np.bincount(y) / 200, atol=0.02)
    accuracy = OrdinalRankRCCV(OrdinalRankRC(random_state=0), alphas=[0.1], cv=3, scoring="accuracy").fit(X, y)
    assert 0.4 < accuracy.best_score_ < 1.0


def test_default_folds_converge():
    # With a preconditioner that was not renewed after steps to the border of the region, one fold in forty did not.
    rng = np.random.default_rng(0)
    y = np.repeat([1, 0], [30, 270])
    X = rng.standard_normal((300, 3)) + y[:, None]
    for seed in (6, 10, 13):
        model = RankRCCV(RankRC(random_state=seed), alphas=[1e-6, 1e-2], cv=3).fit(X, y)  # warnings are errors here
        assert np.isfinite(model.cv_scores_).all()
