"""Measures of a ranking."""

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import _check_sample_weight, column_or_1d

from rarefy.core.ranking.mauc import ranked_share
from rarefy.exceptions import DegenerateDataError


def mauc_score(y_true, y_score, *, sample_weight=None):
    """Share of the pairs of different levels that the scores put in the right order; ties count half.

    For two levels it is the area under the ROC curve; for more, the area's counterpart for ordered
    targets. It takes O(m log m) for each level, however many pairs there are.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Levels that can be sorted; larger is higher.
    y_score : array-like of shape (n_samples,)
        Scores.
    sample_weight : array-like of shape (n_samples,) or None
        Weights; a pair counts with the product of its two.

    Returns
    -------
    score : float
        Between 0 (all pairs in the wrong order) and 1; 0.5 is chance.

    Examples
    --------
    >>> from rarefy.metrics import mauc_score
    >>> mauc_score([0, 0, 1, 2], [0.1, 0.4, 0.3, 0.9])
    0.8
    """
    y_true = column_or_1d(y_true)
    y_score = column_or_1d(check_array(y_score, ensure_2d=False, dtype=np.float64))
    check_consistent_length(y_true, y_score)
    weights = _check_sample_weight(sample_weight, y_score[:, None], dtype=np.float64, ensure_non_negative=True)
    levels, codes = np.unique(y_true, return_inverse=True)
    if len(np.unique(codes[weights > 0.0])) < 2:
        raise DegenerateDataError(
            f"mauc_score needs points of at least two levels to compare; y_true has {len(levels)} "
            "(counting those with a weight)."
        )
    return float(ranked_share(codes, y_score, weights))
