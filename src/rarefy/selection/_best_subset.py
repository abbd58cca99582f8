"""The best r columns for a linear model, with proof."""

from collections.abc import Mapping
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rarefy._fit import fit_method
from rarefy._input import validated
from rarefy._parameters import COST, COUNT, NOT_NEGATIVE, Number
from rarefy._progress import progress_bar
from rarefy._warnings import warn_user
from rarefy.certificates import SubsetCertificate
from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.relaxation import Relaxed
from rarefy.core.best_subset.solve import BestSubset, best_subset
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.margins import LOSSES
from rarefy.exceptions import RarefyWarning
from rarefy.selection._base import ACCEPTED, N_FEATURES, BaseSelector, SelectionResult, resolve_budget
from rarefy.selection._subset_problem import SubsetSetup
from rarefy.selection._subset_sizes import check_target, cross_validated_sizes, smallest_with_share

_BRANCHED, _ENTRIES, _NODES = 200, 1 << 17, 50
"""Without a number given: up to so many groups and entries choices are split, into so many nodes."""


class BestSubsetSelector(BaseSelector):
    """Choose the columns with which a linear classifier or ridge regression does best, and prove how good they are.

    Minimises 1/2 ||w||^2 + C times the sum of losses, with a free intercept, over all choices of r columns. A convex
    relaxation bounds what any r columns can reach; its shares, then exchanges, give the choice. The certificate says
    how close that is to the best possible choice, and which columns are proved to be in every best choice or in none.

    Parameters
    ----------
    n_features_to_select : int, float, "auto" or None, default=None
        Number r of features (or groups of features) to choose; a float in (0, 1) is a share of them, None means half of
        them and at most 100. "auto" takes the smallest number that grants `target`, or without one the smallest whose
        score in cross-validation is within one standard error of the best.
    loss : {"auto", "squared_hinge", "hinge", "logistic", "squared"}, default="auto"
        The loss; "auto" takes "squared_hinge" for classes and "squared" for numbers. The hinge takes longest.
    C : float or None, default=1.0
        What multiplies the sum of losses, > 0. Small values look at each column for itself, large ones fit the samples
        closely. None takes one over the mean squared distance of the samples from their mean in the (scaled) columns,
        so that neither units nor the number of columns matter; with many columns that is far below 1. Its columns are a
        good choice, its own `coef_` a cautious model: where prediction is the purpose, train another model on the
        columns, or compare a few values of C by cross-validation.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether y holds classes or numbers; "auto" asks scikit-learn for the type of target, but takes floating-point
        numbers with more than 20 different values for numbers, whole or not. The squared loss codes classes by -1 and
        1; more than two are each against the rest, with the same columns.
    groups : array-like of shape (n_features,) or None, default=None
        Labels of groups of columns that are chosen together; None chooses single columns.
    standardize : bool, default=True
        Whether columns are divided by their standard deviations first. The penalty makes units matter. Columns that are
        constant are never chosen.
    target : mapping or None, default=None
        With `n_features_to_select="auto"`: `{"objective": 0.8}` asks for a certified `objective_ratio` of 0.8.
    cv : int, cross-validation generator or iterable, default=5
        With `n_features_to_select="auto"` and no `target`: the folds, as in scikit-learn.
    gap_tol : float, default=1e-4
        The search ends when the choice is proved to be this close to the best one, as a share.
    max_iter : int, default=100
        Steps of the relaxation.
    max_nodes : int or None, default=None
        Nodes of branch and bound, where a gap is left after that: choices with a column and choices without it are
        bounded apart, and so on. None allows 50 if X has at most 200 columns (or groups) and 131 072 entries (times
        classes), and none where a node takes longer and closes less. Interrupting it (Ctrl-C) keeps what is proved.
    random_state : int, RandomState instance or None, default=None
        Not used: nothing is random. For interchange with other selectors.

    Attributes
    ----------
    support_ : ndarray of shape (n_features,), bool
        Mask of the chosen features.
    selection_order_ : ndarray of shape (n_selected,)
        Indices of the chosen features, in the order of the squared norms of their coefficients.
    coef_ : ndarray of shape (n_outputs, n_selected)
        Coefficients of the chosen columns as they are, aligned with `get_feature_names_out()`.
    intercept_ : ndarray of shape (n_outputs,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels, for classification.
    C_ : float
        The `C` that was used.
    n_iter_ : int
        Steps of the relaxation.
    cv_results_ : dict
        Numbers of features with the mean and the standard deviation of their scores (accuracy, or share of the variance
        explained), if they were chosen by cross-validation.
    certificate_ : SubsetCertificate
        How close the choice is to the best possible one, with proof.
    n_features_in_ : int
        Number of features seen during `fit`.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the features, when X has names that are all strings.

    See Also
    --------
    BSSSelector : Without labels, for all of them at once.

    References
    ----------
    [BertsimasPauphiletVanParys2020] D. Bertsimas, J. Pauphilet and B. Van Parys, Sparse regression: scalable algorithms
    and empirical performance, 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from rarefy.selection import BestSubsetSelector
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> selector = BestSubsetSelector(8, C=0.1).fit(X, y)
    >>> selector.transform(X).shape
    (569, 8)
    >>> selector.certificate_.optimality > 0.8, bool(selector.certificate_.verify(X, y))
    (True, True)
    """

    _guide = "best_subset"
    _works_on_blocks = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": [*N_FEATURES, StrOptions({"auto"})],
        "loss": [StrOptions({"auto", *LOSSES})],
        "C": [COST, None],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "groups": ["array-like", None],
        "standardize": ["boolean"],
        "target": [Mapping, None],
        "cv": ["cv_object"],
        "gap_tol": [NOT_NEGATIVE],
        "max_iter": [COUNT],
        "max_nodes": [Number(Integral, 0, 2**31, closed="both"), None],
        "random_state": ["random_state"],
    }

    C_: float
    certificate_: SubsetCertificate
    coef_: Array
    intercept_: Array

    def __init__(
        self,
        n_features_to_select: float | str | None = None,
        *,
        loss: str = "auto",
        C: float | None = 1.0,
        task: str = "auto",
        groups: Any = None,
        standardize: bool = True,
        target: Mapping[str, float] | None = None,
        cv: Any = 5,
        gap_tol: float = 1e-4,
        max_iter: int = 100,
        max_nodes: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.n_features_to_select = n_features_to_select
        self.loss = loss
        self.C = C
        self.task = task
        self.groups = groups
        self.standardize = standardize
        self.target = target
        self.cv = cv
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_nodes = max_nodes
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose features.

        Parameters
        ----------
        X : {array-like, sparse matrix, data in blocks} of shape (n_samples, n_features)
            The data; sparse input is never made dense.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels of any type, or numbers.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights >= 0 of the samples' losses.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = validated(self, X, y, multi_output=True, **ACCEPTED)
        found = self._select(X, y, sample_weight)
        self._warn_if_fewer(found)
        return self._store(found)

    def _select(self, X: Any, y: Any, sample_weight: Any = None) -> SelectionResult:
        check_target(self.target)
        setup = self._setup(X, y, sample_weight)
        extra: dict[str, Any] = {"C_": setup.C}
        if self.n_features_to_select != "auto":
            found = self._chosen(setup.problem, resolve_budget(self.n_features_to_select, setup.problem.n_groups))
        elif self.target is not None:
            r = smallest_with_share(setup, self.target["objective"], self._without_branching)
            found = self._chosen(setup.problem, r)
        else:
            make = partial(self._setup, C=setup.C)
            r, extra["cv_results_"] = cross_validated_sizes(make, X, y, sample_weight, setup, self.cv)
            found = self._chosen(setup.problem, r)
        split = (found.tree, found.duals) if found.n_nodes else (None, None)
        certificate, trained = setup.certified(found.chosen.groups, found.relaxed.dual, *split)
        columns = certificate.indices
        order = np.argsort(-np.sum(trained.coef**2, axis=1), kind="stable")
        extra["coef_"] = (trained.coef * setup.problem.scale[columns, None])[np.argsort(columns)].T
        extra |= {"intercept_": trained.intercept, "n_iter_": max(1, found.relaxed.n_iter)}
        extra |= {} if setup.classes is None else {"classes_": setup.classes}
        return SelectionResult.in_order(columns[order], X.shape[1], certificate=certificate, extra=extra)

    def _setup(self, X: Any, y: Any, sample_weight: Any = None, C: float | None = None) -> SubsetSetup:
        return SubsetSetup.of(
            type(self).__name__,
            X,
            y,
            loss=self.loss,
            C=self.C if C is None else C,
            task=self.task,
            groups=self.groups,
            standardize=self.standardize,
            sample_weight=sample_weight,
            feature_names=getattr(self, "feature_names_in_", None),
        )

    def _without_branching(self, problem: SubsetProblem, r: int, start: Relaxed | None) -> BestSubset:
        return best_subset(problem, r, gap_tol=self.gap_tol, max_iter=self.max_iter, start=start)

    def _chosen(self, problem: SubsetProblem, r: int) -> BestSubset:
        """Groups, and the dual variables that bound all choices."""
        nodes = self.max_nodes
        if nodes is None:
            small = problem.n_groups <= _BRANCHED and problem.Y.size * problem.X.shape[1] <= _ENTRIES
            nodes = _NODES if small else 0
        found = best_subset(
            problem,
            r,
            gap_tol=self.gap_tol,
            max_iter=self.max_iter,
            max_nodes=nodes,
            progress=progress_bar("choosing"),
        )
        if found.interrupted:
            warn_user(
                f"Branching was interrupted after {found.n_nodes} nodes; what is certified holds all the same.",
                RarefyWarning,
            )
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags
