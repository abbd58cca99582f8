"""Calls in which several things are odd at a time, each of which is allowed: data, labels, weights and parameters.

The table of `bad_calls` has one bad thing in each call. Here data, labels and weights that each may be accepted meet
parameters that are each valid, drawn by a seed.
"""

import random
from functools import cache, partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils._param_validation import Interval, Options
from trials.bad_calls import ESTIMATORS, Case, asked, takes_weights, their_fit
from trials.bad_values import bad_matrices, bad_targets, bad_weights

LARGE = ("max_iter", "n_starts", "n_jobs", "max_nodes", "random_state")
"""Parameters that stand as they are: work that is asked for, or a seed."""
_COUNTS = (1, 2, 3, 5, 6, 7, 23, 24, 25, 100)
_NUMBERS = (1e-100, 1e-30, 1e-12, 1e-8, 1e-3, 0.1, 0.5, 0.999, 1.0, 2.0, 10.0, 1e3, 1e6, 1e8, 1e12, 1e30, 1e100)


@cache
def matrices():
    """Data that may be accepted, and more of unusual shapes and values; all as functions of nothing."""
    rng = np.random.default_rng(1)
    X, _ = _good()
    found = {kind: value for kind, (value, refused) in bad_matrices().items() if not refused}
    low = X[:, :2] @ rng.standard_normal((2, 6))
    found |= {
        "rank 1": X[:, :1] * np.arange(1.0, 7.0),
        "rank 2": low,
        "nearly rank 2": low + 1e-13 * X,
        "integers": np.round(X),
        "small integers": np.round(X).astype(np.int8),
        "nearly constant": 1e8 + X,
        "nearly equal rows": X[[0] * 24] + 1e-14 * X,
        "one row differs": np.r_[X[:1], np.zeros((23, 6))],
        "one column differs": np.c_[X[:, :1], np.ones((24, 5))],
        "more columns": rng.standard_normal((24, 60)),
        "one row, one column": X[:1, :1],
        "two rows, one column": X[:2, :1],
        "steep": X * 10.0 ** -np.arange(0.0, 18.0, 3.0),
        "scales of rows": X * 10.0 ** np.linspace(-12, 12, 24)[:, None],
        "heavy tails": np.sign(X) * np.exp(8.0 * np.abs(X)),
        "one hot": np.eye(24)[:, :6],
        "twice": np.c_[X, X],
        "and minus": np.c_[X, -X],
        "rows and minus": np.r_[X[:12], -X[:12]],
        "one outlier": X + 1e12 * (np.arange(24)[:, None] == 5),
    }  # fmt: skip
    return found


def _good():
    from trials.bad_values import data

    return data()


@cache
def targets():
    """Labels that may be accepted."""
    _, y = _good()
    found = {kind: value for kind, (value, refused) in bad_targets().items() if not refused}
    return found | {"good": y, "good again": y, "signs": 2 * y - 1, "halves": np.arange(24) // 12}


@cache
def weights():
    """Weights that may be accepted."""
    return {kind: value for kind, (value, refused) in bad_weights().items() if not refused}


def _cut(value, n):
    """The first n of labels or weights, in whatever they are."""
    try:
        return value[:n] if n is not None else value
    except TypeError:
        return value


def _values(constraint):
    """Some values that a constraint allows."""
    if constraint is None:
        return [None]
    if constraint == "boolean":
        return [True, False]
    if isinstance(constraint, Options):
        return sorted(constraint.options, key=str)
    if isinstance(constraint, Interval):
        tried = _COUNTS if constraint.type is Integral else (*_COUNTS, *_NUMBERS)
        return [value for value in tried if constraint.is_satisfied_by(value)]
    return []


@cache
def parameters(kind):
    """Names of parameters of a class, with values that are valid."""
    found = {}
    for name, constraints in kind._parameter_constraints.items():
        if name not in LARGE and isinstance(constraints, list):
            values = [value for constraint in constraints for value in _values(constraint)]
            if values:
                found[name] = values
    return found


def strange_case(seed):
    """One call."""
    rng = random.Random(seed)
    estimator = clone(rng.choice(ESTIMATORS))
    x_kind, X = rng.choice(sorted(matrices().items()))
    y_kind, y = rng.choice(sorted(targets().items()))
    n = getattr(X, "shape", (None,))[0]
    metadata, said = {}, [f"X is {x_kind}", f"y is {y_kind}"]
    if takes_weights(estimator) and rng.random() < 0.4:
        kind, weight = rng.choice(sorted(weights().items()))
        metadata["sample_weight"] = _cut(weight, n)
        said.append(f"sample_weight is {kind}")
    valid = parameters(type(estimator))
    for name in rng.sample(sorted(valid), min(len(valid), rng.choice([0, 1, 1, 2, 2, 3]))):
        value = rng.choice(valid[name])
        estimator.set_params(**{name: value})
        said.append(f"{name}={value!r}")
    y = _cut(y, n)
    call = partial(_fitted, estimator, X, y, metadata)
    about = ", ".join([*said, f"seed {seed}"])
    return Case(f"{type(estimator).__name__}.fit", about, call, theirs=their_fit(X, y))


def strange_cases(first, n):
    """Calls by their seeds."""
    return map(strange_case, range(first, first + n))


def _fitted(estimator, X: Any, y: Any, metadata: Any):
    estimator.fit(X, y, **metadata)
    return [estimator, *asked(estimator, X)]
