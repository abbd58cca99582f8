"""Audit any subset of features, whoever chose it."""

from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils._param_validation import StrOptions

from rarefy._fit import checked_arguments
from rarefy._input import validated_alone
from rarefy._parameters import COUNT, POSITIVE, SHARE, draw_seed
from rarefy._validation import check_labels, refuse_masked
from rarefy.certificates._certificate import Certificate, make_certificate
from rarefy.certificates._columns import all_names, checked_weights, support_indices
from rarefy.certificates._fingerprint import fingerprint
from rarefy.certificates._labels import measured
from rarefy.certificates._objective import make_objective
from rarefy.certificates._optimality import make_optimality
from rarefy.core.certificates.measure import dominant_mean, measure, with_proof, with_span
from rarefy.core.certificates.measurement import Measurement
from rarefy.core.certificates.pencil import row_pencil
from rarefy.core.certificates.regularised import pencil_curve
from rarefy.core.linalg.rows import Rows, as_rows
from rarefy.core.linalg.sketch import Sketch
from rarefy.core.linalg.spectrum import decompose, resolve_rank
from rarefy.core.linalg.truncated import decompose_leading
from rarefy.core.losses.margins import LOSSES, LossName
from rarefy.core.sparsify import Selection
from rarefy.exceptions import DegenerateDataError, ParameterError


@checked_arguments(
    {
        "loss": [StrOptions(set(LOSSES))],
        "C": [POSITIVE, None],
        "alpha": [POSITIVE, None],
        "rank": [COUNT, SHARE, None],
        "sketch_size": [COUNT, None],
        "random_state": ["random_state"],
    }
)
def certify(
    X: Any,
    support: Any,
    weights: Any = None,
    y: Any = None,
    *,
    loss: LossName = "hinge",
    C: float | None = None,
    alpha: float | None = None,
    feature_names: Any = None,
    rank: float | None = None,
    sketch_size: int | None = None,
    random_state: Any = None,
) -> Certificate:
    """Say what a subset of features is guaranteed to preserve.

    Parameters
    ----------
    X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
        The data.
    support : array-like
        The subset: a mask of length n_features, indices, or (for a data frame) column names.
    weights : array-like or None, default=None
        Factor of each kept column, in the order of `support` (for a mask: of the columns); None
        keeps the columns as they are.
    y : array-like of shape (n_samples,) or None, default=None
        Class labels, or responses for ridge regression. Of two classes the hard margin and the enclosing ball are also
        measured before and after selection. With `C` (or `alpha`) the share of the objective that is kept is proved,
        and how close these columns are to the best as many there are (`optimality`, `optimality_ceiling`).
    loss : {"hinge", "squared_hinge", "logistic", "squared"}, default="hinge"
        The loss of the objective 1/2 ||w||^2 + C times the sum of losses, with a free intercept. Squared losses carry
        no factor 1/2.
    C : float or None, default=None
        What multiplies the losses, > 0; needs `y`.
    alpha : float or None, default=None
        Penalty of ridge regression, > 0, as in scikit-learn's `Ridge`. What is guaranteed for that penalty is stated,
        and with `y` the share of ridge regression's objective that is kept (C = 1 / (2 alpha) with the squared loss).
    feature_names : array-like of str, estimator or None, default=None
        Names of the columns of data that have none, or what made them, such as a vectoriser
        (`get_feature_names_out`).
    rank : int, float or None, default=None
        Speak of the leading dimensions only, or of those that hold a share of the squared norm; None speaks of all.
    sketch_size : int or None, default=None
        Speak of a Gaussian sketch of this many rows, for data with very many rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the sketch.

    Returns
    -------
    certificate : Certificate
        What is guaranteed, measured and in words.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> X = np.random.default_rng(0).standard_normal((4, 50))
    >>> rarefy.certify(X, np.arange(50)).distortion < 1e-12
    True
    >>> rarefy.certify(X, [0, 1, 2]).kind
    'none'
    """
    names = getattr(X, "columns", None) if feature_names is None else all_names(feature_names, np.shape(X)[1])
    X = validated_alone(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    indices = support_indices(support, X.shape[1], names)
    selection = Selection(indices, checked_weights(weights, len(indices), "certify"))
    whole, sketch = as_rows(X), None
    if sketch_size is not None and sketch_size < X.shape[0]:
        sketch = Sketch(sketch_size, draw_seed(random_state))
    found = make_certificate(
        _measurement(whole if sketch is None else sketch.apply(whole), selection, rank),
        selection,
        method="given",
        n_requested=len(indices),
        n_features=X.shape[1],
        sketch=sketch,
        columns=names,
        weighting="own" if weights is not None else "unit",
        fingerprint=fingerprint(X),
        measured=dominant_mean(whole),
    )
    if alpha is not None:
        found = replace(found, regularised=pencil_curve(row_pencil(whole, selection), [float(alpha)])[0])
    return found if y is None else _with_labels(found, whole, y, loss, C, alpha)


def _measurement(rows: Rows, selection: Selection, rank: float | None) -> Measurement:
    whole = decompose_leading(rows, int(rank)) if isinstance(rank, Integral) else decompose(rows)
    if not whole.rank:
        raise DegenerateDataError("certify got data in which every entry is zero; check how X was read.")
    found = measure(whole.leading(resolve_rank(whole.sigma, rank)), selection)
    return with_span(with_proof(found, rows, selection), rows, selection, whole)


def _with_labels(
    found: Certificate, X: Rows, y: Any, loss: LossName, C: float | None, alpha: float | None
) -> Certificate:
    refuse_masked(y, "y of certify")
    y = np.asarray(y)
    check_consistent_length(X, y)
    if y.ndim == 1 and y.dtype.kind != "f":
        y = check_labels(y, "y of certify")
    if alpha is not None:
        if C is not None:
            raise ParameterError("certify takes C or alpha, not both: C multiplies the losses, alpha the penalty.")
        loss, C = "squared", 1.0 / (2.0 * alpha)
    if loss != "squared" or y.dtype.kind not in "f":
        two = y.ndim == 1 and len(np.unique(y)) == 2
        if two:
            found = replace(found, measured=found.measured | measured(X, found.indices, found.weights, y))
        elif C is None:
            measured(X, found.indices, found.weights, y)  # says what is wrong with y
    if C is None:
        return found
    objective = make_objective(X, found.indices, found.weights, y, loss, float(C))
    optimal = make_optimality(X, found.indices, found.weights, y, objective)
    return replace(found, objective=objective, optimal=optimal)
