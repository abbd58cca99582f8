"""Cholesky factors of matrices that rounding may have made indefinite."""

from typing import Any

import numpy as np
import scipy.linalg as sl

from rarefy.core.linalg.rows import Array

_LIFTS = 10.0 ** np.arange(-14.0, 1.0, 2.0)


def lifted_cholesky(M: Array, what: str, *, plain_first: bool = True) -> Any:
    """The factor, for `scipy.linalg.cho_solve`, of M with the least lift of its diagonal that makes it positive.

    Parameters
    ----------
    M : (n, n) array
        Positive semi-definite but for rounding.
    what : str
        Its name, for the error that is raised if no lift helps.
    plain_first : bool
        Whether to try without a lift.
    """
    if plain_first:
        # Not cho_factor: its checks, and a copy in Fortran's order, take longer than small factors.
        factor, failed = sl.lapack.dpotrf(M.T, lower=False, clean=False)
        if not failed:
            return factor, False
    largest = float(M.diagonal().max(initial=0.0)) or 1.0
    for lift in _LIFTS:
        lifted = M.copy()
        lifted.flat[:: len(M) + 1] += lift * largest
        factor, failed = sl.lapack.dpotrf(lifted.T, lower=False, clean=False, overwrite_a=True)
        if not failed:
            return factor, False
    raise np.linalg.LinAlgError(f"{what} is far from positive semi-definite, or not finite")
