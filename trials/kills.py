"""Commands that are ended at random moments: what they leave behind, and whether they can be run again.

A command starts in an empty folder with all of its outputs. It is ended by SIGKILL or SIGINT, after a random time or
where it opens, renames or removes the k-th file. Counted as wrong are files under a final name that are not complete,
files that are left after SIGINT, what SIGINT leads to (exit code 130 and one line, unless the command was done or
Python had not begun), and a second run that fails or leaves part files of the first one.
"""

import csv
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
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import rarefy
from rarefy.workflows.certificate_files import read_certificate
from rarefy.workflows.models import load_model

N_ROWS = 200
_MAIN = "from rarefy.cli import main; main()"
_WATCHED = """
import os, signal, sys
left, number = {k}, {number}
def watch(event, arguments):
    global left
    opened = event == "open" and arguments[2] & (os.O_WRONLY | os.O_RDWR)
    if opened or event in ("os.rename", "os.remove", "os.mkdir"):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), number)
sys.addaudithook(watch)
try:
    exec({main!r})
finally:
    if number == 0:
        open({out!r}, "w").write(str(-left))
"""
"""Every file that is written, renamed or removed is counted; k = 0 counts all of them."""


@dataclass(frozen=True)
class Command:
    """A command with all of its outputs: {made} is the folder of what was made before."""

    words: tuple[str, ...]
    outputs: tuple[str, ...]
    every: int = 1
    """Tried once in so many rounds: some take long."""


COMMANDS = {
    "select": Command(
        (
            *("select", "{made}/table.csv", "--target", "rare", "--keep", "3", "--out", "kept.csv"),
            *("--certificate", "c.json", "--save", "m.skops", "--report", "r.html"),
        ),
        ("kept.csv", "c.json", "m.skops", "r.html"),
    ),
    "rank": Command(
        ("rank", "{made}/table.csv", "--target", "rare", "--save", "m.skops", "--report", "r.html"),
        ("m.skops", "r.html"),
    ),
    "certify": Command(
        ("certify", "{made}/table.csv", "--columns", "v0,v1", "--target", "rare", "--certificate", "c.json"),
        ("c.json",),
    ),
    "classify": Command(("classify", "{made}/table.csv", "--target", "rare", "--save", "m.skops"), ("m.skops",)),
    "score": Command(("score", "{made}/m.skops", "{made}/table.csv", "--out", "s.csv"), ("s.csv",)),
    "report": Command(("report", "{made}/m.skops", "{made}/table.csv", "--out", "r.html"), ("r.html",)),
    "verify": Command(("verify", "{made}/c.json", "{made}/table.csv"), ()),
    "convert": Command(("convert", "{made}/table.csv", "--out", "blocks", "--target", "rare"), ("blocks",)),
    "reproduce": Command(("reproduce", "fs-example", "--out", "results"), ("results",)),
    "demo": Command(("demo", "--features", "20", "--out", "r.html"), ("r.html",), every=25),
}


def write_table(folder):
    """A table of which two columns tell a class."""
    rng = np.random.default_rng(0)
    rare = np.arange(N_ROWS) < 40
    X = rng.standard_normal((N_ROWS, 12)).round(4) + 2.0 * rare[:, None] * (np.arange(12) < 2)
    names = [*(f"v{j}" for j in range(12)), "rare"]
    lines = [",".join([*map(str, row), str(int(label))]) for row, label in zip(X.tolist(), rare, strict=True)]
    (folder / "table.csv").write_text("\n".join([",".join(names), *lines]) + "\n", encoding="utf-8")
    return folder / "table.csv"


def start(name, made, folder, code=None):
    """The command, in a process of its own."""
    words = [word.format(made=made) for word in COMMANDS[name].words]
    return subprocess.Popen(
        [sys.executable, "-c", _MAIN if code is None else code, *words],
        cwd=folder,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=_listen,
    )


def _listen():
    """Shells start background jobs with SIGINT ignored, which children inherit: then nothing would be tried."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Whole:
    """A command that nobody ends: its seconds, and how many files it writes, renames or removes."""

    seconds: float
    n_files: int


def whole(name, made):
    """Run a command to its end."""
    with tempfile.TemporaryDirectory() as place:
        counted = Path(place).with_suffix(".count")
        begin = time.perf_counter()
        process = start(name, made, place, _WATCHED.format(k=0, number=0, main=_MAIN, out=str(counted)))
        _, errors = process.communicate()
        if process.returncode:
            raise RuntimeError(errors)
        faults = incomplete(Path(place), name, done=True)
        if faults:
            raise RuntimeError(f"complete files are called incomplete: {faults}")
        seconds, n_files = time.perf_counter() - begin, int(counted.read_text())
        counted.unlink()
        return Whole(seconds, n_files)


def incomplete(folder, name, done=False):
    """Files under a final name that are not complete; of a command that was done all have to be there."""
    paths = [folder / output for output in COMMANDS[name].outputs]
    return [path.name for path in paths if (path.exists() or done) and not _is_complete(path, done)]


def _is_complete(path, done):
    try:
        if path.name == "blocks":
            if not (path / "manifest.json").exists():  # the same command goes on
                return not done
            return rarefy.blocks.open(path).check() is None and len(rarefy.blocks.open(path).target) == N_ROWS
        if path.name == "results":
            cells = [json.loads(one.read_text(encoding="utf-8")) for one in path.rglob("[!.]*.json")]
            pages = [one.read_text(encoding="utf-8").rstrip() for one in path.rglob("[!.]*.html")]
            return all(page.endswith("</html>") for page in pages) and (bool(cells and pages) or not done)
        if path.suffix == ".csv":
            with open(path, encoding="utf-8", newline="") as file:
                rows = list(csv.reader(file))
            return len(rows) == N_ROWS + 1 and len({len(row) for row in rows}) == 1
        if path.suffix == ".json":
            return bool(read_certificate(path).certificate.verdict and json.loads(path.read_text(encoding="utf-8")))
        if path.suffix == ".skops":
            return load_model(path).target == "rare"
        return path.read_text(encoding="utf-8").rstrip().endswith("</html>")
    except (ValueError, OSError):
        return False


def strays(folder, name):
    """Files that are none of the outputs, and part files inside of folders of outputs."""
    outside = [path.name for path in folder.iterdir() if path.name not in COMMANDS[name].outputs]
    return sorted(outside + [path.name for path in folder.rglob("*") if path.suffix == ".part"])


@functools.cache
def prepared():
    """A folder with a table, a model and a certificate, for as long as this process lives."""
    place = tempfile.TemporaryDirectory(prefix="rarefy-kills-")
    made = Path(place.name)
    write_table(made)
    for name, output in (("rank", "m.skops"), ("select", "c.json")):
        with tempfile.TemporaryDirectory() as folder:
            process = start(name, made, folder)
            _, errors = process.communicate()
            if process.returncode:
                raise RuntimeError(f"{name} fails: {errors}")
            (made / output).write_bytes((Path(folder) / output).read_bytes())
    return place


@functools.cache
def _whole(name):
    return whole(name, prepared().name)


def kill_piece(name, seed):
    """End a command once, with what it needs."""
    return kill_trial(name, seed, prepared().name, _whole(name))


def kill_trial(name, seed, made, usual):
    """End a command once; counts, and what is wrong."""
    draw = random.Random(seed)
    number = draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGINT])
    by_time, wait, k = draw.random() < 0.5, draw.uniform(0.0, 1.05 * usual.seconds), draw.randint(1, usual.n_files + 1)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if by_time:
            process = start(name, made, folder)
            time.sleep(wait)
            process.send_signal(number)
        else:
            process = start(name, made, folder, _WATCHED.format(k=k, number=int(number), main=_MAIN, out=""))
        _, errors = process.communicate()
        moment = f"after {wait:.2f} s" if by_time else f"at file {k} of {usual.n_files}"
        what = f"{name} {moment} by {number.name} (seed {seed})"
        faults = [f"{what}: {one} is not complete" for one in incomplete(folder, name)]
        left = strays(folder, name)
        if number is signal.SIGKILL and process.returncode not in (0, -signal.SIGKILL):
            faults.append(f"{what}: exit code {process.returncode}, {errors[-300:]!r}")
        if number is signal.SIGINT:
            faults += [f"{what}: {one} is left" for one in left if name != "convert"]
            faults += _interrupted(what, process.returncode, errors)
        ended = "done" if process.returncode == 0 else number.name
        again = bool(left) or draw.random() < 0.2
        faults += _again(what, name, made, folder) if again else []
        counts = {"commands": 1, ended: 1, "left by SIGKILL": len(left), "run again": int(again)}
        return Counter(counts | {"violated": len(faults)}), faults


def _again(what, name, made, folder):
    """The same command in the same folder: it succeeds, and what the first run left is gone."""
    process = start(name, made, folder)
    _, errors = process.communicate()
    if process.returncode and not ("holds blocks already" in errors and not incomplete(folder, name, True)):
        return [f"{what}: run again, it ends with {process.returncode}, {errors[-300:]!r}"]
    left = strays(folder, name)
    return [f"{what}: {one} is there after a second run" for one in [*left, *incomplete(folder, name, done=True)]]


def _interrupted(what, code, errors):
    lines = errors.strip().splitlines()
    early = code == -signal.SIGINT or (code == 1 and "rarefy" not in errors.replace("from rarefy.cli", ""))
    if code == 0 or early:  # before the first line of the library nobody can catch it
        return []
    right = code == 130 and sum(line.startswith("Stopped.") for line in lines) == 1 and "Traceback" not in errors
    return [] if right else [f"{what}: exit code {code}, {lines[-3:]}"]
