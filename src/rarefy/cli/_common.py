"""What commands about people's own tables share: options, one-line errors, and where results go."""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from rarefy._files import check_writable
from rarefy.exceptions import RarefyError
from rarefy.tables import Table, read_table

OUTPUT = click.Path(dir_okay=False, path_type=Path)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that reads a table."""
    for option in reversed(
        (
            click.option("--impute", type=click.Choice(["median"]), help="Fill missing values, by column."),
            click.option("--drop", metavar="COLS", help="Columns to leave out, separated by commas."),
            click.option("--sample", type=click.IntRange(2), help="Only so many rows, drawn at random: a first look."),
            click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True),
            click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else."),
        )
    ):
        function = option(function)
    return function


def bad_input_exits_2(function: Callable[..., Any]) -> Callable[..., Any]:
    """One line on standard error and exit code 2 for whatever is wrong with files or options."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.showwarning = _note
                return function(*args, **kwargs)
        except (RarefyError, ValueError) as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            click.echo(f"Error: {first}", err=True)
            sys.exit(2)
        except OSError as error:
            click.echo(f"Error: {error.filename or 'a file'}: {error.strerror or error}.", err=True)
            sys.exit(2)
        except MemoryError:
            click.echo("Error: the table does not fit into memory; look at a part of it with --sample.", err=True)
            sys.exit(2)
        except KeyboardInterrupt:
            click.echo("Stopped. Nothing was written that is not complete.", err=True)
            sys.exit(130)

    return run


def _note(message: Warning | str, *more: Any, **others: Any) -> None:
    """Warnings are one line, and say nothing about our source."""
    text = " ".join(str(message).split())
    click.echo(f"Note: {text}", err=True)


def read(file: str, drop: str | None, sample: int | None, seed: int) -> Table:
    """The table, without the columns to drop."""
    table = read_table(file, sample=sample, random_state=seed)
    names = [name.strip() for name in (drop or "").split(",") if name.strip()]
    return table.drop(names) if names else table


def check_outputs(*paths: Path | None) -> None:
    """Before the work, not after it."""
    for path in paths:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise click.BadParameter(f"{path.parent} is not a folder; {path} cannot be written.")
        check_writable(path.parent)


@contextmanager
def working(console: Console, label: str) -> Iterator[None]:
    """A spinner on a terminal; off it one line."""
    if console.is_terminal:
        with console.status(label):
            yield
    else:
        console.print(f"{label} …", highlight=False)
        yield


def consoles(as_json: bool) -> tuple[Console, Console]:
    """Where results go, and where remarks go: never into JSON."""
    return Console(quiet=as_json, soft_wrap=True), Console(stderr=True, soft_wrap=True)


def print_json(values: dict[str, Any]) -> None:
    """One object."""
    click.echo(json.dumps(values, indent=1, allow_nan=False))


def print_verdict(console: Console, verdict: str, sentence: str) -> None:
    """The verdict first."""
    console.print(f"[bold]{verdict.capitalize()}.[/bold] {escape(sentence)}", highlight=False)


def print_code(console: Console, code: str) -> None:
    """The same in Python."""
    console.print("\n[bold]The same in Python[/bold]")
    console.print(escape(code), highlight=False)


def written(remarks: Console, *paths: Path | None) -> None:
    """Which files were written."""
    names = [str(path) for path in paths if path is not None]
    if names:
        remarks.print(f"Written: {escape(', '.join(names))}", highlight=False)
