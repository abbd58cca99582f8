"""What an encoder learns from a table, and what it refuses."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy.exceptions import TableError
from rarefy.tables._encoded import ENCODED_KINDS, EncodedColumn
from rarefy.tables._messages import SHOWN, counted, listed, quoted
from rarefy.tables._strings import Strings, is_category, mixture, parse_number
from rarefy.tables._table import Table

_LARGEST = 1e150
"""Sums of squares of larger numbers are not finite in double precision."""


def learn_columns(table: Table, max_categories: int) -> list[EncodedColumn]:
    """Kind and categories of every column; an error that names the columns that cannot be encoded."""
    if table.columns is None:
        return [EncodedColumn(name, "number") for name in table.names]
    found: list[EncodedColumn] = []
    refused: list[tuple[str, str]] = []
    for name in table.names:
        kind = table.kinds[name]
        strings = Strings.of(table.columns[name]) if table.columns[name].dtype == object else None
        if strings is not None and kind != "date":
            kind = _kind_of_strings(strings, kind, max_categories)
        if kind in ENCODED_KINDS:
            values = strings.values if strings is not None else []
            found.append(EncodedColumn(name, kind, tuple(sorted(values, key=_order))))
        else:
            assert strings is not None
            refused.append((name, _reason(strings, kind, max_categories)))
    if refused:
        raise TableError(_refusal(table, refused))
    return found


def _kind_of_strings(strings: Strings, kind: str, max_categories: int) -> str:
    """Whether there are few enough distinct strings; those declared as categories need not recur."""
    if not strings.values:
        return "number"
    few = len(strings.values) <= max_categories if kind == "category" else is_category(strings, max_categories)
    return "category" if few else "text"


def _order(value: str) -> tuple[float, str]:
    number = parse_number(value)
    return (np.inf if number is None else number, value)


def _reason(strings: Strings, kind: str, max_categories: int) -> str:
    if kind == "date":
        return "a date; convert it to a number, for example days since the first one"
    mixed = mixture(strings)
    if mixed:
        return f"{mixed}; correct these values"
    n, n_rows = len(strings.values), strings.n_present
    if sum(len(value.split()) > 1 for value in strings.values) > n / 2:
        return (
            f"free text with {n} distinct values in {n_rows} rows; turn it into numbers first (for example with "
            "scikit-learn's TfidfVectorizer), or read a folder of text files, whose words become columns"
        )
    return (
        f"text with {n} distinct values in {n_rows} rows (categories have at most {max_categories} and recur); convert "
        "it to numbers or to fewer categories"
    )


def _refusal(table: Table, refused: list[tuple[str, str]]) -> str:
    shown = ", ".join(f"{quoted(name)} is {reason}" for name, reason in refused[:3])
    more = f"; so {'is' if len(refused) == 4 else 'are'} {listed([n for n, _ in refused[3:]])}" if refused[3:] else ""
    names = quoted(",".join(name for name, _ in refused)) if len(refused) <= SHOWN else "and their names"
    return f"{table.source}: {counted(len(refused), 'column')} refused: {shown}{more}. Or use --drop {names}."


def missing_counts(table: Table) -> dict[str, int]:
    """Columns with missing values, and how many."""
    if table.columns is None:
        counts = _bad_per_column(table.matrix, np.isnan)
        return {table.names[j]: int(counts[j]) for j in np.flatnonzero(counts)}
    found = {}
    for name in table.names:
        column = table.columns[name]
        count = sum(value is None for value in column) if column.dtype == object else int(np.isnan(column).sum())
        if count:
            found[name] = count
    return found


def check_missing(table: Table) -> None:
    """Refuse missing values, with the names of their columns."""
    counts = missing_counts(table)
    if counts:
        shown = ", ".join(f"{quoted(name)} ({count})" for name, count in list(counts.items())[:SHOWN])
        more = f" and {len(counts) - SHOWN} more" if len(counts) > SHOWN else ""
        raise TableError(
            f"{table.source} has {table.n_rows} rows and missing values in {counted(len(counts), 'column')}: "
            f"{shown}{more}. Fill them in (--impute median), leave the columns out (--drop), or remove the rows."
        )


def check_finite(table: Table) -> None:
    """Refuse infinite numbers, and those whose squares would be, with the names of their columns."""
    for is_bad, what in (
        (np.isinf, "infinite numbers, or numbers too large for double precision,"),
        (_too_large, f"numbers beyond {_LARGEST:g}, whose squares are too large for double precision,"),
    ):
        if table.columns is None:
            names = [table.names[j] for j in np.flatnonzero(_bad_per_column(table.matrix, is_bad))]
        else:
            columns = table.columns
            names = [n for n in table.names if columns[n].dtype != object and bool(np.any(is_bad(columns[n])))]
        if names:
            raise TableError(
                f"{table.source} has {what} in {listed(names)}. Correct them, or leave the columns out (--drop)."
            )


def _too_large(values: Any) -> Any:
    return np.abs(values) > _LARGEST


def _bad_per_column(matrix: Any, test: Any) -> NDArray[np.int64]:
    if sp.issparse(matrix):
        return np.bincount(matrix.indices[test(matrix.data)], minlength=matrix.shape[1])
    counts = np.zeros(matrix.shape[1], dtype=np.int64)
    step = max(1, 10**7 // matrix.shape[1])
    for start in range(0, len(matrix), step):
        counts += test(matrix[start : start + step]).sum(axis=0)
    return counts


def learn_fills(table: Table, columns: list[EncodedColumn]) -> list[EncodedColumn]:
    """The same columns with what replaces missing values: medians, or the most frequent value."""
    if table.columns is None:
        fills = _sparse_medians(table) if sp.issparse(table.matrix) else _medians(table, table.matrix)
        return [replace(column, fill=float(fill)) for column, fill in zip(columns, fills, strict=True)]
    return [replace(column, fill=_fill(table, column)) for column in columns]


def _fill(table: Table, column: EncodedColumn) -> float | str:
    values = table.column(column.name)
    present = values[~np.isnan(values)] if values.dtype != object else [value for value in values if value is not None]
    if len(present) == 0:
        _nothing_to_impute(table, [column.name])
    if column.kind == "number":
        return float(np.median(present))
    counts = Counter(present.tolist() if isinstance(present, np.ndarray) else present)
    return min(counts, key=lambda value: (-counts[value], value))


def _nothing_to_impute(table: Table, names: list[str]) -> None:
    raise TableError(
        f"{table.source}: {listed(names)} has no value at all, so nothing can replace the missing ones. Leave it out "
        "(--drop)."
    )


def _medians(table: Table, matrix: NDArray[Any]) -> NDArray[np.float64]:
    empty = np.flatnonzero(np.isnan(matrix).all(axis=0))
    if len(empty):
        _nothing_to_impute(table, [table.names[j] for j in empty])
    return np.nanmedian(matrix.astype(np.float64), axis=0)


def _sparse_medians(table: Table) -> NDArray[np.float64]:
    """Medians of a sparse matrix: zero, except in columns where half of the entries or more are stored."""
    counts = np.bincount(table.matrix.indices, minlength=table.matrix.shape[1])
    missing = _bad_per_column(table.matrix, np.isnan)
    dense = np.flatnonzero(2 * counts >= table.n_rows - missing)
    fills = np.zeros(table.matrix.shape[1])
    for j in dense:
        column = table.matrix[:, [j]].toarray().ravel()
        if np.isnan(column).all():
            _nothing_to_impute(table, [table.names[j]])
        fills[j] = np.nanmedian(column)
    return fills
