"""What counts more than the rest: weights by false-positive rate, lists that are cut, and both penalties."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.metrics.pairwise import rbf_kernel

from ranking_problems import hinge, ordered_data, rare_data
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.hinge import SmoothedHinge
from rarefy.core.losses.lists import ListLoss
from rarefy.core.losses.logistic import Logistic
from rarefy.core.losses.pairs import PairLoss, Pairs, Profile
from rarefy.core.ranking.rankers import rank, rank_sparsely, whitening
from rarefy.core.solvers import bundle as bundle_module
from rarefy.core.solvers.bundle import AbsoluteSum, bundle
from rarefy.exceptions import ParameterError
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV, certify_scores

MEASURES = ("f1", "break_even")
WEIGHTS = {
    "line": lambda t: 1.0 - t,
    "exponential": lambda t: np.exp(-8.0 * t),
    "steps": lambda t: np.where(t <= 0.25, 3.0, np.where(t <= 0.6, 1.0, 0.0)),
}


def levels_of(n, others):
    return np.repeat([1, 0], [n, others])


def by_all_labelings(f, y, measure):
    """The value by its definition: the worst of all 2^m labelings, and the best offset by a linear program."""
    n, rows = int(y.sum()), []
    for called in product([0, 1], repeat=len(y)):
        c = np.array(called)
        a = int(c @ y)
        if measure == "break_even" and c.sum() != n:
            continue
        error = 1 - 2 * a / (c.sum() + n) if measure == "f1" else 1 - a / n
        # (c - y) is -1 for missed rare samples and 1 for others that are called rare.
        rows.append((error + (c - y) @ f / n, (c.sum() - n) / n))
    heights, slopes = np.array(rows).T
    found = linprog([1.0, 0.0], A_ub=np.column_stack([-np.ones(len(rows)), slopes]), b_ub=-heights, bounds=(None, None))
    return found.fun


scores = st.lists(st.integers(-12, 12), min_size=2, max_size=8).map(lambda x: np.array(x) / 8.0)


@settings(max_examples=60, deadline=None)
@given(scores, st.data(), st.sampled_from(MEASURES), st.sampled_from([0.3, 1.0, 5.0]))
def test_a_list_loss_is_the_worst_of_all_labelings_with_the_best_offset(f, data, measure, scale):
    n = data.draw(st.integers(1, len(f) - 1))  # also more rare samples than others
    y = data.draw(st.permutations(levels_of(n, len(f) - n).tolist()).map(np.array))
    found = ListLoss(Pairs.of(y), measure).at(scale * f).value
    assert found == pytest.approx(by_all_labelings(scale * f, y, measure), abs=1e-8)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(MEASURES), st.sampled_from([0.1, 1.0, 3.0]))
def test_a_list_loss_lies_above_its_subgradients_and_below_its_chords(seed, measure, scale):
    rng = np.random.default_rng(seed)
    n, others = rng.integers(1, 30, 2)
    loss = ListLoss(Pairs.of(rng.permutation(levels_of(n, others))), measure)
    f, g = scale * rng.standard_normal((2, n + others))
    here, there, between = loss.at(f), loss.at(g), loss.at(0.3 * f + 0.7 * g)
    assert there.value >= here.value + here.gradient @ (g - f) - 1e-12
    assert here.value >= there.value + there.gradient @ (f - g) - 1e-12
    assert between.value <= 0.3 * here.value + 0.7 * there.value + 1e-12
    h = 1e-7 * (g - f)  # almost everywhere the subgradient is the gradient
    assert loss.at(f + h).value - here.value == pytest.approx(here.gradient @ h, abs=1e-10)
    assert loss.at(f + 50.0).value == pytest.approx(here.value, abs=1e-11), "only differences count"
    assert here.gradient.sum() == pytest.approx(0.0, abs=1e-12)


def best_f1(y, f):
    """The largest F1 over all cuts, and precision where it equals recall."""
    hits, n = np.cumsum(y[np.argsort(-f, kind="stable")]), int(y.sum())
    return np.max(2 * hits / (np.arange(1, len(y) + 1) + n)), hits[n - 1] / n


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_list_losses_bound_the_error_of_the_best_cut_and_vanish_for_a_clear_one(seed):
    rng = np.random.default_rng(seed)
    y = rng.permutation(levels_of(5, 20))
    f = rng.standard_normal(25) + 2 * y
    f1, break_even = best_f1(y, f)
    assert ListLoss(Pairs.of(y), "f1").at(f).value >= 1 - f1 - 1e-12
    assert ListLoss(Pairs.of(y), "break_even").at(f).value >= 1 - break_even - 1e-12
    # Every exchange of a rare sample and another costs 1/n in error and 2.5/n in scores.
    assert ListLoss(Pairs.of(y), "break_even").at(2.5 * y).value == pytest.approx(0.0, abs=1e-12)


def test_samples_without_weight_are_not_in_a_list():
    rng = np.random.default_rng(0)
    y, kept = levels_of(6, 20), rng.random(26) < 0.7
    f = rng.standard_normal(26)
    for measure in MEASURES:
        whole, part = (
            ListLoss(Pairs.of(y, kept.astype(float)), measure).at(f),
            ListLoss(Pairs.of(y[kept]), measure).at(f[kept]),
        )
        assert whole.value == part.value
        np.testing.assert_array_equal(whole.gradient[kept], part.gradient)
        assert not whole.gradient[~kept].any()


def by_loop(f, y, p, weight, loss, push=1.0):
    """The weighted loss, one small piece of the lower samples' weight after another."""
    up, low = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    pieces, share = 4000, {}
    for j in low:
        share[j] = sum(p[i] * loss(f[i] - f[j]) for i in up) / p[up].sum()
    order, total = sorted(low, key=lambda j: -f[j]), p[low].sum()
    ends = np.cumsum([p[j] for j in order]) / total
    value = mass = 0.0
    for piece in range(pieces):
        t = (piece + 0.5) / pieces
        w = float(weight(np.array([t]))[0])
        value += w * share[order[min(int(np.searchsorted(ends, t)), len(order) - 1)]] ** push
        mass += w
    return (value / mass) ** (1 / push)


def profile_of(weight, cells=4000):
    return Profile.of(weight((np.arange(cells) + 0.5) / cells))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(WEIGHTS)), st.sampled_from([1.0, 3.0]))
def test_a_weight_of_false_positive_rates_is_its_definition(seed, name, push):
    rng = np.random.default_rng(seed)
    y, f, p = rng.permutation(levels_of(3, 9)), rng.standard_normal(12), rng.random(12) + 0.1
    found = PairLoss(Pairs.of(y, p), SmoothedHinge(), push, profile_of(WEIGHTS[name])).at(f).value
    # A piece that belongs to two samples is counted for one of them: 9 of 4000 pieces.
    assert found == pytest.approx(by_loop(f, y, p, WEIGHTS[name], lambda z: float(hinge(z)), push), rel=2e-2)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(WEIGHTS)), st.sampled_from([1.0, 3.0]), st.booleans())
def test_a_weighted_loss_lies_above_its_subgradients(seed, name, push, logistic):
    rng = np.random.default_rng(seed)
    levels, p = np.append([0, 1, 2], rng.integers(0, 3, 20)), rng.random(23) + 0.1
    base = Logistic() if logistic else SmoothedHinge()
    loss = PairLoss(Pairs.of(levels, p), base, push, profile_of(WEIGHTS[name]))
    f, g = rng.standard_normal((2, 23))
    f = np.round(2 * f) / 2 if rng.random() < 0.5 else f  # ties
    here, there = loss.at(f), loss.at(g)
    assert there.value >= here.value + here.gradient @ (g - f) - 1e-12
    assert loss.at(0.5 * f + 0.5 * g).value <= 0.5 * here.value + 0.5 * there.value + 1e-12


def test_a_range_is_the_weight_that_is_one_within_it():
    rng = np.random.default_rng(1)
    y, f, p = levels_of(4, 40), rng.standard_normal(44), rng.random(44)
    for share in (0.1, 0.35, 1.0):
        within = PairLoss(Pairs.of(y, p), profile=Profile.of(np.ones(1), share)).at(f)
        weighted = PairLoss(Pairs.of(y, p), profile=profile_of(lambda t, b=share: 1.0 * (t <= b))).at(f)
        assert weighted.value == pytest.approx(within.value, rel=1e-12)
        np.testing.assert_allclose(weighted.gradient, within.gradient, rtol=1e-9, atol=1e-14)
    both = Profile.of(1.0 - (np.arange(1000) + 0.5) / 1000, 0.3)
    product_of_both = profile_of(lambda t: (1.0 - t) * (t <= 0.3), 1000)
    t = np.linspace(0, 1, 37)
    np.testing.assert_allclose(
        np.interp(t, both.rates, both.shares), np.interp(t, product_of_both.rates, product_of_both.shares), rtol=1e-12
    )
    assert PairLoss(Pairs.of(y, p), profile=Profile.of(np.ones(1))).at(f).value == pytest.approx(
        PairLoss(Pairs.of(y, p)).at(f).value
    )


def nonsmooth_losses(y):
    pairs = Pairs.of(y)
    return {
        "range": PairLoss(pairs, profile=Profile.of(np.ones(1), 0.2)),
        "weight": PairLoss(pairs, profile=profile_of(WEIGHTS["exponential"])),
        "f1": ListLoss(pairs, "f1"),
        "break_even": ListLoss(pairs, "break_even"),
    }


def lowest_found(value, starts):
    options = {"maxiter": 4000, "fatol": 1e-12, "xatol": 1e-10, "adaptive": True}
    return min(minimize(value, start, method="Nelder-Mead", options=options).fun for start in starts)


@pytest.mark.parametrize("name", ["range", "weight", "f1", "break_even"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_a_search_without_derivatives_finds_nothing_lower(name, penalty):
    X, y = rare_data(3, m=80, rare=5, shift=1.0)
    K, loss, alpha = rbf_kernel(X, X[:4], gamma=0.3), nonsmooth_losses(y)[name], 3e-3
    if penalty == "l1":
        found = rank_sparsely(DenseRows(K), loss, alpha, tol=1e-7)
    else:
        found = rank(DenseRows(K), whitening(K[:4]), loss, alpha, tol=1e-7)

    def value(beta):
        size = np.abs(beta).sum() if penalty == "l1" else 0.5 * beta @ K[:4] @ beta
        return loss.at(K @ beta).value + alpha * size

    assert found.converged
    assert found.objective == pytest.approx(value(found.beta), rel=1e-9)
    assert found.objective < 0.99 * value(np.zeros(4))
    lowest = lowest_found(value, [found.beta, np.zeros(4), found.beta + 0.3])
    assert found.objective - found.decrement <= lowest + 1e-9
    assert lowest >= found.objective - 2e-7
    if penalty == "l1":
        early = rank_sparsely(DenseRows(K), loss, alpha, tol=1e-7, max_iter=15)
        assert not early.converged
        assert early.objective - early.decrement <= found.objective <= early.objective + 1e-9


def test_absolute_values_and_break_even_are_one_linear_program():
    """All labelings of a small problem, so that the whole problem is a linear program."""
    rng = np.random.default_rng(4)
    y, K, alpha = levels_of(3, 6), rng.standard_normal((9, 5)), 0.05
    found = rank_sparsely(DenseRows(K), ListLoss(Pairs.of(y), "break_even"), alpha, tol=1e-9)
    rows, heights = [], []
    for called in product([0, 1], repeat=9):
        c = np.array(called)
        if c.sum() == 3:
            rows.append(np.concatenate([(c - y) @ K / 3, -(c - y) @ K / 3, [-1.0]]))
            heights.append(1 - c @ y / 3)
    whole = linprog(np.append(np.full(10, alpha), 1.0), A_ub=np.array(rows), b_ub=-np.array(heights), bounds=(0, None))
    beta = whole.x[:5] - whole.x[5:10]
    assert found.converged
    assert found.objective == pytest.approx(whole.fun, abs=1e-8)
    np.testing.assert_array_equal(found.beta != 0, np.abs(beta) > 1e-9)


def test_the_range_with_absolute_values_is_no_longer_left_at_zero():
    X, y = rare_data(0, m=400, rare=25, shift=1.5)
    K, loss = rbf_kernel(X, X[:60], gamma=0.2), PairLoss(Pairs.of(y), profile=Profile.of(np.ones(1), 0.1))
    found = rank_sparsely(DenseRows(K), loss, 1e-3)
    assert found.converged
    assert found.decrement <= 1e-8 * (1e-3 + found.objective)
    assert found.objective < 0.4
    assert 0 < np.count_nonzero(found.beta) <= 22, "33 with the traces of earlier points"
    # Optimality, by a subgradient that cannot be improved: none of many directions leads down.
    rng = np.random.default_rng(0)
    for step in (1e-1, 1e-3):
        for _ in range(50):
            beta = found.beta + step * rng.standard_normal(60) * (rng.random(60) < 0.2)
            assert loss.at(K @ beta).value + 1e-3 * np.abs(beta).sum() >= found.objective - found.decrement


def test_a_linear_program_that_fails_ends_the_search_without_a_claim(monkeypatch):
    class Failed:
        x = None

    A = np.random.default_rng(0).standard_normal((20, 3))

    def loss(f):
        return float(np.abs(f - 1).max()), np.where(np.arange(20) == np.abs(f - 1).argmax(), np.sign(f - 1), 0.0)

    def solve():
        return bundle(loss, lambda w: A @ w, lambda g: A.T @ g, AbsoluteSum(0.01), np.zeros(3), tol=1e-9, max_iter=99)

    assert solve().converged
    monkeypatch.setattr(bundle_module, "linprog", lambda *_, **__: Failed())
    assert not solve().converged
    assert solve().gap == np.inf


def test_the_bound_of_a_model_does_not_trust_the_solver(monkeypatch):
    """Multipliers that are too large, as a solver with a large tolerance might give, still prove a bound."""
    A, c = np.array([[1.0, -2.0], [-3.0, 0.5], [0.2, 0.1]]), np.array([0.4, 0.8, 0.1])
    exact = AbsoluteSum(0.5).minimum(A, c, np.ones(3))
    right = bundle_module.linprog

    def wrong(*args, **options):
        found = right(*args, **options)
        found.ineqlin.marginals = 1.5 * found.ineqlin.marginals - 0.01
        return found

    monkeypatch.setattr(bundle_module, "linprog", wrong)
    found = AbsoluteSum(0.5).minimum(A, c, np.ones(3))
    value = max(0.0, (A @ exact.w + c).max()) + 0.5 * np.abs(exact.w).sum()
    assert exact.bound == pytest.approx(value, rel=1e-9)
    assert 0.0 <= found.bound <= value + 1e-12


def two_sided_data(seed, m=600, n=40):
    """Rare samples on two sides of the others, which overlap with them."""
    rng = np.random.default_rng(seed)
    y = levels_of(n, m - n)
    return rng.standard_normal((m, 4)) + 1.2 * y[:, None] * rng.choice([-1, 1], (m, 1)), y


def test_each_emphasis_raises_what_it_is_about_in_the_data_that_it_learns_from():
    rows = []
    for seed in range(3):
        X, y = two_sided_data(seed)
        plain, weighted, f1, break_even = (
            RankRC(1e-3, emphasis=emphasis, tol=1e-4, random_state=0).fit(X, y).score_samples(X)
            for emphasis in (None, {"false_positive_weight": WEIGHTS["exponential"]}, "f1", "break_even")
        )
        # The partial area up to 0.1 is not the weighted one, but of the same kind.
        narrow = roc_auc_score(y, weighted, max_fpr=0.1) - roc_auc_score(y, plain, max_fpr=0.1)
        rows.append(
            (best_f1(y, f1)[0] - best_f1(y, plain)[0], best_f1(y, break_even)[1] - best_f1(y, plain)[1], narrow)
        )
    assert np.all(np.mean(rows, axis=0) > [0.05, 0.05, 0.02])


@pytest.mark.parametrize("penalty", ["l2", "l1"])
@pytest.mark.parametrize(
    "emphasis", ["f1", "break_even", {"false_positive_weight": WEIGHTS["line"]}, {"false_positive_range": 0.1}]
)
def test_the_objective_is_the_loss_of_the_scores_and_a_path_leads_to_it(emphasis, penalty):
    X, y = rare_data(m=120)
    model = RankRC(1e-3, emphasis=emphasis, penalty=penalty, basis="rare", tol=1e-6).fit(X, y)
    beta, K = model.dual_coef_[0], rbf_kernel(model.basis_points_, gamma=model.gamma_)
    if isinstance(emphasis, str):
        loss = ListLoss(Pairs.of(y), emphasis)
    else:
        weight = emphasis.get("false_positive_weight", lambda t: 1.0 * (t <= 0.1))
        loss = PairLoss(Pairs.of(y), profile=profile_of(weight, 10_000))
    size = np.abs(beta).sum() if penalty == "l1" else 0.5 * beta @ K @ beta
    assert model.objective_ == pytest.approx(loss.at(model.score_samples(X)).value + 1e-3 * size, rel=1e-9)
    path = RankRC(1.0, emphasis=emphasis, penalty=penalty, basis="rare", tol=1e-6).alpha_path(X, y, [1e-3, 1e-2])
    assert path.models[0].objective_ == pytest.approx(model.objective_, rel=2e-6)
    assert clone(model).fit(X, y).objective_ == model.objective_
    assert model.bound_ is None
    with pytest.raises(ParameterError, match="no emphasis"):
        certify_scores(model, X, y)


def test_a_constant_weight_is_no_emphasis():
    X, y = rare_data()
    plain = RankRC(1e-2, basis="rare").fit(X, y)
    same = RankRC(1e-2, basis="rare", emphasis={"false_positive_weight": np.ones_like, "push": 1.0}).fit(X, y)
    np.testing.assert_array_equal(same.dual_coef_, plain.dual_coef_)
    assert same.bound_ == plain.bound_ is not None


def test_a_search_that_is_stopped_says_so():
    X, y = rare_data()
    for emphasis in ("f1", {"false_positive_range": 0.1}):
        with pytest.warns(ConvergenceWarning, match="RankRC was stopped after 10 iterations"):
            RankRC(1e-4, emphasis=emphasis, penalty="l1", max_iter=1).fit(X, y)


def test_samples_of_weight_zero_are_left_out_and_other_weights_refused():
    X, y = rare_data()
    kept = np.arange(150) % 3 > 0
    for measure in MEASURES:
        model = RankRC(1e-2, emphasis=measure, gamma=0.3, basis="rare")
        part = clone(model).fit(X[kept], y[kept])
        whole = model.fit(X, y, kept.astype(float))
        assert whole.objective_ == pytest.approx(part.objective_, rel=1e-6)
        with pytest.raises(
            ParameterError, match=rf"sample_weight of RankRC must be 0 or 1 with emphasis='{measure}'.*from 0.5 to 2"
        ):
            model.fit(X, y, np.where(kept, 2.0, 0.5))


def test_cross_validation_takes_every_emphasis():
    X, y = rare_data(m=90)
    for emphasis in ("break_even", {"false_positive_weight": WEIGHTS["line"]}):
        found = RankRCCV(RankRC(emphasis=emphasis, basis="rare", tol=1e-4), alphas=[1e-2, 1e-1], cv=2).fit(X, y)
        assert found.best_estimator_.emphasis == emphasis


def test_levels_take_weights_but_no_lists():
    X, y = ordered_data(0, 150)
    weight = {"false_positive_weight": WEIGHTS["steps"]}
    model = OrdinalRankRC(1e-2, emphasis=weight, basis=20, random_state=0).fit(X, y)
    loss = PairLoss(Pairs.of(y), profile=profile_of(WEIGHTS["steps"], 10_000))
    beta, K = model.dual_coef_[0], rbf_kernel(model.basis_points_, gamma=model.gamma_)
    reached = loss.at(model.decision_function(X)).value + 0.5e-2 * beta @ K @ beta
    assert model.objective_ == pytest.approx(reached, rel=1e-9)
    plain = OrdinalRankRC(1e-2, basis=20, random_state=0).fit(X, y)
    assert loss.at(model.decision_function(X)).value < loss.at(plain.decision_function(X)).value
    for measure in MEASURES:
        with pytest.raises(
            ParameterError, match=r"'emphasis' parameter of OrdinalRankRC .*are for two classes: RankRC"
        ):
            OrdinalRankRC(emphasis=measure).fit(X, y)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (lambda t: t, r"in the emphasis of RankRC .*do not increase.*got 0 at the rate 0 and 5e-05 at 5e-05"),
        (lambda t: np.where(t < 0.5, 1.0, np.where(t < 0.7, 0.0, 0.5)), r"got 0 at the rate 0.69995 and 0.5 at 0.7"),
        (lambda t: 0.5 - t, r"not negative.*got -5e-05 at the rate 0.50005"),
        (lambda t: 0.0 * t, r"not all zero .*got zero at all of them"),
        (lambda t: 1.0 * (t == 0.0), r"got zero at all of them"),
        (lambda t: np.where(t > 0.1, np.nan, 1.0), r"finite weights.*got nan at the rate 0.10005"),
        (lambda t: 1.0, r"got an array of shape \(\) for one of shape \(20001,\)"),
        (lambda t: 1.0 if t < 0.5 else 0.0, r"got one that fails with ValueError"),
        (lambda: 1.0, r"got one that fails with TypeError"),
    ],
)
def test_weights_that_would_not_be_convex_are_refused(weight, message):
    X, y = rare_data()
    with pytest.raises(ParameterError, match=message):
        RankRC(emphasis={"false_positive_weight": weight}).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"emphasis": "auc"}, r"'emphasis' parameter of RankRC .*'break_even'.*Got 'auc'"),
        ({"emphasis": {"f1": 1}}, r"'emphasis' parameter of RankRC .*Got \{'f1': 1\}"),
        (
            {"emphasis": {"false_positive_weight": 0.5}},
            r"'false_positive_weight' \(a function of the false-positive rate\)",
        ),
        (
            {"emphasis": "f1", "solver": "stochastic"},
            r"solver='stochastic' of RankRC .*got 'f1'. Use solver='trust-region'",
        ),
        (
            {"emphasis": {"false_positive_weight": WEIGHTS["line"]}, "solver": "stochastic"},
            r"solver='stochastic' of RankRC .*'push' and 'false_positive_range' only",
        ),
    ],
)
def test_bad_values_are_named(parameters, message):
    X, y = rare_data()
    with pytest.raises(ParameterError, match=message):
        RankRC(**parameters).fit(X, y)


def test_rounding_does_not_make_a_weight_increase():
    X, y = rare_data(m=60)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wavy = {"false_positive_weight": lambda t: 1.0 + 1e-14 * np.sin(1e4 * t)}
        model = RankRC(1e-1, emphasis=wavy, basis="rare").fit(X, y)
    assert model.objective_ == pytest.approx(RankRC(1e-1, basis="rare").fit(X, y).objective_, rel=1e-6)
