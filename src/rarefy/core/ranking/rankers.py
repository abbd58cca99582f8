r"""Ranking with few kernel functions: the problem in well conditioned variables, and its solvers.

K : (m, r) Rows, kernel values of all samples with the r basis samples; K_RR : (r, r) those of the basis samples
w : (r,) variables; beta = T w are the coefficients of the kernel functions, T = Q Lambda^(-1/2), K_RR = Q Lambda Q^T

    min over beta  loss(K beta) + alpha/2 beta^T K_RR beta      =      min over w  loss(K T w) + alpha/2 ||w||^2

The second form has the same solution and a Hessian that is at least alpha; products cost two passes over K.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dpstrf as pstrf
from scipy.linalg.lapack import dtrtri as trtri

from rarefy.core.linalg.rows import Array, DenseRows, Rows
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.pairs import PairLoss
from rarefy.core.ranking.subsample import inverse_hessian, subsample
from rarefy.core.solvers.bundle import bundle
from rarefy.core.solvers.implicit_sgd import implicit_sgd
from rarefy.core.solvers.proximal import proximal_gradient
from rarefy.core.solvers.trust_region import Minimum, trust_region

_ROUGH = 1e-4
"""Tolerance of a smaller problem: its minimiser is not that of the whole one anyway."""


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


class _Scores:
    """loss(K T w) + alpha/2 ||w||^2 at one w."""

    def __init__(self, K: Rows, KT: Rows, T: Array, loss: PairLoss, alpha: float, w: Array) -> None:
        self._K, self._KT, self._T, self._alpha = K, KT, T, alpha
        self._state = loss.at(K @ (T @ w))
        self.value = self._state.value + 0.5 * alpha * float(w @ w)
        self.gradient = T.T @ (KT @ self._state.gradient) + alpha * w

    def hessian_product(self, v: Array) -> Array:
        product = self._state.hessian_product(self._K @ (self._T @ v))
        return self._T.T @ (self._KT @ product) + self._alpha * v


def ridge_objective(K: Rows, T: Array, loss: PairLoss, alpha: float) -> Callable[[Array], _Scores]:
    """The objective with a squared norm, as a function of w."""
    KT = K.T
    return lambda w: _Scores(K, KT, T, loss, alpha, w)


def rank(
    K: Rows,
    T: Array,
    loss: PairLoss,
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
    loss : PairLoss
        The loss of the scores.
    alpha : float, > 0
        Weight of the penalty.
    start : (k,) array or None
        Where to begin; None means zero, or for cuts the rough minimum of the loss over all lower samples. Where
        samples are many, the minimum for a part of them is found first, from here.
    tol, max_iter, callback
        As in `trust_region`; cuts may be ten times as many as steps.
    """
    if loss.false_positive_range < 1.0:
        if start is None:
            # Which samples stand highest has to be known before only they can count.
            start = rank(K, T, replace(loss, false_positive_range=1.0), alpha, tol=1e-4).w
        return _rank_by_cuts(K, T, loss, alpha, start, tol, 10 * max_iter, callback)
    at = ridge_objective(K, T, loss, alpha)
    w, inverse = _smaller_problem(K, T, loss, alpha, start, max(tol, _ROUGH), max_iter)
    found = trust_region(at, w, precondition=inverse, tol=tol, max_iter=max_iter, callback=callback)
    if not found.x.any() and found.decrement > 0.0:
        # All scores zero is near the least value when alpha is large, but ranks nothing: only the order counts.
        tol = 1e-4 * found.decrement / (1e-3 + abs(found.value))
        found = trust_region(at, w, precondition=inverse, tol=tol, max_iter=max_iter, callback=callback)
    return _ranker(T, found)


def _smaller_problem(
    K: Rows, T: Array, loss: PairLoss, alpha: float, start: Array | None, tol: float, max_iter: int
) -> tuple[Array, Callable[[Array], Array] | None]:
    """Where to begin, and a preconditioner: from a part of the samples if they are many, else `start` and None."""
    k = T.shape[1]
    w, smaller = np.zeros(k) if start is None else start, subsample(loss, k)
    if smaller is None:
        return w, None
    index, part = smaller
    V = K.take(index, T)
    at = ridge_objective(DenseRows(V), np.eye(k), part, alpha)
    found = trust_region(at, w, tol=tol, max_iter=max_iter).x
    if start is not None:
        # A start from a similar problem can be better than the minimiser of a part: one pass tells.
        before, after = (K @ (T @ np.stack([start, found], axis=1))).T
        penalties = [0.5 * alpha * float(x @ x) for x in (start, found)]
        if loss.at(before).value + penalties[0] <= loss.at(after).value + penalties[1]:
            found = start
    return found, inverse_hessian(V, part.at(V @ found), alpha)


def _rank_by_cuts(
    K: Rows,
    T: Array,
    loss: PairLoss,
    alpha: float,
    w: Array,
    tol: float,
    max_iter: int,
    callback: Callable[[int, float, float], None] | None,
) -> Ranker:
    """Where only the highest lower samples count, which they are changes on the way: not smooth, but convex.

    A lower sample's loss grows with its score, so that the highest are those with the largest losses, and the sum
    of the k largest convex functions is convex.
    """
    KT = K.T

    def losses(scores: Array) -> tuple[float, Array]:
        state = loss.at(scores)
        return state.value, state.gradient

    found = bundle(
        losses, lambda w: K @ (T @ w), lambda g: T.T @ (KT @ g), alpha, w, tol=tol, max_iter=max_iter, callback=callback
    )
    return Ranker(T @ found.w, found.w, found.value, found.gap, found.n_iter, 2 * found.n_iter, found.converged)


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
    loss: PairLoss,
    alpha: float,
    *,
    start: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 5000,
    callback: Callable[[int, float, float], None] | None = None,
) -> Ranker:
    """Solve with alpha ||beta||_1 as penalty; parameters as in `proximal_gradient`."""
    KT, beta = K.T, np.zeros(K.shape[1]) if start is None else start
    found = proximal_gradient(
        lambda b: _PlainScores(K, KT, loss, b), beta, alpha, tol=tol, max_iter=max_iter, callback=callback
    )
    return Ranker(found.x, found.x, found.value, found.promised, found.n_iter, found.n_iter, found.converged)


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
        return (ridge_objective(K, T, loss, alpha) for K, loss in blocks())

    return implicit_sgd(functions, np.zeros(T.shape[1]), alpha, passes=passes, tol=tol, callback=callback)
