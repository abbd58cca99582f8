"""Where data enter: arrays are validated as scikit-learn does it, blocks pass as `Rows`."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.exceptions import ParameterError


@dataclass(frozen=True)
class RowMap:
    """How rows of one matrix are made of rows of another."""

    width: int
    values: Callable[[Any], Any]
    """New rows of some rows, dense."""
    fill: Callable[[Any, NDArray[Any]], Any] | None = None
    """The same written into an array, in its precision."""
    single: bool = False
    """Whether values are in single precision."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the new rows."""
        return np.dtype(np.float32 if self.single else np.float64)


class RowSource(ABC):
    """Data that estimators take in the place of an array, and pass over block by block."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""

    @property
    @abstractmethod
    def dtype(self) -> np.dtype[Any]:
        """Precision of the entries."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...] | None:
        """Names of the columns, if they have any."""

    @abstractmethod
    def rows(self) -> Rows:
        """The data as solvers take them; the same object each time."""

    @abstractmethod
    def keep(self, index: Index, factors: Array, names: tuple[str, ...] | None) -> "RowSource":
        """Some columns with these names, each times a number: what `transform` of a selector returns."""

    @abstractmethod
    def mapped(self, made: RowMap, names: tuple[str, ...] | None) -> "RowSource":
        """Rows that are made of these block by block, and their names: what `transform` of a transformer returns."""

    @property
    def ndim(self) -> int:
        """2, as of every matrix."""
        return 2

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, *args: Any, **kwargs: Any) -> NDArray[Any]:
        raise ParameterError(
            f"A {type(self).__name__} is not made an array silently: {self.shape[0]} x {self.shape[1]} entries may not "
            "fit into memory. Pass it to an estimator that works on blocks, or loop over its blocks."
        )


def validated(estimator: Any, X: Any, y: Any = None, *, reset: bool = True, **options: Any) -> Any:
    """What `validate_data` returns; for blocks their `Rows` (and y as an array if one is given)."""
    if not isinstance(X, RowSource):
        given = (X,) if y is None else (X, y)
        return validate_data(estimator, *given, reset=reset, **options)
    check_columns(estimator, X, reset)
    if y is None:
        return X.rows()
    y = check_array(y, ensure_2d=False, dtype=None, input_name="y")
    check_consistent_length(X, y)
    if not options.get("multi_output"):
        y = column_or_1d(y, warn=True)
    return X.rows(), y


def validated_alone(X: Any, **options: Any) -> Any:
    """What `check_array` returns; for blocks their `Rows`."""
    return X.rows() if isinstance(X, RowSource) else check_array(X, **options)


def remember_columns(estimator: Any, X: Any) -> None:
    """Set number and names of the columns that an estimator was fitted on."""
    if isinstance(X, RowSource):
        check_columns(estimator, X, reset=True)
    else:
        validate_data(estimator, X, skip_check_array=True)


def refuse_blocks(estimator: Any, X: Any) -> None:
    """One sentence instead of a traceback, where an estimator needs all data at once."""
    if isinstance(X, RowSource) and not getattr(estimator, "_works_on_blocks", False):
        raise ParameterError(
            f"{type(estimator).__name__} needs all of X in memory and does not work on blocks. Pass an array, for "
            "instance of some of the rows, or take an estimator that the guide on large data lists."
        )


def kept_columns(estimator: Any, X: RowSource) -> RowSource:
    """What `transform` of a fitted selector returns for blocks."""
    check_columns(estimator, X, reset=False)
    index = np.flatnonzero(estimator.get_support())
    factors = np.asarray(getattr(estimator, "weights_", np.ones(len(index))), dtype=np.float64)
    names = X.columns if X.columns is not None else getattr(estimator, "feature_names_in_", None)
    return X.keep(index, factors, None if names is None else tuple(str(names[j]) for j in index))


def check_columns(estimator: Any, X: RowSource, reset: bool) -> None:
    """What scikit-learn does with numbers and names of columns."""
    d, names = X.shape[1], X.columns
    if reset:
        estimator.n_features_in_ = d
        if names is None:
            vars(estimator).pop("feature_names_in_", None)
        else:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        return
    if d != estimator.n_features_in_:
        raise ParameterError(
            f"X has {d} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} features as "
            "input."
        )
    known = getattr(estimator, "feature_names_in_", None)
    if known is not None and names is not None and list(known) != list(names):
        wrong = next(i for i, (a, b) in enumerate(zip(known, names, strict=True)) if a != b)
        raise ParameterError(
            f"The columns of X should have the names that were passed during fit, in that order: column {wrong} was "
            f"{known[wrong]!r} and is {names[wrong]!r}."
        )
