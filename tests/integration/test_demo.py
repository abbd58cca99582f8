"""The demo as a user sees it, on smaller data."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn.preprocessing import normalize
from sklearn.svm import SVC

from rarefy import _files, certify
from rarefy.cli import _app, demo
from rarefy.datasets import make_topics
from rarefy.pages import html
from rarefy.pages.demo import (
    _f_scores,
    _forward_scores,
    _selectors,
    best_findings,
    findings,
    percent,
    percent_up,
    run_study,
)
from rarefy.pages.demo_page import page_values
from rarefy.selection import BestSubsetSelector


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    studies = []

    def small(*args, **options):
        studies.append(run_study(*args, **options, shape=(30, 1500)))
        return studies[0]

    out = tmp_path_factory.mktemp("demo") / "demo.html"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "run_study", small)
        result = CliRunner().invoke(_app.app, ["demo", "--features", "60", "--out", str(out)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.output, out, studies[0]


def test_the_terminal_shows_the_table_and_the_certificate(page):
    output, out, _ = page
    assert re.search(r"BSS +│ +60 │", output)
    assert re.search(r"forward\* +│ +60 │", output)
    assert "V spans all 30 dimensions" in output
    assert "by another route: agrees" in output.replace("\n", " ")
    assert out.name in output.replace("\n", "")


def test_the_verdict_comes_first_on_both(page):
    output, out, study = page
    sentence = study.certificate.sentence
    words = " ".join(output.split())
    assert words.index(f"{study.certificate.verdict.capitalize()}. {sentence}") < words.index("these labels")
    text = out.read_text(encoding="utf-8")
    assert text.index(sentence) < text.index("<table")


def test_every_selection_is_certified_for_the_columns_as_they_are(page):
    study = page[2]
    topics = make_topics(30, 1500, random_state=0)
    X, y = normalize(topics.data.log1p()), topics.target
    known = {"BSS": _selectors(60, 0)["BSS"], "forward": _selectors(60, 0)["forward"]}
    for name, selector in known.items():
        support = selector.fit(X, y).get_support()
        assert study.row(name).share == pytest.approx(certify(X, support, y=y, C=1.0).objective_ratio)
        svm = [SVC(kernel="linear", C=1.0, tol=1e-6).fit(part, y) for part in (X, X[:, np.flatnonzero(support)])]
        whole, kept = (_objective(model, part, y) for model, part in zip(svm, (X, X[:, support]), strict=True))
        assert study.row(name).share <= whole / kept + 1e-6
        assert study.row(name).share == pytest.approx(whole / kept, rel=0.01)
    assert study.empty_share == pytest.approx(whole / 30, rel=0.01)
    assert study.shares["BSS"][study.curve_sizes.index(60)] == study.row("BSS").share
    assert study.shares["forward"][-1] > study.shares["at random"][-1] > 0.9 * study.empty_share
    assert all(row.share is None or row.share <= 1.0 for row in study.rows)


def test_the_best_words_are_shown_with_their_proof_before_the_certificate(page):
    output, out, study = page
    sentence = study.best.certificate.sentence
    words = " ".join(output.split())
    title = "The best 60 words for these labels, with proof"
    block = words[words.index(title) : words.index("Certificate of the BSS")]
    assert block.index(sentence) < block.index("Checked again from the data: agrees")
    text = out.read_text(encoding="utf-8")
    assert text.index(title) < text.index(sentence) < text.index("What is guaranteed")
    assert text.count('class="ok">agrees') == 2
    assert all(line in block for line in best_findings(study))


def test_the_best_words_are_those_of_the_selector_and_others_are_measured_against_them(page):
    best = page[2].best
    topics = make_topics(30, 1500, random_state=0)
    X, y = normalize(topics.data.log1p()), topics.target
    selector = BestSubsetSelector(60, loss="hinge", C=1.0, standardize=False, gap_tol=2e-4).fit(X, y)
    status = selector.certificate_.column_status
    assert set(best.certificate.indices) == set(selector.certificate_.indices)
    assert best.verified
    settled = set(topics.feature_names[status == "in every best set"])
    assert (best.always, best.never) == (len(settled), np.sum(status == "in none"))
    assert best.always + best.never + best.n_open == 1500
    assert best.words[0][0] == topics.feature_names[selector.selection_order_[0]]
    assert all(always == (word in settled) for word, _, always in best.words)
    bound = best.certificate.lower_bound
    assert best.empty_share == pytest.approx(bound / 30, rel=1e-9), "15 samples of the smaller class, 2 C each"
    for name in ("F test", "at random"):
        kept = X[:, np.flatnonzero(_selectors(60, 0)[name].fit(X, y).get_support())]
        share = bound / _objective(SVC(kernel="linear", C=1.0, tol=1e-6).fit(kept, y), kept, y)
        low, high = best.shares[name]
        assert low - 2e-3 <= share <= high + 2e-3
    assert "best subset" not in best.shares
    assert best.shares["at random"][0] < best.shares["F test"][0] < 1.0


def test_the_best_words_are_not_said_to_predict_best(page):
    study = page[2]
    rows = [replace(row, error=0.0 if row.name == "chi²" else 0.5) for row in study.rows]
    assert "the lowest of all selections is 0.0 % (chi²)" in best_findings(replace(study, rows=rows))[-1]
    nothing = replace(study, best=replace(study.best, shares={}))
    assert len(best_findings(nothing)) == len(best_findings(study)) - 1
    assert percent_up(0.8561) == "85.7", "what is not exceeded is never rounded down"
    assert percent_up(0.857) == "85.7"


def _objective(model, X, y):
    w, scores = model.coef_.toarray().ravel(), model.decision_function(X)
    return 0.5 * w @ w + np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], scores, -scores)).sum()


def test_forward_selection_takes_the_columns_along_which_the_objective_falls(page):
    topics = make_topics(30, 1500, random_state=0)
    X, y = normalize(topics.data.log1p()), topics.target
    scores = _forward_scores(40)(X, y)
    assert sorted(scores[scores > 0]) == list(range(1, 41))
    share = {
        name: certify(X, kept, y=y, C=1.0).objective_ratio
        for name, kept in (("forward", scores > 0), ("F", _f_scores(X, y) >= np.sort(_f_scores(X, y))[-40]))
    }
    assert share["forward"] >= share["F"]


def test_findings_name_what_is_better_than_ours(page):
    study = page[2]
    rows = [row for row in study.rows if row.name != "all"]
    lowest = replace(study.row("chi²"), error=0.0)
    changed = replace(study, rows=[lowest if row.name == "chi²" else replace(row, error=0.5) for row in study.rows])
    assert "0.0 % (chi²)" in findings(changed)[0]
    better = [row.name for row in rows if row.share > study.row("BSS").share]
    assert better
    assert all(f"{name} " in findings(study)[1].split("More is certified for")[1] for name in better)
    best = replace(study, rows=[replace(row, share=0.99 if row.name == "BSS" else 0.5) for row in study.rows])
    assert "No other selection has more" in findings(best)[1]
    assert percent(0.6799) == "67.9", "never rounded up"


def test_the_page_is_self_contained_and_complete(page):
    text = page[1].read_text(encoding="utf-8")
    assert text.count("<svg") == 5
    assert "Content-Security-Policy" in text
    assert not re.search(r'(src|href)="https?://', text)
    assert "60 of 1 500 words kept" in text
    assert 'class="ok">agrees' in text
    assert not list(page[1].parent.glob(".demo.html.*"))


def test_text_in_pages_is_escaped(page):
    bad = "<script>alert(1)</script>"
    study = page[2]
    words = replace(study.words, names=[bad, *study.words.names[1:]], kept=np.array([0]))
    study = replace(study, words=words, best=replace(study.best, shares={bad: (0.5, 0.6)}))
    text = html.render("demo.html", **page_values(study, bad) | {"findings": ["<i>"], "best_findings": ["<i>"]})
    assert "<i>" not in text
    assert "<script>alert" not in text
    assert text.count("&lt;script&gt;alert(1)") == 3, "in the list, a table and the command"


def test_the_page_has_every_word_to_sort_and_search(page):
    _, out, study = page
    data = json.loads(re.search(r'id="columns-data">(.*?)</script>', out.read_text(encoding="utf-8"))[1])
    topics = make_topics(30, 1500, random_state=0)
    assert data["names"] == topics.feature_names.tolist()
    assert data["kept"] == study.certificate.indices.tolist()
    assert data["marks"]["topic"] == np.flatnonzero(topics.relevant).tolist()
    assert sorted(data["marks"]["best"]) == sorted(study.best.certificate.indices.tolist())
    assert data["unit"] == "Words"


def test_a_failed_write_leaves_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(_files.os, "replace", fail)
    monkeypatch.setattr(html, "render", lambda *_, **__: "new")
    with pytest.raises(OSError, match="disk full"):
        html.write_html(path, "demo.html")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_help_is_worth_reading():
    result = CliRunner().invoke(_app.app, ["--help"])
    assert "Run `rarefy demo`" in result.output
    assert "Keep 300 of 20 000 words" in CliRunner().invoke(_app.app, ["demo", "--help"]).output
    assert CliRunner().invoke(_app.app, ["demo", "--features", "1"]).exit_code == 2


def test_topics_have_the_promised_words():
    topics = make_topics(60, 2000, lift=5, random_state=0)
    assert topics.relevant.sum() == 80
    assert len(set(topics.feature_names)) == 2000
    assert {"yacht", "soprano"} <= set(topics.feature_names[topics.relevant])
    counts = np.asarray(topics.data.sum(axis=0))
    assert counts.sum() > 60 * 30
    sailing = topics.target == "sailing"
    yacht = topics.data[:, np.flatnonzero(topics.feature_names == "yacht")].toarray().ravel()
    assert yacht[sailing].sum() > yacht[~sailing].sum()
