"""Cells of the tables and figures about feature selection inside a kernel SVM."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.penalties import L1Penalty
from rarefy.core.feature_weights.problem import Problem
from rarefy.datasets import load, make_ndcc
from rarefy.kernel import KernelFeatureSelector
from rarefy.papers.claims import Metrics
from rarefy.papers.feature_selection.search import ExactSteps, cross_validated
from rarefy.papers.feature_selection.theorems import saddle_example, theorems
from rarefy.selection import ReliefSelector

__all__ = ["clusters", "pixels", "probes", "rankings", "saddle_example", "sets", "theorems"]

_INFORMATIVE = 20
_SADDLE = -1e-3
"""Negative curvatures closer to zero are rounding errors: those of saddle points are larger by orders of magnitude."""
_COMMON = (4.0, 2.0**-7)
"""C and mu at which objectives are compared."""

_PUBLISHED: dict[str, Any] = {"init": "ones", "standardize": False, "prune": 0.0, "validation_fraction": None}
"""As in the thesis: one search from all ones, and nothing after it. Samples are standardised here."""

_OPTIONS: dict[str, dict[str, Any]] = {
    "GMKL": {"method": "gmkl"},
    "GMKL, scaled start": {"method": "gmkl", "init": "scaled"},
    "FULL": {"method": "full", "polish": False},
    "AO": {"method": "ao", "polish": False},
    "AO-I": {"method": "ao1", "polish": False},
    "AO-II": {"method": "ao2", "polish": False},
    "FULL, exact step": {"method": "full", "polish": False},
    "AO, exact step": {"method": "ao", "polish": False},
    "AO-I, exact step": {"method": "ao1", "polish": False},
    "AO-II, exact step": {"method": "ao2", "polish": False},
    "AO-II, polished": {"method": "ao2"},
    "AO-II, both starts": {"method": "ao2", "init": "both"},
    "AO-II, squared penalty": {"method": "ao2", "penalty": "squares", "init": "both"},
    "AO-II, true start": {"method": "ao2"},
    "AO-II, 4 starts": {"method": "ao2", "n_starts": 4, "random_state": 0},
    "AO-II, 8 starts": {"method": "ao2", "n_starts": 8, "random_state": 0},
    "AO-II, 16 starts": {"method": "ao2", "n_starts": 16, "random_state": 0},
}


@dataclass(frozen=True)
class _Search:
    """Parameters to try: for the selectors, and for an SVM on all or the selected features."""

    Cs: tuple[float, ...]
    mus: tuple[float, ...]
    set_Cs: tuple[float, ...]
    """For sets from files: their classes overlap, so C is smaller and mu larger."""
    set_mus: tuple[float, ...]
    folds: int
    svm: dict[str, Any]

    def pairs(self, starts: int) -> list[tuple[float, float]]:
        """Pairs of C and mu; with many starts, which take as many times longer, only the common mu."""
        return [(C, mu) for C in self.Cs for mu in (self.mus if starts == 1 else _COMMON[1:])]


_SEARCHES = {
    "small": _Search(
        (1.0, 4.0),
        (2.0**-7,),
        (0.25, 1.0),
        (1.0, 4.0, 16.0),
        3,
        {"C": 4.0 ** np.arange(-1, 4), "gamma": 4.0 ** np.arange(-5, 2)},
    ),
    "whole": _Search(
        (1.0, 4.0, 16.0),
        (2.0**-9, 2.0**-7, 2.0**-5, 2.0**-3),
        (0.25, 1.0, 4.0, 16.0),
        (0.25, 1.0, 4.0, 16.0, 64.0, 256.0, 1024.0),
        5,
        {"C": 2.0 ** np.arange(-1, 12, 2), "gamma": 2.0 ** np.arange(-10, 3)},
    ),
    "glance": _Search((), (), (1.0,), (4.0,), 1, {"C": [4.0], "gamma": [2.0**-9, 2.0**-5, 2.0**-1]}),
    "madelon": _Search(
        (),
        (),
        (0.5, 1.0, 2.0),
        (0.5, 1.0, 2.0, 4.0, 8.0, 16.0),
        1,
        {"C": 4.0 ** np.arange(3), "gamma": 4.0 ** np.arange(-6, 1)},
    ),
}


def probes(data: Any, *, method: str, n_noise: int, geometry: int, search: str) -> Metrics:
    """Table 7.1: where a search ends as columns of noise are added."""
    samples = _clusters(3.0, geometry, n_noise)
    model = min(_candidates(samples, method, search), key=_merit(samples))
    found = _selected(model.support_)
    return found | {
        "error": _error(model, samples.X[samples.test], samples.y[samples.test]),
        "curvature": float(model.curvature_),
        "saddle": float(model.curvature_ < _SADDLE),
        "converged": float(model.converged_),
        "all right": float(found["right"] == _INFORMATIVE and found["wrong"] == 0),
    }


def clusters(data: Any, *, method: str, concentration: float, geometry: int, search: str) -> Metrics:
    """Table 7.2: objective, error and features, and the error of an SVM trained on these features only."""
    samples = _clusters(concentration, geometry, 100)
    everything = np.ones(samples.X.shape[1], dtype=bool)
    if method.startswith("SVM"):
        support = np.arange(len(everything)) < _INFORMATIVE if method == "SVM, informative" else everything
        svm, error = _refit(samples, support, search)
        weights = np.sqrt(svm.gamma) * support
        return _selected(support) | {"error": error, "refit": error, "objective": _objective(samples, weights)}
    models = _candidates(samples, method, search)
    model = min(models, key=_merit(samples))
    if method == "GMKL":  # its own objective has squared weights
        objective = _objective(samples, model.feature_weights_)
    else:
        objective = next(float(one.objective_) for one in models if (one.C, one.mu) == _COMMON)
    return _selected(model.support_) | {
        "error": _error(model, samples.X[samples.test], samples.y[samples.test]),
        "refit": _refit(samples, model.support_, search)[1],
        "objective": objective,
        "C": model.C,
        "mu": model.mu,
    }


def sets(data: Any, *, collection: str, method: str, split: int, search: str) -> Metrics:
    """Table 7.4: error and number of features, C and mu chosen by cross-validation."""
    X, y, X_test, y_test, folds = _split(data, collection, split, _SEARCHES[search].folds)
    if method == "SVM":
        return {"error": _plain(X, y, X_test, y_test, search, folds), "features": float(X.shape[1])}
    model = _chosen(X, y, method, search, folds)
    few = model.support_
    return {
        "error": _error(model, X_test, y_test),
        "features": float(few.sum()),
        "refit": _plain(X[:, few], y, X_test[:, few], y_test, search, folds),
        "C": model.C,
        "mu": model.mu,
    }


def rankings(data: Any, *, collection: str, ranking: str, split: int, search: str, k: Sequence[int]) -> list[Metrics]:
    """Figures 7.4 to 7.13: the error of an SVM on the first k features of a ranking."""
    X, y, X_test, y_test, folds = _split(data, collection, split, _SEARCHES[search].folds)
    order = _ranked(X, y, ranking, search, folds)
    tops = [order[: min(count, len(order))] for count in k]
    return [{"error": _plain(X[:, top], y, X_test[:, top], y_test, search, folds)} for top in tops]


def pixels(data: Any, *, pair: str, method: str, split: int, search: str) -> Metrics:
    """In place of Table 7.3: which pixels separate two digits."""
    X, y, X_test, y_test = _digits(data, pair, split)
    folds = StratifiedKFold(_SEARCHES[search].folds, shuffle=True, random_state=split)
    if method == "SVM":
        return {"error": _plain(X, y, X_test, y_test, search, folds), "pixels": float(X.shape[1])}
    model = _chosen(X, y, method, search, folds)
    found: Metrics = {"error": _error(model, X_test, y_test), "pixels": float(model.support_.sum())}
    if split == 0:  # drawn on the page
        means = {f"mean {digit}": np.round(X[y == digit].mean(axis=0), 3).tolist() for digit in np.unique(y)}
        found |= {"mean images": means, "pixel weights": np.round(model.feature_weights_, 4).tolist()}
    return found


@dataclass(frozen=True)
class _Samples:
    """Samples for training, for the choice of parameters and for testing, in this order."""

    X: NDArray[np.float64]
    y: NDArray[np.float64]
    train = slice(0, 200)
    check = slice(200, 400)
    test = slice(400, None)


@lru_cache(maxsize=2)
def _clusters(concentration: float, geometry: int, n_noise: int) -> _Samples:
    """Clusters on cubes, standardised by the training samples."""
    X, y = make_ndcc(1400, n_noise=n_noise, concentration=concentration, random_state=geometry)
    return _Samples(StandardScaler().fit(X[_Samples.train]).transform(X), y)


def _candidates(samples: _Samples, method: str, search: str) -> list[KernelFeatureSelector]:
    """The method fitted with all pairs of C and mu."""
    options = _PUBLISHED | _OPTIONS[method]
    if method == "AO-II, true start":
        options["init"] = (np.arange(samples.X.shape[1]) < _INFORMATIVE).astype(float)
    grid = _SEARCHES[search].pairs(options.get("n_starts", 1))
    X, y = samples.X[samples.train], samples.y[samples.train]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        selector = ExactSteps if method.endswith("exact step") else KernelFeatureSelector
        return [selector(C, mu, **options).fit(X, y) for C, mu in grid]


def _merit(samples: _Samples) -> Callable[[Any], tuple[float, int]]:
    """The error on the samples for choosing; of equal ones, the number of features decides."""
    X, y = samples.X[samples.check], samples.y[samples.check]
    return lambda model: (_error(model, X, y), int(model.support_.sum()))


def _selected(support: NDArray[np.bool_]) -> Metrics:
    """How many informative columns and columns of noise are selected."""
    return {"right": float(support[:_INFORMATIVE].sum()), "wrong": float(support[_INFORMATIVE:].sum())}


def _refit(samples: _Samples, support: NDArray[np.bool_], search: str) -> tuple[SVC, float]:
    """An SVM on these features, with parameters chosen on the samples for that, and its test error."""
    X, y = samples.X[:, support] if support.any() else np.zeros((len(samples.y), 1)), samples.y
    upto = samples.check.stop
    fold = PredefinedSplit(np.where(np.arange(upto) < samples.train.stop, -1, 0))
    chosen = GridSearchCV(SVC(), _SEARCHES[search].svm, cv=fold, refit=False).fit(X[:upto], y[:upto])
    svm = SVC(**chosen.best_params_).fit(X[samples.train], y[samples.train])
    return svm, _error(svm, X[samples.test], y[samples.test])


def _objective(samples: _Samples, weights: NDArray[np.float64]) -> float:
    """The objective of these weights at the common C and mu."""
    y = samples.y[samples.train]
    C, mu = _COMMON
    classifiers = Classifiers(y[:, None], np.full(len(y), C), L1Penalty(mu))
    return float(Problem(samples.X[samples.train], classifiers).solve_classifiers(weights)[2])


def _error(model: Any, X: Any, y: NDArray[Any]) -> float:
    """Error in %."""
    return 100.0 * float(np.mean(model.predict(X) != y))


def _plain(X: Any, y: NDArray[Any], X_test: Any, y_test: NDArray[Any], search: str, folds: Any) -> float:
    """The error of an SVM on these features, with parameters by cross-validation."""
    if not X.shape[1]:  # nothing was selected
        X, X_test = np.zeros((len(X), 1)), np.zeros((len(X_test), 1))
    return _error(GridSearchCV(SVC(), _SEARCHES[search].svm, cv=folds).fit(X, y), X_test, y_test)


def _chosen(X: Any, y: NDArray[Any], method: str, search: str, folds: Any) -> KernelFeatureSelector:
    """The method with C and mu by cross-validation."""
    tried, options = _SEARCHES[search], _PUBLISHED | _OPTIONS[method]
    inits = ("ones", "scaled") if options["init"] == "both" else (options["init"],)
    selectors = [KernelFeatureSelector(**options | {"init": init}) for init in inits]
    return cross_validated(selectors, X, y, Cs=tried.set_Cs, mus=tried.set_mus, folds=folds)


def _split(data: Any, collection: str, split: int, n_folds: int) -> tuple[Any, ...]:
    """Standardised training and test samples, and the folds for the choice of parameters."""
    X, y, X_test, y_test = _parts(data, collection, split)
    scaler = StandardScaler().fit(X)
    if collection in ("madelon", "ndcc"):  # one part of the training samples is for choosing
        n = len(y) // 2 if collection == "ndcc" else len(y) * 2 // 3
        folds = PredefinedSplit(np.where(np.arange(len(y)) < n, -1, 0))
    else:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=split)
    return scaler.transform(X), y, scaler.transform(X_test), y_test, folds


def _parts(data: Any, collection: str, split: int) -> tuple[Any, ...]:
    if collection == "ndcc":
        X, y = make_ndcc(1400, random_state=split)
        return X[:400], y[:400], X[400:], y[400:]
    found = load(collection, data)
    X, y = found.data.astype(float), found.target
    if "test_data" in found:
        order = np.random.default_rng(split).permutation(len(y))
        return X[order], y[order], found.test_data.astype(float), found.test_target
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=split)
    return X, y, X_test, y_test


def _digits(data: Any, pair: str, split: int) -> tuple[Any, ...]:
    """Images of two digits, 500 for training and all of the test set, every four pixels averaged."""
    found = load("mnist", data)
    digits = [int(digit) for digit in pair.split(" or ")]
    parts = []
    for images, labels in ((found.data, found.target), (found.test_data, found.test_target)):
        rows = np.flatnonzero(np.isin(labels, digits))
        blocks = images[rows].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)).reshape(len(rows), -1)
        parts.append((blocks, labels[rows]))
    (X, y), (X_test, y_test) = parts
    rows = np.random.default_rng(split).permutation(len(y))[:500]
    scale = X[rows].std()
    return X[rows] / scale, y[rows], X_test / scale, y_test


def _ranked(X: Any, y: NDArray[Any], ranking: str, search: str, folds: Any) -> NDArray[np.intp]:
    """Features, the best first."""
    if ranking == "MI":
        scores = mutual_info_classif(X, y, random_state=0)
    elif ranking == "Relief":
        scores = ReliefSelector().fit(X, y).scores_
    elif ranking == "RFE":
        return _eliminated(X, y, search, folds)
    else:
        scores = _chosen(X, y, ranking, search, folds).feature_weights_
    return np.argsort(-scores, kind="stable")


def _eliminated(X: Any, y: NDArray[Any], search: str, folds: Any) -> NDArray[np.intp]:
    """Features from the last that is eliminated to the first.

    Each time the feature is eliminated without which the inverse squared margin, with the coefficients as they are,
    changes least; of more than 64 features a tenth at a time.
    """
    best = GridSearchCV(SVC(), _SEARCHES[search].svm, cv=folds, refit=False).fit(X, y).best_params_
    left, eliminated = np.arange(X.shape[1]), []
    while len(left):
        svm = SVC(**best).fit(X[:, left], y)
        vectors, coefficients = svm.support_vectors_, svm.dual_coef_[0]
        weighted = rbf_kernel(vectors, gamma=best["gamma"]) * np.outer(coefficients, coefficients)
        without = [np.sum(weighted * np.exp(best["gamma"] * (x[:, None] - x) ** 2)) for x in vectors.T]
        change = np.abs(weighted.sum() - np.array(without))
        least = np.argsort(change, kind="stable")[: len(left) // 10 if len(left) > 64 else 1]
        eliminated += left[least].tolist()
        left = np.delete(left, least)
    return np.array(eliminated[::-1])
