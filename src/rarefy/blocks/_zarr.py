"""Zarr arrays as data in blocks, and data in blocks as Zarr arrays.

What this library writes is a group: X, chunks of whole rows with a checksum each and nothing compressed; y, numbers
of labels or responses; and, among the group's attributes, what a manifest says. The folder gets its name when all is
there.
"""

import os
import shutil
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy._files import size_in_words
from rarefy.backends.cluster import cluster_in_use
from rarefy.backends.dask_data import DaskData, rows_on
from rarefy.backends.zarr_rows import ZarrRows
from rarefy.blocks._data import BlockData
from rarefy.certificates._fingerprint import Fingerprint
from rarefy.exceptions import BlockError, ParameterError
from rarefy.tables import TableEncoder

ZARR = "zarr.json"
_OURS, _FORMAT = "rarefy", "rarefy zarr 1"
_HELD = 1 << 26
"""Bytes of the rows that a worker holds as one block, or those of one chunk if that is larger."""


class BlockZarr(BlockData):
    """Rows in a Zarr array, which estimators take in the place of an array and read block by block.

    Made by :func:`open` of a folder with a Zarr (version 3) array of numbers with two dimensions, or a group that
    `write` made.

    Attributes
    ----------
    folder : Path
        Where the array is.
    shape : (int, int)
        Numbers of rows and columns.
    dtype : dtype
        float32, or float64 for all other numbers.
    columns : tuple of str or None
        Names of the columns.
    sparse : bool
        False.
    n_blocks, n_bytes : int
        How many chunks of rows there are, and how large all entries are in memory.
    fingerprint : str or None
        Hash of all entries; None where the array was not written by this library.
    target : ndarray of shape (n_rows,) or None
        Labels or responses that were stored beside the columns.
    target_name : str or None
        Its name.
    encoder : TableEncoder or None
        What made numbers of a table's columns.

    See Also
    --------
    BlockFolder : Blocks in files of numpy.

    Examples
    --------
    >>> import pytest
    >>> _ = pytest.importorskip("zarr")
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy import blocks
    >>> with TemporaryDirectory() as folder:
    ...     data = blocks.from_iterator(lambda: (np.full((3, 9), i) for i in range(2)))
    ...     _ = data.write(f"{folder}/x", format="zarr")
    ...     blocks.open(f"{folder}/x").shape
    (6, 9)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).resolve()
        found = _opened(self.folder)
        self._group = found if hasattr(found, "members") else None
        about = dict(found.attrs).get(_OURS) if self._group is not None else None
        if self._group is not None and (not isinstance(about, dict) or about.get("format") != _FORMAT):
            raise BlockError(f"{self.folder} is a group that rarefy did not write; open one of its arrays.")
        self._about: dict[str, Any] = dict(about or {})
        array = found if self._group is None else _member(found, "X", self.folder)
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise BlockError(f"{self.folder} holds an array of shape {array.shape} and type {array.dtype}; X is 2D.")
        if self._group is not None and array.nchunks_initialized < array.nchunks:
            raise BlockError(f"{self.folder} lacks chunks: {array.nchunks_initialized} of {array.nchunks} are there.")
        self._rows = ZarrRows(array, str(self.folder), self._about.get("fingerprint"))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._rows.dtype

    @property
    def sparse(self) -> bool:
        """Zarr arrays are dense."""
        return False

    @property
    def n_blocks(self) -> int:
        """How many chunks of rows there are."""
        return int(self._rows._array.cdata_shape[0])

    @property
    def n_bytes(self) -> int:
        """Size of all entries as they are in memory."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    @property
    def fingerprint(self) -> str | None:
        """Hash of all entries; None where the array was not written by this library."""
        return self._rows.fingerprint

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        names = self._about.get("columns")
        return None if names is None else tuple(names)

    @property
    def target_name(self) -> str | None:
        """Name of the stored target."""
        return self._about.get("target_name")

    @property
    def encoder(self) -> TableEncoder | None:
        """What made numbers of a table's columns."""
        known = self._about.get("encoder")
        return None if known is None else TableEncoder.from_dict(known)

    @cached_property
    def target(self) -> NDArray[Any] | None:
        """Labels or responses that were stored beside the columns; None if there are none."""
        if self._group is None or "y" not in self._group:
            return None
        values, classes = np.asarray(_member(self._group, "y", self.folder)[:]), self._about.get("classes")
        return values if classes is None else np.array(classes)[values]

    def rows(self) -> ZarrRows:
        """Return the data as solvers take them.

        Returns
        -------
        rows : ZarrRows
            The same object each time.
        """
        return self._rows

    def on_workers(self) -> DaskData:
        """Let the workers of the cluster that is in use hold the rows; each reads chunks of this folder itself.

        Returns
        -------
        data : DaskData
            The same rows, for estimators.

        Raises
        ------
        ClusterError
            If there is no client of a cluster.
        BlockError
            If the workers do not see the folder, or a chunk cannot be read.
        """
        cluster = cluster_in_use()
        parts = self._rows.parts(_HELD)
        blocks = cluster.each(_read_rows, [str(self.folder)] * len(parts), parts)
        return DaskData(rows_on(cluster, blocks, self.fingerprint), self.columns, self.target)

    def __repr__(self) -> str:
        n, d = self.shape
        size = size_in_words(float(n) * d * self.dtype.itemsize)
        return f"<BlockZarr of {n} rows and {d} columns ({self.dtype}, {size}) in {self.folder}>"


def _read_rows(folder: str, rows: slice) -> NDArray[Any]:
    """Some rows of a folder; on a worker."""
    return BlockZarr(folder).rows().part(rows)


def is_zarr(folder: Path) -> bool:
    """Whether a folder is a Zarr array or group."""
    return (folder / ZARR).is_file()


def write_zarr(data: BlockData, folder: str | os.PathLike[str], block_rows: int | None) -> BlockZarr:
    """Write all blocks and the target, completely or not at all."""
    zarr, path = _zarr(), Path(folder).resolve()
    if path.exists():
        raise BlockError(f"{path} is there already. Choose another name, or delete it first.")
    n, d = data.shape
    step = min(n, block_rows or max(1, (1 << 25) // (data.dtype.itemsize * max(1, d))))
    part = path.with_name(f".{path.name}.part")
    shutil.rmtree(part, ignore_errors=True)  # what a killed writer left
    try:
        group = zarr.open_group(part, mode="w", zarr_format=3)
        options = {"compressors": [zarr.codecs.Crc32cCodec()], "config": {"write_empty_chunks": True}}
        X = group.create_array("X", shape=(n, d), chunks=(step, max(1, d)), dtype=data.dtype, **options)
        hashes, start = Fingerprint(), 0
        for block in _of_rows(data, step):
            X[start : start + len(block)] = block
            hashes.add(block)
            start += len(block)
        about = {"format": _FORMAT, "columns": None if data.columns is None else list(data.columns)}
        about |= {"target_name": getattr(data, "target_name", None), "fingerprint": hashes.of((n, d))}
        encoder = getattr(data, "encoder", None)
        group.attrs[_OURS] = about | _with_target(group, data.target, options) | {
            "encoder": None if encoder is None else encoder.to_dict()
        }  # fmt: skip
        part.replace(path)
    except OSError as error:
        raise BlockError(f"{path} cannot be written ({error.strerror or error}). Make room, then repeat.") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return BlockZarr(path)


def _with_target(group: Any, y: NDArray[Any] | None, options: dict[str, Any]) -> dict[str, Any]:
    """Store labels: strings as numbers, with a list of what they stand for."""
    if y is None:
        return {}
    classes = None
    if y.dtype.kind not in "biuf":
        names, y = np.unique(y.astype(str), return_inverse=True)
        classes = names.tolist()
    y = np.ascontiguousarray(y)
    group.create_array("y", data=y, **options)
    return {"classes": classes}


def _of_rows(data: BlockData, step: int) -> Any:
    """Dense blocks of so many rows."""
    waiting: list[Any] = []
    n = 0
    for block in data.blocks():
        dense = block.toarray() if hasattr(block, "toarray") else block
        while len(dense):
            part, dense = dense[: step - n], dense[step - n :]
            waiting.append(part)
            n += len(part)
            if n == step:
                yield np.concatenate(waiting)
                waiting, n = [], 0
    if waiting:
        yield np.concatenate(waiting)


def _opened(folder: Path) -> Any:
    zarr = _zarr()
    try:
        return zarr.open(folder, mode="r", zarr_format=3)
    except Exception as error:  # whatever a damaged file makes the library raise
        raise BlockError(f"{folder} is no Zarr array that can be read ({type(error).__name__}).") from error


def _member(group: Any, name: str, folder: Path) -> Any:
    try:
        return group[name]
    except Exception as error:
        raise BlockError(f"{folder} lacks its array {name!r} ({type(error).__name__}). Write it again.") from error


def _zarr() -> Any:
    try:
        import zarr
    except ImportError as error:
        raise ParameterError(
            'Zarr arrays need the package zarr. Install it with: pip install "rarefy[dask]"'
        ) from error
    return zarr
