"""Ranking ordered levels with kernel functions of all but the most frequent one."""

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from rarefy.exceptions import DegenerateDataError
from rarefy.metrics import mauc_score
from rarefy.ranking._ranker import KernelRanker


class OrdinalRankRC(KernelRanker):
    """Rank ordered levels, with kernel functions of all levels but the most frequent one.

    The loss is that of :class:`RankRC` over all pairs of points of different levels, measured by the share of
    such pairs in the right order (:func:`rarefy.metrics.mauc_score`).

    Parameters
    ----------
    alpha : float, default=0.001
        Weight of the penalty.
    basis : {"rare", "all", "random"}, int or array of indices, default="rare"
        As in :class:`RankRC`; "rare" is every level but the most frequent one.
    kernel, gamma, degree, coef0, kernel_params, loss, eps, push, false_positive_range, penalty, solver, landmarks
        As in :class:`RankRC`.
    memory_budget, overflow, block_size, n_passes, tol, max_iter, random_state, verbose
        As in :class:`RankRC`.

    Attributes
    ----------
    levels_ : ndarray
        The levels in ascending order.
    cuts_ : ndarray of shape (n_levels - 1,)
        Scores between which `predict` sees one level: they give the training data's frequencies.
    basis_, basis_points_, dual_coef_, gamma_, objective_, n_iter_, storage_
        As in :class:`RankRC`.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    References
    ----------
    [TayalColemanLi2015]

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.ranking import OrdinalRankRC
    >>> rng = np.random.default_rng(0)
    >>> y = rng.choice([0, 1, 2], 400, p=[0.85, 0.1, 0.05])
    >>> X = rng.standard_normal((400, 2)) + 1.5 * y[:, None]
    >>> model = OrdinalRankRC(0.01).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), len(model.basis_) == int(np.sum(y > 0))
    (True, True)
    """

    def __init__(
        self,
        alpha=0.001,
        *,
        basis="rare",
        kernel="rbf",
        gamma="mean_distance",
        degree=3,
        coef0=1,
        kernel_params=None,
        loss="hinge",
        eps=0.5,
        push=1.0,
        false_positive_range=1.0,
        penalty="l2",
        solver="trust-region",
        landmarks="cholesky",
        memory_budget=2e9,
        overflow="recompute",
        block_size=None,
        n_passes=None,
        tol=1e-7,
        max_iter=100,
        random_state=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.basis = basis
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.loss = loss
        self.eps = eps
        self.push = push
        self.false_positive_range = false_positive_range
        self.penalty = penalty
        self.solver = solver
        self.landmarks = landmarks
        self.memory_budget = memory_budget
        self.overflow = overflow
        self.block_size = block_size
        self.n_passes = n_passes
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Learn to rank.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The points; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            Levels that can be sorted; larger is higher.
        sample_weight : array-like of shape (n_samples,) or None
            Weights; a pair counts with the product of its two.

        Returns
        -------
        self : object
            The fitted ranker.
        """
        X, levels, weights = self._data(X, y, sample_weight)
        scores, _ = self._fit_ranker(X, levels, self._rare(levels, weights), weights)
        counted = weights > 0.0
        self.cuts_ = _cuts(scores[counted], levels[counted], weights[counted], len(self.levels_))
        return self

    def alpha_path(self, X, y, alphas, sample_weight=None):
        """Rankers for many weights of the penalty, from large to small, each from the one before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        alphas : array-like of shape (n_alphas,)
            Weights of the penalty, in any order.

        Returns
        -------
        path : RankPath
            The rankers. The estimator itself is left as it was.
        """
        copy = type(self)(**self.get_params(deep=False))
        X, levels, weights = copy._data(X, y, sample_weight)
        return copy._path(X, levels, copy._rare(levels, weights), weights, alphas)

    def decision_function(self, X):
        """Scores, larger for higher levels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; with a precomputed kernel, their kernel values with all points seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores.
        """
        check_is_fitted(self)
        return self._scores(self._new(X), self.dual_coef_[0])

    def predict(self, X):
        """Levels, by cutting the ranking where the training data's frequencies are met.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Levels.
        """
        scores = self.decision_function(X)
        return self.levels_[np.searchsorted(self.cuts_, scores)]

    def score(self, X, y, sample_weight=None):
        """Share of the pairs of different levels in the right order.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `decision_function`.
        y : array-like of shape (n_samples,)
            Levels.
        sample_weight : array-like of shape (n_samples,) or None
            Weights.

        Returns
        -------
        score : float
            As `rarefy.metrics.mauc_score`.
        """
        return mauc_score(y, self.decision_function(X), sample_weight=sample_weight)

    @staticmethod
    def _rare(levels, weights):
        frequent = int(np.argmax(np.bincount(levels, weights=weights)))
        return np.flatnonzero((levels != frequent) & (weights > 0.0))

    def _data(self, X, y, sample_weight):
        self._check_parameters()
        X, y = self._seen(X, y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        found, levels = np.unique(y, return_inverse=True)
        if len(np.unique(levels[weights > 0.0])) < 2:
            raise DegenerateDataError(
                f"{type(self).__name__} needs at least two levels to rank; y has 1 class or level (counting points "
                f"with a weight), {found[levels[weights > 0.0]].tolist()[0]!r}."
            )
        self.levels_ = found
        return X, levels, weights


def _cuts(scores, levels, weights, n_levels):
    """Scores at which to cut, so that each level gets as much weight below its end as in training, or nearly.

    Cuts lie halfway between scores that differ by more than rounding: equal points are never torn apart.
    """
    order = np.argsort(scores, kind="stable")
    ordered, below = scores[order], np.cumsum(weights[order])
    apart = np.flatnonzero(np.diff(ordered) > 1e-9 * np.abs(ordered).max())
    places = np.concatenate([[-np.inf], 0.5 * (ordered[apart] + ordered[apart + 1]), [np.inf]])
    reached = np.concatenate([[0.0], below[apart], [below[-1]]])
    ends = np.cumsum(np.bincount(levels, weights=weights, minlength=n_levels))[:-1]
    return places[np.abs(reached - ends[:, None]).argmin(axis=1)]
