"""Warnings that point at the user's own line."""

import sys
import warnings

_OURS = {"rarefy", "sklearn", "joblib", "contextlib", "functools", "threading", "concurrent"}
"""Packages whose frames are passed over: a `fit` may be called through a pipeline, a search or a thread."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn, naming the line outside of rarefy and scikit-learn from which the call came.

    Parameters
    ----------
    message : str
        What happened and what to do.
    category : type
        The class of the warning.
    """
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and str(frame.f_globals.get("__name__", "")).split(".")[0] in _OURS:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
