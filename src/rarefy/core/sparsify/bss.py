r"""Spectral sparsification: r weighted rows of V whose second moment stays close to the identity.

V      : (d, l) matrix with V^T V = I; v is one of its rows
r      : number of steps, r > l
A      : sum of t v v^T over the steps so far
L, U   : barriers below and above the spectrum of A; L', U' the same one step further on
Phi    : potentials, Phi(L, A) = tr (A - L)^-1 and Phi^(U, A) = tr (U - A)^-1

*Single set* [BatsonSpielmanSrivastava2009; PaulMagdonIsmailDrineas2015, Algorithm 1]. A row may be
taken when upper(v) <= lower(v), with

    lower(v) = v^T (A - L')^-2 v / (Phi(L', A) - Phi(L, A)) - v^T (A - L')^-1 v
    upper(v) = v^T (U' - A)^-2 v / (Phi^(U, A) - Phi^(U', A)) + v^T (U' - A)^-1 v

and gets the weight t = 2 / (upper + lower). Every eigenvalue of V^T R R^T V then lies between
(1 - sqrt(l/r))^2 and (1 + sqrt(l/r))^2, where R holds sqrt(t) (the papers print 1/sqrt(t)),
all t scaled by (1 - sqrt(l/r)) / r.

*Dual set* [BoutsidisDrineasMagdonIsmail2014, Lemma 13]. The upper barrier is replaced by a budget
for the residual a = what the l vectors do not explain of a column:
upper = ||a||^2 (1 - sqrt(l/r)) / sum ||a||^2. Then lambda_min >= (1 - sqrt(l/r))^2 still holds, and
the weighted residual is no larger than the whole one.

*Which row.* Of the rows that may be taken, the one not taken before with the largest norm; norms
that agree to 1e-12 are equal and the lower index wins. If only rows taken before qualify, the one
with the largest norm is taken again and its weights add up.

*Cost.* Scoring all rows at every step costs 4 d l^2 flops a step. Here only the first qualifying row
in norm order is looked for, and the inverses are never formed: once an epoch A is
decomposed, and between two decompositions A = diag(lam) + W W^T in the basis of its eigenvectors,
with one column of W a step, so that both inverses act through a small matrix (Woodbury). After k steps of an
epoch, one more costs about 4 l k^2 flops for the two small matrices and 8 l k for each row that is looked at; a
decomposition and the rotation of V cost about 11 l^3. The epoch that balances them has about l^(2/3) steps, which
makes the whole run grow as r l^(7/3). The lower barrier can overtake eigenvalues of the old A; those few
are lifted out of its way and the lift is part of the low-rank correction, so the diagonal that is inverted stays
positive.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.spectrum import RightVectors
from rarefy.core.linalg.threads import threads_for
from rarefy.core.sparsify import Selection
from rarefy.core.sparsify.candidates import Candidates, Forms, norm_order

__all__ = ["Progress", "bss", "dual_set", "norm_order"]

Progress = Callable[[int, int], None]

_SHORTEST_EPOCH = 8
_THIN = 2.5
"""How much longer a flop takes in products of the thin matrices of a step than in a decomposition."""


def bss(V: RightVectors, r: int, progress: Progress | None = None) -> Selection:
    """Choose at most r rows of V by single-set spectral sparsification."""
    ell = V.shape[1]
    _check_budget(ell, r)
    if r == 1:
        return _single_row(V, norm_order(V.norms2)[0])
    return _sparsify(V, r, _UpperBarrier(ell, r), progress)


def dual_set(V: RightVectors, residual2: Array, r: int, progress: Progress | None = None) -> Selection:
    """Choose at most r rows of V, keeping the weighted sum of `residual2` below its whole sum."""
    ell = V.shape[1]
    _check_budget(ell, r)
    if r == 1:
        # The row with the best quotient: it is no worse than the quotient of the sums, which is 1.
        order = norm_order(V.norms2)
        return _single_row(V, order[np.argmin(residual2[order] / V.norms2[order])])
    return _sparsify(V, r, _ResidualBudget(residual2, ell, r), progress)


def _check_budget(ell: int, r: int) -> None:
    if not 0 < ell < r and not ell == r == 1:
        raise ValueError(
            f"Spectral sparsification needs more steps than dimensions, 0 < l < r; got l={ell} "
            f"and r={r}. Keep fewer singular vectors or choose more features."
        )


def _single_row(V: RightVectors, index: np.intp) -> Selection:
    """l = r = 1, where the barriers do not exist: one row, scaled to make its square 1."""
    return Selection(np.array([index]), 1.0 / np.sqrt(V.norms2[[index]]))


class _Resolvent:
    """(diag(D) + Z diag(J) Z^T)^-1 for positive D, by the Woodbury identity."""

    def __init__(self, D: Array, Z: Array, J: Array) -> None:
        self._Dinv = 1.0 / D
        half = np.sqrt(self._Dinv)[:, None]
        Y = Z * half
        self._DinvZ = Y * half
        S = Y.T @ Y  # a matrix with its own transpose: half the work of a general product
        S.flat[:: len(S) + 1] += 1.0 / J
        self._Sinv = np.linalg.inv(S)
        self.trace = float(self._Dinv.sum() - np.vdot(self._Sinv, self._DinvZ.T @ self._DinvZ))

    def forms(self, C: Array) -> Forms:
        Y = C * self._Dinv
        Y -= (C @ self._DinvZ @ self._Sinv) @ self._DinvZ.T
        return np.einsum("ij,ij->i", C, Y), np.einsum("ij,ij->i", Y, Y)


class _LowerBarrier:
    """L_tau = tau - sqrt(r l), and the scores of rows against it."""

    def __init__(self, ell: int, r: int) -> None:
        self._offset = np.sqrt(r * ell)
        self._potential = ell / self._offset

    def rebase(self, lam: Array, tau: int, epoch: int) -> None:
        """Take lam as the spectrum of A; no L' of this epoch may come within 1 of it."""
        clear = tau + epoch - self._offset + 1.0
        low = np.flatnonzero(lam < clear)
        self._lam = np.maximum(lam, clear)
        self._Z = np.zeros((len(lam), len(low) + epoch))
        self._Z[low, np.arange(len(low))] = 1.0
        self._J = np.append(lam[low] - clear, np.ones(epoch))
        self._lifted = len(low)

    def advance(self, tau: int, W: Array) -> None:
        """Move from L_tau to L'."""
        used = self._lifted + W.shape[1]
        self._Z[:, self._lifted : used] = W
        self._resolvent = _Resolvent(self._lam - (tau + 1 - self._offset), self._Z[:, :used], self._J[:used])
        self._gain = 1.0 / (self._resolvent.trace - self._potential)

    def score(self, C: Array) -> tuple[Array, Forms]:
        first, second = self._resolvent.forms(C)
        return second * self._gain - first, (first, second)

    def add(self, t: float, first: float, second: float) -> None:
        """Phi(L', A + t c c^T), which is the next step's Phi(L, A)."""
        self._potential = self._resolvent.trace - t * second / (1.0 + t * first)


class _Upper(Protocol):
    """What keeps the chosen rows from growing too large."""

    ignores_length: bool
    """Whether the score of c v is c^2 times the score of v."""

    def rebase(self, lam: Array) -> None: ...
    def advance(self, tau: int, W: Array) -> None: ...
    def score(self, C: Array, index: Index) -> tuple[Array, Forms]: ...
    def add(self, t: float, first: float, second: float) -> None: ...


class _UpperBarrier:
    """U_tau = delta_U (tau + sqrt(r l)), and the scores of rows against it."""

    ignores_length = True

    def __init__(self, ell: int, r: int) -> None:
        ratio = np.sqrt(ell / r)
        self._delta = (1.0 + ratio) / (1.0 - ratio)
        self._offset = np.sqrt(r * ell)
        self._potential = ell / (self._delta * self._offset)

    def rebase(self, lam: Array) -> None:
        self._lam = lam

    def advance(self, tau: int, W: Array) -> None:
        U = self._delta * (tau + 1 + self._offset)
        self._resolvent = _Resolvent(U - self._lam, W, -np.ones(W.shape[1]))
        self._gain = 1.0 / (self._potential - self._resolvent.trace)

    def score(self, C: Array, index: Index) -> tuple[Array, Forms]:
        first, second = self._resolvent.forms(C)
        return second * self._gain + first, (first, second)

    def add(self, t: float, first: float, second: float) -> None:
        self._potential = self._resolvent.trace + t * second / (1.0 - t * first)


class _ResidualBudget:
    """The Frobenius side of the dual-set method: a fixed cost for every row."""

    ignores_length = False

    def __init__(self, residual2: Array, ell: int, r: int) -> None:
        total = float(residual2.sum())
        share = residual2 / total if total > 0.0 else np.zeros_like(residual2)
        self._cost = share * (1.0 - np.sqrt(ell / r))

    def rebase(self, lam: Array) -> None:
        """Costs do not depend on A."""

    def advance(self, tau: int, W: Array) -> None:
        """Costs do not depend on the step."""

    def score(self, C: Array, index: Index) -> tuple[Array, Forms]:
        cost = self._cost[index]
        return cost, (cost, cost)

    def add(self, t: float, first: float, second: float) -> None:
        """Costs do not depend on what was taken."""


def _epoch_length(ell: int, rows: float) -> int:
    """The number of steps between two decompositions that makes a step cheapest.

    `rows` is how many rows a step looks at. Lifted eigenvalues add about half as many columns to the correction of
    the lower barrier as there are steps.
    """
    e = np.arange(_SHORTEST_EPOCH, max(_SHORTEST_EPOCH, ell) + 1.0)
    decomposition, resolvents, scores = 11.0 * ell**3 / e, 2.0 * ell * e**2 + e**3, 5.0 * rows * ell * e
    return int(e[np.argmin(decomposition + _THIN * (resolvents + scores))])


def _sparsify(V: RightVectors, r: int, upper: _Upper, progress: Progress | None) -> Selection:
    ell = V.shape[1]
    lower = _LowerBarrier(ell, r)
    candidates = Candidates(V, grouped=upper.ignores_length)
    lam, W = np.zeros(ell), np.zeros((ell, 0))
    chosen, t = np.empty(r, dtype=np.intp), np.empty(r)
    start = 0
    while start < r:
        with threads_for(ell):
            lam, Q = np.linalg.eigh(np.diag(lam) + W @ W.T)
            W = np.zeros((ell, min(_epoch_length(ell, candidates.rows_a_step), r - start)))
            candidates.rebase(Q)
        lower.rebase(lam, start, W.shape[1])
        upper.rebase(lam)
        with threads_for(0):  # the products of a step are small whatever l is
            for k in range(W.shape[1]):
                tau = start + k
                lower.advance(tau, W[:, :k])
                upper.advance(tau, W[:, :k])
                row = candidates.first_allowed(lower, upper)
                lower.add(row.t, *row.lower_forms)
                upper.add(row.t, *row.upper_forms)
                candidates.take(row.position)
                chosen[tau], t[tau] = candidates.order[row.position], row.t
                W[:, k] = np.sqrt(row.t) * row.c
                if progress is not None:
                    progress(tau + 1, r)
        start += W.shape[1]
    return Selection.from_draws(chosen, t * (1.0 - np.sqrt(ell / r)) / r)
