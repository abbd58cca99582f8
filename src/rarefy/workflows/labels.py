"""Labels as a target has them, and folds of rows that hold some of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from rarefy.exceptions import ParameterError

_FOLDS = 5
MOST_LEARNED = 100_000
"""Rows of a class that rankers of a fold learn from, at most."""


@dataclass(frozen=True)
class SampledFolds:
    """Stratified folds; what is learned from is a random part where a class has very many rows.

    Every row is held out once, as in `StratifiedKFold`. Of each class, at most `most` of the other rows are learned
    from.
    """

    n_splits: int
    most: int
    random_state: int

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Give the rows to learn from and the rows that are held out, fold by fold."""
        folds = StratifiedKFold(self.n_splits, shuffle=True, random_state=self.random_state)
        rng, labels = np.random.default_rng(self.random_state), np.asarray(y)
        for train, test in folds.split(np.zeros((len(labels), 1)), labels):
            parts = [train[labels[train] == label] for label in np.unique(labels)]
            parts = [part if len(part) <= self.most else rng.choice(part, self.most, replace=False) for part in parts]
            yield np.sort(np.concatenate(parts)), test


def whole_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Labels that are whole numbers, as whole numbers."""
    return y.astype(np.int64) if y.dtype.kind == "f" and np.all(y == np.round(y)) and np.abs(y).max() < 2**53 else y


def folds_of(y: NDArray[Any], target: str, seed: int, most: int | None = None) -> StratifiedKFold | SampledFolds:
    """Five folds, or as many as the smallest class has rows; with at most so many rows of a class to learn from."""
    classes, counts = np.unique(y, return_counts=True)
    least = int(counts.min())
    if least < 2:
        raise ParameterError(
            f"column {target!r} has the class {classes[int(np.argmin(counts))]} in one row only; two or more are "
            "needed, to learn from one and to check with another."
        )
    n_folds = min(_FOLDS, least)
    if most is not None and counts.max() - counts.max() // n_folds > most:
        return SampledFolds(n_folds, most, seed)
    return StratifiedKFold(n_folds, shuffle=True, random_state=seed)
