"""Licences, the bill of materials, and audits that did not happen."""

import importlib.util
import json
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


def audited(monkeypatch, capsys, said="", found=None, code=0):
    """Exit code and words of an audit in which pip-audit says this."""
    printed = "" if found is None else json.dumps({"dependencies": found, "fixes": []})
    ended = SimpleNamespace(returncode=code, stdout=printed, stderr=said)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: ended)
    return supply_chain.audit(), capsys.readouterr().out


@pytest.mark.parametrize(
    ("said", "code", "words"),
    [
        ("/usr/bin/python: No module named pip_audit", 3, "Nothing was audited: pip-audit is not installed"),
        ("ServiceError: Max retries exceeded", 3, "Nothing was audited: the database cannot be reached"),
        ("Something else went wrong", 1, "Something else went wrong"),
    ],
)
def test_an_audit_that_did_not_happen_says_so(monkeypatch, capsys, said, code, words):
    found, printed = audited(monkeypatch, capsys, said, code=1)
    assert found == code
    assert words in printed


def test_an_audit_in_which_the_database_knew_nothing_is_none(monkeypatch, capsys):
    good = [{"name": name, "version": "1", "vulns": []} for name in supply_chain.dependencies()]
    assert audited(monkeypatch, capsys, found=good) == (0, "")
    other = {"name": "of-development", "skip_reason": "Dependency not found"}
    assert audited(monkeypatch, capsys, found=[*good, other]) == (0, "")
    unknown = [{"name": one["name"], "skip_reason": "Dependency not found"} for one in good]
    code, printed = audited(monkeypatch, capsys, found=unknown)
    assert code == 3
    assert "Not audited" in printed
    assert "numpy" in printed


def test_vulnerabilities_are_named_and_count_more_than_what_was_not_audited(monkeypatch, capsys):
    bad = {"name": "numpy", "version": "1.403", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]}
    skipped = {"name": "scipy", "skip_reason": "Dependency not found"}
    code, printed = audited(monkeypatch, capsys, "cannot resolve; Found 1 known vulnerability", [bad, skipped], 1)
    assert code == 1
    assert "numpy 1.403: X-1, mended in 2" in printed
