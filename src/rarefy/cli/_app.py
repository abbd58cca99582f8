"""All commands in one group."""

from importlib import import_module

import click

import rarefy

COMMANDS = ("select", "certify", "verify", "rank", "classify", "score", "report", "demo", "reproduce")


class _Commands(click.Group):
    """Commands that are imported when they are called: others need pictures or the papers' tables, which take time."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"rarefy.cli.{cmd_name}"), cmd_name)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(rarefy.__version__, prog_name="rarefy")
def app() -> None:
    r"""Keep few features, lose provably little, and get a certificate that anyone can check.

    New here? Run `rarefy demo`: it needs no data and takes less than a minute. With a table of your own:

    \b
      rarefy select genes.csv --target class --keep 50 --certificate c.json
      rarefy verify c.json genes.csv
      rarefy rank payments.csv --target is_fraud --save fraud.skops
      rarefy score fraud.skops new.csv --out scores.csv
    """
