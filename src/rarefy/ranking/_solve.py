"""Rankers: one weight of the penalty, several, or block by block."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rarefy._progress import progress_bar, progress_line
from rarefy.backends.samples import Samples
from rarefy.config import current_config
from rarefy.core.linalg.rows import Array, DenseRows, Index, Rows
from rarefy.core.linalg.threads import threads_over
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking.rankers import Ranker, rank, rank_in_blocks, rank_sparsely
from rarefy.exceptions import ParameterError
from rarefy.ranking._problem import Problem

_STEPS, _PASSES = 100, 5
"""Of the trust region method and of the stochastic solver, if `max_iter` is None."""


@dataclass(frozen=True)
class Ranking:
    """A solved problem: coefficients, and the scores of the training samples."""

    problem: Problem
    alpha: float
    ranker: Ranker
    scores: Array


def solve(problem: Problem, alpha: float, rng: np.random.Generator) -> Ranking:
    """Find the ranker for one weight of the penalty."""
    if problem.K is None:
        return _solve_in_blocks(problem, alpha, rng)
    ranker = _solve(problem, problem.K, alpha, None)
    return Ranking(problem, alpha, ranker, problem.scores(ranker.beta))


def solve_path(problem: Problem, alphas: Array) -> list[Ranker]:
    """Find the rankers for several weights of the penalty, from large to small, each starting from the one before."""
    if problem.K is None:
        raise ParameterError(f"alpha_path of {problem.settings.owner} needs solver='trust-region'; got 'stochastic'.")
    rankers, before = {}, None
    for i in np.argsort(-alphas):
        rankers[int(i)] = before = _solve(problem, problem.K, float(alphas[i]), before)
    return [rankers[i] for i in range(len(alphas))]


def _solve(problem: Problem, K: Rows, alpha: float, start: Ranker | None) -> Ranker:
    """One ranker; `start` is the one before."""
    settings = problem.settings
    limit = settings.max_iter or _STEPS
    with progress_line() as show:
        callback = None if show is None else lambda i, *_: show(f"ranking, alpha={alpha:.3g}: step {i + 1}")
        common: dict[str, Any] = {"tol": settings.tol, "callback": callback}
        if problem.T is None:
            beta = None if start is None else start.beta
            return rank_sparsely(K, problem.loss, alpha, start=beta, max_iter=50 * limit, **common)
        w = None if start is None else start.w
        with threads_over(K.shape[0] * K.shape[1]):
            return rank(K, problem.T, problem.loss, alpha, start=w, max_iter=limit, **common)


def _solve_in_blocks(problem: Problem, alpha: float, rng: np.random.Generator) -> Ranking:
    """Passes over the most frequent level in blocks; the other samples, which are few, are in every block."""
    levels, weights = problem.data.levels, problem.data.weights
    counts = np.bincount(levels, weights=(weights > 0.0).astype(float))
    frequent = levels == int(np.argmax(counts))
    few, many = np.flatnonzero(~frequent & (weights > 0.0)), np.flatnonzero(frequent & (weights > 0.0))
    windows = _windows(problem.data.X, many)
    per_window = -(-len(windows[0]) // (current_config().block_size or max(1000, len(few))))
    n_blocks = per_window * len(windows)
    passes = problem.settings.max_iter or _PASSES
    K_few = problem.kernel_values(few)

    def blocks() -> Iterator[tuple[Rows, PairLoss]]:
        for number in rng.permutation(len(windows)) if len(windows) > 1 else [0]:
            rows, samples = windows[number], problem.data.X[windows[number]] if len(windows) > 1 else None
            for part in np.array_split(rng.permutation(len(rows)), per_window):
                K = problem.kernel_values(rows[part]) if samples is None else problem.values_of(samples[part])
                yield _block(problem, np.append(few, rows[part]), np.vstack([K_few, K]), len(few), n_blocks)

    show = progress_bar("blocks")
    callback = None if show is None else lambda count, *_: show(count, passes * n_blocks)
    assert problem.T is not None  # the penalty is a norm: `Settings` allow no other with this solver
    w = rank_in_blocks(blocks, problem.T, alpha, passes=passes, callback=callback)
    beta = problem.T @ w
    scores = problem.scores(beta)
    value = problem.loss.at(scores).value + 0.5 * alpha * float(w @ w)
    return Ranking(problem, alpha, Ranker(beta, w, value, np.nan, passes * n_blocks, 0, False), scores)


def _windows(X: Any, many: Index) -> list[Index]:
    """Samples that are in memory together: all of an array; of samples in blocks as many as fit, from storage."""
    if not isinstance(X, Samples):
        return [many]
    n_windows = 1
    while not X.rows().fits(-(-len(many) // n_windows) * X.shape[1]) and n_windows < len(many):
        n_windows *= 2
    return np.array_split(many, n_windows)


def _block(problem: Problem, rows: Index, K: Array, n_few: int, n_blocks: int) -> tuple[Rows, PairLoss]:
    """Kernel values and loss of one block; the samples that are in every block come first."""
    assert isinstance(problem.loss, PairLoss)  # a list has no blocks: `Settings` allow none with this solver
    levels, weight = problem.data.levels, problem.data.weights[rows].copy()
    # A sample of the block stands for as many as there are blocks: the mean over blocks is the whole loss.
    weight[n_few:] *= n_blocks
    pairs = replace(Pairs.of(levels[rows], weight), total=problem.loss.pairs.total)
    return DenseRows(K), replace(problem.loss, pairs=pairs)
