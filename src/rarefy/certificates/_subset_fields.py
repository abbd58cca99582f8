"""The fields of a subset certificate as they come from a file: checked, because anybody can write one."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rarefy.certificates._json_values import flag, integer, integers, number, numbers, optional, text, texts
from rarefy.core.losses.margins import LOSSES


def convert(v: dict[str, Any]) -> None:
    """What was read, as a certificate holds it."""
    v["indices"], v["groups"] = integers(v["indices"]), optional(integers, v["groups"])
    v["settled"] = integers(v["settled"])
    for name in ("n_features", "n_chosen"):
        v[name] = integer(v[name])
    for name in ("classified", "standardized", "weighted"):
        v[name] = flag(v[name])
    v["loss"], v["C"] = text(v["loss"]), number(v["C"])
    v["lower_bound"], v["objective"] = number(v["lower_bound"], -np.inf), number(v["objective"])
    v["all_columns_bound"] = optional(number, v["all_columns_bound"])
    v["dual"], v["all_columns_dual"] = numbers(v["dual"], 2), optional(numbers, v["all_columns_dual"], 2)
    v["tree"], v["leaf_duals"] = optional(integers, v["tree"]), optional(numbers, v["leaf_duals"], 3)
    v["coef"], v["intercept"] = numbers(v["coef"], 2), numbers(v["intercept"], 1)
    for name in ("names", "feature_names"):
        v[name] = optional(texts, v[name])
    v["fingerprint"] = optional(text, v["fingerprint"])


def impossible(v: Mapping[str, Any]) -> list[str]:
    """What no honest certificate could say, whatever the data are."""
    d, indices, groups = v["n_features"], v["indices"], v["groups"]
    names, feature_names = v["names"], v["feature_names"]
    conditions = {
        "chosen columns are distinct column numbers": 0 < len(indices) == len(np.unique(indices))
        and 0 <= indices.min() <= indices.max() < d,
        "loss and C are those of a model": v["loss"] in LOSSES and 0.0 < v["C"] < np.inf,
        "numbers are fitted by the squared loss": v["classified"] or v["loss"] == "squared",
        "groups number all columns": groups is None or _numbered(groups, d),
        "dual points are finite": all(
            v[name] is None or np.all(np.isfinite(v[name])) for name in ("dual", "leaf_duals", "all_columns_dual")
        ),
        "a tree has dual points, and dual points a tree": (v["tree"] is None) == (v["leaf_duals"] is None),
        "every chosen column has a name, or none has": names is None or len(names) == len(indices),
        "every column has a name, or none has": feature_names is None or len(feature_names) == d,
    }
    wrong = [what for what, right in conditions.items() if not right]
    # Numbers of columns from a file may be anything: nothing as long as they are is made before they are checked.
    count = d if groups is None else int(groups.max(initial=-1)) + 1
    if v["settled"].shape != (count,) or not np.isin(v["settled"], (-1, 0, 1)).all():
        wrong.append("every group is settled or open")
    return wrong or _impossible_choice(indices, np.arange(d) if groups is None else groups, v["n_chosen"])


def _impossible_choice(indices: Any, groups: Any, n_chosen: int) -> list[str]:
    chosen = np.unique(groups[indices])
    whole = np.array_equal(np.flatnonzero(np.isin(groups, chosen)), np.sort(indices))
    right = len(chosen) == n_chosen and whole
    return [] if right else ["groups are chosen as a whole, and as many as are said to be"]


def _numbered(groups: Any, d: int) -> bool:
    """Whether the columns have the numbers of groups 0, 1, 2 and so on, none left out."""
    used = np.unique(groups)
    return groups.shape == (d,) and used[0] == 0 and used[-1] == len(used) - 1
