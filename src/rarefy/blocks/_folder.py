"""A folder of blocks as estimators take it."""

import io
import os
import zlib
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.lib import format as npy
from numpy.typing import NDArray

from rarefy._files import size_in_words
from rarefy.backends.block_files import BlockFiles
from rarefy.backends.block_rows import BlockRows
from rarefy.backends.cluster import cluster_in_use
from rarefy.backends.dask_data import DaskData, rows_on
from rarefy.blocks._data import BlockData
from rarefy.blocks._manifest import Manifest
from rarefy.blocks._zarr import BlockZarr, is_zarr
from rarefy.exceptions import BlockError, ParameterError
from rarefy.tables import TableEncoder


class BlockFolder(BlockData):
    """Rows in a folder of blocks, which estimators take in the place of an array and read block by block.

    Made by :func:`open` and by what writes folders. Nothing is read before it is needed, and never more at a time than
    the setting `memory_budget` of :func:`rarefy.set_config` allows. When a block is read for the first time its
    checksum is compared.

    Attributes
    ----------
    folder : Path
        Where the blocks are.
    shape : (int, int)
        Numbers of rows and columns.
    dtype : dtype
        float32 or float64.
    columns : tuple of str or None
        Names of the columns.
    sparse : bool
        Whether blocks are CSR matrices.
    n_blocks, n_bytes : int
        How many blocks there are, and how large they are together.
    target_name : str or None
        Name of the target that was stored beside the columns.
    fingerprint : str
        Hash of all entries, the same as that of certificates.
    encoder : TableEncoder or None
        What made numbers of a table's columns, for new rows of such tables; None if the folder was written from arrays.

    See Also
    --------
    open : Open a folder.
    from_arrays : Write one from arrays.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy import blocks
    >>> from rarefy.selection import BSSSelector
    >>> X = np.random.default_rng(0).standard_normal((500, 30))
    >>> with TemporaryDirectory() as folder:
    ...     data = blocks.from_arrays(folder, X, block_rows=200)
    ...     selector = BSSSelector(20, rank=10).fit(data)
    >>> data.n_blocks, int(selector.support_.sum())
    (3, 20)
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder).resolve()
        self._manifest = Manifest.read(self.folder)
        self._files = self._manifest.files(self.folder)
        self._refuse_links()
        self._files.check_sizes()

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._manifest.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return np.dtype(self._manifest.dtype)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        return self._manifest.columns

    @property
    def sparse(self) -> bool:
        """Whether blocks are CSR matrices."""
        return self._manifest.kind == "csr"

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self._manifest.blocks)

    @property
    def n_bytes(self) -> int:
        """Size of all blocks."""
        return self._files.n_bytes

    @property
    def target_name(self) -> str | None:
        """Name of the stored target."""
        return self._manifest.target_name

    @property
    def fingerprint(self) -> str:
        """Hash of all entries."""
        return self._manifest.fingerprint

    @property
    def encoder(self) -> TableEncoder | None:
        """What made numbers of a table's columns."""
        return None if self._manifest.encoder is None else TableEncoder.from_dict(self._manifest.encoder)

    @cached_property
    def target(self) -> NDArray[Any] | None:
        """Labels or responses that were stored beside the columns; None if there are none."""
        stored = self._manifest.target
        if stored is None:
            return None
        with self._files.opened(stored) as opened:
            content = opened.read()
            self._files.accept(stored, opened, zlib.crc32(content))
        try:
            return npy.read_array(io.BytesIO(content), allow_pickle=False)
        except ValueError as error:
            raise BlockError(
                f"{self.folder / stored.name} holds no labels ({error}). Write the folder again."
            ) from error

    def rows(self) -> BlockRows:
        """Return the data as solvers take them.

        Returns
        -------
        rows : BlockRows
            The same object each time, so that what a pass told is not asked for again.
        """
        return self._rows

    @cached_property
    def _rows(self) -> BlockRows:
        return BlockRows(self._files, self._manifest.fingerprint)

    def on_workers(self) -> DaskData:
        """Let the workers of the cluster that is in use hold the blocks; each reads them from this folder itself.

        Returns
        -------
        data : DaskData
            The same rows, for estimators.

        Raises
        ------
        ClusterError
            If there is no client of a cluster.
        BlockError
            If the workers do not see the folder, or a block is damaged.
        """
        cluster = cluster_in_use()
        d = self.shape[1]
        each = [replace(self._files, blocks=(block,), shape=(block.n_rows, d)) for block in self._files.blocks]
        blocks = cluster.each(_read_block, each)
        return DaskData(rows_on(cluster, blocks, self.fingerprint), self.columns, self.target)

    def check(self) -> None:
        """Read all blocks and compare their checksums.

        Raises
        ------
        BlockError
            If a block is damaged, cut, gone or changed.
        """
        self._files.checked.clear()
        for _ in self._files.passing():
            pass

    def __repr__(self) -> str:
        n, d = self.shape
        kind = "CSR" if self.sparse else "dense"
        target = f", target {self.target_name!r}" if self._manifest.target is not None and self.target_name else ""
        return (
            f"<BlockFolder of {n} rows and {d} columns ({kind} {self.dtype}, {self.n_blocks} "
            f"block{'' if self.n_blocks == 1 else 's'}, {size_in_words(self.n_bytes)}{target}) in {self.folder}>"
        )

    def _refuse_links(self) -> None:
        """Links could lead out of the folder."""
        for block in self._manifest.blocks:
            for file in block.files:
                if (self.folder / file.name).is_symlink():
                    raise BlockError(f"{self.folder / file.name} is a link; blocks are files of the folder itself.")


def _read_block(files: BlockFiles) -> Any:
    """The only block of a folder that has but one; on a worker."""
    parts = [block.copy() for _, block in replace(files, checked={}).passing()]
    return sp.vstack(parts, format="csr") if files.sparse else np.concatenate(parts)


def open(folder: str | os.PathLike[str]) -> Any:
    """Open a folder of blocks.

    Parameters
    ----------
    folder : path-like
        What `rarefy convert` or one of the functions of this module wrote; or a Zarr array (version 3) of two
        dimensions, or a group that `write` made.

    Returns
    -------
    data : BlockFolder or BlockZarr
        What estimators take as X.

    Raises
    ------
    BlockError
        If the folder was not written to its end, or files are missing or have other sizes than when they were written.

    Examples
    --------
    >>> import numpy as np
    >>> from tempfile import TemporaryDirectory
    >>> from rarefy import blocks
    >>> with TemporaryDirectory() as folder:
    ...     _ = blocks.from_arrays(folder, np.eye(4), columns=["a", "b", "c", "d"])
    ...     data = blocks.open(folder)
    >>> data.shape, data.columns
    ((4, 4), ('a', 'b', 'c', 'd'))
    """
    if not isinstance(folder, str | os.PathLike):
        raise ParameterError(f"folder of blocks.open must be a path; got {folder!r}.")
    return BlockZarr(folder) if is_zarr(Path(folder)) else BlockFolder(folder)
