"""Words of error messages: one line each, whatever a file, a column or another library is called or says."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from rarefy.exceptions import RarefyError, TableError

SHOWN = 10
"""Names that a message lists at most."""
_LONGEST = 60


def one_line(text: object, longest: int = 200) -> str:
    """A text without line breaks, control characters and unpaired surrogates, cut where it is too long."""
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in str(text)[: longest + 1]
    )
    return shown if len(shown) <= longest else f"{shown[: longest - 1]}…"


def quoted(value: object) -> str:
    """A name or a value between quotes, on one line."""
    return f"'{one_line(value, _LONGEST)}'"


def listed(names: Iterable[object], total: int | None = None) -> str:
    """Up to ten names in quotes, and how many more there are."""
    names = list(names)
    total = len(names) if total is None else total
    shown = ", ".join(quoted(name) for name in names[:SHOWN])
    return shown if total <= SHOWN else f"{shown} and {total - SHOWN} more"


def counted(number: int, noun: str) -> str:
    """A number and its noun, in the plural if need be."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def columns_are(names: Sequence[object], what: str) -> str:
    """A sentence about one or several columns."""
    verb = "Column {} is {}." if len(names) == 1 else f"{len(names)} columns are {{1}}: {{0}}."
    return verb.format(listed(names), what)


@contextmanager
def reading(name: str, form: str) -> Iterator[None]:
    """Turn whatever goes wrong while a file is read into a `TableError` of one line that names the file."""
    try:
        yield
    except RarefyError:
        raise
    except MemoryError as error:
        raise TableError(
            f"{name} does not fit into memory. Read a sample of its rows (sample=n), or a file with fewer columns."
        ) from error
    except BaseException as error:
        # Rust's panics in polars are no subclasses of Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        reason = str(error).strip().partition("\n")[0]
        raise TableError(
            f"{name} cannot be read as {form} ({type(error).__name__}: {one_line(reason)}). It is damaged or holds "
            "something else; write it again, or save the data as CSV."
        ) from error
