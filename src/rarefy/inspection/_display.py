"""What all displays share."""

from io import BytesIO
from typing import Any

from rarefy.exceptions import ParameterError


def check_kind(value: Any, kind: type, owner: str) -> None:
    """Raise an error if a value is not of the kind that a display draws."""
    if not isinstance(value, kind):
        raise ParameterError(f"{owner} draws a {kind.__name__}; got a {type(value).__name__}.")


class Display:
    """The axes and the figure that were drawn on; in a notebook, a figure of its own shows itself."""

    ax_: Any
    figure_: Any
    _own_figure = False

    def _store_axes(self, ax: Any, given: Any) -> None:
        self.ax_, self.figure_, self._own_figure = ax, ax.figure, given is None

    def _repr_png_(self) -> bytes | None:
        # A figure that was passed in is shown by whoever made it.
        if not self._own_figure:
            return None
        picture = BytesIO()
        self.figure_.savefig(picture, format="png", dpi=110)
        return picture.getvalue()
