"""A fingerprint of data: the same for dense and sparse, float32 and float64, as long as the numbers are."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from rarefy.core.linalg.rows import Rows, SparseRows


def fingerprint(X: Any) -> str:
    """Hash shape and entries that are not zero, row by row: how many, where, and which values.

    Parameters
    ----------
    X : ndarray, sparse matrix or Rows
        Validated data.
    """
    X = X.matrix if isinstance(X, SparseRows) else X
    hashes = [hashlib.sha256() for _ in range(3)]
    if sp.issparse(X):
        A = sp.csr_array(X, copy=True)
        A.sum_duplicates()
        A.eliminate_zeros()
        _add(hashes, np.diff(A.indptr), A.indices, A.data)
    else:
        for block in _blocks(X):
            rows, columns = np.nonzero(block)
            _add(hashes, np.bincount(rows, minlength=len(block)), columns, block[rows, columns])
    shape = f"{X.shape[0]} {X.shape[1]} ".encode()
    return hashlib.sha256(shape + b"".join(one.digest() for one in hashes)).hexdigest()


def _blocks(X: Any) -> Iterator[Any]:
    if isinstance(X, Rows):
        yield from (block for _, block in X.blocks())
        return
    step = max(1, (1 << 20) // max(1, X.shape[1]))
    yield from (X[start : start + step] for start in range(0, X.shape[0], step))


def _add(hashes: list[Any], counts: Any, columns: Any, values: Any) -> None:
    for one, part, kind in zip(hashes, (counts, columns, values), ("<i8", "<i8", "<f8"), strict=True):
        one.update(np.ascontiguousarray(part, dtype=kind).tobytes())
