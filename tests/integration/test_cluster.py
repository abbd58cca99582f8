"""A cluster of two worker processes: a walk from data to predictions, and workers that are killed on the way."""

import os
import signal
import threading
import time

import dask.array as da
import distributed
import numpy as np
import pytest

from rarefy import blocks
from rarefy.ranking import RankRC
from rarefy.selection import BSSSelector


@pytest.fixture(scope="module")
def client():
    """Two processes with a thread each, which a nanny starts again when they are killed."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield client


def draw(n=3000):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.03).astype(int)
    X = rng.standard_normal((n, 20)) * np.linspace(0.5, 2.0, 20)
    X[:, :4] += 2.0 * y[:, None] * rng.choice([-1.0, 1.0], (n, 1))
    return X, y


def test_from_data_to_predictions(client, tmp_path):
    X, y = draw()
    folder = blocks.from_arrays(tmp_path / "data", X, y, block_rows=700)
    data = folder.on_workers()
    selector = BSSSelector(12, rank=8).fit(data)
    assert selector.certificate_.fingerprint == BSSSelector(12, rank=8).fit(X).certificate_.fingerprint
    kept = selector.transform(data)
    model = RankRC(random_state=0).fit(kept, data.target)
    assert model.storage_ == "float64 on 2 workers"
    expected = RankRC(random_state=0).fit(selector.transform(X), y)
    np.testing.assert_allclose(model.score_samples(kept), expected.score_samples(selector.transform(X)), atol=1e-8)
    new = da.from_array(X, chunks=(500, 20))
    found = model.predict(selector.transform(new))
    assert isinstance(found, da.Array)
    np.testing.assert_array_equal(found.compute(), expected.predict(selector.transform(X)))


def test_a_worker_that_is_killed_does_not_change_the_result(client):
    X, y = draw()
    D, rng = da.from_array(X, chunks=(300, 20)), np.random.default_rng(1)
    expected = RankRC(random_state=0).fit(X, y)
    start = time.perf_counter()
    RankRC(random_state=0).fit(D, y)
    duration = time.perf_counter() - start
    client.wait_for_workers(2, timeout=60)
    victim = rng.choice(list(client.run(os.getpid).values()))
    killer = threading.Timer(0.5 * duration, os.kill, (int(victim), signal.SIGKILL))
    killer.start()
    found = RankRC(random_state=0).fit(D, y)
    killer.join()
    np.testing.assert_allclose(found.score_samples(X), expected.score_samples(X), atol=1e-8)
    np.testing.assert_array_equal(found.basis_, expected.basis_)
