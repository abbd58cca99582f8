"""Random samples of rows: of a stream of records, or of a known number of rows."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from rarefy.tables._dialect import Records


def sampled_rows(n_rows: int, sample: int | None, rng: np.random.Generator) -> NDArray[np.int64] | None:
    """Sorted numbers of the rows in a sample; None if all of them are."""
    if sample is None or sample >= n_rows:
        return None
    return np.sort(rng.choice(n_rows, size=sample, replace=False))


def sample_note(n_rows: int, rows: NDArray[np.int64] | None) -> list[str]:
    """The sentence that says that a sample was taken, if one was."""
    return [] if rows is None else [f"A random sample of {len(rows)} of {n_rows} rows was read."]


class RecordSample:
    """A uniform sample of the records of a stream, whose length is not known before its end.

    Every record draws a random key; those with the smallest keys are the sample.

    Parameters
    ----------
    size : int
        Number of records to keep.
    rng : Generator
        Source of the keys.
    """

    def __init__(self, size: int, rng: np.random.Generator) -> None:
        self.n_seen = 0
        self._size, self._rng = size, rng
        self._kept: list[tuple[float, int, bytes]] = []
        self._limit = np.inf

    def of(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """One block with the sample, in the order of the file."""
        for block in blocks:
            self._add(block)
        self._shrink()
        chosen = sorted(self._kept, key=lambda kept: kept[1])
        if chosen:
            yield b"".join(record for _, _, record in chosen)

    def _add(self, block: bytes) -> None:
        records = Records.of(block, b",")  # only line breaks outside of quotes matter
        keys = self._rng.random(len(records.ends))
        for i in np.flatnonzero(keys < self._limit).tolist():
            record = block[records.starts[i] : records.ends[i]]
            self._kept.append((float(keys[i]), self.n_seen + i, record))
        self.n_seen += len(keys)
        if len(self._kept) > 2 * self._size:
            self._shrink()

    def _shrink(self) -> None:
        self._kept = sorted(self._kept)[: self._size]
        if len(self._kept) == self._size:
            self._limit = self._kept[-1][0]
