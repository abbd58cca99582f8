"""The kernel classifier whose training is a linear program in few dimensions."""

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from rarefy._fit import fit_method
from rarefy._input import labelled, lazily, remember_columns
from rarefy._parameters import COUNT, NOT_NEGATIVE, POSITIVE, Number, check_grid
from rarefy._validation import check_labels, check_weights
from rarefy._warnings import warn_user
from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.threads import threads_over
from rarefy.exceptions import DegenerateDataError
from rarefy.kernel._extraction import Subspace
from rarefy.kernel._path import RegularizationPath
from rarefy.kernel._subspace import SUBSPACE_CONSTRAINTS, KernelSubspace, SubspaceEstimator
from rarefy.kernel._subspace_programs import Solution, SubspacePrograms, check_program, loss_weights, subspace_programs


@dataclass(frozen=True)
class _Training:
    """What models for all alphas share."""

    classes: NDArray[Any]
    subspace: KernelSubspace
    programs: SubspacePrograms


class SubspaceLPSVC(ClassifierMixin, SubspaceEstimator):
    """Classify by a kernel SVM that is trained by linear programming in a subspace.

    Samples get S coordinates in the leading subspace of the kernel's feature space (:class:`KernelSubspace`). There the
    classifier minimises ``alpha * ||w|| + sum of hinge losses``: with the 1-norm this is a linear program, and the
    larger alpha is, the more weights are exactly zero. The dual program is solved by an interior point method for many
    boxed variables and few equations, which proves how close to the optimum it is. All classes share the coordinates.

    Parameters
    ----------
    alpha : float, default=0.3
        Weight of the norm (the authors' C); 0 is robust linear programming.
    norm : float >= 1 or "inf", default=1
        Norm of w. With 2 it is the ordinary support vector machine with C = ||w|| / alpha. Numbers other than 1 and 2
        take tens of quadratic programs for each class.
    multi_class : {"ovr", "direct"}, default="ovr"
        With more than two classes, one program for each class against the others, or one linear program for all
        classes (for norm 1 and "inf").
    n_components : int, "auto" or None, default=None
        Dimension S of the subspace; None means a tenth of the number of samples, but at least 100 and at most 400, or
        the number of landmarks if that is smaller; "auto" the fewest dimensions that keep `target`.
    target : dict or None, default=None
        With "auto", what they are to keep, as in :class:`KernelSubspace`; None means ``{"objective": 0.9}``.
    n_landmarks : int or None, default=None
        Number L of landmarks that span the subspace; None means 1000 or five times `n_components`, whichever is more,
        or all samples if they are fewer. Not used when `landmarks` is an array.
    landmarks : {"random", "kmeans", "leverage", "cholesky"} or array-like of int, default="random"
        How the landmarks are chosen: at random; centres of clusters; at random with probabilities that grow with what a
        sample adds to the subspace; one by one the sample that those before represent worst; or the samples with these
        row numbers.
    standardize : bool or "auto", default="auto"
        Whether columns are divided by their standard deviations before the kernel compares samples. "auto" does so if
        otherwise few columns, those with the largest units, would decide (fewer than 40 % of the columns, by the ratio
        of the squared sum of variances to the sum of their squares), and never for sparse input or a kernel that is a
        function.
    kernel : str or callable, default="rbf"
        Any kernel that :class:`KernelSubspace` takes.
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
        Further parameters of the kernel, before `gamma`, `degree` and `coef0`.
    class_weight : dict, "balanced" or None, default=None
        Factors on the losses of the classes.
    tol : float or "predictions", default=1e-8
        Accepted duality gap, relative to the objective. With "predictions" all classes are trained together by a
        first-order method that stops when in ten iterations fewer than one in 200 predictions for the training samples
        change: faster for many samples, with nearly the same predictions. No weights are zero; the proved gap is wide.
    max_iter : int, default=200
        Maximum number of iterations of the interior point method.
    n_jobs : int or None, default=None
        Threads for the programs of one class against the others; None means as many as BLAS products may use here.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice of landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    coef_ : ndarray of shape (1, n_components) or (n_classes, n_components)
        Weights of the coordinates; a single row for two classes.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    objective_ : ndarray of shape (n_programs,)
        Value of the objective of each program.
    duality_gap_ : ndarray of shape (n_programs,)
        How far each value may be from its optimum.
    n_iter_ : ndarray of shape (n_programs,)
        Iterations of each program.
    subspace_ : KernelSubspace
        The fitted transformer that computes the coordinates.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    SubspaceLPSVCCV : With parameters chosen on held-out samples, and probabilities.
    KernelSubspace : The coordinates alone, as a transformer.
    RegularizationPath : What `alpha_path` returns.
    sklearn.svm.SVC : A kernel SVM in all dimensions.

    References
    ----------
    [YajimaOhiMori2003] Y. Yajima, H. Ohi and M. Mori: Extracting feature subspace for kernel based linear programming
    support vector machines (2003).

    [WestonWatkins1998] J. Weston and C. Watkins: Multi-class support vector machines, technical report CSD-TR-98-04,
    Royal Holloway, University of London (1998).

    [BennettMangasarian1992] K. P. Bennett and O. L. Mangasarian: Robust linear programming discrimination of two
    linearly inseparable sets, Optimization Methods and Software 1 (1992).

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from rarefy.kernel import SubspaceLPSVC
    >>> X, y = load_digits(return_X_y=True)
    >>> model = SubspaceLPSVC(n_components=50, n_landmarks=300, gamma=0.001, random_state=0).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.93)
    True
    >>> model.coef_.shape
    (10, 50)
    """

    _default_target: ClassVar[dict[str, Any]] = {"objective": 0.9}
    _parameter_constraints = SUBSPACE_CONSTRAINTS | {
        "alpha": [NOT_NEGATIVE],
        "norm": [Number(Real, 1, np.inf, closed="left"), StrOptions({"inf"})],
        "multi_class": [StrOptions({"ovr", "direct"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "tol": [POSITIVE, StrOptions({"predictions"})],
        "max_iter": [COUNT],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        alpha: float = 0.3,
        *,
        norm: Any = 1,
        multi_class: str = "ovr",
        n_components: int | str | None = None,
        target: dict[str, Any] | None = None,
        n_landmarks: int | None = None,
        landmarks: Any = "random",
        standardize: bool | str = "auto",
        kernel: Any = "rbf",
        gamma: float | str | None = "mean_distance",
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        class_weight: dict[Any, float] | str | None = None,
        tol: float | str = 1e-8,
        max_iter: int = 200,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.norm = norm
        self.multi_class = multi_class
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
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Extract the subspace and solve the linear programs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix, or the kernel values with the samples
            whose row numbers are in `landmarks`, one column for each.
        y : array-like of shape (n_samples,)
            The classes.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors on the losses of the samples. They also enter the choice of the subspace, as in
            :meth:`KernelSubspace.fit`.

        Returns
        -------
        self : object
            The fitted classifier.

        Raises
        ------
        ParameterError
            If a parameter is out of its range.
        DegenerateDataError
            If there are fewer than two classes, or no subspace.
        """
        training = self._prepare(X, y, sample_weight)
        solution = training.programs.solve(float(self.alpha), n_jobs=self.n_jobs)
        self._warn_unsolved([solution])
        return self._store(training, solution)

    def alpha_path(self, X: Any, y: Any, alphas: Any, sample_weight: Any = None) -> RegularizationPath:
        """Solve for many weights of the norm, each from the solution of its neighbour.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The samples; with a precomputed kernel, the square kernel matrix, or the kernel values with the samples
            whose row numbers are in `landmarks`, one column for each.
        y : array-like of shape (n_samples,)
            The classes.
        alphas : array-like of shape (n_alphas,)
            Weights of the norm, in any order.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors on the losses of the samples, as in `fit`.

        Returns
        -------
        path : RegularizationPath
            One fitted classifier for each weight, all in the same subspace. The estimator itself is not changed.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.datasets import load_iris
        >>> from rarefy.kernel import SubspaceLPSVC
        >>> X, y = load_iris(return_X_y=True)
        >>> path = SubspaceLPSVC(n_components=10, gamma="scale").alpha_path(X, y, [10.0, 0.1])
        >>> path.predict(X).shape
        (2, 150)
        >>> zeros = np.mean(path.attribute("coef_") == 0, axis=(1, 2))
        >>> bool(zeros[0] > zeros[1])
        True
        """
        values = check_grid("alphas", alphas, f"{type(self).__name__}.alpha_path", zero=True)
        return type(self)(**self.get_params(deep=False))._fit_path(X, y, values, sample_weight)

    @fit_method
    def _fit_path(self, X: Any, y: Any, alphas: Array, sample_weight: Any) -> RegularizationPath:
        """Fitted copies of this one, which only remembers the features it has seen."""
        training = self._prepare(X, y, sample_weight)
        solutions = training.programs.solve_path(alphas, n_jobs=self.n_jobs)
        self._warn_unsolved(solutions)
        models = tuple(
            copy(self).set_params(alpha=alpha)._store(training, solution)
            for alpha, solution in zip(alphas.tolist(), solutions, strict=True)
        )
        return RegularizationPath("alpha", alphas, models, partial(_scores_of_all, models))

    def decision_function(self, X: Any) -> Array:
        """Compute scores: one column for each class, or a single score for two classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with the samples that had columns in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            The larger the score, the more likely the class; for two classes it is that of the second.
        """
        check_is_fitted(self)
        subspace, width = self.subspace_._subspace, None if len(self.coef_) == 1 else len(self.coef_)
        lazy = lazily(self, X, lambda block: self._scores(subspace.coordinates(block)), np.float64, width)
        if lazy is not None:
            return lazy
        return subspace.each(self._validate_new(X, subspace.kernel.kernel), self._scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict class labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with the samples that had columns in `fit`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return labelled(self.decision_function(X), self._labels, self.classes_.dtype)

    def _coordinates(self, X: Any) -> Array:
        return self.subspace_._subspace.coordinates(self._validate_new(X, self.subspace_.kernel_.kernel))

    def _scores(self, D: Array) -> Array:
        """Scores of samples with coordinates D."""
        scores = D @ self.coef_.T + self.intercept_
        return scores.ravel() if len(self.coef_) == 1 else scores

    def _labels(self, scores: Array) -> NDArray[Any]:
        """Class of the largest score, or by the sign of a single one."""
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=-1)]

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> _Training:
        """Validate the input; coordinates, labels and weights for all programs."""
        self._check_together()
        data, y = self._validate_training(X, y)
        y = check_labels(y, f"y of {type(self).__name__}")
        check_classification_targets(y)
        classes, labels = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise DegenerateDataError(
                f"{type(self).__name__} needs at least two classes; y has 1 class, {classes.tolist()[0]!r}."
            )
        weights = check_weights(sample_weight, data, type(self).__name__)
        losses = loss_weights(self.class_weight, y, classes, labels, weights, type(self).__name__)
        with threads_over(data.shape[0] * min(data.shape[0], 1000)):
            subspace = self._extract(data, y, weights)
            programs = subspace_programs(
                subspace,
                data,
                labels,
                losses,
                n_classes=len(classes),
                norm=self.norm,
                multi_class=self.multi_class,
                tol=self.tol,
                max_iter=self.max_iter,
            )
        return _Training(classes, self._transformer(X, subspace), programs)

    def _check_together(self) -> None:
        self._check_landmarks()
        check_program(self.norm, self.multi_class, self.tol, type(self).__name__)

    def _transformer(self, X: Any, subspace: Subspace) -> KernelSubspace:
        """The subspace as a transformer that has seen the same features."""
        transformer = KernelSubspace(**{name: getattr(self, name) for name in KernelSubspace().get_params()})
        remember_columns(transformer, X)
        return transformer._store(subspace)

    def _warn_unsolved(self, solutions: Sequence[Solution]) -> None:
        programs = [one for solution in solutions for one in solution.programs]
        late = [one for one in programs if one.status != "optimal"]
        if late and self.tol == "predictions":
            warn_user(
                f"predictions of {type(self).__name__} still changed after {late[0].n_iter} iterations. Use a number "
                "for tol.",
                ConvergenceWarning,
            )
        elif late:
            worst = max(late, key=lambda one: one.gap)
            warn_user(
                f"{len(late)} of {len(programs)} linear programs of {type(self).__name__} were not solved to tol="
                f"{self.tol:g}: the largest duality gap is {worst.gap:.3g} at an objective of {worst.objective:.6g}. "
                "Raise max_iter or tol, or scale the data.",
                ConvergenceWarning,
            )

    def _store(self, training: _Training, solution: Solution) -> Self:
        self.classes_, self.subspace_ = training.classes, training.subspace
        self.coef_, self.intercept_ = solution.coef, solution.intercept
        self.objective_, self.duality_gap_ = solution.objective, solution.duality_gap
        self.n_iter_ = solution.n_iter
        return self


def _scores_of_all(models: Sequence[SubspaceLPSVC], X: Any) -> Array:
    """Scores by models in the same subspace, whose coordinates are computed once."""
    D = models[0]._coordinates(X)
    return np.stack([model._scores(D) for model in models])
