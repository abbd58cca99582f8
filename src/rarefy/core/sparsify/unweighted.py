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

*Steps ahead.* Two products for each step would be one look at all of V for each. So steps are taken with the few rows
that gain most, as if there were no others, and then the products of many steps with all rows are computed together, a
block of rows at a time: they tell at which step, if at any, another row would have been taken. From there on the steps
are taken again. What is chosen is the same.
"""

from copy import copy
from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.spectrum import RightVectors
from rarefy.core.linalg.threads import threads_for, threads_over
from rarefy.core.sparsify import Selection
from rarefy.core.sparsify.bss import Progress
from rarefy.core.sparsify.candidates import norm_order

_RAISE = 0.25
_EQUAL_GAINS = 1e-9
_FEW_ENTRIES = 1 << 18
"""Entries of the rows with which steps are taken ahead: 2 MB."""
_AHEAD, _LEAST, _FARTHEST = 16, 4, 256
"""Steps that are taken ahead at first, and at most: l, since blocks of rows are made for l products, within limits."""


def unweighted(V: RightVectors, k: int, progress: Progress | None = None) -> Selection:
    """Choose k rows of V, all of weight 1, or all that are not zero if these are fewer."""
    d, ell = V.shape
    if not 0 < ell <= k:
        raise ValueError(
            f"Selection without weights needs at least as many rows as dimensions, 0 < l <= k; got l={ell} "
            f"and k={k}. Keep fewer singular vectors or choose more features."
        )
    order = norm_order(V.norms2)
    wanted = min(k, len(order))
    chosen: list[int] = []
    with threads_over(d * ell):
        scan = _Scan(V, order, _level(V.norms2, ell, k))
        while len(chosen) < wanted:
            for index in scan.steps(wanted - len(chosen)):
                chosen.append(index)
                if progress is not None:
                    progress(len(chosen), wanted)
    return Selection(np.array(chosen, dtype=np.intp), np.ones(len(chosen)))


def _level(norms2: Array, ell: int, k: int) -> float:
    """The value phi that the potential is kept at."""
    longest = np.sort(norms2)[::-1][:k]
    # The proof has (l - 1) / k in the root, which is 0 at l = 1; at k = l the 1/2 keeps phi finite too.
    q = np.sqrt((ell - 0.5) / k)
    return float(k * ell / longest.sum() * q / (1.0 - q))


@dataclass(frozen=True)
class _Step:
    """A row that was taken, and what that does to the forms of all others."""

    index: int
    gain: float
    v: Array
    p: Array
    """P v, at the barrier before the step; q is P p."""
    q: Array
    pp: float
    s: float
    """1 + v^T P v."""


@dataclass
class _Forms:
    """v^T P v and v^T P^2 v of some rows."""

    first: Array
    second: Array

    def gains(self) -> Array:
        """How much each row would lower the potential."""
        return self.second / (1.0 + self.first)

    def add(self, step: _Step, a: Array, b: Array) -> None:
        """The forms after a step, from the products of all rows with p and q: the Sherman-Morrison formula."""
        self.first -= a * a / step.s
        self.second += a * (a * (step.pp / step.s) - 2.0 * b) / step.s

    def part(self, rows: slice | Index) -> "_Forms":
        """Those of some rows: of a slice they share the memory."""
        return _Forms(self.first[rows], self.second[rows])

    def copy(self) -> "_Forms":
        return _Forms(self.first.copy(), self.second.copy())


class _Barrier:
    """A, the barrier below it, and its potential."""

    def __init__(self, ell: int, level: float) -> None:
        self._level = level
        self._A = np.zeros((ell, ell))

    @property
    def is_low(self) -> bool:
        """Whether the potential has fallen so far that L is raised."""
        return self.potential < (1.0 - _RAISE) * self._level

    def rise(self) -> tuple[Array, Array]:
        """Raise L until Phi(L, A) is the level; eigenvectors of A and the distances of its eigenvalues from L."""
        lam, Q = np.linalg.eigh(self._A)
        D = lam - lam[0] + _gap(lam, self._level)
        self._P = (Q / D) @ Q.T
        self.potential = float(np.sum(1.0 / D))
        return Q, D

    def step(self, index: int, gain: float, v: Array) -> _Step:
        """Take a row."""
        p = self._P @ v
        step = _Step(index, gain, v, p, self._P @ p, float(p @ p), 1.0 + float(v @ p))
        self.add(step)
        return step

    def add(self, step: _Step) -> None:
        """A + v v^T at the same barrier."""
        self._A += np.outer(step.v, step.v)
        self._P -= np.outer(step.p, step.p / step.s)
        self.potential -= step.pp / step.s

    def copy(self) -> "_Barrier":
        other = copy(self)
        other._A, other._P = self._A.copy(), self._P.copy()
        return other


class _Scan:
    """All rows of V with their forms, and the barrier that they are compared at."""

    def __init__(self, V: RightVectors, order: Index, level: float) -> None:
        self._V, self._barrier = V, _Barrier(V.shape[1], level)
        self._farthest = min(_FARTHEST, max(_LEAST, V.shape[1]))
        self._ahead = min(_AHEAD, self._farthest)
        self._free = np.zeros(V.shape[0], dtype=bool)
        self._free[order] = True
        self._forms = _Forms(np.empty(V.shape[0]), np.empty(V.shape[0]))
        self._rise()

    def steps(self, at_most: int) -> list[int]:
        """The next rows, one or more."""
        if self._barrier.is_low:
            self._rise()
        before = self._barrier.copy()
        few = self._few()
        steps, forms = self._taken(few, min(at_most, self._ahead))
        if len(few) == np.count_nonzero(self._free):
            self._forms.first[few], self._forms.second[few] = forms.first, forms.second
        else:
            n, forms = self._agreed(steps)
            if n < len(steps):
                steps, self._barrier = steps[:n], before
                for step in steps:
                    self._barrier.add(step)
                forms = self._agreed(steps)[1]
            self._forms = forms
        self._ahead = min(self._farthest, 2 * len(steps))
        chosen = [step.index for step in steps]
        self._free[chosen] = False
        return chosen

    def _rise(self) -> None:
        """Raise the barrier, and compute all forms afresh there."""
        Q, D = self._barrier.rise()
        powers = np.column_stack([1.0 / D, 1.0 / D**2])
        for rows, C in self._V.features.blocks(Q if self._V.T is None else self._V.T @ Q):
            self._forms.first[rows], self._forms.second[rows] = (np.square(C) @ powers).T

    def _few(self) -> Index:
        """The free rows that gain most, in order, with the one among them that is the next."""
        gains = np.where(self._free, self._forms.gains(), -np.inf)
        n = min(int(np.count_nonzero(self._free)), max(2, _FEW_ENTRIES // self._V.shape[1]))
        fits = getattr(self._V.features, "fits", None)  # of data that are not in memory
        while n > 2 and fits is not None and not fits(n * self._V.shape[1]):
            n //= 2
        found = np.argpartition(-gains, n - 1)[:n]
        return np.union1d(found, [_first_of_largest(gains)])

    def _taken(self, few: Index, at_most: int) -> tuple[list[_Step], _Forms]:
        """Steps with a few rows, up to the next raise of L at most, and the forms of these rows after them."""
        rows, forms, free = self._V.take(few), self._forms.part(few), np.ones(len(few), dtype=bool)
        steps: list[_Step] = []
        with threads_for(0):  # the products of a step are small
            while len(steps) < min(at_most, len(few)) and not (steps and self._barrier.is_low):
                gains = np.where(free, forms.gains(), -np.inf)
                i = _first_of_largest(gains)
                step = self._barrier.step(int(few[i]), float(gains[i]), rows[i])
                free[i] = False
                forms.add(step, *(rows @ np.column_stack([step.p, step.q])).T)
                steps.append(step)
        return steps, forms

    def _agreed(self, steps: list[_Step]) -> tuple[int, _Forms]:
        """How many of these steps are right for all rows, and the forms of all after the last: one pass."""
        both = np.column_stack([product for step in steps for product in (step.p, step.q)])
        forms, highest, before = self._forms.copy(), np.full(len(steps), -np.inf), np.full(len(steps), -np.inf)
        for rows, C in self._V.features.blocks(both if self._V.T is None else self._V.T @ both):
            part, free, products = forms.part(rows), self._free[rows].copy(), C.T.copy()
            for j, step in enumerate(steps):
                here = min(max(step.index - rows.start, 0), len(free))
                if rows.start <= step.index < rows.stop:
                    free[here] = False
                gains = np.where(free, part.gains(), -np.inf)
                highest[j] = max(highest[j], gains.max(initial=-np.inf))
                before[j] = max(before[j], gains[:here].max(initial=-np.inf))
                part.add(step, products[2 * j], products[2 * j + 1])
        own = np.array([step.gain for step in steps])
        least = (1.0 - _EQUAL_GAINS) * np.maximum(own, highest)
        wrong = np.flatnonzero((own < least) | (before >= least))
        return (int(wrong[0]) if len(wrong) else len(steps)), forms


def _first_of_largest(gains: Array) -> int:
    """The lowest index among those of the largest gain."""
    return int(np.argmax(gains >= (1.0 - _EQUAL_GAINS) * gains.max()))


def _gap(lam: Array, level: float) -> float:
    """The distance g of the barrier from the smallest eigenvalue: sum 1 / (lam - lam[0] + g) = level."""
    above = lam - lam[0]
    low, high = 1.0 / level, len(lam) / level
    # The gap spans a factor of l at most: sixty halvings reach the last digit.
    for _ in range(60):
        g = 0.5 * (low + high)
        low, high = (g, high) if np.sum(1.0 / (above + g)) > level else (low, g)
    return 0.5 * (low + high)
