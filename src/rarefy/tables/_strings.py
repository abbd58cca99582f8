"""Columns of strings: which kind they are, and the numbers behind them."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.tables._messages import counted, quoted

MISSING = ("", "NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "-nan", "NULL", "null", "None", "NaT", "?")
"""What stands for a missing value in text files: pandas' markers, and the question mark of the UCI repository."""
_MISSING = frozenset(MISSING)
_PLAIN = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?(?:inf|infinity)", re.IGNORECASE)
_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+(?:[eE][+-]?[0-9]+)?")
# 1,234 is one and a bit in Berlin and a thousand and more in Boston.
_AMBIGUOUS = re.compile(r"[+-]?[1-9][0-9]{0,2},[0-9]{3}")
_DATE = re.compile(
    r"[0-9]{4}([-/.])[0-9]{1,2}\1[0-9]{1,2}(?:[T ][0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]+)?)?"
    r" ?(?:Z|UTC|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_FEW_NUMBERS = 10
"""A column with more distinct numbers than these is a column of numbers with bad values, not of categories."""


@dataclass(frozen=True)
class Strings:
    """A column of strings as its distinct values, in the order of their first rows, and a code for every row."""

    values: list[str]
    codes: NDArray[np.int64]
    """Positions in `values`; -1 where the value is missing."""

    @classmethod
    def of(cls, rows: Iterable[Any]) -> "Strings":
        """Code the rows of a column; anything that is not a string is written as one."""
        table: dict[Any, int] = {}
        codes = np.fromiter((table.setdefault(row, len(table)) for row in rows), dtype=np.int64)
        return cls.of_codes(list(table), codes)

    @classmethod
    def of_codes(cls, found: Sequence[Any], codes: NDArray[Any]) -> "Strings":
        """Strip the distinct values, and merge those that are then equal or missing."""
        table: dict[str, int] = {}
        place = np.empty(len(found) + 1, dtype=np.int64)
        for i, value in enumerate(found):
            text = "" if value is None else str(value).strip()
            place[i] = -1 if text in _MISSING else table.setdefault(text, len(table))
        place[-1] = -1
        return cls(list(table), place[codes])

    def rows(self) -> NDArray[np.object_]:
        """One string, or None, for every row; rows with the same value share one object."""
        values = np.empty(len(self.values) + 1, dtype=object)
        values[:-1] = self.values
        values[-1] = None
        return values[self.codes]

    def numbers(self, values: Sequence[float]) -> NDArray[np.float64]:
        """One number for every row, NaN where it is missing."""
        return np.append(np.asarray(values, dtype=np.float64), np.nan)[self.codes]

    def row_of(self, code: int) -> int:
        """The first row with a value, counted from 1."""
        return int(np.argmax(self.codes == code)) + 1

    @property
    def n_present(self) -> int:
        """Number of rows with a value."""
        return int(np.count_nonzero(self.codes >= 0))


def parse_number(text: str) -> float | None:
    """A number as programs write it; None for anything else, also what only Python accepts (1_000)."""
    text = text.strip()
    return float(text) if _PLAIN.fullmatch(text) else None


def is_missing_marker(text: str) -> bool:
    """Whether a cell stands for a missing value."""
    return text.strip() in _MISSING


def has_decimal_comma(text: str) -> bool:
    """Whether a cell is a number with a decimal comma and cannot be one with thousands."""
    return bool(_COMMA.fullmatch(text)) and not _AMBIGUOUS.fullmatch(text)


def first_bad_number(strings: Strings) -> int | None:
    """The code of the first value that is not a number, or None."""
    return next((i for i, value in enumerate(strings.values) if parse_number(value) is None), None)


def is_category(strings: Strings, max_categories: int) -> bool:
    """Few distinct values, at most one for two rows; two are few enough unless each occurs once."""
    n, n_rows = len(strings.values), strings.n_present
    return n <= max_categories and n < n_rows and n <= max(2, n_rows // 2) and not _numbers_with_bad_values(strings)


def _numbers_with_bad_values(strings: Strings) -> bool:
    n_numbers = sum(parse_number(value) is not None for value in strings.values)
    return n_numbers > _FEW_NUMBERS and 2 * n_numbers >= len(strings.values)


def infer(strings: Strings, max_categories: int) -> tuple[str, NDArray[Any], str]:
    """The kind of a column of strings, its values, and a remark to put after its name ("" if there is none)."""
    values = strings.values
    numbers = [parse_number(value) for value in values]
    if all(number is not None for number in numbers):
        return "number", strings.numbers([number for number in numbers if number is not None]), ""
    if {value.lower() for value in values} <= {"true", "false"}:
        return "boolean", strings.numbers([value.lower() == "true" for value in values]), ""
    if all(_DATE.fullmatch(value) for value in values):
        return "date", strings.rows(), ""
    commas = [i for i, value in enumerate(values) if _COMMA.fullmatch(value)]
    if commas and all(numbers[i] is not None for i in set(range(len(values))) - set(commas)):
        if any(has_decimal_comma(values[i]) for i in commas):
            return "number", strings.numbers([float(value.replace(",", ".")) for value in values]), "decimal comma"
        kind, rows, _ = _words(strings, max_categories)
        return (
            kind,
            rows,
            f"read as strings, because {quoted(values[commas[0]])} may have a decimal comma or a comma of thousands: "
            "write the numbers with a decimal point",
        )
    return _words(strings, max_categories)


def _words(strings: Strings, max_categories: int) -> tuple[str, NDArray[Any], str]:
    if is_category(strings, max_categories):
        return "category", strings.rows(), ""
    return "text", strings.rows(), mixture(strings)


def mixture(strings: Strings) -> str:
    """What keeps a column of strings from being one of numbers: its first bad value; "" if there are few numbers."""
    if not _numbers_with_bad_values(strings):
        return ""
    bad = [i for i, value in enumerate(strings.values) if parse_number(value) is None]
    if not bad:
        return ""
    n_rows = int(np.isin(strings.codes, bad).sum())
    return (
        f"text because {counted(n_rows, 'value')} of {strings.n_present} cannot be read as numbers, the first is "
        f"{quoted(strings.values[bad[0]])} in row {strings.row_of(bad[0])}"
    )
