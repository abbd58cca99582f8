"""From the support vectors to all rows: select on some rows until no other row matters.

S starts as the support vectors of the model with all columns. Columns are selected on S, a model is trained in them
on all rows, and its support vectors that S lacks are added, until there are none. Then the model of all rows in the
kept columns is one of S alone, and what a certificate says about S holds for all rows:

    Z~(all) = Z~(S) <= Z(S) / min(1, lambda_min(S)) <= Z(all) / min(1, lambda_min(S)).

Two points in the kept columns prove the equality up to their gap: a primal one over all rows, and a dual one that is
zero outside of S.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.svm import SVC

from rarefy.certificates import Certificate
from rarefy.certificates._objective import Objective, make_objective, stated, targets
from rarefy.core.certificates.witness import Witnesses, lower_bound, upper_bound
from rarefy.core.linalg.columns import dense_columns
from rarefy.core.linalg.rows import Array, Index, Rows, as_rows
from rarefy.core.losses.margins import MarginLoss
from rarefy.core.svm.linear_model import LinearModel, linear_model
from rarefy.exceptions import ParameterError

_MOST_ROUNDS = 30
_HINGE = MarginLoss("hinge")


@dataclass(frozen=True)
class AllRows:
    """A selector fitted on the rows that matter."""

    selector: Any
    rows: Index
    model: LinearModel
    converged: bool


def select_for_all(select: Callable[[Index], Any], X: Any, y: Any, C: float, rows: Index) -> AllRows:
    """Grow `rows` until no other row is a support vector in the columns selected on them.

    Parameters
    ----------
    select : callable
        Takes row numbers and returns a selector fitted on those rows.
    X : {array, sparse matrix} of shape (n_samples, n_features)
        The data.
    y : array of shape (n_samples,)
        Labels of two classes.
    C : float
        Cost of the losses.
    rows : array
        Where to start.
    """
    label, costs = targets(y, "hinge")[:, 0], np.full(X.shape[0], C)
    for _ in range(_MOST_ROUNDS):
        selector = select(rows)
        kept = weighted_columns(as_rows(X), selector)
        model = linear_model(kept, label, costs, _HINGE)
        new = np.setdiff1d(np.flatnonzero(model.beta), rows)
        if not len(new):
            return AllRows(selector, rows, model, True)
        rows = np.union1d(rows, new)
    return AllRows(select(rows), rows, model, False)


def check_scope(estimator: Any, y: Any, fit_params: dict[str, Any]) -> None:
    """Refuse what all rows are not certified for."""
    plain = estimator is None or (isinstance(estimator, SVC) and estimator.class_weight is None)
    if not plain or len(np.unique(y)) > 2 or fit_params.get("sample_weight") is not None:
        raise ParameterError(
            "scope='all' of SupportVectorSelector needs two classes, no sample_weight, and as estimator None or "
            f"SVC(kernel='linear') without class weights; got {len(np.unique(y))} classes and estimator={estimator!r}."
        )


def weighted_columns(X: Rows, selector: Any) -> Rows:
    """The kept columns times their weights, in the order of the certificate if there is one."""
    found = getattr(selector, "certificate_", None)
    if found is None:
        columns = np.flatnonzero(selector.get_support())
        weights: Array = getattr(selector, "weights_", np.ones(len(columns)))
    else:
        columns, weights = found.indices, found.weights
    return dense_columns(X, columns, weights)


def certified_for_all(certificate: Certificate, found: AllRows, X: Any, y: Any, C: float) -> Certificate:
    """The certificate of some rows with what it means for all of them, and the objective of all rows beside it."""
    data, Y = as_rows(X), targets(y, "hinge")
    objective = make_objective(data, certificate.indices, certificate.weights, y, "hinge", C)
    if not found.converged:
        return replace(certificate, objective=objective)
    kept = weighted_columns(data, found.selector)
    model = found.model
    points = Witnesses(model.beta[:, None], model.coef[:, None], np.array([model.intercept]))
    k = kept.shape[1]
    lower = lower_bound(kept, Y, C, "hinge", points.dual)
    upper = upper_bound(kept, np.arange(k), np.ones(k), Y, C, "hinge", points)
    claim = Objective("hinge", C, *stated(lower, upper), points.dual, points.coef, points.intercept)
    return replace(certificate, objective=objective, all_rows=claim)
