r"""Losses of single scores, and the conjugates that bound their sums from below.

y : (n,) labels -1 and 1, or any numbers for the squared loss; f : (n,) scores; c : (n,) costs of the rows, > 0
beta : (n,) dual variables, in the sign of the labels: at an optimum beta_i = -c_i l'(y_i, f_i)

    hinge          max(0, 1 - y f)            gain  y beta                          0 <= y beta <= c
    squared hinge  max(0, 1 - y f)^2          gain  y beta - beta^2 / (4 c)         0 <= y beta
    logistic       log(1 + exp(-y f))         gain  c H(y beta / c)                 0 <= y beta <= c
    squared        (y - f)^2                  gain  y beta - beta^2 / (4 c)

with the entropy H(p) = -p log p - (1 - p) log(1 - p). The gain is -c l^*(-beta / c), l^* the conjugate of the loss in
f: for every allowed beta and every f,

    c l(y, f) >= gain(beta) - beta f.

The hinge has no second derivative; solvers use it with its corner rounded (`rounding` > 0), as in
`rarefy.core.losses.hinge`; its gain is then y beta - rounding beta^2 / c. What is allowed for it is allowed for the
hinge, and gains more there.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from rarefy.core.linalg.rows import Array
from rarefy.core.losses.roots import increasing_root

LossName = Literal["hinge", "squared_hinge", "logistic", "squared"]
LOSSES: tuple[LossName, ...] = get_args(LossName)

_ROUNDED = 1e-14
"""Rounding of a slope, as a share of the costs."""


@dataclass(frozen=True)
class MarginLoss:
    """One of the four losses; `rounding` is half the length of the hinge's curved piece, 0 for the hinge itself."""

    name: LossName
    rounding: float = 0.0

    @property
    def needs_classes(self) -> bool:
        """Whether y must be -1 or 1."""
        return self.name != "squared"

    @property
    def bounded(self) -> bool:
        """Whether dual variables are at most the costs."""
        return self.name in ("hinge", "logistic")

    def values(self, y: Array, f: Array) -> Array:
        """The loss of every score."""
        if self.name == "squared":
            return np.asarray((y - f) ** 2)
        if self.name == "logistic":
            return np.logaddexp(0.0, -y * f)
        short = np.maximum(0.0, 1.0 - y * f)
        if self.name == "squared_hinge":
            return np.asarray(short**2)
        if not self.rounding:
            return short
        return np.where(short > 2.0 * self.rounding, short - self.rounding, short**2 / (4.0 * self.rounding))

    def derivatives(self, y: Array, f: Array) -> tuple[Array, Array]:
        """First and second derivative in the score; at a corner the second is that of the piece above."""
        if self.name == "squared":
            return 2.0 * (f - y), np.full(len(f), 2.0)
        if self.name == "logistic":
            p = 1.0 / (1.0 + np.exp(np.clip(y * f, -700.0, 700.0)))
            return -y * p, p * (1.0 - p)
        short = 1.0 - y * f
        if self.name == "squared_hinge":
            return -2.0 * y * np.maximum(0.0, short), np.where(short > 0.0, 2.0, 0.0)
        if not self.rounding:
            return -y * (short > 0.0), np.zeros(len(f))
        share = np.clip(short / (2.0 * self.rounding), 0.0, 1.0)
        return -y * share, np.where((share > 0.0) & (share < 1.0), 0.5 / self.rounding, 0.0)

    def allowed(self, y: Array, beta: Array, c: Array) -> bool:
        """Whether the gains of these dual variables are bounds."""
        if self.name == "squared":
            return bool(np.all(np.isfinite(beta)))
        size = y * beta
        return bool(np.all((size >= 0.0) & (size <= (c if self.bounded else np.inf))))

    def gains(self, y: Array, beta: Array, c: Array) -> Array:
        """What each row adds to the dual objective, for allowed dual variables."""
        size = y * beta
        if self.name == "hinge":
            return size - self.rounding * beta**2 / c if self.rounding else size
        if self.name == "logistic":
            p = size / c
            return -c * (_times_log(p) + _times_log(1.0 - p))
        return np.asarray(size - beta**2 / (4.0 * c))

    def balanced(self, y: Array, beta: Array, c: Array) -> Array:
        """The nearest allowed dual variables, with sum zero up to rounding: what a free intercept asks for."""
        if self.name == "squared":
            return np.asarray(beta - beta.mean())
        size = np.clip(y * beta, 0.0, c if self.bounded else None)
        upper = y > 0.0
        above, below = float(size[upper].sum()), float(size[~upper].sum())
        if max(above, below) > 0.0:
            size[upper if above > below else ~upper] *= min(above, below) / max(above, below)
        return size * y


def _times_log(p: Array) -> Array:
    """p log p, 0 at 0."""
    return np.where(p > 0.0, p * np.log(np.where(p > 0.0, p, 1.0)), 0.0)


def best_intercept(loss: MarginLoss, y: Array, scores: Array, c: Array, start: float | None = None) -> float:
    """The b with the least sum of c l(y, scores + b), where its slope is zero; `start` is a guess."""
    if loss.name == "squared":
        return float(c @ (y - scores) / c.sum())
    bends = y - scores  # where y (scores + b) = 1
    if loss.name == "hinge" and not loss.rounding:
        order = np.argsort(bends)
        # The slope rises by c_i at every bend, from minus the sum over the positive rows.
        slope = np.cumsum(c[order]) - float(c[y > 0.0].sum())
        return float(bends[order[min(int(np.searchsorted(slope, 0.0)), len(order) - 1)]])
    low, high = float(bends.min()) - 1.0, float(bends.max()) + 1.0
    if loss.name == "logistic":
        low, high = low - 40.0, high + 40.0

    def slope_at(b: float) -> tuple[float, float]:
        first, second = loss.derivatives(y, scores + b)
        return float(c @ first), float(c @ second)

    middle = 0.5 * (low + high) if start is None else min(max(start, low), high)
    # Slopes are sums that are rounded: below that, further looks at all samples would only halve the interval.
    return increasing_root(slope_at, low, high, middle, tol=_ROUNDED * float(c.sum()))
