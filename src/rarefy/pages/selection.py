"""The page about columns kept of one's own table: what they are worth, which they are, and how to get them again."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from markupsafe import Markup

from rarefy._input import RowSource
from rarefy.certificates import Certificate, SubsetCertificate
from rarefy.certificates._verdict import percent
from rarefy.core.linalg.rows import Index
from rarefy.core.linalg.threads import threads_over
from rarefy.exceptions import RarefyError
from rarefy.pages.column_table import ColumnTable, chosen_in_resamples, relation_to_target, twins, weights_of
from rarefy.pages.drawings import Bar, bars, shown
from rarefy.pages.held_out import ALL, OURS, HeldOut, compare, holds_classes, looked_at, with_number
from rarefy.pages.html import download, embedded, versions, write_html
from rarefy.pages.spectrum import SpectrumPicture, draw_spectrum, eigenvalues_of
from rarefy.pages.subset_curve import CurvePicture, draw_curve

if TYPE_CHECKING:
    from rarefy.workflows.selection import Selection

SEED = 0
"""Of the folds, resamples and random columns of the page."""
_VERIFIED = 2e7
"""Values up to which the certificate is checked again for the page."""


@dataclass(frozen=True)
class ChosenColumns:
    """A selection, as the page needs it."""

    X: Any
    """The matrix that the certificate is about."""
    y: Any
    names: Sequence[str]
    kept: Index
    """The most important first."""
    selector: Any
    certificate: Certificate | SubsetCertificate
    source: str
    """Where the data come from."""
    target: str | None = None
    deviations: Any = None
    """Standard deviations that columns of X were divided by; None if they were not."""
    commands: tuple[str, ...] = ()
    """What to call to get the same."""
    n_rows: int | None = None
    """How many rows there are, where X and y are those of some of them, drawn at random."""

    @property
    def classified(self) -> bool:
        """Whether the target holds classes."""
        if isinstance(self.certificate, SubsetCertificate):
            return self.certificate.classified
        return self.y is not None and self.y.ndim == 1 and holds_classes(self.y)


def write_selection_page(
    made: "Selection", path: str | PathLike[str], *, file: str, options: Sequence[str] = ()
) -> None:
    """Write the page of a selection from a table that was read from a file, completely or not at all.

    `options` are those of the command that say what was read: columns and rows that were left out, and the seed.
    """
    p, y = made.preprocessing, None if made.y is None else np.asarray(made.y)
    X, n_rows = made.X, None
    if isinstance(X, RowSource):
        rows = looked_at(X, y, SEED)
        X, n_rows, y = X.rows().take(rows), X.shape[0], None if y is None else y[rows]
    chosen = ChosenColumns(
        X=X,
        y=y,
        n_rows=n_rows,
        names=p.names,
        kept=np.asarray(made.kept),
        selector=made.selector,
        certificate=made.certificate,
        source=file,
        target=made.target,
        deviations=p.scale,
        commands=_commands(made, path, file, options),
    )
    write_html(path, "selection.html", **selection_values(chosen))


def selection_values(chosen: ChosenColumns) -> dict[str, Any]:
    """Everything that the template shows."""
    with threads_over(_entries(chosen.X)):  # many small models: threads would wait for each other most of the time
        return _values(chosen)


def _values(chosen: ChosenColumns) -> dict[str, Any]:
    rows = looked_at(chosen.X, chosen.y, SEED)
    X = chosen.X.tocsr() if sp.issparse(chosen.X) else chosen.X
    part, y = (X, chosen.y) if len(rows) == X.shape[0] else (X[rows], None if chosen.y is None else chosen.y[rows])
    held_out = _held_out(chosen, part, y)
    table = _table(chosen, part, y, held_out)
    curve: CurvePicture | str = ""
    if chosen.n_rows is not None:
        curve = "The curve was left out: the data are in blocks, and it needs all of them in memory."
    elif chosen.y is not None:
        automatic = hasattr(chosen.selector, "cv_results_")
        kept, classified = chosen.kept, chosen.classified
        curve = draw_curve(X, chosen.y, chosen.certificate, kept, classified=classified, automatic=automatic)
    certificate = chosen.certificate
    return {
        "chosen": chosen,
        "certificate": certificate,
        "facts": _facts(chosen, held_out),
        "n_rows": X.shape[0] if chosen.n_rows is None else chosen.n_rows,
        "n_looked_at": len(rows),
        "held_out": held_out,
        "comparison": _comparison(held_out),
        "shares": _shares(certificate),
        "curve": curve,
        "spectrum": _spectrum(chosen),
        "columns": table.columns(),
        "table": table,
        "has_status": table.status is not None,
        "data": embedded(table.values()),
        "kept_names": [shown(table.names[j]) for j in chosen.kept],
        "verified": _verified(chosen),
        "link": download(certificate),
        "versions": versions(),
        "seed": SEED,
        "fingerprint": certificate.fingerprint,
    }


def _spectrum(chosen: ChosenColumns) -> SpectrumPicture | None:
    c = chosen.certificate
    found = eigenvalues_of(chosen.X, c) if isinstance(c, Certificate) and chosen.n_rows is None else None
    return None if found is None or not isinstance(c, Certificate) else draw_spectrum(found, c)


def _entries(X: Any) -> int:
    """Values that are stored."""
    return int(X.nnz if sp.issparse(X) else X.shape[0] * X.shape[1])


def _held_out(chosen: ChosenColumns, X: Any, y: Any) -> HeldOut | str:
    if y is None:
        return "Without a target there is nothing to predict. The certificate proves these shares, for any target:"
    scale = np.ones(X.shape[1]) if chosen.deviations is None else np.asarray(chosen.deviations)
    selector = with_number(chosen.selector, _number(chosen))
    return compare(X, y, selector, len(chosen.kept), classified=chosen.classified, deviations=scale, seed=SEED)


def _number(chosen: ChosenColumns) -> int:
    """What the selector calls the number of columns: that of groups, if it chooses groups."""
    c = chosen.certificate
    return c.n_chosen if isinstance(c, SubsetCertificate) else len(chosen.kept)


def _table(chosen: ChosenColumns, X: Any, y: Any, held_out: HeldOut | str) -> ColumnTable:
    c = chosen.certificate
    relation, title = relation_to_target(X, y, chosen.classified)
    found = twins(X, chosen.kept)
    counts, n_resamples = None, 0
    if isinstance(held_out, HeldOut) or y is None:
        selector = with_number(chosen.selector, _number(chosen))
        seconds = held_out.seconds if isinstance(held_out, HeldOut) else None
        counts, n_resamples = chosen_in_resamples(selector, X, y, seconds, classified=chosen.classified, seed=SEED)
    return ColumnTable(
        names=chosen.names,
        kept=chosen.kept,
        weight=weights_of(chosen.selector, c, chosen.kept),
        status=c.column_status if isinstance(c, SubsetCertificate) else None,
        relation=relation,
        relation_title=title,
        counts=counts,
        n_resamples=n_resamples,
        twin=None if found is None else found[0],
        correlation=None if found is None else found[1],
    )


def _facts(chosen: ChosenColumns, held_out: HeldOut | str) -> list[tuple[str, str]]:
    """The big numbers and what they are."""
    c, total = chosen.certificate, f"{len(chosen.names):,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    share = c.optimality if isinstance(c, SubsetCertificate) else c.share
    facts = [
        (str(len(chosen.kept)), f"of {total} columns kept"),
        ("nothing", "is certified") if share is None else (percent(share), f"certified, {_what(c, share)}"),
    ]
    if isinstance(held_out, HeldOut):
        ours, everything = held_out.row(OURS).mean, held_out.row(ALL).mean
        label = f"{held_out.measure} on held-out rows (all columns: {held_out.text(everything)})"
        facts.append((held_out.text(ours), label))
    elif isinstance(c, Certificate):
        if c.explained is not None:
            facts.append((percent(c.explained), "of the data is in the span of the kept columns"))
        elif c.eigenvalues[0] > 0.0:
            facts.append((str(c.rank), "dimensions of the data, and none of them is lost"))
    return facts


def _what(c: Certificate | SubsetCertificate, share: float) -> str:
    """What the certified share is a share of."""
    if isinstance(c, SubsetCertificate):
        return "of the best choice there is"
    if share == c.objective_ratio:
        return "of the objective of all columns"
    return "of the data explained" if share == c.explained else "of the squared gap between any two classes"


def _comparison(held_out: HeldOut | str) -> Markup | None:
    if isinstance(held_out, str):
        return None
    rows = [
        Bar(row.name, row.mean, held_out.text(row.mean), row.name == OURS, row.standard_error) for row in held_out.rows
    ]
    most = max(max(row.value + row.spread for row in rows), 1e-9) if held_out.lower_is_better else 1.0
    listed = "; ".join(f"{row.label} {row.text}" for row in rows)
    return bars("comparison", f"Held-out {held_out.measure} by choice of columns: {listed}.", rows, most)


def _shares(c: Certificate | SubsetCertificate) -> Markup | None:
    """What is certified, as bars."""
    if isinstance(c, SubsetCertificate):
        named = {"of the best choice there is": c.optimality, "of the objective of all columns": c.objective_ratio}
    else:
        growth = max(1.0, c.eigenvalues[1])
        named = {
            "objective, these labels": c.objective_ratio,
            "of the best columns there are": c.optimality,
            "SVM objective, any labels": c.soft_margin_ratio,
            "margin² / radius², any labels": None if c.margin_floor is None else c.margin_floor / growth,
            "of the data explained": None if c.sketch is not None else c.explained,
        }
    rows = [Bar(name, share, percent(share)) for name, share in named.items() if share is not None]
    listed = "; ".join(f"{row.label} {row.text}" for row in rows)
    return bars("shares", f"Certified shares: {listed}.", rows, 1.0) if rows else None


def _verified(chosen: ChosenColumns) -> bool | None:
    """Whether the data agree with the certificate, where checking it again is cheap."""
    c, X = chosen.certificate, chosen.X
    if chosen.n_rows is not None or _entries(X) > _VERIFIED or getattr(c, "weighted", False):
        return None
    try:
        return bool(c.verify(X, chosen.y))
    except (RarefyError, ValueError):  # labels that do not suit a certificate that does not speak of them
        return None


def _commands(made: "Selection", path: str | PathLike[str], file: str, more: Sequence[str]) -> tuple[str, ...]:
    """The command that makes the same selection and page again."""
    selector, encoder = made.selector, made.preprocessing.encoder
    options = {
        "--target": made.target,
        "--keep": getattr(selector, "n_features_to_select", None),
        "--method": made.method,
        "--C": getattr(selector, "C", None) if made.method == "best" else None,
        "--impute": getattr(encoder, "impute", None),
        "--report": path,
    }
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return (shlex.join(["rarefy", "select", file, *words, *more]),)
