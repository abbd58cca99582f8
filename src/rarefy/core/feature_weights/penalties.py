"""Penalties on feature weights z_k >= 0. To add one, write a class like `Penalty` and list it in `PENALTIES`."""

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

import numpy as np

from rarefy.core.linalg.rows import Array


class Penalty(Protocol):
    """A separable penalty."""

    @property
    def mu(self) -> float:
        """The factor on the penalty."""

    zero_is_bound: ClassVar[bool]
    """Whether a weight is held at zero: the penalty has a positive slope there, so zero is a local minimum."""

    def with_mu(self, mu: float) -> "Penalty":
        """The same penalty with another factor."""

    def costs(self, z: Array) -> Array:
        """The penalty of each weight."""

    def derivatives(self, z: Array) -> tuple[float, Array, float]:
        """The penalty of all weights, its gradient, and its second derivative, which is the same in every weight."""


@dataclass(frozen=True)
class L1Penalty:
    """mu sum_k z_k: most weights become zero."""

    mu: float
    zero_is_bound: ClassVar[bool] = True

    def with_mu(self, mu: float) -> "L1Penalty":
        return replace(self, mu=mu)

    def costs(self, z: Array) -> Array:
        return self.mu * z

    def derivatives(self, z: Array) -> tuple[float, Array, float]:
        return self.mu * float(z.sum()), self.mu * np.ones_like(z), 0.0


@dataclass(frozen=True)
class SquaredPenalty:
    """mu sum_k z_k^2, linear in the z_k^2 of the kernel: small weights cost little, so more features are kept.

    Zero is a stationary point of the objective in a weight, but no bound: it is a saddle point if a positive weight
    lowers the objective.
    """

    mu: float
    zero_is_bound: ClassVar[bool] = False

    def with_mu(self, mu: float) -> "SquaredPenalty":
        return replace(self, mu=mu)

    def costs(self, z: Array) -> Array:
        return self.mu * z**2

    def derivatives(self, z: Array) -> tuple[float, Array, float]:
        return self.mu * float((z**2).sum()), self.mu * 2 * z, self.mu * 2


PENALTIES: dict[str, type[L1Penalty] | type[SquaredPenalty]] = {"weights": L1Penalty, "squares": SquaredPenalty}
"""By the name of the `penalty` parameter."""
