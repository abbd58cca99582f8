r"""Spectral selection without weights: k distinct rows of V that keep the smallest eigenvalue large.

V    : (d, l) matrix with V^T V = I; v is one of its rows
k    : number of rows to take, k >= l
A    : sum of v v^T over the rows taken so far
L    : barrier below the spectrum of A
P    : (A - L)^-1
Phi  : potential, Phi(L, A) = tr P
phi  : the level that Phi starts from and returns to whenever L is raised

*One barrier* [KozyrevOsinsky2025]. All weights are 1 and no row is taken twice, so A <= V^T V = I: every eigenvalue
is at most 1, no upper barrier is needed, and lambda_max / lambda_min <= 1 / lambda_min. The row that lowers Phi most
is taken,

    Phi(L, A) - Phi(L, A + v v^T) = v^T P^2 v / (1 + v^T P v),

and L is raised until Phi is phi again. As no term of Phi exceeds phi, lambda_min >= L + 1/phi at that moment. Gains
that agree to 1e-9 are equal and the lower index wins. Zero rows are never taken: if fewer than k rows are not zero,
all of these come out.

*The level.* For k much smaller than d, an average over the rows that are left shows that one of them lets L rise by
about 1 / (d + phi) without raising Phi. Over k steps from L = -l/phi that makes lambda_min at least about
k / (d + phi) - (l - 1) / phi, which is largest at phi = d q / (1 - q) with q^2 = (l - 1) / k: the (k/d) (1 - q)^2 of
spectral sparsification. Rows of real data differ in length, and d is far too pessimistic. In its place stands
k l / (sum of the k largest squared lengths), which is d where all rows are equally long; of phi times 0.03, 0.1, 0.3, 1
and 3 it gave the smallest or nearly the smallest lambda_max / lambda_min on text and gene data, k = 1.2 l to 4 l. With
this level, and with L raised in batches, the average proves nothing: no bound is promised beforehand, what was reached
has to be measured.

*Cost.* L is raised only when Phi has fallen by the share `_RAISE`. Then all forms v^T P v and v^T P^2 v are computed
afresh, 2 d l^2 flops for dense rows. Between two raises P changes by one rank-one term a step, and all forms follow
from the two products V (P v) and V (P^2 v), 4 d l flops; where V = X^T T with sparse X these are sparse products. A
run of k = 2 l raises L some 15 to 25 times. Raising it at three times as many steps chose no better rows.
"""

import numpy as np

from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.spectrum import RightVectors
from rarefy.core.linalg.threads import threads_over
from rarefy.core.sparsify import Selection
from rarefy.core.sparsify.bss import Progress
from rarefy.core.sparsify.candidates import norm_order

_RAISE = 0.25
_EQUAL_GAINS = 1e-9


def unweighted(V: RightVectors, k: int, progress: Progress | None = None) -> Selection:
    """Choose k rows of V, all of weight 1, or all that are not zero if these are fewer."""
    d, ell = V.shape
    if not 0 < ell <= k:
        raise ValueError(
            f"Selection without weights needs at least as many rows as dimensions, 0 < l <= k; got l={ell} "
            f"and k={k}. Keep fewer singular vectors or choose more features."
        )
    allowed = np.zeros(d, dtype=bool)
    allowed[norm_order(V.norms2)] = True
    chosen = np.empty(min(k, int(allowed.sum())), dtype=np.intp)
    with threads_over(d * ell):
        barrier = _RaisedBarrier(V, _level(V.norms2, ell, k))
        for step in range(len(chosen)):
            if barrier.potential < (1.0 - _RAISE) * barrier.level:
                barrier.rise()
            gains = np.where(allowed, barrier.gains(), -np.inf)
            i = int(np.argmax(gains >= (1.0 - _EQUAL_GAINS) * gains.max()))
            allowed[i], chosen[step] = False, i
            barrier.add(i)
            if progress is not None:
                progress(step + 1, len(chosen))
    return Selection(chosen, np.ones(len(chosen)))


def _level(norms2: Array, ell: int, k: int) -> float:
    """The value phi that the potential is kept at."""
    longest = np.sort(norms2)[::-1][:k]
    # The proof has (l - 1) / k in the root, which is 0 at l = 1; at k = l the 1/2 keeps phi finite too.
    q = np.sqrt((ell - 0.5) / k)
    return float(k * ell / longest.sum() * q / (1.0 - q))


class _RaisedBarrier:
    """A, the barrier below it and both quadratic forms of all rows of V."""

    def __init__(self, V: RightVectors, level: float) -> None:
        self.level = level
        self._V = V
        self._A = np.zeros((V.shape[1], V.shape[1]))
        self._first, self._second = np.empty(V.shape[0]), np.empty(V.shape[0])
        self.rise()

    def rise(self) -> None:
        """Raise L until Phi(L, A) is the level, and compute everything afresh there."""
        lam, Q = np.linalg.eigh(self._A)
        D = lam - lam[0] + _gap(lam, self.level)
        self._P = (Q / D) @ Q.T
        self.potential = float(np.sum(1.0 / D))
        powers = np.column_stack([1.0 / D, 1.0 / D**2])
        T = Q if self._V.T is None else self._V.T @ Q
        for rows, C in self._V.features.blocks(T):
            self._first[rows], self._second[rows] = (np.square(C) @ powers).T

    def gains(self) -> Array:
        """How much each row would lower the potential."""
        return self._second / (1.0 + self._first)

    def add(self, i: int) -> None:
        """A + v v^T at the same barrier, by the Sherman-Morrison formula."""
        v = self._V.take(np.array([i]))[0]
        p = self._P @ v
        pp, s = float(p @ p), 1.0 + float(v @ p)
        self._A += np.outer(v, v)
        both = np.column_stack([p, self._P @ p])
        a, b = (self._V.features @ (both if self._V.T is None else self._V.T @ both)).T
        self._first -= a * a / s
        self._second += a * (a * (pp / s) - 2.0 * b) / s
        self._P -= np.outer(p, p / s)
        self.potential -= pp / s


def _gap(lam: Array, level: float) -> float:
    """The distance g of the barrier from the smallest eigenvalue: sum 1 / (lam - lam[0] + g) = level."""
    above = lam - lam[0]
    low, high = 1.0 / level, len(lam) / level
    # The gap spans a factor of l at most: sixty halvings reach the last digit.
    for _ in range(60):
        g = 0.5 * (low + high)
        low, high = (g, high) if np.sum(1.0 / (above + g)) > level else (low, g)
    return 0.5 * (low + high)
