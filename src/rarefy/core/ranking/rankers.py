r"""Ranking with few kernel functions: the problem in well conditioned variables, and its solvers.

K : (m, r) Rows, kernel values of all points with the r basis points; K_RR : (r, r) those of the basis points
w : (r,) variables; beta = T w are the coefficients of the kernel functions, T = Q Lambda^(-1/2), K_RR = Q Lambda Q^T

    min over beta  loss(K beta) + alpha/2 beta^T K_RR beta      =      min over w  loss(K T w) + alpha/2 ||w||^2

The second form has the same solution and a Hessian that is at least alpha; products cost two passes over K.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpstrf as pstrf
from scipy.linalg.lapack import dtrtri as trtri

from rarefy.core.linalg.rows import Array, Rows
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.pairs import PairLoss
from rarefy.core.solvers.bundle import bundle
from rarefy.core.solvers.trust_region import Minimum, trust_region


@dataclass(frozen=True)
class Ranker:
    """Coefficients of the kernel functions, and of their whitened form w; the value, and how it ended."""

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


@dataclass(frozen=True)
class _Here:
    """The objective at one w."""

    value: float
    gradient: Array
    hessian_product: Callable[[Array], Array]


def _objective(K: Rows, T: Array, loss: PairLoss, alpha: float) -> Callable[[Array], _Here]:
    KT = K.T

    def at(w: Array) -> _Here:
        state = loss.at(K @ (T @ w))

        def product(v: Array) -> Array:
            return T.T @ (KT @ state.hessian_product(K @ (T @ v))) + alpha * v

        value = state.value + 0.5 * alpha * float(w @ w)
        return _Here(value, T.T @ (KT @ state.gradient) + alpha * w, product)

    return at


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
    """Solve with a squared norm as penalty: by the trust region method, or by cuts where the loss has kinks.

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
        Where to begin.
    tol, max_iter, callback
        As in `trust_region`; cuts may be ten times as many as steps.
    """
    w = np.zeros(T.shape[1]) if start is None else start
    if loss.false_positive_range < 1.0:
        return _rank_by_cuts(K, T, loss, alpha, w, tol, 10 * max_iter, callback)
    at = _objective(K, T, loss, alpha)
    found = trust_region(at, w, tol=tol, max_iter=max_iter, callback=callback)
    if not found.x.any() and found.decrement > 0.0:
        # All scores zero is near the least value when alpha is large, but ranks nobody: only the order counts.
        tol = 1e-4 * found.decrement / (1e-3 + abs(found.value))
        found = trust_region(at, w, tol=tol, max_iter=max_iter, callback=callback)
    return _ranker(T, found)


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
    """Where only the highest lower points count, who they are changes on the way: the value has kinks, but is convex.

    A lower point's loss grows with its score, so that the highest are those with the largest losses, and the sum of the
    k largest convex functions is convex.
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
    """Solve with alpha ||beta||_1 as penalty, by accelerated proximal steps with restarts [BeckTeboulle2009].

    It stops when no coordinate's step would change the value by more than tol, relative to 1e-3 + |value|: the
    sum over coordinates of what the quadratic upper model still promises.
    """
    KT, beta = K.T, np.zeros(K.shape[1]) if start is None else start.copy()
    ahead, momentum, L = beta.copy(), 1.0, 1.0
    state = loss.at(K @ beta)
    value = state.value + alpha * float(np.abs(beta).sum())
    promised = np.inf
    for iteration in range(max_iter):
        there = state if ahead is beta else loss.at(K @ ahead)
        gradient = KT @ there.gradient
        while True:
            moved = ahead - gradient / L
            moved = np.sign(moved) * np.maximum(np.abs(moved) - alpha / L, 0.0)
            step = moved - ahead
            next_state = loss.at(K @ moved)
            if next_state.value <= there.value + float(gradient @ step) + 0.5 * L * float(step @ step) + 1e-15:
                break
            L *= 2.0
        following = next_state.value + alpha * float(np.abs(moved).sum())
        promised = 0.5 * L * float(step @ step)
        if callback is not None:
            callback(iteration, following, promised)
        if following > value:  # momentum went too far: start anew from the best point
            ahead, momentum = beta, 1.0
            L *= 1.1  # and with a little shorter steps
            continue
        small = promised <= tol * 1e-2 * (1e-3 + abs(following))
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2))
        ahead = moved + (momentum - 1.0) / grown * (moved - beta)
        beta, state, value, momentum = moved, next_state, following, grown
        if small:
            return Ranker(beta, beta, value, promised, iteration + 1, iteration + 1, True)
        L *= 0.97
    return Ranker(beta, beta, value, promised, max_iter, max_iter, False)


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

    Each block pulls w towards its own minimum, as far as a proximal term lets it (an implicit stochastic
    gradient step, which no step size can make unstable); the proximal weight grows with every block, and
    the later iterates are averaged.

    Parameters
    ----------
    blocks : callable
        Gives, once for each pass, the blocks: kernel values of their points and the loss of their scores.
    T : (r, k) array
        `whitening` of the basis' kernel matrix.
    alpha : float, > 0
        Weight of the penalty.
    passes : int
        How often all blocks are visited.
    tol : float
        Of the trust region method in each block.
    callback : callable or None
        Called with (block, value on the block, proximal weight).
    """
    w = np.zeros(T.shape[1])
    mean, weight, count = w.copy(), 0.0, 0
    for _ in range(passes):
        for K, loss in blocks():
            count += 1
            hold = alpha * (count - 1)  # step size 1 / (alpha count): right for a function this strongly convex
            at = _objective(K, T, loss, alpha)
            anchor = w.copy()

            def held(v: Array, at=at, anchor=anchor, hold=hold) -> _Here:  # type: ignore[no-untyped-def]
                here = at(v)
                away = v - anchor

                def product(u: Array) -> Array:
                    return here.hessian_product(u) + hold * u

                return _Here(here.value + 0.5 * hold * float(away @ away), here.gradient + hold * away, product)

            found = trust_region(held, w, tol=tol, max_iter=20, max_products=50)
            w = found.x
            weight += count
            mean += (w - mean) * count / weight
            if callback is not None:
                callback(count, found.value, hold)
    return mean
