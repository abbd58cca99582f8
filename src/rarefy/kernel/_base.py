"""What all estimators with a `kernel` share: which input they take, and which parameters the kernel has."""

from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rarefy._estimator import Estimator
from rarefy._input import RowSource, as_source, validated
from rarefy._parameters import ANY_REAL, POSITIVE
from rarefy._validation import validate_data
from rarefy.backends.samples import Samples
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import ParameterError
from rarefy.kernel._kernels import NAMES, BoundKernel, bind_kernel, kernel_named

STANDARDIZE: list[Any] = [StrOptions({"auto"}), "boolean"]
KERNEL_CONSTRAINTS: dict[str, list[Any]] = {
    "kernel": [StrOptions(set(NAMES)), callable],
    "gamma": [StrOptions({"scale", "auto", "mean_distance"}), POSITIVE, None],
    "degree": [POSITIVE],
    "coef0": [ANY_REAL],
    "kernel_params": [dict, None],
}


class KernelEstimator(Estimator):
    """Input as its kernel allows it: sparse or not, samples or a square matrix of kernel values."""

    _guide = "kernel_lp"

    kernel: Any
    gamma: Any
    degree: Any
    coef0: Any
    kernel_params: Any
    standardize: Any = False

    def _validate_training(self, X: Any, *y: Any) -> Any:
        """What `fit` gets: X, or X and y."""
        X = as_source(X)
        if isinstance(X, RowSource):
            return self._validate_blocks(X, *y)
        found = validate_data(self, X, *y, **self._accepted())
        X = found[0] if y else found
        if self._is_precomputed and X.shape[0] != X.shape[1] and not self._has_columns_for(X):
            raise ParameterError(
                f"{type(self).__name__} with kernel='precomputed' needs the square matrix of kernel values between all "
                f"samples; X has shape {X.shape}.{self._other_tables}"
            )
        return found

    def _validate_blocks(self, X: RowSource, *y: Any, kernel: Any = None, reset: bool = True) -> Any:
        """The same for samples in blocks."""
        owner, kernel = type(self).__name__, self.kernel if kernel is None else kernel
        if isinstance(kernel, str) and kernel == "precomputed":
            raise ParameterError(
                f"{owner} with kernel='precomputed' needs the kernel matrix as an array; got data in blocks. Pass the "
                "samples in blocks and name a kernel: its values are computed block by block."
            )
        found = validated(self, X, *y, reset=reset)
        rows = found[0] if y else found
        if rows.sparse and not kernel_named(kernel).takes_sparse:
            raise ParameterError(f"{owner} with kernel={kernel!r} needs dense samples; got blocks of CSR matrices.")
        samples = Samples(rows, X.columns)
        return (samples, found[1]) if y else samples

    _other_tables = ""

    def _has_columns_for(self, X: Any) -> bool:
        """Whether a matrix of kernel values that is not square is enough."""
        return False

    def _validate_new(self, X: Any, kernel: Any = None) -> Any:
        """Samples after `fit`; with a precomputed kernel, their values with all samples seen in it.

        `kernel` is the one that was fitted, which `set_params` does not change.
        """
        X = as_source(X)
        if isinstance(X, RowSource):
            return self._validate_blocks(X, kernel=kernel, reset=False)
        return validate_data(self, X, reset=False, **self._accepted(kernel))

    def _accepted(self, kernel: Any = None) -> dict[str, Any]:
        sparse = "csr" if kernel_named(self.kernel if kernel is None else kernel).takes_sparse else False
        return {"accept_sparse": sparse, "dtype": (np.float64, np.float32)}

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def _bind_kernel(self, X: Any, weights: Array) -> BoundKernel:
        """The kernel with its parameters resolved for the training data."""
        if self._is_precomputed and self.standardize is True:
            raise ParameterError(
                f"standardize=True of {type(self).__name__} needs samples, not a precomputed kernel. Standardise the "
                "columns before the kernel values are computed, or use standardize=False."
            )
        return bind_kernel(
            self.kernel,
            X,
            weights,
            standardize=self.standardize,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            kernel_params=self.kernel_params,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        known = callable(self.kernel) or self.kernel in NAMES
        tags.input_tags.sparse = known and kernel_named(self.kernel).takes_sparse
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.positive_only = known and kernel_named(self.kernel).nonnegative_input
        return tags
