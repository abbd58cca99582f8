r"""Kernel ridge regressions that share one weighted kernel: the squared loss in place of the hinge.

Y : (n, q) responses; C_i : factors on the losses of the samples

    1/2 B_c^T K B_c + sum_i C_i (Y_ic - F_ic)^2

At the optimum B = -G as for the SVMs, and every sample is on the curved piece of the loss: the searches for feature
weights are the same.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from rarefy.core.feature_weights.classifiers import Classifiers, System
from rarefy.core.feature_weights.kernel import Profile
from rarefy.core.feature_weights.penalties import Penalty
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.svm.smooth_svm import CurvedSystem

_HALF = 0.25
"""Half the length of a curved piece with the second derivative of the squared loss, 2."""


class _EverywhereCurved(SmoothedHinge):
    """Stands for a loss all of whose samples are on its curved piece."""

    def derivatives(self, margins: Array) -> tuple[Array, Array, Array]:
        ones = np.ones_like(margins)
        return ones, ones, ones


@dataclass(frozen=True)
class Regressors(Classifiers):
    """Responses in place of labels."""

    loss: SmoothedHinge = _EverywhereCurved(_HALF)
    quadratic: ClassVar[bool] = True

    def losses(self, T: Array) -> tuple[float, Array, Array]:
        residual, C = T - self.Y, self.costs[:, None]
        return float(self.costs @ (residual**2).sum(axis=1)), 2.0 * C * residual, np.broadcast_to(2.0 * C, T.shape)

    def strata(self) -> Index:
        return np.zeros(len(self.Y), dtype=np.intp)

    def losses_of(self, c: int, T: Array) -> tuple[float, Array, Array]:
        residual = T - self.Y[:, c]
        return float(self.costs @ residual**2), 2.0 * self.costs * residual, 2.0 * self.costs

    def length(self, c: int, T: Array, moved: Array, linear: float, square: float, longest: float) -> float:
        weighted = 2.0 * self.costs * moved
        slope, bend = linear + float(weighted @ (T - self.Y[:, c])), square + float(weighted @ moved)
        return min(max(-slope / bend, 0.0), longest) if bend > 0.0 else 0.0

    @cached_property
    def constant(self) -> float:
        means = np.average(self.Y, axis=0, weights=self.costs)
        return self.losses(np.broadcast_to(means, self.Y.shape))[0]

    def solve(
        self, K: Array, start: tuple[Array, Array] | None = None, systems: list[System] | None = None
    ) -> tuple[Array, Array, float]:
        system = CurvedSystem(K.copy(), self.costs, _HALF)
        if systems is not None:
            systems += [(np.arange(len(K)), system)] * self.Y.shape[1]
        found = [system.solve(y) for y in self.Y.T]
        B, b = np.column_stack([one[0] for one in found]), np.array([one[1] for one in found])
        KB = K @ B
        return B, b, 0.5 * float(np.vdot(B, KB)) + self.losses(KB + b)[0]


def response_problem(
    X: Array,
    y: Array,
    weights: Array,
    *,
    C: float,
    penalty: Penalty,
    profile: Profile,
    groups: NDArray[np.intp] | None = None,
) -> Problem:
    """The problem for samples with a response; equal samples are merged and all are sorted, see `labelled_problem`."""
    rows, where = np.unique(np.column_stack([y, X]), axis=0, return_inverse=True)
    costs: Array = C * np.bincount(where.ravel(), weights).astype(np.float64, copy=False)
    return Problem(np.ascontiguousarray(rows[:, 1:]), Regressors(rows[:, :1].copy(), costs, penalty), profile, groups)


def explained(y: Array, predicted: Array, weights: Array) -> float:
    """The share of the variance that is explained, R^2."""
    rest = np.average((y - predicted) ** 2, weights=weights)
    total = np.average((y - np.average(y, weights=weights)) ** 2, weights=weights)
    return float(1.0 - rest / total) if total > 0.0 else 0.0


def random_part(problem: Problem, share: float) -> NDArray[np.bool_]:
    """A mask of a share of the samples."""
    held = np.zeros(len(problem.X), dtype=bool)
    held[np.random.default_rng(0).permutation(len(held))[: int(share * len(held))]] = True
    return held
