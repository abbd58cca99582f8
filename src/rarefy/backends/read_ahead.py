"""Reading the next block while the present one is worked on."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from queue import SimpleQueue
from typing import Any, TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")


def read_ahead(
    tasks: Iterable[Task], load: Callable[[Task, Any], Result], buffers: Sequence[Any]
) -> Iterator[tuple[Task, Result]]:
    """`load(task, buffer)` for all tasks in order, in a thread that is ahead by as many tasks as there are buffers.

    A buffer is used again once the result after its own is asked for. The thread ends when the tasks do, when `load`
    fails (the error is raised here, in its turn) and when the iteration is given up.
    """
    free: SimpleQueue[Any] = SimpleQueue()
    ready: SimpleQueue[Any] = SimpleQueue()
    given_up = threading.Event()
    for buffer in buffers:
        free.put(buffer)

    def work() -> None:
        try:
            for task in tasks:
                buffer = free.get()
                if given_up.is_set():
                    return
                ready.put((task, load(task, buffer), buffer, None))
            ready.put((None, None, None, StopIteration()))
        except BaseException as error:  # whatever it is, it belongs to whoever waits for the result
            ready.put((None, None, None, error))

    thread = threading.Thread(target=work, name="rarefy-reader", daemon=True)
    thread.start()
    try:
        while True:
            task, result, buffer, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield task, result
            free.put(buffer)
    finally:
        given_up.set()
        free.put(None)
        thread.join()
