"""What all estimators with a `kernel` share: which input they take."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import validate_data

from rarefy._parameters import check_number
from rarefy.exceptions import ParameterError
from rarefy.kernel._kernels import takes_sparse


class KernelEstimator(BaseEstimator):
    """Input as its kernel allows it: sparse or not, points or a square matrix of kernel values."""

    @property
    def _owner(self):
        """The name that errors speak of."""
        return type(self).__name__

    def _seen(self, X, *y):
        """What `fit` gets: X, or X and y."""
        found = validate_data(self, X, *y, **self._accepted())
        X = found[0] if y else found
        if self.kernel == "precomputed" and X.shape[0] != X.shape[1]:
            raise ParameterError(
                f"{self._owner} with kernel='precomputed' needs the square matrix of kernel values between all points; "
                f"X has shape {X.shape}."
            )
        return found

    def _new(self, X):
        """Points after `fit`; with a precomputed kernel, their values with all points seen in it."""
        return validate_data(self, X, reset=False, **self._accepted())

    def _accepted(self):
        return {"accept_sparse": "csr" if takes_sparse(self.kernel) else False, "dtype": (np.float64, np.float32)}

    def _check_gamma(self):
        if self.gamma is None or (isinstance(self.gamma, str) and self.gamma == "mean_distance"):
            return
        if isinstance(self.gamma, str):
            raise ParameterError(
                f"gamma of {self._owner} must be a number > 0, 'mean_distance' or None; got {self.gamma!r}."
            )
        check_number("gamma", self.gamma, self._owner, strictly=True)

    def _resolved_gamma(self, X, weights):
        """1 over the mean squared distance of two points, which is twice the sum of the variances."""
        if "gamma" in (self.kernel_params or {}):
            return self.kernel_params["gamma"]
        if not isinstance(self.gamma, str):
            return self.gamma
        if self.kernel == "precomputed":
            return None
        if sp.issparse(X):
            variance = float(mean_variance_axis(X, axis=0, weights=weights.astype(X.dtype))[1].sum())
        else:  # from centred values: squares of large values would lose the digits of small differences
            centred = X - weights @ X / weights.sum()
            variance = float(np.einsum("i,ij,ij->", weights, centred, centred) / weights.sum())
        spread = 2.0 * variance
        return 1.0 / spread if spread > 1e-300 else 1.0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.kernel)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in ("chi2", "additive_chi2", "spline")
        return tags
