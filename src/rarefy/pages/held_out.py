"""How well a simple model predicts with the kept columns, on rows that neither it nor the selection has seen.

Other columns of the same number are judged in the same folds: drawn at random, the most variable ones (of sparse data
the most frequent ones), and those that scikit-learn's SelectKBest takes by its F test. Whatever looks at the target is
chosen anew in every fold, from its training rows. A rare class is judged by the area under the ROC curve: naming the
other class always would have a small error.
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
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import RarefyError, RarefyWarning
from rarefy.selection import BestSubsetSelector

OURS, ALL = "kept columns", "all columns"
ERROR, AREA, R2 = "error", "area under the ROC curve", "R²"
_RARE = 0.2
"""Of two classes, one that has a smaller share of the rows is rare."""
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
    """One choice of columns, with a score for each fold."""

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
    measure: str
    """What the scores are: "error", "area under the ROC curve", or "R²" of a regression."""
    n_rows: int
    """So many rows were looked at."""
    constant: float
    """What predicting the same for every row has."""
    seconds: float
    """That choosing the kept columns took in one fold."""

    @property
    def n_folds(self) -> int:
        """So many were made."""
        return len(self.rows[0].scores)

    @property
    def lower_is_better(self) -> bool:
        """Whether the measure is an error."""
        return self.measure == ERROR

    def row(self, name: str) -> Compared:
        """One of the choices."""
        return next(row for row in self.rows if row.name == name)

    def text(self, value: float) -> str:
        """A score in words."""
        return f"{100 * value:.1f} %" if self.lower_is_better else f"{value:.3f}"


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
    folds = folds_of(y, classified, seed)
    if isinstance(folds, str):
        return folds
    measure = _measure(y, classified)
    choices = _choices(selector, n_kept, classified, deviations, np.random.default_rng(seed), sparse=sp.issparse(X))
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
                scores[name].append(_score(model, X, y, train, test, columns, measure))
    rows = [Compared(name, np.array(values)) for name, values in scores.items()]
    return HeldOut(rows, measure, X.shape[0], _without_columns(y, measure), float(np.mean(choosing)))


def _measure(y: NDArray[Any], classified: bool) -> str:
    if not classified:
        return R2
    counts = np.unique(y, return_counts=True)[1]
    return AREA if len(counts) == 2 and counts.min() < _RARE * len(y) else ERROR


def _without_columns(y: NDArray[Any], measure: str) -> float:
    """What predicting the same for every row has."""
    error = 1.0 - float(np.unique(y, return_counts=True)[1].max() / len(y))
    return {ERROR: error, AREA: 0.5, R2: 0.0}[measure]


def folds_of(y: NDArray[Any], classified: bool, seed: int) -> list[tuple[Index, Index]] | str:
    """Training and test rows, or why there are none."""
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
    selector: Any, n_kept: int, classified: bool, deviations: Any, rng: np.random.Generator, *, sparse: bool = False
) -> dict[str, Choose]:
    """From training rows to numbers of columns."""
    f_test = f_classif if classified else f_regression

    def simple(X: Any) -> Array:
        return np.diff(X.tocsc().indptr) if sparse else X.var(axis=0, dtype=np.float64) * np.square(deviations)

    def ours(X: Any, y: Any) -> Index:
        return np.flatnonzero(clone(selector).fit(X, y).get_support())

    return {
        OURS: ours,
        ALL: lambda X, y: np.arange(X.shape[1]),
        "as many by SelectKBest (F test)": lambda X, y: _highest(_f_values(f_test, X, y), n_kept),
        f"as many, the most {'frequent' if sparse else 'variable'}": lambda X, y: _highest(simple(X), n_kept),
        "as many at random": lambda X, y: rng.choice(X.shape[1], n_kept, replace=False),
    }


def _f_values(f_test: Any, X: Any, y: NDArray[Any]) -> Array:
    """Of several outputs the largest."""
    outputs = [y] if y.ndim == 1 else list(y.T)
    return np.max([np.nan_to_num(f_test(X, one)[0], posinf=np.finfo(np.float64).max) for one in outputs], axis=0)


def _highest(scores: Array, number: int) -> Index:
    return np.argsort(-scores, kind="stable")[:number]


def _score(model: Pipeline, X: Any, y: NDArray[Any], train: Index, test: Index, columns: Index, measure: str) -> float:
    if not len(columns):
        return {ERROR: 1.0, AREA: 0.5, R2: 0.0}[measure]
    part = X if len(columns) == X.shape[1] else X[:, columns]
    model.fit(part[train], y[train])
    if measure == AREA:
        return float(roc_auc_score(y[test] == model.classes_[1], model.decision_function(part[test])))
    score = float(model.score(part[test], y[test]))
    return 1.0 - score if measure == ERROR else score
