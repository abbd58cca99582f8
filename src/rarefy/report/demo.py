"""The study behind `rarefy demo`, and its page."""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectKBest
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, normalize
from sklearn.svm import SVC

from rarefy.certificates import Certificate, hard_margin2
from rarefy.core.linalg.rows import as_rows
from rarefy.core.linalg.spectrum import decompose
from rarefy.datasets import make_topics
from rarefy.exceptions import FewerFeaturesWarning, TruncatedRankWarning
from rarefy.report import figures
from rarefy.report.html import write_html
from rarefy.selection import BSSSelector, LeverageScoreSelector, SupportVectorSelector

Progress = Callable[[int, int], None]

_FOLDS = 5
_RANDOM_DRAWS = 5


@dataclass(frozen=True)
class Row:
    """One way of selecting words, measured."""

    name: str
    n_kept: int
    n_relevant: int
    error: float
    standard_error: float
    margin2: float
    seconds: float | None


@dataclass(frozen=True)
class Study:
    """Everything that the demo measures."""

    rows: list[Row]
    certificate: Certificate
    verified: bool
    eigenvalues: NDArray[np.float64]
    interval: tuple[float, float]
    curve_sizes: list[int]
    curves: dict[str, list[float]]
    error_all: float
    words: list[tuple[str, float, bool]]
    n_relevant: int
    n_folds: int
    shape: tuple[int, int]


def run_study(
    n_features: int, seed: int = 0, progress: Progress | None = None, *, shape: tuple[int, int] = (200, 20_000)
) -> Study:
    """Select, train and measure on generated documents; `progress` is called with (done, total)."""
    topics = make_topics(*shape, random_state=seed)
    X = normalize(topics.data.log1p())
    y = topics.target
    sizes = sorted({30, 100, 200, 300, 500, 800, n_features})
    ticks = _Ticks(progress, len(sizes) * len(_selectors(1, seed)) + len(_selectors(1, seed)) + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncatedRankWarning)  # sizes below the rank are shown on purpose
        warnings.simplefilter("ignore", FewerFeaturesWarning)  # the table has how many words are kept
        everything = _measure("all", None, X, y, topics.relevant)
        ticks()
        rows, fitted = [everything], {}
        for name, selector in _selectors(n_features, seed).items():
            fitted[name] = selector
            rows.append(_measure(name, selector, X, y, topics.relevant))
            ticks()
        curves: dict[str, list[float]] = {name: [] for name in fitted}
        for size in sizes:
            for name, selector in _selectors(size, seed).items():
                curves[name].append(float(np.mean(_errors(selector, X, y))))
                ticks()
    certificate: Certificate = fitted["BSS"].certificate_
    ell, r = certificate.rank, n_features
    return Study(
        rows=rows,
        certificate=certificate,
        verified=bool(certificate.verify(X)),
        eigenvalues=_eigenvalues(X, certificate),
        interval=((1 - np.sqrt(ell / r)) ** 2, (1 + np.sqrt(ell / r)) ** 2),
        curve_sizes=sizes,
        curves=curves,
        error_all=everything.error,
        words=[
            (topics.feature_names[i], w, bool(topics.relevant[i]))
            for i, w in zip(certificate.indices, certificate.weights, strict=True)
        ],
        n_relevant=int(topics.relevant.sum()),
        n_folds=_FOLDS,
        shape=X.shape,
    )


class _Ticks:
    """Counts what is done and reports it."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


def _selectors(r: int, seed: int) -> dict[str, Any]:
    return {
        "BSS": BSSSelector(r),
        "BSS on support vectors": SupportVectorSelector(BSSSelector(r)),
        "leverage scores": LeverageScoreSelector(r, random_state=seed),
        "most frequent": SelectKBest(_document_frequency, k=r),
        "at random": SelectKBest(_random_scores(seed), k=r),
    }


def _document_frequency(X: Any, y: Any) -> NDArray[Any]:
    """In how many documents each word occurs: the simple score that any selector has to beat."""
    return np.asarray((X != 0).sum(axis=0)).ravel()


def _random_scores(seed: int) -> Callable[[Any, Any], NDArray[np.float64]]:
    """A random score function for SelectKBest."""
    return lambda X, y: np.random.default_rng(seed).random(X.shape[1])


def _errors(selector: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Error in every fold; a random selection is repeated, because the error varies over draws."""
    choices = [FunctionTransformer() if selector is None else selector]
    if isinstance(selector, SelectKBest) and selector.score_func is not _document_frequency:
        choices = [SelectKBest(_random_scores(draw), k=selector.k) for draw in range(_RANDOM_DRAWS)]
    errors = []
    for select in choices:
        model = make_pipeline(select, SVC(kernel="linear"))
        for train, test in StratifiedKFold(_FOLDS).split(X, y):
            errors.append(1.0 - model.fit(X[train], y[train]).score(X[test], y[test]))
    return np.array(errors)


def _measure(name: str, selector: Any, X: Any, y: NDArray[Any], relevant: NDArray[np.bool_]) -> Row:
    errors = _errors(selector, X, y)
    seconds, XR, kept = None, X, np.ones(X.shape[1], dtype=bool)
    if selector is not None:
        start = time.perf_counter()
        selector.fit(X, y)
        seconds = time.perf_counter() - start
        XR, kept = selector.transform(X), selector.get_support()
    return Row(
        name=name,
        n_kept=int(kept.sum()),
        n_relevant=int(relevant[kept].sum()),
        error=float(errors.mean()),
        standard_error=float(errors.std(ddof=1) / np.sqrt(len(errors))),
        margin2=hard_margin2(XR, y),
        seconds=seconds,
    )


def _eigenvalues(X: Any, certificate: Certificate) -> NDArray[np.float64]:
    """All eigenvalues of V'RR'V; the certificate has the extreme ones only."""
    V = decompose(as_rows(X)).leading(certificate.rank).V
    W = V.take(certificate.indices) * certificate.weights[:, None]
    return np.asarray(np.linalg.eigvalsh(W.T @ W), dtype=np.float64)


def write_page(study: Study, path: str | PathLike[str]) -> None:
    """Write the page atomically."""
    pictures = [
        figures.weights(study.words, "Weights of the kept words, in order of selection"),
        figures.spectrum_between_bounds(study.eigenvalues, study.interval),
        figures.error_against_features(study.curve_sizes, study.curves, study.error_all),
    ]
    write_html(path, "demo.html", study=study, pictures=pictures)
