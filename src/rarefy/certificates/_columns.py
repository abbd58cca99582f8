"""Columns by name: which positions a mask, indices or names of a data frame mean."""

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import ParameterError


def kept_names(columns: Any, indices: Index) -> tuple[str, ...] | None:
    """Names of the kept columns for a certificate, where all columns are named by strings."""
    if columns is None or not all(isinstance(name, str) for name in columns):
        return None
    return tuple(str(columns[i]) for i in indices)


def all_names(feature_names: Any, d: int) -> Any:
    """Names of d columns, given as such or by what made them."""
    if hasattr(feature_names, "get_feature_names_out"):
        feature_names = feature_names.get_feature_names_out()
    names = np.asarray(feature_names, dtype=object)
    if names.shape != (d,) or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            f"feature_names must be {d} strings, one for each column of the data; got an array of shape {names.shape}."
        )
    return names


def positions_by_name(names: Sequence[str] | None, columns: Iterable[Any] | None, indices: Index, k: int) -> Index:
    """Where k kept columns are: by name if both sides have names, as they were otherwise."""
    if names is None or columns is None:
        return indices
    if len(names) != k:
        raise ParameterError(f"This certificate has {len(names)} names and {k} weights: it was changed.")
    position = {str(name): i for i, name in enumerate(columns)}
    absent = [name for name in names if name not in position]
    if absent:
        raise ParameterError(
            f"X lacks {len(absent)} of the {len(names)} columns that this certificate keeps, among them "
            f"{absent[:3]}. Pass the data that the selector was fitted on."
        )
    return np.array([position[name] for name in names], dtype=np.intp)


def support_indices(support: Any, d: int, names: Iterable[Any] | None) -> Index:
    """Positions of the kept columns, of d, given by a mask, by indices or by names."""
    support = np.asarray(support)
    if support.ndim != 1:
        raise ParameterError(f"support must be one-dimensional; got shape {support.shape}.")
    if not len(support):
        raise ParameterError("support is empty; name at least one feature.")
    if support.dtype == bool:
        if len(support) != d:
            raise ParameterError(f"A mask of support must have {d} entries; got {len(support)}.")
        if not support.any():
            raise ParameterError("support is empty; name at least one feature.")
        return np.flatnonzero(support)
    by_name = support.dtype.kind in "UO"
    found = _checked_range(_from_names(support, names) if by_name else _from_numbers(support, names), d)
    if len(np.unique(found)) < len(found):
        raise ParameterError("support names a feature twice; add up its squared weights instead.")
    return found


def _checked_range(support: Any, d: int) -> Index:
    if support.dtype.kind not in "iu":
        raise ParameterError(f"support must be a mask, indices or column names; got values of type {support.dtype}.")
    support = support.astype(np.intp)
    if len(support) and not -d <= support.min() <= support.max() < d:
        raise ParameterError(f"Indices of support must lie in [0, {d}); got {support.min()} to {support.max()}.")
    return np.where(support < 0, support + d, support)


def _from_numbers(support: Any, names: Iterable[Any] | None) -> Any:
    """The numbers as they are, unless columns are named by numbers and not by 0, 1, 2 and so on."""
    names = [] if names is None else list(names)
    if any(isinstance(name, Integral) for name in names) and names != list(range(len(names))):
        raise ParameterError(
            "The columns of X are named by numbers that are not their positions, so indices in support could mean "
            "either. Pass a mask, or X as an array."
        )
    return support


def _from_names(support: Any, names: Iterable[Any] | None) -> Index:
    if names is None:
        raise ParameterError("support holds names, but X has no column names. Pass a data frame or indices.")
    position = {name: i for i, name in enumerate(names)}
    unknown = [str(name) for name in support if name not in position]
    if unknown:
        raise ParameterError(f"support names columns that X does not have: {unknown[:5]}.")
    return np.array([position[name] for name in support], dtype=np.intp)


def checked_weights(weights: Any, k: int, owner: str) -> Array:
    """Weights of k kept columns: finite and positive, 1 where none are given."""
    if weights is None:
        return np.ones(k)
    try:
        weights = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"weights of {owner} must be numbers; got {weights!r}.") from error
    if weights.shape != (k,):
        raise ParameterError(
            f"weights must have one entry for each of the {k} kept features; got shape {weights.shape}."
        )
    if not np.all(np.isfinite(weights) & (weights > 0)):
        raise ParameterError("weights must be finite and positive; leave a feature out rather than weighting it 0.")
    return weights
