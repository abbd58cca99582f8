"""Fits on the workers of a cluster on this machine: wall and processor time, bytes that move, and largest memory.

    python benchmarks/cluster.py rank --rows 2e6 --rare 500 --columns 20 --workers 2
    python benchmarks/cluster.py select --rows 1e6 --columns 1000 --workers 2
    python benchmarks/cluster.py compare --rows 1.25e6 --columns 200       # 1 GB, beside the same fits in memory
    python benchmarks/cluster.py compare --quiet                            # of a cluster that watches itself less
    python benchmarks/cluster.py scaling                                   # 1, 2 and 4 workers
    python benchmarks/cluster.py units                                     # what a row costs, for docs/scaling.json

Workers have one thread each. Data are written as a folder of blocks that workers read themselves, and deleted at the
end. On a machine that others use, processor time says more than wall time.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import dask
import distributed
import numpy as np
from sklearn.metrics import roc_auc_score

from rarefy import blocks
from rarefy.core.linalg.rows import DenseRows
from rarefy.kernel._gaussian import gaussian_kernel
from rarefy.ranking import RankRC
from rarefy.selection import BSSSelector

try:
    from benchmarks.blocks import generated, generated_rare
except ImportError:  # started as a script
    from blocks import generated, generated_rare


_QUIET = {
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.worker.profile.enabled": False,
}
"""Settings of a cluster with fewer looks at itself, as the guide has them."""


@contextmanager
def workers(n, memory):
    """A client of worker processes with one thread each."""
    with (
        distributed.LocalCluster(
            n_workers=n, threads_per_worker=1, dashboard_address=":0", memory_limit=memory
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _processor():
    return time.process_time()


def _peak():
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) * 1024 / 1e9


def measured(what, client, fit):
    """One line about a fit, and its figures."""
    counted = {"bytes": 0, "gathers": 0}
    gather = distributed.Client.gather

    def counting(self, futures, *args, **kwargs):
        found = gather(self, futures, *args, **kwargs)
        counted["gathers"] += 1
        counted["bytes"] += sum(getattr(one, "nbytes", 64) for one in found)
        return found

    distributed.Client.gather = counting
    before = sum(client.run(_processor).values()) if client else 0.0
    begin, own = time.perf_counter(), time.process_time()
    try:
        said = fit()
    finally:
        distributed.Client.gather = gather
    wall, own = time.perf_counter() - begin, time.process_time() - own
    there = sum(client.run(_processor).values()) - before if client else 0.0
    peaks = sorted(client.run(_peak).values()) if client else []
    figures = {"wall": wall, "client": own, "workers": there, "peak": _peak(), "peaks": peaks, **counted}
    print(
        f"{what}: {wall:.1f} s, processor {own:.1f} (client) + {there:.1f} s (workers); peak {_peak():.2f} GB (client)"
        f"{''.join(f' + {one:.2f}' for one in peaks)}; {counted['bytes'] / 1e6:.1f} MB in {counted['gathers']} "
        f"gatherings; {said}",
        flush=True,
    )
    return figures


def idling(client, seconds=10.0):
    """Processor time of workers, scheduler and client in a second in which nothing is asked of them."""
    begin, own, there = time.perf_counter(), time.process_time(), sum(client.run(_processor).values())
    time.sleep(seconds)
    used = time.process_time() - own + sum(client.run(_processor).values()) - there
    return used / (time.perf_counter() - begin)


def ranked(data, y):
    model = RankRC(basis="rare", random_state=0).fit(data, y)
    return f"{model.storage_}, {model.n_iter_} steps, AUC {roc_auc_score(y, model.score_samples(data)):.4f}"


def selected(data, d):
    chosen = BSSSelector(d // 2, rank=d // 4).fit(data)
    return f"keeps {chosen.certificate_.energy_kept:.4f} of the squared norm"


def rank(args, folder):
    data = blocks.from_arrays(folder / "data", generated_rare(args.rows, args.columns, args.rare))
    with workers(args.workers, args.memory) as client:
        measured(
            f"RankRC, {args.rows:.3g} x {args.rare} rare, {args.workers} workers", client,
            lambda: ranked(data.on_workers(), data.target),
        )  # fmt: skip


def select(args, folder):
    data = blocks.from_arrays(folder / "data", generated(args.rows, args.columns))
    with workers(args.workers, args.memory) as client:
        measured(
            f"selection, {args.rows:.3g} x {args.columns}, {args.workers} workers", client,
            lambda: selected(data.on_workers(), args.columns),
        )  # fmt: skip


def compare(args, folder):
    """The same fits in memory and by two workers that hold the data, one after the other."""
    import dask.array as da

    X, y = (np.concatenate(part) for part in zip(*generated_rare(args.rows, args.columns, args.rare), strict=True))
    print(f"{X.nbytes / 1e9:.2f} GB")
    local = {
        "selection": measured("selection in memory", None, lambda: selected(X, args.columns)),
        "RankRC": measured("RankRC in memory", None, lambda: ranked(X, y)),
    }
    with workers(args.workers, args.memory) as client:
        D = client.persist(da.from_array(X, chunks=(125_000, args.columns)))
        distributed.wait(D)
        idle = idling(client)
        print(f"an idle cluster takes {idle:.3f} s of a processor each second: heartbeats, watching itself", flush=True)
        fits = {"selection": lambda: selected(D, args.columns), "RankRC": lambda: _ranked_lazily(D, y)}
        for name, fit in fits.items():
            there = measured(f"{name} with Dask", client, fit)
            processor = (there["client"] + there["workers"]) / local[name]["client"]
            without = processor - idle * there["wall"] / local[name]["client"]
            print(
                f"  {there['wall'] / local[name]['wall']:.2f} x the time, {processor:.2f} x the processor time "
                f"({without:.2f} x without what an idle cluster takes in that time)",
                flush=True,
            )


def _ranked_lazily(D, y):
    model = RankRC(basis="rare", random_state=0).fit(D, y)
    scores = model.score_samples(D).compute()
    return f"{model.storage_}, {model.n_iter_} steps, AUC {roc_auc_score(y, scores):.4f}"


def scaling(args, folder):
    wide = blocks.from_arrays(folder / "wide", generated(args.rows, args.columns))
    rare = blocks.from_arrays(folder / "rare", generated_rare(args.rows, 20, args.rare))
    for n in (1, 2, 4):
        with workers(n, args.memory) as client:
            measured(f"selection, {n} workers", client, lambda: selected(wide.on_workers(), args.columns))
            measured(f"RankRC, {n} workers", client, lambda: ranked(rare.on_workers(), rare.target))


def units(args, folder):
    """Seconds of a processor for what fits consist of, of one thread, and what a task and a byte cost."""
    rng, found = np.random.default_rng(0), {}

    def best(name, per, action, repeats=5):
        times = []
        for _ in range(repeats):
            begin = time.process_time()
            action()
            times.append(time.process_time() - begin)
        found[name] = min(times) / per
        print(f"{name}: {found[name]:.3g} s", flush=True)

    n, d, r = 100_000, 200, 300
    A = DenseRows(rng.standard_normal((n, d), dtype=np.float32))
    best("gram, a row x column x column", n * d * d, lambda: A.gram())
    X, P = rng.standard_normal((20_000, 20), dtype=np.float32), rng.standard_normal((r, 20), dtype=np.float32)
    out = np.empty((20_000, r))
    best("kernel value", out.size, lambda: gaussian_kernel(X, P, 0.05, out=out))
    K, v, u = DenseRows(out), rng.standard_normal(r), rng.standard_normal(20_000)
    best("product, an entry", out.size, lambda: K @ v)
    best("transposed product, an entry", out.size, lambda: K.T @ u)
    f = rng.standard_normal(2_000_000)
    best("loss of all pairs, a row", f.size, lambda: np.argsort(f, kind="stable"), 3)
    path = folder / "block.npy"
    np.save(path, X)
    with workers(1, args.memory) as client:
        client.gather(client.map(abs, range(10)))
        begin = time.perf_counter()
        client.gather([client.submit(abs, -i, pure=False) for i in range(500)])
        found["task"] = (time.perf_counter() - begin) / 500
        big = client.submit(np.ones, 20_000_000)
        distributed.wait(big)
        begin = time.perf_counter()
        client.gather(big)
        found["byte to the client"] = (time.perf_counter() - begin) / 160e6
    print(json.dumps(found, indent=1))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["rank", "select", "compare", "scaling", "units"])
    parser.add_argument("--rows", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--columns", type=int, default=200)
    parser.add_argument("--rare", type=int, default=300)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="4GB", help="limit of a worker")
    parser.add_argument("--quiet", action="store_true", help="a cluster that seldom looks at itself")
    parser.add_argument("--where", default=None, help="where the data are written; they are deleted at the end")
    args = parser.parse_args()
    if args.quiet:
        dask.config.set(_QUIET)
    with tempfile.TemporaryDirectory(dir=args.where) as folder:
        globals()[args.what](args, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
