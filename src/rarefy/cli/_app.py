"""All commands in one group."""

import click

import rarefy
from rarefy.cli.certify import certify
from rarefy.cli.classify import classify
from rarefy.cli.demo import demo
from rarefy.cli.rank import rank
from rarefy.cli.report import report
from rarefy.cli.reproduce import reproduce
from rarefy.cli.score import score
from rarefy.cli.select import select
from rarefy.cli.verify import verify


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
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


for command in (select, certify, verify, rank, classify, score, report, demo, reproduce):
    app.add_command(command)
