"""Licences, the bill of materials, and audits that did not happen."""

import importlib.util
import subprocess
from email.message import Message
from pathlib import Path
from types import SimpleNamespace

import pytest

_SPEC = importlib.util.spec_from_file_location(
    "supply_chain", Path(__file__).resolve().parents[2] / "tools" / "supply_chain.py"
)
supply_chain = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(supply_chain)


def distribution(**fields):
    found = Message()
    for name, value in fields.items():
        found[name.replace("_", "-")] = value
    return SimpleNamespace(metadata=found, files=None)


def test_all_that_people_install_has_a_licence_that_binds_nobody():
    found = supply_chain.dependencies()
    assert {"numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "polars", "skops", "jinja2"} <= set(found)
    assert "pytest" not in found
    assert supply_chain.refused(found) == []


@pytest.mark.parametrize("words", ["GPL-3.0-or-later", "AGPL-3.0", "GNU General Public License (GPL)", "", "Mine"])
def test_licences_that_are_refused(words):
    assert supply_chain.refused({"x": distribution(License_Expression=words)}) == ["x"]
    assert supply_chain.refused({"x": distribution(License_Expression="MIT")}) == []


def test_the_bill_names_every_dependency_with_its_version():
    found = supply_chain.dependencies()
    made = supply_chain.bill(found, "1.2.3")
    assert made["bomFormat"] == "CycloneDX"
    assert made["metadata"]["component"]["version"] == "1.2.3"
    assert {one["purl"] for one in made["components"]} == {
        f"pkg:pypi/{name}@{one.version}" for name, one in found.items()
    }


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ("/usr/bin/python: No module named pip_audit", 3, "Nothing was audited: pip-audit is not installed"),
        ("ServiceError: Max retries exceeded", 3, "Nothing was audited: the database cannot be reached"),
        ("Found 1 known vulnerability in 1 package", 1, "Found 1 known vulnerability"),
        (
            "Name 1.403 cannot be resolved\nFound 2 known vulnerabilities in 1 package",
            1,
            "Found 2 known vulnerabilities",
        ),
    ],
)
def test_an_audit_that_did_not_happen_says_so(monkeypatch, capsys, said, code, words):
    ended = SimpleNamespace(returncode=1, stdout="", stderr=said)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    assert supply_chain.audit() == code
    assert words in capsys.readouterr().out
