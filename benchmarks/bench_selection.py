"""Time, memory and growth of the selectors, beside a textbook loop and selectors of other packages.

Everything is measured in one process on the same arrays and with the same number of BLAS threads;
times compare only as ratios within a run. See README.md in this folder.
"""

import argparse
import os
import platform
import time
import tracemalloc
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from unittest import mock

import numpy as np
import scipy.sparse as sp
from peers import PEERS, load_all, right_vectors, textbook
from report import DEFAULT, FAMILY, TEXTBOOK, figure, megabytes, save, seconds, table, times, verdicts
from threadpoolctl import threadpool_info, threadpool_limits

import rarefy
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import RightVectors, decompose
from rarefy.core.sparsify import bss as bss_module
from rarefy.exceptions import FewerFeaturesWarning
from rarefy.selection import BSSSelector, LeverageScoreSelector

LEVERAGE = "LeverageScoreSelector"
DENSITY = 0.01
LEAST_OCCURRENCES = 2.0
"""Of a word, on average: with fewer, hardly two documents share a word and the matrix is no text."""

PARTIAL_STEPS = 60
"""Steps of the textbook loop where it is not run to its end."""

FAST = 10.0
"""Seconds below which a measurement is repeated and the best of three counts."""

BUSY = 1.2
"""Several threads should multiply at least this much faster than one."""

WEIGHT_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Plan:
    """What is measured: pilots and sizes are (n, d, r); growth holds values of each."""

    pilots: tuple
    sizes: tuple
    large: tuple
    growth: dict
    gemm: int
    budget: float


FULL = Plan(
    pilots=((40, 1000, 80), (100, 4000, 200)),
    sizes=((180, 14000, 400), (150, 20000, 300), (280, 50000, 500)),
    large=((200, 200_000, 400), (200, 1_000_000, 400)),
    growth={"d": (5000, 10_000, 20_000, 40_000, 80_000), "n": (50, 100, 200, 400), "r": (125, 200, 400, 800)},
    gemm=2000,
    budget=120.0,
)
QUICK = Plan(
    pilots=((40, 2000, 80),),
    sizes=((60, 25_000, 100), (60, 30_000, 120)),
    large=((60, 60_000, 120),),
    growth={"d": (2000, 4000, 8000), "n": (25, 50, 100), "r": (63, 100, 200)},
    gemm=500,
    budget=2.0,
)


@dataclass(frozen=True)
class Case:
    """One data matrix with labels, and the number of features to keep."""

    X: object
    y: np.ndarray
    r: int

    @property
    def storage(self):
        return "CSR" if sp.issparse(self.X) else "dense"

    @property
    def shape(self):
        return (*self.X.shape, self.r)

    @property
    def name(self):
        n, d, r = self.shape
        return f"{n}x{d} r={r} {self.storage}"


def make_case(n, d, r, storage, seed=0):
    rng = np.random.default_rng(seed)
    X = text_like(n, d, rng) if storage == "CSR" else rng.standard_normal((n, d))
    return Case(X, labels(X, rng), r)


def text_like(n, d, rng):
    """Tf-idf of texts with Zipf word frequencies; every word occurs, documents differ in length."""
    rank = np.arange(1, d + 1)
    wanted = d * max(DENSITY * n, LEAST_OCCURRENCES)
    low, high = 1.0, float(n * d)
    for _ in range(60):  # the scale of 1/rank that gives the density; a word occurs 1 to n times
        scale = np.sqrt(low * high)
        low, high = (scale, high) if np.clip(scale / rank, 1, n).sum() < wanted else (low, scale)
    occurrences = np.clip(low / rank, 1, n).round().astype(np.intp)
    length = rng.lognormal(sigma=0.4, size=n)
    document = rng.choice(n, size=occurrences.sum(), p=length / length.sum()).astype(np.int32)
    word = np.repeat(np.arange(d, dtype=np.int32), occurrences)
    tf = sp.coo_array((np.ones(len(word)), (document, word)), shape=(n, d)).tocsr()
    tf.sum_duplicates()
    df = np.bincount(tf.indices, minlength=d)
    tf.data = (1.0 + np.log(tf.data)) * (1.0 + np.log((1 + n) / (1 + df)))[tf.indices]
    norm = np.sqrt(np.add.reduceat(tf.data**2, tf.indptr[:-1]))
    tf.data /= np.repeat(norm, np.diff(tf.indptr))
    return tf


def labels(X, rng):
    """Balanced signs of a few columns, mixed and disturbed."""
    signal = X[:, :10] @ rng.standard_normal(10)
    score = signal / signal.std() + 0.5 * rng.standard_normal(X.shape[0])
    return np.where(score > np.median(score), 1, -1)


def selectors(r):
    return {
        FAMILY: BSSSelector(r, weighting="bss"),
        DEFAULT: BSSSelector(r),
        LEVERAGE: LeverageScoreSelector(r, random_state=0),
    }


def clock(action):
    """Seconds and result; the best of three where one is fast."""
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        result = action()
        elapsed = time.perf_counter() - start
        best = min(best, elapsed)
        if elapsed > FAST:
            break
    return best, result


def peak_memory(action):
    """Most bytes allocated through Python and numpy at any one time; the input is not counted."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class Contest:
    """Measures one contestant after the other, and remembers times to foresee longer ones."""

    def __init__(self, budget, textbook_steps, results):
        self._budget = budget
        self._steps = textbook_steps
        self._results = results
        self._seen = {}

    def warm_up(self, case):
        """Load what is loaded at the first call and take the times the estimates start from."""
        for selector in selectors(case.r).values():
            selector.fit(case.X)
        for peer in PEERS:
            self._peer(peer, case)

    def run(self, case, full_textbook):
        row = table(case.name, [("contestant", 22), ("time", 9), ("vs BSS", 8), ("kept", 5), ("", 0)])
        records, fitted = [], {}

        def record(name, **fields):
            base = {"case": case.name, "storage": case.storage, "shape": case.shape, "contestant": name}
            fields = {"seconds": None, "kept": None, "note": "", **fields}
            ours = records[0]["seconds"] if records else fields["seconds"]
            ratio = None if fields["seconds"] is None else fields["seconds"] / ours
            records.append({**base, "ratio": ratio, **fields})
            row(name, seconds(fields["seconds"]), times(ratio), fields["kept"] or "", fields["note"])

        for name, selector in selectors(case.r).items():
            elapsed, fitted[name] = clock(lambda s=selector: s.fit(case.X))
            found = measure_memory(case, name, selector, elapsed)
            self._results["memory"].append(found)
            dense = megabytes(found["dense_bytes"])
            note = f"peak memory {megabytes(found['peak_bytes'])}; n x d float64 is {dense}"
            record(name, seconds=elapsed, kept=found["kept"], note=note)
        record(TEXTBOOK, **self._textbook(case, full_textbook, fitted[FAMILY], records[0]["seconds"]))
        for peer in PEERS:
            record(peer.name, **self._peer(peer, case))
        self._results["comparison"] += records

    def _textbook(self, case, full, ours, our_seconds):
        steps = case.r if full else PARTIAL_STEPS
        if self._steps is not None:
            steps = self._steps or case.r
        run = textbook(right_vectors(case.X), case.r, steps, self._budget)
        same, error = agreement(run, ours)
        least = run.least_seconds / our_seconds
        what = "same selection" if same else "DIFFERENT SELECTION"
        if run.complete:
            note = f"{what}, weights differ by {error:.1e}" if error is not None else what
        else:
            note = f"extrapolated from {len(run.draws)} of {run.r} steps; {what} so far"
        return {
            "seconds": run.seconds,
            "kept": len(run.selection()[0]) if run.complete else None,
            "note": f"{note}; {times(least)} by its fastest step",
            "complete": run.complete,
            "steps": len(run.draws),
            "same": same,
            "weight_error": error,
            "least_ratio": least,
        }

    def _peer(self, peer, case):
        if case.storage == "CSR" and not peer.sparse:
            return {"note": "takes no sparse input"}
        try:
            select = peer.load()
        except ImportError:
            return {"note": "not installed"}
        work = peer.work(*case.shape)
        seen_work, seen_seconds = self._seen.get((peer.name, case.storage), (work, 0.0))
        estimate = seen_seconds * work / seen_work
        if estimate > self._budget:
            return {"note": f"skipped: estimated {estimate:.0f} s"}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                elapsed, kept = clock(lambda: select(case.X, case.y, case.r))
        except Exception as error:  # one peer that fails must not end the comparison
            return {"note": f"failed: {type(error).__name__}: {error}".splitlines()[0][:80]}
        if work >= seen_work:
            self._seen[peer.name, case.storage] = (work, elapsed)
        return {"seconds": elapsed, "kept": len(np.unique(kept))}


def agreement(run, selector):
    """Whether the textbook loop took the same columns in the same order, and the largest relative
    difference of weights (only a complete run has final weights)."""
    columns, weights = run.selection()
    if not run.complete:
        return bool(np.array_equal(columns, selector.selection_order_[: len(columns)])), None
    if not np.array_equal(columns, selector.selection_order_):
        return False, None
    error = float(np.max(np.abs(weights / selector.certificate_.weights - 1.0)))  # both in the order of selection
    return error < WEIGHT_TOLERANCE, error


def measure_memory(case, name, selector, elapsed):
    """Fit once more, untimed, with the allocations traced."""
    peak = peak_memory(lambda: selector.fit(case.X))
    n, d, r = case.shape
    record = {"case": case.name, "storage": case.storage, "n": n, "d": d, "r": r, "contestant": name}
    return record | {
        "seconds": elapsed,
        "kept": len(selector.selection_order_),
        "peak_bytes": peak,
        "dense_bytes": n * d * 8,
    }


def compare(plan, arguments, results):
    contest = Contest(arguments.budget or plan.budget, arguments.textbook_steps, results)
    for n, d, r in plan.pilots:
        for storage in ("dense", "CSR"):
            contest.warm_up(make_case(n, d, r, storage))
    for storage in ("dense", "CSR"):
        for position, (n, d, r) in enumerate(plan.sizes):
            contest.run(make_case(n, d, r, storage), full_textbook=storage == "dense" and position < 2)


def large_sparse(plan, results):
    columns = [("contestant", 22), ("n", 5), ("d", 9), ("r", 5), ("time", 9), ("peak", 10), ("n x d", 10), ("", 0)]
    row = table("Large CSR input", columns)
    for n, d, r in plan.large:
        case = make_case(n, d, r, "CSR")
        for name, selector in selectors(r).items():
            outcome = {"case": case.name, "d": d, "contestant": name, "seconds": None, "error": None}
            results["large"].append(outcome)
            try:
                outcome["seconds"], _ = clock(lambda s=selector, X=case.X: s.fit(X))
                found = measure_memory(case, name, selector, outcome["seconds"])
            except Exception as error:  # running out of memory is a result too
                outcome["error"] = f"{type(error).__name__}: {error}"
                row(name, n, d, r, "failed", "", "", outcome["error"])
                continue
            results["memory"].append(found)
            peak, dense = found["peak_bytes"], found["dense_bytes"]
            share = f"{peak / dense:.1%} of a dense array"
            row(name, n, d, r, seconds(outcome["seconds"]), megabytes(peak), megabytes(dense), share)


def growth(plan, results):
    values = plan.growth
    n, d = sorted(values["n"])[1], sorted(values["d"])[len(values["d"]) // 2]
    curves = (
        ("d", "features d", f"n = l = {n}, r = {2 * n}", lambda v: (n, v, 2 * n)),
        ("n", "rows n = dimensions l", f"d = {d}, r = 2 n", lambda v: (v, d, 2 * v)),
        ("r", "features kept r", f"n = l = {n}, d = {d}", lambda v: (n, d, v)),
    )
    row = table(f"Growth of {FAMILY}.fit (dense)", [("n", 5), ("d", 7), ("r", 5), ("time", 9), ("", 0)])
    for variable, label, fixed, shape in curves:
        measured = []
        for value in values[variable]:
            case = make_case(*shape(value), "dense")
            measured.append(clock(lambda c=case: BSSSelector(c.r, weighting="bss").fit(c.X))[0])
            row(*case.shape, seconds(measured[-1]))
        slope = float(np.polyfit(np.log(values[variable]), np.log(measured), 1)[0])
        print(f"  time grows as {variable}^{slope:.2f} ({fixed})", flush=True)
        curve = {"variable": variable, "label": label, "fixed": fixed, "values": list(values[variable])}
        results["growth"].append({**curve, "seconds": measured, "slope": slope})


def gemm_rate(size, threads):
    A = np.random.default_rng(0).standard_normal((size, size))
    with threadpool_limits(limits=threads, user_api="blas"):
        A @ A
        return 2.0 * size**3 / clock(lambda: A @ A)[0]


@contextmanager
def counted_loop(n):
    """Count the flops of one sparsification: matrix products, and 9 l^3 for a decomposition."""
    count = {"rows": 0, "resolvents": 0.0, "scores": 0.0, "coordinates": 0.0, "decompositions": 0.0}
    resolvent = bss_module._Resolvent
    init, forms, take, rotated = resolvent.__init__, resolvent.forms, RightVectors.take, RightVectors.rotated

    def counting_init(self, D, Z, J):
        ell, k = Z.shape
        count["resolvents"] += 2.0 * ell * k * k + 2.0 * k**3
        init(self, D, Z, J)

    def counting_forms(self, C):
        k = self._DinvZ.shape[1]
        count["scores"] += 4.0 * C.size * k + 2.0 * len(C) * k * k
        count["rows"] += len(C)
        return forms(self, C)

    def counting_take(self, index):
        count["coordinates"] += 2.0 * n * len(index) * self.shape[1]
        return take(self, index)

    def counting_rotated(self, Q):
        count["decompositions"] += 9.0 * len(Q) ** 3 + 2.0 * n * len(Q) ** 2
        return rotated(self, Q)

    with (
        mock.patch.multiple(resolvent, __init__=counting_init, forms=counting_forms),
        mock.patch.multiple(RightVectors, take=counting_take, rotated=counting_rotated),
    ):
        yield count


def hardware(plan, threads, results):
    rate = {"one thread": gemm_rate(plan.gemm, 1), "all threads": gemm_rate(plan.gemm, threads)}
    print(f"\nMatrix product: {rate['one thread'] / 1e9:.1f} Gflop/s on one thread, ", end="")
    print(f"{rate['all threads'] / 1e9:.1f} on {threads}", flush=True)
    if threads > 1 and rate["all threads"] < BUSY * rate["one thread"]:
        print("The computer is busy with something else: times below are not to be trusted. Try --threads 1.")
    results["hardware"] = {"gemm_flops_per_second": rate, "parts": []}
    columns = [("size", 20), ("part", 15), ("time", 9), ("Gflop", 8), ("Gflop/s", 8), ("of the product's rate", 0)]
    row = table("Share of the hardware limit (dense)", columns)
    for n, d, r in plan.sizes:
        rows = as_rows(make_case(n, d, r, "dense").X)
        elapsed, spec = clock(lambda rows=rows: decompose(rows).leading())
        flops = n * n * d + 2.0 * n * d * spec.rank  # the symmetric product, then the norms of the rows of V
        parts = [("spectrum", elapsed, {"gram and norms": flops}, "all threads")]
        elapsed, _ = clock(lambda spec=spec, r=r: bss_module.bss(spec.V, r))
        with counted_loop(n) as count:
            bss_module.bss(spec.V, r)
        scored = count.pop("rows") / 2  # each row is scored against both barriers
        parts.append(("sparsification", elapsed, count, "one thread"))
        for part, elapsed, flops, limit in parts:
            total = sum(flops.values())
            share = total / elapsed / rate[limit]
            record = {"n": n, "d": d, "r": r, "part": part, "seconds": elapsed, "flops": flops, "limit": limit}
            results["hardware"]["parts"].append({**record, "share": share, "rows_scored": scored})
            figures = f"{total / 1e9:.2f}", f"{total / elapsed / 1e9:.1f}"
            row(f"{n}x{d} r={r}", part, seconds(elapsed), *figures, f"{share:.0%} ({limit})")


def environment(threads):
    packages = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "matplotlib", "skmatter", "fastcan")
    versions = {"rarefy": rarefy.__version__, "python": platform.python_version()}
    for package in packages:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    pools = [{key: pool[key] for key in ("internal_api", "version", "num_threads")} for pool in threadpool_info()]
    return {
        "versions": versions,
        "model": platform.model(),
        "system": platform.system(),
        "cpu_count": os.cpu_count(),
        "load_average": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "threads": threads,
        "thread_pools": pools,
    }


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: does everything work, in half a minute")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="folder for the results")
    parser.add_argument("--budget", type=float, help=f"seconds a peer may take (default {FULL.budget:.0f})")
    parser.add_argument("--threads", type=int, default=os.cpu_count(), help="BLAS and OpenMP threads (default: all)")
    parser.add_argument(
        "--textbook-steps",
        type=int,
        default=None,
        help=f"steps of the textbook loop, 0 for all (default: all for two dense sizes, else {PARTIAL_STEPS})",
    )
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    plan = QUICK if arguments.quick else FULL
    start = time.perf_counter()
    warnings.simplefilter("ignore", FewerFeaturesWarning)  # the tables have how many were kept
    load_all()
    with threadpool_limits(limits=arguments.threads):
        results = {"environment": environment(arguments.threads), "quick": arguments.quick, "comparison": []}
        results |= {"memory": [], "large": [], "growth": [], "hardware": None, "verdicts": []}
        print(", ".join(f"{k} {v or 'not installed'}" for k, v in results["environment"]["versions"].items()))
        print(f"CPUs: {os.cpu_count()}, threads for everyone: {arguments.threads}", flush=True)
        hardware(plan, arguments.threads, results)
        compare(plan, arguments, results)
        save(results, arguments.out)
        large_sparse(plan, results)
        growth(plan, results)
    results["verdicts"] = verdicts(results)
    results["total_seconds"] = time.perf_counter() - start
    save(results, arguments.out)
    figure(results, arguments.out / "selection.png")
    print("\nVerdicts" + " (on sizes smaller than the claims are about)" * arguments.quick)
    for verdict in results["verdicts"]:
        print(f"{verdict['verdict']:>12}  {verdict['claim']}: {verdict['evidence']}")
    print(f"\n{results['total_seconds']:.0f} s in all; selection.json and selection.png are in {arguments.out}")


if __name__ == "__main__":
    main()
