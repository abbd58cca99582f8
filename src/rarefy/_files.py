"""Files that are written whole or not at all."""

import os
import tempfile
from pathlib import Path


def write_whole(path, text):
    """Write a text file; whoever is interrupted or runs out of disk leaves the old file or none."""
    path = Path(path).resolve()
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def check_writable(folder):
    """Raise an OSError if files cannot be made in a folder: better before long work than after it."""
    with tempfile.TemporaryFile(dir=folder):
        pass
