"""The linear programs of SubspaceLPSVC beside HiGHS, and the classifier beside SVC and Nystroem, in one process.

Digits are MNIST's when RAREFY_DATA points to the folder of mnist.npz, else generated points of the same
shape. Times compare only as ratios within a run. See README.md in this folder.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from memory import peak_gigabytes
from scipy.optimize import linprog
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from rarefy.core.linalg.rows import DenseRows
from rarefy.core.solvers.box_lp import box_lp
from rarefy.kernel import KernelSubspace, SubspaceLPSVC

RESULTS = Path(__file__).parent / "results"
GAMMA = 1.0 / (784 * 0.2)
ALPHA = 0.08
HIGHS_LIMIT = 300.0
"""Seconds after which HiGHS is stopped; the ratio is then a lower bound."""


def digits(n_train, n_test):
    """Pixels in [-1, 1] and labels."""
    path = Path(os.environ.get("RAREFY_DATA", "")) / "mnist.npz"
    if path.is_file():
        with np.load(path) as stored:
            X, y = stored["X_train"].reshape(-1, 784), stored["y_train"]
            Z, z = stored["X_test"].reshape(-1, 784), stored["y_test"]
        scaled = [(part[:n].astype(np.float32) / 127.5 - 1.0) for part, n in ((X, n_train), (Z, n_test))]
        return scaled[0], y[:n_train], scaled[1], z[:n_test], "MNIST"
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((10, 4, 784)).astype(np.float32)
    labels = rng.integers(0, 10, n_train + n_test)
    X = centres[labels, rng.integers(0, 4, len(labels))] + 2.0 * rng.standard_normal(
        (len(labels), 784), dtype=np.float32
    )
    X = np.clip(X / 4.0, -1.0, 1.0)
    return X[:n_train], labels[:n_train], X[n_train:], labels[n_train:], "generated"


def clock(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def program(D, labels, digit):
    """Costs, bounds and rows of the dual program of one digit against the others."""
    m, S = D.shape
    y = np.where(labels == digit, 1.0, -1.0)
    lower = np.append(np.minimum(y, 0.0), np.full(S, -ALPHA))
    upper = np.append(np.maximum(y, 0.0), np.full(S, ALPHA))
    F = np.hstack([D, np.ones((m, 1))])
    return F, -np.eye(S, S + 1), np.append(-y, np.zeros(S)), lower, upper


def against_highs(X, y, S, digit):
    """One program, one thread: ours, HiGHS's simplex and HiGHS's interior point method."""
    D = KernelSubspace(S, n_landmarks=1000, gamma=GAMMA, random_state=0).fit_transform(X).astype(np.float64)
    F, few, c, lower, upper = program(D, y, digit)
    with threadpool_limits(1):
        runs = [clock(lambda: box_lp(DenseRows(F), c, lower, upper, few=few)) for _ in range(3)]
        ours, seconds = min(runs, key=lambda run: run[1])
        table = np.vstack([F, few]).T
        bounds = np.column_stack([lower, upper])
        peers = {}
        for method in ("highs-ds", "highs-ipm"):
            found, spent = clock(
                lambda method=method: linprog(
                    c,
                    A_eq=table,
                    b_eq=np.zeros(S + 1),
                    bounds=bounds,
                    method=method,
                    options={"time_limit": HIGHS_LIMIT},
                )
            )
            difference = None if found.fun is None or found.status else abs(found.fun - ours.objective) / abs(found.fun)
            peers[method] = {"seconds": spent, "finished": found.status == 0, "difference": difference}
            print(
                f"  {method}: {spent:.2f} s{'' if found.status == 0 else ' (stopped)'}, {spent / seconds:.0f}x",
                flush=True,
            )
    ratio = min(peer["seconds"] for peer in peers.values()) / seconds
    print(
        f"M={len(X)} S={S}: {seconds:.3f} s, {ours.n_iter} iterations, {ratio:.0f}x the better of HiGHS's two",
        flush=True,
    )
    return {"M": len(X), "S": S, "seconds": seconds, "n_iter": ours.n_iter, "ratio": ratio, "peers": peers}


def share_of_peak(m, S):
    """How fast a weighted Gram matrix is formed, beside a plain product of the same arrays, two threads."""
    F, w = np.random.default_rng(0).standard_normal((m, S + 1)), np.random.default_rng(1).random(m)
    rows = DenseRows(F)
    gram = min(clock(lambda: rows.gram(w))[1] for _ in range(5))
    A = np.random.default_rng(2).standard_normal((2000, 2000))
    product = min(clock(lambda: A @ A)[1] for _ in range(5))
    rate, peak = m * (S + 1) ** 2 / gram / 1e9, 2 * 2000**3 / product / 1e9
    print(
        f"Gram matrix of {m} x {S + 1}: {rate:.0f} Gflop/s (symmetric, counted once) of {peak:.0f}: {rate / peak:.0%}"
    )
    return {"m": m, "S": S, "gflops": rate, "peak": peak, "share": rate / peak}


def one_model(name, model, X, y, Z, z):
    _, fit = clock(lambda: model.fit(X, y))
    predicted, predict = clock(lambda: model.predict(Z))
    error = float(np.mean(predicted != z))
    print(f"{name}: fit {fit:.1f} s, predict {predict:.1f} s, error {error:.2%}", flush=True)
    return {"name": name, "fit": fit, "predict": predict, "error": error}


def curve(X, y, Z, z, sizes, n_landmarks):
    """Error against time: ours for several S, Nystroem with a linear SVM, and SVC."""
    runs = []
    for S in sizes:
        model = SubspaceLPSVC(
            ALPHA, n_components=S, n_landmarks=n_landmarks, gamma=GAMMA, random_state=0, n_jobs=2, tol=1e-6
        )
        runs.append({"S": S, **one_model(f"SubspaceLPSVC S={S}", model, X, y, Z, z)})
    for k in [k for k in (100, 200, 400, 1000) if k <= n_landmarks]:
        peer = make_pipeline(Nystroem(gamma=GAMMA, n_components=k, random_state=0), LinearSVC(C=1.0))
        runs.append({"k": k, **one_model(f"Nystroem({k}) + LinearSVC", peer, X, y, Z, z)})
    runs.append(one_model("SVC", SVC(gamma=GAMMA, C=10.0, cache_size=1000), X, y, Z, z))
    return runs


def path(X, y, S):
    """Ten weights of the norm: one after the other from each other's solutions, and each on its own."""
    model = SubspaceLPSVC(n_components=S, n_landmarks=1000, gamma=GAMMA, random_state=0, n_jobs=2)
    alphas = np.linspace(0.01, 0.1, 10)
    warm, together = clock(lambda: model.alpha_path(X, y, alphas))
    programs = model._prepare(X, y, None).programs
    cold, alone = clock(lambda: [programs.solve(alpha, n_jobs=2) for alpha in alphas])
    n_iter = (int(warm.attribute("n_iter_").sum()), int(sum(solution.n_iter.sum() for solution in cold)))
    print(f"alpha_path of 10 at S={S}: {together:.1f} s, {n_iter[0]} iterations; singly {alone:.1f} s, {n_iter[1]}")
    return {"S": S, "together": together, "alone": alone, "n_iter": n_iter}


def peak_memory(S):
    """Largest resident size, in GB, of a process that fits S dimensions; a process of its own, to be sure."""
    command = [sys.executable, __file__, "--memory", str(S)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def picture(results, file):
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for axis, what in zip(axes, ("fit", "predict"), strict=True):
        for key, label in (("S", "SubspaceLPSVC"), ("k", "Nystroem + LinearSVC")):
            runs = [run for run in results["curve"] if key in run]
            axis.plot([run[what] for run in runs], [100 * run["error"] for run in runs], "o-", label=label)
            for run in runs:
                axis.annotate(f"{run[key]}", (run[what], 100 * run["error"]), textcoords="offset points", xytext=(4, 4))
        svc = results["curve"][-1]
        axis.plot(svc[what], 100 * svc["error"], "s", label="SVC")
        axis.set(xscale="log", xlabel=f"seconds to {what}", ylabel="test error, %")
        axis.legend()
    figure.savefig(file, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    n, n_test, sizes = (3000, 500, (50, 100)) if options.quick else (60_000, 10_000, (100, 200, 400, 800))
    n_landmarks = 500 if options.quick else 3000
    X, y, Z, z, source = digits(n, n_test)
    if options.memory:
        SubspaceLPSVC(
            ALPHA,
            n_components=options.memory,
            n_landmarks=max(1000, options.memory),
            gamma=GAMMA,
            random_state=0,
            tol=1e-4,
        ).fit(X, y)
        print(peak_gigabytes())
        return
    print(f"{source} digits, {n} + {n_test}")
    small = 2000 if options.quick else 10_000
    results = {
        "source": source,
        "highs": [against_highs(X[:small], y[:small], S, digit=8) for S in ((50,) if options.quick else (100, 200))],
        "peak": [share_of_peak(n, S) for S in (100, 400)],
        "path": path(X[:small], y[:small], sizes[0]),
        "curve": curve(X, y, Z, z, sizes, n_landmarks),
    }
    results["memory"] = {"S": sizes[-1], "GB": peak_memory(sizes[-1])} if not options.quick else None
    if results["memory"]:
        print(f"peak memory of a fit with S={sizes[-1]}: {results['memory']['GB']:.2f} GB")
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "lp.json").write_text(json.dumps(results, indent=1))
    picture(results, RESULTS / "lp.png")


if __name__ == "__main__":
    main()
