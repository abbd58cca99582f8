"""Where an increasing function of one number is zero, from its values and slopes."""

from collections.abc import Callable


def increasing_root(
    function: Callable[[float], tuple[float, float]], low: float, high: float, start: float, *, tol: float = 0.0
) -> float:
    """Newton's method inside an interval that is cut at every step; finite on piecewise linear functions.

    Parameters
    ----------
    function : callable
        Value and slope at a number.
    low, high : float
        Numbers on the two sides of the root.
    start : float
        Where to begin, between them.
    tol : float
        Absolute value of the function that is accepted for zero.
    """
    x = start
    for step in range(100):
        value, slope = function(x)
        if abs(value) <= tol or high - low <= 4e-16 * max(abs(low), abs(high)):
            break
        low, high = (x, high) if value < 0.0 else (low, x)
        newton = x - value / slope if slope > 0.0 else low
        # A step out of the interval, or a suspiciously long series of steps, is replaced by halving.
        x, before = (newton if low < newton < high and step % 8 < 6 else 0.5 * (low + high)), x
        if x == before:
            break
    return x
