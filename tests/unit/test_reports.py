"""Pages about one's own data: what they state agrees with the data, and names in the data stay text."""

import base64
import json
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from click.testing import CliRunner
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest, VarianceThreshold, f_classif
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import confusion_matrix, make_scorer, precision_recall_curve, roc_auc_score, roc_curve
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import rarefy
from rarefy.certificates import SubsetCertificate
from rarefy.certificates._fingerprint import fingerprint
from rarefy.cli import _app
from rarefy.exceptions import DegenerateDataError, MissingExtraError, ParameterError, TruncatedRankWarning
from rarefy.pages import column_table, held_out, own, selection, spectrum, subset_curve
from rarefy.pages.alarms import confusion, precision_points, roc_points, sentence_on_top, steps_of
from rarefy.pages.drawings import Bar, Line, Plot, bars, curves, legend, shown
from rarefy.pages.html import embedded
from rarefy.pages.ranking import write_ranking_page
from rarefy.pages.selection import write_selection_page
from rarefy.ranking import RankRC, RankRCCV, RecallCertificate
from rarefy.selection import BestSubsetSelector, BSSSelector, _subset_sizes
from rarefy.workflows.reading import Reading

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(2)</script>",
    "<!--<script>",
    "\"><img src=x onerror='alert(3)'>",
    'it\'s "quoted" & <b>bold</b>',
    "{{ 7 * 7 }}{% raw %}",
    "${alert(4)}`\\u003c",
    "🧬 émoji \u2028 line",
    "\u202egnp.exe",
    "lone \ud800 half",
]


class Elements(HTMLParser):
    """Names and attributes of all elements, and the texts of script elements."""

    def __init__(self, text):
        super().__init__()
        self.found, self.scripts, self._inside = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        self._inside = tag == "script"

    def handle_endtag(self, tag):
        self._inside = False

    def handle_data(self, data):
        if self._inside:
            self.scripts.append(data)


def stand_in(X, y, selector, names, *, target="class", method="best", scale=None):
    """What a selection from a table has of use for a page."""
    certificate = getattr(selector, "certificate_", None) or rarefy.certify(X, selector.support_)
    return SimpleNamespace(
        X=X,
        y=y,
        kept=np.asarray(selector.selection_order_),
        preprocessing=SimpleNamespace(names=list(names), scale=scale, encoder=SimpleNamespace(impute=None)),
        selector=selector,
        certificate=certificate,
        method=method,
        target=target,
    )


def ranked(X, y, **options):
    """The same of a ranker."""
    search = RankRCCV(RankRC(random_state=0, rare_class="fraud", **options), alphas=[1e-3], cv=3, scoring="roc_auc")
    pipeline = make_pipeline(StandardScaler(), search).fit(X, y)
    is_rare = y == "fraud"
    return SimpleNamespace(
        pipeline=pipeline,
        ranker=pipeline[-1],
        target="label",
        rare_class="fraud",
        is_rare=is_rare,
        held_out=pipeline[-1].held_out_scores_,
        most_learned=None,
        X=pipeline[:-1].transform(X),
        measures=lambda: own._measures(is_rare, pipeline[-1].held_out_scores_),
    )


def problem(n=60, d=30, seed=0):
    X, y = make_classification(n, d, n_informative=4, n_redundant=0, class_sep=1.5, random_state=seed)
    return X, np.where(y == 1, "ill", "well")


def written(tmp_path, made, file="table.csv", write=write_selection_page):
    path = tmp_path / "page.html"
    write(made, path, file=file)
    assert [one.name for one in tmp_path.iterdir()] == ["page.html"]
    return path.read_text(encoding="utf-8")


def columns_data(text):
    return json.loads(re.search(r'id="columns-data">(.*?)</script>', text, re.S)[1])


def linked(text):
    return json.loads(base64.b64decode(re.search(r'href="data:application/json;base64,([^"]+)"', text)[1]))


@pytest.fixture(scope="module")
def rare_problem():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(300) % 10 == 0, "fraud", "fine")
    return rng.standard_normal((300, 3)) + 1.5 * (y == "fraud")[:, None], y


@pytest.fixture(scope="module")
def best():
    X, y = problem()
    X = np.column_stack([X, 2.0 * X[:, 0] + 1.0])
    return X, y, BestSubsetSelector(5, C=0.01).fit(X, y)


@pytest.fixture(scope="module")
def text(best, tmp_path_factory):
    X, y, selector = best
    return written(tmp_path_factory.mktemp("page"), stand_in(X, y, selector, [f"x{j}" for j in range(31)]))


def test_the_verdict_comes_first_and_the_parts_follow_in_order(text, best):
    parts = [
        best[2].certificate_.sentence,
        '<dl class="facts">',
        "Do the kept columns predict as well as others?",
        "How many columns does it take?",
        "All columns",
        "The certificate in full",
        "How to get the same",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_big_numbers_are_those_of_the_certificate_and_of_cross_validation(text, best):
    X, y, selector = best
    values = re.findall(r"<dt>(.*?)</dt>", text)
    share = selector.certificate_.optimality
    assert values[0] == "5"
    assert float(values[1].split()[0]) / 100 <= share < float(values[1].split()[0]) / 100 + 0.011
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    quick = clone(selector).set_params(gap_tol=1e-3, max_nodes=0)
    model = make_pipeline(quick, StandardScaler(), LogisticRegression(max_iter=300))
    error = 1.0 - cross_val_score(model, X, y, cv=folds).mean()
    assert values[2] == f"{100 * error:.1f} %"
    whole = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    assert f"all columns: {100 * (1 - cross_val_score(whole, X, y, cv=folds).mean()):.1f} %" in text


def test_columns_are_chosen_inside_the_folds():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 800)), np.arange(60) % 2
    found = held_out.compare(X, y, BestSubsetSelector(5, C=0.01), 5, classified=True, deviations=np.ones(800), seed=0)
    kept = BestSubsetSelector(5, C=0.01).fit(X, y).get_support()
    cheated = 1.0 - cross_val_score(LogisticRegression(), X[:, kept], y).mean()
    assert cheated < 0.3 < found.row("kept columns").mean, "labels are noise: nothing can predict them"


def test_regression_is_compared_by_r2_and_numbers_that_are_whole_are_no_classes(tmp_path):
    X, y = make_regression(80, 20, n_informative=3, noise=5.0, random_state=0)
    y = np.round(y)
    selector = BestSubsetSelector(3).fit(X, y)
    text = written(tmp_path, stand_in(X, y, selector, range(20)))
    quick = clone(selector).set_params(gap_tol=1e-3, max_nodes=0)
    r2 = cross_val_score(
        make_pipeline(quick, StandardScaler(), Ridge()), X, y, cv=KFold(5, shuffle=True, random_state=0)
    ).mean()
    assert f"<dt>{r2:.3f}</dt>" in text
    assert "chosen, of 10" in text
    assert "r with the target" in text


def test_most_variable_columns_are_those_before_scaling():
    X = np.random.default_rng(0).standard_normal((40, 6))
    scale = np.array([1.0, 9.0, 1.0, 5.0, 1.0, 1.0])
    choices = held_out._choices(None, 2, True, scale, np.random.default_rng(0))
    assert choices["as many, the most variable"](X, None).tolist() == [1, 3]
    choices = held_out._choices(None, 2, True, scale, np.random.default_rng(0), sparse=True)
    X[:30, 1] = X[:20, 4] = X[:35, [0, 2, 3]] = 0.0
    assert choices["as many, the most frequent"](sp.csr_array(X), None).tolist() == [5, 4]


def test_many_rows_are_sampled_and_the_page_says_so(tmp_path, monkeypatch):
    X, y = problem(n=300, d=10)
    monkeypatch.setattr(held_out, "_MOST_ROWS", 120)
    text = written(tmp_path, stand_in(X, y, BestSubsetSelector(3).fit(X, y), range(10)))
    assert "120 rows drawn at random were looked at" in text
    rows = held_out.looked_at(X, y, 0)
    assert len(set(rows)) == 120
    assert rows.tolist() == sorted(rows)
    assert len(held_out.looked_at(sp.csr_array(X), None, 0)) == 120


def test_no_more_folds_are_begun_when_time_is_up(monkeypatch):
    X, y = problem()
    monkeypatch.setattr(held_out, "_SECONDS", 0.0)
    found = held_out.compare(X, y, BestSubsetSelector(3), 3, classified=True, deviations=np.ones(30), seed=0)
    assert found.n_folds == 2


def test_what_cannot_be_compared_is_said():
    X = np.random.default_rng(0).standard_normal((6, 4))
    options = {"deviations": np.ones(4), "seed": 0}
    alone = held_out.compare(X, np.array([0, 0, 0, 0, 0, 1]), None, 2, classified=True, **options)
    assert "one row only" in alone
    assert "fewer than four rows" in held_out.compare(X[:3], np.arange(3.0), None, 2, classified=False, **options)
    failing = held_out.compare(X, np.arange(6.0), VarianceThreshold(99.0), 2, classified=False, **options)
    assert "the selection failed" in failing


def test_a_choice_of_no_column_counts_as_worst():
    X, y = problem()
    nothing = np.zeros(0, dtype=int)
    assert held_out._score(None, X, y, None, None, nothing, "error") == 1.0
    assert held_out._score(None, X, y, None, None, nothing, "area under the ROC curve") == 0.5
    assert held_out._score(None, X, y, None, None, nothing, "R²") == 0.0


def test_a_rare_class_is_judged_by_the_order_of_scores(tmp_path):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(200) % 10 == 0, "rare", "common")
    X = rng.standard_normal((200, 6))
    X[:, 0] += y == "rare"
    selector = BestSubsetSelector(2, C=0.01).fit(X, y)
    text = written(tmp_path, stand_in(X, y, selector, range(6)))
    quick = clone(selector).set_params(gap_tol=1e-3, max_nodes=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = make_pipeline(quick, StandardScaler(), LogisticRegression(max_iter=300))
    area = cross_val_score(
        model, X, y, cv=folds, scoring=make_scorer(_area, response_method="decision_function")
    ).mean()
    assert f"<dt>{area:.3f}</dt><dd>area under the ROC curve on held-out rows" in text
    assert "predicting the same for every row has an area under the ROC curve of 0.500" in text
    assert "Longer is better" in text


def _area(y, scores):
    return roc_auc_score(y == "rare", scores)


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (np.array(["a", "b"] * 20), True),
        (np.arange(40) % 3, True),
        (np.arange(40), False),
        (np.arange(40.0) / 7, False),
        (np.arange(40) % 2 + 0.0, True),
        (np.arange(40) % 2 + 0.5, False),
    ],
)
def test_which_targets_hold_classes(y, classes):
    assert held_out.holds_classes(y) == classes


@pytest.mark.parametrize("sparse", [False, True])
def test_twins_are_the_largest_correlations_across_kept_and_dropped(sparse):
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((50, 12)), 1) * (rng.random((50, 12)) < 0.6)
    X[:, 7], X[:, 8], X[:, 9] = 3.0 * X[:, 1] + 1e-3 * rng.standard_normal(50), -X[:, 1], X[:, 2]
    X[:, 11] = 4.0
    kept = np.array([2, 1, 5, 9])
    twin, r = column_table.twins(sp.csr_array(X) if sparse else X, kept)
    with np.errstate(invalid="ignore"):
        R = np.nan_to_num(np.corrcoef(X.T))
    for j in range(12):
        others = [i for i in range(12) if (i in kept) != (j in kept) and abs(R[i, j]) >= 0.9]
        if not others:
            assert (twin[j], r[j]) == (-1, 0.0)
        else:
            assert abs(r[j]) == pytest.approx(max(abs(R[i, j]) for i in others), abs=1e-9)
            assert r[j] == pytest.approx(R[twin[j], j], abs=1e-9)
    assert twin[1] == 8
    assert twin[7] == 1


def test_twins_are_found_over_blocks_of_kept_columns(monkeypatch):
    X = np.random.default_rng(0).standard_normal((40, 30))
    X[:, 20:] = X[:, :10] + 0.1 * X[:, 10:20]
    whole = column_table.twins(X, np.arange(10))
    monkeypatch.setattr(column_table, "_BLOCK", 3)
    parts = column_table.twins(X, np.arange(10))
    assert whole[0].tolist() == parts[0].tolist()
    assert (whole[0][:10] == np.arange(20, 30)).all()
    monkeypatch.setattr(column_table, "_PRODUCTS", 1.0)
    assert column_table.twins(X, np.arange(10)) is None


def test_relation_to_the_target():
    X, y = problem()
    r, title = column_table.relation_to_target(X, y, True)
    coded = y == "well"
    np.testing.assert_allclose(r, [np.corrcoef(x, coded)[0, 1] for x in X.T])
    assert "well" in title
    three = np.arange(60) % 3
    with_constant = np.column_stack([X, np.ones(60)])
    found, title = column_table.relation_to_target(with_constant, three, True)
    np.testing.assert_allclose(found[:-1], f_classif(X, three)[0])
    assert found[-1] == 0.0
    assert title == "F of the classes"
    assert column_table.relation_to_target(X, np.ones((60, 2)), False)[0] is None


def test_the_table_has_what_the_selector_and_the_certificate_say(text, best):
    selector = best[2]
    data = columns_data(text)
    certificate = selector.certificate_
    assert data["kept"] == selector.selection_order_.tolist()
    words = {"e": "in every best set", "n": "in none", "o": "open"}
    assert [words[sign] for sign in data["status"]] == certificate.column_status.tolist()
    by_column = dict(zip(certificate.indices.tolist(), certificate.coef[:, 0], strict=True))
    for j, weight in zip(data["kept"], data["weight"], strict=True):
        assert weight == pytest.approx(by_column[j], rel=0.01)
    assert len(data["count"]) == 31
    assert max(data["count"]) <= 10
    assert sum(data["count"]) == 50
    if 0 in data["kept"] or 30 in data["kept"]:
        assert {data["twin"][0], data["twin"][30]} <= {0, 30}
        assert data["r"][0] == 1.0


def test_weights_of_selectors_are_shown_when_they_differ():
    X = np.random.default_rng(0).standard_normal((10, 60))
    selector = BSSSelector(30).fit(X)
    found = column_table.weights_of(selector, selector.certificate_, selector.selection_order_)
    by_column = dict(zip(np.flatnonzero(selector.support_).tolist(), selector.weights_, strict=True))
    assert found.tolist() == [by_column[j] for j in selector.selection_order_.tolist()]
    plain = SimpleNamespace(weights_=np.ones(30))
    assert column_table.weights_of(plain, selector.certificate_, selector.selection_order_) is None


def test_weights_of_several_models_are_norms():
    X, _ = problem()
    y = np.arange(60) % 3
    selector = BestSubsetSelector(4).fit(X, y)
    found = column_table.weights_of(selector, selector.certificate_, selector.selection_order_)
    assert (found > 0).all()
    assert found.tolist() == sorted(found, reverse=True), "the order of selection is that of the norms"


def test_resamples_are_left_out_where_they_take_long():
    X, y = problem()
    assert column_table.chosen_in_resamples(None, X, y, 100.0, classified=True, seed=0) == (None, 0)
    few = np.array([0, 1])  # a part of two samples has one class
    assert column_table.chosen_in_resamples(BestSubsetSelector(2), X[:2], few, 0.01, classified=True, seed=0)[0] is None


def test_the_curve_goes_through_the_certificate_and_never_below_its_bounds(best):
    X, y, selector = best
    c = selector.certificate_
    found = subset_curve.draw_curve(X, y, c, selector.selection_order_, classified=True)
    numbers = [(n, *(float(share.split()[0]) for share in pair)) for n, *pair in found.points]
    empty = rarefy.best_subset_curve(X, y, n_features=[5], C=0.01).empty
    row = next(row for row in numbers if row[0] == 5)
    assert row[1] == pytest.approx(100 * c.objective / empty, abs=0.051)
    assert all(low <= high + 0.1 for _, high, low in numbers)
    assert [low for *_, low in numbers] == sorted((low for *_, low in numbers), reverse=True)
    assert len(numbers) <= 8
    assert found.own is None


def test_the_recommended_number_is_the_one_that_auto_would_take(best, monkeypatch):
    X, y, selector = best
    c, kept = selector.certificate_, selector.selection_order_
    found = subset_curve.draw_curve(X, y, c, kept, classified=True)
    folds = held_out.folds_of(y, True, 0)
    monkeypatch.setattr(_subset_sizes, "_sizes", lambda largest: [n for n, *_ in found.points])
    auto = BestSubsetSelector("auto", C=c.C, cv=folds).fit(X, y)
    assert found.recommended == auto.support_.sum()
    assert f"recommended: {found.recommended}" in found.legend
    assert f"Recommended: {found.recommended}" in found.picture
    again = subset_curve.draw_curve(X, y, c, kept, classified=True, automatic=True)
    assert again.recommended == c.n_chosen, "where the number was found by cross-validation, it is that one"
    monkeypatch.setattr(subset_curve, "_SECONDS", 0.0)
    assert subset_curve.draw_curve(X, y, c, kept, classified=True).recommended is None


def test_the_spectrum_is_drawn_against_what_is_certified(tmp_path):
    X = np.random.default_rng(0).standard_normal((12, 60))
    selector = BSSSelector(40, rescale=False).fit(X)
    c = selector.certificate_
    found = spectrum.eigenvalues_of(X, c)
    assert len(found) == c.rank
    assert c.eigenvalues[0] <= found[0] <= found[-1] <= c.eigenvalues[1]
    assert found[0] == pytest.approx(c.eigenvalues[0], rel=1e-6)
    text = written(tmp_path, stand_in(X, None, selector, range(60), target=None, method="bss"))
    assert "certified: no direction is below" in text
    assert text.count('class="fill accent"') >= 12
    assert "<dt>12</dt><dd>dimensions of the data, and none of them is lost</dd>" in text
    lost = rarefy.certify(X, np.arange(5))
    assert spectrum.draw_spectrum(spectrum.eigenvalues_of(X, lost), lost).n_lost == 7
    assert "certified" not in spectrum.draw_spectrum(spectrum.eigenvalues_of(X, lost), lost).legend
    assert spectrum.eigenvalues_of(X, replace(c, rows=np.arange(3))) is None


def test_commands_of_pages_leave_out_the_same_columns_and_rows(rare_problem, tmp_path):
    reading = Reading("t.csv", drop=("id", "a, b"), sample=50, seed=3)
    words = ("--drop", 'id,"a, b"', "--sample", "50", "--seed", "3")
    assert reading.options == words
    assert Reading.of_options("t.csv", words[1], 50, 3) == reading
    made = ranked(*rare_problem)
    write_ranking_page(made, tmp_path / "page.html", file="t.csv", options=reading.options)
    text = unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert """--drop 'id,"a, b"' --sample 50 --seed 3</code>""" in text
    assert fingerprint(made.X) in text


@pytest.mark.parametrize(("chosen", "total"), [(1, 1), (1, 50), (3, 4), (50, 2000), (7, 7), (400, 401)])
def test_sizes_of_the_curve(chosen, total):
    sizes = subset_curve._sizes(chosen, total)
    assert chosen in sizes
    assert 1 <= len(sizes) <= 8
    assert sizes[0] == 1
    assert sizes[-1] <= total


def test_a_curve_that_cannot_be_drawn_is_left_out(best, monkeypatch):
    X, y, selector = best
    c, kept = selector.certificate_, selector.selection_order_
    assert "weights of samples" in subset_curve.draw_curve(X, y, replace(c, weighted=True), kept, classified=True)
    one = np.full(60, "same")
    assert "one class" in subset_curve.draw_curve(X, one, c, kept, classified=True)
    monkeypatch.setattr(subset_curve, "_MOST_ENTRIES", 10.0)
    assert "so large a table" in subset_curve.draw_curve(X, y, c, kept, classified=True)


def test_groups_of_columns_are_counted_as_groups(tmp_path):
    X, y = problem(d=12)
    selector = BestSubsetSelector(2, groups=np.repeat(np.arange(4), 3)).fit(X, y)
    text = written(tmp_path, stand_in(X, y, selector, range(12)))
    assert "<dt>6</dt>" in text
    assert "number of groups of columns" in text
    assert "the 2 that were kept" in text


def test_without_a_target_the_page_has_the_certified_shares_only(tmp_path):
    X = np.random.default_rng(0).standard_normal((10, 60))
    selector = BSSSelector(40, rescale=False, random_state=0).fit(X)
    made = stand_in(X, None, selector, range(60), target=None, method="bss", scale=np.ones(60))
    text = written(tmp_path, made)
    assert "Without a target there is nothing to predict" in text
    assert "SVM objective, any labels" in text
    assert "held-out rows (all columns" not in text
    assert "columns-status" not in re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert "rarefy select table.csv --keep 40 --method bss --report" in text


def test_the_certified_share_is_named():
    X, y = problem(n=20, d=60)
    gap = BSSSelector(40, rescale=False).fit(X).certificate_
    with pytest.warns(TruncatedRankWarning):
        some = BSSSelector(15, rescale=False).fit(X).certificate_
    these = rarefy.certify(X, np.arange(40), y=y, C=1.0)
    assert selection._what(gap, gap.share) == "of the squared gap between any two classes"
    assert selection._what(some, some.share) == "of the data explained"
    assert selection._what(these, these.share) == "of the objective of all columns"
    nothing = selection.ChosenColumns(X, None, range(60), np.arange(5), None, rarefy.certify(X, np.arange(5)), "x")
    assert selection._facts(nothing, "")[1] == ("nothing", "is certified")


def test_columns_not_chosen_for_the_target_are_marked_beside_the_best(tmp_path):
    X, y = problem(n=20, d=60)
    selector = BSSSelector(40, rescale=False, random_state=0).fit(X)
    text = written(tmp_path, stand_in(X, y, selector, range(60), method="bss", scale=np.ones(60)))
    assert "reached by the best columns for the target" in text
    assert "The kept columns, which were not chosen for this target, reach" in text


def test_sparse_data_have_the_same_page(tmp_path):
    X, y = problem()
    X = sp.csc_array(X * (np.abs(X) > 0.5))
    text = written(tmp_path, stand_in(X, y, BestSubsetSelector(5, standardize=False).fit(X, y), range(30)))
    assert 'class="ok">agrees' in text


def test_the_certificate_in_the_page_can_be_checked(text, best):
    X, y, _ = best
    assert bool(SubsetCertificate.from_dict(linked(text)).verify(X, y))
    assert 'class="ok">agrees' in text


def test_a_large_certificate_is_not_in_the_page(tmp_path, best, monkeypatch):
    X, y, selector = best
    monkeypatch.setattr("rarefy.pages.html._DOWNLOAD", 10)
    monkeypatch.setattr(selection, "_VERIFIED", 10)
    text = written(tmp_path, stand_in(X, y, selector, range(31)))
    assert "too large for this page" in text
    assert "agrees" not in text


def test_data_that_do_not_suit_the_certificate_are_not_said_to_agree(best):
    X, y, selector = best
    other = selection.ChosenColumns(X[:, :9], y, [], np.arange(2), selector, selector.certificate_, "x")
    assert selection._verified(other) is None


def test_how_to_get_the_same(text, best, tmp_path):
    X, y, selector = best
    assert "rarefy select table.csv --target class --keep 5 --method best --C 0.01 --report" in text
    assert selector.certificate_.fingerprint in text
    assert f"rarefy {rarefy.__version__}, numpy {np.__version__}" in text
    hostile = "my 'table'; rm -rf $HOME.csv"
    command = re.search(r"<code>(rarefy .*?)</code>", written(tmp_path, stand_in(X, y, selector, range(31)), hostile))[
        1
    ]
    words = shlex.split(command.replace("&#39;", "'").replace("&#34;", '"'))
    assert words[:3] == ["rarefy", "select", hostile]


def test_hostile_names_stay_text(tmp_path):
    X, y = problem(d=10)
    y = np.where(y == "ill", HOSTILE[0], HOSTILE[3])
    made = stand_in(X, y, BestSubsetSelector(10).fit(X, y), HOSTILE, target=HOSTILE[1])
    text = written(tmp_path, made, file=HOSTILE[0])
    clean = written(tmp_path, stand_in(X, y, made.selector, [f"x{j}" for j in range(10)]), file="x")
    assert columns_data(text)["names"] == [*HOSTILE[:-1], "lone ? half"]
    ours, plain = Elements(text), Elements(clean)
    assert [tag for tag, _ in ours.found] == [tag for tag, _ in plain.found], "no name makes an element"
    assert len(ours.scripts) == 3
    assert not [name for _, attrs in ours.found for name in attrs if name.startswith("on")]
    assert "<" not in ours.scripts[0]
    assert "7 * 7" in text


def test_long_names_are_cut():
    assert shown("a" * 500) == "a" * 199 + "…"
    assert embedded("</script>\u2028&") == '"\\u003c/script\\u003e\\u2028\\u0026"'


@pytest.mark.parametrize("target", [True, False])
def test_a_page_of_20_000_columns_stays_small(tmp_path, target):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 20_000)), np.arange(40) % 2
    names = [f"ENSG{j:011d}.{j % 7}_at <&>" for j in range(20_000)]
    selector = BestSubsetSelector(50, C=None).fit(X, y) if target else BSSSelector(60, rescale=False).fit(X)
    made = stand_in(X, y if target else None, selector, names, target="y" if target else None)
    assert len(written(tmp_path, made).encode("utf-8")) < 3_000_000


def test_nothing_is_loaded_from_elsewhere(text, rare_problem, tmp_path):
    for page in (text, written(tmp_path, ranked(*rare_problem), write=write_ranking_page)):
        assert not re.search(r"https?:|@import|url\(|//[a-z]+\.", re.sub(r"base64,[^\"]+", "", page))
        for tag, attributes in Elements(page).found:
            assert tag not in ("img", "iframe", "object", "embed", "base", "form")
            assert "src" not in attributes
            assert attributes.get("href", "data:").startswith("data:")
        assert "default-src 'none'" in page


def test_headers_have_a_scope_and_pictures_a_title(text, rare_problem, tmp_path):
    for page in (text, written(tmp_path, ranked(*rare_problem), write=write_ranking_page)):
        found = Elements(page).found
        assert all("scope" in attributes for tag, attributes in found if tag == "th")
        pictures = [attributes for tag, attributes in found if tag == "svg"]
        ids = [attributes["id"] for _, attributes in found if "id" in attributes]
        assert pictures
        assert all(one["role"] == "img" and one["aria-labelledby"] in ids for one in pictures)
        assert len(ids) == len(set(ids))


def test_names_in_pictures_are_escaped():
    bad = "<script>"
    drawn = bars("a", bad, [Bar(bad, 0.5, bad, True, 0.1), Bar("none", 0.0, "0")], 1.0)
    line = Line(bad, [1, 2], [0.0, 1.0], "accent", dots=True)
    plot = Plot(100, 100, (1, 2), (0, 1))
    drawn += curves("b", bad, plot, [line], (bad, bad), x_ticks=[1], y_ticks=[0], marker="m") + legend([line], bad)
    assert "<script" not in drawn
    assert drawn.count("&lt;script&gt;") == 8
    assert "<svg" in bars("c", "no scale", [Bar("x", 1.0, "1")], 0.0)


def steps_by_hand(is_rare, scores, threshold):
    called = scores > threshold
    return confusion_matrix(is_rare, called, labels=[True, False]).ravel().tolist()


@pytest.mark.parametrize("digits", [1, 8])
def test_steps_are_exact_also_when_they_are_merged(digits):
    rng = np.random.default_rng(0)
    is_rare = rng.random(3000) < 0.05
    scores = np.round(rng.standard_normal(3000) + is_rare, digits)
    for most in (100, 1000, 10_000):
        steps = steps_of(is_rare, scores, 0.7, most=most)
        assert (steps.n_rare, steps.n_rows) == (is_rare.sum(), 3000)
        assert steps.merged == (len(np.unique(scores)) > most)
        for at in np.append(steps.scores[::17] - 1e-9, 0.7):
            c = confusion(steps, at)
            assert [c.found, c.missed, c.false_alarms, c.left_alone] == steps_by_hand(is_rare, scores, at)
    assert len(steps_of(is_rare, scores, 0.7, most=1000).scores) <= 1400


def test_each_rare_case_ends_a_step_where_there_is_room():
    rng = np.random.default_rng(0)
    scores = rng.standard_normal(30_000)
    is_rare = np.arange(30_000) < 100
    steps = steps_of(is_rare, scores, 0.0)
    assert steps.merged
    assert set(scores[is_rare]) <= set(steps.scores)
    assert steps.rare.max() == 1
    assert len(steps.scores) <= 20_200
    crowded = steps_of(scores > 0.0, scores, 0.0, most=2000)
    assert len(crowded.scores) <= 3000
    assert crowded.n_rare == np.sum(scores > 0.0)


def test_curves_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    is_rare = rng.random(500) < 0.1
    scores = np.round(rng.standard_normal(500) + is_rare, 1)
    steps = steps_of(is_rare, scores, 0.0)
    false, true = roc_points(steps)
    expected = roc_curve(is_rare, scores, drop_intermediate=False)
    np.testing.assert_allclose(false, expected[0])
    np.testing.assert_allclose(true, expected[1])
    recall, precision = precision_points(steps)
    p, r, _ = precision_recall_curve(is_rare, scores)
    pairs = {(round(a, 9), round(b, 9)) for a, b in zip(r, p, strict=True)}
    assert {(round(a, 9), round(b, 9)) for a, b in zip(recall[1:], precision[1:], strict=True)} <= pairs
    many = roc_points(steps_of(rng.random(9000) < 0.1, rng.standard_normal(9000), 0.0))
    assert len(many[0]) <= 402
    assert (many[0][0], many[1][0], many[0][-1], many[1][-1]) == (0.0, 0.0, 1.0, 1.0)


def test_what_the_highest_scores_find_in_words():
    scores = -np.arange(1000.0)
    few = np.isin(np.arange(1000), [0, 3, 12])
    said = "Looking at the 10 rows that score highest (1 %) would find 2 of the 3."
    assert sentence_on_top(few, scores) == said
    many = np.arange(1000) % 5 == 0  # one percent could not hold them all
    said = "Of the 200 rows that score highest 40 are rare cases (in random order: 40)."
    assert sentence_on_top(many, scores) == said


def test_calls_in_words():
    steps = steps_of(np.array([True, False, False, True]), np.array([4.0, 3.0, 2.0, 1.0]), 0.0)
    assert confusion(steps, 2.5).sentence == "Finds 1 of 2 rare cases; one in 2.0 alarms is right."
    assert confusion(steps, 9.0).sentence == "Finds 0 of 2 rare cases: no row is looked at."
    last = steps_of(np.array([False, True]), np.array([2.0, 1.0]), 0.0)
    assert confusion(last, 1.5).sentence == "Finds 0 of 1 rare cases; none of 1 alarms is right."


def test_the_page_of_a_ranking(rare_problem, tmp_path):
    made = ranked(*rare_problem, threshold={"recall": 0.6, "confidence": 0.9})
    text = written(tmp_path, made, write=write_ranking_page)
    measures = made.measures()
    values = re.findall(r"<dt>(.*?)</dt>", text)
    assert values[:2] == [f"{measures[name]:.3f}" for name in ("area under the ROC curve", "average precision")]
    assert values[2] == f"{100 * measures['share of rare cases in the highest 1 %']:.1f} %"
    found, missed, wrong, left = steps_by_hand(made.is_rare, made.held_out, made.ranker.threshold_)
    cells = dict(re.findall(r'id="budget-(found|missed|false|left)">(\d+)<', text))
    assert cells == {"found": str(found), "missed": str(missed), "false": str(wrong), "left": str(left)}
    assert made.ranker.threshold_certificate_.sentence in text
    assert bool(RecallCertificate.from_dict(linked(text)).verify())
    rows = [int(row) for row in re.findall(r'<th scope="row">(\d+)</th><td>[^<]+</td><td><bdi>', text)]
    assert rows == (np.argsort(-made.held_out, kind="stable")[:20] + 1).tolist()
    options = "--rare-class fraud --recall 0.6 --confidence 0.9 --scoring roc_auc --report"
    assert f"rarefy rank table.csv --target label {options}" in text


def test_rows_that_were_never_held_out_are_left_out(rare_problem, tmp_path):
    made = ranked(*rare_problem)
    held = made.held_out.copy()
    held[[0, 5]] = np.nan
    made.held_out = held
    made.measures = lambda: own._measures(made.is_rare, held)
    text = written(tmp_path, made, write=write_ranking_page)
    assert "2 rows were never held out" in text
    assert f"{made.is_rare.sum() - 1} of 298 rows" in text
    assert "What is promised" not in text
    assert "drawn at random" not in text
    made.most_learned = 70_000
    assert "at most 70000 other rows of each class, drawn at random" in written(
        tmp_path, made, write=write_ranking_page
    )
    made.held_out = np.where(made.is_rare, np.nan, 0.0)
    with pytest.raises(DegenerateDataError, match="both classes"):
        write_ranking_page(made, tmp_path / "page.html", file="x")


def test_hostile_classes_stay_text(rare_problem, tmp_path):
    X, y = rare_problem
    names = {"fraud": HOSTILE[0], "fine": HOSTILE[3]}
    y = np.array([names[one] for one in y])
    model = RankRCCV(RankRC(rare_class=HOSTILE[0], random_state=0), alphas=[1e-3], cv=3).fit(X, y)
    text = rarefy.report(model, X, y).html
    assert "<script>alert" not in text
    assert "<img" not in text
    assert text.count("&lt;script&gt;alert(1)") > 3


def test_report_of_selectors_and_frames(tmp_path):
    X, y = problem()
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(30)])
    path = tmp_path / "page.html"
    report = rarefy.report(BestSubsetSelector(4).fit(frame, y), frame, y, path=path)
    assert path.read_text(encoding="utf-8") == report.html
    assert columns_data(report.html)["names"] == list(frame.columns)
    assert "BestSubsetSelector(n_features_to_select=4).fit(X, y)" in report.html
    assert "--drop" not in report.html
    shown_in_notebook = Elements(report._repr_html_()).found
    assert [tag for tag, _ in shown_in_notebook] == ["iframe"]
    assert shown_in_notebook[0][1]["srcdoc"] == report.html
    assert repr(report) == f"Report({len(report.html)} characters)"
    others = rarefy.report(SelectKBest(k=6).fit(X, y), X, y).html
    assert "6 of 30 columns kept" in others
    assert columns_data(others)["names"][3] == "column 3"
    two = make_regression(40, 8, n_targets=2, random_state=0)
    assert "R²" in rarefy.report(BestSubsetSelector(3).fit(*two), *two).html


def test_report_of_rankers(rare_problem):
    X, y = rare_problem
    model = RankRC(rare_class="fraud", random_state=0).fit(X, y)
    text = rarefy.report(model, X, y).html
    assert "30 of 300 rows are" in text
    scores = own._held_out_scores(model, X, y)
    rows = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))[2]
    again = RankRC(alpha=model.alpha_, rare_class="fraud", random_state=0).fit(X[rows[0]], y[rows[0]])
    np.testing.assert_allclose(scores[rows[1]], again.score_samples(X[rows[1]]))


def test_report_refuses_what_it_cannot_show(rare_problem):
    X, y = rare_problem
    model = RankRC(random_state=0).fit(X, y)
    search = RankRCCV(alphas=[1e-3], cv=3).fit(X, y)
    with pytest.raises(ParameterError, match="got LogisticRegression"):
        rarefy.report(LogisticRegression(), X, y)
    with pytest.raises(NotFittedError):
        rarefy.report(BestSubsetSelector(), X, y)
    with pytest.raises(ParameterError, match="got None"):
        rarefy.report(model, X)
    with pytest.raises(ParameterError, match="300 samples"):
        rarefy.report(search, X[:50], y[:50])
    with pytest.raises(ParameterError, match="pass a RankRCCV"):
        rarefy.report(RankRC(basis=np.arange(20)).fit(X, y), X, y)
    with pytest.raises(ParameterError, match="two samples of each class"):
        rarefy.report(model, X[:5], y[:5])
    with pytest.raises(ParameterError, match="3 columns"):
        rarefy.report(BestSubsetSelector(2).fit(X, y), X[:, :2], y)
    with pytest.raises(ValueError, match="inconsistent"):
        rarefy.report(BestSubsetSelector(2).fit(X, y), X, y[:7])


def test_a_missing_extra_is_named(best, monkeypatch):
    X, y, selector = best
    monkeypatch.setitem(sys.modules, "jinja2", None)
    for name in ("html", "selection", "ranking"):
        monkeypatch.delitem(sys.modules, f"rarefy.pages.{name}", raising=False)
    with pytest.raises(MissingExtraError, match=r"jinja2.*rarefy\[cli\]"):
        rarefy.report(selector, X, y)


def test_the_name_is_there_without_the_extra():
    code = "import sys; sys.modules['jinja2'] = None; import rarefy; rarefy.report, rarefy.Report"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_commands_write_pages(tmp_path):
    X, y = problem()
    table = tmp_path / "table.csv"
    pd.DataFrame(X).rename(columns="x{}".format).assign(health=y).to_csv(table, index=False)
    for words in (["select", "--keep", "4"], ["rank"]):
        page = tmp_path / f"{words[0]}.html"
        options = [words[0], str(table), "--target", "health", *words[1:], "--report", str(page)]
        result = CliRunner().invoke(_app.app, options, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        assert f"rarefy {words[0]} {table}" in page.read_text(encoding="utf-8")
