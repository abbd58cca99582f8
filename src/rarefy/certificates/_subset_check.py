"""Checking a subset certificate against data: the data as it speaks of them, and what of it does not follow."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rarefy.certificates._columns import positions_by_name
from rarefy.certificates._fingerprint import fingerprint
from rarefy.certificates._json_values import numbers
from rarefy.certificates._objective import targets
from rarefy.core.certificates.subset import SubsetBounds
from rarefy.core.certificates.witness import objective_above
from rarefy.core.linalg.columns import dense_columns
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.exceptions import ParameterError

if TYPE_CHECKING:
    from rarefy.certificates._subset import SubsetCertificate


def in_order(c: "SubsetCertificate", X: Any, columns: Any) -> Any:
    """The columns of validated data in the order of the certificate, which has to know all their names to find it."""
    if columns is None or c.names is None:
        return X
    if c.feature_names is not None and len(set(c.feature_names)) == c.n_features:
        order = positions_by_name(c.feature_names, columns, np.arange(c.n_features), c.n_features)
        return X if np.array_equal(order, np.arange(c.n_features)) else X[:, order]
    moved = np.flatnonzero(positions_by_name(c.names, columns, c.indices, len(c.indices)) != c.indices)
    if len(moved):
        raise ParameterError(
            f"Column {c.indices[moved[0]]} of the data was {c.names[moved[0]]!r}; in X that is another one. Pass the "
            "columns in the order in which the selector was fitted."
        )
    return X


def checked_rows(y: Any, n: int) -> Any:
    """The labels or responses as an array with n rows."""
    y = np.asarray(y)
    if y.ndim == 0 or len(y) != n:
        raise ParameterError(f"y must have one entry for each of the {n} rows of X; got shape {y.shape}.")
    return y


def coded_targets(y: Any, classified: bool) -> Array:
    """One column a model; an error if y is of another kind than the certificate's."""
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError("values are missing or infinite")
    if classified:
        return targets(y, "hinge")
    return targets(numbers(y.astype(np.float64) if y.dtype.kind == "b" else y, y.ndim), "squared")


def fingerprints(X: Rows, Y: Array, costs: Array) -> str | None:
    """Hashes of the rows that count, of what is fitted, and of the costs; None if that of the rows is not known."""
    known = [fingerprint(part) for part in (X, Y, costs[:, None])]
    return None if None in known else ":".join(str(one) for one in known)


def subset_faults(c: "SubsetCertificate", X: Rows, costs: Array, Y: Array, scale: Array) -> list[str]:
    """What of a possible certificate does not follow from the data."""
    wrong = _wrong_shapes(c, costs, Y)
    if wrong:
        return wrong
    groups: Index = np.arange(c.n_features) if c.groups is None else c.groups
    with np.errstate(all="ignore"):  # points from a file may have any numbers
        kept = dense_columns(X, c.indices, scale[c.indices])
        upper = objective_above(kept, Y, costs, c.loss, c.coef, c.intercept)
        bounds = SubsetBounds(X, Y, costs, c.loss, scale, groups)
        faults = [] if c.objective >= upper else [f"the chosen columns reach {upper:.9g}, not {c.objective:.9g}"]
        faults += _not_proved(c, bounds)
        if c.all_columns_bound is not None and c.all_columns_dual is not None:
            proved = bounds.of(c.all_columns_dual).over(bounds.n_groups)
            if not c.all_columns_bound <= proved:
                faults.append(f"with all columns {proved:.9g} is proved, not {c.all_columns_bound:.9g}")
    return faults


def _wrong_shapes(c: "SubsetCertificate", costs: Array, Y: Array) -> list[str]:
    if c.weighted != bool(np.any(costs != c.C)):
        which = "weighted" if c.weighted else "of equal weight"
        return [f"it is about samples that are {which}: sample_weight is another"]
    if len(c.dual) != len(Y):
        return [f"dual has {len(c.dual)} rows, and {len(Y)} samples count: X or sample_weight is another"]
    m = Y.shape[1]
    shapes = {
        "dual": (c.dual.shape, Y.shape),
        "coef": (c.coef.shape, (len(c.indices), m)),
        "intercept": (c.intercept.shape, (m,)),
    }
    if c.all_columns_dual is not None:
        shapes["all_columns_dual"] = (c.all_columns_dual.shape, Y.shape)
    elif c.all_columns_bound is not None:
        return ["the bound with all columns has no dual point"]
    if c.leaf_duals is not None:
        shapes["leaf_duals, each"] = (c.leaf_duals.shape[1:], Y.shape)
    return [f"{name} has shape {a}, not {b}" for name, (a, b) in shapes.items() if a != b]


def _not_proved(c: "SubsetCertificate", bounds: SubsetBounds) -> list[str]:
    faults, found = [], bounds.of(c.dual)
    proved, how = found.over(c.n_chosen), "the dual point"
    if c.tree is not None and c.leaf_duals is not None:
        try:
            proved, how = max(proved, bounds.of_tree(c.tree, c.leaf_duals, c.n_chosen)), "the tree of dual points"
        except ValueError as error:
            return [str(error)]
    if not c.lower_bound <= proved:
        allowed = f"proves {proved:.9g}" if np.isfinite(proved) else "is not allowed and proves nothing"
        faults.append(f"{how} {allowed}, not {c.lower_bound:.9g}")
    always, never = found.settled(c.n_chosen, c.objective)
    if c.tree is not None and c.leaf_duals is not None:
        by_tree = bounds.settled(c.tree, c.leaf_duals, c.n_chosen, c.objective)
        always, never = always | by_tree[0], never | by_tree[1]
    if np.any(c.settled[~always] == 1) or np.any(c.settled[~never] == -1):
        faults.append("groups are said to be settled that are not")
    return faults
