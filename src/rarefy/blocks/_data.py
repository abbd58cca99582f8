"""What all data in blocks can do: be looped over, show one column, keep some columns, be written."""

import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import StandardScaler

from rarefy._input import RowMap, RowSource
from rarefy.backends.standardized_rows import StandardizedRows
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.certificates._fingerprint import Fingerprint
from rarefy.core.linalg.rows import Array, Index, edges
from rarefy.exceptions import ParameterError

if TYPE_CHECKING:
    from rarefy.blocks._folder import BlockFolder


class BlockData(RowSource):
    """Rows that come block by block."""

    @abstractmethod
    def rows(self) -> StreamedRows:
        """Return the data as solvers take them.

        Returns
        -------
        rows : Rows
            The same object each time, so that what a pass told is not asked for again.
        """

    @property
    def target(self) -> NDArray[Any] | None:
        """Labels or responses that came with the columns; None if there are none."""
        return None

    def blocks(self) -> Iterator[Any]:
        """Read block after block.

        Yields
        ------
        block : {ndarray, sparse array} of shape (n_rows, n_columns)
            Rows in order, as they are stored.
        """
        for _, block in self.rows()._blocks_in_storage():
            yield block.astype(self.dtype, copy=True)

    def column(self, name: str | int) -> NDArray[Any]:
        """Read one column.

        Parameters
        ----------
        name : str or int
            Its name, or its number.

        Returns
        -------
        values : ndarray of shape (n_rows,)
            The column.
        """
        d, names = self.shape[1], self.columns or ()
        if isinstance(name, str) and name not in names:
            raise ParameterError(f"There is no column {name!r}" + ("." if self.columns else "; columns have no names."))
        j = names.index(name) if isinstance(name, str) else int(name)
        if not -d <= j < d:
            raise ParameterError(f"There are {d} columns; got number {j}.")
        found = np.empty(self.shape[0], dtype=self.dtype)
        for rows, block in self.rows()._blocks_in_storage():
            part = block[:, [j % d]]
            found[rows] = (part if isinstance(part, np.ndarray) else part.toarray())[:, 0]
        return found

    def keep(self, index: Index, factors: Array, names: tuple[str, ...] | None) -> "BlockColumns":
        """Keep some columns, each times a number.

        Parameters
        ----------
        index : array of int
            Which ones.
        factors : array of float
            What they are multiplied by.
        names : tuple of str or None
            Their names.

        Returns
        -------
        kept : BlockColumns
            Nothing is computed before it is looped over, written, or passed to an estimator.
        """
        return BlockColumns(self, self.rows().columns(index, factors), names, self.dtype)

    def mapped(self, made: RowMap, names: tuple[str, ...] | None) -> "BlockColumns":
        """Make new rows of these, block by block.

        Parameters
        ----------
        made : RowMap
            How.
        names : tuple of str or None
            Names of the new columns.

        Returns
        -------
        rows : BlockColumns
            Nothing is computed before it is looped over, written, or passed to an estimator.
        """
        return BlockColumns(self, self.rows().mapped(made), names)

    def standardized(self, mean: Any = None, scale: Any = None) -> "BlockColumns":
        """Subtract the mean of each column, and divide by its standard deviation.

        Parameters
        ----------
        mean, scale : array-like of shape (n_columns,) or None, default=None
            What is subtracted and divided by; None takes those of the data, as `StandardScaler` has them, in one pass.

        Returns
        -------
        rows : BlockColumns
            Float64; nothing but means and deviations is computed before it is looped over, written, or passed to an
            estimator.
        """
        if (mean is None) != (scale is None):
            raise ParameterError("mean and scale belong together: give both or none.")
        if mean is None:
            mean, scale = self._moments()
        mean, scale = (np.asarray(one, dtype=np.float64) for one in (mean, scale))
        if not mean.shape == scale.shape == self.shape[1:] or not np.all(scale > 0.0):
            raise ParameterError(f"mean and scale need {self.shape[1]} numbers each, and those of scale are positive.")
        return BlockColumns(self, StandardizedRows(self.rows(), mean, scale, Fingerprint), self.columns)

    def _moments(self) -> tuple[Array, Array]:
        """Means and standard deviations; 1 where a column is constant."""
        if self.rows().sparse:
            raise ParameterError("Columns of sparse blocks keep their zeros: they are not standardised.")
        scaler = StandardScaler()
        for _, block in self.rows()._blocks_in_storage():
            for some in edges(*block.shape):
                scaler.partial_fit(block[some].astype(np.float64))
        return scaler.mean_, scaler.scale_

    def write(self, folder: str | os.PathLike[str], *, block_rows: int | None = None) -> "BlockFolder":
        """Write all blocks, and the target if there is one, as a folder.

        Parameters
        ----------
        folder : path-like
            A new or empty folder.
        block_rows : int or None, default=None
            Rows of a block; None makes blocks of 32 MB.

        Returns
        -------
        data : BlockFolder
            The folder, opened.
        """
        from rarefy.blocks._arrays import from_arrays  # which opens what it writes, as data in blocks

        name = getattr(self, "target_name", None)
        return from_arrays(folder, self._labelled(), columns=self.columns, block_rows=block_rows, target_name=name)

    def _labelled(self) -> Iterator[Any]:
        y, start = self.target, 0
        for block in self.blocks():
            yield block if y is None else (block, y[start : start + block.shape[0]])
            start += block.shape[0]


class BlockColumns(BlockData):
    """Columns that are computed of data in blocks: what `transform` returns for such data.

    Nothing is computed before it is looped over (`blocks`), written (`write`) or passed to another estimator.

    Attributes
    ----------
    shape : (int, int)
        Numbers of rows and columns.
    dtype : dtype
        float32 or float64; that of the data if columns were selected.
    columns : tuple of str or None
        Names of the columns.
    target : ndarray of shape (n_rows,) or None
        Labels that belong to the data.

    See Also
    --------
    BlockFolder : Data in a folder.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy import blocks
    >>> from rarefy.selection import RandomSelector
    >>> data = blocks.from_iterator(lambda: (np.full((3, 9), i) for i in range(2)))
    >>> kept = RandomSelector(2, random_state=0).fit_transform(data)
    >>> [block.shape for block in kept.blocks()]
    [(3, 2), (3, 2)]
    """

    def __init__(
        self, data: BlockData, rows: StreamedRows, names: tuple[str, ...] | None, dtype: np.dtype[Any] | None = None
    ) -> None:
        self._data, self._rows, self._names, self._dtype = data, rows, names, dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 or float64."""
        return self._rows.dtype if self._dtype is None else self._dtype

    @property
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns."""
        return self._names

    @property
    def target(self) -> NDArray[Any] | None:
        """Labels that belong to the data."""
        return self._data.target

    @property
    def target_name(self) -> str | None:
        """Name of the target."""
        return getattr(self._data, "target_name", None)

    def rows(self) -> StreamedRows:
        """Return the data as solvers take them.

        Returns
        -------
        rows : Rows
            The same object each time.
        """
        return self._rows

    def __repr__(self) -> str:
        return f"<BlockColumns: {self.shape[1]} columns of {self._data!r}>"
