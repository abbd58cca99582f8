"""All commands in one group."""

import click

import rarefy
from rarefy.cli.demo import demo
from rarefy.cli.reproduce import reproduce


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(rarefy.__version__, prog_name="rarefy")
def app() -> None:
    """Keep few features, lose provably little, and get a certificate that anyone can check.

    New here? Run `rarefy demo`: it needs no data and takes less than a minute.
    """


app.add_command(demo)
app.add_command(reproduce)
