"""Labels as a target has them, and folds of rows that hold some of each."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold

from rarefy.exceptions import ParameterError

_FOLDS = 5


def whole_labels(y: NDArray[Any]) -> NDArray[Any]:
    """Labels that are whole numbers, as whole numbers."""
    return y.astype(np.int64) if y.dtype.kind == "f" and np.all(y == np.round(y)) and np.abs(y).max() < 2**53 else y


def folds_of(y: NDArray[Any], target: str, seed: int) -> StratifiedKFold:
    """Five folds, or as many as the smallest class has rows."""
    classes, counts = np.unique(y, return_counts=True)
    least = int(counts.min())
    if least < 2:
        raise ParameterError(
            f"column {target!r} has the class {classes[int(np.argmin(counts))]} in one row only; two or more are "
            "needed, to learn from one and to check with another."
        )
    return StratifiedKFold(min(_FOLDS, least), shuffle=True, random_state=seed)
