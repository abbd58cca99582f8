"""The numbers that a certificate is made of: plain values, filled in by two independent routes, and how far they reach.

V^T R R^T V, with eigenvalues from lo to hi, is known in floating point only as well as V is, to about eps * kappa with
kappa the condition number of the data inside V. Rounding moves the singular values of R^T V by that much times the
largest of them, hence an eigenvalue lam by about

    c eps (kappa sqrt(lam hi) + hi),    c growing with the size of the problem.

Stated are eigenvalues moved outward by so much. Where that is more than a small share of an eigenvalue, it is not told
from any other: what is stated then is what the weights alone tell, zero (or, of all columns, the smallest squared
weight) from below and the largest squared weight from above.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import Array

EPS = float(np.finfo(np.float64).eps)
RESOLVED = 5e-4
"""Rounding may blur an eigenvalue by this share of itself; one that is blurred by more is not claimed."""
_GRAM_ROUNDING = 2e-12
"""What a Gram matrix of well-conditioned data leaves of orthonormality."""


@dataclass(frozen=True, eq=False)
class Measurement:
    """What was measured of a selection R, with V the right singular vectors that it should preserve."""

    eigenvalues: tuple[float, float]
    """Smallest and largest eigenvalue of V^T R R^T V, moved outward by what rounding may have done."""
    rank: int
    """Columns of V."""
    numerical_rank: int
    """Dimensions of the row space of the data; at least so many if not `complete`."""
    singular_values: tuple[float, float]
    """The largest and the smallest of those that belong to V."""
    next_singular_value: float
    """The largest that does not belong to V; 0 if V spans everything."""
    energy_kept: float
    """Share of the data's squared norm inside V."""
    residual_ratio: float | None
    """Squared norm outside V after selection, relative to before; None where it is not asked for."""
    resolution: float
    """Singular values up to this counted as zero; 0 if there is none left that could."""
    unseen: int
    """Columns that are not zero and no longer than that."""
    choice: Array | None = None
    """Where the cut after V divides equal singular values: which of their singular vectors were chosen, as columns of
    length min(n, d). A witness: without it nobody else could know what V is."""
    proved: bool = False
    """Whether the interval of eigenvalues was proved with all rounding included."""
    complete: bool = True
    """Whether all singular values were computed; if not, `numerical_rank` is one more than `rank` and a lower bound."""
    explained: float | None = None
    """Share of the data's squared norm inside the span of the kept columns; None where they span all of it."""
    explainable: float | None = None
    """The largest such share that as many dimensions can have; None where it is not known."""

    @property
    def distortion(self) -> float:
        """||I - V^T R R^T V||."""
        low, high = self.eigenvalues
        return max(1.0 - low, high - 1.0)


@dataclass(frozen=True)
class Interval:
    """Eigenvalues as they were computed, with all that their error depends on."""

    low: float
    high: float
    condition: float
    """Largest over smallest singular value of the data inside V."""
    size: int
    """Columns of V."""
    weights2: tuple[float, float]
    """Smallest and largest squared weight: no eigenvalue exceeds the largest."""
    complete: bool
    """Whether every column that is not zero is kept: then no eigenvalue is below the smallest squared weight."""

    def blur(self, value: float) -> float:
        """How far rounding may have moved an eigenvalue."""
        c = 8.0 * np.sqrt(max(self.size, 4))
        beside = np.sqrt(max(value, 0.0)) * np.sqrt(self.high)
        return float(c * EPS * (self.condition * beside + self.high) + _GRAM_ROUNDING * beside)

    def outward(self, share: float = 1.0, resolved: float = RESOLVED) -> tuple[float, float]:
        """The eigenvalues, moved outward by a share of what rounding may have done.

        Blurred by more than a share `resolved` of itself, an eigenvalue is only bounded by the weights.
        """
        below, above = self.blur(self.low), self.blur(self.high)
        low = self.low - share * below if below <= resolved * self.low else 0.0
        high = self.high + share * above if above <= resolved * self.high else np.inf
        # A square is rounded too, unless it is that of a weight 1.
        smallest, largest = (
            w if w == 1.0 else float(np.nextafter(w, end)) for w, end in zip(self.weights2, (0.0, np.inf), strict=True)
        )
        return (max(low, smallest) if self.complete else low), min(high, largest)
