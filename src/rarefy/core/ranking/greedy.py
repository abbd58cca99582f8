r"""Kernel functions chosen with the loss, one after another.

K : (m, c) kernel values of samples with candidates; K_CC : (c, c) those of the candidates with each other
B : chosen candidates; f minimises loss + alpha/2 ||f||^2 over their span

At that minimum the objective has no slope along the span. Along the part of a candidate's kernel function that is
orthogonal to it, of squared length r_j, the slope is g_j / sqrt(r_j) with g_j = k_j^T loss'(f) + alpha f(x_j): forward
steps add the largest g_j^2 / r_j, and after a whole round the model is fitted again. Backward steps leave out those
that change f least, by beta_j^2 / (K_BB^-1)_jj in squared norm.
"""

import numpy as np

from rarefy.core.linalg.rows import Array, DenseRows, Index
from rarefy.core.losses.pairs import PairLoss
from rarefy.core.ranking.rankers import rank, whitening

_ROUNDS = 8
"""Fits on the way to the wanted number."""
_SWEEPS = 3
"""Exchanges at most: more candidates than wanted are taken, and the weakest left out again."""
_MORE = 0.25
"""How many more, as a share."""
_FLOOR = 1e-4
"""Squared length, beside the largest kernel value, below which a candidate counts as one of those before."""
_TOL = 1e-3
"""Of fits on the way."""


def greedy_basis(K: Array, K_CC: Array, loss: PairLoss, alpha: float, k: int) -> Index:
    """Choose k candidates; fewer if no other adds anything."""
    rounds = np.unique(np.linspace(0, k, min(_ROUNDS, k) + 1).astype(int))[1:]
    chosen = np.zeros(0, dtype=np.intp)
    for size in rounds:
        chosen = _forward(K, K_CC, loss, alpha, chosen, int(size))
    best, value = chosen, _fit(K, K_CC, loss, alpha, chosen)[1]
    for _ in range(_SWEEPS):
        more = _forward(K, K_CC, loss, alpha, best, k + max(1, int(_MORE * k)))
        fewer = _backward(K, K_CC, loss, alpha, more, k)
        lower = _fit(K, K_CC, loss, alpha, fewer)[1]
        if not lower < value * (1.0 - 1e-4):
            break
        best, value = fewer, lower
    return np.sort(best)


def _fit(K: Array, K_CC: Array, loss: PairLoss, alpha: float, chosen: Index) -> tuple[Array, float]:
    """Coefficients of the chosen ones, and the objective."""
    if not len(chosen):
        return np.zeros(0), loss.at(np.zeros(len(K))).value
    T = whitening(K_CC[np.ix_(chosen, chosen)])
    found = rank(DenseRows(np.ascontiguousarray(K[:, chosen])), T, loss, alpha, tol=_TOL)
    return found.beta, found.objective


def _forward(K: Array, K_CC: Array, loss: PairLoss, alpha: float, chosen: Index, size: int) -> Index:
    """Add candidates by the slope at the present fit, each orthogonal to those before."""
    beta, _ = _fit(K, K_CC, loss, alpha, chosen)
    slope = K.T @ loss.at(K[:, chosen] @ beta).gradient + alpha * (K_CC[:, chosen] @ beta)
    factors = np.zeros((len(K_CC), size))  # columns of a Cholesky factorisation with the chosen ones as pivots
    left, largest = K_CC.diagonal().copy(), float(K_CC.diagonal().max(initial=0.0))
    taken: list[int] = []
    while len(taken) < size:
        if len(taken) < len(chosen):
            j = int(chosen[len(taken)])
        else:
            worth = np.where(left > _FLOOR * largest, slope**2 / np.maximum(left, _FLOOR * largest), -1.0)
            worth[taken] = -1.0
            j = int(np.argmax(worth))
            if worth[j] < 0.0:
                break
        n = len(taken)
        pivot = max(left[j], _FLOOR * largest)
        factors[:, n] = (K_CC[:, j] - factors[:, :n] @ factors[j, :n]) / np.sqrt(pivot)
        # The slope along what is orthogonal to the new one, too; without it, its neighbours would come next.
        slope = slope - factors[:, n] * (slope[j] / np.sqrt(pivot))
        left -= factors[:, n] ** 2
        taken.append(j)
    return np.array(taken, dtype=np.intp)


def _backward(K: Array, K_CC: Array, loss: PairLoss, alpha: float, chosen: Index, size: int) -> Index:
    """Leave out those without which f changes least, one by one."""
    beta, _ = _fit(K, K_CC, loss, alpha, chosen)
    K_BB = K_CC[np.ix_(chosen, chosen)]
    inverse = np.linalg.pinv(K_BB + 1e-10 * np.trace(K_BB) / len(K_BB) * np.eye(len(K_BB)), hermitian=True)
    kept = np.arange(len(chosen))
    while len(kept) > size:
        change = beta**2 / np.maximum(inverse.diagonal(), 1e-300)
        out = int(np.argmin(change))
        # The best approximation of f without this function, and the inverse without its row and column.
        column = inverse[:, out] / inverse[out, out]
        beta = np.delete(beta - column * beta[out], out)
        inverse = np.delete(np.delete(inverse - np.outer(column, inverse[out]), out, axis=0), out, axis=1)
        kept = np.delete(kept, out)
    return chosen[kept]
