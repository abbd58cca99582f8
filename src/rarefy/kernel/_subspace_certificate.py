r"""What a subspace of a kernel's feature space keeps, for models that are not restricted to it.

K    : (n, n) kernel matrix of the samples; Phi : (n, S) their coordinates in the subspace; K~ = Phi Phi^T <= K
beta : (n, m) dual variables of models in the subspace, one column a model

Up to `LARGEST_HELD` samples both matrices are made and compared. Above it no n x n matrix is held. For t >= 0 the dual
value of t beta with the whole kernel, D(t beta), is a bound from below on what any model with that kernel can reach,
and needs the values of one product K beta only, computed in blocks of rows. The best t has a closed form (for the
logistic loss it is found by a search).
"""

from typing import Any

import numpy as np

from rarefy.certificates import KernelCertificate, certify_kernels
from rarefy.certificates._kernel import checked_targets
from rarefy.certificates._kernel_models import best_scales, objective_from, trained
from rarefy.certificates._kernel_objective import KernelObjective, Products
from rarefy.core.linalg.rows import Array
from rarefy.core.losses.margins import LossName
from rarefy.exceptions import ParameterError
from rarefy.kernel._extraction import Subspace

LARGEST_HELD = 2000
"""Samples of whose kernel matrix everything is measured; of more, only products with it."""
_BLOCK_ENTRIES = 1 << 23
"""Kernel values held at a time: 64 MB."""


def certify_subspace(
    subspace: Subspace, X: Any, y: Any, loss: LossName, C: float, alpha: float | None, owner: str
) -> KernelCertificate:
    """A certificate of a subspace and validated samples."""
    kernel, n = subspace.kernel, X.shape[0]
    if kernel.precomputed and X.shape[1] != n:
        raise ParameterError(
            f"{owner} with kernel='precomputed' needs the square matrix of kernel values that it was fitted on; X has "
            f"shape {X.shape}."
        )
    if not kernel.is_positive(X, np.arange(min(n, 200))):
        raise ParameterError(f"{owner} needs a kernel that is positive semi-definite; {kernel.kernel!r} is not.")
    Phi = np.asarray(subspace.coordinates(X), dtype=np.float64)
    if n <= LARGEST_HELD:
        rows = np.arange(n)
        cost = None if y is None or alpha is not None else C
        return certify_kernels(kernel.between(X, rows, rows), Phi @ Phi.T, y, loss=loss, C=cost, alpha=alpha)
    if alpha is not None:
        if y is None:
            raise ParameterError(
                f"{owner} compares whole kernel matrices at a penalty alpha, for up to {LARGEST_HELD} samples; X has "
                f"{n}. Pass fewer samples, or labels."
            )
        loss, C = "squared", 1.0 / (2.0 * alpha)
    diagonal = kernel.diagonal(X)
    objective = None
    if y is not None:
        objective = _objective(subspace, X, Phi, diagonal, checked_targets(y, loss, n), loss, C)
    return KernelCertificate(
        n_samples=n,
        eigenvalues=(0.0, np.inf),
        rank=None,
        trace_ratio=float(np.sum(Phi**2) / diagonal.sum()),
        nested=_is_exact(subspace),
        objective=objective,
    )


def _objective(
    subspace: Subspace, X: Any, Phi: Array, diagonal: Array, Y: Array, loss: LossName, C: float
) -> KernelObjective:
    beta = trained(Phi, Y, loss, C)
    kept = Products(beta, Phi @ (Phi.T @ beta), np.einsum("ij,ij->i", Phi, Phi))
    whole = Products(beta, _product(subspace, X, beta), diagonal)
    return objective_from(whole.scaled(best_scales(whole, Y, C, loss)), kept, Y, loss, C)


def _product(subspace: Subspace, X: Any, beta: Array) -> Array:
    """K beta in blocks of rows; columns of zeros are not computed."""
    support = np.flatnonzero(beta.any(axis=1))
    product, places = np.zeros(beta.shape), subspace.kernel.places(X, support)
    step = max(1, _BLOCK_ENTRIES // max(1, len(support)))
    for first in range(0, len(beta) if len(support) else 0, step):
        rows = slice(first, first + step)
        product[rows] = np.asarray(subspace.kernel(X[rows], places), dtype=np.float64) @ beta[support]
    return product


def _is_exact(subspace: Subspace) -> bool:
    """Whether coordinates are exact enough to say that the subspace's kernel is at most the whole one."""
    blur = float(np.finfo(subspace.map.dtype).eps)
    return blur * float(subspace.eigenvalues[0]) <= 1e-6 * float(subspace.eigenvalues[-1])
