"""What selected and weighted features keep of the kernel with all of them."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rarefy._fit import checked_arguments
from rarefy._input import RowSource, lazy_kind
from rarefy._parameters import POSITIVE
from rarefy._validation import validate_data
from rarefy.certificates import KernelCertificate, certify_kernels
from rarefy.core.feature_weights.kernel import FeatureKernel, Profile
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import ParameterError
from rarefy.kernel._feature_samples import to_dense

LARGEST = 3000
"""Samples of which kernel matrices are made and decomposed."""


class CertifiedFeatureWeights:
    """Certificates for estimators with a weight on every feature inside a kernel."""

    C: float
    feature_weights_: Array
    mean_: Array
    scale_: Array
    _profile: Profile

    @checked_arguments({"C": [POSITIVE, None], "alpha": [POSITIVE, None]})
    def certify(
        self, X: Any, y: Any = None, *, C: float | None = None, alpha: float | None = None
    ) -> KernelCertificate:
        """Say what the learned weights keep of the kernel in which all features have weight one.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples, at most 3000: their kernel matrices are decomposed. With ``standardize=True`` both
            kernels are those of standardised features.
        y : array-like of shape (n_samples,) or None, default=None
            Class labels; with them the share of the SVM's objective (hinge loss) that is kept is proved, of several
            classes that of the sum over one-against-rest models. With `alpha`, labels or responses of kernel ridge
            regression.
        C : float or None, default=None
            Factor on the losses, > 0; None takes that of the estimator. Used with `y` only.
        alpha : float or None, default=None
            Penalty of kernel ridge regression, > 0: what is guaranteed for that penalty is stated, in place of the SVM.

        Returns
        -------
        certificate : KernelCertificate
            What is guaranteed. Its `verify` takes the two kernel matrices.

        Raises
        ------
        ParameterError
            If there are more samples than that, or C and alpha are both given.

        See Also
        --------
        rarefy.certify_kernels : The same for any two kernel matrices.

        Examples
        --------
        >>> import numpy as np
        >>> from rarefy.kernel import KernelFeatureSelector
        >>> X = np.random.default_rng(0).standard_normal((120, 8))
        >>> y = X[:, 2] * X[:, 5] > 0
        >>> model = KernelFeatureSelector(C=1.0, mu=1.0).fit(X, y)
        >>> model.certify(X, y).verdict
        'strong'
        """
        check_is_fitted(self, "feature_weights_")
        if isinstance(X, RowSource) or lazy_kind(X) is not None:
            raise ParameterError(
                f"certify of {type(self).__name__} compares kernel values of all pairs of samples and does not work on "
                "blocks. Pass some of the samples as an array."
            )
        X = to_dense(validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32)))
        owner = type(self).__name__
        if len(X) > LARGEST:
            raise ParameterError(
                f"certify of {owner} decomposes kernel matrices of up to {LARGEST} samples; X has {len(X)}. "
                "Pass some of them."
            )
        X, weights = (X - self.mean_) / self.scale_, self.feature_weights_
        kernel = FeatureKernel(X, X, self._profile)
        K, K_kept = kernel.matrix(np.ones(len(weights))), kernel.matrix(weights)
        if C is None and y is not None and alpha is None:
            C = float(self.C)
        return certify_kernels(K, K_kept, y, C=C, alpha=alpha)
