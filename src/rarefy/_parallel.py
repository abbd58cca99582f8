"""Work in parallel: results in order, with progress, and with the caller's settings, ours and scikit-learn's."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from joblib import Parallel, delayed
from sklearn import config_context as sklearn_context
from sklearn import get_config as get_sklearn_config

from rarefy._callbacks import without_callbacks
from rarefy._progress import progress_bar
from rarefy._workers import end_with_parent
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
    both = quiet, get_sklearn_config()
    options = {"n_jobs": n_jobs, "prefer": "threads" if threads else None}
    pool = Parallel(**options)
    if getattr(pool._backend, "supports_return_generator", False):  # multiprocessing has results at the end only
        pool = Parallel(**options, return_as="generator")
    found: list[Any] = []
    for result in pool(delayed(_call)(both, function, task) for task in tasks):
        found.append(result)
        if show is not None:
            show(len(found), len(tasks))
    return found


def _call(
    settings: tuple[dict[str, Any], dict[str, Any]], function: Callable[..., Any], arguments: Sequence[Any]
) -> Any:
    end_with_parent()
    ours, theirs = settings
    with config_context(**ours), sklearn_context(**theirs), without_callbacks():
        return function(*arguments)
