r"""Bounds over all choices of r columns, from one dual point, with rounding on the safe side.

X : (n, d) data, columns multiplied by `scale`; Y : (n, m) targets; c : (n,) costs; beta : (n, m) dual variables
q : pulls, the sums of (x_j^T beta)^2 over the columns of a group and over the models

    B_r = sum of gains(beta) - 1/2 (sum of the r largest q) <= objective of the models in any r groups

which needs allowed dual variables whose columns add up to zero. x_j^T beta is computed to gamma_n ||x_j|| ||beta||, so
that pulls are known to a number that they do not exceed, and that one enters the bound. A sum of beta that is not zero
by delta is mended by moving one entry, as in `witness`.

*Trees.* Choices may be split by whether they contain a group, and the two halves again; a dual point of each leaf
bounds its choices, and the least of these bounds holds for all. A tree is written in preorder: the group of a split,
then the choices with it, then those without it; `LEAF` is a leaf.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from rarefy.core.certificates.witness import UNIT, gains_below
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.losses.margins import LossName, MarginLoss

LEAF = -1


@dataclass(frozen=True)
class Leaf:
    """Choices that contain some groups, and do not contain others."""

    fixed: frozenset[int] = frozenset()
    barred: frozenset[int] = frozenset()

    def split(self, group: int) -> tuple["Leaf", "Leaf"]:
        """The choices with a group, and those without it."""
        return Leaf(self.fixed | {group}, self.barred), Leaf(self.fixed, self.barred | {group})


def leaves_of(tree: Index, n_groups: int) -> list[Leaf]:
    """The leaves of a tree in preorder, which contain every choice; ValueError if it is no tree."""
    waiting, found = [Leaf()], []
    for group in tree.tolist():
        if not waiting or not LEAF <= group < n_groups:
            raise ValueError("the splits are no tree of groups in preorder")
        leaf = waiting.pop()
        if group == LEAF:
            found.append(leaf)
        else:
            waiting.extend(reversed(leaf.split(group)))
    if waiting:
        raise ValueError("the splits are no whole tree")
    return found


@dataclass(frozen=True, eq=False)
class SubsetBound:
    """What a dual point proves about all choices."""

    base: float
    """Sum of gains, rounded down: the bound of choosing nothing."""
    high: Array
    """The pull of every group, rounded up."""

    def over(self, r: int) -> float:
        """No choice of r groups has a lower objective."""
        return self.over_leaf(r, Leaf())

    def over_leaf(self, r: int, leaf: Leaf) -> float:
        """No choice of r groups of a leaf has a lower objective."""
        inside, outside = list(leaf.fixed), list(leaf.fixed | leaf.barred)
        count, free = r - len(inside), np.delete(self.high, outside)
        if not 0 <= count <= len(free):
            return np.inf  # there is no such choice
        largest = np.sort(free)[::-1][:count].sum() + self.high[inside].sum()
        return self.base - 0.5 * float(largest) * (1.0 + len(self.high) * UNIT)

    def settled(self, r: int, value: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the groups that are in every best choice of r, and in none; `value` is the objective of one choice.

        Without a group of the r largest, the next one enters the bound; with a group beyond them, the last one leaves.
        """
        return self.settled_in(r, value, Leaf())

    def settled_in(self, r: int, value: float, leaf: Leaf) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The same for the choices of a leaf; where none of them is as good as `value`, anything holds of the best."""
        G = len(self.high)
        # Twice the room between bound and objective: nobody outside the largest has a pull beyond the next one.
        room = 2.0 * (value + abs(value) * 4.0 * G * UNIT - self.over_leaf(r, leaf))
        if room < 0.0:
            return np.ones(G, dtype=bool), np.ones(G, dtype=bool)
        free = np.ones(G, dtype=bool)
        free[list(leaf.fixed | leaf.barred)] = False
        count, ordered = r - len(leaf.fixed), np.sort(self.high[free])[::-1]
        always, never = np.zeros(G, dtype=bool), np.zeros(G, dtype=bool)
        always[list(leaf.fixed)], never[list(leaf.barred)] = True, True
        always[free] = True if count == len(ordered) else self.high[free] - ordered[count] > room
        never[free] = True if count == 0 else ordered[count - 1] - self.high[free] > room
        return always, never


@dataclass(frozen=True, eq=False)
class SubsetBounds:
    """Data, columns multiplied by numbers, that dual points prove bounds about."""

    X: Rows
    Y: Array
    costs: Array
    loss: LossName
    scale: Array
    groups: Index

    @cached_property
    def n_groups(self) -> int:
        return int(self.groups.max()) + 1

    def of(self, dual: Array) -> SubsetBound:
        """What a dual point proves; a bound of minus infinity if it is no allowed one."""
        nothing = SubsetBound(-np.inf, np.zeros(self.n_groups))
        if not np.all(np.isfinite(dual)):
            return nothing
        gamma, (columns, longest) = (len(self.Y) + 12) * UNIT, self._lengths
        sizes = np.linalg.norm(dual, axis=0)
        pulls = np.abs((self.X.T @ dual) * self.scale[:, None]) + gamma * columns[:, None] * sizes
        base = 0.0
        for y, beta, pull in zip(self.Y.T, dual.T, pulls.T, strict=True):
            # In some of the columns both the row and X^T beta are no longer than in all.
            steepest = longest * float(np.linalg.norm(pull))
            base += gains_below(MarginLoss(self.loss), y, self.costs, beta, steepest, longest)
        if not np.isfinite(base):
            return nothing
        total = np.sum(pulls**2, axis=1) * (1.0 + (8 + len(dual.T)) * UNIT)
        by_group = np.asarray(np.bincount(self.groups, weights=total, minlength=self.n_groups), dtype=np.float64)
        return SubsetBound(base, by_group * (1.0 + len(self.groups) * UNIT))

    def of_tree(self, tree: Index, duals: Array, r: int) -> float:
        """What the dual points of a tree's leaves prove about all choices of r groups; ValueError if it is no tree."""
        leaves = leaves_of(tree, self.n_groups)
        if len(leaves) != len(duals):
            raise ValueError(f"the tree has {len(leaves)} leaves, and {len(duals)} dual points")
        return min(self.of(dual).over_leaf(r, leaf) for leaf, dual in zip(leaves, duals, strict=True))

    def settled(self, tree: Index, duals: Array, r: int, value: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the groups that are in every best choice of r, and in none: in all leaves; see `of_tree`."""
        leaves = leaves_of(tree, self.n_groups)
        found = [self.of(dual).settled_in(r, value, leaf) for leaf, dual in zip(leaves, duals, strict=True)]
        always, never = (np.logical_and.reduce(masks) for masks in zip(*found, strict=True))
        return always, never

    @cached_property
    def _lengths(self) -> tuple[Array, float]:
        """Lengths of the columns, and a number that no row is longer than."""
        columns, gamma = self.X.column_norms() * self.scale, (sum(self.X.shape) + 8) * UNIT
        # No row is longer than all of them together, nor than before the columns were multiplied.
        longest = min(float(np.linalg.norm(columns)), float(self.X.row_norms().max() * self.scale.max()))
        return columns * (1.0 + gamma), longest * (1.0 + gamma)
