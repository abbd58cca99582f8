"""The command `rarefy select`: keep few columns of one's own table, with a certificate."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

import rarefy
from rarefy.cli import _common as common
from rarefy.tables._messages import one_line
from rarefy.workflows.certificate_files import CertificateFile, write_certificate
from rarefy.workflows.models import SavedModel, save_model
from rarefy.workflows.reading import Reading
from rarefy.workflows.selection import METHODS, Selection, select_table, selection_code, selection_pipeline
from rarefy.workflows.tables_out import check_ending, write_kept

_SHOWN = 20
"""Kept columns that are listed."""


def _number(context: click.Context, parameter: click.Parameter, value: str | None) -> Any:
    """A number of columns, a share of them, or "auto"."""
    if value is None or value == "auto":
        return value
    try:
        number = float(value)
    except ValueError:
        raise click.BadParameter(f"must be a number of columns, a share like 0.1, or 'auto'; got {value!r}.") from None
    if number >= 1 and number == int(number):
        return int(number)
    if 0 < number < 1:
        return number
    raise click.BadParameter(f"must be a whole number from 1 on, a share between 0 and 1, or 'auto'; got {value}.")


@click.command()
@click.argument("file")
@click.option("--target", metavar="COL", help="Column to select for; 'labels' are those of libsvm, y or folders.")
@click.option("--keep", metavar="N|SHARE|auto", callback=_number, help="How many columns to keep; default: up to 100.")
@click.option("--method", type=click.Choice(list(METHODS)), help="Default: best with a target, bss without.")
@click.option("--C", "penalty", type=click.FloatRange(0, min_open=True), help="Of the method best: weight of the loss.")
@click.option("--out", type=common.OUTPUT, help="Write the kept columns: .csv, .tsv, .parquet, .npz.")
@click.option("--certificate", type=common.OUTPUT, help="Write the certificate, for rarefy verify.")
@click.option("--save", type=common.OUTPUT, help="Write the selector, for rarefy score: .skops.")
@click.option("--report", type=common.OUTPUT, help="Write a page: what was kept, what it costs.")
@common.resume_option
@common.table_options
@common.bad_input_exits_2
def select(
    file: str,
    target: str | None,
    keep: Any,
    method: str | None,
    penalty: float | None,
    out: Path | None,
    certificate: Path | None,
    save: Path | None,
    report: Path | None,
    resume: Path | None,
    impute: str | None,
    drop: str | None,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Keep few columns of FILE and prove what they are worth.

    Without --target the columns serve any target. FILE is CSV, TSV (also .gz, .zst), Parquet, Arrow, libsvm, npz, npy,
    MatrixMarket, a folder of texts, or - for standard input; or a folder of blocks that rarefy convert wrote, which is
    read block by block (--out without an ending then writes another one).

    \b
    Example:
      rarefy select genes.csv --target class --keep 50 --out kept.csv --certificate c.json

    Exit codes: 0 done, 2 bad input.
    """
    reading = Reading.of_options(file, drop, sample, seed)
    check_ending(out, reading.is_stored)
    common.check_outputs(file, out, certificate, save, report)
    console, remarks = common.consoles(as_json)
    table, reading = common.read(reading, remarks)
    with common.working(remarks, "Selecting"), common.resuming(reading, resume):
        made = select_table(table, target, keep=keep, method=method, C=penalty, impute=impute, seed=seed)
    common.mention_target(table, target, remarks)
    if certificate is not None:
        made_file = CertificateFile(made.certificate, made.preprocessing, target, sample, seed)
        write_certificate(made_file, certificate, rarefy.__version__)
    if save is not None:
        save_model(SavedModel(selection_pipeline(made), target, "select", rarefy.__version__), save)
    if out is not None:
        write_kept(made, out)
    if report is not None:
        from rarefy.pages.selection import write_selection_page  # needs jinja2

        with common.working(remarks, "Comparing with other columns"):
            write_selection_page(made, report, file=file, options=reading.options)
    if as_json:
        common.print_json(_summary(made))
        return
    _print(console, made)
    common.print_code(console, selection_code(reading, made, keep, penalty, impute))
    common.written(remarks, out, certificate, save, report)


def _summary(made: Selection) -> dict[str, Any]:
    c = made.certificate
    return {
        "verdict": c.verdict,
        "sentence": c.sentence,
        "kept": made.kept_names,
        "n_columns": len(made.preprocessing.names),
        "certificate": c.to_dict(),
    }


def _print(console: Console, made: Selection) -> None:
    names = made.kept_names
    common.print_verdict(console, made.certificate.verdict, made.certificate.sentence)
    title = f"{len(names)} of {len(made.preprocessing.names)} columns, by {METHODS[made.method].title}"
    grid = Grid(title=title, title_justify="left")
    statuses = getattr(made.certificate, "column_status", None)
    grid.add_column("column", overflow="fold")
    if statuses is not None:
        grid.add_column("proved")
    for j, name in list(zip(made.kept, names, strict=True))[:_SHOWN]:
        grid.add_row(escape(one_line(name, 400)), *([] if statuses is None else [str(statuses[j])]))
    console.print(grid)
    if len(names) > _SHOWN:
        console.print(f"… and {len(names) - _SHOWN} more: see --out or --json.", highlight=False)
    console.print("")
    console.print(escape(made.certificate.statement), highlight=False)
