"""Synthetic data of the papers."""

from itertools import combinations
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rarefy._fit import checked_arguments
from rarefy._parameters import COUNT, NOT_NEGATIVE, SHARE, Number
from rarefy.exceptions import ParameterError


@checked_arguments(
    {
        "n_samples": [Number(Integral, 2, 2**31, closed="both")],
        "n_features": [COUNT],
        "n_relevant": [COUNT],
        "random_state": ["random_state"],
    }
)
def make_relevant(
    n_samples: int = 200, n_features: int = 1000, n_relevant: int = 40, *, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Generate two classes that the first features separate, the later the better.

    Labels are -1 or 1 with equal probability. Feature j <= n_relevant (counted from 1) is y times a normal variable
    with mean -j and variance 1, the others are standard normal [Bhattacharyya2004]: the last relevant one is the best.

    Parameters
    ----------
    n_samples : int, default=200
        Number of samples, at least two.
    n_features : int, default=1000
        Number of features.
    n_relevant : int, default=40
        Number of relevant features, which come first; at most `n_features`.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The data.
    y : ndarray of shape (n_samples,)
        Labels -1 and 1; each occurs.

    See Also
    --------
    make_ndcc : Two classes that no single feature separates.
    make_topics : Word counts with known relevant words.

    References
    ----------
    [Bhattacharyya2004] C. Bhattacharyya, "Second Order Cone Programming Formulations for Feature Selection", Journal
    of Machine Learning Research 5, 2004.

    Examples
    --------
    >>> from rarefy.datasets import make_relevant
    >>> X, y = make_relevant(30, 100, 10, random_state=0)
    >>> bool((y * X[:, 9]).mean() < -8)
    True
    """
    if n_relevant > n_features:
        raise ParameterError(
            f"n_relevant of make_relevant must be at most n_features; got n_relevant={n_relevant}, "
            f"n_features={n_features}."
        )
    rng = check_random_state(random_state)
    y = np.where(rng.random_sample(n_samples) < 0.5, -1.0, 1.0)
    y[:2] = [-1.0, 1.0]
    X = rng.standard_normal((n_samples, n_features))
    X[:, :n_relevant] = y[:, None] * (X[:, :n_relevant] - np.arange(1, n_relevant + 1))
    return X, y


@checked_arguments(
    {
        "n_samples": [COUNT],
        "overlap": [Number(Real, 0, 1, closed="both")],
        "rare": [SHARE],
        "n_features": [COUNT],
        "scale": [NOT_NEGATIVE],
        "return_centers": ["boolean"],
        "random_state": ["random_state"],
    }
)
def make_rare_gaussians(
    n_samples: int = 1000,
    *,
    overlap: float = 0.75,
    rare: float = 0.1,
    n_features: int = 5,
    scale: float = 0.5,
    return_centers: bool = False,
    random_state: Any = None,
) -> tuple[Any, ...]:
    """Generate a rare class around six centres and a frequent one between each two of them.

    The six centres are uniform in the cube from -1 to 1; the frequent class has 15, on the lines between each two of
    the six [TayalColemanLi2015]. Samples are normal around the centres of their class, which are equally probable.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples.
    overlap : float, default=0.75
        Position of a frequent centre on the line between two rare ones: 0.5 is the middle; at 0 and 1 it is a rare
        centre.
    rare : float, default=0.1
        Share of the rare class among the samples, between 0 and 1; the count is rounded.
    n_features : int, default=5
        Number of features.
    scale : float, default=0.5
        Standard deviation around a centre.
    return_centers : bool, default=False
        Whether to return the centres as well.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        The samples, in random order.
    y : ndarray of shape (n_samples,)
        1 for the rare class, 0 for the frequent one.
    centers : tuple of two ndarrays
        The 15 frequent and the six rare centres; only if `return_centers` is True.

    See Also
    --------
    make_ndcc : Two classes in many clusters, with columns of noise.

    References
    ----------
    [TayalColemanLi2015] A. Tayal, T. F. Coleman and Y. Li, "RankRC: Large-Scale Nonlinear Rare Class Ranking", IEEE
    Transactions on Knowledge and Data Engineering 27(12), 2015.

    Examples
    --------
    >>> from rarefy.datasets import make_rare_gaussians
    >>> X, y = make_rare_gaussians(200, rare=0.1, random_state=0)
    >>> X.shape, int(y.sum())
    ((200, 5), 20)
    """
    n_rare = round(rare * n_samples)
    if not 1 <= n_rare < n_samples:
        raise ParameterError(
            f"make_rare_gaussians needs samples of both classes; got rare={rare} of n_samples={n_samples}, that is "
            f"{n_rare}. Increase n_samples, or choose rare nearer to 0.5."
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
