"""The page about a ranker of a rare class: what looking at the highest scores finds, on rows that it has not seen."""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from rarefy._input import RowSource
from rarefy.certificates._fingerprint import fingerprint
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import DegenerateDataError
from rarefy.pages.alarms import Steps, confusion, precision_points, roc_points, sentence_on_top, steps_of
from rarefy.pages.drawings import Line, Plot, curves, shown
from rarefy.pages.html import download, embedded, versions, write_html

if TYPE_CHECKING:
    from rarefy.workflows.models_of_tables import RankedTable

FINGERPRINT = "fingerprint of the data"
_TOP = 20
_TICKS = [0, 0.2, 0.4, 0.6, 0.8, 1.0]


@dataclass(frozen=True)
class RankedCases:
    """Held-out scores of the rows of a table, as the page needs them."""

    is_rare: NDArray[np.bool_]
    scores: Array
    """NaN for rows that were never held out."""
    rare_class: Any
    other_class: Any
    threshold: float
    """Rows with a score above it are called rare."""
    promise: Any
    """A RecallCertificate, or None."""
    measures: Mapping[str, float]
    source: str
    target: str | None = None
    most_learned: int | None = None
    """Rows of a class that the rankers behind the scores learned from at most; None means all but the held-out ones."""
    settings: tuple[tuple[str, str], ...] = ()
    """Further facts that the result depends on."""
    commands: tuple[str, ...] = ()


def write_ranking_page(
    made: "RankedTable", path: str | PathLike[str], *, file: str, options: Sequence[str] = ()
) -> None:
    """Write the page of a ranker that was trained on a table from a file, completely or not at all.

    `options` are those of the command that say what was read: columns and rows that were left out, and the seed.
    """
    ranker = made.ranker
    matrix = made.X.rows() if isinstance(made.X, RowSource) else made.X
    cases = RankedCases(
        is_rare=np.asarray(made.is_rare, dtype=bool),
        scores=np.asarray(made.held_out),
        rare_class=made.rare_class,
        other_class=other_class(ranker, made.rare_class),
        threshold=float(ranker.threshold_),
        promise=ranker.threshold_certificate_,
        measures=made.measures(),
        source=file,
        target=made.target,
        most_learned=made.most_learned,
        settings=(*settings_of(ranker), (FINGERPRINT, str(fingerprint(matrix)))),
        commands=_commands(made, path, file, options),
    )
    write_html(path, "ranking.html", **ranking_values(cases))


def ranking_values(cases: RankedCases) -> dict[str, Any]:
    """Everything that the template shows.

    Raises
    ------
    DegenerateDataError
        If no rare case or no other one was held out.
    """
    usable = np.isfinite(cases.scores)
    rare, scores = cases.is_rare[usable], cases.scores[usable]
    if rare.all() or not rare.any():
        raise DegenerateDataError(
            "A page about a ranking needs held-out scores of both classes; there are those of one."
        )
    steps = steps_of(rare, scores, cases.threshold)
    now = confusion(steps, cases.threshold)
    share = steps.n_rare / steps.n_rows
    promise = cases.promise
    return {
        "cases": cases,
        "steps": steps,
        "now": now,
        "budget": now.alarms / steps.n_rows,
        "share": share,
        "sentence": sentence_on_top(rare, scores),
        "facts": _facts(cases.measures, share),
        "roc": _roc(steps, cases),
        "precision": _precision(steps, cases),
        "data": embedded(steps.values()),
        "n_unscored": int(np.sum(~usable)),
        "promise": promise,
        "link": None if promise is None else download(promise),
        "top": _top(cases),
        "versions": versions(),
    }


def other_class(ranker: Any, rare_class: Any) -> Any:
    """The label of the other class."""
    return next((label for label in ranker.classes_.tolist() if label != rare_class), "other")


def settings_of(ranker: Any) -> tuple[tuple[str, str], ...]:
    """What a ranker was trained with, in words."""
    inner = ranker if getattr(ranker, "estimator", None) is None else ranker.estimator
    found = [("penalty alpha", f"{ranker.alpha_:.4g}"), ("threshold on the score", f"{ranker.threshold_:.6g}")]
    seed = getattr(inner, "random_state", None)
    return (*found, *([("seed", str(seed))] if isinstance(seed, int | np.integer) else []))


def _facts(measures: Mapping[str, float], share: float) -> list[tuple[str, str]]:
    """The big numbers and what they are; for comparison what a random order has."""
    chance = (" (random order: 0.5)", f" (random order: {share:.3f})", " (random order: 1 %)")
    values = [f"{value:.3f}" for value in list(measures.values())[:2]]
    values += [f"{100 * value:.1f} %" for value in list(measures.values())[2:]]
    return [(value, name + more) for value, name, more in zip(values, measures, chance, strict=True)]


def _roc(steps: Steps, cases: RankedCases) -> Markup:
    false, true = roc_points(steps)
    found, alarms = steps.above(cases.threshold)
    at = alarms / (steps.n_rows - steps.n_rare), found / steps.n_rare
    lines = [
        Line("random order", [0, 1], [0, 1], "quiet"),
        Line("held-out scores", false.tolist(), true.tolist(), "accent"),
    ]
    title = (
        f"ROC curve of held-out scores; at the threshold {100 * at[1]:.1f} % of rare cases and {100 * at[0]:.1f} % of "
        "others are called rare."
    )
    return _square("roc", title, lines, ("share of others called rare", "share of rare cases found"), at)


def _precision(steps: Steps, cases: RankedCases) -> Markup:
    recall, precision = precision_points(steps)
    found, false_alarms = steps.above(cases.threshold)
    at = (found / steps.n_rare, found / (found + false_alarms)) if found else None
    level = steps.n_rare / steps.n_rows
    lines = [
        Line("random order", [0, 1], [level, level], "quiet"),
        Line("held-out scores", recall.tolist(), precision.tolist(), "accent"),
    ]
    where = "" if at is None else f"; at the threshold {100 * at[1]:.1f} % of alarms are right"
    title = f"Precision and recall of held-out scores{where}."
    return _square("precision", title, lines, ("share of rare cases found", "share of alarms that are right"), at)


def _square(
    name: str, title: str, lines: list[Line], labels: tuple[str, str], at: tuple[float, float] | None
) -> Markup:
    plot = Plot(360, 330, (0.0, 1.0), (0.0, 1.0))
    return curves(name, title, plot, lines, labels, x_ticks=_TICKS, y_ticks=_TICKS, marked=at, marker=f"{name}-marker")


def _top(cases: RankedCases) -> list[tuple[int, str, str, bool]]:
    """Row, counted from 1, score and label of the rows with the highest scores."""
    order = np.argsort(np.where(np.isfinite(cases.scores), -cases.scores, np.inf), kind="stable")[:_TOP]
    labels = shown(cases.other_class), shown(cases.rare_class)
    return [
        (int(i) + 1, f"{cases.scores[i]:.4g}", labels[int(cases.is_rare[i])], bool(cases.is_rare[i]))
        for i in order
        if np.isfinite(cases.scores[i])
    ]


def _commands(made: "RankedTable", path: str | PathLike[str], file: str, more: Sequence[str]) -> tuple[str, ...]:
    """The command that makes the same ranker and page again."""
    search, encoder = made.ranker, made.pipeline[0]
    inner = getattr(search, "estimator", None)
    rule = getattr(inner, "threshold", None)
    promise = rule if isinstance(rule, dict) and "confidence" in rule else {}
    options = {
        "--target": made.target,
        "--rare-class": made.rare_class,
        "--recall": promise.get("recall"),
        "--confidence": promise.get("confidence"),
        "--scoring": getattr(search, "scoring", None),
        "--impute": getattr(encoder, "impute", None),
        "--report": path,
    }
    words = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    return (shlex.join(["rarefy", "rank", file, *words, *more]),)
