"""The measured distance of a ranker to the one with all kernel functions: true, tight, and hard to forge."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from ranking_problems import ordered_data, rare_data
from rarefy.core.linalg.rows import DenseRows
from rarefy.core.losses.pairs import PairLoss, Pairs
from rarefy.core.ranking.bounds import expansion_norm
from rarefy.exceptions import ParameterError
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV, ScoreCertificate, certify_scores, subset_bound

RANKERS = {
    "rare": lambda alpha: RankRC(alpha, basis="rare"),
    "auto": lambda alpha: RankRC(alpha, random_state=0),
    "few": lambda alpha: RankRC(alpha, basis=5, random_state=0),
    "centres": lambda alpha: RankRC(alpha, basis=25, landmarks="kmeans", random_state=0),
    "logistic": lambda alpha: RankRC(alpha, basis="rare", loss="logistic"),
    "linear": lambda alpha: RankRC(alpha, basis="rare", kernel="linear"),
    "spline": lambda alpha: RankRC(alpha, basis="rare", kernel="spline"),
}


@pytest.mark.parametrize("alpha", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("name", RANKERS)
def test_no_score_differs_by_more_than_the_bound(name, alpha):
    X, y = rare_data(m=200, rare=20)
    X = np.abs(X)  # which the spline needs
    model = RANKERS[name](alpha).fit(X, y)
    made = certify_scores(model, X, y)
    best = RANKERS[name](alpha).set_params(basis="all", landmarks="random", tol=1e-10).fit(X, y)
    new = np.abs(np.random.default_rng(1).standard_normal((300, 3)))
    new = new[model.kernel_.diagonal(new) <= made.kappa]
    for samples in (X, new):
        assert np.abs(model.score_samples(samples) - best.score_samples(samples)).max() <= made.bound
    order = np.sign(model.score_samples(X)[y == 1][:, None] - model.score_samples(X)[y == 0])
    same = order == np.sign(best.score_samples(X)[y == 1][:, None] - best.score_samples(X)[y == 0])
    assert np.mean(same) >= made.certain_pairs
    assert made.verify(X, y), made.verify(X, y).reason
    assert ScoreCertificate.from_dict(json.loads(json.dumps(made.to_dict(), allow_nan=False))).verify(X, y)


def test_it_is_far_tighter_than_what_is_known_before_the_fit():
    for seed in range(5):
        X, y = rare_data(seed, m=400, rare=20)
        for alpha in (1e-3, 1e-1):
            made = certify_scores(RankRC(alpha, basis="rare").fit(X, y), X, y)
            assert made.prior_bound == pytest.approx(subset_bound(y, np.flatnonzero(y), alpha=alpha))
            assert made.bound < made.prior_bound / 20


def test_with_all_kernel_functions_it_is_the_accuracy_of_the_solver():
    X, y = rare_data()
    rough, fine = (certify_scores(RankRC(0.1, basis="all", tol=tol).fit(X, y), X, y).bound for tol in (1e-3, 1e-12))
    assert fine < 1e-4
    assert fine <= rough


def test_levels_weights_sparse_samples_and_chosen_penalties():
    X, y = ordered_data(0, 150)
    weights = np.random.default_rng(2).integers(0, 3, 150).astype(float)
    model = OrdinalRankRC(0.1, random_state=0).fit(X, y, weights)
    made = certify_scores(model, X, y, weights)
    best = OrdinalRankRC(0.1, basis="all", gamma=model.gamma_, tol=1e-10).fit(X, y, weights)
    assert np.abs(model.decision_function(X) - best.decision_function(X)).max() <= made.bound
    assert made.verify(X, y, weights)
    assert not made.verify(X, y)
    X, y = rare_data()
    chosen = RankRCCV(RankRC(random_state=0), alphas=[0.1, 1.0], cv=3).fit(X, np.where(y == 1, "fraud", "ok"))
    made = certify_scores(chosen, sp.csr_array(X), np.where(y == 1, "fraud", "ok"))
    assert made.labels == ("ok", "fraud")
    assert made.verify(sp.csr_array(X), np.where(y == 1, "fraud", "ok"))
    assert made.verify(X, np.where(y == 1, "fraud", "ok"))


def test_norms_of_expansions_are_upper_bounds():
    rng = np.random.default_rng(0)
    X, e = rng.standard_normal((60, 3)), rng.standard_normal(60) * (rng.random(60) < 0.7)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    norm = expansion_norm(lambda rows, others: K[np.ix_(rows, others)], e, 1.0)
    assert norm >= np.sqrt(e @ K @ e)
    assert norm == pytest.approx(np.sqrt(e @ K @ e), rel=1e-8)


def test_the_gradient_is_that_of_the_objective():
    X, y = rare_data(m=60, rare=9)
    model = RankRC(0.05, basis="rare").fit(X, y)
    made = certify_scores(model, X, y)
    K = np.exp(-model.gamma_ * ((X[:, None] - X) ** 2).sum(axis=2))
    beta = np.zeros(60)
    beta[model.basis_] = model.dual_coef_[0]

    def objective(b):
        return PairLoss(Pairs.of(y)).at(DenseRows(K) @ b).value + 0.025 * b @ K @ b

    gradient = np.array([(objective(beta + 1e-6 * e) - objective(beta - 1e-6 * e)) / 2e-6 for e in np.eye(60)])
    # In coefficients the gradient is K e, so that its norm in feature space is sqrt(g^T K^-1 g).
    assert made.gradient_norm == pytest.approx(np.sqrt(gradient @ np.linalg.pinv(K, rcond=1e-10) @ gradient), rel=1e-2)


def test_forged_certificates_are_refused():
    X, y = rare_data()
    made = certify_scores(RankRC(0.1, basis="rare").fit(X, y), X, y)
    values = json.loads(json.dumps(made.to_dict()))
    for change in (
        {"gradient_norm": 0.999 * made.gradient_norm},
        {"gradient_norm": 0.0},
        {"certain_pairs": min(1.0, made.certain_pairs + 0.01)},
        {"kappa": 0.5},
        {"labels": list(made.labels)[::-1]},
        {"dual_coef": [2.0 * b for b in made.dual_coef]},
        {"eps": 0.1, "gradient_norm": 0.5 * made.gradient_norm},
        {"basis_points": (made.basis_points + 1e-3).tolist()},
        {"alpha": -1.0},
        {"loss": "luck"},
        {"kernel_parameters": {"gamma": 1e-9}, "certain_pairs": 1.0},
    ):
        judged = ScoreCertificate.from_dict(values | change).verify(X, y)
        assert not judged, change
        assert judged.reason
    assert not made.verify(X[:-1], y[:-1])
    assert not made.verify(X[:, :2], y)
    assert not made.verify(X, y + 5)
    for change in ({"alpha": "1"}, {"kernel": "luck"}, {"basis": [0.5]}, {"labels": "ab"}, {"kernel_parameters": 3}):
        with pytest.raises(ParameterError, match="score certificate"):
            ScoreCertificate.from_dict(values | change)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": "l1"}, "penalty='l2'"),
        ({"emphasis": {"push": 2}}, "no emphasis"),
        ({"kernel": "sigmoid"}, "positive semi-definite"),
        ({"kernel": lambda u, v: float(u @ v)}, "given by name"),
    ],
)
def test_rankers_that_the_theorem_is_not_about_are_refused(options, words):
    X, y = rare_data(m=60, rare=9)
    with pytest.raises(ParameterError, match=words):
        certify_scores(RankRC(0.1, random_state=0, **options).fit(X, y), X, y)


def test_what_is_no_ranker_is_refused():
    with pytest.raises(ParameterError, match="needs a fitted RankRC"):
        certify_scores("luck", [[1.0]], [1])
