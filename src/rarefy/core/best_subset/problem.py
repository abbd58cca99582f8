r"""Linear models in some of the columns: what is chosen from, and what a choice is worth.

X    : (n, d) data; its columns are multiplied by `scale`; x_j is one of them after that
Y    : (n, m) targets, one column a model; all models share the chosen columns
beta : (n, m) dual variables, each column with sum zero (the intercepts are free)
s    : (G,) how much of each group of columns is taken, 0 <= s <= 1; a group is one column unless said otherwise

    Z(s) = sum over models of min over w, b of 1/2 sum_j w_j^2 / s_j + sum_i c_i l(y_i, x_i^T w + b)
         = max over beta of h(beta) - 1/2 sum_G s_G q_G(beta)
    q_G  = sum of (x_j^T beta)^2 over the columns j of a group and over the models

Z is convex in s, its derivative is -q/2 at the best beta, and for s in {0, 1} it is the objective of the models in
the chosen columns. Data are only touched through products with all columns and through blocks of few columns.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rarefy.core.linalg.columns import dense_columns, gathered
from rarefy.core.linalg.rows import Array, DenseRows, Index, Rows
from rarefy.core.losses.margins import MarginLoss, best_intercept
from rarefy.core.svm.linear_model import LinearModel, linear_model, rows_of
from rarefy.core.svm.linear_models import linear_models, trained_together

Start = tuple[Array, Array]
"""Dual variables and intercepts of all models."""


@dataclass(frozen=True, eq=False)
class Trained:
    """Models in some of the columns."""

    beta: Array
    intercept: Array
    coef: Array
    """(k, m) of the scaled columns, in the order in which they were given."""
    value: float
    """Primal value: no less than the objective of the best models in these columns."""
    dual: float
    """Dual value: no more than it."""

    @property
    def start(self) -> Start:
        return self.beta, self.intercept


def group_sums(values: Array, groups: Index, n_groups: int) -> Array:
    """Sums of the columns' values over groups."""
    return np.asarray(np.bincount(groups, weights=values, minlength=n_groups), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SubsetProblem:
    """The data of the problem, and evaluations of it."""

    X: Rows
    Y: Array
    costs: Array
    loss: MarginLoss
    scale: Array
    groups: Index
    """Number of the group of each column, 0 to G - 1."""

    @cached_property
    def columns(self) -> Rows:
        """One column a row."""
        return self.X.T

    @cached_property
    def n_groups(self) -> int:
        return int(self.groups.max()) + 1

    @cached_property
    def _order(self) -> Index:
        return np.argsort(self.groups, kind="stable")

    @cached_property
    def _starts(self) -> Index:
        return np.searchsorted(self.groups[self._order], np.arange(self.n_groups + 1))

    def members(self, chosen: Index) -> Index:
        """The columns of some groups, group by group."""
        if self.n_groups == len(self.groups):
            return self._order[chosen]
        parts = [self._order[self._starts[g] : self._starts[g + 1]] for g in chosen]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.intp)

    def sizes(self, chosen: Index) -> Index:
        """Numbers of columns of some groups."""
        return np.asarray(self._starts[chosen + 1] - self._starts[chosen])

    def pulls(self, beta: Array) -> Array:
        """q: how much each group would lower the objective, to first order (twice)."""
        g = self.columns @ beta
        return group_sums(np.einsum("ij,ij->i", g, g) * self.scale**2, self.groups, self.n_groups)

    def train(
        self, chosen: Index, share: Array | None = None, start: Start | None = None, tol: float = 1e-6
    ) -> Trained:
        """Models in some groups, of which only a share may be taken."""
        columns = self.members(chosen)
        factor = self.scale[columns]
        if share is not None:
            factor = factor * np.sqrt(np.repeat(share, self.sizes(chosen)))
        F = gathered(self.columns, columns, factor)
        found = self._models(F, start, tol)
        return Trained(
            np.column_stack([model.beta for model in found]),
            np.array([model.intercept for model in found]),
            np.column_stack([model.coef for model in found]),
            sum(model.primal for model in found),
            sum(model.dual for model in found),
        )

    def _models(self, F: Rows, start: Start | None, tol: float) -> list[LinearModel]:
        """One model for each target."""
        n, m = self.Y.shape
        if isinstance(F, DenseRows) and trained_together(n, F.shape[1], m, self.loss):
            return linear_models(F.take(np.arange(n)), self.Y, self.costs, self.loss, start=start, tol=tol)
        found = []
        for k, y in enumerate(self.Y.T):
            before = None if start is None else (start[0][:, k], float(start[1][k]))
            found.append(linear_model(F, y, self.costs, self.loss, start=before, tol=tol))
        return found

    def all_columns(self) -> Rows:
        """Rows with the products of the scaled data, in at most n dimensions."""
        n, d = self.X.shape
        if d > n:
            return rows_of(self.columns.gram(self.scale**2))
        return dense_columns(self.X, np.arange(d), self.scale)

    def empty_value(self) -> float:
        """The objective of the intercepts alone."""
        nothing, total = np.zeros(len(self.Y)), 0.0
        for y in self.Y.T:
            b = best_intercept(self.loss, y, nothing, self.costs)
            total += float(self.costs @ self.loss.values(y, nothing + b))
        return total

    def gain(self, beta: Array) -> float:
        """h(beta)."""
        return float(sum(self.loss.gains(y, b, self.costs).sum() for y, b in zip(self.Y.T, beta.T, strict=True)))
