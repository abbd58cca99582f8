"""How close given columns are to the best as many: against all choices, and against forgeries."""

import json
from itertools import combinations

import numpy as np
import pytest

import rarefy
from rarefy.certificates import Certificate
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import LOSSES, MarginLoss
from rarefy.core.svm.linear_model import linear_model


def data(loss, seed=0, n=24, d=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X[:, 0] - X[:, 1] + 0.5 * rng.standard_normal(n)
    return X, y if loss == "squared" else np.where(y > 0, "yes", "no")


def optimum(X, y, loss, C):
    target = y if loss == "squared" else np.where(y == "yes", 1.0, -1.0)
    return linear_model(as_rows(np.ascontiguousarray(X)), target, np.full(len(y), C), MarginLoss(loss)).primal


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("support", [[0, 1], [5, 6], [0, 4]])
def test_the_true_share_lies_between_the_two(loss, support):
    X, y = data(loss)
    c = rarefy.certify(X, support, y=y, C=1.0, loss=loss)
    best = min(optimum(X[:, S], y, loss, 1.0) for S in combinations(range(7), 2))
    share = best / optimum(X[:, support], y, loss, 1.0)
    assert 0.0 < c.optimality <= share * (1 + 1e-3)
    assert share * (1 - 1e-3) <= c.optimality_ceiling <= 1.0
    assert c.verify(X, y)
    assert f"as good as the best {len(support)} there are" in c.statement
    if support == [5, 6]:
        assert c.optimality_ceiling < 0.9


def test_weights_and_classes():
    X, y = data("hinge")
    three = np.where(X[:, 2] > 0.5, "maybe", y)
    c = rarefy.certify(X, [0, 3], [0.5, 2.0], y=three, C=1.0)
    assert 0.0 < c.optimality <= c.optimality_ceiling <= 1.0
    assert c.verify(X, three)
    assert rarefy.certify(X, range(7), y=y, C=1.0).optimal is None  # there is one choice only
    assert rarefy.certify(X, [0, 1], y=y).optimality is rarefy.certify(X, [0, 1]).optimality_ceiling is None


def test_files_and_forgeries():
    X, y = data("hinge", seed=3)
    c = rarefy.certify(X, [0, 5], y=y, C=1.0)
    values = json.loads(json.dumps(c.to_dict(), allow_nan=False))
    again = Certificate.from_dict(values)
    assert again.statement == c.statement
    assert again.verify(X, y)
    assert "no y was passed" in again.verify(X).reason
    optimal = values["optimal"]
    forged = {
        "lower": optimal["lower"] * 1.001,
        "own_lower": optimal["own_lower"] * 1.001,
        "best_upper": optimal["best_upper"] * 0.999,
        "best": [0, 0],
        "dual": (1.01 * np.array(optimal["dual"])).tolist(),
        "best_coef": (1.1 * np.array(optimal["best_coef"])).tolist(),
    }
    for name, value in forged.items():
        assert not Certificate.from_dict(values | {"optimal": optimal | {name: value}}).verify(X, y), name
    assert not Certificate.from_dict(values | {"objective": None}).verify(X, y)
