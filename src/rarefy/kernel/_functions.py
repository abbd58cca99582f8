"""Kernel functions that scikit-learn does not have."""

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from rarefy._fit import checked_arguments
from rarefy._parameters import POSITIVE
from rarefy._validation import check_array
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import ParameterError

_BLOCK_ENTRIES = 1 << 22
"""Entries of the temporary arrays of one block of samples."""


def _in_blocks(X: Any, Y: Any, coordinate: Any, start: float, combine: Any) -> Array:
    """Combine one matrix for each coordinate, without an array of all samples by all samples by all coordinates."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    K = np.full((len(X), len(Y)), start)
    step = max(1, _BLOCK_ENTRIES // max(1, len(Y)))
    for first in range(0, len(X), step):
        part = slice(first, first + step)
        for u, v in zip(X[part].T, Y.T, strict=True):
            combine(K[part], coordinate(u[:, None], v[None, :]), out=K[part])
    return K


@checked_arguments({"power": [POSITIVE]})
def histogram_intersection_kernel(X: Any, Y: Any = None, power: float = 1.0) -> Array:
    """Compute sums over coordinates of min(|u|^power, |v|^power), for counts and histograms.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features)
        Samples.
    Y : array-like of shape (n_samples_Y, n_features) or None, default=None
        Other samples; None means X.
    power : float, default=1.0
        Exponent of the absolute values.

    Returns
    -------
    K : ndarray of shape (n_samples_X, n_samples_Y)
        The kernel matrix, positive semi-definite for Y = X.

    Examples
    --------
    >>> from rarefy.kernel import histogram_intersection_kernel
    >>> histogram_intersection_kernel([[1, 2, 0]], [[2, 1, 5], [0, 4, 0]])
    array([[2., 2.]])
    """
    X, Y = _checked(X, Y)
    with np.errstate(over="ignore"):
        X, Y = np.abs(X) ** power, np.abs(Y) ** power
    if not (np.isfinite(X).all() and np.isfinite(Y).all()):
        raise ParameterError(f"power={power:g} makes values that are too large to compute with; lower it.")
    return _in_blocks(X, Y, np.minimum, 0.0, np.add)


@checked_arguments({})
def spline_kernel(X: Any, Y: Any = None) -> Array:
    """Compute the kernel of linear splines with infinitely many knots, for coordinates >= 0.

    It is a product over coordinates. The factor of one coordinate is
    1 + uv + uv min(u, v) - (u + v)/2 min(u, v)^2 + min(u, v)^3 / 3.

    Parameters
    ----------
    X : array-like of shape (n_samples_X, n_features)
        Samples with coordinates >= 0.
    Y : array-like of shape (n_samples_Y, n_features) or None, default=None
        Other samples; None means X.

    Returns
    -------
    K : ndarray of shape (n_samples_X, n_samples_Y)
        The kernel matrix, positive semi-definite for Y = X.

    Examples
    --------
    >>> from rarefy.kernel import spline_kernel
    >>> spline_kernel([[0.0, 1.0]], [[1.0, 1.0]]).round(4)
    array([[2.3333]])
    """
    X, Y = _checked(X, Y)
    for samples in (X, Y):
        if samples.min(initial=0.0) < 0.0:
            raise ParameterError(
                f"spline_kernel is positive semi-definite for coordinates >= 0 only; got {samples.min():.3g}. "
                "Shift the features, for example with sklearn.preprocessing.MinMaxScaler."
            )

    def factor(u: Array, v: Array) -> Array:
        least = np.minimum(u, v)
        return 1.0 + u * v * (1.0 + least) - 0.5 * (u + v) * least**2 + least**3 / 3.0

    return _in_blocks(X, Y, factor, 1.0, np.multiply)


@checked_arguments({"theta": [POSITIVE]})
def wave_kernel(X: Any, Y: Any = None, theta: float = 1.0) -> Array:
    """Compute sin(r / theta) / (r / theta) of distances r; positive semi-definite in up to three dimensions.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples_X, n_features)
        Samples.
    Y : {array-like, sparse matrix} of shape (n_samples_Y, n_features) or None, default=None
        Other samples; None means X.
    theta : float, default=1.0
        Length scale.

    Returns
    -------
    K : ndarray of shape (n_samples_X, n_samples_Y)
        The kernel matrix.

    Examples
    --------
    >>> from rarefy.kernel import wave_kernel
    >>> wave_kernel([[0.0]], [[0.0], [1.0]]).round(4)
    array([[1.    , 0.8415]])
    """
    X, Y = _checked(X, Y, accept_sparse="csr")
    return np.asarray(np.sinc(euclidean_distances(X, Y) / (np.pi * theta)))


def _checked(X: Any, Y: Any, **options: Any) -> tuple[Any, Any]:
    """Samples, and others or the same again, with as many features."""
    X = check_array(X, "X", dtype=np.float64, ensure_min_samples=0, **options)
    Y = X if Y is None else check_array(Y, "Y", dtype=np.float64, ensure_min_samples=0, **options)
    if X.shape[1] != Y.shape[1]:
        raise ParameterError(f"Y must have the {X.shape[1]} features of X; it has {Y.shape[1]}.")
    return X, Y
