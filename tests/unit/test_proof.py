"""Intervals of eigenvalues that are proved with all rounding included."""

import numpy as np
import pytest
import scipy.linalg as sl

from rarefy.core.certificates.proof import GramPair, proved_interval
from rarefy.core.linalg.rows import as_rows


def problem(n=12, d=60, kept=40):
    """Rows, chosen columns with weights, and the eigenvalues of what they do to the Gram matrix."""
    rng = np.random.default_rng(0)
    X, indices, weights = rng.standard_normal((n, d)), rng.permutation(d)[:kept], rng.uniform(0.7, 1.5, kept)
    B = X[:, indices] * weights
    return X, indices, weights, sl.eigvalsh(B @ B.T, X @ X.T)


def test_eigenvalues_are_proved_and_none_that_is_higher_or_lower():
    X, indices, weights, lam = problem()
    low, high = proved_interval(as_rows(X), indices, weights, lam[0], lam[-1])
    assert lam[0] * (1.0 - 1e-4) <= low <= lam[0]
    assert lam[-1] <= high <= lam[-1] * (1.0 + 1e-4)
    pair = GramPair.of(as_rows(X), indices, weights)
    assert pair.proves(low, high)
    assert not pair.at_least(lam[0] * (1.0 + 1e-9))
    assert not pair.at_most(lam[-1] * (1.0 - 1e-9))
    assert proved_interval(as_rows(X), indices, weights, lam[0] * 1.001, lam[-1]) is None
    assert proved_interval(as_rows(X), indices, weights, lam[0], lam[-1] * 0.999) is None


@pytest.mark.parametrize("lengths", [np.arange(-6, 6) * 3, np.full(12, 40)], ids=["different", "long"])
def test_units_of_rows_do_not_matter(lengths):
    """A row times a power of two is the same row: what is proved is equal to the last digit."""
    X, indices, weights, lam = problem()
    expected = proved_interval(as_rows(X), indices, weights, lam[0], lam[-1])
    assert expected is not None
    scaled = X * np.exp2(lengths)[:, None]
    assert proved_interval(as_rows(scaled), indices, weights, lam[0], lam[-1]) == expected


def test_rows_that_depend_on_each_other_and_more_rows_than_columns_have_no_proof():
    X, indices, weights, lam = problem()
    twice = np.vstack([X, X[0]])
    assert proved_interval(as_rows(twice), indices, weights, lam[0], lam[-1]) is None
    assert proved_interval(as_rows(X[:, :10]), np.arange(10), np.ones(10), 1.0, 1.0) is None
    assert proved_interval(as_rows(X), indices, weights, 0.0, lam[-1]) is None
