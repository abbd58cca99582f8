"""Compare two kernel matrices of the same samples, wherever they come from."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rarefy._fit import checked_arguments
from rarefy._parameters import POSITIVE
from rarefy.certificates._kernel import KernelCertificate, checked_targets, fingerprints
from rarefy.certificates._kernel_check import blur, checked_kernels, floor_of, is_nested, resolution_of
from rarefy.certificates._kernel_models import make_kernel_objective
from rarefy.core.certificates.kernel_values import Regularised
from rarefy.core.certificates.pencil import kernel_interval
from rarefy.core.certificates.regularised import regularised
from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.threads import threads_for
from rarefy.core.losses.margins import LOSSES, LossName
from rarefy.exceptions import DegenerateDataError, ParameterError

_TOLD = 2e-4
"""A number that rounding may blur by more than this share of itself is not stated."""


@checked_arguments({"loss": [StrOptions(set(LOSSES))], "C": [POSITIVE, None], "alpha": [POSITIVE, None]})
def certify_kernels(
    K: Any,
    K_kept: Any,
    y: Any = None,
    *,
    loss: LossName = "hinge",
    C: float | None = None,
    alpha: float | None = None,
) -> KernelCertificate:
    """Say what is guaranteed when one kernel matrix takes the place of another.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix with all columns, symmetric and positive semi-definite up to rounding.
    K_kept : array-like of shape (n_samples, n_samples)
        Kernel matrix of the same samples with the kept columns, with other weights, or in a subspace.
    y : array-like of shape (n_samples,) or None, default=None
        Class labels, or responses for kernel ridge regression. With `C` (or `alpha`) the share of the objective that is
        kept is proved; of several classes that of the sum over one-against-rest models.
    loss : {"hinge", "squared_hinge", "logistic", "squared"}, default="hinge"
        The loss of the objective 1/2 ||f||^2 + C times the sum of losses, with a free intercept. Squared losses carry
        no factor 1/2.
    C : float or None, default=None
        What multiplies the losses, > 0; needs `y`.
    alpha : float or None, default=None
        Penalty of kernel ridge regression, > 0, as in scikit-learn's `KernelRidge`. What is guaranteed for that penalty
        is stated, and with `y` the share of the objective that is kept (C = 1 / (2 alpha) with the squared loss).

    Returns
    -------
    certificate : KernelCertificate
        What is guaranteed, measured and in words.

    Raises
    ------
    ParameterError
        If a matrix is not a kernel matrix, or alpha is so small that rounding decides.
    DegenerateDataError
        If every entry of K is zero.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> from sklearn.metrics.pairwise import rbf_kernel
    >>> X = np.random.default_rng(0).standard_normal((60, 5))
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> K, K_kept = rbf_kernel(X), rbf_kernel(X[:, :2], gamma=0.2)
    >>> certificate = rarefy.certify_kernels(K, K_kept, y, C=1.0)
    >>> certificate.objective_ratio > 0.9
    True
    """
    _check_together(y, C, alpha)
    K, K_kept = checked_kernels(K, K_kept, "certify_kernels")
    if not K.any():
        raise DegenerateDataError("certify_kernels got a matrix K in which every entry is zero.")
    eigenvalues, rank = _interval(K, K_kept)
    found = KernelCertificate(
        n_samples=len(K),
        eigenvalues=eigenvalues,
        rank=rank,
        trace_ratio=float(np.trace(K_kept) / np.trace(K)),
        nested=is_nested(K, K_kept),
        resolution=resolution_of(K, rank),
        fingerprint=fingerprints(K, K_kept),
    )
    if alpha is not None:
        found = replace(found, regularised=_penalised(K, K_kept, float(alpha)))
        loss, C = "squared", 1.0 / (2.0 * alpha)
    if y is None or C is None:
        return found
    Y = checked_targets(y, loss, len(K))
    return replace(found, objective=make_kernel_objective(K, K_kept, Y, loss, float(C)))


def _check_together(y: Any, C: float | None, alpha: float | None) -> None:
    if C is not None and alpha is not None:
        raise ParameterError("certify_kernels takes C or alpha, not both: C multiplies the losses, alpha the penalty.")
    if C is not None and y is None:
        raise ParameterError("C of certify_kernels needs labels: pass y.")
    if y is not None and C is None and alpha is None:
        raise ParameterError("y of certify_kernels needs C, or alpha for kernel ridge regression.")


def _interval(K: Array, K_kept: Array) -> tuple[tuple[float, float], int]:
    """lo and hi of the two matrices, 0 and infinity where rounding blurs them, and the rank of K."""
    found = kernel_interval(K, K_kept)
    lo, hi = found.lo, found.hi
    if lo == 0.0 and np.isinf(hi):
        return (lo, hi), found.rank
    # The bars once more, by what they do: twice the error takes as much off again.
    size, size_kept = _balanced_norms(K, K_kept)
    again = kernel_interval(K, K_kept, error=size, error_kept=size_kept)
    same = again.rank == found.rank and again.added == found.added
    if not (same and lo - again.lo <= _TOLD * lo):
        lo = 0.0
    if not (same and again.hi - hi <= _TOLD * hi):
        hi = np.inf
    return (lo, hi), found.rank


def _balanced_norms(K: Array, K_kept: Array) -> tuple[float, float]:
    """Rounding of both matrices with the diagonal of K brought to 1, in the units of the longest sample."""
    diagonal = K.diagonal()
    d = 1.0 / np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0))
    unit = blur(len(K)) / float((d * d).max())
    with threads_for(len(K)):
        norms = [float(np.abs(np.linalg.eigvalsh(d[:, None] * A * d)[[0, -1]]).max()) for A in (K, K_kept)]
    return norms[0] * unit, norms[1] * unit


def _penalised(K: Array, K_kept: Array, alpha: float) -> Regularised:
    """What holds for one penalty; lo and hi only if they are known to four digits."""
    found = regularised(K, K_kept, alpha)
    with threads_for(len(K)):
        top = float(np.linalg.eigvalsh(K)[-1])
        kept = np.linalg.eigvalsh(K_kept)
    e, e_kept = blur(len(K)) * top, blur(len(K)) * float(kept[-1])
    b = alpha + max(0.0, float(kept[0]) - e_kept)
    if 2.0 * (e_kept + e / np.sqrt(found.bias_factor)) > _TOLD * b:
        raise ParameterError(
            f"alpha of certify_kernels is {alpha:.3g}, so small beside the largest eigenvalue of K, {top:.3g}, that "
            "rounding decides. Take a larger one, or none."
        )
    if e_kept / alpha + found.lo * e / alpha + blur(len(K)) * found.hi > _TOLD * found.lo:
        found = replace(found, lo=floor_of(K, alpha))
    if e_kept / alpha + found.hi * (e / alpha + blur(len(K))) > _TOLD * found.hi:
        found = replace(found, hi=np.inf)
    return found
