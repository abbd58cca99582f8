"""Claims of certificates against exact arithmetic and against solvers that share nothing with ours.

One problem is a random selection of columns of random data with a given condition number. Entries are floating-point
numbers, hence rational, so that whether low K <= K~ <= high K holds is decided without rounding. Objectives are
compared with exact values at the stored points, and with what scikit-learn finds.
"""

import warnings
from collections import Counter

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC, LinearSVC

import rarefy
from oracles.exact import Kernels, dual_value, primal_value
from rarefy.selection import BSSSelector

LOSSES = ("hinge", "squared_hinge", "logistic", "squared")
DECADES = range(15)


def problem(rng, decade):
    """Data, kept columns and weights."""
    n = int(rng.integers(1, 7))
    d = int(rng.integers(n, 3 * n + 6))
    kappa = 10.0 ** (decade + rng.uniform(-0.5, 0.5)) if decade else rng.uniform(1.0, 3.0)
    if decade <= 6 and rng.uniform() < 0.3:  # integers
        X = np.round(_with_condition(rng, n, d, kappa) * 10.0 ** (decade + 2))
        X[:, 0] += not X.any()
    else:
        X = _with_condition(rng, n, d, kappa) * 10.0 ** rng.uniform(-4, 4)
    kept = rng.permutation(d)[: rng.integers(1, d + 1)]
    weights = 10.0 ** rng.uniform(-1, 1, len(kept)) * 10.0 ** rng.choice([-6, 0, 0, 0, 6])
    return X, kept, np.ones(len(kept)) if rng.uniform() < 0.4 else weights


def _with_condition(rng, n, d, kappa):
    U, V = (np.linalg.qr(rng.standard_normal((size, n)))[0] for size in (n, d))
    return (U * kappa ** -np.sort(np.append(rng.uniform(0, 1, max(0, n - 2)), [0.0, 1.0])[:n])) @ V.T


def certificate(rng, X, kept, weights):
    """Of the selection itself, or of one that a selector makes."""
    if rng.uniform() < 0.25 and X.shape[0] > 1:
        return BSSSelector(len(kept), weighting=str(rng.choice(["optimal", "bss", "unit"]))).fit(X).certificate_
    alpha = None
    if rng.uniform() < 0.3:
        alpha = float(np.linalg.norm(X, 2) ** 2 * 10.0 ** rng.uniform(-8, 2))
    return rarefy.certify(X, kept, weights, alpha=alpha)


def wrong_claims(X, found):
    """Names of claims about K and K~ that exact arithmetic refutes."""
    kernels = Kernels(X, found.indices, found.weights)
    low, high = found.eigenvalues
    claims = {}
    if found.margin_floor is not None and not found.resolution:
        claims["margin_floor"] = kernels.at_least(low)
    if (found.radius_ratio is not None and not found.resolution) or found.proved:
        claims["radius_ratio"] = kernels.at_most(high)
    r = found.regularised
    if r is not None:
        claims["lo"] = kernels.at_least(r.lo, r.alpha)
        claims["hi"] = kernels.at_most(r.hi, r.alpha)
        if np.isfinite(r.bias_factor):
            claims["bias_factor"] = kernels.bias_at_most(r.bias_factor, r.alpha)
        if np.isfinite(r.variance_factor):
            claims["variance_factor"] = kernels.variance_at_most(r.variance_factor, r.alpha)
    return [name for name, right in claims.items() if not right]


def trial(seed, decade):
    """Outcome of one problem: a Counter, and a description of whatever is wrong."""
    rng = np.random.default_rng([seed, decade])
    X, kept, weights = problem(rng, decade)
    counts, wrong = Counter(problems=1), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = certificate(rng, X, kept, weights)
        verified = found.verify(X)
    if not verified:
        counts["honest, not verified"] += 1
        wrong.append(f"{seed}, {decade}: not verified: {verified.reason}")
    violated = wrong_claims(X, found)
    counts["violated"] += bool(violated)
    wrong += [f"{seed}, {decade}: {name} is false" for name in violated]
    counts["with a floor"] += found.margin_floor is not None
    enough = len(found.indices) >= found.rank == found.numerical_rank
    counts["below resolution"] += bool(enough and found.eigenvalues[0] == 0.0)
    counts["proved"] += found.proved
    return counts, wrong


def objective_trial(seed):
    """The same for objectives."""
    rng = np.random.default_rng([seed, 99])
    n, d = int(rng.integers(4, 13)), int(rng.integers(2, 25))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-1, 1) * 10.0 ** (rng.uniform(-1, 1, d) * rng.integers(0, 3))
    kept = rng.permutation(d)[: rng.integers(1, d + 1)]
    loss, C = str(rng.choice(LOSSES)), float(10.0 ** rng.uniform(-3, 3))
    weights = None if rng.uniform() < 0.5 else rng.uniform(0.1, 1.5, len(kept))
    y = rng.standard_normal(n) if loss == "squared" else np.append([-1, 1], rng.choice([-1, 1], n - 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = rarefy.certify(X, kept, weights, y, loss=loss, C=C)
        verified = found.verify(X, y)
        wrong = _wrong_bounds(X, y, found)
    counts = Counter(objectives=1, violated=bool(wrong))
    if not verified:
        counts["honest, not verified"] += 1
        wrong.append(f"not verified: {verified.reason}")
    return counts, [f"objective {seed}, {loss}, C = {C:g}: {one}" for one in wrong]


def _wrong_bounds(X, y, found):
    o = found.objective
    part = X[:, found.indices] * np.minimum(found.weights, 1.0)
    dual = dual_value(X, y, o.C, o.loss, o.dual[:, 0]) if o.lower > 0.0 else None
    wrong = []
    if o.lower > 0.0 and not (dual is not None and dual > o.lower):
        wrong.append(f"the dual point gives {dual}, not {o.lower!r}")
    # The minimum over columns that are kept exactly: products of columns and weights are rounded once.
    primal = primal_value(part, y, o.C, o.loss, o.coef[:, 0], o.intercept[0])
    if not primal < o.upper:
        wrong.append(f"the primal point gives {primal}, not {o.upper!r}")
    # What another solver reaches is no less than the optimum, and the optimum in fewer columns is no smaller.
    before, after = (solver_optimum(A, y, o.C, o.loss) for A in (X, part))
    if not o.lower <= min(before, after) * (1.0 + 1e-9):
        wrong.append(f"another solver finds {before:.9g} and {after:.9g}, below {o.lower:.9g}")
    return wrong


def solver_optimum(X, y, C, loss):
    """The objective that scikit-learn's solvers reach, evaluated plainly."""
    if loss == "squared":
        model = Ridge(alpha=1.0 / (2.0 * C), solver="svd").fit(X, y)
        w, b = model.coef_, model.intercept_
    elif loss == "hinge":
        model = SVC(kernel="linear", C=C, tol=1e-6, max_iter=10**5).fit(X, y)
        w, b = model.coef_[0], model.intercept_[0]
    elif loss == "logistic":
        model = LogisticRegression(C=C, tol=1e-12, solver="newton-cholesky", max_iter=10**3).fit(X, y)
        w, b = model.coef_[0], model.intercept_[0]
    else:
        model = LinearSVC(C=C, tol=1e-10, dual=False, intercept_scaling=1e4, max_iter=10**5).fit(X, y)
        w, b = model.coef_[0], model.intercept_[0]
    f = X @ w + b
    short = np.maximum(0.0, 1.0 - y * f)
    losses = {"hinge": short, "squared_hinge": short**2, "logistic": np.logaddexp(0.0, -y * f), "squared": (y - f) ** 2}
    return 0.5 * float(w @ w) + C * float(losses[loss].sum())
