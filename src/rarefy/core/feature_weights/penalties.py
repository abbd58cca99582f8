r"""Penalties on feature weights: what a weight z_k >= 0 costs. To add one, add a class and name it in `PENALTIES`.

The first derivative is that of the sum over all features; the second is the same for every weight.
"""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from rarefy.core.linalg.rows import Array


class Penalty(Protocol):
    """A separable penalty."""

    @property
    def mu(self) -> float:
        """Its weight."""

    zero_is_bound: ClassVar[bool]
    """Whether a weight that reaches zero stays there: the penalty has a slope at zero, so zero is a local minimum."""

    def costs(self, z: Array) -> Array:
        """What each weight costs."""

    def derivatives(self, z: Array) -> tuple[float, Array, float]:
        """The sum of all costs, its gradient, and the second derivative in any weight."""


@dataclass(frozen=True)
class L1Penalty:
    """mu sum_k z_k: most weights become zero."""

    mu: float
    zero_is_bound: ClassVar[bool] = True

    def costs(self, z: Array) -> Array:
        return self.mu * z

    def derivatives(self, z: Array) -> tuple[float, Array, float]:
        return self.mu * float(z.sum()), self.mu * np.ones_like(z), 0.0


@dataclass(frozen=True)
class SquaredPenalty:
    """mu sum_k z_k^2, linear in what counts in the kernel: small weights are cheap, so more features share the work.

    Zero is a stationary point of the whole objective and no bound: a saddle point if a feature is worth its cost.
    """

    mu: float
    zero_is_bound: ClassVar[bool] = False

    def costs(self, z: Array) -> Array:
        return self.mu * z**2

    def derivatives(self, z: Array) -> tuple[float, Array, float]:
        return self.mu * float((z**2).sum()), self.mu * 2 * z, self.mu * 2


PENALTIES: dict[str, type[L1Penalty] | type[SquaredPenalty]] = {"weights": L1Penalty, "squares": SquaredPenalty}
