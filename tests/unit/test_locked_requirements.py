"""The lock file of the development environment satisfies pyproject.toml, and the check of it can fail."""

import importlib.util
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
_SPEC = importlib.util.spec_from_file_location("locked_requirements", ROOT / "tools" / "locked_requirements.py")
lock = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(lock)

HASH = "    --hash=sha256:" + 64 * "0"
TEXT = (
    f"# Words.\na-b==1.5 \\\n{HASH} \\\n{HASH}\nc==2.0 ; python_full_version < '3.12' \\\n{HASH}\nc==3.0 \\\n{HASH}\n"
)


def project(*needed, docs=()):
    return {
        "name": "rarefy",
        "dependencies": ["A_b>=1.0"],
        "optional-dependencies": {"dev": ["rarefy[cli]", *needed], "docs": docs, "cli": ["c>=2"], "bench": ["d>=9"]},
    }


def test_every_requirement_is_looked_for_also_those_of_extras_that_are_named_and_of_the_build():
    assert sorted(map(str, lock.required(project("x>1"), ["y"]))) == ["A_b>=1.0", "c>=2", "x>1", "y"]
    assert lock.faults(project(), TEXT) == []
    assert lock.locked(TEXT) == ({"a-b": ["1.5"], "c": ["2.0", "3.0"]}, [])


@pytest.mark.parametrize(
    ("table", "text", "fault"),
    [
        (project("x>1"), TEXT, "x>1 is not locked"),
        (project(docs=["c>=2.5"]), TEXT, "c>=2.5 is locked at 2.0"),
        (project("a-b<1.5"), TEXT, "a-b<1.5 is locked at 1.5"),
        (project(), TEXT + "e==1.0\n", "e==1.0 has no hash"),
        (project(), TEXT + "e>=1.0\n", "'e>=1.0' is neither a version nor a hash"),
        (project(), TEXT.replace("sha256", "md5", 1), "is neither a version nor a hash"),
        (project(), "# https://somewhere\n" + TEXT, "an address is named"),
        (project(), "--index-url x\n" + TEXT, "an address is named"),
    ],
)
def test_what_is_wrong_with_a_lock_file(table, text, fault):
    assert any(fault in one for one in lock.faults(table, text))


def test_the_lock_file_goes_with_the_project():
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert lock.main(["--check"]) == 0
    versions, _ = lock.locked(lock.FILE.read_text(encoding="utf-8"))
    assert {"numpy", "scikit-learn", "pytest", "ruff", "sphinx", "dask", "hatchling", "editables"} <= set(versions)
    bench = {**table["project"], "optional-dependencies": {"dev": ["skscope>=0.1.8"], "docs": []}}
    assert lock.faults(bench, lock.FILE.read_text(encoding="utf-8")) == ["skscope>=0.1.8 is not locked"]
