"""From a ranking to classes or levels, and how far its scores can be from those with all kernel functions."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rarefy.certificates._recall import RecallCertificate, make_recall_certificate
from rarefy.core.linalg.rows import Array
from rarefy.core.ranking.bounds import ranking_bound
from rarefy.core.ranking.thresholds import level_cuts, threshold
from rarefy.exceptions import DegenerateDataError
from rarefy.ranking._settings import Promise
from rarefy.ranking._solve import Ranking


@dataclass(frozen=True)
class ClassDecision:
    """Where two classes are separated; the bound on scores, if there is one."""

    threshold: float
    bound: float | None
    certificate: RecallCertificate | None = None
    """The promise that the threshold keeps, if it was asked for one."""


def bound_of(ranking: Ranking) -> float | None:
    """How far scores can be from those with all kernel functions, where that is known."""
    facts = ranking.problem.bound_facts if ranking.ranker.converged else None
    return None if facts is None else ranking_bound(facts[0], ranking.alpha, facts[1])


def decide_by_rule(ranking: Ranking, rule: str, value: float, held_out: Array | None = None) -> ClassDecision:
    """Cut a ranking of two classes by a rule of `core.ranking.thresholds.RULES`, from training or held-out scores."""
    data = ranking.problem.data
    scores, counted = _scores_to_cut(ranking, held_out)
    cut = threshold(scores[counted], data.levels[counted] == 1, data.weights[counted], rule, value)
    return ClassDecision(cut, bound_of(ranking))


def _scores_to_cut(ranking: Ranking, held_out: Array | None) -> tuple[Array, NDArray[np.bool_]]:
    """Scores, and for which samples they count: held-out ones if they have samples of every level."""
    data, counted = ranking.problem.data, ranking.problem.data.weights > 0.0
    if held_out is not None:
        usable = counted & np.isfinite(held_out)
        if np.array_equal(np.unique(data.levels[usable]), np.unique(data.levels[counted])):
            return held_out, usable
    return ranking.scores, counted


def promised_cut(scores: Array, rare: NDArray[np.bool_], promise: Promise, owner: str) -> RecallCertificate:
    """The certificate of a promise from cross-fitted scores; an error where they are too few for it."""
    cases = rare if promise.quantity == "recall" else ~rare
    made = make_recall_certificate(
        scores[cases], scores[~cases], promise.quantity, promise.level, promise.confidence, cross_fitted=True
    )
    if made.threshold is None:
        raise DegenerateDataError(
            f"threshold of {owner} asks for a promise that these data cannot give. {made.sentence} Lower the share or "
            f"the confidence, or leave 'confidence' out for a threshold without a promise."
        )
    return made


def cut_below(certificate: RecallCertificate) -> float:
    """The number that scores have to exceed: a certificate's rule is ``score >= threshold``."""
    assert certificate.threshold is not None  # `promised_cut` has raised where there is none
    return float(np.nextafter(certificate.threshold, -np.inf))


def decide_levels(ranking: Ranking, held_out: Array | None = None) -> Array:
    """Cut a ranking of levels so that they are as frequent as in the training data."""
    data = ranking.problem.data
    scores, counted = _scores_to_cut(ranking, held_out)
    return level_cuts(scores[counted], data.levels[counted], data.weights[counted], len(data.labels))
