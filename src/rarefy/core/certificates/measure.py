r"""Measuring a selection against the spectrum that it should preserve.

V : (d, l) right singular vectors; R : selection and rescaling of columns
M : V^T R R^T V, an l x l matrix from the kept rows of V
"""

import numpy as np

from rarefy.core.certificates.measurement import Measurement
from rarefy.core.linalg.rows import Array
from rarefy.core.linalg.spectrum import Spectrum
from rarefy.core.linalg.threads import threads_for
from rarefy.core.sparsify import Selection


def measure(spec: Spectrum, selection: Selection, residual2: Array | None = None) -> Measurement:
    """Measure what a selection does to the leading singular vectors of the data.

    Parameters
    ----------
    spec : Spectrum
        The singular vectors.
    selection : Selection
        Which columns are kept, with which weights.
    residual2 : (d,) array or None
        Squared norms of what V leaves of each column, if the residual is to be measured.
    """
    W = spec.V.take(selection.indices) * selection.weights[:, None]
    with threads_for(spec.rank):
        eigenvalues = np.linalg.eigvalsh(W.T @ W)
    return Measurement(
        eigenvalues=(max(0.0, float(eigenvalues[0])), float(eigenvalues[-1])),
        rank=spec.rank,
        numerical_rank=spec.numerical_rank,
        singular_values=(float(spec.sigma[0]), float(spec.sigma[-1])),
        next_singular_value=spec.next_singular_value,
        energy_kept=spec.energy,
        residual_ratio=None if residual2 is None else _residual_ratio(residual2, selection),
        resolution=spec.resolution,
        unseen=spec.unseen,
        choice=spec.choice,
    )


def _residual_ratio(residual2: Array, selection: Selection) -> float | None:
    total = residual2.sum()
    if total == 0.0:
        return None
    return float(np.sum(selection.weights**2 * residual2[selection.indices]) / total)
