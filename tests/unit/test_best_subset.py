"""The best r columns, against all choices."""

import itertools
import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris

import rarefy
from rarefy.certificates._objective import targets
from rarefy.core.best_subset.problem import SubsetProblem
from rarefy.core.best_subset.relaxation import largest_sum, project
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import LOSSES, MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.selection import BestSubsetSelector


def data(n=16, d=9, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1, d)
    X[:, :3] += 0.7 * X[:, :3].std(axis=0) * (y[:, None] - y.mean())
    return X, y


def all_choices(X, Y, costs, loss, r, groups):
    """The objective of every choice of r groups, by training in each."""
    found = {}
    for chosen in itertools.combinations(range(groups.max() + 1), r):
        F = as_rows(X[:, np.isin(groups, chosen)])
        found[chosen] = sum(linear_model(F, y, costs, MarginLoss(loss), tol=1e-7).primal for y in Y.T)
    return found


def check(X, y, r, loss, *, C=1.0, groups=None, weight=None, standardize=False, task="auto"):
    """Bound, choice and settled columns of a fit beside all choices."""
    model = BestSubsetSelector(
        r, loss=loss, C=C, groups=groups, standardize=standardize, task=task, gap_tol=1e-2 if loss == "hinge" else 1e-6
    ).fit(X, y, sample_weight=weight)
    c = model.certificate_
    scaled = X / X.std(axis=0) if standardize else X
    Y = targets(y, "squared" if loss == "squared" and np.asarray(y).dtype.kind == "f" else "hinge")
    costs = C * (np.ones(len(X)) if weight is None else weight)
    counted = costs > 0
    numbered = np.arange(X.shape[1]) if groups is None else np.unique(groups, return_inverse=True)[1]
    values = all_choices(scaled[counted], Y[counted], costs[counted], loss, r, numbered)
    best = min(values.values())
    # The hinge is trained to 1e-4 only.
    slack = 1e-3 if loss == "hinge" else 1e-6
    assert c.lower_bound <= best * (1 + slack)
    assert c.objective >= best * (1 - slack)
    assert c.optimality <= best / c.objective * (1 + slack)
    assert c.verify(X, y, sample_weight=weight)
    nearly = [set(chosen) for chosen, value in values.items() if value <= best * (1 + 1e-9)]
    assert all(g in chosen for g in np.flatnonzero(c.settled == 1) for chosen in nearly)
    assert not any(g in chosen for g in np.flatnonzero(c.settled == -1) for chosen in nearly)
    return model, best


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("seed", "r"), [(0, 1), (1, 3), (2, 3), (3, 2)])
def test_bounds_hold_for_all_choices(loss, seed, r):
    X, y = data(10, 6, seed) if loss == "hinge" else data(seed=seed)
    model, best = check(X, y, r, loss, C=[0.01, 0.1, 1.0, 10.0][seed], standardize=seed % 2 == 0)
    if loss != "hinge":
        assert model.certificate_.objective <= best * 1.35  # exchanges end near the best choice


def test_several_classes_groups_weights_and_outputs():
    X, y = data(18, 8, classes=3)
    check(X, y, 2, "squared_hinge")
    X, y = data(16, 9)
    groups = np.array([5, 5, 1, 1, 2, 2, 2, 7, 7])
    model, _ = check(X, y, 2, "squared_hinge", groups=groups)
    assert model.certificate_.n_chosen == 2
    assert len(np.unique(groups[model.support_])) == 2
    assert model.support_.sum() == np.isin(groups, groups[model.support_]).sum()
    weight = np.array([0.0, 2.0, 1.0, 0.5] * 4)
    check(X, y, 3, "logistic", weight=weight)
    responses = np.column_stack([X[:, 0] - X[:, 1], X[:, 4]]) + 0.1 * np.random.default_rng(1).standard_normal((16, 2))
    model, _ = check(X, responses, 3, "squared")
    assert model.coef_.shape == (2, 3)


def test_samples_without_weight_do_not_matter():
    X, y = data(20, 10)
    weight = np.where(np.arange(20) < 14, 1.0, 0.0)
    whole = BestSubsetSelector(3).fit(X, y, sample_weight=weight)
    part = BestSubsetSelector(3).fit(X[:14], y[:14])
    np.testing.assert_array_equal(whole.support_, part.support_)
    np.testing.assert_allclose(whole.coef_, part.coef_, rtol=1e-6)


def test_the_coefficients_are_those_of_the_columns_as_they_are():
    X, y = data(30, 12)
    model = BestSubsetSelector(4, loss="logistic").fit(X, y)
    scores = model.transform(X) @ model.coef_.T + model.intercept_
    assert np.mean((scores[:, 0] > 0) == (y == 1)) > 0.7
    scaled = X[:, model.support_] / X[:, model.support_].std(axis=0)
    found = linear_model(as_rows(scaled), np.where(y == 1, 1.0, -1.0), np.ones(30), MarginLoss("logistic"))
    np.testing.assert_allclose(model.coef_[0] * X[:, model.support_].std(axis=0), found.coef, rtol=1e-3)


@pytest.mark.parametrize("standardize", [True, False])
def test_sparse_frames_and_single_precision_agree(standardize):
    X, y = data(12, 9)
    X *= np.random.default_rng(3).random(X.shape) < 0.4
    dense = BestSubsetSelector(3, standardize=standardize, max_nodes=0).fit(X, y)
    for other in (sp.csr_array(X), sp.csc_matrix(X)):
        found = BestSubsetSelector(3, standardize=standardize, max_nodes=0).fit(other, y)
        np.testing.assert_array_equal(found.support_, dense.support_)
        assert found.certificate_.verify(X, y)
        assert dense.certificate_.verify(other, y)
    single = BestSubsetSelector(3, standardize=standardize, max_nodes=0).fit(X.astype(np.float32), y)
    assert single.certificate_.optimality > 0.1
    assert single.certificate_.verify(X.astype(np.float32), y)


def test_columns_of_other_units_and_constant_columns():
    X, y = data(30, 20)
    raw = X * 10.0 ** np.random.default_rng(0).uniform(-3, 3, 20)
    raw[:, 7] = 1e6
    parts = raw, np.delete(X, 7, axis=1)
    model, scaled = (BestSubsetSelector(5, max_nodes=0).fit(part, y) for part in parts)
    assert not model.support_[7]
    np.testing.assert_array_equal(np.delete(model.support_, 7), scaled.support_)
    assert model.certificate_.verify(raw, y)


def test_all_columns_are_the_best_choice():
    X, y = data(20, 6)
    for r in (6, 10):
        with pytest.warns(rarefy.exceptions.FewerFeaturesWarning) if r > 6 else _nothing():
            c = BestSubsetSelector(r).fit(X, y).certificate_
        assert c.optimality > 0.9999
        assert c.objective_ratio > 0.9999
        assert set(c.column_status) == {"in every best set"}


class _nothing:
    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False


def test_words_json_and_forgeries():
    X, y = load_iris(return_X_y=True)
    model = BestSubsetSelector(2, max_nodes=0).fit(X, y)
    c = model.certificate_
    assert c.statement.startswith(f"{c.verdict.capitalize()}: {c.sentence}")
    assert "as good as the best 2 there are" in c.sentence
    assert c.column_status.shape == (4,)
    again = rarefy.SubsetCertificate.from_dict(json.loads(json.dumps(c.to_dict())))
    assert again.statement == c.statement
    assert again.verify(X, y)
    assert not again.verify(X, y[::-1])
    changes = {
        "lower_bound": c.lower_bound * 1.001,
        "objective": c.objective * 0.999,
        "dual": (1.001 * c.dual).tolist(),
        "coef": (1.01 * c.coef).tolist(),
        "n_chosen": 1,
        "C": c.C * 1.001,
        "standardized": False,
        "settled": [1, 1, -1, -1] if np.all(c.settled == 0) else (-c.settled).tolist(),
        "all_columns_bound": c.all_columns_bound * 1.001,
        "indices": [0, 1] if set(c.indices) != {0, 1} else [2, 3],
        "loss": "hinge",
        "classified": False,
    }
    for name, value in changes.items():
        forged = rarefy.SubsetCertificate.from_dict(c.to_dict() | {name: value})
        assert not forged.verify(X, y), name
    for name in ("dual", "indices", "objective"):
        with pytest.raises(ParameterError, match="no subset certificate"):
            rarefy.SubsetCertificate.from_dict(c.to_dict() | {name: "much"})
    with pytest.raises(ParameterError, match="are missing"):
        rarefy.SubsetCertificate.from_dict({})


def test_a_dual_point_that_is_slightly_infeasible_proves_nothing():
    X, y = data(20, 12)
    c = BestSubsetSelector(3, loss="squared_hinge", max_nodes=0).fit(X, y).certificate_
    for change in (lambda a: a + 1e-3, lambda a: np.where(np.arange(20)[:, None] == 0, -a - 1e-3, a)):
        values = c.to_dict() | {"dual": change(c.dual).tolist()}
        assert not rarefy.SubsetCertificate.from_dict(values).verify(X, y)


def test_what_does_not_go_together():
    X, y = data(20, 12)
    with pytest.raises(ParameterError, match="must be 'squared'"):
        BestSubsetSelector(3, loss="hinge").fit(X, np.linspace(0, 1, 20))
    with pytest.raises(ParameterError, match="groups of BestSubsetSelector must have 12 entries"):
        BestSubsetSelector(3, groups=[0, 1]).fit(X, y)
    with pytest.raises(DegenerateDataError, match="one class"):
        BestSubsetSelector(3).fit(X, np.ones(20, dtype=int))
    with pytest.raises(ParameterError, match="sample_weight must be 20"):
        BestSubsetSelector(3).fit(X, y, sample_weight=-np.ones(20))
    ridge = BestSubsetSelector(3, task="regression").fit(X, y)
    assert ridge.certificate_.loss == "squared"


@pytest.mark.parametrize("seed", range(20))
def test_projection_and_largest_sums(seed):
    rng = np.random.default_rng(seed)
    v, total = rng.standard_normal(12) * 3, int(rng.integers(1, 12))
    found = project(v, total)
    assert found.sum() == pytest.approx(total)
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    for _ in range(200):
        other = rng.dirichlet(np.ones(12)) * total
        if other.max() <= 1.0:
            assert np.sum((found - v) ** 2) <= np.sum((other - v) ** 2) + 1e-9
    assert largest_sum(v, total) == pytest.approx(np.sort(v)[::-1][:total].sum())


def test_evaluations_of_the_problem():
    X, y = data(14, 6)
    Y = targets(y, "hinge")
    groups = np.array([0, 1, 1, 2, 2, 2])
    problem = SubsetProblem(as_rows(X), Y, np.ones(14), MarginLoss("squared_hinge"), np.full(6, 2.0), groups)
    beta = np.random.default_rng(0).standard_normal((14, 1))
    q = (2.0 * X.T @ beta)[:, 0] ** 2
    np.testing.assert_allclose(problem.pulls(beta), [q[0], q[1] + q[2], q[3:].sum()])
    assert problem.members(np.array([2, 0])).tolist() == [3, 4, 5, 0]
    shares = np.array([0.25, 1.0])
    found = problem.train(np.array([0, 2]), shares)
    F = 2.0 * X[:, [0, 3, 4, 5]] * np.sqrt([0.25, 1.0, 1.0, 1.0])
    direct = linear_model(as_rows(F), Y[:, 0], np.ones(14), MarginLoss("squared_hinge"))
    assert found.value == pytest.approx(direct.primal, rel=1e-6)
