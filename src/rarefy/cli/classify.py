"""The command `rarefy classify`: a kernel LP-SVM of one's own table."""

from pathlib import Path

import click

import rarefy
from rarefy.cli import _common as common
from rarefy.workflows.models import SavedModel, save_model
from rarefy.workflows.models_of_tables import classification_code, classify_table
from rarefy.workflows.reading import Reading

_RARE = 0.9
"""A class with a larger share of the rows leaves little to classify."""


@click.command()
@click.argument("file")
@click.option("--target", metavar="COL", help="Column with the classes; default: the labels that FILE states.")
@click.option("--save", type=common.OUTPUT, help="Write the classifier, for rarefy score: .skops.")
@common.table_options
@common.bad_input_exits_2
def classify(
    file: str,
    target: str | None,
    save: Path | None,
    impute: str | None,
    drop: str | None,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Learn the classes of --target from the other columns of FILE, with a kernel LP-SVM.

    FILE may also be a folder of blocks that rarefy convert wrote with --target: it is read block by block.

    \b
    Example:
      rarefy classify digits.csv --target digit --save digits.skops

    Exit codes: 0 done, 2 bad input.
    """
    common.check_outputs(file, save)
    console, remarks = common.consoles(as_json)
    reading = Reading.of_options(file, drop, sample, seed)
    table, reading = common.read(reading, remarks)
    with common.working(remarks, "Classifying"):
        made = classify_table(table, target, impute=impute, seed=seed)
    if save is not None:
        save_model(SavedModel(made.pipeline, made.target, "classify", rarefy.__version__), save)
    if as_json:
        common.print_json({"accuracy": made.accuracy, "most_frequent": made.most_frequent, "n_rows": len(made.y)})
        return
    console.print(
        f"[bold]{100 * made.accuracy:.1f} % of held-out rows are classified rightly[/bold] (always naming the most "
        f"frequent class: {100 * made.most_frequent:.1f} %).",
        highlight=False,
    )
    if made.n_classes == 2 and made.most_frequent > _RARE:
        console.print("One class is rare: rarefy rank puts its rows on top, which says more.", highlight=False)
    common.print_code(console, classification_code(reading, made))
    common.written(remarks, save)
