"""Feature selection inside kernel ridge regression."""

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from rarefy._estimator import Estimator
from rarefy._fit import fit_method
from rarefy._input import as_source, lazily, validated
from rarefy._parameters import COUNT, NOT_NEGATIVE, POSITIVE, SHARE, Number
from rarefy._selection_table import SelectionTable
from rarefy._validation import check_weights
from rarefy._warnings import warn_user
from rarefy.backends.samples import Samples
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.core.feature_weights.kernel import Profile, Shape
from rarefy.core.feature_weights.penalties import PENALTIES, Penalty
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.feature_weights.regressors import Regressors, explained, random_part, response_problem
from rarefy.core.feature_weights.samples import Units, Validation, keep_rows, standardized
from rarefy.core.feature_weights.selection import FeatureSelection, SearchSettings
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import DegenerateDataError, RarefyWarning
from rarefy.kernel._feature_model import FeatureWeightsModel, Task, scores_of
from rarefy.kernel._feature_samples import (
    STARTS,
    check_groups,
    dense_copy,
    warn_if_degenerate,
    warn_not_converged,
)

_FEWEST = 20
"""Held-out samples below which nothing is said about them."""


class KernelFeatureRegressor(SelectionTable, FeatureWeightsModel, RegressorMixin, Estimator):
    """Kernel ridge regression that learns a weight for every feature and sets most weights to zero.

    The same as :class:`KernelFeatureSelector` for a numeric response: ``1/2 ||f||^2 + C sum of (y - f(x))^2 + mu sum_k
    z_k`` is minimised over the regression function f and the weights z_k >= 0 of the features inside a Gaussian kernel.
    The response is centred and divided by its standard deviation first. Kernel matrices of all samples are computed for
    up to 1500 of them; for more there is a landmark form, and data in blocks are taken.

    Parameters
    ----------
    C : float, default=1.0
        Factor on the losses of the standardised response, > 0.
    mu : float or "auto", default="auto"
        Factor on the penalty of the weights, >= 0. "auto" is a fifteenth of the losses of the best constant:
        ``C n_samples / 15``.
    penalty : {"weights", "squares"}, default="weights"
        Whether the penalty is the sum of the weights or of their squares.
    init : {"auto", "ones", "scaled", "interactions"} or array-like of shape (n_features,), default="auto"
        The weights at the start, see :class:`KernelFeatureSelector`.
    standardize : bool, default=True
        Whether features are centred and divided by their standard deviations first.
    prune : float, default=0.2
        Share of the largest weight below which features are dropped; the others are learned again.
    n_landmarks : int, None or "auto", default="auto"
        Number of kernel functions, see :class:`KernelFeatureSelector`; "auto" means as many as samples for up to 1500
        of them, and 500 for more. There is no `curvature_` with fewer than samples.
    validation_fraction : float or None, default=0.25
        Share of the samples that are left out of an additional fit, to see whether it explains them; a warning says if
        it does not. None means no such fit; nor is there one with fewer than 20 samples in that share.
    groups : array-like of shape (n_features,) or None, default=None
        Labels of groups of features that share one weight, see :class:`KernelFeatureSelector`; None means that every
        feature has its own weight.
    kernel : {"rbf", "laplacian"}, default="rbf"
        The Gaussian kernel, or the slower Laplacian ``exp(-sum_k z_k^2 |x_k - x'_k|)``.
    screening : int or None, default=None
        Number of features to search among at first; None means all.
    tol : float, default=1e-3
        Relative decrease of the objective at which to stop, times 100, > 0.
    max_iter : int or None, default=None
        Largest number of steps; None means 300.

    Attributes
    ----------
    feature_weights_ : ndarray of shape (n_features_in_,)
        The weights z: of the standardised features, or of the features as they are with ``standardize=False``.
    raw_feature_weights_ : ndarray of shape (n_features_in_,)
        The weights of the features in their own units.
    support_ : ndarray of shape (n_features_in_,)
        Mask of the selected features.
    groups_ : ndarray of shape (n_groups,)
        The labels of the groups in ascending order; the numbers of the features without `groups`.
    group_weights_ : ndarray of shape (n_groups,)
        The weight of each group; `feature_weights_` has it for each of its features.
    ranking_ : ndarray of shape (n_features_in_,)
        Rank of each feature by weight times standard deviation; 1 is the largest.
    mu_ : float
        The factor on the penalty that was used.
    validation_score_ : float
        Share of the variance (R^2) of the samples left out that the additional fit explains; nan without one.
    curvature_ : float
        Smallest eigenvalue of the Hessian, in the selected weights, of what `objective_` is the value of, after
        minimisation over f; with ``penalty="squares"`` in all weights. Negative at a saddle point.
    objective_ : float
        The value of the objective.
    history_ : ndarray of shape (n_values,)
        The objective after every round.
    n_iter_ : int
        Number of steps.
    converged_ : bool
        Whether the search converged within `max_iter`.
    dual_coef_ : ndarray of shape (1, n_support_vectors)
        Coefficients of the kernel functions, in units of the response.
    intercept_ : ndarray of shape (1,)
        Intercept.
    support_vectors_ : ndarray of shape (n_support_vectors, n_nonzero)
        The samples of the kernel functions, in the features with a nonzero weight and in the units of X.
    mean_, scale_ : ndarray of shape (n_features_in_,)
        What is subtracted from the features and what they are divided by.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, if X has names that are all strings.

    See Also
    --------
    KernelFeatureSelector : The same for classes.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.kernel import KernelFeatureRegressor
    >>> X = np.random.default_rng(0).standard_normal((150, 20))
    >>> y = X[:, 3] * X[:, 8]
    >>> model = KernelFeatureRegressor().fit(X, y)
    >>> model.get_support(indices=True)
    array([3, 8])
    >>> bool(model.score(X, y) > 0.8)
    True
    """

    _guide = "kernel_features"
    _works_on_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "C": [POSITIVE],
        "mu": [NOT_NEGATIVE, StrOptions({"auto"})],
        "penalty": [StrOptions(set(PENALTIES))],
        "init": [StrOptions(set(STARTS)), "array-like"],
        "standardize": ["boolean"],
        "prune": [Number(Real, 0, 1, closed="left")],
        "n_landmarks": [COUNT, StrOptions({"auto"}), None],
        "validation_fraction": [SHARE, None],
        "groups": ["array-like", None],
        "kernel": [StrOptions({"rbf", "laplacian"})],
        "screening": [COUNT, None],
        "tol": [POSITIVE],
        "max_iter": [COUNT, None],
    }

    def __init__(
        self,
        C: float = 1.0,
        mu: float | str = "auto",
        *,
        penalty: str = "weights",
        init: Any = "auto",
        standardize: bool = True,
        prune: float = 0.2,
        n_landmarks: int | str | None = "auto",
        validation_fraction: float | None = 0.25,
        groups: Any = None,
        kernel: Shape = "rbf",
        screening: int | None = None,
        tol: float = 1e-3,
        max_iter: int | None = None,
    ) -> None:
        self.C = C
        self.mu = mu
        self.penalty = penalty
        self.init = init
        self.standardize = standardize
        self.prune = prune
        self.n_landmarks = n_landmarks
        self.validation_fraction = validation_fraction
        self.groups = groups
        self.kernel = kernel
        self.screening = screening
        self.tol = tol
        self.max_iter = max_iter

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the feature weights and the regression function.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            The samples; sparse input is made dense, of more than 65 536 samples a part at a time.
        y : array-like of shape (n_samples,)
            The responses.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Factors on the losses of the samples; None means 1.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ParameterError
            If a parameter is out of range.
        DegenerateDataError
            If all sample weights are zero.
        MemoryBudgetError
            If kernel values of all pairs of samples do not fit `memory_budget`.
        """
        owner = type(self).__name__
        options: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32), "y_numeric": True}
        X, y = validated(self, as_source(X), y, ensure_min_samples=2, **options)
        weights = check_weights(sample_weight, X, type(self).__name__)
        if not weights.any():
            raise DegenerateDataError(f"{owner} needs samples of positive weight; all sample weights are zero.")
        X = Samples(X) if isinstance(X, StreamedRows) else X
        task, centre, unit = self._response_task(X, np.asarray(y, dtype=np.float64), weights)
        mu = task.automatic_mu if self.mu == "auto" else float(self.mu)
        (found,), checked = self._learn(task, [mu], validate=self.validation_fraction is not None)
        score = None if checked is None else checked.accuracy
        if not found.converged:
            warn_not_converged(owner, "reduced", f"the search stopped after {found.n_iter} rounds")
        self._store(task, mu, found, None)
        self.validation_score_ = np.nan if score is None else score
        self.dual_coef_, self.intercept_ = unit * self.dual_coef_, unit * self.intercept_ + centre
        del self.classes_
        warn_if_degenerate(self, owner)
        if score is not None and found.support.any() and score <= 0.0:
            warn_user(
                f"{owner} found nothing that holds for other samples: a fit without some of the samples explains none "
                "of their variance. Do not rely on the selected features; try other parameters or more samples.",
                RarefyWarning,
            )
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict responses.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Responses.
        """
        check_is_fitted(self, "feature_weights_")
        lazy = lazily(self, X, lambda block: self._scores_within(block)[:, 0], np.float64)
        return self._scores_of(X)[:, 0] if lazy is None else lazy

    def _response_task(self, X: Any, y: Array, weights: Array) -> tuple[Task, float, float]:
        """The problem with a standardised response; what was subtracted from it and what it was divided by."""
        counted = weights > 0.0
        own, costs = y[counted], weights[counted]
        order = np.argsort(own, kind="stable")  # the mean should not depend on the order of the samples
        centre = float(np.average(own[order], weights=costs[order]))
        unit = float(np.sqrt(np.average((own[order] - centre) ** 2, weights=costs[order]))) or 1.0
        if self._goes_in_parts(X, y, len(own)):
            of = Regressors(((own - centre) / unit)[:, None], float(self.C) * costs, self._penalty())
            return self._long_task(X, counted, of, np.array([])), centre, unit
        X = dense_copy(X, type(self).__name__)
        labels, groups = check_groups(self.groups, X.shape[1], type(self).__name__)
        problem = response_problem(
            X[counted],
            (own - centre) / unit,
            costs,
            C=float(self.C),
            penalty=self._penalty(),
            profile=self._checked_profile(),
            groups=groups,
        )
        units = Units(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        if self.standardize:
            problem, units = standardized(problem)
        return self._fitting(Task(problem, units, np.array([]), labels)), centre, unit

    def _penalty(self) -> Penalty:
        return PENALTIES[self.penalty](0.0)

    def _checked_profile(self) -> Profile:
        return Profile(self.kernel)

    def _settings(self) -> SearchSettings:
        return SearchSettings(
            method="reduced",
            tol=float(self.tol),
            max_iter=self.max_iter,
            screening=self.screening,
            prune=float(self.prune),
        )

    def _validate(self, problem: Problem) -> Validation | None:
        if self.validation_fraction is None:
            return None
        held = random_part(problem, float(self.validation_fraction))
        if min(held.sum(), len(held) - held.sum()) < _FEWEST:
            return None
        rest = keep_rows(problem, ~held)
        (found,) = self._search(rest, [rest.classifiers.penalty.mu])
        return self._compare(problem, np.flatnonzero(held), found)

    @staticmethod
    def _compare(problem: Problem, held: Index, found: FeatureSelection) -> Validation:
        predicted, of = scores_of(found, problem.X[held], problem.profile)[:, 0], problem.classifiers
        return Validation(explained(of.Y[held, 0], predicted, of.costs[held]), np.nan, len(held))
