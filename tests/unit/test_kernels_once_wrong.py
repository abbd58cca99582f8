"""Cases in which estimators with a kernel once went wrong, each with what should happen."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, KFold

from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV


def some_rare(seed, n=200, rare=30, d=3, shift=1.2):
    y = (np.arange(n) < rare).astype(int)
    return np.random.default_rng(seed).standard_normal((n, d)) + shift * y[:, None], y


def test_folds_rank_the_class_that_is_asked_for():
    X, y = some_rare(0)
    plain = RankRCCV(alphas=[1e-3, 1e-1], cv=3).fit(X, y)
    assert plain.cv_scores_.min() > 0.8
    for labels, rare in ((np.where(y == 1, "fraud", "ok"), "fraud"), (1 - y, 0)):
        model = RankRCCV(alphas=[1e-3, 1e-1], cv=3, rare_class=rare).fit(X, labels)
        np.testing.assert_allclose(model.cv_scores_, plain.cv_scores_)
    X, y = some_rare(1, n=100, rare=49)
    order = np.random.default_rng(0).permutation(100)  # folds differ in which class is rarer
    assert RankRCCV(alphas=[1e-2], cv=KFold(5)).fit(X[order], y[order]).cv_scores_.min() > 0.5
    with pytest.raises(ParameterError, match=r"basis of RankRCCV .* other points in every fold"):
        RankRCCV(basis=np.arange(10)).fit(X, y)


def test_folds_without_a_rare_point_do_not_decide():
    X, y = some_rare(0, n=100, rare=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the least populated class has fewer members than folds
        model = RankRCCV(alphas=[1e-6, 1.0]).fit(X, y)
    usable = np.isfinite(model.cv_scores_).all(axis=0)
    assert 0 < usable.sum() < 5
    assert model.alpha_ == model.alphas_[np.argmax(model.cv_scores_[:, usable].mean(axis=1))]
    with pytest.raises(DegenerateDataError, match="no fold with points of both classes"):
        RankRCCV(cv=KFold(2)).fit(X, y)


def test_blocks_minimise_the_same_function():
    rng = np.random.default_rng(0)
    y = rng.choice([0, 1, 2], 1000, p=[0.9, 0.06, 0.04])
    X = rng.standard_normal((1000, 3)) + 0.7 * np.c_[y, (y == 2) * -1.5, np.zeros(1000)]
    exact = OrdinalRankRC(1e-2).fit(X, y).objective_
    inexact = OrdinalRankRC(1e-2, solver="stochastic", block_size=50, n_passes=20, random_state=0).fit(X, y).objective_
    assert exact <= inexact < 1.005 * exact
    X, y = some_rare(2, n=440, rare=40)
    weights = np.where(y == 1, 1.0, np.where(rng.random(440) < 0.5, 1.0, 100.0))
    exact = RankRC(1e-2).fit(X, y, weights).objective_
    inexact = RankRC(1e-2, solver="stochastic", block_size=4, n_passes=20, random_state=0).fit(X, y, weights).objective_
    assert exact <= inexact < 1.01 * exact


def test_nobody_is_rare_when_every_cut_is_too_dear():
    X, y = np.random.default_rng(1).standard_normal((70, 2)), np.repeat([1, 0], [10, 60])
    model = RankRC(1.0, threshold={"false_positive_rate": 0.01}).fit(X, y)
    assert model.predict(X)[y == 0].mean() <= 0.01
    for cost in (0.01, 0.05, 0.2, 1.0, 5.0):
        called = RankRC(1.0, threshold={"cost": cost}).fit(X, y).predict(X)
        assert cost * called[y == 1].sum() - called[y == 0].sum() >= 0.0


@pytest.mark.parametrize("alpha", [2.0**-20, 2.0**-14, 1e-3])
@pytest.mark.parametrize("overflow", ["recompute", "disk"])
def test_single_precision_does_not_fit_its_own_rounding(alpha, overflow):
    rng = np.random.default_rng(0)
    y = (rng.random(600) < 0.1).astype(int)
    X = rng.standard_normal((600, 2)) + y[:, None]
    budget = 5 * 600 * y.sum() if overflow == "recompute" else 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RankRC(alpha, memory_budget=budget, overflow=overflow).fit(X, y)
    assert model.storage_ in ("float32", "on disk")
    scores = model.decision_function(X) + model.threshold_
    margins = scores[y == 1][:, None] - scores[y == 0]
    loss = np.where(margins < 0, 0.5 - margins, np.where(margins < 1, (1 - margins) ** 2 / 2, 0.0)).mean()
    coefficients = model.dual_coef_[0]
    K = np.exp(-model.gamma_ * ((model.basis_points_[:, None] - model.basis_points_) ** 2).sum(axis=2))
    value = loss + 0.5 * alpha * coefficients @ K @ coefficients
    assert model.objective_ == pytest.approx(value, rel=2e-3)
    assert model.predict(X).sum() == y.sum()


def test_empty_documents_are_not_worth_a_kernel_function():
    X = np.abs(np.random.default_rng(0).standard_normal((300, 6)))
    X[100:160] = 0.0
    y = (np.arange(300) < 10).astype(int)
    assert X[RankRC(kernel="cosine", basis=15).fit(X, y).basis_].any(axis=1).all()


def test_there_is_a_bound_only_at_the_minimum():
    X, y = some_rare(0)
    assert RankRC(basis="all").fit(X, y).bound_ == 0.0
    assert RankRC(basis="all", solver="stochastic", block_size=5, n_passes=1).fit(X, y).bound_ is None
    with pytest.warns(ConvergenceWarning):
        assert RankRC(1e-6, max_iter=1).fit(X, y).bound_ is None


def test_what_is_wrong_is_said():
    X, y = some_rare(0, n=60, rare=20)
    with pytest.raises(ParameterError, match=r"kernel of RankRC gives values that are not finite"):
        RankRC(kernel=lambda u, v: np.nan).fit(X, y)
    with pytest.raises(ParameterError, match=r"landmarks='kmeans' of RankRC needs points"):
        RankRC(kernel="precomputed", landmarks="kmeans", basis=40).fit(X @ X.T, y)
    with pytest.raises(DegenerateDataError, match="two levels"):
        OrdinalRankRC().fit(X, y).score(X[:5], y[:5])
    with pytest.raises(ParameterError, match=r"basis of RankRC must be"):
        RankRC(basis=np.ones(60, dtype=bool)).fit(X, y)
    with pytest.warns(UserWarning, match="the same score"):
        flat = RankRC(kernel="linear").fit(X * (y == 0)[:, None], y)  # rare rows are zero: no function is left
    np.testing.assert_array_equal(flat.dual_coef_, 0.0)


def test_points_without_weight_do_not_count():
    rng = np.random.default_rng(1)
    y = (rng.random(80) < 0.2).astype(int)
    X, weights = rng.standard_normal((80, 2)) + y[:, None], (rng.random(80) < 0.6).astype(float)
    here = weights > 0
    assert RankRC(0.01).fit(X, y, weights).threshold_ == pytest.approx(RankRC(0.01).fit(X[here], y[here]).threshold_)
    cuts = [OrdinalRankRC(0.01).fit(*data).cuts_ for data in ((X, y, weights), (X[here], y[here]))]
    np.testing.assert_allclose(*cuts)
    levels = rng.integers(0, 4, 80)
    inner = ((levels == 1) | (levels == 2)).astype(float)
    assert set(OrdinalRankRC(0.01).fit(X, levels, inner).predict(X)) <= {1, 2}


def test_names_of_columns_belong_to_the_last_fit():
    X, y = some_rare(0, n=90, rare=30)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    for model in (RankRCCV(alphas=[0.1], cv=3),):
        assert list(model.fit(frame, y).feature_names_in_) == ["a", "b", "c"]
        model.fit(X, y)
        assert not hasattr(model, "feature_names_in_")
        model.predict(X)


def test_area_of_a_reversed_class_is_the_same():
    X, y = some_rare(3)
    model = RankRC(rare_class=0).fit(X, 1 - y)
    assert roc_auc_score(1 - y, model.decision_function(X)) > 0.8


@pytest.mark.parametrize("model", [RankRCCV([0.1, 1.0])])
def test_groups_stay_together(model):
    X, y = some_rare(0, n=60)
    groups = np.arange(60) % 7
    model.set_params(cv=GroupKFold(3)).fit(X, y, groups=groups)
    given = clone(model).set_params(cv=list(GroupKFold(3).split(X, y, groups))).fit(X, y)
    np.testing.assert_array_equal(model.cv_scores_, given.cv_scores_)
    with pytest.raises(ValueError, match="groups"):
        clone(model).fit(X, y)
