"""The SVMs that share one weighted kernel: one SVM for two classes, otherwise one for each class against the others."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from rarefy.core.feature_weights.penalties import Penalty
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.svm.smooth_svm import Along, CurvedSystem, best_offset, smooth_svm

System = tuple[Index, CurvedSystem | None]
"""The samples on the curved piece of the loss, and the linear system of their coefficients; None if there are none."""


@dataclass(frozen=True)
class Classifiers:
    """What is fixed while feature weights are learned.

    Y : (n, q) labels -1 and 1, one column for each SVM; costs : (n,) factors on the losses of the samples
    """

    Y: Array
    costs: Array
    penalty: Penalty
    loss: SmoothedHinge = SmoothedHinge()
    quadratic: ClassVar[bool] = False
    """Whether the second derivatives of the losses are the same everywhere."""

    def losses(self, T: Array) -> tuple[float, Array, Array]:
        """The sum of the losses at scores T, with two derivatives in the scores."""
        value, first, second = self.loss.derivatives(self.Y * T)
        C = self.costs[:, None]
        return float(self.costs @ value.sum(axis=1)), C * self.Y * first, C * second

    def with_mu(self, mu: float) -> "Classifiers":
        """The same with another factor on the penalty; what does not depend on it is known to both."""
        other = replace(self, penalty=self.penalty.with_mu(mu))
        other.__dict__["constant"] = self.constant
        return other

    @cached_property
    def constant(self) -> float:
        """The least sum of losses of classifiers that give all samples the same score."""
        scores = [best_offset(np.zeros(len(y)), y, self.costs, self.loss) for y in self.Y.T]
        return self.losses(np.broadcast_to(scores, self.Y.shape))[0]

    def strata(self) -> Index:
        """The number of each sample's class, of which samples are drawn in proportion."""
        Y = self.Y
        if Y.shape[1] == 1:
            return np.unique(Y[:, 0], return_inverse=True)[1].ravel()
        return np.unique(Y, axis=0, return_inverse=True)[1].ravel()

    def losses_of(self, c: int, T: Array) -> tuple[float, Array, Array]:
        """The same as `losses` for one classifier and a vector of its scores."""
        value, first, second = self.loss.derivatives(self.Y[:, c] * T)
        return float(self.costs @ value), self.costs * self.Y[:, c] * first, self.costs * second

    def length(self, c: int, T: Array, moved: Array, linear: float, square: float, longest: float) -> float:
        """How far to go where scores T of one classifier change by `moved`, at most `longest`.

        To the minimum of its losses and a quadratic function with the slope `linear + s square` at s.
        """
        y = self.Y[:, c]
        along = Along(1.0 - y * T, y * moved, self.costs, self.loss.eps, linear, square)
        return along.last_below(0.0, 0.0, longest)

    def solve(
        self, K: Array, start: tuple[Array, Array] | None = None, systems: list[System] | None = None
    ) -> tuple[Array, Array, float]:
        """The optimal coefficients and offsets for a kernel matrix, and the objective without the penalty.

        `start` holds the coefficients and offsets of a similar problem. To `systems` one is added for each classifier.
        """
        B, b, value = np.zeros(self.Y.shape), np.zeros(self.Y.shape[1]), 0.0
        for c, y in enumerate(self.Y.T):
            begin = None if start is None else (start[0][:, c], float(start[1][c]))
            found = smooth_svm(K, y, self.costs, loss=self.loss, start=begin)
            B[:, c], b[c], value = found.beta, found.b, value + found.objective
            if systems is not None:
                system = found.system
                if system is None and len(found.curved):
                    part = K[np.ix_(found.curved, found.curved)]
                    system = CurvedSystem(part, self.costs[found.curved], self.loss.eps)
                systems.append((found.curved, system))
        return B, b, value
