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
in norm order is looked for, and the inverses are never formed: every `epoch` steps A is
decomposed, and between two decompositions A = diag(lam) + W W^T in the basis of its eigenvectors,
with one column of W a step, so that both inverses act through a small matrix (Woodbury). A step costs about
8 l k^2 flops for the two small matrices and 8 l k for each row that is looked at, with k <= epoch;
a decomposition costs about 9 l^3 and is shared by `epoch` steps. The lower barrier can overtake
eigenvalues of the old A; those few are lifted out of its way and the lift is part of the low-rank
correction, so the diagonal that is inverted stays positive.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.spectrum import RightVectors
from rarefy.core.linalg.threads import threads_for
from rarefy.core.sparsify import Selection

Progress = Callable[[int, int], None]
Forms = tuple[Array, Array]
"""c^T M^-1 c and c^T M^-2 c for every row c of a block."""

_FIRST_BLOCK, _LARGEST_BLOCK = 48, 2048
_CACHE_ENTRIES = 1 << 23
"""Coordinates kept between steps: 64 MB."""

_NORM_DIGITS = 12
_ZERO_NORM2 = 1e-26
"""Rows this much shorter (squared) than the longest one are rounding noise and count as zero."""


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


def norm_order(norms2: Array) -> Index:
    """Non-zero rows from the longest to the shortest; equal norms keep the order of the columns."""
    order = np.argsort(-np.round(norms2, _NORM_DIGITS), kind="stable")
    return order[norms2[order] > _ZERO_NORM2 * norms2.max(initial=0.0)]


class _Resolvent:
    """(diag(D) + Z diag(J) Z^T)^-1 for positive D, by the Woodbury identity."""

    def __init__(self, D: Array, Z: Array, J: Array) -> None:
        self._Dinv = 1.0 / D
        self._DinvZ = Z * self._Dinv[:, None]
        S = Z.T @ self._DinvZ
        S.flat[:: len(S) + 1] += 1.0 / J
        self._H = self._DinvZ @ np.linalg.inv(S)
        self.trace = float(self._Dinv.sum() - np.vdot(self._H, self._DinvZ))

    def forms(self, C: Array) -> Forms:
        Y = C * self._Dinv
        Y -= (C @ self._DinvZ) @ self._H.T
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


class _Choice(NamedTuple):
    """A row: its position, slack lower - upper, coordinates, weight and quadratic forms."""

    position: int
    slack: float
    c: Array = np.zeros(0)
    t: float = 0.0
    lower_forms: tuple[float, float] = (0.0, 0.0)
    upper_forms: tuple[float, float] = (0.0, 0.0)


_Block = tuple[Index, Array, NDArray[np.bool_]]
"""Positions, coordinates, and which of the rows are still free."""


class _Candidates:
    """Rows in norm order, looked at block by block in the eigenbasis of the current epoch.

    A position counts from the longest row to the shortest. With `grouped`, of rows that are multiples of
    each other only the longest free one is looked at: the test does not depend on length, so the
    others pass it or fail it with their leader.
    """

    def __init__(self, V: RightVectors, grouped: bool) -> None:
        self._V = V
        self.order = norm_order(V.norms2)
        self._taken = np.zeros(len(self.order), dtype=bool)
        self._next = _next_parallel(V, self.order) if grouped else np.full(len(self.order), -1)
        self._leads = np.ones(len(self.order), dtype=bool)
        self._leads[self._next[self._next >= 0]] = False
        self._leaders = np.flatnonzero(self._leads)
        self._free = np.ones(len(self._leaders), dtype=bool)
        self._promoted: list[int] = []
        self._width = _FIRST_BLOCK
        self._C = np.zeros((0, V.shape[1]))  # coordinates of the first leaders, as far as they were needed

    def rebase(self, Q: Array) -> None:
        """Rotate the coordinates by Q, and drop the rows taken meanwhile from the scan."""
        self._V = self._V.rotated(Q)
        known = len(self._C)
        positions, C = self._leaders[:known][self._free[:known]], self._C[self._free[:known]] @ Q
        fresh = np.array([p for p in self._promoted if self._leads[p] and known and p < self._leaders[known - 1]])
        if len(fresh):
            positions, C = np.append(positions, fresh), np.vstack([C, self._coordinates(fresh)])
            C = C[np.argsort(positions)]
        self._C = C
        self._leaders = np.flatnonzero(self._leads)
        self._free = np.ones(len(self._leaders), dtype=bool)
        self._promoted = []

    def take(self, position: int) -> None:
        """Mark a row as taken; the next one parallel to it takes its place in the scan."""
        self._taken[position] = True
        if self._leads[position]:
            self._leads[position] = False
            i = int(np.searchsorted(self._leaders, position))
            if i < len(self._leaders) and self._leaders[i] == position:
                self._free[i] = False
                # The next row will be found about as deep: one block a little larger than that.
                self._width = min(max(_FIRST_BLOCK, i + i // 4), _LARGEST_BLOCK)
            if self._next[position] >= 0:
                self._leads[self._next[position]] = True
                self._promoted.append(int(self._next[position]))

    def first_allowed(self, lower: _LowerBarrier, upper: _Upper) -> _Choice:
        """The row to take."""
        found = self._first(self._free_blocks(), lower, upper)
        if found.slack < 0.0:
            again = np.flatnonzero(self._taken)
            block = again, self._coordinates(again), np.ones(len(again), dtype=bool)
            repeated = self._first([block], lower, upper)
            # In exact arithmetic some row always qualifies; rounding leaves the nearest one.
            found = repeated if repeated.slack > found.slack else found
        return found

    def _first(self, blocks: Iterable[_Block], lower: _LowerBarrier, upper: _Upper) -> _Choice:
        """The first allowed row, or the one with the largest slack."""
        best = _Choice(len(self.order), -np.inf)
        for positions, C, free in blocks:
            if best.slack >= 0.0 and positions[0] > best.position:
                break
            low, low_forms = lower.score(C)
            # Upper scores are never negative: a row whose lower score is, cannot qualify.
            rows = np.flatnonzero(free & (low > 0.0))
            if not len(rows):
                continue
            up, up_forms = upper.score(C[rows], self.order[positions[rows]])
            slack = low[rows] - up
            allowed = np.flatnonzero(slack >= 0.0)
            i = allowed[positions[rows[allowed]].argmin()] if len(allowed) else slack.argmax()
            row = rows[i]
            better = positions[row] < best.position if len(allowed) and best.slack >= 0.0 else slack[i] > best.slack
            if better:
                lower_forms, upper_forms = (low_forms[0][row], low_forms[1][row]), (up_forms[0][i], up_forms[1][i])
                t = 2.0 / (up[i] + low[row])
                best = _Choice(int(positions[row]), slack[i], C[row], t, lower_forms, upper_forms)
        return best

    def _free_blocks(self) -> Iterator[_Block]:
        """Rows that became leaders in this epoch, then those that were at its start, in norm order."""
        promoted = np.array([p for p in self._promoted if not self._taken[p]], dtype=np.intp)
        if len(promoted):
            promoted.sort()
            yield promoted, self._coordinates(promoted), np.ones(len(promoted), dtype=bool)
        start, width = 0, self._width
        while start < len(self._leaders):
            stop = min(start + width, len(self._leaders))
            yield self._leaders[start:stop], self._leading_coordinates(start, stop), self._free[start:stop]
            start, width = stop, min(2 * width, _LARGEST_BLOCK)

    def _leading_coordinates(self, start: int, stop: int) -> Array:
        known = len(self._C)
        if stop > known:
            if stop * self._C.shape[1] > _CACHE_ENTRIES:
                return self._coordinates(self._leaders[start:stop])
            self._C = np.vstack([self._C, self._coordinates(self._leaders[known:stop])])
        return self._C[start:stop]

    def _coordinates(self, positions: Index) -> Array:
        return self._V.take(self.order[positions])


def _next_parallel(V: RightVectors, order: Index) -> Index:
    """For each position the next one whose row is a multiple of the same vector, or -1.

    Rows are parallel when three random projections of their directions agree to nine digits.
    """
    G = np.random.default_rng(0).standard_normal((V.shape[1], 3))
    H = (V.features @ (G if V.T is None else V.T @ G))[order] / np.sqrt(V.norms2[order])[:, None]
    digits = np.round(H * np.sign(H[:, :1]) * 1e9).astype(np.int64).astype(np.uint64)
    key = digits @ np.array([1, 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F], dtype=np.uint64)
    by_key = np.argsort(key, kind="stable")
    same = key[by_key[1:]] == key[by_key[:-1]]
    following = np.full(len(order), -1)
    following[by_key[:-1][same]] = by_key[1:][same]
    return following


def _sparsify(V: RightVectors, r: int, upper: _Upper, progress: Progress | None) -> Selection:
    ell = V.shape[1]
    epoch = int(np.clip(ell // 6, 8, 32))
    lower = _LowerBarrier(ell, r)
    candidates = _Candidates(V, grouped=upper.ignores_length)
    lam, W = np.zeros(ell), np.zeros((ell, epoch))
    chosen, t = np.empty(r, dtype=np.intp), np.empty(r)
    with threads_for(0):  # blocks of rows and resolvents are small whatever l is
        for tau in range(r):
            k = tau % epoch
            if k == 0:
                lam, Q = np.linalg.eigh(np.diag(lam) + W @ W.T)
                lower.rebase(lam, tau, epoch)
                upper.rebase(lam)
                candidates.rebase(Q)
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
    return Selection.from_draws(chosen, t * (1.0 - np.sqrt(ell / r)) / r)
