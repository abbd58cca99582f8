"""Branch and bound against all subsets, and the exchange model against training."""

from itertools import combinations

import numpy as np
import pytest

from rarefy.core.best_subset import branching, search
from rarefy.core.best_subset.branching import LEAF, branch
from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.relaxation import largest_sum
from rarefy.core.best_subset.search import choice
from rarefy.core.best_subset.solve import best_subset
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import LOSSES, MarginLoss


def problem(loss, seed, *, n=18, d=9, m=1, C=1.0, groups=None):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + rng.standard_normal((n, 1))
    Y = X[:, :m] + X[:, m : 2 * m] + 0.3 * rng.standard_normal((n, m))
    Y = Y if loss == "squared" else np.where(np.median(Y, axis=0) < Y, 1.0, -1.0)
    numbers = np.arange(d) if groups is None else np.asarray(groups)
    return SubsetProblem(as_rows(X), Y, rng.uniform(0.5, 1.5, n) * C, MarginLoss(loss), np.ones(d), numbers)


def best_of_all(p, r):
    return min(p.train(np.array(S), tol=1e-7).dual for S in combinations(range(p.n_groups), r))


def walked(tree, G):
    """(fixed, barred) of the leaves of a tree in preorder, by recursion."""
    rest = list(tree)

    def walk(fixed, barred):
        group = rest.pop(0)
        if group == LEAF:
            return [(fixed, barred)]
        return walk([*fixed, group], barred) + walk(fixed, [*barred, group])

    leaves = walk([], [])
    assert rest == []
    return leaves


def bound_of(p, r, dual, fixed, barred):
    free = np.setdiff1d(np.arange(p.n_groups), [*fixed, *barred])
    pulls = p.pulls(dual)
    return p.gain(dual) - 0.5 * (pulls[fixed].sum() + largest_sum(pulls[free], r - len(fixed)))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    ("seed", "options"), [(0, {}), (1, {"m": 2, "d": 7}), (2, {"groups": [0, 0, 1, 2, 3, 3, 4, 5, 5]})]
)
def test_branching_finds_and_proves_the_best_of_all_choices(loss, seed, options):
    p, r = problem(loss, seed, C=10.0, **options), 2
    found = best_subset(p, r, gap_tol=1e-3, max_nodes=500)
    best = best_of_all(p, r)
    assert found.chosen.value <= best * (1.0 + 2e-3)
    assert (1.0 - 1e-3) * found.chosen.value <= found.bound <= best * (1.0 + 1e-6)


def test_the_tree_and_its_dual_points_prove_the_bound():
    p, r = problem("squared_hinge", 5, d=12, C=10.0), 3
    found = best_subset(p, r, gap_tol=1e-4, max_nodes=30)
    assert found.n_nodes > 2
    leaves = walked(found.tree, p.n_groups)
    assert len(leaves) == len(found.duals) == found.n_nodes // 2 + 1
    bounds = [bound_of(p, r, dual, *leaf) for leaf, dual in zip(leaves, found.duals, strict=True)]
    assert min(bounds) == pytest.approx(found.bound, rel=1e-9)
    assert found.bound > bound_of(p, r, found.relaxed.dual, [], [])  # splitting has raised it


def test_an_interrupt_leaves_a_whole_tree(monkeypatch):
    p, r = problem("squared_hinge", 5, d=12, C=10.0), 3
    calls = []

    def relaxed(*args, **kwargs):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return original(*args, **kwargs)

    first = best_subset(p, r, gap_tol=1e-4)
    original = branching.relaxed
    monkeypatch.setattr(branching, "relaxed", relaxed)
    found = branch(p, r, first.chosen, first.relaxed, gap_tol=1e-4, max_nodes=100)
    assert found.interrupted
    assert found.n_nodes == 4  # the sixth call was for the second half of a split, which is not made
    leaves = walked(found.tree(), p.n_groups)
    bounds = [bound_of(p, r, dual, *leaf) for leaf, dual in zip(leaves, found.duals(), strict=True)]
    assert min(bounds) == pytest.approx(found.bound, rel=1e-9)


@pytest.mark.parametrize(("loss", "m"), [("squared", 1), ("squared", 2), ("squared_hinge", 1), ("logistic", 1)])
def test_the_model_of_exchanges_is_exact_for_the_squared_loss_and_close_for_others(loss, m):
    p = problem(loss, 7, n=60, d=10, m=m)
    found = choice(p, np.array([0, 3, 5]))
    others = np.array([1, 2, 4, 6, 7, 8, 9])
    modelled = search._modelled(p, found, others)
    exact = np.array([[choice(p, np.array([*np.delete(found.groups, o), i])).value for i in others] for o in range(3)])
    change = exact - found.value
    if loss == "squared":
        np.testing.assert_allclose(modelled, change, rtol=1e-4, atol=1e-4 * found.value)
    else:
        assert np.corrcoef(modelled.ravel(), change.ravel())[0, 1] > 0.8


def test_exchanges_never_make_a_set_worse_and_end_where_no_exchange_helps():
    for seed in range(10):
        p = problem("squared", seed, n=30, d=10, C=3.0)
        start = choice(p, np.array([7, 8, 9]))
        found = search.exchanged(p, start, 0.0)
        assert found.value <= start.value
        for o in range(3):
            for i in np.setdiff1d(np.arange(10), found.groups):
                other = choice(p, np.array([*np.delete(found.groups, o), i]))
                assert other.value >= found.value * (1 - 1e-6)
