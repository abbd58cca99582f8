"""A fingerprint of data: the same for dense and sparse, float32 and float64, as long as the numbers are."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from rarefy.core.linalg.rows import Rows, SparseRows


def fingerprint(X: Any) -> str | None:
    """Hash shape and entries that are not zero, row by row: how many, where, and which values.

    Parameters
    ----------
    X : ndarray, sparse matrix or Rows
        Validated data; of rows that know their fingerprint it is taken as it is. Of those on a cluster there is none
        otherwise: it would take all of them through one process.
    """
    known = getattr(X, "fingerprint", None)
    if known is not None or getattr(X, "distributed", False):
        return known
    X = X.matrix if isinstance(X, SparseRows) else X
    running = Fingerprint()
    if sp.issparse(X):
        running.add(X)
    else:
        for block in _blocks(X):
            running.add(block)
    return running.of(X.shape)


def same_data(stored: str | None, found: str | None) -> bool | None:
    """Whether fingerprints are equal; None if one of them is not known."""
    return None if stored is None or found is None else stored == found


class Fingerprint:
    """The same for data that come block by block, whatever the blocks are."""

    def __init__(self) -> None:
        self._hashes = [hashlib.sha256() for _ in range(3)]

    def add(self, block: Any) -> None:
        """The next rows, dense or sparse."""
        if sp.issparse(block):
            A = sp.csr_array(block, copy=True)
            A.sum_duplicates()
            A.eliminate_zeros()
            self._add(np.diff(A.indptr), A.indices, A.data)
        elif np.all(block):  # every entry is there, so that none has to be looked for
            n, k = block.shape
            self._add(np.full(n, k), np.broadcast_to(np.arange(k), (n, k)), block)
        else:
            rows, columns = np.nonzero(block)
            self._add(np.bincount(rows, minlength=len(block)), columns, block[rows, columns])

    def of(self, shape: tuple[int, int]) -> str:
        """The fingerprint of all that was added."""
        whole = f"{shape[0]} {shape[1]} ".encode()
        return hashlib.sha256(whole + b"".join(one.digest() for one in self._hashes)).hexdigest()

    def _add(self, counts: Any, columns: Any, values: Any) -> None:
        for one, part, kind in zip(self._hashes, (counts, columns, values), ("<i8", "<i8", "<f8"), strict=True):
            one.update(np.ascontiguousarray(part, dtype=kind).data)


def _blocks(X: Any) -> Iterator[Any]:
    if isinstance(X, Rows):
        yield from (block for _, block in X.blocks())
        return
    step = max(1, (1 << 20) // max(1, X.shape[1]))
    yield from (X[start : start + step] for start in range(0, X.shape[0], step))
