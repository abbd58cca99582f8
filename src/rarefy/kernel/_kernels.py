"""Kernels by name: scikit-learn's, and three that it does not have."""

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances, pairwise_kernels

from rarefy.exceptions import ParameterError

_BLOCK_ENTRIES = 1 << 22
"""Entries of the temporary arrays of one block of points."""


def _in_blocks(X, Y, coordinate, start, combine):
    """Combine one matrix for each coordinate, without an array of all points by all points by all coordinates."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    K = np.full((len(X), len(Y)), start)
    step = max(1, _BLOCK_ENTRIES // max(1, len(Y)))
    for first in range(0, len(X), step):
        part = slice(first, first + step)
        for u, v in zip(X[part].T, Y.T, strict=True):
            combine(K[part], coordinate(u[:, None], v[None, :]), out=K[part])
    return K


def histogram_intersection_kernel(X, Y=None, power=1.0):
    """Sum over coordinates of min(|u|^power, |v|^power), for counts and histograms.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points.
    Y : array-like of shape (m, d) or None
        Other points; None means X.
    power : float
        Exponent of the absolute values.

    Returns
    -------
    K : ndarray of shape (n, m)
        The kernel matrix, positive semi-definite for Y = X.

    Examples
    --------
    >>> from rarefy.kernel import histogram_intersection_kernel
    >>> histogram_intersection_kernel([[1, 2, 0]], [[2, 1, 5], [0, 4, 0]])
    array([[2., 2.]])
    """
    X = np.abs(np.asarray(X, dtype=np.float64)) ** power
    Y = X if Y is None else np.abs(np.asarray(Y, dtype=np.float64)) ** power
    return _in_blocks(X, Y, np.minimum, 0.0, np.add)


def spline_kernel(X, Y=None):
    """Linear splines with infinitely many knots, for coordinates >= 0; a product over the coordinates.

    The factor of one coordinate is 1 + uv + uv min(u, v) - (u + v)/2 min(u, v)^2 + min(u, v)^3 / 3.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Points with coordinates >= 0.
    Y : array-like of shape (m, d) or None
        Other points; None means X.

    Returns
    -------
    K : ndarray of shape (n, m)
        The kernel matrix, positive semi-definite for Y = X.

    Examples
    --------
    >>> from rarefy.kernel import spline_kernel
    >>> spline_kernel([[0.0, 1.0]], [[1.0, 1.0]]).round(4)
    array([[2.3333]])
    """
    X = np.asarray(X, dtype=np.float64)
    Y = X if Y is None else np.asarray(Y, dtype=np.float64)
    for points in (X, Y):
        if points.min(initial=0.0) < 0.0:
            raise ParameterError(
                f"spline_kernel is positive semi-definite for coordinates >= 0 only; got {points.min():.3g}. "
                "Shift the features, for example with sklearn.preprocessing.MinMaxScaler."
            )

    def factor(u, v):
        least = np.minimum(u, v)
        return 1.0 + u * v * (1.0 + least) - 0.5 * (u + v) * least**2 + least**3 / 3.0

    return _in_blocks(X, Y, factor, 1.0, np.multiply)


def wave_kernel(X, Y=None, theta=1.0):
    """sin(r / theta) / (r / theta) of the distance r; positive semi-definite in up to three dimensions.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n, d)
        Points.
    Y : {array-like, sparse matrix} of shape (m, d) or None
        Other points; None means X.
    theta : float
        Length scale.

    Returns
    -------
    K : ndarray of shape (n, m)
        The kernel matrix.

    Examples
    --------
    >>> from rarefy.kernel import wave_kernel
    >>> wave_kernel([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.8415]])
    """
    return np.sinc(euclidean_distances(X, Y) / (np.pi * theta))


_OURS = {
    "histogram_intersection": histogram_intersection_kernel,
    "spline": spline_kernel,
    "wave": wave_kernel,
}
_SKLEARN = ("rbf", "poly", "polynomial", "sigmoid", "laplacian", "linear", "cosine", "chi2", "additive_chi2")
_ALLOW_SPARSE = ("rbf", "poly", "polynomial", "sigmoid", "laplacian", "linear", "cosine", "wave", "precomputed")
NAMES = (*_SKLEARN, *_OURS, "precomputed")


def check_kernel(kernel, owner):
    """Say what may be given when the name is unknown."""
    if callable(kernel) or kernel in NAMES:
        return
    raise ParameterError(f"kernel of {owner} must be a callable or one of {', '.join(NAMES)}; got {kernel!r}.")


def takes_sparse(kernel):
    """Whether the kernel can be evaluated on sparse points; of a callable we cannot know, and let it try."""
    return callable(kernel) or kernel in _ALLOW_SPARSE


def evaluate(X, Y, kernel, *, gamma=None, degree=3, coef0=1, kernel_params=None):
    """The kernel matrix of two sets of points; None as Y means X."""
    given = dict(kernel_params or {})
    if callable(kernel):
        X, Y = (P.tocsr() if sp.issparse(P) else P for P in (X, X if Y is None else Y))
        return pairwise_kernels(X, Y, metric=kernel, **given)
    if kernel in _OURS:
        return _OURS[kernel](X, Y, **given)
    params = {"degree": degree, "coef0": coef0} | ({} if gamma is None else {"gamma": gamma}) | given
    return pairwise_kernels(X, Y, metric=kernel, filter_params=True, **params)


def is_positive(kernel, n_features, *, degree=3, coef0=1):
    """Whether a kernel is known to be positive semi-definite for all points; None of what only its matrix can tell."""
    if callable(kernel) or kernel == "precomputed":
        return None
    if kernel in ("poly", "polynomial"):
        return coef0 >= 0.0 and float(degree).is_integer()
    if kernel == "wave":
        return n_features <= 3
    return kernel not in ("sigmoid", "additive_chi2")
