"""Extraction of a subspace: landmarks are chosen, their kernel matrix is decomposed, coordinates follow."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from rarefy.backends.samples import Samples, pieces
from rarefy.core.linalg.kernel_subspace import leading_subspace
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.kernel._kernels import BoundKernel
from rarefy.kernel._landmarks import Landmarks, Pool, choose_landmarks, given_landmarks

Number = int | str | None
"""Of components: None is the default, "auto" what a target takes."""

_BLOCK_ENTRIES = 1 << 23
"""Entries of a block of kernel values while coordinates are computed: 64 MB."""

_COMPONENTS, _SAMPLES = (100, 400), 10
"""By default a tenth of the samples, but at least and at most so many components."""
_LANDMARKS, _PER_COMPONENT = 1000, 5
"""By default at least so many landmarks, and so many for each component."""
_APART, _ALIKE = 1e-2, 1e-7
"""Kernel values, with k(x, x) = 1, that count as zero, and their difference from 1 that counts as none."""


@dataclass(frozen=True)
class Subspace:
    """Coordinates in the leading subspace of a kernel's feature space, and how it was found."""

    eigenvalues: Array
    map: Array
    """(n_landmarks, n_components), in the type of the training data."""
    energy: float
    """Share of the trace of the landmarks' kernel matrix that the subspace holds."""
    landmarks: Landmarks
    kernel: BoundKernel
    n_requested: int
    """Dimensions that were asked for; there are fewer where the kernel matrix has no more."""
    is_semidefinite: bool
    """Whether the kernel matrix of the landmarks has no clearly negative eigenvalue."""
    resembles: str | None
    """"the identity" or "a constant" if the kernel matrix of the landmarks is numerically that."""

    @property
    def n_components(self) -> int:
        """Number of coordinates."""
        return len(self.eigenvalues)

    def write(self, X: Any, out: Array) -> None:
        """Fill the first columns of `out` with the coordinates of samples, block by block."""
        for rows, part in pieces(X, len(self.map), _BLOCK_ENTRIES):
            out[rows, : self.n_components] = self.kernel.product(part, self.landmarks.places, self.map)

    def each(self, X: Any, function: Callable[[Array], Array]) -> Array:
        """What a function makes of coordinates; of samples in blocks, block by block."""
        if isinstance(X, Samples):
            return X.each(lambda block: function(self.coordinates(block)))
        return function(self.coordinates(X))

    def coordinates(self, X: Any) -> Array:
        """The coordinates of samples."""
        D = np.empty((X.shape[0], self.n_components), dtype=self.map.dtype)
        self.write(X, D)
        return D


def extract_subspace(
    X: Any,
    weights: Array,
    kernel: BoundKernel,
    *,
    n_components: Number,
    n_landmarks: int | None,
    landmarks: Any,
    rng: np.random.Generator,
    owner: str,
) -> Subspace:
    """Choose landmarks and find the leading subspace of their kernel functions.

    Parameters
    ----------
    X : {ndarray, sparse matrix} of shape (n_samples, n_features)
        Validated samples; with a precomputed kernel, the square kernel matrix.
    weights : (n_samples,) array
        How often each sample counts.
    kernel : BoundKernel
        The kernel.
    n_components, n_landmarks, landmarks
        As in `KernelSubspace`; "auto" means all dimensions that the landmarks span.
    rng : Generator
        Source of random numbers.
    owner : str
        Whose parameters they are, for error messages.
    """
    used = np.flatnonzero(weights)
    if not len(used):
        raise DegenerateDataError(f"{owner} needs samples with a weight above 0; all weights are 0.")
    if isinstance(landmarks, str):
        L = _number_of_landmarks(X.shape[0], len(used), n_components, n_landmarks, owner)
        S = _number_of_components(n_components, len(used), L, owner)
        is_part = len(used) > L
        chosen = _choose(landmarks, X, weights, kernel, L, S, rng, owner) if is_part else _rows(X, kernel, used)
    else:
        given = given_landmarks(landmarks, X.shape[0], "landmarks", owner)
        S = _number_of_components(n_components, len(used), len(given), owner)
        chosen = _rows(X, kernel, given)
        if is_table_of_landmarks(X, kernel, given):
            chosen = Landmarks(given, np.arange(len(given)))
    # Chances to be drawn have the weights in them; where all samples are taken the kernel matrix has.
    is_all = chosen.indices is not None and np.array_equal(np.sort(chosen.indices), used)
    return _decompose(X, kernel, chosen, S, np.sqrt(weights[chosen.indices]) if is_all else None, owner)


def is_table_of_landmarks(X: Any, kernel: BoundKernel, landmarks: Index) -> bool:
    """Whether X has kernel values of all samples with the landmarks alone, one column for each."""
    return kernel.precomputed and X.shape[0] != X.shape[1] == len(landmarks)


def _number_of_landmarks(n: int, n_used: int, n_components: Number, n_landmarks: int | None, owner: str) -> int:
    """How many landmarks are chosen of n samples, n_used of which have a weight."""
    if n_landmarks is None:
        expected = n_components if isinstance(n_components, Integral) else _default_components(n_used)
        return min(n_used, max(_LANDMARKS, _PER_COMPONENT * int(expected)))
    if n_landmarks > n:
        raise ParameterError(
            f"n_landmarks of {owner} is {n_landmarks}, but X has only {n} rows to choose from. "
            f"Give at most {n}, or None."
        )
    return min(n_landmarks, n_used)


def _default_components(n_used: int) -> int:
    return min(max(_COMPONENTS[0], n_used // _SAMPLES), _COMPONENTS[1])


def _number_of_components(n_components: Number, n_used: int, L: int, owner: str) -> int:
    """The dimension that is asked for, of a subspace that L landmarks span."""
    if n_components == "auto":
        return L
    if n_components is None:
        return min(_default_components(n_used), L)
    if int(n_components) > L:
        raise ParameterError(
            f"n_components of {owner} is {n_components}, but {L} landmarks span at most {L} dimensions. "
            "Raise n_landmarks or lower n_components."
        )
    return int(n_components)


def _choose(
    rule: str, X: Any, weights: Array, kernel: BoundKernel, L: int, S: int, rng: np.random.Generator, owner: str
) -> Landmarks:
    """L landmarks by a rule, for a subspace of S dimensions."""

    def coordinates(some: Index, pilot: Index) -> Array:
        first = _decompose(X, kernel, _rows(X, kernel, np.sort(pilot)), S, None, owner)
        return np.asarray(first.coordinates(X if len(some) == X.shape[0] else X[some]), dtype=np.float64)

    # Rules that look at samples one by one look at as many of those in blocks as fit into memory.
    at_most = X.at_most(max(L, X.shape[1])) if isinstance(X, Samples) else None
    pool = Pool(X, kernel, np.arange(X.shape[0]), coordinates, weights=weights, dimensions=S, at_most=at_most)
    return choose_landmarks(rule, pool, L, rng)


def _rows(X: Any, kernel: BoundKernel, indices: Index) -> Landmarks:
    return Landmarks(indices, kernel.places(X, indices))


def _decompose(X: Any, kernel: BoundKernel, chosen: Landmarks, S: int, root: Array | None, owner: str) -> Subspace:
    """The leading subspace of the landmarks; `root` has the square roots of their weights, None if they are equal."""
    found = None
    if chosen.places.shape[0]:  # a rule may find that no sample is worth a kernel function
        K = kernel(X[chosen.indices], chosen.places) if kernel.precomputed else kernel(chosen.places)
        K = np.asarray(K, dtype=np.float64)
        if not np.allclose(K, K.T, rtol=1e-5, atol=1e-8 * float(np.abs(K).max())):
            raise ParameterError(f"the kernel of {owner} is not symmetric: k(x, y) differs from k(y, x).")
        found = leading_subspace(K, min(S, len(K)), root)
    if found is None or not len(found.eigenvalues):
        raise DegenerateDataError(
            f"{owner} found no positive eigenvalue in the kernel matrix of the landmarks: there is no subspace. "
            "Check the kernel and its parameters."
        )
    M = found.map.astype(X.dtype, copy=False)
    return Subspace(found.eigenvalues, M, found.energy, chosen, kernel, S, found.is_semidefinite, _resembles(K))


def _resembles(K: Array) -> str | None:
    """What a kernel matrix is numerically, if it says nothing about the samples."""
    size = np.sqrt(np.maximum(np.abs(K.diagonal()), 1e-300))
    cosines = K / size[:, None] / size
    if len(K) < 3:
        return None
    if float(np.abs(cosines - 1.0).max()) < _ALIKE:
        return "a constant"
    np.fill_diagonal(cosines, 0.0)
    # Most samples are unlike even the one that is most like them.
    return "the identity" if float(np.median(np.abs(cosines).max(axis=1))) < _APART else None
