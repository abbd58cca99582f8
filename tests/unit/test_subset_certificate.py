"""Certificates of best choices: what `verify` needs, what it refuses, and what a file may hold."""

import json
from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from trials.forgeries import SUBSET_CHECKER

import rarefy.certificates._subset as subset_module
from rarefy import SubsetCertificate
from rarefy.core.certificates.subset import SubsetBound, SubsetBounds
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import MarginLoss
from rarefy.core.svm.linear_model import linear_model
from rarefy.exceptions import ParameterError
from rarefy.selection import BestSubsetSelector


def data(n=20, d=8, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d))
    X[:, :3] += 0.8 * (y[:, None] - 0.5)
    return X, y


@pytest.fixture(scope="module")
def fitted():
    X, y = data()
    return X, y, BestSubsetSelector(3, C=0.1, max_nodes=0).fit(X, y).certificate_


def again(certificate, **changes):
    values = json.loads(json.dumps(certificate.to_dict(), allow_nan=False))
    return SubsetCertificate.from_dict(values | changes)


def accepted(certificate, X, y, weight=None):
    """By `verify`; the checker has to agree."""
    ours = bool(certificate.verify(X, y, sample_weight=weight))
    values = json.loads(json.dumps(certificate.to_dict()))
    try:
        theirs = all(right for _, right in SUBSET_CHECKER.check(values, X, y, weight))
    except Exception:
        theirs = False
    assert ours == theirs
    return ours


def test_labels_of_another_kind_are_refused_with_a_reason(fitted):
    X, y, c = fitted
    assert "no y was passed" in c.verify(X, None).reason
    for wrong in (np.linspace(0, 1, 20), np.ones(20), y + 1j, np.column_stack([y, y]), np.where(y, np.nan, 1.0)):
        assert "y does not suit" in c.verify(X, wrong).reason
    assert not c.verify(X, np.array(["a", 1] * 10, dtype=object))
    for wrong in (y[:-1], 3, [], "ab"):
        with pytest.raises(ParameterError, match="one entry for each of the 20 rows"):
            c.verify(X, wrong)
    numbers = BestSubsetSelector(3, task="regression").fit(X, X[:, 0]).certificate_
    for wrong in (np.array(["a", "b"] * 10), y + 1j, np.full(20, np.nan), np.ones((20, 2, 2)), np.full(20, None)):
        assert "y does not suit" in numbers.verify(X, wrong).reason
    assert "shape" in numbers.verify(X, np.column_stack([y, y])).reason
    assert accepted(numbers, X, X[:, 0])


def test_data_of_another_kind_are_refused_with_an_error(fitted):
    X, y, c = fitted
    for wrong in (None, X[0], np.where(X > 1, np.nan, X), X + 1j, np.full(X.shape, "a"), X[:0]):
        with pytest.raises(ValueError, match=r".{10}"):
            c.verify(wrong, y)
    with pytest.raises(ParameterError, match="about 8 columns; X has 7"):
        c.verify(X[:, :7], y)
    assert not c.verify(X[::-1], y)
    assert "dual has 20 rows, and 19 samples count" in c.verify(X[1:], y[1:]).reason


def test_sample_weights_are_needed_checked_and_compared():
    X, y = data()
    weight = np.random.default_rng(0).integers(1, 4, 20) / 2
    c = BestSubsetSelector(3).fit(X, y, sample_weight=weight).certificate_
    assert c.weighted
    assert accepted(c, X, y, weight)
    assert "no sample_weight was passed" in c.verify(X, y).reason
    assert "sample_weight is another" in c.verify(X, y, sample_weight=np.ones(20)).reason
    assert not accepted(c, X, y, weight[::-1])
    assert not accepted(again(c, weighted=False), X, y, weight)
    for wrong in (weight[:-1], -weight, np.full(20, np.nan), ["a"] * 20, weight + 1j, weight[:, None], 1.0):
        with pytest.raises(ParameterError, match="sample_weight must be 20 finite numbers"):
            c.verify(X, y, sample_weight=wrong)
    with pytest.raises(ParameterError, match="zero for every sample"):
        c.verify(X, y, sample_weight=np.zeros(20))
    dropped = (np.arange(20) < 14).astype(float)  # equal weights, but some samples do not count
    c = BestSubsetSelector(3).fit(X, y, sample_weight=dropped).certificate_
    assert not c.weighted
    assert accepted(c, X, y, dropped)
    assert "14 rows, and 20 samples count: X or sample_weight is another" in c.verify(X, y).reason


def test_the_fingerprint_is_that_of_samples_targets_and_costs(fitted):
    X, y, c = fitted
    assert c.verify(X, y).same_data is True
    assert c.verify(sp.csr_array(X), y).same_data is True
    assert c.verify(X, np.where(y, "b", "a")).same_data is True
    changed = X.copy()
    changed[0, 0] += 1e-14
    other = c.verify(changed, y)
    assert (bool(other), other.same_data) == (True, False)
    assert replace(c, fingerprint=None).verify(X, y).same_data is None


def test_columns_of_frames_are_found_by_name(monkeypatch):
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcdefgh"))
    c = BestSubsetSelector(3, groups=[0, 0, 1, 2, 3, 4, 5, 5]).fit(frame, y).certificate_
    assert c.names == tuple("abcdefgh"[i] for i in c.indices)
    assert c.verify(frame, y)
    assert c.verify(X, y)
    known = replace(c, feature_names=tuple("abcdefgh"))
    assert known.verify(frame[list("hgfedcba")], y).same_data
    with pytest.raises(ParameterError, match="X lacks 1 of the 8 columns"):
        known.verify(frame.rename(columns={"a": "z"}), y)
    unknown = replace(c, feature_names=None)
    with pytest.raises(ParameterError, match="in the order in which the selector was fitted"):
        unknown.verify(frame[list("hgfedcba")], y)


def test_values_of_the_wrong_kind_are_no_certificate(fitted):
    c = fitted[2]
    changes = {
        **dict.fromkeys(("lower_bound", "objective", "C", "all_columns_bound"), ("3.5", True, [1.0])),
        **dict.fromkeys(("indices", "groups", "settled"), ("012", [0.5], [True], [[0]], [10**400])),
        **dict.fromkeys(("dual", "coef", "all_columns_dual"), ("1", [1.0], [["1"]], [[True]], [[1.0], [1.0, 2.0]])),
        **dict.fromkeys(("n_features", "n_chosen"), ("3", 3.0, True, None)),
        **dict.fromkeys(("classified", "standardized", "weighted"), (1, "true", None)),
        **dict.fromkeys(("names", "feature_names"), ("abc", [1, 2])),
        **dict.fromkeys(("loss", "fingerprint"), (7, ["hinge"])),
        "intercept": (["a"], 1.0, [None], [False]),
        "tree": ("-1", [-1.0], [[-1]], [True]),
        "leaf_duals": ([[1.0]], [["a"]], 1.0),
    }
    assert {f.name for f in fields(SubsetCertificate)} == set(changes)
    for name, wrong in changes.items():
        for value in wrong:
            with pytest.raises(ParameterError, match="no subset certificate"):
                again(c, **{name: value})
    for values in (None, [], "{}"):
        with pytest.raises(ParameterError, match="made from a dict"):
            SubsetCertificate.from_dict(values)


def test_what_is_impossible_is_refused_before_anything_is_computed(fitted):
    X, y, c = fitted
    for change in (
        {"indices": [0, 1, 99]},
        {"indices": [0, 1, -1]},
        {"indices": [0, 0, 1]},
        {"indices": []},
        {"n_features": 10**9},
        {"n_features": 0},
        {"groups": [0] * 8},
        {"groups": [10**9] * 8},
        {"groups": []},
        {"settled": [2] * 8},
        {"settled": []},
        {"tree": [-1]},
        {"C": None},
        {"loss": "absolute"},
        {"names": ["a"]},
        {"feature_names": ["a"]},
    ):
        assert not again(c, **change).verify(X, y)


def test_labels_read_as_numbers_allow_only_the_squared_loss(fitted):
    """Labels 0 would leave dual variables of the hinge free, and any bound could be "proved"."""
    X, y, _ = fitted
    c = BestSubsetSelector(3, loss="hinge", gap_tol=0.1).fit(X, y).certificate_
    free = np.where(y == 0, -1.0, 1.0)[:, None]
    forged = again(c, classified=False, dual=free.tolist())
    assert "numbers are fitted by the squared loss" in forged.verify(X, y).reason
    assert not accepted(forged, X, y)


def test_a_certificate_that_proves_nothing_says_so_in_strict_json(fitted):
    X, y, c = fitted
    nothing = replace(c, lower_bound=-np.inf, objective=np.inf, settled=0 * c.settled)
    values = json.loads(json.dumps(nothing.to_dict(), allow_nan=False))
    assert values["lower_bound"] is values["objective"] is values["optimality"] is None
    read = again(nothing)
    assert (read.lower_bound, read.objective, read.kind) == (-np.inf, np.inf, "none")
    assert accepted(read, X, y)


def test_a_bound_of_fewer_than_r_pulls_is_refused(fitted, monkeypatch):
    """A wrong maker: `verify` and the checker do not share its mistake."""
    X, y, honest = fitted

    class Wrong(SubsetBound):
        def over(self, r):
            return super().over(r - 1)

    class WrongBounds(SubsetBounds):
        def of(self, dual):
            found = super().of(dual)
            return Wrong(found.base, found.high)

    monkeypatch.setattr(subset_module, "SubsetBounds", WrongBounds)
    forged = BestSubsetSelector(3, C=0.1, max_nodes=0).fit(X, y).certificate_
    assert forged.lower_bound > honest.lower_bound
    assert not accepted(forged, X, y)
    assert accepted(honest, X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic", "squared"])
def test_a_dual_point_that_is_slightly_infeasible_is_refused(loss):
    X, y = data(seed=1)
    c = BestSubsetSelector(3, loss=loss, C=0.1, gap_tol=0.05, max_nodes=0).fit(X, y).certificate_
    assert accepted(c, X, y)
    sign = np.where(y == 1, 1.0, -1.0)[:, None]
    beyond = {
        "sum": c.dual + 1e-6 * sign * (sign > 0),
        "size": np.where(sign * c.dual >= np.max(sign * c.dual), sign * 0.1 * (1 + 1e-6), c.dual),
        "sign": np.where(sign * c.dual <= np.min(sign * c.dual), -1e-9 * sign, c.dual),
    }
    for name, dual in beyond.items():
        if (
            name == "sum"
            or (name == "size" and loss in ("hinge", "logistic"))
            or (name == "sign" and loss != "squared")
        ):
            assert not accepted(again(c, dual=dual.tolist()), X, y), name
            if loss != "squared" or name == "sum":
                bounds = SubsetBounds(as_rows(X), sign, np.full(20, 0.1), loss, np.ones(8), np.arange(8))
                assert bounds.of(dual).over(3) == -np.inf


def test_trees_prove_more_than_one_point_and_are_checked():
    X, y = data(n=24, d=10, seed=3)
    one, many = (BestSubsetSelector(3, C=10.0, max_nodes=nodes).fit(X, y).certificate_ for nodes in (0, 200))
    assert one.tree is one.leaf_duals is None
    assert "one dual point" in one.statement
    assert f"{len(many.leaf_duals)} dual points" in many.statement
    assert many.optimality > 0.999 > one.optimality
    for certificate in (one, many, again(many)):
        assert accepted(certificate, X, y)
    tree, duals = many.tree.tolist(), many.leaf_duals.tolist()
    assert not accepted(again(many, tree=None, leaf_duals=None), X, y)  # one point does not prove it
    assert not accepted(again(many, tree=tree[1:], leaf_duals=duals), X, y)
    assert not accepted(again(many, tree=[*tree, -1], leaf_duals=[*duals, duals[0]]), X, y)
    assert not accepted(again(many, tree=tree, leaf_duals=duals[::-1]), X, y)
    assert not accepted(again(many, tree=tree, leaf_duals=duals[:-1]), X, y)
    assert not accepted(again(many, tree=[-1], leaf_duals=duals[:1]), X, y)  # choices without the group are left out
    assert not accepted(again(many, tree=[99, *tree[1:]], leaf_duals=duals), X, y)


def test_a_group_that_is_split_twice_counts_once():
    """Counted twice it would leave fewer than r pulls in the bound."""
    X, y = data()
    bounds = SubsetBounds(
        as_rows(X), np.where(y == 1, 1.0, -1.0)[:, None], np.full(20, 0.1), "hinge", np.ones(8), np.arange(8)
    )
    dual = BestSubsetSelector(3, C=0.1, loss="hinge", standardize=False, max_nodes=0).fit(X, y).certificate_.dual
    plain = bounds.of(dual).over(3)
    once = bounds.of_tree(np.array([0, -1, -1]), np.stack([dual] * 2), 3)
    twice = bounds.of_tree(np.array([0, 0, -1, -1, -1]), np.stack([dual] * 3), 3)
    assert plain == once == twice


def test_trees_settle_groups_and_what_they_settle_is_true():
    X, y = data(n=24, d=8, seed=3)
    one, many = (BestSubsetSelector(3, C=1.0, max_nodes=nodes).fit(X, y).certificate_ for nodes in (0, 400))
    assert np.sum(many.settled != 0) > np.sum(one.settled != 0)
    assert np.all(many.settled[one.settled != 0] == one.settled[one.settled != 0])
    assert accepted(many, X, y)
    values = {S: objective_of(X, y, S, 1.0) for S in combinations(range(8), 3)}
    best = min(values.values())
    for S, value in values.items():
        if value <= best * (1 + 1e-7):
            assert set(np.flatnonzero(many.settled == 1)) <= set(S)
            assert not set(np.flatnonzero(many.settled == -1)) & set(S)
    for change in (1, -1):
        forged = many.settled.copy()
        forged[np.flatnonzero(many.settled == 0)[:1]] = change
        if np.any(many.settled == 0):
            assert not accepted(again(many, settled=forged.tolist()), X, y)
    assert not accepted(again(many, settled=(-many.settled).tolist()), X, y)
    assert "<strong>Certificate" in many._repr_html_()


def objective_of(X, y, S, C):
    Z = (X[:, S] - X[:, S].mean(axis=0)) / X[:, S].std(axis=0)
    return linear_model(as_rows(Z), np.where(y == 1, 1.0, -1.0), np.full(len(y), C), MarginLoss("squared_hinge")).primal
