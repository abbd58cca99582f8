"""What is claimed of rankers, against rankers with all kernel functions, distributions that are known, and L-BFGS.

`score_trial`: both bounds on scores and the share of certain pairs, against the ranker with all kernel functions.
`promise_trial`: how often a promise about recall or false alarms is kept, where the distribution of scores is known.
`solver_trial`: the objective that is reached, against L-BFGS with all pairs one by one.
"""

import warnings
from collections import Counter

import numpy as np
from scipy import stats
from scipy.optimize import minimize

from rarefy.core.ranking.rankers import whitening
from rarefy.exceptions import ParameterError
from rarefy.ranking import OrdinalRankRC, RankRC, SmoothedHinge, certify_scores, certify_threshold

KERNELS, BASES = ("rbf", "linear", "poly", "laplacian"), ("rare", "auto", "random", "number", "kmeans")


def random_data(rng, sizes):
    """X, levels and weights; some rows occur twice, and some columns are large."""
    m, d = int(rng.integers(*sizes)), int(rng.integers(1, 7))
    if rng.random() < 0.25:
        y = np.append(np.arange(3), rng.choice(3, m - 3, p=[0.6, 0.25, 0.15]))
    else:
        y = (np.arange(m) < max(2, round(m * rng.uniform(0.03, 0.5)))).astype(int)
    X = rng.standard_normal((m, d)) + rng.uniform(0, 2) * y[:, None] * rng.choice([-1, 0, 1], d)
    if rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-1, 1, d)
    if rng.random() < 0.2:
        X[m // 2 :] = X[rng.integers(0, m, m - m // 2)]
    weights = None
    if rng.random() < 0.3:
        weights = rng.integers(0, 3, m).astype(float) if rng.random() < 0.5 else rng.uniform(0.1, 2.0, m)
        weights[[np.argmax(y == level) for level in np.unique(y)]] = 1.0  # no level is without a weight
    return X, y, weights


def random_settings(rng, m):
    """Parameters of a ranker, but for the basis."""
    return {
        "alpha": float(10.0 ** rng.uniform(-3, 1)),
        "kernel": str(rng.choice(KERNELS, p=[0.4, 0.2, 0.2, 0.2])),
        "degree": int(rng.integers(2, 4)),
        "loss": ["smoothed_hinge", "logistic", SmoothedHinge(float(10.0 ** rng.uniform(-1.5, 0)))][rng.integers(3)],
        "random_state": int(rng.integers(1000)),
    }


def random_basis(rng, m):
    """Which kernel functions a ranker has."""
    basis = str(rng.choice(BASES))
    if basis in ("number", "kmeans"):
        rule = "kmeans" if basis == "kmeans" else str(rng.choice(["random", "cholesky", "leverage"]))
        return {"basis": int(rng.integers(2, m)), "landmarks": rule}
    return {"basis": basis}


def _kind(y, settings):
    """What ranks these levels. With weights, class 1 need not be the less frequent one."""
    return (RankRC, settings | {"rare_class": 1}) if y.max() == 1 else (OrdinalRankRC, settings)


def scores_of(ranker, X):
    """Larger for higher levels."""
    return ranker.score_samples(X) if isinstance(ranker, RankRC) else ranker.decision_function(X)


def slopes(loss, t):
    """The loss of pairs with margins t, and its derivative."""
    if loss == "logistic":
        return np.logaddexp(0.0, -t), -0.5 * (1.0 - np.tanh(0.5 * t))
    eps = 0.5 if loss == "smoothed_hinge" else loss.eps
    short = np.clip(1.0 - t, 0.0, None)
    curved = short <= 2.0 * eps
    return np.where(curved, short**2 / (4.0 * eps), short - eps), -np.where(curved, short / (2.0 * eps), 1.0)


def loss_of_pairs(f, y, p, loss, push=1.0):
    """Value and gradient in the scores, from a matrix of all pairs for each level and what is above it."""
    value, gradient, total = 0.0, np.zeros(len(f)), 0.0
    for level in np.unique(y)[:-1]:
        upper, lower = np.flatnonzero(y > level), np.flatnonzero(y == level)
        losses, slope = slopes(loss, f[upper][:, None] - f[lower])
        u, q = p[upper], p[lower]
        # Each lower sample's mean loss; their power mean, times the weight of the pairs.
        share = u @ losses / u.sum()
        mean = (q @ share**push / q.sum()) ** (1.0 / push)
        value += u.sum() * q.sum() * mean
        steep = (share / mean) ** (push - 1.0) if mean > 0.0 else np.ones_like(share)
        pull = u[:, None] * slope * (q * steep)
        gradient[upper] += pull.sum(axis=1)
        gradient[lower] -= pull.sum(axis=0)
        total += u.sum() * q.sum()
    return value / total, gradient / total


def whitened(K_RR):
    """Orthonormal coordinates of the span, from eigenvectors."""
    eigenvalues, Q = np.linalg.eigh(0.5 * (K_RR + K_RR.T))
    kept = eigenvalues > 1e-12 * eigenvalues[-1]
    return Q[:, kept] / np.sqrt(eigenvalues[kept])


def left_by_the_solver(ranker, X, y, p, kappa):
    """How far scores can be from those of the minimiser with the same kernel functions."""
    T = whitened(ranker.kernel_(ranker.basis_points_))
    V, beta = ranker.kernel_(X, ranker.basis_points_) @ T, ranker.dual_coef_[0]
    pull = loss_of_pairs(ranker.kernel_(X, ranker.basis_points_) @ beta, y, p, ranker.loss)[1]
    gradient = V.T @ pull + ranker.alpha * T.T @ (ranker.kernel_(ranker.basis_points_) @ beta)
    return float(np.sqrt(kappa) * np.linalg.norm(gradient) / ranker.alpha)


def score_trial(seed):
    """(counts, what is wrong) of one ranker and the one with all kernel functions."""
    rng = np.random.default_rng([seed, 1])
    X, y, weights = random_data(rng, (30, 121))
    settings, basis = random_settings(rng, len(y)), random_basis(rng, len(y))
    kind, settings = _kind(y, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ranker = kind(**settings, **basis).fit(X, y, weights)
        except ParameterError as error:
            return Counter({"refused": 1}), [] if "k(x, x) > 0" in str(error) else [f"scores {seed}: {error}"]
        reference = kind(**settings, basis="all", tol=1e-11).fit(X, y, weights)
        made = certify_scores(ranker, X, y, weights)
        rough = certify_scores(reference, X, y, weights).bound
        verified = made.verify(X, y, weights)
    counts = Counter({"problems": 1, kind.__name__: 1})
    wrong = _wrong_bounds(rng, X, y, weights, ranker, reference, made, rough, counts)
    counts["violated"] += bool(wrong)
    if not verified:
        counts["honest, not verified"] += 1
        wrong.append(f"not verified: {verified.reason}")
    return counts, [f"scores {seed}, {kind.__name__}, {settings}, {basis}: {one}" for one in wrong]


def _wrong_bounds(rng, X, y, weights, ranker, reference, made, rough, counts):
    """Claims that the reference refutes; it is itself no further from the minimiser than `rough`."""
    p = np.ones(len(y)) if weights is None else weights
    new = X[rng.integers(0, len(X), 60)] + rng.standard_normal((60, X.shape[1])) * X.std(axis=0)
    new = np.vstack([X, new[ranker.kernel_.diagonal(new) <= made.kappa]])
    difference = float(np.abs(scores_of(ranker, new) - scores_of(reference, new)).max())
    wrong, prior = [], made.prior_bound
    if difference > made.bound + rough:
        wrong.append(f"scores differ by {difference:.6g}, the bound is {made.bound:.6g}, rough {rough:.3g}")
    counts["within the bound as it stands"] += difference <= made.bound
    counts["reference ten times as accurate"] += 10.0 * rough <= made.bound
    if prior is not None:
        # The theorem is about minimisers; what the solver leaves is measured beside it.
        left = left_by_the_solver(ranker, X, y, p, made.kappa)
        if difference > prior + left + rough:
            wrong.append(f"scores differ by {difference:.6g}, {prior:.6g} was known before, the solver left {left:.3g}")
        # At the minimiser the gradient is at most sqrt(kappa) times the shares that the prior bound is the root of.
        shares = (0.5 * prior * ranker.alpha / made.kappa) ** 2
        entries = 2.0 + ranker.alpha * float(np.abs(ranker.dual_coef_).sum())
        rounding = 1e-6 * entries * made.kappa / ranker.alpha
        if made.bound > made.kappa * shares / ranker.alpha + left + rounding:
            wrong.append(
                f"the bound is {made.bound:.6g}, with shares {shares:.6g} left out and {left:.3g} by the solver"
            )
        counts["with a bound before the fit"] += 1
        counts["above it by what the solver left"] += difference > prior > 0.0
        counts["above zero by what the solver left"] += difference > prior == 0.0
        empty = prior == 0.0 or made.bound == 0.0
        ratio = "all in the basis" if empty else f"1e{int(np.floor(np.log10(prior / made.bound)))}"
        counts[f"before / after: {ratio}"] += 1
    same, certain = _same_order(scores_of(ranker, X), scores_of(reference, X), y, p, rough), made.certain_pairs
    if certain > same + 1e-12:
        wrong.append(f"{certain:.6g} of the pairs are called certain, {same:.6g} are ordered alike")
    return wrong


def _same_order(f, g, y, p, rough):
    """Share of the pairs of different levels that both order alike, or whose order g does not know."""
    i, j = np.nonzero(y[:, None] > y)
    alike = (np.sign(f[i] - f[j]) == np.sign(g[i] - g[j])) | (np.abs(g[i] - g[j]) <= 2.0 * rough)
    return float(p[i] * p[j] @ alike / (p[i] @ p[j]))


def score_distributions(rng):
    """(name, draw, P(score >= t)): smooth, with heavy tails, and with ties of many kinds."""
    heavy, skewed = stats.t(float(rng.uniform(0.5, 2.0))), stats.pareto(float(rng.uniform(0.3, 2.0)))
    counts, few = stats.poisson(float(rng.uniform(0.2, 8.0))), stats.binom(3, float(rng.uniform(0.2, 0.8)))
    share = float(rng.uniform(0.05, 0.6))

    def smooth(name, one):
        return name, lambda n: one.rvs(n, random_state=rng), one.sf

    def whole(name, one):
        return name, lambda n: one.rvs(n, random_state=rng).astype(float), lambda t: one.sf(np.ceil(t) - 1.0)

    return [
        smooth("normal", stats.norm()),
        smooth("heavy tails", heavy),
        smooth("heavy tail to one side", skewed),
        whole("counts", counts),
        whole("four values", few),
        (
            "many at zero",
            lambda n: np.where(rng.random(n) < share, 0.0, rng.standard_normal(n)),
            lambda t: share * (t <= 0.0) + (1.0 - share) * stats.norm.sf(t),
        ),
    ]


def promise_trial(seed, draws):
    """(counts, what is wrong) of one promise for every distribution, from so many sets of held-out scores."""
    counts, wrong = Counter(), []
    for number in range(6):
        rng = np.random.default_rng([seed, number, 2])
        name, draw, at_least = score_distributions(rng)[number]
        quantity = str(rng.choice(["recall", "false_positive_rate"]))
        level, confidence = float(rng.uniform(0.3, 0.98)), float(rng.uniform(0.5, 0.99))
        level = level if quantity == "recall" else 1.0 - level
        wrong_side = 1.0 - level if quantity == "recall" else level
        needed = int(np.ceil(np.log1p(-confidence) / np.log1p(-wrong_side)))
        m = max(1, round(needed * float(rng.uniform(0.7, 6.0))))
        kept = promised = 0
        for first in range(0, draws, 500):  # all at once would be many numbers
            part = min(500, draws - first)
            found = _kept(draw(part * m).reshape(part, m), at_least, quantity, level, confidence)
            kept, promised = kept + found[0], promised + found[1]
        counts.update({"promises": draws, "nothing promised": draws - promised})
        if promised not in (0, draws) or (promised > 0) != (m >= needed):
            wrong.append(f"{name}: {promised} of {draws} are promised something, with {m} cases of {needed}")
        lowest = confidence - 3.0 * np.sqrt(confidence * (1.0 - confidence) / draws)
        if promised and kept < lowest * promised:
            wrong.append(f"{name}: {kept} of {promised} promises are kept, with confidence {confidence:.4g}")
        counts["kept"] += kept
    counts["violated"] = len(wrong)
    return counts, [f"promises {seed}: {one}" for one in wrong]


def _kept(scores, at_least, quantity, level, confidence):
    """How many sets of scores have a threshold that keeps its promise, and how many have one."""
    kept = promised = 0
    # The other class has no part in the promise; one case of it makes two classes.
    y = np.append(np.full(scores.shape[1], quantity == "recall"), quantity != "recall")
    for one in scores:
        made = certify_threshold(np.append(one, 0.0), y, rare_class=True, confidence=confidence, **{quantity: level})
        if made.threshold is not None:
            share = at_least(made.threshold)
            kept += share >= level if quantity == "recall" else share <= level
            promised += 1
    return int(kept), promised


def solver_trial(seed):
    """(counts, what is wrong) of one ranker's objective beside that of L-BFGS."""
    rng = np.random.default_rng([seed, 3])
    X, y, weights = random_data(rng, (12, 41))
    settings = random_settings(rng, len(y)) | {"basis": str(rng.choice(["rare", "all", "random"]))}
    push = 1.0 if rng.random() < 0.8 else float(rng.uniform(1.5, 4.0))
    emphasis = None if push == 1.0 else {"push": push}
    kind, settings = _kind(y, settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker = kind(**settings, emphasis=emphasis).fit(X, y, weights)
    p = np.ones(len(y)) if weights is None else weights
    K_R, K_RR, beta = (
        ranker.kernel_(X, ranker.basis_points_),
        ranker.kernel_(ranker.basis_points_),
        ranker.dual_coef_[0],
    )
    value = loss_of_pairs(K_R @ beta, y, p, settings["loss"], push)[0] + 0.5 * ranker.alpha * float(beta @ K_RR @ beta)
    # Where a span of nearly dependent functions ends is a matter of rounding: both search in the same coordinates.
    least = _least_value(K_R @ whitening(K_RR), y, p, settings["loss"], push, ranker.alpha)
    wrong = []
    # Coefficients of nearly dependent functions are large, and most of them cancels: 2e-8 was seen.
    if abs(value - ranker.objective_) > 1e-6 * value:
        wrong.append(f"the objective is {value:.12g}, not {ranker.objective_:.12g}")
    if value > least * (1.0 + 1e-6):
        wrong.append(f"the objective is {value:.12g}, L-BFGS finds {least:.12g}")
    counts = Counter({"solved": 1, "violated": int(bool(wrong)), "lower than L-BFGS": int(value < least)})
    return counts, [f"solver {seed}, {kind.__name__}, {settings}, push {push:.3g}: {one}" for one in wrong]


def _least_value(V, y, p, loss, push, alpha):
    """By L-BFGS, from zero and once more from where it ended."""

    def objective(w):
        value, pull = loss_of_pairs(V @ w, y, p, loss, push)
        return value + 0.5 * alpha * float(w @ w), V.T @ pull + alpha * w

    w = np.zeros(V.shape[1])
    for _ in range(2):
        found = minimize(
            objective, w, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10}
        )
        w = found.x
    return float(found.fun)
