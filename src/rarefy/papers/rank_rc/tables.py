"""Cells of the tables and figures about ranking a rare class."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedShuffleSplit

from rarefy.datasets import load, make_rare_gaussians
from rarefy.metrics import mauc_score
from rarefy.papers.data import remember
from rarefy.papers.methods import expected_warnings
from rarefy.papers.rank_rc.rankers import Array, Labels, candidates, choose, inner_folds, score, standardised
from rarefy.ranking import RankRC, subset_bound

Metrics = dict[str, float]
Index = NDArray[np.intp]

_SPREAD = 0.5
"""Standard deviation of the simulated classes."""
_SLOW, _LARGE, _FEW_SPLITS = ("SVM-SMT", "RANK-SVM", "RANK-KMEANS"), 1300, 5
"""Slow methods are run on the first five splits only if there are more training samples than 1300."""
_R2L = 3
"""Connections of this category and the next are the rare class: remote to local, and user to root."""
_MOST_ROWS = {"SVM": 40_000, "SVM-W": 20_000}
"""Training samples above which these methods take hours, and are left out."""


def simulated(
    data: Any, *, method: Sequence[str], overlap: float, rare: float, trial: int, n_test: int
) -> list[Metrics]:
    """Table 5.1: a thousand training samples, and a thousand for the choice of the penalty."""
    seed = _seed(trial, overlap, rare)
    X, y, centers = make_rare_gaussians(
        2000 + n_test, overlap=overlap, rare=rare, scale=_SPREAD, return_centers=True, random_state=seed
    )
    rest, train = next(StratifiedShuffleSplit(1, test_size=1000, random_state=seed).split(X, y))
    test, check = next(StratifiedShuffleSplit(1, test_size=1000, random_state=seed).split(X[rest], y[rest]))
    bayes = 100.0 * roc_auc_score(y[rest[test]], _likelihood_ratio(X[rest[test]], centers))
    A, B, C = standardised(X[train], X[rest[check]], X[rest[test]])
    found: list[Metrics] = []
    for name in method:
        exact = "RANK-SVM, all" if name == "RANK-SVM" else name
        scores, _ = score(exact, candidates(name, 1000), A, y[train], np.vstack([B, C]), seed)
        best = int(np.argmax([roc_auc_score(y[rest[check]], each[:1000]) for each in scores]))
        auc = 100.0 * float(roc_auc_score(y[rest[test]], scores[best][1000:]))
        found.append({"AUC": auc, "AUC less Bayes": auc - bayes, "Bayes AUC": bayes})
    return found


def real(data: Any, *, method: Sequence[str], collection: str, split: int) -> list[Metrics]:
    """Tables 5.3 and 5.4: three quarters for training and the choice of the penalty, a quarter for testing."""
    X, y, X_test, y_test = _split(collection, split, data)
    found: list[Metrics] = []
    searched: dict[str, list[Array]] = {}
    for name in method:
        if name in _SLOW and len(y) > _LARGE and split >= _FEW_SPLITS:
            found.append({})
            continue
        value = choose(name, X, y, inner_folds(y, split), split, searched=searched)
        start = time.perf_counter()
        scores, support = score(name, [value], X, y, X_test, split)
        metrics = {"AUC": 100.0 * float(roc_auc_score(y_test, scores[0])), "seconds": time.perf_counter() - start}
        found.append(metrics | ({} if support is None else {"support vectors": support[0]}))
    return found


def _split(collection: str, split: int, data: Any) -> tuple[Array, Labels, Array, Labels]:
    bunch = load(collection, data)
    y = (bunch.target == 1).astype(int)
    train, test = next(StratifiedShuffleSplit(1, test_size=0.25, random_state=split).split(y, y))
    X, X_test = standardised(bunch.data[train], bunch.data[test])
    return X, y[train], X_test, y[test]


def _seed(*values: float) -> int:
    """A seed that differs for every combination."""
    return int(np.random.SeedSequence([round(1000 * value) for value in values]).generate_state(1)[0])


def _likelihood_ratio(X: Array, centers: Sequence[Array]) -> Array:
    """Logarithm of the density of the rare class over that of the other, up to a constant: no score ranks better."""
    many, few = (logsumexp(-((X[:, None] - c[None]) ** 2).sum(axis=2) / (2.0 * _SPREAD**2), axis=1) for c in centers)
    return few - many


def bounds(data: Any, *, bound: Sequence[str], collection: str, share: float, draw: int, n_rows: int) -> list[Metrics]:
    """Figure 4.1: how far scores can be from those with all kernel functions when a share of the samples has one."""
    X, y = _sample(collection, n_rows, draw, data)
    n, rng = round(share * len(y)), np.random.default_rng(draw)
    rare_first = np.argsort(-y, kind="stable")[:n]
    anyone = rng.choice(len(y), n, replace=False)
    K = rbf_kernel(X, X, 1.0 / (2.0 * float(X.var(axis=0).sum())))
    found = {
        "projected map": subset_bound(y, rare_first, alpha=1.0),
        "kernel perturbation": subset_bound(basis=anyone, K=K, alpha=1.0, loss="perturbation"),
    }
    return [{"bound": found[name]} for name in bound]


def _sample(collection: str, n_rows: int, seed: int, data: Any) -> tuple[Array, Labels]:
    """Some rows of a set, with its share of rare ones."""
    bunch = load(collection, data)
    y = (bunch.target == 1).astype(int)
    if n_rows < len(y):
        rows, _ = next(StratifiedShuffleSplit(1, train_size=n_rows, random_state=seed).split(y, y))
        return standardised(bunch.data[rows])[0], y[rows]
    return standardised(bunch.data)[0], y


def losses(
    data: Any, *, method: str, overlap: float, rare: float, log2_lambda: Sequence[float], trial: int, n_test: int
) -> list[Metrics]:
    """Figure 5.2: mean hinge loss of pairs along the path of penalties, of training samples and of others."""
    X, y = make_rare_gaussians(
        1000 + n_test, overlap=overlap, rare=rare, scale=_SPREAD, random_state=_seed(trial, overlap, rare)
    )
    test, train = next(StratifiedShuffleSplit(1, test_size=1000, random_state=trial).split(X, y))
    A, B = standardised(X[train], X[test])
    basis = {"RANK-SVM": "all", "RANK-RND": "random", "RANK-RC": "rare"}[method]
    ranker = RankRC(basis=basis, random_state=trial, max_iter=30)
    with expected_warnings():
        path = ranker.alpha_path(A, y[train], 2.0 ** np.array(log2_lambda))
    known, new = ([_pair_loss(each, y[rows]) for each in path.scores(Z)] for Z, rows in ((A, train), (B, test)))
    return [{"train loss": a, "test loss": b, "lowest test loss": min(new)} for a, b in zip(known, new, strict=True)]


def _pair_loss(scores: Array, y: Labels) -> float:
    """Mean of max(0, 1 - difference) over all pairs of a rare and another sample."""
    few, many = scores[y == 1], np.sort(scores[y == 0])
    above = np.append(np.cumsum(many[::-1])[::-1], 0.0)  # sums of the largest scores
    first = np.searchsorted(many, few - 1.0)
    counts = len(many) - first
    return float(np.sum(counts * (1.0 - few) + above[first]) / (len(few) * len(many)))


def intrusion(
    data: Any, *, method: Sequence[str], share: float, sample: int, n_check: int, n_test: int
) -> list[Metrics]:
    """Figure 5.3: AUC, time and support vectors with a share (in %) of the KDD Cup's rows for training."""
    X, y, X_test, y_test = _connections(data)
    rows, rest = next(StratifiedShuffleSplit(1, train_size=share / 100.0, random_state=sample).split(y, y >= _R2L))
    rest = _all_rare_and_some(rest, y >= _R2L, n_check, sample)
    test = _all_rare_and_some(np.arange(len(y_test)), y_test >= _R2L, n_test, sample)
    code = _coder(X[rows], y[rows])
    A, B, C = standardised(code(X[rows]), code(X[rest]), code(X_test[test]))
    rare, folds = (y[np.append(rows, rest)] >= _R2L).astype(int), [np.split(np.arange(len(A) + len(B)), [len(A)])]
    found: list[Metrics] = []
    for name in method:
        if len(A) > _MOST_ROWS.get(name, np.inf):
            found.append({})
            continue
        value = choose(name, np.vstack([A, B]), rare, folds, sample)
        start = time.process_time()
        _, support = score(name, [value], A, rare[: len(A)], A[:1], sample)
        seconds = time.process_time() - start
        scores, _ = score(name, [value], A, rare[: len(A)], C, sample)
        auc = 100.0 * float(roc_auc_score(y_test[test] >= _R2L, scores[0]))
        counted = {} if support is None else {"support vectors": support[0]}
        found.append({"AUC": auc, "seconds": seconds, "rows": len(A)} | counted)
    return found


@remember
def _connections(data: Any) -> tuple[Any, ...]:
    """The KDD Cup's rows without duplicates."""
    bunch = load("kddcup99_10pct", data)
    parts = []
    for X, y in ((bunch.data, bunch.target), (bunch.test_data, bunch.test_target)):
        whole = np.ascontiguousarray(np.column_stack([X, y]).astype(np.float32))
        _, first = np.unique(whole.view(np.dtype((np.void, whole.strides[0]))).ravel(), return_index=True)
        first.sort()
        parts += [X[first], y[first]]
    return tuple(parts)


def _all_rare_and_some(rows: Index, rare: NDArray[np.bool_], n: int, seed: int) -> Index:
    """All rare ones of the rows and random others, n in total."""
    few, many = rows[rare[rows]], rows[~rare[rows]]
    wanted = min(len(many), max(0, n - len(few)))
    return np.append(few, np.random.default_rng(seed).choice(many, wanted, replace=False))


def _coder(X: Array, y: Labels) -> Callable[[Array], Array]:
    """43 features: protocol as three indicators, service and flag as the share of attacks where they occur."""
    attack, shares = (y > 0).astype(float), []
    for column in (2, 3):
        codes = X[:, column].astype(int)
        counts = np.bincount(codes, minlength=100)
        hits = np.bincount(codes, weights=attack, minlength=100)
        shares.append(np.where(counts > 0, hits / np.maximum(counts, 1), attack.mean()))

    def code(Z: Array) -> Array:
        protocol = (Z[:, [1]] == np.arange(3)).astype(float)
        rates = [share[Z[:, column].astype(int)] for column, share in zip((2, 3), shares, strict=True)]
        return np.column_stack([Z[:, :1], Z[:, 4:], protocol, *rates])

    return code


def levels(data: Any, *, method: Sequence[str], collection: str, split: int) -> list[Metrics]:
    """Chapter 6: half of the samples for training, a quarter for the choice of the penalty, a quarter for testing."""
    X, y = _ordered(collection, split, data)
    train, rest = next(StratifiedShuffleSplit(1, test_size=0.5, random_state=split).split(X, y))
    check, test = (
        rest[part] for part in next(StratifiedShuffleSplit(1, test_size=0.5, random_state=split).split(rest, y[rest]))
    )
    A, B, C = standardised(X[train], X[check], X[test])
    known, folds = np.append(train, check), [np.split(np.arange(len(train) + len(check)), [len(train)])]
    found: list[Metrics] = []
    for name in method:
        exact = f"ordinal {name}" if name.startswith("RANK") else name
        value = choose(exact, np.vstack([A, B]), y[known], folds, split, measure=mauc_score)
        start = time.process_time()
        scores, support = score(exact, [value], A, y[train], C, split)
        metrics = {"MAUC": 100.0 * mauc_score(y[test], scores[0]), "seconds": time.process_time() - start}
        found.append(metrics | ({} if support is None else {"support vectors": support[0]}))
    return found


def _ordered(collection: str, seed: int, data: Any) -> tuple[Array, Labels]:
    if collection != "simulated":
        bunch = load(collection, data)
        return bunch.data, bunch.target.astype(int)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2000, 8))
    # A level is high for one of two reasons, and the noise is as large as the signal.
    height = np.maximum(X[:, 0] + X[:, 1] * X[:, 2], np.abs(X[:, 3]) + X[:, 4]) + rng.standard_normal(len(X))
    return X, np.searchsorted(np.quantile(height, [0.85, 0.91, 0.95, 0.98]), height)
