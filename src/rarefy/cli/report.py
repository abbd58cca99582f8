"""The command `rarefy report`: a page about a saved model and the table that it was made from."""

import shlex
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from rarefy.cli import _common as common
from rarefy.exceptions import ParameterError
from rarefy.selection import BestSubsetSelector
from rarefy.workflows.labels import whole_labels
from rarefy.workflows.models import applying, load_model
from rarefy.workflows.models_of_tables import against_the_rest, rest_of
from rarefy.workflows.reading import Reading


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file")
@click.option("--out", type=common.OUTPUT, default=Path("report.html"), show_default=True, help="The page to write.")
@common.bad_input_exits_2
def report(model: Path, file: str, out: Path) -> None:
    """Write a page about MODEL (of rarefy select or rank with --save) and FILE, the table that it was made from.

    \b
    Example:
      rarefy report fraud.skops payments.csv --out report.html

    Exit codes: 0 done, 2 bad input.
    """
    common.check_outputs(file, out)
    console, remarks = common.consoles(False)
    reading = Reading(file)
    if reading.is_stored:
        raise ParameterError(
            f"{file} is a folder of blocks, of which rarefy select --report and rarefy rank --report write pages."
        )
    saved = load_model(model)
    if saved.kind not in ("select", "rank"):
        raise ParameterError(f"{model} is a model of rarefy {saved.kind}; there are pages about select and rank.")
    if saved.kind == "select" and not isinstance(saved.pipeline[-1], BestSubsetSelector):
        raise ParameterError(f"{model} selected from standardised columns: write its page with rarefy select --report.")
    table = common.read_again(reading, remarks)
    features, y = (table, None) if saved.target is None else table.split(saved.target)
    *steps, (_, last) = saved.pipeline.steps
    X: Any = features
    with applying(model):
        for _, step in steps:
            X = step.transform(X)
        names = steps[0][1].get_feature_names_out()
    with common.working(remarks, "Comparing"):
        from rarefy.pages.own import Origin, page_of  # needs jinja2

        origin = Origin(file, saved.target, shlex.join(["rarefy", "report", str(model), file, "--out", str(out)]))
        page_of(last, X, _as_fitted(last, y), names, origin).save(out)
    console.print(f"[bold]Written:[/bold] {escape(str(out))}", highlight=False)


def _as_fitted(model: Any, y: Any) -> Any:
    """Labels of the kind that the model knows: whole numbers are read as floating-point ones."""
    classes, rare = getattr(model, "classes_", None), getattr(model, "rare_class_", None)
    if (
        y is not None and classes is not None and rare is not None and rest_of(rare) in classes.tolist()
    ):  # one of several was ranked
        return against_the_rest(whole_labels(y).astype(str), rare)
    return y if y is None or classes is None or classes.dtype.kind != "i" else y.astype(classes.dtype)
