r"""The mean of many strongly convex functions, one function at a time, by implicit stochastic gradient steps.

w : (k,) variables; at_b(w), b = 1, 2, ..., the functions, each alpha-strongly convex

    min over w  mean over b of at_b(w)

Each function pulls w towards its own minimum, as far as a proximal term lets it, which no step size can make unstable;
the proximal weight grows with every function, and the later iterates are averaged.
"""

from collections.abc import Callable, Iterator

import numpy as np

from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.trust_region import Point, trust_region

Function = Callable[[Array], Point]


def implicit_sgd(
    functions: Callable[[], Iterator[Function]],
    w: Array,
    alpha: float,
    *,
    passes: int,
    tol: float = 1e-6,
    callback: Callable[[int, float, float], None] | None = None,
) -> Array:
    """Minimise from w.

    Parameters
    ----------
    functions : callable
        Gives the functions, once for each pass.
    w : (k,) array
        Where to start.
    alpha : float, > 0
        How strongly convex the functions are.
    passes : int
        How often all functions are visited.
    tol : float
        Of the trust region method on each function.
    callback : callable or None
        Called with (function, value on it, proximal weight).
    """
    mean, weight, count = np.zeros_like(w), 0.0, 0
    for _ in range(passes):
        for at in functions():
            count += 1
            hold = alpha * (count - 1)  # step size 1 / (alpha count): right for a function this strongly convex
            found = trust_region(_held(at, w.copy(), hold), w, tol=tol, max_iter=20, max_products=50)
            w = found.x
            weight += count
            mean += (w - mean) * count / weight
            if callback is not None:
                callback(count, found.value, hold)
    return mean


def _held(at: Function, anchor: Array, hold: float) -> Function:
    """The function plus hold/2 times the squared distance to the anchor."""
    return lambda w: _Held(at(w), w - anchor, hold)


class _Held:
    def __init__(self, here: Point, away: Array, hold: float) -> None:
        self._here, self._hold = here, hold
        self.value = here.value + 0.5 * hold * float(away @ away)
        self.gradient = here.gradient + hold * away

    def hessian_product(self, v: Array) -> Array:
        return self._here.hessian_product(v) + self._hold * v
