"""Feature weights in a kernel machine: a step against the products it needs, and peers to the same validation error.

LassoNet and pyHSICLasso are compared with when they are installed. See README.md in this folder.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from rarefy.core.feature_weights import FeatureKernel, Machines, weight_step
from rarefy.core.trust_region import trust_region
from rarefy.core.weight_search import Problem
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
    machines = Machines(y[:, None], np.full(n, 4.0), 0.01, 0.5)
    z = np.full(d, 1.0 / np.sqrt(2.0 * d))
    B, b, _ = Problem(X, machines).solve_machines(z)
    index = np.flatnonzero(B[:, 0])
    kernel = FeatureKernel(X, X[index])
    kernel.sums(kernel.matrix(z))  # what is kept of the points is made once
    M, centres = np.ones((n, len(index))), X[index]
    forth = min(clock(lambda: X @ centres.T)[1] for _ in range(5))
    back = min(clock(lambda: M @ centres)[1] for _ in range(5))
    counts = {"values": 0, "products": 0}
    at = weight_step(kernel, machines, index, B[index], b, margin="geometric")

    def counted(x):
        counts["values"] += 1
        return at(x)

    x = np.append(z, 1.0)
    best, seconds = clock(
        lambda: trust_region(counted, x, lower=np.zeros(d + 1), radius=0.3, tol=1e-6, max_iter=20, max_products=30)
    )
    # A value needs one product with the centres, its gradient one back, a product with the Hessian one of each.
    needed = (counts["values"] + best.n_products) * (forth + back)
    print(
        f"n={n} d={d}, {len(index)} centres: {counts['values']} values, {best.n_products} Hessian products, "
        f"{seconds:.2f} s, {seconds / needed:.2f}x their matrix products"
    )
    return {"n": n, "d": d, "seconds": seconds, "needed": needed, "ratio": seconds / needed, **counts}


def to_the_same_error(seed=0):
    """Seconds and validation error of several ways to few features, on one set of 200 points and 120 columns."""
    X, y = make_ndcc(400, random_state=seed)
    X = (X - X[:200].mean(axis=0)) / X[:200].std(axis=0)
    train, held = slice(0, 200), slice(200, 400)
    grid = {"C": [1.0, 10.0, 100.0], "gamma": 2.0 ** np.arange(-8, 0)}
    found = {}

    def enter(name, columns, seconds, error=None):
        if error is None:
            model = GridSearchCV(SVC(), grid, cv=5).fit(X[train][:, columns], y[train])
            error = 1.0 - model.score(X[held][:, columns], y[held])
        right = int(np.sum(np.asarray(columns) < 20))
        found[name] = {"seconds": seconds, "error": error, "right": right, "wrong": len(columns) - right}
        print(
            f"  {name}: {seconds:.1f} s, error {error:.3f}, {right} right and {len(columns) - right} wrong", flush=True
        )

    for name, options in {
        "ao2": {},
        "ao2, 8 starts": {"n_starts": 8, "random_state": 0},
        "reduced": {"method": "reduced"},
        "full": {"method": "full"},
        "gmkl": {"method": "gmkl"},
    }.items():
        model = KernelFeatureSelector(4.0, 2.0**-7, **options)
        _, seconds = clock(lambda model=model: model.fit(X[train], y[train]))
        enter(name, model.get_support(indices=True), seconds)
    forward = SequentialFeatureSelector(SVC(C=10.0), n_features_to_select=20, cv=3)
    _, seconds = clock(lambda: forward.fit(X[train], y[train]))
    enter("sequential", forward.get_support(indices=True), seconds)
    enter("all columns", np.arange(120), 0.0)
    enter("the informative columns", np.arange(20), 0.0)
    for name, peer in {"LassoNet": _lassonet, "HSIC-Lasso": _hsic_lasso}.items():
        try:
            columns, seconds = clock(lambda peer=peer: peer(X[train], y[train]))
        except ModuleNotFoundError:
            print(f"  {name} is not installed; skipped")
        else:
            enter(name, columns, seconds)
    return found


def _lassonet(X, y):
    from lassonet import LassoNetClassifier

    model = LassoNetClassifier(hidden_dims=(50,), random_state=0, verbose=False)
    path = model.path(X.astype(np.float32), (y > 0).astype(int))
    best = min(path, key=lambda item: abs(int(item.selected.sum()) - 20))
    return np.flatnonzero(best.selected.numpy())


def _hsic_lasso(X, y):
    from pyHSICLasso import HSICLasso

    model = HSICLasso()
    model.input(X, y, featname=[str(k) for k in range(X.shape[1])])
    model.classification(20, B=0, M=1)
    return np.array(model.get_index())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    results = {"step": weight_half(200, 300) if options.quick else weight_half()}
    if not options.quick:
        results["peers"] = to_the_same_error()
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "features.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
