r"""Measuring a selection against the spectrum that it should preserve.

V : (d, l) right singular vectors; R : selection and rescaling of columns
M : V^T R R^T V, an l x l matrix from the kept rows of V
"""

from dataclasses import replace

import numpy as np
import scipy.linalg as sl

from rarefy.core.certificates.measurement import EPS, Interval, Measurement
from rarefy.core.certificates.proof import proved_interval
from rarefy.core.linalg.columns import column_means
from rarefy.core.linalg.rows import Array, Rows
from rarefy.core.linalg.spectrum import Decomposition, Spectrum
from rarefy.core.linalg.threads import threads_for
from rarefy.core.sparsify import Selection

_DOMINANT = 0.5
"""Share of the squared norm from which on the mean of the rows hides what distinguishes them."""


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
    return Measurement(
        eigenvalues=interval(spec, selection).outward(),
        rank=spec.rank,
        numerical_rank=spec.numerical_rank if spec.complete else spec.rank + 1,
        singular_values=(float(spec.sigma[0]), float(spec.sigma[-1])),
        next_singular_value=spec.next_singular_value,
        energy_kept=spec.energy,
        residual_ratio=None if residual2 is None else _residual_ratio(residual2, selection),
        resolution=spec.resolution,
        unseen=spec.unseen,
        choice=spec.choice,
        complete=spec.complete,
    )


def interval(spec: Spectrum, selection: Selection) -> Interval:
    """The extreme eigenvalues of M."""
    W = spec.V.take(selection.indices) * selection.weights[:, None]
    with threads_for(spec.rank):
        eigenvalues = np.linalg.eigvalsh(W.T @ W)
    weights2 = selection.weights**2
    left_out = np.ones(spec.V.shape[0], dtype=bool)
    left_out[selection.indices] = False
    return Interval(
        low=max(0.0, float(eigenvalues[0])) if len(selection.indices) >= spec.rank else 0.0,
        high=float(eigenvalues[-1]),
        condition=float(spec.sigma[0] / spec.sigma[-1]),
        size=spec.rank,
        weights2=(float(weights2.min(initial=np.inf)), float(weights2.max(initial=0.0))),
        complete=not spec.V.norms2[left_out].any(),
    )


def with_proof(found: Measurement, X: Rows, selection: Selection) -> Measurement:
    """The same with an interval that is proved, where V spans everything and the data let it be proved."""
    low, high = found.eigenvalues
    if found.rank < found.numerical_rank or found.rank < X.shape[0] or low == high:
        return found
    proved = proved_interval(X, selection.indices, selection.weights, *found.eigenvalues)
    return found if proved is None else replace(found, eigenvalues=proved, proved=True)


def with_span(found: Measurement, X: Rows, selection: Selection, whole: Decomposition) -> Measurement:
    """The same with what the kept columns explain, where V does not span the data or they are fewer than dimensions.

    Parameters
    ----------
    found : Measurement
        What was measured.
    X : Rows of shape (n, d)
        The data; of tall data that are wholly decomposed only the decomposition is looked at.
    selection : Selection
        Which columns are kept.
    whole : Decomposition
        The singular values of the data.
    """
    k = len(selection.indices)
    if k >= found.numerical_rank == found.rank:
        return found
    X = whole.compressed(X)
    Q, R, _ = sl.qr(X.T.take(selection.indices).T, mode="economic", pivoting=True, check_finite=False)
    size = np.abs(R.diagonal())
    Q = Q[:, size > max(X.shape) * EPS * float(size.max(initial=0.0))]
    # One block at a time: X^T Q would be dense, with a row for every column of the data.
    inside = sum(float(np.sum((block / whole.scale) ** 2)) for _, block in X.T.blocks(Q)) / whole.trace
    best = float(np.sum(whole.sigma[:k] ** 2)) / whole.trace if k <= whole.rank or whole.complete else None
    return replace(found, explained=min(1.0, inside), explainable=None if best is None else min(1.0, best))


def dominant_mean(X: Rows) -> dict[str, float]:
    """The share of the squared norm that the mean of the rows carries, by name, if it is more than half."""
    n = X.shape[0]
    norms = X.column_norms()
    largest = float(norms.max(initial=0.0))
    if n < 2 or not 0.0 < largest < np.inf:
        return {}
    mean = column_means(X)
    share = n * float(np.sum((mean / largest) ** 2)) / float(np.sum((norms / largest) ** 2))
    return {"mean_share": min(share, 1.0)} if share > _DOMINANT else {}


def _residual_ratio(residual2: Array, selection: Selection) -> float | None:
    total = residual2.sum()
    if total == 0.0:
        return None
    return float(np.sum(selection.weights**2 * residual2[selection.indices]) / total)
