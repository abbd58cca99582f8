r"""Bounds on the optima of linear models that a reader can check: one dual and one primal point.

X : (n, d) data; S : kept columns, times weights of at most 1; Y : (n, m) targets, one column a model; C : cost
beta : (n, m) dual variables of the models with all columns; w, b : (k, m), (m,) models in the kept columns

    Z(X)  = sum over models of min 1/2 ||w||^2 + C sum_i l(y_i, x_i^T w + b)
    D     = sum of gains(beta) - 1/2 ||X^T beta||^2  <=  Z(X)  <=  Z(X S)  <=  P = 1/2 ||w||^2 + C sum of losses

The first inequality is weak duality and needs sum_i beta_i = 0 because the intercept is free, the second holds because
weights of at most 1 take away, the third is the definition of a minimum. So the kept columns keep at least D / P of
the objective, for any columns, whoever chose them. Both values are one pass over the data.

*Rounding.* A sum of n terms is known to gamma_n times the sum of their sizes, X^T beta to gamma_n sum |beta_i| ||x_i||.
A sum of beta that is not zero by delta is mended by moving one entry by delta, at the cost of delta times the slope
there, which x_i^T X^T beta is a part of. All of it is taken off D and added to P.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.columns import dense_columns
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.losses.margins import LossName, MarginLoss

UNIT = 2.0**-53
"""Largest relative error of one operation."""
_STEEPEST = 50.0
"""Slope of an entropy at the smallest dual variable that matters."""
_BALANCED = 1e-9
"""Sums of dual variables up to this share of their sizes count as rounding."""


@dataclass(frozen=True, eq=False)
class Witnesses:
    """A dual and a primal point."""

    dual: Array
    """beta, of shape (n_samples, n_models)."""
    coef: Array
    """w, of shape (n_kept, n_models)."""
    intercept: Array
    """b, of shape (n_models,)."""


def lower_bound(X: Rows, Y: Array, C: float, loss: LossName, dual: Array) -> float:
    """A number that no model with all columns has an objective below; minus infinity if `dual` proves nothing."""
    if not np.all(np.isfinite(dual)):
        return -np.inf
    costs, lengths = np.full(len(Y), C), X.row_norms()
    gamma, longest = (len(Y) + 8) * UNIT, float(lengths.max())
    total = 0.0
    for y, beta in zip(Y.T, dual.T, strict=True):
        length = float(np.linalg.norm(X.T @ beta)) + gamma * float(np.abs(beta) @ lengths)
        total += gains_below(MarginLoss(loss), y, costs, beta, longest * length, longest)
        total -= 0.5 * length**2 * (1.0 + 4.0 * gamma + X.shape[1] * UNIT)
    return total if np.isfinite(total) else -np.inf


def gains_below(rule: MarginLoss, y: Array, costs: Array, beta: Array, steepest: float, longest: float) -> float:
    """Sum of the gains of dual variables once their sum is mended, rounded down; minus infinity if it proves nothing.

    `steepest` is a number that no score x_i^T X^T beta exceeds in size, `longest` one that no row is longer than: what
    the mended entry does to 1/2 ||X^T beta||^2 is taken off here too.
    """
    size, gamma = np.abs(beta), (len(y) + 8) * UNIT
    total = float(size.sum())
    off = abs(float(beta.sum())) + gamma * total
    # With a sum that is not zero the intercept would carry the objective down without end.
    if not (np.isfinite(total) and off <= _BALANCED * total and rule.allowed(y, beta, costs)):
        return -np.inf
    gains = rule.gains(y, beta, costs)
    rounding = gamma * float(np.abs(gains).sum())
    if rule.name == "logistic":  # 1 - p is known to a share of 1, however small p is
        rounding += 8.0 * UNIT * float(costs.sum())
    slope = _STEEPEST + float(np.abs(y).max()) + float((size / costs).max()) + steepest + longest**2 * off
    return float(gains.sum()) - rounding - off * slope


def upper_bound(X: Rows, indices: Index, weights: Array, Y: Array, C: float, loss: LossName, w: Witnesses) -> float:
    """A number that some model in the kept columns, weights above 1 counted as 1, has no objective above."""
    kept = dense_columns(X, indices, np.minimum(weights, 1.0))
    return objective_above(kept, Y, np.full(len(Y), C), loss, w.coef, w.intercept)


def objective_above(kept: Rows, Y: Array, costs: Array, loss: LossName, coef: Array, intercept: Array) -> float:
    """The objective of given models in some columns, rounded up; infinite if they are none."""
    if not (np.all(np.isfinite(coef)) and np.all(np.isfinite(intercept))):
        return np.inf
    rule, gamma = MarginLoss(loss), (kept.shape[1] + len(Y) + 8) * UNIT
    lengths = kept.row_norms()
    total = 0.0
    for y, w, b in zip(Y.T, coef.T, intercept, strict=True):
        scores = kept @ w + b
        # Every score may be off by this; losses grow with the error of the score times at most their slope.
        blur = gamma * (float(np.linalg.norm(w)) * lengths + abs(float(b)) + np.abs(scores))
        slope = 1.0 if rule.bounded else 2.0 * (np.abs(y) + np.abs(scores) + blur)
        losses = rule.values(y, scores) + blur * slope
        total += (0.5 * float(w @ w) + float(costs @ losses)) * (1.0 + 4.0 * gamma)
    return total
