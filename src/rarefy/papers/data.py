"""Data that several cells of a table share: read once, and known to every cell that uses them."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, TypeVar

from rarefy.datasets._load import note_files, recorded_files

F = TypeVar("F", bound=Callable[..., Any])


def remember(function: F) -> F:
    """Keep the last result of a function that reads data, and note its files whenever the result is used."""

    @lru_cache(maxsize=1)
    def read(*arguments: Any) -> tuple[Any, dict[str, str]]:
        with recorded_files() as files:
            return function(*arguments), files

    @wraps(function)
    def call(*arguments: Any) -> Any:
        result, files = read(*arguments)
        note_files(files)
        return result

    return call  # type: ignore[return-value]
