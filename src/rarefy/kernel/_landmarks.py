"""Landmarks: the samples whose kernel functions are used, chosen by a rule.

One set of rules serves subspaces and rankers. To add a rule, write a function and name it in `RULES`.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans

from rarefy.backends.samples import as_array
from rarefy.core.linalg.landmarks import pivoted_cholesky, ridge_leverage
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import ParameterError
from rarefy.kernel._kernels import BoundKernel


@dataclass(frozen=True)
class Landmarks:
    """Row numbers of the landmarks (None if they are centres of clusters), and what the kernel is evaluated with."""

    indices: Index | None
    places: Any


@dataclass(frozen=True)
class Pool:
    """What landmarks are chosen from."""

    X: Any
    kernel: BoundKernel
    samples: Index
    """Row numbers to choose from."""
    coordinates: Callable[[Index, Index], Array]
    """Coordinates of some samples in the span of the kernel functions of others, for leverage scores."""
    weights: Array | None = None
    """Weights of `samples`; None means equal ones."""
    first: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp))
    """Row numbers that are landmarks in any case."""
    at_most: int | None = None
    """How many samples are looked at one by one; None means all."""
    dimensions: int | None = None
    """Of the subspace that leverage scores are about; None means as many as landmarks."""

    def landmarks(self, chosen: Index) -> Landmarks:
        """The given ones and the chosen ones, in the order of their rows."""
        indices = np.sort(np.append(self.first, chosen))
        return Landmarks(indices, self.kernel.places(self.X, indices))

    def draw(self, n: int, rng: np.random.Generator, samples: Index, chances: Array | None) -> Index:
        """Draw n samples without replacement."""
        p = None if chances is None else chances / chances.sum()
        return np.asarray(rng.choice(samples, n, replace=False, p=p))

    def thinned(self, rng: np.random.Generator) -> tuple[Index, Array]:
        """The samples that are looked at one by one, and their weights."""
        weights = np.ones(len(self.samples)) if self.weights is None else self.weights
        if self.at_most is None:
            return self.samples, weights
        some = np.sort(rng.choice(self.samples, min(len(self.samples), self.at_most), replace=False))
        return some, weights[np.searchsorted(self.samples, some)]


Rule = Callable[[Pool, int, np.random.Generator], Landmarks]


def _random(pool: Pool, n: int, rng: np.random.Generator) -> Landmarks:
    """At random, in proportion to the weights."""
    return pool.landmarks(pool.draw(n, rng, pool.samples, pool.weights))


def _kmeans(pool: Pool, n: int, rng: np.random.Generator) -> Landmarks:
    """Centres of clusters, beside the given ones."""
    some, weights = pool.thinned(rng)
    X = pool.kernel.scaled(as_array(pool.X if len(some) == pool.X.shape[0] else pool.X[some]))
    if not sp.issparse(X):
        n = min(n, len(np.unique(X, axis=0)))  # equal samples make no more clusters
    seed = int(rng.integers(2**31))
    centres = KMeans(n, n_init=1, random_state=seed).fit(X, sample_weight=weights).cluster_centers_
    if pool.kernel.factors is not None:
        centres = centres / pool.kernel.factors  # in the units of the samples again
    centres = centres.astype(pool.X.dtype, copy=False)
    if not len(pool.first):
        return Landmarks(None, centres)
    given = pool.X[pool.first]
    return Landmarks(None, np.vstack([given.toarray() if sp.issparse(given) else given, centres]))


def _leverage(pool: Pool, n: int, rng: np.random.Generator) -> Landmarks:
    """At random, with chances that grow with what a sample adds to the span of a first random draw."""
    some, weights = pool.thinned(rng)
    pilot = np.append(pool.first, pool.draw(n, rng, some, None if pool.weights is None else weights))
    D = pool.coordinates(some, pilot)
    scores = ridge_leverage(D, pool.kernel.diagonal(pool.X, some), weights, pool.dimensions or n)
    return pool.landmarks(pool.draw(n, rng, some, scores if pool.weights is None else weights * scores))


def _cholesky(pool: Pool, n: int, rng: np.random.Generator) -> Landmarks:
    """One by one the sample that is represented worst by those before."""
    some, weights = pool.thinned(rng)
    candidates = np.append(pool.first, some[weights > 0.0])  # nor do the others choose what has no weight
    rows, kernel = as_array(pool.X[candidates]), pool.kernel  # taken once, not for every column

    def column(i: int) -> Array:
        return np.asarray(kernel(rows, candidates[[i]] if kernel.precomputed else rows[[i]]), dtype=np.float64).ravel()

    given = np.arange(len(pool.first))
    chosen = candidates[pivoted_cholesky(kernel.diagonal(pool.X, candidates), column, n + len(given), given)]
    return Landmarks(chosen, kernel.places(pool.X, chosen))


RULES: dict[str, Rule] = {"random": _random, "kmeans": _kmeans, "leverage": _leverage, "cholesky": _cholesky}


def choose_landmarks(rule: str, pool: Pool, n: int, rng: np.random.Generator) -> Landmarks:
    """Choose n landmarks beside the given ones, by a rule of `RULES`."""
    return RULES[rule](pool, n, rng)


def check_rule(rule: Any, kernel: Any, owner: str) -> None:
    """Refuse centres of clusters for a matrix of kernel values."""
    if isinstance(rule, str) and rule == "kmeans" and isinstance(kernel, str) and kernel == "precomputed":
        raise ParameterError(
            f"landmarks='kmeans' of {owner} needs samples, not a precomputed kernel: centres of clusters are not rows "
            "of the matrix. Use 'random', 'leverage' or 'cholesky'."
        )


def given_landmarks(indices: Any, n: int, name: str, owner: str) -> Index:
    """Check row numbers that a user gave: distinct, and of n rows."""
    found = np.asarray(indices)
    whole = found.ndim == 1 and len(found) > 0 and found.dtype != bool
    whole = whole and all(isinstance(i, Integral) for i in found.tolist())
    if not whole or found.min() < 0 or found.max() >= n or len(np.unique(found)) < len(found):
        raise ParameterError(
            f"{name} of {owner}, when it is an array, must hold distinct row numbers from 0 to {n - 1}; "
            f"got {indices!r}."
        )
    return np.asarray(found, dtype=np.intp)
