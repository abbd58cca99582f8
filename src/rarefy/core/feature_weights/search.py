r"""Feature weights and support vector machines, sought together.

Five ways to the same end [Tayal2014]_, from weights z0 on:

together    coefficients, offsets and weights in one trust region
reduced     the weights in one trust region, the machines following them: the same problem with its convex part solved
alternate   the machines for fixed weights, then the weights for fixed coefficients, and so on; the second half knows
            the margin as a variable of its own ("geometric", "functional") or does not ("fixed")
descend     the machines are solved anew at every trial step, and the weights follow their value downhill
            [VarmaBabu2009]_: the peer, with weights that enter linearly and a hinge that is all but sharp

A weight of zero is stationary, so a feature that is gone stays gone, and where a search ends depends on where it
begins. Where squares are paid for the objective is the same for z and -z and needs no bound at zero; it is kept all the
same, because without it weights leave in leaps and the minima that are found predict worse (two geometries of
clusters on cubes: errors of 25 and 28 instead of 16 and 13 %). Several starts, and starts among very many features, are
in `weight_starts`.
"""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import scipy.sparse.linalg as ssl
from numpy.typing import NDArray

from rarefy.core.feature_weights.objectives import (
    GAUSSIAN,
    FeatureKernel,
    Machines,
    Profile,
    ReducedPoint,
    split,
    weight_step,
    whole_problem,
)
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.linalg.threads import threads_for
from rarefy.core.solvers.trust_region import Minimum, trust_region

Margin = Literal["fixed", "geometric", "functional"]
Callback = Callable[[int, float, Array], None]

FAINT = 0.01
"""Weights below this share of the largest count as zero, as in the thesis."""
_GONE = 1e-6
"""Weights below this share of the largest are set to zero on the way."""
_UNSEEN = 1e-12
"""Where squared distances are below this, all points look the same to the kernel, and all weights are gone."""
_CHANCES = 5
"""How often features that are gone and worth their price by now may come back."""
_FIRST_RADIUS = 0.3
"""Of the first region, relative to the weights: far away the model knows nothing."""
_SHARP = 0.05
"""Smoothing of the hinge in `descend`, whose authors have none: the Newton steps need some, and this is little."""
_DENSE = 200
"""Weights up to which a Hessian is formed to find its smallest eigenvalue."""


@dataclass(frozen=True)
class Solution:
    """Weights, the machines in them, and how they were reached; `history` has the objective after every round."""

    z: Array
    B: Array
    b: Array
    objective: float
    history: tuple[float, ...]
    n_iter: int
    converged: bool


@dataclass(frozen=True)
class Problem:
    """Points, labels and prices."""

    X: Array
    machines: Machines
    profile: Profile = GAUSSIAN

    @cached_property
    def scales(self) -> Array:
        """How widely a feature varies, or how large it is where products are formed: its weight means as much."""
        return self.X.std(axis=0) if self.profile.shape == "rbf" else np.sqrt(np.mean(self.X**2, axis=0))

    def present(self, z: Array) -> Index:
        """Which weights are not faint, all features being brought to the same scale."""
        share = z * self.scales
        return np.flatnonzero(share > FAINT * share.max(initial=0.0))

    def among(self, features: Index) -> "Problem":
        """The problem in some of the features."""
        if np.array_equal(features, np.arange(self.X.shape[1])):
            return self
        return replace(self, X=np.ascontiguousarray(self.X[:, features]))

    def threads(self) -> AbstractContextManager[Any]:
        """One BLAS thread unless there are many points or features: the products of a search are small and many."""
        return threads_for(max(self.X.shape))

    def kernel(self, centres: Index | None = None) -> FeatureKernel:
        return FeatureKernel(self.X, self.X if centres is None else self.X[centres], self.profile)

    def solve_machines(self, z: Array, start: tuple[Array, Array] | None = None) -> tuple[Array, Array, float]:
        """Coefficients and offsets for these weights, and the value of the whole objective."""
        alive = np.flatnonzero(z > 0.0)
        B, b, value = self.machines.solve(self.among(alive).kernel().matrix(z[alive]), start)
        return B, b, value + self.machines.price(z)[0]

    def slopes(self, z: Array, B: Array, b: Array) -> Array:
        """The derivative of the objective in the squares of all weights, without their price."""
        alive = np.flatnonzero(z > 0.0)
        part = self.among(alive).kernel()
        K, first, _ = self.profile.derivatives(part.distances(z[alive]))
        _, G, _ = self.machines.losses(K @ B + b)
        return self.kernel().sums(first * ((0.5 * B + G) @ B.T))


def placed(problem: Problem, values: Array, features: Index) -> Array:
    """Weights of all features, those that are all but gone being zero."""
    z = np.zeros(problem.X.shape[1])
    z[features] = values
    share = z * problem.scales
    seen = float(share @ share) > _UNSEEN
    return np.where(seen & (share > _GONE * share.max(initial=0.0)), z, 0.0)


def _solution(
    problem: Problem,
    z: Array,
    solved: tuple[Array, Array, float],
    history: Sequence[float],
    n_iter: int,
    converged: bool,
    tol: float,
) -> Solution:
    """What was found. Weights that gain nothing over none, and lead nowhere, are none.

    Where squares are paid for weights fade and never quite vanish, and beside faint ones even the faintest seems large.
    """
    B, b, value = solved
    if z.any() and abs(value - problem.machines.constant()) <= 1e-2 * tol * abs(value):
        nothing = np.zeros(len(z))
        empty = problem.solve_machines(nothing)
        dear = problem.slopes(nothing, *empty[:2]) >= -problem.machines.mu
        if problem.machines.power == 1 or np.all(dear | (z == 0.0)):
            z, (B, b, value) = nothing, empty
    return Solution(z, B, b, value, (*history, value), n_iter, converged)


def alternate(
    problem: Problem,
    z: Array,
    margin: Margin,
    *,
    tol: float = 1e-3,
    max_iter: int = 30,
    inner: int = 20,
    callback: Callback | None = None,
) -> Solution:
    """Machines and weights in turn.

    Parameters
    ----------
    problem : Problem
        What to solve.
    z : (d,) array
        Weights to start from.
    margin : {"fixed", "geometric", "functional"}
        What the second half knows of the margin: nothing (Simple AO), Margin AO-I, Margin AO-II.
    tol : float
        Accepted change of a weight in one round, relative to the largest; or a hundredth of it of the objective, while
        the set of weights that are not faint stays the same. The functional margin is another objective than the
        machines', so its rounds need not settle: they end when that set does.
    max_iter, inner : int
        Rounds, and steps of the trust region in each.
    callback : callable or None
        Called with (round, objective, z) in every round.
    """
    history: list[float] = []
    machines, converged, n_iter = None, False, 0
    while not converged and n_iter < max_iter:
        B, b, value = problem.solve_machines(z, machines)
        machines = (B, b)
        history.append(value)
        if callback is not None:
            callback(n_iter, value, z)
        before, z = z, _weight_half(problem, z, B, b, margin, inner, tol)
        flat = n_iter > 0 and (margin == "functional" or history[-2] - value <= 1e-2 * tol * abs(value))
        still = float(np.abs(z - before).max()) <= tol * float(z.max())
        converged = still or (flat and np.array_equal(problem.present(z), problem.present(before))) or not z.any()
        n_iter += 1
    return _solution(problem, z, problem.solve_machines(z, machines), history, n_iter, converged, tol)


def _weight_half(problem: Problem, z: Array, B: Array, b: Array, margin: Margin, inner: int, tol: float) -> Array:
    """The weights, by a trust region from z on, for fixed coefficients."""
    alive, index = np.flatnonzero(z > 0.0), np.flatnonzero(np.any(B != 0.0, axis=1))
    if not len(alive) or not len(index):
        return z
    kernel, B = problem.among(alive).kernel(index), B[index]
    nu = np.ones(B.shape[1])
    if margin == "functional":  # machines of norm 1, and the margin that gives them their scores back
        norms = np.einsum("sc,sc->c", B, kernel.matrix(z[alive])[index] @ B)
        rounding = np.finfo(float).eps * np.abs(B).sum(axis=0) ** 2 + np.finfo(float).tiny
        nu = np.sqrt(np.maximum(norms, rounding))
    at = weight_step(kernel, problem.machines, index, B / nu, b / nu, margin=margin)
    x = z[alive] if margin == "fixed" else np.concatenate([z[alive], nu])
    radius = _FIRST_RADIUS * float(np.sqrt(z.sum()))
    best = trust_region(at, x, lower=np.zeros(len(x)), radius=radius, tol=1e-3 * tol, max_iter=inner, max_products=30)
    return placed(problem, best.x[: len(alive)], alive)


def together(
    problem: Problem, z: Array, *, tol: float = 1e-3, max_iter: int = 300, callback: Callback | None = None
) -> Solution:
    """Coefficients, offsets and weights in one trust region, from the machines at z on.

    Parameters
    ----------
    problem, z, callback
        As in `alternate`.
    tol : float
        It stops where 25 steps gain less than a hundredth of it, relative to the objective.
    max_iter : int
        Steps; every 25 of them, features without weight are left out.
    """
    n, q = problem.machines.Y.shape
    B, b, value = problem.solve_machines(z)
    machines = [(B, b)]

    def stretch(kernel: FeatureKernel, z: Array, radius: float, left: int) -> tuple[Minimum, Array]:
        x = np.concatenate([machines[0][0].ravel(), machines[0][1], z])
        lower = np.where(np.arange(len(x)) < n * q + q, -np.inf, 0.0)
        at = whole_problem(kernel, problem.machines)
        best = trust_region(
            at, x, lower=lower, radius=radius, tol=1e-2 * tol**2, max_iter=min(25, left), max_products=100
        )
        B, b, found = split(best.x, n, q)
        machines[:] = [(B, b)]
        return best, found

    z, history, n_iter, done = _in_stretches(problem, z, stretch, [value], tol, max_iter, callback)
    return _solution(problem, z, problem.solve_machines(z, machines[0]), history, n_iter, done, tol)


def _in_stretches(
    problem: Problem,
    z: Array,
    stretch: Callable[[FeatureKernel, Array, float, int], tuple[Minimum, Array]],
    history: list[float],
    tol: float,
    max_iter: int,
    callback: Callback | None,
) -> tuple[Array, list[float], int, bool]:
    """A few steps at a time, features without weight being left out in between.

    It ends where a stretch ends by itself or gains less than a hundredth of tol, relative to the objective.
    """
    n_iter, done = 0, False
    while n_iter < max_iter and not done and z.any():
        alive = np.flatnonzero(z > 0.0)
        radius = _FIRST_RADIUS * float(np.sqrt(z.sum()))
        best, found = stretch(problem.among(alive).kernel(), z[alive], radius, max_iter - n_iter)
        flat = bool(history) and history[-1] - best.value <= 1e-2 * tol * abs(best.value)
        z, done = placed(problem, found, alive), flat or best.status != "iteration limit"
        n_iter += max(best.n_iter, 1)
        history = [*history, best.value]
        if callback is not None:
            callback(n_iter, best.value, z)
    return z, history, n_iter, done or not z.any()


def reduced(
    problem: Problem,
    z: Array,
    *,
    field: NDArray[np.bool_] | None = None,
    tol: float = 1e-3,
    max_iter: int = 300,
    callback: Callback | None = None,
) -> Solution:
    """The weights in one trust region, the machines being solved anew, and exactly, at every place.

    Where squares are paid for, zero is no wall but a stationary point, and a saddle if a feature that is gone is worth
    its price by now. Such features get a faint weight and the search goes on.

    Parameters
    ----------
    problem, z, callback
        As in `alternate`.
    field : (d,) array of bool or None
        Features that may come back; None means those that have a weight in z.
    tol : float
        It stops where ten steps gain less than a hundredth of it, relative to the objective, or a step promises less
        than a thousandth.
    max_iter : int
        Steps; every ten of them, features without weight are left out.
    """
    wanted = z > 0.0 if field is None else field
    machines: list[tuple[Array, Array]] = []  # of the last place, to start from at the next

    def stretch(kernel: FeatureKernel, z: Array, radius: float, left: int) -> tuple[Minimum, Array]:
        def at(x: Array) -> ReducedPoint:
            point = ReducedPoint(kernel, problem.machines, x, machines[0] if machines else None)
            machines[:] = [(point.B, point.b)]
            return point

        lower = np.zeros(len(z))
        best = trust_region(at, z, lower=lower, radius=radius, tol=1e-3 * tol, max_iter=min(10, left), max_products=30)
        return best, best.x

    history: list[float] = []
    n_iter, chances = 0, _CHANCES if problem.machines.power == 2 else 0
    while True:
        z, history, steps, done = _in_stretches(problem, z, stretch, history, tol, max_iter - n_iter, callback)
        n_iter, chances = n_iter + steps, chances - 1
        B, b, value = problem.solve_machines(z, machines[0] if machines else None)
        if chances < 0 or not done:
            break
        missed = wanted & (z == 0.0) & (problem.slopes(z, B, b) < -problem.machines.mu)
        if not missed.any():
            break
        # Beside the largest, or where none is left, beside weights under which two points have distance 1.
        largest = float((z * problem.scales).max()) or 1.0 / np.sqrt(2.0 * np.count_nonzero(missed))
        z = z.copy()
        z[missed] = FAINT * largest / problem.scales[missed]
    return _solution(problem, z, (B, b, value), history, n_iter, done, tol)


def descend(
    problem: Problem, z: Array, *, tol: float = 1e-3, max_iter: int = 100, callback: Callback | None = None
) -> Solution:
    """Projected gradients with Armijo's rule on the machines' value, the weights being the squares of z.

    Parameters
    ----------
    problem, z, callback
        As in `alternate`; but the price of a weight is that of its square, and the hinge is smoothed ten times less
        than usual, whatever `problem` says.
    tol : float
        Relative decrease at which to stop.
    max_iter : int
        Accepted steps.
    """
    sharp = replace(problem, machines=replace(problem.machines, smoothing=_SHARP, power=2))
    w, length = z**2, 1.0
    B, b, value = sharp.solve_machines(z)
    history, done, n_iter = [value], False, 0
    while n_iter < max_iter and not done:
        gradient = sharp.slopes(np.sqrt(w), B, b) + sharp.machines.mu
        length *= 4.0
        for _ in range(40):
            trial = np.maximum(w - length * gradient, 0.0)
            found = sharp.solve_machines(np.sqrt(trial), (B, b))
            if found[2] <= value - 1e-4 * float(gradient @ (w - trial)):
                break
            length *= 0.5
        else:
            done = True
            break
        done = value - found[2] <= tol * 1e-2 * abs(value)
        w, (B, b, value) = trial, found
        n_iter += 1
        history.append(value)
        if callback is not None:
            callback(n_iter, value, np.sqrt(w))
    return _solution(sharp, np.sqrt(w), (B, b, value), history[:-1], n_iter, done, tol)


MARGINS: dict[str, Margin] = {"ao": "fixed", "ao1": "geometric", "ao2": "functional"}
METHODS = (*MARGINS, "full", "reduced", "gmkl")


def find(
    problem: Problem,
    z: Array,
    method: str,
    *,
    polish: bool = True,
    tol: float = 1e-3,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> Solution:
    """One of the searches by its name, and `reduced` after it if it is to be polished and is not that itself."""
    common: dict[str, Any] = {"tol": tol, "callback": callback}
    limit: dict[str, Any] = {} if max_iter is None else {"max_iter": max_iter}
    if method in MARGINS:
        found = alternate(problem, z, MARGINS[method], **common, **limit)
    else:
        found = {"full": together, "reduced": reduced, "gmkl": descend}[method](problem, z, **common, **limit)
    if not polish or method in ("reduced", "gmkl"):
        return found
    last = reduced(problem, found.z, field=z > 0.0, **common)
    return replace(last, history=(*found.history, *last.history), n_iter=found.n_iter)


def smallest_curvature(problem: Problem, solution: Solution) -> float:
    """The smallest eigenvalue of the Hessian in the weights, the machines following them.

    That is the Schur complement of the Hessian in all variables. The block of the machines has no negative eigenvalue,
    so the two have one or not together: it is negative at a saddle point. If weights are paid for, those that are faint
    are on their way to their bound and do not move. If squares are, all move, and those that are zero have nothing in
    the Hessian beside their own second derivatives.
    """
    z, squares = solution.z, problem.machines.power == 2
    if not z.any():
        return 0.0
    of_moving = _curvature_among(problem, solution, np.flatnonzero(z > 0.0) if squares else problem.present(z))
    gone = (z == 0.0) & (problem.scales > 0.0)
    if not squares or not gone.any():
        return of_moving
    slopes = problem.slopes(z, solution.B, solution.b)
    return min(of_moving, 2.0 * float(slopes[gone].min() + problem.machines.mu))


def _curvature_among(problem: Problem, solution: Solution, moving: Index) -> float:
    """In these weights, the others staying what they are."""
    alive = np.flatnonzero(solution.z > 0.0)
    here = ReducedPoint(problem.among(alive).kernel(), problem.machines, solution.z[alive], (solution.B, solution.b))
    at, n = np.searchsorted(alive, moving), len(moving)

    def product(v: Array) -> Array:
        direction = np.zeros(len(alive))
        direction[at] = v
        return here.hessian_product(direction)[at]

    if n <= _DENSE:
        H = np.column_stack([product(e) for e in np.eye(n)])
        return float(np.linalg.eigvalsh(0.5 * (H + H.T))[0])
    operator = ssl.LinearOperator((n, n), matvec=product, dtype=np.float64)
    seed = np.random.default_rng(0).standard_normal(n)
    return float(ssl.eigsh(operator, k=1, which="SA", v0=seed, tol=1e-3, return_eigenvectors=False)[0])
