"""Ranking the rare class of data in blocks, whose target was stored when they were written."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from rarefy._files import write_bytes_atomically
from rarefy.blocks import BlockFolder
from rarefy.config import config_context
from rarefy.exceptions import ParameterError
from rarefy.ranking import RankRC, RankRCCV
from rarefy.workflows.labels import MOST_LEARNED, folds_of, whole_labels
from rarefy.workflows.models_of_tables import RankedTable, against_the_rest, label_of

_MANIFEST = "manifest.json"


def is_block_folder(file: str) -> bool:
    """Whether a path is a folder that `rarefy convert` wrote, or began to."""
    return (Path(file) / _MANIFEST).is_file()


@dataclass(frozen=True)
class Asked:
    """What the command asks for, as in `rank_table`."""

    rare_class: str | None
    recall: float | None
    confidence: float
    scoring: str
    seed: int
    resume: Path | None
    """Where finished passes over the data are kept, and looked for."""


def rank_blocks(folder: str, asked: Asked) -> RankedTable:
    """Learn to rank the rare class of a folder's target above the rest."""
    data = BlockFolder(folder)
    if data.target is None:
        raise ParameterError(f"{folder} has no target; write it again with rarefy convert --target.")
    y, target = whole_labels(data.target), data.target_name or "target"
    label = label_of(y, asked.rare_class, target)
    several = label if len(np.unique(y)) > 2 else None
    if several is not None:
        y, label = against_the_rest(y, label), str(label)
    search = _search(data, y, label, asked)
    with config_context(checkpoint_folder=asked.resume):
        fitted = search.fit(data, y)
    is_rare = y == fitted.rare_class_
    steps = Pipeline([("rank", fitted)])
    return RankedTable(steps, target, fitted.rare_class_, is_rare, fitted.held_out_scores_, data, several)


def _search(data: BlockFolder, y: Any, label: Any, asked: Asked) -> RankRCCV:
    threshold = "f1" if asked.recall is None else {"recall": asked.recall, "confidence": asked.confidence}
    ranker = RankRC(random_state=asked.seed, rare_class=label, threshold=threshold)
    folds = folds_of(y, data.target_name or "target", asked.seed, MOST_LEARNED)
    return RankRCCV(ranker, alphas=[min(1e-3, 2.0 / len(y))], cv=folds, scoring=asked.scoring)


def write_scores(made: RankedTable, path: Path) -> None:
    """Write the score of every row, by the ranker that learned from all, as an array of numpy."""
    if path.suffix != ".npy":
        raise ParameterError(f"--scores writes .npy; got {path}.")
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
