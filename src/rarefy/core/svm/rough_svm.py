r"""Support vector machines with a norm as penalty, many at once and only as well as predictions need.

F : (m, k) Rows, coordinates and ones; Y : (m, q) classes -1 and 1, one column for each SVM; p : (m,) weights

They are trained together until hardly a prediction changes; what is proved of each objective is said beside it. Where
the optimum is wanted they are what the exact solver starts from.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from rarefy.core.linalg.norms import p_norm
from rarefy.core.linalg.rough_rows import RoughRows
from rarefy.core.linalg.rows import Array, DenseRows, Rows
from rarefy.core.solvers.box_lp import Status
from rarefy.core.solvers.hinge_admm import Prox, RoughSVMs, hinge_admm, prox_maximum_norm, prox_one_norm, prox_two_norm
from rarefy.core.solvers.near_lp import few_suffice
from rarefy.core.svm.dual_bound import DualBound, Norm, extra_columns, order_of
from rarefy.core.svm.norm_svm import NormSVM

_PROX: dict[Norm, Prox] = {1: prox_one_norm, 2: prox_two_norm, "inf": prox_maximum_norm}
_CHANGED, _FALLEN = 0.005, 0.03
"""Share of the labels that may have changed, and by which the objective may have fallen, in the last ten iterations."""
_ACCEPTED, _ROUNDS = 1e-2, 3
"""Share of the objective by which a bound may stay behind its variables, and how often these are mended."""


def rough_norm_svms(F: Rows, Y: Array, alpha: float, p: Array, *, norm: Norm, gram: Array) -> list[NormSVM]:
    """Train many SVMs for two classes until their predictions settle; the gap of each is proved.

    Parameters
    ----------
    F : Rows of shape (m, S + extra_columns(norm))
        Coordinates, then a column of ones (then one of zeros).
    Y : (m, q) array of -1 and 1
        The classes, one column for each SVM; with more than one, a sample belongs to that of its largest score.
    alpha : float, >= 0
        Weight of the norm.
    p : (m,) array, >= 0
        Weights of the samples.
    norm : 1, 2 or "inf"
        Which norm; only a start may have another one.
    gram : (k, k) array
        `F.gram()`.
    """
    A, found, progress = _trained(F, Y, alpha, p, norm, gram)
    status: Status = "optimal" if found.settled else "stalled"
    return [
        NormSVM(found.W[:-1, c][None], found.W[-1:, c], value, gap, found.n_iter, status, None)
        for c, (value, gap) in enumerate(progress.gaps(A, found.W, found.beta))
    ]


def rough_multipliers(
    F: Rows, Y: Array, alpha: float, p: Array, *, norm: Norm, gram: Array
) -> list[Array] | list[None]:
    """Multipliers from which `norm_svm` starts, for each SVM; None where it could not use them.

    Parameters as in `rough_norm_svms`.
    """
    if not few_suffice(*F.shape):
        return [None] * Y.shape[1]
    W = _trained(F, Y, alpha, p, norm, gram)[1].W
    if norm == "inf":  # the last equation bounds a sum by alpha; what it is worth is the norm
        W = np.vstack([W, np.abs(W[:-1]).max(axis=0, initial=0.0)])
    return list(-W.T)


def _trained(F: Rows, Y: Array, alpha: float, p: Array, norm: Norm, gram: Array) -> tuple[Rows, RoughSVMs, "_Progress"]:
    """Coordinates and ones alone, what was trained on them, and what its objectives are."""
    k = F.shape[1] - extra_columns(norm) + 1
    A = F if k == F.shape[1] else _first_columns(F, k)
    progress = _Progress(Y, alpha, p, norm)
    prox = _PROX.get(norm, prox_two_norm)  # near enough to start from
    return A, hinge_admm(RoughRows.of(A), Y, p, alpha, gram[:k, :k], prox, progress.settled), progress


def _first_columns(F: Rows, k: int) -> Rows:
    streamed = getattr(F, "gathered", None)
    if streamed is not None:
        columns: Rows = streamed(np.arange(k), np.ones(k))
        return columns
    return DenseRows(F.take(np.arange(F.shape[0]))[:, :k])


@dataclass
class _Progress:
    """Objectives of the SVMs, and what they and the labels were ten iterations ago."""

    Y: Array
    alpha: float
    p: Array
    norm: Norm
    _labels: NDArray[np.intp] | None = field(default=None)
    _value: float = field(default=np.inf)

    def values(self, W: Array, f: Array) -> Array:
        size = p_norm(W[:-1], order_of(self.norm), axis=0)
        return np.asarray(self.alpha * size + self.p @ np.maximum(0.0, 1.0 - self.Y * f))

    def settled(self, W: Array, f: Array) -> bool:
        """Whether few labels have changed and the objectives have hardly fallen since the last time."""
        labels = f.argmax(axis=1) if f.shape[1] > 1 else (f[:, 0] > 0.0).astype(np.intp)
        value = float(self.values(W, f).sum())
        changed = 1.0 if self._labels is None else float(np.mean(labels != self._labels))
        fallen = abs(self._value - value) > _FALLEN * value
        self._labels, self._value = labels, value
        return changed <= _CHANGED and not fallen

    def gaps(self, F: Rows, W: Array, beta: Array) -> list[tuple[float, float]]:
        """The objective of each SVM, and how far it may be from the least one."""
        pairs, longest = [], float(F.column_norms().max())
        for c, value in enumerate(self.values(W, F @ W).tolist()):
            y = self.Y[:, c]
            low, high = np.minimum(y, 0.0) * self.p, np.maximum(y, 0.0) * self.p
            dual = DualBound(F, low, high, y, self.alpha, self.norm, np.ones((1, 1)), F.shape[1], 1, longest)
            bound = dual.bound(beta[:, c], _ACCEPTED * value, _ROUNDS)
            pairs.append((value, max(value - max(bound, 0.0), 0.0)))
        return pairs
