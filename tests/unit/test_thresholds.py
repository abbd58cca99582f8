"""Rules that cut a ranking into classes."""

import re

import numpy as np
import pytest
from sklearn.metrics import f1_score

from ranking_problems import rare_data
from rarefy.core.ranking.thresholds import RULES, threshold
from rarefy.exceptions import ParameterError
from rarefy.ranking import RankRC


@pytest.mark.parametrize(
    ("rule", "check"),
    [
        ("frequency", lambda y, p: p.sum() == y.sum()),
        ("f1", lambda y, p: f1_score(y, p) > 0.3),
        ({"false_positive_rate": 0.1}, lambda y, p: 0.05 < p[y == 0].mean() <= 0.1),
        ({"cost": 1000.0}, lambda y, p: p[y == 1].all()),
    ],
)
def test_a_rule_has_the_effect_of_its_name(rule, check):
    X, y = rare_data(m=400, rare=30)
    assert check(y, RankRC(1e-2, threshold=rule, basis="rare").fit(X, y).predict(X))


def test_f1_rule_is_the_best_of_all_cuts():
    X, y = rare_data(m=200, rare=20)
    model = RankRC(1e-2, threshold="f1", basis="rare").fit(X, y)
    scores = model.decision_function(X)
    best = max(f1_score(y, scores >= cut) for cut in scores)
    assert f1_score(y, model.predict(X)) == pytest.approx(best)


def test_recall_and_share_are_met_with_the_fewest_alarms():
    X, y = rare_data()
    scores = RankRC(0.1, basis="rare").fit(X, y).score_samples(X)
    for recall in (0.3, 0.6, 0.99):
        called = RankRC(0.1, threshold={"recall": recall}, basis="rare").fit(X, y).predict(X) == 1
        assert y[called].sum() >= recall * y.sum()
        fewest = min(np.sum(scores >= cut) for cut in scores if y[scores >= cut].sum() >= recall * y.sum())
        assert called.sum() == fewest
    for share in (0.02, 0.2, 0.9):
        called = RankRC(0.1, threshold={"share": share}, basis="rare").fit(X, y).predict(X)
        assert called.mean() == pytest.approx(share, abs=1 / len(y))


def test_no_sample_is_called_rare_when_every_cut_costs_more():
    X, y = np.random.default_rng(1).standard_normal((70, 2)), np.repeat([1, 0], [10, 60])
    model = RankRC(1.0, threshold={"false_positive_rate": 0.01}, basis="rare").fit(X, y)
    assert model.predict(X)[y == 0].mean() <= 0.01
    for cost in (0.01, 0.05, 0.2, 1.0, 5.0):
        called = RankRC(1.0, threshold={"cost": cost}, basis="rare").fit(X, y).predict(X)
        assert cost * called[y == 1].sum() - called[y == 0].sum() >= 0.0


@pytest.mark.parametrize(
    "rule",
    [
        "best",
        "cost",
        {"f1": 0.5},
        {"cost": -1},
        {"cost": np.inf},
        {"cost": True},
        {"cost": "20"},
        {"recall": 1.5},
        {"recall": np.nan},
        {"share": 0.0},
        {"recall": 0.5, "share": 0.5},
        {},
        {3: 0.5},
        {"recall": 0.9, "confidence": 1.0},
        {"share": 0.9, "confidence": 0.9},
        {"recall": 0.9, "false_positive_rate": 0.1, "confidence": 0.9},
        None,
        True,
        np.nan,
        np.inf,
    ],
)
def test_other_rules_are_refused_with_those_that_are_known(rule):
    allowed = (
        "The 'threshold' parameter of RankRC must be 'frequency', 'f1', {'cost': a number > 0}, {'recall': a share in "
        "(0, 1)}, {'share': a share in (0, 1)}, {'false_positive_rate': a share in (0, 1)} or a promise like {"
        "'recall': 0.9, 'confidence': 0.95} or a float in the range [-1e+100, 1e+100]. Got "
    )
    with pytest.raises(ParameterError, match=re.escape(f"{allowed}{rule!r}")):
        RankRC(threshold=rule, basis="rare").fit(*rare_data())


def test_a_new_rule_is_accepted_once_it_is_in_the_table(monkeypatch):
    X, y = rare_data()
    monkeypatch.setitem(
        RULES, "count", type(RULES["cost"])(lambda c, n: -abs(c.true + c.false - n), "a number > 0", True)
    )
    assert RankRC(threshold={"count": 7}, basis="rare").fit(X, y).predict(X).sum() == 7
    with pytest.raises(ParameterError, match=r"\{'count': a number > 0\}"):
        RankRC(threshold={"count": -7}, basis="rare").fit(X, y)


def test_equal_scores_are_never_separated():
    scores, rare = np.array([2.0, 1.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False, False])
    for rule, value in (("frequency", 0.0), ("f1", 0.0), ("share", 0.4), ("recall", 0.9), ("cost", 1.5)):
        cut = threshold(scores, rare, np.ones(5), rule, value)
        assert np.min(np.abs(scores - cut)) > 0.0
