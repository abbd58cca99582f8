"""A folder of blocks in the place of a table: its columns are numbers already, and it is read block by block."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

from rarefy._input import RowSource
from rarefy.blocks import BlockFolder
from rarefy.blocks._data import BlockColumns, BlockData
from rarefy.exceptions import ParameterError
from rarefy.tables import TableEncoder
from rarefy.tables._messages import listed, one_line
from rarefy.tables._notes import unique_names, unnamed
from rarefy.tables._table import LABELS

_MANIFEST = "manifest.json"


def is_block_folder(file: str) -> bool:
    """Whether a path is a folder that `rarefy convert` wrote, or began to."""
    return (Path(file) / _MANIFEST).is_file()


class StoredTable:
    """What commands ask of a table, of a folder of blocks."""

    notes: tuple[str, ...] = ()

    def __init__(self, file: str) -> None:
        self.source, self.data = file, BlockFolder(file)
        d = self.data.shape[1]
        given = unnamed(d) if self.data.columns is None else list(self.data.columns)
        self.names, _ = unique_names(given)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.data.shape[0]

    @property
    def target_name(self) -> str:
        """What the stored target is called."""
        return self.data.target_name or LABELS

    def split(self, target: str | None) -> tuple["StoredTable", NDArray[Any]]:
        """The columns, and the target that is stored beside them; None takes it whatever its name is."""
        y = self.data.target
        if y is None:
            raise ParameterError(f"{self.source} has no target; write it again with rarefy convert --target.")
        if target not in (None, self.target_name):
            raise ParameterError(
                f"{self.source} was written with the target {one_line(self.target_name)!r}, not {one_line(target)!r}; "
                "write it again with rarefy convert --target."
            )
        return self, y

    def encoder(self, impute: str | None = None) -> TableEncoder:
        """From tables with these columns to their numbers: what wrote the folder, or numbers as they are."""
        if impute is not None:
            raise ParameterError(f"{self.source} is a folder of blocks: fill values with rarefy convert --impute.")
        known = self.data.encoder
        if known is not None:
            return known
        columns: list[dict[str, Any]] = [
            {"name": name, "kind": "number", "categories": [], "fill": None} for name in self.names
        ]
        values = TableEncoder().fit(np.zeros((1, 1))).to_dict()
        return TableEncoder.from_dict(values | {"columns": columns})

    def numbers(self, encoder: TableEncoder) -> BlockData:
        """The columns that an encoder makes, in its order, and without names, as it makes arrays of other tables."""
        wanted = [str(name) for name in encoder.get_feature_names_out()]
        place = {name: j for j, name in enumerate(self.names)}
        missing = [name for name in wanted if name not in place]
        if missing:
            raise ParameterError(
                f"{self.source} lacks {len(missing)} of {len(wanted)} columns: {listed(missing)}. A folder of blocks "
                "needs the columns that rarefy convert makes of the table."
            )
        if wanted == list(self.names):
            return BlockColumns(self.data, self.data.rows(), None)
        index = np.array([place[name] for name in wanted])
        return self.data.keep(index, np.ones(len(index)), None)


def scaled(data: BlockData, scaler: Any) -> BlockData:
    """What a fitted scaler makes of data in blocks."""
    if isinstance(scaler, MaxAbsScaler):
        return data.keep(np.arange(data.shape[1]), 1.0 / scaler.scale_, None)
    return data.standardized(scaler.mean_, scaler.scale_)


def fitted_scaler(data: BlockData) -> Any:
    """A scaler of columns, fitted in one pass; sparse blocks keep their zeros."""
    scaler = MaxAbsScaler() if data.rows().sparse else StandardScaler()
    for block in data.blocks():
        scaler.partial_fit(block.astype(np.float64))
    return scaler


def some_rows(data: BlockData, rows: NDArray[np.intp]) -> BlockData:
    """Rows with these numbers, still in storage."""
    return BlockColumns(data, data.rows().restricted(rows), data.columns)


def held_out_labels(model: Any, X: BlockData, y: NDArray[Any], folds: Any) -> NDArray[Any]:
    """What models say of rows that they did not learn from, as `cross_val_predict` does it with arrays."""
    found = np.empty_like(y)
    for train, test in folds.split(np.zeros((len(y), 1)), y):
        found[test] = clone(model).fit(some_rows(X, train), y[train]).predict(some_rows(X, test))
    return found


def applied(pipeline: Any, table: StoredTable) -> Any:
    """What all steps of a pipeline but the last make of a folder, block by block."""
    X: Any = table.numbers(pipeline[0])
    for step in pipeline[1:-1]:
        X = scaled(X, step)
    assert isinstance(X, RowSource)
    return X
