"""Fitted attributes of an estimator that holds the best of several."""

from typing import Any


def delegated(name: str) -> property:
    """Make a read-only property that reads a fitted attribute of `best_estimator_`.

    Parameters
    ----------
    name : str
        Of the attribute.

    Returns
    -------
    attribute : property
        It raises AttributeError before `fit`, so that `hasattr` is False as for any fitted attribute.
    """

    def read(self: Any) -> Any:
        try:
            best = vars(self)["best_estimator_"]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.") from None
        return getattr(best, name)

    return property(read, doc=f"`{name}` of the best estimator.")
