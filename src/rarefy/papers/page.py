"""Results of a reproduction as JSON and as a page: the paper's claim, our number, the verdict and the reason.

Quick and full results lie in folders beside each other; a page of one shows the verdicts of the other, if there are
any.
"""

import json
import math
from collections import Counter
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rarefy._files import write_atomically
from rarefy.pages.figures import grouped_means, marked_images, mean_curves
from rarefy.pages.html import write_html
from rarefy.papers.claims import Cell, Results, Table, Verdict, select
from rarefy.papers.runner import origin_of

_OTHER = {"quick": "full", "full": "quick"}


@dataclass(frozen=True)
class OtherRun:
    """Verdicts of the other kind of run, by the title of their claim."""

    mode: str
    same_code: bool
    """Whether the library and the table have not changed since."""
    texts: dict[str, str]


def write_results(table: Table, mode: str, results: Results, verdicts: list[Verdict], out: str | PathLike[str]) -> Path:
    """Write `<id>.json` and `<id>.html` into the folder `out`; return the path of the page."""
    out = Path(out)
    summary = [
        {
            "claim": verdict.claim.title,
            "outcome": verdict.outcome,
            "paper": verdict.paper,
            "ours": verdict.ours,
            "standard_error": verdict.standard_error,
            "compared_with": verdict.other,
            "note": verdict.note,
        }
        for verdict in verdicts
    ]
    cells = [{"cell": cell, "metrics": metrics} for cell, metrics in results]
    origin = origin_of(table.run)
    content = {"table": table.id, "mode": mode, "origin": origin, "verdicts": summary, "cells": cells}
    write_atomically(out / f"{table.id}.json", json.dumps(content, indent=1))
    page = out / f"{table.id}.html"
    layout = _layout(table, results)
    pictures = [_picture(table, results, layout, metric) for metric in layout["numbers"]] + _images(results)
    write_html(
        page,
        "table.html",
        table=table,
        mode=mode,
        verdicts=verdicts,
        beside=read_other_run(table, mode, out),
        layout=layout,
        pictures=pictures,
        words=_words(results),
    )
    return page


def read_other_run(table: Table, mode: str, out: str | PathLike[str]) -> OtherRun | None:
    """Read what the quick run found for a page of the full one, or the other way round; None if there is nothing."""
    other = _OTHER[mode]
    try:
        stored = json.loads((Path(out).parent / other / f"{table.id}.json").read_text(encoding="utf-8"))
        texts = {
            entry["claim"]: f"{number_text(entry['ours'], entry['standard_error'])} {entry['outcome']}".strip()
            for entry in stored["verdicts"]
            if entry["ours"] is not None
        }
        return OtherRun(other, stored.get("origin") == origin_of(table.run), texts) if texts else None
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def number_text(value: float | None, error: float | None = None) -> str:
    """Write a mean, with its standard error if there is one."""
    if value is None:
        return ""
    return f"{value:.4g}" + (f" ± {error:.2g}" if error else "")


def _layout(table: Table, results: Results) -> dict[str, Any]:
    """Rows and columns of the table: means over whatever else the grid varies."""
    row_name, column_names = table.show["rows"], table.show["columns"]
    own = table.show.get("own", [])
    rows = list(dict.fromkeys(cell[row_name] for cell, _ in results))
    names = {row: _marked(row, own) for row in rows}
    columns = list(dict.fromkeys(tuple(cell[name] for name in column_names) for cell, _ in results))
    texts: dict[tuple[str, Any], list[str]] = {}
    numbers: dict[str, dict[Any, list[tuple[float, float]]]] = {}
    for metric in table.show["metrics"]:
        for row in rows:
            values = [_values(results, row_name, row, column_names, column, metric) for column in columns]
            texts[metric, names[row]] = [_text(v) for v in values]
            if not any(isinstance(v, list) for column in values for v in column):
                means = [(float(np.mean(v)), _error(v)) if v else (np.nan, 0.0) for v in values]
                numbers.setdefault(metric, {})[names[row]] = means
    labels = [_label(dict(zip(column_names, column, strict=True))) for column in columns]
    return {
        "metrics": table.show["metrics"],
        "rows": list(names.values()),
        "columns": labels,
        "texts": texts,
        "numbers": numbers,
    }


def _picture(table: Table, results: Results, layout: dict[str, Any], metric: str) -> str:
    """Curves against one of the grid's parameters where the table asks for them, means over the columns otherwise."""
    title = f"{metric} ({table.source})"
    if "curves" not in table.show:
        return grouped_means(title, layout["columns"], layout["numbers"][metric])
    across = table.show["curves"]
    told = table.show.get("lines", (table.show["rows"], *table.show["columns"]))
    names = [name for name in told if name != across]
    lines = list(dict.fromkeys(tuple(cell[name] for name in names) for cell, _ in results))
    measured, published = {}, {}
    for line in lines:
        where = dict(zip(names, line, strict=True))
        label = _label({name: _marked(value, table.show.get("own", [])) for name, value in where.items()})
        found = select(where, metric, results)
        values = {x: [value for cell, value in found if cell[across] == x] for x in {cell[across] for cell, _ in found}}
        if not values:  # cells that do not measure this
            continue
        measured[label] = [(x, float(np.mean(values[x])), _error(values[x])) for x in sorted(values)]
        published[label] = [
            (claim.where[across], claim.paper)
            for claim in table.claims
            if claim.metric == metric and claim.paper is not None and {across, *names} <= claim.where.keys()
            if where.items() <= claim.where.items() and select(claim.where, metric, results)
        ]
    return mean_curves(title, "lambda" if across == "lam" else across, measured, published)


def _images(results: Results) -> list[str]:
    """Selected pixels, over mean images, where cells report both."""
    drawn = []
    for cell, metrics in results:
        if "mean images" in metrics:
            weights = np.array(metrics["pixel weights"])
            side = math.isqrt(len(weights))
            images = {name: np.reshape(mean, (side, side)) for name, mean in metrics["mean images"].items()}
            drawn.append(marked_images(_label(cell), images, weights))
    return drawn


def _values(
    results: Results, row_name: str, row: Any, column_names: list[str], column: tuple[Any, ...], metric: str
) -> list[Any]:
    return [
        metrics[metric]
        for cell, metrics in results
        if cell[row_name] == row and tuple(cell[name] for name in column_names) == column and metric in metrics
    ]


def _marked(value: Any, own: list[Any]) -> Any:
    """A row's name, marked if the paper does not have it."""
    return f"{value} (ours)" if value in own else value


def _label(cell: Cell) -> str:
    return ", ".join(f"{name} {value}" for name, value in cell.items())


def _error(values: list[float]) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _text(values: list[Any]) -> str:
    if not values:
        return ""
    if isinstance(values[0], list):
        often = Counter(entry for one in values for entry in one).most_common(len(values[0]))
        return ", ".join(str(entry) for entry, _ in often) + (
            f" (most often in {len(values)})" if len(values) > 1 else ""
        )
    return f"{np.mean(values):.4g}" + (f" ± {_error(values):.2g}" if len(values) > 1 else "")


def _words(results: Results) -> list[tuple[str, list[str]]]:
    """Words selected in every fold, where cells report them."""
    return [(_label(cell), metrics["always"][:12]) for cell, metrics in results if metrics.get("always")]
