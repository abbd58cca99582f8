"""Workers of a cluster, and clients, that are killed at random moments of a fit.

A worker: one of two worker processes gets SIGKILL at a random moment of a fit on a Dask array; the fit has to end, with
the scores of the fit on the array. A client: a process that fits on a folder of blocks with a checkpoint gets SIGKILL;
another process that fits again has to end with the same scores, and to leave nothing behind.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from rarefy import blocks
from rarefy.kernel import SubspaceLPSVC
from rarefy.ranking import RankRC
from rarefy.selection import BSSSelector

ESTIMATORS = {
    "RankRC": lambda: RankRC(random_state=0),
    "SubspaceLPSVC": lambda: SubspaceLPSVC(n_components=10, n_landmarks=60, random_state=0),
    "BSSSelector": lambda: BSSSelector(12, rank=8),
}
_LIMIT = 180.0
"""Seconds after which a fit counts as one that hangs."""
_ENVIRONMENT = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
CLIENT = """
import sys
import numpy as np
import rarefy
from rarefy import blocks
from rarefy.ranking import RankRC
data = blocks.open(sys.argv[1])
rarefy.set_config(checkpoint_folder=sys.argv[2], memory_budget="300kB", overflow="recompute")
print("ready", flush=True)
np.save(sys.argv[3], RankRC(random_state=0).fit(data, data.target).score_samples(data))
"""


def draw(n=3000):
    """Samples with a rare class in two places."""
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.03).astype(int)
    X = rng.standard_normal((n, 20)) * np.linspace(0.5, 2.0, 20)
    X[:, :4] += 2.0 * y[:, None] * rng.choice([-1.0, 1.0], (n, 1))
    return X, y


def result(model, X):
    """What has to be the same."""
    return model.decision_function(X) if hasattr(model, "decision_function") else model.weights_


@contextmanager
def two_workers():
    """A client of two worker processes, which are started again when they are killed."""
    import dask
    import distributed

    with (
        # A worker that starts again on a busy machine is not given up: fifteen seconds can be too few.
        dask.config.set(
            {"distributed.deploy.lost-worker-timeout": "600s", "distributed.comm.timeouts.connect": "120s"}
        ),
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
        client.as_current(),
    ):
        yield client


def prepared(X, y, D, names=tuple(ESTIMATORS)):
    """Expected results and durations of fits that nobody disturbs."""
    found = {}
    for name in names:
        expected = result(ESTIMATORS[name]().fit(X, y), X)
        begin = time.perf_counter()
        _fit(name, D, y)
        found[name] = expected, time.perf_counter() - begin
    return found


def _fit(name, D, y):
    model = ESTIMATORS[name]()
    return model.fit(D) if name == "BSSSelector" else model.fit(D, y)


def worker_trial(seed, client, X, y, D, known):
    """Kill a worker once; counts, and what is wrong."""
    choose = random.Random(seed)
    name = choose.choice(sorted(known))
    expected, duration = known[name]
    client.wait_for_workers(2, timeout=600)
    victim = choose.choice(sorted(client.run(os.getpid, on_error="ignore").values()))
    wait = choose.uniform(0.0, duration)
    what = f"{name}, a worker killed after {wait:.2f} s (seed {seed})"
    killer = threading.Timer(wait, os.kill, (victim, signal.SIGKILL))
    begin = time.perf_counter()
    killer.start()
    try:
        found = result(_fit(name, D, y), X)
    except Exception as error:
        return Counter({f"{name} error": 1, "violated": 1}), [f"{what}: {type(error).__name__}: {error}"]
    finally:
        killer.join()
    faults = [f"{what}: {time.perf_counter() - begin:.0f} s"] if time.perf_counter() - begin > _LIMIT else []
    off = float(np.abs(found - expected).max() / np.abs(expected).max())
    faults += [f"{what}: results differ by {off:.2g}"] if off > 1e-8 else []
    return Counter({f"{name} same": 1 - len(faults), "violated": len(faults)}), faults


def client_trial(seed, folder, expected, duration):
    """Kill a client once and fit again; counts, and what is wrong."""
    wait = random.Random(seed).uniform(0.0, duration)
    what = f"a client killed after {wait:.2f} s (seed {seed})"
    with tempfile.TemporaryDirectory() as place:
        passes, scores = Path(place) / "passes", Path(place) / "scores.npy"
        call = [sys.executable, "-c", CLIENT, str(folder), str(passes), str(scores)]
        process = subprocess.Popen(call, env=_ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        time.sleep(wait)
        process.kill()
        process.communicate()
        done = len(list(passes.glob("*.npz"))) if passes.exists() else 0
        kind = "client after the fit" if scores.exists() else "client resumed" if done else "client from the start"
        again = subprocess.run(call, env=_ENVIRONMENT, capture_output=True, text=True, timeout=_LIMIT, check=False)
        if again.returncode:
            return Counter({"violated": 1}), [f"{what}: {again.stderr.strip().splitlines()[-1:]}"]
        faults = [] if np.array_equal(np.load(scores), expected) else [f"{what}: the scores differ"]
        faults += [f"{what}: passes are left"] if passes.exists() else []
    return Counter({kind: 1, "violated": len(faults)}), faults


def undisturbed_client(folder):
    """Scores of a client that nobody kills, and how long its fit takes."""
    with tempfile.TemporaryDirectory() as place:
        scores = Path(place) / "scores.npy"
        call = [sys.executable, "-c", CLIENT, str(folder), str(Path(place) / "passes"), str(scores)]
        process = subprocess.Popen(call, env=_ENVIRONMENT, stdout=subprocess.PIPE, text=True)
        process.stdout.readline()
        begin = time.perf_counter()
        process.communicate()
        return np.load(scores), time.perf_counter() - begin


def cluster_trials(n, seed):
    """Counts and faults of n killed workers and a fifth as many killed clients."""
    import dask.array as da

    X, y = draw()
    D = da.from_array(X, chunks=(500, 20))
    with two_workers() as client:
        known = prepared(X, y, D)
        for i in range(n):
            yield worker_trial(seed + i, client, X, y, D, known)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        blocks.from_arrays(folder, X, y, block_rows=500)
        expected, duration = undisturbed_client(folder)
        for i in range(max(1, n // 5)):
            yield client_trial(seed + i, folder, expected, duration)
