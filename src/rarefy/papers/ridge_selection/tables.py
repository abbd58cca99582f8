"""Cells of the ridge paper's tables and figures."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.linear_model import RidgeClassifier

from rarefy.certificates import ridge_risk
from rarefy.datasets import make_relevant
from rarefy.papers.claims import Metrics
from rarefy.papers.methods import expected_warnings, make_selector
from rarefy.papers.text import documents, folds, most_frequent

_NO_PENALTY = 1e-10
"""lambda = 0 of the tables: the least-norm solution, up to rounding."""


def synthetic(data: Any, *, method: str, r: int, k: int, dataset: int, repeats: int, n_splits: int) -> Metrics:
    """Tables 1 and 2: unsupervised selection on generated data for regularised least squares."""
    X, y = make_relevant(30, 1000, k, random_state=dataset)
    lambdas = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9)
    counts = np.zeros(1000)
    errors: list[float] = []
    seconds: list[float] = []
    with expected_warnings():
        for fold, (train, test) in enumerate(folds(X, y, repeats, n_splits, seed=dataset)):
            start = time.perf_counter()
            selector = make_selector(method, r, fold).fit(X[train], y[train])
            seconds.append(time.perf_counter() - start)
            errors += _rlsc_errors(selector, X, y, train, test, lambdas)
            counts += selector.get_support()
    top = most_frequent(counts) + 1
    return {
        "error": 100.0 * float(np.mean(errors)),
        "top5": top.tolist(),
        "top5_irrelevant": int(np.sum(top > k)),
        "seconds": float(np.mean(seconds)),
    }


def _rlsc_errors(
    selector: Any, X: Any, y: NDArray[Any], train: NDArray[np.intp], test: NDArray[np.intp], lambdas: Sequence[float]
) -> list[float]:
    """Errors of regularised least squares on the selected columns, one for each lambda."""
    # For a few hundred columns a direct solution of dense data is faster than an iterative one of sparse data.
    XR, XR_test = (XR.toarray() if issparse(XR) else XR for XR in map(selector.transform, (X[train], X[test])))
    errors = []
    for lam in lambdas:
        model = RidgeClassifier(alpha=lam or _NO_PENALTY, fit_intercept=False).fit(XR, y[train])
        errors.append(1.0 - model.score(XR_test, y[test]))
    return errors


def text(
    data: Any, *, method: str, r: int, collection: str, repeats: int, n_splits: int, lam: Sequence[float]
) -> list[Metrics]:
    """Table 3, 5, 6 and the times of Table 2: regularised least squares on small collections of documents."""
    X, y, words = documents(collection, data)
    counts, folded, seconds = np.zeros(X.shape[1]), [], []
    with expected_warnings():
        for fold, (train, test) in enumerate(folds(X, y, repeats, n_splits)):
            start = time.perf_counter()
            selector = make_selector(method, r, fold).fit(X[train], y[train])
            seconds.append(time.perf_counter() - start)
            folded.append(_rlsc_errors(selector, X, y, train, test, lam))
            counts += selector.get_support()
    n = repeats * n_splits
    errors = 100.0 * np.array(folded)
    always = np.flatnonzero(counts == n)
    found: list[Metrics] = [
        {
            "error": float(each.mean()),
            "standard_error": float(each.std(ddof=1) / np.sqrt(n)),
            "seconds": float(np.mean(seconds)),
            "shape": list(X.shape),
        }
        for each in errors.T
    ]
    found[0] |= {
        "n_always": len(always),
        "always": [str(word) for word in words[always][:40]],
    }  # the same for all lambda
    return found


def risk(
    data: Any, *, method: str, factor: float, k: int, collection: str, dataset: int, lam: Sequence[float]
) -> list[Metrics]:
    """Figures 3 and 4: fixed-design risk for all lambda with r = factor * n features, also relative to all of them."""
    if collection == "synthetic":
        X, _ = make_relevant(30, 1000, k, random_state=dataset)
        z = X @ np.random.default_rng(dataset).standard_normal(1000)
    else:
        X, z, _ = documents(collection, data)
        X = X.toarray()
    n, d = X.shape
    r = int(factor * n)
    start = time.perf_counter()
    with expected_warnings():
        selector = make_selector(method.removesuffix(", rescaled"), r, dataset).fit(X, z > np.median(z))
    seconds = time.perf_counter() - start
    XR = selector.transform(X) * (np.sqrt(d / r) if method == "random, rescaled" else 1.0)
    found = []
    for value in lam:
        full, kept = (ridge_risk(K, z, alpha=n * value, noise_variance=1.0) for K in (X @ X.T, XR @ XR.T))
        found.append({"risk": float(kept), "risk_ratio": float(kept / full), "seconds": seconds})
    return found
