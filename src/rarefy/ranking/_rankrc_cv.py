"""Ranking a rare class, the weight of the penalty chosen on held-out points."""

from numbers import Integral

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import check_cv

from rarefy._parameters import adopt, settled_seed
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.ranking._rankrc import RankRC


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
    >>> from rarefy.ranking import RankRCCV
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

    def alpha_path(self, X, y, alphas, sample_weight=None):
        """Learn for several weights of the penalty; see :meth:`RankRC.alpha_path`.

        Parameters
        ----------
        X, y, alphas, sample_weight
            As there.

        Returns
        -------
        path : RankPath
            The rankers.
        """
        return self._inner(1.0).alpha_path(X, y, alphas, sample_weight)

    def _inner(self, alpha):
        shared = set(RankRC._get_param_names()) & set(self._get_param_names())
        return RankRC(alpha, **{name: getattr(self, name) for name in shared})

    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose the weight of the penalty and learn to rank with it.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`RankRC.fit`.
        groups : array-like of shape (n_samples,) or None
            What belongs together, for a `cv` that does not tear it apart.

        Returns
        -------
        self : object
            The fitted ranker.
        """
        alphas = 2.0 ** np.arange(-20, 3, 2) if self.alphas is None else np.asarray(self.alphas, dtype=float).ravel()
        inner = self._inner(float(alphas[0]) if len(alphas) else 1.0)
        if not isinstance(self.basis, (str, Integral)):
            raise ParameterError(
                f"basis of {type(self).__name__} must be 'rare', 'all', 'random' or a number: row numbers would mean "
                f"other points in every fold; got {self.basis!r}. Use RankRC for given rows."
            )
        checked, levels, weights = inner._data(X, y, sample_weight)
        seed = settled_seed(self.random_state)
        ranker = self._inner(inner.alpha).set_params(rare_class=1, random_state=seed)  # the levels are 1 for rare
        folds = list(check_cv(self.cv, levels, classifier=True).split(checked, levels, groups))

        def one(train, test):
            if not all(_both(levels[part], weights[part]) for part in (train, test)):
                return np.full(len(alphas), np.nan)  # nothing to learn, or nothing to check
            known = self.kernel == "precomputed"
            rows = checked[train][:, train] if known else checked[train]
            path = ranker.alpha_path(rows, levels[train], alphas, weights[train])
            scores = path.scores(checked[test][:, train] if known else checked[test])
            return [roc_auc_score(levels[test], s, sample_weight=weights[test]) for s in scores]

        table = np.array(Parallel(n_jobs=self.n_jobs)(delayed(one)(*fold) for fold in folds)).T
        usable = np.isfinite(table).all(axis=0)
        if not usable.any():
            raise DegenerateDataError(
                f"{type(self).__name__} found no fold with points of both classes to learn from and to check with; "
                f"y has {int(np.sum((levels == 1) & (weights > 0.0)))} rare points and cv makes {len(folds)} folds. "
                "Use fewer."
            )
        best = int(np.argmax(table[:, usable].mean(axis=1)))
        fitted = self._inner(float(alphas[best])).set_params(random_state=seed).fit(X, y, sample_weight)
        adopt(self, fitted)
        self.alpha_, self.alphas_, self.cv_scores_ = float(alphas[best]), alphas, table
        return self


def _both(levels, weights):
    """Whether there are points of both classes that count."""
    return len(np.unique(levels[weights > 0.0])) == 2
