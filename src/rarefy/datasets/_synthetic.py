"""Synthetic data of the selection papers."""

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
