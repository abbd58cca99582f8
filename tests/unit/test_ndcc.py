"""Clusters on cubes: where they are, which class they have, and what an SVM can learn from the columns."""

import numpy as np
import pytest
from sklearn.svm import SVC

from rarefy.datasets import make_ndcc
from rarefy.exceptions import ParameterError


def vertices(X, d):
    """The vertex nearest to each sample: its axis, its side and its cube."""
    X = X[:, :d]
    axis = np.abs(X).argmax(axis=1)
    value = X[np.arange(len(X)), axis]
    return axis, np.sign(value), np.abs(value).round().astype(int)


def test_samples_are_at_the_vertices_and_noise_is_normal():
    X, y = make_ndcc(3000, n_informative=4, n_noise=3, spread=0.01, random_state=0)
    assert X.shape == (3000, 7)
    assert set(y) == {-1.0, 1.0}
    axis, side, cube = vertices(X, 4)
    assert set(cube) == {1, 2, 3}
    centres = np.zeros((3000, 4))
    centres[np.arange(3000), axis] = side * cube
    assert np.abs(X[:, :4] - centres).max() < 0.1
    assert np.abs(X[:, 4:].mean(axis=0)).max() < 0.1
    assert np.abs(X[:, 4:].std(axis=0) - 1.0).max() < 0.1


def test_opposite_vertices_and_neighbouring_cubes_are_of_opposite_classes():
    X, y = make_ndcc(4000, n_informative=3, n_noise=0, spread=0.01, random_state=1)
    axis, side, cube = vertices(X, 3)
    along = y * side * (-1.0) ** cube
    for one in range(3):
        assert len(set(along[axis == one])) == 1


def test_shares_of_vertices_differ_more_with_a_small_concentration():
    def largest(concentration):
        X, _ = make_ndcc(3000, n_informative=5, n_noise=0, concentration=concentration, random_state=0)
        return np.unique(np.column_stack(vertices(X, 5)), axis=0, return_counts=True)[1].max()

    assert largest(0.3) > 2 * largest(30.0)


def test_covariances_have_the_spread_and_differ():
    X, _ = make_ndcc(6000, n_informative=2, n_noise=0, spread=0.2, concentration=50.0, random_state=0)
    axis, side, cube = vertices(X, 2)
    found = [np.cov(X[(axis == 0) & (side == s) & (cube == 3)].T) for s in (-1, 1)]
    assert np.abs(found[0] - found[1]).max() > 0.002
    assert max(np.linalg.eigvalsh(one)[-1] for one in found) < 1.3 * 0.2**2


def test_a_seed_gives_the_same_samples():
    assert all(
        np.array_equal(a, b) for a, b in zip(make_ndcc(50, random_state=3), make_ndcc(50, random_state=3), strict=True)
    )
    assert not np.array_equal(make_ndcc(50, random_state=3)[0], make_ndcc(50, random_state=4)[0])


def test_an_svm_has_the_error_that_the_source_reports():
    """About 10 % in the informative columns, more than 35 % with the noise, in the mean of a few geometries."""
    errors = []
    for geometry in range(3):
        X, y = make_ndcc(1400, random_state=geometry)
        X = (X - X[:200].mean(axis=0)) / X[:200].std(axis=0)
        few, many = SVC(C=8.0, gamma=1.0), SVC(C=8.0, gamma=0.015)
        errors.append(
            [
                1 - few.fit(X[:200, :20], y[:200]).score(X[400:, :20], y[400:]),
                1 - many.fit(X[:200], y[:200]).score(X[400:], y[400:]),
            ]
        )
    few, many = np.mean(errors, axis=0)
    assert 0.05 < few < 0.13
    assert 0.35 < many < 0.5


@pytest.mark.parametrize("wrong", [{"n_informative": 0}, {"n_noise": -1}, {"concentration": 0.0}, {"spread": -0.1}])
def test_arguments_out_of_range_are_refused(wrong):
    (name,) = wrong
    with pytest.raises(ParameterError, match=f"'{name}' parameter of make_ndcc must be"):
        make_ndcc(10, **wrong)
