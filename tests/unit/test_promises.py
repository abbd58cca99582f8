"""Promises about recall and false alarms: against the binomial distribution, resampling, and forgers."""

import json
from fractions import Fraction
from math import comb

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.model_selection import train_test_split

from ranking_problems import rare_data
from rarefy.certificates import RecallCertificate
from rarefy.core.ranking.promises import cases_needed, false_alarm_cut, largest_order, order_confidence, recall_cut
from rarefy.exceptions import DegenerateDataError, ParameterError
from rarefy.ranking import RankRC, certify_threshold


def at_least(m, p, j):
    """P(Binomial(m, p) >= j) in exact arithmetic."""
    return sum(comb(m, i) * p**i * (1 - p) ** (m - i) for i in range(j, m + 1))


@pytest.mark.parametrize("p", [Fraction(1, 10), Fraction(1, 100), Fraction(1, 2)])
@pytest.mark.parametrize("m", [1, 7, 29, 30, 120])
def test_the_order_is_the_largest_that_the_exact_distribution_allows(m, p):
    for confidence in (Fraction(51, 100), Fraction(95, 100), Fraction(999, 1000)):
        right = max(j for j in range(m + 1) if at_least(m, p, j) >= confidence)
        assert largest_order(m, float(p), float(confidence)) == right
        assert order_confidence(m, float(p), right) == pytest.approx(float(at_least(m, p, right)), rel=1e-12)


def test_cases_needed_is_the_smallest_number_that_promises_anything():
    assert cases_needed(0.1, 0.95) == 29
    assert cases_needed(0.01, 0.95) == 299
    for p, confidence in ((0.3, 0.5), (0.05, 0.99), (0.5, 0.5)):
        m = cases_needed(p, confidence)
        assert largest_order(m, p, confidence) == 1
        assert m == 1 or largest_order(m - 1, p, confidence) == 0


@pytest.mark.parametrize("ties", [False, True])
def test_promises_hold_at_their_rate_in_ten_thousand_draws(ties):
    rng = np.random.default_rng(0)
    m, level, confidence, kept = 60, 0.9, 0.95, {"recall": 0, "false_positive_rate": 0}
    n = 10_000
    for _ in range(n):
        scores = rng.standard_normal(m)
        if ties:
            scores = np.round(scores)
        for quantity, share in (("recall", level), ("false_positive_rate", 1.0 - level)):
            cut = {"recall": recall_cut, "false_positive_rate": false_alarm_cut}[quantity](scores, share, confidence)[0]
            # Rounded scores of at least a whole number come from numbers of at least half below it.
            above = norm.sf(np.ceil(cut) - 0.5 if ties else cut)
            kept[quantity] += above >= share if quantity == "recall" else above <= share
    # Three standard errors of a share near 0.95.
    assert min(kept.values()) / n >= confidence - 3 * np.sqrt(confidence * (1 - confidence) / n)


def test_a_threshold_one_place_higher_would_promise_too_much():
    rng = np.random.default_rng(1)
    m, kept = 50, 0  # the next place has a confidence of 0.888
    for _ in range(4000):
        scores = np.sort(rng.standard_normal(m))
        kept += norm.sf(scores[largest_order(m, 0.1, 0.95)]) >= 0.9
    assert kept / 4000 < 0.92


def promise(**options):
    rng = np.random.default_rng(2)
    y = np.repeat(["fraud", "ok"], [60, 440])
    return certify_threshold(rng.standard_normal(500) + 2.0 * (y == "fraud"), y, **(options or {"recall": 0.9}))


def test_statements_open_with_the_verdict_and_name_what_is_measured():
    found = promise()
    assert str(found).startswith("Strong: With 95 % confidence: at least 90 % of future rare cases score ")
    assert f"Of 440 held-out other cases, {found.n_others_called} score as much (measured)." in str(found)
    assert found.kind == "probabilistic"
    assert "approximation" in str(promise(recall=0.9, cross_fitted=True))
    assert promise(recall=0.9, cross_fitted=True).kind == "estimate"
    assert "at most 5 % of future other cases" in promise(false_positive_rate=0.05).sentence
    assert "<" in found._repr_html_()


def test_too_few_cases_promise_nothing_and_say_how_many_are_needed():
    found = certify_threshold(np.arange(30.0), np.arange(30) >= 10, rare_class=True, recall=0.95)
    assert (found.threshold, found.order, found.kind, found.verdict) == (None, 0, "none", "none")
    assert "needs at least 59" in found.sentence
    assert found.verify()


@pytest.mark.parametrize("options", [{"recall": 0.9}, {"false_positive_rate": 0.05}])
def test_certificates_survive_json_and_forgers_do_not(options):
    found = promise(**options)
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = RecallCertificate.from_dict(values)
    assert again.verify()
    assert again.verify(found.scores[::-1])
    assert not again.verify(found.scores + 1e-9)
    better = 1.0 if found.quantity == "recall" else -1.0
    worse_side = {"threshold": found.threshold + better * 0.5}
    for change in (
        {"level": found.level + better * 0.04},
        {"confidence": 0.999},
        {"order": found.order + 1},
        worse_side,
        {"scores": [*values["scores"][::-1]]},
        {"threshold": None},
        {"n_others_called": found.n_others + 1},
    ):
        assert not RecallCertificate.from_dict(values | change).verify(), change
    for change in (
        {"level": "0.9"},
        {"quantity": "luck"},
        {"order": 1.5},
        {"cross_fitted": 1},
        {"level": float("nan")},
    ):
        with pytest.raises(ParameterError):
            RecallCertificate.from_dict(values | change)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (([1.0, 2.0], [0, 1]), {}, "either recall or false_positive_rate"),
        (([1.0, 2.0], [0, 1]), {"recall": 0.9, "false_positive_rate": 0.1}, "and not both"),
        (([1.0, 2.0], [0, 1]), {"recall": 1.0}, "'recall' parameter of certify_threshold"),
        (([1.0, 2.0], [0, 0]), {"recall": 0.5}, "two classes; y has 1"),
        (([[1.0, 2.0]], [0]), {"recall": 0.5}, "one dimension"),
        (([1.0, 2.0], [0, 1]), {"recall": 0.5, "rare_class": 7}, "must be None or one of"),
    ],
)
def test_bad_arguments_are_explained(arguments, options, words):
    with pytest.raises((ParameterError, DegenerateDataError), match=words):
        certify_threshold(*arguments, **options)


def test_a_ranker_keeps_its_promise_on_new_data():
    kept = 0
    for seed in range(10):
        X, y = rare_data(m=1200, rare=160, seed=seed)
        X, X_new, y, y_new = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
        rule = {"recall": 0.8, "confidence": 0.9}
        model = RankRC(1e-4, threshold=rule, random_state=seed).fit(X, y)
        made = model.threshold_certificate_
        assert made.verify()
        assert made.cross_fitted
        assert made.n_cases == int(y.sum())
        assert model.predict(X).dtype == y.dtype
        kept += model.predict(X_new)[y_new == 1].mean() >= 0.8
    # At 0.9 or so, measured with 80 new rare samples each; thresholds on training scores keep it far less often.
    assert kept >= 8


def test_scores_at_the_promised_threshold_are_called_rare():
    X, y = rare_data(m=400, rare=60)
    model = RankRC(1e-2, threshold={"recall": 0.8, "confidence": 0.9}, random_state=0).fit(X, y)
    at = model.threshold_certificate_.threshold
    assert model._labels(np.array([at, np.nextafter(at, -np.inf)])).tolist() == [1, 0]


def test_a_promise_that_the_data_cannot_give_is_an_error_that_says_what_is_needed():
    X, y = rare_data(m=200, rare=20)
    with pytest.raises(DegenerateDataError, match=r"RankRC asks for a promise.*from 20 rare cases.*at least 29"):
        RankRC(1e-2, threshold={"recall": 0.9, "confidence": 0.95}).fit(X, y)
    with pytest.raises(ParameterError, match="row numbers of basis mean other samples"):
        RankRC(1e-2, basis=[0, 1], threshold={"recall": 0.5, "confidence": 0.5}).fit(X, y)


def test_a_number_is_the_threshold_and_it_can_be_moved_after_the_fit():
    X, y = rare_data(m=300, rare=30)
    model = RankRC(1e-2, threshold=0.25, random_state=0).fit(X, y)
    scores = model.score_samples(X)
    assert model.threshold_ == 0.25
    assert np.array_equal(model.predict(X) == 1, scores > 0.25)
    model.threshold_ = float(np.median(scores))
    assert np.array_equal(model.predict(X) == 1, scores > np.median(scores))


def test_precomputed_kernels_are_cross_fitted_like_samples():
    X, y = rare_data(m=300, rare=60)
    rule = {"recall": 0.7, "confidence": 0.9}
    model = RankRC(1e-2, basis="rare", gamma=0.5, threshold=rule, random_state=0).fit(X, y)
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    known = RankRC(1e-2, basis="rare", kernel="precomputed", threshold=rule, random_state=0).fit(K, y)
    assert known.threshold_ == pytest.approx(model.threshold_, rel=1e-6)
