"""Several linear models of the same samples, one a target, trained at once.

F : (n, p) samples, p <= n and small; Y : (n, m) targets; c : (n,) costs of the rows

Newton's method of `linear_model`, step for step, for all targets that are not done. With small systems a step is mostly
the cost of calling functions, which arises once here and not once a target.
"""

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.rows import Array, DenseRows
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.margins import MarginLoss, best_intercept
from rarefy.core.svm.linear_model import LinearModel, Problem, linear_model, pair, step_length

_FEWEST, _LARGEST = 4, 1 << 21
"""Targets from which on it pays, and the most products of entries that are kept."""

_CLOSE = 0.01
"""Share of the accepted gap that is not worth a second look."""


def trained_together(n: int, p: int, m: int, loss: MarginLoss) -> bool:
    """Whether models should be trained at once."""
    return loss.name != "hinge" and m >= _FEWEST and p <= n and n * p * max(m, p) <= _LARGEST


def linear_models(
    F: Array,
    Y: Array,
    costs: Array,
    loss: MarginLoss,
    *,
    start: tuple[Array, Array] | None = None,
    tol: float = 1e-5,
    max_iter: int = 60,
) -> list[LinearModel]:
    """Train one model for each target; parameters as in `linear_model`, with (n, m) dual variables in `start`."""
    (n, p), m = F.shape, Y.shape[1]
    rows = DenseRows(F)
    if start is None:
        b = np.array([best_intercept(loss, y, np.zeros(n), costs) for y in Y.T])
        U = np.vstack([np.zeros((p, m)), b])
    else:
        U = np.vstack([F.T @ start[0], start[1]])
    search = _Search(np.column_stack([F, np.ones(n)]), Y, costs, loss, U)
    with threads_for(p):
        stuck = search.run(tol, max_iter)
        found = []
        for k, y in enumerate(Y.T):
            if stuck[k]:
                before = None if start is None else (start[0][:, k], float(start[1][k]))
                found.append(linear_model(rows, y, costs, loss, start=before, tol=tol, max_iter=max_iter))
                continue
            beta = -costs * loss.derivatives(y, search.f[:, k])[0]
            one = Problem(rows, y, costs, loss)
            found.append(pair(one, search.U[:p, k], float(search.U[p, k]), beta, _CLOSE * tol))
    return found


@dataclass
class _Search:
    """Coefficients with the intercept below them, and scores, of all models."""

    A: Array
    Y: Array
    c: Array
    loss: MarginLoss
    U: Array

    def __post_init__(self) -> None:
        self.f = self.A @ self.U
        i, j = np.triu_indices(self.A.shape[1])
        self.products = self.A[:, i] * self.A[:, j]

    def run(self, tol: float, max_iter: int) -> NDArray[np.bool_]:
        """Minimise; which models need more care than is taken here."""
        stuck, active = np.zeros(self.Y.shape[1], dtype=bool), np.arange(self.Y.shape[1])
        for _ in range(max_iter):
            first, second = self._derivatives(active, self.f[:, active])
            gradient = self.A.T @ (self.c[:, None] * first)
            gradient[:-1] += self.U[:-1, active]
            step = _newton_steps(self.products, self.c[:, None] * second, gradient)
            reach = 10.0 * (1.0 + np.abs(self.f[:, active]).max(axis=0))
            wild = ~(np.abs(step[-1]) <= reach)  # also where nothing bends, and the system was singular
            stuck[active[wild]] = True
            promised = -0.5 * np.sum(gradient * step, axis=0)
            going = ~wild & (promised > 1e-5 * tol * np.maximum(self._values(active), 1e-300))
            if not going.any():
                break
            active, step = active[going], step[:, going]
            self._move(active, step, np.sum(gradient[:, going] * step, axis=0))
        return stuck

    def _move(self, active: NDArray[np.intp], step: Array, before: Array) -> None:
        """Each model by its whole step, or by the length that minimises along it."""
        moved, f = self.A @ step, self.f[:, active]
        first, _ = self._derivatives(active, f + moved)
        ahead = self.U[:-1, active] + step[:-1]
        after = np.sum(ahead * step[:-1], axis=0) + np.sum(self.c[:, None] * first * moved, axis=0)
        length = np.ones(len(active))
        for i in np.flatnonzero(np.abs(after) > 0.1 * np.abs(before)):
            k = active[i]
            one = Problem(DenseRows(self.A[:, :-1]), self.Y[:, k], self.c, self.loss)
            length[i] = step_length(one, self.U[:-1, k], step[:-1, i], f[:, i], moved[:, i])
        self.U[:, active] += length * step
        self.f[:, active] = f + length * moved

    def _derivatives(self, active: NDArray[np.intp], f: Array) -> tuple[Array, Array]:
        first, second = self.loss.derivatives(self.Y[:, active].ravel(), f.ravel())
        return first.reshape(f.shape), second.reshape(f.shape)

    def _values(self, active: NDArray[np.intp]) -> Array:
        f = self.f[:, active]
        losses = self.loss.values(self.Y[:, active].ravel(), f.ravel()).reshape(f.shape)
        return np.asarray(0.5 * np.sum(self.U[:-1, active] ** 2, axis=0) + self.c @ losses)


def _newton_steps(products: Array, D: Array, gradient: Array) -> Array:
    """(p + 1, m) steps; NaN where a system is singular. The products are those of any two columns, once each."""
    p = len(gradient) - 1
    place, (i, j) = np.arange(p), np.triu_indices(p + 1)
    H = np.empty((D.shape[1], p + 1, p + 1))
    H[:, i, j] = H[:, j, i] = D.T @ products
    H[:, place, place] += 1.0
    total = D.sum(axis=0)
    # Eliminating the coefficients leaves a number that is positive but for rounding, as in the single model.
    H[:, p, p] += 1e-12 * total
    steps = np.full(gradient.shape, np.nan)
    bent = np.flatnonzero(total > 0.0)
    with suppress(np.linalg.LinAlgError):
        steps[:, bent] = -np.linalg.solve(H[bent], gradient.T[bent][..., None])[..., 0].T
    return steps
