"""Which points to keep kernel functions of."""

from collections.abc import Callable

import numpy as np

from rarefy.core.rows import Array, Index


def pivoted_cholesky(diagonal: Array, column: Callable[[int], Array], n: int, first: Index) -> Index:
    """Points chosen one by one, each the worst represented by those before, after some that are given.

    diagonal : (m,) k(x, x); column(i) : (m,) k(x, x_i). The residual of a point is the squared distance of
    its image from the span of the images chosen so far. At most n points come back, in order of choice.
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
