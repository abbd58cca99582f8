"""All commands in one group."""

import sys
from collections.abc import Sequence
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from typing import Any

import click
from click.shell_completion import CompletionItem

import rarefy

COMMANDS = {
    "select": "Keep few columns of FILE and prove what they are worth.",
    "certify": "Say what a choice of columns of FILE is worth, whoever made it.",
    "verify": "Check CERTIFICATE against FILE, the raw table that it was made from.",
    "rank": "Rank the rows of FILE so that the rare class of --target stands on top.",
    "classify": "Learn the classes of --target from the other columns of FILE.",
    "score": "Apply MODEL to the rows of FILE.",
    "convert": "Write FILE, of any size, as a folder of blocks, which the others take as FILE.",
    "report": "Write a page about MODEL and FILE, the table that it was made from.",
    "demo": "Keep 300 of 20 000 words, certify what is guaranteed, and compare.",
    "reproduce": "Run the papers' tables again and compare each claim with ours.",
}
"""What each command does, so that the list of them is shown without importing any."""


class _Commands(click.Group):
    """Commands that are imported when they are called, and errors of one line, whoever finds them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"rarefy.cli.{cmd_name}"), cmd_name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        name = args[0] if args else ""
        if name and not name.startswith("-") and name not in COMMANDS:
            near = get_close_matches(name, COMMANDS, n=1)
            ctx.fail(f"there is no command {name!r}; " + (f"did you mean {near[0]}?" if near else "see rarefy --help."))
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        found = [CompletionItem(name, help=text) for name, text in COMMANDS.items() if name.startswith(incomplete)]
        return [*found, *click.Command.shell_complete(self, ctx, incomplete)]

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        run = partial(super().main, args, prog_name, complete_var, standalone_mode=False, **extra)
        if not standalone_mode:
            return run()
        try:
            code: Any = run()
        except click.exceptions.NoArgsIsHelpError as error:
            error.show()
            sys.exit(error.exit_code)
        except click.ClickException as error:
            where = error.ctx.command_path if isinstance(error, click.UsageError) and error.ctx else ""
            hint = f" See {where} --help." if where and "--help" not in error.format_message() else ""
            message = " ".join(error.format_message().split())
            click.echo(f"Error: {message}{hint}", err=True)
            sys.exit(error.exit_code)
        except OSError as error:  # such as a disk that is full when a page is written
            click.echo(f"Error: {error.filename or 'a file'}: {error.strerror or error}.", err=True)
            sys.exit(2)
        except click.Abort:
            click.echo("Stopped. Nothing was written that is not complete.", err=True)
            sys.exit(130)
        sys.exit(code if isinstance(code, int) else 0)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(rarefy.__version__, prog_name="rarefy")
def app() -> None:
    """Keep few features, lose provably little, and get a certificate that anyone can check.

    New here? Run `rarefy demo`: it needs no data and takes less than a minute. With a table of your own:

    \b
      rarefy select genes.csv --target class --keep 50 --certificate c.json
      rarefy verify c.json genes.csv
      rarefy rank payments.csv --target is_fraud --save fraud.skops
      rarefy score fraud.skops new.csv --out scores.csv
    """
