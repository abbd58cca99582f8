"""The command `rarefy demo`: select, certify, compare, and write a page with the results."""

from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from rarefy._files import check_writable
from rarefy.cli._progress import progress_display
from rarefy.pages.demo import Study, best_findings, findings, percent, run_study
from rarefy.pages.demo_page import write_page


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

    Generates 200 documents about sailing and opera (no data needed), selects words with spectral sparsification, by
    their frequency, by filters and a search that see the labels, and at random, and the best words for these labels
    with proof; trains a linear SVM on all and on the kept words, certifies every selection, says where another one is
    better, and writes a page with pictures.
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
    certificate = study.certificate
    console.print(f"[bold]{certificate.verdict.capitalize()}.[/bold] {escape(certificate.sentence)}", highlight=False)
    console.print(_table(study))
    for line in findings(study):
        console.print(f"• {escape(line)}", highlight=False)
    _print_best(console, study)
    console.print("\n[bold]Certificate of the BSS selection[/bold]")
    console.print(certificate.statement, highlight=False, markup=False)
    console.print(f"Checked again from the data by another route: {'agrees' if study.verified else 'DOES NOT AGREE'}.")
    write_page(study, out)
    console.print(f"\nPictures: open [bold]{escape(str(out))}[/bold] in a browser.", soft_wrap=True)


def _print_best(console: Console, study: Study) -> None:
    """The best words for these labels, with proof."""
    best = study.best
    console.print(f"\n[bold]The best {best.certificate.n_chosen} words for these labels, with proof[/bold]")
    verdict = best.certificate.verdict.capitalize()
    console.print(f"[bold]{verdict}.[/bold] {escape(best.certificate.sentence)}", highlight=False)
    for line in best_findings(study):
        console.print(f"• {escape(line)}", highlight=False)
    console.print(f"Checked again from the data: {'agrees' if best.verified else 'DOES NOT AGREE'}.")


def _table(study: Study) -> Table:
    """One line a way of selecting; * marks those that see the labels."""
    title = f"Linear SVM: error in {study.n_folds}-fold cross-validation, and shares that are certified, in %"
    table = Table(title=title, title_justify="left", caption="* sees the labels", caption_justify="left")
    table.add_column("words")
    for header in ("kept", f"of the {study.n_relevant}", "error", "these labels", "any labels", "seconds"):
        table.add_column(header, justify="right")
    for row in study.rows:
        table.add_row(
            row.name + ("*" if row.labels else ""),
            f"{row.n_kept:,}".replace(",", " "),
            str(row.n_relevant),
            f"{100 * row.error:.1f} ± {100 * row.standard_error:.1f}",
            *("nothing" if share is None else percent(share) for share in (row.share, row.width)),
            "" if row.seconds is None else f"{row.seconds:.2f}",
        )
    return table
