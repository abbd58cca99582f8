"""Which samples to keep kernel functions of."""

from collections.abc import Callable

import numpy as np

from rarefy.core.linalg.rows import Array, Index


def pivoted_cholesky(diagonal: Array, column: Callable[[int], Array], n: int, first: Index) -> Index:
    """Samples chosen one by one, each the worst represented by those before, after some that are given.

    diagonal : (m,) k(x, x); column(i) : (m,) k(x, x_i). The residual of a sample is the squared distance of
    its image from the span of the images chosen so far. At most n samples come back, in order of choice.
    """
    residual = diagonal.astype(np.float64).copy()
    factors = np.zeros((len(residual), n))
    chosen: list[int] = []
    floor = 1e-12 * float(residual.max(initial=0.0))
    while len(chosen) < n:
        waiting = first[len(chosen)] if len(chosen) < len(first) else None
        i = int(np.argmax(residual)) if waiting is None else int(waiting)
        if residual[i] <= floor:
            if waiting is None:
                break
            residual[i], first = 0.0, np.delete(first, len(chosen))
            continue
        k = len(chosen)
        factors[:, k] = (column(i) - factors[:, :k] @ factors[i, :k]) / np.sqrt(residual[i])
        residual -= factors[:, k] ** 2
        residual[i] = 0.0
        chosen.append(i)
    return np.array(chosen, dtype=np.intp)


def ridge_leverage(D: Array, diagonal: Array, weights: Array, size: int) -> Array:
    """Estimates of x^T (sum of all x x^T + ridge)^-1 x in feature space: how much a sample adds to a subspace.

    D : (m, k) coordinates of the samples in the subspace of a first sample; diagonal : (m,) k(x, x). What is inside the
    subspace is measured by the samples themselves, what is outside by the ridge: its share of `size` dimensions.
    """
    outside = np.maximum(diagonal - np.sum(D * D, axis=1), 0.0)
    G = (D.T * weights) @ D
    ridge = max(float(weights @ outside) / size, 1e-12 * float(np.trace(G)), 1e-300)
    inside = np.sum(D * np.linalg.solve(G + ridge * np.eye(len(G)), D.T).T, axis=1)
    # A floor keeps every sample eligible: the scores are estimates.
    scores = inside + outside / ridge
    return np.asarray(scores + 1e-3 * scores.mean() + 1e-300)
