"""Pages about saved models."""

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rarefy.cli._app import app


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4 == 0
    X = rng.standard_normal((120, 5)) + 2.0 * y[:, None]
    path = tmp_path_factory.mktemp("table") / "table.csv"
    frame = pl.DataFrame({f"size <{j}>": X[:, j] for j in range(5)}).with_columns(pl.Series("ill", y.astype(int)))
    frame.write_csv(path)
    return path


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + repr(result.exception)
    return result


@pytest.mark.parametrize("command", ["select", "rank"])
def test_saved_models_have_pages(table, tmp_path, command):
    model, page = tmp_path / "m.skops", tmp_path / "page.html"
    more = ("--keep", 2) if command == "select" else ()
    run(command, table, "--target", "ill", "--save", model, *more)
    run("report", model, table, "--out", page)
    text = page.read_text(encoding="utf-8")
    assert ("size &lt;0&gt;" in text or "size \\u003c0" in text) == (command == "select")
    assert "ROC" in text or command == "select"
    direct = tmp_path / "direct.html"
    run(command, table, "--target", "ill", "--report", direct, *more)
    assert direct.stat().st_size > 10_000


def test_models_without_a_page_are_named(table, tmp_path):
    model = tmp_path / "m.skops"
    run("classify", table, "--target", "ill", "--save", model)
    assert "there are pages about select and rank" in run("report", model, table, code=2).stderr
    run("select", table, "--drop", "ill", "--keep", 3, "--save", model)
    assert "rarefy select --report" in run("report", model, table, code=2).stderr
    assert not (tmp_path / "report.html").exists()
