"""Shares of objectives that are proved by two points."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

import rarefy
from rarefy.certificates._objective import empty_objective, targets
from rarefy.core.certificates.witness import Witnesses, lower_bound, upper_bound
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import LOSSES, MarginLoss, best_intercept
from rarefy.exceptions import ParameterError


@pytest.fixture(autouse=True)
def no_search(monkeypatch):
    """How close columns are to the best ones is the subject of test_optimality, and takes longer than all of this."""
    monkeypatch.setattr("rarefy.certificates._optimality._ENTRIES", 0)


def problem(n=30, d=80, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = rng.standard_normal((n, d))
    X[:, :classes] += 2.0 * (y[:, None] == np.arange(classes))
    return X, y


def svc_objective(X, y, C):
    model, sign = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y), np.where(y == 1, 1.0, -1.0)
    slack = np.maximum(0.0, 1.0 - sign * model.decision_function(X))
    return 0.5 * float(np.sum(model.coef_**2)) + C * slack.sum()


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kept", [5, 20, 60])
def test_the_ratio_is_that_of_the_two_optima_and_never_above(C, kept):
    X, y = problem()
    found = rarefy.certify(X, np.arange(kept), y=y, C=C)
    true = svc_objective(X, y, C) / svc_objective(X[:, :kept], y, C)
    assert found.objective_ratio <= true * (1 + 1e-6)
    assert found.objective_ratio >= 0.99 * true
    assert found.kind == "deterministic"
    assert found.verify(X, y)
    assert found.verify(sp.csr_array(X), y)
    assert f"{found.objective_ratio:.4g}" in found.statement


def test_ridge_is_the_squared_loss():
    X, _ = problem()
    y = X[:, 0] + 0.1 * np.random.default_rng(1).standard_normal(30)
    alpha, kept = 3.0, np.arange(10)

    def objective(A):
        model = Ridge(alpha=alpha).fit(A, y)
        return np.sum((y - model.predict(A)) ** 2) + alpha * np.sum(model.coef_**2)

    found = rarefy.certify(X, kept, y=y, alpha=alpha)
    assert found.objective_ratio == pytest.approx(objective(X) / objective(X[:, kept]), rel=1e-4)
    assert found.regularised.alpha == alpha
    assert found.risk_ratio == found.regularised.risk_factor
    assert found.verify(X, y)
    with pytest.raises(ParameterError, match="C or alpha, not both"):
        rarefy.certify(X, kept, y=y, alpha=1.0, C=1.0)


@pytest.mark.parametrize("loss", LOSSES)
def test_several_classes_are_models_against_the_rest(loss):
    X, y = problem(classes=3)
    names = np.array(["a", "b", "c"])[y]
    found = rarefy.certify(X, np.arange(20), y=names, loss=loss, C=1.0)
    assert found.objective.dual.shape == (30, 3)
    assert 0.0 < found.objective_ratio <= 1.0
    assert found.verify(X, names)
    parts = [rarefy.certify(X, np.arange(20), y=names == one, loss=loss, C=1.0).objective for one in "abc"]
    assert found.objective.lower == pytest.approx(sum(part.lower for part in parts), rel=1e-3)
    assert found.objective.upper == pytest.approx(sum(part.upper for part in parts), rel=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
def test_all_columns_keep_everything(loss):
    X, y = problem()
    assert rarefy.certify(X, np.arange(80), y=y, loss=loss, C=1.0).objective_ratio > 0.999


def test_weights_above_one_count_as_one():
    X, y = problem()
    unit = rarefy.certify(X, np.arange(20), y=y, C=1.0)
    large = rarefy.certify(X, np.arange(20), np.full(20, 4.0), y=y, C=1.0)
    small = rarefy.certify(X, np.arange(20), np.full(20, 0.5), y=y, C=1.0)
    assert large.objective_ratio == pytest.approx(unit.objective_ratio, rel=1e-9)
    assert small.objective_ratio < unit.objective_ratio
    assert "Weights above 1 count as 1" in large.statement
    for found in (unit, large, small):
        assert found.verify(X, y)


def test_the_two_points_are_what_counts():
    X, y = problem()
    honest = rarefy.certify(X, np.arange(20), y=y, C=1.0)
    assert not honest.verify(X)
    assert "no y was passed" in honest.verify(X).reason
    assert not honest.verify(X, 1 - y)
    assert not honest.verify(X, np.roll(y, 1))
    with pytest.raises(ParameterError, match="one entry for each of the 30 rows"):
        honest.verify(X, y[:-1])
    again = rarefy.Certificate.from_dict(json.loads(json.dumps(honest.to_dict())))
    assert again.objective_ratio == honest.objective_ratio
    assert again.verify(X, y)
    for name, factor in (("lower", 1.001), ("upper", 0.999), ("C", 1.001)):
        values = honest.to_dict()
        values["objective"][name] *= factor
        assert not rarefy.Certificate.from_dict(values).verify(X, y), name
    for name in ("dual", "coef", "intercept"):
        values = honest.to_dict()
        values["objective"][name] = (1.01 * np.array(values["objective"][name])).tolist()
        assert not rarefy.Certificate.from_dict(values).verify(X, y), name


@pytest.mark.parametrize("loss", LOSSES)
def test_any_points_are_bounds(loss):
    """Weak duality with arbitrary points, against the optimum of a solver."""
    X, y = problem(12, 7)
    rng, Y = np.random.default_rng(0), targets(y, "hinge")
    best = rarefy.certify(X, np.arange(7), y=y, loss=loss, C=2.0).objective
    rows, rule, costs = as_rows(X), MarginLoss(loss), np.full(12, 2.0)
    for _ in range(50):
        beta = rule.balanced(Y[:, 0], rng.uniform(0, 3, 12) * Y[:, 0], costs)[:, None]
        assert lower_bound(rows, Y, 2.0, loss, beta) <= best.upper
        points = Witnesses(beta, rng.standard_normal((7, 1)), rng.standard_normal(1))
        assert upper_bound(rows, np.arange(7), np.ones(7), Y, 2.0, loss, points) >= best.lower


def test_points_that_prove_nothing():
    X, y = problem(12, 7)
    Y, rows = targets(y, "hinge"), as_rows(X)
    ones = np.ones((12, 1))
    assert lower_bound(rows, Y, 1.0, "hinge", ones) == -np.inf  # wrong signs
    assert lower_bound(rows, Y, 1.0, "hinge", 2.0 * Y) == -np.inf  # above the cost
    assert lower_bound(rows, Y, 1.0, "squared", ones) == -np.inf  # the intercept is free
    assert lower_bound(rows, Y, 1.0, "hinge", np.full((12, 1), np.nan)) == -np.inf
    points = Witnesses(ones, np.full((7, 1), np.nan), np.zeros(1))
    assert upper_bound(rows, np.arange(7), np.ones(7), Y, 1.0, "hinge", points) == np.inf


def test_what_is_no_target_is_refused():
    X, y = problem()
    with pytest.raises(ParameterError, match="at least two classes"):
        rarefy.certify(X, [0], y=np.zeros(30, dtype=int), C=1.0)
    with pytest.raises(ValueError, match="Unknown label type"):
        rarefy.certify(X, [0], y=np.linspace(0, 1, 30), C=1.0)
    with pytest.raises(ParameterError, match="'C'"):
        rarefy.certify(X, [0], y=y, C=0.0)
    with pytest.raises(ParameterError, match="'loss'"):
        rarefy.certify(X, [0], y=y, C=1.0, loss="absolute")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scales_of_the_data_do_not_matter_to_the_proof(scale):
    X, y = problem()
    found = rarefy.certify(scale * X, np.arange(40), y=y, C=1.0)
    assert found.verify(scale * X, y)
    assert found.objective is not None


@pytest.mark.parametrize("loss", LOSSES)
def test_no_column_at_all(loss):
    Y = targets(np.arange(30) % 3, "hinge")
    empty = empty_objective(Y, 2.0, loss)
    rule = MarginLoss(loss)
    best = sum(
        2.0 * rule.values(one, np.full(30, best_intercept(rule, one, np.zeros(30), np.ones(30)))).sum() for one in Y.T
    )
    assert empty == pytest.approx(best, rel=1e-9)


def test_columns_that_gain_nothing_are_no_certificate():
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    X = np.hstack([1e-3 * rng.standard_normal((60, 20)), rng.standard_normal((60, 5)) + 3.0 * y[:, None]])
    noise, signal = (rarefy.certify(X, kept, y=y, C=1e-3) for kept in (np.arange(20), np.arange(20, 25)))
    assert noise.objective_ratio > 0.5  # and that is what no column has
    assert noise.objective.gain < 0.1
    assert noise.share is None  # what they explain of the data is no answer where labels are asked about
    assert "hardly better than none" in noise.sentence
    assert signal.verdict == "strong"
    assert "no column at all" in signal.sentence
    values = noise.to_dict()
    values["objective"]["empty"] *= 2.0
    assert not rarefy.Certificate.from_dict(values).verify(X, y)
    values["objective"]["empty"] = None
    assert rarefy.Certificate.from_dict(values).share == noise.share
