r"""A smooth convex function plus a sum of absolute values, by accelerated proximal gradient steps.

x : (n,) variables; at(x) gives value and gradient of the smooth part h

    min over x  h(x) + alpha ||x||_1

Momentum is dropped and the steps are shortened a little whenever the value rises [BeckTeboulle2009].
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rarefy.core.linalg.rows import Array


class SmoothPoint(Protocol):
    """A smooth function at one place; the gradient is asked for at few of them."""

    @property
    def value(self) -> float:
        """Value."""

    @property
    def gradient(self) -> Array:
        """Gradient."""


@dataclass(frozen=True)
class SparseMinimum:
    """Where the method stopped; `promised` is what the upper model still promised there."""

    x: Array
    value: float
    promised: float
    n_iter: int
    converged: bool


def proximal_gradient(
    at: Callable[[Array], SmoothPoint],
    x: Array,
    alpha: float,
    *,
    tol: float = 1e-8,
    max_iter: int = 5000,
    callback: Callable[[int, float, float], None] | None = None,
) -> SparseMinimum:
    """Minimise from x.

    Parameters
    ----------
    at : callable
        The smooth part.
    x : (n,) array
        Where to start.
    alpha : float, >= 0
        Weight of the absolute values.
    tol : float
        It stops when the quadratic upper model promises less than a hundredth of it, relative to 1e-3 + |value|.
    max_iter : int
        Steps.
    callback : callable or None
        Called with (step, value, promised).
    """
    x = x.copy()
    ahead, momentum, L = x.copy(), 1.0, 1.0
    here = at(x)
    value = here.value + alpha * float(np.abs(x).sum())
    promised = np.inf
    for iteration in range(max_iter):
        there = here if ahead is x else at(ahead)
        moved, next_here, L, promised = _step(at, there, ahead, alpha, L)
        following = next_here.value + alpha * float(np.abs(moved).sum())
        if callback is not None:
            callback(iteration, following, promised)
        if following > value:  # momentum went too far: start anew from the best point
            ahead, momentum = x, 1.0
            L *= 1.1  # and with a little shorter steps
            continue
        small = promised <= tol * 1e-2 * (1e-3 + abs(following))
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = moved + (momentum - 1.0) / grown * (moved - x)
        x, here, value, momentum = moved, next_here, following, grown
        if small:
            return SparseMinimum(x, value, promised, iteration + 1, True)
        L *= 0.97
    return SparseMinimum(x, value, promised, max_iter, False)


def _step(
    at: Callable[[Array], SmoothPoint], there: SmoothPoint, ahead: Array, alpha: float, L: float
) -> tuple[Array, SmoothPoint, float, float]:
    """A step so short that the quadratic model with curvature L lies above the function; L, and what it promised."""
    gradient = there.gradient
    while True:
        moved = ahead - gradient / L
        moved = np.sign(moved) * np.maximum(np.abs(moved) - alpha / L, 0.0)
        step = moved - ahead
        arrived = at(moved)
        if arrived.value <= there.value + float(gradient @ step) + 0.5 * L * float(step @ step) + 1e-15:
            return moved, arrived, L, 0.5 * L * float(step @ step)
        L *= 2.0
