"""RankRC: against scikit-survival's kernel SVM on the same pairs, and its growth with rows and rare rows.

scikit-survival (GPL) is used as a program to compare with, when it is installed. Times compare only as ratios
within a run. See README.md in this folder.
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
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

import rarefy
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.ranking import RankRC

RESULTS = Path(__file__).parent / "results"


def clock(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def generated(m, rare, d=10, seed=0):
    """A rare class of three clusters in a cloud."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d), dtype=np.float32)
    X[:rare] = 0.7 * X[:rare] + 1.5 * rng.choice([-1.0, 0.0, 1.0], (3, d))[rng.integers(0, 3, rare)]
    return X, (np.arange(m) < rare).astype(int)


def against_survival(n=1000, rare=100):
    """RankSVM with all kernel functions on the same pairs: every rare sample should come before every other."""
    try:
        from sksurv.svm import FastKernelSurvivalSVM
    except ModuleNotFoundError:
        print("scikit-survival is not installed; skipped")
        return None
    X, y = generated(n, rare)
    RankRC(basis="all").fit(X[:200], (np.arange(200) < 20).astype(int))  # load what is loaded lazily
    with threadpool_limits(1):
        ours, seconds = clock(lambda: RankRC(1e-2, basis="all").fit(X, y))
    # One event time for the rare samples and a later, censored one for the others: the comparable pairs are the same.
    outcome = np.array([(bool(label), 1.0 if label else 2.0) for label in y], dtype=[("event", bool), ("time", float)])
    gamma = float(ours.gamma_)
    # Theirs is 1/2 |f|^2 + alpha/2 (sum of squared hinges), ours 1/alpha times as large and a mean over the pairs.
    model = FastKernelSurvivalSVM(
        alpha=1.0 / (1e-2 * rare * (n - rare)),
        rank_ratio=1.0,
        kernel="rbf",
        gamma=gamma,
        optimizer="rbtree",
        max_iter=1000,
        tol=1e-6,
        random_state=0,
    )
    with threadpool_limits(1):
        theirs, spent = clock(lambda: model.fit(X.astype(np.float64), outcome))
    areas = roc_auc_score(y, ours.decision_function(X)), roc_auc_score(y, theirs.predict(X.astype(np.float64)))
    print(f"n={n}: RankRC(basis='all') {seconds:.2f} s, FastKernelSurvivalSVM {spent:.1f} s, {spent / seconds:.0f}x")
    print(f"  area under the curve on the training data {areas[0]:.4f} and {areas[1]:.4f}")
    return {"n": n, "seconds": seconds, "theirs": spent, "ratio": spent / seconds, "areas": areas}


def growth(rows, rares):
    """Seconds of a fit for several numbers of rows, and of rare rows."""
    runs = []
    for m, rare in [(m, rares[0]) for m in rows] + [(rows[1], r) for r in rares[1:]]:
        X, y = generated(m, rare)
        with rarefy.config_context(memory_budget=6e9):
            model, seconds = clock(lambda X=X, y=y: RankRC(1e-4, basis="rare").fit(X, y))
        runs.append({"m": m, "rare": rare, "seconds": seconds, "n_iter": model.n_iter_, "storage": model.storage_})
        print(f"m={m} rare={rare}: {seconds:.1f} s, {model.n_iter_} iterations, {model.storage_}", flush=True)
    by_m = [run for run in runs if run["rare"] == rares[0]]
    slope = np.polyfit(np.log([r["m"] for r in by_m]), np.log([r["seconds"] for r in by_m]), 1)[0]
    print(f"seconds grow with m to the power of {slope:.2f}")
    return {"runs": runs, "power": float(slope)}


def beside_a_kernel_block(d, m=60_000, rare=300, alpha=1e-4, repeats=3):
    """A whole fit beside scikit-learn's kernel values of the same shape, and its passes over them."""
    X, y = generated(m, rare, d=d)
    passes, product = [0], DenseRows.__matmul__

    def counted(self, v):
        passes[0] += self.shape in ((m, rare), (rare, m))
        return product(self, v)

    with rarefy.config_context(memory_budget=6e9):
        model = RankRC(alpha, basis="rare")
        fit = min(clock(lambda: model.fit(X, y))[1] for _ in range(repeats))
        block = min(clock(lambda: rbf_kernel(X, X[:rare], gamma=model.gamma_))[1] for _ in range(repeats))
        DenseRows.__matmul__ = counted
        try:
            model.fit(X, y)
        finally:
            DenseRows.__matmul__ = product
    print(
        f"{m} x {rare}, {d} features: fit {fit:.2f} s, rbf_kernel {block:.3f} s, {fit / block:.1f}x; "
        f"{passes[0]} passes, objective {model.objective_:.8g}"
    )
    return {
        "d": d,
        "fit": fit,
        "block": block,
        "ratio": fit / block,
        "passes": passes[0],
        "objective": model.objective_,
    }


def draw(result, path):
    """Seconds of the fits against rows and against rare rows, beside lines of slope one."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.2), layout="constrained")
    runs = result["runs"]
    fewest, rows = min(run["rare"] for run in runs), runs[1]["m"]
    for axes, name, kept in zip(
        figure.subplots(1, 2),
        ("m", "rare"),
        ([r for r in runs if r["rare"] == fewest], [r for r in runs if r["m"] == rows]),
        strict=True,
    ):
        x, seconds = np.array([r[name] for r in kept]), np.array([r["seconds"] for r in kept])
        axes.loglog(x, seconds, "o-", label="measured")
        axes.loglog(x, seconds[0] * x / x[0], "--", color="grey", label="slope 1")
        axes.set(xlabel="samples" if name == "m" else "rare samples (kernel functions)", ylabel="seconds")
        axes.minorticks_off()
        axes.set_xticks(x, [f"{value // 1000:g}k" if value >= 10_000 else str(value) for value in x])
        ticks = [t for t in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50) if seconds.min() / 2 < t < 2 * seconds.max()]
        axes.set_yticks(ticks, [str(t) for t in ticks])
        axes.legend()
    figure.savefig(path)


def share_of_bandwidth(m=200_000, rare=1000):
    """A product with the kernel block and one with its transpose, against a plain sum over the same array."""
    K = np.random.default_rng(0).random((m, rare))
    v, u = np.ones(rare), np.ones(m)
    reading = min(clock(lambda: K.sum())[1] for _ in range(3))
    product = min(clock(lambda: (K @ v, u @ K))[1] for _ in range(3)) / 2
    loss = PairLoss(Pairs.of((np.arange(m) < rare).astype(int)))
    f = np.random.default_rng(1).standard_normal(m)
    sorting = min(clock(lambda: loss.at(f))[1] for _ in range(3))
    rates = K.nbytes / product / 1e9, K.nbytes / reading / 1e9
    print(f"block of {m} x {rare}: {rates[0]:.1f} GB/s in a product, {rates[1]:.1f} in a sum")
    print(f"  a loss with its gradient takes {sorting / product:.0%} of a product")
    return {"product": product, "reading": reading, "loss": sorting}


def kdd():
    """The 10 % file of KDD Cup 1999: remote-to-local and user-to-root attacks against the rest."""
    path = Path(os.environ.get("RAREFY_DATA", "")) / "large" / "kddcup99_10pct.npz"
    if not path.is_file():
        print("kddcup99_10pct.npz is not there; skipped")
        return None
    with np.load(path, allow_pickle=False) as stored:
        X, Z = stored["X_train"], stored["X_test"]
        y, z = ((stored[name] >= 3).astype(int) for name in ("y_train", "y_test"))  # remote-to-local, user-to-root
    coded = [1, 2, 3]
    both = np.vstack([X, Z])
    indicators = [both[:, [c]] == np.unique(both[:, c]) for c in coded]
    both = np.hstack([np.delete(both, coded, axis=1), *indicators]).astype(np.float32)
    both -= both[: len(X)].mean(axis=0)
    both /= np.maximum(both[: len(X)].std(axis=0), 1e-6)
    X, Z = both[: len(X)], both[len(X) :]
    with rarefy.config_context(memory_budget=2.5e9):
        model, seconds = clock(lambda: RankRC(2.0**-12, tol=1e-5, basis="rare").fit(X, y))
    area = roc_auc_score(z, model.decision_function(Z))
    print(f"KDD Cup, {len(X)} rows, {int(y.sum())} rare: {seconds:.0f} s, {model.storage_}, test area {area:.4f}")
    return {"rows": len(X), "rare": int(y.sum()), "seconds": seconds, "area": area, "storage": model.storage_}


def in_its_own_process(task):
    """Result of a task and the largest resident size of its process, in GB."""
    done = subprocess.run([sys.executable, __file__, "--task", task], check=True, capture_output=True, text=True)
    *lines, last = done.stdout.strip().splitlines()
    print("\n".join(lines), flush=True)
    return json.loads(last)


def million():
    X, y = generated(1_000_000, 1000)
    with rarefy.config_context(memory_budget=4.5e9):
        model, seconds = clock(lambda: RankRC(1e-3, tol=1e-5, basis="rare").fit(X, y))
    print(f"one million rows, 1000 rare: {seconds:.0f} s, {model.n_iter_} iterations, {model.storage_}")
    return {"seconds": seconds, "n_iter": model.n_iter_, "storage": model.storage_}


def blocks():
    X, y = generated(100_000, 500)
    model, seconds = clock(
        lambda: RankRC(1e-3, solver="stochastic", max_iter=2, random_state=0, basis="rare").fit(X, y)
    )
    print(f"in blocks, 100000 rows, 500 rare: {seconds:.0f} s, objective {model.objective_:.6f}")
    return {"seconds": seconds, "objective": model.objective_}


def whole():
    X, y = generated(100_000, 500)
    model, seconds = clock(lambda: RankRC(1e-3, basis="rare").fit(X, y))
    print(f"at once, 100000 rows, 500 rare: {seconds:.0f} s, objective {model.objective_:.6f}")
    return {"seconds": seconds, "objective": model.objective_}


TASKS = {"kdd": kdd, "million": million, "blocks": blocks, "whole": whole}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        result = TASKS[options.task]() or {}
        print(json.dumps(result | {"GB": peak_gigabytes()}))
        return
    results = {"survival": against_survival()}
    if options.quick:
        results["growth"] = growth((1000, 2000, 4000), (50, 100))
    else:
        results["bandwidth"] = share_of_bandwidth()
        results["block"] = [beside_a_kernel_block(d) for d in (10, 100, 784)]
        results["growth"] = growth((25_000, 50_000, 100_000, 200_000), (250, 500, 1000))
        for task in ("whole", "blocks", "kdd", "million"):
            results[task] = in_its_own_process(task)
            print(f"  largest resident size {results[task]['GB']:.2f} GB", flush=True)
    RESULTS.mkdir(exist_ok=True)
    draw(results["growth"], RESULTS / "rank_growth.svg")
    (RESULTS / "rank.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
