"""Ranking a rare class, and ordered levels, with few kernel functions."""

import warnings
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import check_cv
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from rarefy._parameters import check_number, draw_seed, one_of, optional_count
from rarefy._progress import progress_bar
from rarefy.core.landmarks import pivoted_cholesky
from rarefy.core.pair_loss import PairLoss, Pairs, ranked_share
from rarefy.core.ranker import rank, rank_in_blocks, rank_sparsely, whitening
from rarefy.core.rows import DenseRows
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._blocks import kernel_rows
from rarefy.kernel._bounds import subset_bound
from rarefy.kernel._kernels import check_kernel, evaluate, takes_sparse


@dataclass(frozen=True)
class RankPath:
    """Rankers for several weights of the penalty, in the order in which the weights were given.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The weights.
    dual_coef : ndarray of shape (n_alphas, n_basis)
        Coefficients of the kernel functions.
    objective : ndarray of shape (n_alphas,)
        Values reached.
    n_iter : ndarray of shape (n_alphas,)
        Iterations.
    estimator : object
        The ranker that made them; it evaluates the kernel.
    """

    alphas: np.ndarray
    dual_coef: np.ndarray
    objective: np.ndarray
    n_iter: np.ndarray
    estimator: object

    def scores(self, X):
        """Scores by every ranker, as an array of shape (n_alphas, n_samples); larger is rarer or higher."""
        return self.estimator._scores(self.estimator._validated(X), self.dual_coef.T).T


@dataclass(frozen=True)
class _Task:
    """What all weights of the penalty share."""

    K: object
    K_RR: np.ndarray
    T: np.ndarray | None
    loss: PairLoss
    levels: np.ndarray
    weights: np.ndarray


class _KernelRanker(BaseEstimator):
    """What ranking a class and ranking levels share: basis, kernel block, solvers."""

    def _validated(self, X):
        return validate_data(
            self,
            X,
            reset=False,
            accept_sparse="csr" if takes_sparse(self.kernel) else False,
            dtype=(np.float64, np.float32),
        )

    def _check_parameters(self):
        owner = type(self).__name__
        check_kernel(self.kernel, owner)
        check_number("alpha", self.alpha, owner, strictly=True)
        one_of("loss", self.loss, ("hinge", "logistic"), owner)
        check_number("eps", self.eps, owner, strictly=True)
        check_number("push", self.push, owner, at_least=1.0)
        check_number("false_positive_range", self.false_positive_range, owner, strictly=True)
        if self.false_positive_range > 1.0:
            raise ParameterError(
                f"false_positive_range of {owner} must be a share in (0, 1]; got {self.false_positive_range!r}."
            )
        one_of("penalty", self.penalty, ("l2", "l1"), owner)
        one_of("solver", self.solver, ("trust-region", "stochastic"), owner)
        one_of("landmarks", self.landmarks, ("cholesky", "kmeans", "random"), owner)
        one_of("overflow", self.overflow, ("recompute", "disk"), owner)
        check_number("tol", self.tol, owner, strictly=True)
        check_number("memory_budget", self.memory_budget, owner)
        optional_count("max_iter", self.max_iter, owner)
        optional_count("n_passes", self.n_passes, owner)
        optional_count("block_size", self.block_size, owner)
        if isinstance(self.gamma, str):
            one_of("gamma", self.gamma, ("mean_distance",), owner)
        if isinstance(self.basis, str):
            one_of("basis", self.basis, ("rare", "all", "random"), owner)
        if self.penalty == "l1" and self.solver == "stochastic":
            raise ParameterError(
                f"solver='stochastic' of {owner} is for penalty='l2'; use solver='trust-region' with 'l1'."
            )

    # Kernel

    def _kernel(self, X, Y):
        if self.kernel == "precomputed":
            block = X[:, Y]
            return block.toarray() if sp.issparse(block) else block
        return evaluate(
            X, Y, self.kernel, gamma=self.gamma_, degree=self.degree, coef0=self.coef0, kernel_params=self.kernel_params
        )

    def _resolved_gamma(self, X, weights):
        """1 over the mean squared distance of two points, which is twice the sum of the variances."""
        if not isinstance(self.gamma, str):
            return self.gamma
        if self.kernel == "precomputed":
            return None
        mean = np.asarray((weights @ X) / weights.sum()).ravel()
        squares = X.multiply(X) if sp.issparse(X) else X.astype(np.float64) ** 2
        variance = np.asarray((weights @ squares) / weights.sum()).ravel() - mean**2
        spread = 2.0 * float(np.maximum(variance, 0.0).sum())
        return 1.0 / spread if spread > 1e-300 else 1.0

    def _basis(self, X, rare, used, rng):
        """Indices of the basis points, or None and points that are no rows of X."""
        m, owner = X.shape[0], type(self).__name__
        if isinstance(self.basis, str):
            if self.basis == "rare":
                return rare, None
            return used if self.basis == "all" else np.sort(rng.choice(used, len(rare), replace=False)), None
        if isinstance(self.basis, Integral) and not isinstance(self.basis, bool) and self.basis >= 1:
            return self._landmarks(X, rare, used, min(int(self.basis), len(used)), rng)
        indices = np.asarray(self.basis)
        whole = indices.ndim == 1 and len(indices) and all(isinstance(i, Integral) for i in indices.tolist())
        if not whole or indices.min() < 0 or indices.max() >= m:
            raise ParameterError(
                f"basis of {owner} must be 'rare', 'all', 'random', a number of kernel functions >= 1 or an array of "
                f"row numbers from 0 to {m - 1}; got {self.basis!r}."
            )
        return indices, None

    def _landmarks(self, X, rare, used, n, rng):
        """n points: rare ones first; what is missing, or which of the rare, by the chosen way."""
        pool = rare if n < len(rare) else np.setdiff1d(used, rare)
        first = rare[:0] if n < len(rare) else rare
        wanted = n - len(first)
        if wanted == 0:
            return rare, None
        if self.landmarks == "random":
            return np.sort(np.append(first, rng.choice(pool, wanted, replace=False))), None
        if self.landmarks == "kmeans" and self.kernel != "precomputed":
            seed = int(rng.integers(2**31))
            centres = KMeans(wanted, n_init=1, random_state=seed).fit(X[pool]).cluster_centers_.astype(X.dtype)
            kept = X[first].toarray() if sp.issparse(X) else X[first]
            return None, np.vstack([kept, centres])
        # The worst represented of some candidates, one after the other.
        some = np.sort(rng.choice(pool, min(len(pool), max(2000, 10 * wanted)), replace=False))
        candidates = np.append(first, some)
        points = candidates if self.kernel == "precomputed" else X[candidates]

        def column(i):
            if self.kernel == "precomputed":
                return np.asarray(self._kernel(X[candidates], candidates[[i]]), dtype=np.float64).ravel()
            return np.asarray(self._kernel(points, points[[i]]), dtype=np.float64).ravel()

        diagonal = self._diagonal(X, candidates)
        chosen = pivoted_cholesky(diagonal, column, n, np.arange(len(first)))
        return candidates[chosen], None

    def _diagonal(self, X, index):
        if self.kernel == "precomputed":
            return np.asarray([X[i, i] for i in index], dtype=np.float64)
        if self.kernel in ("rbf", "laplacian", "cosine", "wave", "chi2"):
            return np.ones(len(index))
        return np.concatenate(
            [np.diagonal(self._kernel(X[part], X[part])) for part in np.array_split(index, -(-len(index) // 64))]
        ).astype(np.float64)

    def _block(self, X, points):
        return lambda rows: self._kernel(X[rows], points)

    # Fitting

    def _task(self, X, levels, rare, weights, rng):
        """Choose the basis and evaluate the kernel."""
        self.gamma_ = self._resolved_gamma(X, weights)
        used = np.flatnonzero(weights)
        self.basis_, centres = self._basis(X, rare, used, rng)
        if self.kernel == "precomputed":
            points = self.basis_
            K_RR = self._kernel(X[self.basis_], self.basis_)
        else:
            points = X[self.basis_] if centres is None else centres
            K_RR = self._kernel(points, points)
        self.basis_points_ = points
        K_RR = np.asarray(K_RR, dtype=np.float64)
        loss = PairLoss(
            Pairs.of(levels, weights),
            eps=None if self.loss == "logistic" else float(self.eps),
            push=float(self.push),
            false_positive_range=float(self.false_positive_range),
        )
        T = None if self.penalty == "l1" else whitening(0.5 * (K_RR + K_RR.T))
        K = None
        if self.solver != "stochastic":
            K, self.storage_ = kernel_rows(
                (X.shape[0], len(K_RR)), self._block(X, points), budget=self.memory_budget, overflow=self.overflow
            )
        return _Task(K, K_RR, T, loss, levels, weights)

    def _solve(self, task, alpha, start):
        """One ranker; `start` is the one before, for a warm start."""
        show = progress_bar("ranking", self.verbose)
        limit = self.max_iter or 100
        common = {"tol": self.tol, "callback": None if show is None else lambda i, *_: show(i + 1, limit)}
        if self.penalty == "l1":
            beta = None if start is None else start.beta
            return rank_sparsely(task.K, task.loss, alpha, start=beta, max_iter=50 * limit, **common)
        w = None if start is None else start.w
        loss, common["max_iter"] = task.loss, limit
        if loss.false_positive_range < 1.0 and start is None:
            # Who stands highest has to be known before only they can count.
            everyone = PairLoss(loss.pairs, loss.eps, loss.push)
            w = rank(task.K, task.T, everyone, alpha, tol=1e-4).w
        return rank(task.K, task.T, loss, alpha, start=w, **common)

    def _solve_in_blocks(self, X, task, rng):
        """Passes over the most frequent level in blocks; the others, which are few, are in every block."""
        levels, weights = task.levels, task.weights
        counts = np.bincount(levels, weights=(weights > 0.0).astype(float))
        frequent = int(np.argmax(counts))
        few = np.flatnonzero((levels != frequent) & (weights > 0.0))
        many = np.flatnonzero((levels == frequent) & (weights > 0.0))
        kernel = self._block(X, self.basis_points_)
        K_few = np.asarray(kernel(few), dtype=np.float64)
        size = self.block_size or max(1000, len(few))
        n_blocks, passes = -(-len(many) // size), self.n_passes or 5
        show = progress_bar("blocks", self.verbose)

        def blocks():
            for part in np.array_split(rng.permutation(many), n_blocks):
                rows = np.append(few, part)
                K = np.vstack([K_few, np.asarray(kernel(part), dtype=np.float64)])
                loss = PairLoss(
                    Pairs.of(levels[rows], weights[rows]), task.loss.eps, task.loss.push, task.loss.false_positive_range
                )
                yield DenseRows(K), loss

        callback = None if show is None else lambda count, *_: show(count, passes * n_blocks)
        w = rank_in_blocks(blocks, task.T, float(self.alpha), passes=passes, callback=callback)
        return task.T @ w, w, passes * n_blocks

    def _fit_ranker(self, X, levels, rare, weights):
        """Coefficients and scores of the training points."""
        rng = np.random.default_rng(draw_seed(self.random_state))
        task = self._task(X, levels, rare, weights, rng)
        if self.solver == "stochastic":
            beta, w, n_iter = self._solve_in_blocks(X, task, rng)
            self.storage_ = "blocks"
            scores = self._scores(X, beta)
            self.objective_ = task.loss.at(scores).value + 0.5 * self.alpha * float(w @ w)
            self.n_iter_ = n_iter
        else:
            found = self._solve(task, float(self.alpha), None)
            # With a false-positive range the value has kinks, at which the method stops rightly.
            if not found.converged and self.false_positive_range == 1.0:
                warnings.warn(
                    f"{type(self).__name__} was stopped after {found.n_iter} iterations; {found.objective:.6g} "
                    f"may still fall by about {found.decrement:.2g}. Raise max_iter or tol, or alpha.",
                    ConvergenceWarning,
                    stacklevel=3,
                )
            beta, scores = found.beta, task.K @ found.beta
            self.objective_, self.n_iter_ = found.objective, found.n_iter
        self.dual_coef_ = beta[None]
        return scores

    def _path(self, X, levels, rare, weights, alphas):
        alphas = np.asarray(alphas, dtype=np.float64).ravel()
        if not len(alphas) or not np.all(np.isfinite(alphas)) or alphas.min() <= 0.0:
            raise ParameterError(
                f"alphas of {type(self).__name__} must be finite numbers > 0, at least one; got {alphas}."
            )
        if self.solver == "stochastic":
            raise ParameterError(f"alpha_path of {type(self).__name__} needs solver='trust-region'.")
        task = self._task(X, levels, rare, weights, np.random.default_rng(draw_seed(self.random_state)))
        found, before = {}, None
        for i in np.argsort(-alphas):
            found[i] = before = self._solve(task, float(alphas[i]), before)
        rows = [found[i] for i in range(len(alphas))]
        return RankPath(
            alphas,
            np.stack([row.beta for row in rows]),
            np.array([row.objective for row in rows]),
            np.array([row.n_iter for row in rows]),
            self,
        )

    def _scores(self, X, beta):
        """Kernel expansion, block by block."""
        scores = np.empty((X.shape[0], *np.shape(beta)[1:]))
        step = max(1, (1 << 22) // max(1, len(beta)))
        for first in range(0, X.shape[0], step):
            part = slice(first, first + step)
            scores[part] = self._kernel(X[part], self.basis_points_) @ beta
        return scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = takes_sparse(self.kernel)
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.target_tags.required = True
        return tags


class RankRC(ClassifierMixin, _KernelRanker):
    """Rank a rare class above the rest, with kernel functions of the rare points only.

    It minimises a smoothed share of wrongly ordered pairs (one point of each class) plus
    ``alpha/2 ||f||^2``. Pairs are never formed: a sort gives the loss of all. Kernel functions are those of the
    rare class, so that m * m_rare kernel values are needed instead of m^2; that is the choice that a bound on
    the difference to the machine with all kernel functions favours.

    Parameters
    ----------
    alpha : float, default=0.001
        Weight of the penalty (the author's lambda).
    basis : {"rare", "all", "random"}, int or array of indices, default="rare"
        Points whose kernel functions are used: the rare class; all (RankSVM); as many as the rare class, at
        random; that many, rare points first and the others by `landmarks`; or these rows.
    kernel, degree, coef0, kernel_params
        As in :class:`KernelSubspace`.
    gamma : "mean_distance", float or None, default="mean_distance"
        Width of the kernel; "mean_distance" is 1 over the mean squared distance of two training points.
    loss : {"hinge", "logistic"}, default="hinge"
        The loss of a pair: a hinge with its corner rounded, or logistic.
    eps : float, default=0.5
        Half the width of the rounded part of the hinge.
    push : float, default=1.0
        Above 1, majority points count the more the higher they stand (the p-norm push).
    false_positive_range : float, default=1.0
        Below 1, only this share of the majority, from the top, counts (partial area under the curve).
    penalty : {"l2", "l1"}, default="l2"
        Squared norm of the function, or sum of absolute coefficients, which leaves fewer kernel functions.
    solver : {"trust-region", "stochastic"}, default="trust-region"
        The second passes over the majority in blocks, and holds m_rare^2 + block_size * m_rare kernel values.
    landmarks : {"cholesky", "kmeans", "random"}, default="cholesky"
        How `basis`, when it is a number, is filled up: one by one the point that is represented worst; centres of
        clusters; at random.
    threshold : {"frequency", "f1"}, or dict, default="frequency"
        Where `predict` cuts the ranking: such that the share of points called rare is that of the training
        data; at the largest F1 of the training data; ``{"false_positive_rate": 0.01}``; or
        ``{"cost": 20}``, when missing a rare point costs as much as 20 false alarms.
    rare_class : label or None, default=None
        The class to rank on top; None means the less frequent one.
    memory_budget : float, default=2e9
        Bytes that kernel values may take: in float64 if they fit, else in float32.
    overflow : {"recompute", "disk"}, default="recompute"
        What to do when they do not fit: compute them again whenever they are needed, or keep them in a
        temporary file.
    block_size : int or None, default=None
        Majority points of one block of the stochastic solver; None means 1000 or the size of the rare class.
    n_passes : int or None, default=None
        Passes of the stochastic solver; None means 5.
    tol : float, default=1e-7
        Accepted remaining decrease, relative to the value.
    max_iter : int, default=100
        Iterations of the trust region method.
    random_state : int, RandomState instance or None, default=None
        Seed of what is random: basis and blocks.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The class labels.
    rare_class_ : label
        The class that is ranked on top.
    basis_ : ndarray of indices, or None
        Training points with a kernel function; None when centres of clusters are among them.
    basis_points_ : array of shape (n_basis, n_features)
        The basis points.
    dual_coef_ : ndarray of shape (1, n_basis)
        Coefficients of the kernel functions.
    threshold_ : float
        Score above which a point is called rare.
    bound_ : float or None
        No score differs by more than this from that of the machine with all kernel functions
        (:func:`subset_bound`); None where the theorem says nothing.
    gamma_ : float
        Width of the kernel.
    objective_ : float
        Value reached.
    n_iter_ : int
        Iterations, or blocks.
    storage_ : str
        Where kernel values were kept.
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
    >>> from sklearn.metrics import roc_auc_score
    >>> from rarefy.kernel import RankRC
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [20, 980])
    >>> X = rng.standard_normal((1000, 3)) + 2 * y[:, None] * rng.choice([-1, 1], (1000, 1))
    >>> model = RankRC().fit(X, y)
    >>> len(model.basis_), int(model.predict(X).sum())
    (20, 20)
    >>> bool(roc_auc_score(y, model.decision_function(X)) > 0.95)
    True
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
        threshold="frequency",
        rare_class=None,
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
        self.threshold = threshold
        self.rare_class = rare_class
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
            Two classes.
        sample_weight : array-like of shape (n_samples,) or None
            Weights; a pair counts with the product of its two.

        Returns
        -------
        self : object
            The fitted ranker.
        """
        X, levels, weights = self._data(X, y, sample_weight)
        rare = np.flatnonzero((levels == 1) & (weights > 0.0))
        scores = self._fit_ranker(X, levels, rare, weights)
        self.threshold_ = _threshold(scores, levels == 1, weights, self.threshold)
        self.bound_ = self._bound(X, levels, weights)
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
        copy = RankRC(**{name: getattr(self, name) for name in RankRC._get_param_names()})
        X, levels, weights = copy._data(X, y, sample_weight)
        rare = np.flatnonzero((levels == 1) & (weights > 0.0))
        return copy._path(X, levels, rare, weights, alphas)

    def decision_function(self, X):
        """Score of the second class of `classes_`, shifted so that `predict` cuts at zero.

        When the rare class is the first of the two (by the order of labels), its ranking is the reverse.

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
        scores = self._scores(self._validated(X), self.dual_coef_[0]) - self.threshold_
        return scores if self.rare_class_ == self.classes_[1] else -scores

    def predict(self, X):
        """Class labels, by the threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        rare = self.decision_function(X) > 0.0
        return self.classes_[rare.astype(int)]

    def _data(self, X, y, sample_weight):
        """Validated points, 1 for rare and 0 for the others, and weights."""
        self._check_parameters()
        owner = type(self).__name__
        _check_rule(self.threshold, owner)
        X, y = validate_data(
            self, X, y, accept_sparse="csr" if takes_sparse(self.kernel) else False, dtype=(np.float64, np.float32)
        )
        _check_square(X, self.kernel, owner)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        classes, codes = np.unique(y, return_inverse=True)
        if type_of_target(y) != "binary" and len(classes) > 2:
            raise ValueError(
                f"Only binary classification is supported. {owner} ranks one class above another, but y has "
                f"{len(classes)} classes; for ordered levels use OrdinalRankRC."
            )
        counts = np.bincount(codes, weights=weights, minlength=len(classes))
        if len(classes) < 2 or counts.min() == 0.0:
            raise DegenerateDataError(
                f"{owner} needs points of two classes to rank; y has 1 class (counting points with a weight), "
                f"{classes[int(np.argmax(counts))]!r}."
            )
        if self.rare_class is None:
            rare = 0 if counts[0] < counts[1] else 1
        else:
            match = np.flatnonzero(classes == self.rare_class)
            if not len(match):
                raise ParameterError(
                    f"rare_class of {owner} is {self.rare_class!r}, but the classes of y are {classes.tolist()}."
                )
            rare = int(match[0])
        self.classes_, self.rare_class_ = classes, classes[rare]
        return X, (codes == rare).astype(np.intp), weights

    def _bound(self, X, levels, weights):
        uniform = np.ptp(weights) == 0.0
        plain = self.penalty == "l2" and self.push == 1.0 and self.false_positive_range == 1.0
        if self.basis_ is None or not uniform or not plain:
            return None
        kappa = float(self._diagonal(X, np.arange(len(levels))).max())
        return subset_bound(levels, self.basis_, alpha=float(self.alpha), kappa=kappa) if kappa > 0.0 else None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _check_square(X, kernel, owner):
    if kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ParameterError(
            f"{owner} with kernel='precomputed' needs the square matrix of kernel values between all points; "
            f"X has shape {X.shape}."
        )


def _check_rule(rule, owner):
    if isinstance(rule, str) and rule in ("frequency", "f1"):
        return
    if isinstance(rule, dict) and len(rule) == 1:
        (name, value), *_ = rule.items()
        number = isinstance(value, Real) and not isinstance(value, bool)
        if (name == "cost" and number and value > 0) or (name == "false_positive_rate" and number and 0 < value < 1):
            return
    raise ParameterError(
        f"threshold of {owner} must be 'frequency', 'f1', {{'cost': positive number}} or "
        f"{{'false_positive_rate': share in (0, 1)}}; got {rule!r}."
    )


def _threshold(scores, rare, weights, rule):
    """The score at which to cut, halfway between two training scores.

    Each rule gives a worth to every number of points above the cut; ties are not cut.
    """
    order = np.argsort(-scores, kind="stable")
    ordered, hit = scores[order], (weights * rare)[order]
    true, false = np.cumsum(hit), np.cumsum(weights[order] - hit)
    total = float(hit.sum())
    if rule == "frequency":
        worth = -np.abs(true + false - total)
    elif rule == "f1":
        worth = 2.0 * true / (true + false + total)
    elif "cost" in rule:
        worth = rule["cost"] * true - false
    else:
        worth = np.where(false <= rule["false_positive_rate"] * (weights.sum() - total), true, -1.0 - false)
    allowed = np.append(ordered[:-1] > ordered[1:], True)
    best = int(np.argmax(np.where(allowed, worth, -np.inf)))
    if best + 1 == len(ordered):
        return float(ordered[-1] - 1.0)
    return float(0.5 * (ordered[best] + ordered[best + 1]))


class RankRCCV(RankRC):
    """RankRC with the weight of the penalty chosen by cross-validated area under the ROC curve.

    Parameters
    ----------
    alphas : array-like or None, default=None
        Weights to try; None means 2^-20, 2^-18, ..., 2^2.
    cv : int, splitter or None, default=None
        How to split; None means five stratified folds.
    n_jobs : int or None, default=None
        Folds at a time.
    basis, kernel, gamma, ...
        As in :class:`RankRC`.

    Attributes
    ----------
    alpha_ : float
        The chosen weight.
    cv_scores_ : ndarray of shape (n_alphas, n_folds)
        Area under the curve of every weight on every held-out fold.
    alphas_ : ndarray of shape (n_alphas,)
        The weights that were tried.

    See Also
    --------
    RankRC : Its other attributes are here as well.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.kernel import RankRCCV
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [30, 270])
    >>> X = rng.standard_normal((300, 3)) + y[:, None]
    >>> model = RankRCCV(alphas=[1e-6, 1e-2], cv=3).fit(X, y)
    >>> model.alpha_
    0.01
    """

    def __init__(
        self,
        alphas=None,
        *,
        cv=None,
        n_jobs=None,
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
        landmarks="cholesky",
        threshold="frequency",
        rare_class=None,
        memory_budget=2e9,
        overflow="recompute",
        tol=1e-7,
        max_iter=100,
        random_state=None,
        verbose=0,
    ):
        self.alphas = alphas
        self.cv = cv
        self.n_jobs = n_jobs
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
        self.landmarks = landmarks
        self.threshold = threshold
        self.rare_class = rare_class
        self.memory_budget = memory_budget
        self.overflow = overflow
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _inner(self, alpha):
        shared = set(RankRC._get_param_names()) & set(self._get_param_names())
        return RankRC(alpha, **{name: getattr(self, name) for name in shared})

    def fit(self, X, y, sample_weight=None):
        """Choose the weight of the penalty and learn to rank with it.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`RankRC.fit`.

        Returns
        -------
        self : object
            The fitted ranker.
        """
        alphas = 2.0 ** np.arange(-20, 3, 2) if self.alphas is None else np.asarray(self.alphas, dtype=float).ravel()
        inner = self._inner(float(alphas[0]) if len(alphas) else 1.0)
        checked, levels, weights = inner._data(X, y, sample_weight)
        folds = list(check_cv(self.cv, levels, classifier=True).split(checked, levels))

        def one(train, test):
            known = self.kernel == "precomputed"
            rows = checked[train][:, train] if known else checked[train]
            path = inner.alpha_path(rows, levels[train], alphas, weights[train])
            scores = path.scores(checked[test][:, train] if known else checked[test])
            return [roc_auc_score(levels[test], s, sample_weight=weights[test]) for s in scores]

        table = np.array(Parallel(n_jobs=self.n_jobs)(delayed(one)(*fold) for fold in folds)).T
        best = int(np.argmax(table.mean(axis=1)))
        fitted = self._inner(float(alphas[best])).fit(X, y, sample_weight)
        for name, value in vars(fitted).items():
            if name.endswith("_") and not name.startswith("_"):
                setattr(self, name, value)
        self.alpha_, self.alphas_, self.cv_scores_ = float(alphas[best]), alphas, table
        return self


class OrdinalRankRC(_KernelRanker):
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
    >>> from rarefy.kernel import OrdinalRankRC
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
        scores = self._fit_ranker(X, levels, self._rare(levels, weights), weights)
        order = np.argsort(scores, kind="stable")
        ordered, above = scores[order], np.cumsum(weights[order])
        ends = np.cumsum(np.bincount(levels, weights=weights))[:-1]
        cuts = np.clip(np.searchsorted(above, ends - 1e-9 * above[-1]), 0, len(ordered) - 2)
        self.cuts_ = 0.5 * (ordered[cuts] + ordered[cuts + 1])
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
        return self._scores(self._validated(X), self.dual_coef_[0])

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
        codes = np.unique(np.asarray(y), return_inverse=True)[1]
        return float(ranked_share(codes, self.decision_function(X), sample_weight))

    @staticmethod
    def _rare(levels, weights):
        frequent = int(np.argmax(np.bincount(levels, weights=weights)))
        return np.flatnonzero((levels != frequent) & (weights > 0.0))

    def _data(self, X, y, sample_weight):
        self._check_parameters()
        X, y = validate_data(
            self, X, y, accept_sparse="csr" if takes_sparse(self.kernel) else False, dtype=(np.float64, np.float32)
        )
        _check_square(X, self.kernel, type(self).__name__)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        found, levels = np.unique(y, return_inverse=True)
        if len(np.unique(levels[weights > 0.0])) < 2:
            raise DegenerateDataError(
                f"{type(self).__name__} needs at least two levels to rank; y has 1 class or level, {found[0]!r}."
            )
        self.levels_ = found
        return X, levels, weights
