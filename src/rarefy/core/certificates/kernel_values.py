"""What is stated about two kernel matrices: plain values, so that a check of them shares no code with the measuring.

K, K~   : (n, n) kernel matrices with all and with the kept columns
M_alpha : (K + alpha)^-1/2 (K~ + alpha) (K + alpha)^-1/2
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class KernelInterval:
    """lo K <= K~ <= hi K, each end stated outward."""

    lo: float
    hi: float
    rank: int
    """Directions in which K counts as positive."""
    lost: int
    """How many of them K~ loses, that is, in how many its form is zero within rounding."""
    added: int = 0
    """Directions in which K~ is positive and K is not; `hi` is infinite if there is one."""

    @property
    def condition(self) -> float:
        """hi / lo: how much radius^2 / margin^2 can grow; infinite if a direction is lost."""
        return self.hi / self.lo if self.lo > 0.0 else np.inf

    @property
    def margin_floor(self) -> float:
        """The hard margin squared keeps at least this share."""
        return self.lo

    @property
    def radius_ratio(self) -> float:
        """The squared radius of the smallest enclosing ball grows at most by this factor."""
        return self.hi

    @property
    def soft_margin_ratio(self) -> float:
        """The optimum of the soft-margin objective grows at most by this factor."""
        return 1.0 / min(1.0, self.lo) if self.lo > 0.0 else np.inf

    @property
    def soft_margin_drop(self) -> float:
        """The optimum of the soft-margin objective falls at most by this factor."""
        return max(1.0, self.hi)


@dataclass(frozen=True)
class Regularised:
    """What is certified at one penalty."""

    alpha: float
    lo: float
    hi: float
    bias_factor: float
    """Worst ratio of squared biases over all signals."""
    variance_factor: float
    effective_dimension: float
    effective_dimension_kept: float
    bias_bound: float = np.inf
    """(1 + h)^2 >= bias_factor: it never grows with alpha."""

    @property
    def risk_factor(self) -> float:
        """The fixed-design risk of ridge regression grows at most by this, whatever the signal and the noise."""
        return max(self.bias_factor, self.variance_factor)

    @property
    def distortion(self) -> float:
        """||I - M_alpha||."""
        return max(1.0 - self.lo, self.hi - 1.0)


@dataclass(frozen=True)
class AlphaFrom:
    """From which penalty on the risk factor is at most `factor`."""

    factor: float
    proved: float
    """For every alpha >= this; infinite if that cannot be shown."""
    on_grid: float
    """At every alpha of the grid that is >= this; infinite if the last one fails."""
