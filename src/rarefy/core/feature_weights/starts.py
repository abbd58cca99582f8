"""Starts of searches for feature weights.

A weight that is zero stays zero, so the result of a search depends on its start. `consensus_search` searches from many
starts and continues with the features that the results have in common; `screened_search` searches among few of very
many features and brings in others that lower the objective; `interaction_search` begins with two or three features
that agree with the labels together, and brings in others as well; `pruned_search` drops small weights and searches
again. All take the search as an argument, so they can be nested.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from rarefy.core.feature_weights.grouping import columns_of, spread
from rarefy.core.feature_weights.interactions import best_interactions
from rarefy.core.feature_weights.kernel import GAUSSIAN, FeatureKernel, Profile
from rarefy.core.feature_weights.problem import Problem, Solution, scatter_weights
from rarefy.core.linalg.rows import Array, Index

Search = Callable[[Problem, Array], Solution]

_GLANCE = 300
"""So many samples are enough to compare single features, and to check a kernel matrix."""
_WIDTHS = (0.5, 1.0, 2.0)
"""Weights, times scales, at which an interaction starts: from wide kernels to narrow ones."""
_APART = float(np.log(10.0))
"""Distance A at which the kernel exp(-A) has the value 1/10."""


def scaled_start(problem: Problem) -> Array:
    """Equal weights under which the mean squared distance between two samples is 1; the absolute of the Laplacian."""
    mean = float(_mean_distances(problem, problem.classifiers.costs).sum())
    return np.full(problem.n_weights, 1.0 / np.sqrt(mean) if mean > 0.0 else 1.0)


def _mean_distances(problem: Problem, costs: Array) -> Array:
    """The mean distance between two samples in each column."""
    if problem.profile.shape == "laplacian":
        # Two samples are on different sides of a gap with probability 2 F (1 - F).
        order = np.argsort(problem.X, axis=0, kind="stable")
        below = np.cumsum(costs[order], axis=0)[:-1] / costs.sum()
        gaps = np.diff(np.take_along_axis(problem.X, order, axis=0), axis=0)
        return np.asarray(2.0 * np.einsum("ik,ik->k", below * (1.0 - below), gaps))
    mean = np.average(problem.X, axis=0, weights=costs)
    return np.asarray(2.0 * np.average((problem.X - mean) ** 2, axis=0, weights=costs))


def nearly_identity(samples: Array, weights: Array, profile: Profile = GAUSSIAN) -> bool:
    """Whether the Gaussian or Laplacian kernel matrix of these samples, with weights of columns, is near the identity.

    It is if for half of the samples the nearest other one has a kernel value below a tenth.
    """
    samples = samples[np.random.default_rng(0).permutation(len(samples))[:_GLANCE]]
    A = FeatureKernel(samples, samples, profile).distances(weights)
    np.fill_diagonal(A, np.inf)
    return len(samples) > 1 and bool(np.median(A.min(axis=1)) > _APART)


def consensus_search(
    problem: Problem, z: Array, search: Search, n_starts: int, rng: np.random.Generator, *, rounds: int = 6
) -> Solution:
    """The best of many searches, the later ones with the features on which the earlier ones agree.

    In every round the searches start from randomly perturbed weights, and the features that a third of them select are
    used in the next round. An informative feature is selected from nearly all starts; one that fits by chance is
    selected from some. It ends when a round neither drops features nor lowers the objective.

    Parameters
    ----------
    problem, z
        As in `alternate`.
    search : callable
        A search, as a function of problem and start.
    n_starts : int
        Searches in a round; with 1, a single search from z.
    rng : Generator
        Source of the perturbations.
    rounds : int
        Largest number of rounds.
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
    """Search among `size` of very many features, then bring in others that lower the objective.

    The derivative in a weight that is zero is zero. So the gain of a feature is estimated from the derivative in the
    square of its weight, for a weight as large as the median of the selected ones (times their scales). While some
    gains exceed the penalty and the objective falls, the features with the largest gains are brought in. Features that
    start at zero are left out.
    """
    field = _promising(problem, z, size)
    return _grown(problem, z, search, field, z[field], max(1, size // 4), rounds)


def interaction_search(problem: Problem, z: Array, search: Search, *, batch: int = 5, rounds: int = 10) -> Solution:
    """Search from the two or three features that agree best with the labels together; then bring in others.

    Of the pair and the triple, with narrow and with wide kernels, the start with the lowest objective is taken.
    """
    found = best_interactions(problem, z > 0.0)
    starts, last = [], None
    for features in (found.pair, found.triple):
        for width in () if features is None else _WIDTHS:
            begin = np.zeros(len(z))
            begin[features] = width / problem.scales[features]
            B, b, value = problem.solve_classifiers(begin, last)
            starts.append((value, begin))
            last = B, b
    if not starts:  # a single feature
        return search(problem, z)
    begin = min(starts, key=lambda one: one[0])[1]
    field = np.flatnonzero(begin)
    return _grown(problem, z, search, field, begin[field], batch, rounds)


def pruned_search(problem: Problem, solution: Solution, search: Search, share: float) -> Solution:
    """Drop the features whose weights, times their scales, are below a share of the largest, and search again.

    This is repeated until no weight is below it. The history goes on, and the numbers of rounds are added.
    """
    while True:
        size = solution.z * problem.scales
        kept = np.flatnonzero((size >= share * size.max(initial=0.0)) & (size > 0.0))
        if len(kept) == np.count_nonzero(size):
            return solution
        again = search(problem.among(kept), solution.z[kept])  # among them only: GMKL gives others weight again
        z, history = scatter_weights(problem, again.z, kept), (*solution.history, *again.history)
        solution = replace(again, z=z, history=history, n_iter=solution.n_iter + again.n_iter)


def _grown(problem: Problem, z: Array, search: Search, field: Index, begin: Array, batch: int, rounds: int) -> Solution:
    """Search among the features of `field` from `begin`, and bring in others while the objective falls."""
    best: Solution | None = None
    for _ in range(rounds):
        part = search(problem.among(field), begin)
        if best is not None and part.objective >= best.objective:
            break
        best = replace(part, z=scatter_weights(problem, part.z, field))
        keep = problem.selected(best.z)
        typical = _typical(problem, best.z if len(keep) else z)
        gain = -problem.slopes(best.z, best.B, best.b) * typical**2 - problem.classifiers.penalty.costs(typical)
        gain[keep] = -np.inf
        gain[z == 0.0] = -np.inf  # left out by the caller
        wanted = np.argsort(-gain, kind="stable")[:batch]
        wanted = wanted[gain[wanted] > 0.0]
        if not len(wanted):
            break
        field = np.concatenate([keep, wanted])
        begin = np.concatenate([best.z[keep], typical[wanted]])
    assert best is not None
    return best


def _typical(problem: Problem, z: Array) -> Array:
    """For every feature, the weight that times its scale is the median of the selected ones."""
    share = (z * problem.scales)[problem.selected(z)]
    return np.divide(np.median(share), problem.scales, out=np.zeros(len(z)), where=problem.scales > 0.0)


def _promising(problem: Problem, z: Array, size: int) -> Index:
    """The most promising features: half of them beside all others, half of them alone.

    Beside the others: the largest slopes at weights so small that the kernel matrix is not the identity. Alone: the
    best agreement of a kernel of that feature with the labels, which also finds effects that are not monotonic.
    """
    mean = float(_mean_distances(problem, np.ones(len(problem.X))) @ spread(z, problem.groups) ** 2)
    small = z / np.sqrt(mean or 1.0)
    B, b, _ = problem.solve_classifiers(small)
    beside = np.abs(problem.slopes(small, B, b)) * small
    rows = np.random.default_rng(0).permutation(len(problem.X))[:_GLANCE]
    Y = problem.classifiers.Y[rows]
    Y = Y - Y.mean(axis=0)
    alone = _alone(replace(problem, X=problem.X[rows]), Y @ Y.T)
    alone[z == 0.0] = -np.inf
    first = np.argsort(-beside, kind="stable")[: size - size // 2]
    others = np.argsort(-alone, kind="stable")
    return np.concatenate([first, others[~np.isin(others, first)][: size // 2]])


def _alone(problem: Problem, wanted: Array) -> Array:
    """The agreement of the kernel of each single feature with a matrix."""
    X = problem.X / np.maximum(problem.units, np.finfo(float).tiny)
    metric = "cityblock" if problem.profile.shape == "laplacian" else "sqeuclidean"
    agreement = np.empty(problem.n_weights)
    for k in range(len(agreement)):
        part = X[:, columns_of(problem.groups, np.array([k]))[0]]
        agreement[k] = float(np.vdot(wanted, np.exp(-cdist(part, part, metric))))
    return agreement
