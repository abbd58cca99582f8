"""Kernel functions chosen with the loss: against all choices, and beside rules that do not know the labels."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from ranking_problems import ordered_data, rare_data
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking.greedy import _backward, _fit, _forward, greedy_basis
from rarefy.core.ranking.rankers import rank, whitening
from rarefy.exceptions import ParameterError
from rarefy.kernel import KernelSubspace
from rarefy.ranking import OrdinalRankRC, RankRC


def problem(seed, m=40, rare=8):
    X, y = rare_data(seed, m, rare)
    return rbf_kernel(X, gamma=0.3), PairLoss(Pairs.of(y))


def objective(K, loss, alpha, chosen):
    chosen = np.asarray(chosen)
    return rank(DenseRows(K[:, chosen]), whitening(K[np.ix_(chosen, chosen)]), loss, alpha, tol=1e-8).objective


def test_it_is_nearly_the_best_of_all_choices():
    ratios = []
    for seed in range(6):
        K, loss = problem(seed, m=12, rare=4)
        every = [objective(K, loss, 1e-2, chosen) for chosen in combinations(range(12), 3)]
        found = objective(K, loss, 1e-2, greedy_basis(K, K, loss, 1e-2, 3))
        assert found <= np.quantile(every, 0.05)
        ratios.append(found / min(every))
    assert min(ratios) < 1.0 + 1e-6
    assert np.mean(ratios) < 1.15


def test_the_first_step_is_the_steepest():
    K, loss = problem(0)
    slopes = [float(K[:, j] @ loss.at(np.zeros(40)).gradient) ** 2 / K[j, j] for j in range(40)]
    assert _forward(K, K, loss, 1e-2, np.zeros(0, dtype=np.intp), 1).tolist() == [int(np.argmax(slopes))]


def test_a_step_from_a_fit_is_the_steepest_that_is_orthogonal_to_it():
    K, loss = problem(1)
    chosen = np.array([3, 17])
    beta = rank(DenseRows(K[:, chosen]), whitening(K[np.ix_(chosen, chosen)]), loss, 1e-2, tol=1e-10).beta
    e = loss.at(K[:, chosen] @ beta).gradient
    e[chosen] += 1e-2 * beta
    worth = []
    for j in range(40):
        c = np.linalg.solve(K[np.ix_(chosen, chosen)], K[chosen, j])
        left = K[j, j] - c @ K[chosen, j]
        worth.append((K[j] @ e) ** 2 / left if left > 1e-3 else 0.0)
    assert _forward(K, K, loss, 1e-2, chosen, 3).tolist() == [3, 17, int(np.argmax(worth))]


def test_what_is_left_out_changes_the_ranker_least():
    K, loss = problem(2)
    chosen = np.array([0, 5, 9, 22, 31])
    beta, _ = _fit(K, K, loss, 1e-2, chosen)
    distances = []
    for out in range(5):
        rest = np.delete(np.arange(5), out)
        K_BB = K[np.ix_(chosen, chosen)]
        near = np.linalg.lstsq(K_BB[np.ix_(rest, rest)], K_BB[rest] @ beta, rcond=None)[0]
        change = beta.copy()
        change[rest] -= near
        distances.append(change @ K_BB @ change)
    assert _backward(K, K, loss, 1e-2, chosen, 4).tolist() == np.delete(chosen, int(np.argmin(distances))).tolist()


def test_few_kernel_functions_reach_lower_than_others_as_many():
    for seed in range(3):
        X, y = rare_data(seed, m=400, rare=40)
        values = {
            rule: RankRC(1e-3, basis=8, landmarks=rule, random_state=0).fit(X, y).objective_
            for rule in ("greedy", "random", "cholesky", "leverage")
        }
        assert values["greedy"] == min(values.values())
        assert values["greedy"] < 1.15 * RankRC(1e-3, basis="rare").fit(X, y).objective_


def test_greedy_for_levels_weights_kernel_matrices_and_the_usual_number():
    X, y = ordered_data(0, 120)
    weights = np.random.default_rng(0).integers(0, 3, 120).astype(float)
    model = OrdinalRankRC(1e-2, basis=10, landmarks="greedy", random_state=0).fit(X, y, weights)
    assert len(model.basis_) == 10
    assert np.all(weights[model.basis_] > 0.0)
    X, y = rare_data(m=300, rare=20)
    plain = RankRC(1e-2, basis=6, landmarks="greedy", gamma=0.2, random_state=0).fit(X, y)
    known = RankRC(1e-2, basis=6, landmarks="greedy", kernel="precomputed", random_state=0)
    np.testing.assert_array_equal(known.fit(rbf_kernel(X, gamma=0.2), y).basis_, plain.basis_)
    assert len(RankRC(landmarks="greedy", random_state=0).fit(X, y).basis_) <= 120
    assert RankRC(basis=1000, landmarks="greedy", random_state=0).fit(X[:60], y[:60]).score(X, y) > 0.8


def test_subspaces_have_no_labels_to_be_greedy_with():
    with pytest.raises(ParameterError, match="'landmarks' parameter of KernelSubspace"):
        KernelSubspace(3, landmarks="greedy").fit(np.eye(5))
