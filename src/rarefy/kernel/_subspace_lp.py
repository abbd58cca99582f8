"""The kernel classifier whose training is a linear program in few dimensions."""

import warnings
from dataclasses import dataclass

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted
from threadpoolctl import threadpool_limits

from rarefy._parameters import check_number, one_of, optional_count
from rarefy._progress import progress_bar
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.svm.norm_svm import direct_svm, extra_columns, norm_svm
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._base import KernelEstimator
from rarefy.kernel._subspace import KernelSubspace


@dataclass(frozen=True)
class AlphaPath:
    """Machines for several weights of the norm, in the order in which the weights were given.

    Attributes
    ----------
    alphas : ndarray of shape (n_alphas,)
        The weights.
    coef : ndarray of shape (n_alphas, n_scores, n_components)
        Weights of the coordinates.
    intercept : ndarray of shape (n_alphas, n_scores)
        Intercepts.
    objective, duality_gap, n_iter : ndarrays of shape (n_alphas, n_programs)
        Value, how far it may be from the optimum, and iterations.
    classes : ndarray
        The class labels.
    subspace : KernelSubspace
        The coordinates.
    """

    alphas: np.ndarray
    coef: np.ndarray
    intercept: np.ndarray
    objective: np.ndarray
    duality_gap: np.ndarray
    n_iter: np.ndarray
    classes: np.ndarray
    subspace: KernelSubspace

    def predict(self, X):
        """Labels by every machine, as an array of shape (n_alphas, n_samples)."""
        D = self.subspace.transform(X)
        scores = np.stack([D @ w.T + b for w, b in zip(self.coef, self.intercept, strict=True)])
        return _labels(scores, self.classes)


def _labels(scores, classes):
    """Class of the largest score, or by the sign of a single one; scores are along the last axis."""
    index = (scores[..., 0] > 0).astype(int) if scores.shape[-1] == 1 else scores.argmax(axis=-1)
    return classes[index]


class SubspaceLPSVC(ClassifierMixin, KernelEstimator):
    """A kernel classifier trained by linear programming in an extracted subspace.

    Points get S coordinates in the leading subspace of the kernel's feature space
    (:class:`KernelSubspace`). There the machine minimises ``alpha * ||w|| + sum of hinge losses``: with
    the 1-norm a linear program, and the larger alpha is, the more weights are exactly zero. It is solved in
    its dual by an interior point method for many boxed variables and few equations, which proves how close to
    the optimum it is. All classes share the coordinates.

    Parameters
    ----------
    alpha : float, default=0.1
        Weight of the norm (the authors' C); 0 is robust linear programming.
    norm : {1, 2, "inf"}, default=1
        Norm of w. With 2 it is the ordinary support vector machine with C = ||w|| / alpha.
    multi_class : {"ovr", "direct"}, default="ovr"
        More than two classes: one machine for each class against the others, or all in one linear
        program (norm 1 only).
    n_components, n_samples, kernel, gamma, degree, coef0, kernel_params, sampling
        As in :class:`KernelSubspace`.
    class_weight : dict, "balanced" or None, default=None
        Factors on the losses of the classes.
    tol : float, default=1e-8
        Accepted duality gap, relative to the objective.
    max_iter : int, default=200
        Iterations of the interior point method.
    n_jobs : int or None, default=None
        Threads for the one-against-rest machines.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample.
    verbose : int, default=0
        Whether to show progress.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    coef_ : ndarray of shape (1 or n_classes, n_components)
        Weights of the coordinates.
    intercept_ : ndarray of shape (1 or n_classes,)
        Intercepts.
    objective_, duality_gap_ : ndarrays of shape (n_programs,)
        Value of each program, and how far it may be from its optimum.
    n_iter_ : ndarray of shape (n_programs,)
        Iterations of each program.
    subspace_ : KernelSubspace
        The coordinates.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    References
    ----------
    [YajimaOhiMori2003], [WestonWatkins1998]

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rarefy.kernel import SubspaceLPSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SubspaceLPSVC(n_components=50, n_samples=300, gamma=0.001, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.93)
    True
    >>> model.coef_.shape
    (10, 50)
    """

    def __init__(
        self,
        alpha=0.1,
        *,
        norm=1,
        multi_class="ovr",
        n_components=None,
        n_samples=None,
        kernel="rbf",
        gamma=None,
        degree=3,
        coef0=1,
        kernel_params=None,
        sampling="uniform",
        class_weight=None,
        tol=1e-8,
        max_iter=200,
        n_jobs=None,
        random_state=None,
        verbose=0,
    ):
        self.alpha = alpha
        self.norm = norm
        self.multi_class = multi_class
        self.n_components = n_components
        self.n_samples = n_samples
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.sampling = sampling
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y, sample_weight=None):
        """Extract the subspace and solve the linear programs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The points; with a precomputed kernel, the square kernel matrix.
        y : array-like of shape (n_samples,)
            The classes.
        sample_weight : array-like of shape (n_samples,) or None
            Factors on the losses of the points; the subspace counts points with them as well.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        task = self._task(X, y, sample_weight)
        found = self._solve(task, float(self.alpha), None)
        self._warn(found)
        self.classes_, self.subspace_ = task.classes, task.subspace
        self.coef_ = np.vstack([one.w for one in found])
        self.intercept_ = np.concatenate([one.b for one in found])
        self.objective_ = np.array([one.objective for one in found])
        self.duality_gap_ = np.array([one.gap for one in found])
        self.n_iter_ = np.array([one.n_iter for one in found])
        return self

    def alpha_path(self, X, y, alphas, sample_weight=None):
        """Solve for many weights of the norm, each from the solution of the one before.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        alphas : array-like of shape (n_alphas,)
            Weights of the norm, in any order.

        Returns
        -------
        path : AlphaPath
            The machines. The estimator itself is left as it was.
        """
        alphas = np.asarray(alphas, dtype=np.float64).ravel()
        if not len(alphas) or not np.all(np.isfinite(alphas)) or alphas.min() < 0.0:
            raise ParameterError(
                f"alphas of {type(self).__name__}.alpha_path must be finite numbers >= 0, at least one; got {alphas}."
            )
        copy = type(self)(**self.get_params(deep=False))
        task = copy._task(X, y, sample_weight)
        if hasattr(copy, "feature_names_in_"):  # new points come to the subspace as they came here
            task.subspace.feature_names_in_ = copy.feature_names_in_
        found, before = {}, None
        for i in np.argsort(-alphas):
            found[i] = before = copy._solve(task, float(alphas[i]), before)
        rows = [found[i] for i in range(len(alphas))]
        copy._warn([one for row in rows for one in row])

        def table(read):
            return np.array([[read(one) for one in row] for row in rows])

        return AlphaPath(
            alphas,
            np.stack([np.vstack([one.w for one in row]) for row in rows]),
            np.stack([np.concatenate([one.b for one in row]) for row in rows]),
            table(lambda one: one.objective),
            table(lambda one: one.gap),
            table(lambda one: one.n_iter),
            task.classes,
            task.subspace,
        )

    def decision_function(self, X):
        """Scores: one column for each class, or a single score for two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Points; with a precomputed kernel, their kernel values with all points seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The larger, the more of the class.
        """
        check_is_fitted(self)
        X = self._new(X)
        scores = self.subspace_._coordinates(X) @ self.coef_.T + self.intercept_
        return scores.ravel() if len(self.classes_) == 2 and len(self.coef_) == 1 else scores

    def predict(self, X):
        """Class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `decision_function`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        scores = self.decision_function(X)
        return _labels(scores[:, None] if scores.ndim == 1 else scores, self.classes_)

    def _check_parameters(self):
        owner = type(self).__name__
        check_number("alpha", self.alpha, owner)
        one_of("norm", self.norm, (1, 2, "inf"), owner)
        one_of("multi_class", self.multi_class, ("ovr", "direct"), owner)
        check_number("tol", self.tol, owner, strictly=True)
        optional_count("max_iter", self.max_iter, owner)
        if self.multi_class == "direct" and self.norm != 1:
            raise ParameterError(f"multi_class='direct' of {owner} is a linear program for norm=1; got {self.norm!r}.")

    def _task(self, X, y, sample_weight):
        """Everything the programs share: coordinates, labels, weights."""
        self._check_parameters()
        subspace = KernelSubspace(**{name: getattr(self, name) for name in _SUBSPACE})
        subspace._on_behalf_of = type(self).__name__
        subspace._check_parameters()
        X, y = self._seen(X, y)
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DegenerateDataError(
                f"{type(self).__name__} needs at least two classes to tell apart; y has 1 class, "
                f"{classes.tolist()[0]!r}."
            )
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        subspace.fit(X, sample_weight=weights)
        factors = compute_class_weight(self.class_weight, classes=classes, y=y)
        if not np.all(np.isfinite(factors) & (factors >= 0.0)):
            raise ParameterError(
                f"class_weight of {type(self).__name__} must have finite factors >= 0; got {self.class_weight!r}."
            )
        weights = weights * factors[labels]
        counted = np.bincount(labels, weights=weights)
        if np.count_nonzero(counted) < 2:
            raise DegenerateDataError(
                f"{type(self).__name__} needs at least two classes to tell apart; y has 1 class (counting points with "
                f"a weight), {classes.tolist()[int(counted.argmax())]!r}."
            )
        # Column of ones (and zeros) beside the coordinates: what the linear program wants, without a second copy.
        F = np.zeros((X.shape[0], subspace.n_components_ + extra_columns(self.norm)))
        F[:, subspace.n_components_] = 1.0
        subspace._write(X, F)
        rows = DenseRows(F)
        gram = None if self.multi_class == "direct" and len(classes) > 2 else rows.gram()
        return _Task(rows, gram, labels, classes, weights, subspace)

    def _solve(self, task, alpha, before):
        """All programs at one weight of the norm."""
        common = {"tol": self.tol, "max_iter": self.max_iter or 200}
        if self.multi_class == "direct" and len(task.classes) > 2:
            start = None if before is None else before[0].program
            return [direct_svm(task.rows, task.labels, len(task.classes), alpha, task.weights, start=start, **common)]
        positives = [1] if len(task.classes) == 2 else range(len(task.classes))
        starts = [None] * len(positives) if before is None else [one.program for one in before]
        jobs = min(effective_n_jobs(self.n_jobs), len(positives))
        show = progress_bar("linear programs", self.verbose)

        def one(positive, start):
            y = np.where(task.labels == positive, 1.0, -1.0)
            return norm_svm(task.rows, y, alpha, task.weights, norm=self.norm, start=start, gram=task.gram, **common)

        work = (delayed(one)(positive, start) for positive, start in zip(positives, starts, strict=True))
        found = []
        with threadpool_limits(1 if jobs > 1 else None, user_api="blas"):
            for result in Parallel(n_jobs=jobs, prefer="threads", return_as="generator")(work):
                found.append(result)
                if show is not None:
                    show(len(found), len(positives))
        return found

    def _warn(self, found):
        late = [one for one in found if one.status != "optimal"]
        if late:
            worst = max(late, key=lambda one: one.gap)
            warnings.warn(
                f"{len(late)} of {len(found)} linear programs of {type(self).__name__} were not solved to tol="
                f"{self.tol:g}: the largest duality gap is {worst.gap:.3g} at an objective of {worst.objective:.6g}. "
                "Raise max_iter or tol, or scale the data.",
                ConvergenceWarning,
                stacklevel=3,
            )


_SUBSPACE = (
    "n_components",
    "n_samples",
    "kernel",
    "gamma",
    "degree",
    "coef0",
    "kernel_params",
    "sampling",
    "random_state",
)


@dataclass(frozen=True)
class _Task:
    """What the linear programs share."""

    rows: DenseRows
    gram: np.ndarray | None
    labels: np.ndarray
    classes: np.ndarray
    weights: np.ndarray
    subspace: KernelSubspace
