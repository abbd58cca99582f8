"""Feature selection inside a kernel support vector machine."""

import warnings
from dataclasses import replace

import numpy as np
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from rarefy._parameters import check_count, check_number, check_numbers, draw_seed, one_of, optional_count
from rarefy._progress import progress_line
from rarefy.core.feature_weights.objectives import FeatureKernel, Machines, Profile
from rarefy.core.feature_weights.search import METHODS, Problem, find, smallest_curvature
from rarefy.core.feature_weights.starts import all_apart, scaled_start, screened, vote
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._mu_path import MuPath


class KernelFeatureSelector(SelectorMixin, ClassifierMixin, BaseEstimator):
    """A kernel support vector machine that learns which features matter.

    Feature k gets a weight z_k >= 0 inside the kernel, ``exp(-sum_k z_k^2 (x_k - x'_k)^2)``, and the weights are
    learned together with the machine: ``1/2 ||f||^2 + C sum of smoothed hinge losses + mu sum_k z_k`` is minimised, so
    that most weights become zero, or the same with ``mu sum_k z_k^2``. It finds features that say nothing alone and
    much together, and answers what a machine with a Gaussian kernel cannot: which columns it looks at. Standardise the
    features first.

    The problem is not convex and a weight of zero stays zero, so where one starts matters: `n_starts` starts that vote
    find better solutions than one.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the losses.
    mu : float, default=0.01
        Price of a weight. The larger, the fewer features, though with `penalty` "squares" more can share the work at
        a higher price than at a lower one.
    method : {"ao2", "ao1", "ao", "full", "reduced", "gmkl"}, default="ao2"
        How to search. "ao" solves for the machine and for the weights in turn; "ao1" lets the search for weights move
        the margin as well; "ao2" lets it maximise the functional margin; "full" moves everything together; "reduced"
        moves the weights, with the machine solved anew at every place; "gmkl" is the gradient method of Varma and
        Babu, which has `penalty` "squares" and an `eps` of 0.05, whatever these are set to.
    penalty : {"weights", "squares"}, default="weights"
        What `mu` is the price of. Squares are cheap while they are small, so more features stay and share the work.
    polish : bool, default=True
        Whether "ao", "ao1", "ao2" and "full" end with "reduced", which converges fast where they are slow; it has 300
        steps of its own.
    init : {"ones", "scaled"} or array-like of shape (n_features,), default="ones"
        Weights to start from. With "scaled" all are equal and the mean squared distance of two points is 1. A feature
        that starts at zero is left out.
    n_starts : int, default=1
        Searches from shaken starts, in rounds: features that few of them find are dropped for the next round.
    kernel : {"rbf", "poly"}, default="rbf"
        The Gaussian, or ``(sum_k z_k^2 x_k x'_k + coef0) ** degree``.
    degree, coef0 : int and float
        Of the polynomial kernel.
    screening : int or None, default=None
        Work on so many features at a time, and bring in others while that lowers the objective. None means all.
    eps : float, default=0.5
        Half the length of the curved piece of the smoothed hinge.
    tol : float, default=1e-3
        Accepted relative change of a weight.
    max_iter : int or None, default=None
        Rounds of "ao", "ao1", "ao2" (None: 30), steps of "full" and "reduced" (300) and "gmkl" (100).
    random_state : int, RandomState instance or None, default=None
        Seed of the shaken starts.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features_in_,)
        The weights z.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected features: those whose weight times their standard deviation is more than a hundredth of
        the largest such number.
    ranking_ : ndarray of shape (n_features_in_,)
        1 for the largest weight times standard deviation, 2 for the next; equal ones have equal ranks.
    curvature_ : float
        Smallest eigenvalue of the Hessian in the selected weights, the machine following them: negative at a saddle
        point, not negative at a minimiser, up to rounding where a direction is flat. With `penalty` "squares" in all
        weights, because zero is no bound there. nan for "gmkl", whose objective is another one.
    objective_ : float
        What was reached.
    history_ : ndarray
        The objective after every round.
    n_iter_ : int
        Rounds or steps, without those of the polish.
    dual_coef_ : ndarray of shape (n_machines, n_support_vectors)
        Coefficients of the kernel functions.
    intercept_ : ndarray of shape (n_machines,)
        Intercepts.
    support_vectors_ : ndarray of shape (n_support_vectors, n_nonzero)
        The points of the kernel functions, in the features that have a weight, if only a faint one.
    classes_ : ndarray of shape (n_classes,)
        The class labels; more than two get one machine each, against the others, with the same weights.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    KernelFeatureSelectorCV : Chooses C and mu.

    References
    ----------
    [Tayal2014], [VarmaBabu2009]

    Examples
    --------
    No single column tells the two classes apart, two of them together do:

    >>> import numpy as np
    >>> from rarefy.kernel import KernelFeatureSelector
    >>> X = np.random.default_rng(0).standard_normal((120, 8))
    >>> y = np.where(X[:, 2] * X[:, 5] > 0, "same", "different")
    >>> model = KernelFeatureSelector(C=1.0, mu=1.0).fit(X, y)
    >>> model.get_support(indices=True)
    array([2, 5])
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    _inits = ("ones", "scaled")
    _penalties = ("weights", "squares")

    def __init__(
        self,
        C=1.0,
        mu=0.01,
        *,
        method="ao2",
        penalty="weights",
        polish=True,
        init="ones",
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
        self.C = C
        self.mu = mu
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
        """Learn the weights and the machine.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The points; sparse input is made dense.
        y : array-like of shape (n_samples,)
            The classes.
        sample_weight : array-like of shape (n_samples,) or None
            Factors on the losses of the points.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        problem, classes = self._problem(*self._data(X, y, sample_weight))
        self._store(problem, classes, self._search(problem, self._start(problem)))
        self._say_if_odd(float(self.mu))
        return self

    def mu_path(self, X, y, mus, sample_weight=None):
        """Learn for many prices of a weight, each from the weights of the one before.

        It goes from the smallest price to the largest, and features leave one after the other. One that has no weight
        left does not come back when weights are paid for; when squares are, it can. `n_starts` and `screening` are for
        the smallest price; the others have a place to start from.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        mus : array-like of shape (n_mus,)
            Prices, in any order.

        Returns
        -------
        path : MuPath
            The machines. The estimator itself is left as it was.
        """
        mus = check_numbers("mus", mus, f"{type(self).__name__}.mu_path")
        models, z = [self._with_price(float(mu)) for mu in mus], None
        problem, classes = models[0]._problem(*models[0]._data(X, y, sample_weight))
        seen = {name: value for name, value in vars(models[0]).items() if name.endswith("_in_")}
        for i in np.argsort(mus, kind="stable"):
            model = models[i]
            vars(model).update(seen)
            problem = replace(problem, machines=replace(problem.machines, mu=model.mu))
            found = model._search(problem, model._start(problem) if z is None else z, once=z is not None)
            model._store(problem, classes, found)
            z = found.z if found.z.any() else z
        return MuPath(
            mus,
            np.stack([model.feature_weights_ for model in models]),
            np.array([int(model.support_.sum()) for model in models]),
            np.array([model.objective_ for model in models]),
            models,
        )

    def decision_function(self, X):
        """Scores: one column for each class, or a single score for two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The larger, the more of the class.
        """
        check_is_fitted(self, "feature_weights_")
        X = self._dense(validate_data(self, X, reset=False, accept_sparse="csr", dtype=(np.float64, np.float32)))
        alive = np.flatnonzero(self.feature_weights_ > 0.0)
        kernel = FeatureKernel(X[:, alive], self.support_vectors_, self._profile())
        scores = kernel.matrix(self.feature_weights_[alive]) @ self.dual_coef_.T + self.intercept_
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X):
        """Class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        return self.classes_[(scores > 0.0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def _check_prices(self, owner):
        check_number("C", self.C, owner, strictly=True)
        check_number("mu", self.mu, owner)

    def _check_parameters(self):
        owner = type(self).__name__
        self._check_prices(owner)
        one_of("method", self.method, METHODS, owner)
        one_of("penalty", self.penalty, self._penalties, owner)
        one_of("kernel", self.kernel, ("rbf", "poly"), owner)
        check_number("eps", self.eps, owner, strictly=True)
        check_number("tol", self.tol, owner, strictly=True)
        check_number("coef0", self.coef0, owner)
        for name in ("n_starts", "degree"):
            check_count(name, getattr(self, name), owner)
        for name in ("screening", "max_iter"):
            optional_count(name, getattr(self, name), owner)
        one_of("polish", self.polish, (True, False), owner)
        if isinstance(self.init, str):
            one_of("init", self.init, self._inits, owner)

    def _with_price(self, mu):
        return KernelFeatureSelector(**{**self.get_params(deep=False), "mu": mu})

    def _data(self, X, y, sample_weight):
        """Points, labels and weights, as they should be."""
        self._check_parameters()
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_min_samples=2)
        check_classification_targets(y)
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        X = self._dense(X)
        with np.errstate(over="ignore"):
            if not np.isfinite(np.vdot(X, X)):
                raise DegenerateDataError(
                    f"{type(self).__name__} takes squares of distances, and those of X are too large for a floating "
                    f"point number: X goes up to {np.abs(X).max():.3g}. Standardise the features."
                )
        return X, y, weights

    def _problem(self, X, y, weights):
        """What is to be solved, without points that have no weight, and the classes.

        Equal points become one, and all are put in order: the search goes one way or another by its last digits, and
        should not do so by the order of the rows or by whether a point is written twice or has weight two.
        """
        X, y, weights = X[weights > 0.0], y[weights > 0.0], weights[weights > 0.0]
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DegenerateDataError(
                f"{type(self).__name__} needs at least two classes to tell apart; y has 1 class"
                + (f", {classes.tolist()[0]!r}, with a weight." if len(classes) else " at most: all weights are zero.")
            )
        rows, where = np.unique(np.column_stack([labels, X]), axis=0, return_inverse=True)
        X, labels, weights = np.ascontiguousarray(rows[:, 1:]), rows[:, 0], np.bincount(where.ravel(), weights)
        positives = [1] if len(classes) == 2 else range(len(classes))
        Y = np.column_stack([np.where(labels == positive, 1.0, -1.0) for positive in positives])
        power = 2 if self.penalty == "squares" or self.method == "gmkl" else 1
        machines = Machines(Y, float(self.C) * weights, float(self.mu), float(self.eps), power)
        return Problem(X, machines, self._profile()), classes

    @staticmethod
    def _dense(X):
        """In double precision, because differences of squares are formed."""
        return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)

    def _profile(self):
        return Profile(self.kernel, int(self.degree), float(self.coef0))

    def _start(self, problem):
        """Weights to begin with; columns in which no two points differ have none."""
        d = problem.X.shape[1]
        if not isinstance(self.init, str):
            z = self._given_start(d)
        elif self.init == "ones":
            z = np.ones(d)
        else:
            z = scaled_start(problem)
        return z if self.kernel != "rbf" else np.where(np.ptp(problem.X, axis=0) > 0.0, z, 0.0)

    def _given_start(self, d):
        try:
            z = np.array(self.init, dtype=np.float64)
            got = f"an array of shape {z.shape}"
        except (TypeError, ValueError):
            z, got = None, repr(self.init)
        if z is not None and z.shape == (d,):
            if np.all(np.isfinite(z)) and z.min() >= 0.0 and z.any():
                return z
            got = f"{z}"
        words = ", ".join(repr(word) for word in self._inits)
        raise ParameterError(
            f"init of {type(self).__name__} must be {words} or {d} finite weights >= 0, one for each feature and not "
            f"all zero; got {got}."
        )

    def _search(self, problem, z, *, once=False):
        """The search with all that was asked for around it; with `once`, from these weights and no others."""
        starts = 1 if once else int(self.n_starts)
        rng = np.random.default_rng(draw_seed(self.random_state) if starts > 1 else 0)
        count = 0
        with problem.threads(), progress_line(self.verbose) as show:

            def callback(n, value, z):
                price = f"mu={self.mu:.3g}, " if self.mu else ""
                show(f"{price}search {count}: round {n + 1}, objective {value:.6g}, {np.count_nonzero(z)} features")

            def search(problem, z):
                nonlocal count
                count += 1
                limits = {"polish": self.polish, "tol": float(self.tol), "max_iter": self.max_iter}
                return find(problem, z, self.method, **limits, callback=None if show is None else callback)

            def with_starts(problem, z):
                return vote(problem, z, search, starts, rng)

            if self.screening is not None and self.screening < np.count_nonzero(z) and not once:
                return screened(problem, z, with_starts, int(self.screening))
            return with_starts(problem, z)

    def _store(self, problem, classes, found):
        if not found.converged:
            warnings.warn(
                f"{type(self).__name__} with method={self.method!r} stopped after {found.n_iter} rounds with weights "
                "still moving. Raise max_iter or tol.",
                ConvergenceWarning,
                stacklevel=3,
            )
        self.classes_, self.feature_weights_ = classes, found.z
        self.support_ = np.zeros(len(found.z), dtype=bool)
        self.support_[problem.present(found.z)] = True
        self.ranking_ = rankdata(-found.z * problem.scales, method="min").astype(int)
        self.objective_, self.history_, self.n_iter_ = found.objective, np.array(found.history), found.n_iter
        centres = np.flatnonzero(np.any(found.B != 0.0, axis=1))
        self.dual_coef_, self.intercept_ = found.B[centres].T.copy(), found.b.copy()
        self.support_vectors_ = problem.X[np.ix_(centres, np.flatnonzero(found.z > 0.0))]
        with problem.threads():
            self.curvature_ = np.nan if self.method == "gmkl" else smallest_curvature(problem, found)
        return self

    def _say_if_odd(self, mu):
        """What a user would like to know of a result that is hardly one."""
        name = type(self).__name__
        if not self.support_.any():
            warnings.warn(
                f"{name} selected no feature: none is worth its price mu={mu:.4g}, or the weights it starts from tell "
                "no two points apart. Lower mu; standardise the features, or use init='scaled'.",
                UserWarning,
                stacklevel=3,
            )
        elif self.kernel == "rbf" and all_apart(
            self.support_vectors_, self.feature_weights_[self.feature_weights_ > 0.0]
        ):
            warnings.warn(
                f"{name} ended with weights under which no two points are near each other, so it knows the points by "
                "heart and nothing else. Standardise the features, or use init='scaled' or a higher mu.",
                UserWarning,
                stacklevel=3,
            )

    def _get_support_mask(self):
        check_is_fitted(self, "feature_weights_")
        return self.support_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
