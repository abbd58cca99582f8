"""Feature selection inside a kernel support vector machine, its prices and its start chosen on held-out points."""

from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import check_cv
from sklearn.utils.validation import check_is_fitted

from rarefy._parameters import adopt, one_of
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._feature_selector import KernelFeatureSelector


class KernelFeatureSelectorCV(KernelFeatureSelector):
    """KernelFeatureSelector with C, mu and the start of the search chosen by cross-validated accuracy.

    For every C and every fold one path of prices is followed, each price from the weights of the one before. Of equal
    scores the one with the fewest features wins, on average over the folds.

    Parameters
    ----------
    Cs : array-like or None, default=None
        Weights of the losses to try; None means 1, 4 and 16.
    mus : array-like or None, default=None
        Prices of a weight to try; None means 2^-8, 2^-6, ..., 2^2.
    cv : int, splitter, iterable or None, default=None
        How to split; None means five stratified folds.
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
        Accuracy on the held-out folds, with this start and penalty.
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

    def __init__(
        self,
        Cs=None,
        mus=None,
        *,
        cv=None,
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

    def fit(self, X, y, sample_weight=None):
        """Choose C, mu and the start, and learn with them from all points.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`KernelFeatureSelector.fit`.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        Cs = self._grid("Cs", self.Cs, 4.0 ** np.arange(3))
        mus = np.sort(self._grid("mus", self.mus, 4.0 ** np.arange(-4, 2)))
        penalties = ("squares",) if self.method == "gmkl" else self._either("penalty", ("squares", "weights"))
        ways = list(product(self._either("init", ("ones", "scaled")), penalties))
        points, labels, weights = self._inner(float(Cs[0]), *ways[0])._data(X, y, sample_weight)
        folds = list(check_cv(self.cv, labels, classifier=True).split(points, labels))

        def one(way, C, train, test):
            path = self._inner(C, *way).mu_path(points[train], labels[train], mus, weights[train])
            right = path.predict(points[test]) == labels[test]
            total = weights[test].sum()
            return right @ weights[test] / total if total > 0.0 else np.full(len(mus), np.nan), path.n_features

        tasks = [(way, float(C), *fold) for way in ways for C in Cs for fold in folds]
        found = Parallel(n_jobs=self.n_jobs)(delayed(one)(*task) for task in tasks)
        shape = len(ways), len(Cs), len(folds), len(mus)
        scores, counts = (np.array(part).reshape(shape).swapaxes(2, 3) for part in zip(*found, strict=True))
        counted = np.isfinite(scores).all(axis=(0, 1, 2))
        if not counted.any():
            raise DegenerateDataError(f"{type(self).__name__} found no fold with points that count to check with.")
        k, i, j = _best(scores[..., counted], counts[..., counted])
        # Along the path up to the price, as in the folds.
        fitted = self._inner(float(Cs[i]), *ways[k]).mu_path(X, y, mus[: j + 1], sample_weight).models[-1]
        adopt(self, fitted)
        self.C_, self.mu_, self.init_, self.penalty_ = float(Cs[i]), float(mus[j]), *ways[k]
        self.Cs_, self.mus_, self.cv_scores_, self.cv_n_features_ = Cs, mus, scores[k], counts[k]
        self._say_if_empty(self.mu_)
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

    def _inner(self, C, init, penalty):
        """The selector with these; its price is given by a path."""
        shared = set(KernelFeatureSelector._get_param_names()) & set(self._get_param_names()) - {"init", "penalty"}
        options = {name: getattr(self, name) for name in shared}
        return KernelFeatureSelector(C, 0.0, init=init, penalty=penalty, **options)

    def _either(self, name, choices):
        """What is to be tried of two: one of them, something else that is given, or both."""
        value = getattr(self, name)
        if isinstance(value, str):
            one_of(name, value, ("both", *choices), type(self).__name__)
            return choices if value == "both" else (value,)
        return (value,)

    def _grid(self, name, values, default):
        values = default if values is None else np.asarray(values, dtype=np.float64).ravel()
        positive = name == "Cs"
        if not len(values) or not np.all(np.isfinite(values)) or values.min() < 0.0 or (positive and not values.min()):
            sign = ">" if positive else ">="
            raise ParameterError(
                f"{name} of {type(self).__name__} must be finite numbers {sign} 0, at least one; got {values}."
            )
        return values


def _best(scores, counts):
    """Which way, C and price: the highest score, then the fewest features, the highest price, the smallest C.

    Both arrays have an axis for each of these and one for the folds.
    """
    mean, sizes = scores.mean(axis=3).round(12), counts.mean(axis=3)
    return max(np.ndindex(*mean.shape), key=lambda at: (mean[at], -sizes[at], at[2], -at[1], -at[0]))
