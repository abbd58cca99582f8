"""Data and plain computations for the tests of feature weights in a kernel."""

import numpy as np

from rarefy.core.feature_weights.classifiers import Classifiers
from rarefy.core.feature_weights.penalties import L1Penalty
from rarefy.core.feature_weights.problem import Problem
from rarefy.kernel import KernelFeatureSelector

PLAIN = {"init": "ones", "standardize": False, "prune": 0.0, "validation_fraction": None}
"""One search from all ones on the features as they are, and nothing after it."""


def crossed(seed=0, n=80, d=6, informative=(1, 4)):
    """Four clouds at the corners of a square, opposite ones in the same class, in two of the features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    X[:, informative] = rng.choice([-1.0, 1.0], (n, 2)) * rng.uniform(0.4, 1.6, (n, 2))
    return X, np.where(X[:, informative[0]] * X[:, informative[1]] > 0, 1, 0)


def products(seed=1, n=100, d=8):
    """Two classes by the sign of the product of the first two features."""
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] > 0, "good", "bad")


def plain_selector(C=1.0, mu=0.01, **parameters):
    """A selector that does one search only."""
    return KernelFeatureSelector(C, mu, **PLAIN | parameters)


def two_class_problem(X, positive, mu, penalty=L1Penalty):
    """The problem with C = 1 for a mask of one class."""
    Y = np.where(positive, 1.0, -1.0)[:, None]
    return Problem(X, Classifiers(Y, np.ones(len(X)), penalty(mu)))


def value_by_loops(X, y, model, weights=None):
    """The objective with the penalty of the weights, from fitted attributes only."""
    z = model.feature_weights_[model.feature_weights_ > 0]
    scores = model.decision_function(X)
    scores = scores[:, None] if scores.ndim == 1 else scores
    classes = model.classes_[1:] if len(model.classes_) == 2 else model.classes_
    K = np.array(
        [[np.exp(-np.sum((z * (a - b)) ** 2)) for b in model.support_vectors_] for a in model.support_vectors_]
    )
    total, weights = model.mu * model.feature_weights_.sum(), np.ones(len(y)) if weights is None else weights
    for c, label in enumerate(classes):
        total += 0.5 * model.dual_coef_[c] @ K @ model.dual_coef_[c]
        for i in range(len(y)):
            t = scores[i, c] * (1 if y[i] == label else -1)
            loss = 0.0 if t >= 1 else (1 - t) ** 2 / (4 * model.eps) if t >= 1 - 2 * model.eps else 1 - model.eps - t
            total += model.C * weights[i] * loss
    return total
