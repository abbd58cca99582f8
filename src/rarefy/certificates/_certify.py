"""Audit any subset of features, whoever chose it."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from rarefy._fit import checked_arguments
from rarefy._parameters import COUNT, SHARE, draw_seed
from rarefy.certificates._certificate import Certificate, make_certificate
from rarefy.certificates._columns import support_indices
from rarefy.certificates._geometry import hard_margin2, minimum_enclosing_ball
from rarefy.core.certificates.measure import measure
from rarefy.core.linalg.rows import Array, Index, as_rows
from rarefy.core.linalg.sketch import Sketch
from rarefy.core.linalg.spectrum import decompose, resolve_rank
from rarefy.core.sparsify import Selection
from rarefy.exceptions import DegenerateDataError, ParameterError


@checked_arguments({"rank": [COUNT, SHARE, None], "sketch_size": [COUNT, None], "random_state": ["random_state"]})
def certify(
    X: Any,
    support: Any,
    weights: Any = None,
    y: Any = None,
    *,
    rank: float | None = None,
    sketch_size: int | None = None,
    random_state: Any = None,
) -> Certificate:
    """Say what a subset of features is guaranteed to preserve.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    support : array-like
        The subset: a mask of length n_features, indices, or (for a data frame) column names.
    weights : array-like or None, default=None
        Factor of each kept column, in the order of `support` (for a mask: of the columns); None
        keeps the columns as they are.
    y : array-like of shape (n_samples,) or None, default=None
        Two class labels. With them the hard margin and the enclosing ball are also measured before
        and after selection.
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
    names = getattr(X, "columns", None)
    X = check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
    indices = support_indices(support, X.shape[1], names)
    selection = Selection(indices, _weights(weights, len(indices)))
    rows, sketch = as_rows(X), None
    if sketch_size is not None and sketch_size < X.shape[0]:
        sketch = Sketch(sketch_size, draw_seed(random_state))
        rows = sketch.apply(rows)
    whole = decompose(rows)
    if not whole.rank:
        raise DegenerateDataError("certify got data in which every entry is zero; check how X was read.")
    found = make_certificate(
        measure(whole.leading(resolve_rank(whole.sigma, rank)), selection),
        selection,
        method="given",
        n_requested=len(indices),
        n_features=X.shape[1],
        sketch=sketch,
        columns=names,
    )
    return found if y is None else replace(found, measured=_measured(X, indices, selection.weights, y))


def _measured(X: Any, indices: Index, weights: Array, y: Any) -> dict[str, float]:
    y = column_or_1d(y)
    check_consistent_length(X, y)
    if len(np.unique(y)) != 2:
        raise ParameterError(
            f"certify measures the margin between two classes; y has {len(np.unique(y))}. "
            "Pass one pair of classes, or leave y out."
        )
    kept = X[:, indices]
    XR = kept.multiply(weights).tocsr() if sp.issparse(kept) else kept * weights
    ball, ball_after = minimum_enclosing_ball(X), minimum_enclosing_ball(XR)
    return {
        "squared_margin_before": hard_margin2(X, y),
        "squared_margin_after": hard_margin2(XR, y),
        "squared_radius_before": ball.radius2,
        "squared_radius_after": ball_after.radius2,
    }


def _weights(weights: Any, k: int) -> Array:
    if weights is None:
        return np.ones(k)
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"weights of certify must be numbers; got {weights!r}.") from error
    if weights.shape != (k,):
        raise ParameterError(
            f"weights must have one entry for each of the {k} kept features; got shape {weights.shape}."
        )
    if not np.all(np.isfinite(weights) & (weights > 0)):
        raise ParameterError("weights must be finite and positive; leave a feature out rather than weighting it 0.")
    return weights
