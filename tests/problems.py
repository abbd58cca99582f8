"""Matrices with the structures that selection has to cope with, drawn by hypothesis."""

import numpy as np
from hypothesis import strategies as st

STRUCTURES = (
    "gaussian",
    "low rank",
    "duplicates",
    "near duplicates",
    "zero columns",
    "heavy tail",
    "counts",
    "multiples",
    "one-hot",
)


def make_matrix(structure, n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if structure == "low rank":
        k = int(rng.integers(1, n + 1))
        X = X[:, :k] @ rng.standard_normal((k, d)) if k <= d else X
    elif structure == "duplicates":
        X = X[:, rng.integers(0, max(1, d // 3), d)]
    elif structure == "near duplicates":
        X = X[:, rng.integers(0, max(1, d // 4), d)] + 1e-6 * X
    elif structure == "zero columns":
        X[:, rng.random(d) < 0.4] = 0.0
        X[:, 0] = 1.0
    elif structure == "heavy tail":
        X *= rng.pareto(1.0, d) + 1e-3
    elif structure == "multiples":
        X = X[:, rng.integers(0, max(1, d // 4), d)] * rng.uniform(-3, 3, d)
    elif structure == "one-hot":
        X = np.where(np.arange(n)[:, None] == rng.integers(0, n, d), rng.uniform(0.5, 2, d), 0.0)
    elif structure == "counts":
        X = rng.poisson(0.4, (n, d)).astype(float)
        X[:, 0] += 1.0
    return X


@st.composite
def wide_problems(draw, max_rows=9, max_columns=60):
    """(X, r) with r above the rank and below the number of columns that are not zero."""
    structure = draw(st.sampled_from(STRUCTURES))
    n = draw(st.integers(1, max_rows))
    d = draw(st.integers(4 * n + 8, max(max_columns, 4 * n + 8)))
    X = make_matrix(structure, n, d, draw(st.integers(0, 2**32 - 1)))
    rank = np.linalg.matrix_rank(X)
    nonzero = int(np.sum(np.any(X != 0, axis=0)))
    r = draw(st.integers(rank + 1, max(rank + 1, nonzero - 1)))
    return X, r
