"""Feature weights in a kernel SVM: a step against the products it needs, growth, and peers to the same error.

LassoNet and pyHSICLasso are compared with when they are installed. With --before FOLDER (the src of an earlier version,
`git worktree add`) cross-validation and the landmark form are compared with that version. See README.md in this folder.
"""

import argparse
import importlib
import io
import json
import sys
import time
import warnings
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
from feature_growth import draw_growth, rows_and_columns
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.core.feature_weights.objectives import weight_step
from rarefy.core.feature_weights.penalties import L1Penalty
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.solvers.trust_region import trust_region
from rarefy.datasets import make_ndcc
from rarefy.kernel import KernelFeatureSelector

RESULTS = Path(__file__).parent / "results"


def clock(work):
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def weight_half(n=1000, d=2000):
    """The step in the weights for fixed coefficients, in units of the matrix products in it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    classifiers = Classifiers(y[:, None], np.full(n, 4.0), L1Penalty(0.01))
    z = np.full(d, 1.0 / np.sqrt(2.0 * d))
    B, b, _ = Problem(X, classifiers).solve_classifiers(z)
    index = np.flatnonzero(B[:, 0])
    kernel = FeatureKernel(X, X[index])
    kernel.sums(kernel.matrix(z))  # computes once what later calls share
    M, centres = np.ones((n, len(index))), X[index]
    forth = min(clock(lambda: X @ centres.T)[1] for _ in range(5))
    back = min(clock(lambda: M @ centres)[1] for _ in range(5))
    counts = {"values": 0}
    at = weight_step(kernel, classifiers, index, B[index], b, margin="geometric")

    def counted(x):
        counts["values"] += 1
        return at(x)

    x = np.append(z, 1.0)
    best, seconds = clock(
        lambda: trust_region(counted, x, lower=np.zeros(d + 1), radius=0.3, tol=1e-6, max_iter=20, max_products=30)
    )
    # A value needs one product with the centres, its gradient one back, a product with the Hessian one of each.
    counts["products"] = best.n_products
    needed = (counts["values"] + counts["products"]) * (forth + back)
    print(
        f"n={n} d={d}, {len(index)} centres: {counts['values']} values, {best.n_products} Hessian products, "
        f"{seconds:.2f} s, {seconds / needed:.2f}x their matrix products"
    )
    return {"n": n, "d": d, "seconds": seconds, "needed": needed, "ratio": seconds / needed, **counts}


def to_the_same_error(seed=0):
    """Seconds and validation error of several selectors, on one set of 200 samples and 120 features.

    Peers that need the number of features try several, and the lowest validation error counts; a selector whose error
    is at most one percentage point above the lowest has reached it.
    """
    X, y = make_ndcc(400, random_state=seed)
    X = (X - X[:200].mean(axis=0)) / X[:200].std(axis=0)
    train, held = slice(0, 200), slice(200, 400)
    grid = {"C": [1.0, 10.0, 100.0], "gamma": 2.0 ** np.arange(-8, 0)}

    def error(columns):
        model = GridSearchCV(SVC(), grid, cv=5).fit(X[train][:, columns], y[train])
        return 1.0 - model.score(X[held][:, columns], y[held])

    ways = {
        "ao2": _ours(),
        "ao2, 8 starts": _ours(n_starts=8, random_state=0),
        "reduced": _ours(method="reduced"),
        "full": _ours(method="full"),
        "gmkl": _ours(method="gmkl"),
        "sequential": _sequential,
        "LassoNet": _lassonet,
        "HSIC-Lasso": _hsic_lasso,
        "all columns": lambda X, y: [np.arange(120)],
        "the informative columns": lambda X, y: [np.arange(20)],
    }
    found = {}
    for name, way in ways.items():
        try:
            choices, seconds = clock(lambda way=way: way(X[train], y[train]))
        except ModuleNotFoundError:
            print(f"  {name} is not installed; skipped")
            continue
        least, columns = min(((error(columns), columns) for columns in choices if len(columns)), key=lambda one: one[0])
        right = int(np.sum(np.asarray(columns) < 20))
        found[name] = {"seconds": seconds, "error": least, "right": right, "wrong": len(columns) - right}
    target = min(one["error"] for name, one in found.items() if "columns" not in name) + 0.01
    for name, one in found.items():
        one["reached"] = one["error"] <= target
        print(
            f"  {name}: {one['seconds']:.1f} s, error {one['error']:.3f}, {one['right']} right and {one['wrong']} wrong"
            f"{'' if one['reached'] else ', not reached'}",
            flush=True,
        )
    return found


def against_before(source, quick):
    """Cross-validation and the landmark form beside an earlier version, in turns in one process.

    What was measured is kept, and measured again only after results/feature_versions.json has been removed.
    """
    versions = {"before": _imported(source), "now": _imported(Path(__file__).parents[1] / "src")}
    tasks = {f"cross-validation {n}x{d}": ("KernelFeatureSelectorCV", n, d, {}) for n, d in ((120, 10), (300, 50))}
    tasks["landmarks 20000x100"] = ("KernelFeatureSelector", 20_000, 100, {"n_landmarks": 500})
    known = RESULTS / ("feature_versions_quick.json" if quick else "feature_versions.json")
    cells = json.loads(known.read_text()) if known.exists() else {}
    for task, (name, n, d, options) in list(tasks.items())[: 1 if quick else None]:
        for seed in range(1 if quick else 20 if n < 1000 else 2):
            for key, package in versions.items():
                at = f"{task} | {seed} | {key}"
                model = getattr(package, name)()
                if at not in cells and set(options) <= set(model.get_params()):
                    cells[at] = _held_out(model.set_params(**options), n, d, seed)
                    known.write_text(json.dumps(cells, indent=1))
        describe_versions(cells, task)
    return cells


def _held_out(model, n, d, seed):
    """Seconds of processor time of a fit to the sign of a product of two columns, and its error on 2000 other rows."""
    X = np.random.default_rng(seed).standard_normal((n + 2000, d))
    y = X[:, 0] * X[:, 1] > 0
    start = time.process_time()
    model.fit(X[:n], y[:n])
    seconds = time.process_time() - start
    return {
        "seconds": seconds,
        "error": 100.0 * (1.0 - model.score(X[n:], y[n:])),
        "columns": int(model.support_.sum()),
    }


def describe_versions(cells, task):
    """Means over the seeds that both versions have, and how many times as long the one before takes."""
    runs = {
        key: {at.split(" | ")[1]: cell for at, cell in cells.items() if at.startswith(task) and at.endswith(key)}
        for key in ("before", "now")
    }
    both = sorted(set(runs["before"]) & set(runs["now"]) or set(runs["now"]), key=int)
    for key, own in runs.items():
        rows = [own[seed] for seed in both if seed in own]
        if rows:
            error = np.array([row["error"] for row in rows])
            spread = error.std(ddof=1) / np.sqrt(len(error)) if len(error) > 1 else np.nan
            print(
                f"{task} {key}: {len(rows)} seeds, {np.mean([row['seconds'] for row in rows]):.2f} s, held-out error "
                f"{error.mean():.1f} ± {spread:.1f} %, {np.mean([row['columns'] for row in rows]):.1f} columns",
                flush=True,
            )
    if runs["before"]:
        ratios = [runs["before"][seed]["seconds"] / runs["now"][seed]["seconds"] for seed in both]
        difference = np.array([runs["now"][seed]["error"] - runs["before"][seed]["error"] for seed in both])
        print(
            f"{task}: {np.min(ratios):.1f} to {np.max(ratios):.1f} times as long before, "
            f"median {np.median(ratios):.1f}; error now minus before {difference.mean():+.1f} points",
            flush=True,
        )


def _imported(source):
    """The sub-package of kernel estimators of one version, whichever is imported by that name afterwards."""
    for name in [name for name in sys.modules if name.split(".")[0] == "rarefy"]:
        del sys.modules[name]
    sys.path.insert(0, str(source))
    package = importlib.import_module("rarefy.kernel")
    for name in ("KernelFeatureSelector", "KernelFeatureSelectorCV"):
        getattr(package, name)  # loads what is loaded late
    sys.path.remove(str(source))
    return package


def _ours(**options):
    published = {"init": "ones", "standardize": False, "prune": 0.0, "validation_fraction": None}

    def select(X, y):
        return [KernelFeatureSelector(4.0, 2.0**-7, **published, **options).fit(X, y).get_support(indices=True)]

    return select


def _sequential(X, y):
    forward = SequentialFeatureSelector(SVC(C=10.0), n_features_to_select=20, cv=3)
    return [forward.fit(X, y).get_support(indices=True)]


def _lassonet(X, y):
    from lassonet import LassoNetClassifier

    model = LassoNetClassifier(hidden_dims=(50,), random_state=0, verbose=False)
    path = model.path(X.astype(np.float32), (y > 0).astype(int))
    counts = np.array([int(item.selected.sum()) for item in path])
    nearest = [path[int(np.abs(counts - count).argmin())] for count in (10, 20, 40)]
    return [np.flatnonzero(item.selected.numpy()) for item in nearest]


def _hsic_lasso(X, y):
    from pyHSICLasso import HSICLasso

    choices = []
    with redirect_stdout(io.StringIO()):  # it prints its parameters
        for count in (10, 20, 40):
            model = HSICLasso()
            model.input(X, y, featname=[str(k) for k in range(X.shape[1])])
            model.classification(count, B=0, M=1)
            choices.append(np.array(model.get_index()))
    return choices


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--before", help="sources of an earlier version, to compare with")
    parser.add_argument("--picture", help="where the picture of the growth is written")
    parser.add_argument("--only", choices=("growth", "before"), help="one part only")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    RESULTS.mkdir(exist_ok=True)
    results = {}
    if options.only is None:
        results["step"] = weight_half(200, 300) if options.quick else weight_half()
    if options.only in (None, "growth"):
        results["growth"] = rows_and_columns(RESULTS, options.before, options.quick)
        draw_growth(results["growth"], options.picture or RESULTS / "feature_growth.png")
    if options.before is not None and options.only != "growth":
        results["versions"] = against_before(options.before, options.quick)
    if not options.quick and options.only is None:
        results["peers"] = to_the_same_error()
    known = RESULTS / "features.json"
    if options.only is not None and known.exists():
        results = json.loads(known.read_text()) | results
    known.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
