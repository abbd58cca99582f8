"""From samples to classifiers with feature weights: the problem, the start, the searches and the frozen result."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.curvature import smallest_curvature
from rarefy.core.feature_weights.kernel import FeatureKernel, Profile
from rarefy.core.feature_weights.penalties import Penalty
from rarefy.core.feature_weights.problem import Problem, Solution
from rarefy.core.feature_weights.search import run_search
from rarefy.core.feature_weights.starts import consensus_search, scaled_start, screened_search
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.hinge import SmoothedHinge


@dataclass(frozen=True)
class SearchSettings:
    """How to search; the fields are parameters of `run_search`, `consensus_search` and `screened_search`."""

    method: str = "ao2"
    polish: bool = True
    tol: float = 1e-3
    max_iter: int | None = None
    n_starts: int = 1
    screening: int | None = None
    seed: int = 0
    """Of the perturbed starts."""


@dataclass(frozen=True)
class Progress:
    """Where a search is."""

    mu: float
    search: int
    round: int
    objective: float
    n_features: int


Report = Callable[[Progress], None]


@dataclass(frozen=True)
class FeatureSelection:
    """Weights of all features, and the classifiers, which need only the features with a nonzero weight."""

    feature_weights: Array
    support: NDArray[np.bool_]
    ranking: Index
    curvature: float
    objective: float
    history: Array
    n_iter: int
    converged: bool
    dual_coef: Array
    intercept: Array
    support_vectors: Array


def labelled_problem(
    X: Array,
    labels: Index,
    weights: Array,
    *,
    C: float,
    penalty: Penalty,
    loss: SmoothedHinge,
    profile: Profile,
) -> Problem:
    """The problem for labelled samples: one SVM for two classes, else one for each class against the others.

    Equal samples are merged and all are sorted. A search can depend on the last digits of its input, but it should
    depend neither on the order of the samples nor on whether a sample is given twice or has weight two.

    Parameters
    ----------
    X : (n, d) array
        Samples.
    labels : (n,) array of int
        Their classes, 0, 1, ..., all of which occur.
    weights : (n,) array
        Their weights, all positive.
    C, penalty, loss, profile
        Factor on the losses, penalty of the feature weights, loss and kernel.
    """
    rows, where = np.unique(np.column_stack([labels, X]), axis=0, return_inverse=True)
    X, n_classes = np.ascontiguousarray(rows[:, 1:]), int(labels.max()) + 1
    positives = [1] if n_classes == 2 else range(n_classes)
    Y = np.column_stack([np.where(rows[:, 0] == positive, 1.0, -1.0) for positive in positives])
    costs: Array = C * np.bincount(where.ravel(), weights).astype(np.float64, copy=False)
    return Problem(X, Classifiers(Y, costs, penalty, loss), profile)


def start_weights(problem: Problem, init: str | Array) -> Array:
    """The weights to start from: "ones", "scaled" or given; features that are constant under a Gaussian get zero."""
    if isinstance(init, str):
        init = np.ones(problem.X.shape[1]) if init == "ones" else scaled_start(problem)
    return init if problem.profile.shape != "rbf" else np.where(np.ptp(problem.X, axis=0) > 0.0, init, 0.0)


def selection_path(
    problem: Problem, start: Array, mus: Sequence[float] | Array, settings: SearchSettings, report: Report | None = None
) -> list[FeatureSelection]:
    """Solve for several factors mu of the penalty, from the smallest to the largest.

    The smallest one starts from `start`, with all starts and with screening; each of the others is a single search
    from the weights of the one before, or starts like the first while all weights are zero.

    Parameters
    ----------
    problem : Problem
        What to solve; its own mu is replaced.
    start : (d,) array
        Weights to start from.
    mus : sequence of float
        Factors of the penalty, in any order.
    settings : SearchSettings
        How to search.
    report : callable or None
        Called with a `Progress` in every round of every search.

    Returns
    -------
    found : list of FeatureSelection
        In the order of `mus`.
    """
    found: dict[int, FeatureSelection] = {}
    z: Array | None = None
    with problem.threads():
        for i in np.argsort(mus, kind="stable"):
            here = problem.with_mu(float(mus[i]))
            search = _Search(settings, report)
            solution = search.from_start(here, start) if z is None else search(here, z)
            found[int(i)] = _described(here, solution, settings.method)
            z = solution.z if solution.z.any() else z
    return [found[i] for i in range(len(mus))]


def decision_scores(
    X: Array, weights: Array, support_vectors: Array, dual_coef: Array, intercept: Array, profile: Profile
) -> Array:
    """The scores of samples by the classifiers of a `FeatureSelection`, one column for each classifier."""
    nonzero = np.flatnonzero(weights > 0.0)
    K = FeatureKernel(X[:, nonzero], support_vectors, profile).matrix(weights[nonzero])
    return np.asarray(K @ dual_coef.T + intercept)


class _Search:
    """The search with its settings; counts the searches for the report."""

    def __init__(self, settings: SearchSettings, report: Report | None) -> None:
        self._settings, self._report, self._count = settings, report, 0

    def __call__(self, problem: Problem, z: Array) -> Solution:
        """One search from z."""
        self._count += 1
        mu, count, report, own = problem.classifiers.penalty.mu, self._count, self._report, self._settings

        callback = None
        if report is not None:

            def callback(n: int, value: float, z: Array) -> None:
                report(Progress(mu, count, n + 1, value, int(np.count_nonzero(z))))

        return run_search(
            problem, z, own.method, polish=own.polish, tol=own.tol, max_iter=own.max_iter, callback=callback
        )

    def from_start(self, problem: Problem, z: Array) -> Solution:
        """With all starts and, if there are more features than `screening`, with screening."""
        rng = np.random.default_rng(self._settings.seed)

        def with_starts(problem: Problem, z: Array) -> Solution:
            return consensus_search(problem, z, self, self._settings.n_starts, rng)

        screening = self._settings.screening
        if screening is not None and screening < np.count_nonzero(z):
            return screened_search(problem, z, with_starts, screening)
        return with_starts(problem, z)


def _described(problem: Problem, solution: Solution, method: str) -> FeatureSelection:
    """The result; GMKL has another objective than the problem, so the curvature there is undefined."""
    z, centres = solution.z, np.flatnonzero(np.any(solution.B != 0.0, axis=1))
    support = np.zeros(len(z), dtype=bool)
    support[problem.selected(z)] = True
    return FeatureSelection(
        feature_weights=z,
        support=support,
        ranking=rankdata(-z * problem.scales, method="min").astype(int),
        curvature=np.nan if method == "gmkl" else smallest_curvature(problem, solution),
        objective=solution.objective,
        history=np.array(solution.history),
        n_iter=solution.n_iter,
        converged=solution.converged,
        dual_coef=solution.B[centres].T.copy(),
        intercept=solution.b.copy(),
        support_vectors=problem.X[np.ix_(centres, np.flatnonzero(z > 0.0))],
    )
