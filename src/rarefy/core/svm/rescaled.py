r"""Weights of one penalty as a start for another: the best multiple of them, with the best intercept for it.

f : (m,) scores without intercept; y : (m,) classes -1 and 1; p : (m,) weights of the samples

    min over s and b   alpha s ||w|| + sum_i p_i max(0, 1 - y_i (s f_i + b))

A larger penalty has smaller weights, and multipliers that are too large have most samples at the wrong bound.
"""

import numpy as np
from scipy.optimize import minimize_scalar

from rarefy.core.linalg.norms import p_norm
from rarefy.core.linalg.rows import Array, Rows
from rarefy.core.svm.dual_bound import Norm, extra_columns, order_of

_LARGEST, _ACCURACY = 2.0, 0.02
"""Multiples that are looked at, and how accurately: the objective is flat around the best."""


def rescaled(F: Rows, y: Array, alpha: float, p: Array, norm: Norm, multipliers: Array) -> Array:
    """The best multiple of another SVM's multipliers; parameters as in `norm_svm`."""
    S = F.shape[1] - extra_columns(norm)
    w = np.zeros(F.shape[1])
    w[:S] = -multipliers[:S]
    f, size = F @ w, float(p_norm(w[:S], order_of(norm)))

    def value(s: float) -> float:
        b = best_intercept(s * f, y, p)
        return alpha * s * size + float(p @ np.maximum(0.0, 1.0 - y * (s * f + b)))

    s = float(minimize_scalar(value, bounds=(0.0, _LARGEST), method="bounded", options={"xatol": _ACCURACY}).x)
    start = s * multipliers
    start[S] = -best_intercept(s * f, y, p)
    return np.asarray(start)


def best_intercept(f: Array, y: Array, p: Array) -> float:
    """The b with the least loss: the slope begins at minus the weight of class 1 and grows by p_i at y_i - f_i."""
    ends = y - f
    order = np.argsort(ends)
    passed = np.cumsum(p[order])
    first = int(np.searchsorted(passed, float(p[y > 0.0].sum())))
    return float(ends[order[min(first, len(order) - 1)]])
