r"""Classifiers in the span of few kernel functions, with the losses of all samples.

X : (n, d) samples; P : (m, d) landmarks, some of them; z : (d,) weights
K : (n, m) and Kp : (m, m) kernel matrices of samples and landmarks with the landmarks
B, b : (m, q) and (q,) coefficients and offsets; F = K B + b the scores; G : (n, q) derivatives of the losses in F

    sum_c (1/2 B_c^T Kp B_c + sum_i C_i l(Y_ic F_ic)) + p(z)

is minimised over B and b by Newton's method in m + 1 unknowns, and over z by L-BFGS-B. At the minimum over B and b the
derivative in K is G B^T and that in Kp is 1/2 B B^T. Kernel values are in single precision, everything of the size of
the landmarks in double precision; nothing but K has n m entries, and of K there is one block at a time where all of it
would be too large.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from rarefy.core.feature_weights.grouping import spread, totals
from rarefy.core.feature_weights.kernel import FeatureKernel
from rarefy.core.feature_weights.problem import NEGLIGIBLE, Problem
from rarefy.core.feature_weights.selection import FeatureSelection
from rarefy.core.linalg.cholesky import lifted_cholesky
from rarefy.core.linalg.rows import Array, Index

Single = NDArray[np.float32]
Begin = tuple[Array, Array]
"""Coefficients and offsets of classifiers."""

_IN_CACHE = 1 << 19
"""Kernel values that are worked on at a time: 2 MB."""
_STEPS = 50
"""Largest number of Newton steps."""
_LONGEST = 4.0
"""Longest step, in Newton steps: with some of the samples in the Hessian the best one can be longer than 1."""
_IN_HESSIAN = 10
"""Samples in the Hessian, for each landmark: its other samples change a step little, and take most of the time."""
_SEEN = 1e-5
"""Eigenvalues of Kp below this share of the largest are left out: single precision does not show them."""
_ENOUGH = 1e-6
"""Relative decrease of the objective at which Newton's method ends."""
_ENTERING = 5
"""Features that are brought in at a time."""


@dataclass(frozen=True)
class LandmarkSettings:
    """How far to go: relative change of the objective at the end, evaluations, rounds that bring in features, share."""

    tol: float = 1e-3
    max_iter: int = 60
    rounds: int = 3
    prune: float = 0.0
    kept: float = np.inf
    """Kernel values that may be kept; more are computed again at every pass, which takes a few times as long."""


def choose_landmarks(problem: Problem, m: int, seed: int) -> Index:
    """Random samples, of each class as many as of the others as long as there are some."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(problem.X))
    classes = problem.classifiers.strata()[order]
    turn = np.empty(len(order), dtype=np.intp)
    for one in range(classes.max() + 1):
        members = np.flatnonzero(classes == one)
        turn[members] = np.arange(len(members))
    return np.sort(order[np.argsort(turn, kind="stable")[:m]])


class KernelValues:
    """Kernel values of samples with landmarks, in single precision, block by block: kept, or computed at every pass."""

    def __init__(self, X: Array, P: Array, kept: float) -> None:
        self.X, self._P = np.ascontiguousarray(X, dtype=np.float32), P
        whole = len(X) * len(P) <= kept
        rows = max(1, min(len(X), _IN_CACHE // max(1, len(P))))
        self._parts = [slice(start, min(start + rows, len(X))) for start in range(0, len(X), rows)]
        self._K = np.empty((len(X) if whole else rows, len(P)), dtype=np.float32)
        self._whole = whole
        self._columns, self._right = np.zeros(0, dtype=np.float32), np.zeros((0, 0), dtype=np.float32)

    def set_weights(self, columns: Array) -> None:
        """The values for these weights of the columns."""
        centres = (self._P * columns).astype(np.float32)
        lifted = np.column_stack([centres, -0.5 * np.einsum("jk,jk->j", centres, centres), np.ones(len(centres))])
        self._right = np.ascontiguousarray((2.0 * lifted).T, dtype=np.float32)
        self._columns = columns.astype(np.float32)
        if self._whole:
            for part in self._parts:
                self._fill(self.X[part], self._K[part])

    def blocks(self) -> Iterator[tuple[slice, Single]]:
        """All values; a block is gone when the next one is asked for."""
        for part in self._parts:
            block = self._K[part if self._whole else slice(part.stop - part.start)]
            yield part, block if self._whole else self._fill(self.X[part], block)

    def some(self, rows: Index) -> Single:
        """The values of some samples."""
        if self._whole:
            return self._K[rows]
        return self._fill(self.X[rows], np.empty((len(rows), len(self._P)), dtype=np.float32))

    def product(self, B: Array) -> Array:
        """K B."""
        found, single = np.empty((len(self.X), B.shape[1])), B.astype(np.float32)
        for part, K in self.blocks():
            found[part] = K @ single
        return found

    def transposed_product(self, g: Array) -> Array:
        """g K for one number g of each sample."""
        found, single = np.zeros(len(self._P)), g.astype(np.float32)
        for part, K in self.blocks():
            found += single[part] @ K
        return found

    def _fill(self, X: Single, out: Single) -> Single:
        scaled = X * self._columns
        left = np.column_stack([scaled, np.ones(len(scaled)), -0.5 * np.einsum("ik,ik->i", scaled, scaled)])
        np.matmul(left.astype(np.float32), self._right, out=out)
        np.minimum(out, 0.0, out=out)
        return np.exp(out, out=out)


class LandmarkProblem:
    """The problem in some of the features, with landmarks; remembers the classifiers of its last evaluation."""

    def __init__(self, problem: Problem, landmarks: Index, kept: float = np.inf, begin: Begin | None = None) -> None:
        self.problem, self.landmarks = problem, landmarks
        self.P = np.ascontiguousarray(problem.X[landmarks])
        self.K = KernelValues(problem.X, self.P, kept)
        q = problem.classifiers.Y.shape[1]
        begin = (np.zeros((len(self.P), q)), np.zeros(q)) if begin is None else begin
        self.B, self.b = begin[0].copy(), begin[1].copy()

    def evaluate(self, z: Array) -> tuple[float, Array]:
        """The minimum over the classifiers at z, with the penalty, and its gradient."""
        of = self.problem.classifiers
        Kp = self._kernels(z)
        total = self._solve(Kp)
        cost, slope, _ = of.penalty.derivatives(z)
        return total + cost, 2.0 * z * self.slopes(z, Kp) + slope

    def _kernels(self, z: Array) -> Array:
        """Take the kernel at z; return Kp."""
        self.K.set_weights(spread(z, self.problem.groups))
        return FeatureKernel(self.P, self.P, self.problem.profile, self.problem.groups).matrix(z)

    def _scores(self, B: Array, b: Array) -> Array:
        return self.K.product(B) + b

    def _solve(self, Kp: Array) -> float:
        """Newton's method for every classifier from the last one; returns the sum of their objectives."""
        size, vectors = np.linalg.eigh(Kp)
        seen = size > _SEEN * size[-1]
        T = vectors[:, seen] / np.sqrt(size[seen])
        value = 0.0
        for c in range(self.B.shape[1]):
            self.B[:, c], self.b[c], one = self._newton(Kp, T, c)
            value += one
        return value

    def _newton(self, Kp: Array, T: Array, c: int) -> tuple[Array, float, float]:
        """Newton's method with exact line searches, in coordinates v of B = T v; |v| is the norm of the classifier."""
        of = self.problem.classifiers
        v, b = T.T @ (Kp @ self.B[:, c]), float(self.b[c])
        F = self._scores((T @ v)[:, None], np.array([b]))[:, 0]
        last, before = np.zeros(len(v) + 1), np.inf
        for _ in range(_STEPS):
            losses, first, second = of.losses_of(c, F)
            step, shift, decrease = self._step(T, v, first, second)
            if decrease <= _ENOUGH * abs(0.5 * float(v @ v) + losses):
                break
            if of.quadratic:  # the Hessian of some samples is then the same at every step: conjugate gradients
                last = np.append(step, shift) + decrease / before * last
                step, shift, before = last[:-1], float(last[-1]), decrease
            moved = self._scores((T @ step)[:, None], np.array([shift]))[:, 0]
            length = of.length(c, F, moved, float(v @ step), float(step @ step), np.inf if of.quadratic else _LONGEST)
            v, b, F = v + length * step, b + length * shift, F + length * moved
        return T @ v, b, 0.5 * float(v @ v) + of.losses_of(c, F)[0]

    def _step(self, T: Array, v: Array, g: Array, h: Array) -> tuple[Array, float, float]:
        """The Newton step in coordinates and offset, and the decrease to first order; the gradient is exact."""
        r = len(v)
        H = np.eye(r + 1)
        H[r, r] = 1e-9 * float(self.problem.classifiers.costs.sum())
        gradient = np.append(v + T.T @ self.K.transposed_product(g), g.sum())
        curved = np.flatnonzero(h)
        if len(curved):
            some = curved[:: max(1, len(curved) // (_IN_HESSIAN * r))]
            root = np.sqrt(h[some] * (len(curved) / len(some)))
            rows = np.column_stack([self.K.some(some).astype(np.float64) @ T, np.ones(len(some))]) * root[:, None]
            H += rows.T @ rows
        move = -sl.cho_solve(lifted_cholesky(H, "a Hessian"), gradient, check_finite=False)
        return move[:r], float(move[r]), -float(gradient @ move)

    def slopes(self, z: Array, Kp: Array) -> Array:
        """The derivative of the objective in the squares of the weights, without the penalty."""
        _, G, _ = self.problem.classifiers.losses(self._scores(self.B, self.b))
        part = FeatureKernel(self.P, self.P, self.problem.profile, self.problem.groups)
        of_samples = _sums(self, self.K.X, self.P, G, self.B, self.problem.groups)
        return of_samples - 0.5 * part.sums(Kp * (self.B @ self.B.T))

    def slopes_of_all(self, problem: Problem, Kp: Array) -> tuple[Array, Array]:
        """The same in the weights of all features of the same samples, in two ways.

        For the classifiers as they are; and for those in the span of all kernel functions, whose coefficients would be
        -G, and whose slopes half the sum of K G G^T a_k over all pairs of samples. The pairs with landmarks stand for
        all, by class. The coefficients B make up functions of the features that are there and do not tell how the
        labels of landmarks go with another feature, which the second way does.
        """
        of, P = problem.classifiers, problem.X[self.landmarks]
        _, G, _ = of.losses(self._scores(self.B, self.b))
        classes = of.strata()
        taken = classes[self.landmarks]
        share = np.bincount(classes) / np.maximum(np.bincount(taken, minlength=classes.max() + 1), 1)
        part = FeatureKernel(P, P, problem.profile, problem.groups)
        as_is = _sums(self, problem.X, P, G, self.B, problem.groups) - 0.5 * part.sums(Kp * (self.B @ self.B.T))
        return as_is, -0.5 * _sums(self, problem.X, P, G, G[self.landmarks] * share[taken, None], problem.groups)


def _sums(at: LandmarkProblem, X: Array | Single, P: Array, G: Array, B: Array, groups: Index | None) -> Array:
    """Sums of -K * (G B^T) * (x_k - p_k)^2 over samples and landmarks."""
    centres, coefficients = P.astype(np.float32), B.T.astype(np.float32)
    square, cross, column = np.zeros(X.shape[1]), np.zeros(X.shape[1]), np.zeros(len(P))
    for part, K in at.K.blocks():
        M = G[part].astype(np.float32) @ coefficients
        M *= K
        block = np.ascontiguousarray(X[part], dtype=np.float32)
        square += M.sum(axis=1) @ block**2
        cross += np.einsum("ik,ik->k", block, M @ centres)
        column += M.sum(axis=0)
    return -totals(square + column @ P**2 - 2.0 * cross, groups)


def landmark_selection(
    problem: Problem, start: Array, landmarks: Index, settings: LandmarkSettings, begin: Begin | None = None
) -> FeatureSelection:
    """Learn weights and classifiers from all samples, from weights that were learned from some of them.

    Features with weight zero are brought in while they lower the objective; small weights are dropped at the end.

    Parameters
    ----------
    problem : Problem
        What to solve.
    start : (d,) array
        Weights to start from; all zero means no feature.
    landmarks : (m,) array
        Which of the samples are the landmarks.
    settings : LandmarkSettings
        How far to go.
    begin : (m, q) array and (q,) array, or None
        Coefficients and offsets of classifiers for these weights; None means zeros.
    """
    field, z = np.flatnonzero(start > 0.0), start[start > 0.0]
    best = _minimised(problem, landmarks, field, z, settings, begin)
    history, n_iter = [best.value], best.n_iter
    for _ in range(settings.rounds if len(field) else 0):
        entering = _wanted(problem, best)
        if not len(entering):
            break
        typical = float(np.median(best.z))
        wider = np.concatenate([best.field, entering])
        found = _minimised(problem, landmarks, wider, np.append(best.z, np.full(len(entering), typical)), settings)
        n_iter += found.n_iter
        if found.value >= best.value * (1.0 - 1e-2 * settings.tol):
            break
        best = found
        history.append(best.value)
    while len(best.field) and best.share().min() < settings.prune * best.share().max():
        kept = best.share() >= settings.prune * best.share().max()
        begin = best.part.B, best.part.b
        best = _minimised(problem, landmarks, best.field[kept], best.z[kept], settings, begin)
        history.append(best.value)
        n_iter += best.n_iter
    return _described(problem, best, history, n_iter)


@dataclass(frozen=True)
class _Found:
    part: LandmarkProblem
    field: Index
    z: Array
    value: float
    n_iter: int
    converged: bool

    def share(self) -> Array:
        return np.asarray(self.z * self.part.problem.scales)


def _minimised(
    problem: Problem, landmarks: Index, field: Index, z: Array, settings: LandmarkSettings, begin: Begin | None = None
) -> _Found:
    """L-BFGS-B on the objective divided by its size at the start, among some of the features."""
    part = LandmarkProblem(problem.reduced_to(field), landmarks, settings.kept, begin)
    if not len(field):
        return _Found(part, field, z, part.evaluate(z)[0], 0, True)
    size = problem.classifiers.constant

    def scaled(z: Array) -> tuple[float, Array]:
        value, gradient = part.evaluate(np.maximum(z, 0.0))
        return value / size, gradient / size

    options = {"maxiter": settings.max_iter, "maxfun": 2 * settings.max_iter, "ftol": 1e-2 * settings.tol}
    found = minimize(scaled, z, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(z), options=options)
    z = np.maximum(found.x, 0.0)
    share = z * part.problem.scales
    kept = share > NEGLIGIBLE * share.max(initial=0.0)
    if not kept.all():
        part = LandmarkProblem(problem.reduced_to(field[kept]), landmarks, settings.kept, (part.B, part.b))
        field, z = field[kept], z[kept]
    value, _ = part.evaluate(z)
    return _Found(part, field, z, value, int(found.nit), bool(found.success))


def _wanted(problem: Problem, best: _Found) -> Index:
    """Features with weight zero that would lower the objective most, with a weight as large as the others'."""
    if not len(best.field):
        return np.array([], dtype=np.intp)
    typical = float(np.median(best.share())) / np.maximum(problem.scales, np.finfo(float).tiny)
    Kp = FeatureKernel(best.part.P, best.part.P, problem.profile, best.part.problem.groups).matrix(best.z)
    slopes = np.minimum(*best.part.slopes_of_all(problem, Kp))
    gain = -slopes * typical**2 - problem.classifiers.penalty.costs(typical)
    gain[best.field], gain[problem.scales == 0.0] = -np.inf, -np.inf
    order = np.argsort(-gain, kind="stable")[:_ENTERING]
    return order[gain[order] > 0.0]


def _described(problem: Problem, best: _Found, history: list[float], n_iter: int) -> FeatureSelection:
    own = np.zeros(problem.n_weights)
    own[best.field] = best.z
    weights = spread(own, problem.groups)
    return FeatureSelection(
        feature_weights=weights,
        group_weights=own,
        support=weights > 0.0,
        ranking=rankdata(-spread(own * problem.scales, problem.groups), method="min").astype(int),
        curvature=np.nan,
        objective=best.value,
        history=np.array(history),
        n_iter=n_iter,
        converged=best.converged,
        dual_coef=best.part.B.T.copy(),
        intercept=best.part.b.copy(),
        support_vectors=problem.X[np.ix_(best.part.landmarks, np.flatnonzero(weights > 0.0))],
        memorized=False,
    )
