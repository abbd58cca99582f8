"""Models along a path of a parameter."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rarefy._pictures import axes_of, data_frame


@dataclass(frozen=True)
class RegularizationPath:
    """Fitted models for several values of one parameter, in the order in which the values were given.

    Attributes
    ----------
    parameter : str
        The parameter that varies, "alpha" or "mu".
    values : ndarray of shape (n_values,)
        Its values.
    models : tuple of estimators
        One fitted estimator for each value.

    See Also
    --------
    SubspaceLPSVC.alpha_path : A path over the weight of the norm.
    KernelFeatureSelector.mu_path : A path over the penalty on feature weights.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from rarefy.kernel import SubspaceLPSVC
    >>> X, y = load_iris(return_X_y=True)
    >>> path = SubspaceLPSVC(n_components=10, gamma="scale").alpha_path(X, y, [1.0, 0.1])
    >>> path.values
    array([1. , 0.1])
    >>> path.models[1].alpha
    0.1
    >>> path.attribute("coef_").shape
    (2, 3, 10)
    """

    parameter: str
    values: NDArray[np.float64]
    models: tuple[Any, ...]
    _scores: Callable[[Any], Any] | None = field(default=None, repr=False)
    """Scores by all models at once, where they share their kernel values."""

    def attribute(self, name: str) -> NDArray[Any]:
        """Collect a fitted attribute of all models.

        Parameters
        ----------
        name : str
            Of the attribute, for example "objective_" or "coef_"; it must have the same shape in all models.

        Returns
        -------
        values : ndarray of shape (n_values, ...)
            One row for each model.
        """
        return np.stack([np.asarray(getattr(model, name)) for model in self.models])

    def to_frame(self, attributes: Sequence[str] = ("objective_",)) -> Any:
        """Return the path as a pandas data frame, one row for each value of the parameter.

        Parameters
        ----------
        attributes : sequence of str, default=("objective_",)
            Fitted attributes to show; they must have the same shape in all models.

        Returns
        -------
        frame : pandas.DataFrame
            With a column named after the parameter and one for each attribute; one for each of its entries, as in
            ``coef_[0, 2]``, if it is an array.
        """
        columns: dict[str, Any] = {self.parameter: self.values}
        for name in attributes:
            found = self.attribute(name)
            for at in np.ndindex(found.shape[1:]):
                columns[f"{name}[{', '.join(map(str, at))}]" if at else name] = found[(slice(None), *at)]
        return data_frame(columns)

    def plot(self, attribute: str = "objective_", ax: Any = None) -> Any:
        """Draw a fitted attribute along the path.

        Parameters
        ----------
        attribute : str, default="objective_"
            What to draw; it must have the same shape in all models. An array gives a line for each of its entries.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.

        See Also
        --------
        rarefy.inspection.PathDisplay : More about the picture can be chosen there.
        """
        ax = axes_of(ax)
        order, found = np.argsort(self.values, kind="stable"), self.attribute(attribute)
        ax.plot(self.values[order], found.reshape(len(found), -1)[order], "o-", markersize=4)
        if np.all(self.values > 0.0):
            ax.set_xscale("log")
        ax.set(xlabel=self.parameter, ylabel=attribute.rstrip("_").replace("_", " "))
        return ax

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores of every model, before any threshold.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel values with all samples seen in `fit`.

        Returns
        -------
        scores : ndarray of shape (n_values, n_samples) or (n_values, n_samples, n_classes)
            The scores.
        """
        found: Sequence[Any] | Any
        found = [model.decision_function(X) for model in self.models] if self._scores is None else self._scores(X)
        return np.asarray(found)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict with every model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            As in `scores`.

        Returns
        -------
        y : ndarray of shape (n_values, n_samples)
            Labels.
        """
        return np.stack([model._labels(s) for model, s in zip(self.models, self.scores(X), strict=True)])
