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
    assert f"rarefy report {model} {table} --out {page}</code>" in text
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


def test_one_of_several_classes_against_the_rest(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4
    X = rng.standard_normal((120, 3)) + 2.0 * (y == 2)[:, None]
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(3)}).with_columns(pl.Series("kind", y))
    path, model, scores, page = (tmp_path / name for name in ("t.csv", "m.skops", "s.csv", "p.html"))
    frame.write_csv(path)
    error = run("rank", path, "--target", "kind", code=2).stderr
    assert "has 4 different values (0, 1, 2, 3)" in error
    assert "with --rare-class" in error
    result = run("rank", path, "--target", "kind", "--rare-class", 2, "--save", model)
    assert "30 of 120 rows have kind = 2" in result.stdout
    code = result.stdout.partition("The same in Python")[2]
    found = {}
    exec(code, found)
    assert f"at the threshold {found['model'][-1].threshold_:.4g}:" in result.stdout
    run("score", model, path, "--out", scores)
    called = pl.read_csv(scores)["predicted kind"].to_list()
    assert set(called) == {"2", "not 2"}
    assert np.mean((np.array(called) == "2") == (y == 2)) > 0.9
    run("report", model, path, "--out", page)
    assert "30 of 120 rows have <bdi>kind</bdi> = <bdi>2</bdi>" in page.read_text(encoding="utf-8")


def test_a_first_column_that_names_the_rows_is_left_out(tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    frame = pl.DataFrame({"sample": [f"TCGA-{j:03d}" for j in range(40)], "a": rng.standard_normal(40) + y})
    frame = frame.with_columns(pl.Series("b", rng.standard_normal(40)), pl.Series("ill", y))
    path, certificate, page = (tmp_path / name for name in ("t.csv", "c.json", "p.html"))
    frame.write_csv(path)
    result = run("select", path, "--target", "ill", "--certificate", certificate, "--report", page)
    assert "Column 'sample' has another text in every row: it names the rows, and is left out." in result.stderr
    assert ".drop(['sample'])" in result.stdout
    assert "--drop sample</code>" in page.read_text(encoding="utf-8")
    run("verify", certificate, path)
    run("select", path, "--target", "ill", "--drop", "sample")
    texts = frame.with_columns(pl.Series("sample", [f"a tweet number {j} of mine" for j in range(40)]))
    texts.write_csv(path)
    assert "'sample' is free text with 40 distinct values" in run("select", path, "--target", "ill", code=2).stderr
    frame.select("a", "b", "sample", "ill").write_csv(path)
    assert "--drop 'sample'" in run("select", path, "--target", "ill", code=2).stderr, "only a first column"


def test_a_rare_class_is_not_left_to_the_classifier(tmp_path):
    rng = np.random.default_rng(0)
    y = (np.arange(100) % 20 == 0).astype(int)
    path = tmp_path / "t.csv"
    pl.DataFrame({"a": rng.standard_normal(100), "b": rng.standard_normal(100), "y": y}).write_csv(path)
    assert "rarefy rank puts its rows on top" in run("classify", path, "--target", "y").stdout
