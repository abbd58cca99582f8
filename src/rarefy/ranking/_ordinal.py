"""Ranking ordered levels with kernel functions of all but the most frequent one."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from rarefy._fit import fit_method
from rarefy._input import labelled
from rarefy._validation import check_labels, check_weights
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import DegenerateDataError
from rarefy.metrics import mauc_score
from rarefy.ranking._base import KernelRanker
from rarefy.ranking._decisions import decide_levels
from rarefy.ranking._problem import TrainingData
from rarefy.ranking._solve import Ranking


class OrdinalRankRC(KernelRanker):
    """Rank ordered levels, with few kernel functions.

    The loss is that of :class:`RankRC` over all pairs of samples of different levels; quality is measured by the share
    of such pairs in the right order (:func:`rarefy.metrics.mauc_score`).

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Weight of the penalty (the authors' lambda), > 0. "auto" means 2 over the number of samples, at most 0.001.
    basis : {"auto", "rare", "all", "random"}, int or array of row numbers, default="auto"
        Samples whose kernel functions are used. "rare": all levels but the most frequent one; "auto": these (at most
        300, drawn at random) and as many landmarks of the most frequent level, at least 100; "all" samples; "random":
        as many as for "rare", drawn at random; a number of them, those of "rare" first and the others by `landmarks`;
        or the given rows.
    landmarks : {"random", "greedy", "kmeans", "cholesky", "leverage"}, default="random"
        How the samples of a `basis` that is "auto" or a number are chosen. "random": with equal chances; "greedy": one
        by one, of any class, those that lower the loss most, some exchanged again; "kmeans": centres of clusters;
        "cholesky": one by one the sample that is represented worst by those before; "leverage": at random, with chances
        that grow with what a sample adds (ridge leverage scores).
    standardize : bool or "auto", default="auto"
        Whether columns are divided by their standard deviations before the kernel compares samples. "auto" does so if
        otherwise few columns, those with the largest units, would decide, as in :class:`~rarefy.kernel.KernelSubspace`.
    kernel : str or callable, default="rbf"
        "rbf", "poly" (or "polynomial"), "linear", "cosine", "laplacian", "sigmoid", "chi2", "additive_chi2",
        "histogram_intersection", "spline", "wave", "precomputed", or a function of two samples.
    gamma : float, {"mean_distance", "scale", "auto"} or None, default="mean_distance"
        Width of the kernel, for those that have one. "mean_distance" is 1 over the mean squared distance of two
        training samples, "scale" and "auto" are as in scikit-learn's SVC, None is the kernel function's own default.
    degree : float, default=3
        Degree of the polynomial kernel.
    coef0 : float, default=1
        Constant of the polynomial and the sigmoid kernel.
    kernel_params : dict or None, default=None
        Further parameters of the kernel function; they override the others.
    loss : {"smoothed_hinge", "logistic"} or loss object, default="smoothed_hinge"
        The loss of a pair. "smoothed_hinge" is ``SmoothedHinge(eps=0.5)``, a hinge whose corner is rounded over a
        length of 2 eps; "logistic" is ``Logistic()``.
    emphasis : dict or None, default=None
        What counts more than the rest, within each level and the samples above it. ``{"push": p}`` with p > 1: samples
        of the lower level count the more the higher they stand. ``{"false_positive_range": b}`` with b < 1: only this
        share of the lower level counts, from the highest score down. ``{"false_positive_weight": w}``: samples of the
        lower level count by w(t), where t is the share of the level that stands higher; w takes an array and must not
        increase. Several may be given.
    penalty : {"l2", "l1"}, default="l2"
        Squared norm of the function, or sum of the absolute coefficients, which leaves fewer kernel functions.
    solver : {"trust-region", "stochastic"}, default="trust-region"
        The second passes over the most frequent level in blocks, and holds the kernel values of one block only; the
        block size is a setting of :func:`rarefy.set_config`. `tol` does not apply to it, and `emphasis`, of which it
        takes the push and the range only, is taken within each block.
    tol : float, default=1e-7
        Accepted remaining decrease of the objective, relative to its value.
    max_iter : int or None, default=None
        Steps of the trust region method (None means 100; ten times as many cutting planes are allowed and fifty times
        as many steps with ``penalty="l1"``), or passes of the stochastic solver (None means 5).
    random_state : int, RandomState instance or None, default=None
        Seed of what is random: the basis and the blocks.

    Attributes
    ----------
    levels_ : ndarray of shape (n_levels,)
        The levels in ascending order.
    cuts_ : ndarray of shape (n_levels - 1,)
        Scores between which `predict` sees one level: they give the frequencies of the training data.
    basis_ : ndarray of shape (n_basis,) or None
        Row numbers of the training samples with a kernel function; None if centres of clusters are among them.
    basis_points_ : array of shape (n_basis, n_features)
        The samples of the basis; with a precomputed kernel, their row numbers.
    dual_coef_ : ndarray of shape (1, n_basis)
        Coefficients of the kernel functions.
    alpha_ : float
        Weight of the penalty that was used.
    kernel_ : object
        The kernel with the parameters that were used.
    gamma_ : float or None
        Width of the kernel; None if it has none.
    objective_ : float
        Value reached.
    n_iter_ : int
        Iterations, or blocks.
    storage_ : str
        Where the kernel values were kept: "float64", "float32", "on disk", "recomputed" or "blocks".
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    RankRC : Two classes, with a threshold and a bound.
    rarefy.metrics.mauc_score : The share of pairs in the right order.

    References
    ----------
    [Tayal2014] Tayal, Effective and efficient optimization methods for kernel based classification problems, PhD
    thesis, University of Waterloo, 2014, chapter 6.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import OrdinalRankRC
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice([0, 1, 2], 400, p=[0.85, 0.1, 0.05])
    >>> X = rng.standard_normal((400, 2)) + 1.5 * y[:, None]
    >>> model = OrdinalRankRC(0.01, random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), len(model.basis_) == int(np.sum(y > 0)) + 100
    (True, True)
    """

    def __init__(
        self,
        alpha: Any = "auto",
        *,
        basis: Any = "auto",
        landmarks: str = "random",
        standardize: bool | str = "auto",
        kernel: Any = "rbf",
        gamma: Any = "mean_distance",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        loss: Any = "smoothed_hinge",
        emphasis: dict[str, Any] | None = None,
        penalty: str = "l2",
        solver: str = "trust-region",
        tol: float = 1e-7,
        max_iter: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.basis = basis
        self.landmarks = landmarks
        self.standardize = standardize
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.loss = loss
        self.emphasis = emphasis
        self.penalty = penalty
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn to rank.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Levels that can be sorted; larger is higher.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; a pair counts with the product of its two. None means 1.

        Returns
        -------
        self : object
            The fitted ranker.

        Raises
        ------
        ParameterError
            If a parameter is out of range, or the kernel is not symmetric or not finite.
        DegenerateDataError
            If the samples with a positive weight are all of one level.
        """
        return self._fit_with(X, y, sample_weight)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute scores, larger for higher levels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores.
        """
        return self._scores(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict levels, by cutting the ranking where the frequencies of the training data are met.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Levels.
        """
        return labelled(self._scores(X), self._labels, self.levels_.dtype)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the share of the pairs of different levels that are in the right order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.
        y : array-like of shape (n_samples,)
            Their levels.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the samples; a pair counts with the product of its two. None means 1.

        Returns
        -------
        score : float
            Between 0 and 1; see :func:`rarefy.metrics.mauc_score`.
        """
        return mauc_score(y, self._scores(X), sample_weight=sample_weight)

    def _labels(self, scores: Array) -> NDArray[Any]:
        return self.levels_[np.searchsorted(self.cuts_, scores)]

    def _training_data(self, X: Any, y: Any, sample_weight: Any) -> TrainingData:
        X, y = self._validate_training(X, y)
        weights = check_weights(sample_weight, X, type(self).__name__)
        found, levels = np.unique(check_labels(y, f"y of {type(self).__name__}"), return_inverse=True)
        if len(np.unique(levels[weights > 0.0])) < 2:
            raise DegenerateDataError(
                f"{type(self).__name__} needs at least two levels to rank; y has 1 class or level (counting samples "
                f"with a weight), {found[levels[weights > 0.0]].tolist()[0]!r}."
            )
        frequent = int(np.argmax(np.bincount(levels, weights=weights)))
        return TrainingData(X, levels, weights, np.flatnonzero((levels != frequent) & (weights > 0.0)), found)

    def _decide(self, ranking: Ranking, held_out: Array | None = None) -> Array:
        return decide_levels(ranking, held_out)

    def _store(self, ranking: Ranking, decision: Array) -> Self:
        self.levels_, self.cuts_ = ranking.problem.data.labels, decision
        return super()._store(ranking, decision)
