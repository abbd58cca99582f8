r"""Points of the central path of a linear program with boxed variables, from any multipliers.

Symbols as in `interior_point`; mu : barrier; r = c - [A; B] y

    phi(y) = rhs^T y + sum_i min over the box of  r_i x_i - mu log(x_i - lower_i) - mu log(upper_i - x_i)

phi is concave and -phi / mu is self-concordant, so Newton's method with a search along the line finds its maximum from
anywhere, where primal-dual steps can be short for ever. There the equations hold: the point is on the central path.
"""

import numpy as np

from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.interior_point import Factor, Point, Program

_CENTRED = 1.0
"""Newton decrement, in units of the barrier, from which primal-dual steps are long."""
_STEPS = 60
"""Newton steps that may be taken: few take more than 25, and those of nearly separable classes are worth them."""


def has_central_path(p: Program) -> bool:
    """Whether each variable has two bounds and no curvature, or curvature and no bounds."""
    free = (p.has_lower + p.has_upper == 0.0) & (p.curvature > 0.0)
    boxed = np.isfinite(p.width) & (p.curvature == 0.0)
    return bool(np.all(free | boxed))


def central_point(part: Program, y: Array, fit: Array, barrier: float) -> tuple[Point | None, int]:
    """The point with this barrier, from multipliers y with fit = [A; B] y, and how many Gram matrices it took.

    None where Newton's method does not get there: the equations may leave no room inside the box.
    """
    for n_iter in range(1, _STEPS + 1):
        x, v, s, theta = _on_path(part, fit, barrier)
        missing = part.rhs - part.sums(x)
        dy = Factor(part.gram(theta, rough=True)).solve(missing)
        decrement = float(missing @ dy)
        if decrement <= _CENTRED * barrier:
            return Point(x, y, fit, barrier * part.has_lower / v, barrier * part.has_upper / s), n_iter
        change = part.times(dy)
        t = _along(part, fit, dy, change, barrier, decrement)
        y, fit = y + t * dy, fit + t * change
    return None, _STEPS


def central_distance(reduced: Array, width: Array, barrier: float) -> Array:
    """The v in (0, width) with barrier/v - barrier/(width - v) = reduced: where the central path has x - lower."""
    r = np.abs(reduced)
    q = 2.0 * barrier + r * width
    v = 2.0 * barrier * width / (q + np.sqrt(np.maximum(q * q - 4.0 * r * barrier * width, 0.0)))
    return np.where(reduced >= 0.0, v, width - v)


def _on_path(p: Program, fit: Array, barrier: float) -> tuple[Array, Array, Array, Array]:
    """The x that phi takes its value at, its distances to both bounds, and the second derivatives."""
    x, v, s, theta = np.zeros(len(p.c)), np.ones(len(p.c)), np.ones(len(p.c)), np.zeros(len(p.c))
    free = p.curvature > 0.0
    x[free], theta[free] = (fit - p.c)[free] / p.curvature[free], 1.0 / p.curvature[free]
    boxed = ~free
    v[boxed] = central_distance((p.c - fit)[boxed], p.width[boxed], barrier)
    s[boxed] = p.width[boxed] - v[boxed]
    x[boxed] = p.lower[boxed] + v[boxed]
    theta[boxed] = 1.0 / (barrier * (v[boxed] ** -2.0 + s[boxed] ** -2.0))
    return x, v, s, theta


def _along(p: Program, fit: Array, dy: Array, change: Array, barrier: float, slope: float) -> float:
    """How far to go: to where the slope of phi, which only falls, is a small part of what it is at the start."""
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(20):
        x = _on_path(p, fit + t * change, barrier)[0]
        here = float(p.rhs @ dy - change @ x) / slope
        if here < -0.3:
            high = t
        elif here > 0.5 and t < 64.0:
            low = t
        else:
            break
        if low == 0.0:
            t /= 1.0 + min(9.0, -here)
        else:
            t = min(2.0 * t, 0.5 * (low + high))
    return t
