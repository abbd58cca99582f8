"""Checks of constructor parameters that estimators share: each error says whose, what is allowed and what came."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils import check_random_state

from rarefy.exceptions import ParameterError


def optional_count(name, value, owner):
    """Check a parameter that is None or an integer >= 1."""
    if value is None or (isinstance(value, Integral) and not isinstance(value, bool) and value >= 1):
        return
    raise ParameterError(f"{name} of {owner} must be None or an integer >= 1; got {value!r}.")


def check_count(name, value, owner):
    """Check a parameter that is an integer >= 1."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ParameterError(f"{name} of {owner} must be an integer >= 1; got {value!r}.")


def rank_or_share(name, value, owner):
    """Check a parameter that is None, an integer >= 1 or a share in (0, 1)."""
    if isinstance(value, Real) and not isinstance(value, (bool, Integral)) and 0.0 < value < 1.0:
        return
    if value is None or (isinstance(value, Integral) and not isinstance(value, bool) and value >= 1):
        return
    raise ParameterError(
        f"{name} of {owner} must be None, an integer >= 1 or a share of the squared norm in (0, 1); got {value!r}."
    )


def one_of(name, value, allowed, owner):
    """Check a parameter that takes one of a few words."""
    if value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ParameterError(f"{name} of {owner} must be one of {words}; got {value!r}.")


def draw_seed(random_state):
    """One integer from a scikit-learn style random state, to seed numpy generators with."""
    return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))


def settled_seed(random_state):
    """A seed that many can share and draw the same from: the given one, or one that is drawn now."""
    return random_state if isinstance(random_state, Integral) else draw_seed(random_state)


def check_number(name, value, owner, *, at_least=0.0, strictly=False):
    """Check a real parameter."""
    sort_ok = isinstance(value, Real) and not isinstance(value, bool) and np.isfinite(value)
    if sort_ok and (value > at_least if strictly else value >= at_least):
        return
    sign = ">" if strictly else ">="
    raise ParameterError(f"{name} of {owner} must be a finite number {sign} {at_least:g}; got {value!r}.")


def check_numbers(name, values, owner, *, strictly=False):
    """Check a parameter that is a list of finite numbers, none negative; the numbers as an array."""
    try:
        numbers = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.array([])
    if len(numbers) and np.all(np.isfinite(numbers)) and (numbers.min() > 0.0 or (not strictly and numbers.min() == 0)):
        return numbers
    sign = ">" if strictly else ">="
    raise ParameterError(f"{name} of {owner} must be finite numbers {sign} 0, at least one; got {values!r}.")


def adopt(estimator, fitted):
    """Give an estimator all that another one learned, and nothing of what it learned before itself."""
    for name in [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]:
        delattr(estimator, name)
    for name, value in vars(fitted).items():
        if name.endswith("_") and not name.startswith("_"):
            setattr(estimator, name, value)
