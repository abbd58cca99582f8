"""What estimators promise on Dask's arrays and data frames: the same as on the array, with and without a cluster."""

import dask.array as da
import dask.dataframe as dd
import distributed
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import rarefy
from dask_cluster import Counted, cluster
from rarefy import blocks
from rarefy._input import RowMap
from rarefy.backends import cluster as cluster_module
from rarefy.backends.cluster import Cluster
from rarefy.backends.dask_data import dask_data
from rarefy.exceptions import BlockError, ClusterError, ParameterError
from rarefy.kernel import KernelFeatureSelector, KernelSubspace, SubspaceLPSVC
from rarefy.ranking import OrdinalRankRC, RankRC, RankRCCV, certify_scores
from rarefy.selection import (
    BestSubsetSelector,
    BSSSelector,
    LeverageScoreSelector,
    RandomSelector,
    ReliefSelector,
    RRQRSelector,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore::rarefy.exceptions.TruncatedRankWarning"),
    pytest.mark.filterwarnings("ignore::rarefy.exceptions.FewerFeaturesWarning"),
]
SEED = {"random_state": 0}
ESTIMATORS = [
    BSSSelector(6, rank=4),
    BSSSelector(6, rank=4, sketch_size=9, **SEED),
    LeverageScoreSelector(5, **SEED),
    RRQRSelector(4),
    RandomSelector(4, **SEED),
    BestSubsetSelector(3, C=0.1, max_nodes=0),
    RankRC(**SEED),
    RankRC(basis=30, landmarks="leverage", gamma="scale", **SEED),
    RankRC(kernel="poly", degree=2, alpha=0.1, **SEED),
    RankRC(threshold={"recall": 0.7, "confidence": 0.8}, **SEED),
    OrdinalRankRC(**SEED),
    RankRCCV(RankRC(**SEED), alphas=[1e-3, 1e-1], cv=2),
    KernelSubspace(8, **SEED),
    SubspaceLPSVC(n_components=8, n_landmarks=40, **SEED),
    KernelFeatureSelector(n_landmarks=30, init="scaled", validation_fraction=None),
]


def name(estimator):
    return repr(estimator).replace("\n", "")


def draw():
    """400 rows, ten columns, a rare class in two places."""
    rng = np.random.default_rng(3)
    y = (rng.random(400) < 0.12).astype(int)
    X = rng.standard_normal((400, 10)) * np.linspace(0.5, 2.0, 10)
    X[:, :4] += 1.8 * y[:, None] * rng.choice([-1.0, 1.0], (400, 1))
    return X, y


X, Y = draw()


@pytest.fixture(params=["this process", "workers"])
def where(request):
    """With a client, or without one."""
    if request.param == "this process":
        yield request.param
        return
    with cluster().client.as_current():
        yield request.param


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=name)
def test_dask_arrays_give_the_same_as_arrays(estimator, where):
    D, y = da.from_array(X, chunks=(130, 7)), da.from_array(Y, chunks=100)
    expected, found = clone(estimator).fit(X, Y), clone(estimator).fit(D, y)
    if hasattr(expected, "transform"):
        lazy = found.transform(D)
        assert isinstance(lazy, da.Array)
        np.testing.assert_allclose(lazy.compute(), expected.transform(X), atol=1e-8)
    if hasattr(expected, "decision_function"):
        reference = expected.decision_function(X)
        scores, labels = found.decision_function(D), found.predict(D)
        assert isinstance(scores, da.Array)
        assert isinstance(labels, da.Array)
        assert (scores.shape, labels.shape, labels.dtype) == (reference.shape, (400,), Y.dtype)
        np.testing.assert_allclose(scores.compute(), reference, atol=1e-8 * np.abs(reference).max())
        np.testing.assert_array_equal(labels.compute(), expected.predict(X))


def test_a_frame_keeps_its_names(where):
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(10)])
    D = dd.from_pandas(frame, npartitions=3)
    found, expected = BSSSelector(6, rank=4).fit(D), BSSSelector(6, rank=4).fit(frame)
    assert list(found.feature_names_in_) == list(frame.columns)
    np.testing.assert_array_equal(found.selection_order_, expected.selection_order_)
    np.testing.assert_allclose(found.transform(D).compute(), expected.transform(frame), atol=1e-8)
    with pytest.raises(ParameterError, match="column 0 was 'c0' and is 'c9'"):
        found.transform(D[[f"c{j}" for j in range(9, -1, -1)]])
    ranker = RankRC(**SEED).fit(D, Y)
    np.testing.assert_allclose(ranker.score_samples(D).compute(), ranker.score_samples(frame), atol=1e-8)
    D = D.assign(word="a")
    with pytest.raises(ParameterError, match="estimators need numbers"):
        RankRC(**SEED).fit(D, Y)


def test_sparse_single_and_whole_numbers(where):
    counts = np.abs(X).astype(int)
    sparse = da.from_array(counts.astype(float), chunks=(100, 10)).map_blocks(sp.csr_matrix)
    for given, array in (
        (sparse, sp.csr_array(counts.astype(float))),
        (da.from_array(counts, chunks=(99, 10)), counts),
    ):
        found, expected = RankRC(**SEED).fit(given, Y), RankRC(**SEED).fit(array, Y)
        np.testing.assert_allclose(found.score_samples(array), expected.score_samples(array), atol=1e-8)
    single = X.astype(np.float32)
    kept = BSSSelector(6, rank=4).fit(da.from_array(single, chunks=(130, 10))).transform(da.from_array(single))
    assert kept.dtype == kept.compute().dtype == np.float32


def test_kernel_values_of_single_precision_samples_are_in_double_precision_as_in_memory(where):
    single = X.astype(np.float32)
    found, expected = RankRC(**SEED).fit(da.from_array(single, chunks=(130, 10)), Y), RankRC(**SEED).fit(single, Y)
    np.testing.assert_allclose(found.dual_coef_, expected.dual_coef_, atol=1e-8 * np.abs(expected.dual_coef_).max())


def test_blocks_that_are_kept_are_cut_where_they_would_be_large(monkeypatch):
    monkeypatch.setattr("rarefy.backends.dask_rows._LARGEST_HELD", 8 * 30 * 40)
    with cluster().client.as_current():
        data = dask_data(da.from_array(X, chunks=(130, 10)))
        held = data.rows().mapped(RowMap(30, lambda part: np.tile(part, 3))).held()
    assert held._sizes.max() <= 40
    np.testing.assert_array_equal(held.take(np.arange(400)), np.tile(X, 3))


def test_nothing_but_results_comes_to_the_client(monkeypatch):
    """Of 4 MB: selection brings Gram matrices, a ranker one number for each row and product, and its basis."""
    rng = np.random.default_rng(0)
    y = (rng.random(10_000) < 0.01).astype(int)
    D = da.from_array(rng.standard_normal((10_000, 50)) + y[:, None], chunks=(2500, 50))
    with cluster().client.as_current():
        counted = Counted(monkeypatch)
        BSSSelector(20, rank=10).fit(D)
        assert 8 * 50 * 50 < counted.bytes < 100_000
        before = counted.bytes
        model = RankRC(basis="rare", tol=1e-3).fit(D, y)
        # The part that is solved first is brought: basis columns of at most a third of the rows.
        part = 8.0 * len(model.basis_) * len(y) / 3
        assert counted.bytes - before < part + 60 * 8 * len(y)


def test_the_same_for_any_chunks():
    with cluster().client.as_current():
        scores = [
            RankRC(**SEED).fit(da.from_array(X, chunks=(n, 10)), Y).score_samples(X) for n in (400, 57)
        ]  # fmt: skip
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-10 * np.abs(scores[0]).max())


def test_workers_read_a_folder_themselves(tmp_path, monkeypatch):
    folder = blocks.from_arrays(tmp_path / "a", X, Y, block_rows=90)
    with pytest.raises(ClusterError, match="There is no client"):
        folder.on_workers()
    with cluster().client.as_current():
        data = folder.on_workers()
        assert (data.shape, data.rows().fingerprint) == (folder.shape, folder.fingerprint)
        found, expected = BSSSelector(6, rank=4).fit(data), BSSSelector(6, rank=4).fit(folder)
        np.testing.assert_array_equal(found.selection_order_, expected.selection_order_)
        assert found.certificate_.fingerprint == expected.certificate_.fingerprint
        assert found.certificate_.verify(X)
        ranker = RankRC(**SEED).fit(data, data.target)
        assert ranker.storage_ == "float64 on 2 workers"
        np.testing.assert_allclose(ranker.score_samples(data), ranker.score_samples(X), atol=1e-8)
        path = tmp_path / "a" / "000002.npy"
        damaged = bytearray(path.read_bytes())
        damaged[500] ^= 1
        path.write_bytes(damaged)
        with pytest.raises(BlockError, match=r"000002.npy is damaged"):
            blocks.open(tmp_path / "a").on_workers()


def test_workers_read_a_zarr_array_themselves(tmp_path, monkeypatch):
    zarr = pytest.importorskip("zarr")
    own = blocks.from_arrays(tmp_path / "a", X, Y, block_rows=90).write(tmp_path / "z", format="zarr", block_rows=64)
    zarr.create_array(tmp_path / "other", data=X, chunks=(30, 4))
    monkeypatch.setattr("rarefy.blocks._zarr._HELD", 64 * 8 * X.shape[1])
    with pytest.raises(ClusterError, match="There is no client"):
        own.on_workers()
    with cluster().client.as_current():
        for data in (own, blocks.open(tmp_path / "other")):
            held = data.on_workers()
            found, expected = BSSSelector(6, rank=4).fit(held), BSSSelector(6, rank=4).fit(X)
            np.testing.assert_array_equal(found.selection_order_, expected.selection_order_)
            np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)
            assert (held.shape, held.rows().fingerprint) == (X.shape, data.fingerprint)
        held = own.on_workers()
        assert len(held.rows()._blocks) > 1
        np.testing.assert_array_equal(held.target, Y)
        scores = RankRC(**SEED).fit(held, held.target).score_samples(held)
        np.testing.assert_allclose(scores, RankRC(**SEED).fit(X, Y).score_samples(X), atol=1e-8)
        bad = X.copy()
        bad[200, 3] = np.nan
        zarr.create_array(tmp_path / "bad", data=bad, chunks=(30, 4))
        with pytest.raises(BlockError, match="hold NaN or infinity"):
            blocks.open(tmp_path / "bad").on_workers()


def test_a_certificate_of_rows_elsewhere_has_no_fingerprint_and_is_verified_all_the_same():
    with cluster().client.as_current():
        certificate = BSSSelector(6, rank=4).fit(da.from_array(X, chunks=(100, 10))).certificate_
    assert certificate.fingerprint is None
    checked = certificate.verify(X)
    assert checked
    assert checked.same_data is None


def test_other_functions_take_dask_arrays_or_refuse_them(where):
    D = da.from_array(X, chunks=(100, 10))
    audit, expected = rarefy.certify(D, [0, 2, 4]), rarefy.certify(X, [0, 2, 4])
    np.testing.assert_allclose(audit.explained_ratio, expected.explained_ratio, rtol=1e-8)
    assert expected.verify(D)
    path, reference = RankRC(**SEED).alpha_path(D, Y, [1.0, 0.1]), RankRC(**SEED).alpha_path(X, Y, [1.0, 0.1])
    np.testing.assert_allclose(path.attribute("dual_coef_"), reference.attribute("dual_coef_"), atol=1e-8)
    ranker = RankRC(**SEED).fit(X, Y)
    with pytest.raises(ParameterError, match="certify_scores compares kernel values of all pairs"):
        certify_scores(ranker, D, Y)
    with pytest.raises(ParameterError, match="certify of KernelSubspace compares kernel values"):
        KernelSubspace(4, **SEED).fit(X).certify(D)
    with pytest.raises(ParameterError, match="ReliefSelector needs all of X in memory"):
        ReliefSelector(3).fit(D, Y)


def test_what_is_missing_or_not_finite_is_refused(where):
    broken = X.copy()
    broken[7, 3] = np.nan
    with pytest.raises(ValueError, match="NaN or infinity"):
        RankRC(**SEED).fit(da.from_array(broken, chunks=(100, 10)), Y)
    with pytest.raises(ParameterError, match="Expected 2D array, got 3D"):
        BSSSelector(3).fit(da.ones((4, 4, 4)))


def test_a_cluster_without_workers_is_given_up(monkeypatch):
    monkeypatch.setattr(cluster_module, "_POLL", 0.05)
    monkeypatch.setattr(cluster_module, "_PATIENCE", 0.2)
    local = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    with local, distributed.Client(local, set_as_default=False) as client:
        alone = Cluster(client)
        local.scale(0)
        parts = alone.each(abs, [1.0])
        with pytest.raises(ClusterError, match="has had no worker for"):
            alone.results(parts)


def test_a_closed_client_is_one_sentence():
    local = distributed.LocalCluster(n_workers=1, processes=False, dashboard_address=":0")
    with local:
        client = distributed.Client(local, set_as_default=False)
        lost = Cluster(client)
        parts = lost.each(abs, [1.0])
        client.close()
        with pytest.raises(ClusterError, match="was closed while it was in use"):
            lost.results(parts)
