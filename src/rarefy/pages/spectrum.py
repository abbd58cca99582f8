"""What is kept of every direction of the data, beside what is proved about all of them, drawn for a page."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from markupsafe import Markup

from rarefy.certificates import Certificate
from rarefy.core.linalg.rows import Array, as_rows
from rarefy.core.linalg.spectrum import decompose
from rarefy.pages.drawings import Line, Plot, curves, legend

_OPERATIONS = 2e10
"""Beyond so many the decomposition would take longer than the selection."""
_DOTS = 400
_LEAST = 1e-4
"""The axis goes no further down: what is below is as good as lost."""


@dataclass(frozen=True)
class SpectrumPicture:
    """The picture and what its lines are."""

    picture: Markup
    legend: Markup
    n_lost: int
    """Directions of which less is kept than the picture can show."""


def eigenvalues_of(X: Any, certificate: Certificate) -> Array | None:
    """All eigenvalues of V'RR'V, ascending, of which the certificate has the extremes; None where that is costly."""
    n, d = X.shape
    if certificate.rows is not None or certificate.sketch is not None or certificate.choice is not None:
        return None
    if float(X.nnz if sp.issparse(X) else n * d) * min(n, d) > _OPERATIONS:
        return None
    V = decompose(as_rows(X)).leading(certificate.rank).V
    W = V.take(certificate.indices) * certificate.weights[:, None]
    return np.asarray(np.linalg.eigvalsh(W.T @ W), dtype=np.float64)


def draw_spectrum(eigenvalues: Array, certificate: Certificate) -> SpectrumPicture:
    """One dot for each direction, from the weakest to the strongest, and lines that no dot crosses."""
    count = len(eigenvalues)
    places = np.unique(np.linspace(0, count - 1, min(count, _DOTS)).astype(int))
    low, high = certificate.eigenvalues
    top = 10.0 ** np.ceil(np.log10(max(high, 1.0) * 1.05))
    bottom = 10.0 ** np.floor(np.log10(max(min(low if low > 0.0 else _LEAST, 0.5), _LEAST)))
    kept = np.clip(eigenvalues[places], bottom, top)
    ends = [1.0, float(max(count, 2))]
    lines = [
        Line("all of it", ends, [1.0, 1.0], "quiet"),
        Line("a direction of the data", (places + 1.0).tolist(), kept.tolist(), "accent", dots=True, joined=False),
    ]
    if low >= bottom:
        lines.append(Line("certified: no direction is below", ends, [low, low], "second"))
    before = certificate.distortion_bound
    if before is not None and 1.0 - before >= bottom:
        lines.append(Line("known before looking at the data", ends, [1.0 - before, 1.0 - before], "third"))
    plot = Plot(480, 300, (ends[0], ends[1]), (bottom, top), log_y=True)
    title = f"What is kept of {count} directions of the data: between {eigenvalues[0]:.3g} and {eigenvalues[-1]:.3g}."
    drawn = curves(
        "spectrum",
        title,
        plot,
        lines,
        ("direction, from the weakest to the strongest", "share that is kept"),
        x_ticks=[1, *([count] if count > 1 else [])],
        y_ticks=[float(f"1e{k}") for k in range(round(np.log10(bottom)), round(np.log10(top)) + 1)],
    )
    return SpectrumPicture(drawn, legend(lines), int(np.sum(eigenvalues < bottom)))
