r"""Smallest enclosing ball and distance of convex hulls.

x  : samples with their mean as origin; z_i = x_i for the ball, y_i x_i for two classes
K  : (n, n) Gram matrix of z; u : (n,) weights; c = sum u_i z_i

Both are quadratic programs over simplices, min f(u) = u^T K u - q^T u. For the ball q is the diagonal of K and all
weights are one group: minus the value is the squared radius and c the centre. For two classes q = 0 and the classes are
the groups: the value is the squared distance of the hulls, four times the squared margin of the hard-margin SVM with
intercept.

*Many samples.* Few weights are positive, so that only the Gram matrix of a working set is formed. With the weights that
are best for it the gradient at all samples, 2 z_i^T c - q_i, is one product with the data; samples with the steepest
descent join the working set, those without a weight leave it. The search ends when the Frank-Wolfe gap over all
samples, which bounds f(u) - min f, is negligible.
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.columns import column_means
from rarefy.core.linalg.rows import Array, Index, Rows, well_scaled
from rarefy.core.solvers.simplex_qp import TOL, SimplexMinimum, simplex_qp

_ALL_PAIRS = 2000
"""Samples up to which their Gram matrix is formed: 32 MB."""
_JOINING = 16
"""Samples of a group that join the working set at a time, at least."""
_MAX_ROUNDS = 10_000


@dataclass(frozen=True)
class Ball:
    """Squared radius, how far it may be from the smallest one, and the centre's weights."""

    radius2: float
    gap: float
    weights: Array


def enclosing_ball(X: Rows) -> Ball:
    """Smallest ball around the rows of X; `radius2` exceeds the smallest squared radius by at most `gap`."""
    n = X.shape[0]
    points = _Points(X, np.ones(n))
    found = _minimum(points, points.lengths2, np.zeros(n, dtype=np.intp))
    unit2 = points.scale**2
    return Ball(max(0.0, found.gap - found.value) * unit2, found.gap * unit2, found.u)


def squared_margin(X: Rows, groups: Index) -> float:
    """Squared margin between the samples of group 0 and those of group 1; 0 when their hulls overlap.

    Or when they are closer than about a millionth of the data's extent, which squares do not tell from overlapping.
    """
    points = _Points(X, np.where(groups == 1, 1.0, -1.0))
    found = _minimum(points, np.zeros(len(groups)), groups)
    separate = found.value > 10.0 * max(found.gap, TOL * float(points.lengths2.max()))
    return found.value / 4.0 * points.scale**2 if separate else 0.0


class _Points:
    """The samples with their mean as origin, each times a sign, and divided by `scale`.

    Balls and margins move along with the samples. The mean is taken off before anything is squared: a common offset
    would otherwise cost all digits.
    """

    def __init__(self, X: Rows, sign: Array) -> None:
        self._X, self.scale = well_scaled(X)
        self._sign = sign
        n = X.shape[0]
        self._mean = column_means(self._X)
        self.lengths2 = np.empty(n)
        for rows, block in self._X.blocks():
            centred = block - self._mean
            self.lengths2[rows] = np.einsum("ij,ij->i", centred, centred)

    def gram(self, index: Index) -> Array:
        """Products of all pairs of the samples with these numbers, feature by feature."""
        K = np.zeros((len(index), len(index)))
        for features, block in self._X.subset(index).T.blocks():
            centred = (block - self._mean[features, None]) * self._sign[index]
            K += centred.T @ centred
        return K

    def combined(self, index: Index, weights: Array) -> Array:
        """Sum of these samples times their weights."""
        signed = weights * self._sign[index]
        c = np.zeros(len(self._mean))
        for rows, block in self._X.subset(index).blocks():
            c += signed[rows] @ (block - self._mean)
        return c

    def products(self, c: Array) -> Array:
        """Products of all samples with one vector, less a constant for each sign that differences do not see."""
        return self._sign * (self._X @ c)


def _minimum(points: _Points, q: Array, groups: Index) -> SimplexMinimum:
    """The least value of f."""
    if len(q) <= _ALL_PAIRS:
        return simplex_qp(points.gram(np.arange(len(q))), q, groups)
    return _minimum_by_working_sets(points, q, groups)


def _minimum_by_working_sets(points: _Points, q: Array, groups: Index) -> SimplexMinimum:
    """The least value of f without the Gram matrix of all samples; the gap is that over all of them."""
    members = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    negligible = TOL * float(points.lengths2.max())
    middle = points.combined(np.arange(len(q)), 1.0 / np.bincount(groups)[groups])
    working = _steepest(q - 2.0 * points.products(middle), members, _JOINING)
    value = np.inf
    for _ in range(_MAX_ROUNDS):
        found = simplex_qp(points.gram(working), q[working], groups[working])
        before, value = value, found.value
        u = np.zeros(len(q))
        u[working] = found.u
        gradient = 2.0 * points.products(points.combined(working, found.u)) - q
        gap = sum(float(u[group] @ gradient[group] - gradient[group].min()) for group in members)
        active = working[found.u > 0.0]
        joining = np.setdiff1d(_steepest(-gradient, members, max(_JOINING, len(active) // 2)), working)
        # Every round lowers f; when rounding stops that, nothing more can be gained.
        if gap <= negligible or value >= before or not len(joining):
            break
        if not q.any() and value <= negligible:  # hulls of a few samples overlap, and so do those of all
            break
        working = np.append(active, joining)
    return SimplexMinimum(u, value, max(0.0, gap))


def _steepest(descent: Array, members: list[Index], count: int) -> Index:
    """So many samples of every group, those with the largest descent."""
    chosen = []
    for group in members:
        worst = np.argpartition(-descent[group], min(count, len(group)) - 1)[:count]
        chosen.append(group[worst])
    return np.concatenate(chosen)
