"""Forged certificates: a sample of the forgery matrix, and one by one the forgeries that were once accepted."""

import json

import numpy as np
import pytest
from trials.forgeries import (
    CHECKER,
    SUBSET_CHECKER,
    Tally,
    forgeries,
    honest_certificates,
    honest_subsets,
    improved,
    try_all,
)

import rarefy
import rarefy.core.certificates.measure as measure_module
import rarefy.core.certificates.pencil as pencil_module
import rarefy.core.certificates.regularised as regularised_module
import rarefy.core.linalg.spectrum as spectrum_module
from rarefy.certificates import Certificate, SubsetCertificate
from rarefy.exceptions import ParameterError
from rarefy.selection import BestSubsetSelector, BSSSelector, SupportVectorSelector

pytestmark = pytest.mark.filterwarnings("ignore")  # forged numbers overflow on purpose


def noise(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def forged(certificate, **changes):
    return Certificate.from_dict(json.loads(json.dumps(certificate.to_dict())) | changes)


def accepted(certificate, X, y=None):
    """By `verify`; the checker has to agree."""
    ours = bool(certificate.verify(X, y))
    values = json.loads(json.dumps(certificate.to_dict()))
    try:
        theirs = all(right for _, right in CHECKER.check(values, X, y))
    except Exception:
        theirs = False
    assert ours == theirs
    return ours


@pytest.mark.parametrize(("kappa", "scale"), [(10.0, 1e6), (1e12, 1e-6)])
def test_a_sample_of_the_matrix(kappa, scale):
    tally = Tally()
    rng = np.random.default_rng([7, int(np.log10(kappa))])
    for honest in honest_certificates(rng, kappa, scale):
        try_all(honest, rng, tally, entries=1, share=0.015)
    assert tally.counts["honest"] > 30
    assert tally.counts["forgeries"] > 200
    for what in ("honest, not verified", "accepted and improved", "disagreements", "raw errors"):
        assert tally.counts[what] == 0, tally.examples[what]


@pytest.mark.parametrize(("kappa", "scale"), [(10.0, 0.1), (1e6, 1e-3)])
def test_a_sample_of_the_matrix_of_best_choices(kappa, scale):
    tally, rng = Tally(), np.random.default_rng([11, int(np.log10(kappa))])
    for honest in honest_subsets(rng, kappa, scale):
        try_all(honest, rng, tally, entries=1, share=0.05)
    assert tally.counts["honest"] == 23
    assert tally.counts["forgeries"] > 200
    for what in ("honest, not verified", "accepted and improved", "disagreements", "raw errors"):
        assert tally.counts[what] == 0, tally.examples[what]


def test_a_floor_of_zero_beside_a_heavy_weight():
    X = noise(6, 40)
    honest = rarefy.certify(X, range(4), [1e5, 1.0, 1.0, 1.0])
    assert honest.eigenvalues[0] == 0.0
    assert accepted(honest, X)
    assert not accepted(forged(honest, eigenvalues=[90.0, honest.eigenvalues[1]]), X)
    heavy = rarefy.certify(X, range(20), [1e5] + [1.0] * 19)
    assert not accepted(forged(heavy, eigenvalues=[90.0, heavy.eigenvalues[1]]), X)


def test_eigenvalues_and_singular_values_by_large_factors():
    X = noise(6, 40)
    honest = rarefy.certify(X, range(20), np.linspace(0.5, 2.0, 20))
    (low, high), (top, bottom) = honest.eigenvalues, honest.singular_values
    for change in (
        {"eigenvalues": [2.0 * low, high]},
        {"eigenvalues": [low, 0.5 * high]},
        {"singular_values": [top, 1000.0 * bottom]},
        {"singular_values": [top, top]},
    ):
        assert not accepted(forged(honest, **change), X)


def test_an_erased_resolution_and_duplicated_indices():
    X = noise(6, 40)
    X[5] = X[4]
    honest = rarefy.certify(X, range(20))
    assert honest.resolution > 0.0
    assert accepted(honest, X)
    assert not accepted(forged(honest, resolution=0.0), X)
    assert not accepted(forged(honest, indices=[0, 0, *range(2, 20)]), X)


def test_a_lost_direction():
    X = noise(6, 40)
    honest = rarefy.certify(X, range(5))
    for low in (9e-9, 1e-12, 1e-300, 1e-3):
        assert not accepted(forged(honest, eigenvalues=[low, honest.eigenvalues[1]]), X)


def test_no_floor_where_the_measured_margin_is_gone():
    y = np.arange(10) % 2
    X = np.column_stack([1e13 + y, np.full(10, 1e13)])
    found = rarefy.certify(X, [1], [np.sqrt(2.0)], y=y)
    assert found.measured["squared_margin_after"] == 0.0
    assert found.margin_floor is found.margin_ratio is found.soft_margin_ratio is found.risk_ratio is None
    assert accepted(found, X, y)
    assert forged(found, measured={}).margin_floor is None


def test_an_eigenvalue_that_is_rounding_gives_no_claim():
    for seed in range(30):
        X = noise(4, 12, seed)
        X[:, 4] = X[:, :3] @ noise(3, 1, seed + 100)[:, 0]  # in the span of the first three, up to rounding
        found = rarefy.certify(X, [0, 1, 2, 4], np.full(4, 7.0))
        assert found.eigenvalues[0] == 0.0
        assert found.risk_ratio is found.soft_margin_ratio is found.margin_floor is None
        assert found.kind == "none"
        assert accepted(found, X)
        assert not accepted(forged(found, eigenvalues=[2e-16, found.eigenvalues[1]]), X)


def test_a_sketch_of_a_thousand_million_rows_is_not_drawn():
    X = noise(20, 40)
    honest = rarefy.certify(X, range(30), sketch_size=8, random_state=0)
    assert accepted(honest, X)
    assert not accepted(forged(honest, sketch={"size": 10**9, "seed": 0}), X)


def test_honest_certificates_that_once_failed():
    vandermonde = np.vander(np.linspace(0.0, 1.0, 19), 24, increasing=True)
    assert accepted(rarefy.certify(vandermonde, range(24)), vandermonde)
    for seed in range(20):
        X = noise(50, 6, seed) * 10.0 ** np.random.default_rng(seed).choice([-8, 0, 8], 6)
        assert accepted(rarefy.certify(X, range(6)), X)
        assert accepted(rarefy.certify(X, range(4)), X)


def test_a_bound_by_the_largest_weight_is_true_of_rounded_squares():
    # The square of the weight is rounded down, and the largest eigenvalue is that square.
    weight = next(w for w in 1.0 + np.arange(1, 99) * 1e-3 if _rounded_down(w))
    X = np.eye(3)
    assert rarefy.certify(X, [0, 1, 2], [weight] * 3).eigenvalues[1] > weight**2


def _rounded_down(w):
    numerator, denominator = float(w).as_integer_ratio()
    p, q = float(w * w).as_integer_ratio()
    return p * denominator**2 < numerator**2 * q


def test_numbers_in_quotes_and_other_kinds_are_no_numbers():
    X = noise(6, 40)
    honest = rarefy.certify(X, range(20), alpha=1.0)
    changes = [
        *(
            {name: "0.5"}
            for name in ("next_singular_value", "energy_kept", "resolution", "explained", "residual_ratio")
        ),
        {"weights": ["1.0"] * 20},
        {"eigenvalues": ["0.1", "1.0"]},
        {"indices": 7},
        {"rows": 3},
        {"rows": [[0]]},
        {"names": "garbage"},
        {"names": [1, 2]},
        {"fingerprint": 7},
        {"method": ["given"]},
        {"weighting": None},
        {"regularised": honest.to_dict()["regularised"] | {"lo": "0.5"}},
        {"sketch": {"size": 2.5, "seed": 0}},
    ]
    for change in changes:
        with pytest.raises(ParameterError, match="no certificate"):
            forged(honest, **change)
    assert "distinct row numbers" in forged(honest, rows=[]).verify(X).reason


def test_another_loss_than_the_labels_allow_is_refused_without_an_error():
    X, y = noise(8, 12), np.random.default_rng(0).standard_normal(8)
    honest = rarefy.certify(X, range(9), None, y, alpha=1.0)
    assert accepted(honest, X, y)
    values = honest.to_dict()["objective"]
    for loss in ("hinge", "squared_hinge", "logistic"):
        assert not forged(honest, objective=values | {"loss": loss}).verify(X, y)


def test_what_rounding_hides_at_a_penalty_is_not_claimed():
    X = noise(6, 40)
    with_small, with_large = (rarefy.certify(X, range(20), alpha=alpha) for alpha in (1e-9, 1e-3))
    assert with_large.risk_ratio == with_large.regularised.risk_factor
    assert with_small.risk_ratio == rarefy.certify(X, range(20)).risk_ratio
    assert accepted(with_small, X)


def test_penalised_numbers_of_a_sketch_are_about_the_data():
    X = noise(20, 40)
    found = rarefy.certify(X, range(30), sketch_size=8, random_state=0, alpha=1.0)
    assert accepted(found, X)
    lo = found.regularised.lo
    assert not accepted(forged(found, regularised=found.to_dict()["regularised"] | {"lo": 1.001 * lo}), X)


def test_verify_never_calls_the_code_that_measures(monkeypatch):
    X, y = noise(12, 40), np.arange(12) % 2
    tall, labels = noise(60, 5), (noise(60, 5)[:, 0] > 0).astype(int)
    honest = [
        (BSSSelector(25).fit(X).certificate_, X, None),
        (BSSSelector(20, method="dual", rank=5).fit(X).certificate_, X, None),
        (rarefy.certify(X, range(30), None, y, C=1.0), X, y),
        (rarefy.certify(X, range(30), alpha=1.0, rank=4), X, None),
        (SupportVectorSelector(BSSSelector(4), scope="all").fit(tall, labels).certificate_, tall, labels),
    ]

    def fails(*_, **__):
        raise AssertionError("verify called what it should check")

    for module in (measure_module, spectrum_module, pencil_module, regularised_module):
        for name, value in vars(module).items():
            if callable(value) and getattr(value, "__module__", "") == module.__name__ and not isinstance(value, type):
                monkeypatch.setattr(module, name, fails)
    monkeypatch.setattr("rarefy.core.svm.linear_model.linear_model", fails)
    monkeypatch.setattr("rarefy.certificates._objective.linear_model", fails)
    for certificate, data, target in honest:
        assert certificate.verify(data, target)


def test_the_matrix_itself_sees_forgeries():
    """Forgeries reach every stored field, and a judge that accepts everything is caught."""
    X, y = noise(8, 24), np.arange(8) % 2
    certificate = rarefy.certify(X, range(16), None, y, C=1.0)
    values = json.loads(json.dumps(certificate.to_dict()))
    rng = np.random.default_rng(0)
    touched = {where for where, _ in forgeries(values, rng)}
    assert touched == set(values) - {name for name in values if name not in Certificate.__dataclass_fields__}
    certificate = rarefy.certify(X, range(16))
    better = forged(certificate, eigenvalues=[0.9, certificate.eigenvalues[1]])
    assert {"margin_floor", "soft_margin_ratio", "risk_ratio"} <= set(improved(certificate, better))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "logistic"])
def test_a_dual_point_outside_of_its_domain_proves_nothing(loss):
    X, y = 1e-3 * noise(10, 20), np.arange(10) % 2
    honest = rarefy.certify(X, range(12), None, y, loss=loss, C=1.0)
    values = honest.to_dict()["objective"]
    assert accepted(honest, X, y)
    sign = np.where(y == 1, 1.0, -1.0)[:, None]
    beyond = {"hinge": 3.0 * sign, "logistic": 1.5 * sign, "squared_hinge": -sign}[loss]  # of sum zero
    lower = values["lower"] if loss == "logistic" else -1e3 if loss == "squared_hinge" else 2.0 * values["lower"]
    assert not accepted(forged(honest, objective=values | {"dual": beyond.tolist(), "lower": lower}), X, y)


def test_a_singular_value_that_rounding_hides_gives_no_claim_about_one_signal():
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((n, 5)))[0] for n in (5, 9))
    X = (U * np.logspace(0, -13.5, 5)) @ V.T
    honest = rarefy.certify(X, range(9), rng.uniform(0.5, 1.5, 9))
    assert honest.margin_floor is not None  # from the weights alone
    assert honest.fixed_signal_risk_ratio() is None
    assert honest.fixed_signal_risk_ratio(1e-3) > 1.0
    assert "one fixed signal" not in honest.statement
    assert accepted(honest, X)
    assert rarefy.certify(X, range(9)).fixed_signal_risk_ratio() == 1.0


def test_small_singular_vectors_are_verified_to_their_last_digit():
    """Problems in which products with the data, divided by singular values, were off by more than is allowed for."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        U, V = (np.linalg.qr(rng.standard_normal((n, 3)))[0] for n in (3, 4))
        X = (U * [1.0, 0.8, 5e-8]) @ V.T
        found = rarefy.certify(X, [0, 1, 2], rng.uniform(0.5, 1.0, 3))
        assert accepted(found, X)
        low, high = found.verify(X).eigenvalues
        exact = np.linalg.svd(np.linalg.svd(X, full_matrices=False)[2][:, :3] * found.weights, compute_uv=False) ** 2
        assert abs(high - exact[0]) <= 0.2 * (found.eigenvalues[1] - high)
        assert low >= 0.0


def test_true_is_no_number_for_both_judges():
    X = noise(1, 6)
    honest = rarefy.certify(X, [0])
    values = json.loads(json.dumps(honest.to_dict()))
    assert accepted(honest, X)
    for change in ({"rank": True}, {"weights": [True]}, {"indices": [False]}, {"energy_kept": True}):
        with pytest.raises(ParameterError, match="is needed, not"):
            Certificate.from_dict(values | change)
        assert not all(right for _, right in CHECKER.check(values | change, X, None))


def test_a_bound_from_fewer_pulls_than_columns_is_refused():
    """The honest dual point with the largest r - 1 pulls instead of r."""
    X, y, C = noise(20, 8), np.arange(20) % 2, 0.1
    X[:, :3] += 0.8 * (y[:, None] - 0.5)
    honest = BestSubsetSelector(3, C=C, loss="squared_hinge").fit(X, y).certificate_
    pulls = np.sort(((X / X.std(axis=0)).T @ honest.dual)[:, 0] ** 2)[::-1]
    gains = np.abs(honest.dual).sum() - np.sum(honest.dual**2) / (4 * C)
    values = json.loads(json.dumps(honest.to_dict())) | {"tree": None, "leaf_duals": None, "settled": [0] * 8}
    for lower, proved in ((gains - pulls[:3].sum() / 2, True), (gains - pulls[:2].sum() / 2, False)):
        forged = values | {"lower_bound": lower * (1 - 1e-6)}
        assert bool(SubsetCertificate.from_dict(forged).verify(X, y)) == proved
        assert all(right for _, right in SUBSET_CHECKER.check(forged, X, y, None)) == proved


def test_what_columns_explain_is_not_stated_where_they_span_everything():
    """It would be true, and a verdict where there is none."""
    X, y = noise(6, 20), np.arange(6) % 2
    honest = rarefy.certify(X, range(12), None, y, C=1.0)
    assert honest.explained is None
    assert not accepted(forged(honest, explained=1.0), X, y)
    values = json.loads(json.dumps(honest.to_dict()))
    unknown = {**values, "objective": values["objective"] | {"empty": float("inf")}}
    assert accepted(Certificate.from_dict(unknown), X, y)


def branched_certificate():
    X, y = noise(24, 8, 3), np.repeat([0, 1], 12)
    found = BestSubsetSelector(3, C=3.0, standardize=False, max_nodes=50, gap_tol=1e-6).fit(X, y).certificate_
    assert found.leaf_duals is not None
    assert len(found.leaf_duals) > 2
    return found, X, y


def subset_accepted(values, X, y):
    """By `verify`; the checker has to agree."""
    try:
        ours = bool(SubsetCertificate.from_dict(values).verify(X, y))
    except ParameterError:
        ours = False
    try:
        theirs = all(right for _, right in SUBSET_CHECKER.check(values, X, y, None))
    except Exception:
        theirs = False
    assert ours == theirs
    return ours


def test_dual_points_that_are_no_numbers_prove_nothing():
    found, X, y = branched_certificate()
    honest = json.loads(json.dumps(found.to_dict()))
    assert subset_accepted(honest, X, y)
    for bad in (float("nan"), float("inf"), -float("inf")):
        for leaf in range(len(found.leaf_duals)):
            values = json.loads(json.dumps(honest))
            values["leaf_duals"][leaf][0][0] = bad
            assert not subset_accepted(values, X, y)
            # A leaf that is left out of the minimum would let any bound through.
            assert not subset_accepted({**values, "lower_bound": values["objective"]}, X, y)
        values = json.loads(json.dumps(honest))
        values["dual"][0][0] = bad
        assert not subset_accepted(values, X, y)


def test_a_tree_has_no_numbers_below_those_of_leaves():
    found, X, y = branched_certificate()
    values = json.loads(json.dumps(found.to_dict()))
    leaf = values["tree"].index(-1)
    for bad in (-2, -10):
        assert not subset_accepted({**values, "tree": [*values["tree"][:leaf], bad, *values["tree"][leaf + 1 :]]}, X, y)


def test_what_is_no_number_is_refused_in_every_field_of_a_model():
    X, y = noise(20, 30), np.repeat([0, 1], 10)
    selector = SupportVectorSelector(BSSSelector(25), scope="all").fit(X, y)
    values = json.loads(json.dumps(selector.certificate_.to_dict()))
    assert values["all_rows"] is not None
    for name in ("empty", "lower", "upper", "C"):
        broken = {**values, "all_rows": values["all_rows"] | {name: float("nan")}}
        with pytest.raises(ParameterError, match="a number is needed"):
            Certificate.from_dict(broken)
        assert not all(right for _, right in CHECKER.check(broken, X, y))
