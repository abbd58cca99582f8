"""Values of certificates as JSON has them: written without infinities, read with their kinds checked.

Anybody can write a file. What is read is of the right kind or refused; a text that looks like a number is no number,
and neither is true or false. Where JSON has no number, for infinities, null is written.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from rarefy.core.linalg.rows import Array, Index
from rarefy.exceptions import ParameterError

T = TypeVar("T")


def checked_fields(
    values: Any, names: Sequence[str], convert: Callable[[dict[str, Any]], None], what: str
) -> dict[str, Any]:
    """The fields of a certificate from plain values; whether they are true, or even possible, is for `verify`.

    Parameters
    ----------
    values : Mapping
        What was read.
    names : sequence of str
        The fields; all of them must be there.
    convert : callable
        Changes a dict of the fields in place.
    what : str
        The kind of certificate, for messages.

    Raises
    ------
    ParameterError
        If anything is missing or of the wrong kind.
    """
    if not isinstance(values, Mapping):
        raise ParameterError(f"A {what} is made from a dict of its fields; got {type(values).__name__}.")
    missing = [name for name in names if name not in values]
    if missing:
        raise ParameterError(f"These values are no {what}: {', '.join(missing)} are missing.")
    v = {name: values[name] for name in names}
    try:
        convert(v)
    except (TypeError, ValueError, OverflowError, AttributeError, KeyError) as error:
        raise ParameterError(f"These values are no {what}: {error}.") from error
    return v


def number(value: Any, missing: float = np.inf) -> float:
    """A number; null is what JSON has none for."""
    if value is not None and (not _is_a(Real, type(value)) or value != value):
        raise ValueError(f"a number is needed, not {value!r}")
    return missing if value is None else float(value)


def numbers(values: Any, ndim: int) -> Array:
    """Numbers in lists of this depth."""
    return _entries(values, ndim, Real).astype(np.float64)


def integer(value: Any) -> int:
    """A whole number."""
    if not _is_a(Integral, type(value)):
        raise ValueError(f"an integer is needed, not {value!r}")
    return int(value)


def integers(values: Any) -> Index:
    """A list of whole numbers."""
    return _entries(values, 1, Integral).astype(np.intp)


def flag(value: Any) -> bool:
    """True or false."""
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"true or false is needed, not {value!r}")
    return bool(value)


def text(value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise ValueError(f"a text is needed, not {value!r}")
    return str(value)


def texts(values: Any) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(text(value) for value in _listed(values))


def pair(values: Any) -> tuple[float, float]:
    """Two numbers."""
    first, second = _listed(values)
    return number(first), number(second)


def optional(convert: Callable[..., T], value: Any, *more: Any) -> T | None:
    """What is converted unless it is null."""
    return None if value is None else convert(value, *more)


def plain(value: Any) -> Any:
    """What JSON can say of a value: lists, dicts, texts, true, false, null and finite numbers."""
    if isinstance(value, np.ndarray):
        finite = value.dtype.kind in "iub" or bool(np.all(np.isfinite(value)))
        return value.tolist() if finite else plain(value.tolist())
    if is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _entries(values: Any, ndim: int, kind: type) -> Any:
    known = isinstance(values, np.ndarray) and values.dtype.kind in ("iu" if kind is Integral else "iuf")
    found = values if known else np.asarray(values, dtype=object)
    what = "integers" if kind is Integral else "numbers"
    if found.ndim != ndim or not (known or all(_is_a(kind, one) for one in {type(entry) for entry in found.flat})):
        depth = "a list" if ndim == 1 else f"lists of depth {ndim}"
        raise ValueError(f"{depth} of {what} is needed, not {str(values)[:60]!r}")
    return found


def _is_a(kind: type, one: type) -> bool:
    return issubclass(one, kind) and one is not bool


def _listed(values: Any) -> Sequence[Any]:
    if not isinstance(values, list | tuple):
        raise ValueError(f"a list is needed, not {values!r}")
    return values
