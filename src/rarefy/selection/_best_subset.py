"""The best r columns for a linear model, with proof."""

import warnings
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import validate_data

from rarefy._fit import fit_method
from rarefy._parameters import COUNT, NOT_NEGATIVE, POSITIVE
from rarefy._progress import progress_bar
from rarefy.certificates import SubsetCertificate
from rarefy.certificates._columns import kept_names
from rarefy.certificates._objective import targets
from rarefy.certificates._subset import column_scales, make_subset_certificate, weighted_rows
from rarefy.core.best_subset.problem import SubsetProblem, Trained
from rarefy.core.best_subset.solve import BestSubset, best_subset
from rarefy.core.linalg.rows import Array, Index, as_rows
from rarefy.core.losses.margins import LOSSES, LossName, MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.exceptions import DegenerateDataError, ParameterError, RarefyWarning
from rarefy.selection._base import ACCEPTED, N_FEATURES, BaseSelector, SelectionResult, resolve_budget

_ALL_COLUMNS = 3000
"""Up to this many samples or columns the model with all columns is trained as well, to compare with."""

_MANY_CLASSES = 20
_BRANCHED, _ENTRIES, _NODES = 200, 1 << 17, 100
"""Without a number given: up to so many groups and entries choices are split, into so many nodes."""


class BestSubsetSelector(BaseSelector):
    """Choose the columns with which a linear classifier or ridge regression does best, and prove how good they are.

    Minimises 1/2 ||w||^2 + C times the sum of losses, with a free intercept, over all choices of r columns. A convex
    relaxation bounds what any r columns can reach; its shares, then exchanges, give the choice. The certificate says
    how close that is to the best possible choice, and which columns are proved to be in every best choice or in none.

    Parameters
    ----------
    n_features_to_select : int, float or None, default=None
        Number r of features (or groups of features) to choose; a float in (0, 1) is a share of them, None means half of
        them and at most 100.
    loss : {"auto", "squared_hinge", "hinge", "logistic", "squared"}, default="auto"
        The loss; "auto" takes "squared_hinge" for classes and "squared" for numbers. The hinge takes longest.
    C : float, default=1.0
        What multiplies the sum of losses, > 0. Small values look at each column for itself, large ones fit the samples
        closely: with few samples, choose it by cross-validation.
    task : {"auto", "classification", "regression"}, default="auto"
        Whether y holds classes or numbers; "auto" asks scikit-learn for the type of target, but takes floating-point
        numbers with more than 20 different values for numbers, whole or not. The squared loss codes classes by -1 and
        1; more than two are each against the rest, with the same columns.
    groups : array-like of shape (n_features,) or None, default=None
        Labels of groups of columns that are chosen together; None chooses single columns.
    standardize : bool, default=True
        Whether columns are divided by their standard deviations first. The penalty makes units matter. Columns that are
        constant are never chosen.
    gap_tol : float, default=1e-4
        The search ends when the choice is proved to be this close to the best one, as a share.
    max_iter : int, default=100
        Steps of the relaxation.
    max_nodes : int or None, default=None
        Nodes of branch and bound, where a gap is left after that: choices with a column and choices without it are
        bounded apart, and so on. None allows 100 if X has at most 200 columns (or groups) and 131 072 entries (times
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
    n_iter_ : int
        Steps of the relaxation.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_features_to_select": N_FEATURES,
        "loss": [StrOptions({"auto", *LOSSES})],
        "C": [POSITIVE],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "groups": ["array-like", None],
        "standardize": ["boolean"],
        "gap_tol": [NOT_NEGATIVE],
        "max_iter": [COUNT],
        "max_nodes": [Interval(Integral, 0, None, closed="left"), None],
        "random_state": ["random_state"],
    }

    certificate_: SubsetCertificate
    coef_: Array
    intercept_: Array

    def __init__(
        self,
        n_features_to_select: float | None = None,
        *,
        loss: str = "auto",
        C: float = 1.0,
        task: str = "auto",
        groups: Any = None,
        standardize: bool = True,
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
        self.gap_tol = gap_tol
        self.max_iter = max_iter
        self.max_nodes = max_nodes
        self.random_state = random_state

    @fit_method
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose features.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
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
        X, y = validate_data(self, X, y, multi_output=True, **ACCEPTED)
        found = self._select(X, y, sample_weight)
        self._warn_if_fewer(found)
        return self._store(found)

    def _select(self, X: Any, y: Any, sample_weight: Any = None) -> SelectionResult:
        loss, Y, classes = self._targets(y)
        groups = self._groups(X.shape[1])
        rows, costs, Y = weighted_rows(as_rows(X), float(self.C), Y, sample_weight)
        scale = column_scales(rows, costs) if self.standardize else np.ones(X.shape[1])
        numbered = np.arange(X.shape[1]) if groups is None else groups
        problem = SubsetProblem(rows, Y, costs, MarginLoss(loss), scale, numbered)
        r = min(resolve_budget(self.n_features_to_select, problem.n_groups), problem.n_groups)
        found = self._chosen(problem, r)
        chosen = found.chosen.groups
        columns, trained = problem.members(chosen), chosen_models(problem, chosen)
        certificate = make_subset_certificate(
            problem,
            C=float(self.C),
            classified=classes is not None,
            standardized=self.standardize,
            groups=groups,
            columns=columns,
            n_chosen=len(chosen),
            dual=found.relaxed.dual,
            tree=found.tree if found.n_nodes else None,
            leaf_duals=found.duals if found.n_nodes else None,
            trained=trained,
            all_columns_dual=_all_columns_dual(problem),
            names=kept_names(getattr(self, "feature_names_in_", None), columns),
            feature_names=getattr(self, "feature_names_in_", None),
        )
        order = np.argsort(-np.sum(trained.coef**2, axis=1), kind="stable")
        coef = (trained.coef * scale[columns, None])[np.argsort(columns)].T
        extra = {"coef_": coef, "intercept_": trained.intercept, "n_iter_": max(1, found.relaxed.n_iter)}
        extra |= {} if classes is None else {"classes_": classes}
        return SelectionResult.in_order(columns[order], X.shape[1], certificate=certificate, extra=extra)

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
            warnings.warn(
                f"Branching was interrupted after {found.n_nodes} nodes; what is certified holds all the same.",
                RarefyWarning,
                stacklevel=2,
            )
        return found

    def _targets(self, y: Any) -> tuple[LossName, Array, Any]:
        """The loss, one column of targets a model, and the classes if there are any."""
        kind = type_of_target(y)
        classified = self.task == "classification" or (self.task == "auto" and _holds_classes(y, kind))
        loss: Any = self.loss if self.loss != "auto" else "squared_hinge" if classified else "squared"
        if not classified:
            if loss != "squared":
                raise ParameterError(
                    f"loss of BestSubsetSelector must be 'squared' (or 'auto') for numbers; got {loss!r}, and y of "
                    f"type {kind!r}. Set task='classification' if y holds classes."
                )
            return loss, targets(np.asarray(y, dtype=np.float64), "squared"), None
        check_classification_targets(y)
        classes = np.unique(y)
        if len(classes) < 2:
            raise DegenerateDataError("BestSubsetSelector needs at least two classes; y has one class.")
        return loss, targets(y, "hinge"), classes

    def _groups(self, d: int) -> Index | None:
        if self.groups is None:
            return None
        labels = np.asarray(self.groups)
        if labels.shape != (d,):
            raise ParameterError(
                f"groups of BestSubsetSelector must have {d} entries, one a column; got {labels.shape}."
            )
        return np.unique(labels, return_inverse=True)[1].astype(np.intp)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        return tags


def _holds_classes(y: Any, kind: str) -> bool:
    """Whether y holds classes: measured values are often whole, and would be very many of them."""
    many = y.dtype.kind == "f" and len(np.unique(y)) > _MANY_CLASSES
    return kind in ("binary", "multiclass") and not many


def chosen_models(problem: SubsetProblem, groups: Index) -> Trained:
    """The models of a choice, to more digits than the search needs."""
    return problem.train(groups, tol=1e-8)


def _all_columns_dual(problem: SubsetProblem) -> Array | None:
    """Dual variables of the models with all columns, where training them is cheap."""
    if min(problem.X.shape) > _ALL_COLUMNS:
        return None
    everything = problem.all_columns()
    return np.column_stack([linear_model(everything, y, problem.costs, problem.loss).beta for y in problem.Y.T])
