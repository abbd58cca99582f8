"""A cluster of workers as this library uses one: a task for each block, sums by trees, errors that say what to do.

`distributed` is the scheduler only; the mathematics are those of blocks in memory. It is imported where there is a
client.
"""

import operator
import time
from collections.abc import Callable, Sequence
from typing import Any

from rarefy.exceptions import ClusterError

_POLL, _PATIENCE = 5.0, 60.0
"""Seconds between looks at the cluster while a result is waited for, and those that it may be without workers."""
_TREE = 8
"""Results that are added up in one task."""


class Cluster:
    """The workers of one `distributed.Client`."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.gathered_bytes = 0
        """Size of all that was brought to the client."""

    @property
    def n_workers(self) -> int:
        """How many there are now."""
        return len(self.client.nthreads())

    @property
    def n_threads(self) -> int:
        """Of all workers."""
        return sum(self.client.nthreads().values())

    @property
    def memory(self) -> float:
        """Bytes that all workers may take together; infinite where none has a limit."""
        limits = [one["memory_limit"] for one in self.client.scheduler_info(n_workers=-1)["workers"].values()]
        return float(sum(limits)) if limits and all(limits) else float("inf")

    def each(self, function: Callable[..., Any], *arguments: Sequence[Any]) -> list[Any]:
        """`function(a, b, ...)` for the blocks a of the first sequence, b of the second, ..., left on the workers.

        A task whose worker is lost is run again by another one, and so are those that its block came from.
        """
        return [self.client.submit(function, *each, pure=False) for each in zip(*arguments, strict=True)]

    def total(self, parts: list[Any], combine: Callable[[Any, Any], Any] = operator.add) -> Any:
        """The sum of what tasks left on the workers, added up there in a fixed order."""
        while len(parts) > 1:
            groups = [parts[i : i + _TREE] for i in range(0, len(parts), _TREE)]
            parts = [
                group[0] if len(group) == 1 else self.client.submit(_combined, combine, group, pure=False)
                for group in groups
            ]
        return self.results(parts)[0]

    def results(self, parts: list[Any]) -> list[Any]:
        """What tasks left on the workers, brought to the client."""
        self._wait(parts)
        found = self._checked(lambda: self.client.gather(parts))
        self.gathered_bytes += sum(_size(one) for one in found)
        return list(found)

    def _wait(self, parts: list[Any]) -> None:
        """Until all are there, or nobody is left to compute them."""
        from distributed import TimeoutError as Late
        from distributed import wait

        alone = None
        while True:
            try:
                self._checked(lambda: wait(parts, timeout=_POLL))
                return
            except Late:
                pass
            if self._checked(lambda: self.n_workers):
                alone = None
                continue
            alone = time.monotonic() if alone is None else alone
            if time.monotonic() - alone >= _PATIENCE - _POLL:
                raise ClusterError(
                    f"The cluster has had no worker for {_PATIENCE:.0f} seconds. Start workers and fit again, or close "
                    "the client to compute on this machine."
                )

    def _checked(self, action: Callable[[], Any]) -> Any:
        """Do something with the client, and say in our words that workers or scheduler are lost."""
        from distributed.scheduler import KilledWorker

        try:
            with self.client.as_current():
                return action()
        except KilledWorker as error:
            raise ClusterError(
                f"A block took several workers with it ({error}). Mostly they run out of memory: use smaller blocks or "
                "workers with more memory."
            ) from error
        except _cancelled() as error:
            raise ClusterError(
                f"The scheduler or the client was closed while it was in use ({type(error).__name__}). Connect again "
                "and fit again."
            ) from error


def current_cluster() -> Cluster | None:
    """That of the client that is in use here; None if there is none."""
    import sys

    if "distributed" not in sys.modules:
        return None
    from distributed import default_client

    try:
        return Cluster(default_client())
    except ValueError:
        return None


def cluster_in_use() -> Cluster:
    """That of the client that is in use here, or an error."""
    cluster = current_cluster()
    if cluster is None:
        raise ClusterError("There is no client of a cluster. Make one first: distributed.Client(address).")
    return cluster


def _cancelled() -> tuple[type[BaseException], ...]:
    from concurrent.futures import CancelledError as Cancelled

    from distributed import CancelledError
    from distributed.comm.core import CommClosedError

    return (CancelledError, Cancelled, CommClosedError)


def _combined(combine: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = combine(total, part)
    return total


def _size(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(_size(one) for one in value)
    if hasattr(value, "indptr"):
        return int(value.data.nbytes + value.indices.nbytes + value.indptr.nbytes)
    return int(getattr(value, "nbytes", 8))
