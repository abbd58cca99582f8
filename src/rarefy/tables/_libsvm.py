"""Sparse matrices in text files: libsvm."""

import io
import re
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from rarefy.tables._limits import check_shape
from rarefy.tables._messages import quoted
from rarefy.tables._sample import sample_note, sampled_rows
from rarefy.tables._source import Source
from rarefy.tables._table import LABELS, Table

_LIBSVM = re.compile(rb"[+-]?[0-9.eE+-]+(?:,[0-9]+)*[ \t]+(?:qid:[0-9]+[ \t]+)?[0-9]+:[+-]?[0-9.]")


def looks_like_libsvm(head: bytes) -> bool:
    """Whether the first line that is not a comment has a label and pairs of index and value."""
    lines = [line for line in head.split(b"\n")[:50] if line.strip() and not line.startswith(b"#")]
    return bool(lines) and bool(_LIBSVM.match(lines[0]))


def read_libsvm(source: Source, sample: int | None, rng: np.random.Generator) -> Table:
    """Read labels and sparse rows; columns are called by the indices of the file."""
    from sklearn.datasets import load_svmlight_file

    # Counted from zero whatever the file does: another file with the same columns then has the same names.
    X, y = load_svmlight_file(io.BytesIO(source.content()), zero_based=True)
    check_shape(source.name, X.shape[0], X.shape[1], X.nnz)
    X = sp.csr_array(X)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int64 if X.nnz > 2**31 - 1 else np.int32)
    first = 0 if np.any(X.indices == 0) else 1
    rows = sampled_rows(X.shape[0], sample, rng)
    n_rows, names = X.shape[0], map(str, range(first, X.shape[1]))
    X, y = (X, y) if rows is None else (X[rows], y[rows])
    table = Table.from_arrays(X[:, first:], names, labels=y, source=source.name)
    beside = f"What stands first in every line is a target; its name is {quoted(LABELS)}."
    return replace(table, notes=(*sample_note(n_rows, rows), beside, *table.notes))
