"""How well a simple model predicts with the kept columns, on rows that neither it nor the selection has seen.

Other columns of the same number are judged in the same folds: drawn at random, the most variable ones, and those of the
F test. Whatever looks at the target is chosen anew in every fold, from its training rows.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import f_classif, f_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import RarefyError, RarefyWarning
from rarefy.selection import BestSubsetSelector

OURS, ALL = "kept columns", "all columns"
_FOLDS = 5
_MOST_ROWS = 5000
_FEWEST_ROWS = 200
_ENTRIES = 5e6
"""So many values are looked at: 500 rows of 5000 columns take a few seconds."""
_SECONDS = 20.0
"""After so long no further fold is begun; two are always made."""

Choose = Callable[[Any, Any], Index]


@dataclass(frozen=True)
class Compared:
    """One choice of columns, with a score for each fold: an error, or the R² of a regression."""

    name: str
    scores: Array

    @property
    def mean(self) -> float:
        """Over the folds."""
        return float(self.scores.mean())

    @property
    def standard_error(self) -> float:
        """Of the mean."""
        return float(self.scores.std(ddof=1) / np.sqrt(len(self.scores)))


@dataclass(frozen=True)
class HeldOut:
    """All choices, in the same folds."""

    rows: list[Compared]
    classified: bool
    n_rows: int
    """So many rows were looked at."""
    constant: float
    """The error of always naming the most frequent class; 0, which is its R², for regression."""
    seconds: float
    """That choosing the kept columns took in one fold."""

    @property
    def n_folds(self) -> int:
        """So many were made."""
        return len(self.rows[0].scores)

    @property
    def measure(self) -> str:
        """What the scores are."""
        return "error" if self.classified else "R²"

    def row(self, name: str) -> Compared:
        """One of the choices."""
        return next(row for row in self.rows if row.name == name)

    def text(self, value: float) -> str:
        """A score in words."""
        return f"{100 * value:.1f} %" if self.classified else f"{value:.3f}"


def holds_classes(y: NDArray[Any]) -> bool:
    """Whether a target holds classes: floating-point numbers with many different values are numbers."""
    if y.dtype.kind not in "fc":
        return y.dtype.kind not in "iu" or len(np.unique(y)) <= 20
    return len(np.unique(y)) <= 20 and bool(np.all(y == np.round(y)))


def looked_at(X: Any, y: Any, seed: int) -> Index:
    """Numbers of the rows that are looked at: all of them, or a part drawn at random."""
    n = X.shape[0]
    width = max(1.0, X.nnz / n if sp.issparse(X) else X.shape[1])
    models = 1 if y is None or y.dtype.kind == "f" else max(1.0, len(np.unique(y)) / 2)
    most = int(min(_MOST_ROWS, max(_FEWEST_ROWS, _ENTRIES / (width * models))))
    return np.arange(n) if n <= most else np.sort(np.random.default_rng(seed).choice(n, most, replace=False))


def with_number(selector: Any, number: int) -> Any:
    """A copy that keeps so many columns: in parts of the data it does not search for their number again."""
    copy, names = clone(selector), selector.get_params(deep=False)
    changes: dict[str, Any] = {"n_features_to_select": number} if "n_features_to_select" in names else {}
    changes |= {"target": None} if "target" in names else {}
    if isinstance(selector, BestSubsetSelector):  # scores are averaged over folds, and the last digits cost most
        changes |= {"gap_tol": max(selector.gap_tol, 1e-3), "max_nodes": 0}
    return copy.set_params(**changes)


def compare(
    X: Any, y: NDArray[Any], selector: Any, n_kept: int, *, classified: bool, deviations: Any, seed: int
) -> HeldOut | str:
    """Scores of all choices, or why there are none; `deviations` are those of columns before they were scaled."""
    folds = _folds(y, classified, seed)
    if isinstance(folds, str):
        return folds
    choices = _choices(selector, n_kept, classified, deviations, np.random.default_rng(seed))
    scores: dict[str, list[float]] = {name: [] for name in choices}
    choosing: list[float] = []
    begin = time.perf_counter()
    model = make_pipeline(
        StandardScaler(with_mean=not sp.issparse(X)), LogisticRegression(max_iter=300) if classified else Ridge()
    )
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", RarefyWarning)  # folds have fewer rows, of which selectors warn
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)  # of the F test, about constant columns
        for train, test in folds:
            if choosing and len(choosing) > 1 and time.perf_counter() - begin > _SECONDS:
                break
            for name, choose in choices.items():
                start = time.perf_counter()
                try:
                    columns = choose(X[train], y[train])
                except (RarefyError, ValueError) as error:
                    return f"The comparison was left out: in a part of the rows the selection failed ({error})"
                if name == OURS:
                    choosing.append(time.perf_counter() - start)
                scores[name].append(_score(model, X, y, train, test, columns, classified))
    rows = [Compared(name, np.array(values)) for name, values in scores.items()]
    constant = 1.0 - float(np.unique(y, return_counts=True)[1].max() / len(y)) if classified else 0.0
    return HeldOut(rows, classified, X.shape[0], constant, float(np.mean(choosing)))


def _folds(y: NDArray[Any], classified: bool, seed: int) -> list[tuple[Index, Index]] | str:
    rows = np.zeros((len(y), 1))
    if classified:
        fewest = int(np.unique(y, return_counts=True)[1].min())
        if fewest < 2:
            return "The comparison was left out: a class has one row only, which cannot be both learned and held out."
        return list(StratifiedKFold(min(_FOLDS, fewest), shuffle=True, random_state=seed).split(rows, y))
    if len(y) < 4:
        return "The comparison was left out: there are fewer than four rows."
    return list(KFold(min(_FOLDS, len(y) // 2), shuffle=True, random_state=seed).split(rows))


def _choices(
    selector: Any, n_kept: int, classified: bool, deviations: Any, rng: np.random.Generator
) -> dict[str, Choose]:
    """From training rows to numbers of columns."""
    f_test = f_classif if classified else f_regression

    def ours(X: Any, y: Any) -> Index:
        return np.flatnonzero(clone(selector).fit(X, y).get_support())

    return {
        OURS: ours,
        ALL: lambda X, y: np.arange(X.shape[1]),
        "as many by the F test": lambda X, y: _highest(_f_values(f_test, X, y), n_kept),
        "as many most variable": lambda X, y: _highest(_variances(X) * np.square(deviations), n_kept),
        "as many at random": lambda X, y: rng.choice(X.shape[1], n_kept, replace=False),
    }


def _f_values(f_test: Any, X: Any, y: NDArray[Any]) -> Array:
    """Of several outputs the largest."""
    outputs = [y] if y.ndim == 1 else list(y.T)
    return np.max([np.nan_to_num(f_test(X, one)[0], posinf=np.finfo(np.float64).max) for one in outputs], axis=0)


def _highest(scores: Array, number: int) -> Index:
    return np.argsort(-scores, kind="stable")[:number]


def _variances(X: Any) -> Array:
    if not sp.issparse(X):
        return np.asarray(X.var(axis=0, dtype=np.float64))
    mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
    return np.asarray(X.multiply(X).mean(axis=0, dtype=np.float64)).ravel() - mean**2


def _score(
    model: Pipeline, X: Any, y: NDArray[Any], train: Index, test: Index, columns: Index, classified: bool
) -> float:
    if not len(columns):
        return 1.0 if classified else 0.0
    part = X if len(columns) == X.shape[1] else X[:, columns]
    score = float(model.fit(part[train], y[train]).score(part[test], y[test]))
    return 1.0 - score if classified else score
