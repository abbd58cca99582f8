"""Cells of the SVM paper's tables and figures."""

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC, LinearSVC

from rarefy.datasets import load, make_relevant
from rarefy.papers.claims import Metrics
from rarefy.papers.methods import expected_warnings, make_selector
from rarefy.papers.text import documents, folds, most_frequent
from rarefy.selection import SupportVectorSelector


def synthetic(data: Any, *, method: str, r: int, k: int, dataset: int, repeats: int, n_splits: int) -> Metrics:
    """Table 1: supervised selection on generated data; which features are selected most often, and the error."""
    X, y = make_relevant(200, 1000, k, random_state=dataset)
    counts, errors, sizes = np.zeros(1000), [], []
    with expected_warnings():
        for fold, (train, test) in enumerate(folds(X, y, repeats, n_splits, seed=dataset)):
            model = SupportVectorSelector(make_selector(method, r, fold), SVC(kernel="linear", C=1.0))
            model.fit(X[train], y[train])
            errors.append(1.0 - model.score(X[test], y[test]))
            counts += model.get_support()
            sizes.append(len(model.support_vector_indices_))
    top = most_frequent(counts) + 1
    return {
        "error": 100.0 * float(np.mean(errors)),
        "top5": top.tolist(),
        "top5_irrelevant": int(np.sum(top > k)),
        "support_vectors": float(np.mean(sizes)),
    }


def text(data: Any, *, method: str, r: int, collection: str, supervised: bool, repeats: int, n_splits: int) -> Metrics:
    """Figures 1 to 3 and Table 3: error on small collections of documents, and the words always selected."""
    X, y, words = documents(collection, data)
    counts, errors, sizes = np.zeros(X.shape[1]), [], []
    with expected_warnings():
        for fold, (train, test) in enumerate(folds(X, y, repeats, n_splits)):
            error, support = _error_and_support(method, r, supervised, fold, X, y, train, test)
            errors.append(error)
            counts += support
            sizes.append(support.sum())
    n = repeats * n_splits
    always = np.flatnonzero(counts == n) if method != "all" else np.array([], dtype=int)
    return {
        "error": 100.0 * float(np.mean(errors)),
        "standard_error": 100.0 * float(np.std(errors, ddof=1) / np.sqrt(n)),
        "n_selected": float(np.mean(sizes)),
        "n_always": len(always),
        "always": [str(word) for word in words[always][:40]],
        "shape": list(X.shape),
    }


def _error_and_support(
    method: str,
    r: int,
    supervised: bool,
    fold: int,
    X: Any,
    y: NDArray[Any],
    train: NDArray[np.intp],
    test: NDArray[np.intp],
) -> tuple[float, NDArray[np.bool_]]:
    """Test error in one fold, and the mask of the selected words."""
    svm = SVC(kernel="linear", C=1.0)
    if method == "all":
        error = 1.0 - svm.fit(X[train], y[train]).score(X[test], y[test])
        return error, np.ones(X.shape[1], dtype=bool)
    selector = make_selector(method, r, fold)
    if supervised:
        model = SupportVectorSelector(selector, svm).fit(X[train], y[train])
        return 1.0 - model.score(X[test], y[test]), model.get_support()
    selector.fit(X[train], y[train])
    svm.fit(selector.transform(X[train]), y[train])
    return 1.0 - svm.score(selector.transform(X[test]), y[test]), selector.get_support()


def rcv1(data: Any, *, method: str, r: int, split: int) -> Metrics:
    """Table 4: approximate BSS on RCV1; liblinear with squared hinge loss in the dual, C = 10."""
    found = load("rcv1_ccat", data)
    y = np.where(found.target == 1, 1.0, -1.0)
    train, test = train_test_split(np.arange(len(y)), train_size=23149, stratify=y, random_state=split)
    X, X_test = found.data[train], found.data[test]
    svm = LinearSVC(C=10.0, random_state=split)
    with expected_warnings():
        if method == "all":
            return {"error": 100.0 * (1.0 - svm.fit(X, y[train]).score(X_test, y[test]))}
        selector = make_selector(method, r, split, C=10.0)
        model = SupportVectorSelector(selector, svm).fit(X, y[train])
        rows = model.support_vector_indices_
        start = time.perf_counter()
        clone(selector).fit(model.support_vectors_, y[train][rows])
        seconds = time.perf_counter() - start
        # The paper trains again on the support vectors; all rows are reported beside it.
        everything = LinearSVC(C=10.0, random_state=split).fit(model.transform(X), y[train])
    return {
        "error": 100.0 * (1.0 - model.score(X_test, y[test])),
        "error_all_rows": 100.0 * (1.0 - everything.score(model.transform(X_test), y[test])),
        "seconds": seconds,
        "n_selected": int(model.get_support().sum()),
        "support_vectors": len(rows),
    }
