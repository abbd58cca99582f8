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

from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.losses.margins import LossName, MarginLoss

_UNIT = 2.0**-53
_STEEPEST = 50.0


@dataclass(frozen=True, eq=False)
class SubsetBound:
    """What a dual point proves about all choices."""

    base: float
    """Sum of gains, rounded down: the bound of choosing nothing."""
    high: Array
    """The pull of every group, rounded up."""

    def over(self, r: int) -> float:
        """No choice of r groups has a lower objective."""
        return self.base - 0.5 * float(np.sort(self.high)[::-1][:r].sum()) * (1.0 + len(self.high) * _UNIT)

    def settled(self, r: int, value: float) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Masks of the groups that are in every best choice of r, and in none; `value` is the objective of one choice.

        Without a group of the r largest, the next one enters the bound; with a group beyond them, the last one leaves.
        """
        G = len(self.high)
        if r >= G:
            return np.ones(G, dtype=bool), np.zeros(G, dtype=bool)
        order = np.argsort(-self.high, kind="stable")
        bound, limit = self.over(r), value + abs(value) * 4.0 * G * _UNIT
        always, never = np.zeros(G, dtype=bool), np.zeros(G, dtype=bool)
        top, rest = order[:r], order[r:]
        following, last = float(self.high[rest[0]]), float(self.high[top[-1]])
        always[top] = bound + 0.5 * (self.high[top] - following) > limit
        never[rest] = bound + 0.5 * (last - self.high[rest]) > limit
        return always, never


def subset_bound(
    X: Rows, Y: Array, costs: Array, loss: LossName, dual: Array, scale: Array, groups: Index
) -> SubsetBound | None:
    """What a dual point proves; None if it is no allowed one."""
    rule, n = MarginLoss(loss), len(Y)
    gamma = (n + 8) * _UNIT
    lengths = _column_lengths(X) * scale
    size = float(np.sqrt(np.sum(lengths**2)))
    base = 0.0
    for y, beta in zip(Y.T, dual.T, strict=True):
        if not np.all(np.isfinite(beta)) or not rule.allowed(y, beta, costs):
            return None
        gains, total = rule.gains(y, beta, costs), float(np.abs(beta).sum())
        off = abs(float(beta.sum())) + gamma * total
        if off > 1e-9 * total:
            return None
        slope = _STEEPEST + float(np.abs(y).max()) + float((np.abs(beta) / costs).max()) + size**2 * (total + off)
        base += float(gains.sum()) - gamma * float(np.abs(gains).sum()) - off * slope
    g = np.abs((X.T @ dual) * scale[:, None])
    blur = (gamma + 4.0 * _UNIT) * lengths[:, None] * np.linalg.norm(dual, axis=0)
    pulls = np.sum((g + blur) ** 2, axis=1) * (1.0 + (8 + len(dual.T)) * _UNIT)
    by_group = np.asarray(np.bincount(groups, weights=pulls, minlength=int(groups.max()) + 1), dtype=np.float64)
    return SubsetBound(base, by_group * (1.0 + len(groups) * _UNIT))


def subset_objective(kept: Array, Y: Array, costs: Array, loss: LossName, coef: Array, intercept: Array) -> float:
    """The objective of given models in a block of columns, rounded up; infinite if they are none."""
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
        return np.inf
    rule, gamma = MarginLoss(loss), (kept.shape[1] + len(Y) + 8) * _UNIT
    lengths = np.linalg.norm(kept, axis=1)
    total = 0.0
    for y, w, b in zip(Y.T, coef.T, intercept, strict=True):
        scores = kept @ w + b
        blur = gamma * (float(np.linalg.norm(w)) * lengths + abs(float(b)) + np.abs(scores))
        slope = 1.0 if rule.bounded else 2.0 * (np.abs(y) + np.abs(scores) + blur)
        losses = rule.values(y, scores) + blur * slope
        total += (0.5 * float(w @ w) + float(costs @ losses)) * (1.0 + 4.0 * gamma)
    return total


def _column_lengths(X: Rows) -> Array:
    lengths = np.empty(X.shape[1])
    for rows, block in X.T.blocks():
        lengths[rows] = np.linalg.norm(block, axis=1)
    return lengths
