"""Small collections of documents that replace TechTC-300, and repeated cross-validation on them."""

from collections.abc import Iterator
from os import PathLike
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.model_selection import RepeatedStratifiedKFold

from rarefy.datasets import load

# Pairs of newsgroups, with distant and with similar subjects.
_PAIRS = ((10, 14), (0, 15), (7, 8), (2, 13), (16, 17), (3, 4), (9, 10), (11, 12), (1, 19), (5, 6))


def documents(name: str, data: str | PathLike[str] | None) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Return counts, labels -1 and 1 and words of a collection: "movie 3", "news 3" or "techtc:ID1_ID2"."""
    if name.startswith("techtc:"):
        found = load(name, data)
        return _long_words(found.data, found.target, found.feature_names)
    kind, number = name.split()
    rng = np.random.default_rng(int(number))
    if kind == "movie":
        found = load("movie_reviews", data)
        rows = np.concatenate([rng.choice(np.flatnonzero(found.target == c), 100, replace=False) for c in (0, 1)])
        y = np.where(found.target[rows] == 1, 1.0, -1.0)
    else:
        found = load("20newsgroups", data)
        pair = _PAIRS[int(number) % len(_PAIRS)]
        rows = np.concatenate([rng.choice(np.flatnonzero(found.target == c), 100, replace=False) for c in pair])
        y = np.where(found.target[rows] == pair[1], 1.0, -1.0)
    return _long_words(found.data[rows], y, found.feature_names)


def _long_words(X: Any, y: NDArray[Any], words: NDArray[Any]) -> tuple[Any, NDArray[Any], NDArray[Any]]:
    """Drop words of at most four letters, words that no document has and documents without words."""
    keep = np.array([len(word) > 4 for word in words]) & (np.diff(sp.csc_array(X).indptr) > 0)
    filled = np.diff(X.tocsr().indptr) > 0
    X = X.tocsr()[filled][:, np.flatnonzero(keep)]
    return X, y[filled], words[keep]


def folds(
    X: Any, y: NDArray[Any], repeats: int, n_splits: int, seed: int = 0
) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield training and test rows of repeated stratified cross-validation."""
    yield from RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=repeats, random_state=seed).split(X, y)


def most_frequent(counts: NDArray[Any], k: int = 5) -> NDArray[np.intp]:
    """Return the k most frequently selected features, the largest index first among equals; none with a count of 0."""
    order = np.lexsort((-np.arange(len(counts)), -counts))[:k]
    return order[counts[order] > 0]
