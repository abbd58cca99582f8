"""Certificates as values: what they claim, when they do not, and how they are checked again."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import rarefy
from rarefy.certificates import Certificate
from rarefy.exceptions import FewerFeaturesWarning, ParameterError, TruncatedRankWarning
from rarefy.selection import BSSSelector, LeverageScoreSelector, SupportVectorSelector

ignore_truncation = pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")
ignore_repeats = pytest.mark.filterwarnings("ignore::rarefy.exceptions.FewerFeaturesWarning")


def noise(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


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
    assert "a direction of the row space was lost" in certificate.statement
    assert certificate.verify(X)


def test_a_large_distortion_leaves_the_published_bound_empty(X):
    certificate = BSSSelector(20, weighting="bss").fit(X).certificate_
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
    for share, rank in ((0.4, 1), (0.5, 1), (np.float32(0.75), 2), (0.7, 2), (0.9, 3), (0.93, 4), (0.999, 10)):
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


@ignore_repeats
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
    with pytest.warns(FewerFeaturesWarning):
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
    with pytest.raises(ParameterError, match="a number is needed, not nan"):
        rarefy.Certificate.from_dict(values)
    found = BSSSelector(30).fit(X).certificate_
    broken = (found.eigenvalues[0], np.nan) if field == "eigenvalues" else (found.singular_values[0], np.nan)
    assert not replace(found, **{field: np.nan if field == "energy_kept" else broken}).verify(X)


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
    certificate = rarefy.certify(X, selector.support_, selector.weights_, y)
    m = certificate.measured
    assert m["squared_margin_after"] >= certificate.margin_floor * m["squared_margin_before"]
    assert m["squared_radius_after"] <= certificate.radius_ratio * m["squared_radius_before"]
    assert "squared margin before" in certificate.statement
    same = rarefy.certify(sp.csr_array(X), selector.support_, selector.weights_, y).measured
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
        (np.zeros(300, dtype=bool), None, "support is empty"),
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
    incomplete = c.to_dict()
    del incomplete["names"], incomplete["unseen"]
    with pytest.raises(ParameterError, match="no certificate: names, unseen are missing"):
        Certificate.from_dict(incomplete)
    assert rarefy.certify(X.set_axis(range(60), axis=1), np.arange(40)).names is None


@ignore_repeats
@pytest.mark.parametrize("shape", [(60, 200), (200, 60)])
def test_columns_lost_in_the_rounding_of_another_leave_nothing_certified(shape):
    X = noise(*shape)
    y = np.arange(shape[0]) % 2
    X[:, 5] += 6 * y
    X[:, 0] = 1e15
    with pytest.warns(TruncatedRankWarning, match=f"{shape[1] - 1} of {shape[1]} columns are so short"):
        found = BSSSelector(50).fit(X).certificate_
    assert found.unseen == shape[1] - 1
    assert found.kind == "none"
    assert found.margin_floor is found.margin_ratio is found.radius_ratio is found.risk_ratio is None
    assert "lost in its rounding" in found.statement
    assert found.verify(X)
    assert not replace(found, unseen=0).verify(X)
    audited = rarefy.certify(X, [0])
    assert audited.margin_floor is None
    again = rarefy.Certificate.from_dict(json.loads(json.dumps(audited.to_dict())))
    assert (again.unseen, again.resolution) == (audited.unseen, audited.resolution)


def test_what_counts_as_zero_is_stated_where_a_dimension_is_missing():
    X = noise(20, 50)
    assert "count as zero" not in rarefy.certify(X, np.arange(40)).statement
    X[7] = X[3]
    found = rarefy.certify(X, np.arange(40))
    assert found.rank == 19
    assert found.resolution == pytest.approx(50 * np.finfo(float).eps * np.linalg.norm(X, 2), rel=1e-6)
    assert f"up to {found.resolution:.2g}, rounding" in found.statement
    assert found.unseen == 0
    assert found.margin_floor is not None
    assert found.verify(X)
    assert not replace(found, resolution=1e-3).verify(X)


def test_whether_a_direction_was_lost_does_not_depend_on_a_common_factor():
    X = noise(30, 400)
    for seed in range(20):
        few = np.random.default_rng(seed).choice(400, 29, replace=False)
        for weight in (1e-6, 1.0, 300.0, 1e6):
            found = rarefy.certify(X, few, np.full(29, weight))
            assert found.kind == "none"
            assert found.margin_floor is found.radius_margin_ratio is None
    enough = [rarefy.certify(X, np.arange(300), np.full(300, weight)) for weight in (1e-8, 1.0, 1e8)]
    assert {one.kind for one in enough} == {"deterministic"}
    ratios = [one.radius_margin_ratio for one in enough]
    np.testing.assert_allclose(ratios, ratios[1], rtol=1e-9)


def ill_conditioned(kappa, seed):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    V = np.linalg.qr(rng.standard_normal((12, 8)))[0]
    return U * np.logspace(0, -np.log10(kappa), 8) @ V.T


@pytest.mark.parametrize("kappa", [1e8, 1e11, 1e13, 1e14])
def test_forged_eigenvalues_do_not_pass_on_ill_conditioned_data(kappa):
    for seed in range(5):
        X = ill_conditioned(kappa, seed)
        found = rarefy.certify(X, np.arange(9))
        low, high = found.eigenvalues
        assert found.verify(X).tolerance <= 2e-4 * max(1.0, high)
        assert not replace(found, eigenvalues=(low + 1e-3, high)).verify(X)
        assert not replace(found, weights=1.001 * found.weights).verify(X)


@pytest.mark.parametrize("kappa", [1e8, 1e9, 1e10, 1e11])
def test_honest_certificates_pass_on_ill_conditioned_data(kappa):
    # Beyond that two routes differ by more than is tolerated: singular vectors are only known to eps * kappa.
    for seed in range(5):
        X = ill_conditioned(kappa, seed)
        outcome = rarefy.certify(X, np.arange(9)).verify(X)
        assert outcome
        assert outcome.difference <= outcome.tolerance


@ignore_repeats
def test_dual_certificates_pass_where_the_cut_goes_through_equal_singular_values():
    X = np.hstack([np.eye(10)] * 5)
    found = BSSSelector(8, method="dual", rank=3).fit(X).certificate_
    assert found.ambiguous
    assert found.verify(X)
    assert not replace(found, residual_ratio=found.residual_ratio + 0.01).verify(X)
    assert not replace(found, choice=None).verify(X)
    rng = np.random.default_rng(0)
    for _ in range(10):
        onehot = np.eye(6)[rng.integers(0, 6, 30)]
        assert BSSSelector(4, method="dual", rank=2).fit(onehot).certificate_.verify(onehot)


@ignore_repeats
@ignore_truncation
def test_certificates_verify_when_the_cut_passes_through_equal_singular_values():
    X = np.hstack([np.eye(6)] * 3)
    certificate = BSSSelector(4).fit(X).certificate_
    assert certificate.ambiguous
    assert "one choice among several" in certificate.statement
    assert certificate.verify(X)
    assert rarefy.certify(X, range(9), rank=3).verify(X)
    onehot = np.eye(12)[:, np.random.default_rng(0).integers(0, 12, 200)]
    assert LeverageScoreSelector(100, rank=10, random_state=0).fit(onehot).certificate_.verify(onehot)


@ignore_repeats
def test_certificates_of_sketches_speak_of_the_sketch():
    X = noise(200, 40) * np.exp(1.5 * noise(1, 40, 1))
    dual = BSSSelector(10, method="dual", sketch_size=6, rank=3, random_state=0).fit(X).certificate_
    assert "What of the sketch lies outside" in dual.statement
    assert "of the data themselves nothing is" in dual.statement
    sampled = LeverageScoreSelector(30, sketch_size=6, rank=3, random_state=0).fit(X).certificate_
    assert "Known beforehand (of the sketch)" in sampled.statement


@ignore_repeats
def test_numbers_of_numpy_survive_json():
    X = noise(40, 80)
    for selector in (
        BSSSelector(np.int64(50), sketch_size=np.int64(10), random_state=0),
        LeverageScoreSelector(50, failure_probability=np.float32(0.1), random_state=0),
    ):
        found = selector.fit(X).certificate_
        again = rarefy.Certificate.from_dict(json.loads(json.dumps(found.to_dict())))
        assert again.statement == found.statement


def test_columns_named_by_other_numbers_are_not_guessed():
    frame = pd.DataFrame(noise(30, 100))
    assert rarefy.certify(frame, [3, 4]).indices.tolist() == [3, 4]
    with pytest.raises(ParameterError, match="named by numbers that are not their positions"):
        rarefy.certify(frame.iloc[:, ::-1], [3, 4])
    assert rarefy.certify(frame.iloc[:, ::-1], np.arange(100) < 2).indices.tolist() == [0, 1]


def test_names_that_do_not_fit_the_weights_are_refused():
    frame = pd.DataFrame(noise(30, 100), columns=[f"c{i}" for i in range(100)])
    found = rarefy.certify(frame, ["c1", "c2"])
    with pytest.raises(ValueError, match="1 names and 2 weights: it was changed"):
        replace(found, names=("c1",)).verify(frame)


def forged(certificate, **changes):
    return rarefy.Certificate.from_dict(json.loads(json.dumps(certificate.to_dict())) | changes)


def test_a_probability_does_not_switch_a_bound_off():
    X = np.random.default_rng(0).standard_normal((6, 80))
    honest = BSSSelector(40).fit(X).certificate_
    assert forged(honest).verify(X)
    for chance in (0.0, 0.5, 1.0, -1.0):
        assert not forged(honest, failure_probability=chance, n_requested=10**6).verify(X)
        assert not forged(honest, failure_probability=chance, method="all").verify(X)
    assert not forged(honest, n_requested=10**6).verify(X)
    assert not forged(honest, method="replacement").verify(X)


@ignore_truncation
def test_eigenvalues_are_checked_where_singular_values_are_equal():
    X = np.eye(20)
    honest = rarefy.certify(X, range(10), rank=5)
    assert honest.verify(X)
    for low, high in ((1.0, 1.0), (0.5, 0.7), (1.0, 0.5), (0.0, 1.0)):
        if (low, high) != tuple(honest.eigenvalues):
            assert not forged(honest, eigenvalues=[low, high]).verify(X)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"indices": [0] * 20}, "distinct column numbers"),
        ({"indices": [-1, *range(1, 20)]}, "distinct column numbers"),
        ({"indices": [99, *range(1, 20)]}, "distinct column numbers"),
        ({"indices": [0, 1, 2]}, "one weight"),
        ({"weights": [float("nan")] * 20}, "one weight"),
        ({"rows": [0, 0]}, "distinct row numbers"),
        ({"n_requested": 0}, "integers >= 1"),
        ({"rank": 7}, "at most numerical_rank"),
        ({"method": "proved"}, "method must be one of"),
        ({"resolution": -1.0}, "finite numbers >= 0"),
    ],
)
def test_what_no_certificate_could_say_is_refused_with_a_reason(changes, reason):
    X = np.random.default_rng(0).standard_normal((6, 40))
    outcome = forged(rarefy.certify(X, range(20)), **changes).verify(X)
    assert not outcome
    assert reason in outcome.reason


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": [0.7] * 20},
        {"eigenvalues": [1.0, 1.0, 1.0]},
        {"eigenvalues": "ab"},
        {"rank": "5"},
        {"measured": {"x": "much"}},
        {"sketch": {"size": 3}},
        {"weights": ["a"]},
    ],
)
def test_values_of_the_wrong_kind_make_no_certificate(changes):
    X = np.random.default_rng(0).standard_normal((6, 40))
    with pytest.raises(ParameterError, match="no certificate"):
        forged(rarefy.certify(X, range(20)), **changes)
    with pytest.raises(ParameterError, match="a dict of its fields; got list"):
        rarefy.Certificate.from_dict([])


def test_a_resolution_is_checked_relative_to_itself():
    X = np.ones((4, 1)) @ np.random.default_rng(0).standard_normal((1, 30))
    honest = rarefy.certify(X, range(20))
    assert honest.verify(X)
    assert not forged(honest, resolution=1e-9 * honest.singular_values[0]).verify(X)


def test_data_that_cannot_be_checked_are_refused():
    X = np.random.default_rng(0).standard_normal((6, 40))
    honest = rarefy.certify(X, range(20))
    outcome = honest.verify(np.zeros_like(X))
    assert not outcome
    assert "zero" in outcome.reason
    for bad in (np.full_like(X, np.nan), X[0], X[:0]):
        with pytest.raises(ValueError, match=r"NaN|1D|0 sample"):
            honest.verify(bad)


@pytest.mark.parametrize("sketch", [{"size": 10**12, "seed": 0}, {"size": 0, "seed": 0}, {"size": 5, "seed": -1}])
def test_an_impossible_sketch_is_refused_before_it_is_drawn(sketch):
    X = np.random.default_rng(0).standard_normal((20, 40))
    honest = rarefy.certify(X, range(30), sketch_size=8, random_state=0)
    assert honest.verify(X)
    outcome = forged(honest, sketch=sketch).verify(X)
    assert not outcome
    assert "sketch" in outcome.reason


def test_certificates_that_say_the_same_are_equal():
    from rarefy.ranking import certify_threshold

    X = np.random.default_rng(0).standard_normal((6, 20))
    one, same, other = (rarefy.certify(X, range(n)) for n in (12, 12, 13))
    assert one == same == Certificate.from_dict(one.to_dict())
    assert hash(one) == hash(same)
    assert one != other
    assert one != "a certificate"
    assert len({one, same, other}) == 2
    scores, y = np.arange(60.0), np.arange(60) % 2
    assert certify_threshold(scores, y, recall=0.8) == certify_threshold(scores, y, recall=0.8)
    assert certify_threshold(scores, y, recall=0.8) != certify_threshold(scores, y, recall=0.81)


def test_fitted_selectors_show_their_certificate_in_notebooks():
    X = np.random.default_rng(0).standard_normal((6, 20))
    selector = BSSSelector(12)
    assert "Certificate:" not in selector._repr_html_()
    selector.fit(X)
    for text in (selector._repr_html_(), selector._repr_mimebundle_()["text/html"]):
        assert f"Certificate: {selector.certificate_.verdict}" in text
        assert "BSSSelector" in text
