"""Margins and balls of data, for everyone: what the theorems speak of."""

from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length

from rarefy._fit import numerical
from rarefy._validation import check_array, check_labels
from rarefy.core.linalg.rows import as_rows
from rarefy.core.svm.hulls import Ball, enclosing_ball, squared_margin
from rarefy.exceptions import ParameterError


@numerical("minimum_enclosing_ball")
def minimum_enclosing_ball(X: Any) -> Ball:
    """Find the smallest ball around the rows of X.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.

    Returns
    -------
    ball : Ball
        `radius2` is the largest squared distance from the centre `weights @ X`, which the smallest
        squared radius undercuts by at most `gap`.

    Examples
    --------
    >>> import rarefy
    >>> rarefy.minimum_enclosing_ball([[0.0, 0.0], [2.0, 0.0], [1.0, 0.5]]).radius2
    1.0
    """
    return enclosing_ball(as_rows(_checked(X)))


@numerical("hard_margin2")
def hard_margin2(X: Any, y: Any) -> float:
    """Compute the squared margin of the hard-margin linear SVM with intercept; 0 when the classes overlap.

    Or when they are closer than about a millionth of the data's extent, which squares do not tell from overlapping.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The samples.
    y : array-like of shape (n_samples,)
        Labels with two distinct values.

    Returns
    -------
    margin2 : float
        The square of half the distance between the convex hulls of the two classes.

    Examples
    --------
    >>> import rarefy
    >>> round(rarefy.hard_margin2([[0.0], [1.0], [4.0]], ["a", "a", "b"]), 12)
    2.25
    """
    X, y = _checked(X), check_labels(y, "y of hard_margin2")
    check_consistent_length(X, y)
    classes, groups = np.unique(y, return_inverse=True)
    if len(classes) != 2:
        raise ParameterError(f"A margin lies between two classes; y of hard_margin2 has {len(classes)}.")
    return squared_margin(as_rows(X), groups)


def _checked(X: Any) -> Any:
    return check_array(X, accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32))
