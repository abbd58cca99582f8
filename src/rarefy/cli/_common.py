"""What commands about people's own tables share: options, one-line errors, and where results go."""

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from os.path import realpath
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from rarefy._files import check_writable, json_text
from rarefy.cli._words import in_words_of_commands
from rarefy.config import config_context
from rarefy.exceptions import ParameterError, RarefyError
from rarefy.tables._messages import one_line
from rarefy.workflows.reading import Reading
from rarefy.workflows.stored import StoredTable

OUTPUT = click.Path(dir_okay=False, path_type=Path)


def table_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command that reads a table."""
    for option in reversed(
        (
            click.option("--impute", type=click.Choice(["median"]), help="Fill missing values, by column."),
            click.option("--drop", metavar="COLS", help="Columns to leave out, with commas."),
            click.option("--sample", type=click.IntRange(2), help="Only so many rows, drawn at random: a first look."),
            click.option("--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True),
            click.option("--json", "as_json", is_flag=True, help="Print the result as JSON and nothing else."),
        )
    ):
        function = option(function)
    return function


resume_option = click.option(
    "--resume",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="DIR",
    help="Of blocks: keep finished passes in DIR, and go on from those that are there.",
)
"""Of commands that fit on folders of blocks for long."""


@contextmanager
def resuming(reading: Reading, folder: Path | None) -> Iterator[None]:
    """Keep finished passes over a folder of blocks in another folder."""
    if folder is not None and not reading.is_stored:
        raise ParameterError("--resume is for folders of blocks; see rarefy convert.")
    with config_context(checkpoint_folder=folder):
        yield


def bad_input_exits_2(function: Callable[..., Any]) -> Callable[..., Any]:
    """One line on standard error and exit code 2 for whatever is wrong with files or options."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                warnings.showwarning = _Notes()
                return function(*args, **kwargs)
        except (RarefyError, ValueError) as error:
            first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            click.echo(f"Error: {in_words_of_commands(first)}", err=True)
            sys.exit(2)
        except BrokenPipeError:  # whoever reads the output has seen enough
            raise
        except OSError as error:
            click.echo(f"Error: {error.filename or 'a file'}: {error.strerror or error}.", err=True)
            sys.exit(2)
        except MemoryError:
            click.echo("Error: the table does not fit into memory; look at a part of it with --sample.", err=True)
            sys.exit(2)
        except ImportError as error:
            click.echo(f'Error: {error.name} is needed. Install it with: pip install "rarefy[cli]"', err=True)
            sys.exit(2)
        except KeyboardInterrupt:
            click.echo("Stopped. Nothing was written that is not complete.", err=True)
            sys.exit(130)

    return run


class _Notes:
    """Warnings are one line, say nothing about our source, and are not repeated."""

    def __init__(self) -> None:
        self.seen: set[str] = set()

    def __call__(self, message: Warning | str, *more: Any, **others: Any) -> None:
        text = one_line(in_words_of_commands(" ".join(str(message).split())), 1000)
        if text not in self.seen:
            self.seen.add(text)
            click.echo(f"Note: {text}", err=True)


def read(reading: Reading, remarks: Console) -> tuple[Any, Reading]:
    """The table without names of rows, and the reading that gives it; what there is to say about it is said.

    A folder of blocks is opened, and nothing of it is read.
    """
    if reading.is_stored:
        return reading.stored(), reading
    with working(remarks, f"Reading {one_line(reading.file)}"):
        table, reading = reading.without_row_names()
    for note in table.notes:
        remarks.print(escape(note), highlight=False)
    return table, reading


def mention_target(table: Any, target: str | None, remarks: Console) -> None:
    """Say that a folder of blocks has a target, which is used where it is asked for only, as that of a table is."""
    if target is None and isinstance(table, StoredTable) and table.data.target is not None:
        name = escape(one_line(table.target_name))
        remarks.print(f"Its target, {name}, is not used without --target {name}.", highlight=False)


def read_again(reading: Reading, remarks: Console) -> Any:
    """The table of a model or certificate that knows its columns: nothing is said about the others."""
    if reading.is_stored:
        return reading.stored()
    with working(remarks, f"Reading {one_line(reading.file)}"):
        return reading.table()


def check_outputs(file: str, *paths: Path | None) -> None:
    """Before the work, not after it: folders that can be written to, and no file in the place of another."""
    taken = {realpath(file): "the table itself"}
    for path in paths:
        if path is None:
            continue
        if not path.parent.is_dir():
            raise ParameterError(f"{path.parent} is not a folder; {path} cannot be written.")
        if path.exists() and not path.is_file():
            raise ParameterError(f"{path} is not a regular file; nothing is written in its place.")
        real = realpath(path)  # does not mind links that lead nowhere
        if real in taken:
            raise ParameterError(f"{path} is {taken[real]}; choose another name.")
        taken[real] = "written by another option already"
        try:
            check_writable(path.parent)
        except OSError as error:
            raise ParameterError(f"{path.parent} cannot be written to: {error.strerror or error}.") from error


@contextmanager
def working(console: Console, label: str) -> Iterator[None]:
    """A spinner on a terminal; off it one line."""
    if console.is_terminal:
        with console.status(escape(label)):
            yield
    else:
        console.print(f"{escape(label)} …", highlight=False)
        yield


def consoles(as_json: bool) -> tuple[Console, Console]:
    """Where results go, and where remarks go: never into JSON."""
    return Console(quiet=as_json, soft_wrap=True), Console(stderr=True, soft_wrap=True)


def print_json(values: dict[str, Any]) -> None:
    """One object."""
    click.echo(json_text(values))


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
