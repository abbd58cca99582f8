"""Commands that are ended at random moments: what they leave behind, and whether they can be run again.

Each trial starts `rarefy select` or `rarefy rank` with all of its outputs in an empty folder, and ends it with SIGKILL
or SIGINT after a random time. Counted as wrong are files under a final name that are not complete, files that are left
after SIGINT, and what SIGINT leads to: exit code 130 and one line, unless the command was done or Python had not begun.
"""

import csv
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

import numpy as np

from rarefy.workflows.certificate_files import read_certificate
from rarefy.workflows.models import load_model

COMMANDS = {
    "select": (
        "--keep",
        "3",
        "--out",
        "kept.csv",
        "--certificate",
        "c.json",
        "--save",
        "m.skops",
        "--report",
        "r.html",
    ),
    "rank": ("--save", "m.skops", "--report", "r.html"),
}
OUTPUTS = ("kept.csv", "c.json", "m.skops", "r.html")
N_ROWS = 200


def write_table(folder):
    """A table of which two columns tell a class."""
    rng = np.random.default_rng(0)
    rare = np.arange(N_ROWS) < 40
    X = rng.standard_normal((N_ROWS, 12)).round(4) + 2.0 * rare[:, None] * (np.arange(12) < 2)
    names = [*(f"v{j}" for j in range(12)), "rare"]
    lines = [",".join([*map(str, row), str(int(label))]) for row, label in zip(X.tolist(), rare, strict=True)]
    (folder / "table.csv").write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    return folder / "table.csv"


def start(name, table, folder):
    """The command, in a process of its own."""
    call = [sys.executable, "-c", "from rarefy.cli import main; main()", name, str(table), "--target", "rare"]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen(
        [*call, *COMMANDS[name]],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_listen,
    )


def _listen():
    """Shells start background jobs with SIGINT ignored, which children inherit: then nothing would be tried."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def duration(name, table):
    """Seconds of a command that nobody stops, so that moments can be drawn from all of it."""
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        process = start(name, table, folder)
        _, errors = process.communicate()
        if process.returncode:
            raise RuntimeError(errors)
        faults = incomplete(Path(folder))
        if faults:
            raise RuntimeError(f"complete files are called incomplete: {faults}")
        return time.perf_counter() - begin


def incomplete(folder):
    """Files under a final name that are not complete."""
    return [path.name for path in folder.iterdir() if path.name in OUTPUTS and not _is_complete(path)]


def _is_complete(path):
    try:
        if path.suffix == ".csv":
            with open(path, encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
            return len(rows) == N_ROWS + 1 and {len(row) for row in rows} == {4}
        if path.suffix == ".json":
            return bool(read_certificate(path).certificate.verdict and json.loads(path.read_text(encoding="utf-8")))
        if path.suffix == ".skops":
            return load_model(path).target == "rare"
        return path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    except ValueError:
        return False


def kill_trial(seed, table, seconds):
    """End a command once; counts, and what is wrong."""
    draw = random.Random(seed)
    name, number = draw.choice(list(COMMANDS)), draw.choice([signal.SIGKILL, signal.SIGINT])
    wait = draw.uniform(0.0, 1.05 * seconds[name])
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        process = start(name, table, folder)
        time.sleep(wait)
        process.send_signal(number)
        _, errors = process.communicate()
        what = f"{name} after {wait:.2f} s by {number.name} (seed {seed})"
        faults = [f"{what}: {one} is not complete" for one in incomplete(folder)]
        strays = sorted(path.name for path in folder.iterdir() if path.name not in OUTPUTS)
        if number is signal.SIGINT:
            faults += [f"{what}: {one} is left" for one in strays]
            faults += _interrupted(what, process.returncode, errors)
        ended = "done" if process.returncode == 0 else number.name
        return Counter({f"{name} {ended}": 1, "violated": len(faults), "left": len(strays)}), faults


def _interrupted(what, code, errors):
    lines = errors.strip().splitlines()
    early = code == -signal.SIGINT or (code == 1 and "rarefy" not in errors.replace("from rarefy.cli", ""))
    if code == 0 or early:  # before the first line of the library nobody can catch it
        return []
    right = code == 130 and sum(line.startswith("Stopped.") for line in lines) == 1 and "Traceback" not in errors
    return [] if right else [f"{what}: exit code {code}, {lines[-3:]}"]


def kill_trials(n, seed):
    """Counts and faults of n commands."""
    with tempfile.TemporaryDirectory() as place:
        table = write_table(Path(place))
        seconds = {name: duration(name, table) for name in COMMANDS}
        for i in range(n):
            yield kill_trial(seed + i, table, seconds)
