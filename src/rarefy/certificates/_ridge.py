"""Ridge risk and differences of predictions, for everyone."""

from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from rarefy._fit import checked_arguments
from rarefy._parameters import NOT_NEGATIVE, POSITIVE
from rarefy.certificates._columns import support_indices
from rarefy.core.certificates.ridge import difference_bound, fixed_design_risk
from rarefy.core.linalg.rows import Array, as_rows
from rarefy.core.linalg.spectrum import decompose
from rarefy.core.sparsify import Selection
from rarefy.exceptions import DegenerateDataError, ParameterError


@checked_arguments({"alpha": [POSITIVE], "noise_variance": [NOT_NEGATIVE]})
def ridge_risk(K: Any, z: Any, *, alpha: float, noise_variance: float = 1.0) -> float:
    r"""Compute the fixed-design risk of ridge regression without intercept [PaulDrineas2016, Section 4.2].

    R(K) = (s2/n) tr(K^2 (K + alpha)^-2) + (alpha^2/n) z^T (K + alpha)^-2 z: variance plus squared bias
    of the predictions at the design points, averaged over them.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Gram matrix X X^T.
    z : array-like of shape (n_samples,)
        Noiseless responses.
    alpha : float
        The penalty, > 0, as in scikit-learn's `Ridge` (the paper's n lambda).
    noise_variance : float, default=1.0
        Variance s2 of the noise, >= 0.

    Returns
    -------
    risk : float
        The risk.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> rarefy.ridge_risk(np.eye(2), [1.0, 1.0], alpha=1.0)
    0.5
    """
    K, z = check_array(K, dtype=np.float64), column_or_1d(check_array(z, ensure_2d=False, dtype=np.float64))
    if K.shape != (len(z), len(z)):
        raise ParameterError(
            f"K of ridge_risk must be a square matrix with one row for each entry of z; got {K.shape} and {z.shape}."
        )
    return fixed_design_risk(K, z, float(alpha), float(noise_variance))


@checked_arguments({"alpha": [POSITIVE]})
def prediction_difference_bound(X: Any, indices: Any, weights: Any, y: Any, queries: Any, *, alpha: float) -> Array:
    r"""Bound |f~(q) - f(q)| for regularised least squares with and without the selection.

    f is ridge without intercept on (X, y), f~ the same on (X R, y), both with penalty alpha. With
    eps = ||E|| < 1, q = X^T a + (a part outside the row space) and s = ||q^T (I - V V^T) R R^T V||,
    measured for the given q::

        |f~(q) - f(q)| <= eps / (4 sqrt(1 - eps)) ||a|| ||y||
                          + s min(1 / (2 sqrt(alpha (1 - eps))), 1 / ((1 - eps) sigma_min)) ||y||

    The first term needs no condition number (the published 2 eps kappa ||a|| ||y|| is at least five
    times larger for eps <= 1/2). The second term measures s, where the published proof assumes
    s <= eps ||beta||, which a deterministic selection does not give.

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
        The penalty, > 0, as in scikit-learn's `Ridge`.

    Returns
    -------
    bound : ndarray of shape (n_queries,)
        Infinite where eps >= 1: nothing is known then.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> X = np.eye(3)
    >>> rarefy.prediction_difference_bound(X, [0, 1, 2], np.ones(3), [1, -1, 1], X, alpha=1.0)
    array([0., 0., 0.])
    """
    accepted: dict[str, Any] = {"accept_sparse": ("csr", "csc"), "dtype": (np.float64, np.float32)}
    X, queries = check_array(X, **accepted), check_array(queries, **accepted)
    y = column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64))
    check_consistent_length(X, y)
    indices = np.asarray(indices)
    if indices.dtype.kind not in "iu":
        raise ParameterError(
            f"indices of prediction_difference_bound must be column numbers; got values of type {indices.dtype}."
        )
    indices = support_indices(indices, X.shape[1], None)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != indices.shape:
        raise ParameterError(f"weights must have one entry for each of {len(indices)} indices; got {weights.shape}.")
    if queries.shape[1] != X.shape[1]:
        raise ParameterError(f"queries must have the {X.shape[1]} columns of X; got {queries.shape[1]}.")
    found = decompose(as_rows(X))
    if not found.rank:
        raise DegenerateDataError("X has no entry that is not zero: there is nothing to predict with.")
    return difference_bound(found.leading(), Selection(indices, weights), y, as_rows(queries), float(alpha))
