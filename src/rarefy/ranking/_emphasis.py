"""What a ranker emphasises: the parameter as it is given, and what it means for the loss."""

from collections.abc import Callable, Mapping
from numbers import Real
from typing import Any, get_args

import numpy as np
from sklearn.utils._param_validation import Options

from rarefy._parameters import Number
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.lists import Measure
from rarefy.core.losses.pairs import Profile
from rarefy.exceptions import ParameterError

MEASURES: tuple[Measure, ...] = get_args(Measure)
"""Measures of the whole list, which stand for themselves."""

_NUMBERS = {"push": Number(Real, 1, None, closed="left"), "false_positive_range": Number(Real, 0, 1, closed="right")}
_CELLS = 10_000
"""Weights are taken at the middles of so many ranges of false-positive rates; ends and middles are checked."""


class Emphasis(Options):
    """A dict of what is emphasised."""

    def __init__(self, note: str = "") -> None:
        super().__init__(dict, set())
        self._note = note

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether all keys are known, and their values in range or functions."""
        return isinstance(val, dict) and all(
            callable(value)
            if key == "false_positive_weight"
            else key in _NUMBERS and _NUMBERS[key].is_satisfied_by(value)
            for key, value in val.items()
        )

    def __str__(self) -> str:
        return (
            "a dict with 'push' (a number >= 1), 'false_positive_range' (a number in (0, 1]), 'false_positive_weight' "
            f"(a function of the false-positive rate) or several of them{self._note}"
        )


def false_positive_profile(emphasis: Mapping[str, Any], owner: str) -> Profile | None:
    """How much samples of the lower class count, by where they stand; None if all count alike."""
    up_to, weight = float(emphasis.get("false_positive_range", 1.0)), emphasis.get("false_positive_weight")
    weights = np.ones(1) if weight is None else _sampled(weight, owner)
    return None if up_to == 1.0 and weights[0] == weights[-1] else Profile.of(weights, up_to)


def _sampled(weight: Callable[[Array], Any], owner: str) -> Array:
    """Weights of equal ranges of false-positive rates, by a function that has to be checked."""
    rates = np.linspace(0.0, 1.0, 2 * _CELLS + 1)
    try:
        values = np.asarray(weight(rates.copy()), dtype=np.float64)
        wrong = _what_is_wrong(rates, values)
    except (TypeError, ValueError) as error:
        wrong = f"one that fails with {type(error).__name__}: {error}"
    if wrong:
        raise ParameterError(
            f"'false_positive_weight' in the emphasis of {owner} must be a function that gives, for an array of "
            "false-positive rates from 0 to 1, as many finite weights that are not negative, not all zero and do not "
            f"increase with the rate; got {wrong}."
        )
    return np.minimum.accumulate(values)[1::2]  # what rounding makes increase does not


def _what_is_wrong(rates: Array, values: Array) -> str:
    """What the weights are that they must not be; empty if nothing is."""
    if values.shape != rates.shape:
        return f"an array of shape {values.shape} for one of shape {rates.shape}"
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0.0)))
    if len(bad):
        return f"{values[bad[0]]:g} at the rate {rates[bad[0]]:g}"
    if not values[1::2].any():
        return "zero at all of them"
    rise = np.flatnonzero(np.diff(values) > 1e-9 * values.max())
    if len(rise):
        before, after = rise[0], rise[0] + 1
        return f"{values[before]:.6g} at the rate {rates[before]:g} and {values[after]:.6g} at {rates[after]:g}"
    return ""
