r"""A kernel support vector machine with a smoothed hinge loss, by Newton's method in the primal.

K : (n, n) kernel matrix; y : (n,) labels -1 and 1; beta : (n,) coefficients; b : offset

    min over beta, b of  1/2 beta^T K beta + sum_i C_i l(y_i f_i),    f = K beta + b

with the smoothed hinge l of `rarefy.core.losses.hinge` and its eps, e here. At the optimum beta_i = -C_i y_i l'(y_i
f_i): 0 for samples beyond the margin, C_i y_i where the loss is linear. So once it is known which samples lie on the
curved piece, one linear system of their size gives the rest, and that is the Newton step [Chapelle2007]. The function
is piecewise quadratic and convex: with a line search finitely many steps are enough.
"""

from dataclasses import dataclass

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
    n, largest = len(y), float(costs.max())
    beta, b = (np.zeros(n), best_offset(np.zeros(n), y, costs, loss)) if start is None else start
    signed = costs * y
    scores, steps = K @ beta, _Newton(K, y, costs, loss)
    with threads_for(n):
        for iteration in range(max_iter + 1):
            short = 1.0 - y * (scores + b)
            # Optimality: beta_i = -C_i y_i l'(y_i f_i), with sum zero.
            wanted = signed * np.clip(short / (2.0 * loss.eps), 0.0, 1.0)
            excess = max(float(np.abs(wanted - beta).max()), abs(float(wanted.sum())) / n) / largest
            if excess <= tol or iteration == max_iter:
                break
            beta, b, scores, moved = steps(beta, b, scores, short)
            if not moved:
                break
        value, _, _ = loss.derivatives(y * (scores + b))
    objective, curved = 0.5 * float(beta @ scores) + float(costs @ value), steps.curved(short)
    return SmoothSVM(beta, b, objective, excess, iteration, curved, steps.known(curved))


class _Newton:
    """Newton steps with a line search; remembers the last linear system, because the samples in it are often the same.

    A step returns coefficients, offset, scores without the offset, and False if no step lowers the objective.
    """

    def __init__(self, K: Array, y: Array, costs: Array, loss: SmoothedHinge) -> None:
        self._K, self._y, self._costs, self._loss = K, y, costs, loss
        self._last: tuple[Index, CurvedSystem] | None = None

    def curved(self, short: Array) -> Index:
        """The samples on the curved piece."""
        return np.flatnonzero((short > 0.0) & (short <= 2.0 * self._loss.eps))

    def known(self, curved: Index) -> "CurvedSystem | None":
        """The system of these samples if it is the last one."""
        same = self._last is not None and np.array_equal(self._last[0], curved)
        return self._last[1] if same and self._last is not None else None

    def _system(self, curved: Index) -> "CurvedSystem":
        system = self.known(curved)
        if system is None:
            system = CurvedSystem(self._K[np.ix_(curved, curved)], self._costs[curved], self._loss.eps)
            self._last = curved, system
        return system

    def __call__(self, beta: Array, b: float, scores: Array, short: Array) -> tuple[Array, float, Array, bool]:
        K, y, costs, loss = self._K, self._y, self._costs, self._loss
        smoothing = loss.eps
        linear, curved = short > 2.0 * smoothing, self.curved(short)
        target = np.where(linear, costs * y, 0.0)
        if len(curved):
            # The product with all of K: picking its rows would take longer.
            pushed = (K @ target)[curved] if linear.any() else 0.0
            target[curved], ahead = self._system(curved).solve(y[curved] - pushed, -float(target.sum()))
        elif abs(float(target.sum())) > 1e-12 * float(costs.sum()):
            # No sample is on the curved piece, so b is not determined with beta: it is optimised first, alone.
            target, ahead = beta, best_offset(scores, y, costs, loss)
        else:
            ahead = best_offset(K @ target, y, costs, loss)
        change, shift = target - beta, ahead - b
        changed = K @ change
        slope, curvature = float(beta @ changed), float(change @ changed)
        along = Along(short, y * (changed + shift), costs, smoothing, slope, curvature)
        nothing = 1e-12 * float(costs.sum())
        length = 1.0 if along.slope(1.0) <= nothing else along.last_below(0.0, 0.0, 1.0)
        return beta + length * change, b + length * shift, scores + length * changed, length > 0.0


class CurvedSystem:
    """The linear system for the coefficients x of the samples on the curved piece, all others being fixed.

    (K + 2e / C) x + shift = right, with the sum of x given. K, the kernel matrix of these samples, is overwritten.
    """

    def __init__(self, K: Array, costs: Array, smoothing: float) -> None:
        K.flat[:: len(K) + 1] += 2.0 * smoothing / costs
        self._factor = lifted_cholesky(K, "a kernel matrix")
        self._ones = self._solve(np.ones(len(K)))

    def _solve(self, right: Array) -> Array:
        # Not cho_solve: its checks take longer than these small systems.
        answer, _ = sl.lapack.dpotrs(self._factor[0], right, lower=self._factor[1])
        return np.asarray(answer)

    def solve(self, right: Array, total: float = 0.0) -> tuple[Array, float]:
        """Return x and the shift; `total` is the sum of x."""
        answer = self._solve(right)
        shift = float((answer.sum() - total) / self._ones.sum())
        return answer - shift * self._ones, shift

    def solve_all(self, right: Array) -> Array:
        """The x of several systems, as columns; the sum of each x is 0."""
        answer = self._solve(right)
        return np.asarray(answer - np.multiply.outer(self._ones, answer.sum(axis=0) / self._ones.sum()))


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
        share = np.clip((self.short - s * self.rate) / (2.0 * self.smoothing), 0.0, 1.0)
        return self.linear + s * self.square - float((self.costs * self.rate) @ share)

    def last_below(self, level: float, begin: float, end: float) -> float:
        """The last s between the two at which the slope is at most `level`.

        The second derivative jumps where a sample enters or leaves the curved piece. One pass over these values of s,
        in sorted order, gives the slope at all of them.
        """
        moving = self.rate != 0.0
        rate, short = self.rate[moving], self.short[moving]
        ends = np.stack([short, short - 2.0 * self.smoothing]) / rate
        enter, leave = ends.min(axis=0), ends.max(axis=0)
        bend = self.costs[moving] * rate**2 / (2.0 * self.smoothing)
        at, change = np.concatenate([enter, leave]), np.concatenate([bend, -bend])
        inside = np.flatnonzero((at > begin) & (at < end))
        inside = inside[np.argsort(at[inside])]
        at = np.concatenate([[begin], at[inside], [end]])
        first = self.square + float(bend @ ((enter <= begin) & (leave > begin)))
        bends = first + np.concatenate([[0.0], np.cumsum(change[inside])])
        slopes = self.slope(begin) + np.concatenate([[0.0], np.cumsum(bends * np.diff(at))])
        above = np.flatnonzero(slopes > level)
        if not len(above):
            return end
        k = int(above[0]) - 1
        return begin if k < 0 else float(min(at[k] + (level - slopes[k]) / bends[k], at[k + 1]))


def best_offset(scores: Array, y: Array, costs: Array, loss: SmoothedHinge) -> float:
    """The offset b with the least sum of losses; if an interval has it, its middle."""
    reach = float(np.abs(scores).max(initial=0.0)) + 1.0 + 2.0 * loss.eps
    along, tilt = Along(1.0 - y * scores, y, costs, loss.eps), 1e-9 * float(costs.sum())
    return 0.5 * (along.last_below(-tilt, -reach, reach) + along.last_below(tilt, -reach, reach))
