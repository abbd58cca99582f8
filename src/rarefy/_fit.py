"""One way to fit: parameters are checked, and an estimator changes only if its `fit` succeeds."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import InvalidParameterError, validate_params

from rarefy._callbacks import told_to_callbacks
from rarefy._files import size_in_words
from rarefy._input import passed, refuse_blocks
from rarefy._journal import journal_of
from rarefy._text_columns import about_columns
from rarefy.exceptions import DegenerateDataError, MemoryBudgetError, ParameterError

F = TypeVar("F", bound=Callable[..., Any])


@contextmanager
def _same_error_handling() -> Iterator[None]:
    """Put numpy's handling of overflow and the like back: an interrupt inside of numpy may come before it does so."""
    before, handler = np.geterr(), np.geterrcall()
    try:
        yield
    except BaseException:
        np.seterr(**before)
        np.seterrcall(handler)
        raise


@contextmanager
def numerical(owner: str) -> Iterator[None]:
    """Errors of arithmetic as one about the data, with what to do: far from 1, numbers overflow or vanish.

    What is a fault of a program, such as a wrong index, is left as it is.
    """
    try:
        with _same_error_handling():
            yield
    except MemoryError as error:
        shape = getattr(error, "shape", None)  # of the array that numpy could not have
        if shape is None:
            raise
        needed = size_in_words(float(np.prod([float(size) for size in shape])) * np.dtype(error.dtype).itemsize)  # type: ignore[attr-defined]
        raise MemoryBudgetError(
            f"{owner} needs {needed} for an array of shape {shape}, which the system does not give. Pass fewer samples "
            "or features, or lower n_landmarks or n_components where there are such parameters."
        ) from error
    except (np.linalg.LinAlgError, ArithmeticError) as error:
        raise DegenerateDataError(
            f"{owner} came upon numbers that are too large or too small to compute with ({error}). Bring the data, "
            "weights and parameters nearer to 1, for example by standardising the features."
        ) from error


def fit_method(fit: F) -> F:
    """Wrap a `fit`: check constructor parameters by `_parameter_constraints`, and be all or nothing.

    What an earlier `fit` learned is put aside, so that nothing of it is left beside the new result. If the new `fit`
    fails or is interrupted it comes back, and an estimator that was not fitted is still not: scikit-learn's
    `validate_data` writes attributes before anything is learned.
    """
    checked = _fit_context(prefer_skip_nested_validation=False)(told_to_callbacks(fit))

    @wraps(fit)
    def fit_or_restore(self: Any, *args: Any, **kwargs: Any) -> Any:
        args, kwargs = passed(args, kwargs)
        refuse_blocks(self, args[0] if args else kwargs.get("X"))
        before = dict(vars(self))
        try:
            for name in fitted_names(self):
                delattr(self, name)
            with numerical(type(self).__name__), journal_of(self, args, kwargs):
                return checked(self, *args, **kwargs)
        except BaseException as error:
            self.__dict__ = before  # in one step, which cannot be interrupted
            if isinstance(error, InvalidParameterError):
                raise ParameterError(str(error)) from None
            clearer = about_columns(error, type(self).__name__, args[0] if args else kwargs.get("X"))
            if clearer is not None:
                raise clearer from error
            raise

    return fit_or_restore  # type: ignore[return-value]


def fitted_names(estimator: object) -> list[str]:
    """Attributes that `fit` has set."""
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


def check_parameters(estimator: Any) -> None:
    """Check constructor parameters as `fit_method` does, for methods that train copies of an estimator."""
    try:
        estimator._validate_params()
    except InvalidParameterError as error:
        raise ParameterError(str(error)) from None


def checked_arguments(constraints: dict[str, Any]) -> Callable[[F], F]:
    """Check the arguments of a public function in the same way as those of estimators."""

    def wrap(function: F) -> F:
        checked = validate_params(constraints, prefer_skip_nested_validation=False)(function)

        @wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                with numerical(function.__name__):
                    return checked(*args, **kwargs)
            except InvalidParameterError as error:
                raise ParameterError(str(error)) from None
            except (TypeError, ValueError) as error:
                clearer = about_columns(error, function.__name__, args[0] if args else kwargs.get("X"))
                if clearer is not None:
                    raise clearer from error
                raise

        return call  # type: ignore[return-value]

    return wrap
