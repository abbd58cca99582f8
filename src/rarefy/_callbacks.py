"""scikit-learn's callbacks, where its version has them: every `fit` is a task, and each step of its progress another.

`set_callbacks(ProgressBar())` on an estimator shows what `set_config(progress=True)` shows. A callback that asks to
stop is not obeyed: what a `fit` has found half-way is not a result.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks."""


F = TypeVar("F", bound=Callable[..., Any])

_TASK: ContextVar[tuple[Any, Any] | None] = ContextVar("rarefy_task", default=None)
"""The estimator that is being fitted and its task."""


def told_to_callbacks(fit: F) -> F:
    """Tell the callbacks of an estimator, if it has any, when its `fit` begins and ends."""

    @wraps(fit)
    def told(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not hasattr(self, "_skl_callbacks"):
            return fit(self, X, *args, **kwargs)
        y = args[0] if args else kwargs.get("y")
        task = self._init_callback_context(max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self, X=X, y=y)
        token = _TASK.set((self, task))
        try:
            found = fit(self, X, *args, **kwargs)
        finally:
            _TASK.reset(token)
        task.call_on_fit_task_end(estimator=self, X=X, y=y)
        return found

    return told  # type: ignore[return-value]


@contextmanager
def without_callbacks() -> Iterator[None]:
    """What runs beside other work tells nothing: that work does."""
    token = _TASK.set(None)
    try:
        yield
    finally:
        _TASK.reset(token)


class Steps:
    """A task with steps, as callbacks see it; makes itself known with the first step."""

    def __init__(self, label: str, estimator: Any, parent: Any) -> None:
        self._label, self._estimator, self._parent = label, estimator, parent
        self._task: Any = None
        self._total: int | None = None
        self._done = 0

    def __call__(self, done: int, total: int | None = None) -> None:
        """So many steps are done, of so many; None if nobody knows."""
        if self._task is None:
            self._total = total
            self._task = self._parent.subcontext(task_name=self._label, max_subtasks=total)
            self._task.call_on_fit_task_begin(estimator=self._estimator)
        done = done if self._total is None else min(done, self._total)  # an estimate may have been too low
        for _ in range(done - self._done):
            step = self._task.subcontext(task_name=self._label)
            step.call_on_fit_task_begin(estimator=self._estimator)
            step.call_on_fit_task_end(estimator=self._estimator)
        self._done = max(done, self._done)
        if done == self._total:
            self.close()

    def close(self) -> None:
        """No further step is made."""
        if self._task is not None:
            self._task.call_on_fit_task_end(estimator=self._estimator)
            self._task, self._done = None, 0


def steps(label: str) -> Steps | None:
    """Steps of the `fit` that is running; None if no callback wants to know of them."""
    running = _TASK.get()
    return None if running is None else Steps(label, *running)
