"""Small collections of documents that stand in for TechTC-300, and repeated cross-validation on them."""

import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import RepeatedStratifiedKFold

from rarefy.datasets import load

# Pairs of newsgroups, far apart and close together.
_PAIRS = ((10, 14), (0, 15), (7, 8), (2, 13), (16, 17), (3, 4), (9, 10), (11, 12), (1, 19), (5, 6))


def documents(name, data):
    """Counts, labels -1 and 1 and words of the collection `name`: "movie 3", "news 3" or "techtc:ID1_ID2"."""
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


def _long_words(X, y, words):
    """Drop words of at most four letters and words that no document has."""
    keep = np.array([len(word) > 4 for word in words]) & (np.diff(sp.csc_array(X).indptr) > 0)
    filled = np.diff(X.tocsr().indptr) > 0
    X = X.tocsr()[filled][:, np.flatnonzero(keep)]
    return X, y[filled], words[keep]


def folds(X, y, repeats, n_splits, seed=0):
    """Training and test rows of repeated stratified cross-validation."""
    yield from RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=repeats, random_state=seed).split(X, y)


def most_frequent(counts, k=5):
    """Numbers of the k most often selected features, equal ones by their number from the top; none never selected."""
    order = np.lexsort((-np.arange(len(counts)), -counts))[:k]
    return order[counts[order] > 0]
