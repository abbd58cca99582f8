"""Samples of a linear classifier: which are support vectors, which count, and what was passed for some of them."""

from typing import Any

import numpy as np

from rarefy.core.linalg.rows import Index


def support_vectors(model: Any, X: Any, y: Any) -> Index:
    """Row numbers of the support vectors of a fitted linear classifier."""
    if hasattr(model, "support_vectors_") and hasattr(model, "support_"):  # libsvm; elsewhere support_ is a mask
        return np.sort(model.support_)
    scores = model.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    sign = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    margin = (sign * scores).min(axis=1)
    # Solvers stop a little short of the optimum; `tol` is how much. A penalised intercept can leave a class
    # without support vectors: then its nearest sample represents it.
    inside = margin <= 1.0 + getattr(model, "tol", 0.0)
    for label in model.classes_:
        own = np.flatnonzero(y == label)
        inside[own[margin[own].argmin()]] = True
    return np.flatnonzero(inside)


def counted_rows(params: dict[str, Any], n_samples: int) -> Index:
    """Samples with a positive weight."""
    weights = params.get("sample_weight")
    return np.arange(n_samples) if weights is None else np.flatnonzero(np.asarray(weights) > 0)


def restricted(params: dict[str, Any], rows: Index) -> dict[str, Any]:
    """Restrict per-sample metadata to some rows."""
    per_row = {key: np.asarray(value) for key, value in params.items() if np.ndim(value) > 0}
    return params | {key: value[rows] for key, value in per_row.items()}
