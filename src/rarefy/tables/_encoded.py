"""How one column of a table becomes numbers: what was learned about it, as plain values."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.exceptions import ParameterError, TableError
from rarefy.tables._messages import quoted
from rarefy.tables._strings import Strings, first_bad_number

ENCODED_KINDS = ("number", "boolean", "category")
_KEYS = {"name", "kind", "categories", "fill"}


@dataclass(frozen=True)
class EncodedColumn:
    """One column: its name and kind, its categories, and what replaces missing values."""

    name: str
    kind: str
    categories: tuple[str, ...] = ()
    fill: float | str | None = None
    """None if missing values are refused."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Categories with an indicator of their own; one is enough for two."""
        return self.categories[1:] if len(self.categories) == 2 else self.categories

    @property
    def outputs(self) -> list[str]:
        """Names of the columns of numbers."""
        return [f"{self.name}={value}" for value in self.kept] if self.kind == "category" else [self.name]

    def encode(self, values: NDArray[Any], kind: str, source: str) -> NDArray[np.float64]:
        """Numbers of shape (n_rows, n_outputs); missing values stay missing if nothing replaces them."""
        if self.kind == "category":
            return self._indicators(as_strings(values))
        numbers = values if values.dtype != object else _no_numbers(self, values, kind, source)
        if self.kind == "boolean":
            strange = ~(np.isnan(numbers) | (numbers == 0.0) | (numbers == 1.0))
            if strange.any():
                i = int(np.argmax(strange))
                raise TableError(
                    f"{source}: column {quoted(self.name)} was true or false and has {quoted(f'{numbers[i]:g}')} in "
                    f"row {i + 1}; write true, false, 1 or 0."
                )
        if self.fill is not None:
            numbers = np.where(np.isnan(numbers), self.fill, numbers)
        return np.asarray(numbers, dtype=np.float64)[:, None]

    def _indicators(self, strings: Strings) -> NDArray[np.float64]:
        place = {value: i for i, value in enumerate(self.kept)}
        table = np.zeros((len(strings.values) + 1, len(self.kept)))
        for code, value in enumerate(strings.values):
            if value in place:
                table[code, place[value]] = 1.0
        if self.fill is None:
            table[-1] = np.nan
        elif self.fill in place:
            table[-1, place[str(self.fill)]] = 1.0
        return table[strings.codes]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"name": self.name, "kind": self.kind, "categories": list(self.categories), "fill": self.fill}

    @classmethod
    def from_dict(cls, values: Any) -> "EncodedColumn":
        """The reverse; ParameterError for everything that `to_dict` would not return."""
        if not isinstance(values, Mapping) or set(values) != _KEYS:
            raise ParameterError(
                f"A column of a TableEncoder must have {', '.join(sorted(_KEYS))}; got {_shown(values)}."
            )
        name, kind, categories, fill = (values[key] for key in ("name", "kind", "categories", "fill"))
        right = isinstance(name, str) and kind in ENCODED_KINDS and isinstance(categories, list)
        right = right and all(isinstance(one, str) for one in categories) and len(set(categories)) == len(categories)
        right = right and bool(categories) == (kind == "category")
        if right and fill is not None:
            number = isinstance(fill, (int, float)) and not isinstance(fill, bool) and math.isfinite(fill)
            right = fill in categories if kind == "category" else number and (kind == "number" or fill in (0, 1))
        if not right:
            raise ParameterError(f"A column of a TableEncoder is not valid: {_shown(dict(values))}.")
        return cls(name, kind, tuple(categories), fill if isinstance(fill, str) or fill is None else float(fill))


def _shown(values: Any) -> str:
    return quoted(repr(values))


def as_strings(values: NDArray[Any]) -> Strings:
    """Codes of a column; numbers are written as people write them."""
    if values.dtype == object:
        return Strings.of(values)
    distinct, codes = np.unique(values, return_inverse=True)  # NaN is one value, the last
    texts = [None if np.isnan(v) else str(int(v)) if v == int(v) else repr(float(v)) for v in distinct.tolist()]
    return Strings.of_codes(texts, codes.ravel())


def _no_numbers(column: EncodedColumn, values: NDArray[Any], kind: str, source: str) -> NDArray[np.float64]:
    """An error about strings where numbers were, unless they are all missing."""
    strings = Strings.of(values)
    bad = first_bad_number(strings)
    if bad is None:
        return strings.numbers([float(value) for value in strings.values])
    was = "numbers" if column.kind == "number" else "true or false"
    raise TableError(
        f"{source}: column {quoted(column.name)} was {was} and is {kind} here; the first bad value is "
        f"{quoted(strings.values[bad])} in row {strings.row_of(bad)}. Correct it, or encode the tables anew."
    )
