"""Plain twins of `box_lp`: general solvers, the conditions of optimality written out, and programs to solve."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.optimize import linprog

from rarefy.core.linalg.rows import DenseRows
from rarefy.core.solvers.box_lp import box_lp


@dataclass(frozen=True)
class Program:
    """min c^T x + 1/2 curvature^T x^2 with [A; few]^T x = rhs and lower <= x <= upper, all arrays dense."""

    A: np.ndarray
    few: np.ndarray
    c: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rhs: np.ndarray
    curvature: np.ndarray

    @property
    def matrix(self):
        return np.vstack([self.A, self.few])

    def value(self, x):
        return float(self.c @ x + 0.5 * self.curvature @ x**2)

    def solve(self, form=DenseRows, **options):
        """By the method under test, with A stored in any form."""
        c, lower, upper = self.c, self.lower, self.upper
        return box_lp(form(self.A), c, lower, upper, few=self.few, rhs=self.rhs, curvature=self.curvature, **options)


def program(A, c, lower, upper, *, few=None, rhs=None, curvature=None):
    """A program, from lists as well as from arrays."""
    A, c, lower, upper = (np.asarray(v, dtype=float) for v in (A, c, lower, upper))
    k = A.shape[1]
    few = np.zeros((0, k)) if few is None else np.asarray(few, dtype=float)
    rhs = np.zeros(k) if rhs is None else np.asarray(rhs, dtype=float)
    curvature = np.zeros(len(c)) if curvature is None else np.asarray(curvature, dtype=float)
    return Program(A, few, c, lower, upper, rhs, curvature)


def svm_dual(D, labels, alpha, weights=1.0):
    """Dual of the 1-norm SVM with intercept: beta inside [0, weight] times its label, z inside [-alpha, alpha]."""
    D, labels = np.asarray(D, dtype=float), np.asarray(labels, dtype=float)
    M, S = D.shape
    low, high = np.minimum(labels, 0) * weights, np.maximum(labels, 0) * weights
    return program(
        np.column_stack([D, np.ones(M)]),
        np.concatenate([-labels, np.zeros(S)]),
        np.concatenate([low, np.full(S, -alpha)]),
        np.concatenate([high, np.full(S, alpha)]),
        few=-np.eye(S, S + 1),
    )


def highs(p):
    """HiGHS on the same program, as exact as it can be asked to be; `status` 0 optimal, 2 infeasible, 3 unbounded."""
    bounds = np.column_stack([p.lower, p.upper])
    tight = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(p.c, A_eq=p.matrix.T, b_eq=p.rhs, bounds=bounds, method="highs", options=tight)
    if found.status == 4:  # its presolve knows only "infeasible or unbounded", or it could not reach 1e-10
        found = linprog(p.c, A_eq=p.matrix.T, b_eq=p.rhs, bounds=bounds, method="highs", options={"presolve": False})
    return found


def best_value(p):
    """The optimum of a linear program according to HiGHS."""
    found = highs(p)
    assert found.status == 0, found.message
    return found.fun


def best_value_by_enumeration(p):
    """The optimum of a tiny program: every variable is at its lower bound, at its upper bound or balanced.

    For each of the 3^n choices the conditions of optimality are linear equations; the optimum is the best
    of those solutions that lie inside the box.
    """
    Z, best = p.matrix, np.inf
    n, k = Z.shape
    for choice in product("lub", repeat=n):
        at = np.array(choice)
        x = np.where(at == "l", p.lower, np.where(at == "u", p.upper, 0.0))
        if not np.isfinite(x).all():
            continue
        b = at == "b"
        m = int(b.sum())
        K = np.block([[np.diag(p.curvature[b]), -Z[b]], [Z[b].T, np.zeros((k, k))]])
        target = np.concatenate([-p.c[b], p.rhs - Z.T @ x])
        solution = np.linalg.lstsq(K, target, rcond=1e-12)[0]
        x[b] = solution[:m]
        solved = np.abs(K @ solution - target).max(initial=0.0) <= 1e-10
        if solved and np.all(x >= p.lower - 1e-10) and np.all(x <= p.upper + 1e-10):
            best = min(best, p.value(x))
    return best


def lowest_over_box(slope, curvature, lower, upper, x):
    """Least value of slope t + curvature t^2 / 2 over lower <= t <= upper, one variable.

    Where that is minus infinity, the value at x: the caller has to see that the slope is zero there.
    """
    if curvature > 0:
        t = min(max(-slope / curvature, lower), upper)
    else:
        t = lower if slope > 0 else upper
        t = t if np.isfinite(t) else x
    return slope * t + 0.5 * curvature * t * t


def assert_optimal(p, found, best):
    """The conditions of Karush, Kuhn and Tucker at (x, y), and the value another solver found.

    Complementary slackness is checked as one number: a variable off the bound its reduced cost pulls it to
    adds reduced cost times distance to the gap, never less than zero.
    """
    assert found.status == "optimal", (found.status, found.n_iter)
    x, y, Z = found.x, found.y, p.matrix
    size = 1.0 + abs(best)

    # What it says about itself is true.
    assert found.objective == p.value(x)
    assert abs(found.residual - np.abs(p.rhs - Z.T @ x).max(initial=0.0)) <= 1e-12 * (
        1.0 + np.abs(Z * x[:, None]).sum()
    )
    assert found.gap == found.objective - found.bound

    # x is feasible: inside its box to the last digit, on the equations up to their norms times that of x.
    assert np.all(p.lower <= x)
    assert np.all(x <= p.upper)
    assert np.all(np.abs(p.rhs - Z.T @ x) <= 1e-7 * np.linalg.norm(Z, axis=0) * (1.0 + np.linalg.norm(x)))

    # y is feasible: no reduced cost pulls a variable towards a bound it does not have.
    reduced = p.c + p.curvature * x - Z @ y
    scale = 1.0 + np.abs(p.c).max(initial=0.0)
    assert np.all(reduced[np.isinf(p.lower)] <= 1e-7 * scale)
    assert np.all(reduced[np.isinf(p.upper)] >= -1e-7 * scale)

    # The value of y is a lower bound, and closes the gap.
    slopes = p.c - Z @ y
    each = [lowest_over_box(*v) for v in zip(slopes, p.curvature, p.lower, p.upper, x, strict=True)]
    bound = p.rhs @ y + sum(each)
    rounding = 1e-13 * (1.0 + np.abs(p.rhs * y).sum() + np.abs(each).sum() + (np.abs(Z) @ np.abs(y)) @ np.abs(x))
    assert abs(found.bound - bound) <= rounding
    assert found.gap <= 1e-7 * size
    assert bound <= best + 1e-7 * size
    assert abs(found.objective - best) <= 1e-6 * size


def assert_proved_infeasible(p, found):
    """y^T (rhs - [A; few]^T x) is zero for every feasible x; here it is above zero all over the box."""
    assert found.status == "infeasible", (found.status, found.n_iter)
    slopes = -(p.matrix @ found.y)
    slopes[np.abs(slopes) <= 1e-9 * np.abs(slopes).max()] = 0.0  # rounding, before it meets an infinite bound
    each = [
        lowest_over_box(slope, 0.0, *v) for slope, *v in zip(slopes, p.lower, p.upper, found.x, strict=True) if slope
    ]
    assert np.all(np.isfinite(p.lower[slopes > 0]))
    assert np.all(np.isfinite(p.upper[slopes < 0]))
    assert p.rhs @ found.y + sum(each) > 0.0
