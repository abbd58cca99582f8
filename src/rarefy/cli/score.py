"""The command `rarefy score`: apply a saved model to new rows."""

from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.markup import escape

from rarefy.cli import _common as common
from rarefy.tables import Table
from rarefy.workflows.models import SavedModel, applying, load_model
from rarefy.workflows.reading import Reading
from rarefy.workflows.stored import StoredTable, applied
from rarefy.workflows.stored_out import write_stored
from rarefy.workflows.tables_out import check_ending, write_columns


@click.command()
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("file")
@click.option("--out", required=True, type=common.OUTPUT, help="Where to write: .csv, .tsv, .parquet or .npz.")
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON and nothing else.")
@common.bad_input_exits_2
def score(model: Path, file: str, out: Path, as_json: bool) -> None:
    """Apply MODEL (of rarefy rank, classify or select with --save) to the rows of FILE.

    Columns are found by their names; missing ones are an error, extra ones are left out. FILE may also be a folder of
    blocks: it is read, and kept columns are written, block by block (--out without an ending writes another folder).

    \b
    Example:
      rarefy score fraud.skops new-payments.csv --out scores.csv

    Exit codes: 0 done, 2 bad input.
    """
    common.check_outputs(file, out)
    reading = Reading(file)
    saved = load_model(model)
    check_ending(out, reading.is_stored and saved.kind == "select")
    console, remarks = common.consoles(as_json)
    table = common.read_again(reading, remarks)
    with applying(model):
        names = _of_blocks(saved, table, out) if isinstance(table, StoredTable) else _of_table(saved, table, out)
    if as_json:
        common.print_json({"n_rows": table.n_rows, "columns": names, "model": saved.kind})
        return
    console.print(f"[bold]{table.n_rows} rows scored[/bold]: {escape(', '.join(names[:5]))}", highlight=False)
    common.written(remarks, out)


def _of_table(saved: SavedModel, table: Table, out: Path) -> list[str]:
    """Write what the model says, and return the names of the columns."""
    columns = _columns(saved, table)
    write_columns(columns, out)
    return list(columns)


def _of_blocks(saved: SavedModel, table: StoredTable, out: Path) -> list[str]:
    """The same, block by block."""
    X, last = applied(saved.pipeline, table), saved.pipeline[-1]
    if saved.kind == "select":
        names = [str(name) for name in saved.pipeline.get_feature_names_out()]
        write_stored(last.transform(X), names, out, None)
        return names
    columns = {"score": last.score_samples(X)} if saved.kind == "rank" else {}
    columns[f"predicted {saved.target}"] = last.predict(X)
    write_columns(columns, out)
    return list(columns)


def _columns(saved: SavedModel, table: Table) -> dict[str, Any]:
    """What the model says of the rows, by column; a target that is there, too, is no surplus column."""
    known = {column["name"] for column in saved.pipeline[0].columns_}
    if saved.target in table.names and saved.target not in known:
        table = table.drop([str(saved.target)])
    if saved.kind == "select":
        kept = saved.pipeline.transform(table)
        kept = kept.toarray() if hasattr(kept, "toarray") else np.asarray(kept)
        names = saved.pipeline.get_feature_names_out()
        return {str(name): kept[:, i] for i, name in enumerate(names)}
    columns: dict[str, Any] = {}
    if saved.kind == "rank":
        columns["score"] = saved.pipeline.score_samples(table)
    predicted = saved.pipeline.predict(table)
    columns[f"predicted {saved.target}"] = predicted
    return columns
