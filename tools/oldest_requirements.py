"""Write oldest-requirements.txt: the lower bounds of pyproject.toml as exact versions. With --check, only compare."""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FILE = ROOT / "tools" / "oldest-requirements.txt"
HEADER = "# The oldest versions that pyproject.toml allows. tools/oldest_requirements.py writes this file.\n"
EXTRAS = ("cli", "dask", "papers", "dev")  # what the tests import
# Dependencies of dependencies whose newest version does not go with the oldest one of what needs them.
INDIRECT = {
    "pyparsing==3.1": "matplotlib 3.8 calls names that pyparsing 3.3 deprecates, and warnings are errors",
    "pyarrow==16.0": "the oldest one for data frames of dask; new ones refuse numpy 1.26",
}


def oldest_requirements(project):
    """Lines of the file, for the table `project` of pyproject.toml."""
    optional = (requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra])
    bound_of = re.compile(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)")
    bounds = (bound_of.match(requirement) for requirement in [*project["dependencies"], *optional])
    lines = [f"{bound[1]}=={bound[2]}\n" for bound in bounds if bound]
    lines += [f"{pin} # {reason}\n" for pin, reason in INDIRECT.items()]
    return [HEADER, *sorted(lines)]


def main(arguments):
    """Write or compare; a message for the shell if they differ."""
    text = "".join(oldest_requirements(tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]))
    if "--check" not in arguments:
        FILE.write_text(text, encoding="utf-8")
    elif FILE.read_text(encoding="utf-8") != text:
        return f"{FILE.name} is not what pyproject.toml says: run python tools/oldest_requirements.py"
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
