r"""Sets of columns from shares, made better by exchanges.

*Sets.* The largest shares of the relaxation, the largest pulls, and what is left of the groups with a share when those
with the smallest coefficients are taken away one after another; each is improved by exchanges. Then what is left of two
sets together, or of the best set and the largest pulls outside it, is improved the same way, while that helps.

*Exchanges.* At the dual variables of a set's own models, exchanging group o for group i leaves the objective at least
at Z + (q_o - q_i) / 2, by weak duality: pairs for which that is too much cannot help. Of the others a quadratic model
says which are worth a training. With curvatures D of the losses (the intercept eliminated), A = I + F^T D F over the
set, w its coefficients, and for a new column x with the pull g^2: a = F^T D x, v = A^-1 a and h = 1 + x^T D x - v^T a,

    Z_new - Z  ~  -g^2 / (2 h) + (w_o - v_o g / h)^2 / (2 ((A^-1)_oo + v_o^2 / h)),

which is exact for the squared loss, and for the squared hinge as long as no sample changes sides.
"""

from dataclasses import dataclass, replace

import numpy as np

from rarefy.core.best_subset.problem import SubsetProblem, Trained
from rarefy.core.linalg.rows import Array, Index, Rows, TransposedRows

_TRIED = 12
"""Exchanges that are trained, of those that the model likes best, before a set counts as one that none makes better."""
_MANY = 50
"""Sets of at least as many groups are changed at several places at once."""
_FRUITLESS = 6
"""Rounds without a better set after which the search ends."""
_NARROW = 1.02
"""A set that is worse than the bound by less than this factor is not worth much searching."""
_WIDEST = 1 << 22
"""Entries of the columns, and pairs of columns, that the model looks at, at most."""
_ROUNDED = 0.25
"""The hinge's curvature is that of a hinge with a corner as round as this."""
_LEAST_GAIN, _LEAST_SHARE = 1e-7, 1e-3
"""An exchange counts if it gains more than the first of the objective, and than the second of what is left to gain."""


@dataclass(frozen=True, eq=False)
class Choice:
    """A set of groups and the models in it."""

    groups: Index
    trained: Trained

    @property
    def value(self) -> float:
        """The objective."""
        return self.trained.value


def choice(problem: SubsetProblem, groups: Index, start: Trained | None = None) -> Choice:
    """Train in a set of groups."""
    groups = np.sort(groups)
    return Choice(groups, problem.train(groups, start=None if start is None else start.start))


def exchanged(problem: SubsetProblem, found: Choice, enough: float) -> Choice:
    """The set after exchanges that lower its objective; it is left when the objective is down to `enough`."""
    while found.value > enough:
        least = max(_LEAST_GAIN * found.value, _LEAST_SHARE * (found.value - enough) if enough > 0.0 else 0.0)
        better = _best_exchange(problem, found, found.value - least)
        if better is None:
            break
        found = better
    return found


def searched(
    problem: SubsetProblem, r: int, shares: Array, pulls: Array, first: Choice, enough: float, thorough: bool = True
) -> Choice:
    """The best set that is found from a relaxation's shares and pulls and from a first set."""
    pool = [exchanged(problem, min(first, choice(problem, highest(shares, r)), key=lambda one: one.value), enough)]
    if not thorough:
        return pool[0]

    def add(groups: Index) -> None:
        found = exchanged(problem, choice(problem, eliminated(problem, groups, r), pool[0].trained), enough)
        if not any(np.array_equal(found.groups, other.groups) for other in pool):
            pool.append(found)
            pool.sort(key=lambda one: one.value)

    def wide() -> bool:
        return pool[0].value > _NARROW * enough

    support = np.flatnonzero(shares > 1e-6)
    for groups in (support[highest(shares[support], 8 * r)], highest(shares, 2 * r), highest(pulls, r)):
        if wide():
            add(groups)
    fruitless, turn = 0, 0
    while pool[0].value > enough and fruitless < (_FRUITLESS if wide() else 1):
        best = pool[0]
        if turn % 2 == 0 and len(pool) > 1 + turn // 2:
            add(np.union1d(best.groups, pool[1 + turn // 2].groups))
        else:
            outside = problem.pulls(best.trained.beta)
            outside[best.groups] = -1.0
            add(np.union1d(best.groups, highest(outside, r * (1 + turn // 2))))
        turn, fruitless = (turn + 1, fruitless + 1) if pool[0] is best else (0, 0)
    return pool[0]


def eliminated(problem: SubsetProblem, groups: Index, r: int) -> Index:
    """The r groups that are left when those with the smallest coefficients are taken away, a fifth at a time."""
    groups, start = np.sort(groups), None
    while len(groups) > r:
        trained = problem.train(groups, start=start)
        start = trained.start
        sizes = np.bincount(np.repeat(np.arange(len(groups)), problem.sizes(groups)), np.sum(trained.coef**2, axis=1))
        groups = np.delete(groups, np.argsort(sizes, kind="stable")[: max(1, (len(groups) - r) // 5)])
    return groups


def highest(scores: Array, count: int) -> Index:
    """The places with the highest scores; of equal ones the first."""
    return np.argsort(-scores, kind="stable")[:count]


def _best_exchange(problem: SubsetProblem, found: Choice, limit: float) -> Choice | None:
    """A set below the limit that exchanges lead to, if there is one among those that should help most."""
    pulls = problem.pulls(found.trained.beta)
    inside = np.zeros(problem.n_groups, dtype=bool)
    inside[found.groups] = True
    others = np.flatnonzero(~inside & (0.5 * (pulls - pulls[found.groups].min()) > found.value - limit))
    others = others[
        np.argsort(-pulls[others], kind="stable")[: max(10, _WIDEST // max(len(found.groups), len(problem.Y)))]
    ]
    if not len(others):
        return None
    change = 0.5 * (pulls[found.groups, None] - pulls[others])
    hopeless = found.value + change >= limit  # proved, up to the tolerance of training
    if problem.n_groups == len(problem.groups):
        change = _modelled(problem, found, others)
    change[hopeless] = np.inf
    return _first_better(problem, found, others, _promising(change), limit)


def _promising(change: Array) -> list[tuple[int, int]]:
    """Pairs that should help, the best first."""
    order = np.argsort(change, axis=None, kind="stable")[: change.size if change.size < 1000 else 1000]
    pairs = [np.unravel_index(pair, change.shape) for pair in order if change.flat[pair] < 0.0]
    return [(int(o), int(i)) for o, i in pairs]


def _first_better(
    problem: SubsetProblem, found: Choice, others: Index, pairs: list[tuple[int, int]], limit: float
) -> Choice | None:
    """Several exchanges at once if that helps, half as many if it does not, down to single ones."""
    if not pairs:
        return None
    distinct: list[tuple[int, int]] = []
    for o, i in pairs:
        if all(o != out and i != new for out, new in distinct):
            distinct.append((o, i))
    count = len(found.groups) // 4 if len(found.groups) >= _MANY else 1
    attempts = []
    while count > 1:
        attempts.append(distinct[:count])
        count //= 2
    attempts += [[pair] for pair in pairs[:_TRIED]]
    for attempt in attempts:
        out, new = [o for o, _ in attempt], [i for _, i in attempt]
        tried = choice(problem, np.append(np.delete(found.groups, out), others[new]), found.trained)
        if tried.value < limit:
            return tried
    return None


def _modelled(problem: SubsetProblem, found: Choice, others: Index) -> Array:
    """(r, I) changes of the objective by exchanging each column of the set for each other one, by a quadratic model."""
    columns = problem.members(found.groups)
    F = (problem.columns.take(columns) * problem.scale[columns, None]).T
    new = problem.columns.subset(others)
    scale, change = problem.scale[others], np.zeros((len(columns), len(others)))
    for k, y in enumerate(problem.Y.T):
        w, beta = found.trained.coef[:, k], found.trained.beta[:, k]
        loss = replace(problem.loss, rounding=_ROUNDED) if problem.loss.name == "hinge" else problem.loss
        D = problem.costs * loss.derivatives(y, F @ w + found.trained.intercept[k])[1]
        total = max(float(D.sum()), 1e-300)
        mean = (D @ F) / total
        inverse = np.linalg.inv(np.eye(len(w)) + (F.T * D) @ F - total * np.outer(mean, mean))
        DF = D[:, None] * (F - mean)
        a = scale * (new @ DF).T
        own = scale**2 * np.maximum(_squares(new, D) - (new @ D) ** 2 / total, 0.0)
        v = inverse @ a
        h = np.maximum(1.0 + own - np.einsum("ij,ij->j", v, a), 1e-12)
        g = scale * (new @ beta)
        step = g / h
        change += 0.5 * (w[:, None] - v * step) ** 2 / (np.diag(inverse)[:, None] + v**2 / h) - 0.5 * g * step
    return change


def _squares(A: Rows, D: Array) -> Array:
    """Sums of squares of each row, weighted."""
    if isinstance(A, TransposedRows):  # one pass over what is transposed
        total = np.zeros(A.shape[0])
        for rows, block in A.T.blocks():
            total += D[rows] @ block**2
        return total
    return np.concatenate([block**2 @ D for _, block in A.blocks()])
