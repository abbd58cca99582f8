"""Support vector machines by linear programs against other solvers: a sample of ``make trials ONLY=programs``."""

from dataclasses import replace

import pytest
from trials.programs import program_trial

from rarefy.core.svm import norm_svm as svms


def test_nothing_is_said_of_an_svm_that_is_not_true():
    total = 0
    for seed in range(20_000, 20_030):
        counts, wrong = program_trial(seed, largest=400)
        assert not counts["violated"], wrong
        total += counts["optimal"]
    assert total >= 29


@pytest.mark.parametrize("seed", [15, 222, 589, 728, 1039, 1058, 1345])
def test_programs_that_once_failed(seed):
    """Columns that depend on each other with narrow boxes; on few variables, enormous multipliers (1058)."""
    counts, wrong = program_trial(seed)
    assert wrong == []
    assert counts["optimal"] == 1


def test_trials_see_bounds_that_are_not_true_and_solutions_that_are_none(monkeypatch):
    bound, train = svms.DualBound.bound, svms.norm_svm
    with monkeypatch.context() as patched:
        patched.setattr(svms.DualBound, "bound", lambda self, *args: 1e-4 + 1.001 * bound(self, *args))
        assert any("is proved" in one for seed in range(20_000, 20_010) for one in program_trial(seed, 300)[1])
    with monkeypatch.context() as patched:
        patched.setattr(svms, "norm_svm", lambda *args, **options: _worse(train(*args, **options)))
        assert any("is reached" in one for seed in range(20_000, 20_010) for one in program_trial(seed, 300)[1])


def _worse(found):
    return replace(found, objective=1e-3 + 1.01 * found.objective)
