"""Write locked-requirements.txt: one version, with hashes, of all that `.[dev,docs]` needs. With --check, only look.

Written by uv (`pip install uv`), for every system and Python at once; --upgrade takes the newest versions, otherwise
those that are in the file stay where they can. `make install LOCKED=1` installs it. The look needs no network: every
requirement of pyproject.toml has a version here that satisfies it, each version has a hash, and no address is named.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tools" / "locked-requirements.txt"
HEADER = "# One version of each package for development. tools/locked_requirements.py writes this file.\n"
EXTRAS = ("dev", "docs")
BUILD = ("editables>=0.5",)
"""Beside the build system, what hatchling needs to install a checkout that can be edited."""
_PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)(?: ; ([^\\]+?))?(?: \\)?$")
_HASH = re.compile(r"^    --hash=sha256:[0-9a-f]{64}(?: \\)?$")


def required(project, build=()):
    """Requirements of the extras, those of extras that they name included, and of the build."""
    optional = project["optional-dependencies"]
    found, left, seen = [Requirement(one) for one in (*project["dependencies"], *build)], list(EXTRAS), set()
    while left:
        extra = left.pop()
        if extra in seen:
            continue
        seen.add(extra)
        for one in map(Requirement, optional[extra]):
            if one.name == project["name"]:
                left += one.extras
            else:
                found.append(one)
    return found


def locked(text):
    """(versions by name, faults) of the file: a name has several versions where systems or Pythons differ."""
    versions, hashes, faults = {}, {}, []
    pin = None
    for line in text.splitlines():
        if found := _PIN.match(line):
            pin = f"{found[1]}=={found[2]}"
            versions.setdefault(canonicalize_name(found[1]), []).append(found[2])
            hashes[pin] = 0
        elif _HASH.match(line) and pin:
            hashes[pin] += 1
        elif line and not line.startswith("#"):
            faults.append(f"{line!r} is neither a version nor a hash")
    return versions, faults + [f"{pin} has no hash" for pin, number in hashes.items() if not number]


def faults(project, text, build=()):
    """What is wrong with the file."""
    versions, found = locked(text)
    found += ["an address is named"] * ("://" in text or "index-url" in text)
    for one in required(project, build):
        there = versions.get(canonicalize_name(one.name), [])
        if not there:
            found.append(f"{one} is not locked")
        found += [f"{one} is locked at {version}" for version in there if not one.specifier.contains(version, True)]
    return found


def write(build, upgrade):
    """Ask uv, which takes the versions that the file has unless it is told to upgrade."""
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    call = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--generate-hashes"]
    call += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", *extras]
    call += ["--upgrade"] * upgrade + ["--output-file", str(FILE), "pyproject.toml", "-"]
    subprocess.run(call, cwd=ROOT, input="\n".join(build), text=True, check=True, stdout=subprocess.DEVNULL)
    FILE.write_text(HEADER + FILE.read_text(encoding="utf-8").replace(HEADER, ""), encoding="utf-8")


def main(arguments):
    """Write or look; a message for the shell if the file does not go with pyproject.toml."""
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    build = (*table["build-system"]["requires"], *BUILD)
    if "--check" not in arguments:
        write(build, "--upgrade" in arguments)
    wrong = faults(table["project"], FILE.read_text(encoding="utf-8"), build)
    if wrong:
        return "\n".join([f"{FILE.name}: {one}" for one in wrong] + ["run python tools/locked_requirements.py"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
