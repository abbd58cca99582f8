"""Normally distributed clusters on cubes."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from rarefy._fit import checked_arguments
from rarefy._parameters import COUNT, NOT_NEGATIVE, POSITIVE, Number
from rarefy.exceptions import ParameterError

_RADII = (1.0, 2.0, 3.0)


@checked_arguments(
    {
        "n_samples": [COUNT],
        "n_informative": [COUNT],
        "n_noise": [Number(Integral, 0, 2**31, closed="both")],
        "concentration": [POSITIVE],
        "spread": [NOT_NEGATIVE],
        "random_state": ["random_state"],
    }
)
def make_ndcc(
    n_samples: int = 1400,
    *,
    n_informative: int = 20,
    n_noise: int = 100,
    concentration: float = 3.0,
    spread: float = 0.1,
    random_state: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Generate two classes in clusters around the vertices of three concentric cubes of the 1-norm.

    A cube of radius r has the vertices r e_k and -r e_k; the radii are 1, 2 and 3. Opposite vertices are of opposite
    classes, and along every axis the classes change from cube to cube, so no hyperplane and no single column separates
    them. The samples of a vertex are normal with a covariance of its own, and some vertices have many samples, others
    few. Columns of noise, standard normal, follow [Tayal2014].

    The source states neither the shares of the vertices nor the size of the covariances. Those here are chosen so that
    an SVM with a Gaussian kernel, trained on 200 samples and with its parameters chosen on 200 others, has about the
    error reported there: 10 % on the informative columns and 46 % with 100 columns of noise (means of five geometries;
    there 8 to 10 % and 44 %).

    Parameters
    ----------
    n_samples : int, default=1400
        Number of samples.
    n_informative : int, default=20
        Dimension of the cubes.
    n_noise : int, default=100
        Number of columns of noise, which come after the informative ones.
    concentration : float, default=3.0
        Parameter of the Dirichlet distribution of the vertices' shares of the samples: the larger, the more equal they
        are.
    spread : float, default=0.1
        Largest standard deviation around a vertex, in the directions of its covariance. The variances are uniform
        between 0 and its square, the directions random.
    random_state : int, RandomState instance or None, default=None
        Seed of the geometry and of the samples.

    Returns
    -------
    X : ndarray of shape (n_samples, n_informative + n_noise)
        The samples, not standardised; the informative columns are the first.
    y : ndarray of shape (n_samples,)
        Labels -1 and 1.

    See Also
    --------
    make_relevant : Two classes that single features separate.
    make_rare_gaussians : A rare class beside a frequent one.

    References
    ----------
    [Tayal2014] A. Tayal, "Effective and Efficient Optimization Methods for Kernel Based Classification Problems",
    PhD thesis, University of Waterloo, 2014.

    Examples
    --------
    >>> from rarefy.datasets import make_ndcc
    >>> X, y = make_ndcc(200, random_state=0)
    >>> X.shape
    (200, 120)
    """
    rng = check_random_state(random_state)
    sides = np.vstack([np.eye(n_informative), -np.eye(n_informative)])
    signs = rng.choice([-1.0, 1.0], size=n_informative)
    labels = np.concatenate([(-1.0) ** cube * np.concatenate([signs, -signs]) for cube in range(len(_RADII))])
    vertices = np.vstack([radius * sides for radius in _RADII])
    shares = rng.dirichlet(np.full(len(vertices), float(concentration)))
    if not np.isfinite(shares).all():
        raise ParameterError(f"concentration={concentration:g} of make_ndcc is too small for shares of clusters.")
    factors = np.stack([_factor(rng, n_informative, spread) for _ in vertices])
    which = rng.choice(len(vertices), size=n_samples, p=shares)
    around = np.einsum("nij,nj->ni", factors[which], rng.standard_normal((n_samples, n_informative)))
    X = np.hstack([vertices[which] + around, rng.standard_normal((n_samples, n_noise))])
    return X, labels[which]


def _factor(rng: np.random.RandomState, d: int, spread: float) -> NDArray[np.float64]:
    """A factor of a covariance with random directions: the covariance is the product with its transpose."""
    directions = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return np.asarray(spread * directions * np.sqrt(rng.uniform(size=d)))
