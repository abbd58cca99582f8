r"""The hinge with its corner rounded: one loss for single scores and for pairs of scores.

    l(t) = 0 for t >= 1,   (1 - t)^2 / (4 eps) for 1 - 2 eps <= t < 1,   1 - eps - t below   [Chapelle2007]

For pairs t = a_i - b_j is the difference of an upper and a lower score. For one score the partners in each of the three
pieces are neighbours in sorted order, so that sums over them are differences of prefix sums of 1, b and b^2: all sums
over pairs take O(m log m).
"""

from dataclasses import dataclass

import numpy as np

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

    def pair_sums(self, a: Array, b: Array) -> "HingeSums":
        """Sort the scores, for sums over all pairs.

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
        return HingeSums(self.eps, a, b)


class HingeSums:
    """Sums of the loss, or of its derivatives, over the partners of every score."""

    def __init__(self, eps: float, a: Array, b: Array) -> None:
        self.eps = eps
        self.order_a, self.order_b = np.argsort(a, kind="stable"), np.argsort(b, kind="stable")
        sorted_a, sorted_b = a[self.order_a], b[self.order_b]
        # Both sides compare the same rounded numbers, so that they agree on the piece of every pair.
        within, far = 1.0, 1.0 - 2.0 * self.eps
        # Lower scores from `quad` on are within the margin of an upper one, from `line` on far within.
        self.quad = np.searchsorted(sorted_b, a - within, side="right")
        self.line = np.searchsorted(sorted_b, a - far, side="right")
        # Upper scores before `quad_of` are too low for a lower one; before `line_of` far too low.
        self.quad_of = np.searchsorted(sorted_a - within, b, side="left")
        self.line_of = np.searchsorted(sorted_a - far, b, side="left")
        shift = float(np.concatenate([a, b]).mean())  # squares of large numbers would cost digits
        self.a, self.b = a - shift, b - shift

    def _pieces(self, weights: Array, x: Array, order: Index, powers: int) -> list[Array]:
        """Prefix sums of weights times powers of x, in sorted order."""
        sums = []
        for k in range(powers + 1):
            prefix = np.zeros(len(x) + 1)
            np.cumsum((weights * x**k)[order], out=prefix[1:])
            sums.append(prefix)
        return sums

    def upper(self, weights: Array, order: int, v: Array | None = None) -> Array:
        w = weights if v is None else weights * v
        sums = self._pieces(w, self.b, self.order_b, 2 - order)
        quad = [s[self.line] - s[self.quad] for s in sums]
        line = [s[-1] - s[self.line] for s in sums]
        return self._combined(1.0 - self.a, quad, line, order, 1.0)

    def lower(self, weights: Array, order: int, v: Array | None = None) -> Array:
        w = weights if v is None else weights * v
        sums = self._pieces(w, self.a, self.order_a, 2 - order)
        quad = [s[self.quad_of] - s[self.line_of] for s in sums]
        line = [s[self.line_of] for s in sums]
        return self._combined(1.0 + self.b, quad, line, order, -1.0)

    def _combined(self, gap: Array, quad: list[Array], line: list[Array], order: int, sign: float) -> Array:
        """Sums of the loss or a derivative in the margin; 1 - margin is gap + sign * the partner's score."""
        if order == 2:
            return quad[0] / (2.0 * self.eps)
        if order == 1:
            return -(gap * quad[0] + sign * quad[1]) / (2.0 * self.eps) - line[0]
        inner = (gap**2 * quad[0] + 2.0 * sign * gap * quad[1] + quad[2]) / (4.0 * self.eps)
        return inner + (gap - self.eps) * line[0] + sign * line[1]
