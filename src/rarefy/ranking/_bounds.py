"""How far a ranker with few kernel functions can be from the one with all."""

import numpy as np

from rarefy._parameters import check_number
from rarefy.exceptions import ParameterError


def subset_bound(y=None, basis=None, *, alpha, kappa=1.0, loss="ranking", K=None):
    """Largest difference between the scores of a machine with few kernel functions and of one with all.

    Three bounds on ``|f(x) - f_basis(x)|`` that hold for every x. They are about the machines that minimise
    ``loss + alpha/2 ||w||^2`` with a hinge of slope at most 1 (the smoothed hinge and the logistic loss have it).

    Parameters
    ----------
    y : array-like of shape (n_samples,) or None
        Classes or levels of the training points; for `loss="ranking"`.
    basis : array-like of indices, or int
        The training points whose kernel functions are kept; for the two other bounds their number will do.
    alpha : float, > 0
        Weight of the penalty (the lambda of the theorems).
    kappa : float, default=1.0
        Upper bound of k(x, x); 1 for the Gaussian kernel.
    loss : {"ranking", "classification", "perturbation"}, default="ranking"
        - "ranking": pairs of two classes, ``2 kappa / alpha * sqrt(p_plus + p_minus)`` with the shares of each
          class that are not in the basis.
        - "classification": the mean hinge loss of single points, ``sqrt(2) kappa / alpha * sqrt(1 - r/m)``.
        - "perturbation": pairs, from the kernel matrix K and the distance of its Nystroem approximation.
    K : array of shape (n_samples, n_samples) or None
        The kernel matrix, for `loss="perturbation"`.

    Returns
    -------
    bound : float
        The bound. Often far above what is seen: it shrinks only as fast as the basis grows.

    Examples
    --------
    >>> from rarefy.ranking import subset_bound
    >>> y = [1] * 10 + [0] * 990
    >>> round(subset_bound(y, range(10), alpha=1.0), 3)
    2.0
    >>> round(subset_bound(y, range(10, 20), alpha=1.0), 3)
    2.821
    """
    check_number("alpha", alpha, "subset_bound", strictly=True)
    check_number("kappa", kappa, "subset_bound", strictly=True)
    if loss == "ranking":
        if y is None or basis is None or np.ndim(basis) == 0:
            raise ParameterError("subset_bound(loss='ranking') needs y and the indices of the basis.")
        y = np.asarray(y)
        levels = np.unique(y)
        if len(levels) != 2:
            raise ParameterError(f"subset_bound(loss='ranking') is about two classes; y has {len(levels)}.")
        outside = np.ones(len(y), dtype=bool)
        outside[_rows(basis, len(y))] = False
        return float(2.0 * kappa / alpha * np.sqrt(sum(np.mean(outside[y == level]) for level in levels)))
    if loss == "classification":
        if y is None or basis is None:
            raise ParameterError("subset_bound(loss='classification') needs y (for its length) and the basis.")
        r = int(basis) if np.ndim(basis) == 0 else len(np.unique(_rows(basis, len(y))))
        if not 0 <= r <= len(y):
            raise ParameterError(f"basis of subset_bound must be a number from 0 to {len(y)}; got {basis!r}.")
        return float(np.sqrt(2.0) * kappa / alpha * np.sqrt(max(0.0, 1.0 - r / len(y))))
    if loss == "perturbation":
        if K is None or basis is None or np.ndim(basis) == 0:
            raise ParameterError("subset_bound(loss='perturbation') needs K and the indices of the basis.")
        K = np.asarray(K, dtype=np.float64)
        basis = np.unique(_rows(basis, len(K)))
        approximation = K[:, basis] @ np.linalg.pinv(K[np.ix_(basis, basis)], hermitian=True) @ K[basis]
        distance = float(np.linalg.norm(approximation - K, 2))
        # The thesis prints the square root of the distance; its proof gives the fourth root, and so do the units.
        return float(
            2.0 * np.sqrt(2.0) * kappa**0.75 / alpha * distance**0.25 * (1.0 + (distance / (4.0 * kappa)) ** 0.25)
        )
    raise ParameterError(
        f"loss of subset_bound must be one of 'ranking', 'classification', 'perturbation'; got {loss!r}."
    )


def _rows(basis, m):
    """Row numbers, of a mask as well."""
    basis = np.asarray(basis)
    if basis.dtype == bool and basis.shape == (m,):
        return np.flatnonzero(basis)
    if basis.ndim != 1 or basis.dtype.kind not in "iu" or (len(basis) and not 0 <= basis.min() <= basis.max() < m):
        raise ParameterError(
            f"basis of subset_bound must be row numbers from 0 to {m - 1} or a mask of {m} rows; got {basis!r}."
        )
    return basis
