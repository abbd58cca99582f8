r"""Losses over all pairs of a higher and a lower point, by sorting: never one pair at a time.

f : (m,) scores; a pair (i, j) of a point of a higher and one of a lower level has margin z = f_i - f_j
p : (m,) weights of the points; a pair weighs p_i p_j, and the weights of all pairs are made to add up to 1

    L(f) = sum over pairs of p_i p_j loss(f_i - f_j)

With two levels L is a convex stand-in for 1 - AUC. The smoothed hinge with width eps [Chapelle2007] is

    loss(z) = 0 for z >= 1,   (1 - z)^2 / (4 eps) for 1 - 2 eps <= z < 1,   1 - eps - z below.

For one point the partners in each of its three pieces are neighbours in sorted order, so that sums over
them are differences of prefix sums of 1, f and f^2: value, gradient and products with the Hessian take
O(m log m). The logistic loss log(1 + exp(-z)) has no such pieces; there the sum over the higher points is a
smooth function of one number, interpolated to rounding error from its values at Chebyshev points.

A *push* of power q > 1 [Rudin2009] replaces the sum over lower points of their shares of the loss by
(sum_j p_j share_j^q)^(1/q): the lower points that stand highest count most. A *false-positive range* b < 1
counts only the share b of the lower points that stand highest [NarasimhanAgarwal2013].
"""

from dataclasses import dataclass

import numpy as np

from rarefy.core.linalg.rows import Array, Index


@dataclass(frozen=True)
class Pairs:
    """Which points are compared: for every level but the highest, its points and all that are higher.

    `groups` holds, for every level but the highest, the indices of all higher points and of its own; `weights` the
    weights of the points, `total` the weight of all pairs.
    """

    groups: tuple[tuple[Index, Index], ...]
    weights: Array
    total: float

    @classmethod
    def of(cls, levels: Index, weights: Array | None = None) -> "Pairs":
        """All pairs of points of different levels; larger numbers are higher."""
        p = np.ones(len(levels)) if weights is None else np.asarray(weights, dtype=np.float64)
        groups = []
        for level in np.unique(levels)[:-1]:
            upper, lower = np.flatnonzero(levels > level), np.flatnonzero(levels == level)
            groups.append((upper[p[upper] > 0.0], lower[p[lower] > 0.0]))
        total = sum(float(p[upper].sum() * p[lower].sum()) for upper, lower in groups)
        return cls(tuple(groups), p, total)


@dataclass(frozen=True)
class State:
    """Value and gradient at some scores, and what products with the Hessian there need."""

    value: float
    gradient: Array
    _blocks: tuple["_Block", ...]
    _total: float

    def hessian_product(self, v: Array) -> Array:
        """The second derivative of the loss at these scores, times v."""
        out = np.zeros_like(v)
        for block in self._blocks:
            block.add_hessian_product(v, out)
        return out / self._total


@dataclass(frozen=True)
class PairLoss:
    """A loss over pairs: smoothed hinge or logistic, with its emphasis.

    Parameters
    ----------
    pairs : Pairs
        What is compared.
    eps : float or None
        Half the width of the quadratic piece of the hinge; None means the logistic loss.
    push : float, >= 1
        Power on the lower points' shares.
    false_positive_range : float in (0, 1]
        Share of the lower points, by weight and from the highest score down, that count.
    """

    pairs: Pairs
    eps: float | None = 0.5
    push: float = 1.0
    false_positive_range: float = 1.0

    def at(self, f: Array) -> State:
        """Value, gradient and Hessian at these scores."""
        gradient = np.zeros_like(f)
        value, blocks, p = 0.0, [], self.pairs.weights
        for upper, lower in self.pairs.groups:
            if not len(upper) or not len(lower):
                continue
            q = _within_range(f[lower], p[lower], self.false_positive_range)
            kind = _Logistic if self.eps is None else _Hinge
            block = kind(upper, lower, f[upper], f[lower], p[upper], q, self.eps or 0.0, self.push)
            value += block.value
            block.add_gradient(gradient)
            blocks.append(block)
        total = self.pairs.total or 1.0
        return State(value / total, gradient / total, tuple(blocks), total)


def _within_range(f: Array, q: Array, share: float) -> Array:
    """Weights that are zero but for the highest scores, scaled to the same sum."""
    if share >= 1.0:
        return q
    order = np.argsort(-f, kind="stable")
    before = np.cumsum(q[order]) - q[order]
    kept = np.empty_like(q)
    kept[order] = np.clip(share * q.sum() - before, 0.0, q[order])
    return kept / share


class _Block:
    """Pairs of one upper and one lower group. A loss says what the sums over partners are."""

    def __init__(
        self, upper: Index, lower: Index, a: Array, b: Array, p: Array, q: Array, eps: float, push: float
    ) -> None:
        self.upper, self.lower, self.p, self.q, self.eps, self.push = upper, lower, p, q, eps, push
        self.prepare(a, b)
        if push == 1.0:
            self.value, self.factor = float(p @ self.upper_sums(q, 0)), q
            return
        # (sum_j q_j share_j^push)^(1/push), with weights and shares made to have the same sums as without push.
        self.share = self.lower_sums(p, 0) / p.sum()
        scale, power = p.sum() * q.sum(), float(q @ self.share**push) / q.sum()
        self.value = scale * power ** (1.0 / push)
        outer = p.sum() * q.sum() * power ** (1.0 / push - 1.0) / q.sum() if power > 0.0 else 0.0
        self.outer, self.power = outer, power
        self.slope = outer * self.share ** (push - 1.0) if power > 0.0 else np.zeros_like(q)
        self.factor = q * self.slope / p.sum()

    def prepare(self, a: Array, b: Array) -> None:
        """Sort, or interpolate: whatever the sums need."""
        raise NotImplementedError

    def upper_sums(self, weights: Array, order: int, v: Array | None = None) -> Array:
        """For every upper point: sum over lower points of weight (times v) times the derivative of the loss."""
        raise NotImplementedError

    def lower_sums(self, weights: Array, order: int, v: Array | None = None) -> Array:
        """For every lower point: the same over upper points."""
        raise NotImplementedError

    def add_gradient(self, out: Array) -> None:
        # The margin is f_i - f_j: derivatives in f_j have the other sign.
        out[self.upper] += self.p * self.upper_sums(self.factor, 1)
        out[self.lower] -= self.factor * self.lower_sums(self.p, 1)

    def add_hessian_product(self, v: Array, out: Array) -> None:
        vu, vl, factor = v[self.upper], v[self.lower], self.factor
        out[self.upper] += self.p * (vu * self.upper_sums(factor, 2) - self.upper_sums(factor, 2, vl))
        out[self.lower] += factor * (vl * self.lower_sums(self.p, 2) - self.lower_sums(self.p, 2, vu))
        if self.push == 1.0 or self.power == 0.0:
            return
        # The factors themselves change: each share changes by the product of its gradient with v.
        total = float(self.p.sum())
        change = (self.lower_sums(self.p, 1, vu) - vl * self.lower_sums(self.p, 1)) / total
        r, shares = self.push, np.maximum(self.share, 1e-300)
        mean = float((self.q * self.share ** (r - 1.0)) @ change) / float(self.q.sum())
        second = (
            self.q
            / total
            * (r - 1.0)
            * (
                self.outer * np.where(self.share > 0.0, shares ** (r - 2.0), 0.0) * change
                - self.slope * mean / self.power
            )
        )
        out[self.upper] += self.p * self.upper_sums(second, 1)
        out[self.lower] -= second * self.lower_sums(self.p, 1)


class _Hinge(_Block):
    def prepare(self, a: Array, b: Array) -> None:
        self.order_a, self.order_b = np.argsort(a, kind="stable"), np.argsort(b, kind="stable")
        sorted_a, sorted_b = a[self.order_a], b[self.order_b]
        # Both sides compare the same rounded numbers, so that they agree on the piece of every pair.
        within, far = 1.0, 1.0 - 2.0 * self.eps
        # Lower points from `quad` on are within the margin of an upper one, from `line` on far within.
        self.quad = np.searchsorted(sorted_b, a - within, side="right")
        self.line = np.searchsorted(sorted_b, a - far, side="right")
        # Upper points before `quad_of` are too low for a lower one; before `line_of` far too low.
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

    def upper_sums(self, weights: Array, order: int, v: Array | None = None) -> Array:
        w = weights if v is None else weights * v
        sums = self._pieces(w, self.b, self.order_b, 2 - order)
        quad = [s[self.line] - s[self.quad] for s in sums]
        line = [s[-1] - s[self.line] for s in sums]
        return self._combined(1.0 - self.a, quad, line, order, 1.0)

    def lower_sums(self, weights: Array, order: int, v: Array | None = None) -> Array:
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


_NODES = 24
"""Chebyshev points of one panel of unit length: the logistic function is analytic in a strip of width pi, so that
interpolation errors are below rounding."""


class _Logistic(_Block):
    def prepare(self, a: Array, b: Array) -> None:
        self._interpolate(b)
        z = a[:, None] - self.nodes
        falling = np.where(z > 0.0, np.exp(-np.abs(z)), 1.0) / (1.0 + np.exp(-np.abs(z)))  # 1 / (1 + exp(z))
        self.tables = (np.logaddexp(0.0, -z), -falling, falling * (1.0 - falling))

    def _interpolate(self, b: Array) -> None:
        """Nodes, and how values at the lower points follow from those at the nodes of their panel of length 1."""
        start, self.panel = np.unique(np.floor(b), return_inverse=True)
        if len(start) * _NODES >= len(b):  # so far apart that the points themselves are fewer
            self.nodes, self.panel, self.basis = b, np.arange(len(b)), np.ones((len(b), 1))
            return
        unit = np.cos(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        self.nodes = (start[:, None] + 0.5 + 0.5 * unit).ravel()
        local = 2.0 * (b - start[self.panel]) - 1.0
        # Barycentric weights of the first kind: rows of the interpolation matrix, one for each lower point.
        sines = (-1.0) ** np.arange(_NODES) * np.sin(np.pi * (np.arange(_NODES) + 0.5) / _NODES)
        gaps = local[:, None] - unit
        hit = np.abs(gaps) < 1e-15
        exact = np.any(hit, axis=1, keepdims=True)
        terms = np.where(exact, hit, sines / np.where(hit, 1.0, gaps))
        self.basis = terms / terms.sum(axis=1, keepdims=True)

    def _to_nodes(self, weights: Array) -> Array:
        """Weights of the nodes that stand for weights of the lower points."""
        width = self.basis.shape[1]
        spread = np.zeros((len(self.nodes) // width, width))
        np.add.at(spread, self.panel, weights[:, None] * self.basis)
        return spread.ravel()

    def upper_sums(self, weights: Array, order: int, v: Array | None = None) -> Array:
        return self.tables[order] @ self._to_nodes(weights if v is None else weights * v)

    def lower_sums(self, weights: Array, order: int, v: Array | None = None) -> Array:
        at_nodes = (weights if v is None else weights * v) @ self.tables[order]
        return np.einsum("ij,ij->i", self.basis, at_nodes.reshape(-1, self.basis.shape[1])[self.panel])


def ranked_share(levels: Index, scores: Array, weights: Array | None = None) -> float:
    """Share of the pairs of different levels that the scores put in order; ties count half."""
    pairs = Pairs.of(levels, weights)
    p, right = pairs.weights, 0.0
    for upper, lower in pairs.groups:
        order = np.argsort(scores[lower], kind="stable")
        prefix = np.concatenate([[0.0], np.cumsum(p[lower][order])])
        ordered = scores[lower][order]
        below = prefix[np.searchsorted(ordered, scores[upper], side="left")]
        level = prefix[np.searchsorted(ordered, scores[upper], side="right")]
        right += float(p[upper] @ (0.5 * (below + level)))
    return right / pairs.total
