"""Cells of the tables and figures about feature selection inside a kernel support vector machine."""

import warnings
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import mutual_info_classif
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, PredefinedSplit, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from rarefy.core.feature_weights.objectives import Machines
from rarefy.core.feature_weights.search import Problem
from rarefy.datasets import load, make_ndcc
from rarefy.kernel import KernelFeatureSelector, KernelFeatureSelectorCV
from rarefy.selection import ReliefSelector

_INFORMATIVE = 20
_SADDLE = -1e-3
"""Curvatures above this one are rounding: those of saddle points are larger by orders of magnitude."""
_COMMON = (4.0, 2.0**-7)
"""C and mu at which objectives are compared."""

_OPTIONS = {
    "GMKL": {"method": "gmkl"},
    "GMKL, scaled start": {"method": "gmkl", "init": "scaled"},
    "FULL": {"method": "full", "polish": False},
    "AO": {"method": "ao", "polish": False},
    "AO-I": {"method": "ao1", "polish": False},
    "AO-II": {"method": "ao2", "polish": False},
    "AO-II, polished": {"method": "ao2"},
    "AO-II, both starts": {"method": "ao2", "init": "both"},
    "AO-II, squared price": {"method": "ao2", "penalty": "squares", "init": "both"},
    "AO-II, true start": {"method": "ao2"},
    "AO-II, 4 starts": {"method": "ao2", "n_starts": 4, "random_state": 0},
    "AO-II, 8 starts": {"method": "ao2", "n_starts": 8, "random_state": 0},
    "AO-II, 16 starts": {"method": "ao2", "n_starts": 16, "random_state": 0},
}


@dataclass(frozen=True)
class _Search:
    """What is tried: for the selectors, and for a support vector machine in all or the selected features."""

    Cs: tuple[float, ...]
    mus: tuple[float, ...]
    set_Cs: tuple[float, ...]
    """On sets from files, whose classes overlap, losses weigh less and features cost more."""
    set_mus: tuple[float, ...]
    folds: int
    svm: dict

    def cells(self, starts):
        """Pairs of C and mu; with many starts, which cost as many times more, only the common mu."""
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


def probes(data, *, method, n_noise, geometry, search):
    """Table 7.1: where a search ends as columns of noise are added."""
    points = _clusters(3.0, geometry, n_noise)
    model = min(_candidates(points, method, search), key=_merit(points))
    found = _selected(points, model.support_)
    return found | {
        "error": _error(model, points.X[points.test], points.y[points.test]),
        "curvature": float(model.curvature_),
        "saddle": float(model.curvature_ < _SADDLE),
        "all right": float(found["right"] == _INFORMATIVE and found["wrong"] == 0),
    }


def clusters(data, *, method, concentration, geometry, search):
    """Table 7.2: objective, error and features, and the error of a machine that is given only these features."""
    points = _clusters(concentration, geometry, 100)
    everything = np.ones(points.X.shape[1], dtype=bool)
    if method.startswith("SVM"):
        support = np.arange(len(everything)) < _INFORMATIVE if method == "SVM, informative" else everything
        machine, error = _refit(points, support, search)
        weights = np.sqrt(machine.gamma) * support
        return _selected(points, support) | {"error": error, "refit": error, "objective": _objective(points, weights)}
    models = _candidates(points, method, search)
    model = min(models, key=_merit(points))
    if method == "GMKL":  # its own objective has squared weights
        objective = _objective(points, model.feature_weights_)
    else:
        objective = next(float(one.objective_) for one in models if (one.C, one.mu) == _COMMON)
    return _selected(points, model.support_) | {
        "error": _error(model, points.X[points.test], points.y[points.test]),
        "refit": _refit(points, model.support_, search)[1],
        "objective": objective,
        "C": model.C,
        "mu": model.mu,
    }


def sets(data, *, collection, method, split, search):
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
        "C": model.C_,
        "mu": model.mu_,
    }


def rankings(data, *, collection, ranking, split, search, k):
    """Figures 7.4 to 7.13: the error of a support vector machine in the first k features of a ranking."""
    X, y, X_test, y_test, folds = _split(data, collection, split, _SEARCHES[search].folds)
    order = _ranked(X, y, ranking, search, folds)
    tops = [order[: min(count, len(order))] for count in k]
    return [{"error": _plain(X[:, top], y, X_test[:, top], y_test, search, folds)} for top in tops]


def pixels(data, *, pair, method, split, search):
    """Table 7.3's kind: which pixels tell two digits apart."""
    X, y, X_test, y_test = _digits(data, pair, split)
    folds = StratifiedKFold(_SEARCHES[search].folds, shuffle=True, random_state=split)
    if method == "SVM":
        return {"error": _plain(X, y, X_test, y_test, search, folds), "pixels": float(X.shape[1])}
    model = _chosen(X, y, method, search, folds)
    found = {"error": _error(model, X_test, y_test), "pixels": float(model.support_.sum())}
    if split == 0:  # one is drawn
        means = {f"mean {digit}": np.round(X[y == digit].mean(axis=0), 3).tolist() for digit in np.unique(y)}
        found |= {"mean images": means, "pixel weights": np.round(model.feature_weights_, 4).tolist()}
    return found


@dataclass(frozen=True)
class _Points:
    X: np.ndarray
    y: np.ndarray
    learn = slice(0, 200)
    choose = slice(200, 400)
    test = slice(400, None)


@lru_cache(maxsize=2)
def _clusters(concentration, geometry, n_noise):
    """200 points to learn from, 200 to choose with, 1000 to test, standardised by the first."""
    X, y = make_ndcc(1400, n_noise=n_noise, concentration=concentration, random_state=geometry)
    return _Points(StandardScaler().fit(X[_Points.learn]).transform(X), y)


def _candidates(points, method, search):
    """The method at all pairs of C and mu."""
    options = dict(_OPTIONS[method])
    if method == "AO-II, true start":
        options["init"] = (np.arange(points.X.shape[1]) < _INFORMATIVE).astype(float)
    grid = _SEARCHES[search].cells(options.get("n_starts", 1))
    X, y = points.X[points.learn], points.y[points.learn]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return [KernelFeatureSelector(C, mu, **options).fit(X, y) for C, mu in grid]


def _merit(points):
    """Errors on the points to choose with; of equals, the fewest features."""
    X, y = points.X[points.choose], points.y[points.choose]
    return lambda model: (_error(model, X, y), int(model.support_.sum()))


def _selected(points, support):
    return {"right": float(support[:_INFORMATIVE].sum()), "wrong": float(support[_INFORMATIVE:].sum())}


def _refit(points, support, search):
    """A support vector machine in these features, its parameters chosen on the points for that, and its test error."""
    X, y = points.X[:, support] if support.any() else np.zeros((len(points.y), 1)), points.y
    upto = points.choose.stop
    fold = PredefinedSplit(np.where(np.arange(upto) < points.learn.stop, -1, 0))
    chosen = GridSearchCV(SVC(), _SEARCHES[search].svm, cv=fold, refit=False).fit(X[:upto], y[:upto])
    machine = SVC(**chosen.best_params_).fit(X[points.learn], y[points.learn])
    return machine, _error(machine, X[points.test], y[points.test])


def _objective(points, weights):
    """What these weights are worth at the common C and mu."""
    y = points.y[points.learn]
    C, mu = _COMMON
    machines = Machines(y[:, None], np.full(len(y), C), mu, 0.5)
    return float(Problem(points.X[points.learn], machines).solve_machines(weights)[2])


def _error(model, X, y):
    return 100.0 * float(np.mean(model.predict(X) != y))


def _plain(X, y, X_test, y_test, search, folds):
    """The error of a support vector machine in these features, its parameters by cross-validation."""
    if not X.shape[1]:  # nothing was selected
        X, X_test = np.zeros((len(X), 1)), np.zeros((len(X_test), 1))
    return _error(GridSearchCV(SVC(), _SEARCHES[search].svm, cv=folds).fit(X, y), X_test, y_test)


def _chosen(X, y, method, search, folds):
    """The method with C and mu by cross-validation."""
    tried = _SEARCHES[search]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        options = {"init": "ones", "penalty": "weights"} | _OPTIONS[method]
        return KernelFeatureSelectorCV(tried.set_Cs, tried.set_mus, cv=folds, **options).fit(X, y)


def _split(data, collection, split, n_folds):
    """Standardised points to learn from and to test with, and the folds to choose parameters in."""
    X, y, X_test, y_test = _parts(data, collection, split)
    scaler = StandardScaler().fit(X)
    if collection in ("madelon", "ndcc"):  # one part of the points is for choosing
        n = len(y) // 2 if collection == "ndcc" else len(y) * 2 // 3
        folds = PredefinedSplit(np.where(np.arange(len(y)) < n, -1, 0))
    else:
        folds = StratifiedKFold(n_folds, shuffle=True, random_state=split)
    return scaler.transform(X), y, scaler.transform(X_test), y_test, folds


def _parts(data, collection, split):
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


def _digits(data, pair, split):
    """500 images to learn from and all of the test set, two digits, every four pixels averaged."""
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


def _ranked(X, y, ranking, search, folds):
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


def _eliminated(X, y, search, folds):
    """Features from the last to be removed to the first.

    The one goes without which the inverse squared margin, of the machine as it is, changes least; of more than 64
    features a tenth goes at a time.
    """
    best = GridSearchCV(SVC(), _SEARCHES[search].svm, cv=folds, refit=False).fit(X, y).best_params_
    left, gone = np.arange(X.shape[1]), []
    while len(left):
        machine = SVC(**best).fit(X[:, left], y)
        vectors, coefficients = machine.support_vectors_, machine.dual_coef_[0]
        weighted = rbf_kernel(vectors, gamma=best["gamma"]) * np.outer(coefficients, coefficients)
        without = [np.sum(weighted * np.exp(best["gamma"] * (x[:, None] - x) ** 2)) for x in vectors.T]
        change = np.abs(weighted.sum() - np.array(without))
        leave = np.argsort(change, kind="stable")[: len(left) // 10 if len(left) > 64 else 1]
        gone += left[leave].tolist()
        left = np.delete(left, leave)
    return np.array(gone[::-1])
