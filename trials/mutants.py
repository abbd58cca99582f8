"""Changes to the source of core, one at a time: the unit tests concerned have to notice.

A mutant exists in memory only. The tests that reach its line are tried, the quickest first: it is killed if one fails
or takes much longer than it should. Survivors are listed, with the reason where it is known. The changes are those of
mutmut 3 except for text, and some of ours (signs, the smaller for the larger, conditions): numbers become larger by
one, or twice as large from 100 on; operators, comparisons and conditions are replaced; arguments are None or left out;
what is assigned is None. Not changed is what only guards against faults of the program itself (`strict` of zip, options
of dataclass, `check_finite`, `overwrite_a`, messages of errors), what only decides how long something takes
(`SEARCHES`), and by one the number of roundings that are allowed for.
"""

import ast
import importlib.abc
import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from functools import cache, partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from trials.reach import in_function, reach, tests_of_line  # noqa: E402
from trials.survivors import REASONS, SEARCHES  # noqa: E402

PACKAGES = ("certificates", "losses", "sparsify", "solvers")
SECONDS = 400
"""Of processor time for the tests of one mutant in a process of its own: those of the unchanged module take less."""
TOGETHER = 25
"""Mutants that share a process."""
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
_TURNED = {ast.Lt: ast.GtE, ast.LtE: ast.Gt, ast.Gt: ast.LtE, ast.GtE: ast.Lt}
"""Comparisons with a floating number other than zero: nobody cares about a tie."""
_SWAPS = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.Pow: ast.Mult,
    ast.FloorDiv: ast.Div, ast.Mod: ast.Div, ast.And: ast.Or, ast.Or: ast.And,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.BitXor: ast.BitAnd,
}  # fmt: skip
_NAMES = {
    "minimum": "maximum",
    "maximum": "minimum",
    "min": "max",
    "max": "min",
    "argmin": "argmax",
    "argmax": "argmin",
}
_GUARDS = ("check_finite", "overwrite_a", "overwrite_b")
_UNITS = ("EPS", "_EPS", "UNIT")
_NO_CHANGE = ("len", "isinstance")
"""Calls whose arguments stay, as in mutmut: without them there is only an error."""


def modules():
    """The files that are changed."""
    return [path for name in PACKAGES for path in sorted((ROOT / "src/rarefy/core" / name).glob("[!_]*.py"))]


def changes(tree):
    """(line, what, function that makes it, kind) of every change of a tree."""
    inside = {
        id(inner)
        for function in ast.walk(tree)
        if isinstance(function, ast.FunctionDef)
        for part in function.body
        for inner in ast.walk(part)
    }
    skipped = _skipped(tree)
    found = []
    for node in ast.walk(tree):
        if id(node) not in skipped:
            found += _of_expression(node)
            if id(node) in inside:
                found += _of_statement(node)
    return found


def _skipped(tree):
    """What only guards against faults of the program itself, annotations, and how many roundings are allowed for."""
    guards = [node for node in ast.walk(tree) if isinstance(node, ast.Raise)]
    for node in ast.walk(tree):
        guards += [part for part in (getattr(node, "annotation", None), getattr(node, "returns", None)) if part]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("zip", "dataclass"):
            guards += node.keywords
        guards += [one for one in getattr(node, "keywords", ()) if one.arg in _GUARDS]
        guards += _roundings(node)
    return {id(inner) for guard in guards for inner in ast.walk(guard)}


def _roundings(node):
    """Numbers that are added to a number of roundings: one more is allowed for as rightly."""
    counts = []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("_gamma", "rounding"):
        counts = node.args
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = (node.left, node.right)
        counts = [side for side, other in (sides, sides[::-1]) if isinstance(other, ast.Name) and other.id in _UNITS]
    added = [one for count in counts for one in ast.walk(count) if isinstance(one, ast.BinOp)]
    parts = [part for one in added if isinstance(one.op, ast.Add) for part in (one.left, one.right)]
    return [part for part in parts if isinstance(part, ast.Constant)]


def _of_expression(node):
    """Changes of operators, comparisons, conditions, numbers and names."""
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.Compare):
        return [_swap(node, "ops", i) for i, op in enumerate(node.ops) if type(op) in _SWAPS]
    if isinstance(node, ast.BinOp | ast.AugAssign | ast.BoolOp) and type(node.op) in _SWAPS:
        return [_swap(node, "op", None)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Not | ast.Invert):
        return [_unary(node)]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float):
        return [_constant(node)]
    if isinstance(node, ast.If | ast.While):
        change = partial(setattr, node, "test", ast.UnaryOp(ast.Not(), node.test))
        return [(line, f"not ({ast.unparse(node.test)})", change, "conditions")]
    if isinstance(node, ast.IfExp):
        arms = ((ast.And(), False), (ast.Or(), True))
        return [
            (line, f"{text} in {ast.unparse(node)[:80]}", partial(setattr, node, "test", test), "conditions")
            for text, test in (
                (f"always {value}", ast.BoolOp(op, [node.test, ast.Constant(value)])) for op, value in arms
            )
        ]
    for name in ("attr", "id"):
        if isinstance(node, ast.Attribute | ast.Name) and (old := getattr(node, name, None)) in _NAMES:
            return [(line, f"{old} to {_NAMES[old]}", partial(setattr, node, name, _NAMES[old]), "names")]
    return []


def _of_statement(node):
    """Changes of assignments, arguments, jumps and functions without a name, in functions."""
    line = getattr(node, "lineno", 0)
    if isinstance(node, ast.Assign) or (isinstance(node, ast.AnnAssign) and node.value is not None):
        new = ast.Constant("" if _is_none(node.value) else None)
        what = f"{new.value!r} for {ast.unparse(node)[:80]}"
        return [(line, what, partial(setattr, node, "value", new), "assignments")]
    if isinstance(node, ast.AugAssign):
        change = partial(_becomes, node, ast.Assign, targets=[node.target])
        return [(line, f"assigned in {ast.unparse(node)[:80]}", change, "assignments")]
    if isinstance(node, ast.Break):
        return [(line, "break to return", partial(_becomes, node, ast.Return, value=None), "jumps")]
    if isinstance(node, ast.Continue):
        return [(line, "continue to break", partial(_becomes, node, ast.Break), "jumps")]
    if isinstance(node, ast.Lambda):
        return [
            (line, f"None in {ast.unparse(node)[:80]}", partial(setattr, node, "body", ast.Constant(None)), "jumps")
        ]
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and node.func.id in _NO_CHANGE):
        return _arguments(node)
    return []


def _arguments(node):
    """Each argument of a call is None, and each is left out if there are several."""
    found, name = [], ast.unparse(node.func)[:40]
    guarded = {id(one) for one in node.keywords if name == "zip" or one.arg in _GUARDS}
    for i, one in enumerate(node.args):
        if not isinstance(one, ast.Starred) and not _is_none(one):
            change = partial(node.args.__setitem__, i, ast.Constant(None))
            found.append((one.lineno, f"None for {ast.unparse(one)[:60]} in {name}()", change, "arguments"))
    for one in node.keywords:
        if one.arg is not None and not _is_none(one.value) and id(one) not in guarded:
            change = partial(setattr, one, "value", ast.Constant(None))
            found.append((one.lineno, f"None for {ast.unparse(one)[:60]} in {name}()", change, "arguments"))
    if len(node.args) + len(node.keywords) > 1:
        for part in (node.args, node.keywords):
            for i, one in enumerate(part):
                if id(one) not in guarded:
                    what = f"without {ast.unparse(one)[:60]} in {name}()"
                    found.append((one.lineno, what, partial(part.__delitem__, i), "arguments"))
    return found


def _is_fraction(node):
    return isinstance(node, ast.Constant) and isinstance(node.value, float) and node.value != 0.0


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None


def _becomes(node, kind, **fields):
    node.__class__ = kind
    for name, value in fields.items():
        setattr(node, name, value)


def _swap(node, name, i):
    old = getattr(node, name) if i is None else getattr(node, name)[i]
    turned = i is not None and any(map(_is_fraction, ast.walk(node)))
    new = (_TURNED if turned and type(old) in _TURNED else _SWAPS)[type(old)]()
    what = f"{type(old).__name__} to {type(new).__name__} in {ast.unparse(node)[:80]}"
    change = partial(setattr, node, name, new) if i is None else partial(node.ops.__setitem__, i, new)
    return node.lineno, what, change, "operators" if i is None else "comparisons"


def _unary(node):
    def change():
        if isinstance(node.op, ast.USub):
            node.op = ast.UAdd()
        else:
            node.operand = ast.UnaryOp(node.op, node.operand)

    return node.lineno, f"without {type(node.op).__name__} in {ast.unparse(node)[:80]}", change, "operators"


def _constant(node):
    value = node.value
    new = not value if isinstance(value, bool) else value + 1 if abs(value) < 100 else 2 * value
    return node.lineno, f"{value!r} to {new!r}", partial(setattr, node, "value", new), "numbers"


def mutated(source, index):
    """The tree of a source with its change of a number."""
    tree = ast.parse(source)
    changes(tree)[index][2]()
    return ast.fix_missing_locations(tree)


@cache
def all_mutants():
    """(file, index, line, what, kind) of every change, without those that decide about time only."""
    found = []
    for path in modules():
        name, tree = path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))
        functions = {function for file, function in SEARCHES if name.endswith(file)}
        timing = {
            line
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name in functions
            for line in range(node.lineno, node.end_lineno + 1)
        }
        if None not in functions:
            for i, (line, what, _, kind) in enumerate(changes(tree)):
                if line not in timing:
                    found.append((name, i, line, what, kind))
    return found


def mutant_pieces(n, seed):
    """n mutants, drawn from all of them, some at a time: each process collects the tests once."""
    drawn = random.Random(seed).sample(all_mutants(), min(n, len(all_mutants())))
    if drawn:
        reach()  # once, and not in each of the processes
    for first in range(0, len(drawn), TOGETHER):
        yield "mutants", partial(mutants_trial, drawn[first : first + TOGETHER])


def mutants_trial(mutants):
    """(counts, survivors) of some mutants: those of functions in forks of one process, the others in one each."""
    total, survivors = Counter(), []
    work = [(mutant, tests_of_line(mutant[0], mutant[2])) for mutant in mutants]
    inside = [one for one in work if in_function(one[0][0], one[0][2])]
    ended = dict(zip([mutant for mutant, _ in inside], _forked(inside), strict=True))
    for mutant, tests in work:
        how = ended.get(mutant) or alone(mutant[0], mutant[1], [test for test, _ in tests])
        counts, survivor = _counted(mutant, how)
        total.update(counts)
        survivors += survivor
    return total, survivors


def _forked(work):
    """How each mutant ended."""
    with tempfile.TemporaryDirectory() as folder:
        given, found = Path(folder) / "work.json", Path(folder) / "found"
        given.write_text(json.dumps([(mutant[0], mutant[1], tests) for mutant, tests in work]), encoding="utf-8")
        call = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("mutant_runs.py")), str(given), str(found)]
        subprocess.run(call, cwd=ROOT, stdout=subprocess.DEVNULL, env=os.environ | _ONE_THREAD, check=True)
        return [json.loads(line)[2] for line in found.read_text(encoding="utf-8").splitlines()]


def alone(path, index, tests):
    """How one mutant ended, in a process of its own."""
    call = [sys.executable, "-W", "ignore", __file__, path, str(index), *tests]
    settings = {"cwd": ROOT, "capture_output": True, "env": os.environ | _ONE_THREAD, "preexec_fn": _limit}
    try:
        code = subprocess.run(call, timeout=20.0 * SECONDS, check=False, **settings).returncode
    except subprocess.TimeoutExpired:
        return "out of time"
    if code in (3, 4, 5) or not tests:  # pytest itself went wrong, or there was no test
        return "survived"
    return {0: "survived", -signal.SIGXCPU: "out of time"}.get(code, "killed")


def _counted(mutant, how):
    """(counts, name and reason) of a mutant."""
    path, _, line, what, kind = mutant
    counts = Counter({"mutants": 1, kind: 1})
    if how not in ("survived", "not made"):
        return counts + Counter({"killed": 1, "out of time": int(how == "out of time")}), []
    reason = reason_of(path, line, what)
    counts += Counter({"survived": 1, f"{kind} survived": 1, "explained": int(bool(reason))})
    return counts, [f"{path}:{line}: {what}" + (f" ({reason})" if reason else "")]


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
