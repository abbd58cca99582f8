"""Arrays from what callers pass: scikit-learn's checks, and refusals of what it would quietly take for numbers.

scikit-learn drops the mask of a masked array and counts the days of dates; both are refused here. So are numbers whose
squares are none: distances, norms and kernel values of such data would be infinite. All of the library checks its input
through this module.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_array as _check_array
from sklearn.utils import check_X_y as _check_X_y
from sklearn.utils.validation import _check_sample_weight
from sklearn.utils.validation import column_or_1d as _column_or_1d
from sklearn.utils.validation import validate_data as _validate_data

from rarefy.exceptions import ParameterError

_WEIGHTS = 1e20
"""Weights are multiplied with each other and with losses; whatever their unit, the largest is to be between the inverse
of this and this."""
Array = NDArray[np.float64]
_NO_Y = "no_validation"


def validate_data(estimator: Any, X: Any, y: Any = _NO_Y, **options: Any) -> Any:
    """scikit-learn's `validate_data`, which also stores names and number of features; masks and dates are refused."""
    owner = type(estimator).__name__
    _refuse(X, f"X of {owner}")
    if y is not None and not (isinstance(y, str) and y == _NO_Y):
        refuse_masked(y, f"y of {owner}")
    with np.errstate(over="ignore", invalid="ignore"):
        found = _validate_data(estimator, X, y, **options)
    if not options.get("skip_check_array"):
        for name, values in zip("Xy", found if isinstance(found, tuple) else (found,), strict=False):
            _check_size(values, f"{name} of {owner}")
    return found


def check_array(X: Any, name: str = "X", **options: Any) -> Any:
    """scikit-learn's `check_array`; masks and dates are refused. `name` is what messages call it."""
    _refuse(X, name)
    with np.errstate(over="ignore", invalid="ignore"):
        found = _check_array(X, **options)
    _check_size(found, name)
    return found


def check_X_y(X: Any, y: Any, owner: str, **options: Any) -> tuple[Any, Any]:
    """scikit-learn's `check_X_y`; masks and dates are refused."""
    _refuse(X, f"X of {owner}")
    refuse_masked(y, f"y of {owner}")
    with np.errstate(over="ignore", invalid="ignore"):
        found = _check_X_y(X, y, **options)
    for name, values in zip("Xy", found, strict=True):
        _check_size(values, f"{name} of {owner}")
    return found[0], found[1]


def check_labels(y: Any, name: str) -> NDArray[Any]:
    """Labels of any type that can be sorted, as a vector; none of them missing."""
    refuse_masked(y, name)
    y = _column_or_1d(y)
    if y.dtype.kind not in "biufSUMmOT":
        raise ParameterError(f"{name} must be labels that can be sorted; got values of type {y.dtype}.")
    missing = [value is None or value != value for value in y.tolist()] if y.dtype.kind in "OT" else _not_finite(y)
    if np.any(missing):
        raise ParameterError(f"{name} has {int(np.sum(missing))} labels that are missing or infinite; leave them out.")
    try:
        np.unique(y)
    except TypeError as error:
        raise ParameterError(f"{name} must be labels that can be sorted: {error}.") from None
    return y


def check_weights(sample_weight: Any, X: Any, owner: str) -> Array:
    """A weight >= 0 for each sample, not all zero, and of a size that products of weights can have; None means 1."""
    name = f"sample_weight of {owner}"
    if sample_weight is not None:
        _refuse(sample_weight, name)
        given = np.asarray(sample_weight)
        if given.dtype.kind == "c":
            raise ParameterError(f"{name} must be real numbers; got values of type {given.dtype}.")
        if given.dtype.kind in "biuf" and given.size and not given.any():
            raise ParameterError(f"{name} is zero for every sample; at least one must count.")
    weights = np.asarray(
        _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True), dtype=np.float64
    )
    largest = float(weights.max(initial=0.0))
    if not 1.0 / _WEIGHTS <= largest <= _WEIGHTS:
        raise ParameterError(
            f"{name} goes up to {largest:.3g}; its largest value must be between {1.0 / _WEIGHTS:.0e} and "
            f"{_WEIGHTS:.0e}, since weights are multiplied with each other. Divide all by {largest:.3g}."
        )
    return weights


def refuse_masked(value: Any, name: str) -> None:
    """Raise an error if values are masked: numpy would go on with whatever stands below the mask."""
    rows = value if isinstance(value, list | tuple) else ()
    if np.ma.is_masked(value) or any(np.ma.is_masked(row) for row in rows):
        raise ParameterError(f"{name} has masked values. Fill them in, or leave their rows or columns out.")


def _refuse(value: Any, name: str) -> None:
    refuse_masked(value, name)
    types = getattr(value, "dtypes", None)  # of a data frame: those of its columns
    types = [getattr(value, "dtype", None)] if types is None else list(np.atleast_1d(np.asarray(types, dtype=object)))
    if any(_is_date(one) for one in types):
        raise ParameterError(
            f"{name} has dates or times, which are no numbers. Encode them, for example with "
            "rarefy.tables.TableEncoder, or leave them out."
        )


def _is_date(dtype: Any) -> bool:
    """Whether a type of numpy, pandas or polars is one of dates, times or spans of time."""
    temporal = getattr(dtype, "is_temporal", None)
    return getattr(dtype, "kind", None) in ("M", "m") or (callable(temporal) and bool(temporal()))


def _check_size(values: Any, name: str) -> None:
    """Raise an error if the sum of the squares of numbers in double precision is none."""
    data = values.data if sp.issparse(values) else values
    if getattr(data, "dtype", None) != np.float64 or not data.size:
        return
    flat = data.ravel(order="K") if data.flags.forc else data.ravel()
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(np.vdot(flat, flat)):
            return
    if not np.isfinite(flat).all():  # where that is allowed, somebody else looks
        return
    raise ParameterError(
        f"{name} has values up to {np.abs(flat).max():.3g}, whose squares are too large for a floating point number. "
        "Divide it by a constant, or standardise the features."
    )


def _not_finite(y: NDArray[Any]) -> Any:
    return np.isnat(y) if y.dtype.kind in "Mm" else (~np.isfinite(y) if y.dtype.kind == "f" else False)
