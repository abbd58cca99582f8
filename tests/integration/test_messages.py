"""What commands say when something is wrong: one line, exit code 2, and words of the command line."""

import os
import subprocess
import sys

import click
import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rarefy.cli._app import COMMANDS, app
from rarefy.cli._words import in_words_of_commands

PARAMETERS = ("n_features_to_select", "rank.", "past_rank", "random_state", "Selector", "RankRC", "LPSVC", "X has")


def said(*arguments, code=2):
    """What is written to standard error besides remarks about progress."""
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return [line for line in result.stderr.splitlines() if not line.endswith("…")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["selct"], "Error: there is no command 'selct'; did you mean select? See"),
        (["qqqq"], "Error: there is no command 'qqqq'; see rarefy --help."),
        (["--nope"], "Error: No such option"),
        (["select"], "Error: Missing argument 'FILE'"),
        (["select", "x.csv", "--keep", "many"], "Error: Invalid value for '--keep': must be a number of columns"),
        (["select", "x.csv", "--method", "many"], "Error: Invalid value for '--method'"),
        (["certify", "x.csv"], "Error: Missing option '--columns'"),
        (["reproduce", "nope"], "Error: Invalid value: there is no table nope"),
        (["reproduce", "--quick", "--full"], "Error: --quick and --full exclude each other"),
        (
            ["demo", "--out", "/no such folder/x.html"],
            "Error: Invalid value for --out: /no such folder is not a folder",
        ),
    ],
)
def test_wrong_usage_is_one_line(arguments, message):
    lines = said(*arguments)
    assert len(lines) == 1
    assert lines[0].startswith(message)
    assert "--help" in lines[0]


def test_errors_of_several_lines_become_one(monkeypatch):
    def fail(*_, **__):
        raise click.UsageError("first\n\tsecond")

    monkeypatch.setattr(app, "invoke", fail)
    assert said("select", "x") == ["Error: first second"]

    def abort(*_, **__):
        raise click.Abort

    monkeypatch.setattr(app, "invoke", abort)
    assert said("select", "x", code=130) == ["Stopped. Nothing was written that is not complete."]


def test_without_arguments_the_help_is_shown():
    assert "rarefy select genes.csv" in "\n".join(said())


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_every_command(name):
    result = CliRunner().invoke(app, [name, "--help"])
    assert result.exit_code == 0
    assert "\\b" not in result.output
    assert COMMANDS[name].rstrip(".").split()[0] in result.output
    assert name in ("demo", "reproduce") or "\n    rarefy " in result.output, "an example, on lines of its own"


def test_the_list_of_commands_imports_no_numerics():
    code = (
        "import sys; from rarefy.cli._app import app; app.main(['--help'], standalone_mode=False); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'sklearn', 'polars', 'matplotlib')))"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False).returncode == 0


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Ten columns, of which five are sums of others, and a target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 5))
    X = np.column_stack([X, X @ rng.standard_normal((5, 5))])
    path = tmp_path_factory.mktemp("table") / "table.csv"
    pl.DataFrame({f"c{j}": X[:, j] for j in range(10)} | {"y": X[:, 0] + X[:, 7]}).write_csv(path)
    return path


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "y", "--keep", 40], "the table has only 10 columns. Give --keep a number up to 10."),
        (["--drop", "y", "--keep", 3], "3 columns cannot preserve all 5 dimensions of the data"),
        (["--drop", "y", "--keep", 8, "--method", "rrqr"], "Give --keep a number up to 5."),
    ],
)
def test_notes_speak_of_options(table, arguments, message):
    lines = said("select", table, *arguments, code=0)
    assert any(message in line for line in lines), lines
    assert not [word for word in PARAMETERS for line in lines if word in line]


def test_errors_speak_of_options_and_names_stay_as_they_are(tmp_path):
    path = tmp_path / "X has only 3 columns.csv"
    path.write_text("a,n_features_to_select,y\n1,2,x\n2,2,x\n3,1,x\n")
    *_, line = said("select", path, "--target", "y")
    assert "'y' is constant" in line
    assert not [word for word in PARAMETERS if word in line.replace(str(path), "")]
    *_, line = said("select", path, "--target", "rank.")
    assert str(path) in line
    assert "'n_features_to_select'" in line
    assert in_words_of_commands("BSSSelector got data in which every entry is zero; check how X was read.") == (
        "The selection got data in which every entry is zero; check how the table was written."
    )


def test_commands_are_completed_without_importing_them(tmp_path):
    code = "from rarefy.cli import main; main()"
    wanted = {"COMP_WORDS": "rarefy se", "COMP_CWORD": "1", "_RAREFY_COMPLETE": "bash_complete"}
    found = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", code],
        env=os.environ | wanted,
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.split() == ["plain,select"]
    assert "sklearn" not in found.stderr
    script = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"_RAREFY_COMPLETE": "zsh_source"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "compdef" in script.stdout
