"""Runs the cells of a table in parallel; each is stored when it is done, so that a killed run can be resumed."""

import ast
import hashlib
import inspect
import json
import time
from collections.abc import Callable
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import rarefy
from rarefy._files import write_atomically
from rarefy._workers import end_with_parent
from rarefy.datasets._provenance import fingerprint, recorded_files
from rarefy.exceptions import MissingDataError
from rarefy.papers.claims import Cell, Metrics, Results, Table, Verdict

StrPath = str | PathLike[str]
Measured = Metrics | list[Metrics]
"""Of one cell, or of each cell of a batch."""


def run_table(
    table: Table,
    mode: str,
    out: StrPath,
    *,
    data: StrPath | None = None,
    jobs: int = 1,
    fresh: bool = False,
    progress: Callable[[int, int], None] | None = None,
    notice: Callable[[str], None] | None = None,
) -> tuple[Results, list[Verdict]]:
    """Measure all cells of a table that are not stored yet, and judge its claims.

    Parameters
    ----------
    table : Table
        What to run.
    mode : {"quick", "full"}
        Which grid.
    out : path-like
        Folder of results; cells are stored below it as they finish.
    data : path-like or None, default=None
        Folder of the data sets.
    jobs : int, default=1
        Number of processes.
    fresh : bool, default=False
        Whether to measure stored cells again. They are replaced one by one.
    progress : callable or None, default=None
        Called with (done, total) after every cell.
    notice : callable or None, default=None
        Called with a sentence that a user should read: stored cells that are not used, cells without data.

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
    origin = origin_of(table.run)
    sizes = [None if table.batched is None else len(cells) for _, cells in calls]
    found = [
        None if fresh else read_cell(path, call, origin, data, size)
        for (call, _), path, size in zip(calls, paths, sizes, strict=True)
    ]
    todo = [i for i, metrics in enumerate(found) if metrics is None]
    stale = 0 if fresh else sum(paths[i].exists() for i in todo)
    if stale and notice is not None:
        notice(f"{stale} stored cells are damaged or come from other code or data, and are measured again.")
    done = len(calls) - len(todo)
    missing: list[MissingDataError] = []
    if progress is not None:
        progress(done, len(calls))
    work = (delayed(_measure)(i, table.run, calls[i][0], paths[i], data, jobs, origin) for i in todo)
    for i, metrics in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
        if isinstance(metrics, MissingDataError):
            missing.append(metrics)
        else:
            found[i] = metrics
        done += 1
        if progress is not None:
            progress(done, len(calls))
    if missing and len(missing) == len(calls):
        raise missing[0]
    if missing and notice is not None:
        notice(f"{len(missing)} of {len(calls)} cells could not be measured. {missing[0]}")
    results: Results = []
    for (_, cells), metrics in zip(calls, found, strict=True):
        if metrics is not None:
            results += zip(cells, metrics if isinstance(metrics, list) else [metrics], strict=True)
    return results, table.judge(results)


def cell_key(cell: Cell) -> str:
    """Return a file name that depends on the cell's parameters and on nothing else."""
    return hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:20]


def read_cell(path: StrPath, cell: Cell, origin: str, data: StrPath | None, size: int | None) -> Measured | None:
    """Return the metrics stored for a cell; None if there are none, or they come from other code or data.

    A data file that is missing now does not invalidate what was measured with it.
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
    complete = all(isinstance(one, dict) for one in many) and len(many) == (1 if size is None else size)
    return metrics if complete else None


def origin_of(run: Callable[..., Any]) -> str:
    """Return a fingerprint of the code that a cell's result depends on: the library's, and that of the table."""
    try:
        code = inspect.getsource(run)
        module = Path(inspect.getfile(run))
    except (OSError, TypeError):  # defined interactively
        code, module = getattr(run, "__qualname__", ""), Path()
    package = Path(rarefy.__file__).parent
    parts = [code, _digest_of(package)]
    if module.suffix == ".py" and package not in module.resolve().parents:
        parts.append(_digest_of(module))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:20]


@cache
def _digest_of(path: Path) -> str:
    """Digest of the code of a file or a package, without comments, docstrings and what cannot change results."""
    digest = hashlib.sha256()
    files = sorted(path.rglob("*.py")) if path.is_dir() else [path]
    for file in files:
        if path.is_dir() and file.relative_to(path).parts[0] in ("cli", "report"):
            continue
        tree = ast.parse(file.read_bytes())
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [part for part in body if not _is_text(part)] or [ast.Pass()]  # type: ignore[attr-defined]
        digest.update(f"{file.relative_to(path) if path.is_dir() else ''}\n{ast.dump(tree)}".encode())
    return digest.hexdigest()


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _measure(
    i: int, run: Callable[..., Measured], cell: Cell, path: Path, data: StrPath | None, jobs: int, origin: str
) -> tuple[int, Measured | MissingDataError]:
    """Measure and store the cells of one call; an error about missing data is returned, so that others go on."""
    end_with_parent()
    start = time.perf_counter()
    # Several processes share the cores: more than one thread each would only wait for one another.
    with threadpool_limits(limits=1 if jobs != 1 else None), recorded_files() as files:
        try:
            metrics = run(data=data, **cell)
        except MissingDataError as error:
            return i, error
    seconds = time.perf_counter() - start
    stored = {"origin": origin, "cell": cell, "files": files, "seconds": seconds, "metrics": metrics}
    write_atomically(path, json.dumps(stored, indent=1))
    return i, metrics
