"""How a text file writes a table: its delimiter, its quotes, and whether the first line holds names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.tables._strings import has_decimal_comma, is_missing_marker, parse_number

QUOTE = b'"'
_DELIMITERS = (b"\t", b";", b"|", b",")
"""A delimiter before another is preferred if both split all lines equally: 1,5;2,5 has two columns."""
_AGREE = 0.8
NAMES_OF_DELIMITERS = {b"\t": "tab", b";": "semicolon", b"|": "vertical bar", b",": "comma", b" ": "space"}


@dataclass(frozen=True)
class Records:
    """Where the records of a block of text end, and how many fields they have."""

    ends: NDArray[np.int64]
    """Position after the last byte of every record, which is its line break."""
    starts: NDArray[np.int64]
    n_fields: NDArray[np.int64]
    blank: NDArray[np.bool_]

    @classmethod
    def of(cls, block: bytes, delimiter: bytes) -> "Records":
        """Count line breaks and delimiters outside of quotes."""
        text = np.frombuffer(block, dtype=np.uint8)
        breaks, splits = text == 10, text == delimiter[0]
        if QUOTE in block:
            outside = ~np.bitwise_xor.accumulate(text == QUOTE[0])
            breaks &= outside
            splits &= outside
        ends = np.flatnonzero(breaks) + 1
        n_fields = np.diff(np.searchsorted(np.flatnonzero(splits), ends), prepend=0) + 1
        starts = np.append(0, ends[:-1])
        return cls(ends, starts, n_fields, ends - starts == 1)


@dataclass(frozen=True)
class Dialect:
    """How a file writes its table."""

    delimiter: bytes
    n_columns: int
    names: tuple[str, ...] | None
    """None if the first line holds data."""
    decimal_comma: bool = False
    words: frozenset[int] = frozenset()
    """Columns whose first rows hold more than numbers."""


def find_delimiter(head: bytes, ending: str) -> bytes:
    """The delimiter that splits the first lines most equally; a comma if none does."""
    scores = {delimiter: _agreement(head, delimiter) for delimiter in _DELIMITERS}
    if ending in (".tsv", ".tab") and scores[b"\t"] > 0.0:
        return b"\t"
    for delimiter in _DELIMITERS:
        if scores[delimiter] >= _AGREE:
            return delimiter
    if _agreement(collapse_spaces(head), b" ") >= 0.9 and _mostly_numbers(head):
        return b" "
    best = max(_DELIMITERS, key=lambda delimiter: scores[delimiter])
    return best if scores[best] > 0.0 else b","


def collapse_spaces(block: bytes) -> bytes:
    """One space where there are several or tabs, and none around a line."""
    return re.sub(rb"(?m)^ | $", b"", re.sub(rb"[ \t]+", b" ", block))


def without_spaces_before_quotes(block: bytes, delimiter: bytes) -> bytes:
    """Quotes directly after their delimiters, where they are recognised: some programs write a space between."""
    if delimiter + b" " + QUOTE not in block:
        return block
    text = np.frombuffer(block, dtype=np.uint8)
    quotes = text == QUOTE[0]
    splits = (text == delimiter[0]) & ~np.bitwise_xor.accumulate(quotes)
    spaces = splits[:-2] & (text[1:-1] == 32) & quotes[2:]
    return np.delete(text, np.flatnonzero(spaces) + 1).tobytes()


def _agreement(head: bytes, delimiter: bytes) -> float:
    """The share of lines with the most frequent number of fields; 0 if that is one."""
    records = Records.of(head, delimiter)
    counts = records.n_fields[~records.blank]
    if not len(counts):
        return 0.0
    values, votes = np.unique(counts, return_counts=True)
    best = int(np.argmax(votes))
    # Delimiters that occur in texts only are not in the line of names.
    if values[best] == 1 or counts[0] == 1:
        return 0.0
    return float(votes[best] / len(counts))


def _mostly_numbers(head: bytes) -> bool:
    cells = head.decode("utf-8", "replace").split()[:1000]
    return 2 * sum(parse_number(cell) is not None for cell in cells) > len(cells)


def first_line_has_names(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line of a file differs from the others as names do from data.

    A word above numbers is a name. Numbers above numbers are data, and so is a word that occurs again in its column,
    unless there is a word above numbers elsewhere.
    """
    if all(parse_number(cell) is not None or is_missing_marker(cell) for cell in first):
        return False
    for_data = 0
    for cell, column in zip(first, zip(*rows, strict=True), strict=False):
        values = [value for value in column if not is_missing_marker(value)]
        numeric = bool(values) and all(_like_number(value) for value in values)
        if numeric and not _like_number(cell) and not is_missing_marker(cell):
            return True
        for_data += bool(values) and ((numeric and _like_number(cell)) or cell in values)
    return not for_data


def _like_number(cell: str) -> bool:
    return parse_number(cell) is not None or has_decimal_comma(cell.strip())


def uses_decimal_commas(cells: Sequence[Sequence[str]]) -> bool:
    """Whether some column of the first lines holds numbers with decimal commas and nothing else."""
    for column in zip(*cells, strict=True):
        values = [value.strip() for value in column if not is_missing_marker(value)]
        if any(map(has_decimal_comma, values)) and all(
            parse_number(v) is not None or re.fullmatch(r"[+-]?[0-9]+,[0-9]+", v) for v in values
        ):
            return True
    return False
