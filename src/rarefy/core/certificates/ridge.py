r"""Ridge regression and regularised least squares under a change of the kernel matrix.

K     : (n, n) Gram matrix X X^T
z     : (n,) noiseless responses, y = z + noise of variance s2
alpha : penalty on the squared norm of the coefficients, as in scikit-learn (n lambda in the paper)
E     : I - V^T R R^T V, eps = ||E||
M     : V^T R R^T V
q     : query point, q = X^T a + (a part outside the row space)
"""

import numpy as np

from rarefy.core.linalg.rows import Array, Index, Rows, as_rows
from rarefy.core.linalg.spectrum import Spectrum, spectrum


def ridge_risk(K: Array, z: Array, *, alpha: float, noise_variance: float = 1.0) -> float:
    r"""Fixed-design risk of ridge regression without intercept [PaulDrineas2016, Section 4.2].

    R(K) = (s2/n) tr(K^2 (K + alpha)^-2) + (alpha^2/n) z^T (K + alpha)^-2 z: variance plus squared bias
    of the predictions at the design points, averaged over them.

    Parameters
    ----------
    K : (n, n) array
        Gram matrix X X^T.
    z : (n,) array
        Noiseless responses.
    alpha : float, > 0
        The penalty, as in scikit-learn's `Ridge` (the paper's n lambda).
    noise_variance : float, >= 0
        Variance s2 of the noise.
    """
    K, z = np.asarray(K, dtype=np.float64), np.asarray(z, dtype=np.float64)
    if K.ndim != 2 or K.shape != (len(z), len(z)):
        raise ValueError(f"K must be a square matrix with one row for each entry of z; got {K.shape} and {z.shape}.")
    _check_alpha(alpha)
    if not 0.0 <= noise_variance < np.inf:
        raise ValueError(f"noise_variance must be finite and not negative; got {noise_variance}.")
    n = len(K)
    mu, U = np.linalg.eigh(K)
    mu = np.maximum(mu, 0.0)
    variance = noise_variance / n * float(np.sum((mu / (mu + alpha)) ** 2))
    bias2 = alpha**2 / n * float(np.sum(((U.T @ z) / (mu + alpha)) ** 2))
    return variance + bias2


def prediction_difference_bound(
    X: object, indices: Index, weights: Array, y: Array, queries: object, *, alpha: float
) -> Array:
    r"""Bound |f~(q) - f(q)| for regularised least squares with and without the selection.

    f is ridge without intercept on (X, y), f~ the same on (X R, y), both with penalty alpha. With
    eps = ||E|| < 1, q = X^T a + (a part outside the row space) and s = ||q^T (I - V V^T) R R^T V||,
    measured for the given q::

        |f~(q) - f(q)| <= eps / (4 sqrt(1 - eps)) ||a|| ||y||
                          + s min(1 / (2 sqrt(alpha (1 - eps))), 1 / ((1 - eps) sigma_min)) ||y||

    The first term needs no condition number (the published 2 eps kappa ||a|| ||y|| is at least five
    times larger for eps <= 1/2): alpha (K + alpha)^-1 U Sigma has norm at most sqrt(alpha)/2 and
    Sigma U^T (K~ + alpha)^-1 at most 1 / (2 sqrt(alpha (1 - eps))). The second term measures s, where
    the published proof assumes s <= eps ||beta||, which a deterministic selection does not give.

    Parameters
    ----------
    X : (n, d) array, sparse matrix or Rows
        Training points.
    indices, weights : arrays of shape (k,)
        The selected features and the diagonal of D (`selected_` and `weights_` of a selector).
    y : (n,) array
        Training responses (labels -1 and 1 for classification).
    queries : (m, d) array or sparse matrix
        Where predictions are compared.
    alpha : float, > 0
        The penalty, as in scikit-learn's `Ridge`.

    Returns
    -------
    bound : (m,) array
        Infinite where eps >= 1: nothing is known then.
    """
    _check_alpha(alpha)
    data, Q, y = as_rows(X), as_rows(queries), np.asarray(y, dtype=np.float64)
    indices, weights = _checked_selection(indices, np.asarray(weights, dtype=np.float64), data.shape[1])
    if y.shape != (data.shape[0],):
        raise ValueError(f"y must have one response for each of the {data.shape[0]} rows of X; got shape {y.shape}.")
    if Q.shape[1] != data.shape[1]:
        raise ValueError(f"queries must have the {data.shape[1]} columns of X; got {Q.shape[1]}.")
    spec = spectrum(data)
    if spec.rank == 0:
        raise ValueError("X has no entry that is not zero: there is nothing to predict with.")
    W = spec.V.take(indices)
    M = (W * weights[:, None] ** 2).T @ W
    eps = float(np.abs(np.linalg.eigvalsh(np.eye(len(M)) - M)).max(initial=0.0))
    if eps >= 1.0:
        return np.full(Q.shape[0], np.inf)
    QV = _coordinates(Q, spec)
    outside = (Q.T.take(indices) * weights[:, None] ** 2).T @ W - QV @ M
    a = np.linalg.norm(QV / spec.sigma, axis=1)
    s = np.linalg.norm(outside, axis=1)
    shrunk = min(0.5 / np.sqrt(alpha * (1.0 - eps)), 1.0 / ((1.0 - eps) * spec.sigma[-1]))
    bound = eps / (4.0 * np.sqrt(1.0 - eps)) * a + s * shrunk
    return np.asarray(bound * np.linalg.norm(y))


def _checked_selection(indices: Index, weights: Array, d: int) -> tuple[Index, Array]:
    indices = np.asarray(indices)
    if indices.dtype == bool or indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise ValueError(f"indices must be a list of column numbers; got {indices.dtype} of shape {indices.shape}.")
    if len(indices) and not 0 <= indices.min() <= indices.max() < d:
        raise ValueError(f"indices must lie in [0, {d}); got {indices.min()} to {indices.max()}.")
    if weights.shape != indices.shape:
        raise ValueError(f"weights must have one entry for each of {len(indices)} indices; got shape {weights.shape}.")
    return indices.astype(np.intp), weights


def _check_alpha(alpha: float) -> None:
    if not 0.0 < alpha < np.inf:
        raise ValueError(f"alpha, the ridge penalty, must be positive and finite; got {alpha}.")


def _coordinates(Q: Rows, spec: Spectrum) -> Array:
    """Q V, one block of features at a time."""
    QT = Q.T
    total = np.zeros((Q.shape[0], spec.rank))
    for rows, block in spec.V.features.blocks(spec.V.T):
        total += QT.take(np.arange(rows.start, rows.stop)).T @ block
    return total
