"""Rows of V in the order of their lengths, and the first of them that two barriers allow.

V        : (d, l) matrix with orthonormal columns; v is one of its rows, C a block of them in rotated coordinates
position : the place of a row when all rows are ordered from the longest to the shortest

*Which row.* Of the rows that may be taken, the one not taken before with the largest norm; norms that agree to 1e-12
are equal and the lower index wins. If only rows taken before qualify, the one with the largest norm is taken again.
Rows are therefore scored block by block in norm order, and no further than the first that qualifies.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.spectrum import RightVectors

Forms = tuple[Array, Array]
"""c^T M^-1 c and c^T M^-2 c for every row c of a block."""

_FIRST_BLOCK, _LARGEST_BLOCK = 48, 2048
_CACHE_ENTRIES = 1 << 23
"""Coordinates kept between steps: 64 MB."""

_NORM_DIGITS = 12
_ZERO_NORM2 = 1e-26
"""Rows this much shorter (squared) than the longest one are rounding noise and count as zero."""


class LowerScores(Protocol):
    """The barrier below the spectrum."""

    def score(self, C: Array) -> tuple[Array, Forms]:
        """lower(v) of a block of rows, with their forms."""


class UpperScores(Protocol):
    """What keeps the chosen rows from growing too large."""

    def score(self, C: Array, index: Index) -> tuple[Array, Forms]:
        """upper(v) of a block of rows with these numbers, with their forms."""


def norm_order(norms2: Array) -> Index:
    """Non-zero rows from the longest to the shortest; equal norms keep the order of the columns."""
    order = np.argsort(-np.round(norms2, _NORM_DIGITS), kind="stable")
    return order[norms2[order] > _ZERO_NORM2 * norms2.max(initial=0.0)]


class Choice(NamedTuple):
    """A row: its position, slack lower - upper, coordinates, weight and quadratic forms."""

    position: int
    slack: float
    c: Array = np.zeros(0)
    t: float = 0.0
    lower_forms: tuple[float, float] = (0.0, 0.0)
    upper_forms: tuple[float, float] = (0.0, 0.0)


_Block = tuple[Index, Array]
"""Positions and coordinates of rows."""


class Candidates:
    """Rows in norm order, looked at block by block in the eigenbasis of the current epoch.

    A position counts from the longest row to the shortest. With `grouped`, of rows that are multiples of
    each other only the longest free one is looked at: the test does not depend on length, so the
    others pass it or fail it with their leader.
    """

    def __init__(self, V: RightVectors, grouped: bool) -> None:
        self._V = V
        self.order = norm_order(V.norms2)
        self._taken = np.zeros(len(self.order), dtype=bool)
        self._next = _next_parallel(V, self.order) if grouped else np.full(len(self.order), -1)
        self._leads = np.ones(len(self.order), dtype=bool)
        self._leads[self._next[self._next >= 0]] = False
        self._leaders = np.flatnonzero(self._leads)
        self._free = np.ones(len(self._leaders), dtype=bool)
        self._promoted: list[int] = []
        self._width = _FIRST_BLOCK
        self._scored, self._steps = 0, 0
        self._C = np.zeros((0, V.shape[1]))  # coordinates of the first leaders, as far as they were needed

    @property
    def rows_a_step(self) -> float:
        """How many rows a step of this epoch has looked at, on average."""
        return self._scored / self._steps if self._steps else _FIRST_BLOCK

    def rebase(self, Q: Array) -> None:
        """Rotate the coordinates by Q, and drop the rows taken meanwhile from the scan."""
        self._scored, self._steps = 0, 0
        self._V = self._V.rotated(Q)
        known = len(self._C)
        positions, C = self._leaders[:known][self._free[:known]], self._C[self._free[:known]] @ Q
        fresh = np.array([p for p in self._promoted if self._leads[p] and known and p < self._leaders[known - 1]])
        if len(fresh):
            positions, C = np.append(positions, fresh), np.vstack([C, self._coordinates(fresh)])
            C = C[np.argsort(positions)]
        self._C = C
        self._leaders = np.flatnonzero(self._leads)
        self._free = np.ones(len(self._leaders), dtype=bool)
        self._promoted = []

    def take(self, position: int) -> None:
        """Mark a row as taken; the next one parallel to it takes its place in the scan."""
        self._taken[position] = True
        self._steps += 1
        if self._leads[position]:
            self._leads[position] = False
            i = int(np.searchsorted(self._leaders, position))
            if i < len(self._leaders) and self._leaders[i] == position:
                self._free[i] = False
                # The next row will be found about as deep: one block a little larger than that.
                depth = int(np.count_nonzero(self._free[:i]))
                self._width = min(max(_FIRST_BLOCK, depth + depth // 4), _LARGEST_BLOCK)
            if self._next[position] >= 0:
                self._leads[self._next[position]] = True
                self._promoted.append(int(self._next[position]))

    def first_allowed(self, lower: LowerScores, upper: UpperScores) -> Choice:
        """The row to take."""
        found = self._first(self._free_blocks(), lower, upper)
        if found.slack < 0.0:
            again = np.flatnonzero(self._taken)
            repeated = self._first([(again, self._coordinates(again))], lower, upper)
            # In exact arithmetic some row always qualifies; rounding leaves the nearest one.
            found = repeated if repeated.slack > found.slack else found
        return found

    def _first(self, blocks: Iterable[_Block], lower: LowerScores, upper: UpperScores) -> Choice:
        """The first allowed row, or the one with the largest slack."""
        best = Choice(len(self.order), -np.inf)
        for positions, C in blocks:
            if best.slack >= 0.0 and positions[0] > best.position:
                break
            low, low_forms = lower.score(C)
            self._scored += len(C)
            # Upper scores are never negative: a row whose lower score is, cannot qualify.
            rows = np.flatnonzero(low > 0.0)
            if not len(rows):
                continue
            up, up_forms = upper.score(C[rows], self.order[positions[rows]])
            slack = low[rows] - up
            allowed = np.flatnonzero(slack >= 0.0)
            i = allowed[positions[rows[allowed]].argmin()] if len(allowed) else slack.argmax()
            row = rows[i]
            better = positions[row] < best.position if len(allowed) and best.slack >= 0.0 else slack[i] > best.slack
            if better:
                lower_forms, upper_forms = (low_forms[0][row], low_forms[1][row]), (up_forms[0][i], up_forms[1][i])
                t = 2.0 / (up[i] + low[row])
                best = Choice(int(positions[row]), slack[i], C[row], t, lower_forms, upper_forms)
        return best

    def _free_blocks(self) -> Iterator[_Block]:
        """Rows that became leaders in this epoch, then those that were at its start, in norm order."""
        promoted = np.array([p for p in self._promoted if not self._taken[p]], dtype=np.intp)
        if len(promoted):
            promoted.sort()
            yield promoted, self._coordinates(promoted)
        free = np.flatnonzero(self._free)
        start, width = 0, self._width
        while start < len(free):
            block = free[start : start + width]
            yield self._leaders[block], self._leading_coordinates(block)
            start, width = start + len(block), min(2 * width, _LARGEST_BLOCK)

    def _leading_coordinates(self, block: Index) -> Array:
        """Coordinates of leaders, kept for the steps to come as long as they are not too many."""
        known, stop = len(self._C), int(block[-1]) + 1
        if stop > known:
            if stop * self._C.shape[1] > _CACHE_ENTRIES:
                return self._coordinates(self._leaders[block])
            self._C = np.vstack([self._C, self._coordinates(self._leaders[known:stop])])
        return self._C[block]

    def _coordinates(self, positions: Index) -> Array:
        return self._V.take(self.order[positions])


def _next_parallel(V: RightVectors, order: Index) -> Index:
    """For each position the next one whose row is a multiple of the same vector, or -1.

    Rows are parallel when three random projections of their directions agree to nine digits.
    """
    G = np.random.default_rng(0).standard_normal((V.shape[1], 3))
    H = (V.features @ (G if V.T is None else V.T @ G))[order] / np.sqrt(V.norms2[order])[:, None]
    digits = np.round(H * np.sign(H[:, :1]) * 1e9).astype(np.int64).astype(np.uint64)
    key = digits @ np.array([1, 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
    by_key = np.argsort(key, kind="stable")
    same = key[by_key[1:]] == key[by_key[:-1]]
    following = np.full(len(order), -1)
    following[by_key[:-1][same]] = by_key[1:][same]
    return following
