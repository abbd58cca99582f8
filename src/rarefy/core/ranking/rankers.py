r"""Ranking with few kernel functions: the problem in well conditioned variables, and its solvers.

K : (m, r) Rows, kernel values of all samples with the r basis samples; K_RR : (r, r) those of the basis samples
w : (r,) variables; beta = T w are the coefficients of the kernel functions, T = Q Lambda^(-1/2), K_RR = Q Lambda Q^T

    min over beta  loss(K beta) + alpha/2 beta^T K_RR beta      =      min over w  loss(K T w) + alpha/2 ||w||^2

The second form has the same solution and a Hessian that is at least alpha; products cost two passes over K.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg.lapack import dpstrf as pstrf
from scipy.linalg.lapack import dtrtri as trtri

from rarefy.core.linalg.rows import Array, DenseRows, Index, Rows
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.lists import ListLoss
from rarefy.core.losses.pairs import PairLoss
from rarefy.core.ranking.subsample import curved_part, inverse_hessian, is_worth_factoring, subsample
from rarefy.core.solvers.bundle import AbsoluteSum, BundleMinimum, Penalty, SquaredNorm, bundle
from rarefy.core.solvers.implicit_sgd import implicit_sgd
from rarefy.core.solvers.proximal import proximal_gradient
from rarefy.core.solvers.trust_region import Minimum, trust_region

_KEPT = 12
"""Products with directions that are kept beside the newest."""
_ROUGH = 1e-4
"""Tolerance of a smaller problem, or of one that is only similar: its minimiser is not the one that is sought."""


@dataclass(frozen=True)
class Ranker:
    """Coefficients of the kernel functions, and of their whitened form w; the value, and how it ended.

    `n_iter` and `n_products` count iterations and products with the Hessian on all samples only: those on a smaller
    problem that was solved first are not counted.
    """

    beta: Array
    w: Array
    objective: float
    decrement: float
    n_iter: int
    n_products: int
    converged: bool


def whitening(K_RR: Array, floor: float = 1e-12) -> Array:
    """T with T^T K_RR T = I, so that K_R T spans what K_R does.

    By Cholesky factorisation with pivots, K_RR = P L L^T P^T: a tenth of the work of eigenvectors. It ends where the
    squared distance of every other function to the span is tiny (`floor`, relative to the largest kernel value): with
    smaller ones T would be mostly rounding errors.
    """
    n = len(K_RR)
    tiny = floor * max(float(K_RR.diagonal().max(initial=0.0)), 0.0)
    with threads_for(n):
        L, pivots, rank, _ = pstrf(K_RR, tol=tiny, lower=1)
        T = np.zeros((n, rank))
        if rank:
            inverse, _ = trtri(L[:rank, :rank], lower=1)
            T[pivots[:rank] - 1] = np.tril(inverse).T
    return T


class Features:
    """Coordinates K T of all samples, never formed; without T they are K itself."""

    def __init__(self, K: Rows, T: Array | None = None) -> None:
        self._K, self._KT, self._T = K, K.T, T
        self.k = K.shape[1] if T is None else T.shape[1]

    def __matmul__(self, w: Array) -> Array:
        return self._K @ (w if self._T is None else self._T @ w)

    def transposed_product(self, u: Array) -> Array:
        product = self._KT @ u
        return product if self._T is None else self._T.T @ product

    def take(self, index: Index) -> Array:
        return self._K.take(index, self._T)

    def part(self, index: Index) -> "Features":
        """Some of the samples, with kernel values in memory: multiplying them by T costs more than it saves."""
        return Features(DenseRows(self._K.take(index)), self._T)


class _Scores:
    """loss(V w) + alpha/2 ||w||^2 at one w, for the coordinates V of the samples."""

    def __init__(self, V: Features, loss: PairLoss, alpha: float, w: Array, f: Array | None = None) -> None:
        self._V, self._loss, self._alpha, self._w = V, loss, alpha, w
        self._f = V @ w if f is None else f
        self._products: list[tuple[Array, Array]] = []
        self._state = loss.at(self._f)
        self.value = self._state.value + 0.5 * alpha * float(w @ w)
        self.gradient = V.transposed_product(self._state.gradient) + alpha * w

    def hessian_product(self, v: Array) -> Array:
        scores = self._V @ v
        self._products = [*self._products[-_KEPT:], (v, scores)]
        return self._V.transposed_product(self._state.hessian_product(scores)) + self._alpha * v

    def scores_at(self, w: Array) -> Array | None:
        """V w without a pass over V, if w is here plus a combination of directions whose products are known."""
        change, norm = w - self._w, float(np.linalg.norm(w - self._w))
        if not self._products or norm == 0.0:
            return None
        directions = np.column_stack([v / np.linalg.norm(v) for v, _ in self._products])
        shares = np.linalg.lstsq(directions, change, rcond=None)[0]
        if np.linalg.norm(directions @ shares - change) > 1e-12 * norm:
            return None
        f = self._f.copy()
        for share, (v, scores) in zip(shares, self._products, strict=True):
            f += share / np.linalg.norm(v) * scores
        return f

    def inverse_hessian(self) -> Callable[[Array], Array] | None:
        """The inverse of the Hessian times a vector, or nearly: where many samples bend the loss, by some of them."""
        if not is_worth_factoring(len(self._f), self._V.k):
            return None
        index, part = curved_part(self._loss, self._state.curvature(), self._V.k)
        return inverse_hessian(self._V.take(index), part.at(self._f[index]), self._alpha)


class _Objective:
    """The function to minimise; a step along directions that the last point has multiplied saves a pass over V."""

    def __init__(self, V: Features, loss: PairLoss, alpha: float) -> None:
        self._of = V, loss, alpha
        self._last: _Scores | None = None

    def __call__(self, w: Array) -> _Scores:
        f = None if self._last is None else self._last.scores_at(w)
        self._last = here = _Scores(*self._of, w, f)
        return here


def rank(
    K: Rows,
    T: Array,
    loss: PairLoss | ListLoss,
    alpha: float,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 100,
    callback: Callable[[int, float, float], None] | None = None,
) -> Ranker:
    """Solve with a squared norm as penalty: by the trust region method, or by cuts where the loss is not smooth.

    Parameters
    ----------
    K : Rows of shape (m, r)
        Kernel values with the basis.
    T : (r, k) array
        `whitening` of the basis' kernel matrix.
    loss : PairLoss or ListLoss
        The loss of the scores.
    alpha : float, > 0
        Weight of the penalty.
    start : (k,) array or None
        Where to begin; None means zero, or for cuts the rough minimum of the smooth loss. Where samples are many, the
        minimum for a part of them is found first, from here.
    tol, max_iter, callback
        As in `trust_region`; cuts may be ten times as many as steps.
    """
    V = Features(K, T)
    if loss.is_smooth:
        return _ranker(T, _minimum(V, loss.smooth, alpha, start, tol=tol, max_iter=max_iter, callback=callback))
    if start is None:
        # Which samples stand highest has to be known before they can count most.
        start = _minimum(V, loss.smooth, alpha, None, tol=_ROUGH).x
    found = _by_cuts(V, loss, SquaredNorm(alpha), start, tol=tol, max_iter=10 * max_iter, callback=callback)
    return Ranker(T @ found.w, found.w, found.value, found.gap, found.n_iter, 2 * found.n_iter, found.converged)


def _minimum(V: Features, loss: PairLoss, alpha: float, start: Array | None, *, tol: float, **options: Any) -> Minimum:
    """By the trust region method, from the minimum for a part of the samples if they are many."""
    options |= {"precondition": _Scores.inverse_hessian, "convexity": alpha}
    w = _smaller_minimum(V, loss, alpha, start, tol)

    at = _Objective(V, loss, alpha)
    found = trust_region(at, w, tol=tol, **options)
    if not found.x.any() and found.decrement > 0.0:
        # All scores zero is near the least value when alpha is large, but ranks nothing: only the order counts.
        tol = 1e-4 * found.decrement / (1e-3 + abs(found.value))
        found = trust_region(at, w, tol=tol, **options)
    return found


def _smaller_minimum(V: Features, loss: PairLoss, alpha: float, start: Array | None, tol: float) -> Array:
    """Where to begin: if samples are many, the minimum for a part of them, or `start` if that is lower."""
    w, smaller = np.zeros(V.k) if start is None else start, subsample(loss, V.k)
    if smaller is None:
        return w
    index, part = smaller
    found = _minimum(V.part(index), part, alpha, w, tol=max(tol, _ROUGH)).x
    if start is None:
        return found
    # A start from a similar problem can be better than the minimiser of a part: one pass tells.
    starts = np.stack([found, start])
    values = [loss.at(f).value + 0.5 * alpha * float(x @ x) for f, x in zip((V @ starts.T).T, starts, strict=True)]
    return starts[int(np.argmin(values))]


def _by_cuts(V: Features, loss: PairLoss | ListLoss, penalty: Penalty, start: Array, **options: Any) -> BundleMinimum:
    """Where it matters which samples stand highest, that changes on the way: the loss is not smooth, but convex."""

    def losses(scores: Array) -> tuple[float, Array]:
        state = loss.at(scores)
        return state.value, state.gradient

    return bundle(losses, lambda w: V @ w, V.transposed_product, penalty, start, **options)


def _ranker(T: Array, found: Minimum) -> Ranker:
    done = found.status == "optimal"
    return Ranker(T @ found.x, found.x, found.value, found.decrement, found.n_iter, found.n_products, done)


class _PlainScores:
    """loss(K beta) at one beta; the gradient costs a pass over K and is not always needed."""

    def __init__(self, K: Rows, KT: Rows, loss: PairLoss, beta: Array) -> None:
        self._KT, self._state = KT, loss.at(K @ beta)
        self.value = self._state.value

    @cached_property
    def gradient(self) -> Array:
        return self._KT @ self._state.gradient


def rank_sparsely(
    K: Rows,
    loss: PairLoss | ListLoss,
    alpha: float,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 5000,
    callback: Callable[[int, float, float], None] | None = None,
) -> Ranker:
    """Solve with alpha ||beta||_1 as penalty; parameters as in `proximal_gradient`.

    Where the loss is not smooth it is done by cuts, a fifth as many as steps.
    """
    if not loss.is_smooth:
        start = rank_sparsely(K, loss.smooth, alpha, tol=_ROUGH).beta if start is None else start
        return _rank_sparsely_by_cuts(K, loss, alpha, start, tol, max(1, max_iter // 5), callback)
    KT, beta = K.T, np.zeros(K.shape[1]) if start is None else start
    found = proximal_gradient(
        lambda b: _PlainScores(K, KT, loss.smooth, b), beta, alpha, tol=tol, max_iter=max_iter, callback=callback
    )
    return Ranker(found.x, found.x, found.value, found.promised, found.n_iter, found.n_iter, found.converged)


def _rank_sparsely_by_cuts(
    K: Rows,
    loss: PairLoss | ListLoss,
    alpha: float,
    start: Array,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float, float], None] | None,
) -> Ranker:
    """Points between sparse ones are not sparse: traces of earlier ones are left out, for half of the accepted gap."""
    penalty = AbsoluteSum(alpha)
    found = _by_cuts(Features(K), loss, penalty, start, tol=0.5 * tol, max_iter=max_iter, callback=callback)
    beta, value, bound = found.w, found.value, found.value - found.gap
    accepted = max(value, bound + 0.9 * tol * (1e-3 + abs(value)))
    largest, least, most = np.argsort(-np.abs(beta)), 0, int(np.count_nonzero(beta))
    while least < most:
        middle = (least + most) // 2
        fewer = np.zeros_like(beta)
        fewer[largest[:middle]] = beta[largest[:middle]]
        reached = loss.at(K @ fewer).value + penalty(fewer)
        if reached <= accepted:
            beta, value, most = fewer, reached, middle
        else:
            least = middle + 1
    gap = max(0.0, value - bound)
    return Ranker(beta, beta, value, gap, found.n_iter, 2 * found.n_iter, gap <= tol * (1e-3 + abs(value)))


def rank_in_blocks(
    blocks: Callable[[], Iterator[tuple[Rows, PairLoss]]],
    T: Array,
    alpha: float,
    *,
    passes: int,
    tol: float = 1e-6,
    callback: Callable[[int, float, float], None] | None = None,
) -> Array:
    """Minimise the mean over blocks of loss + alpha/2 ||w||^2 without ever holding more than one block.

    Parameters
    ----------
    blocks : callable
        Gives, once for each pass, the blocks: kernel values of their samples and the loss of their scores.
    T : (r, k) array
        `whitening` of the basis' kernel matrix.
    alpha : float, > 0
        Weight of the penalty.
    passes, tol, callback
        As in `implicit_sgd`.
    """

    def functions() -> Iterator[Callable[[Array], _Scores]]:
        return (partial(_Scores, Features(K, T), loss, alpha) for K, loss in blocks())

    return implicit_sgd(functions, np.zeros(T.shape[1]), alpha, passes=passes, tol=tol, callback=callback)
