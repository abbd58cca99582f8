"""Errors about data frames whose columns are not numbers: which ones, and what to do about them."""

from typing import Any

import numpy as np

from rarefy.exceptions import ParameterError

_KINDS = {"M": "dates", "m": "times", "U": "text", "S": "text", "T": "text", "O": "text"}
_LISTED = 5


_SAID = ("could not convert", "could not be promoted", "float() argument", "Cannot convert", "has dates or times")
"""What numpy and its friends say about values that are not numbers."""


def about_columns(error: BaseException, owner: str, X: Any) -> ParameterError | None:
    """An error that names the columns of a data frame that are not numbers, if they were the reason of another one."""
    if not isinstance(error, TypeError | ValueError) or not any(words in str(error) for words in _SAID):
        return None
    if not hasattr(X, "columns") or not hasattr(X, "__getitem__"):
        return None
    kinds = {str(name): kind for name in X.columns if (kind := _kind(X[name])) is not None}
    if not kinds:
        return None
    listed = ", ".join(f"{name!r} ({kind})" for name, kind in list(kinds.items())[:_LISTED])
    more = f" and {len(kinds) - _LISTED} more" if len(kinds) > _LISTED else ""
    verb = "is" if len(kinds) == 1 else "are"
    return ParameterError(
        f"{owner} needs numbers; {'column' if len(kinds) == 1 else 'columns'} {listed}{more} {verb} not. Encode "
        f"{'it' if len(kinds) == 1 else 'them'}, for example with rarefy.tables.TableEncoder, or leave "
        f"{'it' if len(kinds) == 1 else 'them'} out."
    )


def _kind(column: Any) -> str | None:
    """What a column holds that is not numbers; None if it can be read as numbers."""
    try:
        values = np.asarray(column)
        if values.dtype.kind not in "Mm":
            values.astype(np.float64)
            return None
    except (TypeError, ValueError):
        pass
    return _KINDS.get(values.dtype.kind, "text")
