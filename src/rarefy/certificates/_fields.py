"""The fields of a certificate as they come from a file: checked, because anybody can write one."""

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from rarefy.certificates._json_values import flag, integer, integers, number, numbers, optional, pair, text, texts
from rarefy.certificates._objective import Objective
from rarefy.certificates._optimality import Optimality
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.linalg.sketch import Sketch
from rarefy.core.losses.margins import LOSSES

METHODS_WITH_CHANCE = ("replacement", "poisson")
"""Ways of choosing whose bound holds with a probability."""
_METHODS = ("bss", "dual", "unweighted", "adaptive", *METHODS_WITH_CHANCE, "top", "all", "given")
_WEIGHTINGS = ("own", "optimal", "unit")
_SHARES = ("explained", "explainable")
_HUGE = 1e100
"""Squares of larger weights overflow, those of smaller ones than its inverse vanish."""


def impossible(fields: Mapping[str, Any]) -> list[str]:
    """What no honest certificate could say, whatever the data are."""
    return [what for what, right in _conditions(fields).items() if not right]


def convert(v: dict[str, Any]) -> None:
    """What was read, as a certificate holds it."""
    v["indices"], v["rows"] = integers(v["indices"]), optional(integers, v["rows"])
    v["weights"], v["choice"] = numbers(v["weights"], 1), optional(numbers, v["choice"], 2)
    v["names"] = optional(texts, v["names"])
    for name in ("eigenvalues", "singular_values"):
        v[name] = pair(v[name])
    if v["sketch"] is not None:
        v["sketch"] = Sketch(**{name: integer(value) for name, value in v["sketch"].items()})
    for name in ("rank", "numerical_rank", "n_requested", "n_features", "unseen"):
        v[name] = integer(v[name])
    for name in ("next_singular_value", "energy_kept", "resolution"):
        v[name] = number(v[name])
    for name in ("residual_ratio", "failure_probability", *_SHARES):
        v[name] = optional(number, v[name])
    v["measured"] = {text(name): number(value) for name, value in v["measured"].items()}
    v["proved"], v["complete"] = flag(v["proved"]), flag(v["complete"])
    v["method"], v["weighting"] = text(v["method"]), text(v["weighting"])
    v["fingerprint"] = optional(text, v["fingerprint"])
    for name in ("objective", "all_rows"):
        v[name] = None if v[name] is None else _objective(**v[name])
    v["regularised"] = optional(regularised, v["regularised"])
    v["optimal"] = None if v["optimal"] is None else _optimality(**v["optimal"])


def regularised(values: Any) -> Regularised:
    """What holds for one penalty."""
    return Regularised(**{name: number(value) for name, value in values.items()})


def _objective(
    loss: Any, C: Any, lower: Any, upper: Any, dual: Any, coef: Any, intercept: Any, empty: Any
) -> Objective:
    return Objective(
        text(loss),  # type: ignore[arg-type]
        number(C),
        number(lower, -np.inf),
        number(upper),
        numbers(dual, 2),
        numbers(coef, 2),
        numbers(intercept, 1),
        number(empty),
    )


def _optimality(
    lower: Any,
    dual: Any,
    own_lower: Any,
    own_dual: Any,
    best: Any,
    best_upper: Any,
    best_coef: Any,
    best_intercept: Any,
) -> Optimality:
    return Optimality(
        number(lower, -np.inf),
        numbers(dual, 2),
        number(own_lower, -np.inf),
        numbers(own_dual, 2),
        integers(best),
        number(best_upper),
        numbers(best_coef, 2),
        numbers(best_intercept, 1),
    )


def _conditions(v: Mapping[str, Any]) -> dict[str, bool]:
    """What has to hold of any certificate, in words."""
    d, indices, weights, rows = v["n_features"], v["indices"], v["weights"], v["rows"]
    low, high = v["eigenvalues"]
    top, bottom = v["singular_values"]
    chance = v["failure_probability"]
    counts = ("rank", "numerical_rank", "n_requested", "n_features")
    amounts = ("next_singular_value", "energy_kept", "resolution")
    if not all(isinstance(v[name], Integral) and v[name] >= 1 for name in counts):
        return {f"{', '.join(counts)} must be integers >= 1": False}
    return {
        f"method must be one of {', '.join(_METHODS)}": v["method"] in _METHODS,
        "indices must be distinct column numbers": _distinct(indices, d),
        "rows must be distinct row numbers": rows is None or _distinct(rows, np.inf),
        f"every kept column has one weight, between {1 / _HUGE:g} and {_HUGE:g}": weights.shape == indices.shape
        and bool(np.all((weights >= 1.0 / _HUGE) & (weights <= _HUGE))),
        "eigenvalues must be 0 <= smallest <= largest": 0.0 <= low <= high < np.inf,
        "singular values must be 0 < last <= first": 0.0 < bottom <= top < np.inf,
        "rank is at most numerical_rank": v["rank"] <= v["numerical_rank"],
        f"{', '.join(amounts)} must be finite numbers >= 0": all(
            isinstance(v[name], Real) and 0.0 <= float(v[name]) < np.inf for name in amounts
        ),
        "residual_ratio must be None or a finite number >= 0": v["residual_ratio"] is None
        or 0.0 <= float(v["residual_ratio"]) < np.inf,
        "unseen must be an integer >= 0": isinstance(v["unseen"], Integral) and int(v["unseen"]) >= 0,
        "failure_probability must be a number in (0, 1) for draws and None elsewhere": (
            isinstance(chance, Real) and 0.0 < float(chance) < 1.0
            if v["method"] in METHODS_WITH_CHANCE
            else chance is None
        ),
        "as many features are asked for as are kept at least, and no more than there are": len(indices)
        <= v["n_requested"]
        and (v["method"] == "all" or v["n_requested"] <= d),
        "of an incomplete decomposition one dimension more than V has is known": v["complete"]
        or v["numerical_rank"] == v["rank"] + 1,
        f"weighting must be one of {', '.join(_WEIGHTINGS)}": v["weighting"] in _WEIGHTINGS,
        "unit weights are 1": v["weighting"] != "unit" or bool(np.all(weights == 1.0)),
        "explained is stated where columns may leave something out": v["explained"] is None
        or min(len(indices), v["rank"]) < v["numerical_rank"],
        "explained and explainable are None or shares": all(
            v[name] is None or 0.0 <= v[name] <= 1.0 + 1e-9 for name in _SHARES
        ),
        **_objective_conditions(v),
    }


def _objective_conditions(v: Mapping[str, Any]) -> dict[str, bool]:
    return {
        "an objective has one of the losses, a positive C and finite bounds": all(
            v[name] is None or _sound(v[name]) for name in ("objective", "all_rows")
        ),
        "how close columns are to the best needs their objective, and finite bounds": v["optimal"] is None
        or (v["objective"] is not None and v["optimal"].finite),
    }


def _sound(objective: Objective) -> bool:
    bounds = objective.lower, objective.upper
    return objective.loss in LOSSES and 0.0 < objective.C < np.inf and bool(np.all(np.isfinite(bounds)))


def _distinct(numbers: Any, end: float) -> bool:
    inside = numbers.ndim == 1 and len(numbers) and 0 <= numbers.min() <= numbers.max() < end
    return bool(inside and len(np.unique(numbers)) == len(numbers))
