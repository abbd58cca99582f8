"""The relaxation of problems with many samples and few columns, beside its plain twin by projected gradients."""

import json
from dataclasses import replace

import numpy as np
import pytest

from rarefy._files import json_text
from rarefy.core.best_subset import solve, tall
from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.relaxation import relaxed
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.margins import MarginLoss


def _problem(loss, *, n=600, d=8, m=1, grouped=False, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.5
    X[:, 3] = 0.8 * X[:, 0] + 0.4 * X[:, 3]
    f = X @ rng.standard_normal((d, m)) * np.geomspace(2.0, 0.5, m) + rng.logistic(size=(n, m)) - 1.0
    Y = f if loss == "squared" else np.where(f > 0.0, 1.0, -1.0)
    groups = np.arange(d) // 2 if grouped else np.arange(d)
    costs = rng.uniform(0.01, 0.05, n)
    return SubsetProblem(DenseRows(X), Y, costs, MarginLoss(loss), 1.0 / X.std(axis=0), groups)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
@pytest.mark.parametrize(("m", "grouped"), [(1, False), (2, False), (2, True)])
def test_the_relaxation_is_that_of_projected_gradients(loss, m, grouped):
    problem, r = _problem(loss, m=m, grouped=grouped), 2
    s = np.full(problem.n_groups, r / problem.n_groups)
    plain = relaxed(problem, r, s=s, tol=1e-7, max_iter=500)
    fast = tall.relaxed_tall(problem, r, s=s, tol=1e-7, max_iter=50)
    assert fast.value == pytest.approx(plain.value, rel=3e-7)  # each within 1e-7 of its own bound
    assert fast.value * (1.0 - 1e-7) <= fast.bound <= fast.value * (1.0 + 1e-12)
    # What is claimed at the shares is what models trained there reach, and the dual point proves the bound.
    taken = np.flatnonzero(fast.s > 0.0)
    assert problem.train(taken, fast.s[taken]).value == pytest.approx(fast.value, rel=1e-6)
    assert fast.s.sum() == pytest.approx(r)
    again = problem.gain(fast.dual) - 0.5 * np.sort(problem.pulls(fast.dual))[-r:].sum()
    assert again == pytest.approx(fast.bound, rel=1e-12)


def test_a_part_of_the_samples_first_changes_nothing(monkeypatch):
    problem = _problem("squared_hinge", n=2000)
    s = np.full(problem.n_groups, 2 / problem.n_groups)
    whole = tall.relaxed_tall(problem, 2, s=s, tol=1e-7)
    monkeypatch.setattr(tall, "_PART", 200)
    parts = tall.relaxed_tall(problem, 2, s=s, tol=1e-7)
    assert parts.value == pytest.approx(whole.value, rel=3e-7)
    assert parts.bound >= parts.value * (1.0 - 1e-7)
    assert parts.n_iter < whole.n_iter


def test_a_part_without_one_of_the_classes_does_no_harm(monkeypatch):
    problem = _problem("squared_hinge", n=2000)
    Y = -np.ones((2000, 1))
    Y[:2] = 1.0
    problem = replace(problem, Y=Y)
    monkeypatch.setattr(tall, "_PART", 50)
    found = tall.relaxed_tall(problem, 2, s=np.full(8, 0.25), tol=1e-6)
    assert found.bound >= found.value * (1.0 - 1e-6)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic", "squared"])
def test_the_same_subsets_are_chosen(loss, monkeypatch):
    problem = _problem(loss, n=1000)
    assert tall.is_tall(problem)
    fast = solve.best_subset(problem, 3)
    monkeypatch.setattr(solve, "is_tall", lambda problem: False)
    plain = solve.best_subset(problem, 3)
    np.testing.assert_array_equal(fast.chosen.groups, plain.chosen.groups)
    assert fast.bound == pytest.approx(plain.bound, rel=2e-4)


def test_few_samples_and_hinges_go_the_other_way():
    assert not tall.is_tall(_problem("squared_hinge", n=100))
    assert not tall.is_tall(_problem("hinge", n=1000))


def test_json_has_a_line_for_every_entry():
    values = {"a": [1.5, 2], "b": {"c": None, "ü": {}}, "d": "x\ny"}
    text = json_text(values)
    assert json.loads(text) == values
    assert len(text.splitlines()) == 8
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"a": [float("nan")]})
