"""Certificates as values: what they claim, when they do not, and how they are checked again."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rarefy
from rarefy.certificates._certificate import Certificate
from rarefy.exceptions import ParameterError, TruncatedRankWarning
from rarefy.selection import BSSSelector, LeverageScoreSelector, SupportVectorSelector


@pytest.fixture
def X():
    return np.random.default_rng(0).standard_normal((10, 300))


def test_all_columns_lose_nothing(X):
    certificate = rarefy.certify(X, np.ones(300, dtype=bool))
    assert certificate.kind == "deterministic"
    assert certificate.distortion < 1e-12
    for ratio in ("margin_ratio", "margin_floor", "radius_ratio", "risk_ratio"):
        assert getattr(certificate, ratio) == pytest.approx(1.0)


def test_too_few_columns_claim_nothing_and_say_why(X):
    certificate = rarefy.certify(X, [1, 2, 3])
    assert certificate.kind == "none"
    assert certificate.margin_ratio is None
    assert certificate.margin_floor is None
    assert certificate.risk_ratio is None
    assert "a direction of the row space was lost" in certificate.statement
    assert "needs ||E|| < 1" in certificate.statement
    assert certificate.verify(X)


def test_a_large_distortion_leaves_the_published_bound_empty(X):
    certificate = BSSSelector(20).fit(X).certificate_
    assert certificate.distortion >= 0.5
    assert certificate.margin_ratio is None
    assert "needs ||E|| < 1/2" in certificate.statement
    assert certificate.margin_floor > 0


def test_fewer_dimensions_than_the_data_have_claim_nothing_about_models(X):
    with pytest.warns(TruncatedRankWarning, match="8 features cannot preserve all 10 dimensions"):
        certificate = BSSSelector(8).fit(X).certificate_
    assert (certificate.rank, certificate.numerical_rank) == (4, 10)
    assert certificate.margin_ratio is certificate.radius_ratio is certificate.risk_ratio is None
    assert certificate.energy_kept < 1
    assert "4 leading of 10 dimensions" in certificate.statement
    assert "depend on the dimensions left out" in certificate.statement
    assert certificate.verify(X)


def test_a_share_of_the_squared_norm_chooses_the_dimensions():
    rng = np.random.default_rng(0)
    U, V = np.linalg.qr(rng.standard_normal((10, 10)))[0], np.linalg.qr(rng.standard_normal((200, 10)))[0]
    X = (U * np.sqrt([50, 30, 10, 4, 2, 1, 1, 1, 0.5, 0.5])) @ V.T
    for share, rank in ((0.4, 1), (0.5, 1), (0.7, 2), (0.9, 3), (0.93, 4), (0.999, 10)):
        certificate = BSSSelector(40, rank=share).fit(X).certificate_
        assert certificate.rank == rank
        assert certificate.energy_kept >= share - 1e-12
        assert certificate.verify(X)
    assert rarefy.certify(X, [0, 1, 2], rank=0.7).rank == 2


def test_a_sketch_is_an_estimate(X):
    tall = np.vstack([X] * 5) + 1e-3 * np.random.default_rng(1).standard_normal((50, 300))
    selector = BSSSelector(60, sketch_size=12, random_state=0).fit(tall)
    certificate = selector.certificate_
    assert certificate.kind == "estimate"
    assert certificate.rank == 12
    assert certificate.margin_ratio is None
    assert "a sketch is evidence, not proof" in certificate.statement
    assert certificate.verify(tall)
    # A sketch no smaller than the data is not drawn at all.
    assert BSSSelector(60, sketch_size=50).fit(tall).certificate_.kind == "deterministic"


def test_sampling_is_probabilistic(X):
    certificate = LeverageScoreSelector(100, failure_probability=0.05, random_state=0).fit(X).certificate_
    assert certificate.kind == "probabilistic"
    assert certificate.failure_probability == 0.05
    assert "with probability 0.95" in certificate.statement
    top = LeverageScoreSelector(100, sampling="top").fit(X).certificate_
    assert top.kind == "deterministic"
    assert top.distortion_bound is None


def test_fewer_features_than_asked_for_are_reported():
    X = np.random.default_rng(0).standard_normal((4, 50))
    certificate = LeverageScoreSelector(45, random_state=0).fit(X).certificate_
    assert len(certificate.indices) < 45
    assert "45 were asked for" in certificate.statement


def test_verify_notices_other_data_weights_and_columns(X):
    certificate = BSSSelector(30).fit(X).certificate_
    assert certificate.verify(X)
    assert certificate.verify(sp.csr_array(X))
    assert certificate.verify(pd.DataFrame(X))
    other = X.copy()
    other[:, certificate.indices[0]] *= 1.01
    assert not certificate.verify(other)
    with pytest.raises(ValueError, match="300 columns; X has 299"):
        certificate.verify(X[:, 1:])


def tampered(values, field):
    if field == "weights":
        values["weights"][3] *= 1.001
    elif field == "indices":
        values["indices"][0] = next(i for i in range(300) if i not in values["indices"])
    elif field in ("rank", "numerical_rank"):
        values[field] -= 1
    elif field in ("eigenvalues", "singular_values"):
        values[field][0] += 1e-6 * values[field][0]
    elif field == "n_requested":  # would promise a smaller distortion than there is
        values[field] = 10**9
    else:
        values[field] = 0.9 * (values[field] or 1.0)
    return rarefy.Certificate.from_dict(values)


COMMON = ["weights", "indices", "rank", "numerical_rank", "eigenvalues", "singular_values", "energy_kept"]
DUAL = BSSSelector(30, rank=6, method="dual")


@pytest.mark.parametrize(
    ("selector", "field"),
    [
        *((BSSSelector(30), field) for field in [*COMMON, "n_requested"]),
        *((DUAL, field) for field in [*COMMON, "residual_ratio"]),
    ],
)
def test_a_tampered_certificate_does_not_verify(X, selector, field):
    certificate = selector.fit(X).certificate_
    assert certificate.verify(X)
    assert not tampered(certificate.to_dict(), field).verify(X)


@pytest.mark.parametrize("field", ["eigenvalues", "singular_values", "energy_kept"])
def test_nan_does_not_verify(X, field):
    values = BSSSelector(30).fit(X).certificate_.to_dict()
    if field == "energy_kept":
        values[field] = np.nan
    else:
        values[field][1] = np.nan
    assert not rarefy.Certificate.from_dict(values).verify(X)


def test_a_promise_of_no_distortion_is_checked(X):
    certificate = replace(BSSSelector(30).fit(X).certificate_, method="all")
    assert certificate.distortion_bound == 0.0
    assert not certificate.verify(X)


def test_claims_are_derived_again_when_read(X):
    certificate = BSSSelector(30).fit(X).certificate_
    values = certificate.to_dict() | {"margin_floor": 0.99, "distortion": 0.01, "kind": "none", "radius_ratio": 1.0}
    again = rarefy.Certificate.from_dict(values)
    assert again.to_dict() == certificate.to_dict()
    with pytest.raises(TypeError):
        replace(certificate, margin_floor=0.99)


def test_json_round_trip(X):
    for selector in (BSSSelector(30), BSSSelector(30, sketch_size=6, random_state=1)):
        certificate = selector.fit(X).certificate_
        again = rarefy.Certificate.from_dict(json.loads(json.dumps(certificate.to_dict())))
        assert again.to_dict() == certificate.to_dict()
        assert again.verify(X)


def test_text_and_html(X):
    certificate = BSSSelector(30).fit(X).certificate_
    assert repr(certificate).startswith("Certificate(kind='deterministic', features=30 of 300, rank=10")
    assert str(certificate) == certificate.statement
    page = certificate._repr_html_()
    assert page.startswith("<div>")
    assert "||E|| = " in page
    assert "V&#x27;RR&#x27;V" in page  # text is escaped


def test_measured_margins_and_radii_respect_the_claims():
    rng = np.random.default_rng(0)
    y = np.repeat(["good", "bad"], 5)
    X = rng.standard_normal((10, 200)) + (y == "good")[:, None]
    selector = BSSSelector(80).fit(X)
    certificate = rarefy.certify(X, selector.selected_, selector.weights_, y)
    m = certificate.measured
    assert m["squared_margin_after"] >= certificate.margin_floor * m["squared_margin_before"]
    assert m["squared_radius_after"] <= certificate.radius_ratio * m["squared_radius_before"]
    assert "squared margin before" in certificate.statement
    same = rarefy.certify(sp.csr_array(X), selector.selected_, selector.weights_, y).measured
    assert same == pytest.approx(m)
    with pytest.raises(ParameterError, match="between two classes; y has 3"):
        rarefy.certify(X, [0, 1], y=np.arange(10) % 3)


def test_masks_indices_and_names_mean_the_same(X):
    frame = pd.DataFrame(X, columns=[f"gene {i}" for i in range(300)])
    mask = np.zeros(300, dtype=bool)
    mask[[5, 9]] = True
    expected = rarefy.certify(X, [5, 9], [2.0, 3.0]).distortion
    assert rarefy.certify(X, mask, [2.0, 3.0]).distortion == expected
    assert rarefy.certify(frame, ["gene 5", "gene 9"], [2.0, 3.0]).distortion == expected
    assert rarefy.certify(X, [-295, 9], [2.0, 3.0]).distortion == expected


@pytest.mark.parametrize(
    ("support", "weights", "message"),
    [
        ([0, 0], None, "names a feature twice"),
        ([300], None, r"must lie in \[0, 300\); got 300 to 300"),
        ([True, False], None, "must have 300 entries; got 2"),
        ([], None, "support is empty"),
        (["a"], None, "X has no column names"),
        ([0.5], None, "mask, indices or column names; got values of type float64"),
        ([[0]], None, "one-dimensional"),
        ([0, 1], [1.0], "one entry for each of the 2"),
        ([0, 1], [1.0, -1.0], "finite and positive"),
    ],
)
def test_bad_subsets_are_explained(X, support, weights, message):
    with pytest.raises(ParameterError, match=message):
        rarefy.certify(X, support, weights)


def test_unknown_names_are_named(X):
    with pytest.raises(ParameterError, match="does not have: \\['gene'\\]"):
        rarefy.certify(pd.DataFrame(X, columns=[str(i) for i in range(300)]), ["gene"])


@pytest.mark.parametrize("kind", ["selector", "supervised", "certify"])
def test_columns_are_known_by_their_names(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((12, 60)), columns=[f"gene {i}" for i in range(60)])
    y = np.arange(12) % 2
    if kind == "certify":
        c = rarefy.certify(X, [f"gene {i}" for i in range(5, 45)])
    else:
        selector = BSSSelector(30) if kind == "selector" else SupportVectorSelector(BSSSelector(30))
        c = selector.fit(X, y).certificate_
    assert c.names == tuple(X.columns[c.indices])
    again = Certificate.from_dict(json.loads(json.dumps(c.to_dict())))
    assert again.names == c.names
    assert again.verify(X)
    assert again.verify(X[X.columns[::-1]])  # the same columns in another order
    assert again.verify(X.to_numpy())
    assert not again.verify(X.to_numpy()[:, ::-1])
    with pytest.raises(ValueError, match=r"X lacks .* columns that this certificate keeps"):
        again.verify(X.rename(columns={c.names[0]: "other"}))
    old = c.to_dict()
    del old["names"]  # written before names were kept
    assert Certificate.from_dict(old).names is None
    assert rarefy.certify(X.set_axis(range(60), axis=1), np.arange(40)).names is None
