"""A cluster in this process, for tests: started when it is first asked for, closed when the tests end."""

import atexit
from functools import cache

import distributed
import numpy as np

from rarefy.backends.cluster import Cluster
from rarefy.backends.dask_data import rows_on


@cache
def cluster():
    """Two workers that are threads of this process; their client is not the one that estimators find."""
    local = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0")
    client = distributed.Client(local, set_as_default=False)

    def close():
        client.close()
        local.close()

    atexit.register(close)
    return Cluster(client)


def on_workers(A, block_rows=10):
    """A matrix as rows on workers."""
    parts = [A[i : i + block_rows] for i in range(0, A.shape[0], block_rows)]
    return rows_on(cluster(), cluster().each(_as_it_is, parts)) if parts else None


def _as_it_is(block):
    return block


class Counted:
    """How many bytes a client has gathered, counted at the client itself."""

    def __init__(self, monkeypatch):
        self.bytes, gather = 0, distributed.Client.gather

        def counted(client, futures, *args, **kwargs):
            found = gather(client, futures, *args, **kwargs)
            self.bytes += sum(_bytes(one) for one in found)
            return found

        monkeypatch.setattr(distributed.Client, "gather", counted)


def _bytes(value):
    if isinstance(value, (tuple, list)):
        return sum(_bytes(one) for one in value)
    return np.asarray(value).nbytes if not hasattr(value, "indptr") else value.data.nbytes
