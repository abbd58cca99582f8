r"""Bounds over all choices of r columns, from one dual point, with rounding on the safe side.

X : (n, d) data, columns multiplied by `scale`; Y : (n, m) targets; c : (n,) costs; beta : (n, m) dual variables
q : pulls, the sums of (x_j^T beta)^2 over the columns of a group and over the models

    B_r = sum of gains(beta) - 1/2 (sum of the r largest q) <= objective of the models in any r groups

which needs allowed dual variables whose columns add up to zero. x_j^T beta is computed to gamma_n ||x_j|| ||beta||, so
that pulls are known to a number that they do not exceed, and that one enters the bound. A sum of beta that is not zero
by delta is mended by moving one entry, as in `witness`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.core.certificates.witness import UNIT, gains_below
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.losses.margins import LossName, MarginLoss


@dataclass(frozen=True, eq=False)
class SubsetBound:
    """What a dual point proves about all choices."""

    base: float
    """Sum of gains, rounded down: the bound of choosing nothing."""
    high: Array
    """The pull of every group, rounded up."""

    def over(self, r: int) -> float:
        """No choice of r groups has a lower objective."""
        return self.base - 0.5 * float(np.sort(self.high)[::-1][:r].sum()) * (1.0 + len(self.high) * UNIT)

    def settled(self, r: int, value: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the groups that are in every best choice of r, and in none; `value` is the objective of one choice.

        Without a group of the r largest, the next one enters the bound; with a group beyond them, the last one leaves.
        """
        G = len(self.high)
        if r >= G:
            return np.ones(G, dtype=bool), np.zeros(G, dtype=bool)
        descending = np.sort(self.high)[::-1]
        # Twice the room between bound and objective: nobody outside the r largest has a pull beyond the next one.
        room = 2.0 * max(0.0, value + abs(value) * 4.0 * G * UNIT - self.over(r))
        return self.high - descending[r] > room, descending[r - 1] - self.high > room


def nothing_proved(n_groups: int) -> SubsetBound:
    """The bound of a dual point that is not allowed."""
    return SubsetBound(-np.inf, np.zeros(n_groups))


def subset_bound(
    X: Rows, Y: Array, costs: Array, loss: LossName, dual: Array, scale: Array, groups: Index
) -> SubsetBound | None:
    """What a dual point proves; None if it is no allowed one."""
    if not np.all(np.isfinite(dual)):
        return None
    gamma, columns = (len(Y) + 12) * UNIT, X.column_norms() * scale
    pulls = np.abs((X.T @ dual) * scale[:, None]) + gamma * columns[:, None] * np.linalg.norm(dual, axis=0)
    # No row is longer than all of them together, nor than before the columns were multiplied.
    longest = min(float(np.linalg.norm(columns)), float(X.row_norms().max() * scale.max())) * (1.0 + gamma)
    base = 0.0
    for y, beta, pull in zip(Y.T, dual.T, pulls.T, strict=True):
        # In some of the columns both the row and X^T beta are no longer than in all.
        base += gains_below(MarginLoss(loss), y, costs, beta, longest * float(np.linalg.norm(pull)), longest)
    if not np.isfinite(base):
        return None
    total = np.sum(pulls**2, axis=1) * (1.0 + (8 + len(dual.T)) * UNIT)
    by_group = np.asarray(np.bincount(groups, weights=total, minlength=int(groups.max()) + 1), dtype=np.float64)
    return SubsetBound(base, by_group * (1.0 + len(groups) * UNIT))
