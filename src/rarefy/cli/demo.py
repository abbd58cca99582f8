"""The command `rarefy demo`: select, certify, compare, and write a page with the results."""

from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rarefy._files import check_writable
from rarefy.cli._progress import progress_display
from rarefy.report.demo import Study, run_study, write_page


@click.command()
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    default="rarefy-demo.html",
    show_default=True,
    help="The page to write.",
)
@click.option(
    "--features",
    type=click.IntRange(2, 20_000),
    default=300,
    show_default=True,
    help="Number of the 20 000 words to keep.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    help="Seed of the generated documents.",
)
def demo(out: Path, features: int, seed: int) -> None:
    """Keep 300 of 20 000 words, certify what is guaranteed, and compare.

    Generates 200 documents about sailing and opera (no data needed), selects words with spectral sparsification,
    leverage scores and at random, trains a linear SVM on all and on the kept words, prints the certificate and writes a
    page with pictures.
    """
    if not out.parent.is_dir():  # reported before the work, not after it
        raise click.BadParameter(f"{out.parent} is not a folder; the page {out} cannot be written.", param_hint="--out")
    try:
        check_writable(out.parent)
    except OSError as error:
        raise click.BadParameter(f"{out.parent} cannot be written to: {error.strerror}.", param_hint="--out") from error
    console = Console()
    console.print(
        "[bold]200 documents, 20 000 words[/bold], 80 of them separate sailing from opera. Generating and selecting …"
    )
    with progress_display(console, "cross-validating") as progress:
        study = run_study(features, seed, progress)
    console.print(_table(study))
    console.print("[bold]Certificate of the BSS selection[/bold]")
    console.print(study.certificate.statement, highlight=False)
    console.print(f"Checked again from the data by another route: {'agrees' if study.verified else 'DOES NOT AGREE'}.")
    write_page(study, out)
    console.print(f"\nPictures: open [bold]{escape(str(out))}[/bold] in a browser.", soft_wrap=True)


def _table(study: Study) -> Table:
    table = Table(title=f"Linear SVM, error in {study.n_folds}-fold cross-validation")
    table.add_column("words")
    for header in ("kept", "topic words", "error", "margin²", "seconds"):
        table.add_column(header, justify="right")
    for row in study.rows:
        table.add_row(
            row.name,
            f"{row.n_kept:,}".replace(",", " "),
            f"{row.n_relevant} of {study.n_relevant}",
            f"{100 * row.error:.1f} ± {100 * row.standard_error:.1f} %",
            f"{row.margin2:.3g}",
            "" if row.seconds is None else f"{row.seconds:.2f}",
        )
    return table
