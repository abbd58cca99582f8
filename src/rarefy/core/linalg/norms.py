r"""Euclidean lengths of rows and columns from one pass over blocks or over stored entries.

s : a power of two next to the largest absolute value that a length is made of

A length is s sqrt(sum (a / s)^2): squares neither vanish nor overflow, and as division by a power of two is exact, the
result is the plain one wherever that exists.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Blocks = Iterable[tuple[slice, Vector]]

_SMALLEST = 2.0**-1074


def row_norms(blocks: Blocks, n: int) -> Vector:
    """Lengths of n rows that come in blocks."""
    norms = np.zeros(n)
    for rows, block in blocks:
        scale = _power(np.abs(block).max(axis=1, initial=0.0))
        scaled = block / scale[:, None]
        norms[rows] = scale * np.sqrt(np.einsum("ij,ij->i", scaled, scaled))
    return norms


def column_norms(blocks: Blocks, k: int) -> Vector:
    """Lengths of k columns of rows that come in blocks, in one pass: sums move to a larger s where that is needed."""
    scale, total = np.full(k, _SMALLEST), np.zeros(k)
    for _, block in blocks:
        larger = np.maximum(scale, _power(np.abs(block).max(axis=0, initial=0.0)))
        scaled = block / larger
        total = total * (scale / larger) ** 2 + np.einsum("ij,ij->j", scaled, scaled)
        scale = larger
    return scale * np.sqrt(total)


def grouped_norms(entries: NDArray[Any], group: NDArray[Any], size: int) -> Vector:
    """Lengths of `size` vectors, of which the nonzero entries are given, each with the number of its vector."""
    largest = np.zeros(size)
    np.maximum.at(largest, group, np.abs(entries))
    scale = _power(largest)
    squares = (entries / scale[group]) ** 2
    return scale * np.sqrt(np.bincount(group, weights=squares, minlength=size))


def p_norm(A: Vector, p: float, axis: int | None = None, keepdims: bool = False) -> Any:
    """The p-norm for any p from 1 on: powers of numbers beside 1 would overflow for large ones."""
    if p in (1.0, 2.0, np.inf):
        return np.linalg.norm(A, ord=p, axis=axis, keepdims=keepdims)
    size = np.abs(A).max(axis=axis, initial=0.0, keepdims=True)
    scaled = np.linalg.norm(A / np.where(size > 0.0, size, 1.0), ord=p, axis=axis, keepdims=True)
    found = size * scaled
    return found if keepdims else found.item() if axis is None else np.squeeze(found, axis=axis)


def _power(largest: Vector) -> Vector:
    """Powers of two with 1 <= largest / power < 2; for zero one that is no larger than any other."""
    return np.where(largest > 0.0, np.exp2(np.frexp(largest)[1] - 1.0), _SMALLEST)
