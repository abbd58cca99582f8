"""How close given columns are to the best as many there are, from both sides, with the points that prove it."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rarefy.certificates._objective import Objective, stated, targets
from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.search import choice
from rarefy.core.best_subset.solve import best_subset
from rarefy.core.certificates.subset import SubsetBounds
from rarefy.core.certificates.witness import lower_bound, objective_above
from rarefy.core.linalg.columns import dense_columns
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.losses.margins import LossName, MarginLoss
from rarefy.core.svm.linear_model import linear_model

_ENTRIES = 1e6
"""Up to so many entries (samples times kept columns times models) the best columns are looked for."""


@dataclass(frozen=True, eq=False)
class Optimality:
    """Bounds on the objectives of the best columns, of as many as are kept, and of the kept ones.

    Attributes
    ----------
    lower : float
        No choice of as many columns has a lower objective.
    dual : ndarray of shape (n_samples, n_models)
        Dual variables that prove `lower`.
    own_lower : float
        No model in the kept columns has a lower objective.
    own_dual : ndarray of shape (n_samples, n_models)
        Dual variables that prove `own_lower`.
    best : ndarray of shape (n_kept,)
        The best columns that were found.
    best_upper : float
        What they reach.
    best_coef, best_intercept : ndarrays of shape (n_kept, n_models) and (n_models,)
        The models that prove it.
    """

    lower: float
    dual: Array
    own_lower: float
    own_dual: Array
    best: Index
    best_upper: float
    best_coef: Array
    best_intercept: Array

    @property
    def finite(self) -> bool:
        """Whether all bounds are numbers."""
        return bool(np.all(np.isfinite([self.lower, self.own_lower, self.best_upper])))

    def floor(self, objective: Objective) -> float | None:
        """Proved share of the best possible columns; None if nothing is proved."""
        if not (self.lower > 0.0 and 0.0 < objective.upper < np.inf):
            return None
        return min(1.0, self.lower / objective.upper)

    def ceiling(self) -> float | None:
        """A share that the kept columns do not exceed, because better ones are known; 1 if none are."""
        if not (self.own_lower > 0.0 and 0.0 < self.best_upper < np.inf):
            return None
        return min(1.0, self.best_upper / self.own_lower)

    def faults(self, X: Rows, indices: Index, weights: Array, y: Any, objective: Objective) -> list[str]:
        """What of this does not follow from the data."""
        Y = targets(y, objective.loss)
        m, d = Y.shape[1], X.shape[1]
        shapes = {
            "dual": (self.dual.shape, Y.shape),
            "own_dual": (self.own_dual.shape, Y.shape),
            "best": (self.best.shape, indices.shape),
            "best_coef": (self.best_coef.shape, (len(indices), m)),
            "best_intercept": (self.best_intercept.shape, (m,)),
        }
        wrong = [f"{name} of the optimality has shape {a}, not {b}" for name, (a, b) in shapes.items() if a != b]
        if wrong:
            return wrong
        if len(np.unique(self.best)) != len(self.best) or not 0 <= self.best.min() <= self.best.max() < d:
            return ["the best columns must be distinct column numbers"]
        with np.errstate(all="ignore"):  # points from a file may have any numbers
            lower, own, best = _proved(X, indices, weights, Y, objective.loss, objective.C, self)
        found = [] if self.lower <= lower else [f"no choice is below {lower:.9g}, not {self.lower:.9g}"]
        found += (
            [] if self.own_lower <= own else [f"the kept columns are not below {own:.9g}, not {self.own_lower:.9g}"]
        )
        return found + ([] if self.best_upper >= best else [f"the best reach {best:.9g}, not {self.best_upper:.9g}"])


def make_optimality(X: Rows, indices: Index, weights: Array, y: Any, objective: Objective) -> Optimality | None:
    """Look for the best columns, of as many as are kept; None where that would take long."""
    loss, C = objective.loss, objective.C
    Y, n = targets(y, loss), X.shape[0]
    if n * len(indices) * Y.shape[1] > _ENTRIES or len(indices) >= X.shape[1]:
        return None
    rule, costs, d = MarginLoss(loss), np.full(n, C), X.shape[1]
    problem = SubsetProblem(X, Y, costs, rule, np.ones(d), np.arange(d))
    found = best_subset(problem, len(indices), gap_tol=1e-2, max_iter=50, thorough=False)
    own = choice(problem, indices)
    chosen = found.chosen if found.chosen.value <= own.value else own
    trained = problem.train(chosen.groups, tol=1e-8)
    kept = dense_columns(X, indices, np.minimum(weights, 1.0))
    own_dual = np.column_stack([linear_model(kept, y, costs, rule).beta for y in Y.T])
    points = Optimality(0.0, found.relaxed.dual, 0.0, own_dual, chosen.groups, 0.0, trained.coef, trained.intercept)
    lower, own_lower, best = _proved(X, indices, weights, Y, loss, C, points)
    (lower, best), own_lower = stated(lower, best), stated(own_lower, 0.0)[0]
    proved = replace(points, lower=lower, own_lower=own_lower, best_upper=best)
    return proved if proved.finite else None


def _proved(
    X: Rows, indices: Index, weights: Array, Y: Array, loss: LossName, C: float, points: Optimality
) -> tuple[float, float, float]:
    """What the three points prove: of all choices, of the kept columns, and of the best ones."""
    costs, d = np.full(len(Y), C), X.shape[1]
    bounds = SubsetBounds(X, Y, costs, loss, np.ones(d), np.arange(d))
    kept = dense_columns(X, indices, np.minimum(weights, 1.0))
    best = objective_above(
        dense_columns(X, points.best, np.ones(len(points.best))),
        Y,
        costs,
        loss,
        points.best_coef,
        points.best_intercept,
    )
    return bounds.of(points.dual).over(len(indices)), lower_bound(kept, Y, C, loss, points.own_dual), best
