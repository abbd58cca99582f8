r"""The logistic loss of pairs of scores, log(1 + exp(-t)) with t = a_i - b_j.

It has no pieces that sorting could use. The sum over the upper scores is a smooth function of one number, interpolated
to rounding error from its values at Chebyshev nodes.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from rarefy.core.linalg.rows import Array
from rarefy.core.losses.hinge import beside

_NODES = 24
"""Chebyshev nodes of one panel of unit length: the logistic function is analytic in a strip of width pi, so that
interpolation errors are below rounding."""


@dataclass(frozen=True)
class Logistic:
    """The logistic loss of pairs, log(1 + exp(-t)).

    See Also
    --------
    rarefy.ranking.SmoothedHinge : The hinge loss with its corner rounded.

    Examples
    --------
    >>> from rarefy.ranking import Logistic, RankRC
    >>> RankRC(loss=Logistic()).loss
    Logistic()
    """

    def pair_sums(self, a: Array, b: Array) -> "LogisticSums":
        """Prepare the interpolation, for sums over all pairs.

        Parameters
        ----------
        a : ndarray of shape (n_upper,)
            Scores of the samples that should rank higher.
        b : ndarray of shape (n_lower,)
            Scores of the samples that should rank lower.

        Returns
        -------
        sums : object
            Sums over partners of the loss and its derivatives, by `upper` and `lower`.
        """
        return LogisticSums(a, b)


class LogisticSums:
    """Sums of the loss, or of its derivatives, over the partners of every score."""

    def __init__(self, a: Array, b: Array) -> None:
        self._interpolate(b)
        z = a[:, None] - self.nodes
        falling = np.where(z > 0.0, np.exp(-np.abs(z)), 1.0) / (1.0 + np.exp(-np.abs(z)))  # 1 / (1 + exp(z))
        self.tables = (np.logaddexp(0.0, -z), -falling, falling * (1.0 - falling))

    def _interpolate(self, b: Array) -> None:
        """Nodes, and how values at the lower scores follow from those at the nodes of their panel of length 1."""
        start, self.panel = np.unique(np.floor(b), return_inverse=True)
        if len(start) * _NODES >= len(b):  # so far apart that the scores themselves are fewer
            self.nodes, self.panel, self.basis = b, np.arange(len(b)), np.ones((len(b), 1))
            return
        unit = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        self.nodes = (start[:, None] + 0.5 + 0.5 * unit).ravel()
        local = 2.0 * (b - start[self.panel]) - 1.0
        # Barycentric weights of the first kind: rows of the interpolation matrix, one for each lower score.
        sines = (-1.0) ** np.arange(_NODES) * np.sin(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        gaps = local[:, None] - unit
        hit = np.abs(gaps) < 1e-15
        exact = np.any(hit, axis=1, keepdims=True)
        terms = np.where(exact, hit, sines / np.where(hit, 1.0, gaps))
        self.basis = terms / terms.sum(axis=1, keepdims=True)

    def _to_nodes(self, weights: Array) -> Array:
        """Weights of the nodes that stand for weights of the lower scores."""
        return self._interpolation.T @ weights

    @cached_property
    def _interpolation(self) -> Any:
        """Values at the lower scores from those at the nodes."""
        n, width = self.basis.shape
        columns = (width * self.panel[:, None] + np.arange(width)).ravel()
        return sp.csr_array((self.basis.ravel(), columns, np.arange(0, n * width + 1, width)), (n, len(self.nodes)))

    def upper(self, weights: Array, order: int, v: Array | None = None) -> Array:
        return self.tables[order] @ self._to_nodes(weights if v is None else beside(weights, v) * v)

    def lower(self, weights: Array, order: int, v: Array | None = None) -> Array:
        at_nodes = self.tables[order].T @ (weights if v is None else beside(weights, v) * v)
        return self._interpolation @ at_nodes
