"""Changes to the source of core, one at a time: the unit tests concerned have to notice.

A mutant has one comparison, operator, number, condition or choice of minimum and maximum changed. It exists in memory
only: the module is compiled from the changed tree when it is imported. A mutant is killed if a test fails or the tests
take much longer than they should. Survivors are listed, with the reason where it is known. What only guards against
faults of the program itself is not changed: `strict` of zip, options of dataclass, messages of errors.
"""

import ast
import importlib.abc
import importlib.util
import os
import random
import re
import signal
import subprocess
import sys
from collections import Counter
from functools import cache, partial
from itertools import chain
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("certificates", "losses", "sparsify", "solvers")
SECONDS = 400
"""Of processor time for the tests of one mutant: the tests of the unchanged module take less than a third."""
REASONS = {
    ("certificates/pencil.py", "1e+60 to 2e+60", "size = "): "scaling by a power of two changes nothing but rounding",
    ("sparsify/adaptive.py", "max to min", "Q = Q"): "how large rounding may be: no data are known where it matters",
    ("sparsify/bss.py", "Pow to Mult in e ** 3", "decomposition, resolvents, scores ="): "estimates a time: speed only",
    (
        "sparsify/reweight.py",
        "2 to 3",
        "best, done, step = tried, count, 2 * step",
    ): "a search in longer steps: speed only",
    ("sparsify/candidates.py", "GtE to Gt in best.slack >= 0.0", "better ="): "differs for a slack of exactly zero",
    ("solvers/interior_point.py", "0 to 1", "if longer[0]"): "whether one more corrector is worth it: speed only",
    ("solvers/interior_point.py", "min to max", "if longer[0]"): "whether one more corrector is worth it: speed only",
    ("solvers/rank_one_sdp.py", "0.5 to 1.0", "_SHORTER ="): "one of the shares of a step that are tried: speed only",
    ("solvers/box_lp.py", "Gt to GtE in slopes > 0.0", "reach ="): "differs where a slope is 0 and its bound infinite",
    ("solvers/trust_region.py", "Gt to GtE in ratio > 0.0001", "if ratio"): "differs for a ratio of exactly 0.0001",
}
"""Why mutants survive that did, by file, change and how the line begins; they count as survivors all the same."""

_SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
_NAMES = {
    "minimum": "maximum",
    "maximum": "minimum",
    "min": "max",
    "max": "min",
    "argmin": "argmax",
    "argmax": "argmin",
}


def modules():
    """The files that are changed."""
    return [path for name in PACKAGES for path in sorted((ROOT / "src/rarefy/core" / name).glob("[!_]*.py"))]


def changes(tree):
    """(line, what, function that makes it) of every change of a tree."""
    found = []
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if part is not None
        for inner in ast.walk(part)
    }
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    guards += [keyword for call in calls if call.func.id in ("zip", "dataclass") for keyword in call.keywords]
    skipped |= {id(inner) for guard in guards for inner in ast.walk(guard)}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Compare):
            found += [_swap(node, "ops", i) for i, op in enumerate(node.ops) if type(op) in _SWAPS]
        elif isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in _SWAPS:
            found.append(_swap(node, "op", None))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not):
            found.append(_unary(node))
        elif isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
            found.append(_constant(node))
        elif isinstance(node, ast.Attribute) and node.attr in _NAMES:
            found.append(
                (node.lineno, f"{node.attr} to {_NAMES[node.attr]}", partial(setattr, node, "attr", _NAMES[node.attr]))
            )
        elif isinstance(node, ast.Name) and node.id in _NAMES and isinstance(node.ctx, ast.Load):
            found.append(
                (node.lineno, f"{node.id} to {_NAMES[node.id]}", partial(setattr, node, "id", _NAMES[node.id]))
            )
        elif isinstance(node, ast.If | ast.While | ast.IfExp):
            change = partial(setattr, node, "test", ast.UnaryOp(ast.Not(), node.test))
            found.append((node.lineno, f"not ({ast.unparse(node.test)})", change))
    return found


def _swap(node, name, i):
    old = getattr(node, name) if i is None else getattr(node, name)[i]
    new = _SWAPS[type(old)]()
    what = f"{type(old).__name__} to {type(new).__name__} in {ast.unparse(node)[:80]}"
    return node.lineno, what, partial(setattr, node, name, new) if i is None else partial(node.ops.__setitem__, i, new)


def _unary(node):
    def change():
        node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        if isinstance(node.op, ast.Not):
            node.operand = ast.UnaryOp(ast.Not(), node.operand)

    return node.lineno, f"without {type(node.op).__name__} in {ast.unparse(node)[:80]}", change


def _constant(node):
    value = node.value
    new = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else 2.0 * value or 1.0
    return node.lineno, f"{value!r} to {new!r}", partial(setattr, node, "value", new)


def mutated(source, index):
    """The tree of a source with its change of a number."""
    tree = ast.parse(source)
    changes(tree)[index][2]()
    return ast.fix_missing_locations(tree)


@cache
def all_mutants():
    """(file, index, line, what) of every change."""
    found = []
    for path in modules():
        for i, (line, what, _) in enumerate(changes(ast.parse(path.read_text(encoding="utf-8")))):
            found.append((path.relative_to(ROOT).as_posix(), i, line, what))
    return found


def tests_of(path):
    """Test files that import a module, then those of who imports it in core, then those that import its package.

    Unit tests come first, which take less time. What plain twins and problems of tests import counts as imported by the
    tests.
    """
    module, package = Path(path).stem, Path(path).parent.name
    own = rf"core\.{package}\.{module}\b"
    users, left = set(), [own]
    while left:
        pattern = left.pop()
        for one in set((ROOT / "src/rarefy/core").rglob("[!_]*.py")) - users:
            if re.search(pattern, one.read_text("utf-8")):
                users.add(one)
                if one.parent.name == package:  # and who uses that one
                    left.append(rf"core\.{package}\.{one.stem}\b")
    of_users = "|".join(rf"core\.{one.parent.name}\.{one.stem}\b" for one in users) or "(?!)"
    found = [[], [], []]
    for test, text in _tests().items():
        for tests, pattern in zip(found, (own, of_users, rf"core\.{package}\b"), strict=True):
            if re.search(pattern, text):
                tests.append(test)
                break
    return list(chain.from_iterable(found))


@cache
def _tests():
    """Text of each test file, with that of the helpers that it imports."""
    helpers = {
        one.stem: one.read_text("utf-8")
        for pattern in ("oracles/*.py", "*problems.py")
        for one in (ROOT / "tests").glob(pattern)
    }
    found = {}
    for test in sorted((ROOT / "tests").glob("[up]*/test_*.py"), reverse=True):
        text = test.read_text("utf-8")
        used = [name for name in helpers if re.search(rf"^(from|import) .*\b{name}\b", text, re.M)]
        if "trials.mutants" not in text:  # of this file
            found[str(test.relative_to(ROOT))] = text + "".join(helpers[name] for name in used)
    return found


def mutant_pieces(n, seed):
    """n mutants, drawn from all of them."""
    drawn = random.Random(seed).sample(all_mutants(), min(n, len(all_mutants())))
    for path, i, line, what in drawn:
        yield Path(path).parent.name, partial(mutant_trial, path, i, line, what)


def mutant_trial(path, index, line, what, tests=None):
    """(counts, survivors) of one mutant."""
    name = f"{path}:{line}: {what}"
    call = [sys.executable, "-W", "ignore", __file__, path, str(index), *(tests or tests_of(path))]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        ended = subprocess.run(
            call, cwd=ROOT, capture_output=True, env=environment, timeout=20.0 * SECONDS, check=False, preexec_fn=_limit
        )
        how = {0: "survived", -signal.SIGXCPU: "out of time"}.get(ended.returncode, "killed")
        if ended.returncode in (3, 4, 5):  # pytest itself went wrong, or there was no test
            return Counter({"mutants": 1, "survived": 1}), [f"{name}: {ended.stdout[-200:]!r}"]
    except subprocess.TimeoutExpired:
        how = "out of time"
    if how != "survived":
        return Counter({"mutants": 1, "killed": 1, "out of time": int(how == "out of time")}), []
    reason = reason_of(path, line, what)
    return Counter({"mutants": 1, "survived": 1, "explained": int(bool(reason))}), [
        name + (f" ({reason})" if reason else "")
    ]


def reason_of(path, line, what):
    """Why a mutant survives, if that is known."""
    for (file, change, start), reason in REASONS.items():
        if path.endswith(file) and what.startswith(change):
            text = (ROOT / path).read_text(encoding="utf-8").splitlines()[line - 1]
            if text.strip().startswith(start):
                return reason
    return None


def _limit():
    import resource  # of Unix only

    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))


class _Mutant(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds one module before others do, and loads the changed tree."""

    def __init__(self, path, index):
        self._path, self._index = ROOT / path, index
        self._name = "rarefy." + ".".join(Path(path).with_suffix("").parts[2:])

    def find_spec(self, name, path, target=None):
        """The spec of the module."""
        return importlib.util.spec_from_loader(name, self, origin=str(self._path)) if name == self._name else None

    def create_module(self, spec):
        """As usual."""
        return None

    def exec_module(self, module):
        """Run the changed tree."""
        module.__file__ = str(self._path)
        tree = mutated(self._path.read_text(encoding="utf-8"), self._index)
        exec(compile(tree, str(self._path), "exec"), module.__dict__)


if __name__ == "__main__":
    sys.meta_path.insert(0, _Mutant(sys.argv[1], int(sys.argv[2])))
    import pytest

    sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:randomly", "--no-header", *sys.argv[3:]]))
