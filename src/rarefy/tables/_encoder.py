"""Tables as numbers: numbers pass, categories become indicators, and everything else is refused by name."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from rarefy._estimator import Estimator
from rarefy._fit import fit_method
from rarefy._parameters import COUNT
from rarefy._warnings import warn_user
from rarefy.exceptions import ParameterError, RarefyWarning, TableError
from rarefy.tables._encoded import EncodedColumn
from rarefy.tables._frames import is_frame
from rarefy.tables._learn import check_finite, check_missing, learn_columns, learn_fills
from rarefy.tables._messages import counted, listed
from rarefy.tables._notes import unique_names
from rarefy.tables._table import MAX_CATEGORIES, Table
from rarefy.tables._words import weighted

_FORMAT = "rarefy.TableEncoder/1"


class TableEncoder(TransformerMixin, Estimator):
    """Encode a table as numbers.

    Numbers pass, booleans become 0 and 1, and a category becomes an indicator "column=value" for each of its values
    (one indicator if there are two). Dates and free text are refused by name.

    Parameters
    ----------
    impute : {"median"} or None, default=None
        What replaces missing values: the median of a column of numbers, the most frequent value of others. None refuses
        missing values.
    max_categories : int, default=50
        Strings with more distinct values are free text.

    Attributes
    ----------
    columns_ : list of dict
        What was learned about every column: `name`, `kind`, `categories`, `fill`.
    feature_names_out_ : list of str
        Names of the columns of numbers.
    groups_ : list of int
        For each of them the position of its column in the table: the indicators of a category are one group.
    idf_ : ndarray or None
        Of a folder of texts: the weight of each word, which other folders are then weighted by, too.
    n_features_in_ : int
        Number of columns of the table.

    See Also
    --------
    read_table : Read a table from a file.

    Examples
    --------
    >>> import pandas as pd
    >>> from rarefy.tables import TableEncoder
    >>> frame = pd.DataFrame({"size": [1.5, None, 3.5, 2.0], "leaf": ["oak", "elm", "oak", "elm"]})
    >>> encoder = TableEncoder(impute="median")
    >>> encoder.fit_transform(frame)
    array([[1.5, 1. ],
           [2. , 0. ],
           [3.5, 1. ],
           [2. , 0. ]])
    >>> encoder.get_feature_names_out()
    array(['size', 'leaf=oak'], dtype=object)
    """

    _guide = "own_table"
    _parameter_constraints = {"impute": [StrOptions({"median"}), None], "max_categories": [COUNT]}

    def __init__(self, impute: str | None = None, max_categories: int = MAX_CATEGORIES) -> None:
        self.impute = impute
        self.max_categories = max_categories

    @fit_method
    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Learn the columns of a table.

        Parameters
        ----------
        X : Table, pandas.DataFrame, polars.DataFrame, ndarray or sparse matrix
            The data, without the target.
        y : None
            Ignored.

        Returns
        -------
        self : TableEncoder
            The fitted encoder.
        """
        table = self._as_table(X)
        columns = learn_columns(table, self.max_categories)
        if self.impute is None:
            check_missing(table)
        else:
            columns = learn_fills(table, columns)
        check_finite(table)
        self._store(columns, table.idf)
        return self

    def transform(self, X: Any) -> Any:
        """Encode a table with the same columns, in any order.

        Parameters
        ----------
        X : Table, pandas.DataFrame, polars.DataFrame, ndarray or sparse matrix
            Columns that `fit` has not seen are ignored with a warning, categories that it has not seen are zeros.

        Returns
        -------
        X : ndarray of float64, or csr_array, of shape (n_rows, n_features_out)
            The numbers; sparse if the table is a sparse matrix.

        Raises
        ------
        TableError
            If columns are missing or hold something else than in `fit`, and for missing and infinite values.
        """
        check_is_fitted(self)
        table = self._as_table(X)
        columns = [EncodedColumn.from_dict(one) for one in self.columns_]
        table = self._reweighted(_aligned(table, [column.name for column in columns]))
        if any(column.fill is None for column in columns):
            check_missing(table)
        check_finite(table)
        if table.columns is None and all(column.kind == "number" for column in columns):
            return _matrix(table, columns)
        numbers = np.empty((table.n_rows, len(self.feature_names_out_)))
        start = 0
        for column in columns:
            block = column.encode(table.column(column.name), table.kinds[column.name], table.source)
            numbers[:, start : start + block.shape[1]] = block
            start += block.shape[1]
        return numbers

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the columns of numbers.

        Parameters
        ----------
        input_features : None
            Ignored: the names are those of the table.

        Returns
        -------
        names : ndarray of str objects
            A column's own name, or "column=value" for an indicator.
        """
        check_is_fitted(self)
        return np.array(self.feature_names_out_, dtype=object)

    def to_dict(self) -> dict[str, Any]:
        """Return parameters and fitted state as plain values, for JSON.

        Returns
        -------
        values : dict
            What `from_dict` takes.
        """
        check_is_fitted(self)
        return {
            "format": _FORMAT,
            "impute": self.impute,
            "max_categories": int(self.max_categories),
            "columns": [dict(column) for column in self.columns_],
            "idf": None if self.idf_ is None else self.idf_.tolist(),
        }

    @classmethod
    def from_dict(cls, values: Any) -> "TableEncoder":
        """Make a fitted encoder of what `to_dict` returned.

        Parameters
        ----------
        values : dict
            The values; anything that `to_dict` would not return raises ParameterError.

        Returns
        -------
        encoder : TableEncoder
            Encodes as the original one does.
        """
        keys = {"format", "impute", "max_categories", "columns", "idf"}
        if not isinstance(values, dict) or set(values) != keys or values["format"] != _FORMAT:
            raise ParameterError(f"TableEncoder.from_dict needs {', '.join(sorted(keys))} with format {_FORMAT!r}.")
        impute, limit, columns = values["impute"], values["max_categories"], values["columns"]
        if impute not in (None, "median") or not COUNT.is_satisfied_by(limit):
            raise ParameterError("TableEncoder.from_dict: impute must be None or 'median', max_categories an int >= 1.")
        if not isinstance(columns, list) or not columns:
            raise ParameterError("TableEncoder.from_dict: columns must be a list with at least one column.")
        learned = [EncodedColumn.from_dict(column) for column in columns]
        if len({column.name for column in learned}) < len(learned):
            raise ParameterError("TableEncoder.from_dict: the names of columns must be all different.")
        if any((column.fill is None) != (impute is None) for column in learned):
            raise ParameterError("TableEncoder.from_dict: every column needs a fill if impute is 'median', else none.")
        idf = values["idf"]
        if idf is not None and not _are_weights(idf, len(learned)):
            raise ParameterError("TableEncoder.from_dict: idf must be None or a positive number for every column.")
        encoder = cls(impute=impute, max_categories=limit)
        encoder._store(learned, None if idf is None else np.array(idf, dtype=np.float64))
        return encoder

    def _reweighted(self, table: Table) -> Table:
        """A folder of texts with the weights of words that `fit` has seen, instead of its own."""
        if (self.idf_ is None) != (table.idf is None):
            now, before = ("a table", "a folder of texts") if table.idf is None else ("texts", "a table")
            raise TableError(
                f"{table.source} holds {now}, and the model was made from {before}; give it the same kind of data."
            )
        if table.idf is None or self.idf_ is None:
            return table
        weight = dict(zip((column["name"] for column in self.columns_), self.idf_.tolist(), strict=True))
        idf = np.array([weight[name] for name in table.names])
        if np.array_equal(idf, table.idf):
            return table
        return replace(table, matrix=weighted(table.matrix, idf / table.idf), idf=idf)

    def _store(self, columns: list[EncodedColumn], idf: NDArray[np.float64] | None) -> None:
        names, _ = unique_names(name for column in columns for name in column.outputs)
        self.columns_ = [column.to_dict() for column in columns]
        self.feature_names_out_ = list(names)
        self.groups_ = [i for i, column in enumerate(columns) for _ in column.outputs]
        self.idf_ = idf
        self.n_features_in_ = len(columns)

    def _as_table(self, data: Any) -> Table:
        if isinstance(data, Table):
            return data
        return Table.from_frame(data, max_categories=self.max_categories) if is_frame(data) else Table.from_arrays(data)


def _aligned(table: Table, names: list[str]) -> Table:
    """The table with the columns of `fit`; what is too much is reported, and zero what a sparse matrix lacks."""
    missing = [name for name in names if name not in table.kinds]
    sparse = sp.issparse(table.matrix)
    if missing and (not sparse or len(missing) == len(names)):
        raise TableError(
            f"{table.source} lacks {len(missing)} of {len(names)} columns: {listed(missing)}. Add them, or encode "
            "a table without them anew."
        )
    if missing:
        warn_user(
            f"{table.source} lacks {len(missing)} of {len(names)} columns, which count as zeros: {listed(missing)}.",
            RarefyWarning,
        )
    known = set(names)
    extra = [name for name in table.names if name not in known]
    if extra:
        warn_user(
            f"{table.source} has {counted(len(extra), 'column')} too many, ignored: {listed(extra)}.", RarefyWarning
        )
    return _with_zeros(table, names, missing) if missing else table.drop(extra) if extra else table


def _with_zeros(table: Table, names: list[str], missing: list[str]) -> Table:
    place = {name: j for j, name in enumerate(table.names)}
    present = [name for name in names if name in place]
    empty = sp.csr_array((table.n_rows, len(missing)), dtype=table.matrix.dtype)
    matrix = sp.csr_array(sp.hstack([table.matrix[:, [place[name] for name in present]], empty]))
    every = (*present, *missing)
    idf = None
    if table.idf is not None:  # words that do not occur may have any weight
        matrix = weighted(matrix, np.ones(len(every)))
        idf = np.append(table.idf[[place[name] for name in present]], np.ones(len(missing)))
    kinds = dict.fromkeys(every, "number")
    return Table(every, kinds, None, matrix, table.labels, table.notes, table.source, idf)


def _are_weights(values: Any, n: int) -> bool:
    right = isinstance(values, list) and len(values) == n
    return right and all(isinstance(one, float) and 0.0 < one < np.inf for one in values)


def _matrix(table: Table, columns: list[EncodedColumn]) -> Any:
    """A matrix in the order of `fit`, with missing values replaced."""
    matrix = table.matrix
    names = [column.name for column in columns]
    if list(table.names) != names:
        place = {name: j for j, name in enumerate(table.names)}
        matrix = matrix[:, [place[name] for name in names]]
    fills = np.array([0.0 if column.fill is None else float(column.fill) for column in columns])
    if sp.issparse(matrix):
        filled = np.where(np.isnan(matrix.data), fills[matrix.indices], matrix.data)
        return sp.csr_array((filled, matrix.indices, matrix.indptr), shape=matrix.shape)
    return np.where(np.isnan(matrix), fills, matrix).astype(np.float64, copy=False)
