"""Table (c): l0bnb on its own synthetic problems.

It minimises 1/2 ||y - Xb||^2 + l0 times the count + l2 ||b||^2. Divided by 2 l2 that is our objective with the squared
loss and C = 1 / (4 l2), plus the count's penalty; columns and y are centred, so that neither needs an intercept. At the
number of columns k that it ends with, its lower bound minus l0 k is a bound for every choice of k columns.

Its own path from l0 = large to ten columns does not end in minutes on most of these problems. So it gets an l0 at which
ten columns are the answer if the set that we chose is right (six tenths of what its weakest column is worth), and 1.2
times that set's largest coefficient as the bound of coefficients, which is how its path sets it. Ours runs without
branch and bound, and then with as many nodes as take about its time.
"""

import time
from types import SimpleNamespace
from unittest import mock

import numpy as np
from report import table

from best_subset.objective import columns_of, objective, ours, timed

if not hasattr(np, "Inf"):
    setattr(np, "Inf", np.inf)  # noqa: B010  l0bnb 1.0 was written for numpy 1

LIMIT = 30.0
"""Seconds of processor time of l0bnb for one problem."""
COUNT = 10
NODES = 20
"""Nodes of a trial that says how long one takes."""


def problem(n, p, rho, snr, seed=1):
    """Columns and responses of length 1, as its own path makes them; and the true columns."""
    from l0bnb.gensynthetic import gen_synthetic

    X, y, coef = gen_synthetic(n, p, COUNT, rho, snr, seed)
    X, y = X - X.mean(axis=0), y - y.mean()
    return X / np.linalg.norm(X, axis=0), y / np.linalg.norm(y), np.flatnonzero(coef)


def count_penalty(X, y, columns, C):
    """l0 and the bound of coefficients, in its units."""
    whole = objective(X, y, columns, C, "squared")
    without = [objective(X, y, np.delete(columns, i), C, "squared") for i in range(len(columns))]
    return 0.6 * (min(without) - whole) / (2.0 * C)


def with_nodes(X, y, k, C, gap_tol, first, seconds):
    """Ours with branch and bound for about as many seconds: selector, its seconds and its `max_nodes`.

    The time of the trial is not counted: a user would set the number of nodes, or interrupt.
    """
    selector, took = first
    if took >= seconds or selector.certificate_.optimality >= 1.0 - gap_tol:
        return selector, took, 0
    options = {"task": "regression", "gap_tol": gap_tol}
    trial = ours(X, y, k, C, "squared", max_nodes=NODES, **options)
    each = max((trial[1] - took) / NODES, 1e-3)
    nodes = max(1, int((seconds - took) / each))
    if nodes >= NODES and trial[0].certificate_.optimality >= 1.0 - gap_tol:
        return *trial, NODES
    return *ours(X, y, k, C, "squared", max_nodes=nodes, **options), nodes


def exact_row(n, p, rho, snr, l2, gap_tol=1e-2, limit=LIMIT):
    """One problem, solved by both to the same gap."""
    from l0bnb import BNBTree

    X, y, true = problem(n, p, rho, snr)
    C = 1.0 / (4.0 * l2)
    options = {"task": "regression", "gap_tol": gap_tol, "max_nodes": 0}
    first = ours(X, y, COUNT, C, "squared", **options)
    l0 = count_penalty(X, y, columns_of(first[0]), C)
    largest = 1.2 * np.abs(first[0].coef_).max()
    with mock.patch("l0bnb.tree.time", SimpleNamespace(time=time.process_time)):  # a limit that others cannot use up
        found, seconds = timed(BNBTree(X, y).solve, l0, l2, largest, gap_tol=gap_tol, time_limit=limit)
    theirs = np.flatnonzero(found.beta)
    k, value = len(theirs), objective(X, y, theirs, C, "squared")
    plain = first if k == COUNT else ours(X, y, k, C, "squared", **options)
    selector, took, nodes = with_nodes(X, y, k, C, gap_tol, plain, seconds)
    certificate = selector.certificate_
    bound = (found.cost * (1.0 - found.gap) - l0 * k) / (2.0 * l2)
    return {
        "n": n, "p": p, "rho": rho, "snr": snr, "l2": l2, "l0": l0, "k": k, "objective": certificate.objective,
        "share": certificate.optimality, "seconds": took, "nodes": nodes,
        "share without nodes": plain[0].certificate_.optimality, "seconds without nodes": plain[1],
        "l0bnb objective": value, "l0bnb gap": float(found.gap),
        "l0bnb share": max(0.0, bound / value), "l0bnb seconds": seconds,
        "same": bool(np.array_equal(theirs, columns_of(selector))),
        "true found": len(np.intersect1d(true, columns_of(selector))),
        "true found by l0bnb": len(np.intersect1d(true, theirs)),
    }  # fmt: skip


def sizes(quick):
    """n, p, rho, signal to noise, l2."""
    if quick:
        return [(200, 100, 0.1, 10.0, 0.1)]
    settings = ((0.1, 10.0, 0.01), (0.1, 10.0, 0.1), (0.5, 10.0, 0.1))
    return [(n, p, *setting) for n, p in ((200, 1000), (1000, 1000), (1000, 10_000)) for setting in settings]


def exact_table(quick):
    """(c)."""
    heads = [("n", 5), ("p", 6), ("rho", 4), ("snr", 4), ("l2", 5), ("k", 3), ("objective", 9), ("share", 6)]
    heads += [("s", 6), ("nodes", 5), ("share", 6), ("s", 6), ("l0bnb / ours", 8), ("its share", 6), ("its gap", 6)]
    heads += [("its s", 6), ("true", 4), ("its", 4)]
    line = table("(c) l0bnb on its own problems, at the number of columns that it ends with", heads)
    exact_row(60, 20, 0.1, 10.0, 0.1)  # its functions are compiled on their first call
    for size in sizes(quick):
        row = exact_row(*size)
        line(*size, row["k"], f"{row['objective']:.4g}", f"{row['share without nodes'] or 0:.4f}",
             f"{row['seconds without nodes']:.2f}", row["nodes"], f"{row['share'] or 0:.4f}", f"{row['seconds']:.2f}",
             f"{row['l0bnb objective'] / row['objective']:.4f}", f"{row['l0bnb share']:.4f}",
             f"{row['l0bnb gap']:.3f}", f"{row['l0bnb seconds']:.2f}", row["true found"],
             row["true found by l0bnb"])  # fmt: skip
        yield row
