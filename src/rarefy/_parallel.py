"""Work in parallel: results in order, with progress, and with the caller's settings in every worker."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from joblib import Parallel, delayed

from rarefy._progress import progress_bar
from rarefy.config import config_context, get_config


def run_parallel(
    function: Callable[..., Any],
    tasks: Iterable[Sequence[Any]],
    *,
    n_jobs: int | None = None,
    label: str = "",
    threads: bool = False,
) -> list[Any]:
    """Call a function with each of several tuples of arguments.

    Parameters
    ----------
    function : callable
        What to call.
    tasks : iterable of tuples
        Its arguments, call by call.
    n_jobs : int or None
        Calls at a time, as in joblib.
    label : str
        What progress is shown as.
    threads : bool
        Whether threads will do: the work is done in code that releases the interpreter.
    """
    tasks = list(tasks)
    settings = get_config()
    show = progress_bar(label)
    quiet = settings | {"progress": False}  # one display at a time
    pool = Parallel(n_jobs=n_jobs, prefer="threads" if threads else None, return_as="generator")
    found: list[Any] = []
    for result in pool(delayed(_call)(quiet, function, task) for task in tasks):
        found.append(result)
        if show is not None:
            show(len(found), len(tasks))
    return found


def _call(settings: dict[str, Any], function: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    with config_context(**settings):
        return function(*arguments)
