r"""Columns and weights whose eigenvalues are as even as can be reached, within the published bound.

V     : (d, l) matrix with V^T V = I
r     : number of rows to choose; q = sqrt(l / r)
t     : squared weights of the chosen rows;  M : sum of t v v^T
kappa : lambda_max(M) / lambda_min(M)

*Columns.* One lower barrier (`unweighted`) finds better rows than two barriers (`bss`), but what it reaches is not
known beforehand. Weights are the best ones for the rows (`reweight`), scaled to lambda_min + lambda_max = 2, where
||I - M|| = (kappa - 1) / (kappa + 1). Two barriers guarantee kappa <= ((1 + q) / (1 - q))^2, hence

    ||I - M|| <= 2 q / (1 + q^2).

Should one barrier ever exceed that, two barriers choose as well, with their own weights as a start, and the more even
choice is taken.

*Token weights.* The best weights leave some rows out. So that as many are kept as were chosen, these share a token:
they add a positive semidefinite matrix of norm at most `_TOKEN`, which lowers no eigenvalue and raises none by more
than that. The token is at most half of what is left up to the bound, so the bound holds with the tokens in place;
both choices are compared with them.
"""

import numpy as np

from rarefy.core.linalg.spectrum import RightVectors
from rarefy.core.linalg.threads import threads_for
from rarefy.core.sparsify import Selection
from rarefy.core.sparsify.bss import Progress, bss
from rarefy.core.sparsify.reweight import extremes, optimal_weights
from rarefy.core.sparsify.unweighted import unweighted

_MOST_FLOPS = 2e12
"""Operations that take minutes."""
_TOKEN = 1e-3
"""What rows that the best weights leave out may add to the eigenvalues, which are about 1."""


def affordable(V: RightVectors, r: int) -> bool:
    """Whether scoring all rows at every step, and ten steps of an optimisation after it, take minutes at most."""
    d, ell = V.shape
    return 4 * d * ell * r + 40 * r * ell * (r + 2 * ell) <= _MOST_FLOPS


def most_even(V: RightVectors, r: int, progress: Progress | None = None) -> Selection:
    """Choose at most r rows of V, r > l or r = l = 1, with ||I - M|| <= 2 q / (1 + q^2)."""
    ell = V.shape[1]
    if ell == r == 1:
        return bss(V, r, progress)
    q = float(np.sqrt(ell / r))
    bound = 2.0 * q / (1.0 + q * q)
    chosen = _reweighted(V, unweighted(V, r, progress), bound)
    if chosen[1] > bound:
        chosen = min(chosen, _reweighted(V, bss(V, r, progress), bound), key=lambda found: found[1])
    return chosen[0]


def _reweighted(V: RightVectors, selection: Selection, bound: float) -> tuple[Selection, float]:
    """The same rows with the weights that make the eigenvalues most even, and ||I - M|| with these weights."""
    rows = V.take(selection.indices)
    found = optimal_weights(rows, [selection.weights**2])
    t, left_out = found.t, found.t == 0.0
    if left_out.any():
        highest = 2.0 - 2.0 / (1.0 + found.ratio)
        room = 1.0 + bound - highest
        # Without room the bound is missed anyway: a token for the comparison with other rows.
        token = min(_TOKEN, 0.5 * room) if room > 0.0 else _TOKEN
        t[left_out] = token / max(float(np.sum(rows[left_out] ** 2)), 1.0)
    with threads_for(V.shape[1]):
        low, high = extremes(rows, t)
    return Selection(selection.indices, np.sqrt(t)), max(1.0 - low, high - 1.0)
