"""Grids of parameters, judged on held-out samples: what all searches share."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Index
from rarefy.exceptions import ParameterError

_TIE = 1e-12
"""Means that differ by less are equal."""


def listed(name: str, grid: Any, default: Any, owner: str) -> Sequence[Any]:
    """Values of a grid, or the default alone if none is given."""
    if grid is None:
        return [default]
    values = list(grid)
    if not values:
        raise ParameterError(f"{name} of {owner} must have at least one value, or be None; got {grid!r}.")
    return values


def checked_folds(folds: Iterable[Any], n: int, owner: str) -> list[tuple[Index, Index]]:
    """Row numbers of training and test samples; splitters that callers write may give anything."""
    found = []
    for fold in folds:
        parts = [np.asarray(part) for part in fold] if isinstance(fold, list | tuple) else []
        masks = [np.flatnonzero(part) if part.dtype == bool and part.shape == (n,) else part for part in parts]
        right = [part.ndim == 1 and part.dtype.kind in "iu" and np.all((part >= -n) & (part < n)) for part in masks]
        if len(right) != 2 or not all(right):
            raise ParameterError(
                f"cv of {owner} must give pairs of row numbers from 0 to {n - 1}, of training and of test samples; "
                f"got {fold!r:.200}."
            )
        found.append((masks[0].astype(np.intp), masks[1].astype(np.intp)))
    return found


def fold_means(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of every candidate (row) over the folds (columns) that can be used by all."""
    usable = np.isfinite(table).all(axis=0)
    return table[:, usable].mean(axis=1) if usable.any() else np.full(len(table), np.nan)


def best_of_equals(means: NDArray[np.float64], penalties: NDArray[np.float64]) -> int:
    """The candidate with the largest mean, and of equal ones the one with the strongest penalty."""
    equal = np.flatnonzero(means >= np.nanmax(means) - _TIE)
    return int(equal[np.argmax(penalties[equal])])


def search_results(params: list[dict[str, Any]], table: NDArray[np.float64]) -> dict[str, Any]:
    """Scores of all candidates as scikit-learn's searches have them, ready for a data frame."""
    means, usable = fold_means(table), np.isfinite(table).all(axis=0)
    results: dict[str, Any] = {
        f"param_{name}": np.array([one[name] for one in params], dtype=object) for name in params[0]
    }
    results |= {"params": params, "mean_test_score": means, "std_test_score": table[:, usable].std(axis=1)}
    results |= {f"split{i}_test_score": scores for i, scores in enumerate(table.T)}
    return results | {"rank_test_score": 1 + np.sum(means[:, None] < means - _TIE, axis=1)}
