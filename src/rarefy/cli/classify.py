"""The command `rarefy classify`: a kernel LP-SVM of one's own table."""

from pathlib import Path

import click
from rich.markup import escape

import rarefy
from rarefy.cli import _common as common
from rarefy.workflows.models import SavedModel, save_model
from rarefy.workflows.models_of_tables import classify_table


@click.command()
@click.argument("file")
@click.option("--target", required=True, metavar="COL", help="Column with the classes.")
@click.option("--save", type=common.OUTPUT, help="Write the classifier, for rarefy score: .skops.")
@common.table_options
@common.bad_input_exits_2
def classify(
    file: str,
    target: str,
    save: Path | None,
    impute: str | None,
    drop: str | None,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    r"""Learn the classes of --target from the other columns of FILE, with a kernel LP-SVM.

    \b
    Example:
      rarefy classify digits.csv --target digit --save digits.skops

    Exit codes: 0 done, 2 bad input.
    """
    common.check_outputs(save)
    console, remarks = common.consoles(as_json)
    with common.working(remarks, f"Reading {file}"):
        table = common.read(file, drop, sample, seed)
    for note in table.notes:
        remarks.print(escape(note), highlight=False)
    with common.working(remarks, "Classifying"):
        made = classify_table(table, target, impute=impute, seed=seed)
    if save is not None:
        save_model(SavedModel(made.pipeline, target, "classify", rarefy.__version__), save)
    if as_json:
        common.print_json({"accuracy": made.accuracy, "most_frequent": made.most_frequent, "n_rows": len(made.y)})
        return
    console.print(
        f"[bold]{100 * made.accuracy:.1f} % of held-out rows are classified rightly[/bold] (always naming the most "
        f"frequent class: {100 * made.most_frequent:.1f} %).",
        highlight=False,
    )
    code = (
        "from sklearn.pipeline import make_pipeline\n"
        "from sklearn.preprocessing import StandardScaler\n"
        "from rarefy.kernel import SubspaceLPSVC\n"
        "from rarefy.tables import TableEncoder, read_table\n"
        f"table, y = read_table({file!r}).split({target!r})\n"
        'classifier = SubspaceLPSVC(gamma="mean_distance", random_state=0)\n'
        "model = make_pipeline(TableEncoder(), StandardScaler(), classifier).fit(table, y)"
    )
    common.print_code(console, code)
    common.written(remarks, save)
