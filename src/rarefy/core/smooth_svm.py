r"""A kernel support vector machine with a smoothed hinge loss, by Newton's method in the primal.

K : (n, n) kernel matrix; y : (n,) labels -1 and 1; beta : (n,) coefficients; b : offset

    min over beta, b of  1/2 beta^T K beta + sum_i C_i l(y_i f_i),    f = K beta + b

    l(t) = 0 for t >= 1,  (1 - t)^2 / (4 e) for 1 - 2e <= t < 1,  1 - e - t below

At the optimum beta_i = -C_i y_i l'(y_i f_i): 0 for points beyond the margin, C_i y_i where the loss is linear. So once
it is known which points lie on the curved piece, one linear system of their size gives the rest, and that is the Newton
step [Chapelle2007]_. The function is piecewise quadratic and convex: with a line search finitely many steps are enough.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from rarefy.core.rows import Array
from rarefy.core.threads import threads_for


def loss(t: Array, smoothing: float) -> tuple[Array, Array, Array]:
    """The smoothed hinge at t, with two derivatives."""
    short = 1.0 - t
    curved = (short > 0.0) & (short <= 2.0 * smoothing)
    linear = short > 2.0 * smoothing
    value = np.where(linear, short - smoothing, np.where(curved, short**2 / (4.0 * smoothing), 0.0))
    first = np.where(linear, -1.0, np.where(curved, -short / (2.0 * smoothing), 0.0))
    return value, first, np.where(curved, 0.5 / smoothing, 0.0)


@dataclass(frozen=True)
class SmoothSVM:
    """What was found; `excess` is how far the coefficients are from what the losses ask for, relative to the costs."""

    beta: Array
    b: float
    objective: float
    excess: float
    n_iter: int


def smooth_svm(
    K: Array,
    y: Array,
    costs: Array,
    *,
    smoothing: float = 0.5,
    start: tuple[Array, float] | None = None,
    tol: float = 1e-10,
    max_iter: int = 100,
) -> SmoothSVM:
    """Solve the problem.

    Parameters
    ----------
    K : (n, n) array
        Kernel matrix.
    y : (n,) array
        Labels, -1 or 1.
    costs : (n,) array
        Weights C_i > 0 of the losses.
    smoothing : float
        Half the length of the curved piece, e.
    start : (beta, b) or None
        Solution of a similar problem.
    tol : float
        Accepted `excess`.
    max_iter : int
        Newton steps.
    """
    n, largest = len(y), float(costs.max())
    beta, b = (np.zeros(n), _best_offset(np.zeros(n), y, costs, smoothing)) if start is None else start
    scores = K @ beta
    with threads_for(n):
        for iteration in range(max_iter + 1):
            value, first, _ = loss(y * (scores + b), smoothing)
            objective = 0.5 * float(beta @ scores) + float(costs @ value)
            # Where beta differs from what the losses ask for, and how unbalanced those are.
            wanted = -costs * y * first
            excess = max(float(np.abs(wanted - beta).max()), abs(float(wanted.sum())) / n) / largest
            if excess <= tol or iteration == max_iter:
                break
            beta, b, scores, moved = _newton(K, y, costs, smoothing, beta, b, scores)
            if not moved:
                break
    return SmoothSVM(beta, b, objective, excess, iteration)


def _newton(
    K: Array, y: Array, costs: Array, smoothing: float, beta: Array, b: float, scores: Array
) -> tuple[Array, float, Array, bool]:
    """One Newton step with a line search; whether anything was gained."""
    short = 1.0 - y * (scores + b)
    curved = np.flatnonzero((short > 0.0) & (short <= 2.0 * smoothing))
    linear = short > 2.0 * smoothing
    target = np.where(linear, costs * y, 0.0)
    lifted = K[np.ix_(curved, curved)]
    lifted.flat[:: len(curved) + 1] += 2.0 * smoothing / costs[curved]
    if len(curved):
        factor = sl.cho_factor(lifted, overwrite_a=True, check_finite=False)
        rest = y[curved] - K[curved] @ target
        both = sl.cho_solve(factor, np.column_stack([rest, np.ones(len(curved))]), check_finite=False)
        ahead = float((both[:, 0].sum() + target.sum()) / both[:, 1].sum())
        target[curved] = both[:, 0] - ahead * both[:, 1]
    elif abs(float(target.sum())) > 1e-12 * float(costs.sum()):
        # Nothing bends in b: it goes first, alone, to where the losses balance.
        target, ahead = beta, _best_offset(scores, y, costs, smoothing)
    else:
        ahead = _best_offset(K @ target, y, costs, smoothing)
    change, shift = target - beta, ahead - b
    changed = K @ change
    line = _Line(y, costs, smoothing, scores + b, changed + shift, float(beta @ changed), float(change @ changed))
    length = line.lowest()
    return beta + length * change, b + length * shift, scores + length * changed, length > 0.0


@dataclass(frozen=True)
class _Line:
    """The function along a direction: scores here, their change, and the slope and curvature of the quadratic part."""

    y: Array
    costs: Array
    smoothing: float
    scores: Array
    change: Array
    linear: float
    square: float

    def slope(self, length: float) -> float:
        first = loss(self.y * (self.scores + length * self.change), self.smoothing)[1]
        return self.linear + length * self.square + float((self.costs * first) @ (self.y * self.change))

    def lowest(self) -> float:
        """Where the minimum is, at most 1; by bisection, the function being convex."""
        if self.slope(1.0) <= 1e-12 * float(self.costs.sum()):
            return 1.0
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.slope(middle) <= 0.0 else (low, middle)
        return low


def _best_offset(scores: Array, y: Array, costs: Array, smoothing: float) -> float:
    """The b with the least sum of losses; the middle where there are many."""
    reach = float(np.abs(scores).max(initial=0.0)) + 1.0 + 2.0 * smoothing
    ends = []
    for tilt in (-1e-9 * float(costs.sum()), 1e-9 * float(costs.sum())):
        low, high = -reach, reach
        for _ in range(60):
            middle = 0.5 * (low + high)
            slope = float(loss(y * (scores + middle), smoothing)[1] @ (costs * y))
            low, high = (middle, high) if slope <= tilt else (low, middle)
        ends.append(0.5 * (low + high))
    return 0.5 * (ends[0] + ends[1])
