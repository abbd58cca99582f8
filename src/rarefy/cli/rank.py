"""The command `rarefy rank`: find the rare class of one's own table."""

from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.markup import escape

import rarefy
from rarefy.cli import _common as common
from rarefy.exceptions import ParameterError
from rarefy.pages.alarms import sentence_on_top
from rarefy.tables._messages import one_line
from rarefy.workflows.models import SavedModel, save_model
from rarefy.workflows.models_of_tables import RankedTable, rank_table, ranking_code
from rarefy.workflows.ranked_blocks import Asked, blocks_code, check_scores, rank_blocks, write_scores
from rarefy.workflows.reading import Reading


@click.command()
@click.argument("file")
@click.option("--target", metavar="COL", help="Column with the classes; default: the labels that FILE states.")
@click.option("--rare-class", metavar="VALUE", help="The class to find; default: the less frequent of two.")
@click.option("--recall", type=click.FloatRange(0, 1, min_open=True, max_open=True), help="Promise to find this share.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.95,
    show_default=True,
    help="Of the promise.",
)
@click.option(
    "--scoring",
    type=click.Choice(["roc_auc", "average_precision"]),
    default="roc_auc",
    show_default=True,
    help="What the penalty is chosen by.",
)
@common.resume_option
@click.option("--scores", type=common.OUTPUT, help="Of blocks: write the score of every row: .npy.")
@click.option("--save", type=common.OUTPUT, help="Write the ranker, for rarefy score: .skops.")
@click.option("--report", type=common.OUTPUT, help="Write a page: curves, thresholds, the highest cases.")
@common.table_options
@common.bad_input_exits_2
def rank(
    file: str,
    target: str | None,
    rare_class: str | None,
    recall: float | None,
    confidence: float,
    scoring: str,
    resume: Path | None,
    scores: Path | None,
    save: Path | None,
    report: Path | None,
    impute: str | None,
    drop: str | None,
    sample: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Rank the rows of FILE so that the rare class of --target stands on top.

    All measures are of held-out rows: each is scored by a ranker that did not see it. FILE may also be a folder of
    blocks that rarefy convert wrote with --target: it is read block by block, and with --resume an interrupted command,
    given again, goes on from the passes over the data that were finished.

    \b
    Example:
      rarefy rank payments.csv --target is_fraud --recall 0.9 --save fraud.skops

    Exit codes: 0 done, 2 bad input.
    """
    common.check_outputs(file, save, report, scores)
    console, remarks = common.consoles(as_json)
    reading = Reading.of_options(file, drop, sample, seed)
    if scores is not None and not reading.is_stored:
        raise ParameterError("--scores is for folders of blocks; see rarefy convert.")
    check_scores(scores)
    table, reading = common.read(reading, remarks)
    with common.working(remarks, "Ranking"), common.resuming(reading, resume):
        if reading.is_stored:
            asked = Asked(rare_class, recall, confidence, scoring, seed, target, impute)
            made = rank_blocks(table, asked)
            code = blocks_code(file, made, resume)
        else:
            made = rank_table(
                table,
                target,
                rare_class=rare_class,
                recall=recall,
                confidence=confidence,
                scoring=scoring,
                impute=impute,
                seed=seed,
            )
            code = ranking_code(reading, made)
    _write(made, save, report, scores, file, reading)
    if as_json:
        common.print_json(_summary(made))
        return
    _print(console, made)
    common.print_code(console, code)
    common.written(remarks, scores, save, report)


def _write(
    made: RankedTable, save: Path | None, report: Path | None, scores: Path | None, file: str, reading: Reading
) -> None:
    if scores is not None:
        write_scores(made, scores)
    if save is not None:
        save_model(SavedModel(made.scorer, made.target, "rank", rarefy.__version__), save)
    if report is not None:
        from rarefy.pages.ranking import write_ranking_page  # needs jinja2

        write_ranking_page(made, report, file=file, options=reading.options)


def _summary(made: RankedTable) -> dict[str, object]:
    promise = made.ranker.threshold_certificate_
    return {
        "rare_class": str(made.rare_class),
        "n_rare": int(made.is_rare.sum()),
        "n_rows": len(made.is_rare),
        "held_out": made.measures(),
        "held_out_most_learned": made.most_learned,
        "alpha": made.ranker.alpha_,
        "threshold": made.ranker.threshold_,
        "promise": None if promise is None else promise.to_dict(),
    }


def _learned(made: RankedTable) -> str:
    return (
        f"held out: every row, by rankers that learned from at most {made.most_learned} other rows of each class, "
        "drawn at random; the ranker itself learned from all rows"
    )


def _print(console: Console, made: RankedTable) -> None:
    measures, promise = made.measures(), made.ranker.threshold_certificate_
    n, rare = len(made.is_rare), int(made.is_rare.sum())
    usable = np.isfinite(made.held_out)
    label = f"{one_line(made.target, 60)} = {one_line(made.rare_class, 60)}"
    sentence = sentence_on_top(made.is_rare[usable], made.held_out[usable])
    console.print(f"[bold]{rare} of {n} rows have {escape(label)}. {sentence}[/bold]", highlight=False)
    for name, value in measures.items():
        console.print(f"  {name}, held out: {value:.3f}", highlight=False)
    if made.most_learned is not None:
        console.print(f"  {_learned(made)}", highlight=False)
    called = made.held_out[usable] > made.ranker.threshold_
    right = called & made.is_rare[usable]
    console.print(
        f"  at the threshold {made.ranker.threshold_:.4g}: {int(called.sum())} rows called, {int(right.sum())} of them "
        "rightly",
        highlight=False,
    )
    if promise is not None:
        common.print_verdict(console, promise.verdict, promise.sentence)
