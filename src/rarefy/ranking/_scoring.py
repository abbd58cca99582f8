"""What a choice of parameters is judged by: measures of held-out scores."""

from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, get_scorer_names, precision_recall_curve, roc_auc_score, roc_curve
from sklearn.utils._param_validation import Options

from rarefy._parameters import Number
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.ranking.mauc import ranked_share

Measure = Callable[[Index, Array, Array], float]
"""Of levels, scores and weights; larger is better."""

_SHARE = Number(Real, 0, 1, closed="right")


def partial_auc(levels: Index, scores: Array, weights: Array, end: float) -> float:
    """Mean share of rare samples found, over false-positive rates up to `end`."""
    return weighted_auc(levels, scores, weights, lambda t: np.where(t <= end, 1.0, 0.0), (end,))


def weighted_auc(
    levels: Index, scores: Array, weights: Array, weight: Callable[[Array], Array], corners: tuple[float, ...] = ()
) -> float:
    """Mean share of rare samples found, over false-positive rates that are weighted by a function of them."""
    false, true, _ = roc_curve(levels == 1, scores, sample_weight=weights, drop_intermediate=False)
    # Between its corners the curve is linear; where the weight jumps is a corner, too.
    edges = np.unique(np.concatenate([false, np.linspace(0.0, 1.0, 1001), corners]))
    middle, length = 0.5 * (edges[1:] + edges[:-1]), np.diff(edges)
    share = np.asarray(weight(middle), dtype=np.float64) * length
    return float(share @ np.interp(middle, false, true) / share.sum())


def recall_at(levels: Index, scores: Array, weights: Array, share: float) -> float:
    """Share of the rare samples among the highest scores, when this share of all samples may be looked at."""
    order = np.argsort(-scores, kind="stable")
    reached, found = np.cumsum(weights[order]), np.cumsum((weights * (levels == 1))[order])
    last = np.flatnonzero(np.append(np.diff(scores[order]) < 0.0, True))  # equal scores are looked at in any order
    reached, found = np.append(0.0, reached[last]), np.append(0.0, found[last])
    return float(np.interp(share * reached[-1], reached, found) / found[-1])


def best_f1(levels: Index, scores: Array, weights: Array) -> float:
    """The largest F1 of any threshold."""
    precision, recall, _ = precision_recall_curve(levels == 1, scores, sample_weight=weights)
    return float(np.max(2.0 * precision * recall / np.maximum(precision + recall, 1e-300)))


def break_even(levels: Index, scores: Array, weights: Array) -> float:
    """Precision where it equals recall: when as many samples are called rare as are."""
    return recall_at(levels, scores, weights, float((weights * (levels == 1)).sum() / weights.sum()))


def auc(levels: Index, scores: Array, weights: Array) -> float:
    """The area under the ROC curve."""
    return float(roc_auc_score(levels, scores, sample_weight=weights))


def average_precision(levels: Index, scores: Array, weights: Array) -> float:
    """The mean precision over recalls."""
    return float(average_precision_score(levels, scores, sample_weight=weights))


def mauc(levels: Index, scores: Array, weights: Array) -> float:
    """The share of pairs of different levels in the right order."""
    return ranked_share(levels, scores, weights)


_MEASURES: dict[str, Measure] = {"roc_auc": auc, "average_precision": average_precision}
_OF_EMPHASIS: dict[str, Measure] = {"f1": best_f1, "break_even": break_even}


class Scoring(Options):
    """A scorer's name, or {"partial_auc": rate} or {"recall_at": share}."""

    def __init__(self) -> None:
        super().__init__(object, set())

    def is_satisfied_by(self, val: Any) -> bool:
        """Whether it is a known name or a dict with one share."""
        if isinstance(val, str):
            return val in get_scorer_names()
        known = isinstance(val, dict) and len(val) == 1 and set(val) <= {"partial_auc", "recall_at"}
        return known and _SHARE.is_satisfied_by(next(iter(val.values())))

    def __str__(self) -> str:
        return "the name of a scorer, {'partial_auc': rate} or {'recall_at': share} with a number in (0, 1]"


def measure_of(scoring: Any, emphasis: Any) -> Measure | None:
    """The measure that `scoring` means, for None the one that the loss emphasises; None if it is a scorer."""
    if isinstance(scoring, dict):
        ((name, share),) = scoring.items()
        chosen = partial_auc if name == "partial_auc" else recall_at
        return lambda levels, scores, weights: chosen(levels, scores, weights, float(share))
    if isinstance(scoring, str):
        return _MEASURES.get(scoring)
    return None if scoring is not None else _emphasised(emphasis)


def _emphasised(emphasis: Any) -> Measure:
    if isinstance(emphasis, str):
        return _OF_EMPHASIS[emphasis]
    emphasis = emphasis or {}
    if "false_positive_weight" in emphasis:
        weight = emphasis["false_positive_weight"]
        return lambda levels, scores, weights: weighted_auc(levels, scores, weights, weight)
    end = float(emphasis.get("false_positive_range", 1.0))
    if end < 1.0:
        return lambda levels, scores, weights: partial_auc(levels, scores, weights, end)
    return average_precision if float(emphasis.get("push", 1.0)) > 1.0 else auc
