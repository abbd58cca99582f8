"""Checking what a certificate says about labels."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rarefy._validation import check_labels
from rarefy.certificates._objective import targets
from rarefy.core.certificates.witness import Witnesses, lower_bound, upper_bound
from rarefy.core.linalg.columns import dense_columns
from rarefy.core.linalg.rows import Index, Rows
from rarefy.core.svm.hulls import enclosing_ball, squared_margin
from rarefy.exceptions import ParameterError

if TYPE_CHECKING:
    from rarefy.certificates._certificate import Certificate


def label_faults(c: "Certificate", X: Rows, indices: Index, y: Any) -> list[str]:
    """What of a certificate's claims about labels does not follow from them; without labels none of them does."""
    if y is None:
        needs = c.objective is not None or c.all_rows is not None
        return ["it claims something about labels, and no y was passed"] if needs else []
    y = np.asarray(y)
    if y.ndim == 0 or len(y) != X.shape[0]:
        raise ParameterError(f"y must have one entry for each of the {X.shape[0]} rows of X; got shape {y.shape}.")
    try:
        found = [] if c.objective is None else c.objective.faults(X, indices, c.weights, y)
        if c.optimal is not None and c.objective is not None:
            found += c.optimal.faults(X, indices, c.weights, y, c.objective)
        return found + _all_rows_faults(c, X, indices, y)
    except ValueError as error:  # numbers where classes are needed, one class, values that are missing
        return [f"y does not suit the loss: {error}"]


def _all_rows_faults(c: "Certificate", X: Rows, indices: Index, y: Any) -> list[str]:
    """Both points are in the kept, weighted columns, and the dual one is zero on rows that were left out."""
    claim = c.all_rows
    if claim is None or c.rows is None:
        return [] if claim is None else ["it speaks of rows beyond those it is about, and is about all"]
    Y = targets(y, claim.loss)
    if claim.dual.shape != Y.shape or claim.coef.shape != (len(indices), Y.shape[1]) or claim.intercept.shape != (1,):
        return ["the points about all rows have the wrong shapes"]
    others = np.ones(X.shape[0], dtype=bool)
    others[c.rows] = False
    if claim.dual[others].any():
        return ["a row that was left out matters"]
    kept = dense_columns(X, indices, c.weights)
    every, ones = np.arange(len(indices)), np.ones(len(indices))
    lower = lower_bound(kept, Y, claim.C, claim.loss, claim.dual)
    points = Witnesses(claim.dual, claim.coef, claim.intercept)
    upper = upper_bound(kept, every, ones, Y, claim.C, claim.loss, points)
    agrees = claim.lower <= lower and claim.upper >= upper
    return [] if agrees else [f"the points about all rows prove {lower:.9g} to {upper:.9g}, not what is stated"]


def measured(X: Rows, indices: Index, weights: Any, y: Any) -> dict[str, float]:
    """Squared margins between two classes, and squared radii, before and after a selection."""
    classes, groups = np.unique(check_labels(y, "y"), return_inverse=True)
    if len(classes) != 2:
        raise ParameterError(
            f"A margin lies between two classes; y has {len(classes)}. Pass one pair of classes, or leave y out."
        )
    kept = dense_columns(X, indices, weights)
    return {
        "squared_margin_before": squared_margin(X, groups),
        "squared_margin_after": squared_margin(kept, groups),
        "squared_radius_before": enclosing_ball(X).radius2,
        "squared_radius_after": enclosing_ball(kept).radius2,
    }
