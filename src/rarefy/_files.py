"""Files that are written atomically: completely or not at all."""

import errno
import json
import os
import tempfile
from pathlib import Path
from typing import Any


def json_text(values: Any, level: int = 0) -> str:
    """Values as JSON, a line for every entry of a dictionary; lists stand on one line.

    With line breaks inside of lists the standard library writes a million numbers at a tenth of the speed.
    """
    if not isinstance(values, dict) or not values:
        return json.dumps(values, allow_nan=False)
    indent = " " * (level + 1)
    lines = (f"{indent}{json.dumps(str(name))}: {json_text(value, level + 1)}" for name, value in values.items())
    return "{\n" + ",\n".join(lines) + "\n" + " " * level + "}"


def size_in_words(size: float) -> str:
    """Bytes with three digits and a unit."""
    for unit in ("B", "kB", "MB"):
        if size < 1000.0:
            return f"{size:.3g} {unit}"
        size /= 1000.0
    return f"{size:.3g} GB"


def write_atomically(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file; an interrupted write or a full disk leaves the old file, or none if there was none."""
    write_bytes_atomically(path, text.encode("utf-8"))


def write_bytes_atomically(path: str | os.PathLike[str], data: bytes) -> None:
    """Write a file, as above."""
    path = Path(path).resolve()
    if path.exists() and not path.is_file():  # renaming would put a file in the place of a device
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def check_writable(folder: str | os.PathLike[str]) -> None:
    """Raise an OSError if files cannot be created in a folder: better before long work than after it."""
    with tempfile.TemporaryFile(dir=folder):
        pass
