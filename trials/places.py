"""Places and times that programs do not expect: writers of one file, full and read-only disks, clocks, dead parents.

Full and read-only disks are file systems in memory, mounted where nobody else sees them (`unshare`); without the right
to mount, files may not grow beyond a size, and folders are not tried. Each ends in one line and exit code 2, with all
files that are there whole and no part files, or in what was asked for.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from functools import cache, partial
from pathlib import Path

from trials.kills import COMMANDS, incomplete, prepared, start, strays

_NAMES = tuple(name for name in COMMANDS if name not in ("demo", "verify"))
_MAIN = "from rarefy.cli import main; main()"
_WRITER = """
import sys
from rarefy._files import write_atomically
name, text = sys.argv[1], sys.argv[2] * 50_000
print("begun", flush=True)
for _ in range(int(sys.argv[3])):
    write_atomically(name, text)
"""
_JUMPING = """
import random, sys, time
draw = random.Random({seed})
def jumping(clock):
    moved = [0.0]
    def now():
        moved[0] += draw.choice([0.0, 0.0, 0.0, 3600.0, -3600.0, -1e6])
        return clock() + moved[0]
    return now
time.time = jumping(time.time)
time.perf_counter = jumping(time.perf_counter)
time.process_time = jumping(time.process_time)
{main}
"""


def place_pieces(n, seed):
    """n rounds of everything."""
    for i in range(n):
        draw = random.Random(seed + i)
        yield "writers", partial(writers_trial, seed + i)
        yield "full disks", partial(full_trial, seed + i, draw.choice(_NAMES), draw.choice([0, 4, 16, 40, 120]))
        yield "read-only folders", partial(read_only_trial, draw.choice(_NAMES))
        yield "clocks", partial(clock_trial, seed + i, draw.choice(_NAMES))
        if i % 4 == 0:
            yield "orphans", partial(orphan_trial, seed + i)


def _counted(what, faults):
    return Counter({"places": 1, "violated": len(faults)}), [f"{what}: {one}" for one in faults]


def writers_trial(seed):
    """Several processes write one file, some of them are killed, and one thread reads."""
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "page.html"
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, str(path), letter, "300"], stdout=subprocess.PIPE, text=True
            )
            for letter in "abcd"
        ]
        broken, done = [], threading.Event()

        def read():
            while not done.is_set():
                text = path.read_text() if path.exists() else "a" * 50_000
                broken.extend([text[:20]] if len(text) != 50_000 or len(set(text)) != 1 else [])

        reader = threading.Thread(target=read)
        reader.start()
        for writer in writers:
            writer.stdout.readline()
        for writer in writers[:2]:
            time.sleep(draw.uniform(0.0, 0.3))
            writer.kill()
        codes = [(writer.wait(), writer.stdout.close())[0] for writer in writers]
        done.set()
        reader.join()
        faults = [f"a reader saw {one!r}" for one in broken[:1]]
        faults += [f"a writer ended with {code}" for code in codes[2:] if code]
        last = subprocess.run([sys.executable, "-c", _WRITER, str(path), "e", "1"], check=False, capture_output=True)
        left = sorted(one.name for one in Path(place).iterdir())
        if last.returncode or left != ["page.html"]:
            faults.append(f"{left} after one more writer")
    return _counted(f"writers (seed {seed})", faults)


@cache
def may_mount():
    """Whether this process may mount file systems where nobody else sees them."""
    call = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs -o size=64k none /mnt"]
    try:
        return subprocess.run(call, capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def _mounted(options, name, look):
    """A command whose folder is a file system in memory; what it says, and what `look` finds before it is gone."""
    made = prepared().name
    words = [word.format(made=made) for word in COMMANDS[name].words]
    with tempfile.TemporaryDirectory() as place:
        inside = Path(place) / "disk"
        kept = Path(place) / "kept"
        inside.mkdir()
        kept.mkdir()
        # What is there at the end is copied, since the file system goes with the process that mounted it.
        script = (
            f"mount -t tmpfs -o {options} none {inside} && cd {inside} && "
            f'{sys.executable} -c "$0" "$@"; code=$?; cp -a {inside}/. {kept}/; exit $code'
        )
        call = ["unshare", "--mount", "sh", "-c", script, _MAIN, *words]
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
        ended = subprocess.run(call, capture_output=True, text=True, check=False, env=environment)
        return ended, look(kept)


def _limited(size, name, look):
    """The same where files may not grow beyond a size."""
    import resource

    made = prepared().name
    words = [word.format(made=made) for word in COMMANDS[name].words]
    limit = (1024 * size, 1024 * size)
    with tempfile.TemporaryDirectory() as place:
        ended = subprocess.run(
            [sys.executable, "-c", _MAIN, *words],
            cwd=place,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        )
        return ended, look(Path(place))


def _faults(name, ended, found):
    broken, left = found
    lines = [line for line in ended.stderr.splitlines() if line.startswith("Error")]
    faults = [f"{one} is not complete" for one in broken] + [f"{one} is left" for one in left]
    if "Traceback" in ended.stderr or ended.returncode not in (0, 2):
        faults.append(f"exit code {ended.returncode}, {ended.stderr[-300:]!r}")
    if ended.returncode == 2 and len(lines) != 1:
        faults.append(f"{len(lines)} errors: {ended.stderr[-300:]!r}")
    return faults


def full_trial(seed, name, size):
    """A command on a disk with so many kilobytes."""

    def look(folder):
        # A conversion goes on from what is there: files of blocks are whole or named .part.
        left = [one for one in strays(folder, name) if name != "convert"]
        return incomplete(folder, name), left

    run = partial(_mounted, f"size={max(size, 4)}k") if may_mount() else partial(_limited, size)
    ended, found = run(name, look)
    return _counted(f"{name} on a disk of {size} kB", _faults(name, ended, found))


def read_only_trial(name):
    """A command in a folder that may only be read."""
    if not may_mount():
        return Counter({"without mounts": 1}), []
    ended, found = _mounted("ro,size=64k", name, lambda folder: ([], sorted(one.name for one in folder.iterdir())))
    faults = _faults(name, ended, found)
    if ended.returncode != 2:
        faults.append(f"exit code {ended.returncode}")
    return _counted(f"{name} in a read-only folder", faults)


def clock_trial(seed, name):
    """A command while the clocks jump back and forth."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        process = start(name, prepared().name, folder, _JUMPING.format(seed=seed, main=_MAIN))
        _, errors = process.communicate()
        faults = [f"{one} is not complete" for one in incomplete(folder, name, done=True)]
        if process.returncode or "Traceback" in errors:
            faults.append(f"exit code {process.returncode}, {errors[-300:]!r}")
    return _counted(f"{name} while clocks jump (seed {seed})", faults)


_WORKERS = """
import sys, time
from rarefy._parallel import run_parallel
def busy(path, seconds):
    import os, time
    open(path + str(os.getpid()), "w").close()
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        sum(range(1000))
run_parallel(busy, [(sys.argv[1], 60.0)] * 2, n_jobs=2)
"""


def orphan_trial(seed, patience=10.0):
    """Workers whose parent is killed end within seconds."""
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "work.py"
        script.write_text(_WORKERS)
        parent = subprocess.Popen([sys.executable, str(script), f"{place}/worker-"], stderr=subprocess.DEVNULL)
        begin = time.monotonic()
        while len(found := list(Path(place).glob("worker-*"))) < 2 and time.monotonic() - begin < 60.0:
            time.sleep(0.05)
        time.sleep(random.Random(seed).uniform(0.0, 1.0))
        parent.kill()
        parent.wait()
        workers = [int(one.name.partition("-")[2]) for one in found]
        begin = time.monotonic()
        while any(map(_runs, workers)) and time.monotonic() - begin < patience:
            time.sleep(0.05)
        still = [pid for pid in workers if _runs(pid)]
        for pid in still:
            os.kill(pid, signal.SIGKILL)
    faults = [f"{len(still)} of {len(workers)} workers run {patience:g} s after their parent"] if still else []
    if len(workers) < 2:
        faults.append("no two workers were started")
    return _counted(f"orphans (seed {seed})", faults)


def _runs(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
