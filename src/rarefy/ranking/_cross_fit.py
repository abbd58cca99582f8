"""Scores of training samples by rankers that were fitted without them."""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.model_selection import StratifiedKFold

from rarefy.core.linalg.rows import Array
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.ranking._problem import TrainingData, expand
from rarefy.ranking._solve import solve

if TYPE_CHECKING:
    from rarefy.ranking._base import KernelRanker

_FOLDS = 5


def cross_fitted_scores(ranker: "KernelRanker", data: TrainingData, alpha: float) -> Array:
    """One score for each sample, from the ranker of the folds that it is not in; NaN for samples without weight."""
    owner = type(ranker).__name__
    if not isinstance(ranker.basis, str | int | np.integer):
        raise ParameterError(
            f"threshold of {owner} asks for a promise, which needs rankers of parts of the data, where the row numbers "
            "of basis mean other samples. Use another basis, or certify_threshold on samples that were kept apart."
        )
    rows = np.flatnonzero(data.weights > 0.0)
    n_folds = min(_FOLDS, int(np.bincount(data.levels[rows]).min()))
    if n_folds < 2:
        raise DegenerateDataError(
            f"threshold of {owner} asks for a promise, which needs at least two samples of each class to hold some out."
        )
    rng = ranker._rng()
    folds = StratifiedKFold(n_folds, shuffle=True, random_state=int(rng.integers(2**31)))
    scores = np.full(len(data.levels), np.nan)
    for train, test in folds.split(np.zeros((len(rows), 1)), data.levels[rows]):
        problem = ranker._problem(data.part(rows[train], ranker._is_precomputed), rng)
        beta = solve(problem, alpha, rng).ranker.beta
        held_out = data.X[rows[test]]
        held_out = held_out[:, rows[train]] if ranker._is_precomputed else held_out
        scores[rows[test]] = expand(problem.kernel, held_out, problem.basis.places, beta)
    return scores
