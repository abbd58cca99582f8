"""The package's public names: they exist, are documented, and are loaded only when they are used."""

import json
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from inspect import ismodule
from pathlib import Path

import pytest

import rarefy

API = Path(__file__).parents[2] / "docs" / "api.rst"
PUBLIC = (
    "blocks",
    "certificates",
    "config",
    "datasets",
    "exceptions",
    "inspection",
    "kernel",
    "metrics",
    "ranking",
    "selection",
    "tables",
)
INTERNAL = ("backends", "cli", "core", "pages", "papers", "workflows")


def in_fresh_process(code):
    """What the code prints as JSON: other tests have long imported everything."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def documented(text):
    """Full names that a page lists: entries of autosummary, and the public names of modules shown by automodule."""
    names, module, in_list = [], "", False
    for line in text.splitlines():
        if found := re.match(r"\.\. (?:currentmodule|module):: (\S+)", line):
            module = found[1]
        elif found := re.match(r"\.\. automodule:: (\S+)", line):
            names += [f"{found[1]}.{name}" for name in import_module(found[1]).__all__]
        if re.match(r"\S", line):
            in_list = line.startswith(".. autosummary::")
        elif in_list and (found := re.match(r" +([A-Za-z_][\w.]*)$", line)):
            names.append(f"{module}.{found[1]}")
    return names


def resolve(name):
    package, _, attribute = name.rpartition(".")
    return getattr(import_module(package), attribute)


def test_every_part_of_the_package_is_public_or_internal():
    found = {module.name for module in pkgutil.iter_modules(rarefy.__path__) if not module.name.startswith("_")}
    assert found == {*PUBLIC, *INTERNAL}


@pytest.mark.parametrize("package", ["rarefy", *(f"rarefy.{name}" for name in PUBLIC)])
def test_every_public_name_exists_and_is_documented(package):
    page = {id(resolve(name)) for name in documented(API.read_text(encoding="utf-8"))}
    module = import_module(package)
    assert sorted(module.__all__, key=str) == sorted(set(module.__all__))
    for name in module.__all__:
        value = getattr(module, name)
        assert ismodule(value) or id(value) in page, f"docs/api.rst does not list {package}.{name}"


def test_the_api_page_lists_only_public_names_and_each_once():
    names = documented(API.read_text(encoding="utf-8"))
    assert len(names) == len(set(names))
    for name in names:
        package, _, attribute = name.rpartition(".")
        assert attribute in import_module(package).__all__, f"{name} is in docs/api.rst and not in __all__"


def test_the_reader_of_the_api_page_sees_entries_and_nothing_else():
    text = (
        "Title\n=====\n\n.. currentmodule:: rarefy.metrics\n\nText about it.\n\n.. autosummary::\n   :nosignatures:\n\n"
        "   mauc_score\n   other\n\nMore text\n   indented\n\n.. automodule:: rarefy.config\n   :members:\n"
    )
    names = [f"rarefy.config.{name}" for name in ("config_context", "get_config", "set_config")]
    assert documented(text) == ["rarefy.metrics.mauc_score", "rarefy.metrics.other", *names]


def test_dir_lists_the_public_names():
    assert {*rarefy.__all__, "__version__"} <= set(dir(rarefy))
    assert set(PUBLIC) <= set(rarefy.__all__)


def test_importing_rarefy_does_not_import_scikit_learn():
    code = "import json, sys, rarefy; print(json.dumps(sorted(sys.modules)))"
    loaded = in_fresh_process(code)
    assert not {"sklearn", "scipy", "numpy"} & set(loaded)
    assert [name for name in loaded if re.fullmatch(rf"rarefy\.({'|'.join(PUBLIC)})", name)] == [
        "rarefy.config",
        "rarefy.exceptions",
    ]


def test_every_public_name_is_reachable_after_importing_rarefy():
    # Asked of __getattr__, because loading one sub-package binds those that it imports.
    code = (
        "import json, rarefy; lazy = [name for name in rarefy.__all__ if name not in vars(rarefy)]; "
        "print(json.dumps([lazy, [rarefy.__getattr__(name).__name__ for name in lazy]]))"
    )
    lazy, found = in_fresh_process(code)
    assert [name.rpartition(".")[2] for name in found] == lazy
    assert {"certificates", "datasets", "inspection", "kernel", "metrics", "ranking", "selection", "certify"} <= set(
        lazy
    )


def test_an_unknown_name_raises_the_standard_error():
    with pytest.raises(AttributeError, match="module 'rarefy' has no attribute 'poems'"):
        rarefy.poems  # noqa: B018
