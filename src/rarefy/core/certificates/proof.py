r"""Bounds on what a selection does to a Gram matrix, proved with all rounding included.

K  : (n, n) Gram matrix X X^T;  K~ : X R R^T X^T, with the kept columns and their weights
u  : unit roundoff, 2^-53;  gamma_m = m u / (1 - m u)

All eigenvalues of V^T R R^T V are at least c exactly when K~ - c K is positive semi-definite, for V that spans the row
space of X. A floating-point Cholesky factorisation that runs to its end proves that its matrix, plus errors of norm at
most gamma_(n+1) / (1 - gamma_(n+1)) tr, is positive semi-definite [Rump2006]. The matrix itself carries the rounding of
the Gram matrices: at most gamma_d |X| |X|^T in every entry, hence gamma_d tr K in norm. All of that is subtracted from
the diagonal first. What is lost that way grows like (n + d) u kappa(X)^2: rows are brought to comparable lengths by
powers of two, which is exact, and ill-conditioned data are left without a proof.

References
----------
[Rump2006] S. M. Rump, Verification of positive definiteness, BIT 46, 2006.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg as sl

from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.core.linalg.threads import threads_for

LARGEST = 4000
"""Rows up to which a proof is tried: it takes Cholesky factorisations of that size."""
_UNIT = 2.0**-53
_STEPS = (0.0, 1e-11, 1e-10, 1e-9, 5e-9, 1e-7, 1e-6, 1e-5, 2e-5, 1e-4)
"""Shares by which an interval is widened until it is proved; some of them for many rows."""
_MANY = 1000
_ROOM = 4.0
"""What is stated is proved with so many times the errors, so that whoever repeats it, rounding otherwise, succeeds."""


@dataclass(frozen=True)
class GramPair:
    """K and K~ of rows that were scaled by powers of two, and the sizes that rounding errors depend on."""

    K: Array
    kept: Array
    n_columns: int
    n_kept: int

    @classmethod
    def of(cls, X: Rows, indices: Index, weights: Array) -> "GramPair":
        """Both matrices of the data."""
        K = X.T.gram()
        B = X.T.take(indices) * weights[:, None]
        kept = B.T @ B
        with np.errstate(divide="ignore", invalid="ignore"):
            power = np.where(K.diagonal() > 0.0, -np.round(0.5 * np.log2(K.diagonal())), 0.0)
        scale = np.exp2(power)
        return cls(K * np.outer(scale, scale), kept * np.outer(scale, scale), X.shape[1], len(indices))

    def proves(self, low: float, high: float) -> bool:
        """Whether low K <= K~ <= high K for the exact numbers."""
        return self.at_least(low) and self.at_most(high)

    def at_least(self, c: float, room: float = 1.0) -> bool:
        """Whether K~ - c K is positive semi-definite for the exact numbers; with `room` times the errors."""
        return _positive(self.kept - c * self.K, room * self._shift(c))

    def at_most(self, c: float, room: float = 1.0) -> bool:
        """Whether c K - K~ is positive semi-definite for the exact numbers; with `room` times the errors."""
        return _positive(c * self.K - self.kept, room * self._shift(c))

    def _shift(self, c: float) -> float:
        n = len(self.K)
        whole, part = c * float(np.trace(self.K)), float(np.trace(self.kept))
        return 1.1 * (_gamma(self.n_columns + n + 12) * whole + _gamma(self.n_kept + n + 12) * part)


def _gamma(m: int) -> float:
    return m * _UNIT / (1.0 - m * _UNIT)


def _positive(A: Array, shift: float) -> bool:
    """Whether a Cholesky factorisation of A - shift I runs to its end."""
    if not np.all(np.isfinite(A)):
        return False
    A.flat[:: len(A) + 1] -= shift
    if A.diagonal().min(initial=0.0) < 0.0:
        return False
    try:
        with threads_for(len(A)):
            sl.cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


def proved_interval(X: Rows, indices: Index, weights: Array, low: float, high: float) -> tuple[float, float] | None:
    """An interval hardly wider than the given one that is proved, or None.

    It is wider by a ten-thousandth at most.
    """
    if not low > 0.0 or X.shape[0] > min(LARGEST, X.shape[1]):
        return None
    pair = GramPair.of(X, indices, weights)
    steps = _STEPS if X.shape[0] <= _MANY else _STEPS[::3]
    below = next((low * (1.0 - s) for s in steps if pair.at_least(low * (1.0 - s), _ROOM)), None)
    if below is None:
        return None
    above = next((high * (1.0 + s) for s in steps if pair.at_most(high * (1.0 + s), _ROOM)), None)
    return None if above is None else (below, above)
