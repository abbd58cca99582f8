"""A picture of how often features are selected."""

from typing import Any, Self

from rarefy.inspection._display import Display, check_kind
from rarefy.selection import StabilityReport


class StabilityDisplay(Display):
    """How often the most frequent features are selected over resamples.

    Parameters
    ----------
    report : StabilityReport
        What to draw.

    Attributes
    ----------
    bars_ : matplotlib BarContainer
        One bar a feature, the most frequent first.
    ax_ : matplotlib axes
        What was drawn on.
    figure_ : matplotlib figure
        Its figure.

    See Also
    --------
    rarefy.selection_stability : Computes the report.

    Examples
    --------
    >>> import numpy as np
    >>> import rarefy
    >>> from rarefy.inspection import StabilityDisplay
    >>> from rarefy.selection import RRQRSelector
    >>> X = np.random.default_rng(0).standard_normal((30, 8)) * [1, 9, 1, 1, 5, 1, 1, 1]
    >>> report = rarefy.selection_stability(RRQRSelector(2), X, n_splits=10, random_state=0)
    >>> display = StabilityDisplay.from_report(report, n_features=3)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['1', '4', '0']
    """

    def __init__(self, report: StabilityReport) -> None:
        self.report = report

    def plot(self, ax: Any = None, *, n_features: int = 20) -> Self:
        """Draw the frequencies.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.
        n_features : int, default=20
            How many features, from the most frequent on.

        Returns
        -------
        display : StabilityDisplay
            The display, with what was drawn.
        """
        drawn, self.bars_ = self.report._draw(n_features, ax)
        self._store_axes(drawn, ax)
        return self

    @classmethod
    def from_report(cls, report: StabilityReport, *, n_features: int = 20, ax: Any = None) -> Self:
        """Draw a report.

        Parameters
        ----------
        report : StabilityReport
            What :func:`rarefy.selection_stability` returned.
        n_features : int, default=20
            How many features, from the most frequent on.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : StabilityDisplay
            The display, with what was drawn.
        """
        check_kind(report, StabilityReport, "StabilityDisplay.from_report")
        return cls(report).plot(ax, n_features=n_features)
