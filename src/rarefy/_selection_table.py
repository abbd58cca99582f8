"""What a fitted selector knows about every column, as a table and a picture."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from rarefy._pictures import as_it_is, axes_of, data_frame
from rarefy.exceptions import ParameterError

_DRAWN = 20


class SelectionTable:
    """`to_frame` and `plot` of a selector of columns."""

    def to_frame(self) -> Any:
        """Return what is known about the columns as a pandas data frame, one row for each column of the data.

        Returns
        -------
        frame : pandas.DataFrame
            With columns name (or number, where the data have no names) and kept; and where the selector has them place
            (in the order of selection, from 0; -1 for columns that are not kept), weight (0 for columns that are not
            kept), coefficient (the same; of several models the norm), score, and status (what is proved about the
            column).
        """
        check_is_fitted(self)
        kept: Any = self.get_support()  # type: ignore[attr-defined]
        columns = {"name": getattr(self, "feature_names_in_", np.arange(len(kept))), "kept": kept}
        order = getattr(self, "selection_order_", None)
        if order is not None:
            columns["place"] = np.full(len(kept), -1)
            columns["place"][order] = np.arange(len(order))
        columns |= self._known(kept)
        status = getattr(getattr(self, "certificate_", None), "column_status", None)
        return data_frame(columns if status is None else columns | {"status": status})

    def _known(self, kept: Any) -> dict[str, Any]:
        """Weights, coefficients and scores of all columns, where there are any."""
        coef = getattr(self, "coef_", None)
        if coef is not None:
            coef = np.atleast_2d(coef)
            coef = coef[0] if len(coef) == 1 else np.linalg.norm(coef, axis=0)
        weights = getattr(self, "weights_", getattr(self, "feature_weights_", None))
        found = {"weight": weights, "coefficient": coef, "score": getattr(self, "scores_", None)}
        return {name: _scattered(values, kept) for name, values in found.items() if values is not None}

    def plot(self, ax: Any = None) -> Any:
        """Draw what is certified; of a selector without a certificate, the 20 highest scores or weights.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        check_is_fitted(self)
        certificate = getattr(self, "certificate_", None)
        if certificate is not None:
            return certificate.plot(ax)
        known = self._known(self.get_support())  # type: ignore[attr-defined]
        if not known:
            raise ParameterError(
                f"{type(self).__name__} has neither a certificate nor scores to draw; see rarefy.certify(X, support)."
            )
        name, values = next(reversed(known.items()))
        highest = np.argsort(-np.abs(values), kind="stable")[:_DRAWN]
        names = getattr(self, "feature_names_in_", np.arange(len(values)))
        ax = axes_of(ax, 6.4, 0.25 * len(highest) + 1.2)
        ax.barh(range(len(highest)), values[highest], color="#c8553d")
        ax.set_yticks(range(len(highest)), [as_it_is(names[j]) for j in highest])
        if not ax.yaxis_inverted():  # axes that were drawn on before
            ax.invert_yaxis()
        ax.set_xlabel(name)
        return ax


def _scattered(values: Any, kept: Any) -> Any:
    """Values of the kept columns as values of all columns, 0 for the others."""
    if len(values) == len(kept):
        return values
    found = np.zeros(len(kept))
    found[kept] = values
    return found
