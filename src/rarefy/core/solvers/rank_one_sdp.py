r"""A semidefinite program over rank-one matrices: the most even sum of t u u^T, by an interior-point method.

U     : (r, l) matrix; u is one of its rows, ||u|| = 1
t     : (r,) weights, t >= 0
M     : sum of t u u^T
S, S' : M - a I and I - M
P, Q  : (l, l) dual matrices of S and S'; z = u^T Q u - u^T P u, the dual variables of t

    max a    over t, a   subject to  S >= 0, S' >= 0, t >= 0
    min tr Q over P, Q   subject to  tr P = 1, z >= 0, P >= 0, Q >= 0

a is the smallest eigenvalue of M relative to the largest, so its maximum is one over the smallest condition number. For
feasible points a = a tr P <= tr P M = sum t u^T P u <= sum t u^T Q u = tr Q M <= tr Q, and the gap tr Q - a is
tr P S + tr Q S' + t^T z.

*Method.* Primal-dual path following in the direction of [HelmbergRendlVanderbeiWolkowicz1996], with a predictor and a
corrector [Mehrotra1992]; both sides stay strictly feasible, so any iterate has a valid gap. With D = diag(z / t) and o
the product entry by entry, the matrix of the linear system for t is

    H = (U P U^T) o (U S^-1 U^T) + (U Q U^T) o (U S'^-1 U^T) + D,

because u u^T has rank one: 4 r l (r + 2 l) flops, and r^3 / 3 to factor it, for each of about ten iterations.
"""

from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh
from scipy.linalg.lapack import dtrtri

from rarefy.core.linalg.rows import Array

_EPS = float(np.finfo(np.float64).eps)
_TO_BOUNDARY = 0.95
"""Share of the way to the boundary that a step goes."""
_SHORTER = (1.0, 0.8, 0.5, 0.1)
"""Shares of the step that are tried in turn, should rounding leave the point it leads to outside."""


class DualFactors(NamedTuple):
    """F and G with P = F F^T and Q = G G^T."""

    F: Array
    G: Array


def _symmetric(A: Array) -> Array:
    return 0.5 * (A + A.T)


def _forms(U: Array, A: Array) -> Array:
    """u^T A u for every row."""
    return np.einsum("ij,ij->i", U @ A, U)


def _longest(L_inv: Array, D: Array, step: float) -> float:
    """The longest step up to the given one, but for a little of it, that keeps L L^T + step D positive definite.

    The distance to the boundary comes from an eigenvalue: trial factorisations would be cheaper, but where they fail is
    up to rounding, and the weights would not be a continuous function of the data.
    """
    relative = L_inv @ D @ L_inv.T
    lowest = float(eigh(relative, eigvals_only=True, subset_by_index=[0, 0], check_finite=False)[0])
    return step if lowest >= 0.0 else min(step, -_TO_BOUNDARY / lowest)


def _room(x: Array, dx: Array) -> float:
    """A step up to 1 that keeps x + step dx positive."""
    down = dx < 0.0
    return min(1.0, _TO_BOUNDARY * float(np.min(-x[down] / dx[down], initial=np.inf)))


class _Block:
    """One matrix inequality S >= 0 and its dual matrix X."""

    def __init__(self, U: Array, S: Array, X: Array) -> None:
        self.S, self.X = S, X
        self.F: Array = np.asarray(np.linalg.cholesky(X), dtype=np.float64)
        self.S_root_inv = dtrtri(np.linalg.cholesky(S), lower=1)[0]
        self.S_inv = self.S_root_inv.T @ self.S_root_inv
        self._US, self._UX = U @ self.S_root_inv.T, U @ self.F
        self.s_forms = np.einsum("ij,ij->i", self._US, self._US)
        self.x_forms = np.einsum("ij,ij->i", self._UX, self._UX)

    def schur(self) -> Array:
        """(U X U^T) o (U S^-1 U^T)."""
        H = self._UX @ self._UX.T
        H *= self._US @ self._US.T
        return H

    def change(self, dS: Array, mu: float, second: Array) -> Array:
        """The dX for which X S + dX S + X dS = mu I, made symmetric, plus the second-order term."""
        return mu * self.S_inv - self.X - _symmetric(self.X @ dS @ self.S_inv) + second

    def second_order(self, dS: Array, dX: Array) -> Array:
        return -_symmetric(dX @ dS @ self.S_inv)


class _Direction(NamedTuple):
    """Changes of t, a, both S, both X and z."""

    t: Array
    a: float
    S: tuple[Array, Array]
    X: tuple[Array, Array]
    z: Array


class _Iterate:
    """A strictly feasible point of both programs; LinAlgError if it is not one."""

    def __init__(self, U: Array, t: Array, a: float, P: Array, Q: Array) -> None:
        self.U, self.t, self.a = U, t, a
        eye = np.eye(U.shape[1])
        M = (U.T * t) @ U
        self.lower, self.upper = _Block(U, M - a * eye, P), _Block(U, eye - M, Q)
        self.blocks = self.lower, self.upper
        self.z = self.upper.x_forms - self.lower.x_forms
        # Cholesky's method may let NaN pass: the forms of S^-1 and S'^-1 show it.
        if not all(np.all(x > 0.0) for x in (t, self.z, self.lower.s_forms, self.upper.s_forms)):
            raise np.linalg.LinAlgError("not strictly feasible")

    def gap(self, d: _Direction | None = None, primal: float = 0.0, dual: float = 0.0) -> float:
        """tr Q - a, the sum of all complementary products; after a step if one is given."""
        gap = float(np.trace(self.upper.X)) - self.a
        return gap if d is None else gap + dual * float(np.trace(d.X[1])) - primal * d.a

    @property
    def relative_gap(self) -> float:
        """The ratio is at most 1 + this times the bound."""
        return self.gap() / self.a if self.a > 0.0 else np.inf

    def factor(self) -> None:
        """Prepare the linear system for t and a."""
        H = self.lower.schur()
        H += self.upper.schur()
        H.flat[:: len(H) + 1] += self.z / self.t
        PS = self.lower.X @ self.lower.S_inv
        self._c = _forms(self.U, PS)
        self._factor = cho_factor(H, lower=True, overwrite_a=True, check_finite=False)
        self._Hc = cho_solve(self._factor, self._c, check_finite=False)
        self._pivot = float(np.trace(PS) - self._c @ self._Hc)

    def direction(self, mu: float, before: _Direction | None = None) -> _Direction:
        """The Newton direction towards products mu, with second-order terms of the one found before."""
        rhs = mu * (self.lower.s_forms - self.upper.s_forms + 1.0 / self.t)
        excess = 1.0 - mu * np.trace(self.lower.S_inv)
        second, third = [np.zeros((1, 1))] * 2, np.zeros(1)
        if before is not None:
            pairs = zip(self.blocks, before.S, before.X, strict=True)
            second = [b.second_order(dS, dX) for b, dS, dX in pairs]
            third = -before.z * before.t / self.t
            rhs += third + _forms(self.U, second[0] - second[1])
            excess -= np.trace(second[0])
        y = cho_solve(self._factor, rhs, check_finite=False)
        a = float((excess + self._c @ y) / self._pivot)
        t = y + self._Hc * a
        dM = (self.U.T * t) @ self.U
        S = dM - a * np.eye(len(dM)), -dM
        P, Q = (b.change(dS, mu, N) for b, dS, N in zip(self.blocks, S, second, strict=True))
        # The linear system says that this is u^T (Q - P) u.
        z = mu / self.t - self.z - self.z * t / self.t + third
        return _Direction(t, a, S, (P, Q), z)

    def room(self, d: _Direction) -> tuple[float, float]:
        """How far the program and its dual can go along d, up to 1."""
        primal, dual = _room(self.t, d.t), _room(self.z, d.z)
        for b, dS, dX in zip(self.blocks, d.S, d.X, strict=True):
            primal = _longest(b.S_root_inv, dS, primal)
            dual = _longest(dtrtri(b.F, lower=1)[0], dX, dual)
        return primal, dual

    def moved(self, d: _Direction, primal: float, dual: float) -> "_Iterate":
        """The point after the step, or after a shorter one where that leaves the interior."""
        for shorter in _SHORTER:
            P, Q = (_symmetric(b.X + shorter * dual * dX) for b, dX in zip(self.blocks, d.X, strict=True))
            trace = np.trace(P)  # 1 but for rounding
            t, a = self.t + shorter * primal * d.t, self.a + shorter * primal * d.a
            with suppress(np.linalg.LinAlgError):
                return _Iterate(self.U, t, a, P / trace, Q / trace)
        raise np.linalg.LinAlgError("no step stays strictly feasible")


def _first_iterate(U: Array, t: Array) -> _Iterate:
    """Start inside both programs: t away from 0, lambda_max = 2/3, a = lambda_min / 2, P ~ S^-1 and Q ~ S'^-1."""
    t = t / t.sum() + 0.1 / len(t)
    M = (U.T * t) @ U
    lam = np.linalg.eigvalsh(M)
    t, M, lam = (x / (1.5 * lam[-1]) for x in (t, M, lam))
    eye = np.eye(len(M))
    P = _symmetric(np.linalg.inv(M - 0.5 * lam[0] * eye))
    P /= np.trace(P)
    Q = _symmetric(np.linalg.inv(eye - M))
    Q *= 2.0 * np.max(_forms(U, P) / _forms(U, Q))
    return _Iterate(U, t, 0.5 * float(lam[0]), P, Q)


def maximise_lowest(U: Array, start: Array, tol: float, max_iter: int) -> tuple[Array, DualFactors | None]:
    """Solve the program until (tr Q - a) / a <= tol, or as far as rounding allows.

    Parameters
    ----------
    U : (r, l) array
        Rows of norm 1 that span.
    start : (r,) array
        Weights >= 0 to start near.
    tol : float
        Accepted relative gap.
    max_iter : int
        Largest number of iterations.

    Returns
    -------
    t : (r,) array
        Positive weights; their scale has no meaning.
    dual : DualFactors or None
        Factors of P and Q; None if the spectrum of M is too wide for double precision, and t is the start.
    """
    size = 2 * U.shape[1] + len(U)
    with np.errstate(all="ignore"):  # what is not finite is not strictly feasible either, and ends the loop
        try:
            x = _first_iterate(U, start)
        except np.linalg.LinAlgError:
            return start, None
        for _ in range(max_iter):
            if x.relative_gap <= tol:
                break
            try:
                x.factor()
                d = x.direction(0.0)
                centring = float(np.clip((x.gap(d, *x.room(d)) / x.gap()) ** 2, 1e-3, 1.0))
                d = x.direction(centring * x.gap() / size, d)
                x = x.moved(d, *x.room(d))
            except np.linalg.LinAlgError:
                break
    return x.t, DualFactors(x.lower.F, x.upper.F)
