"""The forgery matrix: honest certificates, every stored field changed in every way, and who accepts what.

For each forged certificate `from_dict(...).verify` and `check_certificate.py` are asked (with `check_subset.py` for the
best choices of columns). Counted are honest
certificates that are not verified, forgeries that are accepted although a claim became better, disagreements of the two
judges, and errors that are not a `ParameterError`.
"""

import copy
import importlib.util
import json
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import rarefy
from rarefy.certificates import Certificate, SubsetCertificate
from rarefy.exceptions import ParameterError
from rarefy.selection import BestSubsetSelector, BSSSelector, LeverageScoreSelector, SupportVectorSelector

ROOT = Path(__file__).resolve().parents[1]
LOSSES = ("hinge", "squared_hinge", "logistic", "squared")
DERIVED = (
    *("kind", "verdict", "sentence", "share", "distortion", "distortion_bound", "margin_ratio", "margin_floor"),
    *("radius_ratio", "radius_margin_ratio", "soft_margin_ratio", "risk_ratio", "objective_ratio", "all_rows_ratio"),
    *("explained_ratio", "statement", "optimality", "optimality_ceiling"),
)
LARGER_IS_BETTER = (
    *("margin_floor", "margin_ratio", "soft_margin_ratio", "objective_ratio", "all_rows_ratio", "explained_ratio"),
    "optimality",
)
SMALLER_IS_BETTER = (
    *("radius_ratio", "radius_margin_ratio", "risk_ratio", "distortion", "distortion_bound"),
    "optimality_ceiling",  # that better columns are known is a claim, too
)
SUBSET_LARGER, SUBSET_SMALLER = ("optimality", "objective_ratio", "lower_bound", "all_columns_bound"), ("objective",)
ORDERS = {
    "kind": ("none", "estimate", "probabilistic", "deterministic"),
    "verdict": ("none", "weak", "useful", "strong"),
}


def load_checker(name="check_certificate"):
    """The checker as a module."""
    spec = importlib.util.spec_from_file_location(name, ROOT / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CHECKER, SUBSET_CHECKER = load_checker(), load_checker("check_subset")


@dataclass
class Honest:
    """A certificate with its data."""

    name: str
    certificate: Certificate | SubsetCertificate
    X: Any
    y: Any = None
    weight: Any = None


@dataclass
class Tally:
    """What was counted, and the first of each."""

    counts: Counter = field(default_factory=Counter)
    examples: dict = field(default_factory=dict)

    def add(self, what, example=None):
        """One more."""
        self.counts[what] += 1
        if example is not None:
            self.examples.setdefault(what, []).append(example)


def with_condition(rng, n, d, kappa):
    """Random data with singular values from 1 to 1 / kappa, times a scale."""
    m = min(n, d)
    U, V = (np.linalg.qr(rng.standard_normal((size, m)))[0] for size in (n, d))
    return (U * np.logspace(0, -np.log10(kappa), m)) @ V.T * 10.0 ** rng.uniform(-3, 3)


def honest_certificates(rng, kappa, scale):
    """Certificates of many kinds for one condition number and one size of weights."""
    n, d, r = 7, 24, 15
    X, y = with_condition(rng, n, d, kappa), np.arange(n) % 2
    columns, weights = rng.permutation(d)[:r], scale * rng.uniform(0.5, 1.5, r)
    for weighting in ("optimal", "bss", "unit"):
        yield Honest(f"bss {weighting}", BSSSelector(r, weighting=weighting).fit(X).certificate_, X)
    yield Honest("dual", BSSSelector(r, method="dual", rank=3).fit(X).certificate_, X)
    yield Honest("unweighted", BSSSelector(r, method="unweighted").fit(X).certificate_, X)
    yield Honest("one column", BSSSelector(1).fit(X).certificate_, X)
    for sampling in ("replacement", "poisson", "top"):
        selector = LeverageScoreSelector(r, sampling=sampling, random_state=int(rng.integers(99)))
        yield Honest(f"leverage {sampling}", selector.fit(X).certificate_, X)
    yield Honest("given", rarefy.certify(X, columns, weights), X)
    uneven = weights * np.where(np.arange(r) == 0, 1e5, 1.0)
    yield Honest("one heavy weight", rarefy.certify(X, columns, uneven), X)
    yield Honest("all columns", rarefy.certify(X, range(d)), X)
    yield Honest("all columns, weighted", rarefy.certify(X, range(d), scale * rng.uniform(0.5, 1.5, d)), X)
    yield Honest("few columns", rarefy.certify(X, columns[:4], weights[:4]), X)
    yield Honest("rank", rarefy.certify(X, columns, weights, rank=3), X)
    yield Honest("sketch", rarefy.certify(X, columns, weights, sketch_size=4, random_state=0), X)
    yield Honest("sketch and penalty", rarefy.certify(X, columns, sketch_size=4, random_state=0, alpha=1.0), X)
    yield from _with_labels(rng, X, y, columns, weights, scale)
    yield from _degenerate(rng, kappa, scale)


def _with_labels(rng, X, y, columns, weights, scale):
    size = float(np.linalg.norm(X, 2))
    yield Honest("margins", rarefy.certify(X, columns, weights, y), X, y)
    for loss in LOSSES:
        cost = 10.0 ** rng.uniform(-1, 1) / size**2
        yield Honest(loss, rarefy.certify(X, columns, weights, y, loss=loss, C=cost), X, y)
    many = np.arange(len(X)) % 3
    yield Honest("three classes", rarefy.certify(X, columns[:5], None, many, C=1.0), X, many)
    for share in (1e-6, 1e-2, 1.0, 100.0):
        yield Honest(f"penalty {share:g}", rarefy.certify(X, columns, weights, alpha=share * size**2), X)
    response = rng.standard_normal(len(X))
    yield Honest("ridge", rarefy.certify(X, columns, weights, response, alpha=0.1 * size**2), X, response)
    tall = np.vstack([X, X[::-1] + 0.1 * size * rng.standard_normal(X.shape), X * 0.5])[:, :6]
    labels = np.where(tall @ rng.standard_normal(6) > 0, "a", "b")
    if len(set(labels)) == 2:
        for scope in ("support", "all"):
            selector = SupportVectorSelector(BSSSelector(5), scope=scope).fit(tall / size, labels)
            yield Honest(f"rows, scope {scope}", selector.certificate_, tall / size, labels)


def _degenerate(rng, kappa, scale):
    equal = np.hstack([np.eye(6)] * 4) * rng.uniform(0.5, 2.0)
    for rank in (2, 4):
        chosen = rng.permutation(24)[:14]
        yield Honest("equal singular values", rarefy.certify(equal, chosen, np.full(14, scale), rank=rank), equal)
    yield Honest("equal, dual", BSSSelector(10, method="dual", rank=3).fit(equal).certificate_, equal)
    deficient = with_condition(rng, 4, 20, min(kappa, 1e9))
    deficient = np.vstack([deficient, deficient[:2], np.zeros((1, 20))])
    weights = scale * rng.uniform(0.5, 1.5, 12)
    yield Honest("rank-deficient", rarefy.certify(deficient, range(12), weights), deficient)
    tall = with_condition(rng, 30, 6, kappa)
    yield Honest("tall", rarefy.certify(tall, [0, 2, 3, 5], weights[:4]), tall)
    yield Honest("tall, all", rarefy.certify(tall, range(6), weights[:6], alpha=1.0), tall)
    scaled = rng.standard_normal((30, 6)) * 10.0 ** rng.uniform(-8, 8, 6)
    yield Honest("tall, scaled columns", rarefy.certify(scaled, range(6)), scaled)
    short = np.array(rng.standard_normal((5, 12)))
    short[:, 3] *= 1e-18
    yield Honest("a short column", rarefy.certify(short, range(9), weights[:9]), short)
    yield Honest("one row", rarefy.certify(short[:1], [0, 1], weights[:2]), short[:1])


def honest_subsets(rng, kappa, scale):
    """Certificates of best choices: columns of different units, costs of different sizes, and all that may be set."""
    n, d = 10, 7
    X, y = rng.standard_normal((n, d)) * kappa ** rng.uniform(-0.5, 0.5, d), np.arange(n) % 2
    X[:, :2] += np.std(X[:, :2], axis=0) * (y[:, None] - 0.5)
    weight, groups = rng.integers(0, 3, n) * 0.75, [0, 0, 1, 2, 2, 3, 4]
    cases = {
        **{loss: {"loss": loss, "gap_tol": 1e-2} for loss in LOSSES},
        "large C": {"C": 100.0 * scale},
        "small C": {"C": 1e-3 * scale},
        "as they are": {"standardize": False, "C": scale / np.linalg.norm(X, 2) ** 2},
        "groups": {"groups": groups},
        "all columns": {"n_features_to_select": d},
        "branched": {"C": 10.0 * scale, "max_nodes": 8},
        "numbers": {"task": "regression"},
    }
    for name, settings in cases.items():
        for w in (None, weight):
            selector = BestSubsetSelector(**{"n_features_to_select": 2, "C": scale, "max_nodes": 0, **settings})
            label = f"subset, {name}{'' if w is None else ', weighted'}"
            yield Honest(label, selector.fit(X, y, sample_weight=w).certificate_, X, y, w)
    three = np.array(["a", "b", "c"])[np.arange(n) % 3]
    yield Honest(
        "subset, three classes", BestSubsetSelector(3, C=scale, max_nodes=0).fit(X, three).certificate_, X, three
    )


def forged_values(value, rng):
    """Ways to change one value."""
    garbage = [None, "garbage", float("nan"), [], {}, [1, "a"], True]
    if isinstance(value, bool):
        return [not value, 1, *garbage[:-1]]
    if isinstance(value, int):
        return [value + 1, value - 1, 2 * value, 10 * value, 0, -value, 10**9, 10**400, *garbage]
    if isinstance(value, float):
        factors = [1.001, 0.999, 2.0, 10.0, 0.5, 0.0, -1.0, 1000.0]
        return [*(value * f for f in factors), value + 90.0, 9e-9, 1e-13, 1e300, float("inf"), *garbage]
    if value is None:
        return [1.0, 1e-9, 0.5, 3, *garbage[1:]]
    return [7, 0.5, *garbage]


def forgeries(values, rng, entries=2):
    """(where, forged values), for every stored field and some entries of every list."""
    for name in sorted(set(values) - set(DERIVED)):
        for forged in _forged_inside(values[name], rng, entries):
            yield name, {**values, name: forged}
    for name in ("indices", "rows", "settled"):
        if values.get(name):
            yield name, {**values, name: [values[name][0]] * len(values[name])}


def _forged_inside(value, rng, entries):
    yield from forged_values(value, rng)
    if isinstance(value, dict):
        for key in value:
            for forged in _forged_inside(value[key], rng, entries):
                yield {**value, key: forged}
    elif isinstance(value, list) and value:
        yield value[:-1]
        yield [*value, value[-1]]
        chosen = range(len(value)) if len(value) <= entries else rng.permutation(len(value))[:entries]
        for i in chosen:
            for forged in _forged_inside(value[int(i)], rng, 1):
                changed = copy.copy(value)
                changed[int(i)] = forged
                yield changed


def improved(before, after):
    """The claims that are better than they were, by more than rounding."""
    if isinstance(before, SubsetCertificate):
        return _improved_subset(before, after)
    names = (*LARGER_IS_BETTER, *SMALLER_IS_BETTER, *ORDERS, "fixed_signal")
    return [name for name in names if _better(name, before, after)]


def _improved_subset(before, after):
    found = [name for name in ("kind", "verdict") if _better(name, before, after)]
    for name in (*SUBSET_LARGER, *SUBSET_SMALLER):
        a, b = (getattr(one, name) for one in (before, after))
        sign = 1.0 if name in SUBSET_LARGER else -1.0
        if b is not None and (a is None or sign * (b - a) > 1e-7 * abs(a)):
            found.append(name)
    if not np.array_equal(_grouping(before), _grouping(after)):
        return found  # which columns belong together is the question: `verify` proves what is settled for the new one
    was_open = before.column_status == "open"
    return found + ["settled"] * bool(np.any(was_open & (after.column_status != "open")))


def _grouping(certificate):
    return np.arange(certificate.n_features) if certificate.groups is None else certificate.groups


def _penalty(certificate):
    return None if certificate.regularised is None else certificate.regularised.alpha


def _better(name, before, after):
    if name == "distortion_bound" and before.failure_probability != after.failure_probability:
        return False  # with any probability the bound that belongs to it holds
    if (
        name == "verdict"
        and isinstance(before, Certificate)
        and (before.objective is None) != (after.objective is None)
    ):
        return False  # without what is certified for all rows, the verdict is about some
    if name == "fixed_signal":
        a, b = before.fixed_signal_risk_ratio(), after.fixed_signal_risk_ratio()
    else:
        a, b = getattr(before, name), getattr(after, name)
    if name == "risk_ratio" and _penalty(before) != _penalty(after):
        return False  # with another penalty, or of all signals together: not the same claim
    if name in ORDERS:
        return ORDERS[name].index(b) > ORDERS[name].index(a)
    if b is None or a is None:
        return a is None and b is not None
    room = 1e-7 * max(abs(a), 1.0 if name == "distortion" else 0.0)
    return b > a + room if name in LARGER_IS_BETTER else b < a - room


def verdict_of_verify(values, honest):
    """(accepted, certificate, what was raised)."""
    try:
        certificate = type(honest.certificate).from_dict(values)
        return bool(_verified(certificate, honest)), certificate, None
    except ParameterError:
        return False, None, None
    except Exception as error:
        return False, None, error


def _verified(certificate, honest):
    weights = {} if isinstance(certificate, Certificate) else {"sample_weight": honest.weight}
    return certificate.verify(honest.X, honest.y, **weights)


def verdict_of_checker(values, honest):
    """Whether the checker without the library accepts; what goes through JSON and files is the same."""
    checker = CHECKER if isinstance(honest.certificate, Certificate) else SUBSET_CHECKER
    try:
        y = None if honest.y is None else np.asarray(honest.y)
        return all(right for _, right in checker.check(json.loads(json.dumps(values)), honest.X, y, honest.weight))
    except Exception:
        return False


def try_all(honest, rng, tally, entries=2, share=1.0):
    """All forgeries of one certificate, or a random share of them."""
    values = json.loads(json.dumps(honest.certificate.to_dict()))
    accepted, _, error = verdict_of_verify(values, honest)
    if not accepted:
        reason = repr(error) if error else _verified(honest.certificate, honest).reason
        tally.add("honest, not verified", (honest.name, reason))
    if verdict_of_checker(values, honest) != accepted:
        tally.add("disagreements", (honest.name, "honest", accepted))
    tally.add("honest")
    for where, forged in forgeries(values, rng, entries):
        if share < 1.0 and rng.uniform() > share:
            continue
        tally.add("forgeries")
        accepted, certificate, error = verdict_of_verify(forged, honest)
        label = (honest.name, where, str(forged[where])[:80])
        if error is not None:
            tally.add("raw errors", (*label, repr(error)[:200]))
        if where not in UNREAD and verdict_of_checker(forged, honest) != accepted:
            tally.add("disagreements", (*label, accepted))
        if accepted:
            tally.add("accepted")
            better = improved(honest.certificate, certificate)
            if better:
                tally.add("accepted and improved", (*label, better))


UNREAD = ("measured", "names", "feature_names", "fingerprint")
"""What the checker does not look at, because no claim becomes better by it."""


def forgery_matrix(seed, kappas, scales, entries=2):
    """The whole matrix, or a part of it."""
    tally = Tally()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, kappa in enumerate(kappas):
            for j, scale in enumerate(scales):
                rng = np.random.default_rng([seed, i, j])
                for honest in (*honest_certificates(rng, kappa, scale), *honest_subsets(rng, kappa, scale)):
                    try_all(honest, rng, tally, entries)
    return tally
