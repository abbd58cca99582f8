"""Kernels by name: scikit-learn's, and three that it does not have.

To add a kernel, write its function in `_functions.py` and add a `Kernel` to `KERNELS`: nothing else has to know of it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import pairwise_kernels

from rarefy.backends.samples import Samples, as_array, is_sparse, pieces
from rarefy.core.linalg.columns import column_deviations
from rarefy.core.linalg.rows import Array, Index, as_rows
from rarefy.exceptions import ParameterError
from rarefy.kernel._functions import histogram_intersection_kernel, spline_kernel, wave_kernel
from rarefy.kernel._gaussian import gaussian_kernel
from rarefy.kernel._units import column_factors, column_variances, scaled

_DIAGONAL = 64
"""Samples of which all kernel values are computed for the sake of the diagonal."""

_POLYNOMIALS = ("poly", "polynomial")
_LARGEST_POWER = 150.0
"""Digits of the largest value of a polynomial kernel: it is squared, and divided by its unit."""

_SHORT = 100
"""Features up to which a product of two rows is fast compared to reading a number from a disk."""


@dataclass(frozen=True)
class Kernel:
    """What the library knows of a kernel function."""

    function: Callable[..., Any]
    """k(X, Y, **parameters); None as Y means X."""
    takes_shape: bool = True
    """Whether it is given `gamma`, `degree` and `coef0`, of which it takes what it knows."""
    takes_sparse: bool = True
    unit_diagonal: bool = False
    """Whether k(x, x) = 1 for all x."""
    nonnegative_input: bool = False
    positive: Callable[[int, Mapping[str, Any]], bool | None] = lambda n_features, parameters: True
    """Whether it is positive semi-definite, by number of features and parameters; None if only its matrix can tell."""


def _from_sklearn(name: str, **known: Any) -> Kernel:
    return Kernel(partial(pairwise_kernels, metric=name, filter_params=True), **known)


def _gaussian(X: Any, Y: Any = None, *, gamma: float | None = None, **others: Any) -> Any:
    """The Gaussian kernel; it takes no other parameter."""
    return gaussian_kernel(X, Y, gamma)


def _polynomial_is_positive(n_features: int, parameters: Mapping[str, Any]) -> bool:
    return bool(parameters["coef0"] >= 0.0 and float(parameters["degree"]).is_integer())


_POLYNOMIAL = _from_sklearn("polynomial", positive=_polynomial_is_positive)
KERNELS = {
    "rbf": Kernel(_gaussian, unit_diagonal=True),
    "poly": _POLYNOMIAL,
    "polynomial": _POLYNOMIAL,
    "sigmoid": _from_sklearn("sigmoid", positive=lambda n_features, parameters: False),
    "laplacian": _from_sklearn("laplacian", unit_diagonal=True),
    "linear": _from_sklearn("linear"),
    "cosine": _from_sklearn("cosine"),
    "chi2": _from_sklearn("chi2", takes_sparse=False, unit_diagonal=True, nonnegative_input=True),
    "additive_chi2": _from_sklearn(
        "additive_chi2", takes_sparse=False, nonnegative_input=True, positive=lambda n_features, parameters: False
    ),
    "histogram_intersection": Kernel(histogram_intersection_kernel, takes_shape=False, takes_sparse=False),
    "spline": Kernel(spline_kernel, takes_shape=False, takes_sparse=False, nonnegative_input=True),
    "wave": Kernel(
        wave_kernel,
        takes_shape=False,
        unit_diagonal=True,
        positive=lambda n_features, parameters: n_features <= 3,
    ),
}
NAMES = (*KERNELS, "precomputed")


def kernel_named(kernel: Any) -> Kernel:
    """What is known of a kernel that is given by name or as a function."""
    if callable(kernel):
        return Kernel(partial(_by_function, kernel), takes_shape=False, positive=lambda n_features, parameters: None)
    if kernel == "precomputed":
        return Kernel(_never, takes_shape=False, positive=lambda n_features, parameters: None)
    return KERNELS[kernel]


def _by_function(function: Any, X: Any, Y: Any = None, **parameters: Any) -> Any:
    """Values by a function of two matrices, as `SVC` takes it, or of two samples, as `pairwise_kernels` does."""
    X, Y = (P.tocsr() if sp.issparse(P) else P for P in (X, X if Y is None else Y))
    if _takes_matrices(function, X, Y, parameters):
        return np.asarray(function(X, Y, **parameters))
    return pairwise_kernels(X, Y, metric=function, **parameters)


def _takes_matrices(function: Any, X: Any, Y: Any, parameters: Mapping[str, Any]) -> bool:
    """Whether two rows and three make six values; a function of two samples fails, or gives something else."""
    if not X.shape[0] or not Y.shape[0]:
        return False
    try:
        values = function(X[[0, 0]], Y[[0, 0, 0]], **parameters)
        return np.shape(values) == (2, 3)
    except Exception:  # whatever a function of samples does with matrices
        return False


def _never(X: Any, Y: Any = None) -> Any:
    raise NotImplementedError("The values of a precomputed kernel are looked up.")


@dataclass(frozen=True)
class BoundKernel:
    """A kernel with its parameters: values between samples, or looked up in a matrix of them.

    What the kernel functions belong to are *places*: rows of a matrix of samples, or, for a precomputed kernel, row
    numbers.
    """

    kernel: Any
    """The name, or a function of two samples."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    factors: Array | None = None
    """What each column of samples and places is multiplied by; None means nothing."""

    @property
    def precomputed(self) -> bool:
        """Whether X holds kernel values and not samples."""
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def places(self, X: Any, index: Any) -> Any:
        """Some of the samples, as places of kernel functions."""
        return np.asarray(index) if self.precomputed else as_array(X[index])

    def __call__(self, X: Any, places: Any = None) -> Any:
        """Kernel values of samples with places; None means the samples themselves."""
        if not self.precomputed:
            X, places = self.scaled(X), None if places is None else self.scaled(places)
            return self._finite(kernel_named(self.kernel).function, X, places)
        block = X[:, places]
        return block.toarray() if sp.issparse(block) else block

    def _finite(self, function: Any, X: Any, places: Any) -> Any:
        """Kernel values; powers of samples that are much larger than those of `fit` may be none."""
        if self.kernel not in _POLYNOMIALS:
            return function(X, places, **self.parameters)
        with np.errstate(over="ignore", invalid="ignore"):
            K = function(X, places, **self.parameters)
        self._check_finite(K, X)
        return K

    def _check_finite(self, K: Any, X: Any) -> None:
        if self.kernel in _POLYNOMIALS and not np.isfinite(K).all():
            raise ParameterError(
                f"kernel={self.kernel!r} has infinite values for samples as large as these: X goes up to "
                f"{as_rows(X).largest_entry():.3g} in the units of the kernel."
            )

    def scaled(self, X: Any) -> Any:
        """Samples in the units in which the kernel compares them."""
        return scaled(X, self.factors)

    def is_cheap(self, X: Any) -> bool:
        """Whether a value is little more than a short product of two rows of X."""
        return self.kernel in ("rbf", "linear", "poly", "polynomial") and not is_sparse(X) and X.shape[1] <= _SHORT

    def fill(self, X: Any, places: Any, out: NDArray[Any]) -> bool:
        """Write kernel values into an array; whether they are as precise as its type, and not rounded before."""
        if isinstance(self.kernel, str) and self.kernel == "rbf" and not sp.issparse(X) and not sp.issparse(places):
            gaussian_kernel(self.scaled(X), self.scaled(places), self.parameters.get("gamma"), out=out)
            return True
        values = self(X, places)
        with np.errstate(over="ignore"):
            out[...] = values
        self._check_finite(out, X)  # in single precision, too
        return np.dtype(values.dtype).itemsize >= out.dtype.itemsize

    def product(self, X: Any, places: Any, M: Any) -> Any:
        """Kernel values of samples with places, times a matrix; sparse values that were looked up stay sparse."""
        return (X[:, places] if self.precomputed else self(X, places)) @ M

    def between(self, X: Any, rows: Any, others: Any) -> Array:
        """Kernel values of some rows of X with others."""
        return np.asarray(self(as_array(X[rows]), self.places(X, others)), dtype=np.float64)

    def diagonal(self, X: Any, index: Index | None = None) -> Array:
        """k(x, x) of some rows of X, or of all."""
        if self.precomputed:
            return np.asarray(X.diagonal(), dtype=np.float64)[slice(None) if index is None else index]
        n = X.shape[0] if index is None else len(index)
        if kernel_named(self.kernel).unit_diagonal:
            return np.ones(n)
        some = X if index is None else X[index]
        if isinstance(some, Samples):
            return some.each(self.diagonal)
        parts = [slice(first, first + _DIAGONAL) for first in range(0, n, _DIAGONAL)]
        return np.concatenate([np.zeros(0), *(np.diagonal(self(some[part])) for part in parts)])

    def is_positive(self, X: Any, index: Index) -> bool:
        """Whether it is positive semi-definite; where only its matrix can tell, among some of the samples."""
        known = kernel_named(self.kernel).positive(X.shape[1], {"degree": 3, "coef0": 1} | dict(self.parameters))
        if known is not None:
            return known
        eigenvalues = np.linalg.eigvalsh(self.between(X, index, index))
        return bool(eigenvalues[0] >= -1e-8 * max(float(eigenvalues[-1]), 0.0))


def resolve_gamma(gamma: Any, X: Any, variances: Array, factors: Array | None = None) -> float | None:
    """The width that a word means, for columns with these variances that are multiplied by these factors.

    "scale" and "auto" as in scikit-learn's SVC: one over the number of features, divided by the variance of X or not;
    "mean_distance": one over the mean squared distance of two samples, which is twice the sum of the variances.
    """
    if not isinstance(gamma, str):
        return None if gamma is None else float(gamma)
    if gamma == "auto":
        return 1.0 / X.shape[1]
    if gamma == "scale":
        if isinstance(X, Samples):
            return _scale_of_blocks(X, factors)
        Z = scaled(X, factors)
        variance = float((Z.multiply(Z)).mean() - Z.mean() ** 2) if sp.issparse(Z) else float(Z.var())
        return 1.0 / (X.shape[1] * variance) if variance > 1e-300 else 1.0
    total = float(variances.sum() if factors is None else variances @ factors**2)
    return 1.0 / (2.0 * total) if 2.0 * total > 1e-300 else 1.0


def _scale_of_blocks(X: Samples, factors: Array | None) -> float:
    """The width "scale" of samples in blocks: the variance of all entries, from means and variances of columns."""
    equal, by = np.full(X.shape[0], 1.0 / X.shape[0]), 1.0 if factors is None else factors
    means, deviations = by * (X.rows().T @ equal), by * column_deviations(X.rows(), equal)[0]
    variance = float(np.mean(deviations**2) + means.var())
    return 1.0 / (X.shape[1] * variance) if variance > 1e-300 else 1.0


def bind_kernel(
    kernel: Any,
    X: Any,
    weights: Array,
    *,
    standardize: Any,
    gamma: Any,
    degree: Any,
    coef0: Any,
    kernel_params: Mapping[str, Any] | None,
) -> BoundKernel:
    """A kernel with its parameters resolved for training data; `kernel_params` win over the others."""
    given = dict(kernel_params or {})
    if isinstance(kernel, str) and kernel == "precomputed":
        return BoundKernel(kernel)
    if callable(kernel) and standardize == "auto":
        standardize = False  # a function of two samples knows what they are
    takes_shape = kernel_named(kernel).takes_shape
    measured = standardize or (takes_shape and gamma == "mean_distance" and "gamma" not in given)
    variances = column_variances(X, weights) if measured else np.zeros(0)
    factors = column_factors(standardize, X, variances)
    if not takes_shape:
        return BoundKernel(kernel, given, factors)
    width = given["gamma"] if "gamma" in given else resolve_gamma(gamma, X, variances, factors)
    shape = {"degree": degree, "coef0": coef0} | ({} if width is None else {"gamma": width})
    if isinstance(kernel, str) and kernel in _POLYNOMIALS:
        _check_powers(X, factors, **shape | given)
    return BoundKernel(kernel, shape | given, factors)


def _check_powers(X: Any, factors: Array | None, degree: float, coef0: float, gamma: float | None = None) -> None:
    """Raise an error if the polynomial kernel of two samples has no value that is a floating point number."""
    lengths = (as_rows(scaled(part, factors)).row_norms() for _, part in pieces(X, X.shape[1]))
    longest = max((float(some.max(initial=0.0)) for some in lengths), default=0.0)
    base = (1.0 / X.shape[1] if gamma is None else float(gamma)) * longest**2 + abs(float(coef0))
    if degree * np.log10(max(base, 1.0)) > _LARGEST_POWER:
        raise ParameterError(
            f"kernel='poly' with degree={degree:g} has values up to {base:.3g} to the power of {degree:g}, which are "
            "too large to compute with. Lower degree, gamma or coef0, or standardise the features."
        )
