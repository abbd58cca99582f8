"""How much a file may hold: bounds that turn away damaged headers and archives made to fill the memory."""

from rarefy.exceptions import TableError

LARGEST = 20 * 10**9
"""Bytes after decompression, or of an array in memory."""
MOST_COLUMNS = 5_000_000
"""Every column has a name, which takes about 60 bytes."""
_HARMLESS = 100 * 10**6
_RATIO = 1000
"""Up to `_HARMLESS` bytes any compression is believed; above, at most this many times the compressed size."""


def allowed_size(compressed: int) -> int:
    """Bytes to which a compressed file may grow."""
    return min(LARGEST, max(_HARMLESS, _RATIO * compressed))


def check_inflated(name: str, inflated: int, compressed: int) -> None:
    """Refuse a file that would grow, or has grown, out of proportion."""
    limit = allowed_size(compressed)
    if inflated > limit:
        raise TableError(
            f"{name} has {compressed} bytes and holds more than {limit} after decompression; at most {LARGEST} bytes "
            f"and {_RATIO} times the compressed size are read. Decompress it and check what it holds."
        )


def check_shape(name: str, n_rows: int, n_columns: int, entries: int, *, itemsize: int = 8) -> None:
    """Refuse a shape that the entries of a file cannot fill, before anything of that size is allocated.

    Parameters
    ----------
    name : str
        Of the file.
    n_rows, n_columns : int
        What its header states.
    entries : int
        Number of entries that are stored or, for a dense array, that the shape stands for.
    itemsize : int
        Bytes of an entry.
    """
    if min(n_rows, n_columns, entries) < 0:
        raise TableError(f"{name} states {n_rows} rows, {n_columns} columns and {entries} entries: it is damaged.")
    if n_columns > MOST_COLUMNS:
        raise TableError(f"{name} states {n_columns} columns; at most {MOST_COLUMNS} are read. It may be damaged.")
    if entries * itemsize > LARGEST:
        raise TableError(f"{name} states {entries} entries; at most {LARGEST} bytes are read. It may be damaged.")
    if n_rows > 1000 * entries + 10**6:
        raise TableError(
            f"{name} states {n_rows} rows for {entries} entries, nearly all of them empty. It is damaged, or its rows "
            "are numbered from elsewhere: renumber them."
        )
