r"""A kernel support vector machine with a smoothed hinge loss, by Newton's method in the primal.

K : (n, n) kernel matrix; y : (n,) labels -1 and 1; beta : (n,) coefficients; b : offset

    min over beta, b of  1/2 beta^T K beta + sum_i C_i l(y_i f_i),    f = K beta + b

with the smoothed hinge l of `rarefy.core.losses.hinge` and its eps, e here. At the optimum beta_i = -C_i y_i l'(y_i
f_i): 0 for samples beyond the margin, C_i y_i where the loss is linear. So once it is known which samples lie on the
curved piece, one linear system of their size gives the rest, and that is the Newton step [Chapelle2007]. The function
is piecewise quadratic and convex: with a line search finitely many steps are enough.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl

from rarefy.core.linalg.cholesky import lifted_cholesky
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.hinge import SmoothedHinge


@dataclass(frozen=True)
class SmoothSVM:
    """The solution; `excess` is the violation of the optimality conditions, relative to the largest cost.

    `system` belongs to the samples `curved` on the curved piece; None if it was not needed.
    """

    beta: Array
    b: float
    objective: float
    excess: float
    n_iter: int
    curved: Index
    system: "CurvedSystem | None"


def smooth_svm(
    K: Array,
    y: Array,
    costs: Array,
    *,
    loss: SmoothedHinge = SmoothedHinge(),
    start: tuple[Array, float] | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> SmoothSVM:
    """Train the SVM.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix.
    y : (n,) array
        Labels, -1 or 1.
    costs : (n,) array
        Weights C_i > 0 of the losses.
    loss : SmoothedHinge
        The loss.
    start : (beta, b) or None
        Coefficients and offset of a similar problem, to start from.
    tol : float
        Accepted `excess`.
    max_iter : int
        Largest number of Newton steps.
    """
    n, largest, width = len(y), float(costs.max()), 2.0 * loss.eps
    beta, b = (np.zeros(n), best_offset(np.zeros(n), y, costs, loss)) if start is None else start
    signed = costs * y
    scores, steps = K @ beta, _Newton(K, y, costs, loss)
    with threads_for(n):
        for iteration in range(max_iter + 1):
            short = 1.0 - y * (scores + b)
            # Optimality: beta_i = -C_i y_i l'(y_i f_i), with sum zero.
            share = _between_0_and_1(short / width)
            wanted = signed * share
            excess = max(float(np.abs(wanted - beta).max()), abs(float(wanted.sum())) / n) / largest
            if excess <= tol or iteration == max_iter:
                break
            beta, b, scores, moved = steps(beta, b, scores, short)
            if not moved:
                break
    losses, curved = share * (short - loss.eps * share), steps.curved(short)
    objective = 0.5 * float(beta @ scores) + float(costs @ losses)
    return SmoothSVM(beta, b, objective, excess, iteration, curved, steps.known(curved))


def _between_0_and_1(x: Array) -> Array:
    """The nearest numbers from 0 to 1; x is overwritten. In small problems np.clip takes longer than the arithmetic."""
    return np.minimum(np.maximum(x, 0.0, out=x), 1.0, out=x)


class _Newton:
    """Newton steps with a line search; remembers the last linear system, because the samples in it are often the same.

    A step returns coefficients, offset, scores without the offset, and False if no step lowers the objective.
    """

    def __init__(self, K: Array, y: Array, costs: Array, loss: SmoothedHinge) -> None:
        self._K, self._y, self._costs, self._loss = K, y, costs, loss
        self._signed, self._nothing = costs * y, 1e-12 * float(costs.sum())
        self._last: tuple[Index, CurvedSystem] | None = None

    def curved(self, short: Array) -> Index:
        """The samples on the curved piece."""
        return ((short > 0.0) & (short <= 2.0 * self._loss.eps)).nonzero()[0]

    def known(self, curved: Index) -> "CurvedSystem | None":
        """The system of these samples if it is the last one."""
        if self._last is None or len(self._last[0]) != len(curved) or (self._last[0] != curved).any():
            return None
        return self._last[1]

    def _system(self, curved: Index) -> "CurvedSystem":
        system = self.known(curved)
        if system is None:
            system = CurvedSystem(self._K[curved[:, None], curved], self._costs[curved], self._loss.eps)
            self._last = curved, system
        return system

    def __call__(self, beta: Array, b: float, scores: Array, short: Array) -> tuple[Array, float, Array, bool]:
        K, y, costs, loss = self._K, self._y, self._costs, self._loss
        smoothing = loss.eps
        linear, curved = short > 2.0 * smoothing, self.curved(short)
        target = self._signed * linear
        if len(curved):
            # The product with all of K: picking its rows would take longer.
            pushed = (K @ target)[curved] if linear.any() else 0.0
            target[curved], ahead = self._system(curved).solve(y[curved] - pushed, -float(target.sum()))
        elif abs(float(target.sum())) > self._nothing:
            # No sample is on the curved piece, so b is not determined with beta: it is optimised first, alone.
            target, ahead = beta, best_offset(scores, y, costs, loss)
        else:
            ahead = best_offset(K @ target, y, costs, loss)
        change, shift = target - beta, ahead - b
        changed = K @ change
        slope, curvature = float(beta @ changed), float(change @ changed)
        along = Along(short, y * (changed + shift), costs, smoothing, slope, curvature)
        length = 1.0 if along.slope(1.0) <= self._nothing else along.last_below(0.0, 0.0, 1.0)
        return beta + length * change, b + length * shift, scores + length * changed, length > 0.0


class CurvedSystem:
    """The linear system for the coefficients x of the samples on the curved piece, all others being fixed.

    (K + 2e / C) x + shift = right, with the sum of x given. K, the kernel matrix of these samples, is overwritten.
    """

    def __init__(self, K: Array, costs: Array, smoothing: float) -> None:
        np.einsum("ii->i", K)[:] += 2.0 * smoothing / costs
        self._factor = lifted_cholesky(K, "a kernel matrix")
        self._ones = self._solve(np.ones(len(K)))
        self._total = float(self._ones.sum())

    def _solve(self, right: Array) -> Array:
        # Not cho_solve: its checks take longer than these small systems.
        answer, _ = sl.lapack.dpotrs(self._factor[0], right, lower=self._factor[1])
        return np.asarray(answer)

    def solve(self, right: Array, total: float = 0.0) -> tuple[Array, Any]:
        """Return x and the shift; `total` is the sum of x. Of several systems, right and x are columns."""
        answer = self._solve(right)
        shift = (answer.sum(axis=0) - total) / self._total
        return answer - np.multiply.outer(self._ones, shift), shift


@dataclass(frozen=True)
class Along:
    """The derivative of losses and a quadratic function along a line: piecewise linear and nondecreasing.

    At s, sample i has 1 - y_i f_i = `short_i - s rate_i`; the quadratic function has the slope `linear + s square`.
    """

    short: Array
    rate: Array
    costs: Array
    smoothing: float
    linear: float = 0.0
    square: float = 0.0

    def slope(self, s: float) -> float:
        share = _between_0_and_1((self.short - s * self.rate) / (2.0 * self.smoothing))
        return self.linear + s * self.square - float((self.costs * self.rate) @ share)

    def last_below(self, level: float, begin: float, end: float) -> float:
        """The last s between the two at which the slope is at most `level`.

        The second derivative jumps where a sample enters or leaves the curved piece. One pass over these values of s,
        in sorted order, gives the slope at all of them.
        """
        moving = self.rate != 0.0
        rate, short, costs = self.rate, self.short, self.costs
        if not moving.all():
            rate, short, costs = rate[moving], short[moving], costs[moving]
        first, last = short / rate, (short - 2.0 * self.smoothing) / rate
        enter, leave = np.minimum(first, last), np.maximum(first, last)
        bend = costs * rate**2 / (2.0 * self.smoothing)
        at, change = np.concatenate([enter, leave]), np.concatenate([bend, -bend])
        inside = ((at > begin) & (at < end)).nonzero()[0]
        inside = inside[at[inside].argsort()]
        at = np.concatenate([[begin], at[inside], [end]])
        bends = np.empty(len(inside) + 1)
        bends[0] = self.square + float(bend @ ((enter <= begin) & (leave > begin)))
        bends[1:] = bends[0] + change[inside].cumsum()
        slopes = np.empty(len(at))
        slopes[0] = self.slope(begin)
        slopes[1:] = slopes[0] + (bends * (at[1:] - at[:-1])).cumsum()
        above = (slopes > level).nonzero()[0]
        if not len(above):
            return end
        k = int(above[0]) - 1
        return begin if k < 0 else float(min(at[k] + (level - slopes[k]) / bends[k], at[k + 1]))


def best_offset(scores: Array, y: Array, costs: Array, loss: SmoothedHinge) -> float:
    """The offset b with the least sum of losses; if an interval has it, its middle."""
    reach = float(np.abs(scores).max(initial=0.0)) + 1.0 + 2.0 * loss.eps
    along, tilt = Along(1.0 - y * scores, y, costs, loss.eps), 1e-9 * float(costs.sum())
    return 0.5 * (along.last_below(-tilt, -reach, reach) + along.last_below(tilt, -reach, reach))
