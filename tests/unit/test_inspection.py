"""Displays: what is drawn is what the values say, on the axes that were given, and pyplot is left alone."""

import io
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import precision_score, recall_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rarefy
from rarefy.exceptions import DegenerateDataError, MissingExtraError, ParameterError
from rarefy.inspection import (
    CertificateDisplay,
    PathDisplay,
    SelectionCurveDisplay,
    StabilityDisplay,
    ThresholdDisplay,
)
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV, SubspaceLPSVC
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV, certify_threshold
from rarefy.selection import BestSubsetSelector, BSSSelector, InformationGainSelector, RandomSelector, RRQRSelector


@pytest.fixture(scope="module")
def wide():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.standard_normal((40, 30))
    X[:, :4] += 1.2 * (y[:, None] - 0.5)
    return X, y


@pytest.fixture(scope="module")
def selector(wide):
    return BestSubsetSelector(6, C=0.01, max_nodes=0).fit(*wide)


@pytest.fixture(scope="module")
def rare():
    rng = np.random.default_rng(1)
    y = np.where(np.arange(400) < 60, "yes", "no")
    return rng.standard_normal((400, 2)) + 1.5 * (y == "yes")[:, None], y


@pytest.fixture(scope="module")
def ranker(rare):
    estimator = RankRC(random_state=0, threshold={"recall": 0.8, "confidence": 0.9})
    return RankRCCV(estimator, alphas=[1e-1, 1e-5, 1e-3], gammas=[0.1, 1.0], cv=3).fit(*rare)


@pytest.fixture(scope="module")
def stability(wide):
    return rarefy.selection_stability(RRQRSelector(5), wide[0], n_splits=8, random_state=0)


def widths(bars):
    return [bar.get_width() for bar in bars]


def labels(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


def rows(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


# Certificates


def test_bars_are_the_shares_of_a_certificate(wide):
    X, y = wide
    certificate = rarefy.certify(X[:12], np.arange(25), np.full(25, 1.3), y=y[:12], C=1.0)
    assert certificate.eigenvalues[1] > 1.0  # the radius grows as well
    display = CertificateDisplay.from_certificate(certificate)
    drawn = dict(zip(rows(display), widths(display.bars_), strict=True))
    assert drawn["objective, these labels"] == certificate.objective_ratio
    assert drawn["of the best columns there are"] == certificate.optimality
    assert drawn["SVM objective, any labels"] == certificate.soft_margin_ratio
    assert drawn["margin² / radius², any labels"] == pytest.approx(
        certificate.margin_floor / max(1.0, certificate.eigenvalues[1])
    )
    assert display.status_bars_ == {}
    assert sorted({line.get_xdata()[0] for line in display.ax_.lines}) == [0.1, 0.5, 0.9]
    assert display.ax_.get_xlabel() == "certified share, 25 of 30 columns"


def test_bars_of_a_subset_certificate_count_the_columns_by_status(selector):
    certificate = selector.certificate_
    display = CertificateDisplay.from_estimator(selector)
    assert widths(display.bars_) == [certificate.optimality, certificate.objective_ratio]
    assert rows(display)[2:] == ["the 6 chosen", "the 24 others"]
    frame = certificate.to_frame()
    for status, bars in display.status_bars_.items():
        parts = [np.mean(frame.status[frame.chosen == among] == status) for among in (True, False)]
        assert widths(bars) == pytest.approx(parts)
        assert f"{status}: {np.sum(frame.status == status)}" in labels(display)
    ends = [bar.get_x() + bar.get_width() for bar in display.status_bars_["in none"]]
    assert ends == pytest.approx([1.0, 1.0])
    assert 0 < sum(widths(display.status_bars_["in none"])) < 2  # a bar that could be of the wrong length


def test_where_nothing_is_certified_the_picture_says_so(selector):
    nothing = replace(selector.certificate_, lower_bound=0.0, all_columns_bound=None, all_columns_dual=None)
    display = CertificateDisplay.from_certificate(nothing)
    assert display.ax_.texts[-1].get_text() == "nothing is certified"
    assert len(display.bars_) == 0
    assert display.status_bars_ == {}


def test_kernel_certificates_have_bars_too(wide):
    X = wide[0]
    certificate = rarefy.certify_kernels(X[:10] @ X[:10].T, X[:10, :25] @ X[:10, :25].T)
    display = CertificateDisplay.from_certificate(certificate)
    drawn = dict(zip(rows(display), widths(display.bars_), strict=True))
    assert drawn["SVM objective, any labels"] == certificate.soft_margin_ratio
    assert drawn["of the trace"] == certificate.explained
    assert certificate.plot(display.ax_) is display.ax_


def test_certificates_of_selectors_and_what_has_none(wide):
    X, _ = wide
    selector = BSSSelector(28).fit(X[:10])
    display = CertificateDisplay.from_estimator(selector)
    assert selector.certificate_.soft_margin_ratio in widths(display.bars_)
    with pytest.raises(ParameterError, match="needs an estimator with a certificate_; RandomSelector has none"):
        CertificateDisplay.from_estimator(RandomSelector(3, random_state=0).fit(X))
    with pytest.raises(NotFittedError):
        CertificateDisplay.from_estimator(BSSSelector(5))
    promise = certify_threshold(np.arange(10.0), np.arange(10) > 5, recall=0.5)
    with pytest.raises(ParameterError, match=r"one of Certificate, .*; got RecallCertificate"):
        CertificateDisplay.from_certificate(promise)


# Curves


def test_the_curve_has_the_selectors_parameters_and_its_choice_marked(wide, selector):
    display = SelectionCurveDisplay.from_estimator(selector, *wide, n_features=[2, 6, 12])
    curve = rarefy.best_subset_curve(*wide, n_features=[2, 6, 12], C=0.01, gap_tol=1e-4)
    np.testing.assert_array_equal(display.reached_.get_xdata(), [2, 6, 12])
    np.testing.assert_array_equal(display.reached_.get_ydata(), curve.objective)
    np.testing.assert_array_equal(display.bound_.get_ydata(), curve.lower_bound)
    assert display.chosen_.get_xdata()[0] == 6
    assert display.chosen_.get_ydata()[0] == selector.certificate_.objective
    assert labels(display)[-1] == "the selector's choice of 6"
    low, high = curve.lower_bound.min(), curve.objective.max()
    inside = display.band_.get_paths()[0].vertices[:, 1]
    assert (inside.min(), inside.max()) == (low, high)


def test_a_curve_alone_has_no_mark(wide):
    curve = rarefy.best_subset_curve(*wide, n_features=[1, 30], C=0.01)
    display = SelectionCurveDisplay.from_curve(curve)
    assert display.curve is curve
    assert display.chosen_ is None
    np.testing.assert_array_equal(display.reached_.get_ydata(), curve.objective)
    assert display.ax_.get_xscale() == "log"


def test_curves_need_the_data_of_the_fit(wide, selector):
    X, y = wide
    for other in ((X, 1 - y), (X[::-1], y)):
        with pytest.raises(ParameterError, match="must be those that the selector was fitted on"):
            SelectionCurveDisplay.from_estimator(selector, *other, n_features=[6])
    weight = np.where(np.arange(40) < 20, 2.0, 1.0)
    weighted = BestSubsetSelector(6, C=0.01, max_nodes=0).fit(X, y, sample_weight=weight)
    with pytest.raises(ParameterError, match="sample_weight"):
        SelectionCurveDisplay.from_estimator(weighted, X, y, n_features=[6])
    display = SelectionCurveDisplay.from_estimator(weighted, X, y, n_features=[6], sample_weight=weight)
    assert display.curve.certificates[0].weighted
    with pytest.raises(ParameterError, match="needs a BestSubsetSelector; got RandomSelector"):
        SelectionCurveDisplay.from_estimator(RandomSelector(5, random_state=0).fit(X), X, y)
    with pytest.raises(NotFittedError):
        SelectionCurveDisplay.from_estimator(BestSubsetSelector(5), X, y)


# Paths


def test_scores_of_a_ranker_are_drawn_for_the_other_parameters_as_chosen(ranker):
    display = PathDisplay.from_estimator(ranker)
    frame = pd.DataFrame(ranker.cv_results_)
    assert frame.param_gamma.nunique() == 2
    along = frame[frame.param_gamma == ranker.best_params_["gamma"]].sort_values("param_alpha")
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), [1e-5, 1e-3, 1e-1])
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), along.mean_test_score)
    band = display.band_.get_paths()[0].vertices[:, 1]
    assert band.max() == (along.mean_test_score + along.std_test_score).max()
    assert band.min() == (along.mean_test_score - along.std_test_score).min()
    assert display.chosen_.get_xdata()[0] == ranker.alpha_
    assert display.ax_.get_xscale() == "log"
    assert labels(display)[-1] == f"chosen alpha = {ranker.alpha_:.3g}"


def test_scores_of_a_kernel_selector_and_of_a_search(wide):
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] * X[:, 1] > 0
    model = KernelFeatureSelectorCV(cv=3, Cs=[1.0, 4.0], mus=[0.1, 1.0]).fit(X, y)
    means = model.cv_scores_.mean(axis=2)
    display = PathDisplay.from_estimator(model)
    np.testing.assert_allclose(display.lines_[0].get_ydata(), means[list(model.Cs_).index(model.C_)])
    assert (display.chosen, display.parameter) == (model.mu_, "mu")
    display = PathDisplay.from_estimator(model, parameter="C")
    np.testing.assert_allclose(display.lines_[0].get_ydata(), means[:, list(model.mus_).index(model.mu_)])
    assert display.chosen == model.C_
    display = PathDisplay.from_estimator(model, parameter="n_features")
    sizes, best = display.lines_[0].get_xdata(), display.lines_[0].get_ydata()
    assert np.all(np.diff(sizes) > 0)
    assert np.all(np.diff(best) > 0)
    assert best[-1] == means.max()
    model.cv_scores_[0, :, 1:] = np.nan  # given up after a fold
    model.C_ = model.Cs_[1]
    assert len(PathDisplay.from_estimator(model, parameter="C").lines_[0].get_xdata()) == 1
    assert len(PathDisplay.from_estimator(model).lines_[0].get_xdata()) == 2
    with pytest.raises(ParameterError, match=r"must be 'mu', 'C' or 'n_features' .* got 'gamma'"):
        PathDisplay.from_estimator(model, parameter="gamma")
    grid = {"ridge__alpha": [1.0, 100.0], "ridge__solver": ["svd", "cholesky"]}
    search = GridSearchCV(make_pipeline(StandardScaler(), Ridge()), grid).fit(*wide)
    display = PathDisplay.from_estimator(search, parameter="ridge__alpha")
    assert display.lines_[0].get_ydata().max() == search.best_score_
    assert len(display.lines_[0].get_xdata()) == 2
    with pytest.raises(ParameterError, match=r"one of \['ridge__alpha', 'ridge__solver'\]; got 'alpha'"):
        PathDisplay.from_estimator(search)
    with pytest.raises(ParameterError, match="numbers; 'ridge__solver' is not"):
        PathDisplay.from_estimator(search, parameter="ridge__solver")
    with pytest.raises(ParameterError, match="cv_results_ and best_params_; Ridge lacks one"):
        PathDisplay.from_estimator(Ridge().fit(*wide))


def test_attributes_along_a_path_are_sorted_by_the_penalty(rare):
    path = RankRC(random_state=0).alpha_path(*rare, [1e-3, 1e-1, 1e-2])
    display = PathDisplay.from_path(path, chosen=1e-2)
    objective = path.attribute("objective_")
    np.testing.assert_array_equal(display.lines_[0].get_xdata(), [1e-3, 1e-2, 1e-1])
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), objective[[0, 2, 1]])
    assert display.band_ is None
    assert display.chosen_.get_xdata()[0] == 1e-2
    assert labels(display) == ["chosen alpha = 0.01"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("alpha", "objective")
    frame = path.to_frame(["objective_", "n_iter_"])
    assert list(frame.columns) == ["alpha", "objective_", "n_iter_"]
    np.testing.assert_array_equal(frame.alpha, path.values)
    np.testing.assert_array_equal(frame.objective_, objective)


def test_arrays_along_a_path_are_lines_and_masks_are_counted():
    X, y = load_iris(return_X_y=True)
    path = SubspaceLPSVC(n_components=5, gamma="scale").alpha_path(X, y, [1.0, 0.1])
    display = PathDisplay.from_path(path)
    assert len(display.lines_) == 3
    np.testing.assert_array_equal(display.lines_[1].get_ydata(), path.attribute("objective_")[::-1, 1])
    assert labels(display) == ["0", "1", "2"]
    assert len(PathDisplay.from_path(path, "coef_").lines_) == 15
    frame = path.to_frame(["coef_"])
    np.testing.assert_array_equal(frame["coef_[2, 4]"], path.attribute("coef_")[:, 2, 4])
    assert frame.shape == (2, 16)


def test_a_penalty_of_zero_is_on_the_axis():
    X = np.random.default_rng(6).standard_normal((60, 4))
    path = KernelFeatureSelector(C=1.0).mu_path(X, X[:, 0] * X[:, 1] > 0, [0.0, 0.1, 64.0])
    display = PathDisplay.from_path(path, "support_")
    counts = path.attribute("support_").sum(axis=1)
    assert counts[0] > counts[-1]
    np.testing.assert_array_equal(display.lines_[0].get_ydata(), counts)
    assert display.ax_.get_xscale() == "symlog"
    assert display.ax_.get_xlim()[0] < 0.0 < display.ax_.get_xlim()[1]
    with pytest.raises(ParameterError, match="KernelFeatureSelector has no 'poems_'"):
        PathDisplay.from_path(path, "poems_")
    with pytest.raises(ParameterError, match="must hold numbers; 'kernel' holds"):
        PathDisplay.from_path(path, "kernel")


# Stability


def test_the_most_frequent_features_are_drawn_first(stability):
    display = StabilityDisplay.from_report(stability, n_features=7)
    names, shares = zip(*stability.top(7), strict=True)
    assert widths(display.bars_) == list(shares)
    assert rows(display) == [str(name) for name in names]
    assert display.ax_.yaxis_inverted()
    assert StabilityDisplay(stability).plot(display.ax_).ax_.yaxis_inverted()  # a second time does not turn it over
    assert len(StabilityDisplay.from_report(stability, n_features=99).bars_) == 30
    with pytest.raises(ParameterError, match="'k' parameter"):
        StabilityDisplay.from_report(stability, n_features=0)


def test_the_table_of_frequencies_has_every_feature(stability):
    frame = stability.to_frame()
    np.testing.assert_array_equal(frame.frequency, stability.frequency)
    np.testing.assert_array_equal(frame.name, stability.feature_names)


# Thresholds


def test_curves_agree_with_the_measures_of_scikit_learn(rare):
    X, y = rare
    scores = np.round(X.sum(axis=1), 1)  # with ties
    display = ThresholdDisplay.from_predictions(y, scores, curves=("precision", "recall", "alarms"))
    thresholds = display.lines_["recall"].get_xdata()
    np.testing.assert_array_equal(thresholds, np.unique(scores))
    for at in (0, len(thresholds) // 2, -1):
        called = np.where(scores >= thresholds[at], "yes", "no")
        expected = {
            "precision": precision_score(y, called, pos_label="yes"),
            "recall": recall_score(y, called, pos_label="yes"),
            "alarms": np.mean(called == "yes"),
        }
        assert {name: line.get_ydata()[at] for name, line in display.lines_.items()} == pytest.approx(expected)
    assert display.threshold_line_ is None
    assert labels(display) == ["precision", "recall", "share of alarms"]


def test_scores_above_a_number_are_called_rare_and_from_a_promise_on():
    y, scores = np.array([1, 1, 0, 0, 0]), np.array([3.0, 2.0, 2.0, 1.0, 0.0])
    above = ThresholdDisplay.from_predictions(y, scores, threshold=2.0)
    assert above.threshold_line_.get_xdata()[0] == 2.0
    assert above.threshold_line_.get_label() == "threshold 2: precision 1.00, recall 0.50"
    promise = certify_threshold(scores, y, recall=0.1, confidence=0.1)
    assert promise.threshold == 3.0
    promise = replace(promise, threshold=2.0, order=1)
    display = ThresholdDisplay.from_predictions(y, scores, threshold=promise, curves=["recall", "alarms"])
    first, second = display.threshold_line_.get_label().splitlines()
    assert first == "threshold 2: recall 1.00, share of alarms 0.60"
    assert second == "promised: recall of at least 10 %, with 10 % confidence"
    nobody = ThresholdDisplay.from_predictions(y, scores, threshold=9.0)
    assert nobody.threshold_line_.get_label() == "threshold 9: recall 0.00"  # there is no precision of nothing
    common = ThresholdDisplay.from_predictions(y, scores, rare_class=0)
    assert common.recall[-1] == 0.0
    assert above.recall[-1] == 0.5


def test_a_promise_that_cannot_be_made_has_no_line():
    y = np.repeat([1, 0], [3, 9])
    promise = certify_threshold(np.arange(12.0), y, recall=0.9)
    display = ThresholdDisplay.from_predictions(y, np.arange(12.0), threshold=promise)
    assert display.threshold_line_ is None
    assert labels(display)[-1] == "not promised: recall of at least 90 %, which needs 29 cases for 95 % confidence"


def test_rankers_are_drawn_with_new_samples_or_held_out_scores(rare, ranker):
    X, y = rare
    held_out = ThresholdDisplay.from_estimator(ranker, None, y)
    np.testing.assert_array_equal(held_out.thresholds, np.unique(ranker.held_out_scores_))
    assert held_out.threshold == ranker.threshold_certificate_.threshold
    expected = np.mean(ranker.held_out_scores_[y == "yes"] >= held_out.threshold)
    assert held_out.at_threshold["recall"] == pytest.approx(expected)
    assert labels(held_out)[-1].endswith("promised: recall of at least 80 %, with about 90 % confidence")
    new = ThresholdDisplay.from_estimator(ranker, X[:200], y[:200])
    np.testing.assert_array_equal(new.thresholds, np.unique(ranker.score_samples(X[:200])))
    plain = make_pipeline(StandardScaler(), RankRC(random_state=0)).fit(X, y)
    display = ThresholdDisplay.from_estimator(plain, X, y)
    assert display.threshold == plain[-1].threshold_
    assert display.at_threshold["recall"] == pytest.approx(recall_score(y, plain.predict(X), pos_label="yes"))
    assert display.threshold_certificate is None


def test_samples_in_no_fold_are_left_out(rare):
    X, y = rare
    folds = [(np.arange(0, 400, 2), np.arange(1, 400, 4))]
    model = RankRCCV(RankRC(random_state=0), alphas=[1e-3], cv=folds).fit(X, y)
    assert np.isnan(model.held_out_scores_).sum() == 300
    display = ThresholdDisplay.from_estimator(model, None, y)
    np.testing.assert_array_equal(display.thresholds, np.sort(model.held_out_scores_[1::4]))


def test_what_thresholds_refuse(rare, ranker):
    X, y = rare
    scores = X[:, 0]
    with pytest.raises(ParameterError, match=r"may be None for a RankRCCV.*RankRC has none"):
        ThresholdDisplay.from_estimator(RankRC(random_state=0).fit(X, y), None, y)
    with pytest.raises(ParameterError, match="needs a RankRC or RankRCCV; got OrdinalRankRC"):
        ThresholdDisplay.from_estimator(OrdinalRankRC(random_state=0).fit(X, y == "yes"), X, y)
    with pytest.raises(NotFittedError):
        ThresholdDisplay.from_estimator(RankRC(), X, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ThresholdDisplay.from_estimator(ranker, None, y[:-1])
    with pytest.raises(ParameterError, match=r"rare_class of ThresholdDisplay .*\['no', 'yes'\]; got 'maybe'"):
        ThresholdDisplay.from_predictions(y, scores, "maybe")
    with pytest.raises(DegenerateDataError, match="ThresholdDisplay needs labels of two classes; y has 1"):
        ThresholdDisplay.from_predictions(y[:5], scores[:5])
    with pytest.raises(ParameterError, match=r"one dimension; got shape \(400, 2\)"):
        ThresholdDisplay.from_predictions(y, X)
    with pytest.raises(ValueError, match="NaN"):
        ThresholdDisplay.from_predictions(y, np.where(y == "yes", np.nan, scores))
    with pytest.raises(ParameterError, match="threshold of ThresholdDisplay must be a finite number; got inf"):
        ThresholdDisplay.from_predictions(y, scores, threshold=np.inf)
    for curves in ("recall", (), ("recall", "poems")):
        with pytest.raises(ParameterError, match="curves of ThresholdDisplay must be one or more of"):
            ThresholdDisplay.from_predictions(y, scores, curves=curves)


# Tables of certificates


def test_the_table_of_a_choice_has_a_row_a_column(wide):
    X, y = wide
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(30)])
    selector = BestSubsetSelector(6, C=0.01, max_nodes=0).fit(frame, y)
    certificate = selector.certificate_
    table = certificate.to_frame()
    assert list(table.columns) == ["name", "status", "chosen", "coefficient"]
    assert list(table.name) == list(frame.columns)
    assert list(table.status) == list(certificate.column_status)
    np.testing.assert_array_equal(table.chosen, selector.get_support())
    np.testing.assert_allclose(table.coefficient[table.chosen], selector.coef_[0] * X.std(axis=0)[selector.support_])
    assert not table.coefficient[~table.chosen].any()
    assert list(BestSubsetSelector(2, C=0.01).fit(X, y).certificate_.to_frame().name) == list(range(30))
    several = BestSubsetSelector(2, C=0.01).fit(X, np.arange(40) % 3).certificate_.to_frame()
    assert list(several.columns)[3:] == ["coefficient_0", "coefficient_1", "coefficient_2"]


# All displays


def displays(selector, ranker, stability, rare, wide):
    return {
        "certificate": CertificateDisplay(selector.certificate_),
        "curve": SelectionCurveDisplay(rarefy.best_subset_curve(*wide, n_features=[2, 4], C=0.01)),
        "path": PathDisplay([1.0, 0.1], [3.0, 2.0]),
        "stability": StabilityDisplay(stability),
        "threshold": ThresholdDisplay.from_estimator(ranker, None, rare[1]),
    }


@pytest.mark.parametrize("name", ["certificate", "curve", "path", "stability", "threshold"])
def test_given_axes_are_used_and_a_figure_of_its_own_shows_itself(name, selector, ranker, stability, rare, wide):
    display = displays(selector, ranker, stability, rare, wide)[name]
    axes = Figure().subplots(1, 2)
    assert display.plot(axes[1]) is display
    assert display.ax_ is axes[1]
    assert display.figure_ is axes[1].figure
    assert axes[1].has_data()
    assert not axes[0].has_data()
    assert display._repr_png_() is None  # whoever made the figure shows it
    assert display.plot().figure_ is not axes[1].figure
    assert display._repr_png_().startswith(b"\x89PNG")


def test_pyplot_is_not_touched():
    code = (
        "import sys; from rarefy.inspection import PathDisplay; assert 'matplotlib' not in sys.modules; "
        "PathDisplay([1.0, 2.0], [1.0, 2.0]).plot(); print('matplotlib.figure' in sys.modules, "
        "'matplotlib.pyplot' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


@pytest.mark.parametrize(
    ("module", "message"),
    [("matplotlib.figure", r'Pictures need matplotlib: pip install "rarefy\[cli\]"'), ("pandas", "pip install pandas")],
)
def test_what_is_not_installed_is_named(module, message, monkeypatch, selector, stability):
    monkeypatch.setitem(sys.modules, module, None)
    if module == "pandas":
        for value in (selector.certificate_, stability):
            with pytest.raises(MissingExtraError, match=message):
                value.to_frame()
    else:
        with pytest.raises(MissingExtraError, match=message):
            PathDisplay([1.0], [1.0]).plot()
        with pytest.raises(MissingExtraError, match=message):
            CertificateDisplay.from_estimator(selector)


@pytest.mark.parametrize("name", [r"$\foo$", r"$", "$$", r"\$x^{$", r"a_{b"])
def test_names_that_look_like_formulas_are_drawn_as_they_are(name):
    X = pd.DataFrame(np.random.default_rng(0).standard_normal((30, 4)), columns=[name, "b", "c", r"$\frac$"])
    y = (X["b"] > 0).astype(int)
    selector = InformationGainSelector(2).fit(X, y)
    axes = [selector.plot(), rarefy.selection_stability(selector, X, y, n_splits=3, random_state=0).plot()]
    for ax in axes:
        ax.figure.savefig(io.BytesIO(), format="svg")
        shown = [label.get_text().replace(r"\$", "$") for label in ax.get_yticklabels()]
        assert {name, r"$\frac$"} <= set(shown)


@pytest.mark.parametrize("ax", [3, "axes", [], Figure()], ids=type)
def test_what_is_no_axes_is_refused_in_words(ax):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 5)), np.arange(30) % 2
    certificate = BSSSelector(2, rank=1).fit(X).certificate_
    for draw in (
        certificate.plot,
        rarefy.certify_kernels(X @ X.T, X @ X.T).plot,
        InformationGainSelector(2).fit(X, y).plot,
        lambda ax: CertificateDisplay.from_certificate(certificate, ax=ax),
    ):
        with pytest.raises(ParameterError, match="ax must be axes of matplotlib, or None for new ones; got"):
            draw(ax=ax)


def test_displays_say_what_they_draw():
    for make, message in (
        (PathDisplay.from_path, "PathDisplay.from_path draws a RegularizationPath; got a list"),
        (StabilityDisplay.from_report, "StabilityDisplay.from_report draws a StabilityReport; got a list"),
        (SelectionCurveDisplay.from_curve, "SelectionCurveDisplay.from_curve draws a BestSubsetCurve; got a list"),
    ):
        with pytest.raises(ParameterError, match=message):
            make([])
