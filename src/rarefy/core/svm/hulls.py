r"""Smallest enclosing ball and distance of convex hulls, from Gram matrices.

K : (n, n) Gram matrix of the samples; u : (n,) weights

Both are quadratic programs over simplices, min u^T K u - q^T u. For the ball q is the diagonal of K and all weights are
one group: minus the value is the squared radius and sum u_i x_i the centre. For two classes K is the Gram matrix of
y_i x_i, q = 0 and the classes are the groups: the value is the squared distance of the hulls, four times the squared
margin of the hard-margin SVM with intercept.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import Array, Index, Rows, well_scaled
from rarefy.core.solvers.simplex_qp import TOL, simplex_qp


@dataclass(frozen=True)
class Ball:
    """Squared radius, how far it may be from the smallest one, and the centre's weights."""

    radius2: float
    gap: float
    weights: Array


def enclosing_ball(X: Rows) -> Ball:
    """Smallest ball around the rows of X; `radius2` exceeds the smallest squared radius by at most `gap`."""
    K, unit2 = _centred_gram(X)
    found = simplex_qp(K, K.diagonal().copy())
    return Ball(max(0.0, found.gap - found.value) * unit2, found.gap * unit2, found.u)


def squared_margin(X: Rows, groups: Index) -> float:
    """Squared margin between the samples of group 0 and those of group 1; 0 when their hulls overlap.

    Or when they are closer than about a millionth of the data's extent, which squares do not tell from overlapping.
    """
    sign = np.where(groups == 1, 1.0, -1.0)
    K, unit2 = _centred_gram(X)
    found = simplex_qp(K * np.outer(sign, sign), np.zeros(len(K)), groups)
    separate = found.value > 10.0 * max(found.gap, TOL * float(K.diagonal().max()))
    return found.value / 4.0 * unit2 if separate else 0.0


def _centred_gram(X: Rows) -> tuple[Array, float]:
    """Gram matrix of the samples with their mean as origin, and the unit it is measured in.

    Balls and margins move along with the samples. The mean is taken off before anything is squared: a
    common offset would otherwise cost all digits.
    """
    features, scale = well_scaled(X.T)
    n = features.shape[1]
    K = np.zeros((n, n))
    for _, block in features.blocks():
        centred = block - block.mean(axis=1, keepdims=True)
        K += centred.T @ centred
    return K, scale * scale
