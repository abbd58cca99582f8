"""Data and settings of a best-subset problem, as estimators and functions are given them."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from rarefy.certificates import SubsetCertificate
from rarefy.certificates._columns import kept_names
from rarefy.certificates._objective import targets
from rarefy.certificates._subset import column_scales, make_subset_certificate, weighted_rows
from rarefy.core.best_subset.problem import SubsetProblem, Trained
from rarefy.core.linalg.rows import Array, Index, as_rows
from rarefy.core.losses.margins import LossName, MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.exceptions import DegenerateDataError, ParameterError

_ALL_COLUMNS = 3000
"""Up to this many samples or columns the model with all columns is trained as well, to compare with."""
_MANY_CLASSES = 20


@dataclass(frozen=True, eq=False)
class SubsetSetup:
    """A problem, and what certificates say about it."""

    problem: SubsetProblem
    C: float
    classes: Any
    standardized: bool
    groups: Index | None
    feature_names: Any

    @classmethod
    def of(
        cls,
        owner: str,
        X: Any,
        y: Any,
        *,
        loss: str,
        C: float | None,
        task: str,
        groups: Any,
        standardize: bool,
        sample_weight: Any = None,
        feature_names: Any = None,
    ) -> "SubsetSetup":
        """From validated X and y; `owner` is named in errors."""
        name, Y, classes = _targets(owner, y, loss, task)
        numbers = _numbered_groups(owner, groups, X.shape[1])
        rows, shares, Y = weighted_rows(as_rows(X), 1.0, Y, sample_weight)
        scale = column_scales(rows, shares) if standardize else np.ones(X.shape[1])
        C = typical_C(rows, shares, scale) if C is None else float(C)
        each = np.arange(X.shape[1]) if numbers is None else numbers
        problem = SubsetProblem(rows, Y, C * shares, MarginLoss(name), scale, each)
        return cls(problem, C, classes, standardize, numbers, feature_names)

    @cached_property
    def all_columns_dual(self) -> Array | None:
        """Dual variables of the models with all columns, where training them is cheap."""
        p = self.problem
        if min(p.X.shape) > _ALL_COLUMNS:
            return None
        everything = p.all_columns()
        return np.column_stack([linear_model(everything, y, p.costs, p.loss).beta for y in p.Y.T])

    def certified(
        self, chosen: Index, dual: Array, tree: Index | None = None, leaf_duals: Array | None = None
    ) -> tuple[SubsetCertificate, Trained]:
        """What is proved about chosen groups, and the models in them to more digits than a search needs."""
        columns, trained = self.problem.members(chosen), self.problem.train(chosen, tol=1e-8)
        certificate = make_subset_certificate(
            self.problem,
            C=self.C,
            classified=self.classes is not None,
            standardized=self.standardized,
            groups=self.groups,
            columns=columns,
            n_chosen=len(chosen),
            dual=dual,
            trained=trained,
            all_columns_dual=self.all_columns_dual,
            names=kept_names(self.feature_names, columns),
            feature_names=self.feature_names,
            tree=tree,
            leaf_duals=leaf_duals,
        )
        return certificate, trained


def typical_C(X: Any, weight: Array, scale: Array) -> float:
    """One over the mean squared distance of a sample from the mean, in the scaled columns: units and numbers cancel."""
    share = weight / weight.sum()
    total = float(share @ np.square(X.row_norms())) if np.all(scale == 1.0) else None
    if total is None:  # every scaled column that is not constant has variance 1
        return 1.0 / max(1.0, float(np.count_nonzero(scale)))
    mean = X.T @ share
    return 1.0 / max(total - float(mean @ mean), 1e-12 * total, 1e-300)


def _targets(owner: str, y: Any, loss: str, task: str) -> tuple[LossName, Array, Any]:
    """The loss, one column of targets a model, and the classes if there are any."""
    kind = type_of_target(y)
    classified = task == "classification" or (task == "auto" and holds_classes(y, kind))
    name: Any = loss if loss != "auto" else "squared_hinge" if classified else "squared"
    if not classified:
        if name != "squared":
            raise ParameterError(
                f"loss of {owner} must be 'squared' (or 'auto') for numbers; got {name!r}, and y of type {kind!r}. "
                "Set task='classification' if y holds classes."
            )
        return name, targets(np.asarray(y, dtype=np.float64), "squared"), None
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) < 2:
        raise DegenerateDataError(f"{owner} needs at least two classes; y has one class.")
    return name, targets(y, "hinge"), classes


def holds_classes(y: Any, kind: str) -> bool:
    """Whether y holds classes: measured values are often whole, and would be very many of them."""
    many = y.dtype.kind == "f" and len(np.unique(y)) > _MANY_CLASSES
    return kind in ("binary", "multiclass") and not many


def _numbered_groups(owner: str, groups: Any, d: int) -> Index | None:
    if groups is None:
        return None
    labels = np.asarray(groups)
    if labels.shape != (d,):
        raise ParameterError(f"groups of {owner} must have {d} entries, one a column; got {labels.shape}.")
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)
