"""Claims about rankers against other solvers and known distributions: a sample of ``make trials ONLY=ranking``."""

import pytest
from trials.ranking import promise_trial, score_trial, solver_trial

import rarefy.core.ranking.promises as promises
from rarefy.ranking import ScoreCertificate


def test_bounds_on_scores_are_true_and_verified():
    for seed in range(20_000, 20_025):
        assert score_trial(seed)[1] == []


def test_rankers_reach_what_lbfgs_reaches_with_all_pairs():
    for seed in range(20_000, 20_030):
        assert solver_trial(seed)[1] == []


def test_promises_are_kept_at_their_rate():
    for seed in range(20_000, 20_002):
        counts, wrong = promise_trial(seed, 200)
        assert wrong == []
        assert counts["promises"] == 1200


@pytest.mark.parametrize(("trial", "seed"), [(score_trial, 115), (score_trial, 161), (solver_trial, 49)])
def test_problems_that_once_failed(trial, seed):
    """A share of pairs that rounding left above one; a push on a loss that rounding left below zero."""
    assert trial(seed)[1] == []


def test_trials_see_bounds_that_are_too_small(monkeypatch):
    bound = ScoreCertificate.bound.fget
    monkeypatch.setattr(ScoreCertificate, "bound", property(lambda self: 0.1 * bound(self)))
    assert any("scores differ by" in one for seed in range(20_000, 20_020) for one in score_trial(seed)[1])


def test_trials_see_promises_that_are_kept_too_seldom(monkeypatch):
    order = promises.largest_order
    monkeypatch.setattr(promises, "largest_order", lambda m, p, confidence: min(m, order(m, p, confidence) + 1))
    assert any("promises are kept" in one for one in promise_trial(20_000, 200)[1])
