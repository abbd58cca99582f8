r"""The hinge with its corner rounded: one loss for single scores and for pairs of scores.

    l(t) = 0 for t >= 1,   (1 - t)^2 / (4 eps) for 1 - 2 eps <= t < 1,   1 - eps - t below   [Chapelle2007]

For pairs t = a_i - b_j is the difference of an upper and a lower score. For one score the partners in each of the three
pieces are neighbours in sorted order, so that sums over them are differences of prefix sums of 1, b and b^2. Only the
fewer scores are sorted, the others are looked up among them: with n of the fewer, all sums over pairs take O(m log n).
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from rarefy.core.linalg.rows import Array, Index


@dataclass(frozen=True)
class SmoothedHinge:
    """The hinge loss with its corner rounded by a parabola.

    It is 0 for t >= 1, (1 - t)^2 / (4 eps) for 1 - 2 eps <= t < 1, and 1 - eps - t below.

    Parameters
    ----------
    eps : float, default=0.5
        Half the length of the curved piece, > 0. With 0.5 it ends at t = 0; towards 0 the loss becomes the hinge.

    See Also
    --------
    rarefy.ranking.Logistic : The logistic loss.

    References
    ----------
    [Chapelle2007] Chapelle, Training a support vector machine in the primal, Neural Computation 19, 2007.

    Examples
    --------
    >>> from rarefy.ranking import RankRC, SmoothedHinge
    >>> RankRC(loss=SmoothedHinge(eps=0.25)).loss
    SmoothedHinge(eps=0.25)
    """

    eps: float = 0.5

    def derivatives(self, t: Array) -> tuple[Array, Array, Array]:
        """Compute the loss and its first two derivatives.

        Parameters
        ----------
        t : ndarray
            Margins.

        Returns
        -------
        value, first, second : ndarrays of the shape of t
            The loss and its derivatives; the second is undefined where the pieces meet, and there it is that of the
            curved piece at its lower end and 0 at its upper end.
        """
        short = 1.0 - t
        curved = (short > 0.0) & (short <= 2.0 * self.eps)
        linear = short > 2.0 * self.eps
        value = np.where(linear, short - self.eps, np.where(curved, short**2 / (4.0 * self.eps), 0.0))
        first = np.where(linear, -1.0, np.where(curved, -short / (2.0 * self.eps), 0.0))
        return value, first, np.where(curved, 0.5 / self.eps, 0.0)

    def pair_sums(self, a: Array, b: Array) -> "HingeSums | MirroredSums":
        """Sort the fewer scores, for sums over all pairs.

        Parameters
        ----------
        a : ndarray of shape (n_upper,)
            Scores of the samples that should rank higher.
        b : ndarray of shape (n_lower,)
            Scores of the samples that should rank lower.

        Returns
        -------
        sums : object
            Sums over partners of the loss and its derivatives, by `upper` and `lower`.
        """
        return HingeSums(self.eps, a, b) if len(a) <= len(b) else MirroredSums(self.eps, a, b)


def beside(x: Array, v: Array) -> Array:
    """A vector, as a column if v has columns."""
    return x[:, None] if v.ndim == 2 else x


class HingeSums:
    """Sums of the loss, or of its derivatives, over the partners of every score; upper scores should be the fewer.

    Only they are sorted. For a lower score those before the place `quad` are less than 1 above it, those before `line`
    so little that the loss is linear; sums over lower scores are taken by place.
    """

    def __init__(self, eps: float, a: Array, b: Array) -> None:
        self.eps = eps
        self.order = np.argsort(a, kind="stable")
        self.place = np.empty_like(self.order)
        self.place[self.order] = np.arange(len(a))
        ordered = a[self.order]
        self.quad = np.searchsorted(ordered - 1.0, b, side="left")
        self.line = np.searchsorted(ordered - (1.0 - 2.0 * self.eps), b, side="left")
        shift = float(np.concatenate([a, b]).mean())  # squares of large numbers would cost digits
        self.a, self.b = a - shift, b - shift

    def upper(self, weights: Array, order: int, v: Array | None = None) -> Array:
        w = weights if v is None else beside(weights, v) * v
        quad, line = [], []
        for k in range(3 - order):
            terms = w if k == 0 else w * beside(self.b**k, w)
            before_line, before_quad = (self._by_place(places, terms) for places in (self.line, self.quad))
            quad.append(np.cumsum(before_line - before_quad, axis=0)[:-1][self.place])
            # Added from the far end, so that the few largest lower scores do not vanish in the sum of all.
            line.append(np.cumsum(before_line[:0:-1], axis=0)[::-1][self.place])
        return self._combined(beside(1.0 - self.a, w), quad, line, order, 1.0)

    def lower(self, weights: Array, order: int, v: Array | None = None) -> Array:
        w = weights if v is None else beside(weights, v) * v
        quad, line = [], []
        for k in range(3 - order):
            prefix = np.zeros((len(self.a) + 1, *w.shape[1:]))
            np.cumsum((w if k == 0 else w * beside(self.a**k, w))[self.order], axis=0, out=prefix[1:])
            line.append(prefix[self.line])
            quad.append(prefix[self.quad] - line[-1])
        return self._combined(beside(1.0 + self.b, w), quad, line, order, -1.0)

    def _by_place(self, places: Index, terms: Array) -> Array:
        n_places = len(self.a) + 1
        if terms.ndim == 1:
            return np.asarray(np.bincount(places, weights=terms, minlength=n_places), dtype=np.float64)
        where = sp.csc_array((np.ones(len(places)), places, np.arange(len(places) + 1)), (n_places, len(places)))
        return where @ terms

    def _combined(self, gap: Array, quad: list[Array], line: list[Array], order: int, sign: float) -> Array:
        """Sums of the loss or a derivative in the margin; 1 - margin is gap + sign * the partner's score."""
        if order == 2:
            return quad[0] / (2.0 * self.eps)
        if order == 1:
            return -(gap * quad[0] + sign * quad[1]) / (2.0 * self.eps) - line[0]
        inner = (gap**2 * quad[0] + 2.0 * sign * gap * quad[1] + quad[2]) / (4.0 * self.eps)
        return inner + (gap - self.eps) * line[0] + sign * line[1]


class MirroredSums:
    """Sums over pairs of more upper than lower scores: those of their negatives, with the roles exchanged."""

    def __init__(self, eps: float, a: Array, b: Array) -> None:
        self._sums = HingeSums(eps, -b, -a)

    def upper(self, weights: Array, order: int, v: Array | None = None) -> Array:
        return self._sums.lower(weights, order, v)

    def lower(self, weights: Array, order: int, v: Array | None = None) -> Array:
        return self._sums.upper(weights, order, v)
