"""The verdict of a certificate, targets that choose the number of columns, and claims about all rows."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import SVC, LinearSVC

import rarefy
from rarefy.certificates._verdict import columns_needed, verdict_of
from rarefy.exceptions import FewerFeaturesWarning, ParameterError
from rarefy.selection import BSSSelector, LeverageScoreSelector, RandomSelector, SupportVectorSelector


def problem(n=30, d=300, seed=0, shift=1.0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.standard_normal((n, d))
    X[:, :5] += shift * np.where(y == 1, 1.0, -1.0)[:, None]
    return X, y


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (1.0, "strong"),
        (0.9, "strong"),
        (0.89, "useful"),
        (0.5, "useful"),
        (0.49, "weak"),
        (0.1, "weak"),
        (0.09, "none"),
    ],
)
def test_thresholds(share, verdict):
    assert verdict_of(share) == verdict
    assert verdict_of(None) == "none"


def test_the_verdict_comes_first_and_is_the_same_everywhere():
    X, y = problem()
    found = rarefy.certify(X, np.arange(150), y=y, C=1.0)
    assert found.statement.startswith(f"{found.verdict.capitalize()}: {found.sentence}")
    assert found.sentence in found._repr_html_()
    values = found.to_dict()
    assert (values["verdict"], values["sentence"], values["share"]) == (found.verdict, found.sentence, found.share)
    assert json.loads(json.dumps(values))["verdict"] == found.verdict


def test_the_best_certified_share_counts_and_a_common_factor_does_not():
    X, y = problem()
    spectral = BSSSelector(200).fit(X).certificate_
    low, high = spectral.eigenvalues
    assert spectral.share == pytest.approx(low / high)
    assert f"{np.floor(100 * np.sqrt(spectral.share)):.0f} %" in spectral.sentence
    for factor in (0.1, 10.0):
        scaled = rarefy.certify(X, spectral.indices, factor * spectral.weights)
        assert scaled.share <= spectral.share * (1 + 1e-9)
    labels = rarefy.certify(X, spectral.indices, spectral.weights, y=y, C=1.0)
    assert labels.share == max(labels.objective_ratio, low / high)


def test_nothing_is_certified_by_a_sketch_or_without_a_direction():
    X, _ = problem()
    assert rarefy.certify(X, np.arange(100), sketch_size=10, random_state=0).verdict == "none"
    lost = rarefy.certify(X, np.arange(10))
    assert (lost.kind, lost.verdict, lost.share) == ("none", "none", None)
    assert "lose a direction" in lost.sentence


@pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")
def test_fewer_columns_than_dimensions_say_what_they_explain():
    X, _ = problem()
    found = BSSSelector(20).fit(X).certificate_
    kept = X[:, found.indices]
    share = np.sum((kept @ np.linalg.lstsq(kept, X, rcond=None)[0]) ** 2) / np.sum(X**2)
    sigma2 = np.linalg.svd(X, compute_uv=False) ** 2
    assert found.explained == pytest.approx(share)
    assert found.explainable == pytest.approx(sigma2[:20].sum() / sigma2.sum())
    assert found.share == found.explained
    assert found.verdict == "weak"  # however much it is: nothing is said about models
    assert 0.0 < found.explained_ratio <= 1.0
    assert found.verify(X)
    assert found.verify(sp.csr_array(X))


def test_names_of_columns_come_from_what_made_them():
    documents = ["the cat sat", "a dog ran", "the sun is hot", "cats and dogs"]
    vectoriser = TfidfVectorizer()
    X = vectoriser.fit_transform(documents)
    words = vectoriser.get_feature_names_out()
    assert rarefy.certify(X, [1, 3], feature_names=vectoriser).names == tuple(words[[1, 3]])
    assert rarefy.certify(X, words[[1, 3]], feature_names=words).indices.tolist() == [1, 3]
    found = BSSSelector(9).fit(X).certificate_
    assert found.with_names(vectoriser).names == tuple(words[found.indices])
    assert found.with_names(words).verify(X)
    with pytest.raises(ParameterError, match="strings, one for each column"):
        found.with_names(words[:-1])


def test_a_mean_that_dominates_is_worth_a_line():
    X, y = problem()
    assert "centre the columns" not in rarefy.certify(X, np.arange(100)).statement
    found = rarefy.certify(X + 10.0, np.arange(100), y=y, C=1.0)
    assert found.measured["mean_share"] == pytest.approx(
        30 * np.sum((X + 10.0).mean(axis=0) ** 2) / np.sum((X + 10.0) ** 2)
    )
    assert "centre the columns first" in found.statement
    assert "squared_margin_before" in found.measured
    assert "centre the columns first" in BSSSelector(50).fit(X + 10.0).certificate_.statement


def test_how_many_columns_it_would_take():
    X, _ = problem()
    found = BSSSelector(60).fit(X).certificate_
    half, most = columns_needed(found, 0.5), columns_needed(found, 0.9)
    assert 60 <= half <= most <= 300
    assert str(half) in found.sentence
    assert most == 300 or str(most) in found.sentence
    assert columns_needed(rarefy.certify(X, np.arange(300)), 0.9) == 300


@pytest.mark.parametrize(
    ("target", "granted"),
    [
        ({"margin": 0.5}, lambda c: c.margin_floor >= 0.5),
        ({"risk": 3.0}, lambda c: c.risk_ratio <= 3.0),
        ({"objective": 0.5, "C": 0.1}, lambda c: c.objective_ratio >= 0.5),
        ({"objective": 0.5, "loss": "logistic"}, lambda c: c.objective_ratio >= 0.5),
    ],
)
@pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning")
def test_the_smallest_number_that_is_granted(target, granted):
    X, y = problem()
    found = BSSSelector("auto", target=target).fit(X, y)
    assert granted(found.certificate_)
    r = int(found.support_.sum())
    assert found.certificate_.n_requested == r
    assert found.certificate_.verify(X, y)
    fewer = BSSSelector(r - max(1, r // 50)).fit(X)
    if "objective" in target:
        options = {"C": target.get("C", 1.0), "loss": target.get("loss", "hinge")}
        assert not granted(rarefy.certify(X, fewer.support_, fewer.weights_, y=y, **options))
    else:
        assert not granted(fewer.certificate_)


def test_everything_is_kept_where_nothing_less_is_granted():
    X, _ = problem(10, 40)
    assert BSSSelector("auto", target={"margin": 1.0}).fit(X).support_.all()


@pytest.mark.parametrize(
    "target", [None, {}, {"margin": 0.0}, {"margin": 2.0}, {"risk": 1.0}, {"margin": 0.5, "risk": 2.0}, {"width": 1.0},
               {"margin": 0.5, "C": 1.0}, {"objective": 0.5, "loss": "other"}, {"objective": 0.5, "C": 0.0}]
)  # fmt: skip
def test_targets_that_say_nothing_are_refused(target):
    X, y = problem(10, 40)
    with pytest.raises(ParameterError, match="target of BSSSelector must be"):
        BSSSelector("auto", target=target).fit(X, y)


def test_an_objective_needs_labels():
    X, y = problem(10, 40)
    with pytest.raises(ParameterError, match="needs y"):
        BSSSelector("auto", target={"objective": 0.5}).fit(X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        BSSSelector("auto", target={"objective": 0.5}).fit(X, y[:-1])


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_all_rows_follow_from_the_support_vectors(C):
    X, y = problem(60, 400, shift=0.5)
    model = SupportVectorSelector(BSSSelector(150), SVC(kernel="linear", C=C), scope="all").fit(X, y)
    c = model.certificate_
    assert set(model.estimator_.support_) <= set(model.support_vector_indices_)
    assert c.verify(X, y)
    assert not c.verify(X)
    sign = np.where(y == 1, 1.0, -1.0)

    def optimum(A):
        svm = SVC(kernel="linear", C=C, tol=1e-7).fit(A, y)
        w = svm.coef_.ravel()
        return 0.5 * w @ w + C * np.maximum(0.0, 1.0 - sign * svm.decision_function(A)).sum()

    assert 0.0 < c.all_rows_ratio <= optimum(X) / optimum(model.transform(X)) * (1 + 1e-6)
    assert "All rows" in c.statement
    values = c.to_dict()
    values["all_rows"]["upper"] *= 0.99
    assert not rarefy.Certificate.from_dict(values).verify(X, y)
    values = c.to_dict()
    values["rows"] = values["rows"][1:]  # a row that matters is said not to
    assert not rarefy.Certificate.from_dict(values).verify(X, y)


def test_what_all_rows_are_not_certified_for():
    X, y = problem()
    with pytest.raises(ParameterError, match="scope='all'"):
        SupportVectorSelector(scope="all").fit(X, np.arange(30) % 3)
    with pytest.raises(ParameterError, match="scope='all'"):
        SupportVectorSelector(estimator=LinearSVC(), scope="all").fit(X, y)
    with pytest.raises(ParameterError, match="scope='all'"):
        SupportVectorSelector(scope="all").fit(X, y, sample_weight=np.ones(30))
    plain = SupportVectorSelector(RandomSelector(50, random_state=0), scope="all").fit(X, y)
    assert not hasattr(plain, "certificate_")


@pytest.mark.parametrize("method", ["single", "dual", "unweighted"])
def test_columns_as_they_are_get_a_certificate_of_columns_as_they_are(method):
    X, _ = problem()
    found = BSSSelector(100, method=method, rescale=False).fit(X)
    assert np.all(found.weights_ == 1.0)
    np.testing.assert_array_equal(found.transform(X), X[:, found.support_])
    assert found.certificate_.weighting == "unit"
    assert found.certificate_.eigenvalues[1] <= 1.0
    assert found.certificate_.verify(X)


def test_the_best_weights_are_never_worse():
    for seed in range(3):
        X, _ = problem(20, 200, seed)
        ratios = {}
        for weighting in ("optimal", "bss", "unit"):
            low, high = BSSSelector(45, weighting=weighting).fit(X).certificate_.eigenvalues
            ratios[weighting] = high / low
        assert ratios["optimal"] <= 1.002 * min(ratios.values())
    kept = BSSSelector(45, method="unweighted").fit(X)
    assert kept.support_.sum() == 45
    assert np.all(kept.weights_ == 1.0)


@pytest.mark.parametrize("r", [3, 10, 30])
def test_adaptive_sampling_bounds_what_is_left(r):
    X, _ = problem(30, 200)
    X *= np.logspace(0, -3, 30)[:, None]
    found = LeverageScoreSelector(r, sampling="adaptive").fit(X)
    c = found.certificate_
    assert found.support_.sum() == r
    assert (c.method, c.rank, c.weighting) == ("adaptive", r, "unit")
    assert c.verify(X)
    if r < 30:
        assert 1.0 <= c.residual_factor <= r + 1
        assert f"at most {r + 1} is proved" in c.statement
    with pytest.warns(FewerFeaturesWarning, match="no more dimensions"):
        assert LeverageScoreSelector(40, sampling="adaptive").fit(X).support_.sum() == 30


def test_what_would_take_hours_is_the_published_method(monkeypatch):
    X, _ = problem()
    published = BSSSelector(60, weighting="bss").fit(X)
    monkeypatch.setattr("rarefy.core.sparsify.most_even._MOST_FLOPS", 1e3)
    found = BSSSelector(60).fit(X)
    np.testing.assert_array_equal(found.support_, published.support_)
    assert found.certificate_.weighting == "own"
