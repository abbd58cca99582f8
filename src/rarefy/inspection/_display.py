"""What all displays share."""

from io import BytesIO
from typing import Any


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
