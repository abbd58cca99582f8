"""Results of a reproduction as JSON and as a page: the paper's claim, our number, the verdict and the reason."""

import json
from collections import Counter
from pathlib import Path

import numpy as np

from rarefy._files import write_whole
from rarefy.papers.claims import select
from rarefy.report.figures import grouped_means, marked_images, mean_curves
from rarefy.report.html import write_html


def write_results(table, mode, results, verdicts, out):
    """Write `<id>.json` and `<id>.html` into the folder `out`; returns the path of the page."""
    out = Path(out)
    summary = [
        {
            "claim": verdict.claim.what,
            "outcome": verdict.outcome,
            "paper": verdict.theirs,
            "ours": verdict.ours,
            "standard_error": verdict.standard_error,
            "note": verdict.note,
        }
        for verdict in verdicts
    ]
    cells = [{"cell": cell, "metrics": metrics} for cell, metrics in results]
    content = {"table": table.id, "mode": mode, "verdicts": summary, "cells": cells}
    write_whole(out / f"{table.id}.json", json.dumps(content, indent=1))
    page = out / f"{table.id}.html"
    layout = _layout(table, results)
    pictures = [_picture(table, results, layout, metric) for metric in layout["numbers"]] + _images(results)
    write_html(
        page,
        "table.html",
        table=table,
        mode=mode,
        verdicts=verdicts,
        layout=layout,
        pictures=pictures,
        words=_words(results),
    )
    return page


def _layout(table, results):
    """Rows and columns of the table: means over whatever else the grid varies."""
    row_name, column_names = table.show["rows"], table.show["columns"]
    rows = list(dict.fromkeys(cell[row_name] for cell, _ in results))
    columns = list(dict.fromkeys(tuple(cell[name] for name in column_names) for cell, _ in results))
    texts, numbers = {}, {}
    for metric in table.show["metrics"]:
        for row in rows:
            values = [_values(results, row_name, row, column_names, column, metric) for column in columns]
            texts[metric, row] = [_text(v) for v in values]
            if not any(isinstance(v, list) for column in values for v in column):
                means = [(np.mean(v), _error(v)) if v else (np.nan, 0.0) for v in values]
                numbers.setdefault(metric, {})[row] = means
    labels = [
        ", ".join(f"{name} {value}" for name, value in zip(column_names, column, strict=True)) for column in columns
    ]
    return {"metrics": table.show["metrics"], "rows": rows, "columns": labels, "texts": texts, "numbers": numbers}


def _picture(table, results, layout, metric):
    """Curves against one of the grid's values where the table asks for them, points over the columns otherwise."""
    title = f"{metric} ({table.source})"
    if "curves" not in table.show:
        return grouped_means(title, layout["columns"], layout["numbers"][metric])
    across = table.show["curves"]
    names = [name for name in (table.show["rows"], *table.show["columns"]) if name != across]
    lines = list(dict.fromkeys(tuple(cell[name] for name in names) for cell, _ in results))
    measured, published = {}, {}
    for line in lines:
        where = dict(zip(names, line, strict=True))
        label = ", ".join(f"{name} {value}" for name, value in where.items())
        found = select(where, metric, results)
        values = {x: [value for cell, value in found if cell[across] == x] for x in {cell[across] for cell, _ in found}}
        if not values:  # cells that do not measure this
            continue
        measured[label] = [(x, np.mean(values[x]), _error(values[x])) for x in sorted(values)]
        published[label] = [
            (claim.where[across], claim.expected)
            for claim in table.claims
            if claim.metric == metric and claim.expected is not None and {across, *names} <= claim.where.keys()
            if where.items() <= claim.where.items() and select(claim.where, metric, results)
        ]
    return mean_curves(title, "lambda" if across == "lam" else across, measured, published)


def _images(results):
    """Pixels chosen, over mean images, where cells report both."""
    drawn = []
    for cell, metrics in results:
        if "mean images" in metrics:
            weights = np.array(metrics["pixel weights"])
            side = round(np.sqrt(len(weights)))
            images = {name: np.reshape(mean, (side, side)) for name, mean in metrics["mean images"].items()}
            drawn.append(marked_images(", ".join(f"{name} {value}" for name, value in cell.items()), images, weights))
    return drawn


def _values(results, row_name, row, column_names, column, metric):
    return [
        metrics[metric]
        for cell, metrics in results
        if cell[row_name] == row and tuple(cell[name] for name in column_names) == column and metric in metrics
    ]


def _error(values):
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def _text(values):
    if not values:
        return ""
    if isinstance(values[0], list):
        often = Counter(entry for one in values for entry in one).most_common(len(values[0]))
        return ", ".join(str(entry) for entry, _ in often) + (
            f" (most often in {len(values)})" if len(values) > 1 else ""
        )
    return f"{np.mean(values):.4g}" + (f" ± {_error(values):.2g}" if len(values) > 1 else "")


def _words(results):
    """Words selected in every fold, where cells report them."""
    return [
        (", ".join(f"{name} {value}" for name, value in cell.items()), metrics["always"][:12])
        for cell, metrics in results
        if metrics.get("always")
    ]
