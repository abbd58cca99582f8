"""Results of trials: pieces are run, kept where an interrupted run finds them, and compared with recorded figures."""

import hashlib
import itertools
import json
import multiprocessing
import os
import platform
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import rarefy

ROOT = Path(__file__).resolve().parents[1]
FIGURES = Path(__file__).parent / "figures.json"
SAVE_AFTER = 10.0
"""Seconds of work that an interruption may cost."""
_SHOWN = 50
"""Faults that are kept."""


def fingerprint():
    """Of the sources: results of others say nothing about these."""
    digest = hashlib.sha256()
    for folder in ("src/rarefy", "trials", "tests/oracles"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            digest.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    for name in ("check_certificate.py", "check_subset.py"):
        digest.update((ROOT / name).read_bytes())
    return digest.hexdigest()[:16]


class Result:
    """What is known of one trial: counts by table, faults, seconds of work, and how many pieces are done."""

    def __init__(self, path, key):
        self.path, self.key = path, key
        self.done, self.seconds, self.wrong, self.tables = 0, 0.0, [], {}
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return
        if stored.get("key") == key:
            self.done, self.seconds, self.wrong = stored["done"], stored["seconds"], stored["wrong"]
            self.tables = {name: Counter(counts) for name, counts in stored["tables"].items()}

    @property
    def counts(self):
        """Of all tables together."""
        return sum(self.tables.values(), Counter())

    def add(self, table, outcome):
        """The next piece."""
        counts, wrong = outcome
        self.done += 1
        self.tables.setdefault(table, Counter()).update({name: int(number) for name, number in counts.items()})
        self.wrong += [str(fault) for fault in wrong[: _SHOWN - len(self.wrong)]]
        for fault in wrong:
            print("WRONG:", fault, flush=True)

    def save(self):
        """Whole or not at all: the file is renamed when it is complete."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        values = {name: getattr(self, name) for name in ("key", "done", "seconds", "tables", "counts", "wrong")}
        part.write_text(json.dumps(values, indent=1), encoding="utf-8")
        os.replace(part, self.path)


_pieces = []
"""Those of the trial that runs, in each of its processes: they cannot be sent."""


def run(trial, size, seed, folder, jobs=1):
    """All pieces of a trial that were not done before."""
    key = {"sources": fingerprint(), "size": size, "seed": seed, "trial": trial.name}
    result = Result(folder / f"{trial.name}.json", key)
    _pieces[:] = trial.pieces(size, seed)
    parallel = (jobs, trial.name, size, seed)
    saved = start = time.perf_counter()
    before = result.seconds
    outcomes = _outcomes(result.done, None if trial.alone or jobs == 1 else parallel)
    for (table, _), outcome in zip(_pieces[result.done :], outcomes, strict=True):
        result.add(table, outcome)
        now = time.perf_counter()
        result.seconds = before + now - start
        if now - saved > SAVE_AFTER:
            result.save()
            saved = now
    result.save()
    return result


def _outcomes(done, parallel):
    if parallel is None:
        yield from map(_outcome, range(done, len(_pieces)))
        return
    jobs, *which = parallel
    context = multiprocessing.get_context("spawn")  # threads of polars would not be there after a fork
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_prepare, initargs=which) as pool:
        numbers = iter(range(done, len(_pieces)))
        # A few at a time: an interruption waits for no more than these.
        for some in iter(lambda: list(itertools.islice(numbers, 16 * jobs)), []):
            yield from pool.map(_outcome, some)


def _prepare(name, size, seed):
    """In each process: the pieces of a trial."""
    from trials.registry import TRIALS

    (trial,) = (one for one in TRIALS if one.name == name)
    _pieces[:] = trial.pieces(size, seed)


def _outcome(i):
    table, piece = _pieces[i]
    try:
        return piece()
    except Exception as error:  # a trial that cannot be made is no trial that was passed
        return Counter({"crashes": 1}), [f"{table}, piece {i}: {type(error).__name__}: {error}"]


def figures():
    """What was recorded, by set and trial."""
    return json.loads(FIGURES.read_text(encoding="utf-8")) if FIGURES.exists() else {}


def record(name, trial, result, jobs):
    """Take the counts of a trial as those that later ones are compared with."""
    stored = figures()
    stored.setdefault(name, {})[trial.name] = {
        "about": trial.about,
        "size": result.key["size"],
        "seed": result.key["seed"],
        "seconds": round(result.seconds),
        "jobs": 1 if trial.alone else jobs,
        "version": rarefy.__version__,
        "python": platform.python_version(),
        "goals": [{"count": goal.count, "of": goal.of, "share": goal.share} for goal in trial.goals],
        "counts": dict(sorted(result.counts.items())),
        "tables": {table: dict(sorted(counts.items())) for table, counts in result.tables.items()},
        "wrong": result.wrong,
    }
    FIGURES.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def judged(trial, counts, recorded):
    """(sentences about each goal, whether one is worse than recorded)."""
    said, worse = [], counts.get("crashes", 0) > 0
    if worse:
        said.append(f"{counts['crashes']} pieces crashed")
    for goal in trial.goals:
        found, of = counts.get(goal.count, 0), counts.get(goal.of, 0)
        aim = f"at most {goal.share:.0%}" if goal.share else "goal 0"
        line = f"{found} of {of} {goal.of} {goal.count} ({aim})"
        if not goal.met(counts):
            line += ": NOT MET"
        if goal.worse(counts, recorded):
            worse = True
            line += f", WORSE than the recorded {recorded.get(goal.count, 0)} of {recorded.get(goal.of, 0)}"
        said.append(line)
    return said, worse
