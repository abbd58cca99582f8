"""Measures of a ranking."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import column_or_1d

from rarefy._fit import checked_arguments
from rarefy._validation import check_array, check_labels, check_weights
from rarefy.core.ranking.mauc import ranked_share
from rarefy.exceptions import DegenerateDataError

__all__ = ["mauc_score"]


@checked_arguments({"y_true": ["array-like"], "y_score": ["array-like"], "sample_weight": ["array-like", None]})
def mauc_score(y_true: Any, y_score: Any, *, sample_weight: Any = None) -> float:
    """Compute the share of the pairs of different levels that the scores put in the right order; ties count half.

    For two levels it is the area under the ROC curve; for more, its counterpart for ordered targets. It takes
    O(m log m) for each level, however many pairs there are.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Levels that can be sorted; larger is higher.
    y_score : array-like of shape (n_samples,)
        Scores.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the samples; a pair counts with the product of its two. None means 1.

    Returns
    -------
    score : float
        Between 0 (all pairs in the wrong order) and 1; 0.5 is chance.

    Raises
    ------
    DegenerateDataError
        If the samples with a positive weight are all of one level.

    See Also
    --------
    rarefy.ranking.OrdinalRankRC : Ranks levels, and has this as its score.
    sklearn.metrics.roc_auc_score : The same for two levels.

    References
    ----------
    [Tayal2014] Tayal, Effective and efficient optimization methods for kernel based classification problems, PhD
    thesis, University of Waterloo, 2014, chapter 6.

    Examples
    --------
    >>> from rarefy.metrics import mauc_score
    >>> mauc_score([0, 0, 1, 2], [0.1, 0.4, 0.3, 0.9])
    0.8
    """
    y_true = check_labels(y_true, "y_true of mauc_score")
    y_score = column_or_1d(check_array(y_score, "y_score", ensure_2d=False, dtype=np.float64))
    check_consistent_length(y_true, y_score)
    weights = check_weights(sample_weight, y_score[:, None], "mauc_score")
    _, codes = np.unique(y_true, return_inverse=True)
    n_levels = len(np.unique(codes[weights > 0.0]))
    if n_levels < 2:
        raise DegenerateDataError(
            f"mauc_score needs samples of at least two levels to compare; y_true has {n_levels} (counting samples with "
            "a weight)."
        )
    return float(ranked_share(codes, y_score, weights))
