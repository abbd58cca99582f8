"""Bounds over all choices of columns against all choices, one after another."""

from collections import Counter
from itertools import combinations

import numpy as np

from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import LOSSES, MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.selection import BestSubsetSelector

GAP = 1e-3


def random_problem(seed):
    """X, y, sample weights and the settings of a selector."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 26)), int(rng.integers(4, 8) if rng.random() < 0.995 else rng.integers(9, 15))
    X = rng.standard_normal((n, d)) + rng.choice([0.0, 1.0]) * rng.standard_normal((n, 1))
    X *= 10.0 ** rng.uniform(-1, 1, d) if rng.random() < 0.3 else 1.0
    loss = str(rng.choice(LOSSES, p=[0.1, 0.3, 0.3, 0.3]))  # the hinge takes longest
    signal = X[:, 0] / X[:, 0].std() - X[:, 1] / X[:, 1].std() + rng.standard_normal(n)
    kind = (
        rng.choice(["numbers", "classes", "three"])
        if loss == "squared"
        else rng.choice(["classes", "classes", "three"])
    )
    cuts = {"numbers": None, "classes": [0.5], "three": [0.33, 0.67]}[str(kind)]
    y = signal if cuts is None else np.searchsorted(np.quantile(signal, cuts), signal)
    groups = np.sort(rng.integers(0, max(3, d - 2), d)) if rng.random() < 0.25 else None
    n_groups = d if groups is None else len(np.unique(groups))
    settings = {
        "n_features_to_select": int(rng.integers(1, min(6, n_groups) + 1)) if d <= 8 else 6,
        "loss": loss,
        "C": float(10.0 ** rng.uniform(-2, 1.5)),
        "groups": groups,
        "standardize": bool(rng.random() < 0.5),
        "task": "regression" if cuts is None else "classification",
        "gap_tol": GAP,
        "max_nodes": 0 if rng.random() < 0.5 else 400,
    }
    weight = rng.integers(0, 3, n) + (np.arange(n) < 4) if rng.random() < 0.25 else None
    return X, y, weight, settings


def best_of_all(X, Y, costs, loss, groups, r):
    """The lowest objective of any r groups, and the sum of its models' dual values."""
    labels, best = np.unique(groups), (np.inf, np.inf)
    for chosen in combinations(labels, r):
        block = as_rows(np.ascontiguousarray(X[:, np.isin(groups, chosen)]))
        models = [linear_model(block, y, costs, MarginLoss(loss), tol=1e-7) for y in Y.T]
        best = min(best, (sum(model.primal for model in models), sum(model.dual for model in models)))
    return best


def subset_trial(seed):
    """(counts, what is wrong) of one problem."""
    X, y, weight, settings = random_problem(seed)
    if len(np.unique(y if weight is None else y[weight > 0])) < 2 or (weight is not None and np.unique(y).size > 2):
        return Counter({"skipped": 1}), []
    c = BestSubsetSelector(**settings).fit(X, y, sample_weight=weight).certificate_
    w = np.ones(len(y)) if weight is None else weight.astype(float)
    X, y, w = X[w > 0], y[w > 0], w[w > 0]
    mean = np.average(X, axis=0, weights=w)
    scale = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=w)) if settings["standardize"] else np.ones(X.shape[1])
    classes = np.unique(y)[len(np.unique(y)) == 2 :]
    Y = y[:, None] if settings["task"] == "regression" else np.where(y[:, None] == classes, 1.0, -1.0)
    groups = np.arange(X.shape[1]) if settings["groups"] is None else settings["groups"]
    best, below = best_of_all(X / scale, Y, settings["C"] * w, settings["loss"], groups, c.n_chosen)
    wrong = [f"{seed}: bound {c.lower_bound} above the optimum {best}"] if c.lower_bound > best else []
    if c.objective < below * (1.0 - 1e-9):
        wrong.append(f"{seed}: objective {c.objective} below the optimum {below}")
    counts = Counter(problems=1, violated=len(wrong))
    counts["branched"] = int(settings["max_nodes"] > 0)
    # The hinge is searched with a rounded corner, so that its gap closes a little less.
    room = 3.0 * GAP if settings["loss"] == "hinge" else GAP + 1e-6
    closed = (c.optimality or 0.0) >= 1.0 - room
    counts["proved best"] = int(bool(settings["max_nodes"]) and closed)
    if settings["max_nodes"] and closed and c.objective > best * (1.0 + 2.0 * room):
        wrong.append(f"{seed}: said to be the best, {c.objective}, not {best}")
    return counts, wrong
