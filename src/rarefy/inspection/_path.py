"""A picture of what happens along a penalty."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from rarefy._pictures import as_it_is, axes_of
from rarefy.core.linalg.rows import Array
from rarefy.exceptions import ParameterError
from rarefy.inspection._display import Display, check_kind
from rarefy.kernel import KernelFeatureSelectorCV, RegularizationPath

_LABELLED = 10
"""More lines than these are not named in a legend."""


class PathDisplay(Display):
    """A quantity against the values of a penalty, with its spread and the chosen value.

    Parameters
    ----------
    values : ndarray of shape (n_values,)
        The penalties, in any order.
    means : ndarray of shape (n_values,) or (n_values, n_lines)
        What is drawn against them.
    spread : ndarray of shape (n_values,) or None, default=None
        Standard deviations, drawn as a band around one line.
    chosen : float or None, default=None
        The chosen penalty.
    parameter : str, default="alpha"
        Its name.
    quantity : str, default="objective"
        What is drawn.
    names : sequence of str or None, default=None
        Names of several lines.

    Attributes
    ----------
    lines_ : list of matplotlib Line2D
        One line, or several for an attribute with several numbers.
    band_ : matplotlib collection or None
        The spread.
    chosen_ : matplotlib Line2D or None
        The line at the chosen value.
    ax_ : matplotlib axes
        What was drawn on.
    figure_ : matplotlib figure
        Its figure.

    See Also
    --------
    rarefy.kernel.RegularizationPath : Models along a path.
    rarefy.ranking.RankRCCV : Chooses a penalty on held-out samples.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.inspection import PathDisplay
    >>> from rarefy.ranking import RankRC, RankRCCV
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([1, 0], [30, 270])
    >>> X = rng.standard_normal((300, 3)) + y[:, None]
    >>> model = RankRCCV(RankRC(random_state=0), alphas=[1e-6, 1e-4, 1e-2], cv=3).fit(X, y)
    >>> display = PathDisplay.from_estimator(model)
    >>> float(display.chosen_.get_xdata()[0]) == model.alpha_
    True
    >>> path = RankRC(random_state=0).alpha_path(X, y, [1e-4, 1e-2])
    >>> PathDisplay.from_path(path).ax_.get_ylabel()
    'objective'
    """

    def __init__(
        self,
        values: Any,
        means: Any,
        *,
        spread: Any = None,
        chosen: float | None = None,
        parameter: str = "alpha",
        quantity: str = "objective",
        names: Any = None,
    ) -> None:
        self.values = values
        self.means = means
        self.spread = spread
        self.chosen = chosen
        self.parameter = parameter
        self.quantity = quantity
        self.names = names

    def plot(self, ax: Any = None) -> Self:
        """Draw the path.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : PathDisplay
            The display, with what was drawn.
        """
        drawn = axes_of(ax)
        self._store_axes(drawn, ax)
        order = np.argsort(self.values, kind="stable")
        x, y = np.asarray(self.values)[order], np.asarray(self.means)[order]
        _scale(drawn, x)  # first, so that the margins suit it
        self.lines_, self.band_, self.chosen_ = drawn.plot(x, y, "o-", markersize=4), None, None
        if self.spread is not None:
            half, line = np.asarray(self.spread)[order], self.lines_[0]
            line.set_label("mean over folds")
            self.band_ = drawn.fill_between(
                x, y - half, y + half, color=line.get_color(), alpha=0.15, linewidth=0, label="± standard deviation"
            )
        if self.names is not None and len(self.lines_) <= _LABELLED:
            for line, name in zip(self.lines_, self.names, strict=True):
                line.set_label(as_it_is(name))
        if self.chosen is not None:
            label = f"chosen {self.parameter} = {self.chosen:.3g}"
            self.chosen_ = drawn.axvline(self.chosen, color="0.35", linestyle="--", linewidth=1, label=label)
        drawn.set(xlabel=self.parameter, ylabel=self.quantity)
        if y.dtype.kind in "iu":
            drawn.yaxis.get_major_locator().set_params(integer=True)
        if drawn.get_legend_handles_labels()[0]:
            drawn.legend(frameon=False)
        return self

    @classmethod
    def from_path(
        cls, path: RegularizationPath, attribute: str = "objective_", *, chosen: float | None = None, ax: Any = None
    ) -> Self:
        """Draw a fitted attribute of all models of a path.

        Parameters
        ----------
        path : RegularizationPath
            What `alpha_path` or `mu_path` returned.
        attribute : str, default="objective_"
            The attribute: a number, an array with a line for each of its entries (such as "coef_" or
            "feature_weights_"), or a mask, of which the entries that are true are counted (such as "support_").
        chosen : float or None, default=None
            A value to mark.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : PathDisplay
            The display, with what was drawn.
        """
        check_kind(path, RegularizationPath, "PathDisplay.from_path")
        absent = [type(model).__name__ for model in path.models if not hasattr(model, attribute)]
        if absent:
            raise ParameterError(
                f"attribute of PathDisplay must be one of the fitted models'; {absent[0]} has no {attribute!r}."
            )
        found = path.attribute(attribute)
        quantity = attribute.rstrip("_").replace("_", " ")
        if found.dtype.kind not in "biuf":
            raise ParameterError(f"attribute of PathDisplay must hold numbers; {attribute!r} holds {found.dtype}.")
        if found.dtype == bool and found.ndim > 1:
            found = found.reshape(len(found), -1).sum(axis=1)
            quantity = "number of features" if attribute == "support_" else f"true entries of {attribute}"
        lines = found.reshape(len(found), -1)
        names = _class_names(path, lines.shape[1])
        means = lines[:, 0] if lines.shape[1] == 1 else lines
        return cls(path.values, means, chosen=chosen, parameter=path.parameter, quantity=quantity, names=names).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, parameter: str | None = None, ax: Any = None) -> Self:
        """Draw the mean score on held-out folds against the penalty, with the other parameters as chosen.

        Parameters
        ----------
        estimator : estimator
            A fitted RankRCCV, OrdinalRankRCCV, KernelFeatureSelectorCV, or a search of scikit-learn.
        parameter : str or None, default=None
            The parameter, as in `best_params_`; None means "alpha", and "mu" of a KernelFeatureSelectorCV. Of that one
            it can also be "C", or "n_features": then the best scores with at most so many features, on average over the
            folds and before pruning, are drawn, from which a person can choose.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : PathDisplay
            The display, with what was drawn.
        """
        check_is_fitted(estimator)
        if isinstance(estimator, KernelFeatureSelectorCV):
            found = _of_kernel_selector(estimator, "mu" if parameter is None else parameter)
        else:
            found = _of_search(estimator, "alpha" if parameter is None else parameter)
        return cls(**found, quantity="score on held-out folds").plot(ax)


def _scale(ax: Any, x: Array) -> None:
    """A logarithmic axis; zero, the absence of a penalty, is drawn where the axis is linear."""
    if x[0] > 0.0:
        ax.set_xscale("log")
    elif x[-1] > 0.0:
        ax.set_xscale("symlog", linthresh=float(x[x > 0.0].min()))


def _class_names(path: RegularizationPath, n_lines: int) -> Any:
    """The classes, if an attribute has a number for each."""
    classes = getattr(path.models[0], "classes_", ())
    return classes if n_lines > 1 and len(classes) == n_lines else None


def _of_kernel_selector(estimator: KernelFeatureSelectorCV, parameter: str) -> dict[str, Any]:
    """Along the penalties with the chosen cost, along the costs with the chosen penalty, or along numbers of features.

    Combinations that were given up after some folds are left out.
    """
    used = np.isfinite(estimator.cv_scores_).any(axis=(0, 1))
    scores, sizes = estimator.cv_scores_[..., used], estimator.cv_n_features_[..., used]
    i, j = np.argmax(estimator.Cs_ == estimator.C_), np.argmax(estimator.mus_ == estimator.mu_)
    chosen: float
    if parameter == "mu":
        values, chosen, table = estimator.mus_, float(estimator.mu_), scores[i]
    elif parameter == "C":
        values, chosen, table = estimator.Cs_, estimator.C_, scores[:, j]
    elif parameter == "n_features":
        values, table = sizes.mean(axis=2).ravel(), scores.reshape(-1, scores.shape[2])
        chosen = float(sizes[i, j].mean())
    else:
        raise ParameterError(
            f"parameter of PathDisplay must be 'mu', 'C' or 'n_features' for this estimator; got {parameter!r}."
        )
    whole = np.isfinite(table).all(axis=1)
    if parameter == "n_features":
        whole &= _best_so_far(values, table.mean(axis=1))
    values, table = values[whole], table[whole]
    return {
        "values": values,
        "means": table.mean(axis=1),
        "spread": table.std(axis=1),
        "chosen": chosen,
        "parameter": parameter,
    }


def _best_so_far(sizes: Array, scores: Array) -> NDArray[np.bool_]:
    """Which points no other beats with at most as many features."""
    order = np.lexsort([-np.nan_to_num(scores, nan=-np.inf), sizes])
    best, mask = -np.inf, np.zeros(len(sizes), dtype=bool)
    for at in order:
        if scores[at] > best:
            best, mask[at] = scores[at], True
    return mask


def _of_search(estimator: Any, parameter: str) -> dict[str, Any]:
    """The candidates of a search that differ from the best one in the parameter alone."""
    results, best = getattr(estimator, "cv_results_", {}), getattr(estimator, "best_params_", None)
    if best is None or "mean_test_score" not in results:
        raise ParameterError(
            f"PathDisplay needs an estimator with cv_results_ and best_params_; {type(estimator).__name__} lacks one."
        )
    if parameter not in best:
        raise ParameterError(f"parameter of PathDisplay must be one of {sorted(best)}; got {parameter!r}.")
    rest = {name: value for name, value in best.items() if name != parameter}
    along = [i for i, one in enumerate(results["params"]) if _equal({k: one.get(k) for k in rest}, rest)]
    try:
        values: NDArray[np.float64] = np.array([results["params"][i][parameter] for i in along], dtype=np.float64)
    except (TypeError, ValueError):
        raise ParameterError(f"PathDisplay draws parameters that are numbers; {parameter!r} is not.") from None
    return {
        "values": values,
        "means": results["mean_test_score"][along],
        "spread": results["std_test_score"][along],
        "chosen": float(best[parameter]),
        "parameter": parameter,
    }


def _equal(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether parameters are the same, arrays among them."""
    return all(np.array_equal(one[name], other[name]) for name in other)
