r"""Ridge regression and regularised least squares under a change of the kernel matrix.

K     : (n, n) Gram matrix X X^T
z     : (n,) noiseless responses, y = z + noise of variance s2
alpha : penalty on the squared norm of the coefficients, as in scikit-learn (n lambda in the paper)
E     : I - V^T R R^T V, eps = ||E||
M     : V^T R R^T V
q     : query, q = X^T a + (a part outside the row space)
"""

import numpy as np

from rarefy.core.linalg.rows import Array, Rows
from rarefy.core.linalg.spectrum import Spectrum
from rarefy.core.sparsify import Selection


def fixed_design_risk(K: Array, z: Array, alpha: float, noise_variance: float) -> float:
    """Variance plus squared bias of the predictions at the design points [PaulDrineas2016, Section 4.2]."""
    n = len(K)
    mu, U = np.linalg.eigh(K)
    mu = np.maximum(mu, 0.0)
    variance = noise_variance / n * float(np.sum((mu / (mu + alpha)) ** 2))
    bias2 = alpha**2 / n * float(np.sum(((U.T @ z) / (mu + alpha)) ** 2))
    return variance + bias2


def difference_bound(spec: Spectrum, selection: Selection, y: Array, Q: Rows, alpha: float) -> Array:
    """Bounds on |f~(q) - f(q)|, one for each query; infinite where eps >= 1.

    With eps = ||E|| < 1, q = X^T a + (a part outside the row space) and s = ||q^T (I - V V^T) R R^T V||:

        |f~(q) - f(q)| <= eps / (4 sqrt(1 - eps)) ||a|| ||y||
                          + s min(1 / (2 sqrt(alpha (1 - eps))), 1 / ((1 - eps) sigma_min)) ||y||

    alpha (K + alpha)^-1 U Sigma has norm at most sqrt(alpha)/2 and Sigma U^T (K~ + alpha)^-1 at most
    1 / (2 sqrt(alpha (1 - eps))).
    """
    W, weights2 = spec.V.take(selection.indices), selection.weights[:, None] ** 2
    M = (W * weights2).T @ W
    eps = float(np.abs(np.linalg.eigvalsh(np.eye(len(M)) - M)).max(initial=0.0))
    if eps >= 1.0:
        return np.full(Q.shape[0], np.inf)
    QV = _coordinates(Q, spec)
    outside = (Q.T.take(selection.indices) * weights2).T @ W - QV @ M
    a = np.linalg.norm(QV / spec.sigma, axis=1)
    s = np.linalg.norm(outside, axis=1)
    shrunk = min(0.5 / np.sqrt(alpha * (1.0 - eps)), 1.0 / ((1.0 - eps) * spec.sigma[-1]))
    bound = eps / (4.0 * np.sqrt(1.0 - eps)) * a + s * shrunk
    return np.asarray(bound * np.linalg.norm(y))


def _coordinates(Q: Rows, spec: Spectrum) -> Array:
    """Q V, one block of features at a time."""
    QT = Q.T
    total = np.zeros((Q.shape[0], spec.rank))
    for rows, block in spec.V.features.blocks(spec.V.T):
        total += QT.take(np.arange(rows.start, rows.stop)).T @ block
    return total
