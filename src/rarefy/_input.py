"""Where data enter: arrays are validated as scikit-learn does it, blocks pass as `Rows`."""

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted

from rarefy._validation import check_array, refuse_masked, validate_data
from rarefy.core.linalg.rows import Array, Index, Rows
from rarefy.exceptions import ParameterError

NO_Y = "no_validation"
"""scikit-learn's word for a method that takes no y; None is a y that is missing."""


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


class Lazy(ABC):
    """A kind of data that computes nothing before it is asked to: Dask's arrays and data frames."""

    @abstractmethod
    def accepts(self, X: Any) -> bool:
        """Whether an object is of this kind."""

    @abstractmethod
    def source(self, X: Any) -> RowSource:
        """Data as estimators pass over them."""

    @abstractmethod
    def values(self, y: Any) -> NDArray[Any]:
        """Labels or weights, one number for each row."""

    @abstractmethod
    def by_block(self, X: Any, function: Callable[[Any], Any], dtype: Any, width: int | None) -> Any:
        """What a function makes of blocks, as lazy as X is: so many columns, or (None) one number for each row."""


_MODULES = {"dask": "rarefy.backends.dask_data"}
"""By the library that data belong to, the module that knows them. It is loaded when such data come, and by name: what
is below the backends does not depend on them."""


def lazy_kind(X: Any) -> Lazy | None:
    """The kind of lazy data that an object is; None if it is none."""
    module = _MODULES.get(type(X).__module__.partition(".")[0])
    if module is None:
        return None
    kind: Lazy = importlib.import_module(module).INPUT
    return kind if kind.accepts(X) else None


def as_source(X: Any) -> Any:
    """Lazy data as something to pass over; anything else as it is."""
    kind = lazy_kind(X)
    return X if kind is None else kind.source(X)


def lazily(estimator: Any, X: Any, function: Callable[[Any], Any], dtype: Any, width: int | None = None) -> Any:
    """What a function makes of lazy data for a fitted estimator, as lazy as they are; None if X is no such data.

    `dtype` None means that of the data.
    """
    kind = lazy_kind(X)
    if kind is None:
        return None
    names = getattr(X, "columns", None)
    check_names(estimator, X.shape[1], None if names is None else [str(name) for name in names])
    return kind.by_block(X, function, dtype, width)


def labelled(scores: Any, labels: Callable[[Any], Any], dtype: Any) -> Any:
    """Labels by scores, which may be lazy."""
    return labels(scores) if isinstance(scores, np.ndarray) else scores.map_blocks(
        labels, dtype=dtype, drop_axis=list(range(1, scores.ndim)), meta=np.zeros(0, dtype=dtype)
    )  # fmt: skip


def passed(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments of `fit`: lazy X as something to pass over, lazy labels and weights as arrays."""

    def known(is_data: bool, one: Any) -> Any:
        kind = lazy_kind(one)
        return one if kind is None else kind.source(one) if is_data else kind.values(one)

    found = tuple(known(number == 0, one) for number, one in enumerate(args))
    return found, {name: known(name == "X", one) for name, one in kwargs.items()}


def validated(estimator: Any, X: Any, y: Any = NO_Y, *, reset: bool = True, **options: Any) -> Any:
    """What `validate_data` returns; for blocks their `Rows` (and y as an array if one is given)."""
    if not isinstance(X, RowSource):
        return validate_data(estimator, X, y, reset=reset, **options)
    if y is None:
        raise ParameterError(f"{type(estimator).__name__} requires y to be passed, but the target y is None.")
    check_columns(estimator, X, reset)
    if isinstance(y, str) and y == NO_Y:
        return X.rows()
    refuse_masked(y, f"y of {type(estimator).__name__}")
    y = check_array(y, "y", ensure_2d=False, dtype=None)
    check_consistent_length(X, y)
    if not options.get("multi_output"):
        y = column_or_1d(y, warn=True)
    return X.rows(), y


def validated_alone(X: Any, **options: Any) -> Any:
    """What `check_array` returns; for blocks, and lazy data as blocks, their `Rows`."""
    X = as_source(X)
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


def lazily_kept(estimator: Any, X: Any) -> Any:
    """What `transform` of a fitted selector returns for lazy data; None if X is no such data."""
    if lazy_kind(X) is None:
        return None
    check_is_fitted(estimator)
    index = np.flatnonzero(estimator.get_support())
    factors = getattr(estimator, "weights_", None)
    plain = factors is None or bool(np.all(factors == 1.0))

    def kept(block: Any) -> Any:
        part = block[:, index]
        return part if plain else part * np.asarray(factors, dtype=part.dtype)

    return lazily(estimator, X, kept, None, len(index))


def check_columns(estimator: Any, X: RowSource, reset: bool) -> None:
    """What scikit-learn does with numbers and names of columns."""
    d, names = X.shape[1], X.columns
    if not reset:
        check_names(estimator, d, names)
        return
    estimator.n_features_in_ = d
    if names is None:
        vars(estimator).pop("feature_names_in_", None)
    else:
        estimator.feature_names_in_ = np.array(names, dtype=object)


def check_names(estimator: Any, d: int, names: Any) -> None:
    """Refuse other columns than an estimator was fitted on."""
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
