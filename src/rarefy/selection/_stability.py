"""Stability of a selector over resamples."""

import html
import warnings
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing, check_random_state, indexable
from sklearn.utils._param_validation import HasMethods
from sklearn.utils.multiclass import type_of_target

from rarefy._fit import checked_arguments
from rarefy._parallel import run_parallel
from rarefy._parameters import COUNT, SHARE, Number
from rarefy._pictures import as_it_is, axes_of, data_frame
from rarefy._search import checked_folds
from rarefy._validation import check_labels, refuse_masked
from rarefy.certificates._columns import all_names
from rarefy.core.linalg.rows import Array, Index
from rarefy.core.statistics.stability import stability
from rarefy.exceptions import FewerFeaturesWarning, ParameterError
from rarefy.selection._subset_problem import holds_classes


@dataclass(frozen=True, eq=False, repr=False)
class StabilityReport:
    """How often each feature is selected, and how stable the selection is.

    Returned by :func:`selection_stability`. Printed it is a short text, in a notebook a table.

    Attributes
    ----------
    frequency : ndarray of shape (n_features,)
        Share of the resamples in which a feature was selected.
    stability : float
        Index of Nogueira, Sechidis and Brown: 1 when all selections agree, 0 on average for random ones; NaN when
        every selection is empty or holds all features.
    confidence_interval : (float, float)
        Of the index. It is asymptotic: with few resamples it is too narrow (with ten, a nominal 95 % is nearer 87 %).
    confidence : float
        Its level.
    n_selected : ndarray of shape (n_splits,)
        How many features were selected in each resample.
    feature_names : ndarray of shape (n_features,)
        Names, or numbers where the data have none.

    See Also
    --------
    selection_stability : Compute a report.

    References
    ----------
    [NogueiraSechidisBrown2018] S. Nogueira, K. Sechidis and G. Brown, On the stability of feature selection algorithms,
    2018.

    Examples
    --------
    >>> import numpy as np
    >>> from rarefy.selection import RRQRSelector, selection_stability
    >>> X = np.random.default_rng(0).standard_normal((30, 8)) * [1, 9, 1, 1, 5, 1, 1, 1]
    >>> report = selection_stability(RRQRSelector(2), X, n_splits=10, random_state=0)
    >>> report.top(3)
    [(1, 1.0), (4, 1.0), (0, 0.0)]
    """

    frequency: Array
    stability: float
    confidence_interval: tuple[float, float]
    confidence: float
    n_selected: Index
    feature_names: NDArray[Any]

    @checked_arguments({"k": [COUNT]})
    def top(self, k: int = 10) -> list[tuple[Any, float]]:
        """Return the k most often selected features.

        Parameters
        ----------
        k : int, default=10
            How many.

        Returns
        -------
        features : list of (name, frequency)
            From the most frequent on; equally frequent ones in the order of the columns.
        """
        names = self.feature_names.tolist()
        order = np.argsort(-self.frequency, kind="stable")[:k]
        return [(names[i], float(self.frequency[i])) for i in order]

    def to_dict(self) -> dict[str, Any]:
        """Return all values as plain Python, ready for JSON.

        Returns
        -------
        values : dict
            By name.
        """
        return {
            "stability": self.stability,
            "confidence_interval": list(self.confidence_interval),
            "confidence": self.confidence,
            "n_selected": self.n_selected.tolist(),
            "frequency": self.frequency.tolist(),
            "feature_names": [str(name) for name in self.feature_names],
        }

    def to_frame(self) -> Any:
        """Return the frequencies as a pandas data frame, one row for each feature, in the order of the columns.

        Returns
        -------
        frame : pandas.DataFrame
            With columns name and frequency.
        """
        return data_frame({"name": self.feature_names, "frequency": self.frequency})

    def plot(self, k: int = 20, ax: Any = None) -> Any:
        """Draw the selection frequencies of the k most often selected features.

        Parameters
        ----------
        k : int, default=20
            How many features.
        ax : matplotlib axes or None, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        ax : matplotlib axes
            What was drawn on.
        """
        return self._draw(k, ax)[0]

    def _draw(self, k: int, ax: Any) -> tuple[Any, Any]:
        """The axes and the bars."""
        names, values = zip(*self.top(k), strict=True)
        ax = axes_of(ax, 6.4, 0.25 * len(values) + 1.2)
        bars = ax.barh(range(len(values)), values, color="#c8553d")
        ax.set_yticks(range(len(values)), [as_it_is(name) for name in names])
        if not ax.yaxis_inverted():  # axes that were drawn on before
            ax.invert_yaxis()
        ax.set_xlim(0, 1)
        ax.set_xlabel("share of resamples in which the feature was selected")
        ax.set_title(self._headline(), loc="left", fontsize=10)
        return ax, bars

    def _headline(self) -> str:
        low, high = self.confidence_interval
        return f"stability {self.stability:.3f}, {100 * self.confidence:g} % interval {low:.3f} to {high:.3f}"

    def __repr__(self) -> str:
        return f"StabilityReport({self._headline()}, {len(self.n_selected)} resamples)"

    def __str__(self) -> str:
        kept = f"{self.n_selected.mean():.1f} of {len(self.frequency)} features selected on average"
        rows = "\n".join(f"  {share:6.1%}  {name}" for name, share in self.top())
        return f"{self._headline()}\n{kept} over {len(self.n_selected)} resamples; most often:\n{rows}"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{html.escape(str(name))}</td><td>{share:.1%}</td></tr>" for name, share in self.top())
        table = f"<table><tr><th>feature</th><th>selected</th></tr>{rows}</table>"
        return f"<div><strong>{self._headline()}</strong>{table}</div>"


@checked_arguments(
    {
        "selector": [HasMethods(["fit", "get_support"])],
        "n_splits": [Number(Integral, 2, None, closed="left")],
        "train_size": [COUNT, SHARE],
        "cv": ["cv_object"],
        "confidence": [SHARE],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
)
def selection_stability(
    selector: Any,
    X: Any,
    y: Any = None,
    n_splits: int = 50,
    *,
    train_size: float = 0.8,
    cv: Any = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: Any = None,
    feature_names: Any = None,
) -> StabilityReport:
    """Fit a selector on many resamples and report how often each feature is selected.

    Progress is shown if `rarefy.set_config(progress=True)` was called. A `FewerFeaturesWarning` of the selector is not
    shown: the report has the numbers of selected features.

    Parameters
    ----------
    selector : estimator
        Any selector with `get_support`; it is cloned, and its random states are set for every resample.
    X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
        The data.
    y : array-like of shape (n_samples,) or None, default=None
        Labels, for supervised selectors; classes keep their shares in every resample.
    n_splits : int, default=50
        Number of resamples, at least 2.
    train_size : float or int, default=0.8
        Share (or number) of the samples in each resample, drawn without replacement.
    cv : int, cross-validation splitter, iterable or None, default=None
        Use its training sets instead of random ones.
    confidence : float, default=0.95
        Level of the confidence interval.
    n_jobs : int or None, default=None
        Number of processes; the result does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Seed of the resamples and of the selectors.
    feature_names : array-like of str, estimator or None, default=None
        Names of the columns of data that have none, or what made them, such as a vectoriser.

    Returns
    -------
    report : StabilityReport
        Frequencies, stability index with confidence interval; text, HTML and picture.

    See Also
    --------
    StabilityReport : What is returned.

    References
    ----------
    [NogueiraSechidisBrown2018] S. Nogueira, K. Sechidis and G. Brown, On the stability of feature selection algorithms,
    2018.

    Examples
    --------
    >>> import rarefy
    >>> from rarefy.datasets import make_topics
    >>> from rarefy.selection import BSSSelector, RandomSelector
    >>> X = make_topics(40, 1000, random_state=0).data
    >>> stable = rarefy.selection_stability(BSSSelector(100), X, n_splits=10, random_state=0)
    >>> chance = rarefy.selection_stability(RandomSelector(100), X, n_splits=10, random_state=0)
    >>> stable.stability > 0.5, abs(chance.stability) < 0.05
    (True, True)
    """
    names = getattr(X, "columns", None)
    refuse_masked(X, "X of selection_stability")
    refuse_masked(y, "y of selection_stability")
    X, y = indexable(X.tocsr() if hasattr(X, "tocsr") else X, y)
    X = X if hasattr(X, "shape") else np.asarray(X)
    if len(X.shape) != 2:
        raise ParameterError(f"X of selection_stability must have rows and columns; got shape {X.shape}.")
    rng = check_random_state(random_state)
    pairs = _splitter(cv, n_splits, train_size, y, rng).split(X, y)
    splits = [train for train, _ in checked_folds(pairs, X.shape[0], "selection_stability")]
    if len(splits) < 2:
        raise ParameterError("cv of selection_stability must give at least two training sets; got one.")
    seeds = rng.randint(np.iinfo(np.int32).max, size=len(splits))
    tasks = [(selector, X, y, rows, int(seed)) for rows, seed in zip(splits, seeds, strict=True)]
    selections = run_parallel(_selected, tasks, n_jobs=n_jobs, label="resampling")
    d = X.shape[1]
    names = names if feature_names is None else all_names(feature_names, d)
    found = stability(selections, d, confidence)
    return StabilityReport(
        frequency=found.frequency,
        stability=found.index,
        confidence_interval=found.interval,
        confidence=confidence,
        n_selected=np.array([len(selection) for selection in selections]),
        feature_names=np.asarray(names) if names is not None else np.arange(d),
    )


def _splitter(cv: Any, n_splits: int, train_size: float, y: Any, rng: np.random.RandomState) -> Any:
    if cv is not None:
        return check_cv(cv, y)
    seed = rng.randint(np.iinfo(np.int32).max)
    if y is not None and np.asarray(y).dtype.kind == "O" and np.ndim(y) == 1:
        y = check_labels(y, "y of selection_stability")
    classes = y is not None and holds_classes(np.asarray(y), type_of_target(y))
    # A class of one sample cannot be on both sides of a split.
    classes = classes and int(np.unique(y, return_counts=True)[1].min()) > 1
    kind = StratifiedShuffleSplit if classes else ShuffleSplit
    return kind(n_splits, train_size=train_size, random_state=seed)


def _selected(selector: Any, X: Any, y: Any, rows: Index, seed: int) -> Index:
    """Indices of the features selected on some rows."""
    selector = clone(selector)
    states = [
        name for name in sorted(selector.get_params()) if name == "random_state" or name.endswith("__random_state")
    ]
    selector.set_params(**dict.fromkeys(states, seed))
    labels = None if y is None else _safe_indexing(y, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewerFeaturesWarning)
        selector.fit(_safe_indexing(X, rows), labels)
    return np.flatnonzero(selector.get_support())
