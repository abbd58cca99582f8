"""Checks of the documentation can fail: pages that load something, dead links, tutorials that print otherwise."""

from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="the docs extra is not installed")
pytest.importorskip("click", reason="the cli extra is not installed")


@pytest.fixture(autouse=True)
def extensions(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs" / "_ext"))


@pytest.mark.parametrize(
    "text",
    [
        '<script src="https://cdn.example/x.js"></script>',
        '<link rel="stylesheet" href="//fonts.example/a.css">',
        '<img src="http://example.org/a.png">',
        '<img srcset="a.png, https://example.org/b.png 2x">',
        "<style>@import url('https://fonts.example/a.css')</style>",
        '<div style="background: url(https://example.org/a.png)"></div>',
        '<svg><image href="https://example.org/a.png"/></svg>',
    ],
)
def test_what_a_page_would_fetch_is_found(text):
    from built_pages import from_elsewhere

    assert len(from_elsewhere(text)) == 1


def test_links_that_a_reader_follows_and_local_files_are_allowed():
    from built_pages import from_elsewhere

    links = '<a href="https://scikit-learn.org">there</a><link rel="next" href="https://example.org">'
    assert from_elsewhere(links + '<img src="a.png"><script src="b.js"></script>') == []


def test_local_addresses_without_a_file_are_found(tmp_path):
    from built_pages import leads_nowhere

    page = tmp_path / "page.html"
    page.write_text(
        '<a href="page.html#top">me</a><a href="#top">me</a><svg><a href="gone.html">x</a></svg>'
        '<img src="gone%20too.png"><a href="https://example.org/x">there</a>'
    )
    assert sorted(leads_nowhere(page, tmp_path)) == ["gone%20too.png", "gone.html"]


PAGE = """
.. code-block:: python

   number = 3

>>> number + 1
4

.. code-block:: console

   $ rarefy select nothing.csv
   ...
   Error: nothing.csv...
"""


@pytest.mark.parametrize(
    ("right", "wrong", "line"), [("number = 3", "number = 4", 6), ("Error: nothing", "Error: something", 9)]
)
def test_a_tutorial_that_prints_something_else_is_reported(right, wrong, line, tmp_path, monkeypatch):
    from walkthrough import run_page

    monkeypatch.chdir(tmp_path)
    assert list(run_page(PAGE)) == []
    assert [found[0] for found in run_page(PAGE.replace(right, wrong))] == [line]


def test_commands_may_go_on_in_the_next_line():
    from walkthrough import commands

    assert list(commands("$ rarefy a \\\n    --b\nyes\n\n$ c")) == [("rarefy a --b", "yes\n"), ("c", "\n")]


def test_the_chart_has_text_links_and_no_markup_of_its_lines():
    from decision_chart import chart, rungs

    lines = ["Is x < y & <b>bold</b>?", "+ ours | page.html", "- theirs", "Another?", "+ more"]
    assert rungs(lines)[0][1] == [("+", "ours", "page.html"), ("-", "theirs", "")]
    drawn = chart(rungs(lines), "title")
    assert "&lt;b&gt;" in drawn
    assert "<b>" not in drawn
    assert drawn.count("<a href=") == 1
    assert drawn.count(">no</text>") == 1
