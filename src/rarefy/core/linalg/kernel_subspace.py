r"""The leading subspace of a kernel's feature space, from the kernel matrix of a few samples.

K     : (L, L) kernel matrix of the landmarks
r     : (L,) square roots of their weights
S     : dimensions wanted
lam   : (S,) largest eigenvalues of diag(r) K diag(r), decreasing; U : (L, S) their vectors
M     : (L, S) map, diag(r) U diag(lam)^-1/2: kernel values of a sample with the landmarks, times M, are its coordinates

[YajimaOhiMori2003] has r = 1.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from rarefy.core.linalg.rows import Array

_INDEFINITE = 1e-6
"""A kernel matrix counts as indefinite if an eigenvalue is below minus this share of the largest one."""


@dataclass(frozen=True)
class LeadingSubspace:
    """Eigenvalues above the rounding error of the largest, the map to coordinates, and what is known of the rest."""

    eigenvalues: Array
    map: Array
    energy: float
    """Share of the trace that the eigenvalues carry."""
    is_semidefinite: bool
    """Whether the matrix has no clearly negative eigenvalue; False if it has no positive one."""


def leading_subspace(K: Array, S: int, root_weights: Array | None = None) -> LeadingSubspace:
    """Decompose a kernel matrix and keep at most S dimensions.

    Parameters
    ----------
    K : (L, L) array
        The symmetric kernel matrix of the landmarks.
    S : int
        Dimensions wanted, at most L.
    root_weights : (L,) array or None
        Square roots of the weights of the landmarks; None means equal weights.
    """
    root = np.ones(len(K)) if root_weights is None else root_weights
    K = K if root_weights is None else K * root[:, None] * root
    eigenvalues, vectors = _largest(K, S)
    floor = len(K) * np.finfo(np.float64).eps * max(float(eigenvalues[0]), 0.0) * 10.0
    kept = int(np.sum(eigenvalues > floor))
    is_semidefinite = kept > 0 and _is_nearly_definite(K, _INDEFINITE * float(eigenvalues[0]))
    eigenvalues, vectors = eigenvalues[:kept], vectors[:, :kept]
    vectors = vectors * np.where(root @ vectors < 0.0, -1.0, 1.0)  # the mean coordinate is >= 0
    trace = float(np.trace(K))
    energy = min(1.0, float(eigenvalues.sum()) / trace) if trace > 0.0 else 1.0
    return LeadingSubspace(eigenvalues, root[:, None] * vectors / np.sqrt(eigenvalues), energy, is_semidefinite)


def _largest(K: Array, S: int) -> tuple[Array, Array]:
    """The S largest eigenvalues, largest first, and their vectors."""
    eigenvalues, vectors = sl.eigh(K, subset_by_index=[len(K) - S, len(K) - 1])
    if len(eigenvalues) < S:  # the method for some of them can lose members of a cluster
        eigenvalues, vectors = sl.eigh(K, driver="evd")
    return eigenvalues[::-1][:S], vectors[:, ::-1][:, :S]


def _is_nearly_definite(K: Array, tolerance: float) -> bool:
    """Whether no eigenvalue is below -tolerance: then a Cholesky factorisation succeeds."""
    shifted = K.copy()
    shifted.flat[:: len(K) + 1] += tolerance
    try:
        sl.cholesky(shifted, overwrite_a=True, check_finite=False)
    except sl.LinAlgError:
        return False
    return True
