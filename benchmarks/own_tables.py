"""From a file to a report: processor time and memory of the commands on people's own tables.

    python benchmarks/own_tables.py            # both tables as documented; about five minutes
    python benchmarks/own_tables.py --quick    # a tenth of the rows and columns: does it all work

Each measurement is a process of its own, on one thread, so that its largest memory is its own. `pandas.read_csv` alone,
in the same run on the same files, is what they are measured against.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

_PANDAS = "import sys, pandas; pandas.read_csv(sys.argv[1])"
_TABLE = "import sys; from rarefy.tables import read_table; read_table(sys.argv[1])"
_COMMAND = "from rarefy.cli import main; main()"
_MEASURED = """
import os, sys
body, sys.argv = sys.argv[1], ["rarefy", *sys.argv[2:]]
try:
    exec(body)
except SystemExit as end:
    assert not end.code, end.code
finally:
    times, status = os.times(), open("/proc/self/status").read()
    peak = next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
    print("MEASURED", times.user + times.system, int(peak) * 1024 / 1e9)
"""


def write_long(path, n, rng):
    """Numbers with a 0/1 target that depends on some of them, one row in fifty positive."""
    X = rng.standard_normal((n, 30))
    X[:, 5] = 0.7 * X[:, 0] + 0.3 * X[:, 5]
    X[:, 10:15] = np.exp(X[:, 10:15])
    X[:, 20] = X[:, 20] > 0.5
    f = X[:, 0] + 0.8 * X[:, 1] - 0.6 * X[:, 2] + 0.3 * X[:, 3] ** 2 + 0.2 * X[:, 10] - 0.5 * X[:, 20]
    f += rng.logistic(size=n)
    _write(path, X, "c", "y", (f > np.quantile(f, 0.98)).astype(int))


def write_wide(path, d, rng):
    """One hundred rows of many numbers, with two classes."""
    X = rng.standard_normal((100, d))
    _write(path, X, "g", "class", np.where(X[:, :5].sum(axis=1) + rng.standard_normal(100) > 0.0, "a", "b"))


def write_classes(path, d, rng):
    """Three hundred rows of forty classes."""
    y = rng.permutation(np.arange(300) % 40)
    X = 2.0 * rng.standard_normal((40, d)) * (rng.random((40, d)) < 0.1)
    _write(path, X[y] + rng.standard_normal((300, d)), "g", "class", np.array([f"k{i}" for i in y]))


def _write(path, X, letter, target, y):
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"{letter}{j}" for j in range(X.shape[1])]).round(5)
    frame[target] = y
    frame.to_csv(path, index=False)


def measure(body, *arguments):
    """Processor seconds and the largest resident size, in GB, of a process of its own."""
    once = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-c", _MEASURED, body, *map(str, arguments)],
        env=os.environ | once,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr)
    seconds, peak = next(line for line in done.stdout.splitlines() if line.startswith("MEASURED")).split()[1:]
    return float(seconds), float(peak)


def jobs(folder, scale):
    """Name of the table, what is done, and what to run."""
    rng = np.random.default_rng(0)
    long, wide, many = folder / "long.csv", folder / "wide.csv", folder / "classes.csv"
    write_wide(wide, int(20_000 * scale), rng)
    write_classes(many, 200, rng)
    write_long(long, int(1_000_000 * scale), rng)
    report, certificate = ("--report", folder / "report.html"), ("--certificate", folder / "c.json")
    for name, file, target in (("wide", wide, "class"), ("long", long, "y")):
        yield name, "pandas.read_csv", (_PANDAS, file)
        yield name, "rarefy.tables.read_table", (_TABLE, file)
        keep = ("select", file, "--target", target, "--keep", 50 if name == "wide" else 5)
        yield name, "select", (_COMMAND, *keep)
        yield name, "select, report, certificate", (_COMMAND, *keep, *report, *certificate)
        yield name, "verify", (_COMMAND, "verify", certificate[1], file)
    yield "long", "select without a target", (_COMMAND, "select", long, "--keep", 5)
    rank = ("rank", long, "--target", "y", "--recall", "0.9")
    yield "long", "rank, report", (_COMMAND, *rank, *report)
    yield "long", "rank of 50 000 rows", (_COMMAND, *rank, "--sample", int(50_000 * scale))
    yield "40 classes", "select", (_COMMAND, "select", many, "--target", "class", "--keep", 20)


def main():
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and columns")
    scale = 0.1 if parser.parse_args().quick else 1.0
    busy = os.getloadavg()[0]
    if busy > 0.5:
        print(f"# other work is running (load {busy:.1f}): processor times are longer than on an idle computer")
    print(f"{'table':12} {'what':30} {'seconds':>8} {'GB':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name, what, job in jobs(Path(folder), scale):
            seconds, peak = measure(*job)
            print(f"{name:12} {what:30} {seconds:8.1f} {peak:6.2f}", flush=True)


if __name__ == "__main__":
    main()
