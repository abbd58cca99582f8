r"""Many SVMs with a norm as penalty at once, roughly: alternating directions with one factorisation for all.

F : (n, k) Rows, coordinates and, last, ones; Y : (n, q) classes -1 and 1, one column for each SVM; p : (n,) weights
W : (k, q) weights and intercepts; V = F W and U = W without intercepts are the copies that losses and norm see
rho : (q,) step sizes; M : scaled multipliers of V = F W, N : of U

    min  alpha ||w|| + sum_i p_i max(0, 1 - y_i f_i)      for each column

Every iteration is one product with F and one with its transpose, for all SVMs together, and one solution with the
factor of F^T F + I. Tens of iterations settle nearly all predictions; the optimum would take thousands.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from rarefy.core.linalg.rows import Array, Rows
from rarefy.core.linalg.threads import threads_for

_RELAXED = 1.6
"""Over-relaxation."""
_COUPLING = 3.0
"""What the copy of the weights counts beside that of the scores."""
_STEP = 2.0
"""Step sizes, in units of the mean loss: multipliers are of that size, and scores of size one."""
_ADAPTED, _EVERY = 3, 10
"""Step sizes follow the mean loss so many times, each after so many iterations."""

Prox = Callable[[Array, Array], Array]
"""prox(U, t): the minimisers of t ||u|| + ||u - U||^2 / 2, for each column."""


@dataclass(frozen=True)
class RoughSVMs:
    """Weights with intercepts, dual variables of the samples (signed by class), and how it ended."""

    W: Array
    beta: Array
    n_iter: int
    settled: bool


def hinge_admm(
    F: Rows,
    Y: Array,
    p: Array,
    alpha: float,
    gram: Array,
    prox: Prox,
    settled: Callable[[Array, Array], bool],
    *,
    max_iter: int = 200,
) -> RoughSVMs:
    """Iterate until the scores are settled.

    Parameters
    ----------
    F : Rows of shape (n, k)
        Coordinates, then a column of ones.
    Y : (n, q) array of -1 and 1
        The classes, for each SVM.
    p : (n,) array, >= 0
        Weights of the samples.
    alpha : float, > 0
        Weight of the norm.
    gram : (k, k) array
        `F.gram()`.
    prox : callable
        Proximal map of the norm.
    settled : callable
        Told W and the scores F W every ten iterations; whether they are good enough.
    max_iter : int
        Iterations after which it ends in any case.
    """
    S, weights = F.shape[1] - 1, p[:, None]
    system = gram.copy()
    system[np.arange(S), np.arange(S)] += _COUPLING
    with threads_for(S):
        factor = sl.cho_factor(system + 1e-10 * np.diag(np.diag(system)), check_finite=False)
    W = sl.cho_solve(factor, F.T @ (weights * Y), check_finite=False)
    V = F @ W
    Y, weights = Y.astype(V.dtype), weights.astype(V.dtype)  # products may be in single precision, and so is the rest
    rho = _step_sizes(Y, V, weights)
    U, M, N = W[:S], np.zeros_like(V), np.zeros((S, Y.shape[1]))
    for iteration in range(1, max_iter + 1):
        right = np.asarray(F.T @ (V - M), dtype=np.float64)
        right[:S] += _COUPLING * (U - N)
        W = sl.cho_solve(factor, right, check_finite=False)
        f = F @ W
        M += _RELAXED * f + (1.0 - _RELAXED) * V
        margin = Y * M
        V = Y * np.where(margin >= 1.0, margin, np.minimum(margin + weights / rho, 1.0))
        M -= V
        N += _RELAXED * W[:S] + (1.0 - _RELAXED) * U
        U = prox(N, alpha / (_COUPLING * rho))
        N -= U
        if iteration % _EVERY:
            continue
        if settled(W, f):
            return RoughSVMs(W, np.asarray(-rho * M, dtype=np.float64), iteration, True)
        if iteration <= _ADAPTED * _EVERY:
            new = _step_sizes(Y, f, weights)
            M, N, rho = M * (rho / new), N * (rho / new), new
    return RoughSVMs(W, np.asarray(-rho * M, dtype=np.float64), max_iter, False)


def _step_sizes(Y: Array, f: Array, weights: Array) -> Array:
    loss = np.maximum(0.0, 1.0 - Y * f)
    return np.asarray(_STEP * np.maximum((weights * loss).mean(axis=0), 1e-4 * weights.mean()))


def prox_one_norm(U: Array, t: Array) -> Array:
    """Each number moves towards zero by t."""
    return np.asarray(np.sign(U) * np.maximum(np.abs(U) - t, 0.0))


def prox_two_norm(U: Array, t: Array) -> Array:
    """Each column moves towards zero by t."""
    size = np.linalg.norm(U, axis=0)
    return U * np.maximum(0.0, 1.0 - t / np.maximum(size, 1e-300))


def prox_maximum_norm(U: Array, t: Array) -> Array:
    """Each column less its projection onto the numbers with a sum of absolute values of at most t."""
    ordered = -np.sort(-np.abs(U), axis=0)
    levels = (np.cumsum(ordered, axis=0) - t) / np.arange(1, len(U) + 1)[:, None]
    count = np.maximum((ordered > levels).sum(axis=0), 1)
    level = np.take_along_axis(levels, count[None] - 1, axis=0)[0]
    inside = np.abs(U).sum(axis=0) <= t
    return np.where(inside, 0.0, np.clip(U, -level, level))
