"""Keeping few columns of a table: which, how good they are, and the pipeline that keeps them again."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import type_of_target

from rarefy._input import RowSource
from rarefy.blocks._data import BlockData
from rarefy.certificates import Certificate, SubsetCertificate, certify
from rarefy.core.linalg.rows import Index
from rarefy.exceptions import ParameterError
from rarefy.selection import BestSubsetSelector, BSSSelector, LeverageScoreSelector, RRQRSelector
from rarefy.selection import _subset_problem as subset_problem
from rarefy.tables import Table, TableEncoder
from rarefy.workflows.reading import Reading
from rarefy.workflows.stored import StoredTable, fitted_scaler


@dataclass(frozen=True)
class Method:
    """A way to select: the estimator, and whether it needs a target and standardised columns."""

    make: Callable[[Any, dict[str, Any]], Any]
    code: str
    supervised: bool
    standardized: bool
    title: str


def _best(keep: Any, more: dict[str, Any]) -> Any:
    return BestSubsetSelector(keep, C=more.get("C"), groups=more.get("groups"))


METHODS = {
    "best": Method(_best, "BestSubsetSelector({keep}, C={C}{groups})", True, False, "the best columns for the target"),
    "bss": Method(
        lambda keep, more: BSSSelector(
            keep, rescale=False, target={"margin": 0.5} if keep == "auto" else None, random_state=more.get("seed")
        ),
        "BSSSelector({keep}, rescale=False{seed})",
        False,
        True,
        "spectral sparsification",
    ),
    "leverage": Method(
        lambda keep, more: LeverageScoreSelector(keep, sampling="top", rescale=False, random_state=more.get("seed")),
        'LeverageScoreSelector({keep}, sampling="top", rescale=False{seed})',
        False,
        True,
        "largest leverage scores",
    ),
    "rrqr": Method(lambda keep, more: RRQRSelector(keep), "RRQRSelector({keep})", False, True, "rank-revealing QR"),
}


@dataclass(frozen=True)
class Preprocessing:
    """From a table to the matrix that a certificate is about."""

    encoder: TableEncoder
    mean: Any = None
    scale: Any = None

    def __call__(self, table: Table | StoredTable) -> Any:
        """The matrix of a table; of a folder of blocks, it is computed block by block."""
        if isinstance(table, StoredTable):
            stored = table.numbers(self.encoder)
            return stored if self.scale is None else stored.standardized(self.mean, self.scale)
        X = self.encoder.transform(table)
        return X if self.scale is None else (X - self.mean) / self.scale

    @property
    def names(self) -> list[str]:
        """Of the columns of the matrix."""
        return [str(name) for name in self.encoder.get_feature_names_out()]


@dataclass(frozen=True)
class Selection:
    """The outcome of a selection."""

    preprocessing: Preprocessing
    selector: Any
    certificate: Certificate | SubsetCertificate
    method: str
    X: Any
    """The matrix that the certificate is about."""
    y: Any
    target: str | None
    stored: BlockData | None = None
    """The columns before they were scaled, of a folder of blocks."""

    @property
    def kept(self) -> Index:
        """Numbers of the kept columns, the most important first."""
        return np.asarray(self.selector.selection_order_)

    @property
    def kept_names(self) -> list[str]:
        """Names of the kept columns, the most important first."""
        names = self.preprocessing.names
        return [names[j] for j in self.kept]


def fit_preprocessing(
    table: Table | StoredTable, *, impute: str | None, standardized: bool
) -> tuple[Preprocessing, Any]:
    """The preprocessing of a table and the matrix that it gives."""
    if isinstance(table, StoredTable):
        return _fit_stored(table, table.encoder(impute), standardized)
    encoder = TableEncoder(impute=impute).fit(table)
    X = encoder.transform(table)
    if not standardized or sp.issparse(X):
        return Preprocessing(encoder), X
    scaler = StandardScaler().fit(X)
    made = Preprocessing(encoder, scaler.mean_, scaler.scale_)
    return made, made(table)


def _fit_stored(table: StoredTable, encoder: TableEncoder, standardized: bool) -> tuple[Preprocessing, Any]:
    X = table.numbers(encoder)
    if not standardized or table.data.sparse:
        return Preprocessing(encoder), X
    scaler = fitted_scaler(X)
    made = Preprocessing(encoder, scaler.mean_, scaler.scale_)
    return made, made(table)


def holds_classes(y: Any) -> bool:
    """Whether a target holds classes and not measurements, as `BestSubsetSelector` sees it."""
    return subset_problem.holds_classes(y, type_of_target(y))


def usual_penalty(X: Any) -> float:
    """C where none is given: one over the mean squared length of the rows, as `BestSubsetSelector` has it."""
    if isinstance(X, RowSource):
        squares = float(np.sum(X.rows().column_norms() ** 2))
    else:
        squares = float(X.multiply(X).sum() if sp.issparse(X) else np.vdot(X, X))
    return X.shape[0] / squares if squares > 0.0 else 1.0


def select_table(
    table: Table | StoredTable,
    target: str | None = None,
    *,
    keep: Any = None,
    method: str | None = None,
    C: float | None = None,
    impute: str | None = None,
    seed: int = 0,
) -> Selection:
    """Keep few columns of a table.

    Parameters
    ----------
    table : Table or StoredTable
        The table, with its target.
    target : str or None
        Column to select for; None selects for all targets at once.
    keep : int, float, "auto" or None
        How many columns; a float is a share, None the method's own default.
    method : str or None
        One of `METHODS`; None means "best" with a target and "bss" without.
    C : float or None
        Of "best"; None means its rule.
    impute : "median" or None
        What to do about missing values.
    seed : int
        Of methods that draw.
    """
    features: Any
    features, y = (table, None) if target is None else table.split(target)
    name = method or ("bss" if target is None else "best")
    chosen = METHODS[name]
    if chosen.supervised and y is None:
        raise ParameterError(f"method '{name}' selects for a target: name its column with --target.")
    preprocessing, X = fit_preprocessing(features, impute=impute, standardized=chosen.standardized)
    groups = preprocessing.encoder.groups_
    distinct = len(set(groups))
    selector = chosen.make(keep, {"C": C, "seed": seed, "groups": groups if distinct < len(groups) else None})
    selector = selector.fit(X, y) if chosen.supervised else selector.fit(X)
    certificate = getattr(selector, "certificate_", None)
    if certificate is None:
        certificate = certify(X, selector.support_)
    stored = features.numbers(preprocessing.encoder) if isinstance(features, StoredTable) else None
    return Selection(preprocessing, selector, certificate, name, X, y, target, stored)


def selection_pipeline(made: Selection) -> Pipeline:
    """From a table to its kept columns, as they are: selectors that were fitted on scaled columns only pick them."""
    return Pipeline([("encode", made.preprocessing.encoder), ("select", made.selector)])


def selection_code(reading: Reading, selection: Selection, keep: Any, C: float | None, impute: str | None) -> str:
    """The same in Python."""
    method = METHODS[selection.method]
    grouped = getattr(selection.selector, "groups", None) is not None
    seed = f", random_state={reading.seed}"
    if selection.method == "bss" and keep == "auto":
        seed = f', target={{"margin": 0.5}}{seed}'
    groups = ", groups=encoder.groups_" if grouped else ""
    estimator = method.code.format(keep=repr(keep), C=C, groups=groups, seed=seed)
    if selection.stored is not None:
        return _stored_code(reading, selection, estimator.replace("encoder.groups_", str(list(_groups(selection)))))
    scaled, certified = selection.preprocessing.scale is not None, hasattr(selection.selector, "certificate_")
    lines = [
        "from rarefy.tables import TableEncoder, read_table",
        f"from rarefy.selection import {estimator.partition('(')[0]}",
        f"table = {reading.code}",
        "" if selection.target is None else f"table, y = table.split({selection.target!r})",
        f"encoder = TableEncoder({'' if impute is None else f'impute={impute!r}'})",
        "X = encoder.fit_transform(table)",
        "from sklearn.preprocessing import StandardScaler" if scaled else "",
        "X = StandardScaler().fit_transform(X)" if scaled else "",
        f"selector = {estimator}.fit(X{', y' if method.supervised else ''})",
        "print(selector.certificate_)" if certified else "import rarefy; print(rarefy.certify(X, selector.support_))",
    ]
    return "\n".join(line for line in lines if line)


def _groups(selection: Selection) -> list[int]:
    return list(selection.preprocessing.encoder.groups_)


def _stored_code(reading: Reading, selection: Selection, estimator: str) -> str:
    """The same in Python, of a folder of blocks."""
    scaled, certified = selection.preprocessing.scale is not None, hasattr(selection.selector, "certificate_")
    lines = [
        "import rarefy",
        f"from rarefy.selection import {estimator.partition('(')[0]}",
        f"data = {reading.code}",
        f"X = data{'.standardized()' if scaled else ''}",
        f"selector = {estimator}.fit(X{', data.target' if METHODS[selection.method].supervised else ''})",
        "print(selector.certificate_)" if certified else "print(rarefy.certify(X, selector.support_))",
    ]
    return "\n".join(lines)
