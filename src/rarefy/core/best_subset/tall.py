r"""The relaxation where samples are many and columns few: Newton's method on coefficients and shares at once.

    P(w, b, s) = sum over models of 1/2 sum_j w_j^2 / s_j + sum_i c_i l(y_i, x_i^T w + b)

is convex in all three together, and its least value over w and b is Z(s) (`problem`). A step replaces the losses by
their quadratic model around (w, b), which needs one d x d matrix X^T D X a model; the relaxation of that model
(`relaxation`, with `QuadraticProblem` in place of the data) needs no samples at all. So a step costs three passes over
the data however many shares are tried, and few steps are enough: for the squared loss one, for the squared hinge until
no sample changes sides any more. Where samples are very many, the first steps are made with a part of them, which costs
little and ends close by. What is proved is proved by dual variables of all samples.

X : (n, d) data, columns multiplied by `scale`; H : (m, d, d) curvatures, intercepts eliminated; w : (d, m) coefficients
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg as sl

from rarefy.core.best_subset.problem import Start, SubsetProblem, Trained, group_sums
from rarefy.core.best_subset.relaxation import Relaxed, largest_sum, relaxed
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.margins import best_intercept

_WIDEST = 300
"""Most columns: a step of the model factorises a matrix of this size."""
_SAMPLES = 30
"""Fewest samples for each column and model; with fewer, the trainings that are saved cost as little as a matrix."""
_PART = 20_000
"""Samples of the part that is solved first, where there are at least four times as many."""
_CLOSER = 0.1
"""The relaxation of the model is solved to this share of the accepted gap."""
_INNER = 500

Watch = Callable[[Array, Array, float], bool]


def is_tall(problem: SubsetProblem) -> bool:
    """Whether Newton's method on shares pays: few columns, many samples, and a loss that bends."""
    (n, d), m = problem.X.shape, problem.Y.shape[1]
    return problem.loss.name != "hinge" and d <= _WIDEST and n >= _SAMPLES * d * m


@dataclass(frozen=True, eq=False)
class QuadraticProblem:
    """A quadratic in the coefficients in place of the losses: constant - r^T w + 1/2 w^T H w, summed over models.

    It is what `relaxation` asks a problem for. "Dual variables" are the pulls of the columns above the coefficients:
    for all p and w with p = r - H w, the quadratic plus p^T w is at least constant - 1/2 w^T H w.
    """

    H: Array
    right: Array
    constant: float
    groups: Index
    n_groups: int

    def train(self, chosen: Index, share: Array | None = None, start: Start | None = None) -> Trained:
        """The least value with shares, and where it is."""
        s = np.zeros(self.n_groups)
        s[chosen] = 1.0 if share is None else share
        taken = np.flatnonzero(s[self.groups] > 0.0)
        root = np.sqrt(s[self.groups][taken])
        d, m = self.right.shape
        w, value = np.zeros((d, m)), self.constant
        for k in range(m):
            A = root[:, None] * self.H[k][np.ix_(taken, taken)] * root
            A.flat[:: len(taken) + 1] += 1.0
            b = root * self.right[taken, k]
            v = sl.cho_solve(sl.cho_factor(A, lower=True, check_finite=False), b, check_finite=False)
            w[taken, k] = root * v
            value -= 0.5 * float(b @ v)
        pulls = self.right - np.einsum("kij,jk->ik", self.H, w)
        return Trained(np.vstack([pulls, w]), np.zeros(m), w[taken], value, value)

    def pulls(self, beta: Array) -> Array:
        """How much each group would lower the value, to first order (twice)."""
        return group_sums(np.sum(beta[: len(beta) // 2] ** 2, axis=1), self.groups, self.n_groups)

    def gain(self, beta: Array) -> float:
        """The part of the bound that does not depend on the shares."""
        w = beta[len(beta) // 2 :]
        return self.constant - 0.5 * float(np.einsum("ik,kij,jk->", w, self.H, w))


@dataclass(frozen=True, eq=False)
class _Place:
    """Coefficients, shares and scores with the best intercepts, and the dual variables there."""

    s: Array
    w: Array
    b: Array
    scores: Array
    """Without intercepts."""
    value: float
    beta: Array
    g: Array
    """(d, m) products of the columns with beta."""
    pulls: Array

    @classmethod
    def at(cls, p: SubsetProblem, s: Array, w: Array, scores: Array, b: Array) -> "_Place":
        pairs = list(zip(p.Y.T, scores.T, b, strict=True))
        b = np.array([best_intercept(p.loss, y, f, p.costs, float(guess)) for y, f, guess in pairs])
        value = _penalty(p, w, s) + _losses(p, scores + b)
        slopes = [p.loss.derivatives(y, f + at)[0] for (y, f, _), at in zip(pairs, b, strict=True)]
        beta = np.column_stack(
            [p.loss.balanced(y, -p.costs * slope, p.costs) for y, slope in zip(p.Y.T, slopes, strict=True)]
        )
        g = (p.columns @ beta) * p.scale[:, None]
        pulls = group_sums(np.sum(g**2, axis=1), p.groups, p.n_groups)
        return cls(s, w, b, scores, value, beta, g, pulls)

    def bound(self, p: SubsetProblem, r: int) -> float:
        """No choice of r groups has a lower objective, up to rounding."""
        return p.gain(self.beta) - 0.5 * largest_sum(self.pulls, r)


def relaxed_tall(
    problem: SubsetProblem,
    r: int,
    *,
    s: Array,
    tol: float = 1e-4,
    max_iter: int = 100,
    watch: Watch | None = None,
) -> Relaxed:
    """Minimise Z(s) from s on; parameters as in `relaxed`."""
    here = _first(problem, r, s, tol)
    best, dual, iteration = -np.inf, here.beta, 0
    for iteration in range(max_iter + 1):
        found = here.bound(problem, r)
        if found > best:
            best, dual = found, here.beta
        done = here.value - best <= tol * abs(here.value) or iteration == max_iter
        if done or (watch is not None and watch(here.s, here.pulls, best)):
            break
        there = _step(problem, r, here, tol)
        if not there.value < here.value:
            break
        here = there
    trained = Trained(here.beta, here.b, here.w, here.value, best)
    return Relaxed(here.s, here.pulls, trained, best, dual, here.value, iteration)


def _first(problem: SubsetProblem, r: int, s: Array, tol: float) -> _Place:
    """Where to begin: at the shares with no coefficients, or at the solution for a part of the samples."""
    (n, d), m = problem.X.shape, problem.Y.shape[1]
    if n >= 4 * _PART:
        # A fixed seed: equal inputs give equal answers, and any part leads to the same relaxation.
        rows = np.sort(np.random.default_rng(0).choice(n, _PART, replace=False))
        costs = problem.costs[rows]
        costs = costs * (problem.costs.sum() / costs.sum())
        part = replace(problem, X=problem.X.subset(rows), Y=problem.Y[rows], costs=costs)
        found = relaxed_tall(part, r, s=s, tol=max(tol, 1e-3), max_iter=30)
        w = found.trained.coef
        return _Place.at(problem, found.s, w, problem.X @ (w * problem.scale[:, None]), found.trained.intercept)
    return _Place.at(problem, s, np.zeros((d, m)), np.zeros((n, m)), np.zeros(m))


def _step(p: SubsetProblem, r: int, here: _Place, tol: float) -> _Place:
    """The minimum of the quadratic model, or a point on the way to it that is lower than here."""
    H, tilt = _curvatures(p, here)
    linear = np.einsum("kij,jk->ik", H, here.w)
    right = linear + here.g  # the slope of the losses in w is -g
    constant = _losses(p, here.scores + here.b) + float(np.sum(here.w * (0.5 * linear + here.g)))
    model = QuadraticProblem(H, right, constant, p.groups, p.n_groups)
    found = relaxed(model, r, s=here.s, tol=_CLOSER * tol, max_iter=_INNER)
    w = found.trained.beta[len(here.w) :]
    dw, ds = w - here.w, found.s - here.s
    moved, db = p.X @ (dw * p.scale[:, None]), -np.einsum("jk,jk->k", tilt, dw)
    # What the model promises; on the way there P is convex, so that short steps keep a part of the promise.
    promised = here.value - found.value
    t = 1.0
    while t > 1e-6:
        value = _penalty(p, here.w + t * dw, here.s + t * ds) + _losses(p, here.scores + t * moved + here.b + t * db)
        if value <= here.value - 1e-3 * t * promised:
            break
        t *= 0.5
    s = np.clip(here.s + t * ds, 0.0, 1.0)
    return _Place.at(p, s, here.w + t * dw, here.scores + t * moved, here.b + t * db)


def _curvatures(p: SubsetProblem, here: _Place) -> tuple[Array, Array]:
    """Second derivatives of the losses in the coefficients, with intercepts that follow: b moves by -tilt^T dw."""
    d, m = here.w.shape
    H, tilt = np.empty((m, d, d)), np.empty((d, m))
    for k, y in enumerate(p.Y.T):
        D = p.costs * p.loss.derivatives(y, here.scores[:, k] + here.b[k])[1]
        total = max(float(D.sum()), 1e-300)
        tilt[:, k] = p.scale * (p.columns @ D) / total
        H[k] = p.scale[:, None] * p.X.gram(D) * p.scale - total * np.outer(tilt[:, k], tilt[:, k])
    return H, tilt


def _penalty(p: SubsetProblem, w: Array, s: Array) -> float:
    squares = group_sums(np.sum(w**2, axis=1), p.groups, p.n_groups)
    return 0.5 * float(np.divide(squares, s, out=np.zeros_like(s), where=squares > 0.0).sum())


def _losses(p: SubsetProblem, f: Array) -> float:
    return float(sum(p.costs @ p.loss.values(y, one) for y, one in zip(p.Y.T, f.T, strict=True)))
