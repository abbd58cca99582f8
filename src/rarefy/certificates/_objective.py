"""What is kept of a model's objective, proved by two points that anyone can put in."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from rarefy._validation import check_array, check_labels
from rarefy.core.certificates.witness import Witnesses, lower_bound, upper_bound
from rarefy.core.linalg.columns import dense_columns
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.losses.margins import LossName, MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.exceptions import ParameterError

_SHAVED = 1e-9
"""Both bounds are stated this much on the safe side, so that another computer's rounding still agrees."""


@dataclass(frozen=True, eq=False)
class Objective:
    """Bounds on the objective with all columns and in the kept ones, and the points that prove them.

    The objective is 1/2 ||w||^2 + C times the sum of losses, with a free intercept; of several classes the sum over
    one-against-rest models. Weights of the kept columns above 1 count as 1.

    Attributes
    ----------
    loss : {"hinge", "squared_hinge", "logistic", "squared"}
        The loss.
    C : float
        What multiplies the losses; 1 / (2 alpha) in ridge's terms.
    lower : float
        With all columns no model is below this.
    upper : float
        In the kept columns there is a model no higher than this.
    dual : ndarray of shape (n_samples, n_models)
        Dual variables that prove `lower`.
    coef : ndarray of shape (n_kept, n_models)
        Coefficients, in the order of `indices`, that with `intercept` prove `upper`.
    intercept : ndarray of shape (n_models,)
        The intercepts.
    empty : float
        The objective of the intercept alone: what no column at all reaches.
    """

    loss: LossName
    C: float
    lower: float
    upper: float
    dual: Array
    coef: Array
    intercept: Array
    empty: float = np.inf

    @property
    def gain(self) -> float | None:
        """Share of what all columns gain over no column at all that the kept ones gain at least."""
        if not (self.lower < self.empty < np.inf):
            return None
        return max(0.0, (self.empty - self.upper) / (self.empty - self.lower))

    @property
    def ratio(self) -> float | None:
        """Share of the objective that is kept at least; None where nothing is proved."""
        return min(1.0, self.lower / self.upper) if self.lower > 0.0 and 0.0 < self.upper < np.inf else None

    def faults(self, X: Rows, indices: Index, weights: Array, y: Any) -> list[str]:
        """What of this does not follow from the data."""
        Y = targets(y, self.loss)
        shapes = {
            "dual": (self.dual.shape, Y.shape),
            "coef": (self.coef.shape, (len(indices), Y.shape[1])),
            "intercept": (self.intercept.shape, (Y.shape[1],)),
        }
        wrong = [f"{name} of the objective has shape {a}, not {b}" for name, (a, b) in shapes.items() if a != b]
        if wrong:
            return wrong
        lower = lower_bound(X, Y, self.C, self.loss, self.dual)
        witnesses = Witnesses(self.dual, self.coef, self.intercept)
        upper = upper_bound(X, indices, weights, Y, self.C, self.loss, witnesses)
        found = []
        empty = empty_objective(Y, self.C, self.loss)
        if not (self.empty == np.inf or self.empty <= empty * (1.0 + _SHAVED)):
            found.append(f"no column at all has the objective {empty:.9g}, not {self.empty:.9g}")
        if not self.lower <= lower:
            found.append(f"the dual point proves {lower:.9g}, not {self.lower:.9g}")
        if not self.upper >= upper:
            found.append(f"the primal point has the objective {upper:.9g}, not {self.upper:.9g}")
        return found


def make_objective(X: Rows, indices: Index, weights: Array, y: Any, loss: LossName, C: float) -> Objective:
    """Train with all columns and with the kept ones, and state what the two models prove."""
    Y, rule, costs = targets(y, loss), MarginLoss(loss), np.full(X.shape[0], C)
    kept = dense_columns(X, indices, np.minimum(weights, 1.0))
    whole = [linear_model(X, column, costs, rule) for column in Y.T]
    part = [linear_model(kept, column, costs, rule) for column in Y.T]
    dual = np.column_stack([model.beta for model in whole])
    coef, intercept = np.column_stack([model.coef for model in part]), np.array([m.intercept for m in part])
    upper = upper_bound(X, indices, weights, Y, C, loss, Witnesses(dual, coef, intercept))
    lower = lower_bound(X, Y, C, loss, dual)
    return Objective(loss, C, *stated(lower, upper), dual, coef, intercept, empty_objective(Y, C, loss))


def empty_objective(Y: Array, C: float, loss: LossName) -> float:
    """The least sum of losses of constant scores, one for each model; closed forms for labels -1 and 1."""
    mean, spread = Y.mean(axis=0), Y.var(axis=0)
    if loss == "hinge":
        return float(C * len(Y) * np.sum(1.0 - np.abs(mean)))
    if loss == "logistic":
        p = np.stack([1.0 + mean, 1.0 - mean]) / 2.0
        return float(-C * len(Y) * np.sum(p * np.log(np.where(p > 0.0, p, 1.0))))
    return float(C * len(Y) * spread.sum())  # of labels the best squared hinge has no score beyond them


def stated(lower: float, upper: float) -> tuple[float, float]:
    """Two bounds as they are stated, a little on the safe side."""
    return lower - _SHAVED * abs(lower), upper * (1.0 + _SHAVED)


def targets(y: Any, loss: LossName) -> Array:
    """One column a model: -1 and 1 for classes (each against the rest if more than two), or numbers to be fitted."""
    y = np.asarray(y)
    if loss == "squared" and y.dtype.kind in "fiu":
        Y = check_array(y, "y", ensure_2d=False, dtype=np.float64)
        return Y.reshape(-1, 1) if Y.ndim == 1 else Y
    y = check_labels(y, "y")
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise ParameterError("An objective needs at least two classes; y has one.")
    chosen = classes[1:] if len(classes) == 2 else classes
    return np.where(y[:, None] == chosen, 1.0, -1.0)
