"""Columns of pandas and polars frames as numbers and strings, without importing either library."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.exceptions import ParameterError
from rarefy.tables._messages import quoted
from rarefy.tables._strings import Strings, infer

Typed = tuple[str, NDArray[Any], str]
"""Kind, values, and a remark."""


@dataclass
class Columns:
    """Columns as they are collected."""

    values: dict[str, NDArray[Any]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def add(self, name: str, typed: Typed) -> None:
        """Add a column; what there is to say about it becomes a note."""
        kind, values, remark = typed
        self.kinds[name], self.values[name] = kind, values
        if remark:
            self.notes.append(
                f"Column {quoted(name)} is written with a decimal comma and read as numbers."
                if remark == "decimal comma"
                else f"Column {quoted(name)} is {remark}."
            )


def is_frame(X: Any) -> bool:
    """Whether something is a pandas or polars data frame."""
    return hasattr(X, "columns") and (hasattr(X, "get_columns") or hasattr(X, "iloc"))


def frame_columns(frame: Any, max_categories: int) -> Iterator[tuple[object, Typed]]:
    """Name and content of every column of a frame."""
    if not is_frame(frame):
        raise ParameterError(f"A pandas or polars data frame is needed; got {type(frame).__name__}.")
    if hasattr(frame, "get_columns"):
        columns = frame.get_columns()
        columns.reverse()
        while columns:  # one by one, so that what is converted can be freed
            column = columns.pop()
            yield column.name, polars_column(column, max_categories)
    else:
        for i, name in enumerate(frame.columns):
            yield name, _pandas_column(frame.iloc[:, i], max_categories)


def polars_column(column: Any, max_categories: int) -> Typed:
    """Content of a polars series."""
    import polars as pl

    dtype = column.dtype
    if dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        kind = "boolean" if dtype == pl.Boolean else "number"
        return kind, column.cast(pl.Float64).to_numpy(), ""
    if dtype == pl.String:
        return infer(Strings.of(column.to_list()), max_categories)
    if dtype in (pl.Categorical, pl.Enum):
        return "category", Strings.of(column.cast(pl.String).to_list()).rows(), ""
    rows = Strings.of(None if value is None else str(value) for value in column.to_list()).rows()
    return "date" if dtype.is_temporal() else "text", rows, ""


def _pandas_column(column: Any, max_categories: int) -> Typed:
    dtype = column.dtype
    kind = getattr(dtype, "kind", "O")
    if hasattr(dtype, "categories"):
        return "category", Strings.of(_present(value) for value in column).rows(), ""
    if kind in "iufb":
        return "boolean" if kind == "b" else "number", column.to_numpy(dtype=np.float64, na_value=np.nan), ""
    if kind in "Mm":
        return "date", Strings.of(_present(value) for value in column).rows(), ""
    return object_column(column.tolist(), max_categories)


def object_column(rows: list[Any], max_categories: int) -> Typed:
    """Content of a column of Python objects."""
    present = [_present(row) for row in rows]
    types = {type(row) for row in present if row is not None}
    if types and all(issubclass(one, (bool, np.bool_)) for one in types):
        return "boolean", _floats(present), ""
    if all(issubclass(one, Real) and not issubclass(one, (bool, np.bool_)) for one in types):
        return "number", _floats(present), ""
    if all(hasattr(one, "isoformat") for one in types):
        return "date", Strings.of(None if row is None else str(row) for row in present).rows(), ""
    return infer(Strings.of(None if row is None else str(row) for row in present), max_categories)


def _floats(rows: list[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if row is None else _float(row) for row in rows], dtype=np.float64)


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # an integer beyond the largest number
        return np.inf if value > 0 else -np.inf


def _present(value: Any) -> Any:
    """None for all of Python's, numpy's and pandas' missing values."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return None
    return None if isinstance(value, (float, np.floating)) and value != value else value
