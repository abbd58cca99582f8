"""The leading directions of a kernel's feature space, found from a sample of the points."""

import warnings
from numbers import Integral

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from rarefy._parameters import draw_seed, optional_count
from rarefy.core.linalg.landmarks import ridge_leverage
from rarefy.exceptions import DegenerateDataError, ParameterError, TruncatedRankWarning
from rarefy.kernel._base import KernelEstimator
from rarefy.kernel._kernels import check_kernel, evaluate

_BLOCK_ENTRIES = 1 << 23
"""Entries of a block of kernel values while coordinates are computed: 64 MB."""
_SAMPLINGS = ("uniform", "kmeans", "leverage")


class KernelSubspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):
    """Coordinates of points in the leading subspace of a kernel's feature space.

    A sample of L points spans a subspace; the S leading eigenvectors of its Gram matrix are an
    orthonormal basis of the part of it that matters. The coordinates of any point need its L kernel
    values with the sample. Inner products of coordinates approximate the kernel (Nystroem's method, cut
    to rank S).

    Parameters
    ----------
    n_components : int or None, default=None
        Dimension S of the subspace; None means 100, or the size of the sample if that is smaller.
    n_samples : int or None, default=None
        Size L of the sample; None means 1000 or ten times `n_components`, whichever is more, or all points.
    kernel : str or callable, default="rbf"
        "rbf", "polynomial", "sigmoid", "laplacian", "linear", "cosine", "chi2", "histogram_intersection",
        "spline", "wave", "precomputed", or a function of two points.
    gamma : float, "mean_distance" or None, default=None
        Width of the kernel as in `sklearn.metrics.pairwise`, where None is one over the number of features (1 for
        "chi2"); "mean_distance" is one over the mean squared distance of two training points.
    degree, coef0 : float
        Parameters of the kernel as in `sklearn.metrics.pairwise`.
    kernel_params : dict or None, default=None
        Further parameters of the kernel.
    sampling : {"uniform", "kmeans", "leverage"} or array of indices, default="uniform"
        How the sample is chosen: at random; as centres of clusters; at random with probabilities that
        grow with what a point adds to the subspace (ridge leverage scores, estimated from a first
        uniform sample); or these points.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Leading eigenvalues of the sample's Gram matrix, largest first.
    n_components_ : int
        Dimension of the subspace; smaller than asked for when the kernel matrix has no more dimensions.
    sample_indices_ : ndarray of shape (n_samples_,) or None
        The sampled points; None for centres of clusters.
    basis_ : {ndarray, sparse matrix} of shape (n_samples_, n_features)
        The sample itself; None for a precomputed kernel.
    map_ : ndarray of shape (n_samples_, n_components_)
        What kernel values are multiplied with to give coordinates.
    gamma_ : float or None
        The width.
    energy_kept_ : float
        Share of the trace of the sample's Gram matrix that is in the subspace.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    SubspaceLPSVC : A classifier in such a subspace.

    References
    ----------
    [YajimaOhiMori2003]

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.kernel import KernelSubspace
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> subspace = KernelSubspace(20, n_samples=100, gamma=0.1, random_state=0).fit(X)
    >>> subspace.transform(X).shape
    (200, 20)
    >>> round(subspace.energy_kept_, 3)
    0.999
    """

    def __init__(
        self,
        n_components=None,
        *,
        n_samples=None,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        sampling="uniform",
        random_state=None,
    ):
        self.n_components = n_components
        self.n_samples = n_samples
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.sampling = sampling
        self.random_state = random_state

    @property
    def _owner(self):
        """Whose parameters they are, for error messages: an estimator may work through this one."""
        return getattr(self, "_on_behalf_of", type(self).__name__)

    def fit(self, X, y=None, sample_weight=None):
        """Choose the sample and find the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The points; with a precomputed kernel, the square kernel matrix.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None
            How often each point counts: in the chance to be sampled, or, when all points are taken, in
            the Gram matrix.

        Returns
        -------
        self : object
            The fitted transformer.
        """
        self._check_parameters()
        X = self._seen(X)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        self.gamma_ = self._resolved_gamma(X, weights)
        rng = np.random.default_rng(draw_seed(self.random_state))
        size, S = self._sizes(X.shape[0], int(np.count_nonzero(weights)))
        indices, basis = self._sample(X, size, S, rng, weights)
        if self.kernel == "precomputed":
            K = X[indices][:, indices]
            K = K.toarray() if sp.issparse(K) else K
        else:
            K = self._kernel(basis, None)
        K, root = np.asarray(K, dtype=np.float64), np.ones(len(K))
        if indices is not None and np.array_equal(np.sort(indices), np.flatnonzero(weights)):
            root = np.sqrt(weights[indices])
            K = K * root[:, None] * root
        eigenvalues, vectors = _leading(K, S, self._owner, self.n_components is not None)
        vectors = vectors * np.where(root @ vectors < 0.0, -1.0, 1.0)  # the mean coordinate is >= 0
        self.eigenvalues_, self.n_components_ = eigenvalues, len(eigenvalues)
        self.sample_indices_ = indices
        self.basis_ = None if self.kernel == "precomputed" else basis
        self.map_ = (root[:, None] * vectors / np.sqrt(eigenvalues)).astype(X.dtype, copy=False)
        trace = float(np.trace(K))
        self.energy_kept_ = min(1.0, float(eigenvalues.sum()) / trace) if trace > 0.0 else 1.0
        self._n_features_out = self.n_components_
        return self

    def transform(self, X):
        """Coordinates in the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; with a precomputed kernel, their kernel values with all points seen in `fit`.

        Returns
        -------
        D : ndarray of shape (n_samples, n_components_)
            The coordinates.
        """
        check_is_fitted(self)
        return self._coordinates(self._new(X))

    def _coordinates(self, X):
        D = np.empty((X.shape[0], self.n_components_), dtype=self.map_.dtype)
        self._write(X, D)
        return D

    def _write(self, X, D):
        """Fill the first columns of D with the coordinates of X, block by block."""
        step = max(1, _BLOCK_ENTRIES // max(1, len(self.map_)))
        for first in range(0, X.shape[0], step):
            part = slice(first, min(first + step, X.shape[0]))
            known = self.kernel == "precomputed"
            K = X[part][:, self.sample_indices_] if known else self._kernel(X[part], self.basis_)
            D[part, : self.n_components_] = K @ self.map_

    def _kernel(self, X, Y):
        return evaluate(
            X, Y, self.kernel, gamma=self.gamma_, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params
        )

    def _check_parameters(self):
        owner = self._owner
        check_kernel(self.kernel, owner)
        self._check_gamma()
        optional_count("n_components", self.n_components, owner)
        optional_count("n_samples", self.n_samples, owner)
        if self.sampling not in _SAMPLINGS if isinstance(self.sampling, str) else np.ndim(self.sampling) != 1:
            words = ", ".join(repr(word) for word in _SAMPLINGS)
            raise ParameterError(
                f"sampling of {owner} must be one of {words} or an array of row numbers; got {self.sampling!r}."
            )
        if self.kernel == "precomputed" and isinstance(self.sampling, str) and self.sampling == "kmeans":
            raise ParameterError(
                f"sampling='kmeans' of {owner} needs points, not a precomputed kernel: centres of clusters are not "
                "rows of the matrix. Use 'uniform' or 'leverage'."
            )

    def _sizes(self, n, n_used):
        """L and S, with their defaults, for n points of which some count."""
        owner = self._owner
        if not isinstance(self.sampling, str):
            size = len(self.sampling)
        elif self.n_samples is None:
            size = min(n_used, max(1000, 10 * (self.n_components or 0)))
        elif self.n_samples > n:
            raise ParameterError(
                f"n_samples of {owner} is {self.n_samples}, but X has only {n} rows to sample from. "
                f"Give at most {n}, or None."
            )
        else:
            size = min(self.n_samples, n_used)
        S = min(100, size) if self.n_components is None else self.n_components
        if size < S:
            raise ParameterError(
                f"n_components of {owner} is {S}, but {size} sampled points span at most {size} dimensions. "
                "Raise n_samples or lower n_components."
            )
        return size, S

    def _sample(self, X, size, S, rng, weights):
        """Indices of the sample (None for centres of clusters) and its points."""
        some = size < np.count_nonzero(weights)
        if not isinstance(self.sampling, str):
            indices = self._given(X.shape[0])
        elif not some:
            indices = np.flatnonzero(weights)
        elif self.sampling == "kmeans":
            seed = int(rng.integers(2**31))
            centres = KMeans(size, n_init=1, random_state=seed).fit(X, sample_weight=weights).cluster_centers_
            return None, centres.astype(X.dtype, copy=False)
        else:
            chances = weights * self._leverage(X, size, S, rng, weights) if self.sampling == "leverage" else weights
            indices = np.sort(rng.choice(X.shape[0], size, replace=False, p=chances / chances.sum()))
        return indices, X[indices]

    def _given(self, n):
        indices = np.asarray(self.sampling)
        owner = self._owner
        whole = indices.ndim == 1 and len(indices) and all(isinstance(i, Integral) for i in indices.tolist())
        if not whole or indices.min() < 0 or indices.max() >= n or len(np.unique(indices)) < len(indices):
            raise ParameterError(
                f"sampling of {owner}, when it is an array, must hold distinct row numbers from 0 to {n - 1}; "
                f"got {self.sampling!r}."
            )
        return indices

    def _leverage(self, X, size, S, rng, weights):
        """Estimates of ridge leverage scores, as a first uniform sample tells them."""
        first = np.sort(rng.choice(X.shape[0], size, replace=False, p=weights / weights.sum()))
        pilot = KernelSubspace(**(self.get_params() | {"n_components": S, "sampling": first, "gamma": self.gamma_}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TruncatedRankWarning)
            pilot.fit(X)
        D = np.asarray(pilot.transform(X), dtype=np.float64)
        return ridge_leverage(D, self._diagonal(X), weights, S)

    def _diagonal(self, X):
        if self.kernel == "precomputed":
            return np.asarray(X.diagonal(), dtype=np.float64)
        if self.kernel in ("rbf", "laplacian", "wave", "chi2"):
            return np.ones(X.shape[0])
        parts = [slice(i, i + 64) for i in range(0, X.shape[0], 64)]
        return np.concatenate([np.diagonal(self._kernel(X[part], None)) for part in parts]).astype(np.float64)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _leading(K, S, owner, asked):
    """The S largest eigenvalues, largest first, and their vectors; those at the noise floor are dropped."""
    size = len(K)
    if not np.allclose(K, K.T, rtol=1e-5, atol=1e-8 * float(np.abs(K).max(initial=0.0))):
        raise ParameterError(f"the kernel of {owner} is not symmetric: k(x, y) differs from k(y, x).")
    eigenvalues, vectors = sl.eigh(K, subset_by_index=[size - S, size - 1])
    if len(eigenvalues) < S:  # the method for some of them can lose members of a cluster
        eigenvalues, vectors = sl.eigh(K, driver="evd")
    eigenvalues, vectors = eigenvalues[::-1][:S], vectors[:, ::-1][:, :S]
    floor = size * np.finfo(np.float64).eps * max(float(eigenvalues[0]), 0.0) * 10.0
    kept = int(np.sum(eigenvalues > floor))
    if kept == 0:
        raise DegenerateDataError(
            f"{owner} found no positive eigenvalue in the kernel matrix of the sample: there is no subspace. "
            "Check the kernel and its parameters."
        )
    if not _nearly_definite(K, 1e-6 * float(eigenvalues[0])):
        warnings.warn(
            f"the kernel matrix of {owner}'s sample is not positive semi-definite: it has an eigenvalue below -1e-6 "
            f"times the largest, {eigenvalues[0]:.3g}. The subspace is that of the positive eigenvalues, whose kernel "
            "differs from the one given.",
            TruncatedRankWarning,
            stacklevel=3,
        )
    if kept < S and asked:
        warnings.warn(
            f"{owner} keeps {kept} of {S} components: the other eigenvalues of the sample's kernel matrix are "
            "at or below the rounding error of the largest.",
            TruncatedRankWarning,
            stacklevel=3,
        )
    return eigenvalues[:kept], vectors[:, :kept]


def _nearly_definite(K, tolerance):
    """Whether no eigenvalue is below -tolerance: then a Cholesky factorisation succeeds."""
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += tolerance
    try:
        sl.cholesky(shifted, overwrite_a=True, check_finite=False)
    except sl.LinAlgError:
        return False
    return True
