"""The command that writes folders of blocks."""

import json
import re

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rarefy import blocks
from rarefy.cli._app import app
from rarefy.selection import BSSSelector


def run(*arguments, code=0):
    result = CliRunner().invoke(app, ["convert", *(str(a) for a in arguments)])
    assert result.exit_code == code, result.output + result.stderr + repr(result.exception)
    return result


@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({f"x{j}": rng.standard_normal(300).round(4) for j in range(6)})
    frame = frame.with_columns(pl.Series("answer", rng.choice(["yes", "no"], 300)))
    frame.write_csv(tmp_path / "t.csv")
    frame.write_parquet(tmp_path / "t.parquet")
    return frame


def test_convert_writes_blocks_and_prints_the_python_that_does_the_same(table, tmp_path):
    out = tmp_path / "blocks"
    result = run(tmp_path / "t.csv", "--out", out, "--target", "answer", "--dtype", "float32")
    assert "300 rows and 6 columns in 1 blocks of float32, 7.33 kB; target 'answer'" in result.stdout
    code = result.stdout.partition("The same in Python")[2].replace(str(out), str(tmp_path / "again"))
    namespace = {}
    exec(code, namespace)
    data = blocks.open(out)
    assert namespace["data"].fingerprint == data.fingerprint
    selector = BSSSelector(4, rank=2).fit(data)
    assert selector.get_feature_names_out().tolist() == [data.columns[j] for j in np.flatnonzero(selector.support_)]
    assert f"Written: {out}" in result.stderr


def test_convert_as_json_with_all_options(table, tmp_path):
    options = ("--target", "answer", "--drop", "x0, x1", "--impute", "median", "--learn-from", 250, "--seed", 3)
    result = run(tmp_path / "t.parquet", tmp_path / "t.parquet", "--out", tmp_path / "b", *options, "--json")
    found = json.loads(result.stdout)
    assert (found["n_rows"], found["columns"], found["target"]) == (600, ["x2", "x3", "x4", "x5"], "answer")
    assert found["fingerprint"] == blocks.open(tmp_path / "b").fingerprint
    shown = run(tmp_path / "t.parquet", "--out", tmp_path / "c", *options).stdout
    assert re.search(r"from_parquet\('.*t.parquet', .*, target='answer', drop=\['x0', 'x1'\], impute='median', "
                     r"sample_rows=250, random_state=3\)", shown)  # fmt: skip


def test_convert_copies_arrays(tmp_path):
    A = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "a.npy", A)
    result = run(tmp_path / "a.npy", tmp_path / "a.npy", "--out", tmp_path / "b")
    np.testing.assert_array_equal(np.vstack(list(blocks.open(tmp_path / "b").blocks())), np.vstack([A, A]))
    assert "rarefy.blocks.from_arrays(" in result.stdout
    assert "--target cannot be" in run(tmp_path / "a.npy", "--out", tmp_path / "c", "--target", "x", code=2).stderr


def test_errors_of_convert_are_one_line(table, tmp_path):
    for arguments, message in (
        ((tmp_path / "none.csv", "--out", tmp_path / "b"), "does not exist"),
        ((tmp_path / "t.csv", "--out", tmp_path), "is not empty"),
        ((tmp_path / "t.csv", "--out", tmp_path / "b", "--target", "quest"), "has no column 'quest'"),
    ):
        result = run(*arguments, code=2)
        assert message in result.stderr
        assert "Traceback" not in result.stderr
        assert result.stderr.strip().splitlines()[-1].startswith("Error: ")
