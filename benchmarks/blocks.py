"""Selection on data larger than memory: time and memory from disk, beside reading alone and the product alone.

    python benchmarks/blocks.py                           # 10 million x 200, 8 GB; about three minutes
    python benchmarks/blocks.py --rows 1e6 --budget 300MB # smaller
    python benchmarks/blocks.py --rank --columns 20       # RankRC on 10 million x 20 with 300 rare samples
    python benchmarks/blocks.py --csv 1e6                 # also: convert a CSV file of so many rows x 30

Each measurement is a process of its own, so that its largest memory is its own (VmHWM, which counts everything that
is resident). Before a measurement from disk the files are dropped from the system's cache.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import roc_auc_score

import rarefy
from rarefy import blocks
from rarefy.core.linalg.rows import DenseRows
from rarefy.ranking import RankRC
from rarefy.selection import BSSSelector

_GENERATED = 50_000


def generated(n, d):
    """Float32 rows with correlated columns of different lengths, block by block."""
    mix = np.random.default_rng(0).standard_normal((d, d)).astype(np.float32)
    mix *= np.linspace(0.2, 2.0, d, dtype=np.float32)
    for i, start in enumerate(range(0, n, _GENERATED)):
        rng = np.random.default_rng((1, i))
        yield rng.standard_normal((min(_GENERATED, n - start), d), dtype=np.float32) @ mix


def generated_rare(n, d, n_rare=300):
    """Float32 rows of two classes, block by block; the rare class is in two places, and at rows drawn at random."""
    rare = np.random.default_rng(2).choice(n, n_rare, replace=False)
    level = np.zeros(n, dtype=np.int8)
    level[rare] = 1
    for i, start in enumerate(range(0, n, _GENERATED)):
        rng, y = np.random.default_rng((3, i)), level[start : start + _GENERATED]
        X = rng.standard_normal((len(y), d), dtype=np.float32)
        X[:, :5] += 1.2 * y[:, None] * rng.choice(np.array([-1, 1], dtype=np.float32), (len(y), 1))
        yield X, y


def drop_from_cache(folder):
    for path in Path(folder).glob("*.npy"):
        descriptor = os.open(path, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def write(folder, n, d, budget):
    blocks.from_arrays(folder, generated(n, d))


def write_rare(folder, n, d, budget):
    blocks.from_arrays(folder, generated_rare(n, d))


def rank(folder, n, d, budget):
    """A ranker with a kernel function for each of 300 rare samples, and its scores."""
    rarefy.set_config(memory_budget=budget)
    data = blocks.open(folder)
    model = RankRC(basis="rare", random_state=0).fit(data, data.target)
    scores = model.score_samples(data)
    return {"storage": model.storage_, "steps": model.n_iter_, "AUC": roc_auc_score(data.target, scores)}


def read(folder, n, d, budget):
    """All blocks, cold, into one array that is used again; checksums are not computed."""
    memory = bytearray(1 << 26)
    for path in sorted(Path(folder).glob("0*.npy")):
        with open(path, "rb", buffering=0) as file:
            while file.readinto(memory):
                pass


def gram(folder, n, d, budget):
    """The product of blocks that are in memory; reading them is not measured."""
    kept = list(blocks.open(folder).blocks())
    start = os.times(), time.perf_counter()
    total = np.zeros((d, d))
    for block in kept:
        total += DenseRows(block).gram()
    return start


def select(folder, n, d, budget):
    rarefy.set_config(memory_budget=budget)
    chosen = BSSSelector(d // 2, rank=d // 4).fit(blocks.open(folder))
    return {"share of the squared norm": chosen.certificate_.energy_kept}


def verify(folder, n, d, budget):
    rarefy.set_config(memory_budget=budget)
    data = blocks.open(folder)
    certificate = rarefy.certify(data, np.arange(0, d, 2), rank=d // 4)
    assert certificate.verify(data)


def table(folder, n, d, budget):
    """A CSV file becomes blocks."""
    rarefy.set_config(memory_budget=budget)
    blocks.from_csv(Path(folder) / "t.csv", Path(folder) / "blocks", target="c0")


def measured(task, folder, args):
    """Wall and processor time and the largest memory of one task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, "--folder", str(folder), "--rows", str(args.rows)]
    command += ["--columns", str(args.columns), "--budget", args.budget]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found = json.loads(done.stdout.splitlines()[-1])
    print(
        f"{task:8} {found['wall']:8.1f} s, processor {found['processor']:8.1f} s, peak {found['peak']:6.2f} GB",
        flush=True,
    )
    return found


def run_task(args):
    task = globals()[args.task]
    start = os.times(), time.perf_counter()
    found = task(args.folder, int(args.rows), args.columns, args.budget)
    if isinstance(found, tuple):
        start, found = found, None
    before, began = start
    wall, after = time.perf_counter() - began, os.times()
    status = Path("/proc/self/status").read_text()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    processor = after.user + after.system - before.user - before.system
    print(json.dumps({"wall": wall, "processor": processor, "peak": int(peak) * 1024 / 1e9, "found": found}))


def write_csv(path, n, d):
    """Numbers in text, written bit by bit."""
    rng = np.random.default_rng(0)
    with open(path, "w") as file:
        file.write(",".join(f"c{j}" for j in range(d)) + "\n")
        for start in range(0, n, 10_000):
            np.savetxt(file, rng.standard_normal((min(10_000, n - start), d)), fmt="%.5g", delimiter=",")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--budget", default="1GB")
    parser.add_argument("--csv", type=float, default=0.0)
    parser.add_argument("--where", default=None, help="where the data are written; they are deleted at the end")
    parser.add_argument("--rank", action="store_true", help="rank a rare class instead of selecting columns")
    parser.add_argument("--task")
    parser.add_argument("--folder")
    args = parser.parse_args()
    if args.task:
        run_task(args)
        return
    with tempfile.TemporaryDirectory(dir=args.where) as folder:
        data = Path(folder) / "data"
        if args.rank:
            measured("write_rare", data, args)
            print(blocks.open(data), flush=True)
            print(measured("rank", data, args)["found"])
            return
        measured("write", data, args)
        print(blocks.open(data), flush=True)
        os.sync()
        found = {}
        for task in ("read", "select", "gram", "select", "read", "verify"):
            drop_from_cache(data)
            result = measured(task, data, args)
            found[task] = min(result["wall"], found.get(task, np.inf))
        ratio = found["select"] / max(found["read"], found["gram"])
        print(f"selection takes {ratio:.2f} times the larger of reading and the product")
        if args.csv:
            write_csv(Path(folder) / "t.csv", int(args.csv), 30)
            print(f"CSV of {(Path(folder) / 't.csv').stat().st_size / 1e9:.2f} GB")
            measured("table", folder, args)


if __name__ == "__main__":
    main()
