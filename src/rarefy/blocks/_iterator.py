"""Blocks that a caller's own function gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy.backends.block_rows import IteratorRows
from rarefy.blocks._data import BlockData
from rarefy.certificates._columns import all_names


class BlockIterator(BlockData):
    """Rows that a function gives block by block, which estimators take in the place of an array.

    Made by :func:`from_iterator`.

    Attributes
    ----------
    shape : (int, int)
        Numbers of rows and columns.
    dtype : dtype
        float32 if all blocks are, else float64.
    columns : tuple of str or None
        Names of the columns.
    target : ndarray of shape (n_rows,) or None
        Labels that came with the blocks.

    See Also
    --------
    from_arrays : Write blocks into a folder once; each further pass is then as fast as the disk.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import blocks
    >>> def days():
    ...     for day in range(7):
    ...         yield np.random.default_rng(day).random((100, 4))
    >>> blocks.from_iterator(days).shape
    (700, 4)
    """

    def __init__(self, make: Callable[[], Any], columns: Any = None) -> None:
        self._rows = IteratorRows(make)
        names = None if columns is None else all_names(columns, self._rows.shape[1])
        self._columns = None if names is None else tuple(str(name) for name in names)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 if all blocks are, else float64."""
        return self._rows.dtype

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        return self._columns

    @property
    def target(self) -> NDArray[Any] | None:
        """Labels that came with the blocks."""
        return self._rows.target

    def rows(self) -> IteratorRows:
        """Return the data as solvers take them.

        Returns
        -------
        rows : IteratorRows
            The same object each time.
        """
        return self._rows

    def __repr__(self) -> str:
        return f"<BlockIterator of {self.shape[0]} rows and {self.shape[1]} columns ({self.dtype})>"


def from_iterator(make: Callable[[], Any], *, columns: Any = None) -> BlockIterator:
    """Take blocks from a function of one's own.

    Parameters
    ----------
    make : callable
        Returns a new iterator over the same blocks at every call: arrays or CSR matrices of rows, or pairs of these and
        the labels of the rows. It is called once here, to count rows, and once for every pass over the data.
    columns : array-like of str or None, default=None
        Names of the columns.

    Returns
    -------
    data : BlockIterator
        What estimators take as X.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import blocks
    >>> from rarefy.selection import BSSSelector
    >>> data = blocks.from_iterator(lambda: (np.random.default_rng(i).random((50, 8)) for i in range(4)))
    >>> int(BSSSelector(6, rank=3).fit(data).support_.sum())
    6
    """
    return BlockIterator(make, columns)
