"""Synthetic data of the papers."""

from itertools import combinations

import numpy as np
from sklearn.utils import check_random_state


def make_relevant(n_samples=200, n_features=1000, n_relevant=40, *, random_state=None):
    """Generate two classes that the first features tell apart, the later the better.

    Labels are -1 or 1 with equal probability. Feature j <= n_relevant (counted from 1) is y times a normal variable
    with mean -j and variance 1, the others are standard normal [Bhattacharyya2004]: the last relevant one is the best.

    Parameters
    ----------
    n_samples, n_features, n_relevant : int
        Size of the data and number of relevant features.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The data.
    y : ndarray of shape (n_samples,)
        Labels -1 and 1, both present.

    Examples
    --------
    >>> from rarefy.datasets import make_relevant
    >>> X, y = make_relevant(30, 100, 10, random_state=0)
    >>> bool((y * X[:, 9]).mean() < -8)
    True
    """
    if not 1 <= n_relevant <= n_features or n_samples < 2:
        raise ValueError(
            f"make_relevant needs 1 <= n_relevant <= n_features and two samples; got n_relevant={n_relevant}, "
            f"n_features={n_features}, n_samples={n_samples}."
        )
    rng = check_random_state(random_state)
    y = np.where(rng.random_sample(n_samples) < 0.5, -1.0, 1.0)
    y[:2] = [-1.0, 1.0]
    X = rng.standard_normal((n_samples, n_features))
    X[:, :n_relevant] = y[:, None] * (X[:, :n_relevant] - np.arange(1, n_relevant + 1))
    return X, y


def make_rare_gaussians(
    n_samples=1000, *, overlap=0.75, rare=0.1, n_features=5, scale=0.5, return_centers=False, random_state=None
):
    """Generate a rare class around six centres and a frequent one between each two of them.

    The six centres are uniform in the cube from -1 to 1; the frequent class has 15, on the lines between each two of
    the six [TayalColemanLi2015]. Points are normal around the centres of their class, which are equally probable.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    overlap : float, default=0.75
        Where on the line a frequent centre is: 0.5 is halfway, at 0 or 1 it is that of a rare one.
    rare : float, default=0.1
        Share of the rare class, exact up to rounding.
    n_features : int, default=5
        Dimension.
    scale : float, default=0.5
        Standard deviation around a centre.
    return_centers : bool, default=False
        Whether to return the centres as well.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The points, in random order.
    y : ndarray of shape (n_samples,)
        1 for the rare class, 0 for the frequent one.
    centers : tuple of two ndarrays
        The 15 frequent and the six rare centres; only if asked for.

    Examples
    --------
    >>> from rarefy.datasets import make_rare_gaussians
    >>> X, y = make_rare_gaussians(200, rare=0.1, random_state=0)
    >>> X.shape, int(y.sum())
    ((200, 5), 20)
    """
    n_rare = round(rare * n_samples)
    if not (0.0 <= overlap <= 1.0 and 1 <= n_rare < n_samples):
        raise ValueError(
            f"make_rare_gaussians needs 0 <= overlap <= 1 and points of both classes; got overlap={overlap}, "
            f"rare={rare}, n_samples={n_samples}."
        )
    rng = check_random_state(random_state)
    few = rng.uniform(-1.0, 1.0, (6, n_features))
    many = np.array([overlap * a + (1.0 - overlap) * b for b, a in combinations(few, 2)])
    y = rng.permutation(np.arange(n_samples) < n_rare).astype(int)
    around = np.empty((n_samples, n_features))
    for label, centers in enumerate((many, few)):
        rows = np.flatnonzero(y == label)
        around[rows] = centers[rng.randint(len(centers), size=len(rows))]
    X = around + scale * rng.standard_normal((n_samples, n_features))
    return (X, y, (many, few)) if return_centers else (X, y)
