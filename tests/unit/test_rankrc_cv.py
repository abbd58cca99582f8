"""RankRCCV: which folds count, what it chooses, and what it passes on."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from ranking_problems import rare_data
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV

ALPHAS = [1e-3, 1.0, 1e-2]


def test_scores_are_those_of_single_fits_on_the_folds():
    X, y = rare_data()
    model = RankRCCV(RankRC(basis="rare"), alphas=ALPHAS, cv=3).fit(X, y)
    for fold, (train, test) in enumerate(StratifiedKFold(3).split(X, y)):
        for i, alpha in enumerate(ALPHAS):
            scores = RankRC(alpha, basis="rare").fit(X[train], y[train]).score_samples(X[test])
            assert model.cv_scores_[i, fold] == pytest.approx(roc_auc_score(y[test], scores), abs=0.02)
    assert model.alpha_ == ALPHAS[int(np.argmax(model.cv_scores_.mean(axis=1)))]


def test_the_best_estimator_is_fitted_on_all_samples_and_its_attributes_can_be_read():
    X, y = rare_data()
    model = RankRCCV(RankRC(basis=20, threshold="f1", landmarks="cholesky"), alphas=ALPHAS, cv=3).fit(X, y)
    single = RankRC(model.alpha_, basis=20, threshold="f1", landmarks="cholesky").fit(X, y)
    assert isinstance(model.best_estimator_, RankRC)
    for name in ("dual_coef_", "basis_", "basis_points_", "classes_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(single, name))
    for name in (
        "threshold_",
        "bound_",
        "rare_class_",
        "gamma_",
        "objective_",
        "n_iter_",
        "storage_",
        "n_features_in_",
    ):
        assert getattr(model, name) == getattr(single, name)
    for name in ("predict", "decision_function", "score_samples"):
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
    ],
)
def test_bad_parameters_name_whose_they_are(model, message):
    with pytest.raises(ParameterError, match=message):
        model.fit(*rare_data())
