"""Validate the docstrings of all public classes, methods and functions with numpydoc.

python tools/check_docstrings.py                    everything public
python tools/check_docstrings.py rarefy.datasets    only what is listed in __all__ of this package
"""

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = (
    "rarefy.certificates",
    "rarefy.config",
    "rarefy.datasets",
    "rarefy.exceptions",
    "rarefy.inspection",
    "rarefy.kernel",
    "rarefy.metrics",
    "rarefy.ranking",
    "rarefy.selection",
    "rarefy.tables",
)

IGNORED = {
    "GL01": "the summary is on the line of the opening quotes, as in numpy's convention for ruff",
    "GL02": "a docstring of one line is closed on that line",
    "ES01": "a summary of one line may be all that is needed",
    "SA01": "not everything has a relative to see",
    "RT02": "a single return value has a name, as in scikit-learn",
}
IGNORED_FOR = {
    "method": {"EX01": "the example of the class shows its methods"},
    "property": {
        "EX01": "the example of the class shows its properties",
        "RT01": "a property is described as the value that it is",
        "SS05": "a property is described by a noun",
    },
    "value": {"PR01": "results are described by their attributes, which `undocumented_fields` checks"},
    "exception": {
        "EX01": "an example of an error makes no sense",
        "PR01": "the arguments are those of Python's own exceptions",
    },
}


def public_objects(package: str) -> Iterator[tuple[str, str, Any]]:
    """Yield name, kind and object of everything that a package offers, methods of classes included."""
    for name in import_module(package).__all__:
        found = getattr(import_module(package), name)
        full = f"{package}.{name}"
        if not inspect.isclass(found):
            yield full, "function", found
        elif issubclass(found, Exception):
            yield full, "exception", found
        else:
            yield full, "value" if is_dataclass(found) else "class", found
            yield from ((f"{full}.{member}", kind, value) for member, kind, value in own_members(found))


def own_members(cls: type) -> Iterator[tuple[str, str, Any]]:
    """Yield public methods and properties whose code is in rarefy; those of scikit-learn have its docstrings."""
    for name in dir(cls):
        if name.startswith("_"):
            continue
        static = inspect.getattr_static(cls, name)
        member = static.fget if isinstance(static, property) else getattr(cls, name, None)
        if callable(member) and str(getattr(member, "__module__", "")).startswith("rarefy"):
            yield name, "property" if isinstance(static, property) else "method", member


def undocumented_fields(cls: type) -> list[str]:
    """Return the public fields of a dataclass that are neither among its parameters nor among its attributes."""
    sections = ClassDoc(cls, config={"show_class_members": False})
    known = {
        name.strip()
        for part in ("Parameters", "Attributes")
        for entry in sections[part]
        for name in entry.name.split(",")
    }
    return [one.name for one in fields(cls) if not one.name.startswith("_") and one.name not in known]


def problems(name: str, kind: str, value: Any) -> list[str]:
    """Return what is wrong with a docstring, without the codes that are ignored."""
    ignored = IGNORED | IGNORED_FOR.get(kind, {})
    found = [f"{code} {text}" for code, text in validate(name)["errors"] if code not in ignored]
    missing = undocumented_fields(value) if kind == "value" else []
    return found + ([f"fields without a description: {', '.join(missing)}"] if missing else [])


def check(packages: list[str]) -> dict[str, list[str]]:
    """Return the problems by file; an object that is offered in several places is checked once."""
    found, seen = defaultdict(list), set()
    for package in packages:
        for name, kind, value in public_objects(package):
            identity = (value.__module__, value.__qualname__)
            if identity in seen:
                continue
            seen.add(identity)
            try:
                wrong = problems(name, kind, value)
            except Exception as error:  # a docstring that numpydoc cannot parse is a problem like any other
                wrong = [f"cannot be parsed: {error}"]
            if wrong:
                source = Path(inspect.getsourcefile(inspect.unwrap(value)) or "").resolve()
                place = source.relative_to(ROOT) if source.is_relative_to(ROOT) else source
                found[str(place)] += [f"{value.__qualname__}: {text}" for text in wrong]
    return found


def main(arguments: list[str]) -> int:
    """Print the problems file by file; 1 if there are any."""
    found = check(arguments or list(PACKAGES))
    for place in sorted(found):
        print(place)
        for line in found[place]:
            print(f"  {line}")
    count = sum(map(len, found.values()))
    print(f"{count} problems in {len(found)} files." if count else "All public docstrings follow numpydoc.")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
