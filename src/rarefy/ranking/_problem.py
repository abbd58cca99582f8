"""The problem that rankers solve: training data, basis, kernel values and loss."""

from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy._input import RowMap
from rarefy.backends.kernel_rows import KernelValues, kernel_rows
from rarefy.backends.samples import Samples, as_array, pieces
from rarefy.core.linalg.rows import BLOCK_ENTRIES, Array, Index, Rows
from rarefy.core.losses.lists import ListLoss
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking.bounds import left_out_shares
from rarefy.core.ranking.greedy import greedy_basis
from rarefy.core.ranking.rankers import whitening
from rarefy.exceptions import ParameterError
from rarefy.kernel._kernels import BoundKernel
from rarefy.kernel._landmarks import Landmarks, Pool, choose_landmarks, given_landmarks
from rarefy.ranking._settings import Settings, resolve_alpha

_DOUBLE, _SINGLE = 1e-12, 1e-8
"""Squared distance, relative to the largest, at which a kernel function counts as a combination of those before: with
kernel values in single precision, what is smaller is mostly their rounding."""

_FEWEST_OTHERS, _MOST_RARE = 100, 300
"""With basis="auto": kernel functions of the majority at least, and of the rare class at most."""


@dataclass(frozen=True)
class TrainingData:
    """Checked training data."""

    X: Any
    levels: Index
    """0, 1, ...; samples of higher levels are ranked above those of lower ones."""
    weights: Array
    rare: Index
    """Row numbers of the rare samples that have a weight."""
    labels: NDArray[Any]
    """The labels of y in ascending order."""
    rare_label: Any = None

    @property
    def y(self) -> NDArray[Any]:
        """Labels of the samples."""
        if self.rare_label is None:
            return self.labels[self.levels]
        (other,) = self.labels[self.labels != self.rare_label]
        return np.where(self.levels == 1, self.rare_label, other)

    def part(self, rows: Index, precomputed: bool) -> "TrainingData":
        """Some of the samples; of a matrix of kernel values, their columns too."""
        X, levels, weights = self.X[rows], self.levels[rows], self.weights[rows]
        position = np.full(len(self.levels), -1, dtype=np.intp)
        position[rows] = np.arange(len(rows))
        rare = np.sort(position[self.rare][position[self.rare] >= 0])
        return TrainingData(X[:, rows] if precomputed else X, levels, weights, rare, self.labels, self.rare_label)


@dataclass(frozen=True)
class Problem:
    """What all weights of the penalty share."""

    data: TrainingData
    settings: Settings
    kernel: BoundKernel
    basis: Landmarks
    loss: PairLoss | ListLoss
    T: Array | None
    """`whitening` of the kernel matrix of the basis; None if the penalty is not a norm in feature space."""
    K: Rows | None
    """Kernel values of all samples with the basis; None if they are computed block by block."""
    storage: str
    """Where these values are."""

    def kernel_values(self, rows: Any) -> Array:
        """Kernel values of some samples with the basis."""
        return self.values_of(as_array(self.data.X[rows]))

    def values_of(self, samples: Any) -> Array:
        """Kernel values of samples with the basis."""
        return np.asarray(self.kernel(samples, self.basis.places), dtype=np.float64)

    def scores(self, beta: Array) -> Array:
        """Scores of the training samples as they will be, without the rounding of stored kernel values."""
        if self.K is not None and self.storage.startswith("float64"):
            return self.K @ beta
        return expand(self.kernel, self.data.X, self.basis.places, beta)

    @cached_property
    def bound_facts(self) -> tuple[list[float], float] | None:
        """Shares of both classes outside the basis and the largest k(x, x), if the bound holds for such problems."""
        basis, weights = self.basis.indices, self.data.weights
        if basis is None or np.ptp(weights) != 0.0 or not self.settings.is_plain:
            return None
        if not self.kernel.is_positive(self.data.X, basis):
            return None
        kappa = float(self.kernel.diagonal(self.data.X).max())
        return (left_out_shares(self.data.levels, basis), kappa) if kappa > 0.0 else None


def expand(kernel: BoundKernel, X: Any, places: Any, beta: Array) -> Array:
    """Sums of kernel functions with coefficients, at samples; block by block."""
    if isinstance(X, Samples):
        return X.each(lambda block: expand(kernel, block, places, beta))
    n, scores = X.shape[0], np.empty((X.shape[0], *np.shape(beta)[1:]))
    step = max(1, min(n, BLOCK_ENTRIES // max(1, len(beta))))
    # The same arrays for all blocks: fresh pages for every block cost as much as the values.
    values = np.empty((step, len(beta)), dtype=np.float32 if X.dtype == np.float32 else np.float64)
    wide = np.empty(values.shape) if values.dtype == np.float32 else values
    for rows, part in pieces(X, len(beta)):
        block = values[: rows.stop - rows.start]
        kernel.fill(part, places, block)
        if wide is not values:
            np.copyto(wide[: len(block)], block)
        scores[rows] = wide[: len(block)] @ beta
    return scores


def build_problem(data: TrainingData, settings: Settings, kernel: BoundKernel, rng: np.random.Generator) -> Problem:
    """Choose the basis and evaluate the kernel."""
    loss = _build_loss(data, settings)
    basis = _choose_basis(data, settings, kernel, rng)
    K_RR, single = _basis_matrix(data.X, basis, kernel, settings.owner)
    K, storage = None, "blocks"
    if settings.solver != "stochastic":
        made = RowMap(
            len(K_RR),
            lambda part: kernel(part, basis.places),
            lambda part, out: kernel.fill(part, basis.places, out),
        )
        values = KernelValues(data.X, made, kernel.is_cheap(data.X))
        K, storage = kernel_rows(values, reserved=3 * K_RR.nbytes)
        single |= storage != "float64"
    T = None if settings.penalty == "l1" else whitening(0.5 * (K_RR + K_RR.T), _SINGLE if single else _DOUBLE)
    return Problem(data, settings, kernel, basis, loss, T, K, storage)


def _build_loss(data: TrainingData, settings: Settings) -> PairLoss | ListLoss:
    pairs = Pairs.of(data.levels, data.weights)
    if settings.measure is None:
        return PairLoss(pairs, settings.loss, settings.push, settings.profile)
    if not np.isin(data.weights, (0.0, 1.0)).all():
        raise ParameterError(
            f"sample_weight of {settings.owner} must be 0 or 1 with emphasis={settings.measure!r}, which counts "
            f"samples; got weights from {data.weights.min():g} to {data.weights.max():g}."
        )
    return ListLoss(pairs, settings.measure, settings.loss)


def _basis_matrix(X: Any, basis: Landmarks, kernel: BoundKernel, owner: str) -> tuple[Array, bool]:
    """The kernel matrix of the basis, and whether its values are rounded to single precision."""
    r = len(basis.places) if kernel.precomputed else basis.places.shape[0]
    K_RR = np.empty((r, r))
    exact = kernel.fill(X[basis.indices] if kernel.precomputed else basis.places, basis.places, K_RR)
    if not np.isfinite(K_RR).all():
        raise ParameterError(f"The kernel of {owner} gives values that are not finite.")
    if not np.allclose(K_RR, K_RR.T, rtol=1e-5, atol=1e-8 * float(np.abs(K_RR).max(initial=0.0))):
        raise ParameterError(f"The kernel of {owner} is not symmetric: k(x, y) differs from k(y, x).")
    return K_RR, not exact


def _choose_basis(data: TrainingData, settings: Settings, kernel: BoundKernel, rng: np.random.Generator) -> Landmarks:
    basis, used = settings.basis, np.flatnonzero(data.weights)
    if isinstance(basis, str) and basis == "auto":
        return _rare_and_others(data, settings, kernel, rng)
    if isinstance(basis, Integral) and settings.landmarks == "greedy":
        return _greedy(data, settings, kernel, min(int(basis), len(used)), rng)
    if isinstance(basis, Integral):
        return _rare_first(data, settings, kernel, min(int(basis), len(used)), rng)
    if not isinstance(basis, str):
        indices = given_landmarks(basis, data.X.shape[0], "basis", settings.owner).copy()
    elif basis == "random":
        indices = np.sort(rng.choice(used, len(data.rare), replace=False))
    else:
        indices = data.rare if basis == "rare" else used
    return Landmarks(indices, kernel.places(data.X, indices))


def _rare_and_others(
    data: TrainingData, settings: Settings, kernel: BoundKernel, rng: np.random.Generator
) -> Landmarks:
    """The rare samples, and as many landmarks of the others, within limits: what the others look like matters, too."""
    rare = data.rare
    if len(rare) > _MOST_RARE:
        rare = np.sort(rng.choice(rare, _MOST_RARE, replace=False))
    n_others = int(np.count_nonzero(data.weights)) - len(data.rare)
    wanted = len(rare) + min(max(len(rare), _FEWEST_OTHERS), n_others)
    if settings.landmarks == "greedy":
        return _greedy(data, settings, kernel, wanted, rng)
    return _rare_first(replace(data, rare=rare), settings, kernel, wanted, rng, but=data.rare)


_CANDIDATES = 1000
"""Of each kind, rare samples and others, when kernel functions are chosen with the loss."""


def _greedy(data: TrainingData, settings: Settings, kernel: BoundKernel, n: int, rng: np.random.Generator) -> Landmarks:
    """A basis of n samples, chosen with the loss of some samples from among them."""
    others = np.setdiff1d(np.flatnonzero(data.weights), data.rare)
    most = max(_CANDIDATES, n)
    some = [np.sort(rng.choice(part, min(most, len(part)), replace=False)) for part in (data.rare, others)]
    rows = np.sort(np.concatenate(some))
    K = kernel.between(data.X, rows, rows)
    # Samples that were drawn stand for all of their kind.
    weights = data.weights[rows] * np.where(np.isin(rows, data.rare), len(data.rare), len(others))
    for part in some:
        weights[np.isin(rows, part)] /= len(part)
    loss = PairLoss(Pairs.of(data.levels[rows], weights), settings.loss, settings.push)
    indices = rows[greedy_basis(K, 0.5 * (K + K.T), loss, resolve_alpha(settings.alpha, data.weights), n)]
    return Landmarks(indices, kernel.places(data.X, indices))


def _rare_first(
    data: TrainingData,
    settings: Settings,
    kernel: BoundKernel,
    n: int,
    rng: np.random.Generator,
    but: Index | None = None,
) -> Landmarks:
    """A basis of n samples: all rare ones and others chosen by the rule, or n rare ones chosen by it.

    Those in `but` are not among the others; None means the rare ones.
    """
    rare = data.rare
    if n == len(rare):
        return Landmarks(rare, kernel.places(data.X, rare))
    fewer = n < len(rare)
    first = rare[:0] if fewer else rare
    wanted = n - len(first)

    def coordinates(some: Index, pilot: Index) -> Array:
        return kernel.between(data.X, some, pilot) @ whitening(kernel.between(data.X, pilot, pilot))

    samples = rare if fewer else np.setdiff1d(np.flatnonzero(data.weights), rare if but is None else but)
    pool = Pool(data.X, kernel, samples, coordinates, first=first, at_most=max(2000, 10 * wanted))
    found = choose_landmarks(settings.landmarks, pool, wanted, rng)
    if found.indices is not None and not len(found.indices):
        raise ParameterError(
            f"landmarks={settings.landmarks!r} of {settings.owner} finds no sample x with k(x, x) > 0; use "
            "landmarks='random' or another kernel."
        )
    return found
