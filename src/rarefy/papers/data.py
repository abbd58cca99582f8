"""Data that several cells of a table share: read once, and recorded for every cell that uses them."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from rarefy.datasets._provenance import note_files, recorded_files

F = TypeVar("F", bound=Callable[..., Any])


def remember(function: F) -> F:
    """Keep the last result of a function that reads data, and record its files whenever the result is used."""

    @lru_cache(maxsize=1)
    def read(*arguments: Any) -> tuple[Any, dict[str, str]]:
        with recorded_files() as files:
            return function(*arguments), files

    @wraps(function)
    def call(*arguments: Any) -> Any:
        result, files = read(*arguments)
        note_files(files)
        return result

    call.cache_clear = read.cache_clear  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]
