"""Examples run, the import contract is enforced, the command line is optional."""

import runpy
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").rglob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.name)
def test_examples_run_without_warnings(example, tmp_path, monkeypatch, capsys):
    # In this process: in one of their own most examples import for longer than they run.
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(example)])
    monkeypatch.setattr(plt, "show", lambda: None)  # there is no screen
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert plt.get_fignums(), "every example has a picture"
    plt.close("all")


def test_the_import_contract_fails_if_core_imports_scikit_learn(tmp_path):
    planted = tmp_path / "src"
    shutil.copytree(ROOT / "src", planted, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    command = [Path(sys.executable).parent / "lint-imports", "--no-cache"]
    environment = {"PYTHONPATH": str(planted), "PATH": "/usr/bin:/bin"}
    clean = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert clean.returncode == 0, clean.stdout + clean.stderr
    core = planted / "rarefy" / "core" / "linalg" / "rows.py"
    core.write_text("import sklearn\n" + core.read_text())
    broken = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert broken.returncode == 1, broken.stdout
    assert "rarefy.core.linalg.rows -> sklearn" in broken.stdout


def test_without_the_extra_the_command_names_what_to_install():
    code = "import sys; sys.modules['click'] = None; from rarefy.cli import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert 'pip install "rarefy[cli]"' in done.stderr


def test_importing_rarefy_loads_no_extra():
    code = "import rarefy.selection, sys; print({'matplotlib', 'click', 'jinja2', 'rarefy.pages'} & set(sys.modules))"
    command = [sys.executable, "-W", "error", "-c", code]  # nor does it warn
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
