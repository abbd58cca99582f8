"""What a table should be known for before it is used: names that changed, constant and duplicate columns."""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy.tables._messages import SHOWN, columns_are, listed, quoted

_FEWEST_NUMBERED = 20
"""Rows from which on consecutive numbers are hardly measurements."""


def unnamed(n_columns: int) -> list[str]:
    """Names of columns that have none."""
    return [f"column {i}" for i in range(1, n_columns + 1)]


def unique_names(names: Iterable[object]) -> tuple[tuple[str, ...], list[str]]:
    """Names that are strings, not empty and distinct, and sentences about those that had to change."""
    given = [str(name).strip() for name in names]
    taken, found = set(given), []
    used: dict[str, int] = {}
    renamed, empty = [], []
    for i, name in enumerate(given, 1):
        if not name:
            name = f"column {i}"
            empty.append(name)
        if name in used or (not given[i - 1] and name in taken):
            base = name
            while name in used or name in taken:
                used[base] = used.get(base, 1) + 1
                name = f"{base}_{used[base]}"
            renamed.append((base, name))
        used.setdefault(name, 1)
        found.append(name)
    notes = []
    if empty:
        notes.append(f"Columns without a name are called {listed(empty)}.")
    if renamed:
        pairs = ", ".join(f"{quoted(old)} is {quoted(new)}" for old, new in renamed[:SHOWN])
        more = f" and {len(renamed) - SHOWN} more" if len(renamed) > SHOWN else ""
        notes.append(f"Columns were renamed because their names occur twice: {pairs}{more}.")
    return tuple(found), notes


def content_notes(names: Sequence[str], columns: Mapping[str, NDArray[Any]] | None, matrix: Any) -> list[str]:
    """Sentences about constant columns, those that number the rows, and those that are equal to an earlier one."""
    if columns is not None:
        constant = [name for name in names if _is_constant(columns[name])]
        pairs = _twins((name, columns[name]) for name in names)
    elif sp.issparse(matrix):
        constant, pairs = _sparse_facts(names, matrix)
    else:
        constant = [name for name, flat in zip(names, _flat_columns(matrix), strict=True) if flat]
        pairs = _twins((name, matrix[:, j]) for j, name in enumerate(names))
    notes = [columns_are(constant, "constant")] if constant else []
    numbering = [name for name in names if _numbers_the_rows(columns[name])] if columns is not None else []
    if numbering:
        they = "it" if len(numbering) == 1 else "them"
        what = f"whole numbers without a gap, one a row: if they only number the rows, leave {they} out (--drop)"
        notes.append(columns_are(numbering, what))
    skipped = set(constant)
    pairs = [(old, new) for old, new in pairs if new not in skipped]
    if pairs:
        shown = ", ".join(f"{quoted(new)} equals {quoted(old)}" for old, new in pairs[:SHOWN])
        more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
        notes.append(f"Duplicate columns: {shown}{more}.")
    return notes


def _flat_columns(matrix: NDArray[Any]) -> NDArray[np.bool_]:
    if not len(matrix):
        return np.ones(matrix.shape[1], dtype=bool)
    missing = np.isnan(matrix[0])
    return np.where(
        missing, np.isnan(matrix).all(axis=0) if missing.any() else False, (matrix == matrix[0]).all(axis=0)
    )


def _is_constant(column: NDArray[Any]) -> bool:
    """One value and nothing else; all missing counts, a value beside missing ones does not."""
    if not len(column):
        return True
    first = column[0]
    if column.dtype != object:
        if first == first and column[-1] != first:  # tells for most columns, and is quick
            return False
        return bool(np.isnan(first) and np.isnan(column).all()) or bool((column == first).all())
    return all(value == first for value in column)


def names_the_rows(table: Any, name: str) -> bool:
    """Whether a column of a table holds a word of its own for every row, and is not all that there is."""
    if table.columns is None or table.kinds[name] != "text" or len(table.names) < 3:
        return False
    values = table.columns[name]
    words = {value for value in values if value is not None and len(value.split()) == 1}
    return len(values) >= _FEWEST_NUMBERED and len(words) == len(values)


def _numbers_the_rows(column: NDArray[Any]) -> bool:
    """Whether a column holds consecutive whole numbers in any order, each once."""
    n = len(column)
    if column.dtype == object or n < _FEWEST_NUMBERED:
        return False
    if float(column[0]) % 1.0 != 0.0:  # tells for most columns, and is quick
        return False
    low = float(column.min())
    if float(column.max()) - low != n - 1:  # NaN is equal to nothing
        return False
    return bool(np.all(column == np.round(column))) and bool(np.bincount((column - low).astype(np.int64)).max() == 1)


def _digest(column: NDArray[Any]) -> Hashable:
    if column.dtype == object:
        return hash(tuple(column))
    # Adding zero makes one of -0.0 and 0.0.
    return blake2b(np.ascontiguousarray(column + 0.0).tobytes(), digest_size=16).digest()


def _equal(one: NDArray[Any], other: NDArray[Any]) -> bool:
    if (one.dtype == object) != (other.dtype == object):
        return False
    return bool(np.array_equal(one, other, equal_nan=one.dtype != object))


def _twins(columns: Iterable[tuple[str, NDArray[Any]]]) -> list[tuple[str, str]]:
    """Pairs of equal columns: the first one of its content, and each later one."""
    first: dict[Hashable, tuple[str, NDArray[Any]]] = {}
    pairs = []
    for name, column in columns:
        other = first.setdefault(_digest(column), (name, column))
        if other[0] != name and _equal(column, other[1]):
            pairs.append((other[0], name))
    return pairs


def _sparse_facts(names: Sequence[str], matrix: Any) -> tuple[list[str], list[tuple[str, str]]]:
    """Constant and duplicate columns of a sparse matrix, without a loop over all of its columns."""
    n_rows = matrix.shape[0]
    counts = np.bincount(matrix.indices, minlength=matrix.shape[1])
    constant = counts == 0
    full = np.flatnonzero(counts == n_rows)
    if n_rows and len(full):
        block = matrix[:, full].toarray()
        constant[full] = (block == block[0]).all(axis=0)
    # Equal columns have equal sums with random weights, added in the same order; the reverse is checked below.
    sums = matrix.T @ np.random.default_rng(0).random(n_rows)
    groups: dict[tuple[int, float], list[int]] = defaultdict(list)
    candidates = np.flatnonzero(~constant & np.isfinite(sums))
    for j, count, total in zip(
        candidates.tolist(), counts[candidates].tolist(), sums[candidates].tolist(), strict=True
    ):
        groups[count, total].append(j)
    pairs = [pair for group in groups.values() if len(group) > 1 for pair in _sparse_twins(names, matrix, group)]
    return [names[j] for j in np.flatnonzero(constant).tolist()], sorted(pairs, key=lambda pair: pair[1])


def _sparse_twins(names: Sequence[str], matrix: Any, group: list[int]) -> Iterator[tuple[str, str]]:
    block = sp.csc_array(matrix[:, group])
    head = slice(block.indptr[0], block.indptr[1])
    for k, j in enumerate(group[1:], 1):
        part = slice(block.indptr[k], block.indptr[k + 1])
        if np.array_equal(block.indices[part], block.indices[head]) and np.array_equal(
            block.data[part], block.data[head]
        ):
            yield names[group[0]], names[j]
