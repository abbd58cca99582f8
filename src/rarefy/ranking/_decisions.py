"""From a ranking to classes or levels, and how far its scores can be from those with all kernel functions."""

from dataclasses import dataclass

from rarefy.core.linalg.rows import Array
from rarefy.core.ranking.bounds import ranking_bound
from rarefy.core.ranking.thresholds import level_cuts, threshold
from rarefy.ranking._solve import Ranking


@dataclass(frozen=True)
class ClassDecision:
    """Where two classes are separated; the bound on scores, if there is one."""

    threshold: float
    bound: float | None


def decide_classes(ranking: Ranking, rule: str, value: float) -> ClassDecision:
    """Cut a ranking of two classes by a rule of `core.ranking.thresholds.RULES`."""
    data = ranking.problem.data
    counted = data.weights > 0.0
    cut = threshold(ranking.scores[counted], data.levels[counted] == 1, data.weights[counted], rule, value)
    facts = ranking.problem.bound_facts if ranking.ranker.converged else None
    return ClassDecision(cut, None if facts is None else ranking_bound(facts[0], ranking.alpha, facts[1]))


def decide_levels(ranking: Ranking) -> Array:
    """Cut a ranking of levels so that they are as frequent as in the training data."""
    data = ranking.problem.data
    counted = data.weights > 0.0
    return level_cuts(ranking.scores[counted], data.levels[counted], data.weights[counted], len(data.labels))
