"""A one-line progress display on standard error, for work that takes more than a moment; see `rarefy.set_config`."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rarefy.config import current_config

_INTERVAL = 0.1


def progress_bar(label: str) -> Callable[[int, int], None] | None:
    """A function of (done, total) that draws a bar; None when progress is not wanted."""
    if not current_config().progress:
        return None
    start = time.monotonic()
    last = start - _INTERVAL

    def show(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if done < total and now - last < _INTERVAL:
            return
        last = now
        filled = int(24 * done / total)
        left = (now - start) * (total - done) / done
        bar = "#" * filled + "-" * (24 - filled)
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r{label} [{bar}] {done}/{total}, {left:.0f} s left {end}")
        sys.stderr.flush()

    return show


@contextmanager
def progress_line() -> Iterator[Callable[[str], None] | None]:
    """For work of unknown length: a function that shows a text in place of the one before; None when not wanted."""
    if not current_config().progress:
        yield None
        return
    last, width, latest = 0.0, 0, ""

    def show(text: str) -> None:
        nonlocal last, width, latest
        latest = text
        now = time.monotonic()
        if now - last >= _INTERVAL:
            last, width = now, max(width, len(text))
            sys.stderr.write(f"\r{text:<{width}}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        sys.stderr.write(f"\r{latest:<{width}}\n")
        sys.stderr.flush()
