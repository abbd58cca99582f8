"""What is known about each column of a table of which few were kept: for a person to look through, and for a page."""

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.feature_selection import f_classif
from sklearn.model_selection import ShuffleSplit

from rarefy.certificates import SubsetCertificate
from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import RarefyError, RarefyWarning
from rarefy.pages.drawings import shown
from rarefy.selection import selection_stability

TWIN = 0.9
"""Columns whose correlation is at least this are twins."""
_RESAMPLES, _FEWEST, _SECONDS = 10, 3, 6.0
"""So many resamples are made if they take no longer than this; with fewer than the second, none."""
_PRODUCTS = 1e11
"""Multiplications beyond which twins are not looked for."""
_BLOCK = 256
_STATUS = {"in every best set": "e", "in none": "n", "open": "o"}


@dataclass(frozen=True)
class Column:
    """A column of the table that the page shows: what its key is in the data, and what stands above it."""

    key: str
    title: str


@dataclass(frozen=True)
class ColumnTable:
    """Every column, with what is known about it; None for what is not known."""

    names: Sequence[str]
    kept: Index
    """The most important first."""
    weight: Array | None
    """Of the kept columns, in that order."""
    status: NDArray[Any] | None
    relation: Array | None
    relation_title: str
    counts: Index | None
    """In how many resamples each column was chosen."""
    n_resamples: int
    twin: Index | None
    """The nearest twin of each column on the other side, kept or dropped; -1 where there is none."""
    correlation: Array | None
    marks: Mapping[str, tuple[str, Index]] = field(default_factory=dict)
    """Further columns of the page, by key: what stands above them, and for which columns of the data they say yes."""
    unit: str = "column"
    kept_title: str = "kept"

    def columns(self) -> list[Column]:
        """Those that have something to show."""
        known = [
            (True, Column("name", self.unit)),
            (True, Column("kept", self.kept_title)),
            (self.weight is not None, Column("weight", "weight")),
            (self.status is not None, Column("status", "proved")),
            (self.counts is not None, Column("count", f"chosen, of {self.n_resamples}")),
            (self.relation is not None, Column("relation", self.relation_title)),
            (self.twin is not None, Column("twin", "nearest twin")),
            *((True, Column(key, title)) for key, (title, _) in self.marks.items()),
        ]
        return [column for there, column in known if there]

    def values(self) -> dict[str, Any]:
        """Plain values, short: twenty thousand columns take less than two megabytes."""
        return {
            "unit": f"{self.unit.capitalize()}s",
            "marks": {key: members.tolist() for key, (_, members) in self.marks.items()},
            "names": [shown(name) for name in self.names],
            "kept": self.kept.tolist(),
            "weight": _short(self.weight),
            "status": None if self.status is None else "".join(_STATUS[word] for word in self.status),
            "relation": _short(self.relation),
            "digits": 2 if self.relation_title.startswith("r ") else None,
            "count": None if self.counts is None else self.counts.tolist(),
            "twin": None if self.twin is None else self.twin.tolist(),
            "r": None if self.correlation is None else [round(float(r), 2) for r in self.correlation],
        }


def relation_to_target(X: Any, y: NDArray[Any] | None, classified: bool) -> tuple[Array | None, str]:
    """The correlation of each column with numbers or two classes, F for more classes; and what to call it."""
    if y is None or y.ndim > 1:
        return None, ""
    classes = np.unique(y) if classified else None
    if classes is None or len(classes) == 2:
        coded = y.astype(np.float64) if classes is None else np.where(y == classes[1], 1.0, 0.0)
        title = "r with the target" if classes is None else f"r with “{shown(classes[1], 30)}”"
        return correlations(X, coded[:, None])[:, 0], title
    with warnings.catch_warnings(), np.errstate(invalid="ignore", divide="ignore"):
        warnings.simplefilter("ignore", UserWarning)  # about constant columns, which have no relation
        return np.nan_to_num(f_classif(X, y)[0], posinf=0.0), "F of the classes"


def twins(X: Any, kept: Index) -> tuple[Index, Array] | None:
    """For each column its nearest twin among those on the other side, or -1, and the correlation with it."""
    n, d = X.shape
    if float(n) * d * len(kept) > _PRODUCTS:
        return None
    twin, r = np.full(d, -1), np.zeros(d)
    dropped = np.ones(d, dtype=bool)
    dropped[kept] = False
    for start in range(0, len(kept), _BLOCK):
        block = kept[start : start + _BLOCK]
        chosen = X[:, block].toarray() if sp.issparse(X) else X[:, block]
        found = correlations(X, chosen)
        found[~dropped] = 0.0
        size = np.abs(found)
        at, near = np.argmax(size, axis=1), np.argmax(size, axis=0)
        best, own = found[np.arange(d), at], found[near, np.arange(len(block))]
        better = dropped & (np.abs(best) >= TWIN) & (np.abs(best) > np.abs(r))
        twin[better], r[better] = block[at[better]], best[better]
        close = np.abs(own) >= TWIN
        twin[block[close]], r[block[close]] = near[close], own[close]
    return twin, r


def correlations(X: Any, others: Array) -> Array:
    """Of all columns with a few, which are dense; 0 for constant columns."""
    others = others.astype(np.float64)
    others = others - others.mean(axis=0)
    length = np.sqrt(np.sum(others**2, axis=0))
    others = others / np.where(length > 0.0, length, 1.0)
    if sp.issparse(X):
        n, X = X.shape[0], X.astype(np.float64)
        mean = np.asarray(X.mean(axis=0)).ravel()
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        products, norms = np.asarray(X.T @ others), np.sqrt(np.maximum(squares - n * mean**2, 0.0))
        return _divided(products, norms, np.sqrt(squares))
    parts = []
    for start in range(0, X.shape[1], 2048):
        part = X[:, start : start + 2048].astype(np.float64)
        largest = np.sqrt(np.sum(part**2, axis=0))
        part -= part.mean(axis=0)
        parts.append(_divided(part.T @ others, np.sqrt(np.sum(part**2, axis=0)), largest))
    return np.concatenate(parts)


def weights_of(selector: Any, certificate: Any, kept: Index) -> Array | None:
    """Coefficients of the standardised columns, of several models their norms; or weights, if they differ."""
    if isinstance(certificate, SubsetCertificate):
        place = {int(j): i for i, j in enumerate(certificate.indices)}
        rows = certificate.coef[[place[int(j)] for j in kept]]
        return rows[:, 0] if rows.shape[1] == 1 else np.sqrt(np.sum(rows**2, axis=1))
    given = getattr(selector, "weights_", None)
    if given is None or len(given) != len(kept) or np.ptp(given) == 0.0:
        return None
    return np.asarray(given, dtype=np.float64)[np.argsort(np.argsort(kept))]


def chosen_in_resamples(
    selector: Any, X: Any, y: Any, seconds: float | None, *, classified: bool, seed: int
) -> tuple[Index | None, int]:
    """In how many resamples each column is chosen, and of how many; None where they would take too long.

    `seconds` is how long one of them takes; None if that is not known.
    """
    if seconds is None:
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RarefyWarning)
            clone(selector).fit(X)
        seconds = time.perf_counter() - begin
    number = int(min(_RESAMPLES, _SECONDS / max(seconds, 1e-3)))
    if number < _FEWEST:
        return None, 0
    plain = None if classified else ShuffleSplit(number, train_size=0.8, random_state=seed)  # numbers may be whole
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RarefyWarning)
        try:
            report = selection_stability(selector, X, y, n_splits=number, cv=plain, random_state=seed)
        except (RarefyError, ValueError):  # a resample without one of the classes, or with too few rows
            return None, 0
    return np.round(number * report.frequency).astype(np.intp), number


def _divided(products: Array, norms: Array, lengths: Array) -> Array:
    """Norms that are rounding beside the lengths before the mean was taken off are those of constant columns."""
    usable = norms > 1e-7 * lengths
    found = products / np.where(usable, norms, 1.0)[:, None]
    found[~usable] = 0.0
    return np.asarray(np.clip(found, -1.0, 1.0))


def _short(values: Array | None) -> list[float] | None:
    return None if values is None else [float(f"{value:.3g}") for value in values.tolist()]
