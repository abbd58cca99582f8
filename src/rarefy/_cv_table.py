"""Scores of all candidates of a cross-validation as a table and a picture."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarefy._pictures import axes_of, data_frame


def fold_scores(table: NDArray[np.float64]) -> dict[str, Any]:
    """Scores of candidates (rows) in folds as scikit-learn's searches name them; folds without a score do not count."""
    usable = table[:, np.isfinite(table).all(axis=0)]
    found: dict[str, Any] = {"mean_test_score": usable.mean(axis=1), "std_test_score": usable.std(axis=1)}
    return found | {f"split{i}_test_score": scores for i, scores in enumerate(table.T)}


class CVTable:
    """`to_frame` and `plot` of an estimator that compares candidates by cross-validation."""

    _along: ClassVar[str]
    """The parameter that stands on the axis of the picture."""

    @abstractmethod
    def _cv_columns(self) -> dict[str, Any]:
        """Columns `param_...`, `mean_test_score`, `std_test_score` and what else there is, one value a candidate."""

    def to_frame(self) -> Any:
        """Return the scores of all candidates as a pandas data frame, one row for each candidate.

        Returns
        -------
        frame : pandas.DataFrame
            With columns param_..., mean_test_score, std_test_score and more, named as in scikit-learn's searches.
        """
        check_is_fitted(self)
        return data_frame(self._cv_columns())

    def plot(self, ax: Any = None) -> Any:
        """Draw the mean scores of the candidates, one line for each combination of the other parameters.

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
        ax, columns, axis = axes_of(ax), self._cv_columns(), f"param_{self._along}"
        others = [name for name in columns if name.startswith("param_") and name != axis]
        x, means = np.array(columns[axis], dtype=np.float64), np.asarray(columns["mean_test_score"])
        labels = [", ".join(f"{name[6:]}={_short(columns[name][i])}" for name in others) for i in range(len(x))]
        for label in dict.fromkeys(labels):
            at = np.array([i for i in range(len(x)) if labels[i] == label])
            at = at[np.argsort(x[at], kind="stable")]
            spread = np.asarray(columns["std_test_score"])[at]
            ax.errorbar(x[at], means[at], yerr=spread, fmt="o-", markersize=4, capsize=3, label=label)
        if np.all(x > 0.0):
            ax.set_xscale("log")
        ax.set(xlabel=self._along, ylabel="mean score of held-out folds")
        if others:
            ax.legend(frameon=False)
        return ax


def _short(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
