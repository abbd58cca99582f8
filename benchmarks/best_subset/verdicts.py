"""Where others are better: a list from the results, worst first."""

import numpy as np

NOTICED = 1e-4
"""Relative difference of objectives from which a loss is listed."""
POINT = 1.0
"""Test error in percent that counts as a difference."""


def lower_objectives(row):
    """Names and objectives of everyone in a row of (a), (b) or (c), over ours."""
    if "peers" in row:
        found = {name: peer["objective"] for name, peer in row["peers"].items() if peer}
    elif "abess" in row:
        tried = [one["objective"] for one in row["abess"].values() if one["objective"] is not None]
        found = {"abess": min(tried, default=np.inf), "skscope": row["skscope"]["objective"]}
    else:
        found = {"l0bnb": row["l0bnb objective"]}
    return {name: value / row["objective"] for name, value in found.items()}


def described(row):
    keys = ("data", "n", "p", "rho", "l2", "k", "r", "C", "loss")
    return ", ".join(f"{key} {row[key]:.3g}" if isinstance(row[key], float) else f"{key} {row[key]}"
                     for key in keys if key in row)  # fmt: skip


def objective_losses(name, rows):
    """Lines about lower objectives than ours."""
    lost = []
    for row in rows:
        lost += [(ratio, who, row) for who, ratio in lower_objectives(row).items() if ratio < 1.0 - NOTICED]
    cells = {id(row) for _, _, row in lost}
    yield f"{name}: somebody's columns have a lower objective in {len(cells)} of {len(rows)} problems"
    for ratio, who, row in sorted(lost, key=lambda one: one[0]):
        yield f"  {who} {ratio:.4f} of ours (proved share {row['share'] or 0:.3f}): {described(row)}"


def mean_errors(row):
    """Mean test errors by method; ours with C by the rule too."""
    out = {name: float(np.mean([run["error"] for run in runs])) for name, runs in row["methods"].items()}
    return out | {"ours, C=None": float(np.mean([run["with factor 1"] for run in row["methods"]["ours"]]))}


def error_losses(rows, mine):
    """Lines about test errors that are more than a point above the best of all others."""
    lost, better = [], 0
    for row in rows:
        errors = mean_errors(row)
        others = {name: error for name, error in errors.items() if not name.startswith("ours")}
        who = min(others, key=others.get)
        gap = errors[mine] - others[who]
        better += gap <= 0.0
        if gap > POINT:
            lost.append((gap, f"  {row['data']}, r {row['r']}: {who} {others[who]:.1f}, ours {errors[mine]:.1f}"))
    yield (
        f"error: {mine}: no higher than the best of all others, picked in hindsight, in {better} of {len(rows)} cells, "
        f"within a point in {len(rows) - len(lost)}"
    )
    yield from (line for _, line in sorted(lost, reverse=True))


def losses(results):
    """All lines."""
    for name in ("objective", "splicing", "exact"):
        if results.get(name, {}).get("rows"):
            yield from objective_losses(name, results[name]["rows"])
    if results.get("error", {}).get("rows"):
        for mine in ("ours", "ours, C=None"):
            yield from error_losses(results["error"]["rows"], mine)
