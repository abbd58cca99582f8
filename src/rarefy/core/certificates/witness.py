r"""Bounds on the optima of linear models that a reader can check: one dual and one primal point.

X : (n, d) data; S : kept columns, times weights of at most 1; Y : (n, m) targets, one column a model; C : cost
beta : (n, m) dual variables of the models with all columns; w, b : (k, m), (m,) models in the kept columns

    Z(X)  = sum over models of min 1/2 ||w||^2 + C sum_i l(y_i, x_i^T w + b)
    D     = sum of gains(beta) - 1/2 ||X^T beta||^2  <=  Z(X)  <=  Z(X S)  <=  P = 1/2 ||w||^2 + C sum of losses

The first inequality is weak duality and needs sum_i beta_i = 0 because the intercept is free, the second holds because
weights of at most 1 take away, the third is the definition of a minimum. So the kept columns keep at least D / P of
the objective, for any columns, whoever chose them. Both values are one pass over the data.

*Rounding.* A sum of n terms is known to gamma_n times the sum of their sizes, X^T beta to gamma_n sum |beta_i| ||x_i||.
A sum of beta that is not zero by delta is mended by moving one entry by delta, at the cost of about delta times the
slope there. All of it is taken off D and added to P.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.losses.margins import LossName, MarginLoss

_UNIT = 2.0**-53
_STEEPEST = 50.0
"""Slope of an entropy at the smallest dual variable that matters."""


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
    rule, c = MarginLoss(loss), np.full(len(Y), C)
    lengths = row_lengths(X)
    total = 0.0
    for y, beta in zip(Y.T, dual.T, strict=True):
        if not np.all(np.isfinite(beta)) or not rule.allowed(y, beta, c):
            return -np.inf
        total += _dual_value(X, y, c, rule, beta, lengths)
    return total


def _dual_value(X: Rows, y: Array, c: Array, rule: MarginLoss, beta: Array, lengths: Array) -> float:
    gains, size = rule.gains(y, beta, c), np.abs(beta)
    g = X.T @ beta
    length = float(np.linalg.norm(g))
    gamma = (len(y) + 8) * _UNIT
    blur = gamma * float(size @ lengths)
    off = abs(float(beta.sum())) + gamma * float(size.sum())
    if off > 1e-9 * float(size.sum()):
        return -np.inf  # the intercept would carry the objective down without end
    slope = _STEEPEST + float(np.abs(y).max()) + float((size / c).max()) + float(lengths.max()) * (length + blur + off)
    rounding = gamma * float(np.abs(gains).sum()) + blur * length + blur**2 + off * slope
    return float(gains.sum()) - 0.5 * length**2 * (1.0 + 4.0 * gamma) - rounding


def upper_bound(X: Rows, indices: Index, weights: Array, Y: Array, C: float, loss: LossName, w: Witnesses) -> float:
    """A number that some model in the kept columns, weights above 1 counted as 1, has no objective above."""
    if not (np.all(np.isfinite(w.coef)) and np.all(np.isfinite(w.intercept))):
        return np.inf
    rule, kept = MarginLoss(loss), X.T.take(indices) * np.minimum(weights, 1.0)[:, None]
    gamma = (len(indices) + len(Y) + 8) * _UNIT
    lengths = np.linalg.norm(kept, axis=0)
    total = 0.0
    for y, coef, b in zip(Y.T, w.coef.T, w.intercept, strict=True):
        scores = coef @ kept + b
        # Every score may be off by this; losses grow with the error of the score times at most their slope.
        blur = gamma * (float(np.linalg.norm(coef)) * lengths + abs(float(b)) + np.abs(scores))
        slope = 1.0 if rule.bounded else 2.0 * (np.abs(y) + np.abs(scores) + blur)
        losses = rule.values(y, scores) + blur * slope
        total += (0.5 * float(coef @ coef) + C * float(losses.sum())) * (1.0 + 4.0 * gamma)
    return total


def row_lengths(X: Rows) -> Array:
    """Euclidean lengths of the rows."""
    lengths = np.empty(X.shape[0])
    for rows, block in X.blocks():
        lengths[rows] = np.linalg.norm(block, axis=1)
    return lengths
