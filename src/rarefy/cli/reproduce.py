"""rarefy reproduce: run a paper's table and say what became of its claims."""

import traceback
from difflib import get_close_matches
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as Grid

from rarefy._files import check_writable
from rarefy.exceptions import MissingDataError
from rarefy.papers import load_tables, run_table
from rarefy.papers.claims import NOT_RUN
from rarefy.papers.page import write_results

_STYLES = {
    "reproduced": "green",
    "better": "green",
    "not reached": "red",
    "data not to be had": "yellow",
    "not run": "dim",
}
_FEW = 5
"""More claims than these that were not run are counted rather than listed."""


def _not_zero(context, parameter, value):
    if value == 0:
        raise click.BadParameter("must be a number of processes, or -1 for one a core; got 0.")
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
    help="Folder for results; a stopped run goes on from what is there.",
)
@click.option(
    "--jobs", type=int, default=1, show_default=True, help="Processes; -1 for one a core.", callback=_not_zero
)
@click.option("--fresh", is_flag=True, help="Measure every cell again, whatever is stored.")
def reproduce(tables, show_list, quick, full, data, out, jobs, fresh):
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
    done = [_run(console, known[name], mode, data, out, jobs, fresh) for name in tables or known]
    if not all(done):
        console.print(f"{sum(done)} of {len(done)} tables were run; above is why the others were not.")
    if not any(done):
        raise click.exceptions.Exit(1)


def _advice(unknown, known):
    near = [name for one in unknown for name in get_close_matches(one, known, n=1)]
    return f"did you mean {', '.join(near)}?" if near else "see rarefy reproduce --list"


def _run(console, table, mode, data, out, jobs, fresh):
    """Run a table and tell about it; whether it could be run."""
    bar = Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), console=console
    )
    try:
        with bar:
            task = bar.add_task(table.id, total=None)
            results, verdicts = run_table(
                table,
                mode,
                out,
                data=data,
                jobs=jobs,
                fresh=fresh,
                notice=lambda text: console.print(f"{table.id}: {escape(text)}", highlight=False),
                progress=lambda done, total: bar.update(task, completed=done, total=total),
            )
    except MissingDataError as error:
        console.print(f"[yellow]{table.id}: data not to be had.[/yellow] {escape(str(error))}", highlight=False)
        return False
    except ImportError as error:
        console.print(f"[yellow]{table.id}: not run.[/yellow] {escape(str(error))}", highlight=False)
        return False
    except OSError as error:
        raise click.ClickException(f"{out}: {error.strerror or error}. Finished cells are stored.") from error
    except Exception:  # whatever it is, other tables can still be run
        traceback.print_exc()
        console.print(f"[red]{table.id}: failed;[/red] the error is above. Finished cells are stored.", highlight=False)
        return False
    page = write_results(table, mode, results, verdicts, out)
    grid = Grid(title=f"{table.id}: {table.title}", title_justify="left")
    for header in ("claim", "paper", "ours", "verdict"):
        grid.add_column(header, justify="left" if header in ("claim", "verdict") else "right")
    absent = [v for v in verdicts if v.outcome == NOT_RUN]
    for v in verdicts if len(absent) <= _FEW else [v for v in verdicts if v.outcome != NOT_RUN]:
        theirs = "" if v.theirs is None else f"{v.theirs:.4g}"
        spread = f" ± {v.standard_error:.2g}" if v.standard_error else ""
        ours = "" if v.ours is None else f"{v.ours:.4g}{spread}"
        grid.add_row(v.claim.what, theirs, ours, f"[{_STYLES[v.outcome]}]{v.outcome}[/]")
    console.print(grid)
    if len(absent) > _FEW:
        console.print(f"{len(absent)} more claims were not run: they are about cells that this grid does not have.")
    console.print(f"Page: {escape(str(page))}", highlight=False, soft_wrap=True)
    return True
