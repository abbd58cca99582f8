r"""Ridge regression and regularised least squares under a change of the kernel matrix.

K     : (n, n) Gram matrix X X^T
z     : (n,) noiseless responses, y = z + noise of variance s2
lam   : ridge parameter
E     : I - V^T R R^T V, eps = ||E||
M     : V^T R R^T V
q     : query point, q = X^T alpha + (a part outside the row space)
"""

import numpy as np

from rarefy.core.rows import Array, Index, Rows, as_rows
from rarefy.core.spectrum import Spectrum, spectrum


def ridge_risk(K: Array, z: Array, *, lam: float, noise_variance: float = 1.0) -> float:
    r"""Fixed-design risk of kernel ridge regression [PaulDrineas2016, Section 4.2].

    R(K) = (s2/n) tr(K^2 (K + n lam)^-2) + n lam^2 z^T (K + n lam)^-2 z: variance plus squared bias of
    the predictions at the design points, averaged over them.
    """
    n = len(K)
    mu, U = np.linalg.eigh(K)
    shrink = 1.0 / (np.maximum(mu, 0.0) + n * lam)
    variance = noise_variance / n * float(np.sum((np.maximum(mu, 0.0) * shrink) ** 2))
    bias2 = n * lam**2 * float(np.sum(((U.T @ z) * shrink) ** 2))
    return variance + bias2


def prediction_difference_bound(
    X: object, indices: Index, weights: Array, y: Array, queries: object, *, lam: float
) -> Array:
    r"""Bound |f~(q) - f(q)| for regularised least squares with and without the selection.

    f is ridge without intercept on (X, y), f~ the same on (X R, y), both with penalty lam > 0 on
    the squared norm of the coefficients. With eps = ||E|| < 1 and s = ||q^T (I - V V^T) R R^T V||,
    measured for the given q,

        |f~(q) - f(q)| <= eps / (4 sqrt(1 - eps)) ||alpha|| ||y||
                          + s min(1 / (2 sqrt(lam (1 - eps))), 1 / ((1 - eps) sigma_min)) ||y||.

    The first term needs no condition number (the published 2 eps kappa ||alpha|| ||y|| is at least
    five times larger for eps <= 1/2): lam (K + lam)^-1 U Sigma has norm at most sqrt(lam)/2 and
    Sigma U^T (K~ + lam)^-1 at most 1 / (2 sqrt(lam (1 - eps))). The second term measures s, where the
    published proof assumes s <= eps ||beta||, which a deterministic selection does not give.

    Parameters
    ----------
    X : (n, d) array, sparse matrix or Rows
        Training points.
    indices, weights : arrays of shape (k,)
        The selected features and the diagonal of D.
    y : (n,) array
        Training responses (labels -1 and 1 for classification).
    queries : (m, d) array or sparse matrix
        Where predictions are compared.
    lam : float, > 0
        Ridge parameter.

    Returns
    -------
    bound : (m,) array
        Infinite where eps >= 1: nothing is known then.
    """
    X_rows, Q = as_rows(X), as_rows(queries)
    spec = spectrum(X_rows)
    W = spec.V.take(indices)
    M = (W * weights[:, None] ** 2).T @ W
    eps = float(np.abs(np.linalg.eigvalsh(np.eye(len(M)) - M)).max(initial=0.0))
    if eps >= 1.0:
        return np.full(Q.shape[0], np.inf)
    QV = _coordinates(Q, spec)
    outside = (Q.T.take(indices) * weights[:, None] ** 2).T @ W - QV @ M
    alpha = np.linalg.norm(QV / spec.sigma, axis=1)
    s = np.linalg.norm(outside, axis=1)
    shrunk = min(0.5 / np.sqrt(lam * (1.0 - eps)), 1.0 / ((1.0 - eps) * spec.sigma[-1]))
    bound = eps / (4.0 * np.sqrt(1.0 - eps)) * alpha + s * shrunk
    return np.asarray(bound * np.linalg.norm(y))


def _coordinates(Q: Rows, spec: Spectrum) -> Array:
    """Q V, one block of features at a time."""
    QT = Q.T
    total = np.zeros((Q.shape[0], spec.rank))
    for rows, block in spec.V.features.blocks(spec.V.T):
        total += QT.take(np.arange(rows.start, rows.stop)).T @ block
    return total
