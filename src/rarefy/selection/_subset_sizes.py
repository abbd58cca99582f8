"""How many columns: the fewest that keep a certified share of the objective, or that predict as well as more do."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from rarefy._search import checked_folds
from rarefy.core.best_subset.path import subset_path
from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.relaxation import Relaxed
from rarefy.core.best_subset.solve import BestSubset
from rarefy.core.linalg.columns import dense_columns
from rarefy.core.linalg.rows import Array, Rows, as_rows
from rarefy.exceptions import ParameterError
from rarefy.selection._subset_problem import SubsetSetup

_LARGEST = 200
"""Sizes that are compared by cross-validation go up to this."""
_FOLD_GAP, _FOLD_STEPS = 1e-2, 30
"""Choices inside folds are searched for less closely: they are averaged."""


def check_target(target: Any) -> None:
    """Refuse what cannot be granted."""
    if target is None:
        return
    right = isinstance(target, Mapping) and set(target) == {"objective"}
    if not right or not isinstance(target["objective"], int | float) or not 0.0 < target["objective"] <= 1.0:
        raise ParameterError(
            f"target of BestSubsetSelector must be {{'objective': share}} with a share in (0, 1]; got {target!r}."
        )


def smallest_with_share(
    setup: SubsetSetup, share: float, choose: Callable[[SubsetProblem, int, Relaxed | None], BestSubset]
) -> int:
    """The smallest size whose choice is certified to keep a share of the objective of all columns."""
    if setup.all_columns_dual is None:
        raise ParameterError(
            "target of BestSubsetSelector needs the model with all columns, which is trained for up to 3000 samples or "
            "columns only; set n_features_to_select to a number."
        )
    problem, last = setup.problem, setup.problem.n_groups
    start: Relaxed | None = None

    def granted(r: int) -> bool:
        nonlocal start
        found = choose(problem, r, start)
        start = found.relaxed if r < last else start
        ratio = setup.certified(found.chosen.groups, found.relaxed.dual)[0].objective_ratio
        return ratio is not None and ratio >= share

    below, above = 0, 1
    while above < last and not granted(above):
        below, above = above, min(2 * above, last)
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (below, middle) if granted(middle) else (middle, above)
    return above


def cross_validated_sizes(
    make: Callable[[Any, Any, Any], SubsetSetup],
    X: Any,
    y: Any,
    sample_weight: Any,
    whole: SubsetSetup,
    cv: Any,
    sizes: list[int] | None = None,
) -> tuple[int, dict[str, Any]]:
    """The smallest size whose mean score is within one standard error of the best, and the scores of all.

    Parameters
    ----------
    make : callable
        Makes a setup of X, y and sample weights.
    X, y, sample_weight : arrays
        Validated data.
    whole : SubsetSetup
        The setup of all of them.
    cv : int or splitter
        How to split.
    sizes : list of int or None
        Those to compare, ascending; None means the usual ones.
    """
    sizes = sizes or _sizes(min(whole.problem.n_groups, _LARGEST, max(10, X.shape[0] // 2)))
    splitter = check_cv(cv, y, classifier=whole.classes is not None)
    splits = splitter.split(np.zeros(X.shape[0]) if isinstance(X, Rows) else X, y)
    folds = checked_folds(splits, X.shape[0], "BestSubsetSelector")
    scores = np.empty((len(folds), len(sizes)))
    for k, (train, test) in enumerate(folds):
        setup = make(_some(X, train), y[train], None if sample_weight is None else np.asarray(sample_weight)[train])
        path = subset_path(setup.problem, sizes, gap_tol=_FOLD_GAP, max_iter=_FOLD_STEPS, thorough=False)
        for j, point in enumerate(path):
            scores[k, j] = _score(setup, point.chosen.groups, point.chosen.trained, _some(X, test), y[test])
    mean, error = scores.mean(axis=0), scores.std(axis=0, ddof=1) / np.sqrt(len(folds))
    best = int(np.argmax(mean))
    enough = int(np.argmax(mean >= mean[best] - error[best]))
    results = {"n_features": np.array(sizes), "mean_test_score": mean, "std_test_score": scores.std(axis=0)}
    return sizes[enough], results


def _some(X: Any, index: Any) -> Any:
    return X.subset(index) if isinstance(X, Rows) else X[index]


def _sizes(largest: int) -> list[int]:
    """1, 2, 3, 5, 8 and so on, each about 1.5 times the one before, up to `largest`."""
    sizes = [1]
    while sizes[-1] < largest:
        sizes.append(min(largest, max(sizes[-1] + 1, round(1.5 * sizes[-1]))))
    return sizes


def _score(setup: SubsetSetup, chosen: Any, trained: Any, X: Any, y: Any) -> float:
    """Accuracy, or the share of the variance that is explained."""
    columns = setup.problem.members(chosen)
    kept = dense_columns(as_rows(X), columns, setup.problem.scale[columns])
    scores: Array = kept @ trained.coef + trained.intercept
    if setup.classes is None:
        wanted = np.asarray(y, dtype=np.float64).reshape(len(scores), -1)
        spread = float(np.sum((wanted - wanted.mean(axis=0)) ** 2))
        return 1.0 - float(np.sum((wanted - scores) ** 2)) / max(spread, 1e-300)
    found = scores[:, 0] > 0.0 if len(setup.classes) == 2 else np.argmax(scores, axis=1)
    return float(np.mean(setup.classes[found.astype(np.intp)] == y))
