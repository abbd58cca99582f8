"""How far a ranker with few kernel functions can be from the one with all."""

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rarefy._fit import checked_arguments
from rarefy._parameters import POSITIVE
from rarefy._validation import check_array, check_labels
from rarefy.core.linalg.rows import Index
from rarefy.core.ranking.bounds import classification_bound, left_out_shares, perturbation_bound, ranking_bound
from rarefy.exceptions import ParameterError


@checked_arguments(
    {
        "y": ["array-like", None],
        "basis": ["array-like", Integral, None],
        "alpha": [POSITIVE],
        "kappa": [POSITIVE],
        "loss": [StrOptions({"ranking", "classification", "perturbation"})],
        "K": ["array-like", None],
    }
)
def subset_bound(
    y: Any = None, basis: Any = None, *, alpha: float, kappa: float = 1.0, loss: str = "ranking", K: Any = None
) -> float:
    """Bound the difference between the scores of a model with few kernel functions and of one with all.

    Three bounds on ``|f(x) - f_basis(x)|`` that hold for every x. They are about the minimisers of
    ``loss + alpha/2 ||f||^2`` with a loss whose slope is at most 1, as that of the smoothed hinge and of the logistic
    loss.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or None, default=None
        Classes of the training samples; for `loss="ranking"` and `loss="classification"`.
    basis : array-like of row numbers, mask of shape (n_samples,), int or None, default=None
        The training samples whose kernel functions are kept; for `loss="classification"` their number is enough.
    alpha : float
        Weight of the penalty, > 0 (the lambda of the theorems).
    kappa : float, default=1.0
        Upper bound of k(x, x), > 0; 1 for the Gaussian kernel.
    loss : {"ranking", "classification", "perturbation"}, default="ranking"
        - "ranking": pairs of two classes, ``2 kappa / alpha * sqrt(p_plus + p_minus)`` with the shares of each
          class that are not in the basis.
        - "classification": the mean hinge loss of single samples, ``sqrt(2) kappa / alpha * sqrt(1 - r/m)`` for r of
          m samples.
        - "perturbation": pairs, from the distance of the kernel matrix to its Nystroem approximation.
    K : array-like of shape (n_samples, n_samples) or None, default=None
        The kernel matrix, for `loss="perturbation"`.

    Returns
    -------
    bound : float
        The bound. It is often far above the differences that occur.

    Raises
    ------
    ParameterError
        If an argument is out of range, or one that `loss` needs is missing.

    See Also
    --------
    RankRC : Its `bound_` is the first of these bounds.

    References
    ----------
    [Tayal2014] Tayal, Effective and efficient optimization methods for kernel based classification problems, PhD
    thesis, University of Waterloo, 2014, chapter 4.

    Examples
    --------
    >>> from rarefy.ranking import subset_bound
    >>> y = [1] * 10 + [0] * 990
    >>> round(subset_bound(y, range(10), alpha=1.0), 3)
    2.0
    >>> round(subset_bound(y, range(10, 20), alpha=1.0), 3)
    2.821
    """
    if loss == "ranking":
        if y is None or basis is None or np.ndim(basis) == 0:
            raise ParameterError("subset_bound(loss='ranking') needs y and the row numbers of the basis.")
        y = check_labels(y, "y of subset_bound")
        if len(np.unique(y)) != 2:
            raise ParameterError(f"subset_bound(loss='ranking') is about two classes; y has {len(np.unique(y))}.")
        return ranking_bound(left_out_shares(y, _row_numbers(basis, len(y))), alpha, kappa)
    if loss == "classification":
        if y is None or basis is None:
            raise ParameterError("subset_bound(loss='classification') needs y (for its length) and the basis.")
        return classification_bound(1.0 - _count(basis, len(y)) / len(y), alpha, kappa)
    if K is None or basis is None or np.ndim(basis) == 0:
        raise ParameterError("subset_bound(loss='perturbation') needs K and the row numbers of the basis.")
    K = check_array(K, "K of subset_bound", dtype=np.float64)
    if K.shape[0] != K.shape[1]:
        raise ParameterError(f"K of subset_bound must be a square matrix of kernel values; got shape {K.shape}.")
    return perturbation_bound(K, np.unique(_row_numbers(basis, len(K))), alpha, kappa)


def _count(basis: Any, m: int) -> int:
    """How many different samples the basis has."""
    if np.ndim(basis) > 0:
        return len(np.unique(_row_numbers(basis, m)))
    if isinstance(basis, bool) or not 0 <= basis <= m:
        raise ParameterError(f"basis of subset_bound, if it is a number, must be from 0 to {m}; got {basis!r}.")
    return int(basis)


def _row_numbers(basis: Any, m: int) -> Index:
    """Row numbers, also of a mask."""
    basis = np.asarray(basis)
    if basis.dtype == bool and basis.shape == (m,):
        return np.flatnonzero(basis)
    if basis.ndim != 1 or basis.dtype.kind not in "iu" or (len(basis) and not 0 <= basis.min() <= basis.max() < m):
        raise ParameterError(
            f"basis of subset_bound must be row numbers from 0 to {m - 1} or a mask of {m} rows; got {basis!r}."
        )
    return basis
