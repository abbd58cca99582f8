"""Ranking the rare class of data in blocks, whose target was stored when they were written."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from rarefy._files import write_bytes_atomically
from rarefy.exceptions import ParameterError
from rarefy.ranking import RankRC, RankRCCV
from rarefy.workflows.labels import MOST_LEARNED, folds_of, whole_labels
from rarefy.workflows.models_of_tables import RankedTable, against_the_rest, label_of
from rarefy.workflows.stored import StoredTable


@dataclass(frozen=True)
class Asked:
    """What the command asks for, as in `rank_table`."""

    rare_class: str | None
    recall: float | None
    confidence: float
    scoring: str
    seed: int
    target: str | None = None
    """What the stored target is called; None takes it whatever its name is."""
    impute: str | None = None


def rank_blocks(table: StoredTable, asked: Asked) -> RankedTable:
    """Learn to rank the rare class of a folder's target above the rest."""
    y, target, encoder = whole_labels(table.split(asked.target)[1]), table.target_name, table.encoder(asked.impute)
    data = table.numbers(encoder)
    label = label_of(y, asked.rare_class, target)
    several = label if len(np.unique(y)) > 2 else None
    if several is not None:
        y, label = against_the_rest(y, label), str(label)
    fitted = _search(y, target, label, asked).fit(data, y)
    is_rare = y == fitted.rare_class_
    steps = Pipeline([("encode", encoder), ("rank", fitted)])
    return RankedTable(steps, target, fitted.rare_class_, is_rare, fitted.held_out_scores_, data, several)


def _search(y: Any, target: str, label: Any, asked: Asked) -> RankRCCV:
    threshold = "f1" if asked.recall is None else {"recall": asked.recall, "confidence": asked.confidence}
    ranker = RankRC(random_state=asked.seed, rare_class=label, threshold=threshold)
    folds = folds_of(y, target, asked.seed, MOST_LEARNED)
    return RankRCCV(ranker, alphas=[min(1e-3, 2.0 / len(y))], cv=folds, scoring=asked.scoring)


def check_scores(path: Path | None) -> None:
    """Before the work, not after it."""
    if path is not None and path.suffix != ".npy":
        raise ParameterError(f"--scores writes .npy; got {path}.")


def write_scores(made: RankedTable, path: Path) -> None:
    """Write the score of every row, by the ranker that learned from all, as an array of numpy."""
    buffer = io.BytesIO()
    np.save(buffer, made.ranker.score_samples(made.X))
    write_bytes_atomically(path, buffer.getvalue())


def blocks_code(folder: str, made: RankedTable, resume: Path | None) -> str:
    """The ranker in Python."""
    ranker = made.ranker.estimator
    rare = made.rare_class.item() if hasattr(made.rare_class, "item") else made.rare_class
    settings = f"rare_class={rare!r}, threshold={ranker.threshold!r}, random_state={ranker.random_state}"
    lines = ["import rarefy", "from rarefy.ranking import RankRC", f"data = rarefy.blocks.open({folder!r})"]
    if resume is not None:
        lines.append(f"rarefy.set_config(checkpoint_folder={str(resume)!r})")
    return "\n".join([*lines, f"model = RankRC({settings}).fit(data, data.target)", "print(model.threshold_)"])
