"""KernelSubspace: coordinates, landmarks, and what is reported about bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

from rarefy.exceptions import DegenerateDataError, ParameterError, TruncatedRankWarning
from rarefy.kernel import KernelSubspace, SubspaceLPSVC, _extraction, _functions

RULES = ["random", "kmeans", "leverage", "cholesky"]


@pytest.fixture
def X():
    return np.random.default_rng(0).random((60, 4))


def test_all_samples_and_all_dimensions_give_the_kernel_back(X):
    K = rbf_kernel(X, gamma=8.0)
    full = KernelSubspace(60, n_landmarks=60, gamma=8.0).fit_transform(X)
    np.testing.assert_allclose(full @ full.T, K, atol=1e-8)
    # Rank 40 is the best approximation of that rank.
    D = KernelSubspace(40, n_landmarks=60, gamma=8.0).fit_transform(X.tolist())
    lam = np.linalg.eigvalsh(K)[::-1]
    np.testing.assert_allclose(np.linalg.norm(D @ D.T - K), np.linalg.norm(lam[40:]), rtol=1e-6)


def test_coordinates_are_the_formula_of_the_paper(X):
    chosen = np.array([3, 17, 4, 40, 41, 59, 8, 22])
    subspace = KernelSubspace(3, kernel="poly", degree=2, gamma=0.5, coef0=0.3, landmarks=chosen).fit(X)
    K = polynomial_kernel(X[chosen], degree=2, gamma=0.5, coef0=0.3)
    lam, U = np.linalg.eigh(K)
    energy = lam[-3:].sum() / lam.sum()
    lam, d = lam[::-1][:3], (U * np.sqrt(np.maximum(lam, 0)))[:, ::-1][:, :3]
    expected = polynomial_kernel(X, X[chosen], degree=2, gamma=0.5, coef0=0.3) @ d / lam
    got = subspace.transform(X)
    np.testing.assert_allclose(np.abs(got), np.abs(expected), atol=1e-10)  # up to the sign of each vector
    np.testing.assert_allclose(np.abs(got[chosen]), np.abs(d), atol=1e-10)  # the landmarks get the rows of D
    assert np.all(got[chosen].mean(axis=0) >= 0)
    np.testing.assert_allclose(subspace.eigenvalues_, lam)
    np.testing.assert_array_equal(subspace.landmark_indices_, chosen)
    np.testing.assert_array_equal(subspace.landmarks_, X[chosen])
    assert subspace.energy_kept_ == pytest.approx(energy)
    assert subspace.gamma_ == 0.5


@pytest.mark.filterwarnings("ignore:the kernel matrix:rarefy.exceptions.TruncatedRankWarning")  # sigmoid, wave
@pytest.mark.parametrize("kernel", ["rbf", "polynomial", "sigmoid", "laplacian", "linear", "cosine", "wave"])
def test_sparse_samples_give_the_same_coordinates(X, kernel):
    X = X * (X > 0.5)
    model = KernelSubspace(2, n_landmarks=20, kernel=kernel, gamma=0.1, random_state=0)
    dense = model.fit(X).transform(X)
    for form in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        np.testing.assert_allclose(model.fit(form(X)).transform(form(X)), dense, atol=1e-9)


@pytest.mark.parametrize("rule", ["random", "leverage", "cholesky"])
def test_precomputed_and_callable_are_the_same_as_the_name(X, rule):
    gamma = 2.0
    options = {"n_components": 5, "n_landmarks": 30, "landmarks": rule, "random_state": 3}
    by_name = KernelSubspace(gamma=gamma, **options).fit(X)
    K = rbf_kernel(X, gamma=gamma)
    for form in (np.asarray, sp.csr_array):
        known = KernelSubspace(kernel="precomputed", **options).fit(form(K))
        np.testing.assert_allclose(known.transform(form(K)), by_name.transform(X), atol=1e-10)
        assert known.landmarks_ is None
        np.testing.assert_array_equal(known.landmark_indices_, by_name.landmark_indices_)

    def own(u, v, width):
        return np.exp(-width * np.sum((u - v) ** 2))

    called = KernelSubspace(kernel=own, kernel_params={"width": gamma}, **options).fit(X)
    np.testing.assert_allclose(called.transform(X), by_name.transform(X), atol=1e-10)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_reproducible(X, rule):
    model = KernelSubspace(4, n_landmarks=10, gamma=1.0, landmarks=rule, random_state=5)
    np.testing.assert_array_equal(model.fit(X).transform(X), model.fit(X).transform(X))
    assert model.map_.shape == (10, 4)
    assert model.landmarks_.shape == (10, 4)
    assert (model.landmark_indices_ is None) == (rule == "kmeans")


def test_leverage_and_cholesky_find_the_odd_samples_that_a_random_choice_misses():
    rng = np.random.default_rng(0)
    X = np.vstack([1e-3 * rng.standard_normal((500, 3)), 5.0 * rng.standard_normal((5, 3))])

    def hits(rule):
        model = KernelSubspace(n_landmarks=12, gamma=1.0, landmarks=rule)
        return np.mean([np.sum(model.set_params(random_state=s).fit(X).landmark_indices_ >= 500) for s in range(10)])

    assert hits("cholesky") == 5.0
    assert hits("leverage") > 3.0 > 1.0 > hits("random")


def test_leverage_takes_at_most_one_of_samples_without_a_kernel_function():
    X = np.abs(np.random.default_rng(0).standard_normal((300, 6)))
    X[100:160] = 0.0  # like empty documents: the cosine kernel is zero there
    space = KernelSubspace(5, n_landmarks=20, kernel="cosine", landmarks="leverage", random_state=0).fit(X)
    assert (~X[space.landmark_indices_].any(axis=1)).sum() <= 1


def test_weights_count_like_repeated_samples(X):
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    weighted = KernelSubspace(4, gamma=1.0).fit(X, sample_weight=weights)
    repeated = KernelSubspace(4, gamma=1.0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_)
    np.testing.assert_allclose(weighted.transform(X), repeated.transform(X), atol=1e-9)


@pytest.mark.parametrize("rule", ["random", "leverage", "cholesky"])
def test_samples_without_weight_are_no_landmarks(X, rule):
    weights = (np.arange(60) % 2).astype(float)
    for n in (None, 10):
        space = KernelSubspace(4, n_landmarks=n, landmarks=rule, random_state=0).fit(X, sample_weight=weights)
        assert np.all(space.landmark_indices_ % 2 == 1)


def test_landmarks_that_are_given_need_no_weight(X):
    assert KernelSubspace(2, landmarks=[0, 2]).fit(X[:4], sample_weight=[1, 1, 0, 0]).n_components_ == 2


@pytest.mark.parametrize("rule", [*RULES, np.arange(20)], ids=str)
def test_float32_is_kept(X, rule):
    model = KernelSubspace(4, n_landmarks=20, landmarks=rule, random_state=0).fit(X.astype(np.float32))
    assert model.transform(X.astype(np.float32)).dtype == model.map_.dtype == model.landmarks_.dtype == np.float32


def test_eigenvalues_at_the_noise_floor_are_dropped_with_a_warning(X):
    with pytest.warns(TruncatedRankWarning, match="KernelSubspace keeps 4 of 10 components"):
        model = KernelSubspace(10, kernel="linear").fit(X)
    assert model.n_components_ == 4
    np.testing.assert_allclose(model.transform(X) @ model.transform(X).T, X @ X.T)
    assert KernelSubspace(kernel="linear").fit(X).n_components_ == 4  # no number was asked for, so none is missed


def test_cholesky_chooses_no_more_landmarks_than_the_kernel_has_dimensions(X):
    with pytest.warns(TruncatedRankWarning, match="keeps 4 of 10 components"):
        model = KernelSubspace(10, n_landmarks=30, kernel="linear", landmarks="cholesky").fit(X)
    assert len(model.landmark_indices_) == model.n_components_ == 4
    np.testing.assert_allclose(model.transform(X) @ model.transform(X).T, X @ X.T)


def test_an_indefinite_kernel_is_repaired_and_reported(X):
    with pytest.warns(TruncatedRankWarning, match="KernelSubspace's landmarks is not positive semi-definite"):
        model = KernelSubspace(3, kernel="sigmoid", gamma=3.0, coef0=-2.0).fit(X)
    assert np.all(model.eigenvalues_ > 0)


def test_the_first_choice_of_leverage_does_not_warn(X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        KernelSubspace(10, n_landmarks=20, kernel="linear", landmarks="leverage", random_state=0).fit(X)
    assert [str(w.message)[:35] for w in caught] == ["KernelSubspace keeps 4 of 10 compon"]
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_landmarks": 61}, r"n_landmarks of {} is 61, but X has only 60 rows"),
        ({"n_components": 11, "n_landmarks": 10}, r"n_components of {} is 11, but 10 landmarks"),
        ({"n_components": 4, "landmarks": [0, 1, 2]}, r"n_components of {} is 4, but 3 landmarks"),
        ({"n_components": 0}, r"'n_components' parameter of {} must be an int .* or None\. Got 0"),
        ({"n_components": True}, r"'n_components' parameter of {}"),
        ({"kernel": "gauss"}, r"'kernel' parameter of {} must be a str among .*Got 'gauss'"),
        ({"gamma": "wide"}, r"'gamma' parameter of {} must be a str among .*Got 'wide'"),
        ({"gamma": 0.0}, r"'gamma' parameter of {}"),
        ({"degree": 0}, r"'degree' parameter of {}"),
        ({"coef0": np.inf}, r"'coef0' parameter of {}"),
        ({"landmarks": "uniform"}, r"'landmarks' parameter of {} must be a str among .*Got 'uniform'"),
        ({"landmarks": 5}, r"'landmarks' parameter of {} must be .* array-like\. Got 5"),
        ({"landmarks": [0, 1, 60]}, r"landmarks of {}, .* distinct row numbers from 0 to 59"),
        ({"landmarks": [0, 1, 1]}, r"landmarks of {}, .* distinct row numbers"),
        ({"kernel": "precomputed"}, r"{} with kernel='precomputed' needs the square matrix"),
        ({"kernel": "precomputed", "landmarks": "kmeans"}, r"landmarks='kmeans' of {} needs samples"),
    ],
)
@pytest.mark.parametrize("estimator", [KernelSubspace, SubspaceLPSVC])
def test_bad_parameters_are_refused_in_the_name_of_the_estimator(X, estimator, parameters, message):
    with pytest.raises(ParameterError, match=message.format(estimator.__name__)):
        estimator(**parameters).fit(X, X[:, 0] > 0.5)


@pytest.mark.parametrize("rule", ["random", "leverage", "cholesky"])
def test_a_kernel_without_positive_eigenvalues_is_refused(rule):
    for model in (KernelSubspace(kernel="precomputed", n_landmarks=n, landmarks=rule) for n in (None, 3)):
        with pytest.raises(DegenerateDataError, match="KernelSubspace found no positive eigenvalue"):
            model.fit(-np.eye(5))


@pytest.mark.parametrize("rule", ["random", "leverage"])
@pytest.mark.parametrize("estimator", [KernelSubspace, SubspaceLPSVC])
def test_a_kernel_matrix_that_is_not_symmetric_is_refused(estimator, rule):
    for n in (None, 3):
        model = estimator(kernel="precomputed", n_landmarks=n, landmarks=rule)
        with pytest.raises(ParameterError, match=f"the kernel of {estimator.__name__} is not symmetric"):
            model.fit(np.triu(np.ones((5, 5))), [0, 1, 0, 1, 0])


def test_blocks_do_not_change_the_coordinates(X, monkeypatch):
    before = KernelSubspace(4, kernel="spline", random_state=0).fit(X).transform(X)
    monkeypatch.setattr(_functions, "_BLOCK_ENTRIES", 100)
    monkeypatch.setattr(_extraction, "_BLOCK_ENTRIES", 100)
    np.testing.assert_allclose(KernelSubspace(4, kernel="spline", random_state=0).fit(X).transform(X), before)


@pytest.mark.parametrize("word", ["mean_distance", "scale", "auto"])
def test_a_word_for_the_width_is_the_same_as_its_number(X, word):
    weights = np.random.default_rng(1).integers(0, 3, 60).astype(float)
    space = KernelSubspace(5, gamma=word, random_state=0).fit(X, sample_weight=weights)
    same = KernelSubspace(5, gamma=space.gamma_, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(space.transform(X), same.transform(X))


def test_the_width_is_that_of_the_kernel_parameters_and_none_where_there_is_none(X):
    assert KernelSubspace(5, gamma=0.1, kernel_params={"gamma": 0.3}).fit(X).gamma_ == 0.3
    assert KernelSubspace(5, gamma=None).fit(X).gamma_ is None
    assert KernelSubspace(5, kernel="spline", gamma=0.1).fit(X).gamma_ is None


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_parameters_that_are_set_after_fit_change_nothing(X, kernel):
    data = sp.csr_array(rbf_kernel(X) if kernel == "precomputed" else X)
    model = KernelSubspace(4, kernel=kernel, gamma=2.0, random_state=0).fit(data)
    before = model.transform(data)
    model.set_params(kernel="chi2", gamma=0.1, degree=1, coef0=7, kernel_params={"gamma": 5.0}, n_components=2)
    np.testing.assert_array_equal(model.transform(data), before)


def test_a_fit_that_fails_leaves_the_one_before(X):
    model = KernelSubspace(4, random_state=0)
    with pytest.raises(NotFittedError):
        model.transform(X)
    before = model.fit(pd.DataFrame(X, columns=list("abcd"))).map_
    with pytest.raises(ParameterError):
        model.set_params(n_components=70).fit(X[:, :2])
    np.testing.assert_array_equal(model.map_, before)
    assert list(model.feature_names_in_) == list("abcd")


def test_coordinates_have_names_and_come_as_a_frame(X):
    out = KernelSubspace(3, random_state=0).set_output(transform="pandas").fit_transform(X)
    assert list(out.columns) == ["kernelsubspace0", "kernelsubspace1", "kernelsubspace2"]


def test_kernel_values_with_the_landmarks_alone_are_enough(X):
    chosen = np.array([40, 3, 17, 25, 8])
    K = rbf_kernel(X, gamma=0.5)
    square = KernelSubspace(3, kernel="precomputed", landmarks=chosen).fit(K)
    table = KernelSubspace(3, kernel="precomputed", landmarks=chosen).fit(K[:, chosen])
    np.testing.assert_allclose(table.transform(K[:, chosen]), square.transform(K))
    y = X[:, 0] > np.median(X[:, 0])
    models = [SubspaceLPSVC(kernel="precomputed", landmarks=chosen).fit(Z, y) for Z in (K, K[:, chosen])]
    np.testing.assert_allclose(models[1].decision_function(K[:, chosen]), models[0].decision_function(K), atol=1e-9)
    with pytest.raises(ParameterError, match=r"shape \(60, 5\). Or give `landmarks`, row numbers"):
        KernelSubspace(3, kernel="precomputed").fit(K[:, chosen])
    with pytest.raises(ParameterError, match="needs the square matrix"):
        KernelSubspace(3, kernel="precomputed", landmarks=chosen[:4]).fit(K[:, chosen])


@pytest.mark.parametrize(
    "function",
    [
        lambda u, v: rbf_kernel(u, v, gamma=0.3),
        lambda u, v: np.exp(-0.3 * ((u - v) ** 2).sum()),
        lambda u, v: float(np.exp(-0.3 * (u @ u + v @ v - 2 * u @ v))),
    ],
    ids=["of matrices", "of samples", "of samples, a plain number"],
)
@pytest.mark.parametrize("rows", [1, 60])
def test_a_function_may_take_samples_or_matrices(X, function, rows):
    known = KernelSubspace(3, gamma=0.3, standardize=False, random_state=0).fit(X)
    own = KernelSubspace(3, kernel=function, random_state=0).fit(X)
    np.testing.assert_allclose(own.transform(X[:rows]), known.transform(X[:rows]), atol=1e-9)
