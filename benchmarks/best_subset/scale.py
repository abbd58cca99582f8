"""Table (g): seconds, passes over the data and proved share on large sparse data, and how they grow."""

import os
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np
from memory import peak_gigabytes
from report import table

from best_subset import data as sets
from best_subset.objective import ours
from rarefy.core.linalg.rows import SparseRows

STRENGTH = 2000.0
"""C times the number of samples, for data that grow: the same weight of the penalty."""


@contextmanager
def counted(X):
    """Passes over X as a dict: entries that products read, and entries of columns taken out, both by those of X."""
    passes, total = {"products": 0.0, "columns taken": 0.0}, max(X.nnz, 1)

    def whole(method):
        def call(self, *arguments, **options):
            passes["products"] += self._A.nnz / total
            return method(self, *arguments, **options)

        return call

    def part(method):
        def call(self, index, *arguments, **options):
            passes["columns taken"] += float(np.sum(np.diff(self._by_rows.indptr)[index])) / total
            return method(self, index, *arguments, **options)

        return call

    with ExitStack() as stack:
        for name in ("__matmul__", "gram", "sketch", "row_norms", "column_norms", "largest_entry", "with_factors"):
            stack.enter_context(mock.patch.object(SparseRows, name, whole(getattr(SparseRows, name))))
        for name in ("take", "subset"):
            stack.enter_context(mock.patch.object(SparseRows, name, part(getattr(SparseRows, name))))
        yield passes


def scale_row(data, r, C):
    """One fit, certificate included."""
    with counted(data.X) as passes:
        selector, seconds = ours(data.X, data.y, r, C)
    n, d = data.shape
    found = selector.certificate_
    return {
        "data": data.name, "n": n, "d": d, "nnz": int(data.X.nnz), "r": r, "C": C, "seconds": seconds,
        "passes": passes, "steps": int(selector.n_iter_), "share": found.optimality, "peak GB": peak_gigabytes(),
        "in none": int(np.sum(found.settled == -1)),
    }  # fmt: skip


def plans(quick):
    """What is measured, small things first: data that are made when it is their turn, r, C, and the curve it is of."""
    if quick:
        yield lambda: sets.sparse(2000, 4000, 100_000), 30, STRENGTH / 2000, "d"
        yield lambda: sets.sparse(2000, 8000, 100_000), 30, STRENGTH / 2000, "d"
        return
    for d in (12_500, 25_000, 50_000, 100_000, 200_000):
        yield lambda d=d: sets.sparse(20_000, d, 2_000_000), 100, STRENGTH / 20_000, "d"
    for n in (6250, 12_500, 25_000, 50_000, 100_000):
        yield lambda n=n: sets.sparse(n, 100_000, 100 * n), 100, STRENGTH / n, "nnz"
    for C in (0.01, 0.1, 1.0) if "RAREFY_DATA" in os.environ else ():
        yield lambda: sets.Data("RCV1", *sets.documents("rcv1_subsets_ccat")), 100, C, None
    yield lambda: sets.sparse(100_000, 200_000, 10_000_000), 100, STRENGTH / 100_000, None


def scale_table(quick):
    """(g)."""
    heads = [("data", 6), ("n", 7), ("d", 7), ("non-zeros", 9), ("r", 4), ("C", 7), ("s", 7), ("steps", 5)]
    heads += [("products", 8), ("taken", 6), ("share", 7), ("peak GB", 7)]
    line = table("(g) scale: passes over the data in products, and in columns taken out", heads)
    for make, r, C, curve in plans(quick):
        row = scale_row(make(), r, C) | {"curve": curve}
        line(row["data"], row["n"], row["d"], row["nnz"], r, f"{C:.3g}", f"{row['seconds']:.2f}", row["steps"],
             f"{row['passes']['products']:.0f}", f"{row['passes']['columns taken']:.1f}", f"{row['share'] or 0:.4f}",
             f"{row['peak GB']:.2f}")  # fmt: skip
        yield row


def slope(x, y):
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def picture(rows, path):
    """Seconds of a fit against columns and non-zero entries."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained", sharey=True)
    labels = {"d": "columns d", "nnz": "non-zero entries (samples grow with them)"}
    for ax, (curve, label) in zip(axes, labels.items(), strict=True):
        found = [row for row in rows if row["curve"] == curve]
        if len(found) < 2:
            continue
        x, y = ([row[key] for row in found] for key in (curve, "seconds"))
        each = [row["seconds"] / row["passes"]["products"] for row in found]
        ax.loglog(x, y, "o-", color="#2a7f9e", label=f"fit, slope {slope(x, y):.2f}")
        ax.loglog(x, each, "s--", color="#e08a1e", label=f"fit by its number of passes, slope {slope(x, each):.2f}")
        ax.loglog(x, y[0] * np.array(x) / x[0], ":", color="0.6", label="linear")
        ax.set_xticks(x, [f"{value:,}" for value in x], fontsize=8)
        ax.minorticks_off()
        ax.set_xlabel(label)
        ax.legend(frameon=False, fontsize=9)
    axes[0].set_ylabel("seconds of processor time")
    figure.savefig(path, dpi=120)
    plt.close(figure)
