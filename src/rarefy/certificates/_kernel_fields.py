"""The fields of a kernel certificate as they come from a file: checked, because anybody can write one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rarefy.certificates._fields import regularised
from rarefy.certificates._json_values import flag, integer, number, numbers, optional, pair, text
from rarefy.certificates._kernel_objective import KernelObjective
from rarefy.core.losses.margins import LOSSES


def convert(v: dict[str, Any]) -> None:
    """What was read, as a certificate holds it."""
    v["eigenvalues"] = pair(v["eigenvalues"])
    v["n_samples"], v["rank"] = integer(v["n_samples"]), optional(integer, v["rank"])
    v["trace_ratio"], v["resolution"] = number(v["trace_ratio"]), number(v["resolution"])
    v["nested"] = flag(v["nested"])
    v["fingerprint"] = optional(text, v["fingerprint"])
    v["objective"] = None if v["objective"] is None else _objective(**v["objective"])
    v["regularised"] = optional(regularised, v["regularised"])


def _objective(loss: Any, C: Any, **others: Any) -> KernelObjective:
    found: dict[str, Any] = {}
    for name, value in others.items():
        dimensions = 2 if name.startswith("dual") else 1 if name.startswith("intercept") else 0
        nothing = -np.inf if name.startswith("lower") else np.inf
        found[name] = numbers(value, dimensions) if dimensions else number(value, nothing)
    return KernelObjective(text(loss), number(C), **found)  # type: ignore[arg-type]


def impossible(v: Mapping[str, Any]) -> list[str]:
    """What no honest certificate could say, whatever the matrices are."""
    low, high = v["eigenvalues"]
    n, rank, objective = v["n_samples"], v["rank"], v["objective"]
    conditions = {
        "n_samples must be an integer >= 1": n >= 1,
        "rank must be None or an integer from 1 to n_samples": rank is None or 1 <= rank <= n,
        "eigenvalues must be 0 <= smallest <= largest": 0.0 <= low <= high and low < np.inf,
        "without a rank nothing is known of the eigenvalues": rank is not None
        or (low == 0.0 and np.isinf(high) and v["regularised"] is None and v["resolution"] == 0.0),
        "trace_ratio and resolution must be finite numbers >= 0": 0.0 <= v["trace_ratio"] < np.inf
        and 0.0 <= v["resolution"] < np.inf,
        "an objective has one of the losses and a positive C": objective is None
        or (objective.loss in LOSSES and 0.0 < objective.C < np.inf),
    }
    return [what for what, right in conditions.items() if not right]
