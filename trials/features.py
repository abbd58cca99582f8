"""Columns that matter, alone or together, among noise: what the first call of the kernel feature selector finds."""

import time
import warnings
from collections import Counter

import numpy as np
from sklearn.datasets import make_classification

from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV

SECONDS = {"KernelFeatureSelector": 10.0, "KernelFeatureSelectorCV": 30.0}
"""Processor time that is allowed for a fit."""


def _columns(rng, d, count):
    return rng.choice(d, count, replace=False)


def parity(n, d, count, seed):
    """The sign of a product of normal columns."""
    rng = np.random.default_rng(seed)
    X, right = rng.standard_normal((n, d)), _columns(rng, d, count)
    return X, np.prod(X[:, right], axis=1) > 0, right


def checkerboard(n, d, seed, cells=4):
    """The colour of a square."""
    rng = np.random.default_rng(seed)
    X, right = rng.random((n, d)), _columns(rng, d, 2)
    return X, np.floor(cells * X[:, right]).sum(axis=1) % 2 > 0, right


def linear(n, d, count, seed):
    """The sign of a sum."""
    rng = np.random.default_rng(seed)
    X, right = rng.standard_normal((n, d)), _columns(rng, d, count)
    return X, X[:, right].sum(axis=1) > 0, right


def corners(n, d, count, seed):
    """Clusters at the corners of a cube, as in Madelon."""
    options = {"n_redundant": 0, "n_clusters_per_class": 8, "class_sep": 1.5, "shuffle": False}
    X, y = make_classification(n, d, n_informative=count, random_state=seed, **options)
    rng = np.random.default_rng(seed)
    order, rows = rng.permutation(d), rng.permutation(n)  # rows come cluster by cluster, which folds would see
    return X[rows][:, order], y[rows], np.flatnonzero(order < count)


def rings(n, d, seed):
    """Shells around a centre in three columns."""
    rng = np.random.default_rng(seed)
    X, right = rng.standard_normal((n, d)), _columns(rng, d, 3)
    radius = np.sum(X[:, right] ** 2, axis=1)
    return X, np.digitize(radius, np.quantile(radius, [0.25, 0.5, 0.75])) % 2, right


def noise(n, d, seed):
    """Labels that have nothing to do with the columns."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.integers(0, 2, n), np.array([], dtype=int)


PROBLEMS = {
    "parity of 2 in 50, n = 300": lambda seed: parity(300, 50, 2, seed),
    "parity of 3 in 20, n = 500": lambda seed: parity(500, 20, 3, seed),
    "checkerboard in 2 of 30, n = 500": lambda seed: checkerboard(500, 30, seed),
    "linear in 3 of 200, n = 200": lambda seed: linear(200, 200, 3, seed),
    "corners in 5 of 50, n = 500": lambda seed: corners(500, 50, 5, seed),
    "rings in 3 of 30, n = 300": lambda seed: rings(300, 30, seed),
    "noise in 6, n = 200": lambda seed: noise(200, 6, seed),
}
UNSURE = ("rings", "noise")
"""What cannot be found: here the answer has to say how sure it is."""


def in_odd_units(X, seed):
    """Every column times 10^U(-3, 3)."""
    return X * 10.0 ** np.random.default_rng(seed + 1000).uniform(-3.0, 3.0, X.shape[1])


def feature_trial(make, name, seed, odd_units):
    """Right and wrong columns, seconds, accuracy on held-out rows and whether it warned, of one fit."""
    X, y, right = PROBLEMS[name](seed)
    X = in_odd_units(X, seed) if odd_units else X
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        start = time.process_time()
        model = make().fit(X, y)
        seconds = time.process_time() - start
    chosen = model.get_support(indices=True)
    held_out = model.validation_score_ if isinstance(model, KernelFeatureSelector) else model.held_out_score_
    return {
        "right": len(np.intersect1d(chosen, right)),
        "wanted": len(right),
        "wrong": len(np.setdiff1d(chosen, right)),
        "seconds": seconds,
        "held out": float(held_out),
        "warned": any("chance" in str(one.message) for one in said),
    }


def feature_piece(make, name, odd_units, n_seeds, seed):
    """(counts, what is wrong) for one problem: 8 of 10 seeds right, in time."""
    limit = SECONDS[make.__name__]
    found = [feature_trial(make, name, seed + i, odd_units) for i in range(n_seeds)]
    good = sum(one["right"] == one["wanted"] and one["wrong"] <= 1 for one in found)
    slowest = max(one["seconds"] for one in found)
    label = f"{make.__name__}, {name}{', odd units' if odd_units else ''}"
    print(
        f"{label}: {good} of {n_seeds} right, mean {np.mean([one['right'] for one in found]):.1f} right and "
        f"{np.mean([one['wrong'] for one in found]):.1f} wrong columns, held-out accuracy "
        f"{np.nanmean([one['held out'] for one in found]):.2f}, {sum(one['warned'] for one in found)} warned, "
        f"slowest {slowest:.1f} s",
        flush=True,
    )
    wrong = [f"{label}: {slowest:.1f} s"] if slowest > limit else []
    if name.startswith(UNSURE):
        silent = sum(not one["warned"] and not one["held out"] > 0.6 for one in found)
        wrong += [f"{label}: {silent} of {n_seeds} without a word"] if silent > 0.2 * n_seeds else []
    elif good < 0.8 * n_seeds:
        wrong.append(f"{label}: {good} of {n_seeds} right")
    return Counter({"fits": n_seeds, "right": good, "violated": len(wrong)}), wrong


ESTIMATORS = (KernelFeatureSelector, KernelFeatureSelectorCV)
