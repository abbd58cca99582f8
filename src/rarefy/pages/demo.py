"""The study behind `rarefy demo`.

Words are kept as they are, without weights, so that all ways of selecting them are judged alike: by the error in
cross-validation, by the share of the objective of a linear SVM (hinge loss, C = 1, these labels) that is certified, and
by what is certified for any labels: the share of the gap between two classes, in the worst case.
"""

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.feature_selection import SelectKBest, chi2, f_classif
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, normalize
from sklearn.svm import SVC

from rarefy.certificates import Certificate, certify
from rarefy.certificates._objective import make_objective
from rarefy.core.linalg.rows import as_rows
from rarefy.datasets import make_topics
from rarefy.exceptions import FewerFeaturesWarning, TruncatedRankWarning
from rarefy.pages.best_words import NAME, BestWords, best_words, quick
from rarefy.pages.column_table import ColumnTable, relation_to_target
from rarefy.pages.spectrum import eigenvalues_of
from rarefy.selection import BestSubsetSelector, BSSSelector, LeverageScoreSelector

Progress = Callable[[int, int], None]

_FOLDS = 5
_RANDOM_DRAWS = 5
_BATCHES = 15
C = 1.0
"""What multiplies the losses of the SVM, in training and in certificates."""


@dataclass(frozen=True)
class Row:
    """One way of selecting words, measured."""

    name: str
    labels: bool
    """Whether the labels were used to select."""
    n_kept: int
    n_relevant: int
    error: float
    standard_error: float
    share: float | None
    """Certified share of the objective, for these labels."""
    width: float | None
    """Certified share of the gap between classes, for any labels."""
    seconds: float | None


@dataclass(frozen=True)
class Study:
    """Everything that the demo measures."""

    rows: list[Row]
    certificate: Certificate
    verified: bool
    best: BestWords
    empty_share: float
    """The share of the objective that no words at all have: where the scale of the others begins."""
    weighted_width: float | None
    """The certified share of the gap for any labels if the same number of words may have weights."""
    eigenvalues: NDArray[np.float64] | None
    curve_sizes: list[int]
    errors: dict[str, list[float]]
    shares: dict[str, list[float]]
    error_all: float
    words: ColumnTable
    """All words; kept are those of BSS."""
    n_relevant: int
    n_folds: int
    shape: tuple[int, int]
    seed: int

    def row(self, name: str) -> Row:
        """The row of one way of selecting."""
        return next(row for row in self.rows if row.name == name)


def run_study(
    n_features: int, seed: int = 0, progress: Progress | None = None, *, shape: tuple[int, int] = (200, 20_000)
) -> Study:
    """Select, train and measure on generated documents; `progress` is called with (done, total)."""
    topics = make_topics(*shape, random_state=seed)
    X, y = normalize(topics.data.log1p()), topics.target
    sizes = sorted({30, 100, 300, 800, n_features})
    ticks = _Ticks(progress, len(_selectors(1, seed)) + 2 + (len(sizes) - 1) * len(_CURVES))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncatedRankWarning)  # sizes below the rank are shown on purpose
        warnings.simplefilter("ignore", FewerFeaturesWarning)  # the table has how many words are kept
        everything = _measure_all(X, y, topics.relevant)
        ticks()
        rows, certificates = [everything], {}
        selectors = _selectors(n_features, seed)
        for name, selector in selectors.items():
            row, certificates[name] = _measure(name, selector, X, y, topics)
            rows.append(row)
            ticks()
        weighted: Certificate = BSSSelector(n_features).fit(X).certificate_
        ticks()
        certificate = certificates["BSS"]
        known = {row.name: (row.error, row.share or 0.0) for row in rows}
        points = {
            size: known if size == n_features else _at_size(X, y, size, seed, certificate, ticks) for size in sizes
        }
    return Study(
        rows=rows,
        certificate=certificate,
        verified=bool(certificate.verify(X, y)),
        best=best_words(selectors[NAME], X, y, topics, _without(certificates, NAME), _empty_objective(y)),
        empty_share=_empty_share(certificate, y),
        weighted_width=_width(weighted),
        eigenvalues=eigenvalues_of(X, certificate),
        curve_sizes=sizes,
        errors={name: [points[size][name][0] for size in sizes] for name in _CURVES},
        shares={name: [points[size][name][1] for size in sizes] for name in _CURVES},
        error_all=everything.error,
        words=_words(X, y, topics, certificate, selectors[NAME]),
        n_relevant=int(topics.relevant.sum()),
        n_folds=_FOLDS,
        shape=X.shape,
        seed=seed,
    )


def _words(X: Any, y: NDArray[Any], topics: Any, certificate: Certificate, best: BestSubsetSelector) -> ColumnTable:
    relation, title = relation_to_target(X, y, classified=True)
    return ColumnTable(
        names=topics.feature_names.tolist(),
        kept=certificate.indices,
        weight=None,
        status=best.certificate_.column_status,
        relation=relation,
        relation_title=title,
        counts=None,
        n_resamples=0,
        twin=None,
        correlation=None,
        marks={
            "best": ("best subset", best.selection_order_),
            "topic": ("topic word", np.flatnonzero(topics.relevant)),
        },
        unit="word",
        kept_title="kept by BSS",
    )


def findings(study: Study) -> list[str]:
    """What the table says, in words, wherever another way of selecting is better too."""
    ours = study.row("BSS")
    kept = [row for row in study.rows if row.name != "all"]
    best = min(kept, key=lambda row: row.error)
    lines = [
        f"Error: all words {_percent(study.error_all)}, BSS {_percent(ours.error)}, lowest among the selections "
        f"{_percent(best.error)} ({_names(row for row in kept if row.error == best.error)})."
    ]
    shares = {row.name: row.share for row in kept if row.share is not None}
    if ours.share is not None:
        above = sorted((name for name in shares if shares[name] > ours.share), key=lambda name: -shares[name])
        better = ", ".join(f"{name} {_percent(shares[name])}" for name in above)
        lines.append(
            f"Certified for these labels: BSS {_percent(ours.share)}. The scale begins at "
            f"{_percent(study.empty_share)}, no words at all; random words have {_percent(shares['at random'])}. "
            + (f"More is certified for {better}." if above else "No other selection has more.")
            + f" With {study.curve_sizes[-1]} words BSS has {_percent(study.shares['BSS'][-1])} (measured)."
        )
    if ours.width is not None:
        widths = {row.name: row.width for row in kept if row.width is not None and row.name != "BSS"}
        rest = ", ".join(f"{name} {_percent(widths[name])}" for name in sorted(widths, key=lambda name: -widths[name]))
        more = "" if study.weighted_width is None else f" ({_percent(study.weighted_width)} if words may have weights)"
        lines.append(
            f"Certified for any labels, also for questions not asked yet: the gap between two classes "
            f"keeps at least {_percent(ours.width)} of its width with BSS{more}; {rest or 'nothing with the others'}."
        )
    return lines


def best_findings(study: Study) -> list[str]:
    """What is proved about the best words, and how the others compare."""
    best, r = study.best, study.best.certificate.n_chosen
    order = sorted(best.shares, key=lambda name: -best.shares[name][0])
    others = ", ".join(f"{name} {_percent(best.shares[name][0])}" for name in order)
    lowest = min((row for row in study.rows if row.name != "all"), key=lambda row: row.error)
    lines = [
        f"Of {best.certificate.n_features} words {best.always} are proved to be in every best choice of {r}, "
        f"{best.never} in none; {best.n_open} are open."
    ]
    if others:
        lines.append(
            f"Other selections against the best of as many words, at least: {others}. The scale begins at "
            f"{_percent(best.empty_share)}, no words at all."
        )
    lines.append(
        f"That is about the objective. The error in cross-validation is {_percent(study.row(NAME).error)}; the lowest "
        f"of all selections is {_percent(lowest.error)} ({lowest.name})."
    )
    return lines


def _names(rows: Iterable[Row]) -> str:
    return ", ".join(row.name for row in rows)


def percent(share: float) -> str:
    """A certified share in per cent, never rounded up."""
    return f"{np.floor(1000.0 * share + 1e-9) / 10.0:.1f}"


def percent_up(share: float) -> str:
    """A share that is not exceeded in per cent, never rounded down."""
    return f"{np.ceil(1000.0 * share - 1e-9) / 10.0:.1f}"


def _percent(share: float) -> str:
    return f"{percent(share)} %"


class _Ticks:
    """Counts what is done and reports it."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def __call__(self) -> None:
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total)


_CURVES = ("BSS", "most frequent", "F test", "forward", "at random")
_SEE_LABELS = ("chi²", "F test", "forward", NAME)


def _selectors(r: int, seed: int) -> dict[str, Any]:
    return {
        "BSS": BSSSelector(r, method="unweighted"),
        "leverage scores": LeverageScoreSelector(r, rescale=False, random_state=seed),
        "most frequent": SelectKBest(_document_frequency, k=r),
        "chi²": SelectKBest(chi2, k=r),
        "F test": SelectKBest(_f_scores, k=r),
        "forward": SelectKBest(_forward_scores(r), k=r),
        NAME: BestSubsetSelector(r, loss="hinge", C=C, standardize=False, gap_tol=2e-4 if r <= 1000 else 1e-3),
        "at random": SelectKBest(_random_scores(seed), k=r),
    }


def _document_frequency(X: Any, y: Any) -> NDArray[Any]:
    """In how many documents each word occurs: the simple score that any selector has to beat."""
    return np.asarray((X != 0).sum(axis=0)).ravel()


def _f_scores(X: Any, y: Any) -> NDArray[np.float64]:
    """The F test's score; 0 for words that no document of a fold has, of which scikit-learn warns."""
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", UserWarning)
        return np.nan_to_num(f_classif(X, y)[0])


def _random_scores(seed: int) -> Callable[[Any, Any], NDArray[np.float64]]:
    """A random score function for SelectKBest."""
    return lambda X, y: np.random.default_rng(seed).random(X.shape[1])


def _forward_scores(r: int) -> Callable[[Any, Any], NDArray[np.float64]]:
    """Scores for SelectKBest: the r columns along which the objective falls fastest, in batches, the first highest.

    With `a` the signed dual solution of the SVM in the columns so far, the objective falls at the rate (x_j^T a)^2 / 2
    when column j enters.
    """

    def scores(X: Any, y: Any) -> NDArray[np.float64]:
        found, a = np.zeros(X.shape[1]), np.where(y == y[0], 1.0, -1.0)
        a[a > 0] /= np.sum(a > 0)  # without any column all rows count alike, class by class
        a[a < 0] /= np.sum(a < 0)
        for batch in np.array_split(np.arange(r, 0, -1), min(r, _BATCHES)):
            gains = np.where(found > 0, -1.0, np.asarray(X.T @ a) ** 2)
            found[np.argsort(-gains, kind="stable")[: len(batch)]] = batch
            kept = np.flatnonzero(found)
            svm = SVC(kernel="linear", C=C).fit(X[:, kept], y)
            a = np.zeros(X.shape[0])
            a[svm.support_] = np.asarray(svm.dual_coef_.todense() if issparse(svm.dual_coef_) else svm.dual_coef_)[0]
        return found

    return scores


def _errors(selector: Any, X: Any, y: NDArray[Any]) -> NDArray[np.float64]:
    """Error in every fold; a random selection is repeated, because the error varies over draws."""
    choices = [FunctionTransformer() if selector is None else quick(selector)]
    if _is_random(selector):
        choices = [SelectKBest(_random_scores(draw), k=selector.k) for draw in range(_RANDOM_DRAWS)]
    errors = []
    for select in choices:
        model = make_pipeline(select, SVC(kernel="linear", C=C))
        for train, test in StratifiedKFold(_FOLDS).split(X, y):
            errors.append(1.0 - model.fit(X[train], y[train]).score(X[test], y[test]))
    return np.array(errors)


def _is_random(selector: Any) -> bool:
    return isinstance(selector, SelectKBest) and "_random_scores" in selector.score_func.__qualname__


def _measure_all(X: Any, y: NDArray[Any], relevant: NDArray[np.bool_]) -> Row:
    errors = _errors(None, X, y)
    return Row("all", False, X.shape[1], int(relevant.sum()), *_mean_and_error(errors), 1.0, 1.0, None)


def _measure(name: str, selector: Any, X: Any, y: NDArray[Any], topics: Any) -> tuple[Row, Certificate]:
    errors = _errors(selector, X, y)
    start = time.perf_counter()
    kept = selector.fit(X, y).get_support()
    seconds = time.perf_counter() - start
    certificate = certify(X, kept, y=y, C=C, feature_names=topics.feature_names)
    row = Row(
        name=name,
        labels=name in _SEE_LABELS,
        n_kept=int(kept.sum()),
        n_relevant=int(topics.relevant[kept].sum()),
        error=_mean_and_error(errors)[0],
        standard_error=_mean_and_error(errors)[1],
        share=certificate.objective_ratio,
        width=_width(certificate),
        seconds=seconds,
    )
    return row, certificate


def _mean_and_error(errors: NDArray[np.float64]) -> tuple[float, float]:
    return float(errors.mean()), float(errors.std(ddof=1) / np.sqrt(len(errors)))


def _empty_objective(y: NDArray[Any]) -> float:
    """The objective of an SVM without columns: it pays 2 C for each sample of the smaller class."""
    return 2.0 * C * int(np.unique(y, return_counts=True)[1].min())


def _empty_share(certificate: Certificate, y: NDArray[Any]) -> float:
    """The certified share of an SVM without columns."""
    return 0.0 if certificate.objective is None else max(certificate.objective.lower, 0.0) / _empty_objective(y)


def _without(certificates: dict[str, Certificate], name: str) -> dict[str, Certificate]:
    return {other: certificate for other, certificate in certificates.items() if other != name}


def _width(certificate: Certificate) -> float | None:
    """Share of the width of a gap between classes that is certified for any labels, beside a radius that may grow."""
    ratio = certificate.radius_margin_ratio
    return None if ratio is None else float(np.sqrt(1.0 / max(ratio, 1.0)))


def _at_size(
    X: Any, y: NDArray[Any], size: int, seed: int, certificate: Certificate, ticks: Callable[[], None]
) -> dict[str, tuple[float, float]]:
    """Error and certified share of the objective for another number of words; any certificate has the lower bound."""
    lower = 0.0 if certificate.objective is None else certificate.objective.lower
    found = {}
    for name in _CURVES:
        selector = _selectors(size, seed)[name]
        error = float(np.mean(_errors(selector, X, y)))
        part = as_rows(X[:, np.flatnonzero(selector.fit(X, y).get_support())])
        k = part.shape[1]
        found[name] = (error, max(lower, 0.0) / make_objective(part, np.arange(k), np.ones(k), y, "hinge", C).upper)
        ticks()
    return found
