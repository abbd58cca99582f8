"""The command `rarefy verify`: check a certificate against the table that it is about."""

import sys
from pathlib import Path

import click
from rich.markup import escape

from rarefy.cli import _common as common
from rarefy.exceptions import ParameterError
from rarefy.workflows.certificate_files import read_certificate, verify_table
from rarefy.workflows.reading import Reading


@click.command()
@click.argument("certificate", type=click.Path(path_type=Path))
@click.argument("file")
@click.option("--target", metavar="COL", help="If the column has another name now.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else.")
@common.bad_input_exits_2
def verify(certificate: Path, file: str, target: str | None, as_json: bool) -> None:
    """Check CERTIFICATE against FILE, the raw table that it was made from.

    The preprocessing is stored with the certificate and done again; all numbers are computed once more, by other code
    than that which made them. FILE may also be a folder of blocks that rarefy convert wrote.

    \b
    Example:
      rarefy verify c.json genes.csv

    Exit codes: 0 verified, 1 not verified, 2 bad input.
    """
    console, remarks = common.consoles(as_json)
    made = read_certificate(certificate)
    reading = Reading(file, sample=made.sample, seed=made.seed)
    if reading.is_stored and made.sample is not None:
        raise ParameterError(f"{certificate} is about {made.sample} rows drawn from a table; verify it with the table.")
    table = common.read_again(reading, remarks)
    with common.working(remarks, "Verifying"):
        judged, _ = verify_table(made, table, target)
    verified = bool(judged)
    if as_json:
        common.print_json({"verified": verified, "reason": judged.reason, "verdict": made.certificate.verdict})
    elif verified:
        console.print("[bold green]Verified.[/bold green] What it says follows from this table:", highlight=False)
        common.print_verdict(console, made.certificate.verdict, made.certificate.sentence)
    else:
        console.print(f"[bold red]Not verified:[/bold red] {escape(judged.reason)}", highlight=False)
    sys.exit(0 if verified else 1)
