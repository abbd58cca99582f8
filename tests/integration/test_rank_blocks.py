"""The command that ranks a rare class, on folders of blocks."""

import json

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rarefy import blocks
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.cli._app import app


def run(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output + result.stderr + repr(result.exception)
    return result


@pytest.fixture
def folder(tmp_path):
    """A folder as `rarefy convert` writes it."""
    rng = np.random.default_rng(0)
    rare = rng.random(400) < 0.15
    X = rng.standard_normal((400, 4)) + 2.0 * rare[:, None]
    frame = pl.DataFrame({f"x{j}": X[:, j] for j in range(4)} | {"fraud": np.where(rare, "yes", "no")})
    frame.write_csv(tmp_path / "t.csv")
    run("convert", tmp_path / "t.csv", "--out", tmp_path / "data", "--target", "fraud")
    return tmp_path / "data"


def test_a_folder_of_blocks_is_ranked_and_the_python_does_the_same(folder, tmp_path):
    result = run("rank", folder, "--scores", tmp_path / "s.npy", "--resume", tmp_path / "passes")
    assert "rows have fraud = yes" in result.stdout
    assert "area under the ROC curve, held out: 0.9" in result.stdout
    scores = np.load(tmp_path / "s.npy")
    code = result.stdout.partition("The same in Python")[2].replace("rarefy.set_config(", "dict(")
    namespace = {}
    exec(code, namespace)
    np.testing.assert_allclose(namespace["model"].score_samples(blocks.open(folder)), scores, atol=1e-8)
    assert not (tmp_path / "passes").exists()
    found = json.loads(run("rank", folder, "--json").stdout)
    assert found["held_out"]["area under the ROC curve"] > 0.9
    assert found["n_rows"] == 400


def test_a_command_that_was_interrupted_goes_on(folder, tmp_path, monkeypatch):
    command = ("rank", folder, "--scores", tmp_path / "s.npy", "--resume", tmp_path / "passes")
    run(*command)
    expected = np.load(tmp_path / "s.npy")
    (tmp_path / "s.npy").unlink()
    stored, calls = StreamedRows.stored, []

    def interrupted(self, index):
        calls.append(1)
        if len(calls) > 5:
            raise KeyboardInterrupt
        return stored(self, index)

    with monkeypatch.context() as patch:
        patch.setattr(StreamedRows, "stored", interrupted)
        run(*command, code=130)
    assert list((tmp_path / "passes").glob("*.npz"))
    assert not (tmp_path / "s.npy").exists()
    run(*command)
    np.testing.assert_array_equal(np.load(tmp_path / "s.npy"), expected)
    assert not (tmp_path / "passes").exists()


def test_options_that_do_not_go_together_are_one_line(folder, tmp_path):
    for options, words in (
        (("--target", "x1"), "was written with the target 'fraud', not 'x1'"),
        (("--target", "fraud", "--sample", 9), "--sample cannot be used with a folder of blocks"),
        (("--impute", "median"), "rarefy convert --impute"),
        (("--scores", tmp_path / "s.csv"), "--scores writes .npy"),
    ):
        assert words in run("rank", folder, *options, code=2).stderr
    table = run("rank", tmp_path / "t.csv", "--target", "fraud", "--resume", tmp_path / "p", code=2)
    assert "--resume is for folders of blocks" in table.stderr
    table = run("rank", tmp_path / "t.csv", "--target", "fraud", "--scores", tmp_path / "s.npy", code=2)
    assert "--scores is for folders of blocks" in table.stderr
    blocks.from_arrays(tmp_path / "bare", np.eye(5))
    assert "has no target; write it again with rarefy convert --target" in run("rank", tmp_path / "bare", code=2).stderr
    (folder / "000000.npy").write_bytes(b"")
    assert "it was cut or replaced" in run("rank", folder, code=2).stderr
