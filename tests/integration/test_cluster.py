"""A cluster of two worker processes: a walk from data to predictions; workers and clients that are killed."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from trials import clusters

from rarefy import blocks
from rarefy.ranking import RankRC
from rarefy.selection import BSSSelector

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="processes cannot be killed so here")


@pytest.fixture(scope="module")
def client():
    with clusters.two_workers() as client:
        yield client


def test_from_data_to_predictions(client, tmp_path):
    X, y = clusters.draw()
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


def test_the_walk_of_the_guide(tmp_path):
    """The lines of `docs/guide/scaling.rst`, as they stand there."""
    page = (Path(__file__).parents[2] / "docs" / "guide" / "scaling.rst").read_text(encoding="utf-8")
    walk = textwrap.dedent(page.partition(".. code-block:: python\n")[2].partition("\nAn integration test")[0])
    (tmp_path / "walk.py").write_text(walk, encoding="utf-8")
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "walk.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    sentence, storage, called = done.stdout.splitlines()
    assert sentence.endswith(".")
    assert storage == "float64 on 2 workers"
    assert called.endswith("of them rightly")


def test_a_worker_that_is_killed_does_not_change_the_result(client):
    """Many more: make trials ONLY=clusters."""
    X, y = clusters.draw()
    D = da.from_array(X, chunks=(500, 20))
    known = clusters.prepared(X, y, D, names=("RankRC",))
    counts, faults = clusters.worker_trial(0, client, X, y, D, known)
    assert not faults
    assert counts["RankRC same"] == 1


def test_a_client_that_is_killed_goes_on(tmp_path):
    X, y = clusters.draw()
    blocks.from_arrays(tmp_path / "data", X, y, block_rows=500)
    counts, faults = clusters.client_trial(3, tmp_path / "data", *clusters.undisturbed_client(tmp_path / "data"))
    assert not faults
    assert counts["violated"] == 0
