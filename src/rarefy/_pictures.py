"""Axes and data frames, for values that have a picture and a table; both need what is not always installed."""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rarefy.exceptions import MissingExtraError, ParameterError


def axes_of(given: Any, width: float = 6.0, height: float = 4.0) -> Any:
    """The axes that were given, or those of a new figure for None; matplotlib comes with an extra."""
    if given is not None:
        if not (hasattr(given, "plot") and hasattr(given, "barh") and hasattr(given, "figure")):
            raise ParameterError(f"ax must be axes of matplotlib, or None for new ones; got {given!r}.")
        return given
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError as error:
        raise MissingExtraError('Pictures need matplotlib: pip install "rarefy[cli]"') from error
    return Figure(figsize=(width, height), layout="constrained").subplots()


def as_it_is(name: Any) -> str:
    """A name from the data for a picture: matplotlib would read formulas between dollar signs, and fail at most."""
    return str(name).replace("$", r"\$")


def data_frame(columns: Mapping[str, Any]) -> Any:
    """A pandas data frame."""
    try:
        return import_module("pandas").DataFrame(dict(columns))
    except ModuleNotFoundError as error:
        raise MissingExtraError("Data frames need pandas: pip install pandas") from error
