"""One process for many mutants: the tests are collected once, and each mutant is tried in a fork of the process.

In the fork the code of the function that the change is in is replaced, wherever it is, and the tests run one after the
other until one fails. Changes outside of functions (constants, defaults) need modules that are imported anew:
`mutants.mutant_trial` tries these in processes of their own.
"""

import json
import mmap
import os
import resource
import signal
import sys
import time
import types
from collections import Counter
from gc import get_objects
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from trials.mutants import mutated  # noqa: E402

SECONDS = 5.0
"""Of processor time that a test may take, beside `TIMES` the time that it takes with the unchanged source."""
TIMES = 4.0
ALL_TIMES = 2.0
"""The same of all tests of a mutant together."""


class Runs:
    """A plugin of pytest that runs the tests of each mutant instead of all."""

    def __init__(self, work, out):
        self.work, self.out = work, out
        self.stuck = set()
        """Tests that wait for ever in a fork, for a thread or a process that is not there."""

    @staticmethod
    def pytest_configure():
        """A failed test is enough: smaller examples are not looked for."""
        from hypothesis import Phase, settings  # pytest wants to be the first who imports it

        profile = settings.get_profile("rarefy")
        settings.register_profile("mutants", profile, phases=[Phase.explicit, Phase.reuse, Phase.generate])
        settings.load_profile("mutants")

    def pytest_runtestloop(self, session):
        """Instead of pytest's own."""
        items = {item.nodeid: item for item in session.items}
        for path, index, tests in self.work:
            how = ""
            while how in ("", "stuck"):
                known = [(items[test], seconds) for test, seconds in tests if test in items and test not in self.stuck]
                how, by = self._forked(path, index, known)
                self.stuck |= {by} if how == "stuck" else set()
            print(json.dumps([path, index, how, by, len(known)]), file=self.out, flush=True)
        return True

    @staticmethod
    def _forked(path, index, tests):
        """(how it ended, the test that ended it)."""
        reached = mmap.mmap(-1, 4)  # shared: 1 when the code is replaced, then more by one for each test
        if (child := os.fork()) == 0:
            code = 3
            try:
                replace_code(path, index)
                code = _run([item for item, _ in tests], [seconds for _, seconds in tests], reached)
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        number = int.from_bytes(reached[:], "little")
        if number == 0:
            return "not made", ""
        code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        how = {0: "survived", -signal.SIGXCPU: "out of time", -signal.SIGALRM: "stuck"}.get(code, "killed")
        return how, tests[number - 2][0].nodeid if how != "survived" and number > 1 else ""


class _Failed:
    """Ends the process when a test fails."""

    @staticmethod
    def pytest_runtest_logreport(report):
        """A test that is skipped or passes says nothing."""
        if report.failed:
            os._exit(1)


def _run(items, times, reached):
    """Exit code: 0 if all pass; who fails ends the process."""
    together = 2.0 * SECONDS + ALL_TIMES * sum(times)
    for i, (item, following, seconds) in enumerate(zip(items, [*items[1:], None], times, strict=True)):
        if i == 0:
            item.config.pluginmanager.register(_Failed())
        reached[:] = (i + 2).to_bytes(4, "little")
        allowed = min(together, time.process_time() + SECONDS + TIMES * seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (int(allowed) + 1, resource.RLIM_INFINITY))
        signal.alarm(int(20.0 * (SECONDS + seconds)))
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
    reached[:] = (1).to_bytes(4, "little")
    return 0


def _named(code, path=()):
    """Code objects of functions in a module's, by their names and places; of a name on a line there may be several."""
    seen = Counter()
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            key = (one.co_name, one.co_firstlineno)
            here = (*path, key, seen[key])
            seen[key] += 1
            yield here, one
            yield from _named(one, here)


def replace_code(path, index):
    """Give the functions of a module the code that they have in a mutant."""
    file = str(ROOT / path)
    source = Path(file).read_text(encoding="utf-8")
    old, new = (dict(_named(compile(tree, file, "exec"))) for tree in (source, mutated(source, index)))
    changed = {old[name]: new[name] for name in old if name in new and old[name] != new[name]}
    functions = [one for one in get_objects() if isinstance(one, types.FunctionType) and one.__code__ in changed]
    for one in functions:
        one.__code__ = changed[one.__code__]
    if not functions:
        raise LookupError(f"no function of {path} has changed")


if __name__ == "__main__":
    given, found = sys.argv[1:]
    work = json.loads(Path(given).read_text(encoding="utf-8"))
    files = sorted({test for _, _, tests in work for test, _ in tests})
    with open(found, "a", encoding="utf-8") as out:
        options = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", "-s"]
        sys.exit(pytest.main([*options, *files], plugins=[Runs(work, out)]))
