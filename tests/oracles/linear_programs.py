"""Plain twins of `box_lp`: general solvers, the conditions of optimality written out, and programs to solve."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import linprog, lsq_linear

from rarefy.core.box_lp import box_lp
from rarefy.core.rows import DenseRows


@dataclass(frozen=True)
class Program:
    """min c^T x + 1/2 curvature^T x^2 with [A; few]^T x = rhs and lower <= x <= upper, all arrays dense."""

    A: np.ndarray
    few: np.ndarray
    c: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    rhs: np.ndarray
    curvature: np.ndarray | None = None

    @property
    def matrix(self):
        return np.vstack([self.A, self.few])

    def solve(self, form=DenseRows, **options):
        """By the method under test, with A stored in any form."""
        return box_lp(
            form(self.A),
            self.c,
            self.lower,
            self.upper,
            few=self.few,
            rhs=self.rhs,
            curvature=self.curvature,
            **options,
        )


def program(A, c, lower, upper, *, few=None, rhs=None, curvature=None):
    """A program, from lists as well as from arrays."""
    A = np.asarray(A, dtype=float)
    k = A.shape[1]
    few = np.zeros((0, k)) if few is None else np.asarray(few, dtype=float)
    rhs = np.zeros(k) if rhs is None else np.asarray(rhs, dtype=float)
    c, lower, upper = (np.asarray(v, dtype=float) for v in (c, lower, upper))
    return Program(A, few, c, lower, upper, rhs, curvature)


def svm_dual(D, labels, alpha, weights=1.0):
    """Dual of the 1-norm SVM with intercept: beta inside [0, weight] times its label, z inside [-alpha, alpha]."""
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
