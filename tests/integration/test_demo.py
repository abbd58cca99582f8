"""The demo as a user sees it, on smaller data."""

import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

from rarefy import _files
from rarefy.cli import _app, demo
from rarefy.datasets import make_topics
from rarefy.report import html
from rarefy.report.demo import run_study


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
    assert "V spans all 30 dimensions" in output
    assert "by another route: agrees" in output.replace("\n", " ")
    assert out.name in output.replace("\n", "")


def test_the_page_is_self_contained_and_complete(page):
    text = page[1].read_text(encoding="utf-8")
    assert text.count("<svg") == 3
    assert not re.search(r'(src|href)="https?://', text)
    assert "60 of 1 500 words kept" in text
    assert 'class="ok">agrees' in text
    assert not list(page[1].parent.glob(".demo.html.*"))


def test_text_in_pages_is_escaped(page):
    study = replace(page[2], words=[("<script>alert(1)</script>", 1.0, True), *page[2].words])
    text = html.render("demo.html", study=study, pictures=["<svg>"] * 3)
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


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
