"""The exact minimum of a quadratic model within a ball, from the eigenvalues of its Hessian [MoreSorensen1983].

g : (n,) gradient; H : (n, n) Hessian, formed by n products; lambda_1 <= ... : its eigenvalues; r : radius

The minimum is s = -(H + sigma I)^-1 g with the smallest sigma >= max(0, -lambda_1) for which |s| <= r. Where g has no
part in the eigenspace of a negative lambda_1, s with sigma = -lambda_1 can be too short (the hard case): then an
eigenvector leads from it to the border.
"""

import numpy as np
from scipy.optimize import brentq

from rarefy.core.linalg.rows import Array
from rarefy.core.solvers.trust_region import ModelStep, Point

_NOTHING = 4.0 * np.finfo(float).eps
"""Share of the gradient below which its part in an eigenspace is rounding."""


def exact_step(here: Point, radius: float) -> ModelStep:
    """Minimise the model of a function within the region, for `trust_region`; for few variables.

    The Hessian has n^2 entries, and its eigenvalues take n^3 operations.

    Parameters
    ----------
    here : Point
        The function at one place.
    radius : float
        Of the region; with np.inf and a model without a minimum the step has length 1, or is longer in the hard case.
    """
    n = len(here.gradient)
    H = np.column_stack([here.hessian_product(e) for e in np.eye(n)])
    values, vectors = np.linalg.eigh(0.5 * (H + H.T))
    g = vectors.T @ here.gradient
    s, inside = _minimum(g, values, radius)
    decrease = -float(g @ s) - 0.5 * float(s @ (values * s))
    return vectors @ s, decrease, float(np.linalg.norm(s)), inside, n


def _minimum(g: Array, values: Array, radius: float) -> tuple[Array, bool]:
    """The minimum in the coordinates of the eigenvectors, and whether it is inside the region."""
    rounding = len(g) * np.finfo(float).eps * float(np.abs(values).max())
    length, lowest = float(np.linalg.norm(g)), float(values[0])
    above = np.where(values - lowest <= rounding, 0.0, values - lowest)
    bottom = above == 0.0
    least = lowest if lowest > rounding else 0.0

    def at(t: float) -> Array:  # sigma = t - lambda_1: no digits are lost near the pole at t = 0
        shifted = above + t
        return -np.divide(g, shifted, out=np.zeros_like(g), where=shifted > 0.0)

    def secular(t: float) -> float:  # nearly linear in t
        size = float(np.linalg.norm(at(t))) if t > 0.0 or not g[bottom].any() else np.inf
        return 1.0 / size - 1.0 / radius

    if least > 0.0 or np.linalg.norm(g[bottom]) <= _NOTHING * length:
        s = at(least)
        missing = radius**2 - float(s @ s)
        if missing >= 0.0 and lowest >= -rounding:
            return s, True
        radius = radius if np.isfinite(radius) else max(1.0, float(np.linalg.norm(s)))
        if missing >= 0.0:  # the hard case; either sign gives the same decrease
            s[0] += np.sqrt(max(radius**2 - float(s @ s), 0.0))
            return s, False
    radius = radius if np.isfinite(radius) else 1.0
    furthest = max(length / radius, least)  # there |s| <= radius, up to rounding
    while secular(furthest) < 0.0:
        furthest *= 1.0 + 1e-8
    t = brentq(secular, least, furthest, xtol=np.finfo(float).tiny, rtol=4.0 * np.finfo(float).eps, maxiter=1000)
    return at(t), False
