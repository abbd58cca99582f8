r"""Bounds from below on the objective of SVMs with a norm as penalty, from any dual variables.

A    : (n, q k) Rows; each row has k numbers for each of q scores: coordinates, a one, and for the maximum norm a zero
beta : (n,) dual variables, with bounds; value y^T beta

Variables with A^T beta = 0 for the intercepts and ||D_c^T beta||_* <= alpha for the coordinates of each score c are
feasible, and no weights reach less than their value. Those of a solver are feasible up to its accuracy only: they are
mended first, and then scaled by what is still missing. So a gap to this bound holds whatever the solver did.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from rarefy.core.linalg.norms import p_norm
from rarefy.core.linalg.rows import Array, Rows
from rarefy.core.solvers.interior_point import Factor

Norm = float | Literal["inf"]
"""A number from 1 on, or "inf"."""

_BALANCE = 1e-13
"""Sums of the intercepts, relative to that of absolute values, that count as zero: a few times their rounding."""
_NO_ROOM = 1e-30
"""Share of the distance of two bounds."""
_EPS = float(np.finfo(np.float64).eps)


def order_of(norm: Norm) -> float:
    """The norm as numpy has it."""
    return float(norm)  # of "inf", too


def conjugate(norm: Norm) -> float:
    """The q with 1/p + 1/q = 1."""
    p = order_of(norm)
    return np.inf if p == 1.0 else 1.0 if p == np.inf else p / (p - 1.0)


def extra_columns(norm: Norm) -> int:
    """How many columns there are beside the coordinates: the first is one, a second is zero."""
    return 2 if norm == "inf" else 1


@dataclass(frozen=True)
class DualBound:
    """Bounds from below on what any weights reach, by dual variables beta of the samples."""

    A: Rows
    lower: Array
    upper: Array
    y: Array
    """The value is y^T beta."""
    alpha: float
    norm: Norm
    Q: Array
    """Turns sums A^T beta into those of the classes; one number for two classes."""
    k: int
    ones: int | None = None
    """Columns beside the coordinates; None means those of the norm."""
    length: float | None = None
    """Length of the longest column, if it is known."""

    @cached_property
    def longest(self) -> float:
        """Length of the longest column, for the rounding of sums."""
        return float(self.A.column_norms().max(initial=0.0)) if self.length is None else self.length

    @property
    def S(self) -> int:
        """Number of coordinates; the column after them is that of the intercept."""
        return self.k - (extra_columns(self.norm) if self.ones is None else self.ones)

    def bound(self, beta: Array, accepted: float, rounds: int = 12) -> float:
        """The value of feasible variables near beta, or of a multiple of them that is feasible.

        First the sums of the intercepts are mended. If what is lost then is more than what is accepted, all sums are,
        at most so many times: half of them each to its own bound, then all by the same factor. Sums that depend on each
        other, those of equal columns or of all classes, can only be made smaller together.
        """
        best = -np.inf
        beta = np.clip(beta, self.lower, self.upper)
        for mended in range(rounds + 1):
            beta = self._balanced(self._mended(beta, together=2 * mended > rounds) if mended else beta)
            value = float(self.y @ beta)
            best = max(best, self._feasible_share(beta) * value)
            if value - best <= accepted:
                break
        return best

    def _sums(self, beta: Array) -> Array:
        return np.asarray(self.Q @ (self.A.T @ beta).reshape(-1, self.k))

    def _feasible_share(self, beta: Array) -> float:
        """The largest multiple, up to 1, that is feasible; sums that differ by their rounding count as equal."""
        sums = self._sums(beta)
        Z = sums[:, : self.S]
        if float(np.abs(sums[:, self.S]).max()) > _BALANCE * float(np.abs(beta).sum()):
            return 0.0  # the intercepts would have to be bounded
        allowed, needed = self.alpha, self._size(Z)
        if needed > allowed:
            allowed += 4.0 * _EPS * self.longest * float(np.linalg.norm(beta))
        return min(1.0, allowed / needed) if needed > 0.0 else 1.0

    def _size(self, Z: Array) -> float:
        """The norm that may not be larger than alpha."""
        return float(self._sizes(Z).max(initial=0.0))

    def _sizes(self, Z: Array) -> Array:
        """The same for each score: the conjugate norm of its sums."""
        return np.asarray(p_norm(Z, conjugate(self.norm), axis=1, keepdims=True))

    def _room(self, beta: Array) -> Array:
        return np.asarray(np.minimum(beta - self.lower, self.upper - beta))

    def _balanced(self, beta: Array) -> Array:
        """Moved by a share of their room so that the sums of the intercepts are zero."""
        C = self.A @ np.asarray(np.kron(np.eye(len(self.Q)), np.eye(1, self.k, self.S)).T, dtype=np.float64)
        weighted = self._room(beta)[:, None] * C
        shift = np.linalg.lstsq(C.T @ weighted, C.T @ beta, rcond=1e-12)[0]
        return np.clip(beta - weighted @ shift, self.lower, self.upper)

    def _mended(self, beta: Array, *, together: bool) -> Array:
        """The same for all sums: those of the coordinates are to be within their bounds."""
        sums, S = self._sums(beta), self.S
        allowed = np.zeros_like(sums)
        if together:
            allowed[:, :S] = sums[:, :S] * min(1.0, self.alpha / max(self._size(sums[:, :S]), 1e-300))
        elif self.norm == 1:
            allowed[:, :S] = np.clip(sums[:, :S], -self.alpha, self.alpha)
        else:
            sizes = np.maximum(self._sizes(sums[:, :S]), 1e-300)
            allowed[:, :S] = sums[:, :S] * np.minimum(1.0, self.alpha / sizes)
        room = self._room(beta)
        # Mostly few have room, and what has next to none would leave a matrix of numbers that vanish.
        inside = np.flatnonzero(room > _NO_ROOM * (self.upper - self.lower))
        if not len(inside):
            return beta
        A = self.A.subset(inside)
        try:
            shift = Factor(A.gram(room[inside])).solve((self.Q.T @ (sums - allowed)).ravel())
        except np.linalg.LinAlgError:  # nothing can be mended; what is lost is a part of the bound
            return beta
        moved = beta.copy()
        moved[inside] -= room[inside] * (A @ shift)
        return np.clip(moved, self.lower, self.upper)
