"""Which tests reach which line of core, and how long they take: the tests that a change of the line concerns.

Unit tests and properties are run once with coverage, which notes the test that runs when a line is executed. The map is
kept in build/trials as long as neither the package nor the tests change.
"""

import ast
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "build" / "trials" / "reach.json"
TESTS = ("tests/unit", "tests/properties", "tests/contract")
WITHOUT = ("tests/properties/test_planted_faults.py", "tests/properties/test_trial_samples.py")
"""Tests of trials: they take long, and say nothing of their own about core."""
LONGEST = 25.0
"""Seconds of tests for one mutant, as long as they took with coverage: the quickest come first."""


class Seconds:
    """A plugin of pytest that notes how long tests take, and leaves out those that fail."""

    def __init__(self):
        self.of, self.failed = Counter(), set()

    def pytest_runtest_logreport(self, report):
        """Before, during and after a test."""
        self.of[report.nodeid] += report.duration
        self.failed |= {report.nodeid} if report.failed else set()


def key():
    """Of the package and the tests."""
    digest = hashlib.sha256()
    for folder in ("src/rarefy", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def reach():
    """(seconds by test, tests by file and line), from the store or by running the tests."""
    stored = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    if stored.get("key") != key():
        print("  running the tests once, to see which lines of core they reach", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            call = [sys.executable, "-W", "ignore", __file__, folder]
            subprocess.run(call, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            stored = {"key": key(), **_read(Path(folder))}
        STORED.parent.mkdir(parents=True, exist_ok=True)
        part = STORED.with_suffix(".part")
        part.write_text(json.dumps(stored), encoding="utf-8")
        os.replace(part, STORED)
    return stored["seconds"], stored["lines"]


def _read(folder):
    from coverage import CoverageData

    lines = defaultdict(lambda: defaultdict(set))
    for part in folder.glob(".coverage*"):
        data = CoverageData(basename=str(part))
        data.read()
        for file in data.measured_files():
            of_file = lines[Path(file).relative_to(ROOT).as_posix()]
            for line, tests in data.contexts_by_lineno(file).items():
                of_file[str(line)] |= {test.partition("|")[0] for test in tests if test}
    seconds = json.loads((folder / "seconds.json").read_text(encoding="utf-8"))
    numbers = {test: i for i, test in enumerate(seconds)}
    found = {
        file: {line: sorted(numbers[test] for test in tests if test in numbers) for line, tests in of_file.items()}
        for file, of_file in lines.items()
    }
    return {"seconds": seconds, "lines": found}


def tests_of_line(path, line):
    """(test, seconds) of those that reach the statement of a line, the quickest first; of the whole file outside of
    functions. Those whose file is named after the module count as quicker than they are."""
    seconds, lines = reach()
    names = list(seconds)
    known = lines.get(path, {})
    wanted = known if (statement := _statement(path, line)) is None else map(str, statement)
    tests = {names[i] for number in wanted for i in known.get(number, ())}
    stem, total, found = Path(path).stem, 0.0, []
    for test in sorted(tests, key=lambda test: (seconds[test] * (0.3 if stem in test else 1.0), test)):
        if not found or total + seconds[test] <= LONGEST:
            found.append((test, seconds[test]))
            total += seconds[test]
    return found


def _statement(path, line):
    """The lines of the innermost statement of a function that a line is in, without what is indented below it."""
    best = None
    tree = _tree(path)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        for node in (inner for one in function.body for inner in ast.walk(one) if isinstance(inner, ast.stmt)):
            body = getattr(node, "body", None)
            end = max(node.lineno, body[0].lineno - 1) if body else node.end_lineno
            if node.lineno <= line <= end and (best is None or node.lineno >= best[0]):
                best = (node.lineno, end)
    return None if best is None else range(best[0], best[1] + 1)


@cache
def _tree(path):
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


def in_function(path, line):
    """Whether a line is in the body of a function."""
    return _statement(path, line) is not None


if __name__ == "__main__":
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    import pytest

    (folder,) = sys.argv[1:]
    settings = Path(folder) / "settings"
    settings.write_text(f"[run]\nsource = rarefy.core\nparallel = True\ndata_file = {folder}/.coverage\n")
    timed = Seconds()
    options = ["-q", "-W", "ignore", "-p", "no:cacheprovider", "-n", "auto", "--dist", "worksteal"]
    options += [
        "--cov=rarefy.core",
        f"--cov-config={settings}",
        "--cov-context=test",
        "--cov-report=",
        "--cov-fail-under=0",
    ]
    code = pytest.main([*options, *TESTS, *(f"--ignore={test}" for test in WITHOUT)], plugins=[timed])
    found = {test: seconds for test, seconds in timed.of.items() if test not in timed.failed}
    (Path(folder) / "seconds.json").write_text(json.dumps(found))
    sys.exit(code if code != 1 else 0)
