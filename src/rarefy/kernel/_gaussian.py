"""The Gaussian kernel as one matrix product and one exponential in place.

With x and y centred and multiplied by sqrt(2 gamma), -gamma ||x - y||^2 = x y^T - ||x||^2 / 2 - ||y||^2 / 2 is the
product of (x, -||x||^2 / 2, 1) and (y, 1, -||y||^2 / 2): no matrix of distances is formed beside that of the values.
"""

import threading
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import check_pairwise_arrays
from sklearn.metrics.pairwise import rbf_kernel as sklearn_rbf_kernel

_REACH = 16.0
"""Largest ||x||^2 / 2 for which exponents are computed in single precision: they are then wrong by about 1e-6."""
_FARTHEST = 1e6
"""Largest ||y||^2 / 2 likewise: its square has to be a number, with digits left."""
Array = NDArray[np.float64]
_KEPT_ENTRIES = 1 << 20
"""Of an array that a thread keeps for further use, at most."""
_kept = threading.local()


def gaussian_kernel(X: Any, Y: Any = None, gamma: float | None = None, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """exp(-gamma ||x - y||^2) of all pairs of samples, in `out` if it is given; its precision is that of the result."""
    if sp.issparse(X) or sp.issparse(Y):
        values = sklearn_rbf_kernel(X, Y, gamma)
        if out is None:
            return np.asarray(values)
        out[...] = values
        return out
    if not _are_ready(X, Y):
        X, Y = check_pairwise_arrays(X, Y, ensure_all_finite=False)  # looking at all numbers takes as long as the rest
    gamma = 1.0 / X.shape[1] if gamma is None else gamma
    if out is None:
        out = np.empty((len(X), len(Y)), dtype=np.result_type(X, Y))
    centre = Y.mean(axis=0, dtype=np.float64)
    left = _lifted(X, centre, gamma, _scratch("left", (len(X), X.shape[1] + 2), np.float64))
    right = _lifted(Y, centre, gamma, np.empty((len(Y), Y.shape[1] + 2)))
    right[:, [-2, -1]] = right[:, [-1, -2]]
    if out.dtype == np.float32:
        return _single(left, right, out)
    return _exponentials(left, right, out)


def _exponentials(left: NDArray[Any], right: NDArray[Any], out: NDArray[Any]) -> NDArray[Any]:
    exponent = np.matmul(left, right.T, out=out) if left.dtype == out.dtype else left @ right.T
    # Rounding can leave the distance of equal samples slightly below zero; looking is faster than writing.
    if exponent.max(initial=-1.0) > 0.0:
        np.minimum(exponent, 0.0, out=exponent)
    if exponent is not out:
        # An exponent e that is rounded to single precision moves exp(e) by at most 6e-8 |e| exp(e) < 3e-8.
        with np.errstate(over="ignore"):  # samples so far apart that the value is zero anyway
            np.copyto(out, exponent, casting="same_kind")
    return np.exp(out, out=out)


def _single(left: Array, right: Array, out: NDArray[Any]) -> NDArray[Any]:
    """Values in single precision; exponents of samples far from the centre are computed in double precision.

    What single precision costs grows with the squared lengths of both samples. If the second alone is long, the two are
    so far apart that the value vanishes faster than the error of its exponent grows.
    """
    far = np.flatnonzero(~(left[:, -2] >= -_REACH))
    if 2 * len(far) > len(left) or right[:, -1].min() < -_FARTHEST:
        return _exponentials(left, right, out)
    near = _scratch("near", left.shape, np.float32)
    np.copyto(near, left, casting="same_kind")
    near[far] = 0.0
    _exponentials(near, right.astype(np.float32), out)
    if len(far):
        out[far] = _exponentials(left[far], right, np.empty((len(far), len(right))))
    return out


def _are_ready(X: Any, Y: Any) -> bool:
    """Whether there is nothing to check or to convert; blocks of a few hundred rows come by the thousand."""
    plain = _is_plain(X) and _is_plain(Y)
    return plain and X.dtype == Y.dtype and X.shape[1] == Y.shape[1] and len(X) > 0 and len(Y) > 0


def _is_plain(Z: Any) -> bool:
    return type(Z) is np.ndarray and Z.ndim == 2 and Z.dtype in (np.float32, np.float64)


def _scratch(name: str, shape: tuple[int, int], dtype: Any) -> NDArray[Any]:
    """An array of this thread that is used again: fresh pages for every block can cost more than the values.

    That is so wherever memory is returned to the system at once, as workers of Dask do.
    """
    size = shape[0] * shape[1]
    if size > _KEPT_ENTRIES:
        return np.empty(shape, dtype=dtype)
    known = getattr(_kept, name, None)
    if known is None or len(known) < size:
        known = np.empty(size, dtype=dtype)
        setattr(_kept, name, known)
    return np.asarray(known[:size]).reshape(shape)


def _lifted(Z: NDArray[Any], centre: Array, gamma: float, lifted: Array) -> Array:
    """Samples centred and scaled, with minus half their squared lengths and ones beside them."""
    d = Z.shape[1]
    np.subtract(Z, centre, out=lifted[:, :d])
    lifted[:, :d] *= np.sqrt(2.0 * gamma)
    np.einsum("ij,ij->i", lifted[:, :d], lifted[:, :d], out=lifted[:, d])
    lifted[:, d] *= -0.5
    lifted[:, d + 1] = 1.0
    return lifted
