"""Certificates about two kernel matrices, against SVC, closed forms, plain linear algebra and forgeries."""

import json
import sys
from dataclasses import fields, replace

import numpy as np
import pytest
import scipy.linalg as sl
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import rarefy
import rarefy.kernel._subspace_certificate as blockwise
from rarefy.certificates._kernel_models import best_scales, trained
from rarefy.certificates._kernel_objective import Products, bounds
from rarefy.certificates._objective import targets
from rarefy.core.linalg.rows import as_rows
from rarefy.core.losses.margins import LOSSES, MarginLoss
from rarefy.core.svm.hulls import enclosing_ball, squared_margin
from rarefy.exceptions import DegenerateDataError, ParameterError, TruncatedRankWarning
from rarefy.kernel import KernelFeatureSelector, KernelSubspace
from rarefy.kernel import _feature_selector_certificate as selector_certificate


def samples(n=40, d=5, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)


def kernels(n=40, gamma=2.0, seed=0):
    """Gaussian kernels narrow enough to be well conditioned: of all columns, and of all but one."""
    X, y = samples(n, 5, seed)
    return rbf_kernel(X, gamma=gamma), rbf_kernel(X[:, :4], gamma=gamma), y


def linear(n=12, d=30, kept=24, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X @ X.T, X[:, :kept] @ X[:, :kept].T


def root(K):
    eigenvalues, U = np.linalg.eigh(K)
    return U * np.sqrt(np.maximum(eigenvalues, 0.0))


def svc_objective(K, y, C):
    model = SVC(kernel="precomputed", C=C, tol=1e-9).fit(K, y)
    beta = np.zeros(len(y))
    beta[model.support_] = model.dual_coef_[0]
    slack = np.maximum(0.0, 1.0 - y * model.decision_function(K))
    return 0.5 * beta @ K @ beta + C * slack.sum()


def again(certificate):
    return rarefy.KernelCertificate.from_dict(json.loads(json.dumps(certificate.to_dict(), allow_nan=False)))


# What is claimed


@pytest.mark.parametrize("seed", range(4))
def test_the_interval_is_that_of_the_generalised_eigenvalues(seed):
    K, K_kept, _ = kernels(seed=seed)
    found = rarefy.certify_kernels(K, K_kept)
    ratios = sl.eigh(K_kept, K, eigvals_only=True)
    assert found.eigenvalues == pytest.approx((ratios[0], ratios[-1]), rel=1e-9)
    assert found.eigenvalues[0] <= ratios[0] * (1 + 1e-13)
    assert found.eigenvalues[1] >= ratios[-1] * (1 - 1e-13)
    assert (found.rank, found.resolution, found.kind, found.lost) == (40, 0.0, "deterministic", False)
    assert found.verify(K, K_kept)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), gamma=st.floats(1.0, 20.0), C=st.sampled_from([0.01, 1.0, 100.0]))
def test_no_claim_is_violated_by_models_margins_and_balls(seed, gamma, C):
    K, K_kept, _ = kernels(16, gamma, seed)
    y = np.where(np.arange(16) % 3 == 0, 1.0, -1.0)
    found = rarefy.certify_kernels(K, K_kept, y, C=C)
    before, after = svc_objective(K, y, C), svc_objective(K_kept, y, C)
    low, high = found.objective_interval
    assert low <= before / after * (1 + 1e-7)
    assert high >= before / after * (1 - 1e-7)
    assert found.objective_ratio == min(1.0, low) >= 0.99 * min(1.0, before / after)
    F, F_kept = as_rows(root(K)), as_rows(root(K_kept))
    if not found.lost:
        groups = (y > 0).astype(int)
        assert squared_margin(F_kept, groups) >= found.margin_floor * squared_margin(F, groups) * (1 - 1e-5)
        assert before >= found.soft_margin_ratio * after * (1 - 1e-7)
    if found.radius_ratio is not None:
        assert enclosing_ball(F_kept).radius2 <= found.radius_ratio * enclosing_ball(F).radius2 * (1 + 1e-5)
    assert again(found).verify(K, K_kept, y)


@pytest.mark.parametrize("alpha", [1e-2, 1.0, 100.0])
def test_the_risk_factor_is_exact_at_a_penalty(alpha):
    K, K_kept, y = kernels()
    found = rarefy.certify_kernels(K, K_kept, y, alpha=alpha)
    A, B = K + alpha * np.eye(40), K_kept + alpha * np.eye(40)
    bias = np.linalg.norm(np.linalg.inv(B) @ A, 2) ** 2
    variance = np.trace((K_kept @ np.linalg.inv(B)) @ (K_kept @ np.linalg.inv(B))) / np.trace(
        (K @ np.linalg.inv(A)) @ (K @ np.linalg.inv(A))
    )
    assert found.risk_ratio == pytest.approx(max(bias, variance), rel=1e-8)
    assert found.risk_ratio >= max(bias, variance) * (1 - 1e-12)
    assert 1.0 / (2.0 * alpha) == found.objective.C
    assert again(found).verify(K, K_kept, y)


def test_the_risk_for_every_penalty_follows_from_the_interval():
    K, K_kept, _ = kernels()
    found = rarefy.certify_kernels(K, K_kept)
    low, high = found.eigenvalues
    assert low < 1.0 < high
    assert found.risk_ratio == max(low**-2, high**2)
    assert found.radius_margin_ratio == high / low
    for alpha in (1e-3, 0.1, 10.0):  # worst bias over signals of length one
        shrink = [np.linalg.norm(np.linalg.inv(M + alpha * np.eye(40)), 2) for M in (K_kept, K)]
        assert (shrink[0] / shrink[1]) ** 2 <= found.risk_ratio


def test_kernel_ridge_without_intercept_is_the_squared_loss_of_balanced_responses():
    """With K centred and responses of mean zero the best intercept is 0, and KernelRidge has the optimum."""
    K, K_kept, y = kernels()
    H = np.eye(40) - 1.0 / 40
    K, K_kept, y = H @ K @ H, H @ K_kept @ H, y - y.mean()
    alpha = 0.5

    def objective(M):
        gamma = KernelRidge(alpha=alpha, kernel="precomputed").fit(M, y).dual_coef_
        return np.sum((y - M @ gamma) ** 2) + alpha * gamma @ M @ gamma

    found = rarefy.certify_kernels(K, K_kept, y, alpha=alpha)
    assert found.objective_interval == pytest.approx((objective(K) / objective(K_kept),) * 2, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_both_ends_enclose_the_ratio_for_every_loss_and_several_classes(loss):
    K, K_kept, _ = kernels(30)
    y = np.array(["a", "b", "c"])[np.arange(30) % 3]
    found = rarefy.certify_kernels(K, K_kept, y, loss=loss, C=0.7)
    low, high = found.objective_interval
    assert low <= high <= low * (1 + 1e-3)
    assert found.objective.dual.shape == (30, 3)
    swapped = rarefy.certify_kernels(K_kept, K, y, loss=loss, C=0.7).objective_interval
    assert swapped == pytest.approx((1.0 / high, 1.0 / low), rel=1e-12)
    assert again(found).verify(K, K_kept, y)


@pytest.mark.parametrize("loss", LOSSES)
def test_any_points_are_bounds(loss):
    K, _, y = kernels(20)
    Y, rng = y[:, None], np.random.default_rng(3)
    best = Products.of(K, trained(root(K), Y, loss, 0.5))
    low, high = bounds(best, Y, 0.5, loss, np.zeros(1))
    rule, c = MarginLoss(loss), np.full(20, 0.5)
    for _ in range(30):
        beta = rule.balanced(y, rng.standard_normal(20) * 10.0 ** rng.uniform(-3, 1), c)[:, None]
        lower, upper = bounds(Products.of(K, beta), Y, 0.5, loss, rng.standard_normal(1))
        assert lower <= high
        assert upper >= low


def test_points_that_prove_nothing():
    K, _, y = kernels(10)
    Y = y[:, None]
    assert 0 < np.sum(y > 0) < 10
    unbalanced, wrong, high = 0.1 * (Y > 0), MarginLoss("squared").balanced(y, y, y)[:, None], np.zeros((10, 1))
    high[[np.argmax(y), np.argmin(y)]] = [[2.0], [-2.0]]  # above C
    for beta in (unbalanced, -0.1 * wrong, high, np.full((10, 1), np.nan)):
        assert bounds(Products.of(K, beta), Y, 1.0, "hinge", np.zeros(1))[0] == -np.inf
    assert bounds(Products.of(K, 0.0 * Y), Y, 1.0, "hinge", np.array([np.inf]))[1] == np.inf


def test_the_same_kernel_keeps_everything():
    K, _, y = kernels()
    found = rarefy.certify_kernels(K, K, y, C=1.0)
    assert found.eigenvalues == pytest.approx((1.0, 1.0), abs=1e-9)
    assert found.objective_ratio == pytest.approx(1.0, abs=1e-4)
    assert found.verdict == "strong"
    assert found.explained == 1.0


def test_a_common_factor_of_the_kept_kernel_is_seen_and_said():
    K, K_kept, y = kernels()
    found = rarefy.certify_kernels(K, 100.0 * K_kept, y, C=1.0)
    plain = rarefy.certify_kernels(K, K_kept, y, C=1.0)
    assert found.objective_interval[0] > 2.0 * plain.objective_interval[0]
    assert found.objective_ratio == 1.0
    assert found.radius_margin_ratio == pytest.approx(plain.radius_margin_ratio, rel=1e-9)
    assert "100 times the trace" in found.statement
    assert "times the trace" not in plain.statement


def test_fewer_columns_of_a_linear_kernel_are_nested_and_agree_with_certify():
    X = np.random.default_rng(0).standard_normal((12, 30))
    K, K_kept = X @ X.T, X[:, :24] @ X[:, :24].T
    found, columns = rarefy.certify_kernels(K, K_kept), rarefy.certify(X, np.arange(24))
    assert found.eigenvalues == pytest.approx(columns.eigenvalues, rel=1e-8)
    for name in ("margin_floor", "soft_margin_ratio", "radius_ratio", "radius_margin_ratio", "risk_ratio"):
        assert getattr(found, name) == pytest.approx(getattr(columns, name), rel=1e-8)
    assert found.nested
    assert found.explained == pytest.approx(np.trace(K_kept) / np.trace(K))


def test_a_lost_direction_leaves_no_claim_from_below():
    K, K_kept = linear(kept=8)
    found = rarefy.certify_kernels(K, K_kept)
    assert found.lost
    assert (found.kind, found.verdict, found.share) == ("none", "none", None)
    assert (found.margin_floor, found.soft_margin_ratio, found.risk_ratio) == (None, None, None)
    assert 0.5 < found.radius_ratio <= 1.0 + 1e-9
    assert "lost" in found.sentence
    assert "No claim about the margin" in found.statement
    assert again(found).verify(K, K_kept)
    risky = rarefy.certify_kernels(K, K_kept, alpha=5.0)
    assert 1.0 < risky.risk_ratio < np.inf
    assert risky.kind == "none"
    assert risky.verify(K, K_kept)


def test_a_kernel_that_reaches_beyond_has_no_radius_claim():
    K_kept, K = linear(kept=8)
    found = rarefy.certify_kernels(K, K_kept)
    assert (found.rank, found.radius_ratio) == (8, None)
    # lo is the smallest ratio over all sums with directions that K does not see.
    values, U = np.linalg.eigh(K)
    inside = U[:, 4:] / np.sqrt(values[4:])
    exact = 1.0 / np.linalg.eigvalsh(inside.T @ K @ np.linalg.inv(K_kept) @ K @ inside)[-1]
    assert found.margin_floor == pytest.approx(exact, rel=1e-8)
    assert found.resolution > 0.0
    assert "wider than" in found.statement
    assert again(found).verify(K, K_kept)


@pytest.mark.parametrize("gamma", [0.01, 0.3, 2.0])
def test_smooth_kernels_whose_matrices_are_singular_in_floating_point(gamma):
    X, y = samples(80, 2)
    K, K_kept = rbf_kernel(X, gamma=gamma), rbf_kernel(X[:, :1], gamma=gamma)
    found = rarefy.certify_kernels(K, K_kept, y, C=1.0)
    assert found.lost
    assert found.objective_ratio > 0.0
    assert again(found).verify(K, K_kept, y)
    other = rarefy.certify_kernels(K_kept, K, y, C=1.0)
    assert other.radius_ratio is None
    assert other.verify(K_kept, K, y)


@pytest.mark.parametrize("digits", range(7, 15))
def test_what_rounding_blurs_is_not_stated(digits):
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
    half = Q * 10.0 ** (-0.5 * np.linspace(0, digits, 12))
    K, K_kept = half @ half.T, (half * np.linspace(0.5, 2.0, 12)) @ half.T
    found = rarefy.certify_kernels(K, K_kept)
    assert found.verify(K, K_kept)
    if digits <= 8:
        assert found.eigenvalues == pytest.approx((0.5, 2.0), rel=1e-3)
    if digits >= 11:
        assert found.eigenvalues == (0.0, np.inf)


# Awkward input


@pytest.mark.parametrize("scale", [1e-60, 1e60])
def test_scales_do_not_matter(scale):
    K, K_kept, y = kernels()
    plain = rarefy.certify_kernels(K, K_kept)
    found = rarefy.certify_kernels(scale * K, scale * K_kept)
    assert found.eigenvalues == pytest.approx(plain.eigenvalues, rel=1e-9)
    assert found.verify(scale * K, scale * K_kept)
    with_labels = rarefy.certify_kernels(scale * K, scale * K_kept, y, C=1.0 / scale)
    assert with_labels.objective_ratio == pytest.approx(
        rarefy.certify_kernels(K, K_kept, y, C=1.0).objective_ratio, rel=1e-3
    )
    assert with_labels.verify(scale * K, scale * K_kept, y)
    risky = rarefy.certify_kernels(scale * K, scale * K_kept, alpha=0.3 * scale)
    assert risky.risk_ratio == pytest.approx(rarefy.certify_kernels(K, K_kept, alpha=0.3).risk_ratio, rel=1e-8)
    assert again(risky).verify(scale * K, scale * K_kept)


def test_samples_of_very_different_length():
    K, K_kept = linear()
    lengths = 10.0 ** np.linspace(-6, 6, 12)
    K, K_kept = (lengths[:, None] * A * lengths for A in (K, K_kept))
    found = rarefy.certify_kernels(K, K_kept)
    assert found.eigenvalues == pytest.approx(rarefy.certify_kernels(*linear()).eigenvalues, rel=1e-8)
    assert again(found).verify(K, K_kept)


def test_one_sample_equal_samples_and_a_zero_sample():
    one = rarefy.certify_kernels([[4.0]], [[1.0]])
    assert one.eigenvalues == pytest.approx((0.25, 0.25))
    assert one.verify([[4.0]], [[1.0]])
    K, K_kept, y = kernels(20)
    twice = np.r_[np.arange(20), np.arange(5)]
    A, B = K[np.ix_(twice, twice)], K_kept[np.ix_(twice, twice)]
    found = rarefy.certify_kernels(A, B, y[twice], C=1.0)
    assert found.rank == 20
    # On the range of K, repeating samples changes nothing.
    assert found.eigenvalues == pytest.approx(rarefy.certify_kernels(K, K_kept).eigenvalues, rel=1e-8)
    assert again(found).verify(A, B, y[twice])
    C, D = (sl.block_diag(M, 0.0) for M in linear())
    zero = rarefy.certify_kernels(C, D)
    assert zero.rank == 12
    assert zero.verify(C, D)


def test_a_kept_kernel_of_zeros_keeps_nothing():
    K, _, y = kernels(10)
    nothing = rarefy.certify_kernels(K, np.zeros((10, 10)), y, C=1.0)
    assert nothing.lost
    assert nothing.explained == 0.0
    assert 0.0 < nothing.objective_ratio < 1.0
    assert again(nothing).verify(K, np.zeros((10, 10)), y)
    assert rarefy.certify_kernels(K, np.zeros((10, 10)), alpha=1.0).verify(K, np.zeros((10, 10)))


def test_single_precision_is_taken_for_rounding():
    X, y = samples(50, 2)
    K, K_kept = (rbf_kernel(A, gamma=0.1).astype(np.float32) for A in (X, X[:, :1]))
    assert np.linalg.eigvalsh(K.astype(float))[0] < -1e-10
    found = rarefy.certify_kernels(K, K_kept, y, C=1.0)
    assert found.verify(K, K_kept, y)


@pytest.mark.parametrize(
    ("K", "words"),
    [
        (np.ones((2, 3)), "square"),
        (np.array([[1.0, 0.5], [0.0, 1.0]]), "not symmetric"),
        (np.array([[1.0, 2.0], [2.0, 1.0]]), "positive semi-definite"),
        (-np.eye(2), "positive semi-definite"),
    ],
)
def test_what_is_no_kernel_matrix_is_refused(K, words):
    with pytest.raises(ParameterError, match=words):
        rarefy.certify_kernels(K, np.eye(2))
    with pytest.raises(ParameterError, match=words):
        rarefy.certify_kernels(np.eye(2), K)
    with pytest.raises(ParameterError, match=words):
        rarefy.certify_kernels(np.eye(2), np.eye(2)).verify(K, np.eye(2))


def test_arguments_that_do_not_fit_together_are_refused():
    K, K_kept, y = kernels(10)
    with pytest.raises(ParameterError, match="same samples"):
        rarefy.certify_kernels(K, np.eye(3))
    with pytest.raises(ParameterError, match="not both"):
        rarefy.certify_kernels(K, K_kept, y, C=1.0, alpha=1.0)
    with pytest.raises(ParameterError, match="needs labels"):
        rarefy.certify_kernels(K, K_kept, C=1.0)
    with pytest.raises(ParameterError, match="needs C"):
        rarefy.certify_kernels(K, K_kept, y)
    with pytest.raises(ParameterError, match="one entry for each of the 10"):
        rarefy.certify_kernels(K, K_kept, y[:5], C=1.0)
    with pytest.raises(ParameterError, match="'C' parameter"):
        rarefy.certify_kernels(K, K_kept, y, C=-1.0)
    with pytest.raises(ParameterError, match="rounding decides"):
        rarefy.certify_kernels(np.ones((10, 10)), np.ones((10, 10)), alpha=1e-14)
    with pytest.raises(DegenerateDataError, match="every entry is zero"):
        rarefy.certify_kernels(np.zeros((2, 2)), np.eye(2))
    for bad in (np.full((2, 2), np.nan), np.ones(4), None):
        with pytest.raises(ValueError, match=r"."):
            rarefy.certify_kernels(bad, np.eye(2))


# Checking


CASES = {
    "labels": lambda: (*kernels(20), {"C": 1.0}),
    "ridge": lambda: (*kernels(20), {"alpha": 0.5}),
    "lost": lambda: (*linear(kept=8), None, {"alpha": 3.0}),
    "beyond": lambda: (*linear(kept=8)[::-1], None, {}),
}
GARBAGE = (None, np.nan, np.inf, -1.0, "x", [], {}, True)


FACTORS = (0.999, 1.001, 0.5, 2.0, 0.1, 10.0)


def others(value):
    """What one stored value may be forged to; nothing where it claims nothing."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value - 1, value + 1, 2 * value, 10 * value]
    if isinstance(value, float):
        return [value * f for f in FACTORS if value]
    if isinstance(value, list) and np.ndim(value) == 2:
        return [(f * np.array(value)).tolist() for f in FACTORS]
    if isinstance(value, list):
        return [[*value[:i], one, *value[i + 1 :]] for i, old in enumerate(value) for one in others(old)]
    return []


def forged(values, change):
    """All changes of one value, also inside of parts."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from (((name, *path), values | {name: part}) for path, part in forged(value, change))
        yield from (((name,), values | {name: other}) for other in change(value))


def verified(values, *data):
    try:
        return bool(rarefy.KernelCertificate.from_dict(values).verify(*data))
    except ParameterError:
        return False


def stored(certificate):
    values = certificate.to_dict()
    return {f.name: values[f.name] for f in fields(certificate) if f.name != "fingerprint"} | {"fingerprint": None}


@pytest.mark.parametrize("case", CASES)
def test_no_forged_number_is_verified(case):
    K, K_kept, y, options = CASES[case]()
    honest = stored(rarefy.certify_kernels(K, K_kept, y, **options))
    assert verified(honest, K, K_kept, y)
    tried = 0
    for path, values in forged(honest, others):
        tried += 1
        assert not verified(values, K, K_kept, y), path
    assert tried >= 20


@pytest.mark.parametrize("case", CASES)
def test_garbage_is_refused_with_words(case):
    K, K_kept, y, options = CASES[case]()
    honest = stored(rarefy.certify_kernels(K, K_kept, y, **options))
    honest.pop("fingerprint")
    for path, values in forged(honest, lambda value: [other for other in GARBAGE if other is not value]):
        removed = path in (("objective",), ("regularised",), ("regularised", "hi"))  # None: nothing is claimed
        at = values
        for name in path:
            at = at[name]
        if removed and (at is None or at == np.inf):
            continue
        assert not verified(values | {"fingerprint": None}, K, K_kept, y), (path, at)
    for name in honest:
        with pytest.raises(ParameterError, match="missing"):
            rarefy.KernelCertificate.from_dict({k: v for k, v in honest.items() if k != name} | {"fingerprint": None})
    with pytest.raises(ParameterError, match="dict"):
        rarefy.KernelCertificate.from_dict(3)


def test_claims_that_were_not_measured_are_refused():
    K, K_kept, _ = kernels(20)
    honest = rarefy.certify_kernels(K, K_kept)
    low, high = honest.eigenvalues
    for changed in (
        replace(honest, eigenvalues=(0.0, high)),  # what is sure may not be called lost
        replace(honest, eigenvalues=(low, np.inf)),
        replace(honest, rank=None),
        replace(honest, nested=True),
        replace(honest, resolution=1e-3),
        replace(honest, eigenvalues=(high, low)),
    ):
        assert not changed.verify(K, K_kept)
    lost = rarefy.certify_kernels(*linear(kept=8))
    for low in (1e-300, 1e-9, 0.5):
        assert not replace(lost, eigenvalues=(low, lost.eigenvalues[1])).verify(*linear(kept=8))


def test_other_matrices_and_labels_do_not_agree():
    K, K_kept, y = kernels(20)
    found = rarefy.certify_kernels(K, K_kept, y, C=1.0)
    assert found.verify(K, K_kept, y).same_data
    near = found.verify(K * (1 + 1e-15), K_kept, y)
    assert near
    assert not near.same_data
    assert not found.verify(K_kept, K, y)
    assert not found.verify(K, K_kept, -y)
    assert "no y was passed" in found.verify(K, K_kept).reason
    assert "zero" in found.verify(np.zeros((20, 20)), K_kept, y).reason
    with pytest.raises(ParameterError, match="20 samples"):
        found.verify(K[:5, :5], K_kept[:5, :5], y[:5])


def test_verification_never_calls_what_measured(monkeypatch):
    K, K_kept, y = kernels(20)
    found = rarefy.certify_kernels(K, K_kept, y, alpha=0.5)

    def forbidden(*args, **kwargs):
        raise AssertionError("the measuring code was called")

    for name in ("pencil", "regularised"):
        module = sys.modules[f"rarefy.core.certificates.{name}"]
        for function in [key for key, value in vars(module).items() if callable(value) and not isinstance(value, type)]:
            monkeypatch.setattr(module, function, forbidden)
    assert found.verify(K, K_kept, y)


def test_text_and_html():
    K, K_kept, y = kernels(20)
    found = rarefy.certify_kernels(K, K_kept, y, C=1.0)
    assert str(found) == found.statement
    assert found.statement.startswith(f"{found.verdict.capitalize()}: {found.sentence}")
    assert "KernelCertificate(kind='deterministic', samples=20" in repr(found)
    assert found._repr_html_().count("<li>") == len(found.statement.splitlines()) - 1
    assert again(found).statement == found.statement
    without = rarefy.certify_kernels(K, K_kept)
    assert "whatever the labels are" in without.sentence
    nothing = replace(found, objective=replace(found.objective, lower=-1.0))
    assert nothing.objective_ratio is None
    assert "No claim about the objective" in nothing.statement


# Subspaces


@pytest.fixture(scope="module")
def subspace():
    X, y = samples(60, 3)
    return KernelSubspace(12, gamma=0.3, random_state=0).fit(X), X, y


def matrices(model, X):
    D = np.asarray(model.transform(X), dtype=np.float64)
    return model.kernel_(X), D @ D.T


def test_a_subspace_without_labels_says_what_it_explains(subspace):
    model, X, _ = subspace
    found = model.certify(X)
    K, K_kept = matrices(model, X)
    assert found.nested
    assert found.lost
    assert found.explained == pytest.approx(np.trace(K_kept) / np.trace(K))
    assert f"residual is {1 - found.explained:.4g}" in found.statement
    assert found.verify(K, K_kept)
    assert model.certify(X, alpha=1.0).risk_ratio > 1.0


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("classes", [2, 3])
def test_blocks_give_a_bound_below_the_trained_one(subspace, monkeypatch, loss, classes):
    model, X, _ = subspace
    y = np.argmax(X, axis=1) % classes
    held = model.certify(X, y, loss=loss, C=0.4)
    monkeypatch.setattr(blockwise, "LARGEST_HELD", 10)
    monkeypatch.setattr(blockwise, "_BLOCK_ENTRIES", 700)  # several blocks, the last one shorter
    found = model.certify(X, y, loss=loss, C=0.4)
    K, K_kept = matrices(model, X)
    assert found.rank is None
    assert found.explained == pytest.approx(held.explained)
    assert found.objective.upper == pytest.approx(held.objective.upper, rel=1e-4)
    assert 0.3 < found.objective_ratio <= held.objective_ratio * (1 + 1e-4)
    assert found.objective_interval[1] >= held.objective_interval[0]
    assert again(found).verify(K, K_kept, y)
    assert not replace(found, eigenvalues=(0.5, np.inf)).verify(K, K_kept, y)
    assert "not decomposed" in found.statement


@pytest.mark.parametrize("loss", LOSSES)
def test_the_scale_of_a_dual_point_is_the_best(loss):
    K, _, y = kernels(15)
    Y = targets(y, loss)
    point = Products.of(K, MarginLoss(loss).balanced(y, 0.2 * y, np.full(15, 0.3))[:, None])
    t = best_scales(point, Y, 0.3, loss)
    best = bounds(point.scaled(t), Y, 0.3, loss, np.zeros(1))[0]
    for other in t * np.linspace(0.0, 1.5, 31)[:, None]:
        assert bounds(point.scaled(other), Y, 0.3, loss, np.zeros(1))[0] <= best + 1e-6 * abs(best)
    assert best_scales(point.scaled(np.zeros(1)), Y, 0.3, loss) == 0.0


def test_ridge_in_blocks(subspace, monkeypatch):
    model, X, _ = subspace
    y = X[:, 0] + X[:, 1]
    held = model.certify(X, y, alpha=2.0)
    monkeypatch.setattr(blockwise, "LARGEST_HELD", 10)
    found = model.certify(X, y, alpha=2.0)
    assert found.objective.C == 0.25
    assert 0.5 < found.objective_ratio <= held.objective_ratio * (1 + 1e-6)
    assert model.certify(X).explained == pytest.approx(held.explained)
    with pytest.raises(ParameterError, match="up to 10 samples"):
        model.certify(X, alpha=2.0)


def test_subspaces_of_precomputed_sparse_and_single_precision_kernels(subspace):
    model, X, y = subspace
    K = model.kernel_(X)
    given = KernelSubspace(12, kernel="precomputed", random_state=0).fit(K)
    assert given.certify(K, y).objective_ratio == pytest.approx(model.certify(X, y).objective_ratio, rel=1e-9)
    with pytest.raises(ParameterError, match="square"):
        given.certify(K[:10])
    single = KernelSubspace(12, gamma=0.3, random_state=0).fit(X.astype(np.float32))
    assert single.certify(X.astype(np.float32), y).objective_ratio == pytest.approx(
        model.certify(X, y).objective_ratio, rel=1e-3
    )
    with pytest.warns(TruncatedRankWarning, match="semi-definite"):
        wave = KernelSubspace(4, kernel="wave").fit(samples(20, 4)[0])
    with pytest.raises(ParameterError, match="positive semi-definite"):
        wave.certify(samples(20, 4)[0])
    with pytest.raises(ParameterError, match="'loss' parameter"):
        model.certify(X, y, loss="cubic")


# Feature weights


def test_feature_weights_are_certified_beside_weights_of_one(monkeypatch):
    X, y = samples(60, 6)
    model = KernelFeatureSelector(C=2.0, mu=1.0, standardize=False).fit(X, y)
    found = model.certify(X, y)
    K, K_kept = rbf_kernel(X, gamma=1.0), rbf_kernel(X * model.feature_weights_, gamma=1.0)
    assert found.verify(K, K_kept, y)
    assert found.objective.C == 2.0
    assert found.objective_interval[0] == pytest.approx(
        svc_objective(K, y, 2.0) / svc_objective(K_kept, y, 2.0), rel=1e-4
    )
    assert model.certify(X, y, C=5.0).objective.C == 5.0
    assert model.certify(X, alpha=1.0).verify(K, K_kept)
    assert model.certify(X).objective is None
    monkeypatch.setattr(selector_certificate, "LARGEST", 50)
    with pytest.raises(ParameterError, match="up to 50 samples"):
        model.certify(X)


def test_feature_weights_of_a_polynomial_kernel():
    X, y = samples(40, 4)
    model = KernelFeatureSelector(mu=0.1, kernel="poly", degree=2, standardize=False).fit(X, y)
    K, K_kept = (((X * z) @ (X * z).T + 1.0) ** 2 for z in (np.ones(4), model.feature_weights_))
    assert model.certify(X, y).verify(K, K_kept, y)
