"""Columns that share one weight.

groups : (d,) the number of each column's weight, 0, 1, ... with none left out; None if every column has its own

The distances are linear in the squares w = z^2: with a map of weights to columns, the derivative in a shared weight is
the sum of those of its columns. So the searches see weights only, and these functions are called where columns are.
"""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, Index

T = TypeVar("T", bound=np.generic)


def spread(weights: NDArray[T], groups: Index | None) -> NDArray[T]:
    """The weight of each column, or whatever else a weight has."""
    return weights if groups is None else weights[groups]


def totals(values: Array, groups: Index | None) -> Array:
    """The sums of the columns' values over each group: the transpose of `spread`."""
    return values if groups is None else np.bincount(groups, values).astype(np.float64, copy=False)


def shared(values: Array, groups: Index | None) -> Array:
    """The weight of each group from those of its columns, which agree."""
    return values if groups is None else values[np.unique(groups, return_index=True)[1]]


def columns_of(groups: Index | None, chosen: Index) -> tuple[Index, Index | None]:
    """The columns of some of the weights, one weight after the other, and the groups among these columns."""
    if groups is None:
        return chosen, None
    place = np.full(int(groups.max(initial=-1)) + 1, -1)
    place[chosen] = np.arange(len(chosen))
    columns = np.flatnonzero(place[groups] >= 0)
    columns = columns[np.argsort(place[groups[columns]], kind="stable")]
    return columns, place[groups[columns]]
