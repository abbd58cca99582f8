"""The rows of a program's few variables against the dense matrix."""

import numpy as np
import pytest

from rarefy.core.solvers.few_rows import FewRows

MATRICES = {
    "one norm": -np.eye(4, 5),
    "maximum norm": np.vstack([-np.eye(3, 4), np.eye(3, 4), np.ones((1, 4))]),
    "dense": np.random.default_rng(0).standard_normal((6, 4)),
    "one row twice, one zero": np.array([[0.0, 2.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]]),
    "none": np.zeros((0, 3)),
}


@pytest.mark.parametrize("B", MATRICES.values(), ids=MATRICES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_equal_those_of_the_dense_matrix(B, order):
    rng, few = np.random.default_rng(1), FewRows(B)
    q, k = B.shape
    y, x, w = rng.standard_normal(k), rng.standard_normal(q), rng.random(q)
    G = np.array(rng.standard_normal((k, k)), order=order)
    wanted = G + B.T @ (w[:, None] * B)
    few.add_gram(G, w)
    np.testing.assert_allclose(G, wanted, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(few.times(y), B @ y, rtol=1e-14, atol=1e-14)
    np.testing.assert_allclose(few.sums(x), x @ B, rtol=1e-14, atol=1e-14)
    assert len(few) == q


def test_a_part_has_its_rows_and_the_whole_is_the_same_object():
    B = MATRICES["dense"]
    few = FewRows(B)
    np.testing.assert_array_equal(few.subset(np.array([1, 4])).times(np.ones(4)), B[[1, 4]].sum(axis=1))
    assert few.subset(np.arange(6)) is few
