"""Settings of the library: memory, disk and progress, for all estimators at once.

`set_config` changes the settings of the process, `config_context` those of a block of code in one thread. Both are safe
to use from several threads.
"""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from numbers import Integral, Real
from pathlib import Path
from types import MappingProxyType
from typing import Any

from rarefy.exceptions import ParameterError

__all__ = ["config_context", "get_config", "set_config"]

_UNITS = {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}
_SIZE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][0-9]+)?)\s*([kKmMgGtT]?[bB])\s*")


@dataclass(frozen=True)
class _Config:
    memory_budget: float = 2e9
    overflow: str = "auto"
    scratch_folder: str | None = None
    block_size: int | None = None
    checkpoint_folder: str | None = None
    progress: bool = False


_process = _Config()
_lock = threading.Lock()
_changes: ContextVar[Mapping[str, Any]] = ContextVar("rarefy_config", default=MappingProxyType({}))


def current_config() -> _Config:
    """The settings in force here: those of the process, but for what contexts change."""
    return replace(_process, **_changes.get())


def get_config() -> dict[str, Any]:
    """Return the settings in force.

    Returns
    -------
    config : dict
        The settings by name; see :func:`set_config`.

    Examples
    --------
    >>> import rarefy
    >>> rarefy.get_config()["progress"]
    False
    """
    return asdict(current_config())


def set_config(**settings: Any) -> None:
    """Change settings of the process, for all threads.

    Parameters
    ----------
    **settings : dict
        Any of

        - memory_budget : float or str, default=2e9. Bytes that kernel values may take, as a number or like "500MB":
          they are kept in float64 if that fits, else in float32. Of data in blocks never more is held at a time.
        - overflow : {"auto", "recompute", "disk"}, default="auto". What to do when they do not fit: compute them again
          whenever they are needed, or keep them in a temporary file; "auto" means whichever costs less.
        - scratch_folder : str, path or None, default=None. Where temporary files go; None means the system's folder.
        - block_size : int or None, default=None. Samples of one block of `solver="stochastic"`; None means 1000, or the
          number of samples of the rare class if that is larger.
        - checkpoint_folder : str, path or None, default=None. Where fits on data in blocks write the result of every
          pass over the data: the same fit, run again after it was ended on the way, goes on from there. It needs a
          folder of its own and an integer as `random_state`; the files are removed when the fit is done.
        - progress : bool, default=False. Whether long work shows its progress on standard error.

    See Also
    --------
    config_context : The same for a block of code.
    get_config : Return the settings.

    Examples
    --------
    >>> import rarefy
    >>> rarefy.set_config(memory_budget="1GB")
    >>> rarefy.get_config()["memory_budget"]
    1000000000.0
    >>> rarefy.set_config(memory_budget=2e9)
    """
    global _process
    checked = _checked(settings)
    with _lock:
        _process = replace(_process, **checked)


@contextmanager
def config_context(**settings: Any) -> Iterator[None]:
    """Change settings for a block of code, in this thread only.

    Parameters
    ----------
    **settings : dict
        As in :func:`set_config`.

    Yields
    ------
    None

    See Also
    --------
    set_config : The same for the whole process.

    Examples
    --------
    >>> import rarefy
    >>> with rarefy.config_context(overflow="disk"):
    ...     rarefy.get_config()["overflow"]
    'disk'
    """
    token = _changes.set({**_changes.get(), **_checked(settings)})
    try:
        yield
    finally:
        _changes.reset(token)


def _checked(settings: dict[str, Any]) -> dict[str, Any]:
    unknown = sorted(set(settings) - set(_CHECKS))
    if unknown:
        raise ParameterError(f"There is no setting {', '.join(unknown)}; settings are {', '.join(_CHECKS)}.")
    return {name: _CHECKS[name](value) for name, value in settings.items()}


def _bytes(value: Any) -> float:
    found = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if found is not None:
        value = float(found[1]) * _UNITS[found[2].upper()]
    if isinstance(value, Real) and not isinstance(value, bool) and 0.0 <= float(value) < float("inf"):
        return float(value)
    raise ParameterError(f"memory_budget must be a number of bytes >= 0 or a text like '2GB'; got {value!r}.")


def _overflow(value: Any) -> str:
    if isinstance(value, str) and value in ("auto", "recompute", "disk"):
        return value
    raise ParameterError(f"overflow must be 'auto', 'recompute' or 'disk'; got {value!r}.")


def _folder(value: Any) -> str | None:
    if value is None or (isinstance(value, (str, Path)) and Path(value).is_dir()):
        return None if value is None else str(value)
    raise ParameterError(f"scratch_folder must be None or a folder that exists; got {value!r}.")


def _new_folder(value: Any) -> str | None:
    if value is None or isinstance(value, (str, Path)):
        return None if value is None else str(value)
    raise ParameterError(f"checkpoint_folder must be None or a folder; got {value!r}.")


def _count(value: Any) -> int | None:
    if value is None:
        return None
    if isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 1:
        return int(value)
    raise ParameterError(f"block_size must be None or an integer >= 1; got {value!r}.")


def _flag(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise ParameterError(f"progress must be True or False; got {value!r}.")


_CHECKS = {
    "memory_budget": _bytes,
    "overflow": _overflow,
    "scratch_folder": _folder,
    "block_size": _count,
    "checkpoint_folder": _new_folder,
    "progress": _flag,
}
