"""Constraints on parameters that estimators share, in scikit-learn's form, and seeds."""

from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from rarefy.exceptions import ParameterError

_MOST = 2**63 - 1


class Number(Interval):
    """An interval of numbers that leaves out True and False, which Python takes for 1 and 0."""

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether a value is a number in the interval; integers beyond 64 bits are in none."""
        if isinstance(val, (bool, np.bool_)) or (isinstance(val, int) and abs(val) > _MOST):
            return False
        return bool(super().is_satisfied_by(val.item() if isinstance(val, np.generic) else val))


_SMALLEST, _LARGEST = 1e-100, 1e100
"""Penalties, factors and tolerances that are larger, or smaller than its inverse, are refused: a product of three of
them is no floating point number. Between them the unit of the data is anybody's choice."""
COUNT = Number(Integral, 1, None, closed="left")
POSITIVE = Number(Real, _SMALLEST, _LARGEST, closed="both")
COST = Number(Real, 1e-60, 1e60, closed="both")
"""Of losses whose sums are searched by Newton's method over many choices: it gets nowhere beyond that."""
NOT_NEGATIVE = Number(Real, 0, _LARGEST, closed="both")
ANY_REAL = Number(Real, -_LARGEST, _LARGEST, closed="both")
SHARE = Number(Real, 0, 1, closed="neither")


def draw_seed(random_state: Any) -> int:
    """One integer from a scikit-learn style random state, to seed numpy generators with."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def resolved_seed(random_state: Any) -> int:
    """A seed that many can share and draw the same from: the given one, or one that is drawn now."""
    return int(random_state) if isinstance(random_state, Integral) else draw_seed(random_state)


def check_grid(name: str, values: Any, owner: str, *, zero: bool = False) -> NDArray[np.float64]:
    """Check a list of values to try: finite numbers, at least one, none negative; the numbers as an array.

    Parameters
    ----------
    name : str
        Of the parameter.
    values : array-like
        What was given.
    owner : str
        Whose parameter it is.
    zero : bool
        Whether zero is allowed.
    """
    try:
        numbers = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError, OverflowError):
        numbers = np.array([])
    if len(numbers) and np.all((numbers <= _LARGEST) & ((numbers >= _SMALLEST) | (zero & (numbers == 0.0)))):
        return numbers
    sign = ">=" if zero else ">"
    if len(numbers) and np.all(np.isfinite(numbers) & ((numbers > 0.0) | (zero & (numbers == 0.0)))):
        raise ParameterError(f"{name} of {owner} must be between {_SMALLEST:g} and {_LARGEST:g}; got {values!r}.")
    raise ParameterError(f"{name} of {owner} must be finite numbers {sign} 0, at least one; got {values!r}.")
