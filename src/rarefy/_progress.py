"""Progress of work that takes more than a moment: a line on standard error (`rarefy.set_config`), and callbacks."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from rarefy._callbacks import steps
from rarefy.config import current_config

_INTERVAL = 0.1


def progress_bar(label: str) -> Callable[[int, int], None] | None:
    """A function of (done, total) that draws a bar and tells callbacks; None when nobody wants to know."""
    told = steps(label)
    drawn = _bar(label) if current_config().progress else None
    wanted = [show for show in (drawn, told) if show is not None]

    def show(done: int, total: int) -> None:
        for one in wanted:
            one(done, total)

    return show if wanted else None


def _bar(label: str) -> Callable[[int, int], None]:
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
    told = steps("step")
    if told is None:
        with _line() as show:
            yield show
        return
    count = 0

    def tell(text: str) -> None:
        nonlocal count
        count += 1
        told(count)
        if show is not None:
            show(text)

    with closing(told), _line() as show:
        yield tell


@contextmanager
def _line() -> Iterator[Callable[[str], None] | None]:
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
