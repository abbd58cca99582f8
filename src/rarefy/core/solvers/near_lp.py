r"""Linear programs with many boxed variables, from multipliers that tell roughly where most of them end.

Symbols as in `interior_point`; W : the working variables, all others rest at a bound; mu : barrier; r = c - [A; B] y

An interior point method cannot start near a solution: there it is badly centred. But multipliers y, those of a similar
program or of a few iterations over all variables, tell which variables will end at which bound, and those are nearly
all. So the search begins with the few variables of small reduced costs and moves them onto the central path
(`central_path`), from which primal-dual steps converge as they do from the middle. Every time the gap has fallen
fivefold the reduced costs of all variables are computed, and what rests at the wrong bound comes to the working
variables. The gap that is closed is that of the whole program. Where the search does not get there (the working
variables may leave no feasible point, or the multipliers told nothing), nothing is returned.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.solvers.central_path import central_distance, central_point, has_central_path
from rarefy.core.solvers.interior_point import Newton, Point, Program

NEAR, FAR = 6, 10
"""Working variables for each equation at the start, if the multipliers are those of a solution and if they are not."""
_SHARE = 0.06
"""And at least this share of the variables: of very many, more have small reduced costs than there are equations. With
fewer, searches over 60 000 samples and 20 to 100 coordinates began anew over all, which took up to 28 times as long."""
_NEEDED = 0.25
"""Those that rest elsewhere than at zero, without which the others may have no room, come along up to this share."""
_WORTH_IT = 0.4
"""Share of the variables above which so many would be worked on that there is nothing to gain."""
_AT_FIRST = 0.3
"""The barrier at the start is worth this share of the value; with less, centring takes longer than what it saves."""
_CHECKED, _LATER = 0.2, 0.2
"""Relative gap of the working variables at which all others are looked at for the first time, and how much smaller it
is the next time."""
_LOST = 0.5
"""If they are worth this share of the value, and more than there are equations, the multipliers tell nothing."""
_RAISED = 0.3
"""If those at the wrong bound are worth more than the gap, the barrier rises to this share of what they are worth."""
_MORE = 1.25
"""For each equation, so many of the nearest variables come along when some rest at the wrong bound."""
_SHORT, _IN_A_ROW = 0.1, 3
"""After so many short steps in a row the others may have left no room: twice as many are worked on if some rest at the
wrong bound, and centred in any case, so many times."""


def few_suffice(n: int, k: int) -> bool:
    """Whether working on few of n variables with k equations can pay."""
    return FAR * k <= _WORTH_IT * n


@dataclass(frozen=True)
class Found:
    """A solution: x, multipliers y, and how many Gram matrices it took."""

    x: Array
    y: Array
    n_iter: int


def solve_near(
    whole: Program,
    y: Array,
    norms: Array,
    *,
    at_least: int,
    tol: float,
    n_iter: int,
    max_iter: int,
    callback: Callable[[int, float], None] | None = None,
) -> Found | None:
    """Solve the program from multipliers y of a similar one; None if that does not succeed, or promises nothing.

    Parameters
    ----------
    whole : Program
        Each variable has two bounds and no curvature, or curvature and no bounds.
    y : (k,) array
        Multipliers.
    norms : (k,) array
        Lengths of the columns of [A; B], to judge what is missing of the equations.
    at_least : int
        Working variables for each equation at the start, if these are not too small a share of all.
    tol : float
        Accepted gap, relative to 1 + |value|.
    n_iter : int
        Gram matrices that there were before.
    max_iter : int
        Gram matrices after which it gives up.
    callback : callable or None
        Called with (iteration, relative gap) in every iteration.
    """
    n, k = whole.A.shape
    if not few_suffice(n, k) or not has_central_path(whole) or not np.isfinite(y).all():
        return None
    try:
        search = _Search(whole, y, norms, at_least, tol, n_iter, max_iter)
        return search.run(callback) if search.centred else None
    except (np.linalg.LinAlgError, ValueError, OverflowError):  # a factor or a right-hand side is not finite
        return None


class _Search:
    """The working variables with their iterate; all others rest."""

    def __init__(
        self, whole: Program, y: Array, norms: Array, at_least: int, tol: float, n_iter: int, max_iter: int
    ) -> None:
        self.whole, self.norms, self.tol, self.n_iter, self.max_iter = whole, norms, tol, n_iter, max_iter
        n, k = whole.A.shape
        fit = whole.times(y)
        reduced = whole.reduced_costs(np.zeros(len(whole.c)), fit)
        self.movable = whole.width > 0.0
        self.resting = np.where(np.isfinite(whole.width), np.where(reduced > 0.0, whole.lower, whole.upper), 0.0)
        loose = self.movable & (np.arange(len(whole.c)) >= n)
        size = np.where(self.movable, np.abs(reduced), np.inf)[:n]
        count = max(at_least * k, int(_SHARE * n))
        loose[np.argpartition(size, count)[:count]] = True
        value = 1.0 + abs(float(whole.rhs @ y + reduced @ self.resting))
        needed = loose | (self.resting != 0.0)
        self._take(np.flatnonzero((needed if needed.sum() <= _NEEDED * len(needed) else loose) & self.movable))
        self.point = Point(self.resting[self.work], y, fit[self.work], np.zeros(0), np.zeros(0))
        self.centred = self._centre(_AT_FIRST * value / self.part.n_bounds)

    def _take(self, work: Index) -> None:
        self.work = work
        self.part = self.whole.restricted(work, self.resting)

    def run(self, callback: Callable[[int, float], None] | None) -> Found | None:
        check, short, again = _CHECKED, 0, _IN_A_ROW
        while self.n_iter < self.max_iter:
            part, point = self.part, self.point
            missing, reduced = part.rhs - part.sums(point.x), part.reduced_costs(point.x, point.fit)
            value, barrier = 1.0 + abs(part.value(point.x)), point.barrier(part)
            gap = max(barrier * part.n_bounds, float(np.abs(point.y) @ np.abs(missing))) / value
            if callback is not None:
                callback(self.n_iter, gap)
            if gap <= max(check, self.tol):
                x, worth, wrong, fit = self._look_at_all()
                if gap <= self.tol and worth <= 0.5 * self.tol * value and self._holds(missing):
                    return Found(x, point.y, self.n_iter)
                if worth > _LOST * value and wrong.sum() > len(part.rhs):
                    return None
                check = max(_LATER * gap, 0.3 * self.tol) if worth <= check * value else check
                if wrong.any():
                    self._bring(wrong, fit, barrier, int(_MORE * len(self.whole.rhs)))
                    if worth > gap * value and not self._centre(max(barrier, _RAISED * worth / self.part.n_bounds)):
                        return None
                    continue
            self.point, length = Newton(part, point, reduced, missing).step()
            self.n_iter += 1
            short = short + 1 if length < _SHORT else 0
            if short == _IN_A_ROW:
                short, again = 0, again - 1
                if again < 0 or not self._given_room(barrier):
                    return None
        return None

    def _given_room(self, barrier: float) -> bool:
        """After short steps: centre, with twice as many variables if some of the others rest at the wrong bound."""
        _, worth, wrong, fit = self._look_at_all()
        if wrong.any():
            self._bring(wrong, fit, barrier, len(self.work))
        return self._centre(max(barrier, _RAISED * worth / self.part.n_bounds))

    def _holds(self, missing: Array) -> bool:
        """Whether the equations hold, by the lengths of their columns."""
        size = self.norms * (1.0 + float(np.linalg.norm(self.point.x)))
        return bool(np.all(np.abs(missing) <= self.tol * size))

    def _look_at_all(self) -> tuple[Array, float, NDArray[np.bool_], Array]:
        """All variables, what is lost by those that rest at the wrong bound, which these are, and [A; B] y."""
        fit = self.whole.times(self.point.y)
        reduced = self.whole.c - fit
        rests = self.movable.copy()
        rests[self.work] = False
        wrong = rests & (self.resting != np.where(reduced < 0.0, self.whole.upper, self.whole.lower))
        x = self.resting.copy()
        x[self.work] = self.point.x
        return x, float(np.abs(reduced[wrong]) @ self.whole.width[wrong]), wrong, fit

    def _bring(self, wrong: NDArray[np.bool_], fit: Array, barrier: float, more: int) -> None:
        """Work on those at the wrong bound too, and on the nearest others, from where the central path has them."""
        whole, old, before = self.whole, self.point, self.work
        reduced = whole.c - fit
        rests = self.movable.copy()
        rests[before] = False
        candidates = np.flatnonzero(rests)
        count = min(more, len(candidates) - 1)
        if count > 0:
            wrong[candidates[np.argpartition(np.abs(reduced[candidates]), count)[:count]]] = True
        v = central_distance(reduced[wrong], whole.width[wrong], barrier)
        x, zl, zu = self.resting.copy(), np.zeros(len(whole.c)), np.zeros(len(whole.c))
        x[before], zl[before], zu[before] = old.x, old.zl, old.zu
        x[wrong], zl[wrong], zu[wrong] = whole.lower[wrong] + v, barrier / v, barrier / (whole.width[wrong] - v)
        wrong[before] = True
        self._take(np.flatnonzero(wrong))
        self.point = Point(x[self.work], old.y, fit[self.work], zl[self.work], zu[self.work])

    def _centre(self, barrier: float) -> bool:
        """Move the working variables onto the central path; whether that succeeded."""
        found, n_iter = central_point(self.part, self.point.y, self.point.fit, barrier)
        self.n_iter += n_iter
        if found is not None:
            self.point = found
        return found is not None
