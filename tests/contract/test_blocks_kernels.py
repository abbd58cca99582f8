"""What estimators with a kernel promise on data in blocks: the same as on the array, however the rows are cut."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rarefy
from rarefy import blocks
from rarefy.exceptions import BlockError, MemoryBudgetError, ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelSubspace, SubspaceLPSVC
from rarefy.ranking import OrdinalRankRC, OrdinalRankRCCV, RankRC, RankRCCV, certify_scores

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SEED = {"random_state": 0}
RANKERS = [
    RankRC(**SEED),
    RankRC(basis="rare"),
    RankRC(basis=30, landmarks="kmeans", **SEED),
    RankRC(basis=40, landmarks="leverage", **SEED),
    RankRC(basis=40, landmarks="cholesky", **SEED),
    RankRC(landmarks="greedy", basis=20, **SEED),
    RankRC(gamma="scale", standardize=True, **SEED),
    RankRC(kernel="poly", degree=2, alpha=0.1, **SEED),
    RankRC(kernel="laplacian", **SEED),
    RankRC(kernel="cosine", basis=[5, 2, 100], **SEED),
    RankRC(penalty="l1", alpha=0.01, tol=1e-12, **SEED),
    RankRC(emphasis={"push": 2.0}, **SEED),
    RankRC(threshold={"recall": 0.7, "confidence": 0.8}, **SEED),
    RankRC(solver="stochastic", max_iter=2, **SEED),
    OrdinalRankRC(**SEED),
    RankRCCV(RankRC(**SEED), alphas=[1e-3, 1e-1], cv=2),
    RankRCCV(RankRC(**SEED), alphas=[1e-3, 1e-1], cv=2, scoring="f1_macro"),
    OrdinalRankRCCV(OrdinalRankRC(**SEED), alphas=[1e-3, 1e-1], cv=2),
]
SUBSPACES = [
    KernelSubspace(8, **SEED),
    KernelSubspace(8, n_landmarks=40, landmarks="leverage", **SEED),
    KernelSubspace(8, n_landmarks=40, landmarks="kmeans", **SEED),
    KernelSubspace(8, n_landmarks=40, landmarks="cholesky", **SEED),
    KernelSubspace("auto", n_landmarks=60, **SEED),
]
CLASSIFIERS = [
    SubspaceLPSVC(n_components=8, n_landmarks=40, **SEED),
    SubspaceLPSVC(n_components=8, n_landmarks=40, norm=2, **SEED),
    SubspaceLPSVC(n_components=8, n_landmarks=40, norm="inf", **SEED),
    SubspaceLPSVC(n_components=8, n_landmarks=40, multi_class="direct", **SEED),
    SubspaceLPSVC(n_components=8, n_landmarks=40, tol="predictions", norm="inf", **SEED),
]
FEATURES = [
    KernelFeatureSelector(mu=1.0, init="scaled", validation_fraction=None),
    KernelFeatureSelector(n_landmarks=40, init="interactions", validation_fraction=None),
    KernelFeatureSelector(n_landmarks=40, init="scaled", groups=["a", "b", "b", "c", "c"]),
]


def name(estimator):
    return repr(estimator).replace("\n", "")


def draw():
    """400 rows, five columns; a rare class in two places, and three levels."""
    rng = np.random.default_rng(3)
    level = rng.choice(3, 400, p=[0.85, 0.08, 0.07])
    X = rng.standard_normal((400, 5)) + np.array([0.0, 1.5, 2.5])[level, None] * rng.choice([-1.0, 1.0], (400, 1))
    X[rng.random(X.shape) < 0.1] = 0.0
    return X, level


X, LEVELS = draw()
RARE = np.where(LEVELS > 0, "fraud", "fair")


def target(estimator):
    return LEVELS if isinstance(estimator, (OrdinalRankRC, OrdinalRankRCCV, SubspaceLPSVC)) else RARE


def kinds(folder):
    """The same matrix in blocks of all kinds."""
    yield X, blocks.from_arrays(folder / "a", X, block_rows=150)
    yield sp.csr_array(X), blocks.from_arrays(folder / "b", sp.csr_array(X), block_rows=64)
    yield X, blocks.from_iterator(lambda: (X[i : i + 50] for i in range(0, 400, 50)))


def scores_of(estimator, Z):
    return estimator.score_samples(Z) if hasattr(estimator, "score_samples") else estimator.decision_function(Z)


@pytest.mark.parametrize("estimator", RANKERS, ids=name)
def test_rankers_give_the_same_on_blocks(estimator, tmp_path):
    y = target(estimator)
    for data, in_blocks in kinds(tmp_path):
        expected, found = clone(estimator).fit(data, y), clone(estimator).fit(in_blocks, y)
        if expected.basis_ is not None:
            np.testing.assert_array_equal(found.basis_, expected.basis_)
        reference = scores_of(expected, data)
        # What stops at a gap reaches it by other roundings.
        rough = any(word in name(estimator) for word in ("l1", "stochastic"))
        close = (1e-6 if rough else 1e-8) * np.abs(reference).max()
        np.testing.assert_allclose(scores_of(found, in_blocks), reference, rtol=0, atol=close)
        np.testing.assert_allclose(scores_of(found, data), reference, rtol=0, atol=close)
        np.testing.assert_array_equal(found.predict(in_blocks), expected.predict(data))
        assert found.n_features_in_ == 5


@pytest.mark.parametrize("estimator", SUBSPACES, ids=name)
def test_subspaces_and_their_coordinates_are_the_same_on_blocks(estimator, tmp_path):
    for data, in_blocks in kinds(tmp_path):
        expected, found = clone(estimator).fit(data), clone(estimator).fit(in_blocks)
        np.testing.assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-8)
        lazy, D = found.transform(in_blocks), expected.transform(data)
        assert (lazy.shape, lazy.dtype) == (D.shape, D.dtype)
        assert lazy.columns == tuple(found.get_feature_names_out())
        np.testing.assert_allclose(np.vstack(list(lazy.blocks())), D, atol=1e-8)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=name)
def test_classifiers_in_a_subspace_are_the_same_on_blocks(estimator, tmp_path):
    for data, in_blocks in kinds(tmp_path):
        expected, found = clone(estimator).fit(data, LEVELS), clone(estimator).fit(in_blocks, LEVELS)
        np.testing.assert_allclose(found.objective_, expected.objective_, rtol=1e-8)
        np.testing.assert_allclose(found.decision_function(in_blocks), found.decision_function(data), atol=1e-8)
        assert np.mean(found.predict(in_blocks) == expected.predict(data)) > 0.99


@pytest.fixture
def small_sample(monkeypatch):
    """Fewer samples for the first search."""
    monkeypatch.setattr("rarefy.kernel._feature_model.SAMPLE", 100)


@pytest.mark.parametrize("estimator", FEATURES, ids=name)
def test_feature_weights_are_the_same_on_blocks(estimator, tmp_path, small_sample):
    for data, in_blocks in kinds(tmp_path):
        expected, found = clone(estimator).fit(data, RARE), clone(estimator).fit(in_blocks, RARE)
        np.testing.assert_array_equal(found.feature_weights_, expected.feature_weights_)
        np.testing.assert_allclose(found.decision_function(in_blocks), expected.decision_function(data), rtol=1e-12)
        np.testing.assert_array_equal(found.predict(in_blocks), expected.predict(data))
        kept = found.transform(in_blocks)
        assert kept.shape == (400, found.support_.sum())
        path = clone(estimator).mu_path(in_blocks, RARE, [found.mu_])
        np.testing.assert_array_equal(path.models[0].support_, found.support_)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_feature_weights_of_blocks_that_do_not_fit(n_classes, tmp_path, monkeypatch):
    """A part of the samples fits, and of the others only the chosen features are read, from blocks of any size."""
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((4000, 8)) * [1.0, 50.0, 1.0, 1.0, 1.0, 0.1, 1.0, 1.0]
    weights = np.where(rng.random(4000) < 0.2, 0.0, 1.0)
    y = np.minimum((Z[:, 1] * Z[:, 5] > 0) + 2 * (Z[:, 6] > 1.0), n_classes - 1)
    if n_classes == 2:
        y = Z[:, 1] * Z[:, 5] > 0
    monkeypatch.setattr("rarefy.kernel._feature_model.SAMPLE", 250)
    selector = KernelFeatureSelector(n_landmarks=50, init="interactions", validation_fraction=None)
    with rarefy.config_context(memory_budget="480kB"):
        found = [
            clone(selector).fit(data, y, weights)
            for data in (
                blocks.from_arrays(tmp_path / "a", Z, block_rows=1000),
                blocks.from_arrays(tmp_path / "b", Z, block_rows=77),
                blocks.from_iterator(lambda: (sp.csr_array(Z[i : i + 500]) for i in range(0, 4000, 500))),
            )
        ]
    assert found[0].get_support(indices=True).tolist() == ([1, 5] if n_classes == 2 else [1, 5, 6])
    assert found[0].score(Z, y) > (0.95 if n_classes == 2 else 0.85)
    passes, data = [], blocks.open(tmp_path / "a")
    rows, stored = data.rows(), data.rows()._blocks_in_storage
    monkeypatch.setattr(rows, "_blocks_in_storage", lambda index=None: passes.append(1) or stored(index))
    with rarefy.config_context(memory_budget="480kB"):
        clone(selector).fit(data, y)
    assert len(passes) == 5
    # Means are sums in another order; a search may end a step earlier or later for that.
    for other in found[1:]:
        np.testing.assert_allclose(other.feature_weights_, found[0].feature_weights_, rtol=1e-3)
        assert np.mean(other.predict(Z) == found[0].predict(Z)) > 0.995
    whole = clone(selector).fit(Z, y, weights)
    np.testing.assert_allclose(found[0].feature_weights_, whole.feature_weights_, rtol=0.2, atol=1e-3)
    assert found[0].objective_ == pytest.approx(whole.objective_, rel=0.05)


@pytest.mark.parametrize("overflow", ["recompute", "disk"])
@pytest.mark.parametrize("estimator", [RANKERS[0], RANKERS[13], RANKERS[15], *CLASSIFIERS], ids=name)
def test_what_does_not_fit_memory_gives_nearly_the_same(estimator, overflow, tmp_path):
    """Kernel values and coordinates are then in single precision; basis and landmarks are the same."""
    data, y = blocks.from_arrays(tmp_path / "a", X, block_rows=100), target(estimator)
    expected = clone(estimator).fit(X, y)
    with rarefy.config_context(memory_budget="30kB", overflow=overflow):
        found = clone(estimator).fit(data, y)
    if hasattr(found, "storage_"):
        assert found.storage_.startswith(("recomputed", "on disk", "blocks"))
    reference = scores_of(expected, X)
    if getattr(estimator, "solver", None) == "stochastic":  # rows of one window are drawn together, in another order
        assert np.corrcoef(scores_of(found, X), reference)[0, 1] > 0.99
        return
    limit = 1e-4 if not isinstance(estimator, SubspaceLPSVC) else 0.05  # a program in other digits has other vertices
    np.testing.assert_allclose(scores_of(found, X), reference, atol=limit * np.abs(reference).max())


def test_a_stochastic_pass_reads_storage_once(tmp_path, monkeypatch):
    data, read = blocks.from_arrays(tmp_path / "a", X, block_rows=25), []
    rows = data.rows()
    stored = rows._blocks_in_storage

    def counted(index=None):
        for some, block in stored(index):
            read.append(some.start)
            yield some, block

    data.check()  # checksums are compared once
    monkeypatch.setattr(rows, "_blocks_in_storage", counted)
    with rarefy.config_context(memory_budget="30kB"):
        once, twice = [
            len(read) for passes in (1, 2)
            if read.clear() is None and RankRC(solver="stochastic", max_iter=passes, **SEED).fit(data, RARE)
        ]  # fmt: skip
    assert twice - once < 1.5 * len(X) / 25  # a window may share a block with the next one


def test_passes_of_a_ranker_do_not_grow_with_the_number_of_blocks(tmp_path, monkeypatch):
    counts = []
    for block_rows in (200, 10):
        data, passes = blocks.from_arrays(tmp_path / str(block_rows), X, block_rows=block_rows), []
        rows = data.rows()
        stored = rows._blocks_in_storage
        monkeypatch.setattr(rows, "_blocks_in_storage", lambda index=None, s=stored, p=passes: p.append(1) or s(index))
        RankRC(**SEED).fit(data, RARE)
        counts.append(len(passes))
    # Deviations of columns twice, places of the basis, kernel values.
    assert counts[0] == counts[1] <= 6


def test_coordinates_of_blocks_can_be_written_and_learnt_from(tmp_path):
    data = blocks.from_arrays(tmp_path / "a", X, RARE, block_rows=150)
    lazy = KernelSubspace(6, **SEED).fit(data).transform(data)
    written = lazy.write(tmp_path / "coordinates", block_rows=100)
    assert (written.columns, written.shape) == (lazy.columns, (400, 6))
    np.testing.assert_array_equal(written.target, RARE)
    again = RankRC(kernel="linear", **SEED).fit(lazy, RARE)
    np.testing.assert_allclose(
        again.score_samples(written), RankRC(kernel="linear", **SEED).fit(written, RARE).score_samples(lazy), atol=1e-8
    )


def test_what_needs_an_array_says_so(tmp_path):
    data = blocks.from_arrays(tmp_path / "a", X, block_rows=150)
    sparse = blocks.from_arrays(tmp_path / "b", sp.csr_array(abs(X)), block_rows=150)
    with pytest.raises(ParameterError, match="needs the kernel matrix as an array; got data in blocks"):
        RankRC(kernel="precomputed").fit(data, RARE)
    with pytest.raises(ParameterError, match="kernel='chi2' needs dense samples; got blocks of CSR"):
        RankRC(kernel="chi2").fit(sparse, RARE)
    with pytest.raises(ParameterError, match="certify of KernelFeatureSelector compares kernel values of all pairs"):
        KernelFeatureSelector(n_landmarks=20).fit(data, RARE).certify(data)
    with (
        rarefy.config_context(memory_budget="20kB"),
        pytest.raises(MemoryBudgetError, match="needs 400 of the samples as an array"),
    ):
        KernelFeatureSelector(n_landmarks=None).fit(data, RARE)
    with pytest.raises(ParameterError, match="certify of KernelSubspace compares kernel values of all pairs"):
        KernelSubspace(4, **SEED).fit(data).certify(data)
    with pytest.raises(ParameterError, match="certify_scores compares kernel values of all pairs"):
        certify_scores(RankRC(**SEED).fit(data, RARE), data, RARE)
    with rarefy.config_context(memory_budget="2kB"), pytest.raises(MemoryBudgetError, match="Raise memory_budget"):
        RankRC(basis="rare").fit(data, RARE)


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    data = blocks.from_arrays(tmp_path / "a", X, block_rows=150)

    class Full:
        def write(self, block):
            raise OSError(28, "No space left on device")

        def close(self):
            pass

    monkeypatch.setattr("rarefy.backends.scratch_rows._new_file", Full)
    with (
        rarefy.config_context(memory_budget="30kB", overflow="disk", scratch_folder=tmp_path),
        pytest.raises(BlockError, match=r"temporary values cannot be written to .* \(No space left on device\)"),
    ):
        RankRC(**SEED).fit(data, RARE)
