"""The command `rarefy rank FOLDER --resume` and fits with a checkpoint, killed at random moments and given again.

A command that ranks a folder of blocks is killed by SIGKILL one to three times in a row: after a random time, or where
it opens, renames or removes the k-th file. Given once more it has to end with the same scores, bit by bit, and the same
printed summary as a command that nobody killed, and to leave nothing but its output. With the small memory budget
kernel values are computed again in every pass, so that a fit has many. A fit in Python likewise (`client_trial`).
"""

import functools
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from trials.clusters import client_trial, draw, undisturbed_client
from trials.kills import _MAIN, _WATCHED

from rarefy import blocks

SETTINGS = {
    "default budget": "",
    "small budget": "import rarefy; rarefy.set_config(memory_budget='300kB', overflow='recompute'); ",
}
_ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
_N_ROWS = 1500


def _start(code, data, place):
    """The command, in a process of its own."""
    words = ["rank", str(data), "--resume", "passes", "--scores", "s.npy", "--json"]
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=place,
        env=_ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _found(process, place):
    """What a command ends with: its scores as bytes and what it prints; an error if it does not end well."""
    printed, errors = process.communicate()
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}, {errors.strip().splitlines()[-1:]}")
    return (Path(place) / "s.npy").read_bytes(), json.loads(printed)


@functools.cache
def _folder():
    """A folder of blocks, for as long as this process lives."""
    place = tempfile.TemporaryDirectory(prefix="rarefy-resumes-")
    X, y = draw(_N_ROWS)
    blocks.from_arrays(Path(place.name) / "data", X, y, block_rows=300)
    return place


def _data():
    return Path(_folder().name) / "data"


@functools.cache
def _undisturbed(setting):
    """What a command that nobody kills ends with, how long it takes, and how many files it writes or moves."""
    with tempfile.TemporaryDirectory() as place:
        counted, main = Path(place).with_suffix(".count"), SETTINGS[setting] + _MAIN
        begin = time.perf_counter()
        found = _found(_start(_WATCHED.format(k=0, number=0, main=main, out=str(counted)), _data(), place), place)
        seconds, n_files = time.perf_counter() - begin, int(counted.read_text())
        counted.unlink()
        return found, seconds, n_files


def command_piece(seed):
    """Kill the command one to three times, and give it once more; counts, and what is wrong."""
    choose = random.Random(seed)
    setting = choose.choice(sorted(SETTINGS))
    expected, seconds, n_files = _undisturbed(setting)
    main = SETTINGS[setting] + _MAIN
    with tempfile.TemporaryDirectory() as place:
        moments, counts = [], Counter()
        for _ in range(choose.randint(1, 3)):
            moments.append(_killed(choose, main, place, seconds, n_files))
            counts["killed" if moments[-1][1] else "done before"] += 1
        left = Path(place) / "passes"
        resumed = left.exists() and any(left.glob("*.npz"))
        counts["resumed" if resumed else "from the start"] += 1
        what = f"rank --resume, {setting}, killed {', '.join(moment for moment, _ in moments)} (seed {seed})"
        try:
            found = _found(_start(main, _data(), place), place)
        except RuntimeError as error:
            return counts + Counter({"violated": 1}), [f"{what}: {error}"]
        faults = [] if found == expected else [f"{what}: scores or summary differ"]
        faults += [f"{what}: {one.name} is left" for one in Path(place).iterdir() if one.name != "s.npy"]
    return counts + Counter({"violated": len(faults)}), faults


def _killed(choose, main, place, seconds, n_files):
    """When a command was killed, and whether it was before it ended by itself."""
    if choose.random() < 0.4:
        wait = choose.uniform(0.0, 1.05 * seconds)
        process = _start(main, _data(), place)
        time.sleep(wait)
        process.kill()
        moment = f"after {wait:.2f} s"
    else:
        k = choose.randint(1, n_files)
        process = _start(_WATCHED.format(k=k, number=int(signal.SIGKILL), main=main, out=""), _data(), place)
        moment = f"at file {k} of {n_files}"
    process.communicate()
    return moment, process.returncode == -signal.SIGKILL


@functools.cache
def _undisturbed_client():
    return undisturbed_client(_data())


def client_piece(seed):
    """Kill a fit in Python once, and run it again."""
    counts, faults = client_trial(seed, _data(), *_undisturbed_client())
    return counts + Counter({"killed": 1}), faults
