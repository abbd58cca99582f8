"""Ranking a rare class with the kernel functions of its own points."""

import warnings
from numbers import Real

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._kernels import is_positive
from rarefy.ranking._bounds import subset_bound
from rarefy.ranking._ranker import KernelRanker


class RankRC(ClassifierMixin, KernelRanker):
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
        Below 1, only this share of the majority, from the top, counts (partial area under the curve). The loss then has
        kinks, and is minimised by cutting planes.
    penalty : {"l2", "l1"}, default="l2"
        Squared norm of the function, or sum of absolute coefficients, which leaves fewer kernel functions.
    solver : {"trust-region", "stochastic"}, default="trust-region"
        The second passes over the majority in blocks, and holds m_rare^2 + block_size * m_rare kernel values. `tol` and
        `max_iter` are not for it; `push` and `false_positive_range` are taken within each block, so that the result
        is another one the smaller the blocks are.
    landmarks : {"cholesky", "kmeans", "leverage", "random"}, default="cholesky"
        How `basis`, when it is a number, is filled up: one by one the point that is represented worst; centres of
        clusters; at random, with chances that grow with what a point adds (ridge leverage scores), or equal ones.
    threshold : {"frequency", "f1"}, or dict, default="frequency"
        Where `predict` cuts the ranking: such that the share of points called rare is that of the training
        data; at the largest F1 of the training data; ``{"false_positive_rate": 0.01}``; ``{"recall": 0.9}``, the
        fewest points that hold so large a share of the rare ones; ``{"share": 0.005}`` of all points; or
        ``{"cost": 20}``, when missing a rare point costs as much as 20 false alarms. All on the training data.
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
        Iterations of the trust region method; ten times as many cutting planes.
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
        No score of a point x with k(x, x) up to the largest of the training points differs by more than this from that
        of the machine with all kernel functions (:func:`subset_bound`); None where the theorem says nothing, or the
        minimum was not reached.
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
    >>> from rarefy.ranking import RankRC
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
        scores, converged = self._fit_ranker(X, levels, rare, weights)
        counts = weights > 0.0
        if np.ptp(scores[counts]) == 0.0:
            warnings.warn(
                f"{type(self).__name__} gives all points the same score: the kernel does not tell them apart, or alpha "
                "leaves nothing to rank with.",
                UserWarning,
                stacklevel=2,
            )
        self.threshold_ = _threshold(scores[counts], levels[counts] == 1, weights[counts], self.threshold)
        self.bound_ = self._bound(X, levels, weights) if converged else None
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
        copy = RankRC(**self.get_params(deep=False))
        X, levels, weights = copy._data(X, y, sample_weight)
        rare = np.flatnonzero((levels == 1) & (weights > 0.0))
        return copy._path(X, levels, rare, weights, alphas)

    def score_samples(self, X):
        """How rare points look: larger is rarer, whichever way the labels are sorted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores; points above `threshold_` are called rare.
        """
        check_is_fitted(self)
        return self._scores(self._new(X), self.dual_coef_[0])

    def decision_function(self, X):
        """Score of the second class of `classes_`, shifted so that `predict` cuts at zero.

        When the rare class is the first of the two (by the order of labels), its ranking is the reverse: use
        `score_samples` for a score that is always larger for rarer points.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; with a precomputed kernel, their kernel values with all points seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The scores.
        """
        scores = self.score_samples(X) - self.threshold_
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
        X, y = self._seen(X, y)
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
                f"{classes.tolist()[int(np.argmax(counts))]!r}."
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
            if counts[rare] > 5.0 * counts[1 - rare] and isinstance(self.basis, str) and self.basis == "rare":
                warnings.warn(
                    f"rare_class of {owner} is {self.rare_class!r}, the more frequent class: there will be one kernel "
                    f"function for each of its points. Name the other class, or give basis a number.",
                    UserWarning,
                    stacklevel=3,
                )
        self.classes_, self.rare_class_ = classes, classes[rare]
        return X, (codes == rare).astype(np.intp), weights

    def _bound(self, X, levels, weights):
        uniform = np.ptp(weights) == 0.0
        plain = self.penalty == "l2" and self.push == 1.0 and self.false_positive_range == 1.0
        if self.basis_ is None or not uniform or not plain or not self._is_positive(X):
            return None
        kappa = float(self._diagonal(X, np.arange(len(levels))).max())
        return subset_bound(levels, self.basis_, alpha=float(self.alpha), kappa=kappa) if kappa > 0.0 else None

    def _is_positive(self, X):
        """Whether the kernel is positive semi-definite, as the theorem wants; of a matrix, among the basis points."""
        shape = {"degree": self.degree, "coef0": self.coef0} | dict(self.kernel_params or {})
        known = is_positive(self.kernel, X.shape[1], degree=shape["degree"], coef0=shape["coef0"])
        if known is not None:
            return known
        eigenvalues = np.linalg.eigvalsh(self._between(X, self.basis_, self.basis_))
        return bool(eigenvalues[0] >= -1e-8 * max(float(eigenvalues[-1]), 0.0))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def _check_rule(rule, owner):
    if isinstance(rule, str) and rule in ("frequency", "f1"):
        return
    if isinstance(rule, dict) and len(rule) == 1:
        (name, value), *_ = rule.items()
        number = isinstance(value, Real) and not isinstance(value, bool)
        shares = ("false_positive_rate", "recall", "share")
        if number and ((name == "cost" and 0 < value < np.inf) or (name in shares and 0 < value < 1)):
            return
    raise ParameterError(
        f"threshold of {owner} must be 'frequency', 'f1', {{'cost': positive number}}, {{'false_positive_rate': s}}, "
        f"{{'recall': s}} or {{'share': s}} with a share s in (0, 1); got {rule!r}."
    )


def _threshold(scores, rare, weights, rule):
    """The score at which to cut, halfway between two training scores.

    Each rule gives a worth to every number of points above the cut; ties are not cut.
    """
    order = np.argsort(-scores, kind="stable")
    ordered, hit = scores[order], (weights * rare)[order]
    true, false = (np.append(0.0, np.cumsum(part)) for part in (hit, weights[order] - hit))
    total = float(hit.sum())
    if rule == "frequency":
        worth = -np.abs(true + false - total)
    elif rule == "f1":
        worth = 2.0 * true / (true + false + total)
    elif "cost" in rule:
        worth = rule["cost"] * true - false
    elif "recall" in rule:
        worth = np.where(true >= rule["recall"] * total * (1.0 - 1e-12), -true - false, -np.inf)
    elif "share" in rule:
        worth = -np.abs(true + false - rule["share"] * weights.sum())
    else:
        worth = np.where(false <= rule["false_positive_rate"] * (weights.sum() - total), true, -1.0 - false)
    # Calling nobody rare is an answer only where false alarms have a price, or where nothing was ranked.
    nobody = isinstance(rule, dict) or ordered[0] == ordered[-1]
    allowed = np.concatenate([[nobody], ordered[:-1] > ordered[1:], [True]])
    best = int(np.argmax(np.where(allowed, worth, -np.inf)))
    if best == 0:
        return float(ordered[0] + 1e-9 * (1.0 + abs(ordered[0])))
    if best == len(ordered):
        return float(ordered[-1] - 1.0)
    return float(0.5 * (ordered[best - 1] + ordered[best]))
