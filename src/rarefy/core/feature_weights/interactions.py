r"""Which two or three features together agree with the labels: a start for features that are uninformative alone.

X : (m, d) some samples, columns divided by their units; Y : (m, q) labels, centred; g = `_NARROW`
k_a : the Gaussian kernel of one feature a between all pairs of these samples, exp(-g (x_a - x'_a)^2), or the Laplacian;
    of columns that share a weight, with the sum over these columns

The kernel of a set S of features is the product of theirs. Its alignment with the labels,

    sum over pairs w prod_{a in S} k_a  /  sqrt(sum over pairs prod_{a in S} k_a^2),    w = Y Y^T,

is one product of matrices with a row for each feature and a column for each pair of samples, for all sets of two
features at once; for all sets of three it is one such product for each feature.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.core.feature_weights.grouping import columns_of
from rarefy.core.feature_weights.problem import Problem
from rarefy.core.linalg.rows import Array, Index

Single = NDArray[np.float32]

_ROWS = 300
"""Samples that are compared: their pairs show an interaction of two features by more than ten standard deviations."""
_NARROW = 4.0
"""g for features of standard deviation 1: finds fine patterns, and wide ones as well as any other."""
_IN_PAIRS = 400
_IN_TRIPLES = 100
"""Largest numbers of features of which all pairs and all triples are compared: a second or two each."""
_BLOCK = 8192
"""Pairs of samples in one product."""
_GLANCE = 8192
"""Pairs of samples by which all triples are compared."""
_FINALISTS = 200
"""The best of these triples are compared by all pairs of samples."""
_FEATURES = 256
"""Features whose kernels are computed at a time."""


@dataclass(frozen=True)
class Interactions:
    """The pair and the triple of features that agree best with the labels; absent if there are too few features."""

    pair: Index | None
    triple: Index | None


def best_interactions(problem: Problem, allowed: NDArray[np.bool_]) -> Interactions:
    """Compare all pairs and triples of the allowed features, or of some of them if there are many.

    Of more features than are compared, half are those that agree best with the labels alone, half are random.
    """
    rng = np.random.default_rng(0)
    rows = _balanced_rows(problem.classifiers.Y, rng)
    usable = np.flatnonzero(allowed & (problem.scales > 0.0))
    features = _Features.among(problem, rows, usable)
    Y = problem.classifiers.Y[rows] * problem.classifiers.costs[rows, None]
    Y = (Y - Y.mean(axis=0)) / (np.abs(Y).max() or 1.0)
    i, j = np.triu_indices(len(rows), 1)
    agree = (Y @ Y.T)[i, j].astype(np.float32)
    alone = _alone(features, i, j, agree) if len(usable) > _IN_TRIPLES else np.zeros(len(usable))
    first = _shortlist(alone, _IN_PAIRS, rng)
    pair = usable[first[_best_pair(features.some(first), i, j, agree)]] if len(first) >= 2 else None
    few = first if len(first) <= _IN_TRIPLES else _shortlist(alone, _IN_TRIPLES, rng)
    triple = usable[few[_best_triple(features.some(few).kernels(i, j), agree)]] if len(few) >= 3 else None
    return Interactions(pair, triple)


def _balanced_rows(Y: Array, rng: np.random.Generator) -> Index:
    """Samples of all classes in turn, as long as each has some; of numeric responses, random ones."""
    order = rng.permutation(len(Y))
    classes = np.unique(Y[order], axis=0, return_inverse=True)[1].ravel()
    if classes.max() >= _ROWS:
        return np.sort(order[:_ROWS])
    turn = np.empty(len(order), dtype=np.intp)
    for one in range(classes.max() + 1):
        members = np.flatnonzero(classes == one)
        turn[members] = np.arange(len(members))
    return np.sort(order[np.argsort(turn, kind="stable")[:_ROWS]])


@dataclass(frozen=True)
class _Features:
    """Columns in their units, those of one feature side by side."""

    X: Single
    groups: Index | None
    absolute: bool

    @staticmethod
    def among(problem: Problem, rows: Index, usable: Index) -> "_Features":
        columns, groups = columns_of(problem.groups, usable)
        X = (problem.X[np.ix_(rows, columns)] / problem.units[columns]).astype(np.float32)
        return _Features(X, groups, problem.profile.shape == "laplacian")

    def __len__(self) -> int:
        return self.X.shape[1] if self.groups is None else int(self.groups.max(initial=-1)) + 1

    def some(self, chosen: Index) -> "_Features":
        columns, groups = columns_of(self.groups, chosen)
        return _Features(self.X[:, columns], groups, self.absolute)

    def kernels(self, i: Index, j: Index) -> Single:
        """A row for each feature, a column for each pair of samples."""
        if self.groups is None:
            distances = self._distances(self.X, i, j)
        else:  # one column at a time: all columns of large groups would need much memory
            distances = np.zeros((len(self), len(i)), dtype=np.float32)
            for k, group in enumerate(self.groups):
                distances[group] += self._distances(self.X[:, [k]], i, j)[0]
        distances *= np.float32(-_NARROW)
        return np.exp(distances, out=distances)

    def _distances(self, X: Single, i: Index, j: Index) -> Single:
        differences = np.ascontiguousarray((X[i] - X[j]).T)
        if self.absolute:
            return np.abs(differences, out=differences)
        differences *= differences
        return differences


def _alone(features: _Features, i: Index, j: Index, agree: Single) -> Array:
    """The alignment of every single feature."""
    total, size = np.zeros(len(features)), np.zeros(len(features))
    for first in range(0, len(features), _FEATURES):
        some = slice(first, first + _FEATURES)
        block = features.some(np.arange(len(features))[some])
        for start in range(0, len(i), _BLOCK):
            part = slice(start, start + _BLOCK)
            K = block.kernels(i[part], j[part])
            total[some] += K @ agree[part]
            size[some] += np.einsum("ap,ap->a", K, K)
    return np.asarray(total / np.sqrt(np.maximum(size, np.finfo(float).tiny)))


def _shortlist(alone: Array, size: int, rng: np.random.Generator) -> Index:
    """The features to compare: all, or half by their own alignment and half at random."""
    order = np.argsort(-alone, kind="stable")
    if len(order) <= size:
        return np.arange(len(order))
    half = size // 2
    return np.sort(np.concatenate([order[:half], rng.permutation(order[half:])[: size - half]]))


def _best_pair(features: _Features, i: Index, j: Index, agree: Single) -> Index:
    d = len(features)
    total, size = np.zeros((d, d)), np.zeros((d, d))
    for start in range(0, len(i), _BLOCK):
        part = slice(start, start + _BLOCK)
        K = features.kernels(i[part], j[part])
        total += (K * agree[part]) @ K.T
        K *= K
        size += K @ K.T
    a, b = np.triu_indices(d, 1)
    best = int(np.argmax(_share(total[a, b], size[a, b])))
    return np.array([a[best], b[best]])


def _best_triple(K: Single, agree: Single) -> Index:
    """The best of all triples; of many pairs of samples, some tell which triples are compared by all pairs."""
    some = slice(None, None, max(1, len(agree) // _GLANCE))
    triples, share = _all_triples(K[:, some].copy(), agree[some])
    if some.step > 1:
        triples = triples[np.argsort(-share, kind="stable")[:_FINALISTS]]
        share = np.array([_share_of(K[a] * K[b] * K[c], agree) for a, b, c in triples])
    return np.asarray(triples[int(np.argmax(share))])


def _all_triples(K: Single, agree: Single) -> tuple[Index, Array]:
    """All triples, and their alignments."""
    squares, found, shares = K * K, [], []
    for first in range(len(K) - 2):
        rest, rest_squares = K[first + 1 :], squares[first + 1 :]
        total = (rest * (agree * K[first])) @ rest.T
        size = (rest_squares * squares[first]) @ rest_squares.T
        a, b = np.triu_indices(len(rest), 1)
        shares.append(_share(total[a, b], size[a, b]))
        found.append(np.column_stack([np.full(len(a), first), first + 1 + a, first + 1 + b]))
    return np.concatenate(found), np.concatenate(shares)


def _share_of(k: Single, agree: Single) -> float:
    return float(_share(k @ agree, k @ k))


def _share(total: NDArray[np.floating], size: NDArray[np.floating]) -> Array:
    return np.asarray(total / np.sqrt(np.maximum(size, np.finfo(np.float32).tiny)), dtype=np.float64)
