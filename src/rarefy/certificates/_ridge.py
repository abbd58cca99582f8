"""Ridge risk and differences of predictions, for everyone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from rarefy._fit import checked_arguments
from rarefy._parameters import NOT_NEGATIVE, POSITIVE
from rarefy._validation import check_array
from rarefy.certificates._columns import support_indices
from rarefy.core.certificates.ridge import PredictionChange, fixed_design_risk, prediction_change
from rarefy.core.linalg.rows import Array, as_rows
from rarefy.core.linalg.spectrum import decompose
from rarefy.core.sparsify import Selection
from rarefy.exceptions import DegenerateDataError, ParameterError


@checked_arguments({"alpha": [POSITIVE], "noise_variance": [NOT_NEGATIVE]})
def ridge_risk(K: Any, z: Any, *, alpha: float, noise_variance: float = 1.0) -> float | Array:
    r"""Compute the fixed-design risk of ridge regression without intercept [PaulDrineas2016, Section 4.2].

    R(K) = (s2/n) tr(K^2 (K + alpha)^-2) + (alpha^2/n) z^T (K + alpha)^-2 z: variance plus squared bias
    of the predictions at the design points, averaged over them.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Gram matrix X X^T.
    z : array-like of shape (n_samples,) or (n_samples, n_signals)
        Noiseless responses, one signal or one a column.
    alpha : float
        The penalty, > 0, as in scikit-learn's `Ridge` (the paper's n lambda).
    noise_variance : float, default=1.0
        Variance s2 of the noise, >= 0.

    Returns
    -------
    risk : float or ndarray of shape (n_signals,)
        The risk; one for each column if z has columns.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> rarefy.ridge_risk(np.eye(2), [1.0, 1.0], alpha=1.0)
    0.5
    >>> rarefy.ridge_risk(np.eye(2), [[1.0, 0.0], [1.0, 0.0]], alpha=1.0)
    array([0.5 , 0.25])
    """
    K, z = check_array(K, "K", dtype=np.float64), check_array(z, "z", ensure_2d=False, dtype=np.float64)
    if K.shape != (len(z), len(z)):
        raise ParameterError(
            f"K of ridge_risk must be a square matrix with one row for each entry of z; got {K.shape} and {z.shape}."
        )
    risks = fixed_design_risk(K, z.reshape(len(z), -1), float(alpha), float(noise_variance))
    return risks if z.ndim == 2 else float(risks[0])


@checked_arguments({"alpha": [NOT_NEGATIVE]})
def prediction_difference_bound(X: Any, indices: Any, weights: Any, y: Any, queries: Any, *, alpha: float) -> Array:
    r"""Bound |f~(q) - f(q)| for regularised least squares with and without the selection.

    f is ridge without intercept on (X, y), f~ the same on (X R, y), both with penalty alpha. The bound follows from
    lo and hi, the extreme eigenvalues of (K + alpha)^-1/2 (K~ + alpha) (K + alpha)^-1/2, and from the kept model. For
    any two vectors, with |.| the norm of (K~ + alpha)^-1::

        s^T (K + alpha)^-1 r = (lo + hi)/2 s^T (K~ + alpha)^-1 r  +-  (hi - lo)/2 |s| |r|

    and f(q) is known up to such a product of the residuals r and s that approximate dual coefficients of y and of the
    query leave in the problem with all columns. Those of the kept model serve, and for the query also its coefficients
    in the rows of X. So the model with all columns is never fitted; what is used of all columns is one product with
    K for y and for each query, lo and hi. Rounding is included. Without a penalty the two models agree for queries in
    the row space if no direction of X is lost.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    indices, weights : array-like of shape (n_selected,)
        The selected features and their weights (`indices` and `weights` of a certificate).
    y : array-like of shape (n_samples,)
        Training responses (labels -1 and 1 for classification).
    queries : {array-like, sparse matrix} of shape (n_queries, n_features)
        Where predictions are compared.
    alpha : float
        The penalty, as in scikit-learn's `Ridge`; 0 means the solution of least norm.

    Returns
    -------
    bound : ndarray of shape (n_queries,)
        Infinite for alpha = 0 if the selection loses a direction of X: nothing is known then.

    See Also
    --------
    certified_signs : Where the sign of the prediction is certain not to change.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> X = np.eye(3)
    >>> rarefy.prediction_difference_bound(X, [0, 1, 2], np.ones(3), [1, -1, 1], X, alpha=1.0).round(12)
    array([0., 0., 0.])
    """
    return _change("prediction_difference_bound", X, indices, weights, y, queries, alpha).bound


@checked_arguments({"alpha": [NOT_NEGATIVE]})
def certified_signs(X: Any, indices: Any, weights: Any, y: Any, queries: Any, *, alpha: float) -> NDArray[np.bool_]:
    r"""Find the queries where regularised least squares certainly predicts the same class with the selection.

    The sign of f(q), with all columns, is certified to be that of f~(q), with the kept ones, where zero is outside the
    interval for f(q) that the quantities of `prediction_difference_bound` give. The number of certified signs is the
    sum of what is returned.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Training samples.
    indices, weights : array-like of shape (n_selected,)
        The selected features and their weights (`indices` and `weights` of a certificate).
    y : array-like of shape (n_samples,)
        Training labels, -1 and 1.
    queries : {array-like, sparse matrix} of shape (n_queries, n_features)
        Where predictions are compared.
    alpha : float
        The penalty, as in scikit-learn's `Ridge`; 0 means the solution of least norm.

    Returns
    -------
    certified : ndarray of bool of shape (n_queries,)
        False means that nothing is known, not that the signs differ.

    See Also
    --------
    prediction_difference_bound : How far the two predictions can be apart.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.certificates._ridge import certified_signs
    >>> X = np.eye(3)
    >>> certified_signs(X, [0, 1], np.ones(2), [1, -1, 1], X, alpha=1.0)
    array([ True,  True, False])
    """
    return _change("certified_signs", X, indices, weights, y, queries, alpha).same_sign


def _change(caller: str, X: Any, indices: Any, weights: Any, y: Any, queries: Any, alpha: float) -> PredictionChange:
    """Check what was given and enclose the differences."""
    accepted: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32)}
    X, queries = check_array(X, **accepted), check_array(queries, "queries", **accepted)
    y = column_or_1d(check_array(y, "y", ensure_2d=False, dtype=np.float64))
    check_consistent_length(X, y)
    indices = np.asarray(indices)
    if indices.dtype.kind not in "iu":
        raise ParameterError(f"indices of {caller} must be column numbers; got values of type {indices.dtype}.")
    indices = support_indices(indices, X.shape[1], None)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != indices.shape:
        raise ParameterError(f"weights must have one entry for each of {len(indices)} indices; got {weights.shape}.")
    if queries.shape[1] != X.shape[1]:
        raise ParameterError(f"queries must have the {X.shape[1]} columns of X; got {queries.shape[1]}.")
    rows = as_rows(X)
    spec = decompose(rows).leading()
    if not spec.rank:
        raise DegenerateDataError("X has no entry that is not zero: there is nothing to predict with.")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # what overflows is a bound of infinity
        return prediction_change(rows, Selection(indices, weights), y, as_rows(queries), float(alpha), spec)
