"""Changes to the source of core, one at a time: the unit tests concerned have to notice.

A mutant has one comparison, operator, number, condition or choice of minimum and maximum changed. It exists in memory
only: the module is compiled from the changed tree when it is imported. A mutant is killed if a test fails or the tests
take much longer than they should. Survivors are listed, with the reason where it is known.
"""

import ast
import importlib.abc
import importlib.util
import os
import random
import re
import subprocess
import sys
from collections import Counter
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("certificates", "losses", "sparsify", "solvers")
SECONDS = 400
"""Of processor time for the tests of one mutant: the tests of the unchanged module take less than a third."""
REASONS = {
    "src/rarefy/core/sparsify/bss.py: Pow to Mult in e ** 3": "estimates how long an epoch takes: speed, not results",
    "src/rarefy/core/solvers/interior_point.py: min to max": "decides whether one more corrector is worth it: speed",
    "src/rarefy/core/solvers/rank_one_sdp.py: 0.5 to 1.0": "one of the shares of a step that are tried in turn: speed",
    "src/rarefy/core/sparsify/candidates.py: GtE to Gt in best.slack >= 0.0": "differs for a slack of exactly zero",
    "src/rarefy/core/solvers/box_lp.py: Gt to GtE in slopes > 0.0": "differs where a slope is 0 and its bound infinite",
}
"""Why mutants survive that did; they count as survivors all the same."""

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
    skipped |= {id(inner) for node in ast.walk(tree) if isinstance(node, ast.Raise) for inner in ast.walk(node)}
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
    """Test files that import a module, then those that import its package."""
    module = Path(path).stem
    package = Path(path).parent.name
    exact, near = re.compile(rf"core\.{package}\.{module}\b"), re.compile(rf"core\.{package}\b")
    first, then = [], []
    for test in sorted((ROOT / "tests").glob("[up]*/test_*.py")):
        text = test.read_text(encoding="utf-8")
        if exact.search(text):
            first.append(test)
        elif near.search(text) or f"_{module}" in test.stem:
            then.append(test)
    return [str(test.relative_to(ROOT)) for test in first + then]


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
        how = {0: "survived", 1: "killed", 2: "killed"}.get(ended.returncode, "killed")
        if ended.returncode in (3, 4, 5):  # pytest itself went wrong, or there was no test
            return Counter({"mutants": 1, "survived": 1}), [f"{name}: {ended.stdout[-200:]!r}"]
    except subprocess.TimeoutExpired:
        how = "killed"
    reason = REASONS.get(f"{path}: {what}")
    return Counter({"mutants": 1, how: 1}), [name + (f" ({reason})" if reason else "")] if how == "survived" else []


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
