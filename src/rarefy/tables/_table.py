"""A table: typed columns or a matrix, with names and notes."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from rarefy.exceptions import ParameterError, TableError
from rarefy.tables._frames import Columns, frame_columns
from rarefy.tables._messages import counted, listed, one_line, quoted
from rarefy.tables._notes import content_notes, unique_names, unnamed
from rarefy.tables._words import weighted

MAX_CATEGORIES = 50
KINDS = ("number", "boolean", "category", "text", "date")
LABELS = "labels"
"""What the target is called that a file states beside its columns."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Columns with names and kinds, or a matrix with names.

    Tables come from `read_table`, `from_frame` and `from_arrays`.

    Attributes
    ----------
    names : tuple of str
        Names of the columns, all different.
    kinds : mapping of str to str
        Kind of every column: "number", "boolean", "category", "text" or "date".
    columns : mapping of str to ndarray, or None
        Float64 with NaN for missing values for numbers and booleans; objects, str or None, for the other kinds. None
        for a matrix.
    matrix : ndarray, csr_array or None
        Float32 or float64, for formats without typed columns. None for columns.
    labels : ndarray or None
        The target if the file states one beside its columns: the labels of libsvm, `y` of an archive, the sub-folders
        of a folder of texts.
    notes : tuple of str
        Sentences about what was found and decided while reading.
    source : str
        Name of the file, for messages.
    idf : ndarray or None
        Of a folder of texts: by what the counts of each word were multiplied. None for other tables.

    See Also
    --------
    read_table : Read a table from a file or folder.
    TableEncoder : Encode a table as numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from rarefy.tables import Table
    >>> frame = pd.DataFrame({"age": [41, 29, 35], "city": ["Bern", "Rome", "Bern"], "ill": [True, False, True]})
    >>> table = Table.from_frame(frame)
    >>> dict(table.kinds)
    {'age': 'number', 'city': 'category', 'ill': 'boolean'}
    >>> rest, y = table.split("ill")
    >>> rest.names, y.tolist()
    (('age', 'city'), [1.0, 0.0, 1.0])
    """

    names: tuple[str, ...]
    kinds: Mapping[str, str]
    columns: Mapping[str, NDArray[Any]] | None = None
    matrix: Any = None
    labels: NDArray[Any] | None = None
    notes: tuple[str, ...] = ()
    source: str = field(default="The table")
    idf: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if (self.columns is None) == (self.matrix is None):
            raise ParameterError("Table needs either columns or a matrix.")
        lengths = {len(column) for column in self.columns.values()} if self.columns is not None else set()
        width = self.matrix.shape[1] if self.columns is None else len(self.columns)
        fits = self.columns is None or set(self.columns) == set(self.names)
        if len(set(self.names)) != len(self.names) or width != len(self.names) or not fits or len(lengths) > 1:
            raise ParameterError("names of Table must be all different, one for each column, and columns equally long.")
        if set(self.kinds) != set(self.names) or not set(self.kinds.values()) <= set(KINDS):
            raise ParameterError(f"kinds of Table must give every column one of {', '.join(KINDS)}.")
        for name in ("kinds", "columns"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, MappingProxyType):
                object.__setattr__(self, name, MappingProxyType(dict(value)))

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {kind}" for kind in KINDS if (n := list(self.kinds.values()).count(kind)))
        form = "" if self.columns is not None else ", sparse" if sp.issparse(self.matrix) else ", dense"
        return f"<Table of {self.n_rows} rows and {len(self.names)} columns ({counts}{form})>"

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.columns is None:
            return int(self.matrix.shape[0])
        return len(next(iter(self.columns.values()), ())) if self.columns or self.labels is None else len(self.labels)

    @property
    def is_sparse(self) -> bool:
        """Whether the table is a sparse matrix."""
        return bool(sp.issparse(self.matrix))

    @classmethod
    def from_frame(cls, frame: Any, *, max_categories: int = MAX_CATEGORIES, source: str = "The data frame") -> "Table":
        """Take over the columns of a data frame.

        Parameters
        ----------
        frame : pandas.DataFrame or polars.DataFrame
            The data.
        max_categories : int, default=50
            Strings with more distinct values are text.
        source : str, default="The data frame"
            What messages call it.

        Returns
        -------
        table : Table
            The columns; strings that are numbers, booleans or dates are recognised.
        """
        found, contents = [], []
        for name, typed in frame_columns(frame, max_categories):
            found.append(name)
            contents.append(typed)
        names, notes = unique_names(found)
        columns = Columns()
        for name, typed in zip(names, contents, strict=True):
            columns.add(name, typed)
        return cls.of_columns(columns, notes=notes, source=source)

    @classmethod
    def from_arrays(
        cls, X: Any, names: Iterable[object] | None = None, *, labels: Any = None, source: str = "The array"
    ) -> "Table":
        """Take over a matrix.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Numbers; float32 is kept, everything else becomes float64.
        names : iterable of str, default=None
            One for each column; None calls them "column 1" and so on.
        labels : array-like of shape (n_samples,), default=None
            The target.
        source : str, default="The array"
            What messages call it.

        Returns
        -------
        table : Table
            The matrix with names.
        """
        matrix = _numeric_matrix(X, source)
        given = unnamed(matrix.shape[1]) if names is None else list(names)
        if len(given) != matrix.shape[1]:
            raise TableError(
                f"{source} has {counted(matrix.shape[1], 'column')} and {counted(len(given), 'name')}; give one name "
                "for each column."
            )
        unique, notes = unique_names(given)
        target = None if labels is None else np.asarray(labels)
        if target is not None and target.shape != (matrix.shape[0],):
            raise TableError(
                f"{source} has {counted(matrix.shape[0], 'row')} and a target of shape {target.shape}; give one label "
                "for each row."
            )
        if target is not None and target.dtype.kind not in "biufUS" and not _all_strings(target):
            raise TableError(f"{source} has a target of type {target.dtype}; numbers and strings are allowed.")
        notes += content_notes(unique, None, matrix)
        return cls(unique, dict.fromkeys(unique, "number"), None, matrix, target, tuple(notes), source)

    @classmethod
    def of_columns(cls, columns: Columns, *, notes: Iterable[str], source: str) -> "Table":
        """Make a table of collected columns.

        Parameters
        ----------
        columns : Columns
            Values, kinds and notes.
        notes : iterable of str
            What there is to say before the notes of the columns.
        source : str
            What messages call it.

        Returns
        -------
        table : Table
            The columns, with notes on constant and duplicate ones.
        """
        names = tuple(columns.values)
        every = (*notes, *columns.notes, *content_notes(names, columns.values, None))
        return cls(names, columns.kinds, columns.values, None, None, every, source)

    def column(self, name: str) -> NDArray[Any]:
        """Return the values of one column.

        Parameters
        ----------
        name : str
            Its name.

        Returns
        -------
        values : ndarray of shape (n_rows,)
            As in `columns`; of a matrix always float64.
        """
        self._check_names([name])
        if self.columns is not None:
            return self.columns[name]
        column = self.matrix[:, [self.names.index(name)]]
        return np.asarray(column.toarray() if sp.issparse(column) else column, dtype=np.float64).ravel()

    def drop(self, names: Iterable[str]) -> "Table":
        """Leave columns out.

        Parameters
        ----------
        names : iterable of str
            Names of the columns; an unknown one is an error.

        Returns
        -------
        table : Table
            The other columns.
        """
        dropped = set(self._check_names(names))
        kept = [j for j, name in enumerate(self.names) if name not in dropped]
        left = tuple(self.names[j] for j in kept)
        if not left:
            raise TableError(f"{self.source} has no column left without {listed(sorted(dropped))}; keep at least one.")
        columns = None if self.columns is None else {name: self.columns[name] for name in left}
        matrix = None if self.matrix is None else self.matrix[:, kept]
        idf = None if self.idf is None else self.idf[kept]
        if idf is not None:
            matrix = weighted(matrix, np.ones(len(kept)))  # as if the texts did not have the other words
        kinds = {name: self.kinds[name] for name in left}
        return replace(self, names=left, kinds=kinds, columns=columns, matrix=matrix, idf=idf)

    def split(self, target: str | None = None) -> tuple["Table", NDArray[Any]]:
        """Separate the target from the other columns.

        Parameters
        ----------
        target : str, default=None
            Name of a column; None, or "labels", takes the target that the file states beside its columns, if it does.

        Returns
        -------
        rest : Table
            The other columns.
        y : ndarray of shape (n_rows,)
            The target: numbers, or strings.

        Raises
        ------
        TableError
            If there is no such column, or if the target is constant or has missing values.
        """
        if self.labels is not None and target in (None, LABELS):
            y, rest, shown = self.labels, replace(self, labels=None), "target"
        elif target is not None:
            y = self.column(target)
            rest, shown = self.drop([target]), f"target {quoted(target)}"
        else:
            raise TableError(f"{self.source} states no target: name one of its columns, {listed(self.names)}.")
        missing = np.array([value is None for value in y]) if y.dtype == object else y != y
        if missing.any():
            raise TableError(
                f"{self.source}: the {shown} has {counted(int(missing.sum()), 'missing value')} in {len(y)} rows, the "
                f"first in row {int(np.argmax(missing)) + 1}; fill them in, or remove these rows."
            )
        y = y.astype(str) if y.dtype.kind in "OUS" else y
        if len(y) == 0 or np.all(y == y[0]):
            only = f" ({quoted(y[0])} in all {len(y)} rows)" if len(y) else ""
            raise TableError(f"{self.source}: the {shown} is constant{only}; choose a column with two or more values.")
        return rest, y

    def _check_names(self, names: Iterable[str]) -> list[str]:
        names = [names] if isinstance(names, str) else list(names)
        unknown = [name for name in names if name not in self.kinds]
        if unknown:
            close = get_close_matches(str(unknown[0]), self.names[:100_000], n=3, cutoff=0.5)
            hint = f"did you mean {' or '.join(map(quoted, close))}?" if close else f"it has {listed(self.names)}."
            beside = "" if self.labels is None else f" The target that it states is called {quoted(LABELS)}."
            raise TableError(f"{one_line(self.source)} has no column {listed(unknown)}; {hint}{beside}")
        return names


def _all_strings(values: NDArray[Any]) -> bool:
    return values.dtype == object and all(isinstance(value, str) for value in values)


def _numeric_matrix(X: Any, source: str) -> Any:
    """A matrix of floats, dense or CSR, with two dimensions."""
    matrix = X if sp.issparse(X) else np.asarray(X)
    if matrix.ndim != 2:
        raise TableError(f"{source} has {counted(matrix.ndim, 'dimension')}; a table has two, rows and columns.")
    if matrix.dtype.kind not in "biuf":
        raise TableError(f"{source} holds {one_line(matrix.dtype, 60)}; numbers are needed. Convert them, or save CSV.")
    if 0 in matrix.shape:
        raise TableError(f"{source} has {matrix.shape[0]} rows and {matrix.shape[1]} columns; it needs one of each.")
    dtype = np.float32 if matrix.dtype == np.float32 else np.float64
    if not sp.issparse(matrix):
        with np.errstate(
            over="ignore"
        ):  # what is too large for double precision becomes infinite, and is refused later
            return np.ascontiguousarray(matrix, dtype=dtype)
    rows = sp.csr_array(matrix, dtype=dtype)
    if not rows.has_canonical_format:
        rows = rows.copy()  # the caller's matrix stays as it is
        rows.sum_duplicates()
    return rows
