"""The fields of a kernel certificate as they come from a file: checked, because anybody can write one."""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from rarefy.certificates._kernel_objective import KernelObjective
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.losses.margins import LOSSES
from rarefy.exceptions import ParameterError


def checked_kernel_fields(values: Any, names: Sequence[str]) -> dict[str, Any]:
    """The fields from plain values; whether they are true, or even possible, is for `verify`.

    Raises
    ------
    ParameterError
        If anything is missing or of the wrong kind.
    """
    if not isinstance(values, Mapping):
        raise ParameterError(f"A certificate is made from a dict of its fields; got {type(values).__name__}.")
    missing = [name for name in names if name not in values]
    if missing:
        raise ParameterError(f"These values are no kernel certificate: {', '.join(missing)} are missing.")
    v = {name: values[name] for name in names}
    try:
        _convert(v)
    except (TypeError, ValueError, OverflowError, AttributeError, KeyError) as error:
        raise ParameterError(f"These values are no kernel certificate: {error}.") from error
    return v


def _convert(v: dict[str, Any]) -> None:
    low, high = v["eigenvalues"]
    v["eigenvalues"] = _number(low), _number(high)
    for name in ("n_samples", "rank"):
        if not (isinstance(v[name], Integral) or (name == "rank" and v[name] is None)) or isinstance(v[name], bool):
            raise ValueError(f"{name} must be an integer")
    for name in ("trace_ratio", "resolution"):
        v[name] = _number(v[name])
    if not isinstance(v["nested"], bool | np.bool_):
        raise ValueError("nested must be true or false")
    v["nested"] = bool(v["nested"])
    v["fingerprint"] = None if v["fingerprint"] is None else str(v["fingerprint"])
    v["objective"] = None if v["objective"] is None else _objective(**v["objective"])
    if v["regularised"] is not None:
        v["regularised"] = Regularised(**{name: _number(value) for name, value in v["regularised"].items()})


def _objective(loss: Any, C: Any, **others: Any) -> KernelObjective:
    found = {}
    for name, value in others.items():
        dimensions = 2 if name.startswith("dual") else 1 if name.startswith("intercept") else 0
        found[name] = np.asarray(value, dtype=np.float64) if dimensions else _bound(name, value)
        if np.ndim(found[name]) != dimensions:
            raise ValueError(f"{name} of an objective must have {dimensions} dimensions")
    return KernelObjective(str(loss), _number(C), **found)  # type: ignore[arg-type]


def _bound(name: str, value: Any) -> float:
    """What JSON has no number for is written as null: a bound from below is then minus infinity."""
    return -np.inf if value is None and name.startswith("lower") else _number(value)


def _number(value: Any) -> float:
    if not (value is None or isinstance(value, Real)) or isinstance(value, bool):
        raise ValueError(f"{value!r} is no number")
    return np.inf if value is None else float(value)


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
