"""Where searches for feature weights begin.

A feature whose weight is zero stays without one, so where a search ends depends on where it begins. `consensus_search` begins at many places and
goes on with the features on which the outcomes agree; `screened_search` works on few of very many features and brings
in those that would help. Both take the search as an argument, so one can stand inside the other.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.core.feature_weights.problem import Problem, Solution, scatter_weights
from rarefy.core.linalg.rows import Array, Index

Search = Callable[[Problem, Array], Solution]

_GLANCE = 300
"""Samples by which features are looked at one by one, and results at the end."""
_APART = 36.0
"""Squared distance from which on exp(-distance) is lost beside 1 in double precision."""


def scaled_start(problem: Problem) -> Array:
    """Equal weights under which the mean squared distance of two samples is 1."""
    costs = problem.classifiers.costs
    mean = np.average(problem.X, axis=0, weights=costs)
    spread = 2.0 * float(np.average((problem.X - mean) ** 2, axis=0, weights=costs).sum())
    return np.full(problem.X.shape[1], 1.0 / np.sqrt(spread) if spread > 0.0 else 1.0)


def kernel_is_identity(samples: Array, z: Array) -> bool:
    """Whether the Gaussian kernel matrix of some samples is numerically the identity under these weights."""
    samples = samples[:_GLANCE]
    A = FeatureKernel(samples, samples).distances(z)
    return len(samples) > 1 and bool(A[~np.eye(len(A), dtype=bool)].min() > _APART)


def consensus_search(
    problem: Problem, z: Array, search: Search, n_starts: int, rng: np.random.Generator, *, rounds: int = 6
) -> Solution:
    """The best of many searches, the later ones from features on which the earlier ones agree.

    In every round the weights to start from are perturbed, and a third of the outcomes must have a feature for it to be
    among those of the next round. A feature that matters is found from nearly everywhere; one that only happens to
    fit is found from somewhere. It ends when a round neither loses features nor finds a lower objective.

    Parameters
    ----------
    problem, z
        As in `alternate`.
    search : callable
        The search.
    n_starts : int
        Searches in a round; with 1, z alone.
    rng : Generator
        Perturbs the starts.
    rounds : int
        At most so many.
    """
    best = search(problem, z)
    if n_starts == 1:
        return best
    field, counts = np.flatnonzero(z > 0.0), np.zeros(len(z))
    counts[problem.selected(best.z)] += 1.0
    for turn in range(rounds):
        lowest = best.objective
        for _ in range(n_starts - (turn == 0)):
            perturbed = np.zeros(len(z))
            perturbed[field] = z[field] * np.exp(0.3 * rng.standard_normal(len(field)))
            found = search(problem, perturbed)
            counts[problem.selected(found.z)] += 1.0
            best = min(best, found, key=lambda s: s.objective)
        agreed = np.flatnonzero(counts >= n_starts / 3.0)
        if not len(agreed) or (len(agreed) == len(field) and not best.objective < lowest):
            break
        field, counts = agreed, np.zeros(len(z))
    return best


def screened_search(problem: Problem, z: Array, search: Search, size: int, *, rounds: int = 10) -> Solution:
    """Search among `size` of very many features, then bring in those that would lower the objective.

    A weight of zero is stationary, so it is asked what a weight as large as the median of those selected (all features
    being brought to the same scale) would be worth, by the derivative in its square. As long as that is more than its
    cost and the objective falls, the most promising features are brought in. Those that start at zero stay out.
    """
    field = _promising(problem, z, size)
    best: Solution | None = None
    begin = z[field]
    for _ in range(rounds):
        part = search(problem.among(field), begin)
        if best is not None and part.objective >= best.objective:
            break
        best = replace(part, z=scatter_weights(problem, part.z, field))
        keep = problem.selected(best.z)
        typical = _typical(problem, best.z if len(keep) else z)
        gain = -problem.slopes(best.z, best.B, best.b) * typical**2 - problem.classifiers.penalty.costs(typical)
        gain[keep] = -np.inf
        gain[z == 0.0] = -np.inf  # asked not to be looked at
        wanted = np.argsort(-gain, kind="stable")[: max(1, size // 4)]
        wanted = wanted[gain[wanted] > 0.0]
        if not len(wanted):
            break
        field = np.concatenate([keep, wanted])
        begin = np.concatenate([best.z[keep], typical[wanted]])
    assert best is not None
    return best


def _typical(problem: Problem, z: Array) -> Array:
    """For every feature a weight that means as much as the median of those selected."""
    share = (z * problem.scales)[problem.selected(z)]
    return np.divide(np.median(share), problem.scales, out=np.zeros(len(z)), where=problem.scales > 0.0)


def _promising(problem: Problem, z: Array, size: int) -> Index:
    """So many features that may matter: half because they do beside all others, half because they do alone.

    Beside the others: the slope at weights so small that the kernel sees all samples. Alone: how well a kernel of that
    feature only agrees with the labels, which sees what is not monotonic as well.
    """
    spread = float(problem.X.var(axis=0) @ z**2) or 1.0
    small = z / np.sqrt(2.0 * spread)
    B, b, _ = problem.solve_classifiers(small)
    beside = np.abs(problem.slopes(small, B, b)) * small
    rows = np.random.default_rng(0).permutation(len(problem.X))[:_GLANCE]
    X, Y = problem.X[rows], problem.classifiers.Y[rows]
    Y = Y - Y.mean(axis=0)
    wanted = Y @ Y.T
    width = np.maximum(X.std(axis=0), np.finfo(float).tiny)
    alone = np.array([float(np.vdot(wanted, np.exp(-((x[:, None] - x) ** 2)))) for x in (X / width).T])
    alone[z == 0.0] = -np.inf
    first = np.argsort(-beside, kind="stable")[: size - size // 2]
    others = np.argsort(-alone, kind="stable")
    return np.concatenate([first, others[~np.isin(others, first)][: size // 2]])
