"""The transpose of streamed rows in a temporary file: for data with more columns than rows that do not fit into memory.

A : (n, d) rows that come block by block, n small beside d

A Gram matrix of the rows, lengths of singular vectors, or some columns are asked for column by column; blocks of rows
have a part of every column only. So the transpose is written once: tiles, a block of rows by a panel of columns, go to
the place of their panel, and then each panel, which is a whole of n rows and some columns, is turned in memory. A
column is then in one piece, and read alone or with its neighbours.
"""

import shutil

import numpy as np

from rarefy._files import size_in_words
from rarefy.backends.scratch_rows import FileRows, read_bytes, scratch_folder
from rarefy.backends.streamed_rows import StreamedRows
from rarefy.core.linalg.rows import edges
from rarefy.exceptions import MemoryBudgetError


class TurnedRows(FileRows):
    """The columns of dense streamed rows as rows, in the precision of these."""

    def __init__(self, rows: StreamedRows) -> None:
        n, d = rows.shape
        size, folder = rows.dtype.itemsize * n * d, scratch_folder()
        if shutil.disk_usage(folder).free < size:
            raise MemoryBudgetError(
                f"Data with more columns than rows are read column by column from a copy of {size_in_words(size)}, for "
                f"which {folder} has no room. Set scratch_folder with rarefy.set_config, or raise memory_budget."
            )
        self._given = rows
        super().__init__((d, n), rows.dtype)

    def _write(self) -> None:
        d, n = self.shape
        panels = list(edges(d, n, read_bytes() // self._dtype.itemsize))
        for rows, block in self._given._blocks_in_storage():
            for panel in panels:
                self._put(block[:, panel], panel.start * n + rows.start * (panel.stop - panel.start))
        for panel in panels:
            found = np.empty((n, panel.stop - panel.start), dtype=self._dtype)
            self._read_into(found, panel.start * n)
            self._put(found.T, panel.start * n)
        del self._given
