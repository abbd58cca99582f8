"""The other side of the comparison: the textbook loop, and selectors of other packages.

A peer is imported when it is asked for, so that a missing package costs one line of the table.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Peer:
    """A selector of another package.

    `load` imports it and returns a function of (X, y, r) that returns the indices it keeps; `work`
    is what its time grows with, as a function of (n, d, r), up to a constant.
    """

    name: str
    load: Callable
    work: Callable
    sparse: bool = False


def _rfe():
    from sklearn.feature_selection import RFE
    from sklearn.svm import LinearSVC

    def select(X, y, r):
        estimator = LinearSVC(random_state=0)
        return np.flatnonzero(RFE(estimator, n_features_to_select=r, step=0.1).fit(X, y).support_)

    return select


def _pivoted_qr():
    from scipy.linalg import qr

    def select(X, y, r):
        pivots = qr(X, pivoting=True)[2]
        return pivots[: min(r, len(X))]  # beyond the rank the order of the pivots means nothing

    return select


def _cur():
    from skmatter.feature_selection import CUR

    return lambda X, y, r: CUR(n_to_select=r).fit(X).selected_idx_


def _fps():
    from skmatter.feature_selection import FPS

    return lambda X, y, r: FPS(n_to_select=r).fit(X).selected_idx_


def _fastcan():
    from fastcan import FastCan

    return lambda X, y, r: FastCan(r, verbose=0).fit(X, y).indices_


PEERS = (
    Peer("RFE(LinearSVC)", _rfe, lambda n, d, r: n * d, sparse=True),
    Peer("pivoted QR", _pivoted_qr, lambda n, d, r: n * n * d),
    Peer("CUR", _cur, lambda n, d, r: n * d * r),
    Peer("FPS", _fps, lambda n, d, r: n * d * r),
    Peer("FastCan", _fastcan, lambda n, d, r: n * d * r),
)


def load_all():
    """Import every peer there is: limits on threads reach only libraries that are loaded already."""
    for peer in PEERS:
        with suppress(ImportError):
            peer.load()


@dataclass(frozen=True)
class TextbookRun:
    """The steps that were run of r, the column each one took and its squared weight."""

    r: int
    draws: np.ndarray
    weights2: np.ndarray
    step_seconds: np.ndarray

    @property
    def complete(self):
        return len(self.draws) == self.r

    @property
    def seconds(self):
        """All r steps, by their mean."""
        return float(self.step_seconds.mean() * self.r)

    @property
    def least_seconds(self):
        """All r steps if each were as fast as the fastest: what no disturbance can have slowed."""
        return float(self.step_seconds.min() * self.r)

    def selection(self):
        """Columns in the order in which they were first taken, with their weights."""
        columns, first, inverse = np.unique(self.draws, return_index=True, return_inverse=True)
        order = np.argsort(first)
        return columns[order], np.sqrt(np.bincount(inverse, weights=self.weights2))[order]


def right_vectors(X):
    """V of shape (d, l), from the dense decomposition: the textbook loop starts here."""
    X = X.toarray() if hasattr(X, "toarray") else X
    _, sigma, Vt = np.linalg.svd(X, full_matrices=False)
    rank = np.count_nonzero(sigma > max(X.shape) * np.finfo(float).eps * sigma[0])
    return np.ascontiguousarray(Vt[:rank].T)


def textbook(V, r, steps, budget):
    """Single-set sparsification as the papers print it: every column is scored at every step.

    Runs at most `steps` of the r steps and stops when `budget` seconds are used up. Symbols are
    those of `rarefy.core.sparsify.bss`.
    """
    d, ell = V.shape
    norms2 = np.round(np.einsum("ij,ij->i", V, V), 12)
    A, taken = np.zeros((ell, ell)), np.zeros(d, dtype=bool)
    draws, t, seconds = [], [], []
    while len(draws) < min(steps, r) and sum(seconds) < budget:
        start = time.perf_counter()
        lower, upper = _scores(V, A, len(draws), r)
        i = _choice(lower, upper, norms2, taken)
        weight = 2.0 / (upper[i] + lower[i])
        A += weight * np.outer(V[i], V[i])
        taken[i] = True
        draws.append(i)
        t.append(weight)
        seconds.append(time.perf_counter() - start)
    weights2 = np.array(t) * (1.0 - np.sqrt(ell / r)) / r
    return TextbookRun(r, np.array(draws), weights2, np.array(seconds))


def _scores(V, A, tau, r):
    """lower(v) and upper(v) for all rows of V."""
    ell = V.shape[1]
    ratio, eye = np.sqrt(ell / r), np.eye(ell)
    delta = (1.0 + ratio) / (1.0 - ratio)
    L, U = tau - np.sqrt(r * ell), delta * (tau + np.sqrt(r * ell))
    lam = np.linalg.eigvalsh(A)
    rise = np.sum(1.0 / (lam - (L + 1.0))) - np.sum(1.0 / (lam - L))
    fall = np.sum(1.0 / (U - lam)) - np.sum(1.0 / (U + delta - lam))
    P = V @ np.linalg.inv(A - (L + 1.0) * eye)
    lower = np.einsum("ij,ij->i", P, P) / rise - np.einsum("ij,ij->i", P, V)
    P = V @ np.linalg.inv((U + delta) * eye - A)
    upper = np.einsum("ij,ij->i", P, P) / fall + np.einsum("ij,ij->i", P, V)
    return lower, upper


def _choice(lower, upper, norms2, taken):
    """The longest row that may be taken and was not taken before, else the longest that was."""
    allowed = (upper <= lower) & (norms2 > 0.0)
    fresh = allowed & ~taken
    pool = np.flatnonzero(fresh if fresh.any() else allowed)
    return int(pool[norms2[pool].argmax()])
