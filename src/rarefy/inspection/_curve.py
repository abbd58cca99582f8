"""A picture of what columns reach, against their number."""

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from rarefy.certificates import SubsetCertificate
from rarefy.exceptions import ParameterError
from rarefy.inspection._display import Display, check_kind
from rarefy.selection import BestSubsetCurve, BestSubsetSelector, best_subset_curve

_PARAMETERS = ("loss", "task", "groups", "standardize", "gap_tol", "max_iter")


class SelectionCurveDisplay(Display):
    """What the best columns reach and what nobody can beat, against the number of columns.

    Parameters
    ----------
    curve : BestSubsetCurve
        What to draw.
    chosen : SubsetCertificate or None, default=None
        A choice to mark, on the same data.

    Attributes
    ----------
    reached_, bound_ : matplotlib Line2D
        The two curves.
    band_ : matplotlib collection
        What is between them: the best choices lie there.
    chosen_ : matplotlib Line2D or None
        The mark of the choice.
    ax_ : matplotlib axes
        What was drawn on.
    figure_ : matplotlib figure
        Its figure.

    See Also
    --------
    rarefy.best_subset_curve : Computes the curve.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from rarefy.inspection import SelectionCurveDisplay
    >>> from rarefy.selection import BestSubsetSelector
    >>> X, y = load_wine(return_X_y=True)
    >>> selector = BestSubsetSelector(4, C=0.01).fit(X, y)
    >>> display = SelectionCurveDisplay.from_estimator(selector, X, y, n_features=[2, 4, 8])
    >>> display.ax_.get_xlabel()
    'number of columns'
    """

    def __init__(self, curve: BestSubsetCurve, *, chosen: SubsetCertificate | None = None) -> None:
        self.curve = curve
        self.chosen = chosen

    def plot(self, ax: Any = None) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : SelectionCurveDisplay
            The display, with what was drawn.
        """
        drawn = self.curve._draw(ax)
        self._store_axes(drawn.ax, ax)
        self.reached_, self.bound_, self.band_ = drawn.reached, drawn.bound, drawn.band
        self.chosen_ = None
        if self.chosen is not None:
            at, label = self.chosen.n_chosen, f"the selector's choice of {self.chosen.n_chosen}"
            (self.chosen_,) = drawn.ax.plot(at, self.chosen.objective, "D", color="C3", label=label)
            drawn.ax.legend(edgecolor="none", framealpha=1.0)
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: BestSubsetSelector,
        X: Any,
        y: Any,
        n_features: Any = None,
        *,
        sample_weight: Any = None,
        ax: Any = None,
    ) -> Self:
        """Compute the curve with the parameters of a fitted selector, and mark its choice.

        Parameters
        ----------
        estimator : BestSubsetSelector
            The fitted selector.
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The data that it was fitted on.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their class labels or numbers.
        n_features : array-like of int or None, default=None
            Numbers of columns (or groups); None takes ten from 1 to all of them, at most 200.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            The weights that it was fitted with.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : SelectionCurveDisplay
            The display, with what was drawn.
        """
        if not isinstance(estimator, BestSubsetSelector):
            raise ParameterError(
                f"SelectionCurveDisplay needs a BestSubsetSelector; got {type(estimator).__name__}. "
                "rarefy.best_subset_curve takes any data, and from_curve draws what it returns."
            )
        check_is_fitted(estimator)
        parameters = {name: getattr(estimator, name) for name in _PARAMETERS}
        curve = best_subset_curve(
            X, y, n_features=n_features, C=estimator.C_, sample_weight=sample_weight, **parameters
        )
        chosen = estimator.certificate_
        # The mark is about the data of `fit`, the curve about these: beside others it would mean nothing.
        if curve.certificates[0].fingerprint != chosen.fingerprint:
            raise ParameterError(
                "X, y and sample_weight of SelectionCurveDisplay.from_estimator must be those that the selector was "
                "fitted on. For other data draw rarefy.best_subset_curve with from_curve."
            )
        return cls(curve, chosen=chosen).plot(ax)

    @classmethod
    def from_curve(cls, curve: BestSubsetCurve, *, ax: Any = None) -> Self:
        """Draw a curve.

        Parameters
        ----------
        curve : BestSubsetCurve
            What :func:`rarefy.best_subset_curve` returned.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : SelectionCurveDisplay
            The display, with what was drawn.
        """
        check_kind(curve, BestSubsetCurve, "SelectionCurveDisplay.from_curve")
        return cls(curve).plot(ax)
