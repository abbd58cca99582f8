"""Feature selection inside a kernel support vector machine, its prices and its start chosen on held-out points."""

import warnings
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from rarefy._parameters import adopt, check_numbers, settled_seed
from rarefy._progress import progress_bar
from rarefy.exceptions import DegenerateDataError
from rarefy.kernel._feature_selector import KernelFeatureSelector


class KernelFeatureSelectorCV(KernelFeatureSelector):
    """KernelFeatureSelector with C, mu and the start of the search chosen by cross-validation.

    For every C and every fold one path of prices is followed, each price from the weights of the one before, and so is
    the one on all points, up to the price that was chosen. Of equal scores the one with the fewest features wins, on
    average over the folds.

    Parameters
    ----------
    Cs : array-like or None, default=None
        Weights of the losses to try; None means 1, 4 and 16.
    mus : array-like or None, default=None
        Prices of a weight to try; None means 2^-8, 2^-6, ..., 2^6. Losses are summed, so more points want higher
        prices.
    cv : int, splitter, iterable or None, default=None
        How to split; None means five stratified folds. Folds with one class to learn from have no say.
    scoring : str, callable or None, default=None
        What decides on the held-out points, as in scikit-learn, for example "balanced_accuracy" or "roc_auc" when one
        class is rare; None means accuracy. It is given the sample weights if there are any.
    n_jobs : int or None, default=None
        Paths at a time.
    init : {"both", "ones", "scaled"} or array-like of shape (n_features,), default="both"
        Where searches start, as in :class:`KernelFeatureSelector`; "both" tries "ones" and "scaled", for twice the
        time, and keeps what does better on held-out points: neither is best for all data.
    penalty : {"squares", "weights", "both"}, default="squares"
        What `mus` are prices of, as in :class:`KernelFeatureSelector`; "both" tries the two, for twice the time.
    method, n_starts, ...
        As in :class:`KernelFeatureSelector`.

    Attributes
    ----------
    C_, mu_ : float
        What was chosen.
    init_ : str or array-like
        The start that was chosen.
    penalty_ : str
        The penalty that was chosen.
    Cs_, mus_ : ndarrays
        What was tried.
    cv_scores_ : ndarray of shape (n_Cs, n_mus, n_folds)
        Accuracy, or what `scoring` says, on the held-out folds, with this start and penalty.
    cv_n_features_ : ndarray of shape (n_Cs, n_mus, n_folds)
        How many features the machines of the folds selected.

    See Also
    --------
    KernelFeatureSelector : Its other attributes are here as well.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.kernel import KernelFeatureSelectorCV
    >>> X = np.random.default_rng(0).standard_normal((100, 6))
    >>> y = X[:, 1] * X[:, 4] > 0
    >>> model = KernelFeatureSelectorCV(Cs=[1.0], mus=[0.1, 1.0], cv=3).fit(X, y)
    >>> model.get_support(indices=True)
    array([1, 4])
    """

    _inits = ("both", "ones", "scaled")
    _penalties = ("both", "squares", "weights")

    def __init__(
        self,
        Cs=None,
        mus=None,
        *,
        cv=None,
        scoring=None,
        n_jobs=None,
        method="ao2",
        penalty="squares",
        polish=True,
        init="both",
        n_starts=1,
        kernel="rbf",
        degree=3,
        coef0=1.0,
        screening=None,
        eps=0.5,
        tol=1e-3,
        max_iter=None,
        random_state=None,
        verbose=0,
    ):
        self.Cs = Cs
        self.mus = mus
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.method = method
        self.penalty = penalty
        self.polish = polish
        self.init = init
        self.n_starts = n_starts
        self.kernel = kernel
        self.degree = degree
        self.coef0 = coef0
        self.screening = screening
        self.eps = eps
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None, groups=None):
        """Choose C, mu and the start, and learn with them from all points.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`KernelFeatureSelector.fit`.
        groups : array-like of shape (n_samples,) or None
            What belongs together, for a `cv` that does not tear it apart.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        name = type(self).__name__
        Cs = check_numbers("Cs", 4.0 ** np.arange(3) if self.Cs is None else self.Cs, name, strictly=True)
        mus = np.sort(check_numbers("mus", 4.0 ** np.arange(-4, 4) if self.mus is None else self.mus, name))
        points, labels, weights = self._data(X, y, sample_weight)
        inits, penalties = self._either("init"), self._either("penalty")
        if not isinstance(self.init, str):
            self._given_start(points.shape[1])
        ways = list(product(inits, ("squares",) if self.method == "gmkl" else penalties))
        folds = list(check_cv(self.cv, labels, classifier=True).split(points, labels, groups))
        judge, weighted = check_scoring(KernelFeatureSelector(), self.scoring), sample_weight is not None
        seed = settled_seed(self.random_state) if self.n_starts > 1 else 0

        def one(way, C, train, test):
            """Scores and sizes along one path, and how many of its searches stopped early."""
            if len(np.unique(labels[train][weights[train] > 0.0])) < 2 or not weights[test].any():
                return np.full(len(mus), np.nan), np.zeros(len(mus), dtype=int), 0  # nothing to learn or to check
            path, stopped = self._path(way, C, seed, points[train], labels[train], mus, weights[train])
            extra = {"sample_weight": weights[test]} if weighted else {}
            return (
                [judge(model, points[test], labels[test], **extra) for model in path.models],
                path.n_features,
                stopped,
            )

        tasks = [(way, float(C), *fold) for way in ways for C in Cs for fold in folds]
        found, show = [], progress_bar("paths", self.verbose)
        for result in Parallel(n_jobs=self.n_jobs, return_as="generator")(delayed(one)(*task) for task in tasks):
            found.append(result)
            if show is not None:
                show(len(found), len(tasks))
        shape = len(ways), len(Cs), len(folds), len(mus)
        scores, counts = (np.array([row[k] for row in found]).reshape(shape).swapaxes(2, 3) for k in (0, 1))
        counted = np.isfinite(scores).all(axis=(0, 1, 2))
        if not counted.any():
            raise DegenerateDataError(
                f"{name} found no fold with two classes to learn from and points that count to check with; cv makes "
                f"{len(folds)} folds. Use others."
            )
        k, i, j = _best(scores[..., counted], counts[..., counted])
        # Along the path up to the price, as in the folds.
        path, stopped = self._path(ways[k], float(Cs[i]), seed, X, y, mus[: j + 1], sample_weight)
        adopt(self, path.models[-1])
        self.C_, self.mu_, self.init_, self.penalty_ = float(Cs[i]), float(mus[j]), *ways[k]
        self.Cs_, self.mus_, self.cv_scores_, self.cv_n_features_ = Cs, mus, scores[k], counts[k]
        self._say_how_it_went(sum(row[2] for row in found), len(tasks) * len(mus), stopped)
        return self

    def mu_path(self, X, y, mus, sample_weight=None):
        """Learn for many prices of a weight with the C that was chosen; see :meth:`KernelFeatureSelector.mu_path`.

        Parameters
        ----------
        X, y, mus, sample_weight
            As there.

        Returns
        -------
        path : MuPath
            The machines.
        """
        check_is_fitted(self, "feature_weights_")
        return self._inner(self.C_, self.init_, self.penalty_).mu_path(X, y, mus, sample_weight)

    def _path(self, way, C, random_state, X, y, mus, weights):
        """Machines along the prices, and how many searches stopped early."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            path = self._inner(C, *way).set_params(random_state=random_state, verbose=0).mu_path(X, y, mus, weights)
        early = [one for one in caught if issubclass(one.category, ConvergenceWarning)]
        for one in caught:
            if one not in early:
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        return path, len(early)

    def _say_how_it_went(self, stopped, n_searches, last):
        if stopped or last:
            warnings.warn(
                f"{type(self).__name__} with method={self.method!r}: {stopped} of {n_searches} searches in the folds "
                f"and {last} on all points stopped with weights still moving. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._say_if_odd(self.mu_)

    def _inner(self, C, init, penalty):
        """The selector with these; its price is given by a path."""
        shared = set(KernelFeatureSelector._get_param_names()) & set(self._get_param_names()) - {"init", "penalty"}
        options = {name: getattr(self, name) for name in shared}
        return KernelFeatureSelector(C, 0.0, init=init, penalty=penalty, **options)

    def _check_prices(self, owner):
        """They are grids, and `fit` looks at them."""

    def _either(self, name):
        """What is to be tried of two: one of them, something else that is given, or both."""
        value = getattr(self, name)
        if isinstance(value, str) and value == "both":
            return {"init": ("ones", "scaled"), "penalty": ("squares", "weights")}[name]
        return (value,)


def _best(scores, counts):
    """Which way, C and price: the highest score, then the fewest features, the highest price, the smallest C.

    Both arrays have an axis for each of these and one for the folds.
    """
    mean, sizes = scores.mean(axis=3).round(12), counts.mean(axis=3)
    return max(np.ndindex(*mean.shape), key=lambda at: (mean[at], -sizes[at], at[2], -at[1], -at[0]))
