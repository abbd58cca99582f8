"""The fields of a certificate as they come from a file: checked, because anybody can write one."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from operator import index
from typing import Any

import numpy as np

from rarefy.certificates._objective import Objective
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.sketch import Sketch
from rarefy.core.losses.margins import LOSSES
from rarefy.exceptions import ParameterError

METHODS_WITH_CHANCE = ("replacement", "poisson")
"""Ways of choosing whose bound holds with a probability."""
_METHODS = ("bss", "dual", "unweighted", "adaptive", *METHODS_WITH_CHANCE, "top", "all", "given")
_WEIGHTINGS = ("own", "optimal", "unit")
_SHARES = ("explained", "explainable")
_HUGE = 1e100
"""Squares of larger weights overflow, those of smaller ones than its inverse vanish."""


def checked_fields(values: Any, names: Sequence[str]) -> dict[str, Any]:
    """The fields of a certificate from plain values; whether they are true, or even possible, is for `verify`.

    Raises
    ------
    ParameterError
        If anything is missing or of the wrong kind.
    """
    if not isinstance(values, Mapping):
        raise ParameterError(f"A certificate is made from a dict of its fields; got {type(values).__name__}.")
    missing = [name for name in names if name not in values]
    if missing:
        raise ParameterError(f"These values are no certificate: {', '.join(missing)} are missing.")
    v = {name: values[name] for name in names}
    try:
        _convert(v)
    except (TypeError, ValueError, OverflowError, AttributeError, KeyError) as error:
        raise ParameterError(f"These values are no certificate: {error}.") from error
    return v


def impossible(fields: Mapping[str, Any]) -> list[str]:
    """What no honest certificate could say, whatever the data are."""
    return [what for what, right in _conditions(fields).items() if not right]


def _convert(v: dict[str, Any]) -> None:
    """Lists to arrays and tuples, where they should be."""
    for name in ("indices", "rows"):
        if v[name] is not None or name == "indices":
            numbers = np.asarray(v[name])
            if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
                raise ValueError(f"{name} must be row or column numbers")
            v[name] = numbers.astype(np.intp)
    v["weights"] = _numbers(v["weights"])
    v["choice"] = None if v["choice"] is None else _numbers(v["choice"])
    v["names"] = None if v["names"] is None else tuple(_text(name) for name in _listed(v["names"]))
    for name in ("eigenvalues", "singular_values"):
        first, last = _listed(v[name])
        v[name] = _number(first), _number(last)
    if v["sketch"] is not None:
        v["sketch"] = Sketch(index(v["sketch"]["size"]), index(v["sketch"]["seed"]))
    for name in ("rank", "numerical_rank", "n_requested", "n_features", "unseen"):
        if not isinstance(v[name], Integral):
            raise ValueError(f"{name} must be an integer")
    for name in ("next_singular_value", "energy_kept", "resolution"):
        v[name] = _number(v[name])
    for name in ("residual_ratio", "failure_probability"):
        v[name] = None if v[name] is None else _number(v[name])
    v["measured"] = {str(name): _number(value) for name, value in v["measured"].items()}
    _convert_additions(v)


def _convert_additions(v: dict[str, Any]) -> None:
    """What not every certificate has."""
    for name in _SHARES:
        v[name] = None if v[name] is None else _number(v[name])
    for name in ("proved", "complete"):
        if not isinstance(v[name], bool | np.bool_):
            raise ValueError(f"{name} must be true or false")
        v[name] = bool(v[name])
    v["method"], v["weighting"] = _text(v["method"]), _text(v["weighting"])
    v["fingerprint"] = None if v["fingerprint"] is None else _text(v["fingerprint"])
    for name in ("objective", "all_rows"):
        v[name] = None if v[name] is None else _objective(**v[name])
    if v["regularised"] is not None:
        v["regularised"] = Regularised(**{name: _number(value) for name, value in v["regularised"].items()})


def _objective(
    loss: Any, C: Any, lower: Any, upper: Any, dual: Any, coef: Any, intercept: Any, empty: Any
) -> Objective:
    points = [_numbers(point) for point in (dual, coef, intercept)]
    if [point.ndim for point in points] != [2, 2, 1]:
        raise ValueError("dual and coef of an objective are matrices, intercept is a vector")
    values = {"lower": _number(lower), "upper": _number(upper), "empty": _number(empty)}
    return Objective(_text(loss), _number(C), dual=points[0], coef=points[1], intercept=points[2], **values)  # type: ignore[arg-type]


def _number(value: Any) -> float:
    """A number; what JSON has none for is written as null."""
    if value is not None and not isinstance(value, Real):  # a text that looks like a number is none
        raise ValueError(f"a number is needed, not {value!r}")
    return np.inf if value is None else float(value)


def _numbers(values: Any) -> Array:
    """Numbers in lists of any depth."""
    found = np.asarray(values)
    if found.size and found.dtype.kind not in "biuf":
        raise ValueError(f"numbers are needed, not {str(values)[:60]!r}")
    return found.astype(np.float64)


def _listed(values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise ValueError(f"a list is needed, not {values!r}")
    return values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"a text is needed, not {value!r}")
    return str(value)


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
        "explained and explainable are None or shares": all(
            v[name] is None or 0.0 <= v[name] <= 1.0 + 1e-9 for name in _SHARES
        ),
        "an objective has one of the losses, a positive C and finite bounds": all(
            v[name] is None or _sound(v[name]) for name in ("objective", "all_rows")
        ),
    }


def _sound(objective: Objective) -> bool:
    bounds = objective.lower, objective.upper
    return objective.loss in LOSSES and 0.0 < objective.C < np.inf and bool(np.all(np.isfinite(bounds)))


def _distinct(numbers: Any, end: float) -> bool:
    inside = numbers.ndim == 1 and len(numbers) and 0 <= numbers.min() <= numbers.max() < end
    return bool(inside and len(np.unique(numbers)) == len(numbers))
