"""The page of `rarefy demo`."""

import shlex
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
from markupsafe import Markup

from rarefy.certificates._verdict import percent as certified
from rarefy.pages.best_words import NAME
from rarefy.pages.demo import Study, best_findings, findings, percent, percent_up
from rarefy.pages.drawings import Bar, Line, Plot, bars, curves, legend, shown
from rarefy.pages.html import download, embedded, versions, write_html
from rarefy.pages.spectrum import draw_spectrum

_STYLES = ("accent", "second", "third", "fifth", "fourth")


def write_page(study: Study, path: str | PathLike[str]) -> None:
    """Write the page, completely or not at all."""
    write_html(path, "demo.html", **page_values(study, str(path)))


def page_values(study: Study, path: str) -> dict[str, Any]:
    """Everything that the template shows."""
    c = study.certificate
    most = max(max(values) for values in (*study.errors.values(), [study.error_all]))
    top = 10.0 * np.ceil(10.0 * most + 1e-9)
    return {
        "study": study,
        "facts": _facts(study),
        "findings": findings(study),
        "best_findings": best_findings(study),
        "percent": percent,
        "percent_up": percent_up,
        "comparison": _comparison(study),
        "kinds": _kinds(study),
        "shares": _against_size(study, "shares", "certified share, %", study.shares, 100.0),
        "errors": _against_size(study, "errors", "error, %", study.errors, top, level=study.error_all),
        "spectrum": None if study.eigenvalues is None else draw_spectrum(study.eigenvalues, c),
        "columns": study.words.columns(),
        "kept_names": [shown(study.words.names[j]) for j in study.words.kept],
        "data": embedded(study.words.values()),
        "links": {"BSS": download(c), NAME: download(study.best.certificate)},
        "commands": (f"rarefy demo --features {c.n_requested} --seed {study.seed} --out {shlex.quote(path)}",),
        "versions": versions(),
        "fingerprint": c.fingerprint,
    }


def _facts(study: Study) -> list[tuple[str, str]]:
    """The big numbers and what they are."""
    ours, c = study.row("BSS"), study.certificate
    total = f"{study.shape[1]:,}".replace(",", "\N{NARROW NO-BREAK SPACE}")
    share = ("nothing", "is certified") if ours.share is None else (certified(ours.share), _SHARE)
    everything = f"error on held-out documents (all words: {100 * study.error_all:.1f} %)"
    return [(str(len(c.indices)), f"of {total} words kept"), share, (f"{100 * ours.error:.1f} %", everything)]


_SHARE = "certified, of the objective of all words"


def _comparison(study: Study) -> Markup:
    rows = [
        Bar(
            f"{row.name}, {row.n_kept} words",
            row.error,
            f"{100 * row.error:.1f} %",
            row.name == "BSS",
            row.standard_error,
        )
        for row in study.rows
    ]
    most = max(max(row.value + row.spread for row in rows), 1e-9)
    listed = "; ".join(f"{row.label} {row.text}" for row in rows)
    return bars("comparison", f"Error in cross-validation by choice of words: {listed}.", rows, most)


def _kinds(study: Study) -> Markup:
    """Of the chosen words and of the others, the part about which something is proved."""
    best, n = study.best, study.best.certificate.n_chosen
    others = study.shape[1] - n
    rows = [
        Bar(f"the {n} chosen: in every best choice", best.always / n, f"{best.always}, {n - best.always} open", True),
        Bar(
            f"the {others} others: in no best choice",
            best.never / max(others, 1),
            f"{best.never}, {others - best.never} open",
        ),
    ]
    return bars("kinds", "; ".join(f"{row.label}: {row.text}" for row in rows) + ".", rows, 1.0)


def _against_size(
    study: Study, name: str, label: str, values: Mapping[str, Sequence[float]], top: float, level: float | None = None
) -> dict[str, Markup]:
    """Curves in per cent against the number of words, and their legend."""
    sizes = study.curve_sizes
    lines = [
        Line(selection, sizes, [100.0 * value for value in values[selection]], style, dots=True)
        for selection, style in zip(values, _STYLES, strict=True)
    ]
    if level is not None:
        lines.append(Line("all words", [sizes[0], sizes[-1]], [100.0 * level] * 2, "quiet"))
    plot = Plot(360, 300, (sizes[0], sizes[-1]), (0.0, top), log_x=True)
    listed = "; ".join(f"{line.name} {line.y[-1]:.1f} %" for line in lines)
    drawn = curves(
        name,
        f"{label} against the number of words; with {sizes[-1]} words: {listed}.",
        plot,
        lines,
        ("number of words", label),
        x_ticks=sizes,
        y_ticks=np.arange(0.0, top + 1.0, 10.0 if top <= 60.0 else 20.0).tolist(),
    )
    return {"picture": drawn, "legend": legend(lines)}
