"""What is chosen from: documents, genes and UCI sets of the folder RAREFY_DATA, and generated regressions."""

import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler, normalize

PAIRS = ((3, 4), (0, 15), (7, 8))
"""Pairs of newsgroups: two kinds of computers, atheism and christianity, cars and motorcycles."""


@dataclass(frozen=True, eq=False)
class Data:
    """Samples and labels -1 and 1, or numbers."""

    name: str
    X: Any
    y: np.ndarray

    @property
    def shape(self):
        return self.X.shape

    @property
    def title(self):
        return f"{self.name} {self.X.shape[0]}x{self.X.shape[1]}"


def folder():
    if "RAREFY_DATA" not in os.environ:
        raise SystemExit("RAREFY_DATA has to name the folder with text/, wide/ and uci/.")
    return Path(os.environ["RAREFY_DATA"])


@cache
def _documents(name):
    X = sp.csr_array(sp.load_npz(folder() / f"text/{name}_X.npz"))
    return X, np.load(folder() / f"text/{name}_y.npz", allow_pickle=False)["y"]


def documents(name, pair=None):
    """All documents of a set, or of two of its groups: log counts, rows of length 1, labels -1 and 1."""
    X, y = _documents(name)
    if pair is not None:
        both = np.isin(y, pair)
        X, y = X[both], y[both]
    if name != "rcv1_subsets_ccat":  # those are tf-idf already
        X = sp.csr_array(normalize(X.astype(float).log1p()))
    return X, np.where(y == np.unique(y)[-1], 1, -1)


def sample(X, y, n, seed=0):
    """Numbers of n random samples, the same number of both classes."""
    rng = np.random.default_rng(seed)
    return np.concatenate([rng.choice(np.flatnonzero(y == c), n // 2, replace=False) for c in (-1, 1)])


def used(X):
    """Numbers of the columns with an entry that is not zero."""
    return np.flatnonzero(np.asarray(abs(X).sum(axis=0)).ravel() > 0)


def text(name, title, pair=None, n=400):
    """A sample of n documents, in the words that they use."""
    X, y = documents(name, pair)
    rows = sample(X, y, n)
    X = X[rows]
    return Data(title, sp.csr_array(X[:, used(X)]), y[rows])


def dense(part, name):
    """A set with standardised columns (logarithms of intensities), labels -1 and 1; constant columns are left out."""
    found = np.load(folder() / f"{part}/{name}.npz", allow_pickle=False)
    X, y = (found["X"], found["y"]) if "X" in found else (found["X_train"], found["y_train"])
    X = X.astype(float)
    X = np.log2(np.maximum(X, 1.0)) if part == "wide" and name != "arcene" and X.max() > 1000 else X
    X = X[:, X.std(axis=0) > 0]
    return Data(name.split("_")[0], StandardScaler().fit_transform(X), np.where(y == np.unique(y)[-1], 1, -1))


def numbers(part, name):
    """A set with standardised columns, and numbers to predict, of mean zero and variance one."""
    found = np.load(folder() / f"{part}/{name}.npz", allow_pickle=False)
    y = found["y"].astype(float)
    return Data(name, StandardScaler().fit_transform(found["X"].astype(float)), (y - y.mean()) / y.std())


def newsgroups(n=400):
    return [text("20news_nohdr", f"newsgroups {a}, {b}", (a, b), n) for a, b in PAIRS]


def movies(n=400):
    return text("movie_review_polarity", "movie reviews", None, n)


def regression(n, d, k, rho, snr, seed):
    """Numbers from k of d normal columns with correlation rho^|i - j|; returns data and the true columns.

    The true columns are spread evenly and have coefficients of -1 and 1.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    for j in range(1, d):
        X[:, j] = rho * X[:, j - 1] + np.sqrt(1.0 - rho**2) * X[:, j]
    true = (np.arange(k) * (d // k) + rng.integers(d // k)).astype(int)
    signal = X[:, true] @ rng.choice((-1.0, 1.0), k)
    y = signal + signal.std() / np.sqrt(snr) * rng.standard_normal(n)
    data = Data(f"regression, rho {rho}", StandardScaler().fit_transform(X), (y - y.mean()) / y.std())
    return data, true


def sparse(n, d, nnz, seed=0, informative=300):
    """Documents with Zipf frequencies and rows of length 1; the labels follow some words, with noise."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(10, d + 10)
    share /= share.sum()
    rows = np.repeat(np.arange(n), nnz // n)
    columns = np.searchsorted(np.cumsum(share), rng.random(len(rows)))
    X = sp.csr_array(sp.coo_array((np.ones(len(rows)), (rows, np.minimum(columns, d - 1))), shape=(n, d)))
    X = sp.csr_array(normalize(X.log1p()))
    w = np.zeros(d)
    words = rng.choice(min(d, 20 * informative), informative, replace=False)
    w[words] = rng.standard_normal(informative)
    score = X @ w
    score += score.std() * rng.standard_normal(n)
    return Data("Zipf", X, np.where(score > np.median(score), 1, -1))
