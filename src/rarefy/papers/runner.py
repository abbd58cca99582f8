"""Runs the cells of a table: in parallel, each stored when it is done, so that a killed run goes on where it was."""

import ast
import hashlib
import inspect
import json
import time
from functools import cache
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import rarefy
from rarefy._files import write_whole
from rarefy.datasets._load import fingerprint, recorded_files
from rarefy.exceptions import MissingDataError
from rarefy.papers.claims import judge


def run_table(table, mode, out, *, data=None, jobs=1, fresh=False, progress=None, notice=None):
    """Measure all cells of a table that are not stored yet, and judge its claims.

    Parameters
    ----------
    table : Table
        What to run.
    mode : {"quick", "full"}
        Which grid.
    out : path
        Folder of results; cells are stored below it as they finish.
    data : path or None
        Folder of the data sets.
    jobs : int
        Processes.
    fresh : bool
        Whether to measure stored cells again. They are replaced one by one.
    progress : callable or None
        Called with (done, total) after every cell.
    notice : callable or None
        Called with a sentence about what a user should know: stored cells that are not used, cells without data.

    Returns
    -------
    results : list of (dict, dict)
        Cells and what was measured in them; those whose data are missing are left out.
    verdicts : list of Verdict
        One for each claim.

    Raises
    ------
    MissingDataError
        If the data of all cells are missing.
    """
    store = Path(out) / "cells" / table.id
    store.mkdir(parents=True, exist_ok=True)
    calls = table.calls(mode)
    paths = [store / f"{cell_key(call)}.json" for call, _ in calls]
    origin = _origin(table.run)
    sizes = [None if table.together is None else len(cells) for _, cells in calls]
    found = [
        None if fresh else read_cell(path, call, origin, data, size)
        for (call, _), path, size in zip(calls, paths, sizes, strict=True)
    ]
    todo = [i for i, metrics in enumerate(found) if metrics is None]
    old = 0 if fresh else sum(paths[i].exists() for i in todo)
    if old and notice is not None:
        notice(f"{old} stored cells are damaged or come from other code or data, and are measured again.")
    done, absent = len(calls) - len(todo), []
    if progress is not None:
        progress(done, len(calls))
    work = (delayed(_measure)(i, table.run, calls[i][0], paths[i], data, jobs, origin) for i in todo)
    for i, metrics in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
        if isinstance(metrics, MissingDataError):
            absent.append(metrics)
        else:
            found[i] = metrics
        done += 1
        if progress is not None:
            progress(done, len(calls))
    if absent and len(absent) == len(calls):
        raise absent[0]
    if absent and notice is not None:
        notice(f"{len(absent)} of {len(calls)} cells could not be measured. {absent[0]}")
    results = []
    for (_, cells), metrics in zip(calls, found, strict=True):
        if metrics is not None:
            results += zip(cells, [metrics] if table.together is None else metrics, strict=True)
    return results, [judge(claim, results) for claim in table.claims]


def cell_key(cell):
    """A file name that depends on the cell's parameters and on nothing else."""
    return hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:20]


def read_cell(path, cell, origin, data, size):
    """The metrics stored for a cell; None if there are none, or not these, or they come from other code or data.

    Files that are not there any more cannot speak against what was once measured with them.
    """
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
        metrics, files = stored["metrics"], stored["files"]
        if stored["origin"] != origin or stored["cell"] != cell:
            return None
        paths = [] if data is None else [(Path(data) / name, mark) for name, mark in files.items()]
        if any(path.exists() and fingerprint(path) != mark for path, mark in paths):
            return None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    many = metrics if size is not None and isinstance(metrics, list) else [metrics]
    whole = all(isinstance(one, dict) for one in many) and len(many) == (1 if size is None else size)
    return metrics if whole else None


def _origin(run):
    """What a cell's result depends on besides its parameters and data: our code, and the code of the table."""
    try:
        code = inspect.getsource(run)
        module = Path(inspect.getfile(run))
    except (OSError, TypeError):  # defined interactively
        code, module = run.__qualname__, Path()
    package = Path(rarefy.__file__).parent
    parts = [code, _digest_of(package)]
    if module.suffix == ".py" and package not in module.resolve().parents:
        parts.append(_digest_of(module))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


@cache
def _digest_of(path):
    """Of the code of a file, or of all of a package that can change results; comments and docstrings cannot."""
    digest = hashlib.sha256()
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    for file in files:
        if path.is_dir() and file.relative_to(path).parts[0] in ("cli", "report"):
            continue
        tree = ast.parse(file.read_bytes())
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [part for part in body if not _is_text(part)] or [ast.Pass()]
        digest.update(f"{file.relative_to(path) if path.is_dir() else ''}\n{ast.dump(tree)}".encode())
    return digest.hexdigest()


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _measure(i, run, cell, path, data, jobs, origin):
    start = time.perf_counter()
    # Several processes share the cores: more than one thread each would only wait for one another.
    with threadpool_limits(limits=1 if jobs != 1 else None), recorded_files() as files:
        try:
            metrics = run(data=data, **cell)
        except MissingDataError as error:
            return i, error
    seconds = time.perf_counter() - start
    stored = {"origin": origin, "cell": cell, "files": files, "seconds": seconds, "metrics": metrics}
    write_whole(path, json.dumps(stored, indent=1))
    return i, metrics
