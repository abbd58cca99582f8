"""The fewest dimensions of a subspace that keep what is asked for."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel

from rarefy.exceptions import ParameterError, TruncatedRankWarning
from rarefy.kernel import KernelSubspace, SubspaceLPSVC
from rarefy.kernel import _dimensions as module


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=4, return_X_y=True)
    return X[:300] / 16, y[:300]


def explained(X, S, **options):
    """Mean squared length of the first coordinates of all samples, which have length 1 with this kernel."""
    return float(np.mean(np.sum(KernelSubspace(S, random_state=0, **options).fit_transform(X) ** 2, axis=1)))


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_the_fewest_dimensions_that_hold_a_share_of_the_kernel_are_kept(digits, share):
    X, _ = digits
    subspace = KernelSubspace("auto", target={"explained": share}, n_landmarks=200, random_state=0).fit(X)
    S = subspace.n_components_
    assert explained(X, S, n_landmarks=200) >= share - 1e-9
    assert explained(X, S - 1, n_landmarks=200) < share
    whole = KernelSubspace(S, n_landmarks=200, random_state=0).fit(X)
    np.testing.assert_allclose(subspace.eigenvalues_, whole.eigenvalues_)
    np.testing.assert_allclose(np.abs(subspace.transform(X[:9])), np.abs(whole.transform(X[:9])), atol=1e-8)
    assert subspace.energy_kept_ == pytest.approx(whole.energy_kept_)
    assert subspace.get_feature_names_out().shape == (S,)


def test_the_share_of_an_objective_is_that_of_its_certificate(digits):
    X, y = digits
    target = {"objective": 0.8, "C": 0.5}
    S = KernelSubspace("auto", target=target, random_state=0).fit(X, y).n_components_
    shares = [KernelSubspace(size, random_state=0).fit(X).certify(X, y, C=0.5).objective_ratio for size in (S, S - 4)]
    assert shares[0] >= 0.8 - 2e-3  # both are trained to a thousandth or so
    assert shares[1] < 0.8 + 2e-3
    more = KernelSubspace("auto", target=target | {"objective": 0.95}, random_state=0).fit(X, y).n_components_
    assert more > S


def test_losses_of_a_part_of_the_samples_count_for_more(digits, monkeypatch):
    X, y = digits
    target = {"objective": 0.8}
    whole = KernelSubspace("auto", target=target, random_state=0).fit(X, y).n_components_
    monkeypatch.setattr(module, "MEASURED", 150)
    part = KernelSubspace("auto", target=target, random_state=0).fit(X, y).n_components_
    assert 0.5 * whole <= part <= 1.5 * whole


def test_samples_of_weight_zero_do_not_count(digits):
    X, y = digits
    weights = np.ones(len(y))
    weights[::3] = 0.0
    for target in ({"explained": 0.8}, {"objective": 0.8}):
        common = {"n_components": "auto", "target": target, "random_state": 0, "gamma": 0.05}
        part = KernelSubspace(**common).fit(X[weights > 0], y[weights > 0])
        assert KernelSubspace(**common).fit(X, y, weights).n_components_ == part.n_components_


def test_a_share_that_the_landmarks_do_not_span_is_reported(digits):
    X, y = digits
    with pytest.warns(TruncatedRankWarning, match=r"span keep a share of 0\.\d+, not 0\.99"):
        few = KernelSubspace("auto", target={"explained": 0.99}, n_landmarks=20, random_state=0).fit(X)
    assert few.n_components_ == 20
    with pytest.warns(TruncatedRankWarning, match="not 0.999"):
        SubspaceLPSVC(n_components="auto", target={"objective": 0.999}, n_landmarks=20, random_state=0).fit(X, y)


def test_the_classifier_keeps_nine_tenths_of_the_objective_by_default(digits):
    X, y = digits
    model = SubspaceLPSVC(n_components="auto", random_state=0).fit(X, y)
    same = KernelSubspace("auto", target={"objective": 0.9}, random_state=0).fit(X, y)
    assert model.coef_.shape[1] == model.subspace_.n_components_ == same.n_components_ < 300


def test_precomputed_kernels(digits):
    X, _ = digits
    K = rbf_kernel(X, gamma=0.1)
    S = KernelSubspace("auto", kernel="precomputed", random_state=0).fit(K).n_components_
    assert KernelSubspace("auto", gamma=0.1, random_state=0, standardize=False).fit(X).n_components_ == S
    with pytest.raises(ParameterError, match="needs all kernel values"):
        KernelSubspace("auto", kernel="precomputed", landmarks=np.arange(50)).fit(K[:, :50])


@pytest.mark.parametrize(
    "target",
    [
        {},
        {"explained": 1.0},
        {"explained": 0.0},
        {"explained": "most"},
        {"explained": 0.5, "C": 1.0},
        {"explained": 0.5, "objective": 0.5},
        {"objective": 0.9, "C": -1.0},
        {"objective": 0.9, "loss": "huber"},
        {"margin": 0.9},
        {"objective": 0.9, "C": np.inf},
        {"objective": 0.9, "loss": ["hinge"]},
    ],
)
def test_targets_that_say_nothing_are_refused(digits, target):
    with pytest.raises(ParameterError, match="target of KernelSubspace must be"):
        KernelSubspace("auto", target=target).fit(digits[0])


def test_an_objective_needs_labels(digits):
    with pytest.raises(ParameterError, match="needs y"):
        KernelSubspace("auto", target={"objective": 0.9}).fit(digits[0])
