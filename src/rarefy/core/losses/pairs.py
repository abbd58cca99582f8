r"""Losses over all pairs of a higher and a lower sample, by sorting: never one pair at a time.

f : (m,) scores; a pair (i, j) of a sample of a higher and one of a lower level has margin z = f_i - f_j
p : (m,) weights of the samples; a pair weighs p_i p_j, and the weights of all pairs are made to add up to 1

    L(f) = sum over pairs of p_i p_j loss(f_i - f_j)

With two levels L is a convex stand-in for 1 - AUC. A loss (`SmoothedHinge`, `Logistic`) says how sums over partners are
computed; value, gradient and products with the Hessian follow from them here.

A *push* of power q > 1 [Rudin2009] replaces the sum over lower samples of their shares of the loss by
(sum_j p_j share_j^q)^(1/q): the lower samples that stand highest count most. A *profile* w(t) of the false-positive
rate t weighs the lower samples by the rate at which they stand, counted from the highest score down: L is then a
stand-in for a weighted area under the curve, and with w(t) = 1 for t <= b and 0 beyond for the partial area up to the
rate b [NarasimhanAgarwal2013]. The weights must not increase with t. A lower sample's loss grows with its score, so
that larger losses get larger weights: no other way to hand the weights out gives more, and L is convex.
"""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.hinge import SmoothedHinge, beside


class PairSums(Protocol):
    """Sums over partners at given upper and lower scores; v may have columns."""

    def upper(self, weights: Array, order: int, v: Array | None = None) -> Array:
        """For every upper score: sum over lower ones of weight (times v) times the derivative of this order."""

    def lower(self, weights: Array, order: int, v: Array | None = None) -> Array:
        """For every lower score: the same over upper ones."""


class LossOfPairs(Protocol):
    """A loss of the difference of two scores."""

    def pair_sums(self, a: Array, b: Array) -> PairSums:
        """What sums over all pairs of upper scores a and lower scores b need."""


@dataclass(frozen=True)
class Pairs:
    """Which samples are compared: for every level but the highest, its samples and all that are higher.

    `groups` holds, for every level but the highest, the indices of all higher samples and of its own; `weights` the
    weights of the samples, `total` the weight of all pairs.
    """

    groups: tuple[tuple[Index, Index], ...]
    weights: Array
    total: float

    @classmethod
    def of(cls, levels: Index, weights: Array | None = None) -> "Pairs":
        """All pairs of samples of different levels; larger numbers are higher."""
        p = np.ones(len(levels)) if weights is None else np.asarray(weights, dtype=np.float64)
        groups = []
        for level in np.unique(levels)[:-1]:
            upper, lower = np.flatnonzero(levels > level), np.flatnonzero(levels == level)
            groups.append((upper[p[upper] > 0.0], lower[p[lower] > 0.0]))
        total = sum(float(p[upper].sum() * p[lower].sum()) for upper, lower in groups)
        return cls(tuple(groups), p, total)


@dataclass(frozen=True)
class Profile:
    """How much lower samples count, from the highest score down: a concave curve from 0 to 1, linear between points.

    `rates` are false-positive rates from 0 on, ascending; `shares` the shares of all weight that the lower samples up
    to these rates get. What is beyond the last rate gets nothing.
    """

    rates: Array
    shares: Array

    @classmethod
    def of(cls, weights: Array, up_to: float = 1.0) -> "Profile":
        """From the weights, which do not increase, of equal parts of [0, 1]; nothing counts beyond `up_to`."""
        rates = np.linspace(0.0, 1.0, len(weights) + 1)
        sums = np.append(0.0, np.cumsum(weights))
        inside, last = rates < up_to, np.interp(up_to, rates, sums)
        return cls(np.append(rates[inside], up_to), np.append(sums[inside] / last, 1.0))

    def applied(self, f: Array, q: Array) -> Array:
        """The weights q of lower samples with scores f, handed out anew; their sum stays what it is."""
        order = np.argsort(-f, kind="stable")
        reached = np.append(0.0, np.cumsum(q[order]))
        shares = np.interp(reached / reached[-1], self.rates, self.shares)
        out = np.empty_like(q)
        out[order] = reached[-1] * np.maximum(np.diff(shares), 0.0)
        return out


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

    def gram(self, V: Array) -> Array:
        """V^T D V for the second derivative D of the loss at these scores."""
        return sum(block.gram(V) for block in self._blocks) / self._total + np.zeros((V.shape[1], V.shape[1]))

    def curvature(self) -> Array:
        """The diagonal of the second derivative, but for a push on it: zero for samples that bend nothing."""
        out = np.zeros_like(self.gradient)
        for block in self._blocks:
            block.add_curvature(out)
        return out / self._total


@dataclass(frozen=True)
class PairLoss:
    """A loss over pairs, with its emphasis.

    Parameters
    ----------
    pairs : Pairs
        What is compared.
    loss : LossOfPairs
        The loss of one pair.
    push : float, >= 1
        Power on the lower samples' shares.
    profile : Profile or None
        How much lower samples count, by where they stand; None means all alike.
    """

    pairs: Pairs
    loss: LossOfPairs = SmoothedHinge()
    push: float = 1.0
    profile: Profile | None = None

    @property
    def is_smooth(self) -> bool:
        """Whether there is a gradient everywhere: which samples stand highest changes from place to place."""
        return self.profile is None

    @property
    def smooth(self) -> "PairLoss":
        """The same with all lower samples counting alike."""
        return replace(self, profile=None)

    def at(self, f: Array) -> State:
        """Value, gradient and Hessian at these scores."""
        gradient = np.zeros_like(f)
        value, blocks, p = 0.0, [], self.pairs.weights
        for upper, lower in self.pairs.groups:
            if not len(upper) or not len(lower):
                continue
            q = p[lower] if self.profile is None else self.profile.applied(f[lower], p[lower])
            block = _Block(upper, lower, p[upper], q, self.loss.pair_sums(f[upper], f[lower]), self.push)
            value += block.value
            block.add_gradient(gradient)
            blocks.append(block)
        total = self.pairs.total or 1.0
        return State(value / total, gradient / total, tuple(blocks), total)


class _Block:
    """Pairs of one upper and one lower group, with a push on the lower one."""

    def __init__(self, upper: Index, lower: Index, p: Array, q: Array, sums: PairSums, push: float) -> None:
        self.upper, self.lower, self.p, self.q, self.sums, self.push = upper, lower, p, q, sums, push
        if push == 1.0:
            self.value, self.factor = float(p @ sums.upper(q, 0)), q
            return
        # (sum_j q_j share_j^push)^(1/push), with weights and shares made to have the same sums as without push.
        self.share = np.maximum(sums.lower(p, 0), 0.0) / p.sum()  # sums of nothing are rounded to below zero, too
        scale, power = p.sum() * q.sum(), float(q @ self.share**push) / q.sum()
        self.value = scale * power ** (1.0 / push)
        outer = p.sum() * q.sum() * power ** (1.0 / push - 1.0) / q.sum() if power > 0.0 else 0.0
        self.outer, self.power = outer, power
        self.slope = outer * self.share ** (push - 1.0) if power > 0.0 else np.zeros_like(q)
        self.factor = q * self.slope / p.sum()

    def add_gradient(self, out: Array) -> None:
        # The margin is f_i - f_j: derivatives in f_j have the other sign.
        out[self.upper] += self.p * self.sums.upper(self.factor, 1)
        out[self.lower] -= self.factor * self.sums.lower(self.p, 1)

    def add_curvature(self, out: Array) -> None:
        cu, cl = self._curvatures()
        out[self.upper] += cu
        out[self.lower] += cl

    def add_hessian_product(self, v: Array, out: Array) -> None:
        vu, vl, factor, sums = v[self.upper], v[self.lower], self.factor, self.sums
        out[self.upper] += self.p * (vu * sums.upper(factor, 2) - sums.upper(factor, 2, vl))
        out[self.lower] += factor * (vl * sums.lower(self.p, 2) - sums.lower(self.p, 2, vu))
        if self.push == 1.0 or self.power == 0.0:
            return
        change = self._change_of_shares(vu, vl)
        second = self._change_of_factors(change)
        out[self.upper] += self.p * sums.upper(second, 1)
        out[self.lower] -= second * sums.lower(self.p, 1)

    def gram(self, V: Array) -> Array:
        """V^T D V for the second derivative D of the block's loss."""
        Vu, Vl, factor, sums = V[self.upper], V[self.lower], self.factor, self.sums
        cross = Vu.T @ (self.p[:, None] * sums.upper(factor, 2, Vl))
        cu, cl = self._curvatures()
        G = _weighted_gram(Vu, cu) + _weighted_gram(Vl, cl) - cross - cross.T
        if self.push == 1.0 or self.power == 0.0:
            return G
        change = self._change_of_shares(Vu, Vl)
        return G + float(self.p.sum()) * change.T @ self._change_of_factors(change)

    def _curvatures(self) -> tuple[Array, Array]:
        """Diagonal entries of upper and lower samples; rounding leaves some sums of nothing below zero."""
        upper, lower = self.sums.upper(self.factor, 2), self.sums.lower(self.p, 2)
        return self.p * np.maximum(upper, 0.0), self.factor * np.maximum(lower, 0.0)

    def _change_of_shares(self, vu: Array, vl: Array) -> Array:
        """Each share of the loss changes by the product of its gradient with v."""
        return (self.sums.lower(self.p, 1, vu) - vl * beside(self.sums.lower(self.p, 1), vl)) / float(self.p.sum())

    def _change_of_factors(self, change: Array) -> Array:
        """With a push the factors of the lower samples change with the shares."""
        r, shares = self.push, np.maximum(self.share, 1e-300)
        mean = (self.q * self.share ** (r - 1.0)) @ change / float(self.q.sum())
        steep = self.outer * np.where(self.share > 0.0, shares ** (r - 2.0), 0.0)
        scale = self.q / float(self.p.sum()) * (r - 1.0)
        slope = beside(scale * self.slope / self.power, change)
        return beside(scale * steep, change) * change - slope * mean


def _weighted_gram(V: Array, w: Array) -> Array:
    """V^T diag(w) V for w >= 0, from the rows that count: a symmetric product is half the work of a general one."""
    used = np.flatnonzero(w)
    half = V[used] * np.sqrt(w[used])[:, None]
    return half.T @ half
