"""What the tables compare: scores of new points, larger for rarer ones, for every candidate of a method's parameter.

Kernels are Gaussian, their width the mean squared distance of two training points, as in the thesis.
"""

from importlib import import_module

import numpy as np
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC, SVR

from rarefy.papers.methods import expected_warnings
from rarefy.ranking import OrdinalRankRC, RankRC

LAMBDAS = tuple(2.0**power for power in range(2, -21, -2))
"""From strong to weak: of equally good ones the strongest penalty is chosen. The thesis begins at 2^10, but down to 2^2
scores grow and the ranking hardly changes."""
_ALL_FOR_A_PATH, _ALL_FOR_ONE, _LANDMARKS = 600, 1900, 600
"""RANK-SVM has all kernel functions up to so many rows, when all penalties are tried and when one is. Beyond, it has
600, the rare points and then the worst represented others. On one split, lambda = 2^-10 and 2^-20, that changed the AUC
of Abalone 7 by 0.0001 and 0.0001, Thyroid by 0.0002 and 0.003, Page blocks by 0.0000 and 0.002; of Scene, with its 294
features, by 0.004 and 0.02, but there only the search has them."""
_STEPS, _STEPS_FOR_ONE = 6, 20
"""Iterations for each penalty of a path, which starts from the solution before and mostly takes two or three, and for a
penalty on its own."""
_ONE_MATRIX = 15_000
_SVR_STEPS = 50_000
_FOLDS, _RARE_CHECKED = 5, 50
_TREES = (25, 50, 100)
_COMPONENTS = 300
_ZERO = 1e-6
"""Below this share of the largest a coefficient counts as zero."""


def candidates(method, m):
    """Values of the method's parameter to choose from with m rows to learn from."""
    if method == "KNN":
        return tuple(range(1, int(np.ceil(min(100.0, np.sqrt(m)))) + 1))
    if method == "LightGBM":
        return _TREES
    return LAMBDAS[::2] if method == "Nystroem + logistic" else LAMBDAS


def choose(method, X, y, folds, seed, measure=roc_auc_score):
    """The candidate with the best mean measure; folds are pairs of rows to learn from and to check with."""
    values = candidates(method, len(y))
    worth = np.zeros(len(values))
    for rows, rest in folds:
        scores, _ = score(method, values, X[rows], y[rows], X[rest], seed)
        worth += [measure(y[rest], each) for each in scores]
    return values[int(np.argmax(worth))]


def inner_folds(y, seed):
    """Five stratified folds, or as many of them as check with fifty rare points."""
    per_fold = max(1, int(np.bincount(y).min()) // _FOLDS)
    used = min(_FOLDS, -(-_RARE_CHECKED // per_fold))
    return list(StratifiedKFold(_FOLDS, shuffle=True, random_state=seed).split(y, y))[:used]


def score(method, values, X, y, X_new, seed):
    """Learn with every value of the method's parameter.

    Returns the scores of X_new, a row a value, and the number of points with a kernel function for each value (None for
    methods that have no such thing).
    """
    with expected_warnings():
        return _METHODS[method](values, X, y, X_new, seed)


def standardised(X, *others):
    """All with the means and deviations of X."""
    X = np.asarray(X, dtype=np.float64)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0.0] = 1.0
    return [(np.asarray(each, dtype=np.float64) - mean) / scale for each in (X, *others)]


def _neighbours(values, X, y, X_new, seed):
    """Mean of y over the nearest 1, 2, ... neighbours."""
    nearest = NearestNeighbors(n_neighbors=min(max(values), len(y))).fit(X).kneighbors(X_new, return_distance=False)
    means = np.cumsum(y[nearest], axis=1) / np.arange(1, nearest.shape[1] + 1)
    return means[:, np.minimum(values, nearest.shape[1]) - 1].T, None


def _width(X):
    return 1.0 / (2.0 * float(X.var(axis=0).sum()))


def _machines(values, X, y, X_new, gamma, **options):
    """Support vector machines; their C is 1 / (lambda m). One kernel matrix serves all, unless it is too big."""
    known = len(y) <= _ONE_MATRIX
    options |= {"kernel": "precomputed"} if known else {"gamma": gamma}
    rows = rbf_kernel(X, X, gamma) if known else X
    machines = [SVC(C=1.0 / (value * len(y)), cache_size=1000, **options).fit(rows, y) for value in values]
    scores = np.empty((len(values), len(X_new)))
    step = max(1, (1 << 25) // len(y))
    for first in range(0, len(X_new), step):
        part = slice(first, first + step)
        block = rbf_kernel(X_new[part], X, gamma)
        for i, machine in enumerate(machines):
            scores[i, part] = block[:, machine.support_] @ machine.dual_coef_[0] + machine.intercept_[0]
    return scores, [len(machine.support_) for machine in machines]


def _svm(values, X, y, X_new, seed):
    return _machines(values, X, y, X_new, _width(X))


def _weighted_svm(values, X, y, X_new, seed):
    return _machines(values, X, y, X_new, _width(X), class_weight="balanced")


def _under_sampled_svm(values, X, y, X_new, seed):
    sampler = _bench("imblearn.under_sampling").RandomUnderSampler(random_state=seed)
    return _machines(values, *sampler.fit_resample(X, y), X_new, _width(X))


def _over_sampled_svm(values, X, y, X_new, seed):
    few = min(5, int(np.bincount(y).min()) - 1)
    sampler = _bench("imblearn.over_sampling").SMOTE(k_neighbors=few, random_state=seed)
    return _machines(values, *sampler.fit_resample(X, y), X_new, _width(X))


def _ranker(kind, basis):
    """All rankers of a path, from strong to weak penalties; `basis` may depend on y and the number of values."""

    def run(values, X, y, X_new, seed):
        options = basis(y, len(values)) if callable(basis) else {"basis": basis}
        path = kind(
            random_state=seed, tol=1e-6, max_iter=_STEPS if len(values) > 1 else _STEPS_FOR_ONE, **options
        ).alpha_path(X, y, values)
        sizes = np.abs(path.dual_coef)
        counts = np.sum(sizes > _ZERO * sizes.max(axis=1, keepdims=True), axis=1)
        approximated = isinstance(options["basis"], int) and "landmarks" not in options
        return path.scores(X_new), None if approximated else counts.tolist()

    return run


def _all_or_landmarks(y, n_values):
    everything = len(y) <= (_ALL_FOR_ONE if n_values == 1 else _ALL_FOR_A_PATH)
    return {"basis": "all" if everything else max(_LANDMARKS, 2 * int(np.bincount(y).min()))}


def _rare_and_centres(y, n_values):
    """The rare points and as many centres of clusters of the others."""
    return {"basis": 2 * int(np.bincount(y).min()), "landmarks": "kmeans"}


def _trees(values, X, y, X_new, seed):
    model = _bench("lightgbm").LGBMClassifier(
        n_estimators=max(values), class_weight="balanced", random_state=seed, n_jobs=1, verbose=-1
    )
    booster = model.fit(X, y).booster_
    return np.array([booster.predict(X_new, raw_score=True, num_iteration=value) for value in values]), None


def _nystroem_logistic(values, X, y, X_new, seed):
    chart = Nystroem(gamma=_width(X), n_components=min(_COMPONENTS, len(y)), random_state=seed).fit(X)
    model = LogisticRegression(class_weight="balanced", warm_start=True, max_iter=200)
    Z, Z_new, scores = chart.transform(X), chart.transform(X_new), []
    for value in values:
        scores.append(model.set_params(C=1.0 / (value * len(y))).fit(Z, y).decision_function(Z_new))
    return np.array(scores), [len(chart.components_)] * len(values)


def _regression_machines(values, X, y, X_new, seed):
    """Support vector regression on the levels with C = 1 / lambda; the largest C would take hours to the last digit."""
    machines = [SVR(C=1.0 / value, gamma=_width(X), max_iter=_SVR_STEPS).fit(X, y) for value in values]
    return np.array([machine.predict(X_new) for machine in machines]), [len(one.support_) for one in machines]


def _bench(name):
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"It needs {name.split('.')[0]}, which comes with pip install 'rarefy[papers]'.") from error


_METHODS = {
    "KNN": _neighbours,
    "SVM": _svm,
    "SVM-W": _weighted_svm,
    "SVM-RUS": _under_sampled_svm,
    "SVM-SMT": _over_sampled_svm,
    "RANK-SVM": _ranker(RankRC, _all_or_landmarks),
    "RANK-SVM, all": _ranker(RankRC, "all"),
    "RANK-RND": _ranker(RankRC, "random"),
    "RANK-RC": _ranker(RankRC, "rare"),
    "RANK-KMEANS": _ranker(RankRC, _rare_and_centres),
    "LightGBM": _trees,
    "Nystroem + logistic": _nystroem_logistic,
    "SVR": _regression_machines,
    "ordinal RANK-SVM": _ranker(OrdinalRankRC, "all"),
    "ordinal RANK-RND": _ranker(OrdinalRankRC, "random"),
    "ordinal RANK-RC": _ranker(OrdinalRankRC, "rare"),
}
