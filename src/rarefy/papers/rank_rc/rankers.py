"""What the tables compare: scores of new samples, larger for rarer ones, for every candidate of a method's parameter.

Kernels are Gaussian, their width the mean squared distance of two training samples, as in the thesis.
"""

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.svm import SVC, SVR

from rarefy.papers.methods import expected_warnings
from rarefy.ranking import OrdinalRankRC, RankRC

Array = NDArray[np.float64]
Labels = NDArray[np.int_]
Fold = Sequence[NDArray[np.intp]]
"""Training rows and validation rows."""
Scored = tuple[Array, list[int] | None]
"""Scores, a row for each value of a parameter, and the number of samples with a kernel function for each."""
Method = Callable[[Sequence[float], Array, Labels, Array, int], Scored]

LAMBDAS = tuple(2.0**power for power in range(2, -21, -2))
"""From strong to weak: of equally good ones the strongest penalty is chosen. The thesis begins at 2^10, but down to 2^2
scores grow and the ranking hardly changes."""
_ALL_FOR_A_PATH, _ALL_FOR_ONE, _LANDMARKS = 600, 1900, 600
"""RANK-SVM has all kernel functions up to so many samples, for all penalties and for a single one. Beyond, it has
600: the rare samples and then the worst represented others. On one split, lambda = 2^-10 and 2^-20, that changed the
AUC of Abalone 7 by 0.0001 and 0.0001, Thyroid by 0.0002 and 0.003, Page blocks by 0.0000 and 0.002; of Scene, with its
294 features, by 0.004 and 0.02, but there only the search has them."""
_STEPS, _STEPS_FOR_ONE = 6, 20
"""Iterations for each penalty of a path, which starts from the solution before and mostly takes two or three, and for a
penalty on its own."""
_ONE_MATRIX = 15_000
_SVR_STEPS = 50_000
_FOLDS = 5
_BY_ACCURACY = ", by accuracy"
"""What the name of a method ends with if its parameter is chosen by accuracy instead of AUC."""
_TREES = (25, 50, 100)
_COMPONENTS = 300
_ZERO = 1e-6
"""Below this share of the largest a coefficient counts as zero."""


def candidates(method: str, m: int) -> Sequence[float]:
    """Values of the method's parameter to choose from with m training samples."""
    if method == "KNN":
        return tuple(range(1, int(np.ceil(min(100.0, np.sqrt(m)))) + 1))
    if method == "LightGBM":
        return _TREES
    return LAMBDAS[::2] if method == "Nystroem + logistic" else LAMBDAS


def choose(
    method: str,
    X: Array,
    y: Labels,
    folds: Sequence[Fold],
    seed: int,
    measure: Callable[..., float] | None = None,
    searched: dict[str, list[Array]] | None = None,
) -> float:
    """The candidate with the best mean measure: AUC or, if the method's name says so, accuracy.

    `folds` are pairs of training and validation rows. `searched` keeps the scores of validation rows, so that a method
    that is tuned by two measures is searched once.
    """
    searched = {} if searched is None else searched
    trained = method.removesuffix(_BY_ACCURACY)
    values = candidates(trained, len(y))
    if trained not in searched:
        searched[trained] = [score(trained, values, X[rows], y[rows], X[rest], seed)[0] for rows, rest in folds]
    measure = measure or (roc_auc_score if trained == method else _accuracy)
    worth = np.zeros(len(values))
    for (_, rest), scores in zip(folds, searched[trained], strict=True):
        worth += [measure(y[rest], each) for each in scores]
    return values[int(np.argmax(worth))]


def _accuracy(y: Labels, scores: Array) -> float:
    """Share of right labels with the threshold that an SVM has."""
    return float(np.mean((scores > 0.0) == (y == 1)))


def inner_folds(y: Labels, seed: int) -> list[Fold]:
    """Five stratified folds of the training samples."""
    return list(StratifiedKFold(_FOLDS, shuffle=True, random_state=seed).split(y, y))


def score(method: str, values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    """Train with every value of the method's parameter.

    Returns the scores of X_new, a row for each value, and the number of samples with a kernel function for each value
    (None for methods without kernel functions).
    """
    with expected_warnings():
        return _METHODS[method.removesuffix(_BY_ACCURACY)](values, X, y, X_new, seed)


def standardised(X: Any, *others: Any) -> list[Array]:
    """All arrays standardised by the means and standard deviations of X."""
    X = np.asarray(X, dtype=np.float64)
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale[scale == 0.0] = 1.0
    return [(np.asarray(each, dtype=np.float64) - mean) / scale for each in (X, *others)]


def _neighbours(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    """Mean of y over the nearest 1, 2, ... neighbours."""
    nearest = (
        NearestNeighbors(n_neighbors=min(int(max(values)), len(y))).fit(X).kneighbors(X_new, return_distance=False)
    )
    means = np.cumsum(y[nearest], axis=1) / np.arange(1, nearest.shape[1] + 1)
    return means[:, np.minimum(values, nearest.shape[1]) - 1].T, None


def _width(X: Array) -> float:
    return 1.0 / (2.0 * float(X.var(axis=0).sum()))


def _svms(values: Sequence[float], X: Array, y: Labels, X_new: Array, gamma: float, **options: Any) -> Scored:
    """SVMs; their C is 1 / (lambda m). One kernel matrix serves all, unless it is too big."""
    known = len(y) <= _ONE_MATRIX
    options |= {"kernel": "precomputed"} if known else {"gamma": gamma}
    rows = rbf_kernel(X, X, gamma) if known else X
    models = [SVC(C=1.0 / (value * len(y)), cache_size=1000, **options).fit(rows, y) for value in values]
    scores = np.empty((len(values), len(X_new)))
    step = max(1, (1 << 25) // len(y))
    for first in range(0, len(X_new), step):
        part = slice(first, first + step)
        block = rbf_kernel(X_new[part], X, gamma)
        for i, model in enumerate(models):
            scores[i, part] = block[:, model.support_] @ model.dual_coef_[0] + model.intercept_[0]
    return scores, [len(model.support_) for model in models]


def _svm(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    return _svms(values, X, y, X_new, _width(X))


def _weighted_svm(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    return _svms(values, X, y, X_new, _width(X), class_weight="balanced")


def _under_sampled_svm(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    sampler = _bench("imblearn.under_sampling").RandomUnderSampler(random_state=seed)
    drawn, labels = sampler.fit_resample(X, y)
    return _svms(values, drawn, labels, X_new, _width(X))


def _over_sampled_svm(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    few = min(5, int(np.bincount(y).min()) - 1)
    sampler = _bench("imblearn.over_sampling").SMOTE(k_neighbors=few, random_state=seed)
    drawn, labels = sampler.fit_resample(X, y)
    return _svms(values, drawn, labels, X_new, _width(X))


def _ranker(kind: type[RankRC] | type[OrdinalRankRC], basis: Any) -> Method:
    """All rankers of a path, from strong to weak penalties; `basis` may depend on y and the number of values."""

    def run(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
        options = basis(y, len(values)) if callable(basis) else {"basis": basis}
        path = kind(
            random_state=seed, tol=1e-6, max_iter=_STEPS if len(values) > 1 else _STEPS_FOR_ONE, **options
        ).alpha_path(X, y, values)
        sizes = np.abs(path.attribute("dual_coef_")[:, 0])
        counts = np.sum(sizes > _ZERO * sizes.max(axis=1, keepdims=True), axis=1)
        approximated = options.get("landmarks") == "cholesky"  # in place of all, so that their number means nothing
        return path.scores(X_new), None if approximated else counts.tolist()

    return run


def _all_or_landmarks(y: Labels, n_values: int) -> dict[str, Any]:
    everything = len(y) <= (_ALL_FOR_ONE if n_values == 1 else _ALL_FOR_A_PATH)
    if everything:
        return {"basis": "all"}
    return {"basis": max(_LANDMARKS, 2 * int(np.bincount(y).min())), "landmarks": "cholesky"}


def _rare_and_centres(y: Labels, n_values: int) -> dict[str, Any]:
    """The rare samples and as many centres of clusters of the others."""
    return {"basis": 2 * int(np.bincount(y).min()), "landmarks": "kmeans"}


def _trees(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    model = _bench("lightgbm").LGBMClassifier(
        n_estimators=max(values), class_weight="balanced", random_state=seed, n_jobs=1, verbose=-1
    )
    booster = model.fit(X, y).booster_
    return np.array([booster.predict(X_new, raw_score=True, num_iteration=value) for value in values]), None


def _nystroem_logistic(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    chart = Nystroem(gamma=_width(X), n_components=min(_COMPONENTS, len(y)), random_state=seed).fit(X)
    model = LogisticRegression(class_weight="balanced", warm_start=True, max_iter=200)
    Z, Z_new, scores = chart.transform(X), chart.transform(X_new), []
    for value in values:
        scores.append(model.set_params(C=1.0 / (value * len(y))).fit(Z, y).decision_function(Z_new))
    return np.array(scores), [len(chart.components_)] * len(values)


def _support_vector_regression(values: Sequence[float], X: Array, y: Labels, X_new: Array, seed: int) -> Scored:
    """Support vector regression on the levels with C = 1 / lambda; the largest C would take hours to the last digit."""
    models = [SVR(C=1.0 / value, gamma=_width(X), max_iter=_SVR_STEPS).fit(X, y) for value in values]
    return np.array([model.predict(X_new) for model in models]), [len(model.support_) for model in models]


def _bench(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"It needs {name.split('.')[0]}, which comes with pip install 'rarefy[papers]'.") from error


_METHODS: dict[str, Method] = {
    "KNN": _neighbours,
    "SVM": _svm,
    "SVM-W": _weighted_svm,
    "SVM-RUS": _under_sampled_svm,
    "SVM-SMT": _over_sampled_svm,
    "RANK-SVM": _ranker(RankRC, _all_or_landmarks),
    "RANK-SVM, all": _ranker(RankRC, "all"),
    "RANK-RND": _ranker(RankRC, "random"),
    "RANK-RC": _ranker(RankRC, "rare"),
    "RANK-RC, default basis": _ranker(RankRC, "auto"),
    "RANK-KMEANS": _ranker(RankRC, _rare_and_centres),
    "LightGBM": _trees,
    "Nystroem + logistic": _nystroem_logistic,
    "SVR": _support_vector_regression,
    "ordinal RANK-SVM": _ranker(OrdinalRankRC, "all"),
    "ordinal RANK-RND": _ranker(OrdinalRankRC, "random"),
    "ordinal RANK-RC": _ranker(OrdinalRankRC, "rare"),
}
