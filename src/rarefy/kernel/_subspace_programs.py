"""The linear programs of a classifier in a subspace: what they share, and how they are solved for all classes."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_class_weight

from rarefy._input import RowMap
from rarefy._parallel import run_parallel
from rarefy.backends.kernel_rows import KernelValues, kernel_rows
from rarefy.backends.samples import Samples
from rarefy.core.linalg.rows import Array, DenseRows, Index, Rows
from rarefy.core.linalg.threads import blas_threads, one_thread, threads_over
from rarefy.core.svm.dual_bound import Norm, extra_columns
from rarefy.core.svm.norm_svm import NormSVM, direct_svm, norm_svm
from rarefy.core.svm.rescaled import rescaled
from rarefy.core.svm.rough_svm import rough_multipliers, rough_norm_svms
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._extraction import Subspace

_WORTH_THREADS = 1e7
"""Products of entries in the Gram matrices of all classes from which threads pay: to start and to join them takes ten
milliseconds or more."""


@dataclass(frozen=True)
class Solution:
    """The solved programs at one alpha: one for each class, or a single one."""

    programs: tuple[NormSVM, ...]

    @property
    def coef(self) -> Array:
        """(n_scores, n_components) weights of the coordinates."""
        return np.vstack([one.w for one in self.programs])

    @property
    def intercept(self) -> Array:
        """(n_scores,) intercepts."""
        return np.concatenate([one.b for one in self.programs])

    @property
    def objective(self) -> Array:
        """(n_programs,) values of the objectives."""
        return np.array([one.objective for one in self.programs])

    @property
    def duality_gap(self) -> Array:
        """(n_programs,) how far the values may be from the optimum."""
        return np.array([one.gap for one in self.programs])

    @property
    def n_iter(self) -> Index:
        """(n_programs,) iterations."""
        return np.array([one.n_iter for one in self.programs])


@dataclass(frozen=True)
class SubspacePrograms:
    """What the programs of all classes, and for all alphas, share."""

    rows: Rows
    """Coordinates, then a column of ones (and one of zeros for the maximum norm)."""
    gram: Array | None
    """Their Gram matrix, for programs of one class against the others."""
    labels: Index
    n_classes: int
    weights: Array
    norm: Norm
    tol: float | str
    max_iter: int

    @property
    def is_direct(self) -> bool:
        """Whether all classes are in one program."""
        return self.gram is None

    def solve(self, alpha: float, before: Solution | None = None, *, n_jobs: int | None = None) -> Solution:
        """Solve all programs for one alpha, starting from a solution for another one."""
        jobs = self._jobs(n_jobs)
        with threads_over(self.rows.shape[0] * self.rows.shape[1]):
            return self._solve(alpha, before, jobs)

    def _jobs(self, n_jobs: int | None) -> int:
        """How many programs are solved at a time: one class a thread keeps all busy, which small products do not."""
        if n_jobs is not None:
            return effective_n_jobs(n_jobs)
        m, k = self.rows.shape
        if self.n_classes * m * k**2 < _WORTH_THREADS:
            return 1
        return max(effective_n_jobs(None), blas_threads())

    def _solve(self, alpha: float, before: Solution | None, jobs: int) -> Solution:
        if self.is_direct:
            return Solution((self._direct(alpha, None if before is None else before.programs[0].multipliers),))
        positives = [1] if self.n_classes == 2 else list(range(self.n_classes))
        if self.tol == "predictions":
            return self._until_predictions_settle(positives, alpha)
        starts = self._starts(positives, alpha) if before is None else self._from_neighbour(positives, alpha, before)
        tasks = [(positive, alpha, start) for positive, start in zip(positives, starts, strict=True)]
        jobs = min(jobs, len(tasks))
        with one_thread() if jobs > 1 else nullcontext():
            found = run_parallel(self._one_against_rest, tasks, n_jobs=jobs, label="linear programs", threads=True)
        return Solution(tuple(found))

    def _starts(self, positives: list[int], alpha: float) -> Sequence[Array | None]:
        """Multipliers to start from: of all classes together, by a first-order method."""
        assert self.gram is not None  # there is one for each class against the others
        Y = self._signs(positives)
        return rough_multipliers(self.rows, Y, alpha, self.weights, norm=self.norm, gram=self.gram)

    def _from_neighbour(self, positives: list[int], alpha: float, before: Solution) -> list[Array | None]:
        """Multipliers of another penalty's solution, brought to the size that suits this one."""
        return [
            None if one.multipliers is None else rescaled(self.rows, y, alpha, self.weights, self.norm, one.multipliers)
            for y, one in zip(self._signs(positives).T, before.programs, strict=True)
        ]

    def _signs(self, positives: list[int]) -> Array:
        return np.where(self.labels[:, None] == np.array(positives), 1.0, -1.0)

    def solve_path(self, alphas: Array, *, n_jobs: int | None = None) -> tuple[Solution, ...]:
        """Solve for many alphas: first for the middle one, then for the others, each from its neighbour."""
        order = np.argsort(alphas).tolist()
        middle = len(order) // 2
        found = {i: self.solve(float(alphas[i]), n_jobs=n_jobs) for i in order[middle : middle + 1]}
        for before, i in (*pairwise(order[middle:]), *pairwise(order[middle::-1])):
            found[i] = self.solve(float(alphas[i]), found[before], n_jobs=n_jobs)
        return tuple(found[i] for i in range(len(alphas)))

    def _until_predictions_settle(self, positives: list[int], alpha: float) -> Solution:
        Y = self._signs(positives)
        assert self.gram is not None  # `SubspaceLPSVC` allows no direct program with this tolerance
        return Solution(tuple(rough_norm_svms(self.rows, Y, alpha, self.weights, norm=self.norm, gram=self.gram)))

    def _one_against_rest(self, positive: int, alpha: float, start: Array | None) -> NormSVM:
        y = np.where(self.labels == positive, 1.0, -1.0)
        return norm_svm(
            self.rows, y, alpha, self.weights, norm=self.norm, start=start, gram=self.gram, **self._accuracy()
        )

    def _direct(self, alpha: float, start: Array | None) -> NormSVM:
        common: dict[str, Any] = {"norm": self.norm, "start": start} | self._accuracy()
        return direct_svm(self.rows, self.labels, self.n_classes, alpha, self.weights, **common)

    def _accuracy(self) -> dict[str, Any]:
        return {"tol": self.tol, "max_iter": self.max_iter}


def subspace_programs(
    subspace: Subspace,
    X: Any,
    labels: Index,
    weights: Array,
    *,
    n_classes: int,
    norm: Norm,
    multi_class: str,
    tol: float | str,
    max_iter: int,
) -> SubspacePrograms:
    """The programs for samples in a subspace: coordinates, and a Gram matrix for all classes.

    Parameters
    ----------
    subspace : Subspace
        The coordinates.
    X : {ndarray, sparse matrix}
        Validated samples, or kernel values.
    labels : (n_samples,) array of int
        Numbers of the classes, from 0.
    weights : (n_samples,) array
        Weights of the losses.
    n_classes : int
        Number of classes.
    norm : float >= 1 or "inf"
        Norm of the weights.
    multi_class : {"ovr", "direct"}
        One program for each class against the others, or one for all.
    tol : float or "predictions"
        Accepted relative duality gap, or to stop when predictions hardly change.
    max_iter : int
        Iterations of the solver.
    """
    rows = _program_rows(subspace, X, subspace.n_components + extra_columns(norm))
    gram = None if multi_class == "direct" and n_classes > 2 else rows.gram()
    return SubspacePrograms(rows, gram, labels, n_classes, weights, norm, tol, max_iter)


def _program_rows(subspace: Subspace, X: Any, width: int) -> Rows:
    """Coordinates, ones and zeros: in memory, or those of samples in blocks where they fit, in single precision."""

    def fill(part: Any, out: NDArray[Any]) -> None:
        out[:, subspace.n_components :] = 0.0
        out[:, subspace.n_components] = 1.0
        subspace.write(part, out)

    if isinstance(X, Samples):
        # In double precision where they are computed again: products and Gram matrices are then of the same numbers.
        made = RowMap(width, lambda part: _made(fill, part, width))
        return kernel_rows(KernelValues(X, made, cheap=False))[0]
    # The further columns are part of the array from the start, so that there is no second copy of the coordinates.
    F = np.empty((X.shape[0], width))
    fill(X, F)
    return DenseRows(F)


def _made(fill: Callable[[Any, NDArray[Any]], None], part: Any, width: int) -> Array:
    out = np.empty((part.shape[0], width))
    fill(part, out)
    return out


def check_program(norm: Norm, multi_class: str, tol: float | str, owner: str) -> None:
    """Refuse parameters that do not go together."""
    linear = norm in (1, "inf")
    if multi_class == "direct" and not linear:
        raise ParameterError(
            f"multi_class='direct' of {owner} is a linear program for norm=1 and norm='inf'; got norm={norm}. "
            "Use multi_class='ovr' for it."
        )
    if tol == "predictions" and multi_class == "direct":
        raise ParameterError(f"tol='predictions' of {owner} needs multi_class='ovr'; got 'direct'. Give a number.")
    if tol == "predictions" and not linear and norm != 2:
        raise ParameterError(f"tol='predictions' of {owner} needs norm=1, 2 or 'inf'; got norm={norm}. Give a number.")


def loss_weights(class_weight: Any, y: Any, classes: NDArray[Any], labels: Index, weights: Array, owner: str) -> Array:
    """Factors on the losses: weights of samples times weights of classes."""
    factors = compute_class_weight(class_weight, classes=classes, y=y)
    if not np.all(np.isfinite(factors) & (factors >= 0.0)):
        raise ParameterError(f"class_weight of {owner} must have finite factors >= 0; got {class_weight!r}.")
    losses: Array = weights * factors[labels]
    counted = np.bincount(labels, weights=losses)
    if np.count_nonzero(counted) < 2:
        raise DegenerateDataError(
            f"{owner} needs at least two classes; y has 1 class (counting samples with a weight), "
            f"{classes.tolist()[int(counted.argmax())]!r}."
        )
    return losses
