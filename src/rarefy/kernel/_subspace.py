"""The leading directions of a kernel's feature space, found from a few landmarks."""

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_consistent_length, check_is_fitted

from rarefy._fit import checked_arguments, fit_method
from rarefy._input import RowMap, RowSource, lazily, lazy_kind
from rarefy._parameters import COUNT, POSITIVE, draw_seed
from rarefy._validation import check_weights
from rarefy._warnings import warn_user
from rarefy.certificates import KernelCertificate
from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.threads import threads_over
from rarefy.core.losses.margins import LOSSES, LossName
from rarefy.exceptions import DegenerateKernelWarning, ParameterError, TruncatedRankWarning
from rarefy.kernel._base import KERNEL_CONSTRAINTS, STANDARDIZE, KernelEstimator
from rarefy.kernel._dimensions import check_target, fewest_dimensions
from rarefy.kernel._extraction import Subspace, extract_subspace
from rarefy.kernel._landmarks import RULES, check_rule
from rarefy.kernel._subspace_certificate import certify_subspace

SUBSPACE_CONSTRAINTS: dict[str, list[Any]] = KERNEL_CONSTRAINTS | {
    "n_components": [COUNT, StrOptions({"auto"}), None],
    "target": [dict, None],
    "n_landmarks": [COUNT, None],
    "landmarks": [StrOptions(set(RULES)), "array-like"],
    "standardize": STANDARDIZE,
    "random_state": ["random_state"],
}


class SubspaceEstimator(KernelEstimator):
    """What estimators share that work in the leading subspace of a kernel's feature space."""

    n_components: int | str | None
    target: dict[str, Any] | None
    n_landmarks: int | None
    landmarks: Any
    standardize: Any
    random_state: Any

    _works_on_blocks = True
    _other_tables = " Or give `landmarks`, row numbers, and a column of X for each of them."

    def _has_columns_for(self, X: Any) -> bool:
        return not isinstance(self.landmarks, str) and X.shape[1] == np.size(self.landmarks)

    _default_target: ClassVar[dict[str, Any]] = {"explained": 0.9}

    def _check_landmarks(self) -> None:
        check_rule(self.landmarks, self.kernel, type(self).__name__)
        if self.n_components == "auto" and self.target is not None:
            check_target(self.target, type(self).__name__)

    def _extract(self, X: Any, y: Any, weights: Array) -> Subspace:
        """The subspace of validated samples, with warnings about what it lacks."""
        rng = np.random.default_rng(draw_seed(self.random_state))
        subspace = extract_subspace(
            X,
            weights,
            self._bind_kernel(X, weights),
            n_components=self.n_components,
            n_landmarks=self.n_landmarks,
            landmarks=self.landmarks,
            rng=rng,
            owner=type(self).__name__,
        )
        self._warn_of(subspace)
        if self.n_components == "auto":
            target = self._default_target if self.target is None else self.target
            return fewest_dimensions(subspace, X, y, weights, target, rng, type(self).__name__)
        return subspace

    def _warn_of(self, subspace: Subspace) -> None:
        owner, kept = type(self).__name__, subspace.n_components
        if not subspace.is_semidefinite:
            warn_user(
                f"the kernel matrix of {owner}'s landmarks is not positive semi-definite: it has an eigenvalue below "
                f"-1e-6 times the largest, {subspace.eigenvalues[0]:.3g}. The subspace is that of the positive "
                "eigenvalues, whose kernel differs from the one given.",
                TruncatedRankWarning,
            )
        if subspace.resembles is not None:
            change = {"the identity": "smaller", "a constant": "larger"}[subspace.resembles]
            advice = f"Use a {change} gamma, or gamma='mean_distance', which adapts to the data."
            if "gamma" not in subspace.kernel.parameters:
                advice = "Centre and scale the columns, or use another kernel."
            warn_user(
                f"the kernel matrix of {owner}'s landmarks is numerically {subspace.resembles}: it says nothing about "
                f"which samples are alike. {advice}",
                DegenerateKernelWarning,
            )
        if kept < subspace.n_requested and isinstance(self.n_components, Integral):
            warn_user(
                f"{owner} keeps {kept} of {subspace.n_requested} components: the other eigenvalues of the landmarks' "
                "kernel matrix are at or below the rounding error of the largest.",
                TruncatedRankWarning,
            )


class KernelSubspace(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SubspaceEstimator):
    """Compute coordinates of samples in the leading subspace of a kernel's feature space.

    The kernel functions of L samples, the landmarks, span a subspace; the S leading eigenvectors of their kernel
    matrix give an orthonormal basis of the part of it that matters most. The coordinates of any sample are computed
    from its L kernel values with the landmarks. Inner products of coordinates approximate the kernel (the Nyström
    method, truncated to rank S).

    Parameters
    ----------
    n_components : int, "auto" or None, default=None
        Dimension S of the subspace; None means a tenth of the number of samples, but at least 100 and at most 400, or
        the number of landmarks if that is smaller; "auto" the fewest dimensions that keep `target`.
    target : dict or None, default=None
        With "auto", what the dimensions are to keep, measured on at most 1000 samples: `{"explained": share}` of the
        trace of the kernel matrix, or `{"objective": share, "C": 1.0, "loss": "squared_hinge"}`, a share of the
        objective of the best kernel model that is proved for these samples (as `certify` does for all; C multiplies
        the losses summed over all samples; needs y). None means 0.9 of the trace.
    n_landmarks : int or None, default=None
        Number L of landmarks; None means 1000 or five times `n_components`, whichever is more, or all samples if they
        are fewer. Not used when `landmarks` is an array.
    landmarks : {"random", "kmeans", "leverage", "cholesky"} or array-like of int, default="random"
        How the landmarks are chosen:

        - "random": at random, in proportion to the sample weights;
        - "kmeans": centres of clusters, which are no samples;
        - "leverage": at random, with probabilities that grow with what a sample adds to the subspace (ridge leverage
          scores, estimated from a first random choice);
        - "cholesky": one by one the sample that those before represent worst (pivoted Cholesky factorisation);
        - an array: the samples with these row numbers.
    standardize : bool or "auto", default="auto"
        Whether columns are divided by their standard deviations before the kernel compares samples. "auto" does so if
        otherwise few columns, those with the largest units, would decide (fewer than 40 % of the columns, by the ratio
        of the squared sum of variances to the sum of their squares), and never for sparse input or a kernel that is a
        function.
    kernel : str or callable, default="rbf"
        "rbf", "poly" or "polynomial", "sigmoid", "laplacian", "linear", "cosine", "chi2", "additive_chi2",
        "histogram_intersection", "spline", "wave", "precomputed", or a function: of two samples, that returns a number,
        or of two matrices, that returns all values.
    gamma : float, {"mean_distance", "scale", "auto"} or None, default="mean_distance"
        Width parameter of the kernels "rbf", "poly", "sigmoid", "laplacian" and "chi2". "mean_distance" is one over the
        mean squared distance of two training samples, "auto" one over the number of features, "scale" divides this by
        the variance of X. None is the default of `sklearn.metrics.pairwise`: one over the number of features, and 1 for
        "chi2".
    degree : float, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1
        Constant term of the kernels "poly" and "sigmoid".
    kernel_params : dict or None, default=None
        Further parameters of the kernel; they take precedence over `gamma`, `degree` and `coef0`.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of landmarks.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components_,)
        Leading eigenvalues of the landmarks' kernel matrix, largest first.
    n_components_ : int
        Dimension of the subspace; smaller than asked for when the kernel matrix has no more dimensions.
    landmark_indices_ : ndarray of shape (n_landmarks_used,) or None
        Row numbers of the landmarks; None for centres of clusters.
    landmarks_ : {ndarray, sparse matrix} of shape (n_landmarks_used, n_features_in_) or None
        The landmarks; None for a precomputed kernel.
    map_ : ndarray of shape (n_landmarks_used, n_components_)
        Matrix that turns kernel values with the landmarks into coordinates.
    gamma_ : float or None
        The width parameter in use; None if the kernel has none or uses its default.
    scale_ : ndarray of shape (n_features_in_,) or None
        What the columns are divided by before the kernel compares samples; None if they stay as they are.
    energy_kept_ : float
        Share of the trace of the landmarks' kernel matrix that is in the subspace.
    kernel_ : BoundKernel
        The kernel with its parameters, as `transform` evaluates it.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    SubspaceLPSVC : A classifier in such a subspace.
    sklearn.kernel_approximation.Nystroem : All dimensions that random landmarks span.

    References
    ----------
    [YajimaOhiMori2003] Y. Yajima, H. Ohi and M. Mori: Extracting feature subspace for kernel based linear programming
    support vector machines (2003).

    [WilliamsSeeger2001] C. K. I. Williams and M. Seeger: Using the Nyström method to speed up kernel machines, Advances
    in Neural Information Processing Systems 13 (2001).

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.kernel import KernelSubspace
    >>> X = np.random.default_rng(0).standard_normal((200, 3))
    >>> subspace = KernelSubspace(20, n_landmarks=100, gamma=0.1, random_state=0).fit(X)
    >>> subspace.transform(X).shape
    (200, 20)
    >>> round(subspace.energy_kept_, 3)
    0.999
    """

    _parameter_constraints = SUBSPACE_CONSTRAINTS

    def __init__(
        self,
        n_components: int | str | None = None,
        *,
        target: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        landmarks: Any = "random",
        standardize: bool | str = "auto",
        kernel: Any = "rbf",
        gamma: float | str | None = "mean_distance",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.target = target
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.standardize = standardize
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose the landmarks and find the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix, or the kernel values with the samples
            whose row numbers are in `landmarks`, one column for each.
        y : array-like of shape (n_samples,) or None, default=None
            Labels or responses, for a `target` that is an objective; ignored otherwise.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each sample counts: in the probability to be chosen, or, when all samples are landmarks, in the
            kernel matrix. Samples of weight zero are never chosen.

        Returns
        -------
        self : object
            The fitted transformer.

        Raises
        ------
        ParameterError
            If a parameter is out of its range, or the kernel is not symmetric.
        DegenerateDataError
            If the kernel matrix has no positive eigenvalue.
        """
        self._check_landmarks()
        X = self._validate_training(X)
        weights = check_weights(sample_weight, X, type(self).__name__)
        if y is not None and self.n_components == "auto":
            check_consistent_length(X, y)
        with threads_over(X.shape[0] * min(X.shape[0], 1000)):
            return self._store(self._extract(X, y, weights))

    def _store(self, subspace: Subspace) -> Self:
        chosen, kernel = subspace.landmarks, subspace.kernel
        self.eigenvalues_, self.n_components_ = subspace.eigenvalues, subspace.n_components
        self.landmark_indices_ = chosen.indices
        self.landmarks_ = None if kernel.precomputed else chosen.places
        self.map_, self.energy_kept_ = subspace.map, subspace.energy
        self.kernel_, self.gamma_ = kernel, kernel.parameters.get("gamma")
        self.scale_ = None if kernel.factors is None else 1.0 / kernel.factors
        self._subspace = subspace
        return self

    def transform(self, X: Any) -> Any:
        """Compute coordinates in the subspace.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with the samples that had columns in `fit`.

        Returns
        -------
        D : ndarray of shape (n_samples, n_components_)
            The coordinates; for samples in blocks, blocks that are computed when they are looped over or written.
        """
        check_is_fitted(self)
        made = self._subspace.coordinates
        lazy = lazily(self, X, made, self.map_.dtype, self.n_components_)
        if lazy is not None:
            return lazy
        source, X = X, self._validate_new(X, self.kernel_.kernel)
        if isinstance(source, RowSource):
            names = tuple(str(name) for name in self.get_feature_names_out())
            return source.mapped(RowMap(self.n_components_, made, single=self.map_.dtype == np.float32), names)
        with threads_over(X.shape[0] * len(self.map_)):
            return self._subspace.coordinates(X)

    @checked_arguments({"loss": [StrOptions(set(LOSSES))], "C": [POSITIVE], "alpha": [POSITIVE, None]})
    def certify(
        self, X: Any, y: Any = None, *, loss: LossName = "squared_hinge", C: float = 1.0, alpha: float | None = None
    ) -> KernelCertificate:
        """Say what the subspace keeps of the kernel, and with labels of a model that is not restricted to it.

        A subspace loses directions, so that nothing is certified for all labels at once. Without labels the certificate
        says how much of the kernel matrix the subspace explains. With labels it proves which share of the objective of
        the best kernel model a model in the subspace keeps: whether more dimensions would pay.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, the square matrix that was given to `fit`. Up to 2000 samples a model
            with the whole kernel is trained. Of more, no square matrix is held: a bound on what such a model could
            reach comes from the one in the subspace, and is not as tight.
        y : array-like of shape (n_samples,) or None, default=None
            Class labels, or responses for the squared loss.
        loss : {"hinge", "squared_hinge", "logistic", "squared"}, default="squared_hinge"
            The loss of the objective 1/2 ||f||^2 + C times the sum of losses, with a free intercept. Of several classes
            the objectives of one-against-rest models are added.
        C : float, default=1.0
            What multiplies the losses, > 0. Used with `y` only.
        alpha : float or None, default=None
            Penalty of kernel ridge regression, > 0, in place of `loss` and `C`. Without `y`, for up to 2000 samples.

        Returns
        -------
        certificate : KernelCertificate
            What is guaranteed. Its `verify` takes the kernel matrix and that of the coordinates.

        See Also
        --------
        rarefy.certify_kernels : The same for any two kernel matrices.

        Examples
        --------
        >>> import numpy as np
        >>> from rarefy.kernel import KernelSubspace
        >>> X = np.random.default_rng(0).standard_normal((200, 3))
        >>> subspace = KernelSubspace(40, gamma=0.1, random_state=0).fit(X)
        >>> subspace.certify(X).explained > 0.99
        True
        >>> subspace.certify(X, X[:, 0] * X[:, 1] > 0).verdict
        'strong'
        """
        check_is_fitted(self)
        if isinstance(X, RowSource) or lazy_kind(X) is not None:
            raise ParameterError(
                f"certify of {type(self).__name__} compares kernel values of all pairs of samples and does not work on "
                "blocks. Pass some of the samples as an array."
            )
        X = self._validate_new(X, self.kernel_.kernel)
        with threads_over(X.shape[0] ** 2):
            return certify_subspace(self._subspace, X, y, loss, float(C), alpha, f"certify of {type(self).__name__}")

    @property
    def _n_features_out(self) -> int:
        """Number of columns of the output, for their names."""
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
