"""The command `rarefy certify`: what anybody's choice of columns is worth."""

from pathlib import Path
from typing import Any

import click
from rich.markup import escape

import rarefy
from rarefy.cli import _common as common
from rarefy.exceptions import ParameterError
from rarefy.tables import TableEncoder
from rarefy.tables._messages import one_line
from rarefy.workflows.certificate_files import CertificateFile, write_certificate
from rarefy.workflows.reading import Reading
from rarefy.workflows.selection import fit_preprocessing, holds_classes, usual_penalty


@click.command()
@click.argument("file")
@click.option("--columns", required=True, metavar="LIST", help="A file with one name a line, or names with commas.")
@click.option("--target", metavar="COL", help="Column that the choice is meant for.")
@click.option("--C", "penalty", type=click.FloatRange(0, min_open=True), help="With a target: weight of the loss.")
@click.option("--certificate", type=common.OUTPUT, help="Write the certificate, for rarefy verify.")
@common.table_options
@common.bad_input_exits_2
def certify(
    file: str,
    columns: str,
    target: str | None,
    penalty: float | None,
    certificate: Path | None,
    impute: str | None,
    drop: str | None,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Say what a choice of columns of FILE is worth, whoever made it.

    Columns are standardised. With a target of classes the share of the best possible choice of as many columns is
    proved as well. FILE may also be a folder of blocks that rarefy convert wrote.

    \b
    Example:
      rarefy certify genes.csv --columns mine.txt --target class

    Exit codes: 0 done, 2 bad input.
    """
    common.check_outputs(file, certificate)
    console, remarks = common.consoles(as_json)
    reading = Reading.of_options(file, drop, sample, seed)
    table, reading = common.read(reading, remarks)
    features, y = table.split(target) if target is not None else (table, None)
    preprocessing, X = fit_preprocessing(features, impute=impute, standardized=True)
    support = _positions(columns, preprocessing.encoder, file)
    penalty = usual_penalty(X) if penalty is None else penalty
    settings: dict[str, Any] = {} if y is None else {"C": penalty} if holds_classes(y) else {"alpha": 0.5 / penalty}
    with common.working(remarks, "Certifying"):
        made = rarefy.certify(X, support, y=y, feature_names=preprocessing.names, **settings)
    common.mention_target(table, target, remarks)
    if certificate is not None:
        write_certificate(CertificateFile(made, preprocessing, target, sample, seed), certificate, rarefy.__version__)
    if as_json:
        common.print_json({"verdict": made.verdict, "sentence": made.sentence, "certificate": made.to_dict()})
        return
    common.print_verdict(console, made.verdict, made.sentence)
    console.print(escape(made.statement), highlight=False)
    common.written(remarks, certificate)


def _positions(columns: str, encoder: TableEncoder, file: str) -> list[int]:
    """Numbers of the named columns; a category stands for all of its indicators."""
    path = Path(columns)
    wanted = path.read_text(encoding="utf-8-sig").splitlines() if path.is_file() else columns.split(",")
    wanted = [name.strip() for name in wanted if name.strip()]
    place: dict[str, list[int]] = {column["name"]: [] for column in encoder.columns_}
    for j, (group, name) in enumerate(zip(encoder.groups_, encoder.feature_names_out_, strict=True)):
        place[encoder.columns_[group]["name"]].append(j)
        place.setdefault(name, [j])
    unknown = [name for name in wanted if name not in place]
    if not wanted or unknown:
        what = f"{one_line(', '.join(unknown[:5]))} is not a column of {file}" if unknown else "no column is named"
        raise ParameterError(f"--columns: {what}; give a file with one name a line, or names with commas.")
    return list(dict.fromkeys(j for name in wanted for j in place[name]))
