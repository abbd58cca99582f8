"""What the best columns reach and what nobody can beat, against their number."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils._param_validation import StrOptions

from rarefy._fit import checked_arguments
from rarefy._parameters import COST, COUNT, NOT_NEGATIVE
from rarefy._pictures import axes_of, data_frame
from rarefy._progress import progress_bar
from rarefy._validation import check_X_y
from rarefy.certificates import SubsetCertificate
from rarefy.certificates._columns import all_names
from rarefy.core.best_subset.path import subset_path
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.losses.margins import LOSSES
from rarefy.exceptions import ParameterError
from rarefy.selection._subset_problem import SubsetSetup

_POINTS = 10


class CurveArtists(NamedTuple):
    """What was drawn, and where: the two curves and what is between them."""

    ax: Any
    reached: Any
    bound: Any
    band: Any


@dataclass(frozen=True, eq=False)
class BestSubsetCurve:
    """Objectives of chosen columns and bounds on all choices, for several numbers of columns.

    Attributes
    ----------
    certificates : tuple of SubsetCertificate
        For each number: the chosen columns, what is proved about them and how; each has a `verify` of its own.
    n_features : ndarray of shape (n_points,), int
        The numbers of columns, or of groups of columns.
    objective, lower_bound : ndarrays of shape (n_points,)
        What the chosen columns reach, and what no columns of that number go below.
    optimality : ndarray of shape (n_points,)
        The second over the first: a proved share of the best possible choice; 0 where nothing is proved.
    all_columns_bound : float or None
        What no model with all columns goes below.
    empty : float
        The objective without any column.

    See Also
    --------
    rarefy.selection.BestSubsetSelector : One number of columns, with branch and bound.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import rarefy
    >>> X, y = load_wine(return_X_y=True)
    >>> curve = rarefy.best_subset_curve(X, y, n_features=[2, 4, 8], C=0.01)
    >>> bool((curve.lower_bound <= curve.objective).all()), curve.fewest(0.9)
    (True, 8)
    """

    certificates: tuple[SubsetCertificate, ...]
    empty: float

    @property
    def n_features(self) -> Index:
        """The numbers of columns."""
        return np.array([c.n_chosen for c in self.certificates])

    @property
    def objective(self) -> Array:
        """What the chosen columns reach."""
        return np.array([c.objective for c in self.certificates])

    @property
    def lower_bound(self) -> Array:
        """What nobody can beat."""
        return np.array([c.lower_bound for c in self.certificates])

    @property
    def optimality(self) -> Array:
        """Proved shares of the best possible choices."""
        return np.array([c.optimality or 0.0 for c in self.certificates])

    @property
    def all_columns_bound(self) -> float | None:
        """What no model with all columns goes below."""
        return self.certificates[-1].all_columns_bound

    def fewest(self, share: float) -> int | None:
        """Return the smallest number whose columns keep a certified share of the objective of all columns.

        Parameters
        ----------
        share : float
            What `objective_ratio` has to be at least.

        Returns
        -------
        n_features : int or None
            The number; None if no point of the curve is enough.
        """
        enough = [c.n_chosen for c in self.certificates if (c.objective_ratio or 0.0) >= share]
        return min(enough, default=None)

    def to_frame(self) -> Any:
        """Return the curve as a pandas data frame, one row for each number of columns.

        Returns
        -------
        frame : pandas.DataFrame
            With columns n_features, objective, lower_bound, optimality, objective_ratio, in_every_best_set and in_none.
        """
        return data_frame(
            {
                "n_features": self.n_features,
                "objective": self.objective,
                "lower_bound": self.lower_bound,
                "optimality": self.optimality,
                "objective_ratio": [c.objective_ratio for c in self.certificates],
                "in_every_best_set": [int(np.sum(c.settled == 1)) for c in self.certificates],
                "in_none": [int(np.sum(c.settled == -1)) for c in self.certificates],
            }
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw both curves, what all columns and what no column reach.

        Parameters
        ----------
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        return self._draw(ax).ax

    def _draw(self, ax: Any) -> "CurveArtists":
        ax = axes_of(ax)
        n, reached, bound = self.n_features, self.objective, np.maximum(self.lower_bound, 0.0)
        band = ax.fill_between(n, bound, reached, color="C0", alpha=0.15, linewidth=0)
        (top,) = ax.plot(n, reached, "o-", color="C0", markersize=4, label="reached by the chosen columns")
        (bottom,) = ax.plot(n, bound, "-", color="C1", label="no choice can beat this (proved)")
        if self.all_columns_bound is not None:
            ax.axhline(self.all_columns_bound, color="0.45", linestyle="--", linewidth=1, label="all columns")
        if self.empty < 2.0 * reached.max():
            ax.axhline(self.empty, color="0.7", linestyle=":", linewidth=1, label="no column")
        what = "groups of columns" if self.certificates[-1].groups is not None else "columns"
        ax.set(xlabel=f"number of {what}", ylabel="objective (lower is better)", ylim=(0.0, None))
        if n.max() >= 20 * n.min():
            ax.set_xscale("log")
            ax.xaxis.set_major_formatter("{x:.0f}")
        ax.legend(edgecolor="none", framealpha=1.0)  # over the line of no column
        return CurveArtists(ax, top, bottom, band)

    def __str__(self) -> str:
        lines = [f"{'columns':>8} {'objective':>12} {'bound':>12} {'share':>7}"]
        lines += [
            f"{c.n_chosen:>8} {c.objective:>12.6g} {c.lower_bound:>12.6g} {c.optimality or 0.0:>7.4f}"
            for c in self.certificates
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"BestSubsetCurve(n_features={self.n_features.tolist()}, optimality={self.optimality.round(4).tolist()})"


@checked_arguments(
    {
        "n_features": ["array-like", None],
        "loss": [StrOptions({"auto", *LOSSES})],
        "C": [COST, None],
        "task": [StrOptions({"auto", "classification", "regression"})],
        "groups": ["array-like", None],
        "standardize": ["boolean"],
        "gap_tol": [NOT_NEGATIVE],
        "max_iter": [COUNT],
    }
)
def best_subset_curve(
    X: Any,
    y: Any,
    *,
    n_features: Any = None,
    loss: str = "auto",
    C: float | None = 1.0,
    task: str = "auto",
    groups: Any = None,
    standardize: bool = True,
    gap_tol: float = 1e-3,
    max_iter: int = 100,
    sample_weight: Any = None,
    feature_names: Any = None,
) -> BestSubsetCurve:
    """Choose the best columns for several numbers of them, and bound what any choice of that number can reach.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Class labels or numbers.
    n_features : array-like of int or None, default=None
        Numbers of columns (or groups); None takes ten from 1 to all of them, at most 200.
    loss, C, task, groups, standardize, gap_tol, max_iter : objects
        As in :class:`rarefy.selection.BestSubsetSelector`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights >= 0 of the samples' losses.
    feature_names : array-like of str, estimator or None, default=None
        Names of the columns of data that have none, or what made them, such as a vectoriser.

    Returns
    -------
    curve : BestSubsetCurve
        What is reached and what nobody can beat, with a table, a picture and a certificate for each number.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import rarefy
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = rarefy.best_subset_curve(X, y, n_features=[1, 3, 10], C=0.01)
    >>> bool((curve.optimality > 0.6).all())
    True
    """
    names = np.asarray(X.columns) if hasattr(X, "columns") else None
    names = names if names is None or all(isinstance(name, str) for name in names) else None
    X, y = check_X_y(
        X, y, "best_subset_curve", accept_sparse=("csr", "csc"), dtype=(np.float64, np.float32), multi_output=True
    )
    names = names if feature_names is None else all_names(feature_names, X.shape[1])
    setup = SubsetSetup.of(
        "best_subset_curve",
        X,
        y,
        loss=loss,
        C=C,
        task=task,
        groups=groups,
        standardize=standardize,
        sample_weight=sample_weight,
        feature_names=names,
    )
    sizes = _sizes(n_features, setup.problem.n_groups)
    path = subset_path(setup.problem, sizes, gap_tol=gap_tol, max_iter=max_iter, progress=progress_bar("choosing"))
    certificates = tuple(setup.certified(point.chosen.groups, point.dual)[0] for point in path)
    return BestSubsetCurve(certificates, setup.problem.empty_value())


def _sizes(n_features: Any, most: int) -> list[int]:
    if n_features is None:
        return np.unique(np.round(np.geomspace(1, min(most, 200), _POINTS)).astype(int)).tolist()
    given = np.asarray(n_features)
    sizes = np.unique(given) if given.ndim == 1 and given.dtype.kind in "iu" else np.zeros(0, dtype=int)
    if not len(sizes) or not 1 <= sizes[0] <= sizes[-1] <= most:
        raise ParameterError(f"n_features of best_subset_curve must be integers from 1 to {most}; got {n_features!r}.")
    return [int(size) for size in sizes]
