"""Runs the cells of a table: in parallel, each stored when it is done, so that a killed run goes on where it was."""

import hashlib
import inspect
import json
import os
import tempfile
import time
from pathlib import Path

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

import rarefy
from rarefy.papers.claims import judge


def run_table(table, mode, out, *, data=None, jobs=1, progress=None):
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
    progress : callable or None
        Called with (done, total) after every cell.

    Returns
    -------
    results : list of (dict, dict)
        Cells and what was measured in them.
    verdicts : list of Verdict
        One for each claim.
    """
    store = Path(out) / "cells" / table.id
    store.mkdir(parents=True, exist_ok=True)
    calls = table.calls(mode)
    paths = [store / f"{cell_key(call)}.json" for call, _ in calls]
    origin = _origin(table.run, data)
    missing = [i for i, path in enumerate(paths) if read_cell(path, origin) is None]
    done = len(calls) - len(missing)
    if progress is not None:
        progress(done, len(calls))
    work = (delayed(_measure)(table.run, calls[i][0], paths[i], data, jobs, origin) for i in missing)
    for _ in Parallel(n_jobs=jobs, return_as="generator_unordered")(work):
        done += 1
        if progress is not None:
            progress(done, len(calls))
    results = []
    for (_, cells), path in zip(calls, paths, strict=True):
        metrics = read_cell(path, origin)
        results += zip(cells, [metrics] if table.together is None else metrics, strict=True)
    return results, [judge(claim, results) for claim in table.claims]


def cell_key(cell):
    """A file name that depends on the cell's parameters and on nothing else."""
    return hashlib.sha256(json.dumps(cell, sort_keys=True).encode()).hexdigest()[:20]


def read_cell(path, origin):
    """The metrics stored for a cell, or None if there are none or they come from other code or data."""
    try:
        stored = json.loads(Path(path).read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    same = isinstance(stored, dict) and stored.get("origin") == origin
    return stored.get("metrics") if same else None


def _origin(run, data):
    """What a cell's result depends on besides its parameters: our version, the code of the table, the data folder."""
    try:
        code = inspect.getsource(run)
    except (OSError, TypeError):  # defined interactively
        code = run.__qualname__
    where = "" if data is None else str(Path(data).resolve())
    return hashlib.sha256("\n".join([rarefy.__version__, code, where]).encode()).hexdigest()[:20]


def write_json(path, value):
    """Write whole or not at all."""
    handle, name = tempfile.mkstemp(dir=Path(path).parent, prefix=".part-")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
    os.replace(name, path)


def _measure(run, cell, path, data, jobs, origin):
    start = time.perf_counter()
    # Several processes share the cores: more than one thread each would only wait for one another.
    with threadpool_limits(limits=1 if jobs != 1 else None):
        metrics = run(data=data, **cell)
    seconds = time.perf_counter() - start
    write_json(path, {"origin": origin, "cell": cell, "seconds": seconds, "metrics": metrics})
