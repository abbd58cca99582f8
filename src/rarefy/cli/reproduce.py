"""The command `rarefy reproduce`: run a paper's tables and compare them with its claims."""

import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table as Grid

from rarefy._files import check_writable
from rarefy.cli._progress import progress_display
from rarefy.exceptions import MissingDataError
from rarefy.papers import Table, Verdict, load_tables, run_table
from rarefy.papers.claims import BETTER, NO_DATA, NOT_REACHED, NOT_RUN, NOT_SETTLED, REPRODUCED, Results
from rarefy.papers.page import OtherRun, number_text, read_other_run, write_results

_STYLES = {
    REPRODUCED: "green",
    BETTER: "green",
    NOT_REACHED: "red",
    NOT_SETTLED: "yellow",
    NO_DATA: "yellow",
    NOT_RUN: "dim",
}
_FEW = 5
"""If more claims than these were not run, they are counted rather than listed."""


def _not_zero(context: click.Context, parameter: click.Parameter, value: int) -> int:
    if value == 0:
        raise click.BadParameter("must be a number of processes, or -1 for one per core; got 0.")
    return value


@click.command()
@click.argument("tables", nargs=-1)
@click.option("--list", "show_list", is_flag=True, help="List the tables and stop.")
@click.option("--quick", is_flag=True, help="A small grid, minutes (default).")
@click.option("--full", is_flag=True, help="The papers' repetitions, up to hours.")
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    envvar="RAREFY_DATA",
    help="Folder of the data sets (or the environment variable RAREFY_DATA).",
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default="rarefy-results",
    show_default=True,
    help="Folder for results; a stopped run is resumed from what is stored there.",
)
@click.option(
    "--jobs", type=int, default=1, show_default=True, help="Processes; -1 for one per core.", callback=_not_zero
)
@click.option("--fresh", is_flag=True, help="Measure every cell again, also stored ones.")
def reproduce(
    tables: tuple[str, ...],
    show_list: bool,
    quick: bool,
    full: bool,
    data: Path | None,
    out: Path,
    jobs: int,
    fresh: bool,
) -> None:
    """Run TABLES of the papers (all of them if none is named) and compare with what the papers claim.

    Every finished cell is stored at once: stop the run whenever you like and start it again with the same --out. The
    exit status is 1 when none of the tables could be run.
    """
    if quick and full:
        raise click.UsageError("--quick and --full exclude each other: minutes, or hours.")
    console = Console()
    known = load_tables()
    if show_list:
        for table in known.values():
            console.print(f"[bold]{table.id:20}[/bold] {table.title} ({table.source})", highlight=False, soft_wrap=True)
        return
    unknown = [name for name in tables if name not in known]
    if unknown:
        raise click.BadParameter(f"there is no table {', '.join(unknown)}; {_advice(unknown, known)}")
    mode = "full" if full else "quick"
    out = out / mode
    try:
        out.mkdir(parents=True, exist_ok=True)
        check_writable(out)
    except OSError as error:
        raise click.BadParameter(f"{out} cannot be written to: {error.strerror}.", param_hint="--out") from error
    run = _Run(console, mode, data, out, jobs, fresh)
    done = [run.report(known[name]) for name in tables or known]
    if not all(done):
        console.print(f"{sum(done)} of {len(done)} tables were run; the reasons for the others are above.")
    if not any(done):
        raise click.exceptions.Exit(1)


def _advice(unknown: Iterable[str], known: Iterable[str]) -> str:
    near = [name for one in unknown for name in get_close_matches(one, known, n=1)]
    return f"did you mean {', '.join(near)}?" if near else "see rarefy reproduce --list"


@dataclass(frozen=True)
class _Run:
    """What all tables of one call of the command share."""

    console: Console
    mode: str
    data: Path | None
    out: Path
    jobs: int
    fresh: bool

    def report(self, table: Table) -> bool:
        """Run a table, write and print its results; whether it could be run."""
        try:
            results, verdicts = self._measure(table)
        except MissingDataError as error:
            self._print(f"[yellow]{table.id}: {NO_DATA}.[/yellow] {escape(str(error))}")
            return False
        except ImportError as error:
            self._print(f"[yellow]{table.id}: {NOT_RUN}.[/yellow] {escape(str(error))}")
            return False
        except OSError as error:
            raise click.ClickException(f"{self.out}: {error.strerror or error}. Finished cells are stored.") from error
        except Exception:  # whatever it is, other tables can still be run
            click.echo(traceback.format_exc(), err=True)
            self._print(f"[red]{table.id}: failed;[/red] the error is above. Finished cells are stored.")
            return False
        page = write_results(table, self.mode, results, verdicts, self.out)
        not_run = sum(verdict.outcome == NOT_RUN for verdict in verdicts)
        beside = read_other_run(table, self.mode, self.out)
        self.console.print(_grid(table, verdicts, beside, list_not_run=not_run <= _FEW))
        if beside is not None and not beside.same_code:
            self.console.print(f"The {beside.mode} run was made with other code of the library.")
        if not_run > _FEW:
            self.console.print(f"{not_run} more claims were not run: they concern cells that this grid does not have.")
        self.console.print(f"Page: {escape(str(page))}", highlight=False, soft_wrap=True)
        return True

    def _measure(self, table: Table) -> tuple[Results, list[Verdict]]:
        with progress_display(self.console, table.id) as progress:
            return run_table(
                table,
                self.mode,
                self.out,
                data=self.data,
                jobs=self.jobs,
                fresh=self.fresh,
                notice=lambda text: self._print(f"{table.id}: {escape(text)}"),
                progress=progress,
            )

    def _print(self, text: str) -> None:
        self.console.print(text, highlight=False)


def _grid(table: Table, verdicts: list[Verdict], beside: OtherRun | None, *, list_not_run: bool) -> Grid:
    """The claims; under "paper" only what the paper prints, what we compare with has a column of its own."""
    grid = Grid(title=f"{table.id}: {table.title}", title_justify="left")
    headers = ["claim", "paper", "ours", "ours, compared with", "verdict"]
    for header in headers + ([] if beside is None else [f"{beside.mode} run"]):
        numeric, least = header in headers[1:4], 26 if header == "claim" else None
        grid.add_column(header, justify="right" if numeric else "left", min_width=least)
    for v in verdicts:
        if v.outcome == NOT_RUN and not list_not_run:
            continue
        numbers = (number_text(v.paper), number_text(v.ours, v.standard_error), number_text(v.other))
        other = [] if beside is None else [beside.texts.get(v.claim.title, "")]
        grid.add_row(escape(v.claim.title), *numbers, f"[{_STYLES[v.outcome]}]{v.outcome}[/]", *other)
    return grid
